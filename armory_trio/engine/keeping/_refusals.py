"""What a call is told when the ledger can't record what it is about to do."""

from __future__ import annotations

from ...definitions import ToolFailure
from ...errors import ArmoryError


class LedgerUnavailable(ArmoryError):
    """The ledger did not answer, or not in time, so nothing that needs it may happen."""


class FenceLost(ArmoryError):
    """The attempt is not ours any more: its lease was over, and somebody else may have taken its place."""


def refusal(what: str, why: Exception) -> ToolFailure:
    """What a call fails with when *what* it must not do without the ledger, which gave *why*."""
    return ToolFailure(
        f"{what}: {why}", category="unavailable", code="LEDGER_UNAVAILABLE", retryable=True, effect="none"
    )
