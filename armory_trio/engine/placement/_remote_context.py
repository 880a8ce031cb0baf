"""What a running tool may do in a worker process: the same as in a thread, but for what needs the host's objects."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator, Mapping
from queue import SimpleQueue
from types import TracebackType
from typing import Final, Literal, NoReturn, cast

import msgspec

from ...definitions import (
    BlockingContext,
    Catalogue,
    CleanupStatus,
    EffectWindow,
    ElicitAnswer,
    LogLevel,
    RequestContext,
    ToolResult,
)
from ...errors import ArmoryError, ExecutionOver
from ._channel import Channel
from ._frames import (
    Answer,
    AskDraining,
    BeginWait,
    Call,
    CloseWindow,
    Emit,
    EndWait,
    Logged,
    OpenWindow,
    Progressed,
    Question,
    ReportCleanup,
    packed_value,
)

_LEVELS: Final[tuple[LogLevel, ...]] = ("debug", "info", "warning", "error")
_STATUSES: Final[tuple[CleanupStatus, ...]] = ("completed", "failed", "unresolved")


def _words(told: object) -> str:
    """*told* as a message can carry it: a context in a thread takes any object for a text, and half a character."""
    return str.encode(str(told), "utf-8", "backslashreplace").decode()


def _words_or_none(told: object) -> str | None:
    return None if told is None else _words(told)


class Running:
    """The call that this process runs, as its threads share it."""

    def __init__(self, call: Call, channel: Channel) -> None:
        self.call = call
        self.abort_requested = threading.Event()
        self.credits = threading.Semaphore(call.credits)
        self.over = False
        self._channel = channel
        self._answers: SimpleQueue[Answer] = SimpleQueue()
        self._asking = threading.Lock()
        self._due = None if call.seconds_left is None else time.monotonic() + call.seconds_left

    @property
    def due(self) -> float | None:
        """The deadline on this process's `time.monotonic`."""
        return self._due

    def answered(self, answer: Answer) -> None:
        """The host has answered the question that is open."""
        self._answers.put(answer)

    def must_not_be_over(self) -> None:
        """Refuse what comes after the end, as from a thread that was left running."""
        if self.over:
            raise ExecutionOver(f"{self.call.execution_id} ({self.call.tool_name}) is over")

    def tell(self, message: Progressed | Logged) -> None:
        """Send what nobody answers.

        Raises:
            ExecutionOver: It comes too late.
            TooLarge: It has too many bytes.
        """
        self.must_not_be_over()
        self._channel.send(message, self.call.max_frame)

    def ask(self, question: Question) -> bool:
        """Send *question* and wait for what comes of it.

        Raises:
            ExecutionOver: It comes too late.
            ArmoryError: It was refused.
            TooLarge: It has too many bytes.
        """
        with self._asking:
            self.must_not_be_over()
            self._channel.send(question, self.call.max_frame)
            answer = self._answers.get()
        if answer.error is not None:
            raise (ExecutionOver if answer.error == "over" else ArmoryError)(answer.text)
        return answer.yes

    def packed(self, value: object) -> msgspec.Raw:
        """*value* for a message; raises what says that it cannot cross."""
        return packed_value(value, self.call.max_frame)


class _Window:
    """What the tool says of the stretch in which it changes the world."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.said: Literal["happened", "nothing-happened"] | None = None

    def happened(self) -> None:
        self.said = "happened"

    def nothing_happened(self) -> None:
        self.said = "nothing-happened"


class _EffectBlock:
    """Used by ``with``; ``async with`` does the same, for who runs a loop of his own in the worker."""

    def __init__(self, running: Running, window: _Window) -> None:
        self._running = running
        self._window = window

    async def __aenter__(self) -> EffectWindow:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__exit__(kind, exc, traceback)

    def __enter__(self) -> EffectWindow:
        return self._window

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        window = self._window
        self._running.ask(CloseWindow(window.number, window.said, by_exception=exc is not None))


class _WaitingBlock:
    """As `_EffectBlock`."""

    def __init__(self, running: Running, reason: str, numbers: Iterator[int]) -> None:
        self._running = running
        self._reason = reason
        self._numbers = numbers
        self._open: list[int] = []

    async def __aenter__(self) -> None:
        self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__exit__(kind, exc, traceback)

    def __enter__(self) -> None:
        number = next(self._numbers)
        self._running.ask(BeginWait(number, self._reason))
        self._open.append(number)

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._running.ask(EndWait(self._open.pop()))


class RemoteContext(BlockingContext):
    """For ``def`` tools in a worker process. An abort without grace kills the process, so `check` finds nothing."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self._call = running.call
        self._values = cast("dict[str, object]", msgspec.msgpack.decode(running.call.context))
        self._windows = itertools.count()
        self._waits = itertools.count()

    @property
    def execution_id(self) -> str:
        return self._call.execution_id

    @property
    def call_id(self) -> str:
        return self._call.call_id

    @property
    def tool_name(self) -> str:
        return self._call.tool_name

    @property
    def owner_id(self) -> str | None:
        return self._call.owner_id

    @property
    def deadline(self) -> float | None:
        return self._running.due

    @property
    def context(self) -> Mapping[str, object]:
        return self._values

    @property
    def request_context(self) -> RequestContext | None:
        return self._call.request_context

    @property
    def idempotency_key(self) -> str | None:
        return self._call.idempotency_key

    @property
    def metadata(self) -> object:
        self._stays("metadata")

    @property
    def toolbox(self) -> Catalogue:
        self._stays("toolbox")

    @property
    def abort_requested(self) -> bool:
        self._running.must_not_be_over()
        return self._running.abort_requested.is_set()

    @property
    def draining(self) -> bool:
        return self._running.ask(AskDraining())

    def check(self) -> None:
        self._running.must_not_be_over()

    def progress(
        self, percent: float | None = None, message: str | None = None, checkpoint: object | None = None
    ) -> None:
        if percent is not None:
            if not 0 <= percent <= 100:
                raise ValueError(f"progress of {percent!r} percent; give a number from 0 to 100")
            percent = float(percent)
        self._running.tell(Progressed(percent, _words_or_none(message), self._running.packed(checkpoint)))

    def log(self, level: LogLevel, message: str, data: Mapping[str, object] | None = None) -> None:
        if level not in _LEVELS:
            raise ValueError(f"log level {level!r}; give one of {', '.join(_LEVELS)}")
        level = _LEVELS[_LEVELS.index(level)]
        self._running.tell(Logged(level, _words(message), self._running.packed(None if data is None else dict(data))))

    def emit(self, name: str, data: object = None) -> None:
        self._running.ask(Emit(_words(name), self._running.packed(data)))

    def report_cleanup(self, status: CleanupStatus, detail: str = "") -> None:
        if status not in _STATUSES:
            raise ValueError(f"cleanup {status!r}; give completed, failed or unresolved")
        self._running.ask(ReportCleanup(_STATUSES[_STATUSES.index(status)], _words(detail)))

    def effect(self, label: str, target: str | None = None) -> _EffectBlock:
        window = _Window(next(self._windows))
        self._running.ask(OpenWindow(window.number, _words(label), _words_or_none(target)))
        return _EffectBlock(self._running, window)

    def waiting(self, reason: str) -> _WaitingBlock:
        self._running.must_not_be_over()
        return _WaitingBlock(self._running, _words(reason), self._waits)

    def wait_abort_requested(self) -> None:
        self._running.must_not_be_over()
        self._running.abort_requested.wait()

    def call(self, *_: object, **__: object) -> ToolResult[object]:
        self._stays("call")

    def elicit(self, *_: object, **__: object) -> ElicitAnswer:
        self._stays("elicit")

    def _stays(self, member: str) -> NoReturn:
        raise ArmoryError(
            f"ctx.{member} stays with the host: {self.tool_name!r} runs in a worker process; "
            f"let it run in a thread, or name what it needs in Process(context=...)"
        )
