"""Who can still end, and who waits for whom: the reduction that tells a long wait from one without end.

A node is a line or a parked claim (they wait for slots and resources), a claim that joined another (it waits for that
one's result), or any other claim (a body that runs, and ends when all that waits below it has gone). Reducing the graph
means: whoever waits for nothing that cannot come will end, and gives back what it holds. What is left over waits for
ever. A limit of several slots needs any one of its holders to end.

Order of admission and reservations are *soft*: they delay, but the planner may set them aside. Pure: no trio, no I/O.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, TypeAlias

import msgspec

from ._claims import HELD, PARKED, QUEUED, Claim, Limit, Line
from ._loans import tokens_above
from ._resources import Resource

Node: TypeAlias = Claim | Line
WaitKind: TypeAlias = Literal["capacity", "resource", "call", "joined"]


class CycleEdge(msgspec.Struct, frozen=True):
    """One step of a cycle.

    Args:
        waiter: The label of the execution that waits.
        kind: ``capacity`` or ``resource`` (it needs *name*, which *holder* has), ``call`` (it waits for the nested
            call *holder*), or ``joined`` (it waits for the result of *holder*).
        name: The limit or resource; empty otherwise.
        holder: The label of the execution that it waits for.
    """

    waiter: str
    kind: WaitKind
    name: str
    holder: str

    def __str__(self) -> str:
        match self.kind:
            case "capacity":
                return f"{self.waiter} needs a slot of {self.name}, which {self.holder} holds"
            case "resource":
                return f"{self.waiter} needs {self.name}, which {self.holder} holds"
            case "call":
                return f"{self.waiter} waits for its nested call {self.holder}"
            case "joined":
                return f"{self.waiter} waits for the result of {self.holder}"


def node_of(claim: Claim) -> Node:
    """What stands for *claim* in the graph."""
    if claim.standing is QUEUED and isinstance(claim.place, Line):
        return claim.place
    return claim


def claim_of(node: Node) -> Claim:
    """The claim that goes next at *node*."""
    return node.head if isinstance(node, Line) else node


class Requirement:
    """That some of *nodes* end before *node* goes on: as many as are still ``missing``.

    Args:
        node: Who waits.
        kind: As in `CycleEdge`.
        name: The limit or resource, if it is one.
        nodes: Who may satisfy it. One that stands here twice counts twice.
        missing: How many must end.
        soft: Whether it stems from the order of admission or a reservation only.
    """

    __slots__ = ("kind", "missing", "name", "node", "nodes", "soft")

    def __init__(
        self,
        node: Node,
        kind: WaitKind,
        nodes: list[Node],
        *,
        name: str = "",
        missing: int = 1,
        soft: bool = False,
    ) -> None:
        self.node = node
        self.kind: WaitKind = kind
        self.nodes = nodes
        self.name = name
        self.missing = missing
        self.soft = soft


class WaitGraph:
    """The part of the wait-for graph that *goals* depend on, reduced.

    Args:
        limits: Every limit by name.
        resources: Every resource in use by name.
        goals: The nodes that one wants to know about.
        starving: The lines that have lost patience, numbered in that order; None if neither reservations nor the order
            of admission count as waits.
    """

    def __init__(
        self,
        limits: Mapping[str, Limit],
        resources: Mapping[str, Resource],
        goals: Iterable[Node],
        *,
        starving: Mapping[Line, int] | None,
    ) -> None:
        self._limits = limits
        self._resources = resources
        self._soft = starving is not None
        self._starving: Mapping[Line, int] = starving or {}
        self._requirements: dict[Node, list[Requirement]] = {}
        self._dependents: dict[Node, list[Requirement]] = {}
        self._orders: dict[str, tuple[list[Claim], dict[Claim, int]]] = {}
        self.live: set[Node] = set()
        """The nodes that will go on by themselves."""
        self._explore(goals)
        self._reduce()

    def _explore(self, goals: Iterable[Node]) -> None:
        todo = list(goals)
        while todo:
            node = todo.pop()
            if node in self._requirements:
                continue
            found = self._requirements[node] = list(self._requirements_of(node))
            for requirement in found:
                for other in requirement.nodes:
                    self._dependents.setdefault(other, []).append(requirement)
                    if other not in self._requirements:
                        todo.append(other)

    def _reduce(self) -> None:
        unmet = {node: sum(1 for each in found if each.missing > 0) for node, found in self._requirements.items()}
        ready = [node for node, count in unmet.items() if not count]
        while ready:
            node = ready.pop()
            self.live.add(node)
            for requirement in self._dependents.get(node, ()):
                requirement.missing -= 1
                if requirement.missing == 0:
                    unmet[requirement.node] -= 1
                    if not unmet[requirement.node]:
                        ready.append(requirement.node)

    # -- what a node waits for

    def _requirements_of(self, node: Node) -> Iterator[Requirement]:
        if isinstance(node, Line):
            return self._slots(node, node.head, node)
        kin = node.kin
        if node.standing is PARKED:
            return self._turn(node)
        if kin is None:
            return iter(())
        if kin.leader is not None:
            return iter((Requirement(node, "joined", [node_of(kin.leader)]),))
        below: list[Node] = [*kin.lines, *last_of_each_kind(kin.parked)]
        return iter([Requirement(node, "call", [each]) for each in below])

    def _turn(self, claim: Claim) -> Iterator[Requirement]:
        for name, write in claim.uses:
            resource = self._resources[name]
            for holder in resource.holders_in_the_way(claim, write=write):
                if not holder.is_running_leaf():
                    yield Requirement(claim, "resource", [holder], name=name)
            if self._soft and not claim.urgent:
                for waiter in self._ahead(claim, resource, write=write):
                    yield Requirement(claim, "resource", [node_of(waiter)], name=name, soft=True)
        yield from self._slots(claim, claim, None)

    def _ahead(self, claim: Claim, resource: Resource, *, write: bool) -> Iterator[Claim]:
        """Who goes before *claim* by the order of admission, nearest first.

        Left out are those of its own kind, who go if it goes, and all before a writer that waits for them anyway.
        """
        claims, places = self._order_at(resource)
        above = resource.holders_above(claim)
        kind = claim.kind()
        for place in range(places[claim] - 1, -1, -1):
            waiter = claims[place]
            writes = waiter in resource.writing
            if not (write or writes) or resource.waits_for(waiter, above):
                continue
            if waiter.standing is not PARKED:
                yield waiter
            elif waiter.kind() != kind:
                yield waiter
                if writes and not waiter.urgent and (waiter.parent is claim.parent or waiter not in resource.inside):
                    return

    def _order_at(self, resource: Resource) -> tuple[list[Claim], dict[Claim, int]]:
        found = self._orders.get(resource.name)
        if found is None:
            claims = list(resource.waiting)
            found = self._orders[resource.name] = claims, {claim: place for place, claim in enumerate(claims)}
        return found

    def _slots(self, node: Node, claim: Claim, line: Line | None) -> Iterator[Requirement]:
        urgent = line.urgent if line is not None else claim.urgent
        for name in claim.needs:
            limit = self._limits.get(name)
            if limit is None:
                continue
            tokens = tokens_above(claim, name)
            free = limit.size - len(limit.owners)
            owners: list[Node] = [owner for owner in limit.owners if not claim.is_below(owner)]
            if free < 1 and not _comes_back(tokens) and not any(map(Claim.is_running_leaf, limit.owners)):
                borrowers = [borrower for _, borrower in tokens if borrower is not None]
                yield Requirement(node, "capacity", [*owners, *borrowers], name=name)
            if self._soft and not urgent and (reservers := self._reserved_before(limit, line)):
                open_tokens = [token for token in tokens if not any(each.head.is_below(token[0]) for each in reservers)]
                if not _comes_back(open_tokens):
                    again = [borrower for _, borrower in open_tokens if borrower is not None]
                    yield _after(reservers, Requirement(node, "capacity", owners, name=name, soft=True), again, free)

    def _reserved_before(self, limit: Limit, line: Line | None) -> list[Line]:
        # A starving line without loans waits for nobody who lost patience later: if he has reserved, it will before him.
        if line is None or line.parent is not None or line not in self._starving:
            return limit.reserved_before(line)
        return [each for each in limit.reservers if self._starving[each] < self._starving[line]]

    # -- what to do about a node that is not live

    def cycle(self, goal: Node) -> tuple[CycleEdge, ...]:
        """The shortest way from *goal* back to itself along waits that never end."""
        came_by: dict[Node, Requirement] = {}
        todo = deque([goal])
        while todo:
            node = todo.popleft()
            for requirement in self._requirements[node]:
                if requirement.missing < 1:
                    continue
                for other in requirement.nodes:
                    if other is goal:
                        return self._edges(goal, requirement, came_by)
                    if other not in self.live and other not in came_by:
                        came_by[other] = requirement
                        todo.append(other)
        return ()

    def _edges(self, goal: Node, last: Requirement, came_by: Mapping[Node, Requirement]) -> tuple[CycleEdge, ...]:
        edges: list[CycleEdge] = []
        node = goal
        requirement = last
        while True:
            waiter, holder = claim_of(requirement.node), claim_of(node)
            edges.append(CycleEdge(waiter.name, requirement.kind, requirement.name, holder.name))
            node = requirement.node
            if node is goal:
                return tuple(reversed(edges))
            requirement = came_by[node]

    def overtakers(self) -> list[Node]:
        """The nodes that wait without end, for the sake of order or a reservation only, and that somebody waits for.

        Those come first that are held back for somebody who waits, directly or not, for them. If there are none, all
        are named.
        """
        held_back = [node for node in self._requirements if node not in self.live and self._is_held_back(node)]
        return [node for node in held_back if self._waits_for_itself(node)] or held_back

    def _is_held_back(self, node: Node) -> bool:
        if not (isinstance(node, Line) or node.standing is PARKED):
            return False
        if any(requirement.missing > 0 and not requirement.soft for requirement in self._requirements[node]):
            return False
        return any(requirement.kind in ("call", "joined") for requirement in self._dependents.get(node, ()))

    def _waits_for_itself(self, start: Node) -> bool:
        seen: set[Node] = set()
        todo = [start]
        while todo:
            for requirement in self._requirements[todo.pop()]:
                if requirement.missing > 0:
                    fresh = {each for each in requirement.nodes if each not in self.live and each not in seen}
                    seen |= fresh
                    todo.extend(fresh)
        return start in seen


def last_of_each_kind(claims: Iterable[Claim]) -> Iterable[Claim]:
    """*claims* without those that are parked and go if a later one goes."""
    last: dict[object, Claim] = {}
    for claim in claims:
        kind: object = claim.kind() if claim.standing is PARKED else claim
        other = last.get(kind)
        if other is None or other.order < claim.order:
            last[kind] = claim
    return last.values()


def _comes_back(tokens: list[tuple[Claim, Claim | None]]) -> bool:
    return any(borrower is None or borrower.is_running_leaf() for _, borrower in tokens)


def _after(reservers: list[Line], found: Requirement, again: list[Claim], free: int) -> Requirement:
    """Make *found*, with the owners of all slots, stand for a slot beyond those kept for *reservers*, or for them gone.

    Owners and reservers that end give one slot each, of which one more is needed than there are *reservers*, less those
    that are *free*. Once all reservers are gone, nothing is kept, even if they have used loans only; with no slot free
    that is one fewer, so a reserver weighs a little more then: (n + 1) of owners n and of n reservers n + 1 suffice.
    """
    count = len(reservers)
    mine, theirs = (1, 1) if free else (count, count + 1)
    found.missing = 1 + count - free if free else count * (count + 1)
    found.nodes = [*found.nodes * mine, *again * max(found.missing, 0), *reservers * theirs]
    return found


def surely_goes(claim: Claim, limits: Mapping[str, Limit], resources: Mapping[str, Resource]) -> bool:
    """Whether one can tell without the graph that waiting *claim* will go. False says nothing.

    Either each of its slots comes back from somebody who ends by himself, or nobody could be waiting for anything that
    its ancestors hold: then all that would go without it still goes, and makes room for it.
    """
    if claim.standing is QUEUED and all(_slot_comes(claim, limits.get(name)) for name in claim.needs):
        return True
    return not any(_is_waited_for(each, claim, limits, resources) for each in (claim, *claim.ancestors()))


def _slot_comes(claim: Claim, limit: Limit | None) -> bool:
    if limit is None:
        return True
    if limit.reservers:
        return False
    if len(limit.owners) < limit.size or any(map(Claim.is_running_leaf, limit.owners)):
        return True
    return _comes_back(tokens_above(claim, limit.name))


def _is_waited_for(
    held: Claim, newcomer: Claim, limits: Mapping[str, Limit], resources: Mapping[str, Resource]
) -> bool:
    if held.kin is not None and held.kin.followers:
        return True
    if held.standing is not HELD:
        return False
    for name in held.needs:
        limit = limits[name]
        if limit.reservers:
            return True
        if len(limit.owners) >= limit.size and not any(map(Claim.is_running_leaf, limit.owners)):
            return True
    return any(
        waiter is not newcomer for name, _ in held.uses if name in resources for waiter in resources[name].waiting
    )
