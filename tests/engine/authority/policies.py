"""What the tests of policies in the engine are made of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Unpack

import pytest
import trio

from armory_trio import (
    EffectDeclaration,
    EffectTarget,
    RequestContext,
    Tool,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolResult,
    open_supervisor,
    tool,
)
from armory_trio.authority.policy import BeforeExecute, Policy, PolicyRequest
from armory_trio.authority.signing import Keyring, SigningKey
from armory_trio.definitions import Declarations, EffectClass

KEYS: Final = Keyring({"default": [SigningKey("k1", b"a secret of thirty-two bytes ...")]})
ANN: Final = RequestContext(principal="ann", tenant="acme", audience="operator", agent="clerk", run="run-1")


WHOSE: Final = pytest.mark.parametrize("whose", ["toolbox", "tool"])
"""Whose hook it is."""

LATER: Final = pytest.mark.parametrize("later", [False, True], ids=["sync", "async"])
"""Whether it is async."""


def defined(
    body: Callable[..., Awaitable[int]], effect_class: EffectClass | None, **declared: Unpack[Declarations]
) -> Tool[..., int]:
    """A tool of an effect class; None says nothing about it."""
    if effect_class == "read-only":
        declared["effect"] = EffectDeclaration(effect_class)
    elif effect_class is not None:
        declared["effect"] = EffectDeclaration(effect_class, (EffectTarget("service", "bank"),))
    return tool(**declared)(body)


class Pay:
    """A tool that notes what it is run with."""

    def __init__(self, *, policy: Policy | None = None, name: str = "pay") -> None:
        self.ran: list[tuple[int, str]] = []

        async def pay(cents: int, to: str = "bob") -> str:
            """Pay somebody."""
            await trio.lowlevel.checkpoint()
            self.ran.append((cents, to))
            return f"{cents} to {to}"

        self.tool: Tool[..., str] = tool(name=name, policy=policy)(pay)


class Told:
    """A policy that is only told how calls ended."""

    def __init__(self, name: str = "toolbox", log: list[str] | None = None) -> None:
        self.name = name
        self.log = log
        self.heard: list[tuple[PolicyRequest, ToolResult[object]]] = []

    def after_execute(self, request: PolicyRequest, result: ToolResult[object], /) -> None:
        self.heard.append((request, result))
        if self.log is not None:
            self.log.append(self.name)

    @property
    def ends(self) -> list[str]:
        """How the calls ended: the outcome, or the code of the error."""
        return [end_of(result) for _, result in self.heard]


class Deciding(Told):
    """A policy that decides as it was told to, and is told how calls ended."""

    def __init__(self, decide: Callable[[PolicyRequest], object], name: str = "toolbox") -> None:
        super().__init__(name)
        self.decide = decide
        self.asked: list[PolicyRequest] = []

    def before_execute(self, request: PolicyRequest, /) -> object:
        self.asked.append(request)
        return self.decide(request)


def end_of(result: ToolResult[object]) -> str:
    """How a call ended: the outcome, or the code of the error."""
    return result.outcome if result.error is None else result.error.code


def always(answer: object) -> Callable[[PolicyRequest], object]:
    """A hook that answers the same each time."""
    return lambda _: answer


async def run(toolbox: Toolbox, name: str, arguments: Mapping[str, object] | None = None) -> ToolResult[object]:
    """Run one call on behalf of nobody."""
    async with open_supervisor(toolbox) as supervisor:
        return await supervisor.execute(ToolCall(name, arguments or {}))


@tool(effect="read-only")
async def look() -> str:
    """Look, and change nothing."""
    await trio.lowlevel.checkpoint()
    return "seen"


@tool
async def relay(name: str, arguments: dict[str, object], ctx: ToolContext) -> str:
    """Make one call, and say how it ended."""
    return end_of(await ctx.call(name, arguments))


def stray_cancelled() -> BaseException:
    """A `trio.Cancelled` that was kept."""

    async def keep() -> BaseException:
        with trio.CancelScope() as scope:
            scope.cancel()
            try:
                await trio.lowlevel.checkpoint()
            except trio.Cancelled as kept:  # noqa: ASYNC103  # that is what is to be kept
                return kept
        raise AssertionError

    try:
        keep().send(None)
    except StopIteration as end:
        found = end.value
        assert isinstance(found, BaseException)
        return found
    raise AssertionError


def paying(hook: BeforeExecute, whose: str) -> tuple[Pay, Toolbox]:
    """A tool that pays, and a toolbox in which *hook* decides: the toolbox's, or the tool's own."""
    pay = Pay(policy=hook if whose == "tool" else None)
    return pay, Toolbox([pay.tool, look, relay], policy=hook if whose == "toolbox" else None)
