"""What a detector answers, and what a detector is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import attrs
import msgspec

from ...errors import ArmoryError, DefinitionError

Path = tuple[str | int, ...]
"""Names and indices from the inspected value to a place in it."""

DETECTOR_FAILED: Final = "detector-failed"
"""The category of a verdict that stands in the place of one."""


class Verdict(msgspec.Struct, frozen=True):
    """What one detector says about one value. It never quotes the value: it may go into logs.

    Args:
        flagged: Whether the value should not go on.
        category: What was found, or what was looked for: ``prompt-injection``, ``topic-boundary``, ``input-length``,
            ``detector-failed``, or a word of a detector of the user's own.
        reason: Why, in words.
        where: The place in the value; empty for the value itself.
        confidence: From 0, nothing was found, to 1, certain. May be above 0 in a verdict that is not flagged.
        detector: Whose verdict it is. The guard writes it in where the detector does not.
        failed: Whether the detector raised or took too long, and the guard decided in its place.
    """

    flagged: bool
    category: str
    reason: str
    where: Path = ()
    confidence: float = 1.0
    detector: str = ""
    failed: bool = False


Detector = Callable[[object], Verdict | Awaitable[Verdict]]
"""Takes a JSON-like value (text, or a structure that holds texts) and judges it; may be async."""


class InspectionLimit(ArmoryError):
    """A value is too large, or nested too deeply, to be inspected. A guard counts it as a failure of its detector."""

    __module__ = "armory_trio.content.guardrails"


@attrs.frozen
class AtLeast:
    """A detector that flags only what another one flags with at least that *confidence*, and else says what it said.

    Args:
        detector: The other one.
        confidence: From 0 to 1.

    Raises:
        DefinitionError: *detector* is no function, or *confidence* is out of range.
    """

    detector: Detector
    confidence: float = 0.6

    def __attrs_post_init__(self) -> None:
        if not callable(self.detector):
            raise DefinitionError("AtLeast", "detector", "must be a detector")
        check_confidence("AtLeast", self.confidence)

    @property
    def name(self) -> str:
        """The name of the other one."""
        return name_of(self.detector)

    def __call__(self, value: object) -> Verdict | Awaitable[Verdict]:
        """The other detector's verdict, weighed."""
        verdict = self.detector(value)
        return self._weigh(verdict) if isinstance(verdict, Verdict) else self._weigh_later(verdict)

    async def _weigh_later(self, verdict: Awaitable[Verdict]) -> Verdict:
        return self._weigh(await verdict)

    def _weigh(self, verdict: Verdict) -> Verdict:
        flagged = verdict.flagged and verdict.confidence >= self.confidence
        return msgspec.structs.replace(verdict, flagged=flagged)


def name_of(detector: Detector) -> str:
    """What a detector is called: its ``name``, or that of its function or class."""
    name: object = getattr(detector, "name", None) or getattr(detector, "__name__", None)
    return name if isinstance(name, str) else type(detector).__name__


def check_confidence(subject: str, value: object) -> None:
    """Refuse *value* unless it is a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise DefinitionError(subject, "confidence", f"must be a number from 0 to 1, not {value!r}")
