"""Several detectors on one value: who is asked, how long, and what a detector that fails counts as."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Coroutine, Mapping, Sequence
from typing import Final, Literal

import attrs
import msgspec
import trio

from ...definitions._call import ToolResult
from ...definitions._checks import members, one_of, seconds, shown
from ...definitions._content import (
    AudioContent,
    BlobResourceContent,
    Content,
    ImageContent,
    JsonContent,
    LinkContent,
    TextContent,
    TextResourceContent,
)
from ...errors import DefinitionError
from ._verdict import DETECTOR_FAILED, Detector, Verdict, name_of

DEFAULT_SECONDS: Final = 5.0


class Inspection(msgspec.Struct, frozen=True):
    """What a guard found out about one value.

    Args:
        verdicts: Of the detectors that were asked, in the guard's order.
    """

    verdicts: tuple[Verdict, ...]

    @property
    def allowed(self) -> bool:
        """Whether no detector flags the value."""
        return self.flagged is None

    @property
    def flagged(self) -> Verdict | None:
        """The flagged verdict with the highest confidence, the first of several; None when the value may go on."""
        flagged = [verdict for verdict in self.verdicts if verdict.flagged]
        return max(flagged, key=lambda verdict: verdict.confidence) if flagged else None

    @property
    def failures(self) -> tuple[Verdict, ...]:
        """What is said in the place of detectors that failed."""
        return tuple(verdict for verdict in self.verdicts if verdict.failed)


@attrs.frozen(kw_only=True)
class Guard:
    """Asks detectors about arguments and results.

    Args:
        detectors: Functions from a value to a `Verdict`; some may be async.
        on_failure: What a detector counts as that raises, takes too long, or answers something else: ``closed`` flags
            the value, ``open`` lets it go on. Both are told in the verdicts.
        timeout: Seconds that an async detector has. One that is not async is never interrupted.
        mode: ``all`` asks every detector, the async ones at once; ``first`` asks them in turn, up to one that flags.

    Raises:
        DefinitionError: There are no detectors, one is no function, or another field is wrong.
    """

    detectors: Sequence[Detector]
    on_failure: Literal["closed", "open"] = "closed"
    timeout: float | None = DEFAULT_SECONDS
    mode: Literal["all", "first"] = "all"

    def __attrs_post_init__(self) -> None:
        found = members("Guard", "detectors", self.detectors, "detectors")
        if not found:
            raise DefinitionError("Guard", "detectors", "is empty, so nothing would be inspected")
        for index, detector in enumerate(found):
            if not callable(detector) or isinstance(detector, type):
                raise DefinitionError("Guard", f"detectors[{index}]", f"must be a detector, not {shown(detector)}")
        one_of("Guard", "on_failure", self.on_failure, ("closed", "open"))
        one_of("Guard", "mode", self.mode, ("all", "first"))
        if self.timeout is not None:
            seconds("Guard", "timeout", self.timeout, zero=False, optional=True)

    async def inspect(self, value: object) -> Inspection:
        """Ask the detectors about *value*. A checkpoint; cancelled, it stops the async ones and says nothing."""
        await trio.lowlevel.checkpoint()
        if self.mode == "first":
            return Inspection(tuple(await self._in_turn(value)))
        verdicts = [self._ask(detector, value) for detector in self.detectors]
        async with trio.open_nursery() as nursery:
            for place, verdict in enumerate(verdicts):
                if not isinstance(verdict, Verdict):
                    nursery.start_soon(self._settle, verdicts, place, verdict, name="guardrail detector")
        return Inspection(tuple(verdict for verdict in verdicts if isinstance(verdict, Verdict)))

    def inspect_nowait(self, value: object) -> Inspection:
        """The same without waiting: an async detector counts as one that fails."""
        verdicts: list[Verdict] = []
        for detector in self.detectors:
            verdict = self._ask(detector, value)
            if not isinstance(verdict, Verdict):
                if isinstance(verdict, Coroutine):
                    verdict.close()
                verdict = self._failed(name_of(detector), "it is async, and nobody waits for it")
            verdicts.append(verdict)
            if verdict.flagged and self.mode == "first":
                break
        return Inspection(tuple(verdicts))

    async def _in_turn(self, value: object) -> list[Verdict]:
        verdicts: list[Verdict] = []
        for detector in self.detectors:
            verdict = self._ask(detector, value)
            verdicts.append(verdict if isinstance(verdict, Verdict) else await self._wait(name_of(detector), verdict))
            if verdicts[-1].flagged:
                break
        return verdicts

    def _ask(self, detector: Detector, value: object) -> Verdict | Awaitable[object]:
        try:
            answer: object = detector(value)
        except Exception as error:  # noqa: BLE001  # code of the user's; what it raises is told by the verdict
            return self._failed(name_of(detector), f"it raised {type(error).__name__}")
        return answer if isinstance(answer, Awaitable) else self._checked(name_of(detector), answer)

    async def _settle(
        self, verdicts: list[Verdict | Awaitable[object]], place: int, verdict: Awaitable[object]
    ) -> None:
        verdicts[place] = await self._wait(name_of(self.detectors[place]), verdict)

    async def _wait(self, name: str, verdict: Awaitable[object]) -> Verdict:
        try:
            with trio.move_on_after(float("inf") if self.timeout is None else self.timeout):
                return self._checked(name, await verdict)
        except Exception as error:  # noqa: BLE001  # code of the user's; what it raises is told by the verdict
            return self._failed(name, f"it raised {type(error).__name__}")
        return self._failed(name, f"it took longer than {self.timeout:g} s")

    def _checked(self, name: str, answer: object) -> Verdict:
        if not isinstance(answer, Verdict):
            return self._failed(name, f"it answered {type(answer).__name__}, no Verdict")
        return answer if answer.detector else msgspec.structs.replace(answer, detector=name)

    def _failed(self, name: str, why: str) -> Verdict:
        closed = self.on_failure == "closed"
        reason = f"the detector {name} failed: {why}"
        return Verdict(closed, DETECTOR_FAILED, reason, (), 1.0 if closed else 0.0, name, failed=True)


async def inspect_arguments(arguments: Mapping[str, object], guard: Guard) -> Inspection:
    """Ask *guard* about the arguments of a call; ``where`` of a verdict begins with the argument's name."""
    return await guard.inspect(arguments)


async def inspect_result(result: ToolResult[object], guard: Guard) -> Inspection:
    """Ask *guard* about what a model would read of *result*.

    ``where`` of a verdict begins with ``content`` and the index of the block; a path in a JSON block follows. What a
    tool says in its error is looked at, too, below ``error``. Bytes are not looked into.
    """
    return await guard.inspect(readable(result))


def readable(result: ToolResult[object]) -> dict[str, object]:
    """What a model would read of *result*, as a value for detectors."""
    view: dict[str, object] = {"content": [_words(block) for block in result.content]}
    if result.error is not None:
        view["error"] = {"message": result.error.message, "details": result.error.details}
    return view


def _words(block: Content) -> object:
    match block:
        case TextContent(text=text):
            return text
        case JsonContent(json=text):
            try:
                return json.loads(text, parse_int=float)  # numbers are not looked at, and may be of any length
            except (ValueError, RecursionError):
                return text
        case LinkContent(uri=uri, name=name, description=description):
            return {"uri": uri, "name": name, "description": description}
        case TextResourceContent(uri=uri, text=text, media_type=media_type):
            return {"uri": uri, "media_type": media_type, "text": text}
        case BlobResourceContent(uri=uri, media_type=media_type):
            return {"uri": uri, "media_type": media_type}
        case ImageContent() | AudioContent():
            return None
