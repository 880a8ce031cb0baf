"""Asking a person on behalf of a tool, with the work clocks standing still meanwhile."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TypeGuard

import trio

from ..definitions import (
    ElicitAccepted,
    ElicitAnswer,
    ElicitCancelled,
    ElicitDeclined,
    ElicitRequest,
    contract_from_schema,
)
from ..errors import ElicitationUnavailable
from ._execution import Record
from ._keywords import Elicitor


async def ask(record: Record, message: str, schema: Mapping[str, object] | None, url: str | None) -> ElicitAnswer:
    """Put the question, and return the answer, with defaults where it says nothing; `ElicitCancelled` when there is none.

    The question is withdrawn when the execution is stopped or the supervisor drains. Cancelled: withdrawn.

    Raises:
        ElicitationUnavailable: The call carries no way to ask.
        DefinitionError: *schema* is no JSON Schema for an object.
        InvalidArguments: The answer was accepted with content that does not fit *schema*.
        TypeError: The way to ask answered something that is no `ElicitAnswer`.
    """
    handler = record.elicit
    if handler is None:
        raise ElicitationUnavailable(
            f"{record.name!r} asked {message!r}, but the call was made without an `elicit` option"
        )
    contract = None if schema is None else contract_from_schema(schema)
    request = ElicitRequest(
        record.id, record.call_id, record.name, message, None if schema is None else dict(schema), url
    )
    if record.core.closed:
        await trio.lowlevel.checkpoint()
        return ElicitCancelled()
    limit = record.options.human_timeout
    answer: object = ElicitCancelled()
    with trio.CancelScope(relative_deadline=math.inf if limit is None else limit) as scope:
        if record.questions is None:
            record.questions = []
        record.questions.append(scope)
        stop_clocks(record)
        try:
            answer = await _put(handler, request)
        finally:
            start_clocks(record)
            record.questions.remove(scope)
    if not isinstance(answer, ElicitAccepted | ElicitDeclined | ElicitCancelled):
        raise TypeError(
            f"the `elicit` option answered {answer!r}; answer ElicitAccepted, ElicitDeclined or ElicitCancelled"
        )
    if contract is not None and schema is not None and isinstance(answer, ElicitAccepted):
        given: Mapping[str, object] = answer.content if _is_object(answer.content) else {}
        if left := _left_at_defaults(given, schema):
            answer = ElicitAccepted(left | dict(given))
        contract.validate(answer.content if _is_object(answer.content) else {})
    return answer


def _left_at_defaults(given: Mapping[str, object], schema: Mapping[str, object]) -> dict[str, object]:
    """The defaults of what *schema* asks and *given* does not say: what a form would have held already."""
    asked = schema.get("properties")
    if not _is_object(asked):
        return {}
    left = (name for name in asked if name not in given)
    return {name: said["default"] for name in left if _is_object(said := asked[name]) and "default" in said}


async def _put(handler: Elicitor, request: ElicitRequest) -> object:
    # What comes back is the host's, and may be anything.
    return await handler(request)


def _is_object(value: object) -> TypeGuard[Mapping[str, object]]:
    """Whether *value* is what JSON calls an object; its names are the contract's to check."""
    return isinstance(value, Mapping)


def stop_clocks(record: Record) -> None:
    """A person is thinking: ``timeout`` and ``idle_timeout`` of the execution and its callers stand still."""
    now = record.core.now()
    for member in _lineage(record):
        if not member.paused:
            member.paused_at = now
        member.paused += 1


def start_clocks(record: Record) -> None:
    """The work goes on: what the person took is added to every limit of work."""
    now = record.core.now()
    for member in _lineage(record):
        member.paused -= 1
        if member.paused or member.over:
            continue
        timers = member.core.timers
        if member.timeout_at is not None:
            member.timeout_at += now - member.paused_at
            timers.at(member.timeout_at, member, "timeout")
        if member.idle_timeout is not None:
            member.last_activity = now
            due = now + member.idle_timeout
            if member.idle_at != due:
                member.idle_at = due
                timers.at(due, member, "idle")


def _lineage(record: Record) -> Iterator[Record]:
    """*record* and those that called it, from the inside out."""
    while True:
        yield record
        if record.parent is None:
            return
        record = record.parent
