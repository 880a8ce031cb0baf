"""An execution that waits for another which is not its child: the planner is told, so that no such wait is endless."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ._execution import Record
from ._lifecycle import FINAL
from ._room import standing_of
from ._settlement import wake
from .capacity import Claim, Refused


@contextmanager
def joining(waiter: Record, leader: Record) -> Generator[str | None]:
    """As long as the block lasts, *waiter*, or a call that it makes and waits for, counts as waiting for *leader*.

    Yields None; or, when *leader* waits, directly or not, for something that *waiter* or its callers hold, that cycle
    in words. Then nothing is counted, and waiting would never end.
    """
    core = leader.core
    if leader.state in FINAL or _is_still_asked(leader):
        yield None
        return
    core.numbered += 1
    follower = Claim(order=core.numbered, owner=waiter.owner, parent=standing_of(waiter), label=waiter.id)
    decision = core.planner.join(follower, standing_of(leader))
    if decision.others:
        wake(core, decision.others)
    if isinstance(decision, Refused):
        yield decision.text
        return
    try:
        yield None
    finally:
        core.planner.leave(follower)


def _is_still_asked(record: Record) -> bool:
    """Whether it is not known yet what *record* needs: a hook of the user's has not answered."""
    return record.hook is not None or record.hook_scope is not None
