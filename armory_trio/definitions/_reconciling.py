"""An attempt of which nobody knows how it ended, as it is shown to those who can ask the far side; and what they answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Literal, cast

import msgspec

from ..errors import DefinitionError
from ._call import Effect
from ._checks import one_of, shown


class UnknownAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt that was begun, and of which nobody knows how it ended.

    Whoever made it is gone, or has lost its lease, or has seen it end in a way that says nothing.

    Args:
        tool_name: Its tool.
        tenant: Whose it is; blank where the call had none.
        key: The idempotency key of the call, as the tool had it in ``ctx.idempotency_key``; None if it had none.
        arguments: What it ran with, as JSON values; empty where that is not known.
        attempt_id: Which attempt it is.
        number: 1 for the first one of its key, and one more for each that took the place of another.
        started_at: When its body began, in seconds since 1970.
        effect: What is recorded of its effect: ``completed``, if one of its effect windows was closed after it had
            changed something; ``none``, if no effect window was entered; else ``unknown``.
    """

    tool_name: str
    tenant: str
    key: str | None
    arguments: Mapping[str, object]
    attempt_id: str
    number: int
    started_at: float
    effect: Effect


class Reconciled(msgspec.Struct, frozen=True):
    """What the far side knows about an attempt.

    Args:
        decision: ``retry``: it did not happen, and can't happen any more, so it may be done again. ``completed``: it
            happened, and came to *value*. ``abandoned``: it is not to be done any more.
        evidence: How that is known, such as what the far side answered. It is kept with the attempt.
        value: For ``completed``: what the tool would have returned.

    Raises:
        DefinitionError: The decision is none of these, the evidence is blank, or there is a value that does not belong
            to the decision.
    """

    decision: Literal["retry", "completed", "abandoned"]
    evidence: str
    value: object = None

    def __post_init__(self) -> None:
        one_of("Reconciled", "decision", self.decision, ("retry", "completed", "abandoned"))
        evidence = cast("object", self.evidence)
        if not isinstance(evidence, str) or not evidence.strip():
            raise DefinitionError("Reconciled", "evidence", f"must say how that is known, not {shown(evidence)}")
        if self.value is not None and self.decision != "completed":
            raise DefinitionError("Reconciled", "value", "belongs to the decision 'completed', and to no other")


Reconcile = Callable[[UnknownAttempt], Awaitable[Reconciled | None] | Reconciled | None]
"""Asks the far side how an attempt ended; None when it can't tell."""
