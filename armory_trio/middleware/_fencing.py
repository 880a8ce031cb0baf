"""Marking the words of tools that nobody vouches for, so that a model takes them for data."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec

from ..content.fencing import Fence as OneFence
from ..content.fencing import FenceStyle, StreamFence, fence_error, fence_value, shown_code
from ..content.truncation import ResultCaps
from ..definitions import CallNext, Chunks, Middleware, MiddlewareCall, ToolContext, ToolError, WrappedTool
from ..definitions._checks import shown
from ..errors import DefinitionError
from ._rewording import reworded, spoken_around

_SUBJECT: Final = "middleware Fence"
_TAG: Final = "untrusted-output"
"""What a tool has whose risk says that its output may carry somebody else's words."""


class Fence:
    """Puts what a tool of untrusted output gives between delimiters that cannot be forged, others for each call.

    It stands only around tools whose risk says ``untrusted_output``. Everything with words in it is fenced: texts,
    structures as the JSON that a model would read, streams across the borders of their chunks, and what the tool says
    when it fails. The value itself is fenced, so that it stays marked when another tool passes it on. List it first:
    what stands around it could cut or change the fence, and `Retry` needs the failures as they were.

    Args:
        style: How the fences look, and what the model is told.
        caps: Cuts what stands in the fence so that the whole fits, as `Truncate` would; None for no bound. The chunks
            of a stream are not cut here.

    Raises:
        DefinitionError: An argument has the wrong type, or *caps* have no room for a fence.
    """

    __slots__ = ("_caps", "_style")

    def __init__(self, style: FenceStyle | None = None, *, caps: ResultCaps | None = None) -> None:
        self._style = _style(style)
        self._caps = _caps(caps)

    def __repr__(self) -> str:
        return f"<Fence {self._style.name!r}>"

    def bind(self, tool: WrappedTool, /) -> Middleware | None:
        """As `BindsToTools.bind`."""
        if _TAG not in tool.definition.tags:
            return None
        fence_value("", self._style.open(tool.name), self._caps)  # raises now what it would raise for each call
        return self._stand

    async def _stand(self, call: MiddlewareCall, _ctx: ToolContext, call_next: CallNext) -> object:
        new = partial(self._style.open, call.tool.name)
        fence = partial(_fenced, new, self._caps)

        def reword(error: ToolError) -> ToolError:
            told = msgspec.structs.replace(error, code=shown_code(error))
            cap = None if self._caps is None else self._caps.error.narrowed(spoken_around(call, told))
            return fence_error(error, new(), cap)

        async def hold() -> object:
            answer = await call_next()
            return answer if isinstance(answer, Chunks) else fence(answer)

        answer = await reworded(call, hold, reword)
        if isinstance(answer, Chunks):
            stage = partial(_FenceStage, new)
            return answer.through(stage, value=fence).around(partial(reworded, call, reword=reword))
        return answer


def _style(given: object) -> FenceStyle:
    if given is None:
        return FenceStyle()
    if not isinstance(given, FenceStyle):
        raise DefinitionError(_SUBJECT, "style", f"must be FenceStyle(...), not {shown(given)}")
    return given


def _caps(given: object) -> ResultCaps | None:
    if given is not None and not isinstance(given, ResultCaps):
        raise DefinitionError(_SUBJECT, "caps", f"must be ResultCaps(...), not {shown(given)}")
    return given


def _fenced(new: Callable[[], OneFence], caps: ResultCaps | None, value: object) -> object:
    return fence_value(value, new(), caps)


class _FenceStage:
    """Opens its fence with the first chunk, so that a stream of nothing stays one."""

    __slots__ = ("_begun", "_fence")

    def __init__(self, new: Callable[[], OneFence]) -> None:
        self._fence = StreamFence(new())
        self._begun = False

    def feed(self, chunk: object) -> list[object]:
        opening = [] if self._begun else [self._fence.begin()]
        self._begun = True
        text = self._fence.feed(chunk)
        return [*opening, text] if text else [*opening]

    def end(self) -> list[object]:
        return [self._fence.end()] if self._begun else []
