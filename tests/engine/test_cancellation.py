"""A cancellation at every await of every public coroutine, and what must be true afterwards."""

from __future__ import annotations

import inspect
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Final, Literal, cast

import pytest
import trio
import trio.testing

import armory_trio
from armory_trio import (
    BatchError,
    CallNext,
    ElicitAccepted,
    ElicitAnswer,
    ElicitRequest,
    Execution,
    ExecutionSettled,
    Limits,
    MiddlewareCall,
    OfExecution,
    Snapshot,
    Supervisor,
    Toolbox,
    ToolCall,
    ToolContext,
    current_supervisor,
    history_of,
    open_supervisor,
    replay,
    serve_until_signal,
    tool,
)
from armory_trio.authority.grants import Grant
from armory_trio.definitions import contract_from_pair
from armory_trio.ledger import LeftBehind
from armory_trio.storage.memory import MemoryJournal
from armory_trio.testing import mock_tool, sample_toolbox
from tests.engine.authority.bank import (
    PAY,
    Book,
    TroubledApprovals,
    TroubledGrants,
    Vault,
    granting,
    pay_tool,
    pending_of,
)
from tests.engine.cancelling import Case, Probe, assert_nothing_is_held, assert_unharmed, cancel_everywhere
from tests.engine.ledger.stores import Bank, Clock, Troubled
from tests.engine.ledger.test_recovered import populated
from tests.requirements import requirement

CASES: Final[dict[str, Case]] = {}
COVERED: Final[dict[str, list[str]]] = {}


def covers(*names: str) -> Callable[[Case], Case]:
    """The decorated case cancels these coroutines at each of their awaits."""

    def note(case: Case) -> Case:
        name = getattr(case, "__name__", "case").replace("_", " ")
        CASES[name] = case
        for covered in names:
            COVERED.setdefault(covered, []).append(name)
        return case

    return note


SLEEP: Final = ToolCall("sleep", {"seconds": 1.0}, id="sleep")
CHANGE: Final = ToolCall("change", {"seconds": 1.0}, id="change")


def _stopped(snapshot: Snapshot) -> None:
    """It was stopped because its caller was cancelled, before or after its body had begun."""
    assert snapshot.abort is not None
    assert (snapshot.abort.source, snapshot.error_category) == ("caller", "cancelled")
    assert snapshot.error_code == ("NOT_STARTED" if snapshot.started_at is None else "CANCELLED")
    assert snapshot.effect == ("none" if snapshot.started_at is None else "unknown")


def _at_once(supervisor: Supervisor) -> list[Snapshot]:
    """What there is when a cancelled caller is back: all of it is over."""
    found = supervisor.executions.inspect()
    assert [snapshot for snapshot in found if snapshot.ended_at is None] == []
    return found


# ── calls ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@covers("Supervisor.execute")
async def a_call(probe: Probe) -> None:
    async with open_supervisor(sample_toolbox()) as supervisor:
        if await probe.run(lambda: supervisor.execute(SLEEP)):
            for snapshot in _at_once(supervisor):
                _stopped(snapshot)
        await assert_unharmed(supervisor)


@covers("Supervisor.execute")
async def a_call_that_waits_for_its_turn(probe: Probe) -> None:
    async with open_supervisor(sample_toolbox(), limits=Limits(concurrent=1)) as supervisor:
        first = supervisor.start(SLEEP)
        if await probe.run(lambda: supervisor.execute(CHANGE)):
            for snapshot in supervisor.executions.inspect()[1:]:
                assert snapshot.ended_at is not None
                assert snapshot.error_category == "cancelled"
        assert (await first.result()).outcome == "success"
        await assert_unharmed(supervisor)


@covers("Supervisor.execute")
async def a_call_that_cannot_be_stopped(probe: Probe) -> None:
    async with open_supervisor(sample_toolbox()) as supervisor:
        if await probe.run(lambda: supervisor.execute(ToolCall("stubborn", {"seconds": 1}))):
            for snapshot in supervisor.executions.inspect():
                assert snapshot.state in ("cleanup-pending", "terminal")
        await assert_unharmed(supervisor)


def _batch(**options: str | int) -> Case:
    async def case(probe: Probe) -> None:
        async with open_supervisor(sample_toolbox(), limits=Limits(per_owner=2)) as supervisor:
            calls = [SLEEP, ToolCall("fail", {"after": 0.5}), CHANGE, ToolCall("stubborn", {"seconds": 0.01})]

            async def work() -> None:
                try:
                    await supervisor.execute_batch(calls, owner_id="ann", **options)  # type: ignore[arg-type]
                except BatchError as exc:
                    assert exc.index == 1

            if await probe.run(work):
                _at_once(supervisor)
            assert {snapshot.call_id for snapshot in supervisor.executions.inspect()} in (
                set(),
                {call.id for call in calls},
            )
            await assert_unharmed(supervisor)

    case.__name__ = f"a batch {' '.join(str(value) for value in options.values())}"
    return case


for _options in (
    {"mode": "parallel"},
    {"mode": "sequential"},
    {"mode": "parallel", "on_error": "fail_fast"},
    {"mode": "sequential", "on_error": "fail_fast"},
    {"mode": "parallel", "concurrency": 1},
):
    covers("Supervisor.execute_batch")(_batch(**cast("dict[str, str | int]", _options)))


@covers("Execution.result", "Execution.settled")
async def a_handle(probe: Probe) -> None:
    async with open_supervisor(sample_toolbox()) as supervisor:
        execution = supervisor.start(CHANGE)

        async def work() -> None:
            await execution.result()
            await execution.settled()

        await probe.run(work)
        assert execution.snapshot.abort is None
        assert (await execution.result()).value == "changed"
        assert (await execution.settled()).effect == "completed"
        await assert_unharmed(supervisor)


@covers("Supervisor.run_directly", "Tool.call", "Tool.__call__")
async def a_tool_called_as_a_function(probe: Probe) -> None:
    nap, beep = mock_tool("nap", result="slept", delay=1), mock_tool("beep", chunks=["a", "b"], delay=1)

    async def work() -> None:
        assert await nap() == "slept"
        assert (await beep.call()).value == ["a", "b"]

    alive = trio.lowlevel.current_statistics().tasks_living
    cancelled = await probe.run(work)
    assert trio.lowlevel.current_statistics().tasks_living == alive
    assert len(nap.calls) + len(beep.calls) == 2 or cancelled


@covers("Toolbox.execute", "Toolbox.available")
async def a_toolbox(probe: Probe) -> None:
    async def here(_: object) -> bool:
        await trio.sleep(1)
        return True

    nap = mock_tool("nap", result="slept", delay=1, availability=here)
    toolbox = Toolbox([nap])

    async def work() -> None:
        assert await toolbox.available() == (nap,)
        assert (await toolbox.execute(ToolCall("nap"))).value == "slept"

    alive = trio.lowlevel.current_statistics().tasks_living
    await probe.run(work)
    assert trio.lowlevel.current_statistics().tasks_living == alive


# ── approvals and grants ─────────────────────────────────────────────────────────────────────────────────────────────


def _vault() -> Vault:
    """Stores that take their time, so that there is something to cancel."""
    vault = Vault()
    approvals, grants = TroubledApprovals(vault.approvals), TroubledGrants(vault.grants)
    approvals.trouble = dict.fromkeys(("issue", "reserve", "commit", "release", "revoke", "state"), "slow")
    grants.trouble = dict.fromkeys(("issue", "list", "revoke"), "slow")
    return Vault(clock=vault.clock, approvals=approvals, grants=grants)


@covers("Supervisor.resume_approval")
async def going_on_with_an_approval(probe: Probe) -> None:
    book, vault = Book(), _vault()
    async with vault.open(sample_toolbox().extend(pay_tool(book, seconds=1))) as supervisor:
        pending = pending_of(await supervisor.execute(PAY))
        cancelled = await probe.run(lambda: supervisor.resume_approval(pending))
        for snapshot in supervisor.executions.inspect():
            assert snapshot.outcome is not None  # its store may still write
        await assert_unharmed(supervisor)
        with trio.CancelScope(shield=True):
            await trio.sleep(10)
            assert len(book.entries) <= 1
            assert cancelled or book.names() == ["pay"]
            assert await vault.state(pending) == ("consumed" if book.entries else "issued")


@covers("Supervisor.restore_approval")
async def restoring_an_approval(probe: Probe) -> None:
    vault, book = _vault(), Book()
    async with vault.open(sample_toolbox().extend(pay_tool(book))) as supervisor:
        pending = pending_of(await supervisor.execute(PAY))
    emptied = _vault()
    async with emptied.open(sample_toolbox().extend(pay_tool(book))) as supervisor:
        cancelled = await probe.run(lambda: supervisor.restore_approval(pending))
        with trio.CancelScope(shield=True):
            found = await emptied.state(pending)
            assert found == "issued" or (cancelled and found is None)
        await assert_unharmed(supervisor)


@covers("Supervisor.revoke_approval")
async def revoking_an_approval(probe: Probe) -> None:
    book, vault = Book(), _vault()
    async with vault.open(sample_toolbox().extend(pay_tool(book))) as supervisor:
        pending = pending_of(await supervisor.execute(PAY))
        cancelled = await probe.run(lambda: supervisor.revoke_approval(pending))
        with trio.CancelScope(shield=True):
            found = await vault.state(pending)
            assert found == "revoked" or (cancelled and found == "issued")
        await assert_unharmed(supervisor)
        assert book.entries == []


@covers("Supervisor.issue_grant", "Supervisor.list_grants", "Supervisor.revoke_grant")
async def granting_listing_and_revoking(probe: Probe) -> None:
    vault = _vault()
    async with vault.open(Toolbox(sample_toolbox(), approval_policy=None).extend(*granting(Book()))) as supervisor:
        made: list[Grant] = []
        seen: list[int] = []

        async def work() -> None:
            grant = await supervisor.issue_grant(
                "pay", principal="ann", tenant="acme", agent="helper", lifetime=60, max_uses=1, scope="principal"
            )
            made.append(grant)
            seen.append(len(await supervisor.list_grants(principal="ann")))
            await supervisor.revoke_grant(grant.id)

        cancelled = await probe.run(work)
        with trio.CancelScope(shield=True):
            kept = await supervisor.list_grants()
            assert len(kept) <= 1
            assert cancelled or (seen, [state.revoked for state in kept]) == ([1], [True])
            assert not made or [state.grant for state in kept] == made
        await assert_unharmed(supervisor)


@covers("Supervisor.recover")
async def looking_again_at_what_was_left_behind(probe: Probe) -> None:
    clock = Clock()
    store = Troubled(clock, takes=0.1)
    await populated(store)
    clock.ahead += 31
    async with open_supervisor(sample_toolbox(), ledger=store) as supervisor:
        left: list[LeftBehind] = []

        async def work() -> None:
            left.append(await supervisor.recover(reconcile=True, release=True))

        cancelled = await probe.run(work)
        with trio.CancelScope(shield=True):
            again = await supervisor.recover(release=True)
            assert cancelled or left == [again]
            assert [each.execution_id for each in again.unknown] == ["exe-lost", "exe-ran", "exe-within"]
            assert not again.again
        await assert_unharmed(supervisor)


@covers("replay", "history_of")
async def reading_a_journal(probe: Probe) -> None:
    journal = MemoryJournal()
    async with open_supervisor(Toolbox(Bank().tools()), journal=journal) as supervisor:
        await supervisor.execute(ToolCall("balance"))
    seen: list[int] = []

    async def work() -> None:
        told = await replay(journal)
        seen.extend([len(await history_of(journal, each.execution_id)) for each in told.inspect()])

    cancelled = await probe.run(work)
    assert cancelled or (seen and min(seen) > 0)
    with trio.CancelScope(shield=True):
        assert (await replay(journal)).inspect()


# ── streams and watchers ─────────────────────────────────────────────────────────────────────────────────────────────


@covers("OpenStream.__aenter__", "OpenStream.__aexit__", "Stream.__anext__", "Stream.leave")
async def a_stream(probe: Probe) -> None:
    async with open_supervisor(sample_toolbox()) as supervisor:
        for upto in (3, 100):

            async def work(upto: int = upto) -> None:
                async with supervisor.stream(ToolCall("count", {"upto": upto, "pause": 0.5})) as stream:
                    got = [await anext(stream), await anext(stream)]
                    assert got == [1, 2]
                    if upto == 3:
                        assert [chunk async for chunk in stream] == [3]
                        assert stream.result.value == [1, 2, 3]

            await probe.run(work)
            for snapshot in _at_once(supervisor):
                assert snapshot.outcome == "success" or snapshot.error_code in ("CANCELLED", "NOT_STARTED")
        await assert_unharmed(supervisor)


@covers("Stream.__anext__")
async def a_step_of_a_stream(probe: Probe) -> None:
    async with open_supervisor(sample_toolbox()) as supervisor:
        got: list[object] = []
        async with supervisor.stream(ToolCall("count", {"upto": 3, "pause": 0.5})) as stream:
            while await probe.run(lambda: _append_next(stream, got)) or len(got) < 3:
                pass  # a cancelled step loses nothing: the next one has it
        assert got == [1, 2, 3]
        await assert_unharmed(supervisor)


async def _append_next(stream: armory_trio.Stream, got: list[object]) -> None:
    got.append(await anext(stream))


@covers("Watching.__aenter__", "Watching.__aexit__", "Updates.__anext__")
async def a_watcher(probe: Probe) -> None:
    async with open_supervisor(sample_toolbox()) as supervisor:
        execution = supervisor.start(ToolCall("count", {"upto": 3, "pause": 0.5}))
        seen: list[int] = []
        async with supervisor.executions.subscribe() as updates:

            async def work() -> None:
                async for snapshot in updates:
                    seen.append(snapshot.revision)
                    if snapshot.settled_at is not None:
                        return

            if await probe.run(work):
                await work()
        await probe.run(lambda: _watch_for_a_moment(supervisor))
        assert seen == sorted(set(seen))
        assert seen[-1] == execution.snapshot.revision
        await assert_unharmed(supervisor)


async def _watch_for_a_moment(supervisor: Supervisor) -> None:
    async with supervisor.executions.subscribe() as updates:
        with trio.move_on_after(1):
            await anext(updates)


@covers("Subscription.__aenter__", "Subscription.__aexit__", "EventReader.__anext__")
async def a_reader_of_events(probe: Probe) -> None:
    async with open_supervisor(sample_toolbox()) as supervisor:
        seen: list[int] = []
        async with supervisor.events(include_payloads=True) as events:
            supervisor.start(ToolCall("count", {"upto": 3, "pause": 0.5}))

            async def work() -> None:
                async for event in events:
                    assert isinstance(event, OfExecution)
                    seen.append(event.sequence)
                    if isinstance(event, ExecutionSettled):
                        return

            if await probe.run(work):
                await work()
        assert seen == list(range(1, seen[-1] + 1))
        await assert_unharmed(supervisor)


# ── the supervisor ───────────────────────────────────────────────────────────────────────────────────────────────────


@covers("open_supervisor")
async def a_supervisor(probe: Probe) -> None:
    opened: list[Supervisor] = []
    started: list[Execution] = []

    async def work() -> None:
        async with open_supervisor(sample_toolbox(), drain_for=3) as supervisor:
            opened.append(supervisor)
            started.append(supervisor.start(SLEEP))
            started.append(supervisor.start(ToolCall("stubborn", {"seconds": 2})))
            started.append(supervisor.start(ToolCall("sleep", {"seconds": 50})))
            await supervisor.execute(ToolCall("echo", {"text": "hello"}))

    alive = trio.lowlevel.current_statistics().tasks_living
    cancelled = await probe.run(work)
    assert trio.lowlevel.current_statistics().tasks_living == alive
    for supervisor in opened:
        assert supervisor.report is not None
        assert supervisor.report.unfinished == ()
        assert supervisor.closed
        assert_nothing_is_held(supervisor)
    for execution in started:
        result = await execution.result()
        assert (result.error.code if result.error else "") in ("", "CANCELLED", "NOT_STARTED")
    assert cancelled or len(started) == 3


@covers("Supervisor.wait_idle")
async def waiting_until_idle(probe: Probe) -> None:
    async with open_supervisor(sample_toolbox()) as supervisor:
        execution = supervisor.start(SLEEP)
        cancelled = await probe.run(supervisor.wait_idle)
        assert not supervisor.closed
        assert cancelled or execution.snapshot.ended_at is not None
        assert (await execution.result()).outcome == "success"
        await assert_unharmed(supervisor)


@covers("Supervisor.wait_shut_down")
async def waiting_until_shut_down(probe: Probe) -> None:
    async with open_supervisor(sample_toolbox()) as supervisor, trio.open_nursery() as nursery:
        execution = supervisor.start(SLEEP)

        async def end() -> None:
            await trio.sleep(0.5)
            await supervisor.shutdown("drain")

        nursery.start_soon(end)
        cancelled = await probe.run(supervisor.wait_shut_down)
        assert cancelled or execution.snapshot.ended_at is not None
        assert (await supervisor.wait_shut_down()).exit_code == 0
        assert (await execution.result()).outcome == "success"
        await assert_unharmed(supervisor)


def _shutdown(mode: Literal["drain", "abort"], drain_for: float) -> Case:
    async def case(probe: Probe) -> None:
        async with open_supervisor(sample_toolbox()) as supervisor:
            executions = [supervisor.start(SLEEP), supervisor.start(ToolCall("stubborn", {"seconds": 2}))]
            await trio.testing.wait_all_tasks_blocked()
            cancelled = await probe.run(lambda: supervisor.shutdown(mode, drain_for=drain_for))
            assert supervisor.closed
            if cancelled and mode == "drain" and trio.current_time() < drain_for:
                assert all(execution.snapshot.abort is None for execution in executions)
            if mode == "abort":
                assert all(execution.snapshot.abort is not None for execution in executions)
            report = await supervisor.shutdown("drain")
            assert report.unfinished == ()
            assert report.ended == 2
        assert_nothing_is_held(supervisor)

    case.__name__ = f"a shutdown by {mode} within {drain_for:g} s"
    return case


covers("Supervisor.shutdown")(_shutdown("drain", 30.0))
covers("Supervisor.shutdown")(_shutdown("drain", 0.5))
covers("Supervisor.shutdown")(_shutdown("abort", 30.0))


@covers("serve_until_signal")
async def serving(probe: Probe) -> None:
    before = signal.getsignal(signal.SIGTERM)
    async with open_supervisor(sample_toolbox()) as supervisor:
        execution = supervisor.start(SLEEP)
        async with trio.open_nursery() as nursery:

            async def send() -> None:
                await trio.sleep(0.5)
                if signal.getsignal(signal.SIGTERM) is not before:
                    signal.raise_signal(signal.SIGTERM)

            nursery.start_soon(send)
            cancelled = await probe.run(lambda: serve_until_signal(supervisor, drain_for=10))
            assert signal.getsignal(signal.SIGTERM) is before
            nursery.cancel_scope.cancel()
        assert cancelled or supervisor.closed
        assert (await execution.result()).outcome == "success"
        await assert_unharmed(supervisor)


@covers("Supervisor.end")
async def the_end(probe: Probe) -> None:
    """The last thing that the block does: it cannot be cancelled, but by what it waits for."""
    async with open_supervisor(sample_toolbox(), drain_for=0) as supervisor:
        supervisor.start(ToolCall("stubborn", {"seconds": 2}))
        await trio.testing.wait_all_tasks_blocked()

        async def work() -> None:
            async with open_supervisor(sample_toolbox(), drain_for=0) as other:
                other.start(ToolCall("stubborn", {"seconds": 2}))
                await trio.testing.wait_all_tasks_blocked()

        await probe.run(work)
    assert_nothing_is_held(supervisor)


# ── inside a tool ────────────────────────────────────────────────────────────────────────────────────────────────────


async def _agree(_: ElicitRequest) -> ElicitAnswer:
    await trio.sleep(1)
    return ElicitAccepted()


Body = Callable[[ToolContext, Probe], Awaitable[None]]


def inside(*names: str) -> Callable[[Body], Body]:
    """The decorated function is the body of a tool, whose work is cancelled by a scope of its own."""

    def note(body: Body) -> Body:
        async def case(probe: Probe) -> None:
            @tool(name="inner", effect_windows=True)
            async def inner(ctx: ToolContext) -> str:
                await body(ctx, probe)
                return "went on"

            async with open_supervisor(sample_toolbox().extend(inner)) as supervisor:
                result = await supervisor.execute(ToolCall("inner"), elicit=_agree, timeout=3.0)
                assert (result.value, result.error) == ("went on", None)
                await assert_unharmed(supervisor)

        case.__name__ = f"{getattr(body, '__name__', 'body')}_in_a_tool"
        covers(*names)(case)
        return body

    return note


def _own(ctx: ToolContext) -> tuple[Supervisor, Snapshot]:
    supervisor = current_supervisor()
    shown = supervisor.executions.locate(ctx.execution_id)
    assert shown is not None
    return supervisor, shown


@inside("ToolContext.call")
async def a_nested_call(ctx: ToolContext, probe: Probe) -> None:
    cancelled = await probe.run(lambda: ctx.call("sleep", {"seconds": 1}))
    supervisor, _ = _own(ctx)
    for snapshot in supervisor.executions.inspect(tool_name="sleep"):
        assert snapshot.ended_at is not None
        if cancelled:
            assert snapshot.abort is not None
            assert (snapshot.abort.source, snapshot.error_category) == ("parent", "cancelled")
    assert (await ctx.call("echo", {"text": "again"})).value == "again"


@inside("ToolContext.elicit")
async def a_question(ctx: ToolContext, probe: Probe) -> None:
    await probe.run(lambda: ctx.elicit("which?"))
    _, shown = _own(ctx)
    assert (shown.state, shown.declared_wait) == ("active", None)
    assert isinstance(await ctx.elicit("which, then?"), ElicitAccepted)
    await trio.sleep(2)  # within its timeout only if the clock stood still while it asked


@covers("ToolContext.elicit")
async def the_clock_after_a_question(probe: Probe) -> None:
    @tool
    async def curious(ctx: ToolContext) -> None:
        await probe.run(lambda: ctx.elicit("which?"))
        await trio.sleep(60)

    async with open_supervisor(sample_toolbox().extend(curious)) as supervisor:
        result = await supervisor.execute(ToolCall("curious"), elicit=_agree, timeout=3.0)
        assert result.error is not None
        assert result.error.code == "TIMEOUT"
        assert 3 <= result.duration <= 4
        await assert_unharmed(supervisor)


@inside("ToolContext.wait_abort_requested")
async def waiting_for_an_abort(ctx: ToolContext, probe: Probe) -> None:
    async def work() -> None:
        with trio.move_on_after(1):
            await ctx.wait_abort_requested()

    await probe.run(work)
    assert not ctx.abort_requested


@inside("EffectBlock.__aenter__", "EffectBlock.__aexit__")
async def an_effect_window(ctx: ToolContext, probe: Probe) -> None:
    entered: list[str] = []

    async def work() -> None:
        await ctx.call("echo", {"text": "ready"})  # woken here and cancelled, it is not let in
        async with ctx.effect("change"):
            entered.append("in")
            await trio.sleep(1)
            entered.append("done")

    await probe.run(work)
    _, shown = _own(ctx)
    assert shown.effect == {0: "none", 1: "unknown", 2: "completed"}[len(entered)]


@inside("WaitingBlock.__aenter__", "WaitingBlock.__aexit__")
async def a_declared_wait(ctx: ToolContext, probe: Probe) -> None:
    async def work() -> None:
        async with ctx.waiting("its turn"):
            await trio.sleep(1)
            async with ctx.waiting("another one"):
                await trio.sleep(1)

    await probe.run(work)
    _, shown = _own(ctx)
    assert (shown.state, shown.declared_wait) == ("active", None)


@covers("CallNext.__call__")
async def going_on_from_a_middleware(probe: Probe) -> None:
    async def stopping(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        if call.tool.name != "change":
            return await call_next()
        return "stopped" if await probe.run(call_next) else "let go"

    async def slow(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        await trio.sleep(1)
        value = await call_next()
        await trio.sleep(1)
        return value

    async with open_supervisor(Toolbox(sample_toolbox(), middleware=[stopping, slow])) as supervisor:
        execution = supervisor.start(CHANGE)
        with trio.CancelScope(shield=True):
            snapshot, result = await execution.settled(), await execution.result()
            assert (snapshot.abort, snapshot.ended_at is None) == (None, False)
            assert result.outcome == "success"
            assert result.value == "stopped" or (result.effect, result.attempts) == ("completed", 1)
            assert result.attempts or result.effect == "none"
            assert result.effect == snapshot.effect
        await assert_unharmed(supervisor)


@covers("InputContract.validate_async")
async def a_validator_that_is_awaited(probe: Probe) -> None:
    ended: list[bool] = []

    async def decide(_arguments: Mapping[str, object]) -> bool:
        try:
            await trio.sleep(1)
        finally:
            ended.append(True)
        return True

    contract = contract_from_pair({"type": "object"}, decide)
    await probe.run(lambda: contract.validate_async({}))
    assert ended == [True]


# ── all of them ──────────────────────────────────────────────────────────────────────────────────────────────────────

CANNOT_WAIT: Final = frozenset(
    (
        "OpenStream.__aexit__",
        "Subscription.__aenter__",
        "Subscription.__aexit__",
        "Watching.__aenter__",
        "Watching.__aexit__",
    )
)
"""Coroutines that finish in one step when there is nothing to end: no await of theirs can be cancelled."""

HANDED_OUT: Final = ("OpenStream", "Subscription", "Watching", "EventReader", "EffectBlock", "WaitingBlock")
"""Classes that users meet without ever naming them."""


@requirement("engine.cancelled-at-every-await")
@pytest.mark.parametrize("name", CASES)
def test_cancelled_at_any_await_nothing_is_lost_and_nothing_is_left(name: str) -> None:
    assert cancel_everywhere(CASES[name]) > 0


def _public_classes() -> Iterator[type]:
    for name in dir(armory_trio):
        offered: object = getattr(armory_trio, name)
        if inspect.isclass(offered) and not name.startswith("_"):
            yield offered
    for module in list(sys.modules.values()):
        if module.__name__.startswith("armory_trio."):
            for name in HANDED_OUT:
                found: object = vars(module).get(name)
                if inspect.isclass(found) and found.__module__ == module.__name__:
                    yield found


def _public_coroutines() -> set[str]:
    """All that a user can await: functions, methods, and the steps of blocks and iterators."""
    found: set[str] = set()
    for kind in set(_public_classes()):
        for name in dir(kind):
            if name.startswith("_") and not (name.startswith("__a") or name == "__call__"):
                continue
            if inspect.iscoroutinefunction(inspect.getattr_static(kind, name)):
                found.add(f"{kind.__name__}.{name}")
    for name in dir(armory_trio):
        offered: object = getattr(armory_trio, name)
        if inspect.isfunction(offered):
            innermost = inspect.unwrap(offered)
            if inspect.iscoroutinefunction(offered) or inspect.isasyncgenfunction(innermost):
                found.add(name)
    return found


@requirement("engine.cancelled-at-every-await")
def test_every_public_coroutine_is_cancelled_by_some_case() -> None:
    public = _public_coroutines()

    assert {"Supervisor.execute", "open_supervisor", "Stream.__anext__", "ToolContext.call"} <= public
    assert sorted(public - COVERED.keys()) == []
    assert sorted(COVERED.keys() - public) == []


@requirement("engine.cancelled-at-every-await")
def test_the_harness_cancels_each_await_and_would_see_a_loss() -> None:
    stopped: list[tuple[int, str]] = []

    async def careless(probe: Probe) -> None:
        done: list[int] = []

        async def work() -> None:
            for number in range(3):
                await trio.sleep(1)
                done.append(number)

        if await probe.run(work):
            stopped.append((len(done), probe.moment))
            assert len(done) != 2

    with pytest.raises(AssertionError):
        cancel_everywhere(careless)
    assert stopped == [(0, "parked"), (0, "woken"), (1, "parked"), (1, "woken"), (2, "parked")]
