"""What the host knows of its executions while somebody looks: the newest snapshot of each, and what was counted."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterator
from typing import Final

import trio

from ..engine import Executions, Snapshot, Updates
from ._socket_messages import LiveRates, LiveTotals
from ._socket_rows import FINAL, Seen, since_of

Breathe = Callable[[], Awaitable[None]]
"""Lets everybody else run for a turn."""

SLICE: Final = 500
"""Executions that are looked at without letting anybody else run: about a millisecond's worth."""

KEPT: Final = 1_000
"""Ended executions that are remembered, and as many again of those that may have done something."""

_WINDOW: Final = 10.0
"""Seconds over which rates are told."""

_LEAST: Final = 0.5
"""Seconds before a rate means something."""

_FAILED: Final = "error"


class Model:
    """The executions of one supervisor, as far as they have been read.

    It reads only when it is asked to, so that executions that changed several times meanwhile are read once.

    Args:
        executions: Where to look at them.
        updates: A fresh subscription to all of them.
    """

    def __init__(self, executions: Executions, updates: Updates) -> None:
        self._executions = executions
        self._updates = updates
        self._live: dict[str, Seen] = {}
        self._ended: OrderedDict[str, Seen] = OrderedDict()
        self._uncertain: OrderedDict[str, Seen] = OrderedDict()
        self._joined = trio.current_time()
        self._started = self._over = self._failed = 0
        self._forgotten = 0
        self._samples: deque[tuple[float, int, int, int, int]] = deque()
        for shot in reversed(executions.ended(KEPT)):
            self._keep(Seen(shot, since_of(shot, self._joined)))

    async def catch_up(self, breathe: Breathe) -> None:
        """Read what has changed. Cancelled: what was read stays read."""
        left = SLICE
        now = trio.current_time()
        while True:
            try:
                shot = self._updates.next_nowait()
            except (trio.WouldBlock, StopAsyncIteration):
                break
            self._note(shot, now)
            left -= 1
            if not left:
                await breathe()
                left, now = SLICE, trio.current_time()
        if self._updates.forgotten != self._forgotten:
            self._forgotten = self._updates.forgotten
            await self._drop_the_forgotten(breathe)
        self._sample()

    def _note(self, shot: Snapshot, now: float) -> None:
        known = self._live.get(shot.execution_id) or self.find(shot.execution_id)
        before = None if known is None else known.shot
        if (
            shot.started_at is not None
            and shot.started_at >= self._joined
            and (before is None or before.started_at is None)
        ):
            self._started += 1
        if shot.state not in FINAL:
            if known is None:
                self._live[shot.execution_id] = Seen(shot, since_of(shot, now))
                return
            if known.shot.state != shot.state:
                known.since = now
            known.shot = shot
            return
        if before is None or before.state not in FINAL:
            self._over += 1
            self._failed += shot.outcome == _FAILED
        self._live.pop(shot.execution_id, None)
        self._keep(Seen(shot, since_of(shot, now)))

    def _keep(self, seen: Seen) -> None:
        """Remember one whose state is final."""
        name, uncertain = seen.shot.execution_id, seen.shot.state == "unknown-effect"
        home, other = (self._uncertain, self._ended) if uncertain else (self._ended, self._uncertain)
        other.pop(name, None)
        home[name] = seen
        if len(home) > KEPT:
            home.popitem(last=False)

    async def _drop_the_forgotten(self, breathe: Breathe) -> None:
        """Some ended and are not kept by the supervisor any more, so that their end is never read."""
        for number, name in enumerate(list(self._live), start=1):
            if self._executions.locate(name, live_only=True) is None:
                self._live.pop(name, None)
            if number % SLICE == 0:
                await breathe()

    def _sample(self) -> None:
        now = trio.current_time()
        samples = self._samples
        if samples and now - samples[-1][0] < _LEAST / 2:
            return
        samples.append((now, self._started, self._over, self._failed, self._forgotten))
        while len(samples) > 2 and samples[1][0] <= now - _WINDOW:
            samples.popleft()

    def find(self, execution_id: str) -> Seen | None:
        """One execution; as it is now, if it is live."""
        seen = self._live.get(execution_id) or self._ended.get(execution_id) or self._uncertain.get(execution_id)
        return None if seen is None else self.fresh(seen)

    def fresh(self, seen: Seen) -> Seen:
        """*seen* with what is no change of its own: places in line, chunks, signs of life."""
        if seen.settled:
            return seen
        shot = self._executions.locate(seen.shot.execution_id, live_only=True)
        if shot is None or shot.state in FINAL:
            return seen  # its end is read with the next look
        return Seen(shot, seen.since if shot.state == seen.shot.state else since_of(shot, trio.current_time()))

    def everything(self, *, ended: bool) -> list[Seen]:
        """All that are live, and those with an unknown effect; with *ended* the other ended ones, too."""
        found = [*self._live.values(), *self._uncertain.values()]
        return [*found, *self._ended.values()] if ended else found

    def ancestors(self, execution_id: str, most: int) -> Iterator[Seen]:
        """Who called it, the nearest first, as far as that is known."""
        seen = self.find(execution_id)
        while seen is not None and most and seen.shot.parent_id is not None:
            seen = self.find(seen.shot.parent_id)
            most -= 1
            if seen is not None:
                yield seen

    async def totals(self, live: int, breathe: Breathe) -> LiveTotals:
        """The numbers, with *live* as the supervisor has it."""
        states: Counter[str] = Counter()
        shown = list(self._live.values())
        for first in range(0, len(shown), SLICE * 8):
            states.update(seen.shot.state for seen in shown[first : first + SLICE * 8])
            await breathe()
        if self._uncertain:
            states["unknown-effect"] = len(self._uncertain)
        if self._ended:
            states["terminal"] = len(self._ended)
        return LiveTotals(
            live=live,
            states=dict(states),
            started=self._started,
            ended=self._over + self._forgotten,
            failed=self._failed,
            unseen=self._forgotten,
        )

    def rates(self) -> LiveRates | None:
        """The numbers per second; None until there are two moments to compare."""
        if not self._samples:
            return None
        then, started, over, failed, forgotten = self._samples[0]
        seconds = trio.current_time() - then
        if seconds < _LEAST:
            return None
        unseen = self._forgotten - forgotten
        return LiveRates(
            started=(self._started - started) / seconds,
            ended=(self._over - over + unseen) / seconds,
            failed=(self._failed - failed) / seconds,
            unseen=unseen / seconds,
            over=seconds,
        )
