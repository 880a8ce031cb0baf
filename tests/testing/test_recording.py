"""What a supervisor was asked for, and the assertions about it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
import trio
import trio.testing

from armory_trio import (
    Budget,
    BudgetExceeded,
    ExecutionSettled,
    Limits,
    RequiredAction,
    Supervisor,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolResult,
    open_supervisor,
    tool,
)
from armory_trio.testing import (
    CallHistory,
    RecordedCall,
    inline,
    mock_tool,
    open_recorded,
    record_calls,
    sample_toolbox,
)
from tests.requirements import requirement


@tool(effect="read-only", requires_approval=True)
async def guarded() -> None:
    """Needs a person."""
    raise NotImplementedError


@tool(effect="read-only")
async def both(ctx: ToolContext) -> list[object]:
    """Call two others."""
    return [(await ctx.call("echo", {"text": text})).unwrap() for text in ("a", "b")]


TOOLBOX = sample_toolbox().extend(guarded, both)


def told(calls: CallHistory) -> list[tuple[str, object]]:
    return [(call.name, call.code or call.outcome) for call in calls]


@requirement("testing.record")
async def test_every_call_is_there_in_order_however_it_came_in_and_ended(autojump_clock: trio.abc.Clock) -> None:
    async with open_recorded(TOOLBOX) as (supervisor, calls):
        await supervisor.execute(ToolCall("both"), owner_id="ann")
        await supervisor.execute_batch([ToolCall("nowhere"), ToolCall("echo", {"text": 7}), ToolCall("guarded")])
        started = supervisor.start(ToolCall("sleep", {"seconds": 9}))
        await trio.testing.wait_all_tasks_blocked()
        started.abort()
        async with supervisor.stream(ToolCall("count", {"upto": 2})) as stream:
            assert [chunk async for chunk in stream] == [1, 2]
        with trio.move_on_after(1):
            await supervisor.execute(ToolCall("sleep", {"seconds": 9}))

    assert told(calls) == [
        ("both", "success"),
        ("echo", "success"),
        ("echo", "success"),
        ("nowhere", "NOT_FOUND"),
        ("echo", "INVALID_ARGUMENTS"),
        ("guarded", "APPROVAL_UNAVAILABLE"),
        ("sleep", "CANCELLED"),
        ("count", "success"),
        ("sleep", "CANCELLED"),
    ]
    parent, *children = calls[:3]
    assert [child.snapshot.parent_id for child in children] == [parent.snapshot.execution_id] * 2
    assert [child.arguments for child in children] == [{"text": "a"}, {"text": "b"}]
    assert {call.snapshot.owner_id for call in calls[:3]} == {"ann"}
    assert [call.ran for call in calls] == [True, True, True, False, False, False, True, True, True]
    assert [call.result and call.result.value for call in calls[:2]] == [["a", "b"], "a"]
    assert calls[7].result == stream.result


@requirement("testing.record")
async def test_def_tools_in_threads_are_recorded_like_any_other() -> None:
    @tool(effect="read-only")
    def blocking(n: int) -> int:
        """Count on."""
        return n + 1

    for toolbox in (Toolbox([blocking]), inline(Toolbox([blocking]))):
        async with open_recorded(toolbox) as (supervisor, calls):
            await supervisor.execute(ToolCall("blocking", {"n": 1}))
        assert [(call.arguments, call.result and call.result.value) for call in calls] == [({"n": 1}, 2)]


@requirement("testing.record")
async def test_what_makes_no_execution_is_not_in_the_history() -> None:
    async with open_recorded(TOOLBOX, budget=Budget(max_calls=1), limits=Limits(concurrent=1)) as (supervisor, calls):
        with pytest.raises(BudgetExceeded):
            await supervisor.execute_batch([ToolCall("echo", {"text": "a"})] * 2)

        assert len(calls) == 0
        calls.assert_not_called()


@requirement("testing.record.late")
async def test_what_becomes_known_later_is_in_the_history_too(autojump_clock: trio.abc.Clock) -> None:
    async with open_recorded(TOOLBOX) as (supervisor, calls):
        early = await supervisor.execute(ToolCall("stubborn", {"seconds": 5}), timeout=1)
        assert (early.effect, calls[0].effect, calls[0].snapshot.ended_at) == ("unknown", "unknown", None)
        assert calls[0].result == early
        await supervisor.wait_idle()

    [call] = calls
    assert (call.code, call.effect, call.result and call.result.effect) == ("TIMEOUT", "completed", "completed")
    assert call.snapshot.ended_at is not None


@requirement("testing.record.late")
async def test_a_call_that_still_runs_has_no_result_yet(autojump_clock: trio.abc.Clock) -> None:
    async with open_recorded(TOOLBOX) as (supervisor, calls):
        supervisor.start(ToolCall("sleep", {"seconds": 5}))
        await trio.testing.wait_all_tasks_blocked()
        assert (calls[0].result, calls[0].outcome, calls[0].snapshot.state) == (None, None, "active")
        assert str(calls) == "1. sleep(seconds=5): active"

    assert calls[0].outcome == "success"  # it ended while the block was left


@requirement("testing.record.quiet")
async def test_only_what_happens_in_the_block_is_recorded_and_the_events_of_others_go_on() -> None:
    call = ToolCall("echo", {"text": "a"})
    async with open_supervisor(TOOLBOX) as supervisor, supervisor.events(ExecutionSettled) as events:
        await supervisor.execute(call)
        with record_calls(supervisor) as calls, record_calls(supervisor) as others:
            await supervisor.execute(call)
        await supervisor.execute(call)
        settled = [await anext(events) for _ in range(3)]

    assert (len(calls), len(others), len(settled)) == (1, 1, 3)
    assert calls[0].snapshot.execution_id == settled[1].execution_id  # type: ignore[union-attr]  # pyright: ignore[reportAttributeAccessIssue]  # none lags


@requirement("testing.record.quiet")
async def test_a_call_that_is_running_when_recording_begins_or_ends_does_no_harm(
    autojump_clock: trio.abc.Clock,
) -> None:
    async with open_supervisor(TOOLBOX) as supervisor:
        before = supervisor.start(ToolCall("sleep", {"seconds": 1}))
        with record_calls(supervisor) as calls:
            await before.settled()
            after = supervisor.start(ToolCall("sleep", {"seconds": 1}))
        await after.settled()

    [call] = calls
    assert (call.result, call.outcome) == (None, "success")


# ── asking ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
async def history() -> CallHistory:
    async with open_recorded(TOOLBOX) as (supervisor, calls):
        await _talk(supervisor)
    return calls


async def _talk(supervisor: Supervisor) -> None:
    await supervisor.execute(ToolCall("relay", {"name": "echo", "arguments": {"text": "a"}}), owner_id="ann")
    await supervisor.execute(ToolCall("default:echo", {"text": "b"}), owner_id="ben")
    await supervisor.execute(ToolCall("echo", {}))
    await supervisor.execute(ToolCall("fail"))
    await supervisor.execute(ToolCall("change"))


@requirement("testing.record.query")
async def test_a_history_can_be_asked_for_some_of_its_calls(history: CallHistory) -> None:
    def sent(**asked: object) -> list[object]:
        return [call.arguments.get("text") for call in history.of("echo", **asked)]  # type: ignore[arg-type]

    assert sent() == ["a", "b", None]
    assert sent(outcome="success") == ["a", "b"]
    assert sent(code="INVALID_ARGUMENTS") == [None]
    assert sent(owner_id="ben") == ["b"]
    assert sent(nested=True) == ["a"]
    assert sent(nested=False, ran=True) == ["b"]
    assert [call.name for call in history.of(effect="completed")] == ["change"]
    assert len(history.of()) == len(history) == 6


@requirement("testing.record.query")
async def test_a_history_is_a_sequence_and_forgets_when_it_is_told_to(autojump_clock: trio.abc.Clock) -> None:
    async with open_recorded(TOOLBOX) as (supervisor, calls):
        running = supervisor.start(ToolCall("sleep", {"seconds": 1}))
        await _talk(supervisor)
        assert (calls[-1].name, [call.name for call in calls[1:3]]) == ("change", ["relay", "echo"])
        assert repr(calls) == "<CallHistory: 7 calls>"
        calls.clear()
        assert (len(calls), list(calls), str(calls)) == (0, [], "no calls")
        await running.settled()
        await supervisor.execute(ToolCall("fail"))

    assert [call.name for call in calls] == ["fail"]


@requirement("testing.record.assert")
async def test_assertions_pass_and_answer_the_calls_that_they_looked_at(history: CallHistory) -> None:
    assert len(history.assert_called("echo")) == 3
    assert len(history.assert_called("echo", times=3)) == 3
    assert len(history.assert_ran("echo", times=2)) == 2
    assert [call.snapshot.owner_id for call in history.assert_called_with("echo", {"text": "b"})] == ["ben"]
    assert len(history.assert_called_with("relay", {"name": "echo"}, partial=True)) == 1
    assert len(history.assert_called("default:echo")) == 3
    history.assert_not_called("guarded", "sleep")
    history.assert_not_run("guarded")
    history.assert_called("echo", times=3)
    history.assert_outcome("fail", "error", code="INTERNAL_ERROR")
    history.assert_outcome("relay", "success")
    history.assert_effect("change", "completed")
    history.assert_order("relay", "echo", "echo", "change")


FAILING: dict[str, tuple[Callable[[CallHistory], object], str]] = {
    "never": (lambda calls: calls.assert_called("guarded"), "'guarded' was never called. 6 calls recorded:\n1. relay("),
    "times": (lambda calls: calls.assert_called("echo", times=1), "'echo' was called 3 times, not 1 time."),
    "none": (lambda calls: calls.assert_called("fail", times=0), "'fail' was called 1 time, not 0 times."),
    "never ran": (lambda calls: calls.assert_ran("guarded"), "'guarded' was never run."),
    "ran": (lambda calls: calls.assert_ran("echo", times=3), "'echo' was run 2 times, not 3 times."),
    "arguments": (
        lambda calls: calls.assert_called_with("echo", {"text": "c"}),
        "'echo' was never called with {'text': 'c'}, but with\n- {'text': 'a'}\n- {'text': 'b'}\n- {}\n6 calls",
    ),
    "more": (lambda calls: calls.assert_called_with("relay", {"name": "echo"}), "was never called with"),
    "part": (lambda calls: calls.assert_called_with("echo", {"text": "c"}, partial=True), "arguments that contain"),
    "called": (lambda calls: calls.assert_not_called("fail", "sleep"), "'fail' should not have been called. 6 calls"),
    "anything": (lambda calls: calls.assert_not_called(), "'relay', 'echo', 'fail', 'change' should not have been"),
    "run": (lambda calls: calls.assert_not_run("echo"), "'echo' should not have been run."),
    "outcome": (
        lambda calls: calls.assert_outcome("echo", "success"),
        "not every call of 'echo' ended as success:\n- echo(): INVALID_ARGUMENTS, `text` is required",
    ),
    "code": (
        lambda calls: calls.assert_outcome("fail", "error", code="TIMEOUT"),
        "not every call of 'fail' ended as error TIMEOUT:\n- fail(): INTERNAL_ERROR, it did not work, effect none",
    ),
    "effect": (
        lambda calls: calls.assert_effect("change", "none"),
        "had the effect 'none':\n- change(): success, 'changed', effect completed",
    ),
    "order": (lambda calls: calls.assert_order("echo", "relay"), "'relay' was not called after 'echo'."),
    "first": (lambda calls: calls.assert_order("sleep"), "'sleep' was not called. 6 calls"),
}


@requirement("testing.record.assert")
@pytest.mark.parametrize("name", FAILING)
async def test_an_assertion_that_fails_says_what_was_there(history: CallHistory, name: str) -> None:
    assertion, words = FAILING[name]
    with pytest.raises(AssertionError) as caught:
        assertion(history)

    assert words in str(caught.value)
    assert str(caught.value).endswith(str(history))


@requirement("testing.record.assert")
async def test_a_long_history_is_cut_and_what_cannot_be_shown_is_no_harm(autojump_clock: trio.abc.Clock) -> None:
    class Shy:
        def __repr__(self) -> str:
            raise ValueError

    mock = mock_tool("shy", result="x" * 999)
    async with open_recorded(Toolbox([mock])) as (supervisor, calls):
        await supervisor.execute(ToolCall("shy", {"it": Shy()}))
        for _ in range(70):
            await supervisor.execute(ToolCall("shy"))
    with pytest.raises(AssertionError) as caught:
        calls.assert_called("other")

    lines = str(caught.value).splitlines()
    assert lines[0] == "'other' was never called. 71 calls recorded, the last 50:"
    assert (len(lines), lines[1][:10], max(map(len, lines)) < 300) == (51, "22. shy():", True)
    assert "it=<Shy>" in str(calls)


@requirement("testing.record.assert")
async def test_a_call_that_waits_for_somebody_says_for_what(history: CallHistory) -> None:
    paused: ToolResult[object] = ToolResult(
        "exe-1", "call-1", "guarded", "action_required", action=RequiredAction("approval", "Somebody has to agree.")
    )
    snapshot = msgspec.structs.replace(history[3].snapshot, tool_name="guarded", attempts=0)

    assert str(RecordedCall(ToolCall("guarded"), paused, snapshot)) == "guarded(): needs approval, never ran"


@requirement("testing.record.assert")
async def test_an_empty_history_says_that_it_is() -> None:
    async with open_recorded(TOOLBOX) as (_, calls):
        with pytest.raises(AssertionError, match=r"'echo' was never called\. No calls were recorded\."):
            calls.assert_called("echo")
        with pytest.raises(AssertionError, match="'echo' was never called"):
            calls.assert_effect("echo", "none")
        calls.assert_order()
