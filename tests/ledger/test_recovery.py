"""What was left behind, and what is true of it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from armory_trio.ledger import CloseWindow, LeftBehind, Resolve, Truth, aged, left_behind, truth_of, words_of
from tests.ledger.cases import (
    CLAIM,
    CLOSE,
    DONE,
    LEASE,
    LOST,
    NOTHING,
    NOW,
    OPEN,
    READING,
    START,
    TEXT,
    WINDOWED,
    Step,
    there,
)
from tests.requirements import requirement

ABANDON = Resolve(key_text=TEXT, attempt_id="a", decision="abandoned", receipt="{}")
RETRY = Resolve(key_text=TEXT, attempt_id="a", decision="retry", receipt="{}")
UNSURE = CloseWindow(TEXT, "a", "unknown")

CASES: Sequence[tuple[Sequence[Step], Truth | None, str]] = [
    ((CLAIM,), "never-started", "never started"),
    ((CLAIM, START), "unknown", "the world may have seen it"),
    ((CLAIM, START, LOST), "unknown", "the world may have seen it"),
    ((CLAIM, START, LOST, RETRY), "unknown", "may be tried again"),
    ((READING, START), "safe", "only reads"),
    ((READING, START, LOST), "safe", "only reads"),
    ((WINDOWED, START), "safe", "no effect window"),
    ((WINDOWED, START, OPEN, NOTHING), "safe", "no effect window"),
    ((WINDOWED, START, OPEN), "unknown", "inside an effect window"),
    ((WINDOWED, START, OPEN, OPEN, CLOSE), "unknown", "inside an effect window"),
    ((WINDOWED, START, OPEN, NOTHING, OPEN), "unknown", "inside an effect window"),
    ((WINDOWED, START, OPEN, LOST), "unknown", "inside an effect window"),
    ((WINDOWED, START, OPEN, CLOSE), "unknown", "an effect happened"),
    ((WINDOWED, START, OPEN, UNSURE), "unknown", "the world may have seen it"),
    ((replace(WINDOWED, read_only=True), START, OPEN), "unknown", "inside an effect window"),
    ((CLAIM, START, DONE), None, "nothing is open"),
    ((CLAIM, START, LOST, ABANDON), None, "nothing is open"),
]


@requirement("ledger.recovery")
@pytest.mark.parametrize(("steps", "truth", "words"), CASES)
def test_what_is_true_of_an_attempt_follows_from_what_is_recorded(
    steps: Sequence[Step], truth: Truth | None, words: str
) -> None:
    attempt = there(*steps)

    for shown in (attempt, aged(attempt, NOW + LEASE)):
        assert truth_of(shown) == truth
        assert words in words_of(shown)
    assert ("safe to run again" in words_of(attempt)) == (truth in ("never-started", "safe"))


@requirement("ledger.recovery")
def test_what_was_left_behind_is_sorted_in_order_and_what_has_ended_is_left_out() -> None:
    attempts = [there(*steps) for steps, _, _ in CASES]

    found = left_behind(attempts)

    for part, truth in ((found.never_started, "never-started"), (found.safe, "safe"), (found.unknown, "unknown")):
        assert list(part) == [attempt for attempt in attempts if truth_of(attempt) == truth]
    assert found.again == (*found.never_started, *found.safe)
    assert found


@requirement("ledger.recovery")
def test_nothing_left_behind_is_false() -> None:
    assert not left_behind([there(CLAIM, START, DONE)])
    assert left_behind([]) == LeftBehind()
    assert LeftBehind().words() == ()


@requirement("ledger.recovery")
def test_the_report_says_first_what_needs_somebody_and_tells_no_secrets() -> None:
    secret = replace(CLAIM, arguments='{"card":"4111"}')

    words = left_behind([there(READING, START), there(CLAIM), there(secret, START)]).words()

    assert [word in line for word, line in zip(("unknown", "reads", "never"), words, strict=True)] == [True] * 3
    assert words[0].startswith("charge (execution execution-1, attempt 1): ")
    assert not any("4111" in line or "order-1" in line for line in words)
