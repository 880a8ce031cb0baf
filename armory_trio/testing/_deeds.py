"""What a mock tool does when it is called: what it was told for these arguments, for this turn, or for always."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Final, TypeGuard, cast

import msgspec
import trio

from ..definitions import ToolFailure
from ..definitions._plurals import counted
from ..errors import DefinitionError

SUBJECT: Final = "mock_tool"
EXHAUSTED: Final = "MOCK_EXHAUSTED"
"""The code of a call that came when the sequence of its mock was used up."""

Failure = BaseException | type[BaseException]
Compute = Callable[[Mapping[str, object]], object]
"""Answers a call from its arguments; sync or async."""


class Pause(msgspec.Struct, frozen=True):
    """Stands among the chunks of a mock tool: nothing comes for so many seconds on trio's clock."""

    seconds: float

    def __post_init__(self) -> None:
        require_seconds("Pause", "seconds", self.seconds)


class Answering(msgspec.Struct, frozen=True):
    """Answer a value; of a mock that streams, a tuple of chunks."""

    value: object
    delay: float


class Failing(msgspec.Struct, frozen=True):
    """Raise."""

    error: Failure
    delay: float


class Computing(msgspec.Struct, frozen=True):
    """Answer what a function says."""

    function: Compute
    delay: float


Deed = Answering | Failing | Computing


def require_seconds(subject: str, field: str, seconds: object) -> None:
    """Refuse what is no length of time.

    Raises:
        DefinitionError: It is negative, or no number.
    """
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds >= 0:
        raise DefinitionError(subject, field, f"is {seconds!r}; give seconds, 0 or more")


def is_failure(value: object) -> TypeGuard[Failure]:
    """Whether *value* is something to raise: an exception, or a class of them."""
    return isinstance(value, BaseException) or (isinstance(value, type) and issubclass(value, BaseException))


class Acting:
    """What one mock tool does, and does for the time being.

    Args:
        usual: What it does when nothing else was said; `reset` goes back to it.
        delay: Seconds before each answer, chunk or failure, where nothing else was said.
        streams: Whether what it answers are chunks.
    """

    __slots__ = ("_by_arguments", "_instead", "_last", "_length", "_turns", "_usual", "delay", "streams")

    def __init__(self, usual: Deed, delay: float, *, streams: bool) -> None:
        self.delay = delay
        self.streams = streams
        self._usual = usual
        self.reset()

    def reset(self) -> None:
        """Forget what was said since it was made."""
        self._instead: Deed | None = None
        self._turns: deque[Deed] | None = None
        self._last: Deed | None = None
        self._length = 0
        self._by_arguments: list[tuple[Mapping[str, object], Deed]] = []

    def always(self, deed: Deed) -> None:
        """Do this from now on."""
        self._turns = self._last = None
        self._instead = deed

    def in_turn(self, deeds: Iterable[Deed], *, repeat_last: bool) -> None:
        """Do each of these once."""
        self._turns = deque(deeds)
        self._length = len(self._turns)
        self._last = self._turns[-1] if repeat_last else None
        self._instead = None

    def for_arguments(self, arguments: Mapping[str, object], deed: Deed) -> None:
        """Do this for calls whose arguments contain *arguments*, whatever else was said."""
        self._by_arguments.insert(0, (arguments, deed))

    def deed_of(self, value: object, delay: float | None) -> Deed:
        """What to do with *value*: raise what is a failure, answer everything else."""
        if delay is not None:
            require_seconds(SUBJECT, "delay", delay)
        seconds = self.delay if delay is None else delay
        if is_failure(value):
            return Failing(value, seconds)
        return Answering(chunks_of(value) if self.streams else value, seconds)

    def next(self, arguments: Mapping[str, object]) -> Deed:
        """What to do for a call that has just begun."""
        for wanted, deed in self._by_arguments:
            if all(name in arguments and arguments[name] == value for name, value in wanted.items()):
                return deed
        if self._turns is None:
            return self._instead or self._usual
        if self._turns:
            return self._turns.popleft()
        return self._last or Failing(self._exhausted(), 0.0)

    def _exhausted(self) -> ToolFailure:
        message = f"the sequence of {counted(self._length, 'answer')} that this mock tool was given is used up"
        return ToolFailure(message, code=EXHAUSTED, effect="none")

    async def answer(self, deed: Deed, arguments: Mapping[str, object]) -> object:
        """Answer a call, or fail."""
        await trio.sleep(deed.delay)
        match deed:
            case Failing(error=error):
                raise fresh(error)
            case Computing(function=function):
                return await _computed(function, arguments)
            case Answering(value=value):
                return value

    async def flow(self, deed: Deed, _arguments: Mapping[str, object]) -> AsyncIterator[object]:  # noqa: ASYNC900  # driven by the engine, like that of any tool
        """Stream an answer."""
        assert not isinstance(deed, Computing)  # a mock that streams is made without a function
        chunks = (deed.error,) if isinstance(deed, Failing) else cast("tuple[object, ...]", deed.value)
        for chunk in chunks:
            if isinstance(chunk, Pause):
                await trio.sleep(chunk.seconds)
                continue
            await trio.sleep(deed.delay)
            if is_failure(chunk):
                raise fresh(chunk)
            yield chunk


async def _computed(function: Compute, arguments: Mapping[str, object]) -> object:
    answer = function(arguments)
    return await answer if inspect.isawaitable(answer) else answer


def chunks_of(value: object) -> tuple[object, ...]:
    """The chunks of one answer.

    Raises:
        DefinitionError: *value* is no list of them.
    """
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise DefinitionError(SUBJECT, "chunks", f"are {value!r}; this mock streams, so give a list of chunks")
    return tuple(cast("Iterable[object]", value))


def fresh(error: Failure) -> Failure:
    """*error* without the traceback of the call before, which would gather those of all calls."""
    return error.with_traceback(None) if isinstance(error, BaseException) else error
