"""What a hostile review of the authority in the engine found. Each says what ought to be true, and fails."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import attrs
import pytest
import trio

from armory_trio import (
    Allow,
    ApprovalError,
    Ask,
    PolicyRequest,
    Supervisor,
    Tool,
    Toolbox,
    ToolCall,
    ToolContext,
    open_supervisor,
    tool,
)
from armory_trio.definitions import PendingApproval
from armory_trio.ledger import LedgerKey, LegacyReceipt, legacy_entry, sign_receipt
from tests.engine.ledger.stores import BANK, HER, KEYS, Bank, Clock, Troubled, told_of


async def resumed_while_exchanged(supervisor: Supervisor, pending: PendingApproval, toolbox: Toolbox) -> None:
    """Resume *pending*, and exchange the toolbox while that has begun."""

    async def resume() -> None:
        with pytest.raises(ApprovalError, match="mismatch"):
            await supervisor.resume_approval(pending)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(resume)
        await trio.sleep(1)
        supervisor.exchange(toolbox)


def composed(ran: list[str], *, outer_waits: float = 0.0) -> list[Tool[..., object]]:
    @tool(effect=BANK)
    async def ship() -> str:
        ran.append("ship")
        return "shipped"

    @tool(effect=BANK)
    async def middle(ctx: ToolContext) -> object:
        ran.append("middle")
        return (await ctx.call("ship", place="ship")).unwrap()

    @tool(effect=BANK)
    async def outer(ctx: ToolContext) -> object:
        await trio.sleep(outer_waits)
        return (await ctx.call("middle", place="middle")).unwrap()

    return [ship, middle, outer]


@pytest.mark.parametrize("revision", ["policy_revision", "approval_revision", "revision"])
async def test_a_step_in_the_middle_does_not_begin_on_what_was_agreed_under_another_revision(
    revision: str, autojump_clock: trio.abc.Clock
) -> None:
    ran: list[str] = []

    def asks(request: PolicyRequest) -> Allow | Ask:
        return Allow() if request.definition.name == "outer" else Ask(f"May I {request.definition.name}?")

    toolbox = Toolbox(composed(ran, outer_waits=5), policy=asks)
    async with open_supervisor(toolbox, keys=KEYS, default_request_context=HER) as supervisor:
        first = (await supervisor.execute(ToolCall("outer"))).pending_approval
        assert first is not None and first.tool_name == "middle"
        second = (await supervisor.resume_approval(first)).pending_approval
        assert second is not None and second.tool_name == "ship"
        changed = {
            "policy_revision": attrs.evolve(toolbox, policy_revision="another"),
            "approval_revision": attrs.evolve(toolbox, approval_revision="another"),
            "revision": attrs.evolve(toolbox, revision="another"),
        }
        await resumed_while_exchanged(supervisor, second, changed[revision])

    assert ran == ["middle"]  # its body began once more, though under these rules nobody was asked about it


async def test_the_whole_does_not_begin_on_what_was_agreed_under_another_revision(
    autojump_clock: trio.abc.Clock,
) -> None:
    ran: list[str] = []
    takes = [0.0]

    async def here(_: object) -> bool:
        await trio.sleep(takes[0])
        return True

    @tool(effect=BANK, availability=here)
    async def order(ctx: ToolContext) -> object:
        ran.append("order")
        return (await ctx.call("ship", place="ship")).unwrap()

    def asks(request: PolicyRequest) -> Ask:
        return Ask(f"May I {request.definition.name}?")

    toolbox = Toolbox([composed(ran)[0], order], policy=asks)
    async with open_supervisor(toolbox, keys=KEYS, default_request_context=HER) as supervisor:
        first = (await supervisor.execute(ToolCall("order"))).pending_approval
        assert first is not None
        second = (await supervisor.resume_approval(first)).pending_approval
        assert second is not None and second.tool_name == "ship"
        takes[0] = 5
        await resumed_while_exchanged(supervisor, second, attrs.evolve(toolbox, policy_revision="another"))

    assert ran == ["order"]


async def test_what_somebody_decided_was_done_is_answered() -> None:
    """An entry that was brought in has the policy revision ``""``, so it asks for an authorization that nobody can give."""
    bank, store, key = Bank(), Troubled(), LedgerKey("acme", "default:pay", "k")
    for operation in legacy_entry(key, "pay", 5.0):
        await store.apply(operation)
    receipt = LegacyReceipt(
        decision="completed",
        tenant="acme",
        tool_id="default:pay",
        key=key.text,
        tool_name="pay",
        legacy_started_at=5.0,
        evidence="the bank's statement",
        authorized_by="bob",
        authorized_at=10.0,
        nonce="n",
        result='{"cents": 5, "to": "ann"}',
    )
    signed = await sign_receipt(KEYS, receipt, domain="default")
    async with open_supervisor(Toolbox(bank.tools()), ledger=store, keys=KEYS, default_request_context=HER) as it:
        result = await it.execute(ToolCall("pay"), idempotency_key="k", resolution_receipt=signed)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # no option takes one

    assert (told_of(result), result.outcome) == ("deduped", "success")


async def test_a_reader_that_stands_still_holds_up_nobody_else(autojump_clock: trio.abc.Clock) -> None:
    @tool(effect=BANK)
    async def count() -> AsyncGenerator[int]:
        for number in range(1000):
            yield number

    async with (
        open_supervisor(
            Toolbox([count]), ledger=Troubled(Clock(with_trio=True)), default_request_context=HER
        ) as supervisor,
        supervisor.stream(ToolCall("count"), idempotency_key="k"),
    ):
        await trio.sleep(1)  # the buffer is full, and nobody reads
        with trio.move_on_after(10_000) as scope:
            await supervisor.execute(ToolCall("count"), idempotency_key="k")

    assert not scope.cancelled_caught
