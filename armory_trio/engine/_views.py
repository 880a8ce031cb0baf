"""Looking at what runs, and at what ran lately."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from .._on_demand import in_words
from ._concurrency import EnteredFirst
from ._execution import Core, Record
from ._handle import PrivilegedSnapshot, privileged
from ._lifecycle import Snapshot, State
from ._subscriptions import Selection, Updates

if TYPE_CHECKING:  # loaded by who measures, or has a journal
    from ._probes import Probe
    from ._recording import Journaled
else:
    (Probe,) = in_words("armory_trio.engine._probes", "Probe")
    (Journaled,) = in_words("armory_trio.engine._recording", "Journaled")


class LimitUse(msgspec.Struct, frozen=True):
    """How much of a limit is in use: slots, and slots in all."""

    used: int
    size: int


class Statistics(msgspec.Struct, frozen=True):
    """A supervisor in numbers, at one moment.

    Args:
        admitted: How many calls came in so far.
        live: How many executions are not over, by their state; states in which there is none are left out.
        limits: The limits of the supervisor, of groups, tools, threads and processes by their names, as in
            ``Snapshot.capacity``. Those of owners and batches are left out.
        events_lost: How many events did not reach readers that were too slow; each reader counts.
    """

    admitted: int
    live: Mapping[State, int]
    limits: Mapping[str, LimitUse]
    events_lost: int


class Executions:
    """What runs, and what ran lately. The ``executions`` of a supervisor."""

    __slots__ = ("_core",)

    def __init__(self, core: Core) -> None:
        self._core = core

    def __repr__(self) -> str:
        return f"<Executions: {len(self._core.live)} live, {len(self._core.kept)} kept>"

    def inspect(
        self,
        *,
        owner_id: str | None = None,
        tool_name: str | None = None,
        started_by: str | None = None,
        live_only: bool = False,
    ) -> list[Snapshot]:
        """The newest snapshots, in order of admission; ended executions as long as they are kept.

        Args:
            owner_id: Only those of this owner.
            tool_name: Only those of this tool.
            started_by: Only those that this execution started as top-level ones; not its children.
            live_only: Leave out those that have ended.
        """
        self._core.forget_expired()
        chosen = Selection(owner_id=owner_id, tool_name=tool_name)
        records = list(self._core.live.values()) + ([] if live_only else list(self._core.kept))
        if started_by is not None:
            records = [record for record in records if record.started_by == started_by]
        return [record.snapshot() for record in sorted(filter(chosen, records), key=lambda record: record.number)]

    def locate(self, execution_id: str, *, live_only: bool = False) -> Snapshot | None:
        """The newest snapshot of one execution; None when there never was one, or it is no longer kept.

        Args:
            execution_id: Which one.
            live_only: Answer None, too, when it has ended. That costs the same however many are kept.
        """
        record = self._core.live.get(execution_id) or (None if live_only else self._kept(execution_id))
        return None if record is None else record.snapshot()

    def ended(self, most: int) -> list[Snapshot]:
        """The snapshots of the last executions that have ended and are kept, at most so many, the latest first."""
        self._core.forget_expired()
        return [record.snapshot() for record in islice(reversed(self._core.kept), most)]

    def limits(self) -> dict[str, LimitUse]:
        """The limits there are now, by name: ``supervisor``, ``threads``, ``group:db``, ``owner:run-7`` and the like.

        Those of owners are there while somebody uses them.
        """
        return {name: LimitUse(*use) for name, use in self._core.planner.usage().items()}

    def queues(self) -> Mapping[str, int]:
        """How many executions wait for a slot of a limit, by its name; limits that nobody waits for are left out."""
        return self._core.planner.queues()

    def _kept(self, execution_id: str) -> Record | None:
        self._core.forget_expired()
        return next((kept for kept in self._core.kept if kept.id == execution_id), None)

    def inspect_privileged(
        self, *, owner_id: str | None = None, tool_name: str | None = None
    ) -> list[PrivilegedSnapshot]:
        """The newest snapshots with authority, and of what is live arguments and results as well, in order of admission.

        For the eyes of an operator only, never for a watcher. Ended executions are there as long as they are kept, on
        whose behalf they ran and under which rules; there were no credentials in the first place.
        """
        self._core.forget_expired()
        chosen = filter(
            Selection(owner_id=owner_id, tool_name=tool_name), (*self._core.live.values(), *self._core.kept)
        )
        return [
            privileged(record, record.call, record.result, record.late)
            for record in sorted(chosen, key=lambda record: record.number)
        ]

    def statistics(self) -> Statistics:
        """The supervisor in numbers. May be called from any thread."""
        core = self._core
        live = core.live.copy()  # in one step, whatever trio's thread does meanwhile
        used = core.planner.usage(lasting=True)
        return Statistics(
            core.admitted,
            Counter(record.state for record in live.values()),
            {name: LimitUse(*use) for name, use in used.items()},
            core.feed.lost,
        )

    def attach(self, probe: Probe) -> Callable[[], None]:
        """Tell *probe* what happens, at once and in the task in which it does. For telemetry; a watcher subscribes.

        Returns:
            What detaches it; calling that again does nothing.
        """
        from ._probes import Attached  # noqa: PLC0415  # only who measures pays for it

        attached = Attached(probe, self._core.live)
        feed, entering = self._core.feed, attached.enter
        feed.add(attached)
        feed.entering = (*feed.entering, entering)

        def detach() -> None:
            feed.entering = tuple(other for other in feed.entering if other is not entering)
            feed.remove(attached)
            attached.close()

        return detach

    @property
    def journal(self) -> Journaled | None:
        """What became of the publications so far, if there is a journal."""
        recorder = self._core.journal
        return None if recorder is None else recorder.told

    def subscribe(
        self, *, owner_id: str | None = None, execution_id: str | None = None, tool_name: str | None = None
    ) -> Watching:
        """Follow what changes, without ever slowing the work; use the answer with ``async with``."""
        return Watching(self._core, Selection(owner_id, execution_id, tool_name))


class Watching(EnteredFirst):
    """``async with`` round a view of the executions that change."""

    __slots__ = ("_core", "_updates")

    def __init__(self, core: Core, selection: Selection) -> None:
        self._core = core
        self._updates = Updates(core.log, selection)

    async def __aenter__(self) -> Updates:
        self._updates.join(list(self._core.live.values()), self._core.numbered)
        return self._updates

    async def __aexit__(self, *exc_info: object) -> None:
        self._core.log.remove(self._updates)
