"""What the caller is given: the result of an execution, from what its record knows."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache

import msgspec

from ..definitions import (
    Category,
    Content,
    Effect,
    EffectRecord,
    Idempotency,
    PendingApproval,
    RequiredAction,
    TextContent,
    ToolError,
    ToolResult,
)
from ..errors import JsonError
from ._execution import Record
from ._plan import Plan


def success(record: Record, value: object, content: tuple[Content, ...], effect: Effect, now: float) -> None:
    """The body answered *value*."""
    result: ToolResult[object] = ToolResult(  # by position: msgspec is four times slower by name
        record.id,
        record.call_id,
        record.name,
        "success",
        value,
        content,
        None,
        None,
        effect,
        windows_of(record) if record.windows else (),
        (),
        record.attempts,
        0.0 if record.started_at is None else now - record.started_at,
    )
    alone, plan = record.permit is None and record.entry is None, record.plan
    record.result = result if alone and (plan is None or not plan.digests) else _completed(record, result)


def error(record: Record, told: ToolError, effect: Effect, now: float) -> None:
    """The call failed with *told*."""
    chunks = tuple(record.collected) if record.collected else ()
    result: ToolResult[object] = ToolResult(
        record.id,
        record.call_id,
        record.name,
        "error",
        None,
        words_of_error(record, told, effect, len(chunks)),
        told,
        None,
        effect,
        windows_of(record) if record.windows else (),
        chunks,
        record.attempts,
        0.0 if record.started_at is None else now - record.started_at,
    )
    alone, plan = record.permit is None and record.entry is None, record.plan
    record.result = result if alone and (plan is None or not plan.digests) else _completed(record, result)


def action(
    record: Record, required: RequiredAction, pending: PendingApproval | None, effect: Effect, now: float
) -> None:
    """Somebody has to act before the call can go on."""
    result: ToolResult[object] = ToolResult(
        execution_id=record.id,
        call_id=record.call_id,
        tool_name=record.name,
        outcome="action_required",
        action=required,
        effect=effect,
        effects=windows_of(record),
        attempts=record.attempts,
        duration=0.0 if record.started_at is None else now - record.started_at,
        pending_approval=pending,
    )
    result = _completed(record, result)
    record.result = msgspec.structs.replace(result, content=_words_of_action(result))


def tell_what_is_known(record: Record, effect: Effect) -> None:
    """Put into the result what was not known yet when the caller was released."""
    result = record.result
    windows = windows_of(record)
    if result is None or (result.effect == effect and result.effects == windows):
        return
    result = msgspec.structs.replace(result, effect=effect, effects=windows)
    if result.error is not None:
        content = words_of_error(record, result.error, effect, len(result.chunks))
        result = msgspec.structs.replace(result, content=content)
    elif result.outcome == "action_required":
        result = msgspec.structs.replace(result, content=_words_of_action(result))
    record.result = result


def words_of_error(record: Record, told: ToolError, effect: Effect, chunks: int) -> tuple[Content, ...]:
    """What a model reads of a call that failed."""
    ran = record.attempts > 0
    if record.abort is not None and not chunks and not record.children:
        return _words_of_abort((record.name, told.category, told.code, told.message, told.retryable, effect, ran))
    return _told(record.name, told, effect, ran=ran, chunks=chunks)


@lru_cache(maxsize=64)
def _words_of_abort(of: tuple[str, Category, str, str, bool, Effect, bool]) -> tuple[Content, ...]:
    # Those who are stopped together are told the same.
    name, category, code, reason, retryable, effect, ran = of
    return _told(name, ToolError(category, code, reason, retryable), effect, ran=ran)


def _told(name: str, error: ToolError, effect: Effect, *, ran: bool, chunks: int = 0) -> tuple[Content, ...]:
    from ..content import words_for_error  # noqa: PLC0415  # loaded by the first failure

    return (TextContent(words_for_error(name, error, effect, ran=ran, chunks=chunks)),)


def _words_of_action(result: ToolResult[object]) -> tuple[Content, ...]:
    from ..content import words_for  # noqa: PLC0415  # loaded by the first pause

    return (TextContent(words_for(result)),)


def windows_of(record: Record) -> tuple[EffectRecord, ...]:
    """The effect windows of *record*, as they stand."""
    return tuple(window.record() for window in record.windows) if record.windows else ()


def _completed(record: Record, result: ToolResult[object]) -> ToolResult[object]:
    """The rare fields, which most results do not have."""
    plan, permit, entry = record.plan, record.permit, record.entry
    if plan is not None and plan.digests:
        result = _with_digests(record, plan, result)
    if entry is None:
        pass
    elif entry.about is not None:
        result = msgspec.structs.replace(result, idempotency=entry.about)
    elif record.attempts and entry.told_key is not None:
        # Told before how it ended could be written down; whoever waits for that is told more.
        said = Idempotency("fresh", entry.told_key, entry.attempt_id, recorded=False)
        result = msgspec.structs.replace(result, idempotency=said)
    if permit is not None and permit.edited:
        result = msgspec.structs.replace(result, executed_arguments_edited=True)
    return result


def _with_digests(record: Record, plan: Plan, result: ToolResult[object]) -> ToolResult[object]:
    given = came = None
    if "input" in plan.digests and record.call is not None:
        with suppress(JsonError):
            from ..definitions import input_digest  # noqa: PLC0415  # loaded by then

            given = input_digest(record.call.arguments)
    if "output" in plan.digests and result.outcome == "success" and _value_is_kept(record, plan):
        came = _digest_of(result.value)
    return msgspec.structs.replace(result, input_digest=given, output_digest=came)


def _digest_of(value: object) -> str | None:
    try:
        from ..definitions import output_digest  # noqa: PLC0415  # loaded by then

        return output_digest(value)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: ASYNC103  # code of the value's own, or it has no JSON form; nothing is awaited
        return None  # noqa: ASYNC104  # as said


def _value_is_kept(record: Record, plan: Plan) -> bool:
    """Whether the value is in the result. Of a stream that is not collected nothing is: any two would look equal."""
    return record.collects or not (record.chunks or "generator" in plan.tool.kind)
