"""What the tests of the ledger are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from armory_trio.ledger import (
    Answer,
    Attempt,
    Claim,
    CloseWindow,
    Complete,
    LedgerKey,
    MarkUnknown,
    OpenWindow,
    Operation,
    Start,
    apply,
)

NOW: Final = 1_790_000_000.0
LEASE: Final = 30.0
CAP: Final = 300.0
KEY: Final = LedgerKey("acme", "default:charge@1", "order-1")
TEXT: Final = KEY.text
CLAIM: Final = Claim(
    key=KEY,
    tool_name="charge",
    attempt_id="a",
    arguments='{"cents":5}',
    execution_id="execution-1",
    host="host-1",
    policy_revision="policy:1",
    lease=LEASE,
    cap=CAP,
)
CLAIM_B: Final = replace(CLAIM, attempt_id="b")
READING: Final = replace(CLAIM, read_only=True)
WINDOWED: Final = replace(CLAIM, windows_declared=True)
START: Final = Start(TEXT, "a")
OPEN: Final = OpenWindow(TEXT, "a")
CLOSE: Final = CloseWindow(TEXT, "a", "completed")
NOTHING: Final = CloseWindow(TEXT, "a", "nothing-happened")
DONE: Final = Complete(TEXT, "a", "completed", '"done"')
LOST: Final = MarkUnknown(TEXT, "a")

Step = Operation | float
"""Something to do, or seconds that pass."""


def follow(*steps: Step) -> tuple[Attempt | None, Answer | None, float]:
    """What is there after the steps, the last answer, and the time."""
    row: Attempt | None = None
    answer: Answer | None = None
    now = NOW
    for step in steps:
        if isinstance(step, int | float):
            now += step
        else:
            row, answer = apply(row, step, now)
    return row, answer, now


def there(*steps: Step) -> Attempt:
    """The attempt that is there after the steps."""
    row, _, _ = follow(*steps)
    assert row is not None
    return row


def answer_to(steps: Sequence[Step], operation: Operation) -> Answer:
    """The answer to *operation* after the steps."""
    _, answer, _ = follow(*steps, operation)
    assert answer is not None
    return answer
