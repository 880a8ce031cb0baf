"""`RateLimit` with a store: what hosts that share it get together, in which order, and what if it can't be asked."""

from __future__ import annotations

import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Final, cast

import pytest
import trio
import trio.testing

from armory_trio import (
    DefinitionError,
    Execution,
    MiddlewareCall,
    StoreUnavailable,
    Supervisor,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolResult,
    open_supervisor,
    tool,
)
from armory_trio.buckets import BucketStore, Rate, Taken
from armory_trio.middleware import RateLimit
from armory_trio.storage.memory import MemoryBuckets
from armory_trio.testing import run_seeded
from tests.engine.tools import count, watch
from tests.requirements import requirement

NOW: Final = ToolCall("watch", {"seconds": 0.0})
EPOCH: Final = 1_790_000_000.0
SEEDS: Final = 60


def clock() -> float:
    """What a server says, by the clock of the test."""
    return EPOCH + trio.current_time()


class Buckets:
    """Buckets in memory that take their time, and can be out of reach."""

    def __init__(self, *, delay: Callable[[], float] = lambda: 0.0) -> None:
        self.kept = MemoryBuckets(clock)
        self.delay = delay
        self.asked: list[int] = []
        self.fault: Exception | None = None

    def now(self) -> float:
        return self.kept.now()

    async def take(self, bucket: str, rate: Rate, most: int = 1, /) -> Taken:
        self.asked.append(most)
        await trio.sleep(self.delay())
        if self.fault is not None:
            raise self.fault
        taken = await self.kept.take(bucket, rate, most)
        await trio.sleep(self.delay())
        return taken


def allowed(results: list[ToolResult[object]]) -> list[bool]:
    return [result.outcome == "success" for result in results]


def waits(result: ToolResult[object]) -> object:
    assert result.error is not None
    assert result.error.details is not None
    return result.error.details["retry_after"]


@requirement("rate-limit.shared")
async def test_hosts_that_share_a_store_share_the_buckets_of_one_name(autojump_clock: trio.testing.MockClock) -> None:
    store = Buckets()

    def limited(name: str) -> Toolbox:
        return Toolbox([watch], middleware=[RateLimit(4, per=10.0, store=store, name=name)])

    async with (
        open_supervisor(limited("fetches")) as one,
        open_supervisor(limited("fetches")) as two,
        open_supervisor(limited("others")) as other,
    ):
        assert allowed(await one.execute_batch([NOW] * 3)) == [True] * 3
        assert sum(allowed(await two.execute_batch([NOW] * 3))) == 1
        refused = await one.execute(NOW)
        assert refused.error is not None
        assert (refused.error.code, refused.error.category, refused.effect) == ("RATE_LIMITED", "transient", "none")
        assert waits(refused) == pytest.approx(2.5, abs=1e-5)
        assert sum(allowed(await other.execute_batch([NOW] * 5))) == 4
        await trio.sleep(2.5001)
        assert (await two.execute(NOW)).outcome == "success"
        assert (await one.execute(NOW)).outcome == "error"


@requirement("rate-limit.shared")
async def test_a_shared_stream_counts_once_for_each_attempt(autojump_clock: trio.testing.MockClock) -> None:
    limit = RateLimit(2, per=10.0, store=Buckets(), name="streams")
    async with open_supervisor(Toolbox([count], middleware=[limit])) as supervisor:
        results = [await supervisor.execute(ToolCall("count", {"upto": 3})) for _ in range(3)]

    assert allowed(results) == [True, True, False]


@requirement("rate-limit.shared", "rate-limit.by")
async def test_a_shared_bucket_is_for_one_owner_or_for_what_a_function_says() -> None:
    def by_number(call: MiddlewareCall, _ctx: ToolContext) -> tuple[str, int | None]:
        return "seconds", int(cast("float", call.arguments["seconds"]))

    def by_object(_call: MiddlewareCall, _ctx: ToolContext) -> object:
        return object()

    store = Buckets()
    by_owner = RateLimit(1, per=10.0, by="owner", store=store, name="owner")
    async with open_supervisor(Toolbox([watch], middleware=[by_owner])) as supervisor:
        owners = ("ada", "bob", None, "ada")
        assert allowed([await supervisor.execute(NOW, owner_id=owner) for owner in owners]) == [True] * 3 + [False]
    by_answer = RateLimit(1, per=10.0, by=by_number, store=store, name="answer")
    async with open_supervisor(Toolbox([watch], middleware=[by_answer])) as supervisor:
        assert allowed([await supervisor.execute(NOW) for _ in range(2)]) == [True, False]
    by_nothing = RateLimit(1, per=10.0, by=by_object, store=store, name="nothing")
    async with open_supervisor(Toolbox([watch], middleware=[by_nothing])) as supervisor:
        result = await supervisor.execute(NOW)
        assert result.error is not None
        assert "can't tell buckets apart by an object" in result.error.message


@requirement("rate-limit.shared-order")
async def test_who_waits_for_a_shared_bucket_is_served_in_order_and_asked_for_together(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = Buckets(delay=lambda: 0.01)
    began: list[tuple[str, float]] = []

    @tool(effect="read-only")
    async def note(name: str) -> None:
        """Note when it begins."""
        began.append((name, round(trio.current_time() - start, 3)))

    limit = RateLimit(2, per=2.0, max_wait=None, store=store, name="notes")
    async with open_supervisor(Toolbox([note], middleware=[limit])) as supervisor:
        start = trio.current_time()
        executions: list[Execution] = []
        for name in "abcdef":
            executions.append(supervisor.start(ToolCall("note", {"name": name})))
            await trio.testing.wait_all_tasks_blocked(0.001)
        await trio.sleep(0.5)
        shown = [execution.snapshot.declared_wait for execution in executions]
        for execution in executions:
            await execution.settled()

    assert [name for name, _ in began] == list("abcdef")
    assert shown == [None, None] + ["rate limit"] * 4
    assert [round(at) for _, at in began] == [0, 0, 1, 2, 3, 4]
    assert store.asked[0] == 1  # the first comes alone, and whoever comes while it is asked for, together
    assert max(store.asked) == 5
    assert len(store.asked) <= 7


@requirement("rate-limit.shared-order")
async def test_who_would_wait_too_long_for_a_shared_bucket_is_refused_at_once(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = Buckets()
    limit = RateLimit(1, per=2.0, max_wait=5.0, store=store, name="watches")
    async with open_supervisor(Toolbox([watch], middleware=[limit])) as supervisor:
        began = trio.current_time()
        executions = [supervisor.start(NOW) for _ in range(5)]
        await trio.sleep(0.1)
        ended = sorted(str(execution.snapshot.outcome) for execution in executions)
        asked = len(store.asked)
        late = await supervisor.execute(NOW)
        assert trio.current_time() == began + 0.1
        results = [await execution.result() for execution in executions]

    assert ended == ["None", "None", "error", "error", "success"]
    assert sum(allowed(results)) == 3
    refusals = [waits(result) for result in results if result.outcome == "error"]
    assert refusals == [pytest.approx(6.0, abs=1e-5)] * 2
    assert waits(late) == pytest.approx(5.9, abs=1e-5)
    assert len(store.asked) <= asked + 2  # the last one did not have to ask


@requirement("rate-limit.shared-order")
async def test_who_gives_up_waiting_for_a_shared_bucket_takes_nothing(autojump_clock: trio.testing.MockClock) -> None:
    store = Buckets()
    limit = RateLimit(1, per=10.0, max_wait=None, store=store, name="watches")
    async with open_supervisor(Toolbox([watch], middleware=[limit])) as supervisor:
        began = trio.current_time()
        await supervisor.execute(NOW)
        first, second, third = (supervisor.start(NOW) for _ in range(3))
        await trio.sleep(1)
        first.abort("no more")
        await trio.sleep(1)
        third.abort("no more")
        assert (await second.result()).outcome == "success"
        assert round(trio.current_time() - began, 2) == 10.0
        assert (await supervisor.execute(NOW)).outcome == "success"
        assert round(trio.current_time() - began, 2) == 20.0


async def compete(seed: int) -> None:
    """Hosts that want more than there is, with clocks, delays and patience of all kinds."""
    chance = random.Random(seed)  # noqa: S311 - chance, and nothing secret
    calls, per, burst = chance.choice(((1, 1.0, 1), (4, 2.0, 3), (2, 1.0, 5)))
    store = Buckets(delay=lambda: chance.choice((0.0, 0.0, 0.05)))
    began: list[float] = []
    arrived: dict[int, list[int]] = {}
    served: dict[int, list[int]] = {}

    @tool(effect="read-only")
    async def note(host: int, number: int) -> None:
        """Note that it begins."""
        began.append(store.now())
        served.setdefault(host, []).append(number)

    async def host(number: int) -> None:
        patience = chance.choice((0.0, 1.5, None))
        limit = RateLimit(calls, per=per, burst=burst, max_wait=patience, store=store, name="notes")
        async with open_supervisor(Toolbox([note], middleware=[limit])) as supervisor, trio.open_nursery() as nursery:
            for index in range(12):
                arrived.setdefault(number, []).append(index)
                nursery.start_soon(ask, supervisor, number, index)
                await trio.sleep(chance.choice((0.001, 0.1, 0.5)))

    async def ask(supervisor: Supervisor, number: int, index: int) -> None:
        with trio.move_on_after(chance.choice((0.3, 5.0, 100.0))):
            await supervisor.execute(ToolCall("note", {"host": number, "number": index}))

    async with trio.open_nursery() as nursery:
        for number in range(3):
            nursery.start_soon(host, number)

    # A call begins when its host has heard of it: up to two delays after the store let it through.
    late = 0.1
    for index, first in enumerate(began):
        for last in range(index, len(began)):
            stretch = began[last] - first + late
            assert last - index + 1 <= burst + stretch * calls / per + 1e-3
    for number, numbers in served.items():
        assert numbers == sorted(numbers), number


@requirement("rate-limit.shared", "rate-limit.shared-order", "rate-limit.never-more")
def test_whatever_hosts_want_no_stretch_of_time_sees_more_than_the_limit_and_nobody_is_overtaken() -> None:
    for seed in range(SEEDS):
        run_seeded(compete, seed, seed=seed)


# ── Out of reach ─────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("rate-limit.unavailable")
async def test_without_its_store_a_call_is_refused_unless_the_limit_says_otherwise(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = Buckets()
    store.fault = StoreUnavailable("postgresql://db.example/armory", "the connection was lost")
    limit = RateLimit(2, per=10.0, store=store, name="watches")
    async with open_supervisor(Toolbox([watch], middleware=[limit])) as supervisor:
        result = await supervisor.execute(NOW)
        assert result.error is not None
        assert (result.error.category, result.error.code) == ("unavailable", "RATE_LIMIT_UNAVAILABLE")
        assert (result.effect, result.attempts) == ("none", 0)
        assert "db.example" not in result.text
        store.fault = None
        assert (await supervisor.execute(NOW)).outcome == "success"

    store.fault = OSError("the network is down")
    limit = RateLimit(2, per=10.0, store=store, name="watches", when_unavailable="allow")
    async with open_supervisor(Toolbox([watch], middleware=[limit])) as supervisor:
        assert allowed(await supervisor.execute_batch([NOW] * 5)) == [True] * 5

    limit = RateLimit(2, per=10.0, store=store, name="watches", when_unavailable="local")
    async with open_supervisor(Toolbox([watch], middleware=[limit])) as supervisor:
        results = await supervisor.execute_batch([NOW] * 5)
        assert sum(allowed(results)) == 2
        assert {waits(result) for result in results if result.outcome == "error"} == {5.0}
        store.fault = None
        assert (await supervisor.execute(NOW)).outcome == "success"  # there was one left in the store


@requirement("rate-limit.unavailable")
async def test_those_who_wait_together_learn_together_that_the_store_is_gone(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = Buckets(delay=lambda: 3.0)
    store.fault = StoreUnavailable("store.db", "no answer within the timeout", maybe_done=True)
    limit = RateLimit(2, per=10.0, max_wait=None, store=store, name="watches")
    async with open_supervisor(Toolbox([watch], middleware=[limit])) as supervisor:
        began = trio.current_time()
        results = await supervisor.execute_batch([NOW] * 50)

    assert allowed(results) == [False] * 50
    assert trio.current_time() - began == 3.0
    assert len(store.asked) == 1


# ── Definitions ──────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("rate-limit.definition")
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: RateLimit(1, per=1.0, store=MemoryBuckets()), "name: is missing"),
        (lambda: RateLimit(1, per=1.0, name="x"), "name: is for limits that hosts share"),
        (lambda: RateLimit(1, per=1.0, store=MemoryBuckets(), name=" "), "name: is blank"),
        (
            lambda: RateLimit(1, per=1.0, store=cast("BucketStore", "store.db"), name="x"),
            "store: must be a BucketStore",
        ),
        (
            lambda: RateLimit(
                1, per=1.0, store=cast("BucketStore", SimpleNamespace(buckets=MemoryBuckets())), name="x"
            ),
            "store: must be a BucketStore .*; give its buckets",
        ),
        (lambda: RateLimit(10**6, per=1.0, store=MemoryBuckets(), name="x"), "per: lets more than 10000 calls begin"),
        (
            lambda: RateLimit(1, per=1.0, when_unavailable=cast("object", "wait")),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
            "when_unavailable: 'wait' is not one of refuse, allow, local",
        ),
    ],
    ids=["nameless", "storeless", "blank", "no-store", "all-of-it", "too-often", "no-choice"],
)
def test_a_shared_limit_that_makes_no_sense_is_refused(make: Callable[[], RateLimit], said: str) -> None:
    with pytest.raises(DefinitionError, match=said):
        make()
