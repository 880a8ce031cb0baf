"""Who goes next: lines, turns, loans, reservations, and reads and writes. The planner's engine room; pure.

`Dispatcher.settle` ends every change: it tries the lines that may go, the one whose owner's turn it is first, until
nobody is left who could. Whatever is called before only notes what came free (`free`) and whom to look at again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from heapq import heappop, heappush, heapreplace
from typing import Final

from ..errors import InternalError
from ._claims import HELD, IDLE, PARKED, QUEUED, Claim, Entry, Limit, Line, Owner, Resource
from ._waitgraph import Node, WaitGraph, claim_of, node_of

PATIENCE: Final = 16
"""How often a claim may be overtaken before it reserves its slots. Fewer waste slots, more delay wide claims."""

_NOT_PARKED: Final = 0


class Dispatcher:
    """The state of the planner, and the rules by which waiting claims start."""

    __slots__ = (
        "_changed",
        "_freed",
        "_lines",
        "_starving",
        "_ticket",
        "_turn",
        "_urgent",
        "_woken",
        "families",
        "limits",
        "nested",
        "owners",
        "resources",
        "waiting",
    )

    def __init__(self) -> None:
        self.limits: dict[str, Limit] = {}
        self.families: dict[str, int] = {}
        self.resources: dict[str, Resource] = {}
        self.owners: dict[str | None, Owner] = {}
        self.nested: dict[Node, None] = {}
        """Every line, parked claim and follower that waits while its ancestors may hold something."""
        self.waiting = 0
        self._lines = 0
        self._turn = 0
        self._ticket = _NOT_PARKED
        self._freed: list[Limit] = []
        self._woken: list[Entry] = []
        self._starving: dict[Line, None] = {}
        self._urgent: dict[Line, None] = {}
        self._changed = False

    # -- finding things

    def limit(self, name: str) -> Limit:
        """The limit called *name*, opened if it belongs to a family.

        Raises:
            LookupError: There is none.
        """
        limit = self.limits.get(name)
        if limit is None:
            size = self.families.get(name.partition(":")[0])
            if size is None:
                raise LookupError(f"no limit {name!r} was set: call set_limit({name!r}, size) before it is needed")
            limit = self.limits[name] = Limit(name, size, lasting=False)
        return limit

    def _resource(self, name: str) -> Resource:
        resource = self.resources.get(name)
        if resource is None:
            resource = self.resources[name] = Resource(name)
        return resource

    def _line_of(self, claim: Claim) -> Line | None:
        owner = self.owners.get(claim.owner)
        return None if owner is None else owner.lines.get((claim.parent, claim.needs))

    # -- starting

    def start_now(self, claim: Claim) -> bool:
        """Start the newcomer *claim* if it need not wait for anything or anybody."""
        if claim.uses and self._blocking(claim) is not None:
            return False
        line = self._line_of(claim)
        if line is not None and line.head.order < claim.order:
            return False
        plan = self._plan(claim, line)
        if isinstance(plan, Limit):
            return False
        self._take(claim, plan)
        return True

    def _plan(self, claim: Claim, line: Line | None) -> list[Claim | None] | Limit:
        """Whence each need of *claim* comes: an ancestor that lends, or None for a slot of its own.

        Returns the limit in the way when there is one.
        """
        plan: list[Claim | None] = []
        for name in claim.needs:
            limit = self.limit(name)
            lender = None if claim.parent is None else _lender(claim, limit, line)
            if lender is None and limit.spare(line) < 1:
                return limit
            plan.append(lender)
        return plan

    def _take(self, claim: Claim, plan: list[Claim | None]) -> None:
        took: set[str] = set()
        for name, lender in zip(claim.needs, plan, strict=True):
            if lender is None:
                self.limits[name].owners[claim] = None
                took.add(name)
            else:
                _lend(lender, name, claim)
        claim.standing = HELD
        urgent, claim.urgent = claim.urgent, False
        for name, write in claim.uses:
            resource = self._resource(name)
            resource.leave(claim)
            resource.hold(claim, write=write)
            last = resource.waiting.last()
            if last is not None and (urgent or resource.urgent or last.order > claim.order):
                self._demote(resource)
        if took and self.owners:
            self.overtake(claim, took)

    def overtake(self, claim: Claim, took: Collection[str]) -> None:
        """*claim* has started with a slot of each limit in *took*: its owner had a turn, earlier claims were passed."""
        owner = self.owners.get(claim.owner)
        if owner is None:
            return
        self._turn += 1
        owner.turn = self._turn
        order = claim.order
        for line in tuple(owner.lines.values()):
            if line is not claim.place and line.head.order < order and any(name in took for name in line.needs):
                line.note_overtaker(order, PATIENCE)
                self._watch(line)

    # -- waiting

    def enqueue(self, claim: Claim) -> None:
        """Let the newcomer *claim* wait: at a resource if it must, else in its line."""
        self.waiting += 1
        for name, write in claim.uses:
            resource = self._resource(name)
            last = resource.waiting.last()
            resource.enter(claim, write=write)
            if last is not None and last.order > claim.order:
                self._demote(resource)
                self._changed = True
        self._place(claim)

    def _place(self, claim: Claim) -> None:
        blocking = self._blocking(claim) if claim.uses else None
        if blocking is None:
            self._line_up(claim)
        else:
            self._park_claim(claim, blocking)

    def _blocking(self, claim: Claim) -> Resource | None:
        """A resource that *claim* must wait for."""
        for name, write in claim.uses:
            resource = self.resources.get(name)
            if resource is None:
                continue
            if next(resource.holders_in_the_way(claim, write=write), None) is not None:
                return resource
            if not claim.urgent and next(resource.waiters_in_the_way(claim, write=write), None) is not None:
                return resource
        return None

    def _line_up(self, claim: Claim) -> None:
        owner = self.owners.get(claim.owner)
        if owner is None:
            owner = self.owners[claim.owner] = Owner(claim.owner, self._turn)
        key = (claim.parent, claim.needs)
        line = owner.lines.get(key)
        if line is None:
            line = owner.lines[key] = Line(owner, claim.parent, claim.needs)
            self._lines += 1
            if claim.parent is not None:
                self.nested[line] = None
                for above in claim.ancestors():
                    above.family().lines[line] = None
        line.queue.add(claim)
        claim.place = line
        claim.standing = QUEUED
        if line.head is claim:
            self._new_head(line)
        if claim.urgent:
            self._hurry(line)
        elif line.head is claim:
            self._wake(line)

    def _leave_line(self, claim: Claim, line: Line) -> None:
        was_head = line.head is claim
        line.queue.discard(claim)
        claim.place = None
        if line.queue:
            if was_head:
                self._new_head(line)
            return
        line.ticket = -1
        self._lines -= 1
        self._urgent.pop(line, None)
        owner = line.owner
        del owner.lines[line.parent, line.needs]
        if not owner.lines:
            del self.owners[owner.name]
        if line.parent is not None:
            self.nested.pop(line, None)
            for above in claim.ancestors():
                above.family().lines.pop(line, None)
        self._unreserve(line)

    def _park_claim(self, claim: Claim, resource: Resource) -> None:
        resource.park(claim)
        claim.place = resource
        claim.standing = PARKED
        self.remember_nested(claim)

    def _unpark(self, claim: Claim, resource: Resource) -> None:
        resource.unpark(claim)
        claim.place = None
        self.forget_nested(claim)

    def remember_nested(self, claim: Claim) -> None:
        """Its ancestors wait for *claim*, which is parked or has joined somebody."""
        if claim.parent is not None:
            self.nested[claim] = None
            for above in claim.ancestors():
                above.family().parked[claim] = None

    def forget_nested(self, claim: Claim) -> None:
        """Its ancestors no longer wait for *claim*."""
        if claim.parent is not None:
            self.nested.pop(claim, None)
            for above in claim.ancestors():
                above.family().parked.pop(claim, None)

    # -- giving back

    def free(self, limit: Limit) -> None:
        """Note that a slot of *limit* came free, or that it may be had by others than before."""
        self._freed.append(limit)
        if limit.reserver is not None:
            self._wake(limit.reserver)
        for line in self._urgent:
            if line.parked_at is limit:
                self._wake(line)

    def give_back(self, claim: Claim) -> None:
        """*claim* ended: return what it borrowed, hand over what it lent, free the rest."""
        borrowed, lent = claim.borrowed or {}, claim.lent or {}
        claim.borrowed = claim.lent = None
        for name in claim.needs:
            limit, lender, borrower = self.limits[name], borrowed.get(name), lent.get(name)
            if borrower is not None:
                _hand_over(claim, limit, lender, borrower)
            elif lender is None:
                del limit.owners[claim]
                self.free(limit)
            else:
                _loans_of(lender).pop(name, None)
                self._wake_parked(limit, lender.kin.lines if lender.kin is not None else ())

    def let_go(self, claim: Claim) -> None:
        """*claim* ended: it reads and writes nothing any more."""
        orphans = claim.has_waiting_below()
        for name, _ in claim.uses:
            resource = self.resources[name]
            resource.let_go(claim)
            if orphans:
                resource.sort_inside()
                self._demote(resource)
            self._look_again(resource)

    def reconsider(self) -> None:
        """Look, before this change is settled, whether order or reservations hold up anybody for ever."""
        self._changed = True

    def abandon(self, claim: Claim) -> None:
        """*claim* waits no longer, and doesn't start."""
        place = claim.place
        if isinstance(place, Line):
            self._leave_line(claim, place)
        elif place is not None:
            self._unpark(claim, place)
        claim.standing, claim.urgent = IDLE, False
        self.waiting -= 1
        for name, _ in claim.uses:
            self.resources[name].leave(claim)
        for name, _ in claim.uses:
            self._look_again(self.resources[name])

    def _look_again(self, resource: Resource) -> None:
        """Let those go on that waited for *resource* only, and forget it when nobody is left."""
        for group in tuple(resource.parked):
            while (queue := resource.parked.get(group)) is not None and (claim := queue.first()) is not None:
                blocking = self._blocking(claim)
                if blocking is resource:
                    break
                self._unpark(claim, resource)
                self._place(claim)
        if resource.is_idle():
            self.resources.pop(resource.name, None)

    def _demote(self, resource: Resource) -> None:
        """Send those back to wait for a read or write who were ready for theirs, and are not any more."""
        for claim in tuple(resource.waiting):
            line = claim.place
            if isinstance(line, Line) and (blocking := self._blocking(claim)) is not None:
                if line.urgent:
                    self._exempt(claim)
                self._leave_line(claim, line)
                self._park_claim(claim, blocking)
                self._changed = True

    # -- turns

    def settle(self) -> list[Claim]:
        """Start whoever can start now, in turn, and answer who did."""
        started: list[Claim] = []
        while True:
            while (line := self._next()) is not None:
                self._try(line, started)
            for limit in self._freed:
                if not limit.lasting and limit.first_parked() is None and limit.is_idle():
                    self.limits.pop(limit.name, None)
            self._freed.clear()
            if not self._changed:
                return started
            self._changed = False
            if self.nested:
                self.unstick([claim_of(node) for node in self.nested])

    def _next(self) -> Line | None:
        """The line that is to be tried next: among those woken and those parked where there is room."""
        best: Entry | None = None
        source: list[Entry] = []
        for limit in self._freed:
            if limit.spare(None) > 0:
                entry = limit.first_parked()
                if entry is not None and (best is None or entry < best):
                    best, source = entry, limit.parked
        woken = self._woken
        while woken:
            entry = woken[0]
            if entry[3].ticket != entry[2]:
                heappop(woken)
            elif (current := entry[3].entry()) != entry:
                heapreplace(woken, current)
            else:
                if best is None or entry < best:
                    best, source = entry, woken
                break
        if best is None:
            return None
        heappop(source)
        return best[3]

    def _wake(self, line: Line) -> None:
        heappush(self._woken, line.entry())

    def _wake_parked(self, limit: Limit, lines: Iterable[Node]) -> None:
        for line in lines:
            if isinstance(line, Line) and line.parked_at is limit:
                self._wake(line)

    def _try(self, line: Line, started: list[Claim]) -> None:
        head = line.head
        plan = self._plan(head, line)
        self._ticket += 1
        line.ticket = self._ticket
        if isinstance(plan, Limit):
            if line.parked_at is not None and line.parked_at is not plan:
                line.missed += 1
            plan.park(line, self._lines)
            self._watch(line)
            return
        line.parked_at = None
        self._take(head, plan)
        self.waiting -= 1
        started.append(head)
        self._leave_line(head, line)
        if line.queue:
            self._wake(line)

    # -- patience

    def _new_head(self, line: Line) -> None:
        line.missed = 0
        if line.urgent and line.parent is None:
            line.urgent = False
            del self._urgent[line]
            self._changed = True
        self._unreserve(line)
        self._watch(line)

    def _watch(self, line: Line) -> None:
        if line.missed + len(line.overtakers) < PATIENCE or line in self._starving:
            return
        if line.times_overtaken() >= PATIENCE:
            self._starving[line] = None
            self._reserve()

    def _reserve(self) -> None:
        """Let starving lines reserve their slots, the longest starving first, each limit for one line only.

        A line reserves all that it needs or nothing, and never what one before it needs: so no two wait for each other.
        """
        wanted: set[str] = set()
        for line in self._starving:
            if wanted.isdisjoint(line.needs) and any(self.limit(name).reserver is not line for name in line.needs):
                for name in line.needs:
                    self.limits[name].reserver = line
                self._changed = True
                self._wake(line)
            wanted.update(line.needs)

    def _unreserve(self, line: Line) -> None:
        if line not in self._starving:
            return
        del self._starving[line]
        for name in line.needs:
            limit = self.limit(name)
            if limit.reserver is line:
                limit.reserver = None
                self.free(limit)
                self._wake_parked(limit, self.nested)
        self._reserve()

    def unstick(self, goals: list[Claim]) -> None:
        """See to it that order and reservations hold up none of *goals* for ever.

        Nested claims that wait, directly or not, for somebody who waits for their own ancestors become urgent: they
        overtake. The caller knows that nothing but order and reservations is in the way.
        """
        while True:
            nodes = [node_of(claim) for claim in goals]
            graph = WaitGraph(self.limits, self.resources, nodes, soft=True)
            if graph.live.issuperset(nodes):
                return
            overtakers = graph.overtakers()
            if not overtakers:
                raise InternalError(f"the planner lost its way: nobody can let {goals!r} go")
            for node in overtakers:
                self._hurry(node)

    def _hurry(self, node: Node) -> None:
        if isinstance(node, Line):
            node.urgent = True
            self._urgent[node] = None
            self._wake(node)
            return
        resource = node.place
        assert isinstance(resource, Resource)
        self._unpark(node, resource)
        self._exempt(node)
        self._place(node)

    def _exempt(self, claim: Claim) -> None:
        claim.urgent = True
        for name, _ in claim.uses:
            self.resources[name].urgent[claim] = None


def _lender(claim: Claim, limit: Limit, line: Line | None) -> Claim | None:
    """The nearest ancestor of *claim* that may lend it a slot of *limit* now."""
    reserver = limit.reserver
    free = reserver is None or reserver is line or (line is not None and line.urgent)
    for above in claim.ancestors():
        if above.standing is not HELD or limit.name not in above.needs or limit.name in _loans_of(above):
            continue
        if free or (reserver is not None and not reserver.head.is_below(above)):
            return above
    return None


def _loans_of(claim: Claim) -> dict[str, Claim]:
    return claim.lent if claim.lent is not None else {}


def _lend(lender: Claim, name: str, borrower: Claim) -> None:
    if lender.lent is None:
        lender.lent = {}
    lender.lent[name] = borrower
    if borrower.borrowed is None:
        borrower.borrowed = {}
    borrower.borrowed[name] = lender


def _hand_over(claim: Claim, limit: Limit, lender: Claim | None, borrower: Claim) -> None:
    """*claim* ended while *borrower* has its slot: that one owes it to *lender* now, or owns it."""
    debts = borrower.borrowed
    assert debts is not None
    if lender is None:
        del limit.owners[claim]
        limit.owners[borrower] = None
        del debts[limit.name]
    else:
        _loans_of(lender)[limit.name] = borrower
        debts[limit.name] = lender
