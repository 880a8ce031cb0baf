"""KeyboardInterrupt in a thread that uses a blocking host, at every place where Python looks for signals.

Python does so when a function begins and when a call of C code returns, and it ends a wait for a lock. A test repeats its
calls, interrupted one place later each time, in a thread of its own, so that one that hangs is found.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Final

import pytest
import trio

from armory_trio import Limits, Supervisor, Toolbox, ToolCall, tool
from armory_trio.integrations._inside import Inside
from armory_trio.integrations._thread_side import Moment, ThreadSide
from armory_trio.integrations.portal import BlockingExecution, BlockingHost, open_blocking_host
from tests.integrations.loops import TOOLS
from tests.requirements import requirement

PATIENCE: Final = 20.0
SUM: Final = ToolCall("add", {"a": 5, "b": 3})
SLEEP: Final = ToolCall("sleep")
COUNT: Final = ToolCall("count", {"upto": 3})

FILES: Final = {
    BlockingHost.shutdown.__code__.co_filename,
    BlockingHost.resume_approval.__code__.co_filename,
    BlockingExecution.result.__code__.co_filename,
    ThreadSide.open.__code__.co_filename,
    Inside.run.__code__.co_filename,
    trio.lowlevel.TrioToken.run_sync_soon.__code__.co_filename,
    contextlib.__file__,
    threading.__file__,
}
"""Where the thread is interrupted: in our code, in trio's, and in that of the standard library that both use."""


@tool(effect="read-only")
async def sleep() -> None:
    """Sleep until stopped."""
    await trio.sleep_forever()


@tool(effect="read-only")
async def beat() -> AsyncIterator[int]:
    """Yield once, and then no more."""
    yield 1
    await trio.sleep_forever()


TOOLBOX: Final = Toolbox([sleep, beat, *TOOLS])


class Interrupt:
    """A profiler of a thread, which interrupts it at the place numbered *at*.

    Args:
        at: The number of the place.
        asleep: Whether the thread waits for what never comes: then its first wait is the last place.
    """

    def __init__(self, at: int, *, asleep: bool) -> None:
        self._left = at
        self._asleep = asleep
        self._waited = False
        self.raised = False

    @property
    def was_last(self) -> bool:
        """Whether there is no place after this one."""
        return self._waited if self._asleep else not self.raised

    def __call__(self, frame: FrameType, event: str, called: object) -> None:
        if self.raised or frame.f_code.co_filename not in FILES:
            return
        if self._asleep and event == "c_call" and self._waits(frame, called):
            self._waited = True
            self._raise()
        if event in ("call", "c_return"):
            if not self._left:
                self._raise()
            self._left -= 1

    def _raise(self) -> None:
        self.raised = True
        raise KeyboardInterrupt

    def _waits(self, frame: FrameType, called: object) -> bool:
        if frame.f_code is not Moment.wait.__code__ or getattr(called, "__name__", "") != "acquire":
            return False
        lock: threading.Lock = frame.f_locals["mine"]
        return lock.locked()


def in_time(action: Callable[[], object]) -> None:
    """Do *action* in a thread of its own, which must end, and raise what it raised."""
    caught: list[BaseException] = []

    def body() -> None:
        try:
            action()
        except BaseException as exc:  # noqa: ASYNC103, BLE001  # for the test
            caught.append(exc)

    thread = threading.Thread(target=body, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive(), "it hangs"
    if caught:
        raise caught[0]


def each_place(action: Callable[[], object], *, asleep: bool = False) -> Generator[int]:
    """Do *action*, interrupted at one place after the other, and say each time which it was."""
    at = 0
    while True:
        interrupt = Interrupt(at, asleep=asleep)

        def interrupted(profile: Interrupt = interrupt) -> None:
            sys.setprofile(profile)
            try:
                action()
            except KeyboardInterrupt:
                assert profile.raised
            finally:
                sys.setprofile(None)

        in_time(interrupted)
        yield at
        if interrupt.was_last:
            break
        at += 1
    assert at > 10  # or it was not interrupted at all


@contextmanager
def small_host() -> Generator[BlockingHost]:
    """A host that soon stands still when a call keeps its slot."""
    with open_blocking_host(TOOLBOX, limits=Limits(concurrent=2)) as host:
        yield host


def require_sound(host: BlockingHost) -> None:
    """Nothing is live, and a thread can make its call."""

    def use() -> None:
        host.wait_idle(timeout=PATIENCE)
        assert host.active == 0
        assert host.execute(SUM).value == 8

    in_time(use)


def execute(host: BlockingHost) -> None:
    host.execute(SLEEP)


def execute_batch(host: BlockingHost) -> None:
    host.execute_batch([SLEEP, SUM, SLEEP])


def run(host: BlockingHost) -> None:
    host.run(lambda supervisor: supervisor.execute(SLEEP))


@requirement("portal.interrupted")
@pytest.mark.parametrize("wait", [execute, execute_batch, run])
def test_a_call_that_is_interrupted_anywhere_before_its_end_is_aborted(wait: Callable[[BlockingHost], None]) -> None:
    with small_host() as host:
        for _ in each_place(lambda: wait(host), asleep=True):
            require_sound(host)


def call(host: BlockingHost) -> None:
    host.execute(SUM)


def read(host: BlockingHost) -> None:
    with host.stream(ToolCall("beat")) as stream:
        next(stream)


def look(host: BlockingHost) -> None:
    host.inspect(live_only=True)


@requirement("portal.interrupted")
@pytest.mark.parametrize("use", [call, read, look])
def test_what_is_interrupted_anywhere_leaves_nothing(use: Callable[[BlockingHost], None]) -> None:
    with small_host() as host:
        for _ in each_place(lambda: use(host)):
            require_sound(host)


@requirement("portal.interrupted")
def test_a_start_that_is_interrupted_anywhere_is_aborted_unless_its_handle_is_held() -> None:
    started: list[BlockingExecution] = []
    with small_host() as host:
        for _ in each_place(lambda: started.append(host.start(SLEEP))):
            while started:
                started.pop().abort()
            require_sound(host)


@requirement("portal.interrupted")
def test_a_wait_for_a_handle_that_is_interrupted_anywhere_leaves_it_running() -> None:
    with small_host() as host:
        execution = host.start(SLEEP)
        for wait in (execution.result, execution.settled):
            for _ in each_place(wait, asleep=True):
                assert host.active == 1
        execution.abort()
        require_sound(host)


@requirement("portal.interrupted")
@requirement("portal.stream")
def test_a_reader_that_is_interrupted_anywhere_loses_no_chunk() -> None:
    chunks: list[object] = []
    ended: list[bool] = []
    with small_host() as host:

        def read_on() -> None:
            with host.stream(COUNT) as stream:
                resume = False
                try:
                    for chunk in stream:
                        chunks.append(chunk)  # noqa: PERF402  # `extend` would lose what it had read so far
                except KeyboardInterrupt:
                    resume = True
                if resume:
                    chunks.extend(stream)
                ended.append(True)

        for _ in each_place(read_on):
            assert chunks == [0, 1, 2] if ended else chunks == []
            chunks.clear()
            ended.clear()
            require_sound(host)


def require_left(host: BlockingHost) -> None:
    """It is closed, and its thread is gone."""
    for thread in threading.enumerate():
        if thread.name == "armory_trio: host":
            thread.join(PATIENCE)
            assert not thread.is_alive()
    assert host.report is not None
    assert host.active == 0


@requirement("portal.interrupted")
@requirement("portal.leave")
def test_a_block_that_is_interrupted_anywhere_is_left() -> None:
    hosts: list[BlockingHost] = []

    def whole() -> None:
        with small_host() as host:
            hosts.append(host)
            host.start(SLEEP)
            host.shutdown("abort")

    for _ in each_place(whole):
        while hosts:
            require_left(hosts.pop())
        assert "armory_trio: host" not in [thread.name for thread in threading.enumerate()]


@requirement("portal.leave")
@requirement("portal.stream")
def test_blocks_that_are_thrown_away_in_the_thread_of_the_host_are_left_without_a_wait() -> None:
    opening = small_host()
    host = opening.__enter__()
    stream = host.stream(ToolCall("beat"))
    assert next(stream.__enter__()) == 1
    blocks: list[object] = [stream]
    del stream

    async def throw_away(_: Supervisor) -> None:
        blocks.clear()

    in_time(lambda: host.run(throw_away))
    require_sound(host)
    blocks.append(opening)
    del opening
    in_time(lambda: host.run(throw_away))
    require_left(host)
