"""What a service does for the rest of its life: wait for the signal that ends it."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator, Sequence

import trio

from ..definitions._plurals import counted
from ._concurrency import open_private_nursery
from ._opening import require_supervisor
from ._options import check_seconds
from ._shutdown import Mode, Report
from ._signals import Caught, catch_signals
from ._supervisor import Supervisor


async def serve_until_signal(supervisor: Supervisor, *, drain_for: float | None = None) -> Report:
    """Wait for SIGTERM or SIGINT, and end the supervisor: what a service does for the rest of its life.

    The first signal drains and says so, the second aborts, the third exits the process at once with a list of what
    was left. Each counts, however quickly they follow each other. SIGHUP counts as well, unless the host handles or
    ignores it: otherwise a closed terminal would end the process without a drain.

    Args:
        supervisor: The supervisor, whose block this is called in.
        drain_for: Seconds that the drain may take; by default the supervisor's own.

    Returns:
        The report, once the supervisor was shut down, by a signal or by anybody else. Its ``exit_code`` is what the
        process should end with. Whoever handled the signals before handles them again.

    Cancelled: the signals are no longer caught; the supervisor goes on, or goes on ending.

    Raises:
        RuntimeError: This is not the main thread, which alone can catch signals.
        ShutdownFromInside: A running tool called it; it would wait for itself.
        DefinitionError: *supervisor* is none, or *drain_for* is no length of time.
    """
    require_supervisor("serve_until_signal", supervisor)
    if drain_for is not None:
        check_seconds("serve_until_signal", "drain_for", drain_for)
    caught = Caught("armory_trio", "execution", lambda: _left(supervisor))
    with catch_signals(caught, _signals_to_serve()):
        async with open_private_nursery() as nursery:
            nursery.start_soon(_heed, supervisor, caught, nursery, drain_for, name="armory_trio: signals")
            report = await supervisor.wait_shut_down()
            nursery.cancel_scope.cancel("the supervisor is shut down")
    return report


def _signals_to_serve() -> Iterator[signal.Signals]:
    yield from (signal.SIGTERM, signal.SIGINT)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        yield signal.SIGHUP


async def _heed(supervisor: Supervisor, caught: Caught, nursery: trio.Nursery, drain_for: float | None) -> None:
    """The first signal drains, the second aborts. The third exits at once, and does not come here."""
    mode: Mode = "drain"
    async for number in caught:
        active = counted(supervisor.active, "execution")
        if mode == "drain":
            _say(f"{number.name}: draining {active}; a second signal aborts")
        else:
            _say(f"{number.name}: aborting {active}; a third signal exits at once")
        nursery.start_soon(_end, supervisor, mode, drain_for)
        mode = "abort"


async def _end(supervisor: Supervisor, mode: Mode, drain_for: float | None) -> None:
    await supervisor.shutdown(mode, drain_for=drain_for)


def _say(line: str) -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):  # a stderr that is gone must stop nothing
        sys.stderr.write(f"armory_trio: {line}\n")
        sys.stderr.flush()


def _left(supervisor: Supervisor) -> Sequence[str]:
    shots = supervisor.executions.inspect(live_only=True)
    return [f"left: {shot.execution_id} {shot.tool_name} ({shot.state})" for shot in shots]
