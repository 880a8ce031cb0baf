"""Schedules by seed: the order in which trio runs its tasks, chosen, tried out and repeated.

Trio shuffles the tasks that are ready, with a private generator of random numbers, and only deterministically when a
private flag is set. Both are what trio's own support for Hypothesis uses, and neither is promised to anyone; so they
are looked for before they are used.
"""

from __future__ import annotations

import importlib
import inspect
import random
import threading
from collections.abc import Awaitable, Callable, Generator, Iterable
from contextlib import contextmanager
from types import ModuleType
from typing import Final, TypeVar

import trio
import trio.testing

from ..errors import ArmoryError
from ._ids import fixed_ids

R = TypeVar("R")

WEEK: Final = 7 * 86_400.0

_HOME: Final = "trio._core._run"
_FLAG: Final = "_ALLOW_DETERMINISTIC_SCHEDULING"
_GENERATOR: Final = "_r"
_busy: Final = threading.Lock()


class UnsupportedTrio(ArmoryError):
    """The installed trio has no private schedule that a seed could choose, or not where it was."""

    __module__ = "armory_trio.testing"


class ScheduleFailure(ArmoryError):
    """A scenario failed under one schedule; ``__cause__`` is how.

    Args:
        seed: The seed of that schedule: `run_seeded` with it fails the same way.
        tried: How many schedules had passed before it.
        cause: What the scenario raised.
    """

    __module__ = "armory_trio.testing"

    def __init__(self, seed: int, tried: int, cause: Exception) -> None:
        super().__init__(
            f"fails under seed {seed}, after {tried} that passed ({type(cause).__name__}); "
            f"run_seeded(..., seed={seed}) repeats it"
        )
        self.seed = seed
        self.tried = tried


def run_seeded(
    scenario: Callable[..., Awaitable[R]],
    *args: object,
    seed: int,
    clock: trio.testing.MockClock | None = None,
    within: float = WEEK,
) -> R:
    """Run ``await scenario(*args)`` under the schedule that *seed* stands for, and return what it returns.

    The same seed gives the same order of tasks, times and ids, in every process, as long as the scenario itself does
    not depend on anything else: no threads, processes or sockets, no clock but trio's, no random numbers but from a
    generator of its own. `inline` takes the threads out of a toolbox.

    Args:
        scenario: An async function. It is run by a ``trio.run`` of its own.
        args: What it is called with.
        seed: Which schedule.
        clock: By default a new ``MockClock`` that jumps when all tasks wait.
        within: Seconds on that clock after which it is cancelled. A scenario in which everybody waits for ever is
            there at once.

    Raises:
        trio.TooSlowError: It was not over *within* the time: something waits for what never comes.
        TypeError: The scenario is no async function, but perhaps what one was called to.
        UnsupportedTrio: This version of trio does not let its schedule be chosen.
        RuntimeError: A trio run, or another seeded one, is going on.

    What the scenario raises leaves as it is, with a note that names the seed.
    """
    _require_function(scenario)
    if clock is None:
        clock = trio.testing.MockClock(autojump_threshold=0)

    async def bounded() -> R:
        with trio.fail_after(within):
            going = scenario(*args)
            if not inspect.isawaitable(going):
                raise NotAsync(f"{scenario!r} gave {going!r}, which cannot be awaited; give an async function")
            return await going

    with _schedule(seed), fixed_ids():
        try:
            return trio.run(bounded, clock=clock)
        except NotAsync:  # whatever the seed
            raise
        except BaseException as exc:
            exc.add_note(f"This was under seed {seed}: run_seeded(..., seed={seed}) repeats it.")
            raise


def explore(
    scenario: Callable[..., Awaitable[object]],
    *args: object,
    seeds: Iterable[int] = range(1000),
    within: float = WEEK,
) -> int:
    """Run *scenario* under one schedule after the other, each with a mock clock of its own.

    Args:
        scenario: An async function, which makes all that it uses anew in each run.
        args: What it is called with.
        seeds: Which schedules.
        within: Seconds on the mock clock that each run may take.

    Returns:
        How many schedules it was run under.

    Raises:
        ScheduleFailure: It failed under one of them; the others were not tried.
        ValueError: There are no seeds, so nothing was tried.
        TypeError, UnsupportedTrio, RuntimeError: As `run_seeded`.
    """
    _require_function(scenario)
    tried = 0
    for seed in seeds:
        with _failing_under(seed, tried):
            run_seeded(scenario, *args, seed=seed, within=within)
        tried += 1
    if not tried:
        raise ValueError("no seeds were given, so nothing was tried")
    return tried


@contextmanager
def _failing_under(seed: int, tried: int) -> Generator[None]:
    try:
        yield
    except (NotAsync, UnsupportedTrio, SeededRunGoingOn):
        raise
    except Exception as exc:
        raise ScheduleFailure(seed, tried, exc) from exc


class NotAsync(TypeError):
    """What was given as a scenario can be run under no schedule at all."""


def _require_function(scenario: object) -> None:
    if inspect.iscoroutine(scenario):
        scenario.close()  # else Python would complain that nobody awaited it
        raise NotAsync(
            f"give the async function itself, not its call: {scenario.__name__}, not {scenario.__name__}(...); "
            "what it is called with comes after it"
        )
    if not callable(scenario):
        raise NotAsync(f"{scenario!r} is no async function; give the function itself")


class SeededRunGoingOn(RuntimeError):
    """A schedule is chosen for the whole process, so there can be only one."""


@contextmanager
def _schedule(seed: int) -> Generator[None]:
    """Let *seed* choose what trio's scheduler does; afterwards it goes on as if nothing had been."""
    if _is_running():
        raise SeededRunGoingOn("a trio run is going on in this thread; call this from a plain function")
    home, generator = _internals()
    if not _busy.acquire(blocking=False):
        raise SeededRunGoingOn("another seeded run is going on in this process")
    state, flag = generator.getstate(), getattr(home, _FLAG)
    try:
        generator.seed(seed)
        setattr(home, _FLAG, True)
        yield
    finally:
        setattr(home, _FLAG, flag)
        generator.setstate(state)
        _busy.release()


def _is_running() -> bool:
    try:
        trio.current_time()
    except RuntimeError:
        return False
    return True


def _internals() -> tuple[ModuleType, random.Random]:
    """The module of trio's scheduler and its generator of random numbers, if they are as we know them.

    Raises:
        UnsupportedTrio: They are not.
    """
    try:
        home = importlib.import_module(_HOME)
    except ImportError as exc:
        raise UnsupportedTrio(_advice(f"there is no {_HOME}")) from exc
    generator = getattr(home, _GENERATOR, None)
    if not isinstance(generator, random.Random):
        raise UnsupportedTrio(_advice(f"{_HOME}.{_GENERATOR} is no random.Random"))
    if not isinstance(getattr(home, _FLAG, None), bool):
        raise UnsupportedTrio(_advice(f"{_HOME}.{_FLAG} is no flag"))
    return home, generator


def _advice(found: str) -> str:
    return (
        f"trio {trio.__version__} does not let its schedule be chosen: {found}. "
        f"trio 0.35 did. Please report it; MockClock and autojump_clock work without seeds"
    )
