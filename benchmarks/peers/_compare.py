"""Samples of everybody in turn, each between two of the base."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final, Literal

import msgspec

from benchmarks._measure import Ratios, compare
from benchmarks._sample import Sample

from ._processes import Introduction, Worker, WorkerError, open_worker

_SECONDS: Final = 0.15
"""How long one sample takes where the number of calls is free: short, since machines change their speed meanwhile."""

_CALLS: Final = (20, 5_000)
"""The fewest and the most calls of such a sample."""

Quantity = Literal["time", "processor", "bytes"]
"""What counts of a sample. The time of the processor is for what never waits: other programs do not count in it."""

Command = Sequence[str]
Tell = Callable[[str], None]


class Measure(msgspec.Struct, frozen=True, kw_only=True):
    """What all of them are asked to do.

    Args:
        name: What the workers call it.
        count: How much of it is one sample; None for as much as takes a moment.
        rounds: How many samples are taken of each.
        fresh: Whether each sample is taken in a process of its own.
    """

    name: str
    count: int | None
    rounds: int
    fresh: bool = False


class Found(msgspec.Struct, frozen=True):
    """What was found out about one contender by one measure.

    Args:
        samples: Its own.
        around: Those of the base before and after each.
        error: Why there are none, or no more.
    """

    contender: str
    measure: str
    api: str
    samples: tuple[Sample, ...]
    around: tuple[tuple[Sample, Sample], ...]
    error: str | None = None

    def ratios(self, quantity: Quantity) -> Ratios | None:
        """How often it costs what the base costs; None when there are no samples."""
        if not self.samples or self.error is not None:
            return None
        costs = [_cost(sample, quantity) for sample in self.samples]
        return compare(costs, [(_cost(one, quantity), _cost(two, quantity)) for one, two in self.around])


def _cost(sample: Sample, quantity: Quantity) -> float:
    return {"time": sample.wall, "processor": sample.cpu, "bytes": sample.size}[quantity] / sample.units


class _Runner:
    """One contender, for one measure."""

    def __init__(self, name: str, command: Command, worker: Worker | None, api: str) -> None:
        self.name = name
        self.api = api
        self.error: str | None = None
        self.samples: list[Sample] = []
        self.around: list[tuple[Sample, Sample]] = []
        self._command = command
        self._worker = worker

    async def sample(self, measure: Measure, count: int) -> Sample:
        """Take one sample.

        Raises:
            WorkerError: There is none.
        """
        if self._worker is not None:
            return await self._worker.sample(measure.name, count)
        async with open_worker(self._command) as worker:
            await worker.introduction()
            return await worker.sample(measure.name, count)

    async def calibrate(self, measure: Measure) -> int:
        """How much a sample is to be.

        Raises:
            WorkerError: It cannot do this at all.
        """
        if measure.count is not None:
            return measure.count
        fewest, most = _CALLS
        first = await self.sample(measure, fewest)
        return max(fewest, min(most, round(_SECONDS / (first.wall / first.units))))

    def found(self, measure: Measure) -> Found:
        """All that there is."""
        return Found(self.name, measure.name, self.api, tuple(self.samples), tuple(self.around), self.error)


class Contest:
    """Everybody who could be started, each with a worker that stays."""

    def __init__(self, base: str, commands: Mapping[str, Command]) -> None:
        self.introductions: dict[str, Introduction] = {}
        self.missing: dict[str, str] = {}
        self._base = base
        self._commands = commands
        self._workers: dict[str, Worker] = {}

    async def enter(self, name: str, stack: AsyncExitStack) -> None:
        """Start the worker of *name*, which goes to `missing` where that fails."""
        worker = await stack.enter_async_context(open_worker(self._commands[name]))
        try:
            self.introductions[name] = await worker.introduction()
        except WorkerError as error:
            self.missing[name] = str(error)
        else:
            self._workers[name] = worker

    async def run(self, measure: Measure, tell: Tell) -> list[Found]:
        """Measure everybody in turn, the base between any two.

        Raises:
            WorkerError: The base itself gave no sample.
        """
        base = self._runner(self._base, measure)
        others = [self._runner(name, measure) for name in self._workers if name != self._base]
        counts = {base.name: await base.calibrate(measure)}
        for other in others:
            try:
                counts[other.name] = await other.calibrate(measure)
            except WorkerError as error:
                other.error = str(error)
        before = await base.sample(measure, counts[base.name])
        for number in range(measure.rounds):
            for other in others:
                tell(f"{measure.name}: round {number + 1} of {measure.rounds}, {other.name}")
                before = await self._one_pair(measure, other, before, counts)
        return [other.found(measure) for other in others]

    async def _one_pair(self, measure: Measure, other: _Runner, before: Sample, counts: Mapping[str, int]) -> Sample:
        if other.error is not None:
            return before
        try:
            sample = await other.sample(measure, counts[other.name])
        except WorkerError as error:
            other.error = str(error)
            return before
        after = await self._runner(self._base, measure).sample(measure, counts[self._base])
        other.samples.append(sample)
        other.around.append((before, after))
        return after

    def _runner(self, name: str, measure: Measure) -> _Runner:
        worker = None if measure.fresh else self._workers[name]
        return _Runner(name, self._commands[name], worker, self.introductions[name].apis.get(measure.name, ""))


@asynccontextmanager
async def open_contest(base: str, commands: Mapping[str, Command]) -> AsyncGenerator[Contest]:
    """Start everybody; all workers have ended when the block is left.

    Raises:
        WorkerError: The base cannot be started.
    """
    contest = Contest(base, commands)
    async with AsyncExitStack() as stack:
        for name in commands:
            await contest.enter(name, stack)
        if base in contest.missing:
            raise WorkerError(contest.missing[base])
        yield contest
