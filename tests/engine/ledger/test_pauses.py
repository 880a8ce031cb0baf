"""Attempts that wait for a person in the middle of what they do, and calls of tools that claim to change nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest
import trio

from armory_trio import (
    Allow,
    Ask,
    Deny,
    PolicyRequest,
    Supervisor,
    Tool,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolResult,
    current_supervisor,
    open_supervisor,
    tool,
)
from armory_trio.authority.approvals import MemoryApprovals
from armory_trio.authority.signing import SigningKey
from armory_trio.composition import pipe
from armory_trio.errors import ApprovalError
from armory_trio.ledger import Attempt, Claim, Decision, MemoryLedger, Operation, Start, choices, decide, left_behind
from tests.engine.ledger.stores import (
    BANK,
    HER,
    KEYS,
    Bank,
    Clock,
    Trouble,
    Troubled,
    code_of,
    passing,
    receipt_for,
    said_of,
    told_of,
)
from tests.requirements import requirement

AnyTool = Tool[..., object]
Policy = Callable[[PolicyRequest], Allow | Ask | Deny]


def asks_about(*names: str) -> Policy:
    """A policy that asks before these tools."""

    def policy(request: PolicyRequest) -> Allow | Ask | Deny:
        return Ask("Really?") if request.definition.name in names else Allow()

    return policy


async def row_of(store: Troubled, tool_name: str) -> Attempt:
    """The only attempt of that tool."""
    [row] = await store.list(tool_name=tool_name)
    return row


def stop_all(*supervisors: Supervisor) -> None:
    """So that a test ends."""
    for supervisor in supervisors:
        for each in supervisor.executions.inspect():
            supervisor.abort("the test is over", execution_id=each.execution_id)


class Shop:
    """A world in which something is shipped, and sealed, only when a person agreed."""

    def __init__(self) -> None:
        self.bank = Bank()
        self.done: list[str] = []
        self.slowly = False
        shop = self

        @tool(effect=BANK)
        async def ship() -> str:
            shop.done.append("ship")
            return "shipped"

        @tool(effect=BANK)
        async def seal() -> str:
            shop.done.append("seal")
            return "sealed"

        @tool(effect=BANK)
        async def order(ctx: ToolContext) -> str:
            (await ctx.call("pay", place="pay")).unwrap()
            if shop.slowly:
                await trio.sleep(1000)
            (await ctx.call("ship", place="ship")).unwrap()
            (await ctx.call("seal", place="seal")).unwrap()
            return "ordered"

        @tool(effect=BANK)
        async def outer(ctx: ToolContext) -> str:
            return f"outer {(await ctx.call('order', place='order')).unwrap()}"

        @tool(effect=BANK)
        async def without_place(ctx: ToolContext) -> str:
            (await ctx.call("ship")).unwrap()
            return "ordered"

        self.tools: list[AnyTool] = [*self.bank.tools(), ship, seal, order, outer, without_place]


@requirement("keeping.callers")
@pytest.mark.parametrize("declared", ["read-only", "windows"])
@pytest.mark.parametrize("how", ["other-execute", "other-start", "start"])
async def test_what_had_the_world_changed_by_another_execution_is_not_called_safe(
    how: str, declared: str, autojump_clock: trio.abc.Clock
) -> None:
    bank, clock, others = Bank(), Clock(with_trio=True), list[Supervisor]()
    store = Troubled(clock)

    async def order() -> None:
        supervisor = current_supervisor() if how == "start" else others[0]
        if how == "other-execute":
            await supervisor.execute(ToolCall("pay"))
        else:
            supervisor.start(ToolCall("pay"))
        await trio.sleep(1000)

    made = tool(effect="read-only")(order) if declared == "read-only" else tool(effect=BANK, effect_windows=True)(order)
    toolbox = Toolbox([*bank.tools(), made])
    async with (
        open_supervisor(toolbox, ledger=store, default_request_context=HER) as one,
        open_supervisor(toolbox, ledger=store, default_request_context=HER) as two,
    ):
        others.append(two)
        one.start(ToolCall("order"), idempotency_key="k")
        await trio.sleep(1)
        assert bank.paid == [100]
        clock.ahead += 100  # its host is gone, as far as others can see
        safe = left_behind(await store.list()).again
        stop_all(one, two)

    assert [row.tool_name for row in safe] == []


@requirement("keeping.callers")
async def test_a_call_that_goes_on_without_a_key_is_not_called_safe(autojump_clock: trio.abc.Clock) -> None:
    paid: list[int] = []
    clock = Clock(with_trio=True)
    store = Troubled(clock)

    @tool(effect=BANK)
    async def remit(cents: int) -> str:
        paid.append(cents)
        return "paid"

    @tool(effect=BANK, concurrency=1)
    async def send(what: str) -> str:
        await trio.sleep(1000 if what == "blocks" else 0)
        return "sent"

    def policy(request: PolicyRequest) -> Allow | Ask | Deny:
        asks = request.definition.name == "send" and request.arguments["what"] != "blocks"
        return Ask("Really?") if asks else Allow()

    toolbox = Toolbox([pipe(remit, send, name="both"), send], policy=policy)
    async with (
        open_supervisor(toolbox, ledger=store, keys=KEYS, default_request_context=HER) as supervisor,
        trio.open_nursery() as nursery,
    ):
        paused = await supervisor.execute(ToolCall("both", {"cents": 5}))
        assert paused.pending_approval is not None
        supervisor.start(ToolCall("send", {"what": "blocks"}))
        await trio.sleep(1)
        nursery.start_soon(supervisor.resume_approval, paused.pending_approval)
        await trio.sleep(1)  # begun, and its second step waits for its turn
        clock.ahead += 100
        safe = left_behind(await store.list()).safe
        nursery.cancel_scope.cancel()
        stop_all(supervisor)

    assert paid == [5]
    assert [row.tool_name for row in safe] == []  # run from the start again, it would pay a second time


@requirement("keeping.pauses")
async def test_what_calls_a_composed_tool_that_waits_can_be_recorded_when_it_went_on() -> None:
    shop, store = Shop(), Troubled()
    toolbox = Toolbox(shop.tools, policy=asks_about("ship"))
    async with open_supervisor(toolbox, ledger=store, keys=KEYS, default_request_context=HER) as supervisor:
        paused = await supervisor.execute(ToolCall("outer"), idempotency_key="k")
        assert paused.pending_approval is not None
        result = await supervisor.resume_approval(paused.pending_approval, idempotency_key="k")
        again = await supervisor.execute(ToolCall("outer"), idempotency_key="k")

    assert (result.outcome, result.effect, result.value) == ("success", "completed", "outer ordered")
    assert (said_of(result).recorded, told_of(again)) == (True, "deduped")


@requirement("keeping.pauses")
async def test_an_approval_that_was_used_does_not_take_the_place_of_the_next_pause(
    autojump_clock: trio.abc.Clock,
) -> None:
    shop, clock, results = Shop(), Clock(with_trio=True), list[ToolResult[object]]()
    store, approvals = Troubled(clock), MemoryApprovals(clock)
    toolbox = Toolbox(shop.tools, policy=asks_about("ship", "seal"))
    async with (
        open_supervisor(toolbox, ledger=store, keys=KEYS, approvals=approvals, default_request_context=HER) as one,
        open_supervisor(toolbox, ledger=store, keys=KEYS, approvals=approvals, default_request_context=HER) as two,
    ):
        paused = await one.execute(ToolCall("order"), idempotency_key="k")
        first = paused.pending_approval
        assert first is not None

        async def agree(supervisor: Supervisor) -> None:
            with suppress(ApprovalError):
                results.append(await supervisor.resume_approval(first, idempotency_key="k"))

        async with trio.open_nursery() as nursery:  # somebody clicked twice, and the clicks went to two hosts
            nursery.start_soon(agree, one)
            nursery.start_soon(agree, two)
        second = next(result.pending_approval for result in results if result.pending_approval is not None)
        result = await one.resume_approval(second, idempotency_key="k")

    assert (result.outcome, shop.done, shop.bank.paid) == ("success", ["ship", "seal"], [100])


@requirement("keeping.pauses")
async def test_who_joins_a_call_that_has_to_wait_is_told_what_it_waits_for() -> None:
    shop, store = Shop(), Troubled()
    toolbox = Toolbox(shop.tools, policy=asks_about("ship"))
    async with open_supervisor(toolbox, ledger=store, keys=KEYS, default_request_context=HER) as supervisor:
        both = await supervisor.execute_batch([ToolCall("order"), ToolCall("order")], idempotency_key="k")
        row = await row_of(store, "order")

    assert row.state == "completed"  # so there is nothing that somebody could decide
    actions = [None if result.action is None else result.action.type for result in both]
    assert actions == ["approval", "approval"]


@requirement("keeping.pauses")
@pytest.mark.parametrize("how", ["denied", "edited", "stopped"])
async def test_an_approval_that_was_not_used_counts_again_under_its_key(
    how: str, autojump_clock: trio.abc.Clock
) -> None:
    paid: list[int] = []
    clock, denied = Clock(with_trio=True), [False]
    store = Troubled(clock)

    @tool(effect=BANK)
    async def remit(cents: int) -> str:
        paid.append(cents)
        return "paid"

    @tool(effect=BANK, concurrency=1)
    async def send(what: str) -> str:
        await trio.sleep(50 if what == "blocks" else 0)
        return "sent"

    def policy(request: PolicyRequest) -> Allow | Ask | Deny:
        if request.definition.name != "send" or request.arguments["what"] == "blocks":
            return Allow()
        return Deny("not now") if denied[0] else Ask("Really?")

    toolbox = Toolbox([pipe(remit, send, name="both"), send], policy=policy)
    async with open_supervisor(toolbox, ledger=store, keys=KEYS, default_request_context=HER) as supervisor:
        paused = await supervisor.execute(ToolCall("both", {"cents": 5}), idempotency_key="k")
        assert paused.pending_approval is not None
        if how == "denied":
            denied[0] = True
            await supervisor.resume_approval(paused.pending_approval, idempotency_key="k")
            denied[0] = False
        elif how == "edited":
            refused = await supervisor.resume_approval(
                paused.pending_approval, arguments={"what": 5}, idempotency_key="k"
            )
            assert code_of(refused) == "INVALID_ARGUMENTS"
        else:
            blocking = supervisor.start(ToolCall("send", {"what": "blocks"}))
            await trio.sleep(1)
            with trio.move_on_after(5):
                await supervisor.resume_approval(paused.pending_approval, idempotency_key="k")
            await blocking.settled()
        result = await supervisor.resume_approval(paused.pending_approval, idempotency_key="k")  # as it does without

    assert (result.outcome, result.value, paid) == ("success", "sent", [5])


@requirement("keeping.pauses")
@pytest.mark.parametrize("how", ["revoked", "expired", "without-key", "without-place"])
async def test_a_key_whose_approval_can_never_count_any_more_is_not_stuck(
    how: str, autojump_clock: trio.abc.Clock
) -> None:
    shop, store = Shop(), Troubled(Clock(with_trio=True))
    call = ToolCall("without_place" if how == "without-place" else "order")
    toolbox = Toolbox(shop.tools, policy=asks_about("ship"))
    async with open_supervisor(toolbox, ledger=store, keys=KEYS, default_request_context=HER) as supervisor:
        paused = await supervisor.execute(call, idempotency_key="k")
        pending = paused.pending_approval
        assert pending is not None
        if how == "revoked":
            await supervisor.revoke_approval(pending)
        elif how == "expired":
            await trio.sleep(10_000)
        else:
            await supervisor.resume_approval(pending)
        again = await supervisor.execute(call, idempotency_key="k")
        [row] = [row for row in await store.list(tool_name=call.name) if row.deduplicates]
        can_be_decided = bool(choices(row, store.now()))

    still_waits = again.pending_approval is not None and again.pending_approval.id == pending.id
    assert can_be_decided or not still_waits  # somebody has to be able to do something about it


@requirement("keeping.pauses")
@pytest.mark.parametrize("wrapped", [True, False])
@pytest.mark.parametrize("operation", [Claim, Start])
@pytest.mark.parametrize("trouble", ["raises", "hangs", "does-and-raises", "does-and-hangs"])
async def test_what_could_not_go_on_since_that_could_not_be_recorded_waits_as_it_did_before(
    trouble: Trouble, operation: type[Operation], wrapped: bool, autojump_clock: trio.abc.Clock
) -> None:
    shop, clock = Shop(), Clock(with_trio=True)
    store, approvals = Troubled(clock), MemoryApprovals(clock)
    toolbox = Toolbox(shop.tools, policy=asks_about("ship"), middleware=[passing] if wrapped else [])
    async with open_supervisor(
        toolbox, ledger=store, keys=KEYS, approvals=approvals, default_request_context=HER
    ) as supervisor:
        paused = await supervisor.execute(ToolCall("order"), idempotency_key="k")
        pending = paused.pending_approval
        assert pending is not None
        store.trouble[operation] = trouble
        refused = await supervisor.resume_approval(pending)
        store.trouble.clear()
        await trio.sleep(100)  # the lease of what was claimed, and not known to be, is over
        again = await supervisor.execute(ToolCall("order"), idempotency_key="k")
        result = await supervisor.resume_approval(pending)

    assert code_of(refused) == "LEDGER_UNAVAILABLE"
    assert (told_of(again), again.action is not None, again.effect) == ("deduped", True, "completed")
    assert (result.outcome, shop.bank.paid, shop.done) == ("success", [100], ["ship", "seal"])


@requirement("keeping.pauses.arguments")
@pytest.mark.parametrize("durable", [True, False])
@pytest.mark.parametrize("key", [None, "k"])
async def test_what_a_body_does_to_its_arguments_is_not_what_it_goes_on_with(key: str | None, durable: bool) -> None:
    @tool(effect=BANK, requires_approval=True)
    async def ship(count: int) -> int:
        return count

    @tool(effect=BANK)
    async def order(items: list[str], ctx: ToolContext, note: str = "none") -> str:
        items.append("a gift")
        (await ctx.call("ship", {"count": len(items)}, place="ship")).unwrap()
        return ", ".join(items)

    sent = ["a book"]
    async with open_supervisor(
        Toolbox([ship, order]),
        ledger=Troubled() if durable else None,
        keys=KEYS,
        approvals=MemoryApprovals(),
        default_request_context=HER,
    ) as supervisor:
        paused = await supervisor.execute(ToolCall("order", {"items": sent}), idempotency_key=key)
        pending = paused.pending_approval
        assert pending is not None
        result = await supervisor.resume_approval(pending)

    assert pending.within[0].arguments == {"items": ["a book"], "note": "none"}
    assert (result.outcome, result.value, sent) == ("success", "a book, a gift", ["a book"])


@requirement("keeping.pauses")
@pytest.mark.parametrize("how", ["in no store any more", "to be tried again"])
async def test_what_was_to_go_on_from_a_pause_that_is_gone_is_never_said_to_be_done(
    how: str, autojump_clock: trio.abc.Clock
) -> None:
    shop, clock = Shop(), Clock(with_trio=True)
    store, approvals = Troubled(clock), MemoryApprovals(clock)
    toolbox = Toolbox(shop.tools, policy=asks_about("ship"))
    async with open_supervisor(
        toolbox, ledger=store, keys=KEYS, approvals=approvals, default_request_context=HER
    ) as supervisor:
        paused = await supervisor.execute(ToolCall("order"), idempotency_key="k")
        assert paused.pending_approval is not None
        if how == "in no store any more":
            await trio.sleep(10)
            await store.forget(ended_before=store.now())
            assert (await row_of(store, "order")).pause is not None  # what may have done a part is not forgotten
            store.inner = MemoryLedger(clock)
        else:
            receipt = await receipt_for(await row_of(store, "order"), "retry")
            await decide(store, KEYS, receipt, domain="default")
        shop.slowly = True
        stopped = await supervisor.resume_approval(paused.pending_approval, timeout=5)
        again = await supervisor.execute(ToolCall("order"), idempotency_key="k")
        row = await row_of(store, "order")

    assert (code_of(stopped), stopped.effect, shop.done) == ("TIMEOUT", "unknown", [])
    assert (row.state, told_of(again), again.outcome) == ("unknown", "unknown-outcome", "action_required")


@requirement("keeping.pauses")
async def test_what_goes_on_after_a_decision_to_try_again_can_be_recorded(autojump_clock: trio.abc.Clock) -> None:
    shop, result, again = await goes_on_after("retry")

    assert (result.outcome, result.effect, shop.done) == ("success", "completed", ["ship", "seal"])
    assert (said_of(result).recorded, told_of(again)) == (True, "deduped")


@requirement("keeping.pauses")
async def test_what_was_decided_to_be_done_is_not_gone_on_with(autojump_clock: trio.abc.Clock) -> None:
    shop, result, again = await goes_on_after("completed")

    assert shop.done == []  # somebody said that it is done, and what came of it
    assert (result.value, again.value) == ("by hand", "by hand")


@requirement("keeping.receipts.heard")
@pytest.mark.parametrize("decision", ["retry", "completed", "abandoned"])
async def test_a_receipt_that_a_call_brings_decides_about_an_attempt_that_waits_for_a_person(
    decision: Decision,
) -> None:
    shop, clock = Shop(), Clock()
    store, approvals = Troubled(clock), MemoryApprovals(clock)
    toolbox = Toolbox(shop.tools, policy=asks_about("ship"))
    async with open_supervisor(
        toolbox, ledger=store, keys=KEYS, approvals=approvals, default_request_context=HER
    ) as supervisor:
        await supervisor.execute(ToolCall("order"), idempotency_key="k")
        row = await row_of(store, "order")
        receipt = await receipt_for(row, decision, result='"by hand"' if decision == "completed" else None)
        told = await supervisor.execute(ToolCall("order"), idempotency_key="k", resolution_receipt=receipt)

    if decision == "retry":  # from its beginning
        assert (told.action is not None, shop.bank.paid) == (True, [100, 100])
    elif decision == "completed":
        assert (told.value, shop.bank.paid) == ("by hand", [100])
    else:
        assert (code_of(told), shop.bank.paid) == ("IDEMPOTENCY_CONFLICT", [100])
    assert shop.done == []


async def goes_on_after(decision: Decision) -> tuple[Shop, ToolResult[object], ToolResult[object]]:
    """Let a call go on whose host was lost when it went on before, after somebody decided about that."""
    shop, clock = Shop(), Clock(with_trio=True)
    store, approvals = Troubled(clock), MemoryApprovals(clock)
    toolbox = Toolbox(shop.tools, policy=asks_about("ship"))
    async with (
        open_supervisor(toolbox, ledger=store, keys=KEYS, approvals=approvals, default_request_context=HER) as one,
        open_supervisor(toolbox, ledger=store, keys=KEYS, approvals=approvals, default_request_context=HER) as two,
        trio.open_nursery() as nursery,
    ):
        paused = await one.execute(ToolCall("order"), idempotency_key="k")
        pending = paused.pending_approval
        assert pending is not None
        shop.slowly = True

        async def agree() -> None:
            await one.resume_approval(pending, idempotency_key="k")

        nursery.start_soon(agree)
        await trio.sleep(1)
        clock.ahead += 40  # its host is gone before the step began that was agreed to
        shop.slowly = False
        row = await row_of(store, "order")
        assert row.state == "unknown"
        receipt = await receipt_for(row, decision, result='"by hand"' if decision == "completed" else None)
        await decide(store, KEYS, receipt, domain="default")
        result = await two.resume_approval(pending, idempotency_key="k")
        again = await two.execute(ToolCall("order"), idempotency_key="k")
        nursery.cancel_scope.cancel()
        stop_all(one)
    return shop, result, again


class Pair:
    """A tool that waits for a person while a step beside that is still at it, and can't be stopped."""

    def __init__(self) -> None:
        self.slow = 0
        pair = self

        @tool(effect=BANK)
        async def slowly() -> str:
            with trio.CancelScope(shield=True):
                await trio.sleep(5)
            pair.slow += 1
            return "done"

        @tool(effect=BANK)
        async def ship() -> str:
            return "shipped"

        @tool(effect=BANK, effect_windows=True)
        async def both(ctx: ToolContext) -> str:
            async def beside() -> None:
                await ctx.call("slowly", place="slowly")

            async with trio.open_nursery() as nursery:
                nursery.start_soon(beside)
                await trio.sleep(1)
                (await ctx.call("ship", place="ship")).unwrap()
            return "done"

        self.toolbox = Toolbox([slowly, ship, both], policy=asks_about("ship"))


@requirement("keeping.pauses")
async def test_what_is_told_of_a_pause_does_not_deny_what_a_step_beside_it_does(
    autojump_clock: trio.abc.Clock,
) -> None:
    pair, store = Pair(), Troubled(Clock(with_trio=True))
    async with open_supervisor(pair.toolbox, ledger=store, keys=KEYS, default_request_context=HER) as supervisor:
        execution = supervisor.start(ToolCall("both"), idempotency_key="k")
        await execution.settled()
        first = await execution.result()
        again = await supervisor.execute(ToolCall("both"), idempotency_key="k")

    assert first.effect == "unknown"  # the engine knows it
    assert again.effect != "none"


@requirement("keeping.pauses")
async def test_a_step_that_was_at_it_beside_a_pause_is_not_done_a_second_time(autojump_clock: trio.abc.Clock) -> None:
    pair, store = Pair(), Troubled(Clock(with_trio=True))
    async with open_supervisor(pair.toolbox, ledger=store, keys=KEYS, default_request_context=HER) as supervisor:
        execution = supervisor.start(ToolCall("both"), idempotency_key="k")
        await execution.settled()
        await trio.sleep(10)
        pending = (await execution.result()).pending_approval
        if pending is not None:
            await supervisor.resume_approval(pending, idempotency_key="k")

    assert pair.slow == 1


@requirement("keeping.pauses")
async def test_a_call_that_ran_out_of_time_while_its_pause_was_signed_is_no_pause(
    autojump_clock: trio.abc.Clock,
) -> None:
    class Slowly:
        slow = False

        async def signing_key(self, domain: str, /) -> SigningKey | None:
            with trio.CancelScope(shield=True):
                await trio.sleep(2 if self.slow else 0)
            return KEYS.signing_key(domain)

        def key(self, domain: str, key_id: str, /) -> SigningKey | None:
            return KEYS.key(domain, key_id)

    shop, store, keys = Shop(), Troubled(Clock(with_trio=True)), Slowly()

    @tool(effect=BANK)
    async def slow_order(ctx: ToolContext) -> str:
        result = await ctx.call("ship", place="ship")
        keys.slow = True
        result.unwrap()
        return "ordered"

    toolbox = Toolbox([*shop.tools, slow_order], policy=asks_about("ship"))
    async with open_supervisor(toolbox, ledger=store, keys=keys, default_request_context=HER) as supervisor:
        execution = supervisor.start(ToolCall("slow_order"), idempotency_key="k", timeout=1)
        await execution.settled()
        result = await execution.result()
        row = await row_of(store, "slow_order")

    assert (code_of(result), result.effect) == ("TIMEOUT", "unknown")
    assert row.state == "unknown"  # the ledger follows the effect; nobody has a descriptor
