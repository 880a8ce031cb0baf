"""Patience, and what happens when it ends: a claim overtaken too often reserves the slots that it needs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from ._claims import Claim, Limit, Limits, Line

PATIENCE: Final = 16
"""How often a claim may be overtaken before it reserves its slots. Fewer waste slots, more delay wide claims."""


class Reservations:
    """Who is starving, longest first, and has reserved slots as they come free.

    A line reserves all that it needs or nothing, never anything that a longer starving one needs, and each limit is
    reserved for one line only: so no two ever wait for each other's reservations.

    Args:
        limits: Every limit.
        patience: How often a claim may be overtaken.
    """

    __slots__ = ("_limits", "_patience", "starving")

    def __init__(self, limits: Limits, *, patience: int) -> None:
        self._limits = limits
        self._patience = patience
        self.starving: dict[Line, None] = {}

    def count_overtaking(self, claim: Claim, loans: Mapping[str, Claim], lines: Iterable[Line]) -> list[Line]:
        """Count that *claim* started with a slot of all that it needs: that of a lender in *loans*, or its own.

        Those in *lines* that could have used one of these and were admitted before it have been overtaken.

        Returns:
            The lines that have reserved their slots because of that.
        """
        reserved: list[Line] = []
        for line in lines:
            if line.head.order < claim.order and _could_use(line, claim, loans):
                line.note_overtaker(claim.order, self._patience)
                reserved += self.watch(line)
        return reserved

    def watch(self, line: Line) -> list[Line]:
        """See whether the head of *line* has lost patience, and answer which lines have reserved something now."""
        if line in self.starving or max(line.missed, len(line.overtakers)) < self._patience:
            return []
        if line.times_overtaken() < self._patience:
            return []
        self.starving[line] = None
        return self._reserve()

    def drop(self, line: Line) -> tuple[list[Limit], list[Line]]:
        """Its head has gone: give up what *line* has reserved.

        Returns:
            The limits that others may have again, and the lines that have reserved something now.
        """
        if line not in self.starving:
            return [], []
        del self.starving[line]
        freed = [limit for limit in map(self._limits.find, line.needs) if limit.reserver is line]
        for limit in freed:
            limit.reserver = None
        return freed, self._reserve()

    def _reserve(self) -> list[Line]:
        reserved: list[Line] = []
        wanted: set[str] = set()
        for line in self.starving:
            if wanted.isdisjoint(line.needs):
                limits = list(map(self._limits.find, line.needs))
                if any(limit.reserver is not line for limit in limits):
                    for limit in limits:
                        limit.reserver = line
                    reserved.append(line)
            wanted.update(line.needs)
        return reserved


def _could_use(line: Line, claim: Claim, loans: Mapping[str, Claim]) -> bool:
    for name in line.needs:
        if name in claim.needs:
            lender = loans.get(name)
            if lender is None or line.head.is_below(lender):
                return True
    return False
