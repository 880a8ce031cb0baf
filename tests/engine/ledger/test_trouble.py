"""A ledger that can't be reached, is slow or hangs; leases that run out; and what nobody may be told wrongly then."""

from __future__ import annotations

import logging
from typing import Final, cast

import msgspec
import pytest
import trio
import trio.testing

from armory_trio import (
    CallNext,
    DefinitionError,
    Limits,
    MiddlewareCall,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolFailure,
    ToolResult,
    open_supervisor,
    tool,
)
from armory_trio.ledger import (
    Answer,
    Attempt,
    Claim,
    CloseWindow,
    Complete,
    Fresh,
    LedgerKey,
    MemoryLedger,
    OpenWindow,
    Operation,
    Recorded,
    Release,
    Renew,
    Running,
    Start,
)
from tests.engine.cancelling import assert_nothing_is_held
from tests.engine.ledger.stores import (
    BANK,
    HER,
    Bank,
    Clock,
    Trouble,
    Troubled,
    code_of,
    passing,
    said_of,
    the_attempt,
    told_of,
)
from tests.requirements import requirement

BEFORE: list[type[Operation]] = [Claim, Start]
TROUBLES: list[Trouble] = ["raises", "hangs", "does-and-raises", "does-and-hangs"]


@requirement("keeping.down.before")
@pytest.mark.parametrize("operation", BEFORE)
@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("wrapped", [False, True])
async def test_what_can_not_be_recorded_does_not_begin(
    operation: type[Operation], trouble: Trouble, wrapped: bool, autojump_clock: trio.abc.Clock
) -> None:
    bank, store = Bank(), Troubled(Clock(with_trio=True))
    store.trouble[operation] = trouble
    tools = [bank.tools()[0]]
    toolbox = Toolbox(tools, middleware=[passing] if wrapped else [])
    async with open_supervisor(toolbox, ledger=store, default_request_context=HER) as supervisor:
        begin = trio.current_time()
        keyed = await supervisor.execute(ToolCall("pay"), idempotency_key="k")
        took = trio.current_time() - begin
        keyless = await supervisor.execute(ToolCall("pay"))
        store.trouble.clear()
        await trio.sleep(100)
        again = await supervisor.execute(ToolCall("pay"), idempotency_key="k")
        assert_nothing_is_held(supervisor)

    for refused in (keyed, keyless):
        assert (code_of(refused), refused.effect, refused.attempts) == ("LEDGER_UNAVAILABLE", "none", 0)
        assert refused.error is not None and refused.error.category == "unavailable"
        assert refused.error.retryable
    assert took <= 5.01
    assert (told_of(again), bank.paid) == ("fresh", [100])
    assert supervisor.report is not None and supervisor.report.bugs == ()


class Odd(Troubled):
    """A ledger that answers chosen operations as it likes."""

    def __init__(self, kind: type[Operation], answer: object) -> None:
        super().__init__(Clock(with_trio=True))
        self.kind = kind
        self.answer = answer

    async def apply(self, operation: Operation, /) -> Answer:
        answer = await super().apply(operation)
        return cast("Answer", self.answer) if isinstance(operation, self.kind) else answer


ANOTHER: Final = Attempt(
    key=LedgerKey("beta", "default:pay", "k").text,
    tenant="beta",
    tool_id="default:pay",
    tool_name="pay",
    attempt_id="theirs",
    number=1,
    state="completed",
    effect="completed",
    read_only=False,
    windows="undeclared",
    arguments="{}",
    execution_id="exe-theirs",
    host="theirs",
    policy_revision="policy:1",
    deduplicates=True,
    claimed_at=1.0,
    lease_expires_at=2.0,
    deadline=3.0,
    result='"their secret"',
)
MINE: Final = msgspec.structs.replace(ANOTHER, key=LedgerKey("acme", "default:pay", "k").text, tenant="acme")
NONSENSE: Final[dict[str, object]] = {
    "nothing": None,
    "a word": "yes",
    "somebody else's result": Recorded(ANOTHER),
    "somebody else's attempt": Running(ANOTHER),
    "somebody else's place": Fresh(ANOTHER),
    "another fence": Fresh(MINE),
}


@requirement("keeping.down.nonsense")
@pytest.mark.parametrize("answer", NONSENSE)
@pytest.mark.parametrize("kind", BEFORE)
async def test_an_answer_that_a_ledger_can_not_mean_begins_nothing_and_tells_nothing(
    kind: type[Operation], answer: str, autojump_clock: trio.abc.Clock
) -> None:
    bank, store = Bank(), Odd(kind, NONSENSE[answer])
    async with open_supervisor(Toolbox(bank.tools()), ledger=store, default_request_context=HER) as supervisor:
        with trio.fail_after(1000):
            result = await supervisor.execute(ToolCall("pay"), idempotency_key="k")

    assert (code_of(result), result.effect, bank.paid) == ("LEDGER_UNAVAILABLE", "none", [])
    assert "secret" not in result.text


@requirement("keeping.down.retried")
@pytest.mark.parametrize("keyed", [True, False])
@pytest.mark.parametrize("windows", [True, False])
async def test_what_a_first_try_did_not_begin_is_no_word_about_what_the_next_one_did(
    windows: bool, keyed: bool, autojump_clock: trio.abc.Clock
) -> None:
    bank, store = Bank(), Troubled(Clock(with_trio=True))
    store.trouble[Start] = "raises"

    async def heals(_call: MiddlewareCall, _context: ToolContext, call_next: CallNext) -> object:
        with pytest.raises(ToolFailure, match="can't be recorded"):
            await call_next()
        store.trouble.clear()
        return await call_next()

    call = ToolCall("wire" if windows else "pay", {"fails": "after"})
    key = "k" if keyed else None
    toolbox = Toolbox(bank.tools(), middleware=[heals])
    async with open_supervisor(toolbox, ledger=store, default_request_context=HER) as supervisor:
        result = await supervisor.execute(call, idempotency_key=key)
        kept = await the_attempt(store)

    assert (bank.paid, result.attempts) == ([100], 1)
    assert result.effect == ("completed" if windows else "unknown")
    assert kept is not None and kept.state == ("completed" if windows else "unknown")


@requirement("keeping.down.read-only")
@pytest.mark.parametrize("operation", BEFORE)
@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("wrapped", [False, True])
async def test_what_changes_nothing_runs_without_the_ledger(
    operation: type[Operation], trouble: Trouble, wrapped: bool, autojump_clock: trio.abc.Clock
) -> None:
    bank, store = Bank(), Troubled(Clock(with_trio=True))
    store.trouble[operation] = trouble
    toolbox = Toolbox([bank.tools()[2]], middleware=[passing] if wrapped else [])
    async with open_supervisor(toolbox, ledger=store, default_request_context=HER) as supervisor:
        keyed = await supervisor.execute(ToolCall("balance"), idempotency_key="k")
        keyless = await supervisor.execute(ToolCall("balance"))

    assert (keyed.outcome, keyed.value, keyless.outcome) == ("success", 0, "success")
    assert (told_of(keyed), said_of(keyed).recorded, said_of(keyed).key) == ("fresh", False, "k")
    assert keyless.idempotency is None


@requirement("keeping.down.window")
@pytest.mark.parametrize("trouble", TROUBLES)
async def test_a_window_that_can_not_be_recorded_is_not_entered(
    trouble: Trouble, autojump_clock: trio.abc.Clock
) -> None:
    bank, store = Bank(), Troubled(Clock(with_trio=True))
    store.trouble[OpenWindow] = trouble
    async with open_supervisor(Toolbox(bank.tools()), ledger=store, default_request_context=HER) as supervisor:
        result = await supervisor.execute(ToolCall("wire"), idempotency_key="k")
        store.trouble.clear()
        again = await supervisor.execute(ToolCall("wire"), idempotency_key="k")

    assert (code_of(result), result.effect, result.attempts) == ("LEDGER_UNAVAILABLE", "none", 1)
    assert [window.state for window in result.effects] == ["nothing-happened"]
    if trouble in ("raises", "hangs"):
        assert (told_of(again), bank.paid) == ("fresh", [100])
    else:  # the ledger knows of a window that nobody closed: it would rather be asked about
        assert (told_of(again), bank.paid) == ("unknown-outcome", [])
        assert not said_of(result).recorded


@requirement("keeping.down.after")
@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("name", ["pay", "wire"])
async def test_what_happened_and_can_not_be_recorded_is_told_as_it_happened(
    trouble: Trouble, name: str, autojump_clock: trio.abc.Clock, caplog: pytest.LogCaptureFixture
) -> None:
    bank, store = Bank(), Troubled(Clock(with_trio=True))
    store.trouble |= {Complete: trouble, CloseWindow: trouble}
    async with open_supervisor(Toolbox(bank.tools()), ledger=store, default_request_context=HER) as supervisor:
        with caplog.at_level(logging.WARNING, "armory_trio.engine"):
            begin = trio.current_time()
            keyed = await supervisor.execute(ToolCall(name), idempotency_key="k")
            took = trio.current_time() - begin
            keyless = await supervisor.execute(ToolCall(name))
        store.trouble.clear()
        await trio.sleep(100)
        again = await supervisor.execute(ToolCall(name), idempotency_key="k")

    assert (keyed.outcome, keyed.effect) == (keyless.outcome, keyless.effect) == ("success", "completed")
    assert (said_of(keyed).recorded, said_of(keyless).recorded, said_of(keyless).key) == (False, False, None)
    assert took <= (5.01 if name == "pay" else 10.01)
    assert "could not be written down" in caplog.text
    assert told_of(again) == ("deduped" if trouble.startswith("does") else "unknown-outcome")
    assert bank.paid == [100, 100]


@requirement("keeping.down.closing")
@pytest.mark.parametrize("trouble", ["raises", "hangs"])
@pytest.mark.parametrize("aborted", [False, True])
async def test_a_supervisor_closes_and_reports_whatever_its_ledger_does(
    trouble: Trouble, aborted: bool, autojump_clock: trio.abc.Clock
) -> None:
    bank, store = Bank(), Troubled(Clock(with_trio=True))
    begin = trio.current_time()
    async with open_supervisor(
        Toolbox(bank.tools()), ledger=store, limits=Limits(concurrent=2), default_request_context=HER
    ) as supervisor:
        running = [
            supervisor.start(ToolCall("pay", {"seconds": 3}), idempotency_key=str(number)) for number in range(4)
        ]
        await trio.sleep(1)
        store.trouble = dict.fromkeys((Claim, Start, Complete, Release, Renew, OpenWindow, CloseWindow), trouble)
        supervisor.start(ToolCall("pay"), idempotency_key="late")
        report = await supervisor.shutdown("abort" if aborted else "drain")

    assert report.unfinished == ()
    assert trio.current_time() - begin < 30
    assert len([each for each in running if each.snapshot.state in ("terminal", "unknown-effect")]) == 4
    assert_nothing_is_held(supervisor)


@requirement("keeping.down.base")
@pytest.mark.parametrize("error", [SystemExit(2), GeneratorExit(), BaseExceptionGroup("two", [SystemExit(1)])])
@pytest.mark.parametrize("operation", [Claim, Start, Complete])
async def test_whatever_a_store_raises_harms_its_own_call_alone(
    error: BaseException, operation: type[Operation], autojump_clock: trio.abc.Clock
) -> None:
    class Wild(Troubled):
        async def apply(self, asked: Operation, /) -> Answer:
            if isinstance(asked, operation):
                raise error
            return await super().apply(asked)

    bank = Bank()
    async with open_supervisor(Toolbox(bank.tools()), ledger=Wild(), default_request_context=HER) as supervisor:
        result = await supervisor.execute(ToolCall("pay"), idempotency_key="k")
        other = await supervisor.execute(ToolCall("balance"))

    assert other.outcome == "success"
    if operation is Complete:
        assert (result.outcome, said_of(result).recorded) == ("success", False)
    else:
        assert (code_of(result), bank.paid) == ("LEDGER_UNAVAILABLE", [])
    assert supervisor.report is not None and supervisor.report.bugs == ()


@requirement("keeping.down.interrupt")
async def test_an_interrupt_that_arrives_in_the_store_leaves_bare_and_forgets_no_effect() -> None:
    class Interrupted(Troubled):
        async def apply(self, operation: Operation, /) -> Answer:
            if isinstance(operation, Complete):
                raise KeyboardInterrupt
            return await super().apply(operation)

    bank, store = Bank(), Interrupted()
    with pytest.raises(KeyboardInterrupt):
        async with open_supervisor(Toolbox(bank.tools()), ledger=store, default_request_context=HER) as supervisor:
            await supervisor.execute(ToolCall("pay"), idempotency_key="k")

    attempt = await the_attempt(store)
    assert attempt is not None
    assert (attempt.state, attempt.effect) == ("started", "unknown")


@requirement("keeping.down.interrupt")
async def test_an_interrupt_in_a_body_is_recorded_as_not_known() -> None:
    @tool(effect=BANK)
    async def pay() -> None:
        raise KeyboardInterrupt

    store = Troubled()
    with pytest.raises(KeyboardInterrupt):
        async with open_supervisor(Toolbox([pay]), ledger=store, default_request_context=HER) as supervisor:
            await supervisor.execute(ToolCall("pay"), idempotency_key="k")

    attempt = await the_attempt(store)
    assert attempt is not None
    assert (attempt.state, attempt.effect) == ("unknown", "unknown")


@requirement("keeping.lease")
async def test_the_lease_of_a_long_body_is_renewed_and_so_is_that_of_a_queued_call(
    autojump_clock: trio.abc.Clock,
) -> None:
    bank, store = Bank(), Troubled(Clock(with_trio=True))
    async with open_supervisor(
        Toolbox(bank.tools()), ledger=store, limits=Limits(concurrent=1), default_request_context=HER
    ) as supervisor:
        results = await supervisor.execute_batch([ToolCall("pay", {"seconds": 1000})] * 1, idempotency_key="k")
        long = supervisor.start(ToolCall("pay", {"seconds": 500}), idempotency_key="a")
        await trio.testing.wait_all_tasks_blocked()
        queued = await supervisor.execute(ToolCall("pay"), idempotency_key="b")
        first = await long.result()

    assert [told_of(each) for each in (results[0], first, queued)] == ["fresh"] * 3
    assert bank.paid == [100, 100, 100]
    assert store.asked.count("Renew") > 100


@requirement("keeping.lease")
async def test_one_renewal_that_hangs_costs_no_other_attempt_its_lease(autojump_clock: trio.abc.Clock) -> None:
    class Hanging(Troubled):
        async def apply(self, operation: Operation, /) -> Answer:
            if isinstance(operation, Renew) and '"slow"' in operation.key_text:
                await trio.sleep_forever()
            return await super().apply(operation)

    bank, store = Bank(), Hanging(Clock(with_trio=True))
    async with open_supervisor(
        Toolbox(bank.tools()), ledger=store, ledger_lease=3.0, default_request_context=HER
    ) as supervisor:
        slow = supervisor.start(ToolCall("pay", {"seconds": 20}), idempotency_key="slow")
        well = supervisor.start(ToolCall("pay", {"seconds": 20}), idempotency_key="well")
        told = told_of(await slow.result()), told_of(await well.result())

    assert told == ("fence-lost", "fresh")


@requirement("keeping.lease.cap")
async def test_no_lease_outlives_the_cap(autojump_clock: trio.abc.Clock) -> None:
    bank, store = Bank(), Troubled(Clock(with_trio=True))
    async with open_supervisor(
        Toolbox(bank.tools()), ledger=store, ledger_cap=60.0, default_request_context=HER
    ) as supervisor:
        result = await supervisor.execute(ToolCall("pay", {"seconds": 100}), idempotency_key="k")
        attempt = await the_attempt(store)

    assert (told_of(result), result.outcome, result.effect) == ("fence-lost", "success", "completed")
    assert attempt is not None and (attempt.state, attempt.ended_at) == ("unknown", attempt.deadline)


@requirement("keeping.lease.options")
@pytest.mark.parametrize("option", ["ledger_lease", "ledger_cap"])
@pytest.mark.parametrize("value", [0, -1, float("inf"), float("nan"), "30", True])
async def test_a_lease_is_a_length_of_time(option: str, value: object) -> None:
    with pytest.raises(DefinitionError, match=option):
        async with open_supervisor(Toolbox([]), **{option: value}):  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
            pass


@requirement("keeping.lease.options")
async def test_a_ledger_has_all_of_the_methods() -> None:
    with pytest.raises(DefinitionError, match="ledger"):
        async with open_supervisor(Toolbox([]), ledger={}):  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
            pass


@requirement("keeping.fence.start")
@pytest.mark.parametrize("wrapped", [False, True])
async def test_who_lost_the_fence_before_it_began_asks_anew_and_holds_nothing_meanwhile(
    wrapped: bool, autojump_clock: trio.abc.Clock
) -> None:
    clock = Clock()
    bank, store = Bank(), Troubled(clock)
    toolbox = Toolbox(bank.tools(), middleware=[passing] if wrapped else [])
    async with open_supervisor(toolbox, ledger=store, limits=Limits(concurrent=1), default_request_context=HER) as one:
        blocked = one.start(ToolCall("balance", {"seconds": 10}))
        await trio.testing.wait_all_tasks_blocked()
        loser = one.start(ToolCall("pay", {"seconds": 1}), idempotency_key="k")
        await trio.testing.wait_all_tasks_blocked()
        clock.ahead += 31  # and nobody renews: the next call takes the place of the first
        winner = one.start(ToolCall("pay", {"seconds": 1}), idempotency_key="k")
        with trio.fail_after(100):
            results: list[ToolResult[object]] = [await each.result() for each in (loser, winner)]
            await blocked.result()
        assert_nothing_is_held(one)

    assert bank.paid == [100]
    if wrapped:
        assert (code_of(results[0]), results[0].effect) == ("LEDGER_UNAVAILABLE", "none")
        assert told_of(results[1]) == "fresh"
    else:
        assert {told_of(each) for each in results} <= {"fresh", "joined", "deduped"}
        assert all(each.outcome == "success" for each in results)


@requirement("keeping.fence.window")
async def test_who_lost_the_fence_does_not_change_the_world_any_more(autojump_clock: trio.abc.Clock) -> None:
    clock = Clock()
    bank, store = Bank(), Troubled(clock)
    async with open_supervisor(Toolbox(bank.tools()), ledger=store, default_request_context=HER) as supervisor:
        execution = supervisor.start(ToolCall("wire", {"seconds": 5}), idempotency_key="k")
        await trio.sleep(1)
        clock.ahead += 31
        result = await execution.result()

    assert (code_of(result), result.effect, bank.paid) == ("LEDGER_UNAVAILABLE", "none", [])
    assert (told_of(result), said_of(result).recorded) == ("fence-lost", False)


@requirement("keeping.lease.clock")
async def test_a_clock_of_the_store_that_says_no_time_refuses_what_changes_something() -> None:
    clock = Clock()
    bank, store = Bank(), Troubled(clock)
    async with open_supervisor(Toolbox(bank.tools()), ledger=store, default_request_context=HER) as supervisor:
        clock.ahead = float("nan")
        refused = await supervisor.execute(ToolCall("pay"), idempotency_key="k")
        clock.ahead = 5.0
        fresh = await supervisor.execute(ToolCall("pay"), idempotency_key="k")

    assert (code_of(refused), told_of(fresh), bank.paid) == ("LEDGER_UNAVAILABLE", "fresh", [100])


@requirement("keeping.lease.clock")
async def test_the_wall_clock_going_back_makes_nothing_safe_to_repeat(autojump_clock: trio.abc.Clock) -> None:
    clock = Clock()
    bank, store = Bank(), Troubled(clock)
    async with open_supervisor(Toolbox(bank.tools()), ledger=store, default_request_context=HER) as supervisor:
        execution = supervisor.start(ToolCall("pay", {"seconds": 5}), idempotency_key="k")
        await trio.sleep(1)
        clock.ahead -= 500_000
        result = await execution.result()
        again = await supervisor.execute(ToolCall("pay", {"seconds": 5}), idempotency_key="k")

    assert (told_of(result), told_of(again), bank.paid) == ("fresh", "deduped", [100])


@requirement("keeping.memory")
async def test_a_supervisor_that_was_given_no_ledger_has_one_of_its_own() -> None:
    bank = Bank()
    told: list[str] = []
    for _ in range(2):
        async with open_supervisor(Toolbox(bank.tools()), default_request_context=HER) as supervisor:
            told += [told_of(await supervisor.execute(ToolCall("pay"), idempotency_key="k")) for _ in range(2)]
            store = supervisor._core.ledger.store  # pyright: ignore[reportPrivateUsage]  # it shows nowhere else
            assert isinstance(store, MemoryLedger)

    assert told == ["fresh", "deduped"] * 2


@requirement("keeping.fence.start")
async def test_who_lost_the_fence_to_another_supervisor_waits_for_that_one_and_not_for_itself(
    autojump_clock: trio.abc.Clock,
) -> None:
    clock = Clock()
    bank, store = Bank(), Troubled(clock)
    toolbox, call = Toolbox(bank.tools()), ToolCall("pay", {"seconds": 20})
    async with (
        open_supervisor(toolbox, ledger=store, limits=Limits(concurrent=1), default_request_context=HER) as one,
        open_supervisor(toolbox, ledger=store, default_request_context=HER) as other,
    ):
        one.start(ToolCall("balance", {"seconds": 10}))
        await trio.testing.wait_all_tasks_blocked()
        loser = one.start(call, idempotency_key="k")
        await trio.testing.wait_all_tasks_blocked()
        clock.ahead += 31
        winner = other.start(call, idempotency_key="k")
        with trio.fail_after(100):
            told = [told_of(await each.result()) for each in (winner, loser)]

    assert (told, bank.paid) == (["fresh", "deduped"], [100])
