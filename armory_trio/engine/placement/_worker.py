"""A worker process: runs one tool call after the other, in its main thread, until its host closes the channel.

Its second thread reads what the host says. When the host is gone while a call runs, it kills the process group, so
that nothing of a call outlives its host; the kernel does the same where it can, for a body that lets no thread run.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import suppress
from functools import partial
from inspect import isawaitable
from pathlib import Path
from queue import SimpleQueue
from typing import Final, cast

import msgspec

from ...definitions import Tool
from ._channel import Channel, give_up
from ._failures import described, name_of, text_of
from ._frames import (
    AbortAsked,
    Answer,
    Call,
    Chunk,
    Credit,
    End,
    Entered,
    Raised,
    Returned,
    Streaming,
    Unsendable,
)
from ._group import others_run
from ._lookup import find_tool
from ._remote_context import RemoteContext, Running

_VANISHING: Final = 0.1
"""Seconds in which a thread that was joined may still be on its way out of the system."""


class _CannotCross(Exception):
    """The body gave a value that cannot be sent."""

    def __init__(self, value: object, error: BaseException) -> None:
        super().__init__(text_of(error))
        self.type_name = name_of(value)


class Worker:
    """The calls of one process."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._calls: SimpleQueue[Running | None] = SimpleQueue()
        self._running: Running | None = None
        self._known: dict[tuple[str, str, str], Tool[..., object]] = {}

    def serve(self) -> None:
        """Run calls until the host closes the channel."""
        threading.Thread(target=self._listen, name="armory: channel", daemon=True).start()
        while (running := self._calls.get()) is not None:
            self._run(running)

    # -- the thread that listens

    def _listen(self) -> None:
        while (message := self._channel.receive()) is not None:
            running = self._running
            if isinstance(message, Call):
                self._running = running = Running(message, self._channel)
                self._calls.put(running)
            elif running is not None:
                _pass_on(message, running)
        if self._running is not None:
            os.killpg(os.getpgrp(), signal.SIGKILL)
        self._calls.put(None)

    # -- the main thread

    def _run(self, running: Running) -> None:
        pid = os.getpid()
        end = self._end_of(running)
        if os.getpid() != pid:
            give_up()  # a child that the tool forked came back as if it were the worker
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()
        running.over = True
        self._running = None
        self._channel.send(end)

    def _end_of(self, running: Running) -> End:
        try:
            enter = self._made_ready(running)
        except BaseException as exc:  # noqa: ASYNC103  # the tool's module, or what an earlier call changed
            return Raised(described(exc), clean=False)  # noqa: ASYNC104  # there is no trio here
        before = _Before()
        self._channel.send(Entered())
        try:
            value = self._value_of(running, enter())
        except _CannotCross as exc:
            return Unsendable(exc.type_name, str(exc), returned=False, clean=before.nothing_was_left())
        except BaseException as exc:  # noqa: ASYNC103  # whatever it is, it is the tool's
            return Raised(described(exc), before.nothing_was_left())  # noqa: ASYNC104  # as said
        try:
            packed = _packed(running, value)
        except _CannotCross as exc:
            return Unsendable(exc.type_name, str(exc), returned=True, clean=before.nothing_was_left())
        return Returned(packed, before.nothing_was_left())

    def _made_ready(self, running: Running) -> Callable[[], object]:
        """What calls the function."""
        call = running.call
        tool = self._find(call)
        validated = tool.contract.validate(cast("dict[str, object]", msgspec.json.decode(call.arguments)))
        return partial(tool.invoke, validated, RemoteContext(running) if tool.wants_context else None)

    def _find(self, call: Call) -> Tool[..., object]:
        key = (call.module, call.qualname, call.schema)
        if key not in self._known:
            self._known[key] = find_tool(*key)
        return self._known[key]

    def _value_of(self, running: Running, given: object) -> object:
        if isinstance(given, Generator):
            self._pump(running, cast("Generator[object, None, object]", given))
            return None
        if isawaitable(given):
            raise TypeError("the function answered an awaitable, and nothing awaits it in a worker process")
        return given

    def _pump(self, running: Running, generator: Generator[object, None, object]) -> None:
        self._channel.send(Streaming())
        try:
            for chunk in generator:
                packed = _packed(running, chunk)
                running.credits.acquire()
                self._channel.send(Chunk(packed))
        finally:
            generator.close()


def _pass_on(message: Answer | Credit | AbortAsked, running: Running) -> None:
    match message:
        case Answer():
            running.answered(message)
        case Credit():
            running.credits.release(message.chunks)
        case AbortAsked():
            running.abort_requested.set()


def _packed(running: Running, value: object) -> msgspec.Raw:
    try:
        return running.packed(value)
    except Exception as exc:
        raise _CannotCross(value, exc) from exc


class _Before:
    """What ran in this process when a function was entered."""

    def __init__(self) -> None:
        self._threads = set(threading.enumerate())
        self._tasks = _tasks()

    def nothing_was_left(self) -> bool:
        """Whether nothing that began since goes on: a thread, a child, or another process in the group."""
        try:
            new = set(threading.enumerate()) - self._threads
            return not (new or _has_child() or others_run(os.getpgrp()) or self._has_new_task())
        except Exception:
            return False  # the call has changed what this is asked with

    def _has_new_task(self) -> bool:
        until = time.monotonic() + _VANISHING
        while _tasks() - self._tasks:
            if time.monotonic() >= until:
                return True
            time.sleep(0.001)
        return False


def _tasks() -> set[str]:
    """The threads of this process as the system counts them, where it shows them: whoever may have started them."""
    try:
        return {entry.name for entry in Path("/proc/self/task").iterdir()}
    except OSError:
        return set()


def _has_child() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _die_with(lifeline: int) -> None:
    """Let the kernel kill this process group when the other end of the pipe *lifeline* is closed.

    A thread that waits for the end of the channel does nothing while a function of C holds the interpreter. (A signal
    at the death of the parent would come at the death of the *thread* that started this process.)
    """
    with suppress(AttributeError, OSError):
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    # A host that died before the kernel was told has left nothing to be told of, but perhaps a call to be run.
    closed = select.poll()
    closed.register(lifeline, 0)
    if closed.poll(0):
        give_up()


def main(channel: int, lifeline: int) -> None:
    """Be a worker. *channel* and *lifeline* are file descriptors that the host passed on."""
    for descriptor in (channel, lifeline):
        os.set_inheritable(descriptor, False)  # programs that a tool starts have no part in this
    _die_with(lifeline)
    Worker(Channel(channel)).serve()
