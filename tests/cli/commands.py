"""The command under test: in this process for most, in a process of its own where signals and pipes matter."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Self, TypeVar, cast

import attrs
import pytest
from hypothesis import settings

from armory_trio.cli._command import execute
from armory_trio.cli._streams import Streams, write_all

V = TypeVar("V")
ROOT: Final = Path(__file__).parents[2]
BOUND: Final = 60
"""Seconds after which a test that hangs gives up; nothing that works comes near it."""

TOOLS: Final = '''
"""Tools of the tests."""

import os
import sys

import trio

from armory_trio import Toolbox, ToolContext, ToolFailure, tool


@tool(effect="read-only")
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(effect="read-only")
async def echo(text: str) -> str:
    """Say it again."""
    return text


@tool(effect="read-only")
async def fail(code: str = "TRANSIENT_ERROR") -> str:
    """Fail, having changed nothing."""
    raise ToolFailure("it did not work", category="transient", code=code)


@tool
async def break_things() -> str:
    """Fail in an unknown way."""
    raise ValueError("who knows what happened")


@tool(effect="read-only")
async def noisy(words: str = "words on standard output") -> str:
    """Print in all ways that there are."""
    print(words)
    sys.__stdout__.write(words + "\\n")
    sys.__stdout__.flush()
    os.write(1, words.encode() + b"\\n")
    os.system("echo " + words)
    return "quiet"


@tool(effect="read-only")
async def ask() -> str:
    """Read standard input."""
    return sys.stdin.readline() if sys.stdin else "closed"


@tool(effect="read-only")
async def whose(ctx: ToolContext) -> str | None:
    """Tell the owner of the call."""
    return ctx.owner_id


def _tell(fifo: str) -> None:
    with open(fifo, "w") as told:
        told.write("started")


def _wait(fifo: str) -> str:
    fd = os.open(fifo, os.O_RDONLY)
    try:
        return os.read(fd, 100).decode()
    finally:
        os.close(fd)


@tool(effect="read-only")
async def gate(ctx: ToolContext, started: str = "started", release: str = "release") -> str:
    """Tell that it runs, and run until it is let go."""
    ctx.progress(percent=25, message="at the gate")
    _tell(started)
    return await trio.to_thread.run_sync(_wait, release, abandon_on_cancel=True)


@tool
async def blunt_gate(started: str = "started", release: str = "release") -> str:
    """The same, and nobody knows what it did when it is stopped."""
    _tell(started)
    return await trio.to_thread.run_sync(_wait, release, abandon_on_cancel=True)


@tool(effect="read-only")
def stuck(started: str = "started") -> str:
    """Tell that it runs, and never end: a thread that nobody can stop."""
    _tell(started)
    while True:
        _wait("release")


@tool(effect="read-only", placement="task")
def blocking(started: str = "started") -> str:
    """Tell that it runs, and block the trio thread for ever."""
    _tell(started)
    while True:
        pass


toolbox = Toolbox([add, echo, fail, break_things, noisy, ask, whose, gate, blunt_gate, stuck, blocking])
'''

Line = dict[str, object]


def first(count: int, values: Sequence[V]) -> Sequence[V]:
    """The first *count* of *values*, each of which costs a process; in the long runs all of them."""
    soak = settings().max_examples > 200  # which is not known yet when this module is imported
    return values if soak else values[:count]


@attrs.frozen
class Ended:
    """How a command ended."""

    code: int
    out: bytes
    err: str

    @property
    def lines(self) -> list[Line]:
        """Standard output, which must be JSON Lines in UTF-8, each an object."""
        text = self.out.decode("utf-8")
        assert not text or text.endswith("\n"), text
        return [cast("Line", json.loads(line)) for line in text.split("\n")[:-1]]

    @property
    def values(self) -> list[object]:
        return [line["value"] for line in self.lines]

    @property
    def codes(self) -> list[str]:
        """The code of each result, or its outcome when it has no error."""
        errors = [(cast("Mapping[str, str] | None", line["error"]), line["outcome"]) for line in self.lines]
        return [str(outcome) if error is None else error["code"] for error, outcome in errors]

    @property
    def told(self) -> list[str]:
        """The lines on stderr, without the name of the command in front."""
        lines = self.err.splitlines()
        assert all(line.startswith("armory-trio: ") for line in lines), self.err
        return [line.removeprefix("armory-trio: ") for line in lines]


def call(name: str, call_id: str | None = None, /, **arguments: object) -> Line:
    """A plain call."""
    return {"name": name, "arguments": arguments, **({} if call_id is None else {"id": call_id})}


def jsonl(*values: object) -> bytes:
    """*values* as JSON Lines."""
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


class Cli:
    """Runs the command in a directory of its own, which holds ``my_tools.py``."""

    def __init__(self, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.directory = directory
        self._capsys = capsys
        self._fifos: list[Fifo] = []
        (directory / "my_tools.py").write_text(TOOLS, encoding="utf-8")

    def write(self, name: str, content: bytes | str) -> str:
        """A file in the directory."""
        data = content if isinstance(content, bytes) else content.encode()
        (self.directory / name).write_bytes(data)
        return name

    def __call__(self, *arguments: str, stdin: bytes = b"") -> Ended:
        """``armory-trio ARGUMENTS`` in this process."""
        given, taken = self.directory / ".stdin", self.directory / ".stdout"
        given.write_bytes(stdin)
        self._capsys.readouterr()
        with given.open("rb") as reading, taken.open("wb") as writing:
            code = execute(arguments, lambda: Streams(reading.fileno(), writing.fileno()))
        printed = self._capsys.readouterr()
        return Ended(code, printed.out.encode() + taken.read_bytes(), printed.err)

    def run(self, *arguments: str, stdin: bytes = b"") -> Ended:
        """``armory-trio run - my_tools:toolbox ARGUMENTS`` in this process."""
        return self("run", "my_tools:toolbox", "-", *arguments, stdin=stdin)

    def fifo(self, name: str) -> Fifo:
        """A named pipe in the directory."""
        made = Fifo(self.directory / name)
        self._fifos.append(made)
        return made

    def close(self) -> None:
        """Let go of the pipes."""
        for made in self._fifos:
            made.close()

    def spawn(self, *arguments: str, **environment: str) -> Process:
        """``armory-trio ARGUMENTS`` in a process of its own."""
        return Process(self.directory, arguments, environment)


class Fifo:
    """A named pipe, held open at both ends by the test, so that nobody waits for the other to open it."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self._fd = os.open(path, os.O_RDWR)

    def wait(self) -> None:
        """Return when somebody has told that it started."""
        ready, _, _ = select.select([self._fd], [], [], BOUND)
        assert ready, "nobody wrote to the pipe"
        assert os.read(self._fd, len("started")) == b"started"

    def let_go(self, words: str = "through") -> None:
        """Give *words* to the one who reads."""
        os.write(self._fd, words.encode())

    def close(self) -> None:
        """Let go of it; whoever still reads comes to its end."""
        os.close(self._fd)


@contextmanager
def interruptible() -> Generator[None]:
    """Whoever is started in this block heeds SIGINT, also when we ourselves run in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class Process:
    """One running command."""

    def __init__(self, directory: Path, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        with interruptible():
            self.popen = subprocess.Popen(
                [sys.executable, "-W", "error", "-m", "armory_trio.cli", *arguments],
                cwd=directory,
                env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,  # what we have not read yet must show in `select`
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self.popen.poll() is None:
            self.popen.kill()
        self.popen.communicate()

    def say(self, data: bytes) -> None:
        """Write to its standard input, which stays open."""
        assert self.popen.stdin is not None
        write_all(self.popen.stdin.fileno(), data)

    def line(self) -> Line:
        """The next line of its standard output."""
        assert self.popen.stdout is not None
        ready, _, _ = select.select([self.popen.stdout], [], [], BOUND)
        assert ready, "it wrote no line"
        return cast("Line", json.loads(self.popen.stdout.readline()))

    def error_line(self) -> str:
        """The next line of its standard error."""
        assert self.popen.stderr is not None
        ready, _, _ = select.select([self.popen.stderr], [], [], BOUND)
        assert ready, "it said nothing"
        return self.popen.stderr.readline().decode()

    def until(self, words: str) -> None:
        """Read its standard error until it has said *words*, in the middle of a line if need be."""
        assert self.popen.stderr is not None
        said = b""
        while words.encode() not in said:
            ready, _, _ = select.select([self.popen.stderr], [], [], BOUND)
            more = os.read(self.popen.stderr.fileno(), 4096) if ready else b""
            assert more, said
            said += more

    def signal(self, number: signal.Signals) -> None:
        self.popen.send_signal(number)

    def end(self, stdin: bytes = b"") -> Ended:
        """Close its standard input and wait for it to end."""
        out, err = self.popen.communicate(stdin, timeout=BOUND)
        return Ended(self.popen.returncode, out, err.decode("utf-8", "replace"))

    def wait(self) -> Ended:
        """Wait for it to end by itself, its standard input still open."""
        self.popen.wait(timeout=BOUND)
        return self.end()
