"""What an execution holds in the ledger, and how it is written down what becomes of it."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Literal

import msgspec
import trio

from ..definitions import EffectRecord, Idempotency, ToolFailure, ToolResult
from ..errors import ArmoryError
from ._concurrency import Latch, leaves
from ._permits import RECORD_TIMEOUT
from ._retelling import written

if TYPE_CHECKING:  # loaded by who has a key
    from ..definitions._outputs import OutputContract
    from ..ledger import Answer, LedgerKey, LedgerStore, Operation, Receipt

_log: Final = logging.getLogger("armory_trio.engine")


class LedgerUnavailable(ArmoryError):
    """The ledger did not answer, or not in time, so nothing that needs it may happen."""


class FenceLost(ArmoryError):
    """The attempt is not ours any more: its lease was over, and somebody else may have taken its place."""


class Place:
    """Where somebody stands in the line of those who wait for an attempt; nowhere at first."""

    __slots__ = ("_line", "_turn")

    def __init__(self) -> None:
        self._line: Line | None = None
        self._turn = Latch()

    def stand(self, line: Line) -> None:
        """Stand behind all of *line*."""
        self._line = line
        self._turn = Latch()
        line[self] = None

    async def come_first(self) -> None:
        """Return when all those before it have left. Cancelled: nothing has changed."""
        if self._line is not None and next(iter(self._line)) is not self:
            await self._turn.wait()

    def leave(self) -> None:
        """Let the next one go, if it stands anywhere."""
        line, self._line = self._line, None
        if line is None:
            return
        was_first = next(iter(line)) is self
        del line[self]
        if was_first and line:
            next(iter(line)).may_go()

    def may_go(self) -> None:
        """All those before it have left."""
        self._turn.set()


Line = OrderedDict[Place, None]
"""Those who wait for an attempt: when it comes to nothing, they ask for its key in the order in which they came."""


class Entry:
    """One attempt in the ledger, as long as the execution that made it is not over."""

    __slots__ = (
        "about",
        "attempt_id",
        "callers",
        "ended",
        "ending",
        "execution_id",
        "holding",
        "key",
        "left",
        "line",
        "lost",
        "noted",
        "over",
        "receipt",
        "recovery_only",
        "renewing",
        "result",
        "started",
        "store",
        "text",
        "tried",
        "unwritten",
    )

    def __init__(
        self, store: LedgerStore, key: LedgerKey, execution_id: str, left: Callable[..., None], *, recovery_only: bool
    ) -> None:
        self.store = store
        self.execution_id = execution_id
        self.key = key
        self.text = key.text
        self.recovery_only = recovery_only
        self.left = left
        """Told of the record once that is over."""
        self.attempt_id: str | None = None
        """Its fence; None as long as nothing is claimed."""
        self.about: Idempotency | None = None
        """What a refusal says about the key, if that is why."""
        self.receipt: Receipt | None = None
        """What was decided about an earlier attempt, if the caller knows."""
        self.callers: tuple[Entry, ...] = ()
        """Those that made the call, and would count as having changed nothing if nobody noted it."""
        self.noted = False
        """Whether the ledger knows that it makes calls which may change something."""
        self.tried = False
        """Whether it was asked to write down that the body begins, whatever it answered."""
        self.started = False
        """Whether the ledger knows that the body may have begun."""
        self.renewing = False
        """Whether its lease is being renewed at this moment."""
        self.ended = False
        """Whether it knows, or was told, how it ended."""
        self.lost = False
        """Whether the attempt is somebody else's by now."""
        self.unwritten = False
        """Whether something that happened could not be written down."""
        self.holding = False
        """Whether the end is decided and not told yet, because it is being written down."""
        self.ending: Callable[[], None] | None = None
        """The last step, for when it is."""
        self.result: ToolResult[object] | None = None
        """How it ended, for those who wait for it; None if its body never began."""
        self.over = Latch()
        self.line: Line = OrderedDict()

    @property
    def told_key(self) -> str | None:
        """The key of the call, for the tool; None when it has none of its own."""
        return None if self.recovery_only else self.key.key

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
        from ..ledger import Start  # noqa: PLC0415  # loaded by then

        for caller in self.callers:
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
        from ..ledger import Done, NoteCall  # noqa: PLC0415  # as above

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
        if not isinstance(await self.do(NoteCall(self.text, self.fence)), Done):
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
        from ..ledger import OpenWindow  # noqa: PLC0415  # as above

        self._require(
            await self.do(OpenWindow(self.text, self.fence)),
            "the lease of the attempt is over, so nothing may be changed any more",
        )

    def _require(self, answer: Answer, otherwise: str) -> None:
        from ..ledger import Done, Refused  # noqa: PLC0415  # as above

        if isinstance(answer, Refused):
            raise LedgerUnavailable(answer.reason)
        if not isinstance(answer, Done):
            self.lost = True
            raise FenceLost(otherwise)

    async def close_window(self, closed: EffectRecord) -> None:
        """Write down what happened in a window. Shielded, and bounded; what can't be written is told by the result."""
        from ..ledger import CloseWindow, Done  # noqa: PLC0415  # as above

        happened = "unknown" if closed.state == "open" else closed.state
        try:
            answer = await self.do(CloseWindow(self.text, self.fence, happened))
        except LedgerUnavailable as exc:
            self.unwritten = True
            _log.warning("the end of an effect window could not be written down: %s", exc)
        else:
            self.unwritten = self.unwritten or not isinstance(answer, Done)

    def let_them_go(self) -> None:
        """It is over: let those go who wait for it."""
        if not self.line:
            self.result = None  # nobody asks for it any more
        self.over.set()

    async def end(self, result: ToolResult[object], output: OutputContract | None, *, attempts: int) -> None:
        """Write down how it ended: by its effect, never by the kind of its error. Shielded, and bounded."""
        from ..ledger import Complete, Done  # noqa: PLC0415  # as above

        self.ended = True
        try:
            if not attempts and result.effect != "none" and not self.started:
                await self.start()  # what stands around the body has changed something in its place
            operation = self._last_word(result, output, attempts)
            answer = await self.do(operation)
        except FenceLost:
            return
        except LedgerUnavailable as exc:
            self.unwritten = True
            _log.warning("how %s ended could not be written down: %s", result.execution_id, exc)
            return
        if not isinstance(answer, Done):
            self.lost = self.lost or bool(attempts)
        elif isinstance(operation, Complete) and answer.attempt.state == "unknown":
            self.unwritten = self.unwritten or operation.effect != "unknown"  # it knows of a window that we don't

    async def release(self) -> None:
        """Write down that nothing came of it, since its body never began. Shielded, and bounded."""
        self.ended = True
        try:
            await self.do(self._nothing())
        except LedgerUnavailable as exc:
            _log.warning("an attempt of %s could not be released: %s", self.execution_id, exc)

    def _nothing(self) -> Operation:
        from ..ledger import Complete, Release  # noqa: PLC0415  # as above

        # What was let go can't be released by name; that nothing came of it can be said.
        return Complete(self.text, self.fence, "none") if self.tried else Release(self.text, self.fence)

    def _last_word(self, result: ToolResult[object], output: OutputContract | None, attempts: int) -> Operation:
        from ..ledger import Complete  # noqa: PLC0415  # as above

        if result.effect == "unknown":
            return Complete(self.text, self.fence, "unknown")
        if result.effect == "none" and (not attempts or result.outcome != "success"):
            return self._nothing()
        return Complete(self.text, self.fence, result.effect, written(result, output))

    def told(self, result: ToolResult[object], chunks: tuple[object, ...]) -> ToolResult[object]:
        """*result* with what the ledger has to say about it. Those who wait get the *chunks* that it is made of, too."""
        missing = self.lost or self.unwritten
        if not self.recovery_only or missing:
            outcome: Literal["fence-lost", "fresh"] = "fence-lost" if self.lost and result.attempts else "fresh"
            known = not missing and result.effect != "unknown"
            said = Idempotency(outcome, self.told_key, self.attempt_id, known)
            result = msgspec.structs.replace(result, idempotency=said)
        if result.attempts or result.outcome == "success":
            self.result = msgspec.structs.replace(result, chunks=chunks)
        return result


async def done_within(store: LedgerStore, operation: Operation) -> Answer:
    """Let *store* do *operation*, within `RECORD_TIMEOUT`, whatever is cancelled meanwhile.

    Raises:
        LedgerUnavailable: It may or may not have been done.
    """
    try:
        with trio.fail_after(RECORD_TIMEOUT, shield=True):
            return await store.apply(operation)
    except trio.TooSlowError as exc:
        raise LedgerUnavailable(f"it did not answer within {RECORD_TIMEOUT:g} s") from exc
    except BaseException as exc:  # noqa: ASYNC103  # shielded: a Cancelled that comes here belongs to the store alone
        for leaf in leaves(exc):
            if issubclass(type(leaf), KeyboardInterrupt):
                raise leaf from None  # noqa: ASYNC104  # as below
        raise LedgerUnavailable(f"{type(exc).__name__}: {exc}") from exc  # noqa: ASYNC104  # as said


async def begun_or_failed(entry: Entry, *, read_only: bool) -> None:
    """Write down that the body is about to begin, from within its middleware. Shielded, and bounded.

    Raises:
        ToolFailure: It must not begin.
    """
    if entry.attempt_id is None:
        return
    try:
        await entry.start()
    except (FenceLost, LedgerUnavailable) as exc:
        if read_only and isinstance(exc, LedgerUnavailable):
            entry.go_on_unrecorded()
            return
        raise refusal("its start can't be recorded", exc) from exc


def refusal(what: str, why: Exception) -> ToolFailure:
    """What a call fails with when *what* it must not do without the ledger, which gave *why*."""
    return ToolFailure(
        f"{what}: {why}", category="unavailable", code="LEDGER_UNAVAILABLE", retryable=True, effect="none"
    )
