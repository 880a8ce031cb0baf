"""A ledger in memory under three claimers, whoever decides, and a clock, who do whatever comes to their minds."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Final, TypeVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from msgspec.structs import replace

from armory_trio import DefinitionError
from armory_trio.definitions import Effect
from armory_trio.ledger import (
    Abandoned,
    Answer,
    Attempt,
    CloseWindow,
    Complete,
    Conflict,
    Decision,
    Done,
    Fresh,
    Happened,
    MarkUnknown,
    NoteCall,
    OpenWindow,
    Operation,
    Recorded,
    Release,
    Renew,
    Resolve,
    Running,
    Start,
    Unknown,
)
from armory_trio.storage.memory import MemoryLedger
from tests.ledger.cases import CLAIM, LEASE, NOW, TEXT
from tests.requirements import requirement

T = TypeVar("T")
NAMES: Final = st.sampled_from(["a", "b", "c"])
EFFECTS: Final = st.sampled_from(["none", "completed", "unknown"])


def at_once(doing: Coroutine[object, object, T]) -> T:
    """What *doing* answers without waiting for anything."""
    try:
        doing.send(None)
    except StopIteration as end:
        answer: T = end.value
        return answer
    raise AssertionError("it waited")


class Claimers(RuleBasedStateMachine):
    """Each claimer goes by the id of the attempt that it made last; some of them are long gone."""

    def __init__(self) -> None:
        super().__init__()
        self.time = NOW
        self.ledger = MemoryLedger(lambda: self.time)
        self.fences = {"a": "a0", "b": "b0", "c": "c0"}
        self.made = 0
        self.row: Attempt | None = None
        self.lost: set[str] = set()
        self.started: list[str] = []
        self.may_start = 1
        self.forgetting = False

    def do(self, operation: Operation) -> Answer:
        before = self.row
        answer = at_once(self.ledger.apply(operation))
        self.look()
        if before is not None and (self.row is None or self.row.attempt_id != before.attempt_id):
            self.lost.add(before.attempt_id)
        return answer

    def look(self) -> None:
        before, self.row = self.row, at_once(self.ledger.load(TEXT))
        if before is not None and before.state in ("completed", "abandoned") and not self.forgetting:
            assert self.row == before
        if before is not None and self.row is not None and not self.forgetting:
            assert self.row.number >= before.number
            assert (self.row.number > before.number) == (self.row.attempt_id != before.attempt_id)

    @rule(name=NAMES, reads=st.booleans(), windows=st.booleans(), other=st.booleans())
    def claim(self, name: str, reads: bool, windows: bool, other: bool) -> None:
        self.made += 1
        claim = replace(CLAIM, attempt_id=f"{name}{self.made}", read_only=reads, windows_declared=windows)
        before = self.row
        answer = self.do(replace(claim, arguments="{}") if other else claim)
        if isinstance(answer, Fresh):
            self.fences[name] = claim.attempt_id
            assert before is None or before.state == "claimed" or before.granted
        elif isinstance(answer, Unknown):
            assert before is not None
            assert not before.granted
        else:
            assert isinstance(answer, Running | Recorded | Abandoned | Conflict)
            assert before is not None

    @rule(name=NAMES, lease=st.sampled_from([1.0, LEASE, 1000.0]))
    def renew(self, name: str, lease: float) -> None:
        answer = self.do(Renew(TEXT, self.fences[name], lease))
        if isinstance(answer, Done):
            assert self.fences[name] not in self.lost
            assert self.time < answer.attempt.lease_expires_at <= answer.attempt.deadline

    @rule(name=NAMES)
    def start(self, name: str) -> None:
        fence = self.fences[name]
        answer = self.do(Start(TEXT, fence))
        if isinstance(answer, Done) and fence not in self.started:
            assert fence not in self.lost
            self.started.append(fence)

    @rule(name=NAMES)
    def note_call(self, name: str) -> None:
        if isinstance(self.do(NoteCall(TEXT, self.fences[name])), Done):
            assert self.fences[name] in self.started
            assert self.fences[name] not in self.lost

    @rule(name=NAMES)
    def open_window(self, name: str) -> None:
        if isinstance(self.do(OpenWindow(TEXT, self.fences[name])), Done):
            assert self.fences[name] in self.started

    @rule(name=NAMES, happened=st.sampled_from(["completed", "nothing-happened", "unknown"]))
    def close_window(self, name: str, happened: Happened) -> None:
        self.do(CloseWindow(TEXT, self.fences[name], happened))

    @rule(name=NAMES, effect=EFFECTS, result=st.sampled_from([None, "1"]))
    def complete(self, name: str, effect: Effect, result: str | None) -> None:
        before = self.row
        answer = self.do(Complete(TEXT, self.fences[name], effect, result))
        if isinstance(answer, Done) and self.row is None:
            assert before is not None
            assert effect == "none"
            assert before.windows in ("undeclared", "unopened")
            self.may_start += before.attempt_id in self.started

    @rule(name=NAMES)
    def lose(self, name: str) -> None:
        self.do(MarkUnknown(TEXT, self.fences[name]))

    @precondition(lambda self: self.row is not None)
    @rule()
    def release(self) -> None:
        before = self.row
        assert before is not None
        answer = self.do(Release(TEXT, before.attempt_id))
        if isinstance(answer, Done):
            assert before.effect == "none"
            assert not before.calls
            self.may_start += before.attempt_id in self.started

    @rule(
        name=NAMES, decision=st.sampled_from(["retry", "completed", "abandoned"]), at=st.booleans(), now=st.booleans()
    )
    def decide(self, name: str, decision: Decision, at: bool, now: bool) -> None:
        fence = self.row.attempt_id if at and self.row is not None else self.fences[name]
        before = self.row
        self.made += 1
        resolve = Resolve(
            key_text=TEXT,
            attempt_id=fence,
            decision=decision,
            receipt="{}",
            result="2" if decision == "completed" else None,
            claim=replace(CLAIM, attempt_id=f"{name}{self.made}") if now and decision == "retry" else None,
        )
        answer = self.do(resolve)
        if isinstance(answer, Fresh | Done):
            assert before is not None
            assert (before.state, before.attempt_id) == ("unknown", fence)
            # Deciding twice that an attempt may be retried, lets one take its place.
            self.may_start += decision == "retry" and not before.granted
        if isinstance(answer, Fresh):
            self.fences[name] = answer.attempt.attempt_id

    @rule(seconds=st.sampled_from([0.5, LEASE / 2, LEASE, 10 * LEASE, -LEASE]))
    def wait(self, seconds: float) -> None:
        self.time += seconds
        self.look()

    @precondition(lambda self: self.row is not None and self.row.state in ("completed", "abandoned"))
    @rule(later=st.booleans())
    def forget(self, later: bool) -> None:
        assert self.row is not None
        assert self.row.ended_at is not None
        self.forgetting = True
        instant = self.row.ended_at + later
        now = self.ledger.now()  # which does not go back when the clock does
        if instant > now:
            with pytest.raises(DefinitionError):
                at_once(self.ledger.forget(ended_before=instant))
            self.time += instant - now
        count = at_once(self.ledger.forget(ended_before=instant))
        assert count == later
        self.may_start += later
        if later:
            self.lost.add(self.row.attempt_id)
        self.look()
        assert (self.row is None) == later
        self.forgetting = False

    @invariant()
    def no_key_is_started_too_often(self) -> None:
        assert len(self.started) <= self.may_start

    @invariant()
    def what_is_there_makes_sense(self) -> None:
        if (row := self.row) is None:
            return
        assert (row.started_at is not None) == (row.attempt_id in self.started)
        assert row.state != "started" or row.started_at is not None
        assert (row.ended_at is not None) == (row.state not in ("claimed", "started"))
        assert (row.windows == "open") == (row.open_windows > 0)
        assert row.windows != "open" or row.effect == "unknown" or row.state in ("completed", "abandoned")
        assert not row.granted or row.state == "unknown"
        assert row.lease_expires_at <= row.deadline
        assert row.attempt_id not in self.lost


TestClaimers = requirement("ledger.once", "ledger.kept", "ledger.fence", "ledger.lease")(Claimers.TestCase)
