"""What the ledger says about a call, told to its caller: it ran before, it runs, it may have run, or it may begin."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from functools import partial
from typing import Final, Literal, cast

import msgspec
import trio

from ...content import encode_content, words_for, words_for_error
from ...definitions import Effect, Idempotency, RequiredAction, TextContent, ToolError, ToolResult
from ...definitions._exceptions import Withheld
from ...errors import JsonError
from ...ledger import Abandoned, Attempt, Conflict, Fresh, ReceiptError, Recorded, Refused, Unknown
from .._authorize import is_out_of_date
from .._events import StreamClosed, StreamOpened
from .._execution import Record
from .._permits import Hook
from .._plan import Plan
from .._room import ask_for_room
from .._settlement import answer, refuse
from ._entries import Entry
from ._refusals import LedgerUnavailable
from ._retelling import apart, read, without_content

LEDGER: Final = "ledger"
"""What a call waits for that asks the ledger, or tells again, chunk by chunk, what that kept of a stream."""

_STRIDE: Final = 64
"""Chunks after which other tasks may run, even if nothing made this one wait."""

_UNDER_NONE: Final = ""
"""The policy revision of an attempt that was brought in from elsewhere: that somebody decided about it, is what counts."""

_log: Final = logging.getLogger("armory_trio.engine")


class Joined(msgspec.Struct, frozen=True):
    """The attempt of another execution here was waited for, and ended so."""

    result: ToolResult[object]


class Cycle(msgspec.Struct, frozen=True):
    """Waiting for the attempt that runs would never end."""

    code: str
    text: str


def claimed(record: Record, found: object, failure: BaseException | None) -> None:
    """The ledger was asked, and *found* is what it, or who did the same meanwhile, had to say."""
    record.waits_for = None
    plan, entry = record.plan, record.entry
    assert plan is not None
    assert entry is not None
    if isinstance(failure, JsonError):
        refuse(record, "validation", "INVALID_ARGUMENTS", f"the arguments can't be written down: {failure}")
        return
    if isinstance(failure, ReceiptError):
        refuse(record, "permission", "AUTHORITY_REQUIRED", f"the receipt does not count: {failure}")
        return
    if failure is not None:
        if not isinstance(failure, LedgerUnavailable):
            _log.warning("the ledger failed for %s: %s", record.name, Withheld(failure))
        _without_ledger(record, plan, entry, failure)
        return
    _go_on(record, plan, entry, found)


def _without_ledger(record: Record, plan: Plan, entry: Entry, failure: BaseException) -> None:
    if plan.read_only:  # it can't do anything twice
        if not entry.recovery_only:
            entry.about = Idempotency("fresh", entry.key.key, recorded=False)
        ask_for_room(record)
        return
    why = str(failure) if isinstance(failure, LedgerUnavailable) else f"it failed ({type(failure).__name__})"
    refuse(record, "unavailable", "LEDGER_UNAVAILABLE", f"the ledger can't be reached: {why}")


def _go_on(record: Record, plan: Plan, entry: Entry, found: object) -> None:
    if not isinstance(found, Fresh) and plan.toolbox is not record.core.toolbox and is_out_of_date(record):
        record.core.hooks.judge(record)  # it is told by the rules of today, or not at all
        return
    match found:
        case Fresh():
            ask_for_room(record)
        case Joined(result=result):
            _share(record, entry, result)
        case Cycle(code=code, text=text):
            refuse(record, "conflict", code, f"waiting would never end, since {text}")
        case Recorded(attempt=attempt):
            _replay(record, plan, entry, attempt)
        case Unknown(attempt=attempt):
            _unknown(record, entry, attempt)
        case Conflict(attempt=attempt):
            _conflict(record, entry, attempt)
        case Abandoned(attempt=attempt):
            _given_up(record, entry, attempt)
        case Refused(reason=reason):
            refuse(record, "unavailable", "LEDGER_UNAVAILABLE", f"the ledger refused it: {reason}")
        case _:
            refuse(record, "unavailable", "LEDGER_UNAVAILABLE", "the ledger answered something that it can't mean")


def _conflict(record: Record, entry: Entry, attempt: Attempt) -> None:
    entry.about = Idempotency("conflict", entry.key.key, attempt.attempt_id)
    message = f"the idempotency key {entry.key.key!r} was used for other arguments"
    refuse(record, "conflict", "IDEMPOTENCY_CONFLICT", message, _named(entry, attempt))


def _named(entry: Entry, attempt: Attempt) -> dict[str, object]:
    return {"key": entry.key.key, "attempt_id": attempt.attempt_id}


def _given_up(record: Record, entry: Entry, attempt: Attempt) -> None:
    """That nobody is to try it again says nothing of what the world has seen of it: the effect is what is recorded."""
    message = f"the attempt with the idempotency key {entry.key.key!r} was given up, and is not to be tried again"
    error = ToolError("conflict", "IDEMPOTENCY_CONFLICT", message, details=_named(entry, attempt))
    result = _failed(record, error, attempt, ran=False)
    answer(record, _own(record, result, Idempotency("conflict", entry.key.key, attempt.attempt_id)))


def _share(record: Record, entry: Entry, result: ToolResult[object]) -> None:
    if result.effect == "unknown" and result.outcome != "action_required":
        attempt_id = None if result.idempotency is None else result.idempotency.attempt_id
        _require(record, entry, "resolution", attempt_id)
        return
    said = result.idempotency
    key = Idempotency("joined", entry.key.key, None if said is None else said.attempt_id, said is None or said.recorded)
    _tell(record, _own(record, apart(result), key))


def _own(record: Record, result: ToolResult[object], key: Idempotency) -> ToolResult[object]:
    return msgspec.structs.replace(
        result,
        execution_id=record.id,
        call_id=record.call_id,
        tool_name=record.name,
        attempts=0,
        duration=0.0,
        idempotency=key,
    )


def _replay(record: Record, plan: Plan, entry: Entry, attempt: Attempt) -> None:
    """Answer with how it ended before, if the same rules let it through."""
    if attempt.policy_revision not in (_UNDER_NONE, record.core.toolbox.policy_revision):
        _require(record, entry, "authorization", attempt.attempt_id, attempt)
        return
    key = Idempotency("deduped", entry.key.key, attempt.attempt_id)
    try:
        result = _result_of(attempt, plan)
    except Exception as exc:  # a contract of the user's may refuse what another version of it wrote
        _log.warning("what %s came to before can't be read: %s", record.name, Withheld(exc))
        message = "it was done before, and what it answered then can't be read any more"
        result = _failed(record, ToolError("internal", "OUTPUT_INVALID", message), attempt, ran=True)
    _tell(record, _own(record, msgspec.structs.replace(result, effect=attempt.effect), key))


def _result_of(attempt: Attempt, plan: Plan) -> ToolResult[object]:
    """How *attempt* ended. Raises whatever a contract of the user's does, or JsonError."""
    contract, text = plan.tool.output_contract, attempt.result
    if text is None:
        return without_content(_bare(attempt))
    try:
        return read(text, contract)
    except JsonError:
        if not _was_decided(attempt):
            raise
    # Whoever decided that it was done wrote down what it came to: the value alone.
    plain: object = json.loads(text)
    value = plain if contract is None else contract.load(plain)
    return msgspec.structs.replace(_bare(attempt), value=value, content=encode_content(value))


def _was_decided(attempt: Attempt) -> bool:
    """Whether somebody wrote down how it ended who did not run it."""
    receipt: object = None if attempt.receipt is None else json.loads(attempt.receipt)
    return isinstance(receipt, dict) and cast("dict[str, object]", receipt).get("decision") == "completed"


def _bare(attempt: Attempt) -> ToolResult[object]:
    return ToolResult(attempt.execution_id, "", attempt.tool_name, "success", effect=attempt.effect)


def _failed(record: Record, error: ToolError, attempt: Attempt, *, ran: bool) -> ToolResult[object]:
    words = (TextContent(words_for_error(record.name, error, attempt.effect, ran=ran, chunks=0)),)
    return ToolResult(
        record.id, record.call_id, record.name, "error", content=words, error=error, effect=attempt.effect
    )


def _tell(record: Record, result: ToolResult[object]) -> None:
    """End *record* with *result*; whoever reads its chunks gets those first, one by one."""
    chunks = result.chunks
    if result.outcome == "success":
        value = result.value if record.collects else None
        result = msgspec.structs.replace(result, chunks=(), value=value)
    if record.feeder is None or not chunks:
        answer(record, result)
        return
    record.hook = Hook(partial(_retell, record, chunks), partial(_told, result))
    record.waits_for = LEDGER


async def _retell(record: Record, chunks: Sequence[object]) -> None:
    """Hand *chunks*, which another attempt yielded, to the reader of *record*, as fast as it reads. Cancelled: no more."""
    feeder = record.feeder
    assert feeder is not None
    told = record.core.feed
    if told.readers:
        record.tell(StreamOpened)
    for chunk in chunks:
        record.chunks += 1
        feeder.put(chunk)
        if told.payloads:
            record.tell_chunk(record.chunks - 1, chunk)
        if feeder.full:
            await feeder.room()
        elif not record.chunks % _STRIDE:
            await trio.lowlevel.checkpoint()
    if told.readers:
        record.tell(StreamClosed, chunks=record.chunks, complete=True)
    await trio.lowlevel.checkpoint_if_cancelled()


def _told(result: ToolResult[object], record: Record, _answer: object, failure: BaseException | None) -> None:
    record.waits_for = None
    if failure is not None:
        raise failure  # a bug of ours
    answer(record, result)


def _unknown(record: Record, entry: Entry, attempt: Attempt) -> None:
    _require(record, entry, "resolution", attempt.attempt_id, attempt)


def _require(
    record: Record,
    entry: Entry,
    what: Literal["resolution", "authorization"],
    attempt_id: str | None,
    attempt: Attempt | None = None,
) -> None:
    """Somebody has to find out, or to allow, something before there is an answer."""
    effect: Effect = "unknown"
    if what == "resolution":
        message = f"the attempt {attempt_id} with this key was begun, and nobody knows how it ended"
        key = Idempotency("unknown-outcome", entry.key.key, attempt_id, recorded=False)
    else:
        assert attempt is not None
        message = f"it was done under the policy {attempt.policy_revision!r}, and another one is in force now"
        key = Idempotency("authorization-required", entry.key.key, attempt_id)
        effect = attempt.effect
    result: ToolResult[object] = ToolResult(
        record.id,
        record.call_id,
        record.name,
        "action_required",
        action=RequiredAction(what, message),
        effect=effect,
        idempotency=key,
    )
    answer(record, msgspec.structs.replace(result, content=(TextContent(words_for(result)),)))
