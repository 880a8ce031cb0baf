"""What the world may have seen: each row of the table of effects."""

from __future__ import annotations

import pytest
import trio
import trio.lowlevel
import trio.testing

from armory_trio import (
    ArmoryError,
    Limits,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolFailure,
    open_supervisor,
    tool,
)
from armory_trio.definitions import EffectMapping
from tests.engine.tools import sleep, stubborn, watch
from tests.requirements import requirement

STRIPE: EffectMapping = {"class": "external-write", "targets": [{"kind": "service", "id": "stripe"}]}


@requirement("effects.never-entered")
async def test_a_body_that_was_never_entered_changed_nothing(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([sleep]), limits=Limits(concurrent=1)) as supervisor:
        supervisor.start(ToolCall("sleep", {"seconds": 5}))
        refused = await supervisor.execute(ToolCall("sleep", {"seconds": "five"}))
        queued = await supervisor.execute(ToolCall("sleep", {"seconds": 5}), deadline=trio.current_time() + 1)

    assert (refused.effect, refused.attempts) == ("none", 0)
    assert (queued.effect, queued.attempts) == ("none", 0)
    assert queued.error is not None and queued.error.code == "DEADLINE_EXCEEDED"


@requirement("effects.read-only")
@pytest.mark.parametrize("limit", [1.0, 9.0])
async def test_a_read_only_tool_changes_nothing_however_it_ends(limit: float, autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([watch])) as supervisor:
        execution = supervisor.start(ToolCall("watch", {"seconds": 5}), timeout=limit)
        result = await execution.result()
        snapshot = await execution.settled()

    assert (result.effect, snapshot.effect, snapshot.state) == ("none", "none", "terminal")
    assert result.outcome == ("success" if limit > 5 else "error")
    if result.error is not None:
        assert result.error.retryable


@requirement("effects.returned")
async def test_a_body_that_returned_took_effect_even_when_nobody_can_read_what_it_returned() -> None:
    @tool
    async def opaque() -> object:
        return object()

    async with open_supervisor(Toolbox([opaque])) as supervisor:
        result = await supervisor.execute(ToolCall("opaque"))

    assert result.error is not None
    assert (result.error.category, result.error.code) == ("internal", "OUTPUT_INVALID")
    assert result.effect == "completed"
    assert not result.error.retryable


@requirement("effects.returned")
async def test_a_body_that_returns_after_its_outcome_was_decided_took_effect(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([stubborn])) as supervisor:
        execution = supervisor.start(ToolCall("stubborn", {"seconds": 5}), timeout=1)
        told = await execution.result()
        settled = await execution.settled()
        known = await execution.result()

    assert told.effect == "unknown"  # when the caller was released, nobody knew
    assert (settled.effect, settled.state) == ("completed", "terminal")
    assert (known.effect, known.outcome) == ("completed", "error")
    assert "has taken effect" in known.text


@requirement("effects.tool-says")
@pytest.mark.parametrize("effect", ["none", "completed", "unknown"])
async def test_a_tool_that_says_what_it_did_is_believed(effect: str) -> None:
    @tool
    async def candid() -> None:
        raise ToolFailure("no luck", category="transient", effect=effect, retryable=True)  # type: ignore[arg-type]  # one of three words

    async with open_supervisor(Toolbox([candid])) as supervisor:
        execution = supervisor.start(ToolCall("candid"))
        result = await execution.result()
        snapshot = await execution.settled()

    assert result.effect == snapshot.effect == effect
    assert snapshot.state == ("unknown-effect" if effect == "unknown" else "terminal")
    assert result.error is not None
    assert result.error.retryable == (effect == "none")


@requirement("effects.raised")
async def test_a_body_that_raised_or_was_cut_off_may_have_done_anything(autojump_clock: trio.abc.Clock) -> None:
    @tool
    async def crash() -> None:
        raise ValueError("halfway")

    async with open_supervisor(Toolbox([crash, sleep])) as supervisor:
        raised = await supervisor.execute(ToolCall("crash"))
        timed_out = await supervisor.execute(ToolCall("sleep", {"seconds": 5}), timeout=1)

    assert (raised.effect, timed_out.effect) == ("unknown", "unknown")
    assert raised.error is not None and raised.error.message == "ValueError: halfway"
    assert "may have taken effect" in timed_out.text
    assert timed_out.error is not None and not timed_out.error.retryable


def lose_connection() -> None:
    raise ConnectionError("gone")


@requirement("effects.windows")
@pytest.mark.parametrize(
    ("behaviour", "effect", "state"),
    [
        ("none opened", "none", None),
        ("closed", "completed", "completed"),
        ("raised inside", "unknown", "unknown"),
        ("raised after", "completed", "completed"),
        ("nothing happened", "none", "nothing-happened"),
        ("raised, nothing happened", "none", "nothing-happened"),
        ("raised, happened", "completed", "completed"),
        ("caught", "unknown", "unknown"),
    ],
)
async def test_what_a_tool_with_windows_did_is_what_its_windows_say(
    behaviour: str, effect: str, state: str | None
) -> None:
    @tool(effect_windows=True, effect=STRIPE)
    async def charge(ctx: ToolContext) -> str:
        if behaviour != "none opened":
            try:
                async with ctx.effect("charge card", target="stripe:1") as window:
                    if "nothing happened" in behaviour:
                        window.nothing_happened()
                    if behaviour.endswith(", happened"):
                        window.happened()
                    if (behaviour.startswith("raised") and behaviour != "raised after") or behaviour == "caught":
                        lose_connection()
            except ConnectionError:
                if behaviour != "caught":
                    raise
        if behaviour in ("none opened", "raised after"):
            lose_connection()
        return "charged"

    async with open_supervisor(Toolbox([charge])) as supervisor:
        result = await supervisor.execute(ToolCall("charge"))

    assert result.effect == effect
    assert [record.state for record in result.effects] == ([] if state is None else [state])
    if result.effects:
        assert (result.effects[0].label, result.effects[0].target) == ("charge card", "stripe:1")


@requirement("effects.windows")
async def test_cancelled_between_opening_and_entering_a_window_nothing_happened(
    autojump_clock: trio.abc.Clock,
) -> None:
    entered = False

    @tool(effect_windows=True, effect=STRIPE)
    async def charge(ctx: ToolContext) -> None:
        nonlocal entered
        try:
            await trio.sleep(5)
        finally:
            async with ctx.effect("undo"):
                entered = True

    @tool(effect_windows=True, effect=STRIPE, grace=3)
    async def patient(ctx: ToolContext) -> None:
        nonlocal entered
        await ctx.wait_abort_requested()
        with trio.CancelScope() as own:
            own.cancel()
            async with ctx.effect("undo"):
                entered = True

    async with open_supervisor(Toolbox([charge, patient])) as supervisor:
        over = await supervisor.execute(ToolCall("charge"), timeout=1)
        execution = supervisor.start(ToolCall("patient"))
        await trio.testing.wait_all_tasks_blocked()
        execution.abort("enough")
        left = await execution.result()

    assert not entered
    assert (over.effect, over.effects) == ("none", ())  # after the outcome nothing new may start
    assert (left.effect, [record.state for record in left.effects]) == ("none", ["nothing-happened"])


@requirement("effects.windows")
async def test_a_window_open_when_the_tool_was_cut_off_is_unknown(autojump_clock: trio.abc.Clock) -> None:
    @tool(effect_windows=True, effect=STRIPE)
    async def charge(ctx: ToolContext) -> None:
        async with ctx.effect("first"):
            await trio.lowlevel.checkpoint()
        async with ctx.effect("second"):
            await trio.sleep(5)

    async with open_supervisor(Toolbox([charge])) as supervisor:
        execution = supervisor.start(ToolCall("charge"), timeout=1)
        told = await execution.result()
        await execution.settled()
        known = await execution.result()

    assert told.effects[1].state in ("open", "unknown")  # the caller and the body are released in the same turn
    assert [record.state for record in known.effects] == ["completed", "unknown"]
    assert told.effect == known.effect == "unknown"


@requirement("effects.windows")
async def test_a_window_without_its_declaration_is_refused_where_it_is_opened() -> None:
    @tool
    async def undeclared(ctx: ToolContext) -> None:
        with pytest.raises(ArmoryError, match="effect_windows=True"):
            ctx.effect("anything")
        raise ToolFailure("as expected", effect="none")

    async with open_supervisor(Toolbox([undeclared])) as supervisor:
        result = await supervisor.execute(ToolCall("undeclared"))

    assert result.error is not None and result.error.message == "as expected"


@requirement("effects.children")
@pytest.mark.parametrize(("child", "effect"), [("watch", "none"), ("sleep", "completed"), ("crash", "unknown")])
async def test_a_callers_effect_is_the_strongest_of_its_own_and_its_childrens(
    child: str, effect: str, autojump_clock: trio.abc.Clock
) -> None:
    @tool
    async def crash(seconds: float) -> None:
        raise ValueError

    @tool(effect="read-only")
    async def caller(ctx: ToolContext) -> str:
        return (await ctx.call(child, {"seconds": 1})).outcome

    async with open_supervisor(Toolbox([watch, sleep, crash, caller])) as supervisor:
        execution = supervisor.start(ToolCall("caller"))
        result = await execution.result()
        snapshot = await execution.settled()

    assert (result.outcome, result.effect) == ("success", effect)
    assert snapshot.state == ("unknown-effect" if effect == "unknown" else "terminal")


@requirement("effects.cleanup-unresolved")
async def test_an_unresolved_cleanup_is_an_unknown_effect_state_even_of_a_read_only_tool(
    autojump_clock: trio.abc.Clock,
) -> None:
    @tool(effect="read-only")
    async def careful(ctx: ToolContext) -> None:
        try:
            await trio.sleep(5)
        finally:
            ctx.report_cleanup("unresolved", "the lock file may still be there")

    async with open_supervisor(Toolbox([careful])) as supervisor:
        execution = supervisor.start(ToolCall("careful"), timeout=1)
        snapshot = await execution.settled()

    assert (snapshot.state, snapshot.effect, snapshot.cleanup) == ("unknown-effect", "none", "unresolved")
    assert execution.privileged_snapshot().cleanup_detail == "the lock file may still be there"
    assert supervisor.report is not None
    assert supervisor.report.cleanup_failures == (snapshot,)


@requirement("effects.cleanup-failed")
async def test_an_exception_after_the_abort_is_a_failed_cleanup(autojump_clock: trio.abc.Clock) -> None:
    @tool(effect="read-only")
    async def clumsy() -> None:
        try:
            await trio.sleep(5)
        finally:
            raise OSError("disk full")

    async with open_supervisor(Toolbox([clumsy])) as supervisor:
        execution = supervisor.start(ToolCall("clumsy"), timeout=1)
        result = await execution.result()
        snapshot = await execution.settled()

    assert result.error is not None and result.error.code == "TIMEOUT"
    assert (snapshot.state, snapshot.cleanup) == ("terminal", "failed")
