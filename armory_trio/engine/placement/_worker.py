"""A worker process: runs one tool call after the other, in its main thread, until its host closes the channel.

Its second thread reads what the host says. When the host is gone while a call runs, it kills the process group, so
that nothing of a call outlives its host; the kernel does the same where it can, for a body that lets no thread run.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import threading
from collections.abc import Generator
from contextlib import suppress
from inspect import isawaitable
from queue import SimpleQueue
from typing import Final, cast

import msgspec

from ...definitions import Tool
from ._channel import Channel, give_up
from ._failures import described
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
    packed_value,
)
from ._lookup import find_tool
from ._remote_context import RemoteContext, Running

_NOTHING: Final = packed_value(None, 1)


class _CannotCross(Exception):
    """The body gave a value that cannot be sent."""

    def __init__(self, value: object, error: BaseException) -> None:
        super().__init__(str(error))
        self.type_name = type(value).__name__


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
        threads = set(threading.enumerate())
        try:
            given, threads = self._enter(running)
            value = self._value_of(running, given)
        except _CannotCross as exc:
            return Unsendable(exc.type_name, str(exc), returned=False, clean=_is_clean(threads))
        except BaseException as exc:  # noqa: ASYNC103  # whatever it is, it is the tool's; there is no trio here
            return Raised(described(exc), _is_clean(threads))  # noqa: ASYNC104  # as said
        try:
            packed = _packed(running, value)
        except _CannotCross as exc:
            return Unsendable(exc.type_name, str(exc), returned=True, clean=_is_clean(threads))
        return Returned(packed, _is_clean(threads))

    def _enter(self, running: Running) -> tuple[object, set[threading.Thread]]:
        """Call the function; answer what it gave, and the threads that there were before."""
        call = running.call
        tool = self._find(call)
        validated = tool.contract.validate(cast("dict[str, object]", msgspec.json.decode(call.arguments)))
        context = RemoteContext(running) if tool.wants_context else None
        threads = set(threading.enumerate())
        self._channel.send(Entered())
        return tool.invoke(validated, context), threads

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


def _is_clean(threads: set[threading.Thread]) -> bool:
    """Whether nothing that the call began goes on: a thread of Python, or a child of this process."""
    if any(thread not in threads for thread in threading.enumerate()):
        return False
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return True
    except OSError:
        return False
    return False


def _die_with(lifeline: int) -> None:
    """Let the kernel kill this process group when the other end of the pipe *lifeline* is closed.

    A thread that waits for the end of the channel does nothing while a function of C holds the interpreter. (A signal
    at the death of the parent would come at the death of the *thread* that started this process.)
    """
    with suppress(AttributeError, OSError):
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)


def main(channel: int, lifeline: int) -> None:
    """Be a worker. *channel* and *lifeline* are file descriptors that the host passed on."""
    for descriptor in (channel, lifeline):
        os.set_inheritable(descriptor, False)  # programs that a tool starts have no part in this
    _die_with(lifeline)
    Worker(Channel(channel)).serve()
