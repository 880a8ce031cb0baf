"""The capacity planner tried at random against `capacity_model`, which recomputes everything from scratch.

`World.check` runs after every step: no limit is exceeded by running leaves, conflicting reads and writes never overlap,
slots are lent to one descendant at a time, nobody who could start waits without a reason, everybody who waits can still
start, and a claim is refused exactly when it could not.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from armory_trio.engine.capacity import Claim, Refused
from tests.engine.capacity_model import Search, World
from tests.requirements import requirement

NAMES = ("a", "b", "c")
THINGS = ("docs", "mail")

needs_of_one = st.lists(st.sampled_from(NAMES), max_size=2, unique=True).map(tuple)
uses_of_one = st.dictionaries(st.sampled_from(THINGS), st.booleans(), max_size=2)


class Capacity(RuleBasedStateMachine):
    """Executions start, nest, wait, join, end and are withdrawn in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World({})

    @initialize(sizes=st.tuples(*[st.integers(1, 3)] * len(NAMES)), patience=st.sampled_from([1, 2, 16]))
    def open(self, sizes: tuple[int, ...], patience: int) -> None:
        self.world = World(dict(zip(NAMES, sizes, strict=True)), patience=patience)

    def some(self, data: st.DataObject, claims: list[Claim]) -> Claim:
        return data.draw(st.sampled_from(sorted(claims, key=lambda claim: claim.order)))

    def parent(self, data: st.DataObject) -> Claim | None:
        running = list(self.world.running)
        return self.some(data, running) if running and data.draw(st.sampled_from([True, True, False])) else None

    @rule(data=st.data(), owner=st.sampled_from("xy"), needs=needs_of_one, uses=uses_of_one)
    def ask(self, data: st.DataObject, owner: str, needs: tuple[str, ...], uses: dict[str, bool]) -> None:
        parent = self.parent(data)
        if not needs and not uses:
            self.world.run_without_needs(parent)
            return
        self.world.request(self.draw_claim(parent, owner, needs, uses))

    def draw_claim(self, parent: Claim | None, owner: str, needs: tuple[str, ...], uses: dict[str, bool]) -> Claim:
        return self.world.claim(
            owner=owner,
            needs=needs,
            reads=[name for name, write in uses.items() if not write],
            writes=[name for name, write in uses.items() if write],
            parent=parent,
        )

    @rule(data=st.data(), owner=st.sampled_from("xy"), needs=needs_of_one, uses=uses_of_one)
    def ask_late(self, data: st.DataObject, owner: str, needs: tuple[str, ...], uses: dict[str, bool]) -> None:
        """Admit one, let others be admitted and ask, and only then ask for the first."""
        early = self.draw_claim(self.parent(data), owner, needs or ("a",), uses)
        for _ in range(data.draw(st.integers(1, 3))):
            self.ask(data, owner, data.draw(needs_of_one), data.draw(uses_of_one))
        self.world.request(early)

    @precondition(lambda self: self.world.leaves())
    @rule(data=st.data())
    def end(self, data: st.DataObject) -> None:
        self.world.end(self.some(data, list(self.world.leaves())))

    @precondition(lambda self: self.world.running)
    @rule(data=st.data())
    def end_before_its_children(self, data: st.DataObject) -> None:
        self.world.end(self.some(data, list(self.world.running)))

    @precondition(lambda self: self.world.waiting)
    @rule(data=st.data())
    def withdraw(self, data: st.DataObject) -> None:
        self.world.withdraw(self.some(data, list(self.world.waiting)))

    @precondition(lambda self: self.world.running or self.world.waiting)
    @rule(data=st.data())
    def join(self, data: st.DataObject) -> None:
        leader = self.some(data, [*self.world.running, *self.world.waiting])
        self.world.join(self.world.claim(parent=self.parent(data)), leader)

    @precondition(lambda self: self.world.joined)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        self.world.leave(self.some(data, list(self.world.joined)))

    @invariant()
    def positions_are_consistent(self) -> None:
        world = self.world
        for claim in world.waiting:
            position = world.planner.position(claim)
            assert position is not None
            alike = [
                other
                for other in world.waiting
                if (other.owner, other.parent, other.needs) == (claim.owner, claim.parent, claim.needs)
                and str(world.planner.waits_for(other)).startswith("capacity:")
            ]
            if str(world.planner.waits_for(claim)).startswith("capacity:"):
                assert position == 1 + sum(1 for other in alike if other.order < claim.order)

    def teardown(self) -> None:
        self.world.run_to_the_end()


TestCapacity = requirement(
    "capacity.never-hangs", "capacity.refusals-are-true", "capacity.lending", "capacity.position"
)(Capacity.TestCase)


@requirement("capacity.refusals-are-true")
@given(st.data(), st.tuples(st.integers(1, 2), st.integers(1, 2)))
def test_a_claim_is_refused_exactly_when_no_course_of_events_lets_it_start(
    data: st.DataObject, sizes: tuple[int, int]
) -> None:
    world = World({"a": sizes[0], "b": sizes[1]}, patience=data.draw(st.sampled_from([1, 16])))
    for _ in range(data.draw(st.integers(3, 9))):
        running = sorted(world.running, key=lambda claim: claim.order)
        parent = data.draw(st.sampled_from([None, *running, *running]))
        if running and not data.draw(st.integers(0, 4)):
            world.join(world.claim(parent=parent), data.draw(st.sampled_from(running)))
            continue
        uses = data.draw(st.sampled_from([{}, {}, {"docs": False}, {"docs": True}]))
        needs = data.draw(st.sampled_from([("a",), ("b",), ("a", "b")]))
        claim = world.claim(
            needs=needs,
            reads=[name for name, write in uses.items() if not write],
            writes=[name for name, write in uses.items() if write],
            parent=parent,
        )
        possible = Search(world).can_start(claim)

        assert isinstance(world.request(claim), Refused) != possible
    world.run_to_the_end()
