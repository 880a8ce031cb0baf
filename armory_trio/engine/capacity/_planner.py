"""The capacity planner: who may start, who waits, and who would wait for ever. Pure: no trio, no clock, no I/O.

A claim gets all that it needs at once or nothing, so a top-level claim never holds anything while it waits. A nested
claim does wait while its ancestors hold things; that is where cycles come from, and why its wait is judged before it
begins: whoever would close a cycle is refused, so nobody who waits already is ever let down.

Waiting claims of one owner and one parent with the same needs stand in one line, and only its head is looked at. A line
is parked at one limit that has no slot for it and is looked at again when one comes free there, so a release costs
about as much as it lets start, however many wait.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from ...errors import TransitionError
from ._claims import HELD, IDLE, Claim, Limit, Line
from ._dispatch import Dispatcher
from ._foresight import would_wait
from ._reservations import PATIENCE
from ._resources import Resource
from ._waitgraph import CycleEdge, WaitGraph, node_of, surely_goes


class Granted(msgspec.Struct, frozen=True):
    """The claim has all that it needs: its body may run.

    Args:
        others: Claims that waited and may start too, because of this request.
    """

    others: tuple[Claim, ...] = ()


class Waiting(msgspec.Struct, frozen=True):
    """The claim waits; some later call names it among those that may start.

    Args:
        others: Claims that waited and may start now: this wait would have held them up for ever.
    """

    others: tuple[Claim, ...] = ()


class Refused(msgspec.Struct, frozen=True):
    """Waiting would never end, so the claim does not wait. Nothing of it is left with the planner.

    Args:
        cycle: Who waits for whom; the last holder is the first waiter.
        others: Claims that waited and may start now.
    """

    cycle: tuple[CycleEdge, ...]
    others: tuple[Claim, ...] = ()

    @property
    def text(self) -> str:
        """The cycle in words."""
        return "; ".join(map(str, self.cycle))


Decision: TypeAlias = Granted | Waiting | Refused

_GRANTED: Final = Granted()
_WAITING: Final = Waiting()


class Planner:
    """Decides who may start. It is told what was asked for and what ended, and answers who goes.

    Every call that may let somebody start names those claims in its answer, once: they have what they need already.
    A claim is used by one planner only. Nothing here blocks or calls back.

    Args:
        patience: How often a claim may be overtaken before it reserves its slots.
    """

    __slots__ = ("_dispatcher", "_limits")

    def __init__(self, *, patience: int = PATIENCE) -> None:
        self._dispatcher = Dispatcher(patience=patience)
        self._limits = self._dispatcher.limits.by_name

    # -- limits

    def set_limit(self, name: str, size: int) -> Sequence[Claim]:
        """Give limit *name* *size* slots, and answer who may start now.

        A limit that somebody holds or waits for may grow but not shrink: that could strand a nested claim.

        Raises:
            ValueError: *size* is less than 1, or less than before while the limit is in use.
        """
        _require_size(name, size)
        limit = self._limits.get(name)
        if limit is None:
            self._limits[name] = Limit(name, size, lasting=True)
            return ()
        if size < limit.size and not (limit.is_idle() and not self._dispatcher.waiting):
            raise ValueError(f"limit {name!r} is in use: it may grow beyond {limit.size} slots, not shrink to {size}")
        limit.size = size
        limit.lasting = True
        self._dispatcher.free(limit, grown=True)
        return self._dispatcher.settle()

    def set_family(self, prefix: str, size: int) -> None:
        """Give every limit whose name is *prefix*, a colon and more *size* slots.

        Such a limit is made on first use and forgotten when nobody uses it: ``set_family("owner", 8)`` gives 8 slots to
        each of any number of owners.

        Raises:
            ValueError: *size* is less than 1, *prefix* holds a colon, or the family has another size already.
        """
        _require_size(prefix, size)
        if ":" in prefix:
            raise ValueError(f"the prefix {prefix!r} of a family ends before the first colon")
        known = self._dispatcher.limits.families.setdefault(prefix, size)
        if known != size:
            raise ValueError(f"each limit of the family {prefix!r} has {known} slots already, not {size}")

    def usage(self, *, lasting: bool = False) -> Mapping[str, tuple[int, int]]:
        """Slots in use and slots in all, by limit. A slot that is lent counts once. May be asked from any thread.

        Args:
            lasting: Leave out the limits of families, such as those of owners, of which there may be any number.
        """
        limits = self._limits.copy()  # in one step, whatever trio's thread does meanwhile
        return {name: (len(limit.owners), limit.size) for name, limit in limits.items() if limit.lasting or not lasting}

    def queues(self) -> Mapping[str, int]:
        """How many claims wait for a slot of each limit that somebody waits for. Those that are parked are counted."""
        found: dict[str, int] = {}
        for name, limit in self._limits.items():
            waiting = sum(len(line.queue) for _, _, ticket, line in limit.parked if line.ticket == ticket)
            if waiting:
                found[name] = waiting
        return found

    def holders(self, name: str) -> Sequence[str]:
        """The labels of those who hold a slot of limit *name*, oldest first; empty when there is no such limit."""
        limit = self._limits.get(name)
        return () if limit is None else tuple(claim.name for claim in limit.owners)

    def reserved(self) -> Mapping[str, str]:
        """For each limit with slots kept for claims that were overtaken too often: the label of who has the first."""
        return {name: next(iter(limit.reservers)).head.name for name, limit in self._limits.items() if limit.reservers}

    # -- the life of a claim

    def request(self, claim: Claim) -> Decision:
        """Ask for all that *claim* needs.

        Only a nested claim, or one that others have joined, is ever refused: it would have closed a cycle.

        Raises:
            LookupError: It needs a limit that was never set.
            TransitionError: It waits or holds already.
        """
        if claim.standing is not IDLE:
            raise TransitionError(f"{claim!r} was requested, but it is {claim.standing.value} already")
        if claim.parent is None and not claim.uses and self.start_plainly(claim):
            return _GRANTED
        dispatcher = self._dispatcher
        for name in claim.needs:
            dispatcher.limits.find(name)
        if dispatcher.start_now(claim):
            others = tuple(dispatcher.settle())
            return Granted(others) if others else _GRANTED
        dispatcher.enqueue(claim)
        cycle = self._judge(claim)
        if cycle is not None:
            dispatcher.abandon(claim)
        started = dispatcher.settle()
        others = tuple(each for each in started if each is not claim)
        if cycle is not None:
            return Refused(cycle, others)
        if len(others) < len(started):
            return Granted(others)
        return Waiting(others) if others else _WAITING

    def would_wait(self, claims: Sequence[Claim]) -> int:
        """How many of *claims* would wait if they were requested now, one after the other. Nothing is requested.

        They are top-level ones of one owner, admitted after all that wait. If one of them lets a claim that it
        overtakes lose patience, which reserves slots, those behind it may wait, too: these are not counted.

        Raises:
            LookupError: One needs a limit that was never set.
        """
        return would_wait(self._dispatcher, claims)

    def start_plainly(self, claim: Claim) -> bool:
        """The way of nearly all calls: whether a new claim of the top level, which neither reads nor writes, may start.

        It may if every slot is free and it passes nobody by. If not, nothing has changed; `request` it then.

        Raises:
            LookupError: It needs a limit that was never set.
        """
        limits = self._limits
        needs = claim.needs
        dispatcher = self._dispatcher
        if claim.owner in dispatcher.owners:
            return False
        for name in needs:
            limit = limits.get(name) or dispatcher.limits.find(name)
            if len(limit.owners) >= limit.size or limit.reservers:
                return False
        for name in needs:
            limits[name].owners[claim] = None
        claim.standing = HELD
        return True

    def _judge(self, claim: Claim) -> tuple[CycleEdge, ...] | None:
        """The cycle that waiting *claim* has just closed, if any. If order or reservations close it, they give way."""
        dispatcher = self._dispatcher
        limits, resources = self._limits, dispatcher.resources
        followed = claim.kin is not None and bool(claim.kin.followers)
        if not followed and (claim.parent is None or _follows_its_like(claim, resources)):
            return None
        if surely_goes(claim, limits, resources):
            return None
        node = node_of(claim)
        graph = WaitGraph(limits, resources, (node,), starving=None)
        if node not in graph.live:
            return graph.cycle(node)
        dispatcher.unstick([claim])
        return None

    def release(self, claim: Claim) -> Sequence[Claim]:
        """*claim* really ended: take back what it held, and answer who may start now.

        What it has lent stays with the borrower until that one is released; what it borrowed goes back to the lender.

        Raises:
            TransitionError: It does not hold anything.
        """
        if claim.standing is not HELD:
            raise TransitionError(f"{claim!r} was released, but it is {claim.standing.value}")
        claim.standing = IDLE
        dispatcher = self._dispatcher
        quiet = True
        if claim.borrowed or claim.lent:
            dispatcher.give_back(claim)
            quiet = False
        else:
            limits = self._limits
            for name in claim.needs:
                limit = limits[name]
                del limit.owners[claim]
                if limit.parked or limit.reservers:
                    dispatcher.free(limit)
                    quiet = False
                elif not (limit.lasting or limit.owners):
                    del limits[name]
        if claim.uses:
            dispatcher.let_go(claim)
            quiet = False
        if claim.has_waiting_below():
            dispatcher.reconsider()
            quiet = False
        return () if quiet else dispatcher.settle()

    def withdraw(self, claim: Claim) -> Sequence[Claim]:
        """*claim* waits no longer; answer who may start now. One that was refused or never asked is let be.

        Raises:
            TransitionError: It holds what it asked for, so it must be released.
        """
        if claim.standing is HELD:
            raise TransitionError(f"{claim!r} was withdrawn, but it holds what it asked for: release it")
        if claim.standing is IDLE:
            return ()
        self._dispatcher.abandon(claim)
        return self._dispatcher.settle()

    def join(self, follower: Claim, leader: Claim) -> Waiting | Refused:
        """*follower*, which asked for nothing itself, waits for the result of *leader*.

        Raises:
            TransitionError: *follower* waits or holds already, or has joined somebody.
        """
        kin = follower.family()
        if follower.standing is not IDLE or kin.leader is not None:
            raise TransitionError(f"{follower!r} cannot join {leader!r}: it already waits or holds")
        kin.leader = leader
        leader.family().followers[follower] = None
        if follower.parent is None:
            return _WAITING
        self._dispatcher.remember_nested(follower)
        cycle = self._judge(follower)
        if cycle is not None:
            self.leave(follower)
        others = tuple(self._dispatcher.settle())
        if cycle is not None:
            return Refused(cycle, others)
        return Waiting(others) if others else _WAITING

    def leave(self, follower: Claim) -> None:
        """*follower* no longer waits for its leader: that one ended, or the follower was aborted."""
        kin = follower.kin
        if kin is None or kin.leader is None:
            return
        if kin.leader.kin is not None:
            kin.leader.kin.followers.pop(follower, None)
        kin.leader = None
        self._dispatcher.forget_nested(follower)

    # -- what a waiting claim may know

    @property
    def waiting_count(self) -> int:
        """How many claims wait; joined ones are not counted."""
        return self._dispatcher.waiting

    def position(self, claim: Claim) -> int | None:
        """Its place in the queue, counted from 1; None when it doesn't wait.

        The queue is that of its owner for the same needs, or that of all who wait for the same resource.
        """
        place = claim.place
        if isinstance(place, Line):
            return place.queue.rank(claim)
        return None if place is None else place.waiting.rank(claim)

    def waits_for(self, claim: Claim) -> str | None:
        """``capacity:<limit>`` or ``resource:<name>``; None when it doesn't wait."""
        place = claim.place
        if isinstance(place, Line):
            limit = self._dispatcher.reservations.in_the_way(place) or place.parked_at
            return None if limit is None else f"capacity:{limit.name}"
        return None if place is None else f"resource:{place.name}"


def _require_size(name: str, size: int) -> None:
    if size < 1:
        raise ValueError(f"limit {name!r}: a limit has at least one slot, not {size}")


def _follows_its_like(claim: Claim, resources: Mapping[str, Resource]) -> bool:
    """Whether *claim* waits right behind a sibling that needs the same: that one goes, so this one goes."""
    place = claim.place
    if isinstance(place, Line):
        return place.head is not claim
    if place is None:
        return False
    twin = place.waiting.before_last()
    if twin is None or twin.urgent or twin.parent is not claim.parent:
        return False
    if twin.needs != claim.needs or twin.uses != claim.uses:
        return False
    queues = [resources[name].waiting for name, _ in claim.uses]
    return all(queue.last() is claim and queue.before_last() is twin for queue in queues)
