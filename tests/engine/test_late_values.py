"""What a thread gives that was left behind: a value, or something that would still have to run and never will."""

from __future__ import annotations

import gc
import threading
from collections.abc import Awaitable, Callable, Generator
from typing import Literal

import pytest
import trio

from armory_trio import Effect, Toolbox, ToolCall, open_supervisor, tool
from armory_trio.definitions import EffectMapping
from tests.requirements import requirement

PATIENCE = 30
"""Seconds after which a test is taken for hung; no result depends on it."""

WRITES: EffectMapping = {"class": "external-write", "targets": [{"kind": "service", "id": "stripe"}]}

ran: list[str] = []


async def second_half() -> str:
    ran.append("second half")
    return "value"


def counting() -> Generator[int]:
    ran.append("generator")
    yield 1


class Later:
    """Something to await that is no coroutine."""

    def __await__(self) -> Generator[None, None, str]:
        ran.append("later")
        yield
        return "value"


async def late_end(
    give: Callable[[], object], effect: EffectMapping | Literal["read-only"]
) -> tuple[str, Effect, bool]:
    """State and effect of a call whose thread was left behind and then gave what *give* makes; and if it honoured."""
    began, let_go = threading.Event(), threading.Event()

    def work() -> object:
        began.set()
        assert let_go.wait(PATIENCE)
        return give()

    toolbox = Toolbox([tool(effect=effect)(work)])
    with trio.fail_after(PATIENCE):
        async with open_supervisor(toolbox) as supervisor:
            try:
                execution = supervisor.start(ToolCall("work"))
                assert await trio.to_thread.run_sync(began.wait, PATIENCE)
                execution.abort("enough")
                assert (await execution.result()).outcome == "error"
            finally:
                let_go.set()
            shot = await execution.settled()
    gc.collect()  # a coroutine that was neither awaited nor closed would make Python complain, which is an error here
    assert shot.abort is not None and shot.abort.honoured is not None
    return shot.state, shot.effect, shot.abort.honoured


@requirement("threads.late-promise")
@pytest.mark.parametrize("give", [second_half, counting, Later])
async def test_a_late_coroutine_is_no_value_and_what_its_call_did_is_unknown(
    give: Callable[[], Awaitable[str] | Generator[int]],
) -> None:
    ran.clear()

    assert await late_end(give, WRITES) == ("unknown-effect", "unknown", True)
    assert await late_end(give, "read-only") == ("terminal", "none", True)
    assert ran == []


@requirement("threads.late-promise")
async def test_a_late_value_counts_as_completed_as_ever() -> None:
    assert await late_end(lambda: "a value", WRITES) == ("terminal", "completed", False)
