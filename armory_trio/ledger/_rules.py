"""What each operation makes of the attempt that is there, and what is answered. Pure: the time comes from outside.

A lease is live before the instant ``lease_expires_at``, and over from that instant on. What that means depends on what
may have happened:

- Of an attempt that never started, nothing has. Whoever claims its key takes its place; until somebody does, its own
  holder may renew it, which harms nobody.
  If it was to go on from a pause, it waits as it did before for whoever claims its key and does not resume it. If a
  decision let it be tried, that counts for whoever claims its key with the same arguments.
- One that started is ``unknown`` from that instant on, for its own holder too: a lease that is over is no evidence that
  nothing happened, and what was told to others must not become untrue. Only a decision changes that, or, where it is
  recorded that nothing can have come of it, that somebody releases it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, cast

from msgspec.structs import replace

from ..authority._clock import is_time
from ..definitions import Effect
from ._attempts import (
    ENDED,
    Abandoned,
    Answer,
    Attempt,
    Conflict,
    Done,
    FenceLost,
    Fresh,
    Happened,
    Recorded,
    Refused,
    Running,
    Unknown,
)
from ._operations import (
    Authorize,
    Claim,
    CloseWindow,
    Complete,
    MarkUnknown,
    NoteCall,
    NoteWait,
    OpenWindow,
    Operation,
    Release,
    Renew,
    Resolve,
    Start,
)

Move = tuple[Attempt | None, Answer]
"""What is there afterwards, None if nothing is, and what is answered."""

_ORDER: Final[tuple[Effect, ...]] = ("none", "completed", "unknown")
_CAME_TO: Final[Mapping[Happened, Effect]] = {
    "completed": "completed",
    "nothing-happened": "none",
    "unknown": "unknown",
}


def apply(row: Attempt | None, operation: Operation, now: float) -> Move:
    """Do *operation*.

    Args:
        row: The attempt that is there for the key of the operation; None if there is none.
        operation: What to do.
        now: The time of the store, in seconds since 1970.

    Returns:
        The attempt that is there afterwards, None if there is none; and the answer.
    """
    if not is_time(now):
        return row, Refused(f"the clock says {now!r}, which is no time")
    return _MOVES[type(operation)](None if row is None else aged(row, now), operation, now)


def aged(row: Attempt, now: float) -> Attempt:
    """*row* as it stands at the time *now*: one that is started, and whose lease is over, is ``unknown``.

    While *now* is no time, such as NaN, nothing is over.
    """
    if row.state != "started" or not is_time(now) or now < row.lease_expires_at:
        return row
    return replace(row, state="unknown", ended_at=row.lease_expires_at)


def is_waiting(row: Attempt) -> bool:
    """Whether *row* ended because somebody has to act before it can go on."""
    return row.state == "completed" and row.pause is not None


def may_be_forgotten(row: Attempt) -> bool:
    """Whether *row* has ended, so that a ledger that is told so lets it go.

    One that did a part and waits for somebody has not: the key would be free, and that part be done again.
    """
    return row.state in ENDED and not (is_waiting(row) and row.effect != "none")


def key_text(operation: Operation) -> str:
    """The text of the key that *operation* is about."""
    return operation.key.text if isinstance(operation, Claim) else operation.key_text


def _held(row: Attempt | None, attempt_id: str, now: float) -> bool:
    """Whether the attempt of that id is there, is going on, and has a live lease."""
    return (
        row is not None
        and row.attempt_id == attempt_id
        and row.state in ("claimed", "started")
        and now < row.lease_expires_at
    )


def _strongest(one: Effect, other: Effect) -> Effect:
    return _ORDER[max(_ORDER.index(one), _ORDER.index(other))]


# ── Beginning ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _claim(row: Attempt | None, claim: Claim, now: float) -> Move:
    """What a claim finds: nothing, so that it begins; an attempt that it takes over; or one that stands in the way."""
    if row is None:
        return _begun(claim, now, number=1, receipt=None)
    if row.state == "claimed" and now >= row.lease_expires_at:
        if row.pause is not None:
            row = _paused_again(row, now)
        elif row.receipt is None or _agree(row, claim):  # what was decided, was decided about those arguments
            return _taken_over(row, claim, now, row.receipt)
    if not _agree(row, claim):
        return row, Conflict(row)
    if row.state == "completed":
        return _taken_over(row, claim, now, row.receipt) if _goes_on(row, claim) else (row, Recorded(row))
    if row.state == "abandoned":
        return row, Abandoned(row)
    if row.state in ("claimed", "started"):
        mine = row.state == "claimed" and row.attempt_id == claim.attempt_id
        return row, Fresh(row) if mine else Running(row)
    if not row.granted:
        return row, Unknown(row)
    return _taken_over(row, claim, now, row.receipt)


def _paused_again(row: Attempt, now: float) -> Attempt:
    """*row*, which was to go on from a pause, and did not: it waits as before."""
    return replace(row, state="completed", effect=row.before, ended_at=now)


def _agree(row: Attempt, claim: Claim) -> bool:
    """Whether they have the same arguments, as far as those of *row* are known."""
    return row.arguments in ("", claim.arguments)


def _taken_over(row: Attempt, claim: Claim, now: float, receipt: str | None) -> Move:
    """*claim* in the place of *row*; where it goes on from a pause, with what came of *row* so far."""
    if claim.instead_of not in (None, row.attempt_id):
        return row, FenceLost(row)
    if claim.attempt_id == row.attempt_id:
        return row, Refused("an attempt that takes the place of another needs an id of its own")
    attempt, answer = _begun(claim, now, number=row.number + 1, receipt=receipt)
    if attempt is None or not _goes_on(row, claim):
        return attempt, answer
    # What came of it so far is not undone by going on.
    before = _strongest(row.effect, attempt.before)
    attempt = replace(attempt, pause=row.pause, before=before, effect=row.effect, calls=row.calls, result=row.result)
    return attempt, Fresh(attempt)


def _goes_on(row: Attempt, claim: Claim) -> bool:
    """Whether *claim* goes on from where *row* waits for somebody."""
    return row.pause is not None and row.pause == claim.resumes


def _begun(claim: Claim, now: float, *, number: int, receipt: str | None) -> Move:
    """A new attempt, claimed at *now*."""
    attempt = Attempt(
        key=claim.key.text,
        tenant=claim.key.tenant,
        tool_id=claim.key.tool_id,
        tool_name=claim.tool_name,
        attempt_id=claim.attempt_id,
        number=number,
        state="claimed",
        effect="none",
        read_only=claim.read_only,
        windows="unopened" if claim.windows_declared else "undeclared",
        arguments=claim.arguments,
        execution_id=claim.execution_id,
        host=claim.host,
        policy_revision=claim.policy_revision,
        deduplicates=claim.deduplicates,
        before=claim.before,
        claimed_at=now,
        lease_expires_at=now + min(claim.lease, claim.cap),
        deadline=now + claim.cap,
        receipt=receipt,
    )
    return attempt, Fresh(attempt)


# ── Going on ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _renew(row: Attempt | None, renewal: Renew, now: float) -> Move:
    unstarted = row is not None and row.attempt_id == renewal.attempt_id and row.state == "claimed"
    if row is None or not (unstarted or _held(row, renewal.attempt_id, now)) or now >= row.deadline:
        return row, FenceLost(row)
    # A renewal never shortens a lease: one that was asked for earlier may arrive later.
    until = max(row.lease_expires_at, min(now + renewal.lease, row.deadline))
    return _done(replace(row, lease_expires_at=until))


def _start(row: Attempt | None, start: Start, now: float) -> Move:
    if row is None or not _held(row, start.attempt_id, now):
        return row, FenceLost(row)
    if row.state == "started":
        return _done(row)
    effect: Effect = row.before if row.read_only or row.windows != "undeclared" else "unknown"
    revision = row.policy_revision if start.policy_revision is None else start.policy_revision
    return _done(replace(row, state="started", effect=effect, started_at=now, policy_revision=revision))


def _note_call(row: Attempt | None, note: NoteCall, now: float) -> Move:
    if row is None or not _held(row, note.attempt_id, now):
        return row, FenceLost(row)
    if row.state != "started":
        return row, Refused("its body was never started, so it makes no calls")
    return _done(replace(row, calls=True))


def _note_wait(row: Attempt | None, note: NoteWait, now: float) -> Move:
    if row is None or not _held(row, note.attempt_id, now):
        return row, FenceLost(row)
    others = tuple(key for key in row.waits_for if key != note.waits_for)
    return _done(replace(row, waits_for=(*others, note.waits_for) if note.waiting else others))


def _open_window(row: Attempt | None, opening: OpenWindow, now: float) -> Move:
    if row is None or not _held(row, opening.attempt_id, now):
        return row, FenceLost(row)
    if row.state != "started":
        return row, Refused("its body was never started, so it has no effect windows")
    if row.windows == "undeclared":
        return row, Refused("its tool did not declare that it has effect windows")
    return _done(replace(row, windows="open", open_windows=row.open_windows + 1, effect="unknown"))


def _close_window(row: Attempt | None, closing: CloseWindow, now: float) -> Move:
    if row is None or not _held(row, closing.attempt_id, now):
        return row, FenceLost(row)
    if not row.open_windows:
        return row, Refused("none of its effect windows is open")
    behind = _strongest(row.behind, _CAME_TO[closing.happened])
    if row.open_windows > 1:
        return _done(replace(row, open_windows=row.open_windows - 1, behind=behind))
    windows = "unopened" if behind == "none" else "closed"
    effect = _strongest(row.before, behind)
    return _done(replace(row, windows=windows, open_windows=0, behind=behind, effect=effect))


# ── Ending ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _complete(row: Attempt | None, end: Complete, now: float) -> Move:
    if row is None or not _held(row, end.attempt_id, now):
        return row, Done(row) if row is not None and _says_the_same(row, end) else FenceLost(row)
    if row.state == "claimed" and end.effect != "none":
        return row, Refused("its body was never started, so it can't have had an effect")
    came_to_nothing = end.result is None and (end.pause or end.effect == "none")
    if row.pause is not None and (row.state == "claimed" or came_to_nothing):
        return _done(_paused_again(row, now))
    if end.pause and end.result is None:
        return row, Refused("it goes on from no pause, so there is none at which it could wait again")
    effect = _effect(row, end.effect)
    if effect == "unknown" and not end.pause:
        return _done(replace(row, state="unknown", effect=effect, ended_at=now))
    if effect == "none" and not end.pause and (end.result is None or not row.deduplicates):
        return _let_go(row, now)
    pause = row.attempt_id if end.pause else None
    ended = replace(row, state="completed", effect=effect, ended_at=now, result=end.result, pause=pause)
    return _done(replace(ended, waits_for=()))


def _says_the_same(row: Attempt, end: Complete) -> bool:
    """Whether it is recorded that *row* ended so, as after an answer that was lost."""
    kept = (row.attempt_id, row.state, row.effect, row.result, row.pause)
    pause = row.attempt_id if end.pause else None
    return kept == (end.attempt_id, "completed", _effect(row, end.effect), end.result, pause)


def _effect(row: Attempt, claimed: Effect) -> Effect:
    """The effect of an end that claims *claimed*: what came before, and what declared windows recorded, is the least."""
    return _strongest(claimed, row.before if row.windows == "undeclared" else row.effect)


def _mark_unknown(row: Attempt | None, mark: MarkUnknown, now: float) -> Move:
    if row is None or row.attempt_id != mark.attempt_id or row.state in ("completed", "abandoned"):
        return row, FenceLost(row)
    if row.state == "claimed":
        return row, Refused("its body was never started, so nothing about it is unknown")
    return _done(row if row.state == "unknown" else replace(row, state="unknown", ended_at=now))


def _release(row: Attempt | None, release: Release, now: float) -> Move:
    if row is None or row.attempt_id != release.attempt_id:
        return row, FenceLost(row)
    if row.state == "claimed" and row.pause is not None:
        return _done(_paused_again(row, now))
    if row.state in ("completed", "abandoned"):
        return row, Refused(f"it is {row.state}, and that is kept")
    if row.effect != "none" or row.calls:
        return row, Refused("the world may have seen it, so it is kept until somebody decides")
    return _let_go(row, now)


def _let_go(row: Attempt, now: float) -> Move:
    """Forget *row*, of which nothing came: unless a decision let it be tried, and it gives that back unused.

    Then the key stands as it did when that was decided: a decision is used when a body begins, and not before.
    """
    if row.state != "claimed" or row.receipt is None:
        return None, Done(row)
    return _done(replace(row, state="unknown", effect="unknown", granted=True, ended_at=now, waits_for=()))


def _resolve(row: Attempt | None, decided: Resolve, now: float) -> Move:
    if row is None or row.attempt_id != decided.attempt_id:
        return row, FenceLost(row)
    if row.state != "unknown" and not is_waiting(row):
        return row, Refused(f"nothing has to be decided about it: it is {row.state}")
    if (decided.result is None) == (decided.decision == "completed"):
        return row, Refused("a result is given with the decision 'completed', and with no other")
    if decided.decision == "retry":
        return _retried(row, decided, now)
    if decided.claim is not None:
        return row, Refused("a claim is given with the decision 'retry', and with no other")
    settled = replace(row, state=decided.decision, receipt=decided.receipt, granted=False, ended_at=now, pause=None)
    if decided.decision == "completed":
        settled = replace(settled, effect="completed", result=decided.result)
    return _done(settled)


def _retried(row: Attempt, decided: Resolve, now: float) -> Move:
    claim = decided.claim
    if claim is not None and claim.key.text != row.key:
        return row, Refused("the claim that comes with the decision is about another key")
    if claim is not None and not _agree(row, claim):
        return row, Conflict(row)
    if row.pause is not None and row.state == "unknown":
        # It went on and was lost: what it goes on from is there as before, and is not done again.
        waiting = replace(_paused_again(row, now), receipt=decided.receipt)
        return _done(waiting) if claim is None else _claim(waiting, claim, now)
    if claim is None:
        return _done(replace(row, state="unknown", receipt=decided.receipt, granted=True, pause=None))
    return _taken_over(replace(row, pause=None), claim, now, decided.receipt)


def _authorize(row: Attempt | None, authorized: Authorize, _now: float) -> Move:
    if row is None or row.attempt_id != authorized.attempt_id:
        return row, FenceLost(row)
    if row.state != "completed":
        return row, Refused(f"there is no result to be told: it is {row.state}")
    if row.authorization == authorized.receipt:
        return _done(row)
    if row.policy_revision != authorized.recorded_under:
        return row, Refused(f"it is recorded under the policy {row.policy_revision!r}")
    return _done(replace(row, policy_revision=authorized.policy_revision, authorization=authorized.receipt))


def _done(row: Attempt) -> Move:
    return row, Done(row)


# Each is only ever called with an operation of exactly the type that it stands under.
_MOVES: Final = cast(
    "Mapping[type[Operation], Callable[[Attempt | None, Operation, float], Move]]",
    {
        Claim: _claim,
        Renew: _renew,
        Start: _start,
        NoteCall: _note_call,
        NoteWait: _note_wait,
        OpenWindow: _open_window,
        CloseWindow: _close_window,
        Complete: _complete,
        MarkUnknown: _mark_unknown,
        Release: _release,
        Resolve: _resolve,
        Authorize: _authorize,
    },
)
