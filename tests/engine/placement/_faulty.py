"""Tools that misbehave in a worker process, and tools that show what became of it."""

from __future__ import annotations

import _thread
import contextlib
import ctypes
import gc
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from decimal import Decimal
from pathlib import Path
from typing import Literal, cast

import attrs
import msgspec

from armory_trio import BlockingContext, Process, RequestContext, Semantics, ToolContext, ToolFailure, define_tool, tool
from armory_trio.engine.placement._frames import (
    Chunk,
    Declared,
    Failure,
    FromWorker,
    Logged,
    Progressed,
    Raised,
    Returned,
    Streaming,
    pack,
)
from tests.engine.placement._tools import PATIENCE, STRIPE, Point, wait_for

process = tool(placement="process")


@attrs.frozen
class Pair:
    x: int
    y: float


tenant: ContextVar[str] = ContextVar("tenant")
never_set: ContextVar[str] = ContextVar("never_set")


@process(effect="read-only")
def pid() -> int:
    """Which process is this?"""
    return os.getpid()


@tool(placement=Process(fresh=True), effect="read-only")
def fresh_pid() -> int:
    """Which process is this one, that nobody else had?"""
    return os.getpid()


@process(effect="read-only")
def around() -> dict[str, object]:
    """What is around a body."""
    return {
        "session": os.getsid(0),
        "group": os.getpgrp(),
        "pid": os.getpid(),
        "cwd": str(Path.cwd()),
        "env": os.environ.get("ARMORY_TRIO_TEST"),
        "path": sys.path,
        "stdin": sys.stdin.read(),
        "main thread": threading.current_thread() is threading.main_thread(),
        "argv": sys.argv,
    }


@tool(placement=Process(context={"fixed": {"a": [1]}, "tenant": tenant, "unset": never_set}), effect="read-only")
def values(ctx: BlockingContext) -> dict[str, object]:
    """The named values."""
    return dict(ctx.context)


@process(effect="read-only")
def stays(member: str, ctx: BlockingContext) -> object:
    """Use what stays with the host."""
    if member == "call":
        return ctx.call("pid")
    if member == "elicit":
        return ctx.elicit("Which?")
    return getattr(ctx, member)


@process(effect="read-only")
def seconds_left(ctx: BlockingContext) -> float | None:
    """How long until the deadline."""
    return None if ctx.deadline is None else ctx.deadline - time.monotonic()


@process(effect="read-only")
def annotated_otherwise(ctx: ToolContext) -> int:
    """Return something else than what the annotation says."""
    return ctx.tool_name  # type: ignore[return-value]  # as said


@process(effect="read-only")
def either() -> Point | Pair:
    """A type that msgspec does not read: two classes, and nothing that tells them apart."""
    return Point(1)


def returns_something() -> object:
    """A type that nobody knows; see below."""
    return [1]


returns_something.__annotations__["return"] = "NoSuchType"
unresolved = process(returns_something, name="unresolved", effect="read-only")


@process(effect="read-only")
def points() -> Iterator[Point]:
    """Chunks of a type."""
    yield Point(1)
    yield Point(2, 3.5)


@process(effect="read-only")
def unannotated():  # type: ignore[no-untyped-def]  # noqa: ANN202  # as said
    """A value of a type, without a word about it."""
    return {"point": Point(1), "pair": (1, 2), "raw": b"v"}


@process
def unsendable(how: Literal["value", "chunk", "log", "emit", "checkpoint"], ctx: BlockingContext) -> object:
    """Give something away that cannot be written."""
    thing = threading.Lock()
    if how == "chunk":
        return (chunk for chunk in [1, thing])
    if how == "log":
        ctx.log("info", "see", {"lock": thing})
    if how == "emit":
        ctx.emit("see", thing)
    if how == "checkpoint":
        ctx.progress(1, checkpoint=thing)
    return thing


@attrs.frozen
class Key:
    """A key that is a mapping once it is written."""

    number: int


UNREADABLE: Mapping[str, object] = {
    "key": {Key(1): 2},
    "raw": [msgspec.Raw(b"\xc1")],
    "two": [msgspec.Raw(b"\x01\x01")],
    "extension": msgspec.msgpack.Ext(-1, b"x"),
}


@process
def unreadable(what: str, how: str, ctx: BlockingContext) -> object:
    """Give something away that can be written, and not be read."""
    thing = UNREADABLE[what]
    if how == "chunk":
        return iter_of(thing)
    if how == "log":
        ctx.log("info", "see", {"thing": thing})
    if how == "emit":
        ctx.emit("see", thing)
    if how == "checkpoint":
        ctx.progress(1, checkpoint=thing)
    if how == "details":
        raise ToolFailure("mine", code="MINE", category="permission", details={"thing": thing})
    return thing


@process
def forge(how: str) -> None:
    """Send what cannot be read past all checks."""
    key, deep = msgspec.Raw(b"\x81\x81\xa1a\x01\x02"), msgspec.Raw(b"\x91" * 10_000 + b"\xc0")
    declared = Declared("permission", "MINE", None, "none", key)
    messages: Mapping[str, list[FromWorker]] = {
        "value": [Returned(key, clean=False)],
        "deep value": [Returned(deep, clean=False)],
        "chunk": [Streaming(), Chunk(key)],
        "deep chunk": [Streaming(), Chunk(deep)],
        "failure": [Raised([Failure("declared", "ToolFailure", "mine", "", declared)], clean=False)],
        "told": [Logged("info", "see", key), Progressed(1, None, key), Returned(msgspec.Raw(b"\x07"), clean=False)],
    }
    for channel in _channels():
        channel.sendall(b"".join(map(pack, messages[how])))
    time.sleep(PATIENCE)


class Shown:
    """What is no text, but has one."""

    def __str__(self) -> str:
        return "half \ud800"


@process(effect_windows=True, effect=STRIPE)
def tell_anything(ctx: BlockingContext) -> str:
    """Give objects where texts and numbers are expected."""
    thing = cast("str", Shown())
    ctx.progress(True, thing)
    ctx.progress(cast("float", Decimal(50)), cast("str", 7))
    ctx.log("info", cast("str", 404))
    ctx.log("info", cast("str", None))
    ctx.log("info", thing)
    ctx.emit(cast("str", 7))
    with ctx.effect(cast("str", 7), target=thing):
        pass
    with ctx.waiting(cast("str", 7)):
        pass
    ctx.report_cleanup("failed", cast("str", 7))
    return "told"


@tool(placement=Process(max_frame=1000), effect_windows=True, effect=STRIPE)
def tell_much(how: str, ctx: BlockingContext) -> list[str]:
    """Give texts that are too long for any message; what came of it."""
    much = "x" * (2**20 + 2000)
    ways: Mapping[str, Callable[[], object]] = {
        "progress": lambda: ctx.progress(1, much),
        "log": lambda: ctx.log("info", much),
        "emit": lambda: ctx.emit(much),
        "effect": lambda: ctx.effect(much),
        "target": lambda: ctx.effect("a", target=much),
        "waiting": lambda: ctx.waiting(much).__enter__(),
        "cleanup": lambda: ctx.report_cleanup("failed", much),
    }
    try:
        ways[how]()
    except ValueError as exc:
        return [type(exc).__name__, str(exc)]
    return []


@process
def large(size: int) -> bytes:
    """Return many bytes."""
    return bytes(size)


@tool(placement=Process(max_frame=100 * 2**20))
def very_large(size: int) -> bytes:
    """Return very many bytes, as declared."""
    return bytes(size)


@tool(placement=Process(max_frame=1000))
def narrow(text: str, how: Literal["value", "chunk", "log"], ctx: BlockingContext) -> object:
    """Give much through a small hole."""
    if how == "log":
        ctx.log("info", "long", {"text": text * 100})
    if how == "chunk":
        return iter_of(text * 100)
    return text * 100


def iter_of(value: object) -> Iterator[object]:
    yield value


# -- dying


@process
def die(how: str, gate: str, ctx: BlockingContext) -> None:
    """Be lost in some way."""
    ctx.progress(1, "began")
    wait_for(gate)
    if how == "segfault":
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        ctypes.string_at(0)
    if how == "exit":
        os._exit(3)
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "abort":
        os.abort()
    if how == "with a child that holds everything":
        if os.fork() == 0:
            time.sleep(PATIENCE)
        os._exit(4)
    if how == "closes":
        os.closerange(3, 1000)
        ctx.progress(2)
    if how == "closes and opens":
        os.closerange(3, 1000)
        files = [open(gate, "ab") for _ in range(20)]  # noqa: SIM115, PTH123  # they get the numbers of the channel
        ctx.progress(2)
        for file in files:
            file.close()
    if how == "shuts down":
        for channel in _channels():
            channel.shutdown(socket.SHUT_RDWR)
        time.sleep(PATIENCE)
    if how == "garbage":
        for channel in _channels():
            channel.sendall(b"\0\0\0\4oops")
        time.sleep(PATIENCE)
    if how == "flood":
        for channel in _channels():
            while True:
                channel.sendall(b"\xff" * 2**16)
    if how == "endless frame":
        for channel in _channels():
            channel.sendall(b"\xff\xff\xff\xff")
        time.sleep(PATIENCE)
    if how == "questions without end":
        for channel in _channels():
            while True:
                channel.sendall(b"\0\0\0\x0a\x91\xa8draining" * 1000)
    if how == "chunks that nobody asked for":
        for channel in _channels():
            channel.sendall(b"\0\0\0\x08\x92\xa5chunk\xc0")
        time.sleep(PATIENCE)
    raise AssertionError(how)


def _channels() -> Iterator[socket.socket]:
    """The socket to the host: a tool can reach it, like everything in its process."""
    for number in range(3, 256):
        with contextlib.suppress(OSError):
            found = socket.socket(fileno=os.dup(number))
            if found.family == socket.AF_UNIX:
                yield found


@process(effect="read-only")
def die_waiting(began: str, ctx: BlockingContext) -> str:
    """Die while it waits, but only the first time."""
    if not Path(began).exists():
        with ctx.waiting("the tide"):
            Path(began).touch()
            os._exit(1)
    ctx.progress(50, "again")
    return "back"


@process(effect_windows=True, effect=STRIPE)
def die_in_window(when: Literal["before", "inside", "after"], ctx: BlockingContext) -> None:
    """Die before, in or after a window."""
    if when == "before":
        os._exit(1)
    with ctx.effect("charge card"):
        if when == "inside":
            os._exit(1)
    os._exit(1)


@process
def leave(how: str) -> int:
    """End well, but leave something behind; the process."""
    if how == "thread":
        threading.Thread(target=time.sleep, args=(PATIENCE,), daemon=True).start()
    if how == "waiting thread":
        threading.Thread(target=time.sleep, args=(PATIENCE,)).start()
    if how == "child":
        subprocess.Popen(["sleep", str(PATIENCE)])
        gc.collect()
    if how == "failing":
        subprocess.Popen(["sleep", str(PATIENCE)])
        raise ValueError("left")
    if how == "orphan":
        subprocess.run(f"sleep {PATIENCE} &", shell=True, check=True)  # noqa: S602  # nothing else makes an orphan
    if how == "raw thread":
        _thread.start_new_thread(time.sleep, (PATIENCE,))
    if how == "fork" and os.fork() == 0:
        return -1  # the child comes back as if it were the worker
    return os.getpid()


@process(effect="read-only")
def forked_context(ctx: BlockingContext) -> int:
    """A forked child uses the context; how it ended."""
    child = os.fork()
    if child == 0:
        try:
            ctx.progress(50)
        except RuntimeError:
            os._exit(7)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@process(effect="read-only")
def with_a_thread() -> int:
    """Start a thread and wait for it; the process."""
    thread = threading.Thread(target=time.sleep, args=(0.001,))
    thread.start()
    thread.join()
    return os.getpid()


@process(effect="read-only")
def poison(member: str) -> int:
    """Change what every call needs; the process."""
    if member == "decode":
        msgspec.json.decode = cast("Callable[..., object]", None)  # type: ignore[assignment]  # as said
    if member == "enumerate":
        threading.enumerate = cast("Callable[[], list[threading.Thread]]", None)
    return os.getpid()


@process(effect="read-only")
def interrupt() -> None:
    """Raise what a person would send."""
    raise KeyboardInterrupt


# -- being killed


@process(effect="read-only")
def burn(pids: str, ctx: BlockingContext) -> None:
    """Compute for ever, and so do two children and a grandchild; one of them takes no notice of SIGTERM."""
    script = (
        "import os, signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
        f"open(sys.argv[1], 'a').write(f'{{os.getpid()}}\\n'); os.fork(); signal.alarm({PATIENCE}); "
        "open(sys.argv[1], 'a').write(f'{os.getpid()}\\n')\nwhile True: pass"
    )
    signal.alarm(PATIENCE)  # whatever becomes of a test, it leaves nobody behind who burns for ever
    for child in range(2):
        if os.fork() == 0:
            os.execv(sys.executable, [sys.executable, "-S", "-c", script, f"{pids}.{child}"])  # noqa: S606
    while True:
        found = [line for child in range(2) if Path(f"{pids}.{child}").exists() for line in _lines(f"{pids}.{child}")]
        if len(found) >= 6:
            break
        time.sleep(0.005)
    Path(pids).write_text("\n".join([*found, str(os.getpid())]), encoding="utf-8")
    ctx.progress(1, "began")
    while True:
        pass


def _lines(path: str) -> list[str]:
    return Path(path).read_text(encoding="utf-8").split()


@process(effect="read-only")
def hold_the_interpreter(began: str) -> None:
    """Compute for ever in C, where no other thread of Python runs."""
    signal.alarm(PATIENCE)
    Path(began).write_text(str(os.getpid()), encoding="utf-8")
    re.match(r"(a+)+$", "a" * 64 + "b")


@process(effect="read-only")
def stop_itself(began: str) -> None:
    """Be stopped by SIGSTOP."""
    Path(began).write_text(str(os.getpid()), encoding="utf-8")
    os.kill(os.getpid(), signal.SIGSTOP)


@process(semantics=Semantics(cancellation="unsupported"), cleanup_timeout=0.05)
def transfer(gate: str, ctx: BlockingContext) -> str:
    """Must never be cancelled."""
    ctx.progress(1, "began")
    wait_for(gate)
    return "transferred"


@process(semantics=Semantics(cancellation="unsupported"), buffer=1)
def transfer_all(ctx: BlockingContext) -> Iterator[int]:
    """Must never be cancelled, and streams."""
    ctx.progress(1, "began")
    yield from range(20)


@process(effect="read-only")
def shout(lines: int) -> str:
    """Print a lot, to both ends."""
    for number in range(lines):
        print(f"out {number}", "x" * 100)  # noqa: T201  # that is what it does
        print(f"err {number}", file=sys.stderr)  # noqa: T201
    os.write(1, b"raw\n")
    return "said"


@process(effect="read-only", timeout=PATIENCE)
def chatter(lines: int, ctx: BlockingContext) -> int:
    """Tell very much, from several threads at once."""

    def tell() -> None:
        for number in range(lines):
            ctx.progress(number % 100)
            ctx.log("info", "x" * 50)
            ctx.emit("n", number)

    threads = [threading.Thread(target=tell) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return lines


@process(effect="read-only")
def whose(ctx: BlockingContext) -> RequestContext | None:
    """The request context itself."""
    return ctx.request_context


# -- found by name


class Toolkit:
    """A class with tools in it."""

    @staticmethod
    @tool(placement="process", name="in_class", effect="read-only")
    def in_class(a: int) -> int:
        """Stand in a class."""
        return a + 1


def implementation(point: Point) -> int:
    return point.x


wrapped = define_tool(input=Point, execute=implementation, name="wrapped", placement="process", effect="read-only")


def bare(a: int, b: int = 2) -> int:
    """A function that is no tool in its own module."""
    return a * b


def nameless(point: Point) -> int:
    return point.x
