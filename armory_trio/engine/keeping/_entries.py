"""What an execution holds in the ledger, and how it is written down what becomes of it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, Literal, TypeVar

import msgspec
import trio

from ...definitions import EffectRecord, Idempotency, ToolResult
from ...definitions._checks import a_kind
from ...definitions._exceptions import Withheld
from ...definitions._outputs import OutputContract
from ...ledger import (
    Answer,
    Attempt,
    Claim,
    CloseWindow,
    Complete,
    Done,
    Fresh,
    Happened,
    LedgerKey,
    LedgerStore,
    NoteCall,
    NoteWait,
    OpenWindow,
    Operation,
    Receipt,
    Refused,
    Release,
    Resolve,
    Start,
    key_text,
)
from .._concurrency import Latch, raise_interrupt
from .._permits import RECORD_TIMEOUT
from ._line import Line
from ._refusals import FenceLost, LedgerUnavailable, refusal
from ._retelling import apart, written

T = TypeVar("T")

_STOPPED: Final = frozenset(("CANCELLED", "TIMEOUT", "DEADLINE_EXCEEDED", "IDLE_TIMEOUT"))
"""Codes of calls that were stopped by what concerns nobody but those who made them."""

_log: Final = logging.getLogger("armory_trio.engine")


class Entry:
    """One attempt in the ledger, as long as the execution that made it is not over.

    It is ``tried`` once the ledger was asked to write down that its body begins, whatever that answered; ``started`` once
    that is known there; ``noted``, that it makes calls which may change something. It has ``ended`` when the ledger was
    told how; it is ``lost`` when it is somebody else's by now; and something that happened is ``unwritten`` if that could
    not be written down. It is ``renewing`` while its lease is renewed; ``holding`` while its end is decided and is written
    down; and ``withholding`` as long as nobody may be told of it before that.
    """

    __slots__ = (
        *(
            "about",
            "arguments",
            "attempt_id",
            "callers",
            "ended",
            "ending",
            "execution_id",
            "goes_on",
            "held",
            "holding",
        ),
        *("key", "left", "line", "lost", "news", "noted", "over", "pause", "receipt", "recovery_only"),
        *("refenced", "renewing", "result", "started", "store", "text", "tried", "unwritten", "withholding"),
    )

    tried: bool
    started: bool
    noted: bool
    ended: bool
    lost: bool
    unwritten: bool
    renewing: bool
    holding: bool
    withholding: bool

    def __init__(
        self, store: LedgerStore, key: LedgerKey, execution_id: str, left: Callable[..., None], *, recovery_only: bool
    ) -> None:
        self.store: LedgerStore = store
        self.execution_id: str = execution_id
        self.key: LedgerKey = key
        self.text: str = key.text
        self.recovery_only: bool = recovery_only
        self.left: Callable[..., None] = left
        """Told of the record once that is over."""
        self.attempt_id: str | None = None
        """Its fence; None as long as nothing is claimed."""
        self.arguments: str | None = None
        """The exact canonical text of the arguments that it was claimed with, whatever the body does to its own."""
        self.about: Idempotency | None = None
        """What a refusal says about the key, if that is why."""
        self.receipt: Receipt | None = None
        """What was decided about an earlier attempt, if the caller knows."""
        self.callers: tuple[Entry, ...] = ()
        """Those that made the call, and would count as having changed nothing if nobody noted it."""
        self.noted = self.tried = self.started = self.ended = self.lost = self.unwritten = False
        self.renewing = self.holding = self.withholding = False
        self.ending: Callable[[], None] | None = None
        """The last step, for when it is."""
        self.result: ToolResult[object] | None = None
        """How it ended, for those who wait for it; None if its body never began."""
        self.pause: Literal["waits", "waits-again"] | None = None
        """Whether it ends because somebody has to act before it can go on; or went on, and waits as it did before."""
        self.goes_on: bool = False
        """Whether it goes on from such an end, as far as the ledger knows."""
        self.held: int = 0  # windows of which another attempt may yet say what happened in them
        self.refenced: int = 0
        """How often the lease was over before the body could begin."""
        self.news: Latch = Latch()
        """Set when those who wait for it have to look again."""
        self.over: Latch = Latch()
        self.line: Line = Line()

    @property
    def told_key(self) -> str | None:
        """The key of the call, for the tool; None when it has none of its own."""
        return None if self.recovery_only else self.key.key

    @property
    def must_start(self) -> bool:
        """Whether the ledger has to be asked before a body may begin."""
        return not self.started or self.lost

    @property
    def fence(self) -> str:
        """The id of the attempt, which there is."""
        assert self.attempt_id is not None
        return self.attempt_id

    async def do(self, operation: Operation) -> Answer:
        """Do *operation*, within `RECORD_TIMEOUT`, whatever is cancelled meanwhile.

        Raises:
            LedgerUnavailable: It may or may not have been done.
        """
        return await done_within(self.store, operation)

    async def start(self, policy_revision: str | None = None) -> None:
        """Write down that the body is about to begin, let through by that state of the rules. Shielded, and bounded.

        Raises:
            FenceLost: It must not begin.
            LedgerUnavailable: Nobody knows whether that is written down, so it must not begin.
        """
        for caller in self.callers:
            if not caller.ended:  # who only started it need not be there any more
                await caller.note_call()
        self.tried = True
        start = Start(self.text, self.fence, policy_revision)
        self._require(await self.do(start), "the attempt was taken over before it could begin")
        self.started = True

    async def note_call(self) -> None:
        """Write down that its tool is about to make a call that may change something. Shielded, and bounded.

        Raises:
            LedgerUnavailable: The call must not begin: nobody knows whether that is written down, or the lease is over.
        """
        if self.noted:
            return
        if self.attempt_id is None:
            raise LedgerUnavailable("the call that made it could not be recorded, so it must change nothing")
        lost = "the lease of the call that made it is over, so it must change nothing any more"
        try:
            if not self.started:
                await self.start()  # what stands around the body calls something in its place
        except FenceLost as exc:
            raise LedgerUnavailable(lost) from exc
        if not isinstance(await self.do(NoteCall(self.text, self.fence)), Done) and not self.ended:
            raise LedgerUnavailable(lost)
        self.noted = True

    def go_on_unrecorded(self) -> None:
        """Let the body begin although that could not be written down: it changes nothing."""
        self.started = self.unwritten = True

    async def open_window(self) -> None:
        """Write down that the world is about to change. Shielded, and bounded.

        Raises:
            FenceLost: It must not change.
            LedgerUnavailable: Nobody knows whether that is written down, so it must not change.
        """
        self._require(
            await self.do(OpenWindow(self.text, self.fence)),
            "the lease of the attempt is over, so nothing may be changed any more",
        )

    def _require(self, answer: Answer, otherwise: str) -> None:
        if isinstance(answer, Refused):
            raise LedgerUnavailable(answer.reason)
        if not isinstance(answer, Done):
            self.lost = True
            raise FenceLost(otherwise)

    async def close_window(self, closed: EffectRecord, *, hold: bool) -> None:
        """Write down what happened in a window; if that is unknown, and to *hold*, only at the end of the call."""
        happened = "unknown" if closed.state == "open" else closed.state
        if hold and happened == "unknown":
            self.held += 1
        else:
            await self._close(happened)

    async def _close(self, happened: Happened) -> None:
        """Shielded, and bounded; what can't be written is told by the result."""
        try:
            answer = await self.do(CloseWindow(self.text, self.fence, happened))
        except LedgerUnavailable as exc:
            self.unwritten = True
            _log.warning("the end of an effect window could not be written down: %s", Withheld(exc))
        else:
            self.unwritten = self.unwritten or not isinstance(answer, Done)

    def let_them_go(self) -> None:
        """It is over: let those go who wait for it."""
        if not self.line:
            self.result = None  # nobody asks for it any more
        self.over.set()
        self.stir()

    def stir(self) -> None:
        """Something about it has changed: those who wait for it look again."""
        news, self.news = self.news, Latch()
        news.set()

    async def load(self, key_text: str) -> Attempt | None:
        """What is there for another key, as `do` does an operation."""
        return await asked_within(partial(self.store.load, key_text))

    async def note_wait(self, key_text: str, *, waiting: bool) -> None:
        """Write down that its tool waits for another host, or no more. Shielded, and bounded.

        Raises:
            LedgerUnavailable: Nobody knows whether that is written down.
        """
        await self.do(NoteWait(self.text, self.fence, key_text, waiting))

    async def end(self, result: ToolResult[object], output: OutputContract | None, *, attempts: int) -> None:
        """Write down how it ended: by its effect, never by the kind of its error. Shielded, and bounded."""
        self.ended = True
        try:
            if not attempts and result.effect != "none" and not self.started:
                await self.start()  # what stands around the body has changed something in its place
            for _ in range(self.held):
                await self._close("completed" if result.effect == "completed" else "unknown")
            operation = self._last_word(result, output, attempts)
            answer = await self.do(operation)
        except FenceLost:
            return
        except LedgerUnavailable as exc:
            self.unwritten = True
            _log.warning("how %s ended could not be written down: %s", result.execution_id, Withheld(exc))
            return
        if isinstance(answer, Refused):
            self.unwritten = True
        elif not isinstance(answer, Done):
            self.lost = self.lost or bool(attempts)
        elif isinstance(operation, Complete) and answer.attempt.state == "unknown":
            self.unwritten = self.unwritten or operation.effect != "unknown"  # it knows of a window that we don't

    async def release(self) -> None:
        """Write down that nothing came of it, since its body never began. Shielded, and bounded."""
        self.ended = True
        try:
            await self.do(self._nothing())
        except LedgerUnavailable as exc:
            _log.warning("an attempt of %s could not be released: %s", self.execution_id, Withheld(exc))

    def _nothing(self) -> Operation:
        # What was let go can't be released by name; that nothing came of it can be said. Where it goes on from a pause,
        # it waits as it did before.
        if not self.tried:
            return Release(self.text, self.fence)
        return Complete(self.text, self.fence, "none", pause=self.goes_on)

    def _last_word(self, result: ToolResult[object], output: OutputContract | None, attempts: int) -> Operation:
        if self.pause is not None:
            text = written(result, output) if self.pause == "waits" else None
            return Complete(self.text, self.fence, result.effect, text, pause=True)
        if result.effect == "unknown" or result.outcome == "action_required":  # nothing goes on from there
            return Complete(self.text, self.fence, "unknown")
        if result.effect == "none" and (not attempts or result.outcome != "success"):
            return self._nothing()
        return Complete(self.text, self.fence, result.effect, written(result, output))

    def told(self, result: ToolResult[object], kept: ToolResult[object]) -> ToolResult[object]:
        """*result* with what the ledger has to say about it. Those who wait get what is *kept* of it."""
        missing = self.lost or self.unwritten
        if not self.recovery_only or missing:
            outcome: Literal["fence-lost", "fresh"] = "fence-lost" if self.lost and result.attempts else "fresh"
            known = not missing and (self.pause == "waits" or (result.effect != "unknown" and self.pause is None))
            said = Idempotency(outcome, self.told_key, self.attempt_id, known)
            result = msgspec.structs.replace(result, idempotency=said)
        if self.line and not _leaves_the_key(kept):
            # Before the caller has its own, and may change it.
            self.result = apart(msgspec.structs.replace(kept, idempotency=result.idempotency))
        return result


def _leaves_the_key(result: ToolResult[object]) -> bool:
    """Whether a call that ended with *result* leaves its key to those who wait: it did nothing, and was only stopped."""
    if result.outcome == "success" or result.effect != "none":
        return False
    return not result.attempts or (result.error is not None and result.error.code in _STOPPED)


async def done_within(store: LedgerStore, operation: Operation) -> Answer:
    """Let *store* do *operation*, within `RECORD_TIMEOUT`, whatever is cancelled meanwhile.

    Raises:
        LedgerUnavailable: It may or may not have been done.
    """
    answer = await asked_within(partial(store.apply, operation))
    _require_meant(operation, answer)
    return answer


def _require_meant(operation: Operation, answer: object) -> None:
    """Take no answer for one to *operation* that can't be: nobody is told what became of the key of somebody else.

    Raises:
        LedgerUnavailable: It is none, or is about another key, or it lets somebody begin under a name that is not his.
    """
    if not isinstance(answer, Answer):
        raise LedgerUnavailable(f"it answered {a_kind(answer)}, which is no answer")
    attempt = None if isinstance(answer, Refused) else answer.attempt
    if attempt is not None and attempt.key != key_text(operation):
        raise LedgerUnavailable("it answered about another key")
    claim = operation.claim if isinstance(operation, Resolve) else operation
    if isinstance(answer, Fresh) and not (isinstance(claim, Claim) and claim.attempt_id == answer.attempt.attempt_id):
        raise LedgerUnavailable("it answered with an attempt that nobody asked for")


async def asked_within(ask: Callable[[], Awaitable[T]]) -> T:
    """What *ask* of a store answers within `RECORD_TIMEOUT`, whatever is cancelled meanwhile.

    Raises:
        LedgerUnavailable: It may or may not have been done.
    """
    try:
        with trio.move_on_after(RECORD_TIMEOUT, shield=True):
            return await ask()
    except BaseException as exc:  # noqa: ASYNC103  # shielded: a Cancelled that comes here belongs to the store alone
        raise_interrupt(exc)
        raise LedgerUnavailable(f"{type(exc).__name__}: {exc}") from exc  # noqa: ASYNC104  # as said
    raise LedgerUnavailable(f"it did not answer within {RECORD_TIMEOUT:g} s")


async def begun_or_failed(entry: Entry, policy_revision: str, *, read_only: bool) -> None:
    """Write down that the body is about to begin, from within its middleware. Shielded, and bounded.

    Raises:
        ToolFailure: It must not begin.
    """
    if entry.attempt_id is None or (read_only and entry.started):
        return
    try:
        await entry.start(policy_revision)  # before each attempt: it may not be ours any more
    except (FenceLost, LedgerUnavailable) as exc:
        if read_only and isinstance(exc, LedgerUnavailable):
            entry.go_on_unrecorded()
            return
        raise refusal("its start can't be recorded", exc) from exc
