"""When an approval is used up and when it is not, and what a store that fails does to that."""

from __future__ import annotations

from collections.abc import Mapping

import attrs
import pytest
import trio
import trio.testing

from armory_trio import (
    ApprovalError,
    Ask,
    Budget,
    CallNext,
    Edit,
    Limits,
    MiddlewareCall,
    PendingApproval,
    PolicyRequest,
    Supervisor,
    Tool,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolFailure,
    ToolResult,
    open_supervisor,
    tool,
)
from armory_trio.authority.signing import SigningKey
from tests.engine.cancelling import assert_nothing_is_held
from tests.requirements import requirement

from .bank import (
    ANN,
    KEYS,
    LONG,
    PAY,
    PAYS,
    SLOW,
    AnyTool,
    Book,
    StoreDown,
    Trouble,
    TroubledApprovals,
    Vault,
    bank,
    code_of,
    pay_tool,
    pending_of,
    says,
)

OPERATIONS = ("issue", "reserve", "commit", "release", "state")
TROUBLES: tuple[Trouble, ...] = ("raises", "raises-after", "hangs", "hangs-after")


async def usable(supervisor: Supervisor, pending: PendingApproval) -> None:
    """It still counts, once."""
    await trio.testing.wait_all_tasks_blocked()
    assert (await supervisor.resume_approval(pending)).outcome == "success"
    with pytest.raises(ApprovalError, match="already-consumed"):
        await supervisor.resume_approval(pending)


# -- not used up


@requirement("approving.unconsumed", "approving.arguments")
async def test_arguments_that_do_not_fit_leave_it_as_it_was() -> None:
    book, vault = Book(), Vault()
    async with vault.open(bank(book)) as supervisor:
        pending = pending_of(await supervisor.execute(PAY))
        result = await supervisor.resume_approval(pending, arguments={"to": "eve", "amount": "all"})
        assert code_of(result) == "INVALID_ARGUMENTS"
        assert book.entries == []
        await usable(supervisor, pending)


@requirement("approving.unconsumed")
async def test_a_tool_that_is_not_available_leaves_it_as_it_was() -> None:
    book, vault = Book(), Vault()
    there = [True]

    def available(_: Mapping[str, object]) -> bool:
        return there[0]

    paying = pay_tool(book)
    paying = attrs.evolve(paying, options=attrs.evolve(paying.options, availability=available))
    async with vault.open(Toolbox([paying])) as supervisor:
        pending = pending_of(await supervisor.execute(PAY))
        there[0] = False
        assert code_of(await supervisor.resume_approval(pending)) == "TOOL_UNAVAILABLE"
        there[0] = True
        await usable(supervisor, pending)


@requirement("approving.unconsumed")
async def test_a_budget_that_is_spent_leaves_it_as_it_was() -> None:
    book, vault = Book(), Vault()
    toolbox = bank(book)
    async with open_supervisor(
        toolbox, default_request_context=ANN, keys=KEYS, approvals=vault.approvals, budget=Budget(max_calls=1)
    ) as supervisor:
        pending = pending_of(await supervisor.execute(PAY))  # what did not run is not paid for
        assert (await supervisor.execute(ToolCall("look"))).outcome == "success"
        assert code_of(await supervisor.resume_approval(pending)) == "BUDGET_EXCEEDED"
    async with vault.open(toolbox) as supervisor:
        await usable(supervisor, pending)


@requirement("approving.unconsumed")
async def test_a_queue_without_room_leaves_it_as_it_was(autojump_clock: trio.testing.MockClock) -> None:
    book, vault = Book(), Vault()
    toolbox = Toolbox([pay_tool(book), pay_tool(book, "long", requires_approval=False, seconds=5)])
    async with vault.open(toolbox, limits=Limits(concurrent=1, queued=0)) as supervisor:
        pending = pending_of(await supervisor.execute(PAY))
        running = supervisor.start(ToolCall("long", {"to": "eve"}))
        await trio.testing.wait_all_tasks_blocked()
        assert code_of(await supervisor.resume_approval(pending)) == "OVERLOADED"
        await running.result()
        await usable(supervisor, pending)
    assert book.names() == ["long", "pay"]


@requirement("approving.unconsumed")
@pytest.mark.parametrize("how", ["abort", "deadline", "cancel"])
async def test_a_call_that_is_stopped_while_it_waits_leaves_it_as_it_was(
    how: str, autojump_clock: trio.testing.MockClock
) -> None:
    book, vault = Book(), Vault()
    toolbox = Toolbox([pay_tool(book), pay_tool(book, "long", requires_approval=False, seconds=5)])
    ended: list[ToolResult[object]] = []
    async with vault.open(toolbox, limits=Limits(concurrent=1)) as supervisor, trio.open_nursery() as nursery:
        pending = pending_of(await supervisor.execute(PAY))
        running = supervisor.start(ToolCall("long", {"to": "eve"}))
        deadline = trio.current_time() + 2 if how == "deadline" else None

        async def resume() -> None:
            ended.append(await supervisor.resume_approval(pending, deadline=deadline))

        nursery.start_soon(resume)
        await trio.sleep(1)
        [waiting] = supervisor.executions.inspect(tool_name="pay", live_only=True)
        assert waiting.state == "queued"
        if how == "abort":
            assert supervisor.abort("enough", execution_id=waiting.execution_id)
        elif how == "cancel":
            nursery.cancel_scope.cancel()
            with trio.CancelScope(shield=True):
                await trio.sleep(1)
        await trio.sleep(2) if how != "cancel" else None
        with trio.CancelScope(shield=True):
            await running.result()
            await usable(supervisor, pending)
    assert book.names() == ["long", "pay"]
    if how != "cancel":
        assert [code_of(result) for result in ended] == ["NOT_STARTED" if how == "abort" else "DEADLINE_EXCEEDED"]


@requirement("approving.unconsumed")
@pytest.mark.parametrize("operation", ["reserve", "commit"])
@pytest.mark.parametrize("wrapped", [False, True])
async def test_a_call_that_is_stopped_between_reserve_and_body_gives_it_back(
    operation: str, wrapped: bool, autojump_clock: trio.testing.MockClock
) -> None:
    book, vault = Book(), Vault()
    store = TroubledApprovals(vault.approvals)
    store.trouble = {operation: "slow"}
    vault.approvals = store
    middleware = [_pass] if wrapped else []
    async with vault.open(Toolbox([pay_tool(book)], middleware=middleware)) as supervisor:
        pending = pending_of(await supervisor.execute(PAY))
        result = await supervisor.resume_approval(pending, deadline=trio.current_time() + SLOW / 2)
        assert code_of(result) == "DEADLINE_EXCEEDED"
        assert (result.attempts, result.effect, book.entries) == (0, "none", [])
        await trio.sleep(2 * SLOW)
        store.trouble = {}
        await usable(supervisor, pending)
    assert_nothing_is_held(supervisor)


async def _pass(_call: MiddlewareCall, _ctx: ToolContext, call_next: CallNext) -> object:
    return await call_next()


# -- used up


@requirement("approving.consumed")
@pytest.mark.parametrize("how", ["raises", "timeout", "abort"])
async def test_a_body_that_began_has_used_it_up(how: str, autojump_clock: trio.testing.MockClock) -> None:
    book, vault = Book(), Vault()

    @tool(requires_approval=True, effect=PAYS)
    async def pay(to: str, amount: int = 1) -> None:
        """Try to pay."""
        book.write("pay")
        await trio.sleep(0 if how == "raises" else 100)
        raise ToolFailure("there is no money")

    async with vault.open(Toolbox([pay])) as supervisor, trio.open_nursery() as nursery:
        pending = pending_of(await supervisor.execute(PAY))
        if how == "abort":

            async def stop() -> None:
                await trio.sleep(1)
                assert supervisor.abort("enough", owner_id="household")

            nursery.start_soon(stop)
        result = await supervisor.resume_approval(pending, timeout=3)
        assert result.outcome == "error"
        with pytest.raises(ApprovalError, match="already-consumed"):
            await supervisor.resume_approval(pending)
    assert book.names() == ["pay"]


# -- expired or revoked between the check and the body


@requirement("approving.window")
@pytest.mark.parametrize("what", ["expired", "revoked"])
@pytest.mark.parametrize("wrapped", [False, True])
async def test_what_stops_counting_in_the_queue_lets_nothing_run(
    what: str, wrapped: bool, autojump_clock: trio.testing.MockClock
) -> None:
    book, vault = Book(), Vault()
    toolbox = Toolbox(
        [pay_tool(book), pay_tool(book, "long", requires_approval=False, seconds=5)],
        middleware=[_pass] if wrapped else [],
    )
    codes: list[str] = []
    async with vault.open(toolbox, limits=Limits(concurrent=1)) as supervisor, trio.open_nursery() as nursery:
        pending = pending_of(await supervisor.execute(PAY))
        supervisor.start(ToolCall("long", {"to": "eve"}))

        async def resume() -> None:
            with pytest.raises(ApprovalError) as caught:
                await supervisor.resume_approval(pending)
            codes.append(caught.value.code)

        nursery.start_soon(resume)
        await trio.sleep(1)
        if what == "expired":
            vault.clock.now += 301
        else:
            await supervisor.revoke_approval(pending)
    assert codes == [what]
    assert book.names() == ["long"]
    [shown] = [each for each in supervisor.executions.inspect(tool_name="pay") if each.error_code]
    assert (shown.error_category, shown.error_code, shown.attempts) == ("permission", "APPROVAL_INVALID", 0)


@requirement("approving.window")
@pytest.mark.parametrize("wrapped", [False, True])
async def test_a_revocation_between_reserve_and_commit_wins(
    wrapped: bool, autojump_clock: trio.testing.MockClock
) -> None:
    book, vault = Book(), Vault()
    store = TroubledApprovals(vault.approvals)
    vault.approvals = store
    store.trouble = {"commit": "slow"}
    async with vault.open(Toolbox([pay_tool(book)], middleware=[_pass] if wrapped else [])) as supervisor:
        pending = pending_of(await supervisor.execute(PAY))
        async with trio.open_nursery() as nursery:

            async def revoke() -> None:
                await trio.sleep(SLOW / 2)
                await supervisor.revoke_approval(pending)

            nursery.start_soon(revoke)
            with pytest.raises(ApprovalError, match="revoked"):
                await supervisor.resume_approval(pending)
        assert await vault.state(pending) == "revoked"
    assert book.entries == []


# -- stores that fail


@requirement("approving.stores")
@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("wrapped", [False, True])
async def test_a_store_that_fails_lets_no_body_run_twice_and_none_unasked(
    operation: str, trouble: Trouble, wrapped: bool, autojump_clock: trio.testing.MockClock
) -> None:
    book, vault = Book(), Vault()
    store = TroubledApprovals(vault.approvals)
    vault.approvals = store
    toolbox = Toolbox([pay_tool(book)], middleware=[_pass] if wrapped else [])
    async with vault.open(toolbox) as supervisor:
        good = pending_of(await supervisor.execute(PAY))
        store.trouble = {operation: trouble}
        began = trio.current_time()
        result = await supervisor.execute(PAY)
        assert trio.current_time() - began <= 5
        if operation == "issue":
            assert code_of(result) == "APPROVAL_UNAVAILABLE"
        assert book.entries == []
        for pending in (good, good):
            began = trio.current_time()
            try:
                resumed = await supervisor.resume_approval(pending)
            except (StoreDown, trio.TooSlowError, ApprovalError):
                pass
            else:
                assert resumed.outcome == "success" or code_of(resumed) == "APPROVAL_UNAVAILABLE"
            assert trio.current_time() - began <= 5
            await trio.sleep(20)
        assert len(book.entries) == (1 if operation in ("issue", "release") else 0)
        store.trouble = {}
        for pending in (good, good):
            try:
                await supervisor.resume_approval(pending)
            except ApprovalError:
                continue
        assert len(book.entries) <= 1
        fresh = pending_of(await supervisor.execute(PAY))
        assert (await supervisor.resume_approval(fresh)).outcome == "success"
    assert_nothing_is_held(supervisor)


@requirement("approving.stores", "approving.once")
async def test_a_reservation_of_which_nobody_knows_is_not_given_back_over_the_head_of_another(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """One waits for a store that hangs; meanwhile another one uses the approval up. Its use must stay."""
    book, vault = Book(), Vault()
    store = TroubledApprovals(vault.approvals)
    sick = Vault(clock=vault.clock, approvals=store)
    results: list[ToolResult[object]] = []
    async with vault.open(bank(book)) as well, sick.open(bank(book)) as supervisor:
        pending = pending_of(await well.execute(PAY))
        store.trouble = {"reserve": "hangs"}
        async with trio.open_nursery() as nursery:

            async def resume() -> None:
                results.append(await supervisor.resume_approval(pending))

            nursery.start_soon(resume)
            await trio.sleep(1)
            assert (await well.resume_approval(pending)).outcome == "success"
        assert [code_of(result) for result in results] == ["APPROVAL_UNAVAILABLE"]
        await trio.sleep(10)
        with pytest.raises(ApprovalError, match="already-consumed"):
            await well.resume_approval(pending)
    assert book.names() == ["pay"]


@requirement("approving.stores")
async def test_keys_that_hang_keep_nobody_waiting(autojump_clock: trio.testing.MockClock) -> None:
    book, vault = Book(), Vault()

    class Hanging:
        async def signing_key(self, domain: str, /) -> SigningKey | None:
            await trio.sleep(LONG)
            return None

        async def key(self, domain: str, key_id: str, /) -> SigningKey | None:
            await trio.sleep(LONG)
            return None

    async with vault.open(bank(book)) as supervisor:
        pending = pending_of(await supervisor.execute(PAY))
    async with vault.open(bank(book), keys=Hanging()) as supervisor:
        assert code_of(await supervisor.execute(PAY)) == "APPROVAL_UNAVAILABLE"
        assert trio.current_time() == 5
        for forbidden in (supervisor.resume_approval, supervisor.restore_approval, supervisor.revoke_approval):
            with pytest.raises(trio.TooSlowError):
                await forbidden(pending)
    assert trio.current_time() == 20
    assert book.entries == []


# -- other arguments


def _fussy(book: Book, seen: list[Mapping[str, object]]) -> Tool[..., object]:
    """A tool whose own policy asks about what is more than 3."""

    def policy(request: PolicyRequest) -> object:
        seen.append(request.arguments)
        amount = request.arguments["amount"]
        assert isinstance(amount, int)
        return Ask(f"{amount} is much") if amount > 3 else None

    @tool(policy=policy, effect=PAYS)
    async def pay(to: str, amount: int = 1) -> str:
        """Pay somebody."""
        book.write("pay", to=to, amount=amount)
        await trio.lowlevel.checkpoint()
        return f"{amount} to {to}"

    return pay


@requirement("approving.arguments", "approving.unconsumed")
async def test_nothing_that_was_agreed_counts_for_other_arguments() -> None:
    book, vault = Book(), Vault()
    async with vault.open(Toolbox([_fussy(book, [])])) as supervisor:
        pending = pending_of(await supervisor.execute(PAY))

        again = pending_of(await supervisor.resume_approval(pending, arguments={"to": "eve", "amount": 5}))
        assert dict(again.arguments) == {"to": "eve", "amount": 5}
        assert (again.edited, pending.edited, again.satisfied) == (True, False, ())
        assert book.entries == []
        assert await vault.state(pending) == "issued"

        result = await supervisor.resume_approval(again)
        assert (result.value, result.executed_arguments_edited) == ("5 to eve", True)
        await usable(supervisor, pending)
    assert [entry[1]["to"] for entry in book.entries] == ["eve", "bob"]


@requirement("approving.arguments")
async def test_other_arguments_that_the_policy_allows_run_and_use_it_up() -> None:
    book, vault = Book(), Vault()
    async with vault.open(Toolbox([_fussy(book, [])])) as supervisor:
        pending = pending_of(await supervisor.execute(PAY))
        result = await supervisor.resume_approval(pending, arguments={"to": "eve", "amount": 2})
        assert (result.value, result.executed_arguments_edited) == ("2 to eve", True)
        with pytest.raises(ApprovalError, match="already-consumed"):
            await supervisor.resume_approval(pending)
    assert book.entries == [("pay", {"to": "eve", "amount": 2})]


@requirement("approving.arguments")
async def test_the_same_arguments_written_anew_are_the_same() -> None:
    book, vault = Book(), Vault()
    async with vault.open(Toolbox([_fussy(book, [])])) as supervisor:
        pending = pending_of(await supervisor.execute(PAY))
        result = await supervisor.resume_approval(pending, arguments={"amount": 5, "to": "bob"})
        assert (result.value, result.executed_arguments_edited) == ("5 to bob", False)


@requirement("approving.arguments")
async def test_a_question_for_input_is_answered_by_arguments() -> None:
    book, vault = Book(), Vault()

    def policy(request: PolicyRequest) -> object:
        return None if request.arguments["to"] != "somebody" else Ask("To whom?", kind="input")

    async with vault.open(Toolbox([pay_tool(book, requires_approval=False)], policy=policy)) as supervisor:
        paused = await supervisor.execute(ToolCall("pay", {"to": "somebody", "amount": 5}))
        assert paused.action is not None
        assert (paused.action.type, paused.action.message) == ("input", "To whom?")
        result = await supervisor.resume_approval(pending_of(paused), arguments={"to": "bob", "amount": 5})
    assert result.value == "5 to bob"


@requirement("approving.arguments", "approving.unconsumed")
async def test_a_hook_that_edits_a_resumed_call_has_it_asked_about_anew() -> None:
    book, vault = Book(), Vault()
    more = [False]

    def policy(request: PolicyRequest) -> object:
        if more[0] and request.arguments["amount"] == 5:
            return Edit({"to": "bob", "amount": 500})
        return None

    async with vault.open(attrs.evolve(bank(book), policy=policy)) as supervisor:
        pending = pending_of(await supervisor.execute(PAY))
        more[0] = True
        again = pending_of(await supervisor.resume_approval(pending))
        assert dict(again.arguments) == {"to": "bob", "amount": 500}
        assert await vault.state(pending) == "issued"
        assert book.entries == []


# -- several questions


@requirement("approving.tiers", "approving.call")
async def test_several_questions_come_one_after_the_other() -> None:
    book, vault = Book(), Vault()

    @tool(requires_approval=True, policy=says(Ask("the tool's own")), effect=PAYS)
    async def pay(to: str, amount: int = 1) -> str:
        """Pay somebody."""
        book.write("pay", to=to, amount=amount)
        await trio.lowlevel.checkpoint()
        return "paid"

    toolbox: AnyTool = pay
    async with vault.open(Toolbox([toolbox], policy=says(Ask("the toolbox's")))) as supervisor:
        first = pending_of(await supervisor.execute(PAY))
        second = pending_of(await supervisor.resume_approval(first))
        third = pending_of(await supervisor.resume_approval(second.to_json()))
        assert [each.question.tier for each in (first, second, third)] == ["declared", "toolbox", "tool"]
        assert third.satisfied == (first.question, second.question)
        assert {each.call_id for each in (first, second, third)} == {"pay-1"}
        for used in (first, second):
            with pytest.raises(ApprovalError, match="already-consumed"):
                await supervisor.resume_approval(used)
        assert book.entries == []
        result = await supervisor.resume_approval(third)
        assert (result.value, result.call_id) == ("paid", "pay-1")
    assert book.names() == ["pay"]


@requirement("approving.tiers")
async def test_a_question_in_other_words_is_another_question() -> None:
    book, vault = Book(), Vault()
    words = ["May it?"]

    def hook(_: PolicyRequest) -> object:
        return Ask(words[0])

    toolbox = Toolbox([pay_tool(book, requires_approval=False)], policy=hook)
    async with vault.open(toolbox) as supervisor:
        first = pending_of(await supervisor.execute(PAY))
        words[0] = "May it really?"
        second = pending_of(await supervisor.resume_approval(first))
        assert second.question.reason == "May it really?"
        assert book.entries == []
        assert (await supervisor.resume_approval(second)).outcome == "success"


@requirement("approving.tiers")
async def test_what_waits_in_a_batch_waits_on_its_own() -> None:
    book, vault = Book(), Vault()
    calls = [ToolCall("pay", {"to": name}) for name in ("bob", "eve", "zoe")]
    async with vault.open(bank(book)) as supervisor:
        results = await supervisor.execute_batch([*calls, ToolCall("look")], on_error="fail_fast")
        waiting = [pending_of(result) for result in results[:3]]
        assert results[3].outcome == "success"
        assert len({each.id for each in waiting}) == 3
        await supervisor.resume_approval(waiting[2])
        await supervisor.revoke_approval(waiting[1])
        await supervisor.resume_approval(waiting[0])
    assert [given["to"] for name, given in book.entries if name == "pay"] == ["zoe", "bob"]
