"""What the capacity planner promises, one example for each sentence. The rules are tried at random in
`test_capacity_rules`.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from types import FrameType

import pytest

from armory_trio.engine.capacity import Claim, Granted, Planner, Refused, Waiting
from armory_trio.errors import TransitionError
from tests.requirements import requirement


class Desk:
    """A planner and the claims made with it, numbered in order of admission."""

    def __init__(self, **limits: int) -> None:
        self.planner = Planner()
        self.count = 0
        for name, size in limits.items():
            self.planner.set_limit(name, size)

    def make(
        self,
        needs: str = "",
        *,
        owner: str | None = "anna",
        parent: Claim | None = None,
        reads: Collection[str] = (),
        writes: Collection[str] = (),
        order: int | None = None,
    ) -> Claim:
        """A claim that was not asked for yet. *needs* are separated by blanks."""
        self.count += 1
        number = self.count if order is None else order
        return Claim(
            order=number,
            owner=owner,
            needs=tuple(needs.split()),
            reads=reads,
            writes=writes,
            parent=parent,
            label=f"e{number}",
        )

    def held(
        self,
        needs: str = "",
        *,
        owner: str | None = "anna",
        parent: Claim | None = None,
        reads: Collection[str] = (),
        writes: Collection[str] = (),
    ) -> Claim:
        """A claim that starts at once."""
        claim = self.make(needs, owner=owner, parent=parent, reads=reads, writes=writes)
        assert self.planner.request(claim) == Granted()
        return claim

    def waiting(
        self,
        needs: str = "",
        *,
        owner: str | None = "anna",
        parent: Claim | None = None,
        reads: Collection[str] = (),
        writes: Collection[str] = (),
    ) -> Claim:
        """A claim that has to wait."""
        claim = self.make(needs, owner=owner, parent=parent, reads=reads, writes=writes)
        assert self.planner.request(claim) == Waiting()
        return claim

    def refused(
        self,
        needs: str = "",
        *,
        parent: Claim | None = None,
        reads: Collection[str] = (),
        writes: Collection[str] = (),
    ) -> Refused:
        """The answer to a claim that would wait for ever."""
        decision = self.planner.request(self.make(needs, parent=parent, reads=reads, writes=writes))
        assert isinstance(decision, Refused)
        return decision

    def release(self, claim: Claim) -> list[Claim]:
        return list(self.planner.release(claim))

    def starts_in_order(self, first: Claim) -> list[Claim]:
        """Release *first*, then whoever started because of it, and so on: everybody in order of their start."""
        started = [first]
        for claim in started:
            started += self.release(claim)
        return started[1:]


# -- limits


@requirement("capacity.limits")
def test_a_claim_starts_at_once_when_all_that_it_needs_is_free() -> None:
    desk = Desk(tool=1, db=2)

    desk.held("tool db")

    assert desk.planner.usage() == {"tool": (1, 1), "db": (1, 2)}
    assert desk.planner.waiting_count == 0


@requirement("capacity.limits")
def test_a_group_limit_is_shared_by_the_tools_in_it() -> None:
    desk = Desk(read=5, write=5, db=2)
    first = desk.held("read db")
    desk.held("write db")

    third = desk.waiting("read db")

    assert desk.release(first) == [third]


@requirement("capacity.limits")
def test_eight_hundred_calls_under_a_limit_of_four_never_run_more_than_four_at_once() -> None:
    desk = Desk(tool=4, supervisor=64)
    claims = [desk.make("tool supervisor") for _ in range(800)]
    running = [claim for claim in claims if isinstance(desk.planner.request(claim), Granted)]
    most = len(running)
    lengths = [desk.planner.waiting_count]
    ended: list[Claim] = []
    while running:
        ended.append(running.pop(0))
        running += desk.release(ended[-1])
        most = max(most, len(running))
        lengths.append(desk.planner.waiting_count)

    assert most == 4
    assert ended == claims
    assert lengths == [*range(796, -1, -1), 0, 0, 0, 0]


@requirement("capacity.all-or-nothing")
def test_a_waiting_claim_holds_none_of_what_it_needs() -> None:
    desk = Desk(a=1, b=1)
    desk.held("a")
    desk.waiting("b a")

    desk.held("b", owner="bert")


@requirement("capacity.limits")
def test_a_limit_that_grows_lets_waiting_claims_start() -> None:
    desk = Desk(tool=1)
    desk.held("tool")
    second, third, fourth = (desk.waiting("tool") for _ in range(3))

    assert desk.planner.set_limit("tool", 3) == [second, third]
    assert desk.planner.position(fourth) == 1


def test_a_limit_that_nobody_uses_may_shrink() -> None:
    desk = Desk(tool=3)
    desk.release(desk.held("tool"))

    desk.planner.set_limit("tool", 1)

    desk.held("tool")
    desk.waiting("tool")


def test_a_limit_in_use_does_not_shrink() -> None:
    desk = Desk(tool=3)
    desk.held("tool")

    with pytest.raises(ValueError, match="limit 'tool' is in use: it may grow beyond 3 slots, not shrink to 2"):
        desk.planner.set_limit("tool", 2)


@pytest.mark.parametrize("size", [0, -1])
def test_a_limit_without_slots_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match=f"limit 'tool': a limit has at least one slot, not {size}"):
        Planner().set_limit("tool", size)


def test_a_claim_that_needs_an_unknown_limit_is_an_error_that_changes_nothing() -> None:
    desk = Desk(a=1)
    claim = desk.make("a b")

    with pytest.raises(LookupError, match="no limit 'b' was set"):
        desk.planner.request(claim)

    assert desk.planner.usage() == {"a": (0, 1)}
    assert desk.planner.withdraw(claim) == ()


def test_an_unknown_limit_is_found_out_even_behind_a_full_one() -> None:
    desk = Desk(a=1)
    desk.held("a")

    with pytest.raises(LookupError, match="no limit 'b' was set"):
        desk.planner.request(desk.make("a b"))

    assert desk.planner.waiting_count == 0


@requirement("capacity.families")
def test_each_limit_of_a_family_has_its_own_slots_and_is_forgotten_when_nobody_uses_it() -> None:
    desk = Desk()
    desk.planner.set_family("owner", 1)
    anna = desk.held("owner:anna")
    bert = desk.held("owner:bert", owner="bert")
    again = desk.waiting("owner:anna")

    assert desk.planner.usage() == {"owner:anna": (1, 1), "owner:bert": (1, 1)}
    assert desk.release(anna) == [again]
    desk.release(again)
    desk.release(bert)
    assert desk.planner.usage() == {}


@requirement("capacity.families")
def test_a_family_limit_survives_as_long_as_somebody_waits_for_it() -> None:
    desk = Desk(tool=1)
    desk.planner.set_family("owner", 1)
    holder = desk.held("owner:anna")
    desk.held("tool", owner="bert")
    waiting = desk.waiting("owner:anna tool")

    assert desk.release(holder) == []
    assert desk.planner.waits_for(waiting) == "capacity:tool"
    desk.held("owner:anna", owner="bert")


def test_a_family_keeps_its_size() -> None:
    planner = Planner()
    planner.set_family("owner", 2)
    planner.set_family("owner", 2)

    with pytest.raises(ValueError, match="each limit of the family 'owner' has 2 slots already, not 3"):
        planner.set_family("owner", 3)


def test_the_prefix_of_a_family_holds_no_colon() -> None:
    with pytest.raises(ValueError, match="the prefix 'owner:' of a family ends before the first colon"):
        Planner().set_family("owner:", 2)


def test_a_need_that_is_named_twice_takes_one_slot() -> None:
    desk = Desk(a=1, b=1)

    desk.held("a b a")

    assert desk.planner.usage() == {"a": (1, 1), "b": (1, 1)}


# -- fairness


@requirement("capacity.fifo")
def test_claims_of_one_owner_start_first_come_first_served() -> None:
    desk = Desk(tool=1)
    first = desk.held("tool")
    claims = [desk.waiting("tool") for _ in range(10)]

    assert desk.starts_in_order(first) == claims


@requirement("capacity.fifo")
def test_claims_of_one_owner_with_different_needs_start_first_come_first_served() -> None:
    desk = Desk(supervisor=1, a=9, b=9)
    first = desk.held("supervisor")
    claims = [desk.waiting(f"{tool} supervisor") for tool in "aabbabab"]

    assert desk.starts_in_order(first) == claims


@requirement("capacity.fifo")
def test_a_claim_that_comes_back_late_keeps_its_place_in_the_order_of_admission() -> None:
    desk = Desk(tool=1)
    first = desk.held("tool")
    early = desk.make("tool")
    later = [desk.waiting("tool"), desk.waiting("tool")]
    desk.planner.request(early)

    assert [desk.planner.position(claim) for claim in (early, *later)] == [1, 2, 3]
    assert desk.starts_in_order(first) == [early, *later]


@requirement("capacity.round-robin")
def test_owners_take_turns_however_many_calls_each_has_queued() -> None:
    desk = Desk(tool=1)
    first = desk.held("tool", owner="zoe")
    claims = {
        owner: [desk.waiting("tool", owner=owner) for _ in range(count)] for owner, count in (("anna", 5), ("bert", 2))
    }

    owners = [claim.owner for claim in desk.starts_in_order(first)]

    assert owners == ["anna", "bert", "anna", "bert", "anna", "anna", "anna"]
    assert {owner: len(each) for owner, each in claims.items()} == Counter(owners)


@requirement("capacity.round-robin")
def test_an_owner_that_asks_for_one_thing_at_a_time_is_not_starved_by_one_that_queues_a_thousand() -> None:
    desk = Desk(tool=1)
    running = [desk.held("tool", owner="crowd")]
    for _ in range(1_000):
        desk.waiting("tool", owner="crowd")
    starts: Counter[str | None] = Counter()
    desk.waiting("tool", owner="single")
    for _ in range(200):
        [claim] = desk.release(running.pop())
        running.append(claim)
        starts[claim.owner] += 1
        if claim.owner == "single":
            desk.waiting("tool", owner="single")

    assert starts == {"single": 100, "crowd": 100}


@requirement("capacity.round-robin")
def test_equal_owners_get_equal_shares() -> None:
    desk = Desk(supervisor=3, a=2, b=2)
    running = [desk.held("supervisor", owner="zoe") for _ in range(3)]
    for number in range(2_000):
        desk.waiting(f"{'ab'[number % 2]} supervisor", owner=f"owner {number % 10}")
    starts: Counter[str | None] = Counter()
    while sum(starts.values()) < 500:
        started = desk.release(running.pop(0))
        starts.update(claim.owner for claim in started)
        running += started
    shares = starts.values()

    assert sum(shares) ** 2 / (10 * sum(share**2 for share in shares)) > 0.999  # Jain's index: 1 is perfectly fair


@requirement("capacity.round-robin")
def test_owners_take_turns_when_several_of_their_queues_come_free_at_once() -> None:
    desk = Desk(supervisor=2, a=9, b=9)
    writer = desk.held(writes=["docs"])
    anna = [desk.waiting(f"{tool} supervisor", reads=["docs"]) for tool in "ab"]
    bert = desk.waiting("a supervisor", reads=["docs"], owner="bert")

    assert desk.release(writer) == [anna[0], bert]
    assert desk.release(bert) == [anna[1]]


# -- overtaking within an owner


@requirement("capacity.overtaking")
def test_a_claim_overtakes_one_that_waits_for_a_limit_that_it_does_not_need() -> None:
    desk = Desk(supervisor=9, slow=1)
    desk.held("slow supervisor")
    desk.waiting("slow supervisor")

    desk.held("supervisor")


@requirement("capacity.overtaking")
def test_a_claim_does_not_overtake_one_that_waits_for_a_limit_that_it_needs() -> None:
    desk = Desk(supervisor=2, slow=1)
    holders = desk.held("slow supervisor"), desk.held("supervisor")
    first = desk.waiting("slow supervisor")
    second = desk.waiting("supervisor")

    assert desk.release(holders[0]) == [first]
    assert desk.release(holders[1]) == [second]


@requirement("capacity.overtaking")
def test_a_claim_overtakes_one_that_waits_for_a_resource() -> None:
    desk = Desk(tool=2)
    desk.held("tool", writes=["doc"])
    desk.waiting("tool", writes=["doc"])

    desk.held("tool")


@requirement("capacity.patience")
def test_a_claim_overtaken_sixteen_times_reserves_what_it_needs_as_it_comes_free() -> None:
    desk = Desk(long=1, short=1)
    long = desk.held("long")
    wide = desk.waiting("long short")
    for _ in range(16):
        assert desk.planner.reserved() == {}
        desk.release(desk.held("short"))

    assert desk.planner.reserved() == {"long": wide.label, "short": wide.label}
    late = desk.waiting("short")
    assert desk.release(long) == [wide]
    assert desk.planner.reserved() == {}
    assert desk.release(wide) == [late]


@requirement("capacity.patience")
def test_a_reservation_keeps_one_slot_of_a_limit_and_leaves_the_others_alone() -> None:
    desk = Desk(long=1, short=3)
    long = desk.held("long")
    wide = desk.waiting("long short")
    for _ in range(16):
        desk.release(desk.held("short"))

    desk.held("short")
    desk.held("short")
    desk.waiting("short")

    assert desk.release(long) == [wide]


@requirement("capacity.patience")
def test_overtakers_that_need_nothing_of_what_a_claim_needs_do_not_try_its_patience() -> None:
    desk = Desk(long=1, other=1)
    desk.held("long")
    desk.waiting("long")
    for _ in range(50):
        desk.release(desk.held("other"))

    assert desk.planner.reserved() == {}


@requirement("capacity.patience")
def test_patience_counts_each_claim_of_a_line_for_itself() -> None:
    desk = Desk(long=1, short=1)
    long = desk.held("long")
    first, second = desk.waiting("long short"), desk.waiting("long short")
    for _ in range(16):
        desk.release(desk.held("short"))
    assert desk.planner.reserved() == {"long": first.label, "short": first.label}

    assert desk.release(long) == [first]

    assert desk.planner.reserved() == {"long": second.label}  # whoever gives it back gives back a short one, too
    assert desk.release(first) == [second]


@requirement("capacity.patience")
def test_a_claim_of_another_owner_that_misses_sixteen_turns_reserves_too() -> None:
    """Two crowds take turns on `a` and on `b`, so that both are never free at once by chance."""
    desk = Desk(a=1, b=1)
    running = {"a": desk.held("a", owner="crowd a"), "b": desk.held("b", owner="crowd b")}
    for _ in range(200):
        desk.waiting("a", owner="crowd a")
        desk.waiting("b", owner="crowd b")
    wide = desk.waiting("a b", owner="wide")
    rounds = 0
    while True:
        name = "ab"[rounds % 2]
        started = desk.release(running[name])
        if wide in started:
            break
        if started:
            [running[name]] = started
        elif wide.label in desk.planner.reserved().values():
            started = desk.release(running["ab"[(rounds + 1) % 2]])
            assert started == [wide]
            break
        rounds += 1

    assert rounds <= 2 * 17


@requirement("capacity.patience")
def test_a_loan_is_reserved_too_for_a_child_that_its_brothers_overtook_sixteen_times() -> None:
    desk = Desk(a=1, b=1)
    parent, long = desk.held("a"), desk.held("b")
    wide = desk.waiting("a b", parent=parent)
    for _ in range(16):
        desk.release(desk.held("a", parent=parent))
    brother = desk.waiting("a", parent=parent)

    assert desk.planner.reserved() == {"a": wide.label, "b": wide.label}
    assert desk.release(long) == [wide]
    assert desk.release(wide) == [brother]


@requirement("capacity.patience")
def test_a_loan_that_was_reserved_is_lent_again_when_the_reserver_withdraws() -> None:
    desk = Desk(a=1, b=1)
    parent = desk.held("a")
    desk.held("b")
    wide = desk.waiting("a b", parent=parent)
    for _ in range(16):
        desk.release(desk.held("a", parent=parent))
    brother = desk.waiting("a", parent=parent)

    assert desk.planner.withdraw(wide) == [brother]


@requirement("capacity.patience")
def test_loans_that_a_claim_could_not_have_used_do_not_try_its_patience() -> None:
    desk = Desk(a=1, b=1)
    parent = desk.held("a")
    desk.waiting("a b")
    for _ in range(50):
        desk.release(desk.held("a", parent=parent))

    assert desk.planner.reserved() == {}


@requirement("capacity.patience")
def test_a_withdrawn_claim_gives_up_its_reservation() -> None:
    desk = Desk(long=1, short=1)
    desk.held("long")
    wide = desk.waiting("long short")
    for _ in range(16):
        desk.release(desk.held("short"))
    late = desk.waiting("short")

    assert desk.planner.withdraw(wide) == [late]
    assert desk.planner.reserved() == {}


def lose_patience(desk: Desk, needs: str, short: str, *, owner: str = "anna") -> Claim:
    """A claim that waits, and that sixteen others of its owner, which need *short*, overtake."""
    claim = desk.waiting(needs, owner=owner)
    for _ in range(16):
        desk.release(desk.held(short, owner=owner))
    return claim


@requirement("capacity.patience")
def test_a_claim_reserves_though_one_that_waits_for_something_else_lost_patience_before_it() -> None:
    desk = Desk(room=4, far=1, near=1)
    far, near = desk.held("far", owner="zoe"), desk.held("near", owner="zoe")
    first = lose_patience(desk, "room far", "room")
    second = lose_patience(desk, "room near", "room")

    assert desk.planner.reserved() == {"room": first.label, "far": first.label, "near": second.label}
    others = [desk.held("room"), desk.held("room")]
    desk.waiting("room")  # one is kept for each of the two
    assert desk.release(near) == [second]
    assert desk.release(far) == [first]
    assert [desk.planner.usage()["room"], len(others)] == [(4, 4), 2]


@requirement("capacity.patience")
def test_nothing_more_is_kept_for_a_claim_that_waits_for_what_is_kept_for_another_one() -> None:
    desk = Desk(room=3, far=1, near=1)
    far = desk.held("far", owner="zoe")
    first = lose_patience(desk, "far room", "room")
    second = lose_patience(desk, "near far", "near")

    assert desk.planner.reserved() == {"far": first.label, "room": first.label}
    assert desk.planner.waits_for(second) == "capacity:far"
    desk.release(desk.held("near"))
    assert desk.release(far) == [first]
    assert desk.planner.reserved() == {"far": second.label, "near": second.label}


@requirement("capacity.patience")
def test_one_that_lost_patience_before_comes_first_wherever_it_reserves_later() -> None:
    desk = Desk(a=1, b=1, c=1, d=1)
    a, b = desk.held("a", owner="zoe"), desk.held("b", owner="zoe")
    first = lose_patience(desk, "a d", "d")
    second = lose_patience(desk, "a b c", "c")
    third = lose_patience(desk, "b c", "c")
    assert desk.planner.reserved() == {"a": first.label, "d": first.label, "b": third.label, "c": third.label}

    assert desk.release(a) == [first]
    assert desk.planner.reserved() == {"a": second.label, "b": second.label, "c": second.label}
    assert desk.release(b) == []
    assert desk.release(first) == [second]
    assert desk.release(second) == [third]


@requirement("capacity.patience")
def test_what_comes_free_with_the_limit_that_a_claim_waits_for_may_be_had_by_others_meanwhile() -> None:
    desk = Desk(room=2, far=1)
    far = desk.held("room far", owner="zoe")
    wide = desk.waiting("room far")
    for _ in range(50):
        desk.release(desk.held("room"))
    desk.held("room")
    desk.waiting("room", owner="bert")

    assert desk.planner.reserved() == {}
    assert desk.release(far) == [wide]


@requirement("capacity.reservations-never-cross")
def test_two_starving_claims_never_wait_for_each_others_reservations() -> None:
    desk = Desk(a=1, b=1, c=1)
    holders = [desk.held(name, owner="zoe") for name in "abc"]
    first, second, third = desk.waiting("a b"), desk.waiting("b c"), desk.waiting("c a")
    desk.release(holders[2])
    for _ in range(16):
        desk.release(desk.held("c"))
    narrow = desk.waiting("c")

    assert desk.planner.reserved() == {"b": second.label, "c": second.label}  # the third starves too, but waits for c
    assert desk.release(holders[0]) == []
    assert desk.release(holders[1]) == [second]
    assert desk.starts_in_order(second) == [third, first, narrow]


# -- reads and writes


@requirement("capacity.reads-and-writes")
def test_writers_of_one_thing_run_one_after_another_in_order_of_admission() -> None:
    desk = Desk()
    first = desk.held(writes=["docs"])
    second, third = desk.waiting(writes=["docs"]), desk.waiting(writes=["docs"])

    desk.held(writes=["other"])  # field case 27: on another key it overlaps

    assert desk.release(first) == [second]
    assert desk.release(second) == [third]


@requirement("capacity.reads-and-writes")
def test_readers_share_and_a_writer_excludes_them() -> None:
    desk = Desk()
    readers = [desk.held(reads=["docs"]) for _ in range(3)]
    writer = desk.waiting(writes=["docs"])

    assert [desk.release(reader) for reader in readers] == [[], [], [writer]]


@requirement("capacity.reads-and-writes")
def test_readers_behind_a_waiting_writer_wait_and_then_start_together() -> None:
    desk = Desk()
    reader = desk.held(reads=["docs"])
    writer = desk.waiting(writes=["docs"])
    behind = [desk.waiting(reads=["docs"]) for _ in range(3)]

    assert desk.release(reader) == [writer]
    assert desk.release(writer) == behind


@requirement("capacity.reads-and-writes")
def test_a_conflicting_claim_of_another_owner_keeps_the_order_of_admission_too() -> None:
    desk = Desk(tool=1)
    tool = desk.held("tool")
    first = desk.waiting("tool", writes=["docs"])
    second = desk.waiting(writes=["docs"], owner="bert")

    assert desk.planner.waits_for(second) == "resource:docs"
    assert desk.release(tool) == [first]
    assert desk.release(first) == [second]


@requirement("capacity.reads-and-writes")
def test_a_claim_that_asks_late_still_goes_before_conflicting_ones_admitted_after_it() -> None:
    desk = Desk(tool=1)
    tool = desk.held("tool")
    early = desk.make("tool", writes=["docs"])
    later = desk.waiting("tool", writes=["docs"])

    assert desk.planner.request(early) == Waiting()

    assert desk.planner.waits_for(later) == "resource:docs"
    assert desk.starts_in_order(tool) == [early, later]


@requirement("capacity.reads-and-writes")
def test_a_late_claim_that_starts_at_once_holds_back_a_conflicting_one_that_was_ready() -> None:
    desk = Desk(tool=1)
    tool = desk.held("tool")
    early = desk.make(writes=["docs"])
    later = desk.waiting("tool", writes=["docs"])

    assert desk.planner.request(early) == Granted()

    assert desk.planner.waits_for(later) == "resource:docs"
    assert desk.release(tool) == []
    assert desk.release(early) == [later]


@requirement("capacity.reads-and-writes")
def test_a_name_that_is_both_read_and_written_counts_as_written() -> None:
    desk = Desk()
    desk.held(reads=["docs"], writes=["docs"])

    desk.waiting(reads=["docs"])


def test_a_claim_waits_for_the_next_thing_when_the_first_has_come_free() -> None:
    desk = Desk()
    first, second = desk.held(writes=["a"]), desk.held(writes=["b"])
    both = desk.waiting(writes=["a", "b"])

    assert desk.release(first) == []
    assert desk.planner.waits_for(both) == "resource:b"
    assert desk.release(second) == [both]


# -- lending


@requirement("capacity.lending")
def test_a_slot_held_by_an_ancestor_is_lent_to_its_descendant() -> None:
    desk = Desk(tool=1)
    parent = desk.held("tool")
    child = desk.held("tool", parent=parent)
    desk.held("tool", parent=child)

    assert desk.planner.usage() == {"tool": (1, 1)}


@requirement("capacity.lending")
def test_a_slot_is_lent_to_one_descendant_at_a_time_and_comes_back() -> None:
    desk = Desk(tool=1)
    parent = desk.held("tool")
    first = desk.held("tool", parent=parent)
    second, third = desk.waiting("tool", parent=parent), desk.waiting("tool", parent=parent)

    assert desk.release(first) == [second]
    assert desk.release(second) == [third]
    assert desk.release(third) == []
    assert desk.release(parent) == []
    assert desk.planner.usage() == {"tool": (0, 1)}


@requirement("capacity.lending")
def test_children_beyond_the_loan_take_free_slots_like_everybody_else() -> None:
    desk = Desk(tool=2)
    parent = desk.held("tool")
    desk.held("tool", parent=parent)
    desk.held("tool", parent=parent)
    third = desk.waiting("tool", parent=parent)

    assert desk.planner.usage() == {"tool": (2, 2)}
    assert desk.planner.position(third) == 1


@requirement("capacity.lending")
def test_a_loan_goes_to_the_lenders_descendants_only() -> None:
    desk = Desk(tool=1)
    parent = desk.held("tool")
    child = desk.held("tool", parent=parent)
    stranger = desk.waiting("tool")
    sibling = desk.waiting("tool", parent=parent)

    assert desk.release(child) == [sibling]
    assert desk.release(sibling) == []
    assert desk.release(parent) == [stranger]


@requirement("capacity.lending")
def test_a_slot_that_is_lent_when_its_holder_ends_is_freed_when_the_borrower_ends() -> None:
    desk = Desk(tool=1)
    parent = desk.held("tool")
    child = desk.held("tool", parent=parent)
    stranger = desk.waiting("tool")

    assert desk.release(parent) == []
    assert desk.planner.usage() == {"tool": (1, 1)}
    assert desk.planner.holders("tool") == (child.label,)
    assert desk.release(child) == [stranger]


@requirement("capacity.lending")
def test_a_borrower_that_ends_before_its_own_borrower_hands_the_debt_on() -> None:
    desk = Desk(tool=1)
    parent = desk.held("tool")
    child = desk.held("tool", parent=parent)
    grandchild = desk.held("tool", parent=child)
    sibling = desk.waiting("tool", parent=parent)

    assert desk.release(child) == []
    assert desk.release(grandchild) == [sibling]


@requirement("capacity.lending")
def test_a_write_held_by_an_ancestor_is_lent_to_one_writer_at_a_time() -> None:
    desk = Desk()
    parent = desk.held(writes=["docs"])
    first = desk.held(parent=parent, writes=["docs"])
    stranger = desk.waiting(writes=["docs"])
    second = desk.waiting(parent=parent, writes=["docs"])

    assert desk.release(first) == [second]
    assert desk.release(second) == []
    assert desk.release(parent) == [stranger]


@requirement("capacity.lending")
def test_readers_under_a_writing_ancestor_share_what_it_lends() -> None:
    desk = Desk()
    parent = desk.held(writes=["docs"])

    desk.held(parent=parent, reads=["docs"])
    desk.held(parent=parent, reads=["docs"])

    desk.waiting(parent=parent, writes=["docs"])
    desk.waiting(reads=["docs"])


@requirement("capacity.lending")
def test_a_descendant_writes_what_its_ancestor_reads_once_the_other_readers_are_gone() -> None:
    desk = Desk()
    parent, other = desk.held(reads=["docs"]), desk.held(reads=["docs"])
    child = desk.waiting(parent=parent, writes=["docs"])

    assert desk.release(other) == [child]


@requirement("capacity.lending")
def test_claims_below_an_ancestor_that_ended_wait_in_the_common_order_again() -> None:
    desk = Desk()
    parent = desk.held(writes=["docs"])
    child = desk.held(parent=parent, writes=["docs"])
    stranger = desk.waiting(writes=["docs"])
    orphan = desk.waiting(parent=parent, writes=["docs"])

    assert desk.release(parent) == []
    assert desk.release(child) == [stranger]
    assert desk.release(stranger) == [orphan]


@requirement("capacity.lending")
def test_a_claim_that_was_ready_below_an_ancestor_gives_way_when_that_one_ends() -> None:
    desk = Desk(tool=1)
    tool, parent = desk.held("tool"), desk.held(writes=["docs"])
    stranger = desk.waiting(writes=["docs"])
    orphan = desk.waiting("tool", parent=parent, writes=["docs"])

    assert desk.release(parent) == [stranger]

    assert desk.planner.waits_for(orphan) == "resource:docs"
    assert desk.release(tool) == []
    assert desk.release(stranger) == [orphan]


# -- cycles


@requirement("capacity.cycle")
def test_a_nested_claim_that_would_wait_for_ever_is_refused_and_the_cycle_is_named() -> None:
    desk = Desk(a=1, b=1)
    anna, bert = desk.held("a"), desk.held("b")
    waiting = desk.waiting("b", parent=anna)

    refused = desk.refused("a", parent=bert)

    assert refused.text == (
        "e4 needs a slot of a, which e1 holds; e1 waits for its nested call e3; "
        "e3 needs a slot of b, which e2 holds; e2 waits for its nested call e4"
    )
    assert [(edge.waiter, edge.kind, edge.name, edge.holder) for edge in refused.cycle] == [
        ("e4", "capacity", "a", "e1"),
        ("e1", "call", "", "e3"),
        ("e3", "capacity", "b", "e2"),
        ("e2", "call", "", "e4"),
    ]
    assert desk.release(bert) == [waiting]


@requirement("capacity.cycle")
def test_a_refused_claim_leaves_nothing_behind() -> None:
    desk = Desk(a=1, b=1)
    anna, bert = desk.held("a"), desk.held("b")
    desk.waiting("b", parent=anna)
    claim = desk.make("a", parent=bert, writes=["docs"])
    assert isinstance(desk.planner.request(claim), Refused)

    assert desk.planner.waiting_count == 1
    assert desk.planner.position(claim) is None
    assert desk.planner.waits_for(claim) is None
    assert desk.planner.withdraw(claim) == ()
    desk.held(writes=["docs"])


@requirement("capacity.cycle")
def test_a_refused_claim_may_ask_again_when_things_have_changed() -> None:
    desk = Desk(a=1, b=1)
    anna, bert = desk.held("a"), desk.held("b")
    child = desk.waiting("b", parent=anna)
    claim = desk.make("a", parent=bert)
    desk.planner.request(claim)
    desk.planner.withdraw(child)
    desk.release(anna)

    assert desk.planner.request(claim) == Granted()


@requirement("capacity.cycle")
def test_one_of_several_slots_is_enough_so_a_holder_who_will_end_breaks_the_cycle() -> None:
    desk = Desk(a=1, b=2)
    anna, bert, carl = desk.held("a"), desk.held("b"), desk.held("b")
    desk.waiting("b", parent=anna)

    claim = desk.waiting("a", parent=bert)

    assert desk.planner.waits_for(claim) == "capacity:a"
    desk.release(carl)


@requirement("capacity.cycle")
def test_the_newcomer_that_takes_away_the_last_way_out_is_refused() -> None:
    desk = Desk(a=1, b=2)
    anna, bert, carl = desk.held("a"), desk.held("b"), desk.held("b")
    first = desk.waiting("b", parent=anna)
    second = desk.waiting("a", parent=bert)

    desk.refused("a", parent=carl)

    assert desk.release(carl) == [first]
    desk.release(first)
    assert desk.release(anna) == [second]


@requirement("capacity.cycle")
def test_reads_and_writes_close_cycles_too() -> None:
    desk = Desk(tool=1)
    reader, holder = desk.held(reads=["docs"]), desk.held("tool")
    desk.waiting("tool", parent=reader)

    refused = desk.refused(parent=holder, writes=["docs"])

    assert "e4 needs docs, which e1 holds" in refused.text


@requirement("capacity.cycle")
def test_two_readers_that_both_want_to_write_do_not_wait_for_each_other() -> None:
    desk = Desk()
    anna, bert = desk.held(reads=["docs"]), desk.held(reads=["docs"])
    first = desk.waiting(parent=anna, writes=["docs"])

    desk.refused(parent=bert, writes=["docs"])

    assert desk.release(bert) == [first]


@requirement("capacity.cycle")
def test_a_long_chain_of_waits_is_followed_to_its_end() -> None:
    desk = Desk(**{f"l{number}": 1 for number in range(3_000)})
    holders = [desk.held(f"l{number}") for number in range(3_000)]
    for number, holder in enumerate(holders[:-1]):
        desk.waiting(f"l{number + 1}", parent=holder)

    refused = desk.refused("l0", parent=holders[-1])

    assert len(refused.cycle) == 6_000


@requirement("capacity.cycle")
def test_a_child_never_waits_for_the_end_of_its_own_parent() -> None:
    desk = Desk(tool=1, other=1)
    parent = desk.held("tool")
    desk.held("other", parent=parent)

    desk.held("tool", parent=parent)


@requirement("capacity.cycle")
def test_a_child_whose_brother_has_the_loan_waits_unless_the_brother_waits_for_it() -> None:
    desk = Desk(tool=1, other=1)
    parent = desk.held("tool")
    brother, sister = desk.held("tool", parent=parent), desk.held("other", parent=parent)
    child = desk.waiting("tool", parent=sister)

    refused = desk.refused("other", parent=brother)

    assert refused.cycle[-1].waiter == brother.label
    assert desk.release(brother) == [child]


# -- joins


@requirement("capacity.joins")
def test_a_join_is_a_wait_like_any_other() -> None:
    desk = Desk(tool=1)
    parent, leader = desk.held("tool"), desk.held()
    follower = desk.make(parent=parent)
    assert desk.planner.join(follower, leader) == Waiting()

    refused = desk.refused("tool", parent=leader)

    assert refused.text == (
        "e4 needs a slot of tool, which e1 holds; e1 waits for its nested call e3; "
        "e3 waits for the result of e2; e2 waits for its nested call e4"
    )
    desk.planner.leave(follower)
    assert isinstance(desk.planner.request(desk.make("tool", parent=leader)), Waiting)


@requirement("capacity.joins")
def test_a_nested_call_does_not_join_a_leader_that_waits_for_its_ancestor() -> None:
    desk = Desk(tool=1)
    parent = desk.held("tool")
    leader = desk.waiting("tool")
    follower = desk.make(parent=parent)

    decision = desk.planner.join(follower, leader)

    assert isinstance(decision, Refused)
    assert decision.text == (
        "e3 waits for the result of e2; e2 needs a slot of tool, which e1 holds; e1 waits for its nested call e3"
    )
    assert desk.release(parent) == [leader]


@requirement("capacity.joins")
def test_a_nested_call_does_not_join_a_leader_that_is_its_own_ancestor() -> None:
    desk = Desk(tool=1)
    parent = desk.held("tool")
    child = desk.held("tool", parent=parent)

    assert isinstance(desk.planner.join(desk.make(parent=child), parent), Refused)


@requirement("capacity.joins")
def test_a_leader_that_would_wait_for_a_follower_is_refused() -> None:
    desk = Desk(tool=1)
    parent = desk.held("tool")
    leader = desk.make("tool")
    assert desk.planner.join(desk.make(parent=parent), leader) == Waiting()

    decision = desk.planner.request(leader)

    assert isinstance(decision, Refused)
    assert decision.text == (
        "e2 needs a slot of tool, which e1 holds; e1 waits for its nested call e3; e3 waits for the result of e2"
    )


@requirement("capacity.joins")
def test_a_top_level_call_may_join_anybody() -> None:
    desk = Desk(tool=1)
    desk.held("tool")
    leader = desk.waiting("tool")

    assert desk.planner.join(desk.make(), leader) == Waiting()


@requirement("capacity.joins")
def test_a_leader_held_back_by_order_only_overtakes_for_the_sake_of_its_followers() -> None:
    desk = Desk(tool=1)
    parent = desk.held("tool")
    early = desk.make("tool", writes=["docs"])
    desk.planner.request(early)
    leader = desk.waiting(writes=["docs"])

    assert desk.planner.join(desk.make(parent=parent), leader) == Waiting(others=(leader,))

    assert desk.release(leader) == []
    assert desk.release(parent) == [early]


# -- order and reservations give way


@requirement("capacity.nested-overtake")
def test_a_nested_claim_overtakes_a_writer_that_waits_for_its_ancestor() -> None:
    desk = Desk()
    parent = desk.held(writes=["docs"])
    stranger = desk.waiting(writes=["docs"])

    child = desk.held(parent=parent, writes=["docs"])

    assert desk.release(child) == []
    assert desk.release(parent) == [stranger]


@requirement("capacity.nested-overtake")
def test_a_nested_claim_overtakes_a_writer_that_waits_for_its_ancestor_in_another_way() -> None:
    desk = Desk(tool=1)
    parent = desk.held("tool")
    stranger = desk.waiting("tool", writes=["docs"])

    child = desk.held(parent=parent, writes=["docs"])

    assert desk.planner.waits_for(stranger) == "resource:docs"
    assert desk.release(child) == []
    assert desk.release(parent) == [stranger]


@requirement("capacity.nested-overtake")
def test_a_nested_claim_respects_the_order_when_nobody_waits_for_its_ancestors() -> None:
    desk = Desk(tool=1, other=1)
    parent = desk.held("other")
    holder = desk.held("tool")
    first = desk.waiting("tool", writes=["docs"])

    child = desk.waiting(parent=parent, writes=["docs"])

    assert desk.release(holder) == [first]
    assert desk.release(first) == [child]


@requirement("capacity.nested-overtake")
def test_a_nested_claim_that_kept_to_the_order_overtakes_once_that_would_close_a_cycle() -> None:
    desk = Desk(x=1, a=1)
    parent, holder = desk.held("a"), desk.held("x")
    stranger = desk.waiting("x", writes=["docs"])
    child = desk.waiting(parent=parent, writes=["docs"])  # behind the stranger, who waits for the holder

    newcomer = desk.make("a", parent=holder)  # who from now on waits for the parent

    assert desk.planner.request(newcomer) == Waiting(others=(child,))
    assert desk.release(child) == []
    assert desk.release(parent) == [newcomer]
    assert desk.release(newcomer) == []
    assert desk.release(holder) == [stranger]


@requirement("capacity.nested-overtake")
def test_brothers_overtake_one_after_another() -> None:
    desk = Desk()
    parent, holder = desk.held(writes=["mail"]), desk.held(writes=["docs"])
    stranger = desk.waiting(writes=["docs", "mail"])
    first, second = (desk.waiting(parent=parent, writes=["docs"]) for _ in range(2))

    assert desk.release(holder) == [first]
    assert desk.release(first) == [second]
    assert desk.release(second) == []
    assert desk.release(parent) == [stranger]


@requirement("capacity.nested-overtake")
def test_a_brother_overtakes_a_writer_that_came_between_for_one_of_two_things() -> None:
    desk = Desk(tool=1)
    parent, holder = desk.held("tool"), desk.held(writes=["docs"])
    first = desk.waiting(parent=parent, writes=["docs", "mail"])
    stranger = desk.waiting("tool", writes=["mail"])
    second = desk.waiting(parent=parent, writes=["docs", "mail"])

    assert desk.release(holder) == [first]
    assert desk.release(first) == [second]
    assert desk.release(second) == []
    assert desk.release(parent) == [stranger]


@requirement("capacity.nested-overtake")
def test_only_the_claim_that_closes_a_cycle_overtakes() -> None:
    desk = Desk(x=1, a=1, b=1)
    parent, holder, other = desk.held("a"), desk.held("x"), desk.held("b")
    desk.waiting("x", writes=["docs"])
    bystander = desk.waiting(parent=other, writes=["docs"])
    child = desk.waiting(parent=parent, writes=["docs"])

    decision = desk.planner.request(desk.make("a", parent=holder))

    assert decision == Waiting(others=(child,))
    assert desk.planner.waits_for(bystander) == "resource:docs"


@requirement("capacity.nested-overtake")
def test_a_claim_that_may_overtake_does_so_as_soon_as_what_it_needs_is_there() -> None:
    desk = Desk(x=1, a=1)
    parent, holder, writer, other = desk.held("a"), desk.held("x"), desk.held(writes=["docs"]), desk.held()
    desk.waiting("x", writes=["docs"])
    bystander = desk.waiting(parent=other, writes=["docs"])
    child = desk.waiting(parent=parent, writes=["docs"])
    desk.waiting("a", parent=holder)

    assert desk.release(writer) == [child]
    assert desk.planner.waits_for(bystander) == "resource:docs"


def starve(desk: Desk, needs: str, short: str) -> Claim:
    """A claim that has been overtaken so often that it reserved what it needs."""
    wide = desk.waiting(needs)
    for _ in range(16):
        desk.release(desk.held(short))
    assert desk.planner.reserved()[short] == wide.label
    return wide


@requirement("capacity.nested-overtake")
def test_a_reservation_does_not_hold_back_a_nested_claim_when_the_reserver_waits_for_its_ancestor() -> None:
    desk = Desk(long=1, short=1)
    parent = desk.held("long")
    wide = starve(desk, "long short", "short")

    child = desk.held("short", parent=parent)

    desk.release(child)
    assert desk.release(parent) == [wide]


@requirement("capacity.nested-overtake")
def test_a_reservation_holds_back_a_nested_claim_that_has_nothing_to_do_with_it() -> None:
    desk = Desk(long=1, short=1, own=1)
    parent, long = desk.held("own"), desk.held("long")
    wide = starve(desk, "long short", "short")

    child = desk.waiting("short", parent=parent)

    assert desk.release(long) == [wide]
    assert desk.release(wide) == [child]


@requirement("capacity.nested-overtake")
def test_a_reservation_that_comes_later_does_not_hold_back_a_nested_claim_that_it_waits_for() -> None:
    desk = Desk(long=1, short=1, gate=1)
    parent, gate = desk.held("long"), desk.held("gate")
    child = desk.waiting("gate short", parent=parent, owner="bert")
    wide = starve(desk, "long short", "short")

    assert desk.release(gate) == [child]

    assert desk.release(child) == []
    assert desk.release(parent) == [wide]


@requirement("capacity.nested-overtake")
def test_a_reservation_holds_back_nested_claims_that_only_wait_behind_others() -> None:
    desk = Desk(long=1, short=1, gate=1, own=1)
    parent, bystander, gate = desk.held("long"), desk.held("own"), desk.held("gate")
    child = desk.waiting("gate short", parent=parent, owner="bert")
    other = desk.waiting("gate short", parent=bystander, owner="carl")
    last = desk.waiting("own", parent=desk.held(), owner="dora")
    wide = starve(desk, "long short", "short")

    assert desk.release(gate) == [child]

    assert desk.release(child) == []
    assert desk.release(parent) == [wide]
    assert desk.release(wide) == [other]
    assert desk.release(other) == []
    assert desk.release(bystander) == [last]


@requirement("capacity.nested-overtake")
def test_a_claim_that_could_borrow_until_its_parent_ended_is_not_held_back_by_a_reservation() -> None:
    desk = Desk(long=1, short=2, gate=1, extra=1)
    grandparent, gate = desk.held("long"), desk.held("gate")
    parent = desk.held("short", parent=grandparent)
    other = desk.held("short", owner="zoe")
    desk.waiting("long", parent=other, owner="zoe")
    wide = starve(desk, "long short extra", "extra")
    child = desk.waiting("short gate", parent=parent, owner="bert")

    assert desk.release(parent) == []

    assert desk.release(gate) == [child]
    assert desk.release(child) == []
    assert wide in desk.release(grandparent)


@requirement("capacity.nested-overtake")
def test_only_the_leader_overtakes_a_reservation_and_not_those_behind_it() -> None:
    desk = Desk(long=1, short=1)
    parent = desk.held("long")
    wide = starve(desk, "long short", "short")
    leader, other = desk.waiting("short", owner="bert"), desk.waiting("short", owner="bert")
    follower = desk.make(parent=parent)

    assert desk.planner.join(follower, leader) == Waiting(others=(leader,))

    assert desk.release(leader) == []
    desk.planner.leave(follower)
    assert desk.release(parent) == [wide]
    assert desk.release(wide) == [other]


# -- withdrawing


@requirement("capacity.withdraw")
def test_a_withdrawn_claim_leaves_the_queue_at_once() -> None:
    desk = Desk(tool=1)
    first = desk.held("tool")
    second, third, fourth = (desk.waiting("tool") for _ in range(3))

    assert desk.planner.withdraw(third) == []

    assert [desk.planner.position(claim) for claim in (second, third, fourth)] == [1, None, 2]
    assert desk.planner.waits_for(third) is None
    assert desk.starts_in_order(first) == [second, fourth]


@requirement("capacity.withdraw")
def test_withdrawing_a_writer_lets_the_readers_behind_it_go() -> None:
    desk = Desk()
    desk.held(reads=["docs"])
    writer = desk.waiting(writes=["docs"])
    readers = [desk.waiting(reads=["docs"]), desk.waiting(reads=["docs"])]

    assert desk.planner.withdraw(writer) == readers


@requirement("capacity.withdraw")
def test_withdrawing_what_was_never_asked_for_is_no_error() -> None:
    desk = Desk(tool=1)

    assert desk.planner.withdraw(desk.make("tool")) == ()


# -- what a waiting claim may know


@requirement("capacity.position")
def test_positions_count_from_one_in_each_owners_queue() -> None:
    desk = Desk(tool=1)
    running = desk.held("tool")
    annas = [desk.waiting("tool") for _ in range(4)]
    berts = [desk.waiting("tool", owner="bert") for _ in range(2)]

    assert [desk.planner.position(claim) for claim in annas] == [1, 2, 3, 4]
    assert [desk.planner.position(claim) for claim in berts] == [1, 2]
    assert desk.planner.position(running) is None
    [next_one] = desk.release(running)
    assert next_one is annas[0]
    assert [desk.planner.position(claim) for claim in annas] == [None, 1, 2, 3]


@requirement("capacity.position")
def test_the_position_at_a_resource_counts_everybody_who_waits_for_it() -> None:
    desk = Desk()
    desk.held(writes=["docs"])
    claims = [desk.waiting(writes=["docs"], owner=owner) for owner in ("anna", "bert", "anna")]

    assert [desk.planner.position(claim) for claim in claims] == [1, 2, 3]


@requirement("capacity.position")
def test_positions_stay_consistent_when_claims_come_and_go_anywhere() -> None:
    desk = Desk(tool=1)
    desk.held("tool")
    early = desk.make("tool")
    claims = [desk.waiting("tool") for _ in range(6)]
    for gone in (claims[5], claims[2], claims[0]):
        desk.planner.withdraw(gone)
    desk.planner.request(early)
    claims.append(desk.waiting("tool"))

    there = [early, claims[1], claims[3], claims[4], claims[6]]
    assert [desk.planner.position(claim) for claim in there] == [1, 2, 3, 4, 5]


@requirement("capacity.position")
def test_a_waiting_claim_tells_what_it_waits_for() -> None:
    desk = Desk(tool=1, db=1)
    tool, db = desk.held("tool"), desk.held("db")
    claim = desk.waiting("tool db")

    assert desk.planner.waits_for(claim) == "capacity:tool"
    desk.release(tool)
    assert desk.planner.waits_for(claim) == "capacity:db"
    assert desk.release(db) == [claim]
    assert desk.planner.waits_for(claim) is None


@requirement("capacity.holders")
def test_whoever_keeps_a_slot_is_named_until_it_really_ends() -> None:
    desk = Desk(tool=2)
    claims = [desk.held("tool"), desk.held("tool")]
    quick = desk.waiting("tool")

    assert desk.planner.holders("tool") == ("e1", "e2")
    assert desk.release(claims[0]) == [quick]
    assert desk.planner.holders("tool") == ("e2", "e3")
    assert desk.planner.holders("nothing") == ()


def test_a_claim_without_a_label_is_called_by_its_order() -> None:
    desk = Desk(a=1, b=1)
    anna, bert = Claim(order=1, needs=("a",)), Claim(order=2, needs=("b",))
    desk.planner.request(anna)
    desk.planner.request(bert)
    desk.planner.request(Claim(order=3, needs=("b",), parent=anna))

    decision = desk.planner.request(Claim(order=4, needs=("a",), parent=bert))

    assert isinstance(decision, Refused)
    assert decision.text.startswith("claim 4 needs a slot of a, which claim 1 holds")


# -- what the engine must not do


def test_a_claim_is_asked_for_once() -> None:
    desk = Desk(tool=1)
    held, waiting = desk.held("tool"), desk.waiting("tool")

    with pytest.raises(TransitionError, match="<Claim e1 held> was requested, but it is held already"):
        desk.planner.request(held)
    with pytest.raises(TransitionError, match="<Claim e2 queued> was requested, but it is queued already"):
        desk.planner.request(waiting)


def test_only_what_is_held_is_released() -> None:
    desk = Desk(tool=1)
    held, waiting = desk.held("tool"), desk.waiting("tool")

    with pytest.raises(TransitionError, match="<Claim e2 queued> was released, but it is queued"):
        desk.planner.release(waiting)
    desk.release(held)
    with pytest.raises(TransitionError, match="<Claim e1 idle> was released, but it is idle"):
        desk.planner.release(held)


def test_what_is_held_is_released_and_not_withdrawn() -> None:
    desk = Desk(tool=1)
    held = desk.held("tool")

    with pytest.raises(TransitionError, match="<Claim e1 held> was withdrawn, but it holds what it asked for"):
        desk.planner.withdraw(held)


def test_a_claim_joins_one_leader_at_a_time() -> None:
    desk = Desk(tool=1)
    leader, follower = desk.held("tool"), desk.make()
    desk.planner.join(follower, leader)

    with pytest.raises(TransitionError, match="<Claim e2 idle> cannot join <Claim e1 held>: it already waits or holds"):
        desk.planner.join(follower, leader)
    desk.planner.leave(follower)
    desk.planner.leave(follower)
    desk.planner.join(follower, leader)


# -- cost


def calls_made_by(work: Callable[[], object]) -> int:
    """How many Python functions *work* calls: what it costs, whatever the machine."""
    count = 0

    def profile(frame: FrameType, event: str, arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def crowd(waiting: int, owners: int) -> tuple[Desk, Sequence[Claim]]:
    desk = Desk(tool=4, supervisor=64)
    running = [desk.held("supervisor tool", owner="zoe") for _ in range(4)]
    for number in range(waiting):
        desk.waiting("supervisor tool", owner=f"owner {number % owners}")
    return desk, running


def release_all(desk: Desk, claims: Iterable[Claim]) -> None:
    for claim in claims:
        assert len(desk.release(claim)) == 1


@requirement("capacity.cost")
@pytest.mark.parametrize("owners", [1, 10, 1_000])
def test_a_release_costs_the_same_however_many_wait(owners: int) -> None:
    desk, running = crowd(2_000, owners)
    large_desk, large_running = crowd(50_000, owners)

    few = calls_made_by(lambda: release_all(desk, running))
    many = calls_made_by(lambda: release_all(large_desk, large_running))

    assert many <= few * 1.1


@requirement("capacity.cost")
@pytest.mark.parametrize(("reads", "writes"), [(["docs"], []), ([], ["docs"])], ids=["readers", "writers"])
def test_a_release_costs_the_same_however_many_wait_for_one_resource(reads: list[str], writes: list[str]) -> None:
    def cost(waiting: int) -> int:
        desk = Desk(tool=1)
        running = desk.held("tool", reads=reads, writes=writes)
        for _ in range(waiting):
            desk.waiting("tool", reads=reads, writes=writes)
        return calls_made_by(lambda: desk.release(running))

    assert cost(20_000) <= cost(200) * 1.1


@requirement("capacity.cost")
def test_a_nested_call_costs_the_same_however_many_siblings_wait() -> None:
    def cost(siblings: int) -> int:
        desk = Desk(own=1, tool=2)
        parent = desk.held("own")
        running = desk.held("tool", parent=parent)
        desk.held("tool", parent=parent)
        for _ in range(siblings):
            desk.waiting("tool", parent=parent)
        newcomer = desk.make("tool", parent=parent)
        return calls_made_by(lambda: (desk.planner.request(newcomer), desk.release(running)))

    assert cost(20_000) <= cost(200) * 1.1


@requirement("capacity.cost")
def test_a_nested_write_costs_the_same_however_many_wait_for_what_its_parent_writes() -> None:
    def cost(waiting: int) -> int:
        desk = Desk(tool=1)
        parent = desk.held("tool", writes=["docs"])
        for _ in range(waiting):
            desk.waiting("tool", writes=["docs"])
        child = desk.make("tool", parent=parent, writes=["docs"])
        return calls_made_by(lambda: (desk.planner.request(child), desk.release(child)))

    assert cost(20_000) <= cost(200) * 1.1


@requirement("capacity.cost")
def test_a_whole_queue_is_withdrawn_in_linear_time() -> None:
    def cost(waiting: int) -> int:
        desk = Desk(tool=1)
        desk.held("tool")
        claims = [desk.waiting("tool") for _ in range(waiting)]
        return calls_made_by(lambda: [desk.planner.withdraw(claim) for claim in claims])

    assert cost(20_000) <= cost(2_000) * 11


@requirement("capacity.cost")
def test_reading_every_position_is_linear() -> None:
    def cost(waiting: int) -> int:
        desk = Desk(tool=1)
        desk.held("tool")
        claims = [desk.waiting("tool") for _ in range(waiting)]
        desk.planner.withdraw(claims.pop(waiting // 2))
        return calls_made_by(lambda: [desk.planner.position(claim) for claim in claims])

    assert cost(20_000) <= cost(2_000) * 11
