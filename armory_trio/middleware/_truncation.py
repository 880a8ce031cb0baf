"""Cutting what a model would have to read to a bearable size."""

from __future__ import annotations

from functools import partial

from ..content.truncation import ResultCaps, StreamTruncator, truncate_error, truncate_value
from ..definitions import CallNext, Chunks, ChunkStage, MiddlewareCall, ToolContext, ToolError
from ..definitions._checks import shown
from ..errors import DefinitionError
from ._rewording import reworded, spoken_around


class Truncate:
    """Cuts what a tool gives to a size that a model can bear: values, chunks, and what it says when it fails.

    A value that fits stays what it is. Text is cut as text, a structure keeps its shape, and what is shown as several
    blocks shares the room. A stream is cut as it flows: what comes after its cap is read, and dropped. Failures have a
    cap of their own. Inside of `Fence` it leaves the fence whole: list it behind.

    Args:
        caps: How much of what.

    Raises:
        DefinitionError: *caps* is no `ResultCaps`.
    """

    __slots__ = ("_caps",)

    def __init__(self, caps: ResultCaps | None = None) -> None:
        self._caps = _checked(ResultCaps() if caps is None else caps)

    def __repr__(self) -> str:
        return f"<Truncate {self._caps}>"

    async def __call__(self, call: MiddlewareCall, _ctx: ToolContext, call_next: CallNext) -> object:
        hold = partial(reworded, call, reword=partial(self._shorten, call))
        answer = await hold(call_next)
        if isinstance(answer, Chunks):
            return answer.through(self._stage, value=self._cut).around(hold)
        return self._cut(answer)

    def _cut(self, value: object) -> object:
        return truncate_value(value, self._caps)

    def _shorten(self, call: MiddlewareCall, error: ToolError) -> ToolError:
        return truncate_error(error, self._caps, around=spoken_around(call, error))

    def _stage(self) -> ChunkStage:
        return _CutStage(StreamTruncator(self._caps.result))


def _checked(given: object) -> ResultCaps:
    if not isinstance(given, ResultCaps):
        raise DefinitionError("middleware Truncate", "caps", f"must be ResultCaps(...), not {shown(given)}")
    return given


class _CutStage:
    __slots__ = ("_truncator",)

    def __init__(self, truncator: StreamTruncator) -> None:
        self._truncator = truncator

    def feed(self, chunk: object) -> list[object]:
        return self._truncator.feed(chunk)

    def end(self) -> list[object]:
        return self._truncator.finish()
