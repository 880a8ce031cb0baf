"""Dense traffic through a planner: far more is asked for than fits, for as long as one likes, and all of it is checked.

Whoever runs ends after a bounded time, so a claim that waits must start after a bounded time, too. Every claim counts
how often it was passed by somebody who had come later; `Traffic.bound` says how often that may be.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
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


class Patient(NamedTuple):
    """What a waiting claim remembers: when it came, and how often it may be passed by somebody who came later."""

    came: int
    bound: int


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
        """How often a claim may be passed that found *ahead* waiting and *held* running.

        Each of those ahead may lose its patience, and take a turn of every owner, before it is its own turn. Where calls
        bring nested ones, these may pass it as well: of each that a call may bring, half. That is measured, and nobody
        came near it; a bound that leaves more room would hold without any patience, too.
        """
        nested = (CHILDREN + 1) // 2 if self.nesting else 1
        return (ahead + held + 1) * (self.patience + 1) * len(OWNERS) * nested

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
