"""A tool that waits for an execution which is not its child."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ._actor import running_in
from ._execution import CURRENT, Record
from .keeping._following import joining


@contextmanager
def joined(leader: Record) -> Generator[str | None]:
    """As long as the block lasts, the tool that this task runs, of whichever supervisor, counts as waiting for *leader*.

    Yields what `joining` does.
    """
    waiter = CURRENT.get()
    if waiter is None or waiter.over:
        yield None
        return
    with joining(waiter, leader, holder=running_in(leader.core)) as cycle:
        yield cycle
