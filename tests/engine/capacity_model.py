"""A slow, plain model of the capacity rules, and a world that drives the planner and checks it against the model.

The model knows what is held, lent and waited for, and recomputes everything from that each time. It has no lines, turns
or reservations, so it says what is *allowed*, not which of several allowed claims goes first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

from armory_trio.engine.capacity import Claim, Granted, Planner, Refused, Waiting


class World:
    """A planner under test, and what it should be like."""

    def __init__(self, limits: dict[str, int], *, patience: int = 16) -> None:
        self.planner = Planner(patience=patience)
        self.sizes = dict(limits)
        for name, size in limits.items():
            assert self.planner.set_limit(name, size) == ()
        self.running: dict[Claim, None] = {}
        """Executions whose body runs: those that hold something, and those that never needed anything."""
        self.held: dict[Claim, None] = {}
        self.waiting: dict[Claim, None] = {}
        self.joined: dict[Claim, Claim] = {}
        self.lender: dict[tuple[Claim, str], Claim] = {}
        self.borrower: dict[tuple[Claim, str], Claim] = {}
        self.owners: dict[str, set[Claim]] = {name: set() for name in limits}
        self.started: list[Claim] = []
        self.refusals = 0
        self.next_order = 0

    # -- what happens

    def claim(
        self,
        *,
        owner: str | None = None,
        needs: tuple[str, ...] = (),
        reads: Collection[str] = (),
        writes: Collection[str] = (),
        parent: Claim | None = None,
        order: int | None = None,
    ) -> Claim:
        self.next_order += 1
        number = self.next_order if order is None else order
        return Claim(
            order=number, owner=owner, needs=needs, reads=reads, writes=writes, parent=parent, label=f"e{number}"
        )

    def run_without_needs(self, parent: Claim | None = None) -> Claim:
        claim = self.claim(parent=parent)
        self.running[claim] = None
        return claim

    def request(self, claim: Claim) -> Granted | Waiting | Refused:
        doomed = not self.may_wait(claim)
        decision = self.planner.request(claim)
        match decision:
            case Granted():
                self._start(claim)
            case Waiting():
                assert not doomed, f"{claim} waits, but nobody could ever let it go"
                self.waiting[claim] = None
            case Refused():
                assert doomed, f"{claim} was refused ({decision.text}), but it could go: {self.picture()}"
                assert decision.cycle[0].waiter == claim.name
                assert decision.cycle[-1].holder == claim.name
                self.refusals += 1
        self._start_all(decision.others)
        self.check()
        return decision

    def release(self, claim: Claim) -> None:
        del self.running[claim], self.held[claim]
        for name in claim.needs:
            lender = self.lender.pop((claim, name), None)
            borrower = self.borrower.pop((claim, name), None)
            if lender is not None:
                del self.borrower[lender, name]
            else:
                self.owners[name].remove(claim)
            if borrower is not None:
                if lender is None:
                    del self.lender[borrower, name]
                    self.owners[name].add(borrower)
                else:
                    self.lender[borrower, name] = lender
                    self.borrower[lender, name] = borrower
        self._start_all(self.planner.release(claim))
        self._let_followers_go(claim)
        self.check()

    def end(self, claim: Claim) -> None:
        """The body of *claim* ends, whether or not it needed anything."""
        if claim in self.held:
            self.release(claim)
        else:
            del self.running[claim]
            self._let_followers_go(claim)

    def withdraw(self, claim: Claim) -> None:
        del self.waiting[claim]
        self._start_all(self.planner.withdraw(claim))
        self._let_followers_go(claim)
        self.check()

    def join(self, follower: Claim, leader: Claim) -> Waiting | Refused:
        self.joined[follower] = leader
        doomed = follower not in self.live()
        decision = self.planner.join(follower, leader)
        assert isinstance(decision, Refused) == doomed, self.picture()
        if doomed:
            del self.joined[follower]
            self.refusals += 1
        self._start_all(decision.others)
        self.check()
        return decision

    def leave(self, follower: Claim) -> None:
        del self.joined[follower]
        self.planner.leave(follower)
        self.check()

    def _let_followers_go(self, leader: Claim) -> None:
        for follower in [each for each, its in self.joined.items() if its is leader]:
            self.leave(follower)

    def _start_all(self, claims: Iterable[Claim]) -> None:
        for claim in claims:
            del self.waiting[claim]
            self._start(claim)

    def _start(self, claim: Claim) -> None:
        assert claim not in self.running
        for name in claim.needs:
            lender = (claim.borrowed or {}).get(name)
            if lender is None:
                self.owners[name].add(claim)
            else:
                assert lender in self.held
                assert claim.is_below(lender)
                assert name in lender.needs
                assert (lender, name) not in self.borrower, "lent to two at a time"
                self.lender[claim, name] = lender
                self.borrower[lender, name] = claim
        for name, write in claim.uses:
            assert not any(self.blocks(holder, claim, name, write=write) for holder in self.held)
        self.running[claim] = None
        self.held[claim] = None
        self.started.append(claim)

    # -- what must always be so

    def check(self) -> None:
        self._check_slots()
        self._check_nobody_waits_in_vain()
        stuck = set(self.waiting) - self.live()
        assert not stuck, f"{stuck} can never go: {self.picture()}"
        assert self.planner.waiting_count == len(self.waiting)

    def _check_slots(self) -> None:
        usage = self.planner.usage()
        for name, size in self.sizes.items():
            assert usage[name] == (len(self.owners[name]), size)
            assert len(self.owners[name]) <= size
            users = [claim for claim in self.held if name in claim.needs]
            leaves = [claim for claim in users if not any(other.is_below(claim) for other in users)]
            assert len(leaves) <= size

    def _check_nobody_waits_in_vain(self) -> None:
        for claim in self.waiting:
            reason = self.planner.waits_for(claim)
            assert reason is not None
            assert self.planner.position(claim) is not None
            kind, _, name = reason.partition(":")
            assert name in (claim.needs if kind == "capacity" else [each for each, _ in claim.uses])
            if self.available(claim) and not self.is_behind(claim) and not self.is_reserved(claim):
                raise AssertionError(f"{claim} could start: {self.picture()}")

    def is_behind(self, claim: Claim) -> bool:
        """Whether somebody goes first by the order of admission."""
        for other in self.waiting:
            if other.order < claim.order:
                mine, its = dict(claim.uses), dict(other.uses)
                if any(mine[name] or its[name] for name in mine.keys() & its.keys()):
                    return True
                if (other.owner, other.parent, other.needs) == (claim.owner, claim.parent, claim.needs):
                    return True
        return False

    def is_reserved(self, claim: Claim) -> bool:
        """Whether a starving claim has reserved something that *claim* needs."""
        return not self.planner.reserved().keys().isdisjoint(claim.needs)

    def available(self, claim: Claim) -> bool:
        """Whether everything that *claim* needs is there now, whoever else wants it."""
        for name in claim.needs:
            free = len(self.owners[name]) < self.sizes[name]
            if not free and not any((above, name) not in self.borrower for above in self._above(claim, name)):
                return False
        return not any(
            self.blocks(holder, claim, name, write=write) for holder in self.held for name, write in claim.uses
        )

    def _above(self, claim: Claim, name: str) -> Iterator[Claim]:
        return (above for above in claim.ancestors() if above in self.held and name in above.needs)

    @staticmethod
    def blocks(holder: Claim, claim: Claim, name: str, *, write: bool) -> bool:
        held = dict(holder.uses)
        return name in held and (write or held[name]) and holder is not claim and not claim.is_below(holder)

    # -- who can still end

    def may_wait(self, claim: Claim) -> bool:
        self.waiting[claim] = None
        try:
            return claim in self.live()
        finally:
            del self.waiting[claim]

    def live(self) -> set[Claim]:
        """Everybody who can end if nobody asks for anything new; order of admission is set aside."""
        live: set[Claim] = set()
        everybody = [*self.running, *self.waiting, *self.joined, *self.joined.values()]
        while True:
            fresh = [claim for claim in everybody if claim not in live and self._can_end(claim, live)]
            if not fresh:
                return live
            live.update(fresh)

    def _can_end(self, claim: Claim, live: set[Claim]) -> bool:
        if claim in self.joined:
            return self.joined[claim] in live
        if claim in self.waiting:
            return self._can_start(claim, live)
        return all(below in live for below in (*self.waiting, *self.joined) if below.is_below(claim))

    def _can_start(self, claim: Claim, live: set[Claim]) -> bool:
        for name in claim.needs:
            free = self.sizes[name] - len(self.owners[name])
            free += sum(1 for owner in self.owners[name] if owner in live and not claim.is_below(owner))
            loans = [self.borrower.get((above, name)) for above in self._above(claim, name)]
            if free < 1 and not any(borrower is None or borrower in live for borrower in loans):
                return False
        return all(
            holder in live
            for holder in self.held
            for name, write in claim.uses
            if self.blocks(holder, claim, name, write=write)
        )

    # -- the end

    def leaves(self) -> Sequence[Claim]:
        """Running executions that wait for nobody below them."""
        busy = (*self.waiting, *self.joined, *self.running)
        return [claim for claim in self.running if not any(other.is_below(claim) for other in busy)]

    def run_to_the_end(self) -> None:
        """Let every execution that can end do so, until nobody is left."""
        while self.running or self.waiting or self.joined:
            leaves = self.leaves()
            assert leaves, f"everything hangs: {self.picture()}"
            self.end(leaves[0])
        usage = self.planner.usage()
        assert all(used == 0 for used, _ in usage.values())
        assert self.planner.waiting_count == 0

    def picture(self) -> str:
        """Everything that there is, for a failing test."""

        def words(claim: Claim) -> str:
            parent = f" under {claim.parent.name}" if claim.parent is not None else ""
            return f"{claim.name}{parent} {claim.owner} {claim.needs} {claim.uses}"

        lines = [f"held {words(claim)}" for claim in self.held]
        lines += [f"waiting {words(claim)}: {self.planner.waits_for(claim)}" for claim in self.waiting]
        lines += [f"joined {words(claim)} to {leader.name}" for claim, leader in self.joined.items()]
        return "\n" + "\n".join(lines)


class State(NamedTuple):
    """What one course of events has led to: who runs, who waits, and whose slot each user of a limit has.

    ``slots`` holds ``(user, limit, lender)``, where the lender of an own slot is the user itself.
    """

    running: frozenset[Claim]
    waiting: frozenset[Claim]
    slots: frozenset[tuple[Claim, str, Claim]]


class Search:
    """Every course of events from where *world* stands, if nobody new asks for anything.

    Whoever waits for nobody below it may end, and whoever waits may start when everything is there, in any order and
    with a slot of its own or a loan: no order of admission, no lines, no reservations.
    """

    def __init__(self, world: World) -> None:
        self.sizes = world.sizes
        self.joined = dict(world.joined)
        slots = {(claim, name, world.lender.get((claim, name), claim)) for claim in world.held for name in claim.needs}
        self.start = State(frozenset(world.running), frozenset(world.waiting), frozenset(slots))

    def can_start(self, claim: Claim) -> bool:
        """Whether some course of events lets *claim*, which nobody asked for yet, start."""
        first = self.start._replace(waiting=self.start.waiting | {claim})
        seen = {first}
        todo = [first]
        while todo:
            state = todo.pop()
            if claim not in state.waiting:
                return True
            fresh = {after for after in (*self.ends(state), *self.starts(state)) if after not in seen}
            seen |= fresh
            todo.extend(fresh)
        return False

    def ends(self, state: State) -> Iterator[State]:
        """What follows when one running execution ends. A follower is there as long as its leader is."""
        there = state.running | state.waiting
        followers = {each for each, leader in self.joined.items() if leader in there}
        for claim in state.running:
            if any(other.is_below(claim) for other in there | followers):
                continue
            kept = {slot for slot in state.slots if slot[0] is not claim}
            yield State(state.running - {claim}, state.waiting, frozenset(kept))

    def starts(self, state: State) -> Iterator[State]:
        """What follows when one waiting claim starts."""
        for claim in state.waiting:
            if any(
                World.blocks(other, claim, name, write=write) for other in state.running for name, write in claim.uses
            ):
                continue
            for choice in product(*(self.sources(state, claim, name) for name in claim.needs)):
                taken = {(claim, name, lender) for name, lender in zip(claim.needs, choice, strict=True)}
                yield State(state.running | {claim}, state.waiting - {claim}, state.slots | taken)

    def sources(self, state: State, claim: Claim, name: str) -> list[Claim]:
        """Who can give *claim* a slot: the claim itself if one is free, and ancestors that have not lent theirs."""
        users = {user: lender for user, limit, lender in state.slots if limit == name}
        lenders = {lender for user, lender in users.items() if lender is not user}
        sources = [user for user in users if claim.is_below(user) and user not in lenders]
        if sum(1 for user, lender in users.items() if user is lender) < self.sizes[name]:
            sources.append(claim)
        return sources
