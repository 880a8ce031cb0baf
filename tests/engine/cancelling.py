"""Cancels a piece of work at each of its awaits, one run after the other.

A `Probe` counts the steps of the task that does the work; the runs after the first one cancel it at one of them: while
it is parked at an await, or when it has been woken and has not gone on yet.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Final, Literal, get_args

import trio

from armory_trio import Supervisor, ToolCall
from armory_trio.testing import run_seeded

Moment = Literal["parked", "woken"]
MOMENTS: Final[tuple[Moment, ...]] = get_args(Moment)
_TOO_MANY: Final = 500


class _Knife(trio.abc.Instrument):
    def __init__(self, probe: Probe, scope: trio.CancelScope, task: trio.lowlevel.Task) -> None:
        self._probe = probe
        self._scope = scope
        self._task = task

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        if task is self._task:
            self._cut("woken")
            self._probe.steps += 1

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        if task is self._task:
            self._cut("parked")

    def _cut(self, moment: Moment) -> None:
        if (self._probe.steps, moment) == (self._probe.at, self._probe.moment):
            self._scope.cancel("the test cancels here")


class Probe:
    """Runs work, and cancels it at one await."""

    def __init__(self, at: int = -1, moment: Moment = "parked") -> None:
        self.at = at
        self.moment: Moment = moment
        self.steps = 0
        self.used = False

    async def run(self, work: Callable[[], Awaitable[object]]) -> bool:
        """Do *work*, and say whether it was cancelled."""
        self.used = True
        with trio.CancelScope() as scope:
            knife = _Knife(self, scope, trio.lowlevel.current_task())
            trio.lowlevel.add_instrument(knife)
            try:
                await work()
            finally:
                trio.lowlevel.remove_instrument(knife)
        return scope.cancelled_caught


Case = Callable[[Probe], Awaitable[None]]


def cancel_everywhere(case: Case) -> int:
    """Run *case* once without cancelling, then once for each await of its work, and say how many these were."""
    whole = Probe()
    run_seeded(case, whole, seed=0)
    assert whole.used
    assert whole.steps < _TOO_MANY
    for at, moment in _places(whole.steps):
        try:
            run_seeded(case, Probe(at, moment), seed=0, within=100_000)
        except BaseException as exc:
            exc.add_note(f"It was cancelled at await {at}, when it was {moment}.")
            raise
    return whole.steps


def _places(steps: int) -> Iterator[tuple[int, Moment]]:
    for at in range(steps):
        for moment in MOMENTS:
            yield at, moment


async def assert_unharmed(supervisor: Supervisor) -> None:
    """The supervisor still works, and nothing of what was cancelled holds anything."""
    with trio.CancelScope(shield=True):
        if not supervisor.closed:
            result = await supervisor.execute(ToolCall("echo", {"text": "still here"}))
            assert result.value == "still here"
        with trio.fail_after(1000):
            await supervisor.wait_idle()
    assert_nothing_is_held(supervisor)


def assert_nothing_is_held(supervisor: Supervisor) -> None:
    """No slot, no place in a queue, no reader is left, and the engine met no bug."""
    core = supervisor._core  # pyright: ignore[reportPrivateUsage]  # what is held shows nowhere else
    assert supervisor.active == 0
    assert [name for name, (used, _) in core.planner.usage().items() if used] == []
    assert core.planner.waiting_count == 0
    assert core.bugs == []
    assert core.feed.readers == []
    assert not core.log.active
