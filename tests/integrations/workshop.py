"""Tools for agents of other frameworks to use in tests, and what a program may look at meanwhile."""

from __future__ import annotations

import asyncio
import base64
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, TypedDict, Unpack

import trio

from armory_trio import (
    ApprovalPolicy,
    Gates,
    ImageContent,
    RequestContext,
    Tool,
    Toolbox,
    ToolContext,
    ToolFailure,
    tool,
)
from armory_trio.authority.policy import Policy, PolicyContext
from armory_trio.definitions import EffectSpec
from armory_trio.integrations.asyncio_host import AsyncioHost
from tests.integrations.loops import pending_futures

PIXEL: Final = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63606060000000040001f61738550000000049454e44ae426082"
)
"""The smallest PNG."""

PIXEL_URL: Final = f"data:image/png;base64,{base64.b64encode(PIXEL).decode()}"

WHO: Final = RequestContext(principal="ann", tenant="acme", audience="tenant", agent="agent-1", run="run-1")

BANK: Final[EffectSpec] = {"class": "external-write", "targets": [{"kind": "service", "id": "bank"}]}


class Rules(TypedDict, total=False):
    """The rules of a toolbox."""

    policy: Policy
    policy_context: PolicyContext
    approval_policy: ApprovalPolicy
    gates: Gates


class Workshop:
    """A toolbox for one test.

    Args:
        meet: How many bodies of ``work`` have to be there at the same time before the first of them goes on.
        rules: Those of the toolbox.

    Attributes:
        said: What its tools said, in order.
        most: How many bodies of ``work`` ran at the same time, at most.
        running: Set when ``sleep`` has begun.
        began: The same, for other threads.
    """

    def __init__(self, *, meet: int = 1, **rules: Unpack[Rules]) -> None:
        self.said: list[str] = []
        self.most = 0
        self.running = asyncio.Event()
        self.began = threading.Event()
        self.closed = False
        self._now = 0
        self._meet = meet
        self._met = trio.Event()
        self.toolbox = Toolbox(self._tools(), **rules)

    def _tools(self) -> list[Tool[..., object]]:
        @tool(effect="read-only", concurrency=2)
        async def work(number: int) -> int:
            """Work a little, at most two at a time."""
            self._now += 1
            self.most = max(self.most, self._now)
            if self.most >= self._meet:
                self._met.set()
            await self._met.wait()
            await trio.sleep(0.001)
            self._now -= 1
            return number * 10

        @tool(effect=BANK)
        async def pay(to: str, amount: int = 5) -> str:
            """Pay somebody."""
            await trio.lowlevel.checkpoint()
            self.said.append(f"paid {amount} to {to}")
            return f"paid {amount} to {to}"

        @tool(effect=BANK)
        async def sleep() -> str:
            """Sleep until stopped."""
            self.said.append("began")
            self.running.set()
            self.began.set()
            try:
                await trio.sleep_forever()
            finally:
                self.said.append("cleaned up")

        @tool(effect=BANK)
        async def crash() -> str:
            """Break in the middle of something."""
            await trio.lowlevel.checkpoint()
            raise ValueError("the line went dead")

        @tool(effect=BANK)
        async def decline() -> str:
            """Say that nothing happened."""
            await trio.lowlevel.checkpoint()
            raise ToolFailure("no such account", category="not_found", effect="none")

        @tool(effect=BANK)
        async def misjudge() -> str:
            """Find out in the middle that the input makes no sense."""
            await trio.lowlevel.checkpoint()
            raise ToolFailure("that account is closed", category="validation")

        @tool(effect="read-only")
        async def draw() -> list[object]:
            """Draw a picture."""
            await trio.lowlevel.checkpoint()
            return ["here it is", ImageContent(PIXEL, "image/png")]

        @tool(effect="read-only")
        async def count(upto: int) -> AsyncIterator[int]:
            """Count, one chunk a number."""
            for number in range(upto):
                yield number
                await trio.lowlevel.checkpoint()

        @tool(effect="read-only", availability=lambda _: not self.closed)
        async def shop(item: str) -> str:
            """Look an article up, as long as the shop is open."""
            await trio.lowlevel.checkpoint()
            return f"{item}: 3 left"

        @tool(effect="read-only")
        async def whoami(ctx: ToolContext) -> str:
            """Say on whose behalf this runs."""
            await trio.lowlevel.checkpoint()
            behalf = ctx.request_context
            return f"{ctx.owner_id} {behalf.principal if behalf else None} {ctx.call_id}"

        return [work, pay, sleep, crash, decline, misjudge, draw, count, shop, whoami]


_ROUNDS: Final = 20
"""Rounds of the loop after which a coroutine is cancelled, at most; by then it waits for something far away."""


async def cancel_everywhere(
    host: AsyncioHost, workshop: Workshop, call: Callable[[], Awaitable[object]], *, sleeps: bool = True
) -> None:
    """Cancel what *call* answers after each number of rounds, and raise AssertionError if it leaves anything behind.

    If it *sleeps*, by the tool of that name, it is cancelled in the tool at last.
    """

    async def cancel(task: asyncio.Future[object]) -> None:
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled() or task.exception() is None
        await host.wait_idle()
        assert workshop.said.count("began") == workshop.said.count("cleaned up")

    for rounds in range(_ROUNDS):
        task = asyncio.ensure_future(call())
        for _ in range(rounds):
            await asyncio.sleep(0)
        await cancel(task)
    if sleeps:
        workshop.running.clear()
        task = asyncio.ensure_future(call())
        await workshop.running.wait()
        await cancel(task)
        assert task.cancelled()
    assert pending_futures() == []
    assert not host.closed
