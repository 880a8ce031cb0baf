"""Claims, and where they stand while they wait for slots: lines of the same needs, parked at limits.

Only `Claim` is seen by the rest of the engine; everything else is the planner's bookkeeping. Pure: no trio, no I/O.
"""

from __future__ import annotations

import enum
from collections import OrderedDict
from collections.abc import Collection, Iterator
from heapq import heapify, heappop, heappush
from itertools import takewhile
from typing import Final, TypeAlias


class Standing(enum.Enum):
    """Where a claim stands with the planner."""

    IDLE = "idle"
    """Not asked for yet, or given back."""
    QUEUED = "queued"
    """In a line: nobody holds a read or write that it conflicts with, so it waits for slots only."""
    PARKED = "parked"
    """At a resource: somebody else must be done with it first."""
    HELD = "held"
    """It has everything that it needs."""


IDLE: Final = Standing.IDLE
QUEUED: Final = Standing.QUEUED
PARKED: Final = Standing.PARKED
HELD: Final = Standing.HELD


class Claim:
    """What one execution needs before its body may run. Compared by identity.

    Args:
        order: Its place in the order of admission. No two claims of one planner share it.
        owner: Whose turn it takes. Claims of owner None share one turn.
        needs: Names of limits, one slot of each.
        reads: Names of what it reads. Readers share.
        writes: Names of what it writes. A writer excludes everybody else but its ancestors.
        parent: The claim of the nearest ancestor that has one.
        label: What to call it when a cycle is named, such as an execution id.

    The other attributes belong to the planner.
    """

    __slots__ = (
        "borrowed",
        "kin",
        "label",
        "lent",
        "needs",
        "order",
        "owner",
        "parent",
        "place",
        "standing",
        "urgent",
        "uses",
    )

    place: Line | Place | None
    borrowed: dict[str, Claim] | None
    lent: dict[str, Claim] | None
    kin: Kin | None

    def __init__(
        self,
        *,
        order: int,
        owner: str | None = None,
        needs: tuple[str, ...] = (),
        reads: Collection[str] = (),
        writes: Collection[str] = (),
        parent: Claim | None = None,
        label: str = "",
    ) -> None:
        self.order: int = order
        self.owner: str | None = owner
        self.needs: tuple[str, ...] = tuple(dict.fromkeys(needs)) if len(needs) > 1 else needs
        self.uses: tuple[tuple[str, bool], ...] = _uses(reads, writes) if reads or writes else ()
        self.parent: Claim | None = parent
        self.label: str = label
        self.standing: Standing = IDLE
        self.urgent: bool = False
        self.place = self.borrowed = self.lent = self.kin = None

    def __repr__(self) -> str:
        return f"<Claim {self.name} {self.standing.value}>"

    @property
    def name(self) -> str:
        """Its label, or its place in the order of admission when it has none."""
        return self.label or f"claim {self.order}"

    def ancestors(self) -> Iterator[Claim]:
        """Its parent, the parent of that, and so on."""
        above = self.parent
        while above is not None:
            yield above
            above = above.parent

    def is_below(self, other: Claim) -> bool:
        """Whether *other* is one of its ancestors."""
        above = self.parent
        while above is not None:
            if above is other:
                return True
            above = above.parent
        return False

    def family(self) -> Kin:
        """Its links to the claims that it waits for or that wait below it, made on first use."""
        if self.kin is None:
            self.kin = Kin()
        return self.kin

    def kind(self) -> tuple[Claim | None, tuple[str, ...], tuple[tuple[str, bool], ...], bool]:
        """What all claims have in common that wait for the same: if the last of them goes, so do the others."""
        return (self.parent, self.needs, self.uses, self.urgent)

    def has_waiting_below(self) -> bool:
        """Whether descendants of it wait."""
        kin = self.kin
        return kin is not None and bool(kin.lines or kin.parked)

    def is_running_leaf(self) -> bool:
        """Whether it waits for nobody, so that it will end by itself as far as anybody knows."""
        kin = self.kin
        if self.standing is QUEUED or self.standing is PARKED:
            return False
        return kin is None or not (kin.lines or kin.parked or kin.leader)


def _uses(reads: Collection[str], writes: Collection[str]) -> tuple[tuple[str, bool], ...]:
    written = frozenset(writes)
    return (
        *((name, True) for name in sorted(written)),
        *((name, False) for name in sorted(frozenset(reads) - written)),
    )


class Kin:
    """The links of a claim in the wait-for graph.

    Args:
        lines: Lines of descendants that wait for slots.
        parked: Descendants that wait for a resource or have joined somebody.
        followers: Claims that have joined this one.
        leader: The claim that this one has joined.
    """

    __slots__ = ("followers", "leader", "lines", "parked")

    def __init__(self) -> None:
        self.lines: dict[Line, None] = {}
        self.parked: dict[Claim, None] = {}
        self.followers: dict[Claim, None] = {}
        self.leader: Claim | None = None


class Queue:
    """Claims in order of admission: add, discard and first cost the same however many there are."""

    __slots__ = ("_base", "_claims", "_next", "_numbered")

    def __init__(self) -> None:
        self._claims: OrderedDict[Claim, int] = OrderedDict()
        self._base = 0
        self._next = 0
        self._numbered = True

    def __len__(self) -> int:
        return len(self._claims)

    def __iter__(self) -> Iterator[Claim]:
        return iter(self._claims)

    def __contains__(self, claim: Claim) -> bool:
        return claim in self._claims

    def first(self) -> Claim | None:
        """The claim that was admitted first, or None."""
        return next(iter(self._claims), None)

    def last(self) -> Claim | None:
        """The claim that was admitted last, or None."""
        return next(reversed(self._claims), None)

    def before_last(self) -> Claim | None:
        """The claim that was admitted last but one, or None."""
        backwards = reversed(self._claims)
        next(backwards, None)
        return next(backwards, None)

    def add(self, claim: Claim) -> None:
        """Put *claim* where it belongs: nearly always the end, so the walk from there is short."""
        later: list[Claim] = []
        claims = self._claims
        while claims and next(reversed(claims)).order > claim.order:
            later.append(claims.popitem()[0])
        self._append(claim)
        if later:
            self._numbered = False
            for moved in reversed(later):
                self._append(moved)

    def _append(self, claim: Claim) -> None:
        self._claims[claim] = self._next
        self._next += 1

    def discard(self, claim: Claim) -> None:
        """Take *claim* out, if it is there."""
        number = self._claims.pop(claim, None)
        if number is None:
            return
        if number == self._base:
            self._base += 1
        elif number != self._next - 1:
            self._numbered = False
        else:
            self._next -= 1

    def rank(self, claim: Claim) -> int:
        """Its place, counted from 1. Numbers are made anew only after somebody left from the middle."""
        if not self._numbered:
            for number, each in enumerate(self._claims):
                self._claims[each] = number
            self._base, self._next, self._numbered = 0, len(self._claims), True
        return self._claims[claim] - self._base + 1


class Place:
    """Something that claims stand in order for, other than slots. *name* is what they call it."""

    __slots__ = ("name", "waiting")

    def __init__(self, name: str) -> None:
        self.name: str = name
        self.waiting: Queue = Queue()


class Owner:
    """One owner with waiting claims. The one with the lowest turn goes first."""

    __slots__ = ("lines", "name", "turn")

    def __init__(self, name: str | None, turn: int) -> None:
        self.name: str | None = name
        self.turn: int = turn
        self.lines: dict[tuple[Claim | None, tuple[str, ...]], Line] = {}


class Line:
    """Claims of one owner and one parent with the same needs: what holds back the first holds back all.

    Args:
        owner: Their owner.
        first: The first of them.
    """

    __slots__ = ("head", "missed", "needs", "overtakers", "owner", "parent", "parked_at", "queue", "ticket", "urgent")

    def __init__(self, owner: Owner, first: Claim) -> None:
        self.owner: Owner = owner
        self.parent: Claim | None = first.parent
        self.needs: tuple[str, ...] = first.needs
        self.queue: Queue = Queue()
        self.queue.add(first)
        self.head: Claim = first
        """The claim that goes next. A line that has lost its last claim is thrown away."""
        self.parked_at: Limit | None = None
        self.ticket: int = 0
        self.overtakers: list[int] = []
        self.missed: int = 0
        self.urgent: bool = False

    def add(self, claim: Claim) -> None:
        """Put *claim* where it belongs."""
        self.queue.add(claim)
        if claim.order < self.head.order:
            self.head = claim

    def discard(self, claim: Claim) -> None:
        """Take *claim* out."""
        self.queue.discard(claim)
        if claim is self.head:
            self.head = self.queue.first() or claim

    def entry(self) -> Entry:
        """What to put into a heap so that the lowest turn, and within it the first admitted, comes out first."""
        return (self.owner.turn, self.head.order, self.ticket, self)

    def note_overtaker(self, order: int, most: int) -> None:
        """Remember the *most* latest claims that overtook somebody here."""
        heappush(self.overtakers, order)
        if len(self.overtakers) > most:
            heappop(self.overtakers)

    def times_overtaken(self) -> int:
        """How often later claims of its owner overtook the head, or how often it missed its turn, if that is more.

        A turn is missed when one thing came free and another was not. Nothing is counted further than is remembered.
        """
        order = self.head.order
        return max(self.missed, sum(1 for other in self.overtakers if other > order))


Entry: TypeAlias = tuple[int, int, int, Line]
"""The turn of a line's owner, the order of its head, and its ticket: an entry with an old ticket is stale."""


class Limit:
    """A number of slots. Lines that wait for one are parked in a heap; entries may be stale.

    Args:
        name: What claims call it.
        size: How many slots there are.
        lasting: Whether it is kept when nobody uses it.
    """

    __slots__ = ("lasting", "name", "owners", "parked", "reservers", "size")

    def __init__(self, name: str, size: int, *, lasting: bool) -> None:
        self.name: str = name
        self.size: int = size
        self.lasting: bool = lasting
        self.owners: dict[Claim, None] = {}
        self.parked: list[Entry] = []
        self.reservers: dict[Line, None] = {}

    def spare(self, line: Line | None) -> int:
        """How many slots *line* could take now; what others have reserved before it is not among them."""
        spare = self.size - len(self.owners)
        return spare - len(self.reserved_before(line)) if self.reservers else spare

    def reserved_before(self, line: Line | None) -> list[Line]:
        """The lines that have a slot kept from *line*: all that reserved one, or those that did so before it."""
        if line is not None and line.urgent:
            return []
        return list(takewhile(lambda reserver: reserver is not line, self.reservers))

    def park(self, line: Line, most: int) -> None:
        """Let *line* wait here. *most* lines exist, so a heap much longer than that is mostly stale."""
        if len(self.parked) > 2 * most + 16:
            self.parked = [entry for entry in self.parked if entry[3].ticket == entry[2]]
            heapify(self.parked)
        line.parked_at = self
        heappush(self.parked, line.entry())

    def first_parked(self) -> Entry | None:
        """The entry of the line whose turn it is; those that left or have had their turn since are put right."""
        parked = self.parked
        while parked:
            entry = parked[0]
            line = entry[3]
            if line.ticket != entry[2]:
                heappop(parked)
            elif (current := line.entry()) != entry:
                heappop(parked)
                heappush(parked, current)
            else:
                return entry
        return None

    def is_idle(self) -> bool:
        """Whether nobody holds, reserves or waits for a slot."""
        return not (self.owners or self.parked or self.reservers)


class Limits:
    """Every limit by name. Those of a family are made on first use and forgotten when nobody uses them."""

    __slots__ = ("by_name", "families")

    def __init__(self) -> None:
        self.by_name: dict[str, Limit] = {}
        self.families: dict[str, int] = {}

    def find(self, name: str) -> Limit:
        """The limit called *name*.

        Raises:
            LookupError: There is none.
        """
        limit = self.by_name.get(name)
        if limit is None:
            size = self.families.get(name.partition(":")[0])
            if size is None:
                raise LookupError(f"no limit {name!r} was set: call set_limit({name!r}, size) before it is needed")
            limit = self.by_name[name] = Limit(name, size, lasting=False)
        return limit

    def forget_idle(self, limit: Limit) -> None:
        """Forget *limit* if it belongs to a family and nobody uses it."""
        if not limit.lasting and limit.first_parked() is None and limit.is_idle():
            self.by_name.pop(limit.name, None)
