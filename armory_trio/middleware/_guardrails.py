"""Looking into arguments and results before they go on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import groupby
from typing import Final, Literal, cast, get_args

from ..content import encode_content
from ..content.guardrails import Guard, Inspection, Verdict, readable
from ..definitions import (
    CallNext,
    Chunks,
    MiddlewareCall,
    ToolContext,
    ToolError,
    ToolFailure,
    ToolResult,
    thaw_json,
)
from ..definitions._checks import one_of, shown
from ..definitions._functions import require_plain
from ..errors import DefinitionError
from ._rewording import reworded

_SUBJECT: Final = "middleware Guardrails"

OnResult = Literal["block", "warn", "sanitise"]
Sanitise = Callable[[object, Inspection], object]


class Guardrails:
    """Has detectors look at the arguments of calls before the tool runs, and at its results before they go on.

    Arguments that are flagged refuse the call as ``permission`` ``GUARDRAIL_BLOCKED``; the tool was not entered. A
    result that is flagged is handled as *on_result* says: ``block`` puts a failure of that code in its place, whose
    effect is that of the tool; ``warn`` lets it go on; ``sanitise`` asks a function for another value, has that looked
    at in turn, and blocks it if it is flagged again. What a tool says when it fails is looked at like a result;
    ``sanitise`` blocks it.

    Each verdict that flags is written to the readers of the supervisor's events, as a `LogWritten` of level
    ``warning``, without the value. What a detector that fails counts as, is said by its `Guard`: flagged, by default.

    A stream is looked at as a whole, and held back until then, but for ``warn``. Nothing can wait there: a detector
    that is async counts as one that failed.

    Args:
        arguments: Looks at arguments; ``where`` of its verdicts begins with the name of one.
        results: Looks at what a model would read of a result.
        on_result: What becomes of a result that is flagged.
        sanitise: Takes the value and what was found, and answers another value; of a stream, the list of its chunks.

    Raises:
        DefinitionError: There is nothing to look at, an argument has the wrong type, or there is a *sanitise* without
            the word for it or the reverse.
    """

    __slots__ = ("_arguments", "_on_result", "_results", "_sanitise")

    def __init__(
        self,
        *,
        arguments: Guard | None = None,
        results: Guard | None = None,
        on_result: OnResult = "block",
        sanitise: Sanitise | None = None,
    ) -> None:
        self._arguments = _guard("arguments", arguments)
        self._results = _guard("results", results)
        if self._arguments is None and self._results is None:
            raise DefinitionError(_SUBJECT, "arguments", "give a Guard for arguments, for results, or for both")
        one_of(_SUBJECT, "on_result", on_result, get_args(OnResult))
        if (on_result == "sanitise") != (sanitise is not None) or (sanitise is not None and not callable(sanitise)):
            reason = "must be a function of the value and what was found, with on_result='sanitise' and only then"
            raise DefinitionError(_SUBJECT, "sanitise", reason)
        if sanitise is not None:
            require_plain(_SUBJECT, "sanitise", sanitise, "the value and what was found")
        self._on_result: OnResult = on_result
        self._sanitise = sanitise

    def __repr__(self) -> str:
        looked_at = [
            name for name, guard in (("arguments", self._arguments), ("results", self._results)) if guard is not None
        ]
        return f"<Guardrails of {' and '.join(looked_at)}>"

    async def __call__(self, call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        if self._arguments is not None:
            found = (await self._arguments.inspect(thaw_json(call.arguments))).flagged
            if found is not None:
                raise _blocked(ctx, "the arguments", found)
        if self._results is None:
            return await call_next()
        looking = _Looking(self._results, self._on_result, self._sanitise, ctx)
        answer = await reworded(call, call_next, looking.at_error)
        if isinstance(answer, Chunks):
            stage = partial(_HeldStage, looking)
            return answer.through(stage).around(partial(reworded, call, reword=looking.at_error))
        return await looking.at(answer)


def _guard(field: str, given: object) -> Guard | None:
    if given is not None and not isinstance(given, Guard):
        raise DefinitionError(_SUBJECT, field, f"must be Guard(...), not {shown(given)}")
    return given


def _blocked(ctx: ToolContext, what: str, found: Verdict) -> ToolFailure:
    _tell(ctx, what, found, "refused")
    return ToolFailure(
        f"a guardrail refused {what}: {found.reason}",
        category="permission",
        code="GUARDRAIL_BLOCKED",
        details=_facts(found),
    )


def _facts(found: Verdict) -> dict[str, object]:
    return {
        "guardrail": found.category,
        "detector": found.detector,
        "where": list(found.where),
        "confidence": found.confidence,
    }


def _tell(ctx: ToolContext, what: str, found: Verdict, done: str) -> None:
    ctx.log("warning", f"{ctx.tool_name}: {what} {done} by a guardrail: {found.reason}", _facts(found))


class _Looking:
    """Looks at what one call gave."""

    __slots__ = ("_ctx", "_guard", "_sanitise", "only_warns")

    def __init__(self, guard: Guard, on_result: OnResult, sanitise: Sanitise | None, ctx: ToolContext) -> None:
        self._guard = guard
        self._sanitise = sanitise
        self._ctx = ctx
        self.only_warns = on_result == "warn"

    @property
    def stopping(self) -> bool:
        """Whether nobody will see the result anyway."""
        return self._ctx.abort_requested

    async def at(self, value: object) -> object:
        """*value*, or what goes on in its place. Cancelled: nothing goes on."""
        found = await self._guard.inspect(_view(value))
        if found.flagged is None:
            return value
        instead = self._instead(value, found, found.flagged)
        if not self.only_warns:
            self._must_be_clean(await self._guard.inspect(_view(instead)))
        return instead

    def at_chunks(self, chunks: list[object]) -> list[object]:
        """All the chunks of a stream, or what goes on in their place."""
        found = self._guard.inspect_nowait(_view(_joined(chunks)))
        if found.flagged is None:
            return chunks
        instead = self._instead(chunks, found, found.flagged)
        if not isinstance(instead, list):
            raise TypeError(f"sanitise answered {shown(instead)} for a stream; it answers the list of its chunks")
        others = cast("list[object]", instead)
        if not self.only_warns:
            self._must_be_clean(self._guard.inspect_nowait(_view(_joined(others))))
        return others

    async def at_error(self, error: ToolError) -> ToolError:
        """*error*, or what is told in its place. Cancelled: nothing is told."""
        found = (await self._guard.inspect(readable(ToolResult("", "", "", "error", error=error)))).flagged
        if found is None:
            return error
        if self.only_warns:
            _tell(self._ctx, "an error", found, "found suspicious")
            return error
        failure = _blocked(self._ctx, "the words of an error", found)
        return ToolError(failure.category, failure.code, failure.message, details=failure.details)

    def _instead(self, value: object, found: Inspection, worst: Verdict) -> object:
        if self.only_warns:
            _tell(self._ctx, "the result", worst, "found suspicious")
            return value
        if self._sanitise is None:
            raise _blocked(self._ctx, "the result", worst)
        _tell(self._ctx, "the result", worst, "sanitised")
        return self._sanitise(value, found)

    def _must_be_clean(self, found: Inspection) -> None:
        if found.flagged is not None:
            raise _blocked(self._ctx, "the sanitised result", found.flagged)


def _view(value: object) -> dict[str, object]:
    return readable(ToolResult("", "", "", "success", content=encode_content(value)))


def _joined(chunks: list[object]) -> object:
    """Chunks as one value in which texts that follow each other are one: words may be spread over several."""
    together: list[object] = []
    for is_text, run in groupby(chunks, key=lambda chunk: isinstance(chunk, str)):
        pieces = list(run)
        together.extend(["".join(cast("list[str]", pieces))] if is_text else pieces)
    return together[0] if len(together) == 1 else together


class _HeldStage:
    """Keeps the chunks of a stream until they were looked at together; to only warn of them they are let through."""

    __slots__ = ("_chunks", "_looking")

    def __init__(self, looking: _Looking) -> None:
        self._looking = looking
        self._chunks: list[object] = []

    def feed(self, chunk: object) -> list[object]:
        self._chunks.append(chunk)
        return [chunk] if self._looking.only_warns else []

    def end(self) -> list[object]:
        if self._looking.stopping:
            return []
        looked_at = self._looking.at_chunks(self._chunks)
        return [] if self._looking.only_warns else looked_at
