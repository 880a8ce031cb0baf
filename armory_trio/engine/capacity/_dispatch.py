"""Who goes next: lines, turns, loans, reservations, and reads and writes. The planner's engine room; pure.

`Dispatcher.settle` ends every change: it tries the lines that may go, the one whose owner's turn it is first, until
nobody is left who could. Whatever is called before only notes what came free (`free`) and whom to look at again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...errors import InternalError
from ._agenda import Agenda
from ._claims import HELD, IDLE, PARKED, QUEUED, Claim, Limit, Limits, Line, Owner, Place
from ._loans import NO_LOANS, hand_back, lend, lender_for
from ._reservations import Reservations
from ._resources import Resource, blocking
from ._waitgraph import Node, WaitGraph, claim_of, last_of_each_kind, node_of


class Dispatcher:
    """The state of the planner, and the rules by which waiting claims start."""

    __slots__ = (
        "_agenda",
        "_changed",
        "_lines",
        "_stale",
        "_ticket",
        "_turn",
        "_urgent",
        "limits",
        "nested",
        "owners",
        "reservations",
        "resources",
        "waiting",
    )

    def __init__(self, *, patience: int) -> None:
        self.limits = Limits()
        self.resources: dict[str, Resource] = {}
        self.owners: dict[str | None, Owner] = {}
        self.nested: dict[Node, None] = {}
        """Every line, parked claim and follower that waits while its ancestors may hold something."""
        self.waiting = 0
        self._lines = 0
        self._turn = 0
        self._ticket = 0
        self.reservations = Reservations(self.limits, patience=patience)
        self._agenda = Agenda()
        self._urgent: dict[Line, None] = {}
        self._changed = False
        self._stale = False

    # -- finding things

    def _resource(self, name: str) -> Resource:
        resource = self.resources.get(name)
        if resource is None:
            resource = self.resources[name] = Resource(name)
        return resource

    # -- starting

    def start_now(self, claim: Claim) -> bool:
        """Start the newcomer *claim* if it need not wait for anything or anybody."""
        if claim.uses and blocking(claim, self.resources) is not None:
            return False
        owner = self.owners.get(claim.owner)
        line = None if owner is None else owner.lines.get((claim.parent, claim.needs))
        if line is not None and line.head.order < claim.order:
            return False
        loans = self._plan(claim, line)
        if isinstance(loans, Limit):
            return False
        self._take(claim, loans)
        for name, _ in claim.uses:
            if self.resources[name].is_late(claim):
                self._demote(self.resources[name])
        return True

    def _plan(self, claim: Claim, line: Line | None) -> dict[str, Claim] | Limit:
        """Which needs of *claim* an ancestor lends; it gets a slot of its own of all others.

        Returns the limit in the way when there is one.
        """
        loans = NO_LOANS
        by_name = self.limits.by_name
        for name in claim.needs:
            limit = by_name.get(name) or self.limits.find(name)
            if claim.parent is not None and (lender := lender_for(claim, limit, line)) is not None:
                loans = {**loans, name: lender}
            elif len(limit.owners) >= limit.size or (limit.reservers and limit.spare(line) < 1):
                return limit
        return loans

    def _take(self, claim: Claim, loans: dict[str, Claim]) -> None:
        for name in claim.needs:
            if name in loans:
                lend(loans[name], name, claim)
            else:
                self.limits.by_name[name].owners[claim] = None
        claim.standing = HELD
        urgent, claim.urgent = claim.urgent, False
        for name, write in claim.uses:
            resource = self._resource(name)
            resource.leave(claim)
            resource.hold(claim, write=write)
            if urgent or resource.urgent:
                self._demote(resource)
        if self.owners:
            self._have_turn(claim, loans)

    def _have_turn(self, claim: Claim, loans: Mapping[str, Claim]) -> None:
        """*claim* started: its owner had a turn if that cost a slot, and claims that were admitted earlier are passed."""
        owner = self.owners.get(claim.owner)
        if owner is None:
            return
        if len(loans) < len(claim.needs):
            self._turn += 1
            owner.turn = self._turn
        if len(owner.lines) > 1 or claim.place is None:
            passed = [line for line in owner.lines.values() if line is not claim.place]
            self._reserved(self.reservations.count_overtaking(claim, loans, passed))

    # -- waiting

    def enqueue(self, claim: Claim) -> None:
        """Let the newcomer *claim* wait: at a resource if it must, else in its line."""
        self.waiting += 1
        for name, write in claim.uses:
            resource = self._resource(name)
            resource.enter(claim, write=write)
            if resource.is_late(claim):
                self._demote(resource)
                self._changed = True
        self._place(claim)

    def _place(self, claim: Claim) -> None:
        found = blocking(claim, self.resources) if claim.uses else None
        if found is None:
            self._line_up(claim)
        else:
            self._park_claim(claim, found)

    def _line_up(self, claim: Claim) -> None:
        owner = self.owners.get(claim.owner)
        if owner is None:
            owner = self.owners[claim.owner] = Owner(claim.owner, self._turn)
        key = (claim.parent, claim.needs)
        line = owner.lines.get(key)
        if line is not None:
            line.add(claim)
        else:
            line = owner.lines[key] = Line(owner, claim)
            self._lines += 1
            if claim.parent is not None:
                self.nested[line] = None
                for above in claim.ancestors():
                    above.family().lines[line] = None
        claim.place = line
        claim.standing = QUEUED
        if line.head is claim:
            self._new_head(line)
        if claim.urgent:
            self._hurry(line)
        elif line.head is claim:
            self._agenda.wake(line)

    def _leave_line(self, claim: Claim, line: Line) -> None:
        was_head = line.head is claim
        line.discard(claim)
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

    def _unpark(self, claim: Claim, place: Place) -> None:
        self.resources[place.name].unpark(claim)
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

    def free(self, limit: Limit, *, grown: bool = False) -> None:
        """Note that a slot of *limit* came free, or that it may be had by others than before."""
        self._agenda.free(limit)
        if limit.reservers and (grown or limit.spare(None) < 1):
            self._stale = True
        for line in self._urgent:
            if line.parked_at is limit:
                self._agenda.wake(line)

    def give_back(self, claim: Claim) -> None:
        """*claim* ended: return what it borrowed, hand over what it lent, free the rest."""
        for name in claim.needs:
            limit = self.limits.find(name)
            back = hand_back(claim, limit)
            if back is claim:
                self.free(limit)
            elif back is not None and back.kin is not None:
                self._wake_parked(limit, back.kin.lines)

    def let_go(self, claim: Claim) -> None:
        """*claim* ended: it reads and writes nothing any more."""
        orphans = claim.has_waiting_below()
        for name, _ in claim.uses:
            resource = self.resources[name]
            resource.let_go(claim)
            if orphans:
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
                if blocking(claim, self.resources) is resource:
                    break
                self._unpark(claim, resource)
                self._place(claim)
        if resource.is_idle():
            self.resources.pop(resource.name, None)

    def _demote(self, resource: Resource) -> None:
        """Send those back to wait for a read or write who were ready for theirs, and are not any more."""
        for claim in tuple(resource.waiting):
            line = claim.place
            if isinstance(line, Line) and (found := blocking(claim, self.resources)) is not None:
                self._leave_line(claim, line)
                self._park_claim(claim, found)
                self._changed = True

    # -- turns

    def settle(self) -> list[Claim]:
        """Start whoever can start now, in turn, and answer who did."""
        started: list[Claim] = []
        while True:
            if self._stale:
                self._stale = False
                self._reserved(self.reservations.renew())
            while (line := self._agenda.next()) is not None:
                self._try(line, started)
            self._agenda.close(self.limits)
            if not self._changed:
                return started
            self._changed = False
            if self.nested:
                self.unstick(list(last_of_each_kind(map(claim_of, self.nested))))

    def _wake_parked(self, limit: Limit, lines: Iterable[Node]) -> None:
        for line in lines:
            if isinstance(line, Line) and line.parked_at is limit:
                self._agenda.wake(line)

    def _try(self, line: Line, started: list[Claim]) -> None:
        head = line.head
        loans = self._plan(head, line)
        self._ticket += 1
        line.ticket = self._ticket
        if isinstance(loans, Limit):
            if line.parked_at is not None and line.parked_at is not loans:
                line.missed += 1
            loans.park(line, self._lines)
            self._reserved(self.reservations.watch(line))
            return
        line.parked_at = None
        if line in self.reservations.starving:
            self._reserved(self.reservations.count_out_of_turn(line, loans))
        self._take(head, loans)
        self.waiting -= 1
        started.append(head)
        self._leave_line(head, line)
        if line.queue:
            self._rest(line)

    def _rest(self, line: Line) -> None:
        """Its head has just gone: park the line if the next one clearly cannot, or let it take its turn."""
        found = self._plan(line.head, line)
        if isinstance(found, Limit):
            found.park(line, self._lines)
        else:
            self._agenda.wake(line)

    # -- patience

    def _new_head(self, line: Line) -> None:
        line.missed = 0
        if line.urgent and line.parent is None:
            line.urgent = False
            del self._urgent[line]
            self._changed = True
        self._unreserve(line)
        if line.overtakers:
            self._reserved(self.reservations.watch(line))

    def _unreserve(self, line: Line) -> None:
        freed, reserved = self.reservations.drop(line)
        for limit in freed:
            self.free(limit)
            self._wake_parked(limit, self.nested)
        self._reserved(reserved)

    def _reserved(self, lines: Iterable[Line]) -> None:
        for line in lines:
            self._agenda.wake(line)
            self._changed = True

    def unstick(self, goals: list[Claim]) -> None:
        """See to it that order and reservations hold up none of *goals* for ever.

        Nested claims that wait, directly or not, for somebody who waits for their own ancestors become urgent: they
        overtake. The caller knows that nothing but order and reservations is in the way.
        """
        while True:
            nodes = [node_of(claim) for claim in goals]
            graph = WaitGraph(self.limits.by_name, self.resources, nodes, starving=self.reservations.starving)
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
            self._agenda.wake(node)
            return
        kind = node.kind()
        kin = None if node.parent is None else node.parent.kin
        for claim in (node,) if kin is None else tuple(kin.parked):
            place = claim.place
            if place is not None and not isinstance(place, Line) and claim.kind() == kind:
                self._unpark(claim, place)
                claim.urgent = True
                for name, _ in claim.uses:
                    self.resources[name].urgent[claim] = None
                self._place(claim)
