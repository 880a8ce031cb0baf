"""Patience, and what happens when it ends: a claim overtaken too often reserves the slots that it needs. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from ._claims import Claim, Limit, Limits, Line

PATIENCE: Final = 16
"""How often a claim may be overtaken before it reserves its slots. Fewer waste slots, more delay wide claims."""


class Reservations:
    """Who is starving, longest first, and has reserved slots as they come free.

    A line reserves a slot of each limit that it needs, or nothing yet: nothing while one of them is *spoken for*, since
    its next slot, or all of them, are for lines that starve for longer. Then it waits for that limit, and keeping
    anything else from others would not help it. Nor would keeping what it gets anyway: if all who hold a limit that it
    lacks hold another one, too, that one is reserved only when the first has come free. What a line has reserved stays
    so until its head has gone.

    Slots are kept in the order in which lines lost patience, at every limit, so no two ever wait for each other's
    reservations; and whoever passes a starving line, but for those that starve for longer, leaves a slot of each limit
    for it or does not need the one that it waits for.

    Args:
        limits: Every limit.
        patience: How often a claim may be overtaken.
    """

    __slots__ = ("_count", "_limits", "_patience", "_pending", "_seen", "_wanted", "starving")

    def __init__(self, limits: Limits, *, patience: int) -> None:
        self._limits = limits
        self._patience = patience
        self._count = 0
        self._pending: dict[Line, list[str]] = {}
        """What each starving line needs and has not reserved yet."""
        self._wanted: Counter[str] = Counter()
        self._seen: dict[Line, Claim] = {}
        """Who was seen to have what the head of a line waits for, last."""
        self.starving: dict[Line, int] = {}
        """Lines that have lost patience, and how many had done so ever: in that order."""

    def count_overtaking(self, claim: Claim, loans: Mapping[str, Claim], lines: Iterable[Line]) -> list[Line]:
        """Count that *claim* started with a slot of all that it needs: that of a lender in *loans*, or its own.

        Those in *lines*, of its owner, that were admitted before it have been overtaken if they could have used one of
        these. Others have missed a turn if what they wait for went to another owner meanwhile, since theirs is behind
        that one again.

        Returns:
            The lines that have reserved their slots because of that.
        """
        reserved: list[Line] = []
        took_turn = len(loans) < len(claim.needs)
        for line in lines:
            if _could_use(line, claim, loans):
                if line.head.order > claim.order:
                    continue
                line.note_overtaker(claim.order, self._patience)
            elif took_turn and self._went_to_another(line):
                line.missed += 1
            else:
                continue
            reserved += self.watch(line)
        return reserved

    def _went_to_another(self, line: Line) -> bool:
        """Whether a slot of the limit at which *line* is parked has gone to another owner since this was asked."""
        if line.parked_at is None or not line.parked_at.owners:
            return False
        last = next(reversed(line.parked_at.owners))
        if last.owner == line.owner.name or self._seen.get(line) is last:
            return False
        self._seen[line] = last
        return True

    def count_out_of_turn(self, line: Line, loans: Mapping[str, Claim]) -> list[Line]:
        """Count that the head of starving *line* starts, with slots that are not in *loans*.

        Where it was the turn of another line, that one has missed it.

        Returns:
            The lines that have reserved their slots because of that.
        """
        reserved: list[Line] = []
        for limit in [self._limits.find(name) for name in line.needs if name not in loans]:
            first = limit.first_parked()
            if first is not None and first < line.entry():
                first[3].missed += 1
                reserved += self.watch(first[3])
        return reserved

    def watch(self, line: Line) -> list[Line]:
        """See whether the head of *line* has lost patience, and answer whether that has reserved something now."""
        if line in self.starving or max(line.missed, len(line.overtakers)) < self._patience:
            return []
        if line.times_overtaken() < self._patience:
            return []
        self._count += 1
        self.starving[line] = self._count
        self._wanted.update(line.needs)
        self._pending[line] = list(line.needs)
        return [line] if self._reserve(line) is None else []

    def in_the_way(self, line: Line) -> Limit | None:
        """The limit for which starving *line* waits before it reserves anything more; None if it has it all."""
        if not self._pending.get(line):
            return None
        return self._spoken_for(line) or next(iter(self._lacking(line)), None)

    def drop(self, line: Line) -> tuple[list[Limit], list[Line]]:
        """Its head has gone: give up what *line* has reserved.

        Returns:
            The limits that others may have again, and the lines that have reserved something now.
        """
        self._seen.pop(line, None)
        if line not in self.starving:
            return [], []
        del self.starving[line], self._pending[line]
        self._wanted -= Counter(line.needs)  # and what nobody wants any more is forgotten
        freed = [limit for limit in map(self._limits.find, line.needs) if line in limit.reservers]
        for limit in freed:
            del limit.reservers[line]
        return freed, self.renew() if freed else []

    def renew(self) -> list[Line]:
        """See who can reserve now that a slot has come free that was waited for, or somebody has gone."""
        reserved: list[Line] = []
        all_wait = False
        for line in self.starving:
            before = len(pending := self._pending[line])
            if not before or (all_wait and before == len(line.needs)):
                continue
            limit = self._reserve(line)
            if len(pending) < before:
                reserved.append(line)
            all_wait = all_wait or (limit is not None and self._wanted[limit.name] == len(self.starving))
        return reserved

    def _reserve(self, line: Line) -> Limit | None:
        """Reserve what *line* needs, or answer which limit is spoken for."""
        limit = self._spoken_for(line)
        if limit is not None:
            return limit
        pending = self._pending[line]
        lacking = self._lacking(line) if line.parent is None else ()  # a loan comes back alone
        for name in [name for name in pending if not any(_brings(limit, name) for limit in lacking)]:
            pending.remove(name)
            limit = self._limits.find(name)
            limit.reservers[line] = None
            if self._before(limit, line) < len(limit.reservers) - 1:
                limit.reservers = dict.fromkeys(sorted(limit.reservers, key=self.starving.__getitem__))
        return None

    def _spoken_for(self, line: Line) -> Limit | None:
        if len(self._pending[line]) < len(line.needs):
            return None
        for name in line.needs:
            limit = self._limits.by_name.get(name)
            if limit is not None and self._before(limit, line) > min(limit.size - len(limit.owners), limit.size - 1):
                return limit
        return None

    def _lacking(self, line: Line) -> list[Limit]:
        """The limits of which no slot is left for *line*, without those that come free with another one of them."""
        limits = [limit for name in line.needs if (limit := self._limits.by_name.get(name)) is not None]
        lacking = [limit for limit in limits if self._before(limit, line) >= limit.size - len(limit.owners)]
        first: list[Limit] = []
        for limit in sorted(lacking, key=lambda limit: len(limit.owners)):
            if not any(_brings(other, limit.name) for other in first):
                first.append(limit)
        return first

    def _before(self, limit: Limit, line: Line) -> int:
        number = self.starving[line]
        return sum(1 for reserver in limit.reservers if self.starving[reserver] < number)


def _brings(limit: Limit, name: str) -> bool:
    """Whether all who hold a slot of *limit* hold one of the limit called *name*, too."""
    return limit.name != name and all(name in owner.needs for owner in limit.owners)


def _could_use(line: Line, claim: Claim, loans: Mapping[str, Claim]) -> bool:
    limit = line.parked_at
    for name in line.needs:
        if name in claim.needs and (limit is None or line.parent is not None or not _brings(limit, name)):
            lender = loans.get(name)
            if lender is None or line.head.is_below(lender):
                return True
    return False
