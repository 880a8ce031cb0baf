"""Waits and late cleanups, as events tell them: what is waited for, how long, and in which place among the others."""

from __future__ import annotations

from typing import Final

import pytest
import trio
import trio.testing

from armory_trio import (
    AbortRequested,
    ApprovalPolicy,
    ApprovalRequest,
    BlockingContext,
    CleanupOverdue,
    CleanupPending,
    ElicitAccepted,
    ElicitAnswer,
    ElicitRequest,
    ExecutionAdmitted,
    ExecutionSettled,
    ExecutionStarted,
    Limits,
    OfExecution,
    OutcomeDecided,
    RequestContext,
    Toolbox,
    ToolCall,
    ToolContext,
    open_supervisor,
    tool,
)
from armory_trio import WaitBegan as Began
from armory_trio import WaitEnded as Ended
from armory_trio.engine._feed import EventReader
from tests.requirements import requirement

from .tools import sleep

HER: Final = RequestContext(principal="ada", tenant="acme", agent="a")

Told = list[type[OfExecution]]


@tool(effect="read-only")
async def lingers(ctx: ToolContext) -> str:
    """Wait twice at once, and ask a person."""
    async with ctx.waiting("the tide"):
        await trio.sleep(1)
        async with ctx.waiting("the moon"):
            await trio.sleep(2)
    await ctx.elicit("Ready?")
    return "done"


@tool(effect="read-only", cleanup_timeout=3.0)
async def clings(ctx: ToolContext) -> str:
    """Wait for something, and not let go of it."""
    async with ctx.waiting("the tide"):
        with trio.CancelScope(shield=True):
            await trio.sleep(60)
    return "done"


@tool(effect="read-only", writes=["the boat"])
async def sails(seconds: float) -> str:
    """Use something that only one can use."""
    await trio.sleep(seconds)
    return "back"


def read(reader: EventReader[OfExecution], execution_id: str | None = None) -> list[OfExecution]:
    """What is there to be read, of one execution or of all."""
    found: list[OfExecution] = []
    while True:
        try:
            event = reader.next_nowait()
        except (trio.WouldBlock, StopAsyncIteration):
            return [each for each in found if execution_id in (None, each.execution_id)]
        assert isinstance(event, OfExecution)
        found.append(event)


def waits_of(events: list[OfExecution]) -> list[tuple[object, ...]]:
    """What is told of waits, in order."""
    found: list[tuple[object, ...]] = []
    for event in events:
        if isinstance(event, Began):
            found.append(("began", event.kind, event.subject))
        elif isinstance(event, Ended):
            found.append(("ended", event.kind, event.subject, event.seconds))
    return found


@requirement("watching.waits")
async def test_what_a_tool_declares_and_asks_is_told_with_its_length(autojump_clock: trio.abc.Clock) -> None:
    async def answer(_: ElicitRequest) -> ElicitAnswer:
        await trio.sleep(4)
        return ElicitAccepted({})

    async with open_supervisor(Toolbox([lingers])) as supervisor, supervisor.events(OfExecution) as reader:
        await supervisor.execute(ToolCall("lingers"), elicit=answer)
        told = read(reader)

    assert waits_of(told) == [
        ("began", "declared", "the tide"),
        ("began", "declared", "the moon"),
        ("ended", "declared", "the moon", 2.0),
        ("ended", "declared", "the tide", 3.0),
        ("began", "elicitation", "Ready?"),
        ("ended", "elicitation", "Ready?", 4.0),
    ]
    assert [type(event) for event in told[:2]] == [ExecutionAdmitted, ExecutionStarted]
    revisions = [event.revision for event in told if isinstance(event, Began | Ended)]
    assert revisions == sorted(set(revisions)), "each of them is a publication of its own"


LINES: Final = [
    (ToolCall("sleep", {"seconds": 5}), Limits(concurrent=1), ("capacity", "supervisor")),
    (ToolCall("sails", {"seconds": 5}), Limits(), ("resource", "/the boat")),
]


@requirement("watching.waits")
@pytest.mark.parametrize(("call", "limits", "line"), LINES, ids=[kind for _, _, (kind, _) in LINES])
async def test_whoever_stands_in_line_is_told_to_until_its_body_begins(
    call: ToolCall, limits: Limits, line: tuple[str, str], autojump_clock: trio.abc.Clock
) -> None:
    async with (
        open_supervisor(Toolbox([sleep, sails]), limits=limits) as supervisor,
        supervisor.events(OfExecution) as reader,
    ):
        supervisor.start(call)
        second = supervisor.start(call)
        await trio.testing.wait_all_tasks_blocked()
        shown = second.snapshot
        await second.settled()
        told = read(reader, second.id)

    assert (shown.waits_for, shown.declared_wait) == (":".join(line), None)
    assert waits_of(told) == [("began", *line), ("ended", *line, 5.0)]
    assert [type(event) for event in told] == [
        *(ExecutionAdmitted, Began, Ended, ExecutionStarted, OutcomeDecided, ExecutionSettled)
    ]


@requirement("watching.waits")
async def test_a_member_of_a_batch_in_order_waits_for_the_one_before_it(autojump_clock: trio.abc.Clock) -> None:
    calls = [ToolCall("sleep", {"seconds": 5}) for _ in range(2)]
    async with open_supervisor(Toolbox([sleep])) as supervisor, supervisor.events(Began, Ended) as reader:
        await supervisor.execute_batch(calls, mode="sequential", batch_id="b")
        assert waits_of(read(reader)) == [
            ("began", "resource", "batch:b"),
            ("ended", "resource", "batch:b", 5.0),
        ]


@requirement("watching.waits")
async def test_hooks_people_and_the_ledger_are_waited_for_under_their_names(autojump_clock: trio.abc.Clock) -> None:
    async def is_there(_: object) -> bool:
        await trio.sleep(1)
        return True

    @tool(availability=is_there, effect={"class": "external-write", "targets": [{"kind": "service", "id": "bank"}]})
    async def pay() -> str:
        await trio.sleep(7)
        return "paid"

    async def approve(_: ApprovalRequest) -> bool:
        await trio.sleep(3)
        return True

    toolbox = Toolbox([pay], approval_policy=ApprovalPolicy("on-mutation"))
    async with (
        open_supervisor(toolbox, approval_handler=approve, default_request_context=HER) as supervisor,
        supervisor.events(OfExecution) as reader,
    ):
        first = supervisor.start(ToolCall("pay"), idempotency_key="k")
        await trio.sleep(4.5)
        second = supervisor.start(ToolCall("pay"), idempotency_key="k")
        await first.settled()
        await second.settled()
        told = read(reader)

    alone = waits_of([event for event in told if event.execution_id == first.id])
    assert alone == [
        ("began", "policy", None),
        ("ended", "policy", None, 1.0),
        ("began", "approval", None),
        ("ended", "approval", None, 3.0),
        ("began", "ledger", None),
        ("ended", "ledger", None, 0.0),
        ("began", "ledger", None),
        ("ended", "ledger", None, 0.0),
    ]
    joined = waits_of([event for event in told if event.execution_id == second.id])
    assert joined[5:9] == [
        ("ended", "ledger", None, 0.0),
        ("began", "joined", first.id),
        ("ended", "joined", first.id, 2.5),
        ("began", "ledger", None),
    ]


@requirement("watching.waits")
@pytest.mark.parametrize("when", ["in line", "in a hook", "in its body"])
async def test_a_wait_that_an_abort_ends_is_over_before_the_execution_is(
    when: str, autojump_clock: trio.abc.Clock
) -> None:
    async def never(_: object) -> bool:
        await trio.Event().wait()
        return True

    @tool(availability=never)
    async def elsewhere() -> None: ...

    @tool
    async def waits(ctx: ToolContext) -> None:
        async with ctx.waiting("the tide"):
            await trio.sleep_forever()

    name = {"in line": "sleep", "in a hook": "elsewhere", "in its body": "waits"}[when]
    toolbox = Toolbox([sleep, elsewhere, waits])
    async with (
        open_supervisor(toolbox, limits=Limits(concurrent=1)) as supervisor,
        supervisor.events(OfExecution) as reader,
    ):
        if when == "in line":
            supervisor.start(ToolCall("sleep", {"seconds": 9}))
        execution = supervisor.start(ToolCall(name, {"seconds": 9} if name == "sleep" else {}))
        await trio.sleep(2)
        execution.abort("not wanted")
        await execution.settled()
        told = read(reader, execution.id)

    kinds = [type(event) for event in told if not isinstance(event, ExecutionAdmitted | ExecutionStarted)]
    assert sorted(kinds[1:4], key=str) == sorted([AbortRequested, OutcomeDecided, Ended], key=str)
    assert (kinds[0], kinds[-1], len(kinds)) == (Began, ExecutionSettled, 5)
    assert [event.seconds for event in told if isinstance(event, Ended)] == [2.0]


@requirement("watching.waits", "watching.overdue")
async def test_a_body_that_does_not_let_go_is_told_of_twice_and_its_waits_end_with_it(
    autojump_clock: trio.abc.Clock,
) -> None:
    async with open_supervisor(Toolbox([clings])) as supervisor, supervisor.events(OfExecution) as reader:
        execution = supervisor.start(ToolCall("clings"))
        await trio.sleep(1)
        execution.abort("not wanted")
        shot = await execution.settled()
        told = read(reader)
        await supervisor.wait_idle()
        late = read(reader)

    assert (shot.state, shot.cleanup) == ("unknown-effect", "unresolved")
    kinds: Told = [
        *(ExecutionAdmitted, ExecutionStarted, Began, AbortRequested, OutcomeDecided),
        *(CleanupPending, CleanupOverdue, Ended, ExecutionSettled),
    ]
    assert [type(event) for event in told] == kinds
    assert [event.allowed for event in told if isinstance(event, CleanupPending)] == [3.0]
    assert late == [], "a wait that goes on in a body which was given up is no news"


@requirement("watching.overdue")
@pytest.mark.parametrize("says", [True, False])
async def test_a_cleanup_that_comes_to_an_end_or_gives_up_itself_is_not_overdue(
    says: bool, autojump_clock: trio.abc.Clock
) -> None:
    @tool
    async def tidies(ctx: ToolContext) -> None:
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(1)
                if says:
                    ctx.report_cleanup("unresolved", "the lock is stuck")

    async with open_supervisor(Toolbox([tidies])) as supervisor, supervisor.events(OfExecution) as reader:
        execution = supervisor.start(ToolCall("tidies"))
        await trio.testing.wait_all_tasks_blocked()
        execution.abort("not wanted")
        await execution.settled()
        told = [type(event) for event in read(reader)]

    assert told[-2:] == [CleanupPending, ExecutionSettled]


@requirement("watching.waits")
async def test_a_thread_tells_its_waits_too() -> None:
    @tool(effect="read-only")
    def waits(ctx: BlockingContext) -> None:
        with ctx.waiting("the tide"):
            pass

    async with open_supervisor(Toolbox([waits])) as supervisor, supervisor.events(Began, Ended) as reader:
        await supervisor.execute(ToolCall("waits"))
        assert [each[:3] for each in waits_of(read(reader))] == [
            ("began", "declared", "the tide"),
            ("ended", "declared", "the tide"),
        ]


@requirement("watching.waits")
async def test_while_nobody_reads_nothing_is_noted_of_those_in_line_and_who_comes_later_hears_of_no_end(
    autojump_clock: trio.abc.Clock,
) -> None:
    async with open_supervisor(Toolbox([sleep]), limits=Limits(concurrent=1)) as supervisor:
        supervisor.start(ToolCall("sleep", {"seconds": 1}))
        second = supervisor.start(ToolCall("sleep", {"seconds": 1}))
        await trio.testing.wait_all_tasks_blocked()
        core = supervisor._core  # pyright: ignore[reportPrivateUsage]  # what is noted shows nowhere else
        assert core.live[second.id].open_waits is None
        async with supervisor.events(Began, Ended, ExecutionStarted) as reader:
            await second.settled()
            event = await anext(reader)
            assert isinstance(event, ExecutionStarted)
            with pytest.raises(trio.WouldBlock):
                reader.next_nowait()


@requirement("watching.waits")
async def test_whoever_stops_reading_in_the_middle_leaves_nothing_wrong(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([sleep, lingers]), limits=Limits(concurrent=1)) as supervisor:
        async with supervisor.events(OfExecution):
            supervisor.start(ToolCall("sleep", {"seconds": 1}))
            second = supervisor.start(ToolCall("sleep", {"seconds": 1}))
            await trio.testing.wait_all_tasks_blocked()
        shot = await second.settled()

    assert (shot.state, shot.outcome, shot.declared_wait) == ("terminal", "success", None)


@requirement("watching.waits")
async def test_waits_for_the_same_are_told_apart(autojump_clock: trio.abc.Clock) -> None:
    @tool(effect="read-only")
    async def insists(ctx: ToolContext) -> None:
        again = ctx.waiting("an answer")
        async with again:
            await trio.sleep(1)
            async with again:
                await trio.sleep(2)
            await ctx.elicit("an answer")

    async def answer(_: ElicitRequest) -> ElicitAnswer:
        await trio.sleep(4)
        return ElicitAccepted({})

    async with open_supervisor(Toolbox([insists])) as supervisor, supervisor.events(Began, Ended) as reader:
        await supervisor.execute(ToolCall("insists"), elicit=answer)
        assert waits_of(read(reader)) == [
            ("began", "declared", "an answer"),
            ("began", "declared", "an answer"),
            ("ended", "declared", "an answer", 2.0),
            ("began", "elicitation", "an answer"),
            ("ended", "elicitation", "an answer", 4.0),
            ("ended", "declared", "an answer", 7.0),
        ]


@requirement("watching.waits")
async def test_two_tasks_of_a_tool_that_wait_for_the_same_are_told_apart(autojump_clock: trio.abc.Clock) -> None:
    @tool(effect="read-only")
    async def both(ctx: ToolContext) -> None:
        async def wait(begin: float, end: float) -> None:
            await trio.sleep(begin)
            async with ctx.waiting("the tide"):
                await trio.sleep_until(end)

        start = trio.current_time()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait, 0, start + 3)
            nursery.start_soon(wait, 2, start + 9)

    async with open_supervisor(Toolbox([both])) as supervisor, supervisor.events(Ended) as reader:
        await supervisor.execute(ToolCall("both"))
        assert [event.seconds for event in read(reader) if isinstance(event, Ended)] == [3.0, 7.0]


@requirement("watching.waits")
async def test_who_comes_while_a_tool_waits_hears_of_no_end_without_a_beginning(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([lingers])) as supervisor:
        execution = supervisor.start(ToolCall("lingers"))
        await trio.sleep(0.5)
        async with supervisor.events(Began, Ended) as reader:
            await execution.settled()
            told = waits_of(read(reader))

    assert told[:2] == [("began", "declared", "the moon"), ("ended", "declared", "the moon", 2.0)]
    assert [each for each in told if each[2] == "the tide"] == []
