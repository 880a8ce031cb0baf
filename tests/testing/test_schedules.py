"""Schedules by seed: chosen, replayed, searched, and undone afterwards."""

from __future__ import annotations

import importlib
import inspect
import itertools
import math
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Final, cast

import pytest
import trio
import trio.testing

from armory_trio import Limits, Toolbox, ToolCall, open_supervisor, tool
from armory_trio.testing import ScheduleFailure, UnsupportedTrio, explore, run_seeded
from tests.requirements import requirement

HOME: Final[ModuleType] = importlib.import_module("trio._core._run")
FLAG: Final = "_ALLOW_DETERMINISTIC_SCHEDULING"


async def order(count: int = 4) -> tuple[int, ...]:
    """The order in which tasks that are ready at once get their turn."""
    found: list[int] = []

    async def note(number: int) -> None:
        found.append(number)

    async with trio.open_nursery() as nursery:
        for number in range(count):
            nursery.start_soon(note, number)
    return tuple(found)


@requirement("testing.seed")
def test_every_order_has_a_seed_and_every_seed_one_order() -> None:
    by_seed = {seed: run_seeded(order, seed=seed) for seed in range(200)}

    assert set(by_seed.values()) == set(itertools.permutations(range(4)))
    assert {seed: run_seeded(order, seed=seed) for seed in range(200)} == by_seed


@requirement("testing.seed")
def test_random_numbers_alone_would_reach_hardly_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HOME, FLAG, False)
    state = HOME._r.getstate()
    reached: set[tuple[int, ...]] = set()
    for seed in range(200):
        HOME._r.seed(seed)
        reached.add(trio.run(order))
    HOME._r.setstate(state)

    assert len(reached) == 2


CHILD: Final = """
import trio
from armory_trio import Limits, ToolCall, open_supervisor
from armory_trio.testing import run_seeded, sample_toolbox

async def trace():
    told = []
    async with open_supervisor(sample_toolbox(), limits=Limits(concurrent=2)) as supervisor:
        async with supervisor.events() as events:
            for number in range(6):
                supervisor.start(ToolCall("sleep", {"seconds": number % 2}), owner_id=f"owner {number % 3}")
            supervisor.start(ToolCall("relay", {"name": "sleep", "arguments": {"seconds": 1}}))
            await supervisor.wait_idle()
            with trio.move_on_after(1):
                async for event in events:
                    told.append((type(event).__name__, getattr(event, "execution_id", ""), event.at))
    return told

print([run_seeded(trace, seed=seed) for seed in range(5)])
"""


@requirement("testing.seed", "testing.ids")
def test_a_seed_means_the_same_in_every_process() -> None:
    told = [
        subprocess.run(
            [sys.executable, "-c", CHILD],
            env=os.environ | {"PYTHONHASHSEED": hashes},
            check=True,
            capture_output=True,
            encoding="utf-8",
        ).stdout
        for hashes in ("1", "2")
    ]

    assert told[0] == told[1]
    assert "ExecutionSettled" in told[0]


@requirement("testing.seed")
def test_time_is_mocked_and_a_clock_of_ones_own_may_be_given() -> None:
    async def nap() -> float:
        await trio.sleep(86_400)
        return trio.current_time()

    assert run_seeded(nap, seed=1) == 86_400
    assert run_seeded(nap, seed=1, clock=trio.testing.MockClock(rate=0, autojump_threshold=0)) == 86_400


@requirement("testing.seed.restores")
@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("fails", [True, False])
def test_afterwards_trio_goes_on_as_if_nothing_had_been(
    flag: bool, fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HOME, FLAG, flag)
    state = HOME._r.getstate()

    async def scenario() -> None:
        assert getattr(HOME, FLAG) is True
        if fails:
            raise KeyError

    try:
        run_seeded(scenario, seed=1)
    except KeyError:
        assert fails
    else:
        assert not fails

    assert getattr(HOME, FLAG) is flag
    assert HOME._r.getstate() == state


@requirement("testing.seed.refuses")
async def test_within_a_trio_run_no_schedule_can_be_chosen() -> None:
    with pytest.raises(RuntimeError, match="a trio run is going on"):
        run_seeded(order, seed=1)
    with pytest.raises(RuntimeError, match="a trio run is going on"):
        explore(order, seeds=[1])


@requirement("testing.seed.refuses")
def test_beside_another_seeded_run_no_schedule_can_be_chosen() -> None:
    inside, over = threading.Event(), threading.Event()

    async def wait() -> None:
        inside.set()
        over.wait(30)

    other = threading.Thread(target=run_seeded, args=(wait,), kwargs={"seed": 1})
    other.start()
    try:
        assert inside.wait(30)
        with pytest.raises(RuntimeError, match="another seeded run"):
            run_seeded(order, seed=1)
    finally:
        over.set()
        other.join(30)
    assert len(run_seeded(order, seed=1)) == 4


def _without_generator(patch: pytest.MonkeyPatch) -> None:
    patch.delattr(HOME, "_r")


def _with_another_generator(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(HOME, "_r", object())


def _without_flag(patch: pytest.MonkeyPatch) -> None:
    patch.delattr(HOME, FLAG)


def _moved(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(sys.modules, "trio._core._run", cast("ModuleType", None))


@requirement("testing.seed.refuses")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_without_generator, "is no random.Random"),
        (_with_another_generator, "is no random.Random"),
        (_without_flag, "is no flag"),
        (_moved, "there is no trio._core._run"),
    ],
)
def test_a_trio_whose_schedule_cannot_be_chosen_is_named(
    change: Callable[[pytest.MonkeyPatch], None], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        change(patch)
        with pytest.raises(UnsupportedTrio, match=f"trio {trio.__version__} .*{words}"):
            run_seeded(order, seed=1)
        with pytest.raises(UnsupportedTrio):
            explore(order)
    assert len(run_seeded(order, seed=1)) == 4


@requirement("testing.seed.failure")
@pytest.mark.parametrize("raised", [ValueError("no"), KeyboardInterrupt(), SystemExit(3)])
def test_whatever_leaves_names_its_seed(raised: BaseException) -> None:
    async def fail() -> None:
        raise raised

    with pytest.raises(type(raised)) as caught:
        run_seeded(fail, seed=7)

    assert caught.value is raised
    assert caught.value.__notes__ == ["This was under seed 7: run_seeded(..., seed=7) repeats it."]


async def depends_on_order(wanted: tuple[int, ...]) -> None:
    assert await order(len(wanted)) != wanted


@requirement("testing.seed.failure")
def test_the_first_schedule_that_fails_is_named_and_fails_again() -> None:
    with pytest.raises(ScheduleFailure, match=r"run_seeded\(\.\.\., seed=") as caught:
        explore(depends_on_order, (2, 0, 3, 1), seeds=range(500))

    failure = caught.value
    assert isinstance(failure.__cause__, AssertionError)
    assert failure.tried == failure.seed
    for seed in range(failure.seed):
        run_seeded(depends_on_order, (2, 0, 3, 1), seed=seed)
    with pytest.raises(AssertionError):
        run_seeded(depends_on_order, (2, 0, 3, 1), seed=failure.seed)


@requirement("testing.seed.failure")
def test_a_search_finds_what_a_single_run_hardly_meets() -> None:
    """Two tools that read, wait and write: an update is lost under some schedules only."""

    async def lose_an_update() -> None:
        stock = {"apples": 0}

        @tool
        async def add_one() -> None:
            found = stock["apples"]
            await trio.lowlevel.checkpoint()
            stock["apples"] = found + 1

        async with open_supervisor(Toolbox([add_one]), limits=Limits(concurrent=2)) as supervisor:
            first, second = supervisor.start(ToolCall("add_one")), supervisor.start(ToolCall("add_one"))
            await first.settled()
            await second.settled()
        assert stock["apples"] == 2

    with pytest.raises(ScheduleFailure):
        explore(lose_an_update, seeds=range(50))


@requirement("testing.seed.failure")
def test_a_search_counts_what_it_tried_and_refuses_to_try_nothing() -> None:
    assert explore(order, seeds=range(5)) == 5
    with pytest.raises(ValueError, match="nothing was tried"):
        explore(order, seeds=[])


@requirement("testing.seed.function")
@pytest.mark.parametrize("start", [partial(run_seeded, seed=1), explore], ids=["run_seeded", "explore"])
def test_a_scenario_that_was_called_already_is_refused_with_what_to_give(start: Callable[..., object]) -> None:
    called = order()

    with pytest.raises(TypeError, match=r"give the async function itself, not its call: order, not order\(\.\.\.\)"):
        start(called)

    assert inspect.getcoroutinestate(called) == inspect.CORO_CLOSED
    with pytest.raises(TypeError, match="'order' is no async function; give the function itself"):
        start("order")


@requirement("testing.seed.function")
@pytest.mark.parametrize("start", [partial(run_seeded, seed=1), explore], ids=["run_seeded", "explore"])
def test_a_plain_function_is_no_scenario_whatever_the_seed(start: Callable[..., object]) -> None:
    def plain() -> int:
        return 3

    with pytest.raises(TypeError, match=r"plain.* gave 3, which cannot be awaited; give an async function") as caught:
        start(plain)

    assert not getattr(caught.value, "__notes__", [])
    assert run_seeded(lambda: order(1), seed=1) == (0,)  # what it gives can be awaited


@requirement("testing.seed.failure")
def test_an_interrupt_ends_a_search_as_it_is() -> None:
    async def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        explore(interrupt, seeds=[3])


@requirement("testing.seed.hang")
def test_a_scenario_that_waits_for_ever_fails() -> None:
    async def wait() -> None:
        await trio.sleep_forever()

    with pytest.raises(trio.TooSlowError):
        run_seeded(wait, seed=1)
    with pytest.raises(ScheduleFailure) as caught:
        explore(wait, seeds=[1], within=60)
    assert isinstance(caught.value.__cause__, trio.TooSlowError)
    with pytest.raises(trio.TooSlowError):
        run_seeded(trio.sleep, 61, seed=1, within=60)
    assert run_seeded(trio.sleep, 10**9, seed=1, within=math.inf) is None
