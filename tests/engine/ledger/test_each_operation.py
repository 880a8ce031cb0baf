"""One operation of the ledger after the other fails, hangs, or is done without an answer, on the way of a paused tool."""

from __future__ import annotations

import itertools
from typing import Final

import pytest
import trio
import trio.testing

from armory_trio import PendingApproval, Supervisor, Toolbox, ToolCall, ToolResult, open_supervisor
from armory_trio.authority.approvals import MemoryApprovals
from armory_trio.errors import ApprovalError
from armory_trio.ledger import Answer, Operation
from tests.engine.ledger.stores import HER, KEYS, Clock, StoreDown, Trouble, Troubled
from tests.engine.ledger.test_pauses import Shop, asks_about
from tests.requirements import requirement

ORDER: Final = ToolCall("order")
TROUBLES: Final[tuple[Trouble, ...]] = ("raises", "hangs", "does-and-raises", "does-and-hangs")
MOST: Final = 100
"""Operations that nobody needs for one order."""


class Once(Troubled):
    """A ledger that has trouble with one operation."""

    def __init__(self, clock: Clock, number: int, kind: Trouble) -> None:
        super().__init__(clock)
        self.number = number
        self.kind: Trouble = kind

    async def apply(self, operation: Operation, /) -> Answer:
        self.operations.append(operation)
        if len(self.operations) != self.number:
            return await self.inner.apply(operation)
        if self.kind.startswith("does"):
            await self.inner.apply(operation)
        if self.kind.endswith("hangs"):
            await trio.sleep_forever()
        raise StoreDown("no route to the store")


async def agree(supervisor: Supervisor, pending: PendingApproval | None) -> ToolResult[object] | None:
    """Go on with what waits, if anything does and that still counts."""
    if pending is None:
        return None
    try:
        return await supervisor.resume_approval(pending)
    except ApprovalError:
        return None


async def order(number: int, kind: Trouble) -> int:
    """Order, agree, and after a while order and agree again; how many operations the first order took."""
    shop, clock = Shop(), Clock(with_trio=True)
    store, approvals = Once(clock, number, kind), MemoryApprovals(clock)
    toolbox = Toolbox(shop.tools, policy=asks_about("ship"))
    async with open_supervisor(
        toolbox, ledger=store, keys=KEYS, approvals=approvals, default_request_context=HER
    ) as supervisor:
        first = await supervisor.execute(ORDER, idempotency_key="k")
        gone_on = await agree(supervisor, first.pending_approval)
        needed = len(store.operations)
        clock.ahead += 100  # what was claimed, and not known to be, is free
        again = await supervisor.execute(ORDER, idempotency_key="k")
        last = await agree(supervisor, again.pending_approval) or again

    assert shop.bank.paid in ([], [100])
    assert len(shop.done) == len(set(shop.done))
    for told in (first, gone_on, again, last):
        if told is not None and told.outcome == "success":
            assert (shop.bank.paid, shop.done) == ([100], ["ship", "seal"]), told
        if told is not None and told.attempts and shop.bank.paid:
            assert told.effect != "none", told
    assert supervisor.report is not None
    assert supervisor.report.bugs == ()
    return needed


@requirement("keeping.pauses", "keeping.faults")
@pytest.mark.parametrize("kind", TROUBLES)
def test_whichever_operation_fails_nothing_is_done_twice_or_said_to_be_done_that_was_not(kind: Trouble) -> None:
    for number in itertools.count(1):
        clock = trio.testing.MockClock(autojump_threshold=0)
        if trio.run(order, number, kind, clock=clock) < number:
            break
        assert number < MOST
