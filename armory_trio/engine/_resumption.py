"""Calls that go on because a person agreed, and calls that end because something below them waits for one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import msgspec
import trio

from ..definitions import (
    ApprovalBinding,
    ApprovalScope,
    ComposedStep,
    PendingApproval,
    Question,
    RequestContext,
    Tool,
    ToolCall,
    ToolFailure,
    ToolResult,
    freeze_json,
    thaw_json,
)
from ..errors import ApprovalError, JsonError
from ._admission import permit_of
from ._bound import require_same_rules, require_unchanged, said_by, step_binding
from ._execution import Record
from ._failures import description_of
from ._journal import Journal, Resumption, is_of
from ._permits import NOT_COUNTING, RECORD_TIMEOUT
from ._plan import Plan

if TYPE_CHECKING:
    from ..authority import Revisions
    from ..definitions import StepBinding
    from ..toolbox import Toolbox


def call_of(resumption: Resumption) -> ToolCall:
    """The call that is made: that of the outermost tool that waits, or else the one that a person agreed to."""
    pending = resumption.pending
    if resumption.within:
        step = resumption.within[0]
        return ToolCall(step.tool_id, _plain(step.arguments), step.call_id)
    assert pending is not None
    if resumption.arguments is None:
        return ToolCall(pending.tool_id, _plain(pending.arguments), pending.call_id)
    try:
        arguments = _plain(resumption.arguments)
    except JsonError:
        arguments = resumption.arguments  # they are refused as those of any other call are
    return ToolCall(pending.tool_id, arguments, pending.call_id)


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


def bound_to(pending: PendingApproval, binding: ApprovalBinding) -> RequestContext:
    """On whose behalf the outermost call was made that waits.

    Raises:
        JsonError: It can't be read.
    """
    return RequestContext.from_json(pending.within[0].request_context) if pending.within else context_of(binding.scope)


def prepare(record: Record, resumption: Resumption, tool: Tool[..., object]) -> None:
    """Let *record*, which is not admitted yet and will run *tool*, carry what it needs to go on.

    Raises:
        ApprovalError: It is a composed tool that is another one by now, or that would go on under other rules or for
            somebody else.
    """
    from ..authority.approvals import pause_of  # noqa: PLC0415  # only who resumes pays for it

    pending, permit = resumption.pending, permit_of(record)
    if pending is not None:
        resumption.permits.append(permit)
    if resumption.within:
        step = resumption.within[0]
        try:
            permit.bound = require_unchanged(step, tool, permit.context, record.core.revisions(tool.definition))
        except ApprovalError as exc:
            permit.failure = exc
            raise
        record.journal = Journal(step, resumption.inner, permit)
        permit.approved = step.arguments
        permit.satisfied = tuple(map(pause_of, step.satisfied))
        return
    assert pending is not None
    permit.approved = pending.arguments
    permit.edited = pending.edited
    permit.satisfied = tuple(map(pause_of, (*pending.satisfied, pending.question)))
    permit.binding = pending.binding
    permit.bound = None if pending.binding is None else pending.binding.scope


async def pending_within(record: Record, result: ToolResult[object]) -> PendingApproval | None:
    """What is to be kept so that *record* can go on: the descriptor in *result*, and what its own steps came to.

    A caller that gave the step no place is not run again: the step alone is.

    Cancelled: nothing is changed.

    Raises:
        ToolFailure: No call of its own came to *result*, or what its steps came to can't be written down, or not be
            signed. Or the rules are others than those under which it began, so that it could never go on.
    """
    pending, journal, plan = result.pending_approval, record.journal, record.plan
    if journal is None or all(each is not result for each in journal.pauses):
        message = "it ended with a pause that none of its own calls came to"
        raise ToolFailure(message, code="OUTPUT_INVALID")
    place = journal.place_of(result)
    if pending is None or place is None or plan is None or not is_of(pending, result):
        return pending
    if journal.is_cut and (
        record.past_effect == "unknown" or any(map(_may_have_changed, (record.children or {}).values()))
    ):
        message = (
            "a step beside the one that waits was stopped, and may have changed something: it can't go on from there"
        )
        raise ToolFailure(message, code="OUTPUT_INVALID")
    began = record.core.revisions(plan.tool.definition, judged_in(record))
    _require_one_state(record, plan, pending, step_binding(began))
    try:
        return await _signed_again(record, pending, _step(record, plan, journal, place, began))
    except Exception as exc:
        reason = description_of(exc)
        message = f"a step waits for a person, and what came before it can't be kept meanwhile: {reason}"
        raise ToolFailure(message, code="OUTPUT_INVALID") from exc


def judged_in(record: Record) -> Toolbox | None:
    """By whose rules *record* was let through, or refused; None if it is a call of no tool."""
    permit, plan = record.permit, record.plan
    if permit is not None and permit.toolbox is not None:
        return permit.toolbox
    return None if plan is None else plan.toolbox


def _require_one_state(record: Record, plan: Plan, pending: PendingApproval, began: StepBinding) -> None:
    """Ask nobody about what could not go on afterwards: a step is bound to other rules than the whole.

    Raises:
        ToolFailure: It is so.
    """
    if pending.binding is None or record.journal is None:
        return
    try:
        require_same_rules(began, pending.binding.scope, "it began")
        for toolbox in record.journal.judged_in():
            of_step = record.core.revisions(plan.tool.definition, toolbox)
            require_same_rules(began, step_binding(of_step), "it began")
    except ApprovalError as exc:
        message = f"a step waits for a person, and its caller could not go on afterwards: {exc}"
        raise ToolFailure(message, category="permission", code=NOT_COUNTING) from exc


def is_within(record: Record, pending: PendingApproval) -> bool:
    """Whether *record* goes on with *pending*, and not only a call that it made."""
    return bool(pending.within) and pending.within[0].call_id == record.call_id


def _may_have_changed(record: Record) -> bool:
    return record.attempts > 0 and record.may_change()


async def _signed_again(record: Record, pending: PendingApproval, step: ComposedStep) -> PendingApproval:
    whole = msgspec.structs.replace(pending, within=(step, *pending.within), signature=None)
    authority = record.core.settings.authority
    if pending.binding is None or authority.keys is None:
        return whole
    from ..authority.approvals import sign_pending, verify_pending  # noqa: PLC0415  # only who signs pays for it

    with trio.fail_after(RECORD_TIMEOUT):
        domain = authority.domain_of(pending.binding.scope.tenant)
        await verify_pending(authority.keys, pending, domain=domain)
        return await sign_pending(authority.keys, whole, domain=domain)


def _step(record: Record, plan: Plan, journal: Journal, place: str, rules: Revisions) -> ComposedStep:
    permit = record.permit
    return ComposedStep(
        call_id=record.call_id,
        tool_id=plan.id,
        tool_definition_revision=plan.tool.definition.digest,
        arguments=_shown_arguments(record, plan),
        place=place,
        results=journal.results(),
        satisfied=_satisfied(record),
        tools=journal.tools(),
        waiting=journal.waiting(place),
        request_context=said_by(record.request_context if permit is None else permit.context),
        binding=step_binding(rules, journal.definitions(), record.request_context),
        idempotency_key=record.options.idempotency_key,
        attempt_id=None if record.entry is None else record.entry.attempt_id,
    )


def _shown_arguments(record: Record, plan: Plan) -> Mapping[str, object]:
    """The arguments that *record* goes on with: those that it began with, whatever its body has done to its own."""
    permit, entry = record.permit, record.entry
    if permit is not None and permit.request is not None:
        return permit.request.arguments
    if entry is not None and entry.arguments is not None:
        import json  # noqa: PLC0415  # only who has a key pays for it

        plain: object = json.loads(entry.arguments)
    else:
        plain = plan.tool.contract.dump(_validated_anew(record, plan))
    return cast("Mapping[str, object]", freeze_json(plain))


def _validated_anew(record: Record, plan: Plan) -> object:
    call = record.call
    if call is None or plan.awaits:
        return record.validated
    try:
        return plan.validate(call.arguments)
    except Exception:  # a validator of the user's need not answer the same twice
        return record.validated


def _satisfied(record: Record) -> tuple[Question, ...]:
    permit = record.permit
    if permit is None:
        return ()
    from ..authority.approvals import question_of  # noqa: PLC0415  # only who has rules pays for it

    return tuple(map(question_of, (*permit.satisfied, *permit.answered)))
