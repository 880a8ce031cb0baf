"""What is decided about attempts: by whoever asks the far side, by receipts for other rules, and by looking again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import cast

import msgspec
import pytest
import trio

from armory_trio import (
    CallNext,
    DefinitionError,
    Limits,
    LiveToolbox,
    MiddlewareCall,
    Supervisor,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolResult,
    open_supervisor,
    tool,
)
from armory_trio.authority.signing import Keyring
from armory_trio.errors import StoreUnavailable
from armory_trio.ledger import (
    Attempt,
    AuthorizationReceipt,
    CloseWindow,
    Complete,
    LeftBehind,
    MarkUnknown,
    OpenWindow,
    Receipt,
    Reconciled,
    Release,
    Renew,
    ResolutionReceipt,
    Start,
    UnknownAttempt,
    receipt_from_json,
    sign_receipt,
    verify_receipt,
)
from tests.engine.ledger.stores import (
    BANK,
    HER,
    KEYS,
    Bank,
    Clock,
    Money,
    Troubled,
    code_of,
    receipt_for,
    the_attempt,
    told_of,
)
from tests.engine.ledger.test_recovered import claimed, populated
from tests.requirements import requirement

PAY = ToolCall("pay", {"cents": 7})


def asking(bank: Bank, answer: Callable[[UnknownAttempt], object], *, fails: int = 1) -> Toolbox:
    """A bank whose line is dead the first times, and that can be asked what became of a payment."""

    async def ask(attempt: UnknownAttempt) -> Reconciled | None:
        await trio.lowlevel.checkpoint()
        return cast("Reconciled | None", answer(attempt))

    @tool(effect=BANK, output=Money, reconcile=ask)
    async def pay(cents: int) -> Money:
        bank.began += 1
        if bank.began <= fails:
            raise ValueError("the line went dead")
        bank.paid.append(cents)
        return Money(cents, "ann")

    return Toolbox([pay])


async def twice(toolbox: Toolbox, store: Troubled, keys: Keyring | None = KEYS) -> list[ToolResult[object]]:
    async with open_supervisor(toolbox, ledger=store, keys=keys, default_request_context=HER) as supervisor:
        return [await supervisor.execute(PAY, idempotency_key="k") for _ in range(2)]


@requirement("keeping.reconcile")
@pytest.mark.parametrize("signed", [True, False])
async def test_the_far_side_is_asked_before_anybody_is_told_that_nobody_knows(signed: bool) -> None:
    bank, store, shown = Bank(), Troubled(), list[UnknownAttempt]()

    def answer(attempt: UnknownAttempt) -> Reconciled:
        shown.append(attempt)
        return Reconciled("completed", "the bank shows it", Money(7, "ann"))

    first, second = await twice(asking(bank, answer), store, KEYS if signed else None)
    kept = await the_attempt(store)

    assert (first.effect, told_of(second), second.value, bank.began) == ("unknown", "deduped", Money(7, "ann"), 1)
    assert kept is not None and kept.started_at is not None
    assert shown == [
        UnknownAttempt(
            tool_name="pay",
            tenant="acme",
            key="k",
            arguments={"cents": 7},
            attempt_id=kept.attempt_id,
            number=1,
            started_at=kept.started_at,
            effect="unknown",
        )
    ]
    receipt = receipt_from_json(msgspec.json.decode(kept.receipt or ""))
    assert isinstance(receipt, ResolutionReceipt)
    assert (receipt.evidence, receipt.authorized_by) == ("the bank shows it", "reconcile of pay")
    if signed:
        await verify_receipt(KEYS, receipt, domain="default")
    else:
        assert receipt.signature is None


@requirement("keeping.reconcile")
async def test_what_did_not_happen_according_to_the_far_side_is_done_once_more() -> None:
    bank, store = Bank(), Troubled()

    _, second = await twice(asking(bank, lambda _: Reconciled("retry", "the bank never saw it")), store)
    kept = await the_attempt(store)

    assert (told_of(second), second.value, bank.paid) == ("fresh", Money(7, "ann"), [7])
    assert kept is not None and kept.number == 2


@requirement("keeping.reconcile")
async def test_what_is_to_be_let_be_according_to_the_far_side_is_a_conflict() -> None:
    bank = Bank()

    _, second = await twice(asking(bank, lambda _: Reconciled("abandoned", "the account is closed")), Troubled())

    assert (code_of(second), bank.began) == ("IDEMPOTENCY_CONFLICT", 1)


def _raises(_: UnknownAttempt) -> object:
    raise OSError("no route to the bank")


@requirement("keeping.recover")
@pytest.mark.parametrize("durable", [True, False])
@pytest.mark.parametrize("wrong", ["reconcile", "release"])
async def test_what_recover_is_asked_for_is_true_or_false(wrong: str, durable: bool) -> None:
    bank = Bank()
    asked: list[UnknownAttempt] = []

    def ask(attempt: UnknownAttempt) -> Reconciled | None:
        asked.append(attempt)
        return Reconciled("retry", "the bank never saw it")

    store = Troubled() if durable else None
    async with open_supervisor(asking(bank, ask), ledger=store, default_request_context=HER) as supervisor:
        await supervisor.execute(PAY, idempotency_key="k")
        with pytest.raises(DefinitionError, match=f"recover: {wrong}: must be True or False, not 'yes'"):
            await supervisor.recover(**{wrong: cast("bool", "yes")})

    assert asked == []


UNABLE: Mapping[str, Callable[[UnknownAttempt], object]] = {
    "nothing": lambda _: None,
    "a word": lambda _: "completed",
    "raises": _raises,
    "another value": lambda _: Reconciled("completed", "it shows it", {"cents": "many"}),
    "what can't be signed": lambda _: Reconciled("completed", "half \ud800", Money(7, "ann")),
}


@requirement("keeping.reconcile.unable")
@pytest.mark.parametrize("answer", UNABLE)
async def test_who_can_not_tell_decides_nothing(answer: str) -> None:
    bank = Bank()

    _, second = await twice(asking(bank, UNABLE[answer]), Troubled())

    assert (told_of(second), second.effect, bank.began) == ("unknown-outcome", "unknown", 1)


def silent(bank: Bank, answers: Callable[[UnknownAttempt], bool], asked: list[str | None]) -> Toolbox:
    """A bank whose line is dead, and whose far side is silent but where *answers* says otherwise: nobody wants it then."""

    async def ask(attempt: UnknownAttempt) -> Reconciled | None:
        asked.append(attempt.key)
        if not answers(attempt):
            await trio.sleep_forever()
        return Reconciled("abandoned", "nobody wants it")

    @tool(effect=BANK, reconcile=ask, reconcile_timeout=7.0)
    async def pay(cents: int) -> None:
        bank.began += 1
        raise ValueError("the line went dead")

    return Toolbox([pay])


@requirement("keeping.reconcile.silent")
async def test_a_far_side_that_is_silent_holds_up_no_call_for_ever(autojump_clock: trio.abc.Clock) -> None:
    bank, store = Bank(), Troubled()

    began = trio.current_time()
    _, second = await twice(silent(bank, lambda _: False, []), store)

    assert (told_of(second), second.effect, bank.began) == ("unknown-outcome", "unknown", 1)
    assert trio.current_time() - began == 7.0


@requirement("keeping.reconcile.silent")
async def test_a_far_side_that_is_silent_again_and_again_is_not_asked_about_all_the_rest(
    autojump_clock: trio.abc.Clock, caplog: pytest.LogCaptureFixture
) -> None:
    store, asked = Troubled(), list[str | None]()
    for number in range(9):
        text = await claimed(store, str(number))
        await store.apply(Start(text, f"attempt-{number}"))
        await store.apply(MarkUnknown(text, f"attempt-{number}"))

    began = trio.current_time()
    async with open_supervisor(silent(Bank(), lambda attempt: attempt.key == "2", asked), ledger=store) as supervisor:
        left = await supervisor.recover(reconcile=True)

    assert asked == ["0", "1", "2", "3", "4", "5"]
    assert [attempt.execution_id for attempt in left.unknown] == [
        f"exe-{number}" for number in (0, 1, 3, 4, 5, 6, 7, 8)
    ]
    assert trio.current_time() - began == 5 * 7.0
    assert "the far side did not answer within 7 s" in caplog.text


@requirement("keeping.reconcile")
async def test_two_who_ask_the_far_side_at_once_run_once(autojump_clock: trio.abc.Clock) -> None:
    bank, store = Bank(), Troubled(takes=0.1)
    toolbox = asking(bank, lambda _: Reconciled("retry", "the bank never saw it"))
    await twice_failed(toolbox, store)
    async with (
        open_supervisor(toolbox, ledger=store, keys=KEYS, default_request_context=HER) as one,
        open_supervisor(toolbox, ledger=store, keys=KEYS, default_request_context=HER) as other,
        trio.open_nursery() as nursery,
    ):
        for supervisor in (one, other, one, other):
            nursery.start_soon(_paid_by, supervisor)

    assert bank.paid == [7]


async def twice_failed(toolbox: Toolbox, store: Troubled) -> None:
    async with open_supervisor(toolbox, ledger=store, keys=KEYS, default_request_context=HER) as supervisor:
        assert (await supervisor.execute(PAY, idempotency_key="k")).effect == "unknown"


async def _paid_by(supervisor: Supervisor) -> None:
    assert (await supervisor.execute(PAY, idempotency_key="k")).value == Money(7, "ann")


@requirement("keeping.reconcile.cancelled")
async def test_who_stops_while_the_far_side_is_asked_decides_nothing(autojump_clock: trio.abc.Clock) -> None:
    bank, store = Bank(), Troubled()

    async def ask(_: UnknownAttempt) -> Reconciled | None:
        await trio.sleep_forever()

    @tool(effect=BANK, reconcile=ask)
    async def pay(cents: int) -> None:
        bank.began += 1
        raise ValueError("the line went dead")

    async with open_supervisor(Toolbox([pay]), ledger=store, default_request_context=HER) as supervisor:
        await supervisor.execute(PAY, idempotency_key="k")
        before = await the_attempt(store)
        late = await supervisor.execute(PAY, idempotency_key="k", deadline=trio.current_time() + 1)
        with trio.move_on_after(1):
            await supervisor.execute(PAY, idempotency_key="k")

    assert (code_of(late), late.effect) == ("DEADLINE_EXCEEDED", "none")
    assert (await the_attempt(store), bank.began) == (before, 1)


# ── Another policy ───────────────────────────────────────────────────────────────────────────────────────────────────


async def authorization(attempt: Attempt, revision: str = "p2", **changed: str) -> AuthorizationReceipt:
    receipt = AuthorizationReceipt(
        tenant=attempt.tenant,
        tool_id=attempt.tool_id,
        key=attempt.key,
        attempt_id=attempt.attempt_id,
        recorded_under=attempt.policy_revision,
        policy_revision=revision,
        evidence="ticket 9",
        authorized_by="bob",
        authorized_at=1_000_000.0,
        nonce="n1",
    )
    return await sign_receipt(KEYS, msgspec.structs.replace(receipt, **changed), domain="default")


async def paid_under(revision: str, bank: Bank, store: Troubled) -> Attempt:
    toolbox = Toolbox(bank.tools(), policy_revision=revision)
    async with open_supervisor(toolbox, ledger=store, default_request_context=HER) as supervisor:
        await supervisor.execute(ToolCall("pay"), idempotency_key="k")
    attempt = await the_attempt(store)
    assert attempt is not None and attempt.policy_revision == revision
    return attempt


@requirement("keeping.receipts.authorization")
async def test_a_receipt_lets_what_was_done_under_other_rules_be_told_again() -> None:
    bank, store = Bank(), Troubled()
    attempt = await paid_under("p1", bank, store)
    receipt = await authorization(attempt)
    toolbox = Toolbox(bank.tools(), policy_revision="p2")
    async with open_supervisor(toolbox, ledger=store, keys=KEYS, default_request_context=HER) as supervisor:
        before = await supervisor.execute(ToolCall("pay"), idempotency_key="k")
        told = await supervisor.execute(ToolCall("pay"), idempotency_key="k", resolution_receipt=receipt)
        later = await supervisor.execute(ToolCall("pay"), idempotency_key="k")
    kept = await the_attempt(store)

    assert [told_of(each) for each in (before, told, later)] == ["authorization-required", "deduped", "deduped"]
    assert (told.value, bank.paid) == ({"cents": 100, "to": "ann"}, [100])
    assert kept is not None
    assert (kept.policy_revision, kept.result) == ("p2", attempt.result)
    assert receipt_from_json(msgspec.json.decode(kept.authorization or "")) == receipt


@requirement("keeping.receipts.authorization")
@pytest.mark.parametrize("wrong", ["revision", "recorded_under", "attempt_id", "tenant", "unsigned", "decision"])
async def test_a_receipt_for_other_rules_that_does_not_count_tells_nothing(wrong: str) -> None:
    bank, store = Bank(), Troubled()
    attempt = await paid_under("p1", bank, store)
    receipt: Receipt
    if wrong == "decision":
        receipt = await receipt_for(attempt, "completed", result="1")
    elif wrong == "revision":
        receipt = await authorization(attempt, "p3")
    elif wrong == "unsigned":
        receipt = msgspec.structs.replace(await authorization(attempt), signature=None)
    else:
        receipt = await authorization(attempt, **{wrong: "another"})
    toolbox = Toolbox(bank.tools(), policy_revision="p2")
    async with open_supervisor(toolbox, ledger=store, keys=KEYS, default_request_context=HER) as supervisor:
        told = await supervisor.execute(ToolCall("pay"), idempotency_key="k", resolution_receipt=receipt)

    assert (code_of(told), told.effect) == ("AUTHORITY_REQUIRED", "none")
    assert (await the_attempt(store), bank.paid) == (attempt, [100])


@requirement("keeping.receipts.authorization")
async def test_a_receipt_for_other_rules_decides_nothing_about_what_nobody_knows() -> None:
    bank, store = Bank(), Troubled()
    call = ToolCall("pay", {"fails": "before"})
    async with open_supervisor(Toolbox(bank.tools()), ledger=store, keys=KEYS, default_request_context=HER) as it:
        await it.execute(call, idempotency_key="k")
        attempt = await the_attempt(store)
        assert attempt is not None
        receipt = await authorization(attempt)
        told = await it.execute(call, idempotency_key="k", resolution_receipt=receipt)

    assert (code_of(told), await the_attempt(store)) == ("AUTHORITY_REQUIRED", attempt)


@requirement("keeping.receipts.refused")
async def test_what_is_no_receipt_is_refused_at_the_door() -> None:
    async with open_supervisor(Toolbox(Bank().tools()), default_request_context=HER) as supervisor:
        with pytest.raises(TypeError, match="resolution_receipt"):
            await supervisor.execute(
                ToolCall("pay"),
                resolution_receipt={"decision": "retry"},  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
            )


# ── Looking again ────────────────────────────────────────────────────────────────────────────────────────────────────


def states(left: LeftBehind) -> tuple[list[str], list[str]]:
    return [each.execution_id for each in left.again], [each.execution_id for each in left.unknown]


@requirement("keeping.recover")
async def test_a_host_may_look_again_at_what_was_left_behind_and_let_go_what_is_safe() -> None:
    clock = Clock()
    store = Troubled(clock)
    await populated(store)
    async with open_supervisor(Toolbox(Bank().tools()), ledger=store) as supervisor:
        early = await supervisor.recover(release=True)
        clock.ahead += 31
        seen = await supervisor.recover()
        left = await supervisor.recover(release=True)

    assert states(early) == ([], ["exe-lost"])
    assert states(seen) == (["exe-queued", "exe-reads", "exe-windowed"], ["exe-lost", "exe-ran", "exe-within"])
    assert states(left) == ([], ["exe-lost", "exe-ran", "exe-within"])


@requirement("keeping.recover", "keeping.reconcile")
async def test_looking_again_asks_the_far_side_about_each_that_nobody_knows() -> None:
    clock = Clock()
    bank, store = Bank(), Troubled(clock)
    await populated(store)
    clock.ahead += 31
    asked: list[str | None] = []

    def answer(attempt: UnknownAttempt) -> Reconciled | None:
        asked.append(attempt.key)
        return None if attempt.key == "ran" else Reconciled("abandoned", "nobody wants it")

    async with open_supervisor(asking(bank, answer), ledger=store, keys=KEYS) as supervisor:
        left = await supervisor.recover(reconcile=True)

    assert sorted(map(str, asked)) == ["lost", "ran", "within"]
    assert states(left)[1] == ["exe-ran"]
    assert bank.began == 0


@requirement("keeping.recover")
async def test_without_a_durable_ledger_nothing_is_left_behind() -> None:
    async with open_supervisor(Toolbox(Bank().tools()), default_request_context=HER) as supervisor:
        await supervisor.execute(ToolCall("pay", {"fails": "before"}), idempotency_key="k")
        assert not await supervisor.recover(reconcile=True, release=True)


@requirement("keeping.recover")
async def test_a_ledger_that_does_not_do_what_it_should_says_so(autojump_clock: trio.abc.Clock) -> None:
    clock = Clock()
    store = Troubled(clock)
    await populated(store)
    clock.ahead += 31
    store.trouble[Release] = "hangs"
    async with open_supervisor(Toolbox(Bank().tools()), ledger=store) as supervisor:
        with pytest.raises(StoreUnavailable) as caught:
            await supervisor.recover(release=True)

    assert caught.value.maybe_done


# ── Calls of a tool that changes nothing itself ──────────────────────────────────────────────────────────────────────


@requirement("keeping.callers")
@pytest.mark.parametrize("placed", ["read-only", "windows", "middleware"])
async def test_who_called_something_that_changes_the_world_is_not_safe_to_run_again(placed: str) -> None:
    clock = Clock()
    bank, store, left = Bank(), Troubled(clock), list[LeftBehind]()

    async def pay_and_look(ctx: ToolContext) -> object:
        result = await ctx.call("pay")
        clock.ahead += 31
        left.append(await supervisor.recover())  # as if this process had been killed here, and another one looked
        return result.value

    @tool(effect=BANK, effect_windows=True, name="both")
    async def windowed(ctx: ToolContext) -> object:
        return await pay_and_look(ctx)

    @tool(effect="read-only", idempotency_key=lambda _: "k", name="both")
    async def reading(ctx: ToolContext) -> object:
        return await pay_and_look(ctx)

    async def around(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        return await (pay_and_look(ctx) if call.tool.name == "both" else call_next())

    outer = reading if placed == "read-only" else windowed
    toolbox = Toolbox([outer], middleware=[around] if placed == "middleware" else []).extend(*bank.tools())
    async with open_supervisor(toolbox, ledger=store, default_request_context=HER) as supervisor:
        await supervisor.execute(ToolCall("both"))

    assert bank.paid == [100]
    assert [each.tool_name for each in left[0].again] == []
    assert "both" in [each.tool_name for each in left[0].unknown]
    assert any("calls that it made" in line for line in left[0].words())


@requirement("keeping.callers")
async def test_a_tool_with_windows_whose_nested_call_changed_something_is_not_safe_to_run_again(
    autojump_clock: trio.abc.Clock,
) -> None:
    """It opened no window itself; but whoever runs it again pays again, since the nested call has no key."""
    clock = Clock()
    store, paid = Troubled(clock), list[str]()

    @tool(effect=BANK)
    async def pay() -> None:
        paid.append("paid")

    @tool(effect=BANK, effect_windows=True)
    async def outer(ctx: ToolContext) -> None:
        await ctx.call("pay")
        await trio.sleep_forever()

    toolbox = Toolbox([pay, outer])
    async with open_supervisor(toolbox, ledger=store, default_request_context=HER) as killed:
        killed.start(ToolCall("outer"), idempotency_key="k")
        await trio.testing.wait_all_tasks_blocked()
        # From here on nothing reaches the store, as if the process were killed.
        store.trouble = dict.fromkeys((Complete, Release, Renew, OpenWindow, CloseWindow), "raises")
        await killed.shutdown("abort")
    assert paid == ["paid"]
    store.trouble.clear()
    clock.ahead += 31
    async with open_supervisor(toolbox, ledger=store, default_request_context=HER) as supervisor:
        found = supervisor.recovered

    assert found is not None
    assert [each.tool_name for each in found.again] == []


@requirement("keeping.callers")
async def test_a_tool_that_called_nothing_that_changes_the_world_stays_safe() -> None:
    clock = Clock()
    store, left = Troubled(clock), list[LeftBehind]()

    @tool(effect=BANK, effect_windows=True)
    async def both(ctx: ToolContext) -> None:
        await ctx.call("balance")
        clock.ahead += 31
        left.append(await supervisor.recover())

    toolbox = Toolbox([both, *Bank().tools()])
    async with open_supervisor(toolbox, ledger=store, default_request_context=HER) as supervisor:
        await supervisor.execute(ToolCall("both"))

    assert [each.tool_name for each in left[0].safe] == ["both"]


@requirement("keeping.callers")
async def test_who_lost_its_lease_makes_no_call_that_changes_something(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    bank, store = Bank(), Troubled(clock)

    @tool(effect=BANK, effect_windows=True)
    async def both(ctx: ToolContext) -> str | None:
        clock.ahead += 31
        return code_of(await ctx.call("pay"))

    toolbox = Toolbox([both, *bank.tools()])
    with caplog.at_level(logging.WARNING):
        async with open_supervisor(toolbox, ledger=store, default_request_context=HER) as supervisor:
            result = await supervisor.execute(ToolCall("both"))

    assert (result.value, bank.paid) == ("LEDGER_UNAVAILABLE", [])


@requirement("keeping.policy.revision")
async def test_an_attempt_is_recorded_under_the_rules_that_let_its_body_begin(autojump_clock: trio.abc.Clock) -> None:
    bank, store = Bank(), Troubled()
    live = LiveToolbox(Toolbox(bank.tools(), policy_revision="p1"))
    async with open_supervisor(
        live, ledger=store, default_request_context=HER, limits=Limits(concurrent=1)
    ) as supervisor:
        first = supervisor.start(ToolCall("balance", {"seconds": 5}))
        waits = supervisor.start(ToolCall("pay"), idempotency_key="k")
        await trio.sleep(1)
        live.swap(Toolbox(bank.tools(), policy_revision="p2"))
        await first.result()
        await waits.result()
        again = await supervisor.execute(ToolCall("pay"), idempotency_key="k")

    kept = await the_attempt(store)
    assert kept is not None and kept.policy_revision == "p2"
    assert told_of(again) == "deduped"
