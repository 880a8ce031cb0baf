"""Dense traffic and large numbers: nobody waits for ever, whatever is mixed; an ordinary run does a small part of it."""

from __future__ import annotations

import random
from collections import Counter

import pytest
import trio
import trio.testing
from hypothesis import example, given, settings
from hypothesis import strategies as st

from armory_trio import Limits, Retention, Toolbox, ToolCall, open_supervisor, tool
from armory_trio.engine.capacity import Claim, Planner
from tests.engine.capacity_traffic import NEVER, OWNERS, Shape, Traffic
from tests.requirements import requirement

SOAKING = settings.default is not None and settings.default.max_examples > 1000
"""Whether this run is to take long: see tests/conftest.py."""

STEPS = 200


def rng_of(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311  # traffic, not secrets


@requirement("capacity.bounded-overtaking", "capacity.never-hangs", "capacity.refusals-are-true", "capacity.limits")
@given(seed=st.integers(0, 2**32), crowd=st.integers(1, 3))
@example(seed=20, crowd=3)
@example(seed=369, crowd=3)
def test_whatever_is_mixed_every_claim_starts_within_a_bound_and_nobody_is_left(seed: int, crowd: int) -> None:
    assert_nobody_starves(Traffic(rng_of(seed), every=50), crowd)


def assert_nobody_starves(traffic: Traffic, crowd: int) -> None:
    for _ in range(STEPS):
        traffic.step(crowd)
    traffic.run_to_the_end()

    assert traffic.worst <= 1
    assert not traffic.patients


@requirement("capacity.bounded-overtaking")
def test_a_planner_in_which_nobody_loses_patience_does_not_pass_for_one_that_is_right() -> None:
    """The property above can fail: of the traffic that one ordinary run tries, far more than one breaks the bound."""
    broken = 0
    for seed in range(60):
        try:
            assert_nobody_starves(Traffic(rng_of(seed), every=NEVER, patient_only=True), crowd=seed % 3 + 1)
        except AssertionError as exc:
            assert "starves" in str(exc)
            broken += 1

    assert broken >= 5


@requirement("capacity.bounded-overtaking")
def test_without_patience_a_claim_that_needs_two_things_would_starve() -> None:
    """The bound is worth something: the same traffic breaks it when nobody ever reserves anything."""

    def pass_by(patience: int) -> float:
        traffic = Traffic(rng_of(1), every=10**9, patience=1)
        traffic.planner = Planner(patience=patience)
        traffic.nesting = traffic.withdrawing = traffic.joining = 0
        for name in traffic.sizes:
            traffic.sizes[name] = 1 if name in ("tool", "group") else 9
            traffic.planner.set_limit(name, traffic.sizes[name])
        traffic.shapes = [Shape(needs, (), ()) for needs in (("tool",), ("group",), ("tool", "group"))]
        for _ in range(2_000):
            traffic.step(1)
        return traffic.worst

    assert pass_by(1) < 1
    with pytest.raises(AssertionError, match="starves"):
        pass_by(10**9)


@requirement("capacity.bounded-overtaking")
@given(seed=st.integers(0, 2**32))
@example(seed=6393)
def test_when_nobody_comes_any_more_an_owner_is_served_strictly_in_its_order(seed: int) -> None:
    """Calls that need the same, of one owner, never overtake one another, however they came to wait.

    But for one that a running call waits for: that call may hold what the others need, so they must not be ahead of it.
    """
    traffic = Traffic(rng_of(seed), every=10**9)
    for _ in range(40):
        traffic.step(2)
    started = len(traffic.started)
    traffic.run_to_the_end()
    last: dict[tuple[str | None, Claim | None, tuple[str, ...], tuple[tuple[str, bool], ...]], int] = {}
    for claim in traffic.started[started:]:
        if claim in traffic.waited_for:
            continue
        kind = (claim.owner, claim.parent, claim.needs, claim.uses)
        assert last.get(kind, -1) < claim.order
        last[kind] = claim.order


# -- through the supervisor


@requirement("engine.concurrency", "capacity.position")
async def test_eight_hundred_calls_under_a_limit_of_four_show_their_limit_and_their_place(
    autojump_clock: trio.abc.Clock,
) -> None:
    now = most = 0

    @tool(concurrency=4, effect="read-only")
    async def fetch(n: int) -> int:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await trio.sleep(1)
        now -= 1
        return n

    lengths: list[int] = []
    async with open_supervisor(Toolbox([fetch])) as supervisor, trio.open_nursery() as nursery:
        values: list[object] = []

        async def fan_out() -> None:
            results = await supervisor.execute_batch([ToolCall("fetch", {"n": n}) for n in range(800)])
            values.extend(result.value for result in results)

        nursery.start_soon(fan_out)
        await trio.sleep(0.5)
        first = supervisor.executions.inspect()
        while supervisor.active:
            shots = supervisor.executions.inspect(live_only=True)
            lengths.append(sum(shot.state == "queued" for shot in shots))
            assert [shot.queue_position for shot in shots if shot.state == "queued"] == list(range(1, lengths[-1] + 1))
            await trio.sleep(20)

    assert most == 4
    assert values == list(range(800))
    assert lengths == [796 - 80 * n for n in range(10)]
    assert {shot.capacity for shot in first if shot.state == "active"} == {("tool:default:fetch",)}
    assert Counter(shot.waits_for for shot in first) == {None: 4, "capacity:tool:default:fetch": 796}


@requirement("engine.crowd")
async def test_a_crowd_that_waits_is_admitted_inspected_and_aborted(autojump_clock: trio.abc.Clock) -> None:
    count = 100_000 if SOAKING else 5_000

    @tool(effect="read-only")
    async def wait() -> None:
        await trio.sleep_forever()

    limits, retention = Limits(concurrent=count // 10, per_owner=count // 20), Retention(count=count)
    async with open_supervisor(Toolbox([wait]), limits=limits, retention=retention) as supervisor:
        executions = [supervisor.start(ToolCall("wait"), owner_id=OWNERS[n % 3]) for n in range(count)]
        await trio.testing.wait_all_tasks_blocked()
        shots = supervisor.executions.inspect()
        of_one = supervisor.executions.inspect(owner_id=OWNERS[0])
        places = [shot.queue_position for shot in of_one if shot.queue_position is not None]
        answers = Counter(supervisor.abort("enough of these", owner_id=OWNERS[0]).values())
        await trio.testing.wait_all_tasks_blocked()
        left = supervisor.active
        report = await supervisor.shutdown("abort")
        usage = supervisor._core.planner.usage()  # pyright: ignore[reportPrivateUsage]  # what is held shows nowhere else

    assert len(shots) == count
    assert Counter(shot.state for shot in shots) == {"active": count // 10, "queued": count - count // 10}
    assert places == list(range(1, len(places) + 1))
    assert answers == {"requested": len(of_one) - len(places), "not-started": len(places)}
    assert left == count - len(of_one)
    assert report.ended == count
    assert {execution.snapshot.outcome for execution in executions} == {"error"}
    assert not any(used for used, _ in usage.values())
