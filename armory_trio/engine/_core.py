"""What all executions of one supervisor share."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import msgspec
import trio

from ..authority import Revisions
from ..definitions import Content, ToolDefinition
from ..toolbox import Toolbox
from ._concurrency import Latch, current_clock
from ._feed import EventFeed
from ._options import Settings
from ._roles import Hooks, Repeats
from ._subscriptions import Publications, Published
from ._timers import Kind, Timers
from .capacity import Planner
from .keeping._ledger import Ledger

if TYPE_CHECKING:  # loaded by who has a journal
    from ._recording import Recorder


class Kept(Published, Protocol):
    """An execution, as far as what they all share needs it."""

    @property
    def ended_at(self) -> float | None:
        """When its body was gone, in seconds on trio's clock."""
        ...


R = TypeVar("R", bound=Kept)


class CoreOf(Generic[R]):
    """What all executions of one supervisor share. Only synchronous code touches it."""

    __slots__ = (
        "admitted",
        "always",
        "awaited",
        "bugs",
        "closed",
        "closed_because",
        "due",
        "encode",
        "fallen",
        "feed",
        "hooks",
        "idle",
        "journal",
        "kept",
        "ledger",
        "live",
        "log",
        "now",
        "numbered",
        "nursery",
        "opened_at",
        "planner",
        "prefix",
        "settings",
        "spent",
        "stopping",
        "timers",
        "toolbox",
        "uncertain",
        "wants_room",
        "watches_kept",
        "workers",
    )

    nursery: trio.Nursery
    due: Callable[[R, Kind, float], None]
    encode: Callable[[object], tuple[Content, ...]]
    admitted: int
    numbered: int
    spent: int
    uncertain: int
    """How many have ended with an unknown effect or a failed cleanup, kept or not."""
    closed: bool
    closed_because: str

    def __init__(self, toolbox: Toolbox, settings: Settings, *, prefix: str) -> None:
        self.toolbox: Toolbox = toolbox
        self.settings: Settings = settings
        self.prefix: str = prefix
        self.timers: Timers = Timers()
        self.planner: Planner = Planner()
        self.log: Publications = Publications()
        self.feed: EventFeed = EventFeed()
        self.journal: Recorder | None = None
        authority = settings.authority
        self.ledger: Ledger = Ledger(authority.ledger, prefix=prefix, lease=authority.lease, cap=authority.lease_cap)
        self.live: dict[str, R] = {}
        self.kept: deque[R] = deque(maxlen=settings.retention.count)
        self.watches_kept: bool = settings.retention.seconds is not None
        """Whether kept records have to be looked at before a new one comes: not only their number counts."""
        self.awaited: dict[R, list[R]] = {}
        """Whom executions wait for that are not their children."""
        self.idle: list[Latch] = []
        self.always: tuple[str, ...] = ()
        """The limits that every call needs a slot of."""
        self.wants_room: bool = False
        """Whether every call, or every call with an owner, needs a slot of something."""
        self.admitted = self.numbered = self.spent = self.uncertain = 0
        self.closed, self.closed_because = False, ""
        self.hooks: Hooks = Hooks()
        if settings.loops is not None:
            self.hooks.repeats = Repeats(settings.loops)
        self.workers: object = None  # the worker processes, made by the first body that runs in one
        self.fallen: bool = False
        """Set when the whole supervisor falls: no further body may begin."""
        self.stopping: deque[tuple[R, str]] | None = None
        """Children that are still to be asked to stop, and why; None while nobody is asking."""
        self.bugs: list[str] = []
        self.now: Callable[[], float] = current_clock()
        """Reads trio's clock, in seconds."""
        self.opened_at: float = self.now()

    def revisions(self, tool: ToolDefinition, toolbox: Toolbox | None = None) -> Revisions:
        """The rules under which calls of *tool* are judged now, or were when *toolbox* was in use."""
        toolbox = toolbox or self.toolbox
        return msgspec.structs.replace(
            self.settings.authority.revisions,
            toolbox=toolbox.revision,
            tool_definition=tool.digest,
            policy=toolbox.policy_revision,
            approval=toolbox.approval_revision,
        )

    def retire(self, record: R) -> None:
        """Move *record*, whose body is gone, from the live ones to the kept ones."""
        del self.live[record.id]
        kept = self.kept
        if self.watches_kept:
            self.forget_expired()
        if self.log.active and len(kept) == kept.maxlen:
            self.log.forget(kept[0] if kept else record)  # what makes room, or cannot be kept at all
        kept.append(record)
        if self.idle:
            self.stir()

    def forget_expired(self) -> None:
        """Drop what is kept for longer than was asked for."""
        seconds, kept = self.settings.retention.seconds, self.kept
        if seconds is None:
            return
        horizon = self.now() - seconds
        while kept and _ended_before(kept[0], horizon):
            record = kept.popleft()
            if self.log.active:
                self.log.forget(record)

    def stir(self) -> None:
        """Something ended for which a shutdown may wait."""
        for latch in self.idle:
            latch.set()
        self.idle.clear()

    async def stirred(self) -> None:
        """Return when something has ended. Cancelled: nothing has changed."""
        latch = Latch()
        self.idle.append(latch)
        await latch.wait()


def _ended_before(record: Kept, horizon: float) -> bool:
    return record.ended_at is not None and record.ended_at < horizon
