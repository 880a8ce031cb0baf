"""One run from its first byte to its exit code: reading, running, writing, watching and stopping."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from itertools import count
from typing import Final, Literal

import trio

from ..definitions._plurals import counted
from ..engine import Limits, Retention, Supervisor, open_supervisor
from ..engine._concurrency import is_cancelled
from ..engine._signals import Caught, catch_signals
from ..toolbox import Toolbox
from ._asking import Approver, find_approver
from ._exit import Ending
from ._input import InputReader
from ._live import CURSOR_BACK, Frame, View
from ._output import Outlet
from ._session import Session
from ._settings import RunSettings
from ._streams import Streams, plain, say, takes, write_all
from ._summary import headline, uncertain_lines

_LAST_WRITES: Final = 2.0
"""Seconds within which a reader has to take some more of the results once everything was aborted."""

_THREADS: Final = 40

_STOPPING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Whoever started us may have had some of them ignored, as `nohup` does; then they stay ignored."""


async def run_calls(settings: RunSettings, toolbox: Toolbox, streams: Streams) -> int:
    """Make the calls of the input, write their results, say on stderr what is off, and return the exit code.

    Only for a main thread: it catches signals.
    """
    caught = Caught("armory-trio", "call")
    with catch_signals(caught, (one for one in _STOPPING if signal.getsignal(one) is not signal.SIG_IGN)):
        # Signals are heeded until the very end: leaving the supervisor may have to wait for what cannot be stopped.
        async with trio.open_nursery() as outer:
            run = await _supervised(settings, toolbox, streams, caught, outer)
            outer.cancel_scope.cancel("the run is over")
    ending = run.ending()
    for line in run.last_lines(ending):
        say(line)
    return ending.exit_code


async def _supervised(
    settings: RunSettings, toolbox: Toolbox, streams: Streams, caught: Caught, outer: trio.Nursery
) -> Run:
    run: Run | None = None
    try:
        approver = find_approver(settings, streams)
        async with open_supervisor(
            toolbox,
            limits=Limits(concurrent=settings.concurrency, threads=_THREADS),
            retention=Retention(count=0),
            error_detail=settings.error_detail,
            cleanup_timeout=settings.cleanup_timeout,
            drain_for=settings.drain_for,
            approval_handler=approver.handler,
        ) as supervisor:
            run = Run(settings, streams, supervisor, caught)
            run.approved_by(approver)
            await run.go(outer)
    except KeyboardInterrupt:  # not by a signal, but raised in a tool
        for line in () if run is None else run.last_lines(run.ending()):
            say(line)
        raise
    return run


class Run:
    """One run over an open supervisor."""

    def __init__(self, settings: RunSettings, streams: Streams, supervisor: Supervisor, caught: Caught) -> None:
        self._settings = settings
        self._streams = streams
        self._supervisor = supervisor
        self._side: trio.Nursery
        """Holds what lasts as long as there are calls."""
        self._caught = caught
        self._writing = trio.CancelScope(shield=True)
        self._on_terminal = os.isatty(2)
        shows = self._on_terminal if settings.live is None else settings.live
        self._view = View(self._look) if shows else None
        self._same_terminal = shows and os.isatty(streams.stdout)
        self._hurried = False
        self._approver = Approver(None)
        self._outlet = Outlet(
            self._write,
            self._takes,
            ordered=not settings.unordered,
            on_failure=self._output_failed,
            on_progress=self._wrote,
        )
        deadline = None if settings.deadline is None else trio.current_time() + settings.deadline
        self._session = Session(settings, supervisor, self._outlet, deadline=deadline)
        caught.left = self._left
        caught.farewell = CURSOR_BACK if shows else b""

    def approved_by(self, approver: Approver) -> None:
        """Say who approves. Without this, nobody does."""
        self._approver = approver
        if approver.desk is not None:
            approver.desk.aside = self._aside

    @asynccontextmanager
    async def _aside(self) -> AsyncGenerator[None]:
        """Leave the terminal to a question: its person must see it whole, and what they type."""
        held = self._outlet.held() if os.isatty(self._streams.stdout) else nullcontext()
        with held:
            async with nullcontext() if self._view is None else self._view.aside():
                yield

    # -- going on

    async def go(self, outer: trio.Nursery) -> None:
        """Read, run and write, until the state of every call is final.

        Cancelled, as when a tool interrupts the program: what has ended is still written, as long as somebody reads.

        Args:
            outer: Lives on while the supervisor is left; signals are heeded there.
        """
        async with trio.open_nursery() as self._side:
            outer.start_soon(self._heed, name="armory-trio: signals")
            if self._view is not None:
                self._side.start_soon(self._view.run, name="armory-trio: view")
            async with trio.open_nursery() as writing:
                writing.start_soon(self._write_results, name="armory-trio: results")
                try:
                    await self._session.run(self._streams.stdin, InputReader(self._settings.input, count(1)))
                finally:
                    if is_cancelled():
                        self._session.collect()
                        self._hurry()
                    self._outlet.close()
            await self._supervisor.shutdown("drain")
            self._side.cancel_scope.cancel("the run is over")

    async def _write_results(self) -> None:
        with self._writing:
            await self._outlet.run()
        if self._writing.cancelled_caught and self._outlet.failure is None:
            self._outlet.give_up(TimeoutError("nobody reads them"))

    def _hurry(self) -> None:
        """From now on, wait for whoever reads the results only as long as there is some progress."""
        self._hurried = True
        self._wrote()

    def _wrote(self) -> None:
        if self._hurried:
            self._writing.deadline = trio.current_time() + _LAST_WRITES

    def _takes(self, size: int) -> bool:
        # On the terminal of the view a write has to wait for whoever draws.
        return not self._same_terminal and takes(self._streams.stdout, size)

    def _write(self, data: bytes) -> None:
        wiped: AbstractContextManager[None] = nullcontext()
        if self._view is not None and self._same_terminal:
            wiped = self._view.wiped()
        with wiped:
            write_all(self._streams.stdout, data)

    def _look(self) -> Frame:
        shots = self._supervisor.executions.inspect(live_only=True)
        limits = {"supervisor": self._settings.concurrency, "threads": _THREADS}
        return Frame(shots, self._session.status, limits, trio.current_time())

    # -- stopping

    async def _heed(self) -> None:
        """The first signal drains, the second aborts. The third exits at once, and does not come here."""
        mode: Literal["drain", "abort"] = "drain"
        async for number in self._caught:
            active = counted(self._supervisor.active, "call")
            if self._side.cancel_scope.cancel_called:
                say(f"{number.name}: waiting for {active} that cannot be stopped; a third signal exits at once")
                continue
            if mode == "drain":
                most = f"for at most {self._settings.drain_for:g} s"
                say(f"{number.name}: draining {active} {most}; a second signal aborts")
                self._session.stop(f"by {number.name}")
            else:
                say(f"{number.name}: aborting {active}; a third signal exits at once")
            self._side.start_soon(self._end, mode)
            mode = "abort"

    async def _end(self, mode: Literal["drain", "abort"]) -> None:
        await self._supervisor.shutdown(mode)
        if mode == "abort":
            self._hurry()

    def _output_failed(self, error: OSError) -> None:
        if not isinstance(error, BrokenPipeError):
            say(f"the results cannot be written: {error.strerror or error}")
        self._session.stop("the results cannot be written")
        self._side.start_soon(self._end, "abort")

    def _left(self) -> Sequence[str]:
        shots = self._supervisor.executions.inspect(live_only=True)
        return [plain(f"{shot.tool_name} ({shot.call_id}, {shot.execution_id}): {shot.state}") for shot in shots]

    # -- telling

    def ending(self) -> Ending:
        """How it ended; once the supervisor was left."""
        session, report, failure = self._session, self._supervisor.report, self._outlet.failure
        reader_gone = isinstance(failure, BrokenPipeError)
        return Ending(
            all_read=session.all_read,
            failed=not session.tally.all_succeeded,
            unusable=session.unusable or (failure is not None and not reader_gone),
            reader_gone=reader_gone,
            uncertain=session.tally.uncertain > 0 or (report is not None and bool(report.bugs)),
            unfinished=report is not None and bool(report.unfinished),
            signal=int(self._caught.arrived[-1]) if self._caught.arrived else None,
        )

    def last_lines(self, ending: Ending) -> Iterator[str]:
        """What to say at the end: nothing when all is well and nobody sits at a terminal."""
        if not (ending.exit_code or ending.signal or self._on_terminal or self._view is not None):
            return
        session = self._session
        yield from uncertain_lines(session.tally, self._supervisor.report)
        if ending.reader_gone:
            return
        if self._outlet.failure is not None:
            yield f"{counted(self._outlet.lost, 'result')} not written"
        if session.tally.calls or not ending.unusable:
            yield headline(session.tally)
        if session.tally.unapproved and self._approver.nobody:
            yield f"nobody was asked ({self._approver.nobody}); at a terminal you are, or --approve all approves unasked"
        if self._caught.arrived:
            yield self._by_signal()
        elif session.stopped is not None:
            yield f"stopped: {session.stopped}"
        elif not ending.all_read and not ending.unusable:
            yield "the deadline came before the end of the input"

    def _by_signal(self) -> str:
        report, arrived = self._supervisor.report, self._caught.arrived
        if len(arrived) > 1:
            how = "aborted"
        elif report is not None and report.mode == "abort":
            how = f"the drain took longer than {self._settings.drain_for:g} s, so what was left was aborted"
        else:
            how = "drained"
        return f"{arrived[-1].name}: {how}" + ("" if self._session.all_read else "; the input was not read to its end")
