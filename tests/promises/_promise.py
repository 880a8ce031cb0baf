"""What a promise is."""

from __future__ import annotations

import msgspec


class Requirement(msgspec.Struct, frozen=True):
    """One promise.

    Args:
        source: Where it comes from: a section of the design, or ``field case N``.
        behaviour: What a user may rely on, as a sentence.
        divergence: How and why it differs from the systems that we learned from, when it does.
    """

    source: str
    behaviour: str
    divergence: str | None = None
