"""Dense traffic through a planner: far more is asked for than fits, for as long as one likes, and all of it is checked.

Whoever runs ends at some time, so a claim that waits must start after a bounded number of others. Every claim counts
how often it was passed by somebody who had come later; `Traffic.bound` and `Traffic.allow` say how often that may be.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from armory_trio.engine.capacity import Claim, Granted, Refused, Waiting
from tests.engine.capacity_model import World

OWNERS = ("ada", "bob", "cleo")
THINGS = ("docs", "mail")
CHILDREN = 3
"""Nested calls that one execution makes in its life, at most."""

DEPTH = 2
"""How many callers a nested call has, at most. So everybody ends after a bounded time."""

NEVER = 10**9
"""The patience of a planner that has none to lose."""

SHARED = ("tool", "group", "threads", "processes")


class Shape(NamedTuple):
    """What one tool needs."""

    needs: tuple[str, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]


class Patient:
    """What a waiting claim remembers: when it came, and how often it may be passed by somebody who came later."""

    def __init__(self, came: int, bound: int) -> None:
        self.came = came
        self.bound = bound


def _sizes(rng: random.Random) -> dict[str, int]:
    sizes = {name: rng.choice([1, 1, 2, 3]) for name in SHARED}
    return sizes | {f"owner:{owner}": rng.randint(1, 4) for owner in OWNERS} | {"whole": rng.randint(1, 6)}


def _scarce(rng: random.Random, pair: Sequence[str]) -> dict[str, int]:
    """Only *pair* is scarce: what needs both of them hardly ever finds them free at once."""
    plenty = dict.fromkeys((*SHARED, *(f"owner:{owner}" for owner in OWNERS), "whole"), 9)
    return plenty | {name: rng.choice([1, 1, 2]) for name in pair}


class Traffic(World):
    """A world that is kept full.

    Args:
        rng: Decides everything.
        every: Recompute everything from scratch after every so many events; the cheap checks are made after each.
        patience: How often a claim may be overtaken; drawn when it is None.
        patient_only: Nobody ever loses patience, as if the planner had forgotten to; the bound is what it would be.
    """

    def __init__(
        self, rng: random.Random, *, every: int, patience: int | None = None, patient_only: bool = False
    ) -> None:
        pair = rng.sample(SHARED, 2) if rng.random() < 0.4 else []
        sizes = _scarce(rng, pair) if pair else _sizes(rng)
        self.patience = rng.choice([1, 2, 4, 16]) if patience is None else patience
        super().__init__(sizes, patience=NEVER if patient_only else self.patience)
        self.rng = rng
        self.every = every
        self.events = 0
        self.nesting, self.withdrawing, self.joining = 0.0 if pair else rng.choice([0.0, 0.4, 0.4]), 0.03, 0.05
        self.worst = 0.0
        """The largest share of its bound that any claim has used up."""
        self.waited_for: set[Claim] = set()
        """Claims for which a running one waited when they started."""
        self.shape_of: dict[Claim, Shape] = {}
        self.patients: dict[Claim, Patient] = {}
        self.came: dict[Claim, int] = {}
        self.passed: dict[Claim, int] = {}
        self.freed: Counter[str] = Counter()
        self.marks: dict[Claim, dict[str, int]] = {}
        self.impatient: set[Claim] = set()
        """The heads of lines that have lost patience."""
        self.below: dict[Claim, int] = {}
        self.made: dict[Claim, int] = {}
        always = [name for name in ("whole", "owner") if rng.random() < 0.7]
        self.shapes = [self._shape(always) for _ in range(rng.randint(0, 1) if pair else rng.randint(2, 5))]
        if pair or rng.random() < 0.5:  # each of two things alone, and both together: the one that only patience helps
            pair = pair or rng.sample(SHARED, 2)
            self.shapes += [Shape((*always, *names), (), ()) for names in (pair[:1], pair[1:], pair)]

    def _shape(self, always: Sequence[str]) -> Shape:
        rng = self.rng
        needs = (*always, *rng.sample(SHARED, rng.choice([0, 1, 1, 2])))
        touched = rng.sample(THINGS, rng.choice([0, 0, 0, 1, 2]))
        writes = tuple(name for name in touched if rng.random() < 0.4)
        reads = tuple(name for name in touched if name not in writes)
        return Shape(needs if needs or touched else ("tool",), reads, writes)

    # -- what happens

    def step(self, crowd: int) -> None:
        """See to it that *crowd* calls of every tool wait, then let somebody end; now and then something else happens.

        So nobody gets anywhere just because there is a lull in what everybody else asks for.
        """
        for shape in self.shapes:
            missing = crowd - sum(self.shape_of.get(claim) is shape for claim in self.waiting)
            for _ in range(missing):
                self.come(shape)
        what = self.rng.random()
        if what < self.withdrawing and self.waiting:
            self.withdraw(self.rng.choice(list(self.waiting)))
        elif what < self.withdrawing + self.joining:
            self.come_to_join()
        self.let_one_end()

    def come(self, shape: Shape) -> None:
        """Somebody calls a tool."""
        owner = self.rng.choice(OWNERS)
        parent = self._parent() if self.rng.random() < self.nesting else None
        needs = tuple(f"owner:{owner}" if name == "owner" else name for name in shape.needs)
        claim = self.claim(owner=owner, needs=needs, reads=shape.reads, writes=shape.writes, parent=parent)
        self.shape_of[claim] = shape
        self.request(claim)

    def come_to_join(self) -> None:
        parent, leaders = self._parent(), [*self.running, *self.waiting]
        if leaders:
            leader = self.rng.choice(leaders)
            follower = self.claim(parent=parent)
            if isinstance(self.join(follower, leader), Waiting):
                self._count_below(follower, 1)

    def _parent(self) -> Claim | None:
        able = [
            claim
            for claim in self.running
            if self.made.get(claim, 0) < CHILDREN and sum(1 for _ in claim.ancestors()) < DEPTH
        ]
        if not able:
            return None
        parent = self.rng.choice(able)
        self.made[parent] = self.made.get(parent, 0) + 1
        return parent

    def let_one_end(self) -> None:
        """One of the three that run longest and wait for nobody ends."""
        ready: list[Claim] = []
        for claim in self.running:
            if not self.below.get(claim):
                ready.append(claim)
                if len(ready) == 3:
                    break
        assert ready or not self.running, f"everything hangs: {self.picture()}"
        if ready:
            self.end(self.rng.choice(ready))

    # -- the world, with less recomputing

    def request(self, claim: Claim) -> Granted | Waiting | Refused:
        self.came[claim] = self.next_order
        ahead, held = len(self.waiting), len(self.held)
        doomed = None if self._is_time() is False else not self.may_wait(claim)
        decision = self.planner.request(claim)
        match decision:
            case Granted():
                self._count_below(claim, 1)
                self._start(claim)
            case Waiting():
                assert doomed is not True, f"{claim} waits, but nobody could ever let it go: {self.picture()}"
                self._count_below(claim, 1)
                self.waiting[claim] = None
                self.patients[claim] = Patient(self.next_order, self.bound(ahead, held))
                self.passed[claim] = 0
                self.marks[claim] = {}
            case Refused():
                self.refusals += 1
                assert doomed is not False
        self._start_all(decision.others)
        if isinstance(decision, Refused):
            assert not self.may_wait(claim), f"{claim} was refused ({decision.text}), but it could go: {self.picture()}"
            assert decision.cycle[0].waiter == decision.cycle[-1].holder == claim.name
        self.check()
        return decision

    def bound(self, ahead: int, held: int) -> int:
        """How often a claim may be passed that found *ahead* waiting and *held* running, until it loses patience.

        Each of those ahead may lose its patience, and take a turn of every owner, before it is its own turn. Where calls
        bring nested ones, these may pass it as well: of each that a call may bring, half. That is measured, and nobody
        came near it; a bound that leaves more room would hold without any patience, too. `allow` adds what comes then.
        """
        return (ahead + held + 1) * (self.patience + 1) * len(OWNERS) * self._nested()

    def _nested(self) -> int:
        return (CHILDREN + 1) // 2 if self.nesting else 1

    def allow(self, others: int) -> None:
        """Add to the bound of claims whose line has lost patience now, when *others* have started by the same event.

        Those that came after a claim may lose patience before it; then they go first, and `bound` knows nothing of them.
        Let n lines have lost patience before that of the claim, which is at the top, in a line, and needs k limits.

        1. Of each limit, slots are kept for the n first, once they have reserved it, then for the claim. A line that
           loses patience later, or never does, takes none but those that are left then. Of the n each is served once:
           its next claim would have to lose patience anew, and then stands behind this one.
        2. So, for each limit, those of the n that have had a slot of it or have one kept for them never become fewer.
        3. Say that a slot of X comes free while the claim waits for X. If one of the n that have reserved X lacks it, it is
           for that one: by 2 that happens n times at most. If none does, the claim has reserved X, or whoever gives
           it back gives back a limit, too, that the claim has reserved and lacks: it is kept for the claim, which waits
           for it again only if one of the n reserves it later and is given that slot: one more by 2. So that happens
           n + 1 times for each limit at most, k (n + 1) times in all.
        4. Being passed is counted once for each of these, and once each time that the claim begins to wait for another
           limit, of which slots came free before: when it loses patience; when it reserves one of k; when a slot has
           come free as in 3; and when one of the n reserves one of k, which each does once.

        That makes k (n + 1) + 1 + k + k (n + 1) + k n = 3 k (n + 1) + 1. Nested ones count as in `bound`.
        """
        dispatcher = self.planner._dispatcher  # pyright: ignore[reportPrivateUsage]  # who starves shows nowhere else
        starving = dispatcher.reservations.starving
        for before, line in enumerate(starving):
            if line.head not in self.impatient:
                ahead = before + others
                for claim in self.patients.keys() & set(line.queue):
                    more = 3 * len(claim.needs) * (ahead + 1) + 1
                    self.patients[claim].bound += more * self._nested()
        self.impatient = {line.head for line in starving}

    def _start_all(self, claims: Iterable[Claim]) -> None:
        started = list(claims)
        self.allow(len(started))
        super()._start_all(started)

    def _start(self, claim: Claim) -> None:
        super()._start(claim)
        if claim in self.joined.values():
            self.waited_for.add(claim)
        self.patients.pop(claim, None)
        self.passed.pop(claim, None)
        came = self.came[claim]
        for other, patient in self.patients.items():
            if patient.came < came and other in self.waiting and self._is_passed(other, claim):
                self.passed[other] += 1
                self.worst = max(self.worst, self.passed[other] / patient.bound)
                assert self.passed[other] <= patient.bound, f"{other} starves: {self.picture()}"

    def _is_passed(self, other: Claim, claim: Claim) -> bool:
        """Whether *claim*, which starts, had something that *other* needs, and *other* could have had its turn.

        As long as nobody lets go of what *other* waits for, it is not passed: it waits for those who came before.
        """
        if not _compete(claim, other):
            return False
        reason = self.planner.waits_for(other) or ""
        marks = self.marks[other]
        if marks.get(reason) == self.freed[reason]:
            return False
        marks[reason] = self.freed[reason]
        return True

    def release(self, claim: Claim) -> None:
        self.freed.update(f"capacity:{name}" for name in claim.needs if (claim, name) not in self.lender)
        self.freed.update(f"resource:{name}" for name, _ in claim.uses)
        super().release(claim)

    def end(self, claim: Claim) -> None:
        self._count_below(claim, -1)
        super().end(claim)

    def withdraw(self, claim: Claim) -> None:
        self._count_below(claim, -1)
        del self.patients[claim], self.passed[claim]
        super().withdraw(claim)

    def leave(self, follower: Claim) -> None:
        self._count_below(follower, -1)
        super().leave(follower)

    def _count_below(self, claim: Claim, change: int) -> None:
        if claim.parent is not None:
            self.below[claim.parent] = self.below.get(claim.parent, 0) + change

    def _is_time(self) -> bool:
        return self.events % self.every == 0

    def check(self) -> None:
        self.events += 1
        assert self.planner.waiting_count == len(self.waiting)
        for name, (used, size) in self.planner.usage().items():
            assert used == len(self.owners[name]) <= size
        if self._is_time():
            super().check()


def _compete(one: Claim, other: Claim) -> bool:
    if not set(one.needs).isdisjoint(other.needs):
        return True
    mine, its = dict(one.uses), dict(other.uses)
    return any(mine[name] or its[name] for name in mine.keys() & its.keys())
