"""Calls that go on because a person agreed, and calls that end because something below them waits for one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import msgspec
import trio

from ..definitions import (
    ApprovalScope,
    ComposedStep,
    PendingApproval,
    Question,
    RequestContext,
    ToolCall,
    ToolExecutionError,
    ToolFailure,
    ToolResult,
    freeze_json,
    thaw_json,
)
from ._admission import permit_of
from ._execution import Record
from ._failures import description_of, without_wrapping
from ._journal import Journal, Resumption
from ._permits import RECORD_TIMEOUT
from ._plan import Plan


def call_of(resumption: Resumption) -> ToolCall:
    """The call that is made: that of the outermost tool that waits, or else the one that a person agreed to."""
    pending = resumption.pending
    if pending.within:
        step = pending.within[0]
        return ToolCall(step.tool_id, _plain(step.arguments), step.call_id)
    arguments = pending.arguments if resumption.arguments is None else resumption.arguments
    return ToolCall(pending.tool_id, _plain(arguments), pending.call_id)


def _plain(arguments: Mapping[str, object]) -> Mapping[str, object]:
    return cast("Mapping[str, object]", thaw_json(arguments))


def context_of(scope: ApprovalScope) -> RequestContext:
    """On whose behalf a call was made that an approval was given for."""
    return RequestContext(
        principal=scope.principal,
        tenant=scope.tenant,
        owner=scope.owner,
        delegation=scope.delegation,
        capabilities=None if scope.capabilities is None else frozenset(scope.capabilities),
        authorization_revision=scope.authorization_revision,
        audience=scope.audience,
        agent=scope.agent,
        run=scope.run,
        session=scope.session,
    )


def prepare(record: Record, resumption: Resumption) -> None:
    """Let *record*, which is not admitted yet, carry what it needs to go on."""
    from ..authority.approvals import pause_of  # noqa: PLC0415  # only who resumes pays for it

    pending, permit = resumption.pending, permit_of(record)
    if pending.within:
        step = pending.within[0]
        record.journal = Journal(step.results, step.place, resumption.inner)
        permit.approved = step.arguments
        permit.satisfied = tuple(map(pause_of, step.satisfied))
        return
    permit.approved = pending.arguments
    permit.edited = pending.edited
    permit.satisfied = tuple(map(pause_of, (*pending.satisfied, pending.question)))
    permit.binding = pending.binding
    resumption.permits.append(permit)


def waited_for(ended: object) -> ToolResult[object] | None:
    """The result that a body handed on unread, raised or answered, because it needs somebody's action; or None."""
    # By type alone: what a body ends with may have code of its own.
    found = without_wrapping(cast("BaseException", ended)) if issubclass(type(ended), BaseException) else ended
    if type(found) is ToolExecutionError:
        found = found.result
    if type(found) is not ToolResult:
        return None
    result = cast("ToolResult[object]", found)
    return result if result.outcome == "action_required" and result.action is not None else None


async def pending_within(record: Record, result: ToolResult[object]) -> PendingApproval | None:
    """What is to be kept so that *record* can go on: the descriptor in *result*, and what its own steps came to.

    A caller that gave the step no place is not run again: the step alone is.

    Cancelled: nothing is changed.

    Raises:
        ToolFailure: What its steps came to can't be written down, or not be signed.
    """
    pending, journal, plan, authority = (
        result.pending_approval,
        record.journal,
        record.plan,
        record.core.settings.authority,
    )
    place = None if journal is None else journal.place_of(result)
    if pending is None or journal is None or place is None or plan is None:
        return pending
    try:
        step = ComposedStep(
            record.call_id,
            plan.id,
            plan.tool.definition.digest,
            _shown_arguments(record, plan),
            place,
            journal.written(),
            _satisfied(record),
        )
        whole = msgspec.structs.replace(pending, within=(step, *pending.within), signature=None)
        if pending.binding is None or authority.keys is None:
            return whole
        from ..authority.approvals import sign_pending  # noqa: PLC0415  # only who signs pays for it

        with trio.fail_after(RECORD_TIMEOUT):
            return await sign_pending(authority.keys, whole, domain=authority.domain_of(pending.binding.scope.tenant))
    except Exception as exc:
        reason = description_of(exc)
        message = f"a step waits for a person, and what came before it can't be kept meanwhile: {reason}"
        raise ToolFailure(message, code="OUTPUT_INVALID") from exc


def _shown_arguments(record: Record, plan: Plan) -> Mapping[str, object]:
    permit = record.permit
    if permit is not None and permit.request is not None:
        return permit.request.arguments
    return cast("Mapping[str, object]", freeze_json(plan.tool.contract.dump(record.validated)))


def _satisfied(record: Record) -> tuple[Question, ...]:
    permit = record.permit
    if permit is None:
        return ()
    from ..authority.approvals import question_of  # noqa: PLC0415  # only who has rules pays for it

    return tuple(map(question_of, (*permit.satisfied, *permit.answered)))
