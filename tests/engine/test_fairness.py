"""Equal owners get equal shares, measured over windows of time while all of them have calls waiting."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence

import pytest
import trio

from armory_trio import Limits, Retention, Snapshot, Toolbox, ToolCall, open_supervisor, tool
from armory_trio.engine.capacity import Claim, Granted, Planner
from tests.requirements import requirement

OWNERS = tuple(f"owner {n}" for n in range(10))


def jain(shares: Iterable[float]) -> float:
    """Jain's fairness index: 1 when all shares are equal, 1/n when one of n has everything."""
    given = list(shares)
    return sum(given) ** 2 / (len(given) * sum(share**2 for share in given))


def test_the_index_is_one_for_equal_shares_and_falls_with_their_spread() -> None:
    assert jain([5] * 10) == 1
    assert jain([1] + [0] * 9) == pytest.approx(0.1)
    assert jain([11] + [10] * 9) > 0.99 > jain([14] + [10] * 9)


# -- the planner alone


class Shop:
    """A planner whose claims end in the order of their start, and how long each owner has held slots."""

    def __init__(self, lengths: dict[str, int], needs: Sequence[tuple[str, ...]], **limits: int) -> None:
        self.planner = Planner()
        for name, size in limits.items():
            self.planner.set_limit(name, size)
        self.count = 0
        self.running: deque[Claim] = deque()
        self.left = Counter(lengths)
        self.served: list[str] = []
        # One after the other: the first owner has asked for everything before the last one asks for anything.
        for owner, length in lengths.items():
            for number in range(length):
                self.ask(owner, needs[number % len(needs)])

    def ask(self, owner: str, needs: tuple[str, ...]) -> Claim:
        self.count += 1
        claim = Claim(order=self.count, owner=owner, needs=needs)
        if isinstance(self.planner.request(claim), Granted):
            self._start([claim])
        return claim

    def _start(self, claims: Iterable[Claim]) -> None:
        for claim in claims:
            assert claim.owner is not None
            self.running.append(claim)
            self.served.append(claim.owner)
            self.left[claim.owner] -= 1

    def end_one(self) -> None:
        self._start(self.planner.release(self.running.popleft()))

    def window(self, starts: int) -> Counter[str]:
        """Who is served by the next so many starts."""
        before = len(self.served)
        while len(self.served) < before + starts:
            self.end_one()
        return Counter(self.served[before:])


@requirement("capacity.equal-shares")
@pytest.mark.parametrize(
    ("needs", "limits", "rounds"),
    [
        ([("whole",)], {"whole": 1}, 10),
        ([("whole",)], {"whole": 7}, 10),
        ([("whole", "a"), ("whole", "b"), ("whole",)], {"whole": 6, "a": 2, "b": 3}, 10),
        # Where calls lose patience, and slots are kept for them, a window has to be longer than that takes.
        ([("whole", "threads", "db"), ("whole", "threads")], {"whole": 9, "threads": 5, "db": 2}, 40),
    ],
    ids=["one", "some", "tools", "threads-and-group"],
)
def test_ten_owners_get_equal_shares_however_long_their_queues_are(
    needs: list[tuple[str, ...]], limits: dict[str, int], rounds: int
) -> None:
    lengths = {owner: round(20 * rounds * 1.4**number) for number, owner in enumerate(reversed(OWNERS))}
    shop = Shop(lengths, needs, **limits)
    shop.window(100)  # the first owner has begun alone; let that pass
    indices: list[float] = []
    while min(shop.left.values()) > 2 * rounds:
        shares = shop.window(rounds * len(OWNERS))
        indices.append(jain(shares[owner] for owner in OWNERS))

    assert len(indices) >= 10
    assert min(indices) >= 0.99


@requirement("capacity.equal-shares")
def test_those_that_are_left_share_equally_when_an_owner_has_nothing_more_to_ask() -> None:
    shop = Shop({owner: 30 + 60 * number for number, owner in enumerate(OWNERS)}, [("whole",)], whole=3)
    shop.window(10)
    compared: Counter[int] = Counter()
    while len(there := [owner for owner in OWNERS if shop.left[owner]]) > 1:
        shares = shop.window(5 * len(there))
        if all(shop.left[owner] for owner in there):  # nobody ran out meanwhile
            assert jain(shares[owner] for owner in there) >= 0.99
            compared[len(there)] += 1

    assert set(compared) == set(range(2, 11))


@requirement("capacity.newcomer")
@pytest.mark.parametrize("slots", [1, 3])
def test_the_single_call_of_an_eleventh_owner_starts_within_one_round(slots: int) -> None:
    shop = Shop(dict.fromkeys(OWNERS, 1_000), [("whole",)], whole=slots)
    shop.window(137)
    shop.ask("the eleventh", ("whole",))
    before = len(shop.served)
    while "the eleventh" not in shop.served:
        shop.end_one()

    assert len(shop.served) - before <= len(OWNERS) + 1
    assert max(Counter(shop.served[before:]).values()) == 1


@requirement("capacity.newcomer")
@pytest.mark.parametrize(
    ("needs", "limits"),
    [
        ([("whole", "a"), ("whole", "b"), ("whole",)], {"whole": 6, "a": 2, "b": 3}),
        ([("whole", "threads", "db"), ("whole", "threads")], {"whole": 9, "threads": 5, "db": 2}),
        ([("a", "b"), ("a",), ("b",)], {"a": 1, "b": 1}),
    ],
    ids=["tools", "threads-and-group", "one-and-both"],
)
def test_where_limits_are_mixed_a_newcomer_waits_no_longer_when_more_calls_wait(
    needs: list[tuple[str, ...]], limits: dict[str, int]
) -> None:
    def starts_before(length: int, need: tuple[str, ...]) -> int:
        shop = Shop(dict.fromkeys(OWNERS, length), needs, **limits)
        shop.window(137)
        shop.ask("the eleventh", need)
        before = len(shop.served)
        while "the eleventh" not in shop.served:
            shop.end_one()
        return len(shop.served) - before

    for need in needs:
        waited = starts_before(60, need)
        assert waited == starts_before(600, need)
        assert waited <= 4 * (len(OWNERS) + 1)


@requirement("capacity.newcomer", "capacity.bounded-overtaking")
def test_calls_that_lost_patience_long_ago_do_not_all_go_before_a_newcomer() -> None:
    def starts_before(length: int) -> int:
        shop = Shop({}, [()], whole=1, gate=1)
        shop.ask("keeper", ("gate",))
        for _ in range(length):
            shop.ask("greedy", ("gate", "whole"))
        for _ in range(16):
            shop.ask("greedy", ("whole",))  # overtakes all of them, so each of them has lost patience
            shop.planner.release(shop.running.pop())
        shop.ask("greedy", ("whole",))
        shop.ask("modest", ("whole",))
        before = len(shop.served)
        while "modest" not in shop.served:
            shop.end_one()
        return len(shop.served) - before

    assert starts_before(50) == starts_before(500) <= 2 * 17


@requirement("capacity.newcomer", "capacity.bounded-overtaking")
def test_an_owner_that_is_served_elsewhere_all_the_time_still_has_its_turn_here() -> None:
    shop = Shop({}, [()], here=1, elsewhere=1)
    for owner in OWNERS:
        for _ in range(100):
            shop.ask(owner, ("here",))
    patient = shop.ask("busy", ("here",))
    for _ in range(1_000):
        shop.ask("busy", ("elsewhere",))
    turns = 0
    while patient not in shop.running:
        shop.end_one()
        turns += 1

    assert turns <= 2 * (16 + len(OWNERS) + 1)


# -- the supervisor


@tool(effect="read-only", groups=["db"])
async def query(seconds: float) -> str:
    """Ask the database."""
    await trio.sleep(seconds)
    return "rows"


@tool(effect="read-only")
async def think(seconds: float) -> str:
    """Think."""
    await trio.sleep(seconds)
    return "thought"


TOOLBOX = Toolbox([query, think])


def seconds_in(window: tuple[float, float], shots: Iterable[Snapshot], *, until: float) -> dict[str | None, float]:
    """How long calls of each owner ran in *window*; those that run still have run until now."""
    first, last = window
    served: dict[str | None, float] = defaultdict(float)
    for shot in shots:
        if shot.started_at is not None:
            ended = until if shot.ended_at is None else shot.ended_at
            served[shot.owner_id] += max(0, min(ended, last) - max(shot.started_at, first))
    return served


@requirement("capacity.equal-shares")
@pytest.mark.parametrize(
    "limits",
    [Limits(concurrent=4), Limits(concurrent=8, groups={"db": 2}), Limits(concurrent=12, per_owner=3)],
    ids=["whole", "whole and a group", "whole and per owner"],
)
async def test_the_supervisor_gives_ten_owners_equal_time_in_every_window(
    limits: Limits, autojump_clock: trio.abc.Clock
) -> None:
    windows = [(20.0 + 60 * n, 80.0 + 60 * n) for n in range(3)]
    async with open_supervisor(TOOLBOX, limits=limits, retention=Retention(count=10_000)) as supervisor:
        for number, owner in enumerate(OWNERS):
            for index in range(260 + 60 * number**2 // 9):
                name, seconds = ("query", "think")[index % 2], (0.5, 1.0, 1.5)[(index + number) % 3]
                supervisor.start(ToolCall(name, {"seconds": seconds}), owner_id=owner)
        await trio.sleep(windows[-1][1])
        live = supervisor.executions.inspect(live_only=True)
        shots, now = supervisor.executions.inspect(), trio.current_time()
        backlog = Counter(shot.owner_id for shot in live if shot.state == "queued")
        await supervisor.shutdown("abort")

    assert min(backlog[owner] for owner in OWNERS) > 5, "all of them must have had calls waiting all the time"
    for window in windows:
        served = seconds_in(window, shots, until=now)
        assert jain(served[owner] for owner in OWNERS) >= 0.99, served


@requirement("capacity.newcomer")
async def test_a_newcomer_waits_for_one_round_of_the_supervisor_at_most(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(TOOLBOX, limits=Limits(concurrent=1)) as supervisor:
        for owner in OWNERS:
            for _ in range(100):
                supervisor.start(ToolCall("think", {"seconds": 1}), owner_id=owner)
        await trio.sleep(33.5)
        late = supervisor.start(ToolCall("think", {"seconds": 1}), owner_id="the eleventh")
        await late.result()
        waited = (late.snapshot.started_at or 0) - late.snapshot.admitted_at
        await supervisor.shutdown("abort")

    assert waited <= len(OWNERS) + 1
