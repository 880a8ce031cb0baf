"""The rules of the ledger: each cell of the table, and each figure that it sets."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, get_args

import msgspec
import pytest
from msgspec.structs import replace

from armory_trio import DefinitionError, Effect
from armory_trio.ledger import (
    ENDED,
    LIVE,
    Abandoned,
    Answer,
    Attempt,
    AttemptState,
    Authorize,
    Claim,
    CloseWindow,
    Complete,
    Conflict,
    Done,
    FenceLost,
    Fresh,
    LedgerKey,
    NoteCall,
    NoteWait,
    Operation,
    Recorded,
    Refused,
    Release,
    Renew,
    Resolve,
    Running,
    Start,
    Unknown,
    aged,
    apply,
    key_text,
)
from tests.ledger.cases import (
    CAP,
    CLAIM,
    CLAIM_B,
    CLOSE,
    DONE,
    KEY,
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
    answer_to,
    follow,
    there,
)
from tests.requirements import requirement

RETRY: Final = Resolve(key_text=TEXT, attempt_id="a", decision="retry", receipt='{"by":"ann"}')
RETRY_NOW: Final = replace(RETRY, claim=CLAIM_B)
SAID_DONE: Final = replace(RETRY, decision="completed", result='"said"')
ABANDON: Final = replace(RETRY, decision="abandoned")
RENEW: Final = Renew(TEXT, "a", LEASE)
RELEASE: Final = Release(TEXT, "a")
NOTE: Final = NoteCall(TEXT, "a")
PERMIT: Final = Authorize(
    key_text=TEXT, attempt_id="a", recorded_under="policy:1", policy_revision="policy:2", receipt='{"by":"bob"}'
)
PAUSE: Final = Complete(TEXT, "a", "completed", '"it waits"', pause=True)
GOING_ON: Final[Sequence[Step]] = (
    replace(CLAIM, attempt_id="z"),
    replace(START, attempt_id="z"),
    replace(PAUSE, attempt_id="z"),
    replace(CLAIM, resumes="z"),
)
NO_EFFECT: Final = Complete(TEXT, "a", "none")

OPERATIONS: Final[Mapping[str, Operation]] = {
    "claim": CLAIM_B,
    "other": replace(CLAIM_B, arguments="{}"),
    "renew": RENEW,
    "start": START,
    "open": OPEN,
    "close": CLOSE,
    "none": NO_EFFECT,
    "value": Complete(TEXT, "a", "none", '"value"'),
    "done": DONE,
    "lost": Complete(TEXT, "a", "unknown"),
    "mark": LOST,
    "free": RELEASE,
    "retry": RETRY,
    "again": RETRY_NOW,
    "said": SAID_DONE,
    "leave": ABANDON,
    "note": NOTE,
    "allow": PERMIT,
    "wait": NoteWait(TEXT, "a", '["acme","default:charge@1","order-2"]'),
    "pause": PAUSE,
    "on": replace(CLAIM_B, resumes="a"),
}
BEFORE: Final[Mapping[str, Sequence[Step]]] = {
    "nothing": (),
    "claimed": (CLAIM,),
    "claimed, over": (CLAIM, LEASE),
    "started": (CLAIM, START),
    "started, over": (CLAIM, START, LEASE),
    "reading": (READING, START),
    "reading, over": (READING, START, LEASE),
    "unopened": (WINDOWED, START),
    "unopened, over": (WINDOWED, START, LEASE),
    "called": (WINDOWED, START, NOTE),
    "called, over": (WINDOWED, START, NOTE, LEASE),
    "open": (WINDOWED, START, OPEN),
    "open, over": (WINDOWED, START, OPEN, LEASE),
    "closed": (WINDOWED, START, OPEN, CLOSE),
    "closed, over": (WINDOWED, START, OPEN, CLOSE, LEASE),
    "nothing in it": (WINDOWED, START, OPEN, NOTHING),
    "completed": (CLAIM, START, DONE),
    "unknown": (CLAIM, START, LOST),
    "reading, lost": (READING, START, LOST),
    "granted": (CLAIM, START, LOST, RETRY),
    "abandoned": (CLAIM, START, LOST, ABANDON),
    "paused": (CLAIM, START, PAUSE),
    "going on": GOING_ON,
    "going on, over": (*GOING_ON, LEASE),
    "gone on": (*GOING_ON, START),
    "gone on, over": (*GOING_ON, START, LEASE),
}

# The answer (Fresh, Running, recorded = K, Unknown, Abandoned, Conflict, Done, fence Lost, refused = X) and the state
# afterwards (- nothing, claimed, started, completed = k, unknown, abandoned).
TABLE: Final = """
                claim other renew start open  close none  value done  lost  mark  free  retry again said  leave note  allow wait  pause on
nothing         Fc    Fc    L-    L-    L-    L-    L-    L-    L-    L-    L-    L-    L-    L-    L-    L-    L-    L-    L-    L-    Fc
claimed         Rc    Cc    Dc    Ds    Xc    Xc    D-    Dk    Xc    Xc    Xc    D-    Xc    Xc    Xc    Xc    Xc    Xc    Dc    Xc    Rc
claimed, over   Fc    Fc    Dc    Lc    Lc    Lc    Lc    Lc    Lc    Lc    Xc    D-    Xc    Xc    Xc    Xc    Lc    Xc    Lc    Lc    Fc
started         Rs    Cs    Ds    Ds    Xs    Xs    D-    Dk    Dk    Du    Du    Xs    Xs    Xs    Xs    Xs    Ds    Xs    Ds    Dk    Rs
started, over   Uu    Cu    Lu    Lu    Lu    Lu    Lu    Lu    Lu    Lu    Du    Xu    Du    Fc    Dk    Da    Lu    Xu    Lu    Lu    Uu
reading         Rs    Cs    Ds    Ds    Xs    Xs    D-    Dk    Dk    Du    Du    D-    Xs    Xs    Xs    Xs    Ds    Xs    Ds    Dk    Rs
reading, over   Uu    Cu    Lu    Lu    Lu    Lu    Lu    Lu    Lu    Lu    Du    D-    Du    Fc    Dk    Da    Lu    Xu    Lu    Lu    Uu
unopened        Rs    Cs    Ds    Ds    Ds    Xs    D-    Dk    Dk    Du    Du    D-    Xs    Xs    Xs    Xs    Ds    Xs    Ds    Dk    Rs
unopened, over  Uu    Cu    Lu    Lu    Lu    Lu    Lu    Lu    Lu    Lu    Du    D-    Du    Fc    Dk    Da    Lu    Xu    Lu    Lu    Uu
called          Rs    Cs    Ds    Ds    Ds    Xs    D-    Dk    Dk    Du    Du    Xs    Xs    Xs    Xs    Xs    Ds    Xs    Ds    Dk    Rs
called, over    Uu    Cu    Lu    Lu    Lu    Lu    Lu    Lu    Lu    Lu    Du    Xu    Du    Fc    Dk    Da    Lu    Xu    Lu    Lu    Uu
open            Rs    Cs    Ds    Ds    Ds    Ds    Du    Du    Du    Du    Du    Xs    Xs    Xs    Xs    Xs    Ds    Xs    Ds    Dk    Rs
open, over      Uu    Cu    Lu    Lu    Lu    Lu    Lu    Lu    Lu    Lu    Du    Xu    Du    Fc    Dk    Da    Lu    Xu    Lu    Lu    Uu
closed          Rs    Cs    Ds    Ds    Ds    Xs    Dk    Dk    Dk    Du    Du    Xs    Xs    Xs    Xs    Xs    Ds    Xs    Ds    Dk    Rs
closed, over    Uu    Cu    Lu    Lu    Lu    Lu    Lu    Lu    Lu    Lu    Du    Xu    Du    Fc    Dk    Da    Lu    Xu    Lu    Lu    Uu
nothing in it   Rs    Cs    Ds    Ds    Ds    Xs    D-    Dk    Dk    Du    Du    D-    Xs    Xs    Xs    Xs    Ds    Xs    Ds    Dk    Rs
completed       Kk    Ck    Lk    Lk    Lk    Lk    Lk    Lk    Dk    Lk    Lk    Xk    Xk    Xk    Xk    Xk    Lk    Dk    Lk    Lk    Kk
unknown         Uu    Cu    Lu    Lu    Lu    Lu    Lu    Lu    Lu    Lu    Du    Xu    Du    Fc    Dk    Da    Lu    Xu    Lu    Lu    Uu
reading, lost   Uu    Cu    Lu    Lu    Lu    Lu    Lu    Lu    Lu    Lu    Du    D-    Du    Fc    Dk    Da    Lu    Xu    Lu    Lu    Uu
granted         Fc    Cu    Lu    Lu    Lu    Lu    Lu    Lu    Lu    Lu    Du    Xu    Du    Fc    Dk    Da    Lu    Xu    Lu    Lu    Fc
abandoned       Aa    Ca    La    La    La    La    La    La    La    La    La    Xa    Xa    Xa    Xa    Xa    La    Xa    La    La    Aa
paused          Kk    Ck    Lk    Lk    Lk    Lk    Lk    Lk    Lk    Lk    Lk    Xk    Du    Fc    Dk    Da    Lk    Dk    Lk    Dk    Fc
going on        Rc    Cc    Dc    Ds    Xc    Xc    Dk    Dk    Xc    Xc    Xc    Dk    Xc    Xc    Xc    Xc    Xc    Xc    Dc    Xc    Rc
going on, over  Kk    Ck    Dc    Lc    Lc    Lc    Lc    Lc    Lc    Lc    Xc    Dk    Xc    Xc    Xc    Xc    Lc    Xc    Lc    Lc    Kk
gone on         Rs    Cs    Ds    Ds    Xs    Xs    Dk    Dk    Dk    Du    Du    Xs    Xs    Xs    Xs    Xs    Ds    Xs    Ds    Dk    Rs
gone on, over   Uu    Cu    Lu    Lu    Lu    Lu    Lu    Lu    Lu    Lu    Du    Xu    Dk    Kk    Dk    Da    Lu    Xu    Lu    Lu    Uu
"""
ANSWERS: Final[Mapping[str, type[Answer]]] = {
    "F": Fresh,
    "R": Running,
    "K": Recorded,
    "U": Unknown,
    "A": Abandoned,
    "C": Conflict,
    "D": Done,
    "L": FenceLost,
    "X": Refused,
}
STATES: Final[Mapping[str, AttemptState | None]] = {
    "-": None,
    "c": "claimed",
    "s": "started",
    "k": "completed",
    "u": "unknown",
    "a": "abandoned",
}
WAITING_AGAIN: Final = {
    *(("going on, over", claim) for claim in ("claim", "other", "on")),
    ("gone on, over", "again"),
}
"""Claims that find that it waits as before."""

HEAD, *ROWS = TABLE.strip("\n").splitlines()
CELLS: Final = [
    (line[:16].strip(), column, cell)
    for line in ROWS
    for column, cell in zip(HEAD.split(), line[16:].split(), strict=True)
]


def cells_of(before: str) -> list[tuple[str, str, str]]:
    """The cells of one row of the table."""
    return [cell for cell in CELLS if cell[0] == before]


@requirement("ledger.claim", "ledger.conflict", "ledger.takeover", "ledger.resolve", "ledger.unknown")
@pytest.mark.parametrize("before", BEFORE)
def test_each_operation_does_what_the_table_says(before: str) -> None:
    for _, operation, cell in cells_of(before):
        row, answer, _ = follow(*BEFORE[before], OPERATIONS[operation])

        assert (operation, type(answer)) == (operation, ANSWERS[cell[0]])
        assert (operation, None if row is None else row.state) == (operation, STATES[cell[1]])


@requirement("ledger.claim")
def test_the_table_has_every_state_every_operation_and_every_answer() -> None:
    assert {row for row, _, _ in CELLS} == set(BEFORE)
    assert {type(operation) for operation in OPERATIONS.values()} == set(get_args(Operation))
    assert set(ANSWERS.values()) == set(get_args(Answer))
    assert set(STATES.values()) == {None, *get_args(AttemptState)}
    states = {there(*steps).state for name, steps in BEFORE.items() if name != "nothing"}
    assert states == set(get_args(AttemptState))


@requirement("ledger.fence")
@pytest.mark.parametrize("before", BEFORE)
def test_whoever_names_another_attempt_changes_nothing(before: str) -> None:
    row, _, now = follow(*BEFORE[before])
    for operation, given in OPERATIONS.items():
        if isinstance(given, Claim):
            continue
        after, answer = apply(row, replace(given, attempt_id="z"), now)

        assert (operation, after) == (operation, None if row is None else aged(row, now))
        assert (operation, answer) == (operation, FenceLost(after))


@requirement("ledger.claim")
@pytest.mark.parametrize("before", BEFORE)
def test_what_is_not_done_changes_nothing(before: str) -> None:
    row, _, now = follow(*BEFORE[before])
    for _, operation, cell in cells_of(before):
        if cell[0] in "DF" or (before, operation) in WAITING_AGAIN:
            continue
        after, answer = apply(row, OPERATIONS[operation], now)

        assert (operation, after) == (operation, None if row is None else aged(row, now))
        assert isinstance(answer, Refused) or answer.attempt == after


# ── Claims ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("ledger.claim")
def test_a_claim_makes_an_attempt_that_holds_all_it_was_given() -> None:
    attempt = there(CLAIM)

    assert attempt == Attempt(
        key='["acme","default:charge@1","order-1"]',
        tenant="acme",
        tool_id="default:charge@1",
        tool_name="charge",
        attempt_id="a",
        number=1,
        state="claimed",
        effect="none",
        behind="none",
        read_only=False,
        windows="undeclared",
        open_windows=0,
        arguments='{"cents":5}',
        execution_id="execution-1",
        host="host-1",
        policy_revision="policy:1",
        deduplicates=True,
        claimed_at=NOW,
        started_at=None,
        ended_at=None,
        lease_expires_at=NOW + LEASE,
        deadline=NOW + CAP,
        result=None,
        receipt=None,
        granted=False,
    )
    assert answer_to((), CLAIM) == Fresh(attempt)


@requirement("ledger.claim")
def test_a_claim_says_what_kind_of_tool_it_is_for() -> None:
    assert (there(READING).read_only, there(READING).windows) == (True, "undeclared")
    assert (there(WINDOWED).read_only, there(WINDOWED).windows) == (False, "unopened")
    assert there(replace(CLAIM, deduplicates=False)).deduplicates is False


@requirement("ledger.claim")
@pytest.mark.parametrize("field", ["lease", "cap"])
@pytest.mark.parametrize("seconds", [0.0, -1.0, math.inf, math.nan])
def test_a_claim_lasts_for_a_number_of_seconds(field: str, seconds: float) -> None:
    with pytest.raises(DefinitionError, match=field):
        replace(CLAIM, **{field: seconds})


@requirement("ledger.claim")
def test_a_claim_needs_an_id() -> None:
    with pytest.raises(DefinitionError, match="attempt_id"):
        replace(CLAIM, attempt_id=" ")


@requirement("ledger.conflict")
def test_where_the_arguments_are_not_known_none_conflict_with_them() -> None:
    unknown = (replace(CLAIM, arguments=""), START, LOST)

    assert isinstance(answer_to(unknown, CLAIM_B), Unknown)
    assert isinstance(answer_to(unknown, RETRY_NOW), Fresh)


@requirement("ledger.takeover")
def test_who_takes_over_is_the_next_attempt_with_a_lease_and_a_deadline_of_its_own() -> None:
    attempt = there(CLAIM, LEASE, CLAIM_B)

    assert (attempt.number, attempt.attempt_id, attempt.state) == (2, "b", "claimed")
    assert (attempt.claimed_at, attempt.lease_expires_at) == (NOW + LEASE, NOW + 2 * LEASE)
    assert attempt.deadline == NOW + LEASE + CAP


@requirement("ledger.takeover")
def test_who_means_one_attempt_takes_over_no_other() -> None:
    steps = (CLAIM, LEASE, CLAIM_B, LEASE)

    assert answer_to(steps, replace(CLAIM, attempt_id="c", instead_of="a")) == FenceLost(there(*steps))
    assert isinstance(answer_to(steps, replace(CLAIM, attempt_id="c", instead_of="b")), Fresh)


@requirement("ledger.takeover", "ledger.fence")
def test_who_takes_over_needs_an_id_of_its_own() -> None:
    assert isinstance(answer_to((CLAIM, LEASE), CLAIM), Refused)
    assert isinstance(answer_to((CLAIM, START, LOST), replace(RETRY, claim=CLAIM)), Refused)


# ── Leases ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("ledger.lease")
def test_a_lease_is_live_until_the_instant_at_which_it_ends() -> None:
    almost = math.nextafter(NOW + LEASE, 0.0) - NOW

    assert isinstance(answer_to((CLAIM, almost), CLAIM_B), Running)
    assert isinstance(answer_to((CLAIM, LEASE), CLAIM_B), Fresh)
    assert isinstance(answer_to((CLAIM, almost), START), Done)
    assert isinstance(answer_to((CLAIM, LEASE), START), FenceLost)
    assert isinstance(answer_to((CLAIM, START, almost), DONE), Done)
    assert isinstance(answer_to((CLAIM, START, LEASE), DONE), FenceLost)
    assert isinstance(answer_to((WINDOWED, START, almost), OPEN), Done)
    assert isinstance(answer_to((WINDOWED, START, LEASE), OPEN), FenceLost)


@requirement("ledger.lease")
def test_a_renewed_lease_counts_from_the_renewal() -> None:
    assert there(CLAIM, 20.0, RENEW).lease_expires_at == NOW + 20.0 + LEASE


@requirement("ledger.lease")
def test_a_renewal_never_shortens_a_lease() -> None:
    assert there(CLAIM, 20.0, Renew(TEXT, "a", 1.0)).lease_expires_at == NOW + LEASE


@requirement("ledger.lease")
def test_no_lease_goes_beyond_the_deadline() -> None:
    assert there(replace(CLAIM, lease=2 * CAP)).lease_expires_at == NOW + CAP
    assert there(CLAIM, 20.0, Renew(TEXT, "a", 2 * CAP)).lease_expires_at == NOW + CAP

    last = there(CLAIM, 20.0, Renew(TEXT, "a", 2 * CAP), CAP - 21.0, RENEW)
    assert last.lease_expires_at == NOW + CAP
    for steps in ((CLAIM, 20.0, Renew(TEXT, "a", 2 * CAP), CAP - 20.0), (CLAIM, CAP)):
        assert isinstance(answer_to(steps, RENEW), FenceLost)


@requirement("ledger.lease")
def test_a_lease_that_is_over_can_be_renewed_while_nothing_began_and_nobody_took_over() -> None:
    assert there(CLAIM, 2 * LEASE, RENEW).lease_expires_at == NOW + 3 * LEASE
    assert isinstance(answer_to((CLAIM, 2 * LEASE, RENEW), START), Done)
    assert isinstance(answer_to((CLAIM, LEASE, CLAIM_B), RENEW), FenceLost)


@requirement("ledger.lease")
@pytest.mark.parametrize("lease", [0.0, -1.0, math.inf, math.nan])
def test_a_renewal_is_for_a_number_of_seconds(lease: float) -> None:
    with pytest.raises(DefinitionError, match="lease"):
        Renew(TEXT, "a", lease)


@requirement("ledger.unknown")
def test_a_started_attempt_is_unknown_from_the_end_of_its_lease_on() -> None:
    row, _, now = follow(CLAIM, START, 2 * LEASE)
    assert row is not None
    assert row.state == "started"

    shown = aged(row, now)

    assert (shown.state, shown.effect, shown.ended_at) == ("unknown", "unknown", NOW + LEASE)
    assert there(CLAIM, START, 2 * LEASE, CLAIM_B) == shown
    assert aged(row, NOW) is row
    assert aged(row, math.nan) is row


@requirement("ledger.unknown")
@pytest.mark.parametrize("steps", [(CLAIM,), (CLAIM, START, DONE), (CLAIM, START, LOST)])
def test_time_changes_nothing_else(steps: Sequence[Step]) -> None:
    row = there(*steps)

    assert aged(row, NOW + 10 * CAP) is row


@requirement("ledger.unknown")
@pytest.mark.parametrize("operation", [RENEW, START, OPEN, CLOSE, DONE, NO_EFFECT])
def test_its_own_holder_can_no_more_change_what_is_unknown(operation: Operation) -> None:
    assert isinstance(answer_to((CLAIM, START, LEASE), operation), FenceLost)


@requirement("ledger.clock")
@pytest.mark.parametrize("now", [math.nan, math.inf, -1.0])
@pytest.mark.parametrize("operation", OPERATIONS.values())
def test_at_no_time_nothing_is_done(operation: Operation, now: float) -> None:
    for row in (None, there(CLAIM), there(CLAIM, START, DONE)):
        after, answer = apply(row, operation, now)

        assert after is row
        assert isinstance(answer, Refused)


# ── Starts and windows ───────────────────────────────────────────────────────────────────────────────────────────────


@requirement("ledger.start")
def test_a_start_counts_as_an_effect_unless_the_tool_says_more() -> None:
    started = there(CLAIM, 5.0, START)

    assert (started.effect, started.started_at) == ("unknown", NOW + 5.0)
    assert there(READING, START).effect == "none"
    assert there(WINDOWED, START).effect == "none"


@requirement("ledger.windows")
def test_a_window_counts_as_an_effect_from_its_opening_until_it_is_said_that_nothing_happened() -> None:
    opened = there(WINDOWED, START, OPEN)
    assert (opened.windows, opened.open_windows, opened.effect) == ("open", 1, "unknown")

    happened: Mapping[str, tuple[str, str]] = {
        "completed": ("closed", "completed"),
        "nothing-happened": ("unopened", "none"),
        "unknown": ("closed", "unknown"),
    }
    for word, wanted in happened.items():
        closing = msgspec.convert(
            {"type": "close-window", "key_text": TEXT, "attempt_id": "a", "happened": word}, CloseWindow
        )
        closed = there(WINDOWED, START, OPEN, closing)
        assert (closed.windows, closed.effect) == wanted
        assert closed.open_windows == 0


@requirement("ledger.windows")
def test_windows_nest_and_what_one_left_behind_stays() -> None:
    first = there(WINDOWED, START, OPEN, OPEN, CLOSE)
    assert (first.windows, first.open_windows, first.effect, first.behind) == ("open", 1, "unknown", "completed")

    second = there(WINDOWED, START, OPEN, OPEN, CLOSE, NOTHING)
    assert (second.windows, second.open_windows, second.effect) == ("closed", 0, "completed")

    reopened = there(WINDOWED, START, OPEN, CLOSE, OPEN, NOTHING)
    assert (reopened.windows, reopened.effect) == ("closed", "completed")

    unknown = there(WINDOWED, START, OPEN, CloseWindow(TEXT, "a", "unknown"), OPEN, CLOSE)
    assert (unknown.windows, unknown.effect) == ("closed", "unknown")


@requirement("ledger.windows")
def test_an_end_can_not_claim_less_than_the_windows_recorded() -> None:
    assert there(WINDOWED, START, OPEN, CLOSE, NO_EFFECT).effect == "completed"
    assert there(WINDOWED, START, OPEN, DONE).state == "unknown"
    assert there(WINDOWED, START, OPEN, CloseWindow(TEXT, "a", "unknown"), DONE).state == "unknown"


@requirement("ledger.windows")
def test_an_end_can_claim_more_than_the_windows_recorded() -> None:
    assert there(WINDOWED, START, DONE).effect == "completed"


# ── Ends ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("ledger.follows-effect")
def test_an_end_with_an_effect_is_kept_with_what_to_tell() -> None:
    attempt = there(CLAIM, START, 5.0, DONE)

    assert (attempt.state, attempt.effect, attempt.result) == ("completed", "completed", '"done"')
    assert attempt.ended_at == NOW + 5.0
    assert answer_to((CLAIM, START, 5.0, DONE), CLAIM_B) == Recorded(attempt)


@requirement("ledger.follows-effect")
def test_an_end_without_an_effect_is_kept_if_there_is_something_to_tell() -> None:
    value = Complete(TEXT, "a", "none", '"value"')

    for steps in ((CLAIM,), (CLAIM, START), (READING, START)):
        assert (there(*steps, value).effect, there(*steps, value).result) == ("none", '"value"')


@requirement("ledger.follows-effect")
def test_an_end_without_an_effect_and_nothing_to_tell_frees_the_key() -> None:
    for steps in ((CLAIM,), (CLAIM, START), (READING, START), (WINDOWED, START, OPEN, NOTHING)):
        assert answer_to(steps, NO_EFFECT) == Done(there(*steps))
        assert isinstance(answer_to((*steps, NO_EFFECT), replace(CLAIM_B, arguments="{}")), Fresh)


@requirement("ledger.follows-effect")
def test_what_nobody_asks_for_again_is_kept_only_if_it_had_an_effect() -> None:
    steps = (replace(CLAIM, deduplicates=False), START)

    assert follow(*steps, Complete(TEXT, "a", "none", '"value"'))[0] is None
    assert there(*steps, DONE).state == "completed"


@requirement("ledger.follows-effect")
def test_an_unknown_end_is_kept_without_a_result() -> None:
    attempt = there(CLAIM, START, 5.0, Complete(TEXT, "a", "unknown", '"lost"'))

    assert (attempt.state, attempt.effect, attempt.result, attempt.ended_at) == ("unknown", "unknown", None, NOW + 5.0)


@requirement("ledger.follows-effect")
def test_what_is_marked_as_unknown_keeps_what_is_recorded_of_its_effect() -> None:
    marked = there(READING, START, 5.0, LOST)

    assert (marked.state, marked.effect, marked.ended_at) == ("unknown", "none", NOW + 5.0)
    assert there(WINDOWED, START, OPEN, CLOSE, LOST).effect == "completed"
    assert there(CLAIM, START, LOST).effect == "unknown"


@requirement("ledger.follows-effect")
def test_what_is_unknown_without_an_effect_can_be_released() -> None:
    for steps in ((READING, START, LEASE), (WINDOWED, START, LEASE), (WINDOWED, START, OPEN, NOTHING, LOST)):
        assert isinstance(answer_to((*steps, RELEASE), CLAIM_B), Fresh)


NEVER_BEGUN: Final[Mapping[str, Operation]] = {
    "released": replace(RELEASE, attempt_id="b"),
    "came to nothing": replace(NO_EFFECT, attempt_id="b"),
}


@requirement("ledger.unused")
@pytest.mark.parametrize("given_back", NEVER_BEGUN)
@pytest.mark.parametrize("retry", [RETRY_NOW, RETRY])
def test_a_decision_is_used_when_a_body_begins_and_not_before(retry: Resolve, given_back: str) -> None:
    claimed = (CLAIM, START, LOST, retry, *(() if retry.claim else (CLAIM_B,)))
    steps = (*claimed, NEVER_BEGUN[given_back])
    third = replace(CLAIM, attempt_id="c")
    back = there(*steps)
    again = answer_to(steps, third)

    assert (back.state, back.effect, back.attempt_id, back.receipt) == ("unknown", "unknown", "b", RETRY.receipt)
    assert isinstance(again, Fresh)
    assert (again.attempt.attempt_id, again.attempt.number, again.attempt.receipt) == ("c", 3, RETRY.receipt)
    # Nobody begins under it a second time: who gave it back can't, and once somebody has begun, it lets nobody else.
    for late in (replace(START, attempt_id="b"), replace(RENEW, attempt_id="b"), replace(START, attempt_id="a")):
        assert isinstance(answer_to(steps, late), FenceLost)
    assert isinstance(answer_to(steps, CLAIM_B), Refused)
    assert follow(*steps, NEVER_BEGUN[given_back])[0] == back
    assert isinstance(answer_to(steps, RETRY_NOW), FenceLost)
    begun = (*steps, third, replace(START, attempt_id="c"))
    assert isinstance(answer_to(begun, replace(CLAIM, attempt_id="d")), Running)
    assert isinstance(answer_to((*begun, LEASE), replace(CLAIM, attempt_id="d")), Unknown)


@requirement("ledger.unused")
def test_what_was_decided_about_other_arguments_lets_nothing_run() -> None:
    other = replace(CLAIM, attempt_id="c", arguments="{}")
    for given_back in (*NEVER_BEGUN.values(), LEASE):
        assert isinstance(answer_to((CLAIM, START, LOST, RETRY_NOW, given_back), other), Conflict)
    assert isinstance(answer_to((CLAIM, LEASE), other), Fresh)  # about that one nothing was decided


@requirement("ledger.unused")
def test_what_a_lost_host_did_not_begin_can_be_given_back_for_it() -> None:
    lost = (CLAIM, START, LOST, RETRY_NOW, LEASE)

    assert there(*lost, NEVER_BEGUN["released"]).granted
    assert isinstance(answer_to((*lost, NEVER_BEGUN["released"]), replace(CLAIM, attempt_id="c")), Fresh)


@requirement("ledger.unused")
def test_who_decided_that_it_may_be_tried_again_can_decide_otherwise_as_long_as_nothing_began() -> None:
    steps = (CLAIM, START, LOST, RETRY_NOW, NEVER_BEGUN["released"])
    end = there(*steps, replace(SAID_DONE, attempt_id="b"))

    assert (end.state, end.result) == ("completed", '"said"')


# ── Answers that were lost ───────────────────────────────────────────────────────────────────────────────────────────


@requirement("ledger.lost-answers")
@pytest.mark.parametrize(
    "steps",
    [
        (CLAIM,),
        (CLAIM, START),
        (CLAIM, RENEW),
        (CLAIM, START, DONE),
        (WINDOWED, START, OPEN, CLOSE, NO_EFFECT),
        (CLAIM, START, LOST),
        (CLAIM, START, LOST, RETRY),
    ],
)
def test_doing_it_again_gives_the_same_answer_and_changes_nothing(steps: Sequence[Step]) -> None:
    again = steps[-1]
    assert not isinstance(again, int | float)

    assert follow(*steps, again)[:2] == follow(*steps)[:2]


@requirement("ledger.lost-answers")
def test_a_key_that_was_started_is_not_fresh_for_the_same_claim() -> None:
    assert isinstance(answer_to((CLAIM, START), CLAIM), Running)
    assert isinstance(answer_to((CLAIM, START, LEASE), CLAIM), Unknown)


@requirement("ledger.lost-answers")
def test_a_second_end_that_says_something_else_does_not_count() -> None:
    steps = (CLAIM, START, DONE)

    for other in (replace(DONE, result='"else"'), replace(DONE, effect="none"), NO_EFFECT):
        assert answer_to(steps, other) == FenceLost(there(*steps))


@requirement("ledger.lost-answers")
def test_a_retried_attempt_that_completes_twice_is_told_the_same() -> None:
    steps = (CLAIM, START, LOST, RETRY_NOW, Start(TEXT, "b"), replace(DONE, attempt_id="b"))

    assert isinstance(answer_to(steps, replace(DONE, attempt_id="b")), Done)


# ── Decisions ────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("ledger.resolve")
def test_a_retry_puts_the_next_attempt_in_the_place_of_the_one_that_it_names() -> None:
    attempt = there(CLAIM, START, LEASE, RETRY_NOW)

    assert (attempt.number, attempt.attempt_id, attempt.state) == (2, "b", "claimed")
    assert (attempt.effect, attempt.receipt, attempt.started_at) == ("none", RETRY.receipt, None)


@requirement("ledger.resolve")
def test_a_retry_without_a_claim_lets_the_next_claim_through_once() -> None:
    granted = (CLAIM, START, LOST, RETRY)
    assert there(*granted).receipt == RETRY.receipt

    attempt = there(*granted, CLAIM_B)
    assert (attempt.number, attempt.receipt) == (2, RETRY.receipt)
    assert not attempt.granted
    lost = (*granted, CLAIM_B, Start(TEXT, "b"), LEASE, replace(CLAIM, attempt_id="c"))
    _, answer, _ = follow(*lost)
    assert isinstance(answer, Unknown), "the receipt of the first attempt lets the third one through"


@requirement("ledger.resolve")
def test_a_decision_that_it_completed_is_told_from_then_on() -> None:
    attempt = there(CLAIM, START, LEASE, 10.0, SAID_DONE)

    assert (attempt.state, attempt.effect, attempt.result) == ("completed", "completed", '"said"')
    assert (attempt.receipt, attempt.ended_at) == (RETRY.receipt, NOW + LEASE + 10.0)
    assert not there(CLAIM, START, LOST, RETRY, SAID_DONE).granted
    assert answer_to((CLAIM, START, LEASE, 10.0, SAID_DONE), CLAIM_B) == Recorded(attempt)


@requirement("ledger.resolve")
def test_what_was_abandoned_is_never_claimed_again() -> None:
    attempt = there(CLAIM, START, LEASE, 10.0, ABANDON)

    assert (attempt.state, attempt.effect, attempt.receipt) == ("abandoned", "unknown", RETRY.receipt)
    assert attempt.ended_at == NOW + LEASE + 10.0
    assert answer_to((CLAIM, START, LEASE, 10.0, ABANDON, 10 * CAP), CLAIM_B) == Abandoned(attempt)


@requirement("ledger.resolve")
@pytest.mark.parametrize(
    "decision",
    [
        replace(SAID_DONE, result=None),
        replace(RETRY, result='"said"'),
        replace(ABANDON, result='"said"'),
        replace(SAID_DONE, claim=CLAIM_B),
        replace(ABANDON, claim=CLAIM_B),
        replace(RETRY, claim=replace(CLAIM_B, key=LedgerKey("acme", "default:charge@1", "order-2"))),
    ],
)
def test_a_decision_that_makes_no_sense_is_refused(decision: Resolve) -> None:
    assert isinstance(answer_to((CLAIM, START, LOST), decision), Refused)


@requirement("ledger.resolve", "ledger.conflict")
def test_a_retry_is_for_the_same_arguments() -> None:
    retry = replace(RETRY, claim=replace(CLAIM_B, arguments="{}"))

    assert isinstance(answer_to((CLAIM, START, LOST), retry), Conflict)


# ── Keys and values ──────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("ledger.key")
def test_a_key_is_written_as_an_array_of_tenant_tool_and_key() -> None:
    assert KEY.text == '["acme","default:charge@1","order-1"]'
    assert LedgerKey('a"', "b", "\u00e9\n").text == '["a\\"","b","\u00e9\\n"]'
    assert LedgerKey("a", "b", "\ud800").text == '["a","b","\\ud800"]'


@requirement("ledger.key")
def test_no_two_keys_are_written_alike() -> None:
    texts = ["", "a", "b", '"', ",", '","', "a,b", '["a"]', "\\"]
    keys = [LedgerKey(tenant, tool, key) for tenant in texts for tool in texts for key in texts]

    assert len({key.text for key in keys}) == len(keys)


@requirement("ledger.key")
@pytest.mark.parametrize("operation", OPERATIONS.values())
def test_every_operation_says_which_key_it_is_about(operation: Operation) -> None:
    assert key_text(operation) == TEXT


@requirement("ledger.rules.pure")
def test_operations_and_answers_can_be_written_and_read_back() -> None:
    for operation in OPERATIONS.values():
        assert msgspec.json.decode(msgspec.json.encode(operation), type=Operation) == operation
    for before, name, _ in CELLS:
        answer = answer_to(BEFORE[before], OPERATIONS[name])
        assert msgspec.json.decode(msgspec.json.encode(answer), type=Answer) == answer


@requirement("ledger.kept")
def test_every_state_is_live_or_ended_or_unknown() -> None:
    assert {*LIVE, *ENDED, "unknown"} == set(get_args(AttemptState))
    assert not LIVE & ENDED


@requirement("ledger.start")
def test_what_never_began_has_no_start() -> None:
    assert isinstance(answer_to((), Start(TEXT, "a")), FenceLost)


@requirement("ledger.calls")
@pytest.mark.parametrize("claim", [READING, WINDOWED])
def test_who_made_a_call_that_may_change_something_is_not_let_go(claim: Claim) -> None:
    there_now = there(claim, START, NOTE, LEASE)

    assert (there_now.calls, there_now.effect) == (True, "none")
    assert isinstance(answer_to((claim, START, NOTE, LEASE), RELEASE), Refused)
    assert isinstance(answer_to((claim, START, LEASE), RELEASE), Done)
    assert follow(claim, START, NOTE, NO_EFFECT)[0] is None, "who led it to its end, knows"


@requirement("ledger.authorize")
def test_a_result_is_told_under_other_rules_once_that_is_decided() -> None:
    told = there(CLAIM, START, DONE, PERMIT)
    before_that = there(CLAIM, START, DONE)

    assert told == replace(before_that, policy_revision="policy:2", authorization=PERMIT.receipt)
    assert answer_to((CLAIM, START, DONE, PERMIT), PERMIT) == Done(told), "asking again, as after a lost answer"
    late = replace(PERMIT, receipt='{"by":"eve"}', policy_revision="policy:3")
    assert isinstance(answer_to((CLAIM, START, DONE, PERMIT), late), Refused)


@requirement("ledger.claim")
def test_an_attempt_is_bound_to_the_rules_that_let_its_body_begin() -> None:
    assert there(CLAIM, START).policy_revision == "policy:1"
    assert there(CLAIM, Start(TEXT, "a", "policy:2")).policy_revision == "policy:2"
    assert there(CLAIM, Start(TEXT, "a", "policy:2"), Start(TEXT, "a", "policy:3")).policy_revision == "policy:2"


@requirement("ledger.pause")
def test_what_goes_on_and_comes_to_nothing_waits_as_before() -> None:
    row = there(*GOING_ON, START)

    after, answer = apply(row, Complete(TEXT, "a", "none"), NOW)

    assert isinstance(answer, Done)
    assert after is not None
    assert (after.state, after.effect, after.result, after.pause) == ("completed", "completed", '"it waits"', "z")


@requirement("ledger.pause")
@pytest.mark.parametrize("effect", ["none", "completed", "unknown"])
def test_what_goes_on_from_no_pause_does_not_wait_as_before(effect: Effect) -> None:
    row = there(CLAIM, START)

    after, answer = apply(row, Complete(TEXT, "a", effect, pause=True), NOW)

    assert (after, isinstance(answer, Refused)) == (row, True)


@requirement("ledger.pause")
def test_what_came_before_a_pause_is_kept_whatever_becomes_of_going_on() -> None:
    paused = there(CLAIM, START, PAUSE)
    going_on = there(*GOING_ON)

    assert (paused.state, paused.effect, paused.result) == ("completed", "completed", '"it waits"')
    assert (going_on.number, going_on.before, going_on.effect) == (2, "completed", "completed")
    for steps in ((RELEASE,), (NO_EFFECT,), (LEASE,)):
        again, _, now = follow(*GOING_ON, *steps)
        assert again is not None
        again, _ = apply(again, CLAIM_B, now)
        assert again is not None
        assert (again.state, again.effect, again.result, again.pause) == (
            "completed",
            "completed",
            '"it waits"',
            "z",
        )
    assert there(*GOING_ON, START, NO_EFFECT).effect == "completed"
    ended = there(*GOING_ON, START, DONE)
    assert (ended.state, ended.result, ended.pause) == ("completed", '"done"', None)


@requirement("ledger.pause")
@pytest.mark.parametrize("effect", ["none", "completed", "unknown"])
def test_who_waits_for_somebody_is_recorded_as_waiting_whatever_it_did(effect: Effect) -> None:
    row = there(CLAIM, START, replace(PAUSE, effect=effect))

    assert (row.state, row.effect) == ("completed", effect)
    assert isinstance(answer_to((CLAIM, START, replace(PAUSE, effect=effect)), CLAIM_B), Recorded)


@requirement("ledger.pause")
def test_only_what_waits_is_gone_on_with() -> None:
    steps = (CLAIM, START, PAUSE)

    assert isinstance(answer_to(steps, replace(CLAIM_B, resumes="another")), Recorded)
    assert isinstance(answer_to(steps, replace(CLAIM_B, resumes="a", arguments="{}")), Conflict)
    assert isinstance(answer_to((CLAIM, START, DONE), replace(CLAIM_B, resumes="a")), Recorded)
    second = (*GOING_ON, START, PAUSE)
    assert isinstance(answer_to(second, replace(CLAIM_B, resumes="z")), Recorded), "what was used, is"
    assert isinstance(answer_to(second, replace(CLAIM_B, resumes="a")), Fresh)


@requirement("ledger.pause")
def test_what_went_on_and_came_to_nothing_waits_as_before() -> None:
    waits = there(*GOING_ON, START, Complete(TEXT, "a", "unknown", pause=True))

    assert (waits.state, waits.effect, waits.result, waits.pause) == ("completed", "completed", '"it waits"', "z")
    assert isinstance(answer_to((*GOING_ON, START, LEASE, RETRY), replace(CLAIM_B, resumes="z")), Fresh)
    again = there(*GOING_ON, START, LEASE, RETRY, replace(CLAIM_B, resumes="z"))
    assert (again.before, again.pause) == ("completed", "z"), "what was lost of going on is not counted any more"


@requirement("ledger.pause", "ledger.resolve")
@pytest.mark.parametrize("decision", [SAID_DONE, ABANDON])
def test_what_was_decided_is_not_gone_on_with(decision: Resolve) -> None:
    for steps in ((CLAIM, START, PAUSE, decision), (*GOING_ON, START, LEASE, decision)):
        row = there(*steps)
        assert row.pause is None
        for resumes in ("a", "z"):
            assert not isinstance(answer_to(steps, replace(CLAIM_B, resumes=resumes)), Fresh)


@requirement("ledger.takeover")
def test_a_claim_that_never_started_stands_in_nobodys_way_when_its_lease_is_over() -> None:
    assert isinstance(answer_to((CLAIM, LEASE), replace(CLAIM_B, arguments="{}")), Fresh)
    assert isinstance(answer_to((CLAIM,), replace(CLAIM_B, arguments="{}")), Conflict)


@requirement("ledger.key")
def test_a_call_without_a_key_is_written_like_no_key_of_anybodys() -> None:
    texts = {LedgerKey("acme", "default:charge", "e1", host).text for host in (None, "h1", "h2")}

    assert len(texts) == 3
