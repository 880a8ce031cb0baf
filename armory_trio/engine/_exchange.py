"""A toolbox that is exchanged while a supervisor runs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..toolbox import Toolbox
from ._concurrency import Token, current_token
from ._events import ToolboxChanged
from ._execution import Core

if TYPE_CHECKING:  # loaded by who exchanges toolboxes
    from ..toolbox import LiveToolbox, ToolboxChange


@contextmanager
def followed(toolbox: LiveToolbox, core: Core, exchange: Callable[[Toolbox], None]) -> Generator[None]:
    """As long as the block lasts, *exchange* is called with what takes the place of what *toolbox* holds.

    What is exchanged on trio's thread counts at once; from another thread it counts as soon as trio gets to it.
    """
    token = current_token()
    waiting: deque[ToolboxChange] = deque()

    def take_over(change: ToolboxChange) -> None:
        exchange(change.after)
        if core.feed.readers:
            core.feed.send(
                ToolboxChanged(
                    sequence=core.feed.next(),
                    at=core.now(),
                    revision=change.revision,
                    added=change.added,
                    removed=change.removed,
                    changed=change.changed,
                )
            )

    def catch_up() -> None:
        while waiting:
            take_over(waiting.popleft())

    def listen(change: ToolboxChange) -> None:
        waiting.append(change)  # in order: what another thread exchanged before counts before this
        if _is_here(token):
            catch_up()
        else:
            token.run_sync_soon(catch_up)

    stop = toolbox.listen(listen)
    exchange(toolbox.toolbox)  # it may have been exchanged since the supervisor took it
    try:
        yield
    finally:
        stop()


def _is_here(token: Token) -> bool:
    try:
        return current_token() is token
    except RuntimeError:
        return False
