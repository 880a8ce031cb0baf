"""Runs one program of the model test under one seed, and says what was wrong."""

from __future__ import annotations

import logging
import traceback
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import AbstractAsyncContextManager, contextmanager, suppress

import trio
import trio.testing

from armory_trio import (
    Budget,
    Lagged,
    Retention,
    Supervisor,
    open_supervisor,
)
from armory_trio.journal import JournalStore
from armory_trio.testing import run_seeded
from tests.engine import model_programs as do
from tests.engine.model_checks import Witness, check_quiescent, every_step_checked, tasks_alive
from tests.engine.model_clients import Clients
from tests.engine.model_tools import BODIES, TOOLBOX
from tests.engine.model_world import World

_LOOKS_EVERY = 0.7
_ALL = 1_000_000
_LAST = 900.0
"""Seconds after which every program is over, unless something hangs."""


class Boom(Exception):
    """Raised by the block of the supervisor."""


class Faulty(AssertionError):
    """The engine did what the model says that it must not do."""


class Watchers:
    """One reader of each feed that keeps up, from the first moment to the last."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.events: list[int] = []
        self.revisions: dict[str, int] = {}
        self.seen: Counter[str] = Counter()
        self.missed = self.forgotten = 0

    async def follow_events(self, *, task_status: trio.TaskStatus[None]) -> None:
        async with self._world.supervisor.events(include_payloads=True, buffer=_ALL) as events:
            task_status.started()
            async for event in events:
                if isinstance(event, Lagged):
                    self._world.fault("a reader that keeps up is told that it lags")
                self.events.append(event.sequence)

    async def follow_snapshots(self, *, task_status: trio.TaskStatus[None]) -> None:
        async with self._world.supervisor.executions.subscribe() as updates:
            task_status.started()
            async for snapshot in updates:
                if snapshot.revision <= self.revisions.get(snapshot.execution_id, 0):
                    self._world.fault(f"{snapshot.execution_id} was shown again: {snapshot.revision}")
                self.revisions[snapshot.execution_id] = snapshot.revision
                self.seen[snapshot.execution_id] += 1
                self.missed, self.forgotten = updates.missed, updates.forgotten

    def check(self, witness: Witness) -> None:
        """At the end: nothing was lost on the way."""
        if self.events != witness.sequences:
            self._world.fault(f"a reader got {len(self.events)} events of {len(witness.sequences)}")
        final = {identity: known.revision for identity, known in witness.known.items()}
        shown = {identity: revision for identity, revision in self.revisions.items() if identity in final}
        if not self.forgotten and self._world.bounds.kept == do.Bounds().kept:
            late = {identity: (revision, shown.get(identity)) for identity, revision in final.items()}
            behind = {identity: pair for identity, pair in late.items() if pair[1] is None or pair[1] < pair[0]}
            if behind:
                self._world.fault(f"a watcher never saw the last of {behind}")
            if sum(self.revisions.values()) != self.seen.total() + self.missed:
                self._world.fault(f"a watcher saw {self.seen.total()} revisions and missed {self.missed}")


class _Bugs(logging.Handler):
    def __init__(self, world: World) -> None:
        super().__init__(logging.ERROR)
        self._world = world

    def emit(self, record: logging.LogRecord) -> None:
        self._world.fault(f"the log says: {self.format(record)}")


async def _look(world: World, witness: Witness, outer: trio.Nursery) -> None:
    """Look at it whenever all tasks wait; end a run in which that goes on for ever."""
    while trio.current_time() < _LAST:
        await trio.testing.wait_all_tasks_blocked()
        check_quiescent(world)
        witness.check_quiescent()
        await trio.sleep(_LOOKS_EVERY)
    core = world.supervisor._core  # pyright: ignore[reportPrivateUsage]  # the only way out
    left = [(record.id, record.name, record.state) for record in core.live.values()]
    world.fault(f"it does not end: {left}")
    core.live.clear()
    core.stir()
    outer.cancel_scope.cancel()


def _nobody(_: Supervisor) -> object:
    """Attach nothing."""


async def run(
    program: do.Program, journal: JournalStore | None = None, attend: Callable[[Supervisor], object] = _nobody
) -> World:
    """Run *program*, and collect what was wrong. Its supervisor writes into *journal*; *attend* sees it first."""
    world = World(program.bounds)
    BODIES.play_in(world)
    alive = tasks_alive()
    with _told(world), every_step_checked(world):
        await _run(program, world, journal, attend)
    if tasks_alive() != alive:
        world.fault(f"{tasks_alive() - alive} tasks are left")
    return world


async def _run(
    program: do.Program, world: World, journal: JournalStore | None, attend: Callable[[Supervisor], object]
) -> None:
    clients, witness, watchers = Clients(world), Witness(world), Watchers(world)
    leaving = trio.CancelScope()
    async with trio.open_nursery() as outer:
        with suppress(Boom), leaving:
            async with _opened(program, world, journal) as supervisor:
                world.supervisor = supervisor
                attend(supervisor)
                supervisor._core.feed.add(witness)  # pyright: ignore[reportPrivateUsage]
                await outer.start(watchers.follow_events)
                await outer.start(watchers.follow_snapshots)
                outer.start_soon(_look, world, witness, outer)
                clients.start(program, outer)
                await _stay(program, clients)
                _go(program, leaving)
                await trio.lowlevel.checkpoint()
        _check_closed(world, witness)
        await clients.all_gone.wait()
        await trio.testing.wait_all_tasks_blocked()
        outer.cancel_scope.cancel()
    watchers.check(witness)


def _opened(program: do.Program, world: World, journal: JournalStore | None) -> AbstractAsyncContextManager[Supervisor]:
    bounds = program.bounds
    return open_supervisor(
        TOOLBOX,
        limits=world.limits(),
        budget=None if bounds.max_calls is None else Budget(max_calls=bounds.max_calls),
        retention=Retention(bounds.kept),
        drain_for=program.drain_for,
        cleanup_timeout=2.0,
        journal=journal,
    )


@contextmanager
def _told(world: World) -> Generator[None]:
    """What the engine logs as an error is one."""
    logger, handler = logging.getLogger("armory_trio"), _Bugs(world)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


async def _stay(program: do.Program, clients: Clients) -> None:
    if program.leave_at is None:
        await clients.all_gone.wait()
    else:
        await trio.sleep(program.leave_at)


def _go(program: do.Program, leaving: trio.CancelScope) -> None:
    if program.leave == "by an exception":
        raise Boom
    if program.leave == "cancelled":
        leaving.cancel()


def _check_closed(world: World, witness: Witness) -> None:
    supervisor: Supervisor = world.supervisor
    core = supervisor._core  # pyright: ignore[reportPrivateUsage]  # what is held shows nowhere else
    report = supervisor.report
    witness.check_all_ended()
    if supervisor.active:
        world.fault(f"{supervisor.active} are live after the end")
    if any(used for used, _ in core.planner.usage().values()) or core.planner.waiting_count:
        world.fault(f"slots are held after the end: {core.planner.usage()}, {core.planner.waiting_count} wait")
    if core.bugs:
        world.fault(f"bugs: {core.bugs}")
    if report is None:
        world.fault("there is no report")
        return
    told: dict[str, list[str]] = {"unknown": [], "terminal": []}
    for identity, known in witness.known.items():
        if known.settled is not None:
            told["unknown" if known.settled.state == "unknown-effect" else "terminal"].append(identity)
    if report.ended != len(witness.known) or report.unfinished or report.abandoned_threads:
        world.fault(f"the report says {report.ended} ended of {len(witness.known)}, {report.unfinished} did not")
    if world.bounds.kept == do.Bounds().kept:
        if sorted(shot.execution_id for shot in report.unknown_effects) != sorted(told["unknown"]):
            world.fault("the report does not name those with an unknown effect")
        if sorted(shot.execution_id for shot in report.terminal) != sorted(told["terminal"]):
            world.fault("the report does not name those that are terminal")
    uncertain = bool(told["unknown"] or report.cleanup_failures)
    if world.bounds.kept == do.Bounds().kept and report.exit_code != (3 if uncertain else 0):
        world.fault(f"the exit code is {report.exit_code}, and {uncertain=}")


def faults_of(program: do.Program, seed: int) -> list[str]:
    """Run *program* under *seed*, and say what was wrong."""
    try:
        return run_seeded(run, program, seed=seed).faults
    except Exception as exc:  # noqa: BLE001  # whatever leaves is a fault
        return [f"{line}" for line in traceback.format_exception(exc)[-1:]] + traceback.format_exception(exc)
