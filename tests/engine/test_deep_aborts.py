"""Stopping calls that nest deep takes work in proportion to their depth; it is counted, not timed."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable
from types import FrameType

import pytest
import trio
import trio.testing

from armory_trio import Retention, Supervisor, Toolbox, ToolCall, ToolContext, open_supervisor, tool
from armory_trio.definitions import Effect
from armory_trio.engine._abort import abort_each
from armory_trio.engine._execution import Record
from armory_trio.engine._lifecycle import Abort, AbortSource
from tests.requirements import requirement

DEPTHS = (100, 200, 400)


@tool(effect="read-only")
async def look(ctx: ToolContext, depth: int, bottom: str) -> str:
    """Only look, through many others that only look."""
    name, arguments = (bottom, {}) if depth == 0 else ("look", {"depth": depth - 1, "bottom": bottom})
    return str((await ctx.call(name, arguments)).value)


@tool(effect="read-only", grace=1.0)
async def look_and_tidy(ctx: ToolContext, depth: int, bottom: str) -> None:
    """As `look`, with some time to tidy up, which is not enough."""
    name, arguments = (bottom, {}) if depth == 0 else ("look_and_tidy", {"depth": depth - 1, "bottom": bottom})
    await ctx.call(name, arguments)
    await trio.sleep_forever()


@tool(effect="read-only")
async def wait() -> None:
    """Change nothing."""
    await trio.sleep_forever()


@tool
async def write() -> None:
    """Change something."""
    await trio.sleep_forever()


TOOLS = Toolbox([look, look_and_tidy, wait, write])


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often executions were asked what they may have done, or whether they may have done anything."""
    asked: Counter[str] = Counter()
    own_effect, may_change = Record.own_effect, Record.may_change

    def counted_effect(record: Record) -> Effect:
        asked["effect"] += 1
        return own_effect(record)

    def counted_change(record: Record) -> bool:
        asked["change"] += 1
        return may_change(record)

    monkeypatch.setattr(Record, "own_effect", counted_effect)
    monkeypatch.setattr(Record, "may_change", counted_change)
    return asked


async def stop_a_chain(tool_name: str, depth: int, bottom: str, check: Callable[[Supervisor], None]) -> None:
    async with open_supervisor(TOOLS, retention=Retention(count=2 * depth)) as supervisor:
        top = supervisor.start(ToolCall(tool_name, {"depth": depth, "bottom": bottom}))
        await trio.testing.wait_all_tasks_blocked()
        assert supervisor.active == depth + 2
        top.abort("enough")
        await top.settled()
        await supervisor.wait_idle()
        check(supervisor)


@requirement("engine.deep-nesting")
@pytest.mark.parametrize("bottom", ["wait", "write"])
@pytest.mark.parametrize("tool_name", ["look", "look_and_tidy"])
async def test_stopping_a_chain_asks_each_call_a_bounded_number_of_times_what_it_did(
    work: Counter[str], tool_name: str, bottom: str, autojump_clock: trio.abc.Clock
) -> None:
    def all_were_stopped(supervisor: Supervisor) -> None:
        shots = supervisor.executions.inspect()
        assert {shot.outcome for shot in shots} == {"error"}
        assert {shot.effect for shot in shots} == {"unknown" if bottom == "write" else "none"}

    for depth in DEPTHS:
        work.clear()
        await stop_a_chain(tool_name, depth, bottom, all_were_stopped)
        assert work.total() <= 8 * (depth + 2)


@requirement("engine.deep-nesting")
async def test_looking_at_a_chain_asks_each_call_a_bounded_number_of_times_what_it_did(work: Counter[str]) -> None:
    async with open_supervisor(TOOLS) as supervisor:
        supervisor.start(ToolCall("look", {"depth": 300, "bottom": "write"}))
        await trio.testing.wait_all_tasks_blocked()
        work.clear()
        assert {shot.effect for shot in supervisor.executions.inspect()} == {"unknown"}
        await supervisor.shutdown("abort")

    assert 0 < work["effect"] <= 8 * 302


@requirement("engine.deep-nesting", "engine.reason-said")
async def test_everybody_in_a_chain_is_told_once_why_the_first_was_stopped(autojump_clock: trio.abc.Clock) -> None:
    def reasons_are_short(supervisor: Supervisor) -> None:
        aborts = [shot.abort for shot in supervisor.executions.inspect()]
        told = Counter((abort.source, abort.reason) for abort in aborts if abort is not None)
        assert told == {("caller", "enough"): 1, ("parent", "its caller was asked to stop: enough"): 201}

    await stop_a_chain("look_and_tidy", 200, "wait", reasons_are_short)


@requirement("engine.deep-nesting")
async def test_an_effect_far_below_is_known_at_the_top_while_it_lasts_and_after(autojump_clock: trio.abc.Clock) -> None:
    @tool(effect="read-only")
    async def relay(ctx: ToolContext, depth: int) -> str:
        """Call what changes something, through others."""
        name, arguments = ("change", {}) if depth == 0 else ("relay", {"depth": depth - 1})
        await ctx.call(name, arguments)
        await trio.sleep(1)
        return "done"

    @tool
    async def change() -> str:
        """Change something."""
        await trio.sleep(1)
        return "changed"

    async with open_supervisor(Toolbox([relay, change])) as supervisor:
        top = supervisor.start(ToolCall("relay", {"depth": 5}))
        assert top.snapshot.effect == "none"
        await trio.sleep(0.5)
        during = {shot.effect for shot in supervisor.executions.inspect()}
        await trio.sleep(1)
        after = {shot.effect for shot in supervisor.executions.inspect()}
        result = await top.result()

    assert during == {"unknown"}
    assert after == {"completed"}
    assert result.effect == "completed"


@requirement("engine.abort-kept")
async def test_stopping_many_keeps_no_frame_of_the_engine_for_each_of_them() -> None:
    many = 50
    async with open_supervisor(TOOLS) as supervisor:
        handles = [supervisor.start(ToolCall("wait")) for _ in range(many)]
        await trio.testing.wait_all_tasks_blocked()
        before = frames_of_the_engine()
        supervisor.abort("enough", tool_name="wait")
        kept = frames_of_the_engine() - before
        ended = [(await handle.result()).error for handle in handles]

    assert [error and error.code for error in ended] == ["CANCELLED"] * many
    assert kept < many


def frames_of_the_engine() -> int:
    """How many frames of the engine's stopping are kept, such as by exceptions that wait to be raised."""
    files = {abort_each.__code__.co_filename, Supervisor.abort.__code__.co_filename}
    found = [each for each in gc.get_objects() if isinstance(each, FrameType)]
    return sum(frame.f_code.co_filename in files for frame in found)


@requirement("engine.abort-kept")
@pytest.mark.parametrize(("many", "enabled", "meanwhile"), [(10, True, False), (10, False, False), (11, True, True)])
async def test_while_very_many_are_stopped_the_garbage_collector_waits_and_is_then_as_it_was(
    many: int, enabled: bool, meanwhile: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []

    def noted(source: AbortSource, reason: str, at: float) -> Abort:
        seen.append(gc.isenabled())
        return Abort(source, reason, at)

    monkeypatch.setattr("armory_trio.engine._abort._MANY", many)
    monkeypatch.setattr("armory_trio.engine._abort.Abort", noted)
    async with open_supervisor(TOOLS) as supervisor:
        for _ in range(10):
            supervisor.start(ToolCall("wait"))
        await trio.testing.wait_all_tasks_blocked()
        try:
            if not enabled:
                gc.disable()
            supervisor.abort("enough", tool_name="wait")
            after = gc.isenabled()
        finally:
            gc.enable()
        await supervisor.wait_idle()

    assert seen == [meanwhile] * 10
    assert after == enabled
