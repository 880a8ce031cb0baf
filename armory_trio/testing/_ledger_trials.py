"""What the cases for ledger stores are made of: everything that can be there for a key, and all that can be done to it."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from ..ledger import (
    Authorize,
    Claim,
    CloseWindow,
    Complete,
    Decision,
    LedgerKey,
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

NOW: Final = 1_790_000_000.0
"""When the cases begin, in seconds since 1970."""

LEASE: Final = 30.0
CAP: Final = 300.0
MOMENT: Final = 0.001
"""Seconds before the end of a lease at which it must still be live. Stores may keep times no finer than this."""

RECEIPT: Final = '{"by":"ann"}'

Step = Operation | float
"""Something to do, or seconds that pass."""


def new_claim(attempt_id: str = "a", *, key: LedgerKey | None = None, host: str = "host-1") -> Claim:
    """A claim of a key that nobody has seen before, unless it is given."""
    return Claim(
        key=key or LedgerKey("acme", "default:charge@1", secrets.token_hex(8)),
        tool_name="charge",
        attempt_id=attempt_id,
        arguments='{"cents":5}',
        execution_id=f"execution-{attempt_id}",
        host=host,
        policy_revision="policy:1",
        lease=LEASE,
        cap=CAP,
    )


def resolve(claim: Claim, decision: Decision, *, result: str | None = None, by: Claim | None = None) -> Resolve:
    """A decision about the attempt of *claim*; *by* is the attempt that takes its place."""
    return Resolve(
        key_text=claim.key.text,
        attempt_id=claim.attempt_id,
        decision=decision,
        receipt=RECEIPT,
        result=result,
        claim=by,
    )


def authorize(claim: Claim) -> Authorize:
    """That the result of the attempt of *claim* may be told under the rules that came after those of the claim."""
    return Authorize(
        key_text=claim.key.text,
        attempt_id=claim.attempt_id,
        recorded_under=claim.policy_revision,
        policy_revision="policy:2",
        receipt=RECEIPT,
    )


def before(claim: Claim) -> dict[str, Sequence[Step]]:
    """How to bring about everything that can be there, by names for it. The attempt that is there is ``a``."""
    key, a = claim.key.text, claim.attempt_id
    reading, windowed = replace(claim, read_only=True), replace(claim, windows_declared=True)
    start, opened = Start(key, a), OpenWindow(key, a)
    inside = (windowed, start, opened)
    lost = (claim, start, MarkUnknown(key, a))
    done = (claim, start, Complete(key, a, "completed", '"done"'))
    renewed: list[Step] = [25.0, Renew(key, a, LEASE)]
    return {
        "not there": (),
        "claimed": (claim,),
        "claimed and over": (claim, LEASE),
        "renewed to its deadline": (claim, *renewed * 11),
        "started": (claim, start),
        "started and over": (claim, start, LEASE),
        "reading": (reading, start),
        "reading and over": (reading, start, LEASE),
        "before its windows": (windowed, start),
        "before its windows and over": (windowed, start, LEASE),
        "after a call of its own": (windowed, start, NoteCall(key, a)),
        "after a call of its own and over": (windowed, start, NoteCall(key, a), LEASE),
        "inside a window": inside,
        "inside a window and over": (*inside, LEASE),
        "inside two windows": (*inside, opened, CloseWindow(key, a, "completed"), opened),
        "past a window": (*inside, CloseWindow(key, a, "completed")),
        "past a window and over": (*inside, CloseWindow(key, a, "completed"), LEASE),
        "past a window of nothing": (*inside, CloseWindow(key, a, "nothing-happened")),
        "past a window that nobody knows of": (*inside, CloseWindow(key, a, "unknown")),
        "for recovery alone": (replace(claim, deduplicates=False), start),
        "without known arguments": (replace(claim, arguments=""), start, LEASE),
        "completed": done,
        "completed and told under other rules": (*done, authorize(claim)),
        "completed without a trace": (claim, start, Complete(key, a, "none", '"nothing"')),
        **_waiting(claim),
        "gone again": (claim, start, Complete(key, a, "none")),
        "unknown": lost,
        "free to be retried": (*lost, resolve(claim, "retry")),
        "said to be completed": (*lost, resolve(claim, "completed", result='"done"')),
        "abandoned": (*lost, resolve(claim, "abandoned")),
    }


def _waiting(claim: Claim) -> dict[str, Sequence[Step]]:
    """Attempts that wait for somebody, and that go on."""
    key, a = claim.key.text, claim.attempt_id
    paused = (claim, Start(key, a), Complete(key, a, "completed", '"it waits"', pause=True))
    on = replace(claim, attempt_id="on", resumes=a)
    return {
        "waiting for somebody": paused,
        "going on": (*paused, on),
        "going on and over": (*paused, on, LEASE),
        "gone on": (*paused, on, Start(key, "on")),
        "gone on and over": (*paused, on, Start(key, "on"), LEASE),
    }


BEFORE: Final = tuple(before(new_claim()))


def operations(claim: Claim) -> list[Operation]:
    """Everything that can be done, by the attempt of the claim."""
    key, a = claim.key.text, claim.attempt_id
    other = replace(claim, attempt_id="other")
    return [
        claim,
        replace(claim, arguments='{"cents":6}'),
        replace(claim, instead_of="a"),
        replace(claim, instead_of="z"),
        Renew(key, a, LEASE),
        Renew(key, a, MOMENT),
        Renew(key, a, 10 * CAP),
        Start(key, a),
        Start(key, a, "policy:2"),
        NoteCall(key, a),
        OpenWindow(key, a),
        CloseWindow(key, a, "completed"),
        CloseWindow(key, a, "nothing-happened"),
        CloseWindow(key, a, "unknown"),
        Complete(key, a, "none"),
        Complete(key, a, "none", '"nothing"'),
        Complete(key, a, "completed", '"done"'),
        Complete(key, a, "unknown", '"lost"'),
        Complete(key, a, "unknown", '"it waits"', pause=True),
        Complete(key, a, "unknown", pause=True),
        replace(other, before="completed"),
        replace(other, resumes=a),
        NoteWait(key, a, "another"),
        NoteWait(key, a, "another", waiting=False),
        MarkUnknown(key, a),
        Release(key, a),
        *_decisions(claim, other),
    ]


def _decisions(claim: Claim, other: Claim) -> list[Operation]:
    """Everything that can be decided."""
    return [
        resolve(claim, "retry"),
        resolve(claim, "retry", by=other),
        resolve(claim, "retry", by=replace(other, arguments='{"cents":6}')),
        resolve(claim, "retry", by=replace(other, key=LedgerKey("acme", "default:charge@1", "another"))),
        resolve(claim, "retry", by=claim),
        resolve(claim, "retry", result='"done"'),
        resolve(claim, "completed", result='"done"'),
        resolve(claim, "completed"),
        resolve(claim, "abandoned"),
        resolve(claim, "abandoned", by=other),
        authorize(claim),
        replace(authorize(claim), recorded_under="policy:0"),
    ]
