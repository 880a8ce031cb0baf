"""Asking a person about a call: in place while it waits, or by a signed descriptor with which it is resumed later."""

from __future__ import annotations

import inspect
import math
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Final, cast

import msgspec
import trio

from ..authority.approvals import new_binding, question_of, scope_of, sign_pending
from ..definitions import ApprovalRequest, PendingApproval, ToolError, freeze_json
from ..errors import ApprovalError, JsonError
from ._abort import request_abort
from ._elicitation import start_clocks, stop_clocks
from ._events import ApprovalRequested, ApprovalResolved, Decision
from ._execution import Record
from ._keywords import ApprovalHandler
from ._permits import NOBODY_ASKED, RECORD_TIMEOUT, Permit
from ._plan import Plan

if TYPE_CHECKING:
    from ..authority.approvals import ApprovalStore
    from ..authority.policy import Deny, Pause, Paused
    from ..definitions import ApprovalBinding, ApprovalScope

UNANSWERED: Final = object()
"""What `ask_person` answers in place of an answer when the time for one ran out."""

_NONCE_BYTES: Final = 18


class NotBound(Exception):
    """No approval can be bound to a call, for a reason of its own.

    Args:
        error: What the caller is told.
    """

    def __init__(self, error: ToolError) -> None:
        super().__init__(error.message)
        self.error = error


def scope_now(record: Record, plan: Plan, permit: Permit, arguments: Mapping[str, object]) -> ApprovalScope:
    """What an approval of this call with *arguments* counts for, as things stand.

    Raises:
        ApprovalError: The request context does not say enough (``invalid-binding``).
        JsonError: The arguments hold something that not every reader takes for the same.
    """
    definition = plan.tool.definition
    return scope_of(definition, arguments, permit.context, record.core.revisions(definition))


async def ask_person(record: Record, plan: Plan, pause: Pause) -> object:
    """Ask the host's handler, with the work clocks of all callers standing still; `UNANSWERED` when it took too long.

    Cancelled: the question is withdrawn.
    """
    handler = record.core.settings.authority.handler
    assert handler is not None
    limit, permit = record.options.human_timeout, record.permit
    assert permit is not None
    await trio.lowlevel.checkpoint()  # one who answers at once, and is asked again, must not hold up all others
    if record.core.closed:
        request_abort(record, "shutdown", NOBODY_ASKED)
        await trio.lowlevel.checkpoint_if_cancelled()
    tell_requested(record, pause, None)
    answer: object = UNANSWERED
    permit.asked += 1
    permit.asking = True
    stop_clocks(record)
    try:
        with trio.CancelScope(relative_deadline=math.inf if limit is None else limit) as scope:
            answer = await _put(handler, _request(record, plan, pause))
    finally:
        start_clocks(record)
        permit.asking = False
    return UNANSWERED if scope.cancel_called else answer  # what comes after all comes too late


async def _put(handler: ApprovalHandler, request: ApprovalRequest) -> object:
    # What comes back is the host's, and may be anything.
    answer = handler(request)
    return await cast("Awaitable[object]", answer) if inspect.isawaitable(answer) else answer


def said_by(answer: object) -> Deny | Mapping[str, object]:
    """The arguments that a person wrote, or a denial, which everything else is.

    Raises:
        JsonError: What they wrote is no JSON.
    """
    from ..authority.policy import Deny, Edit  # noqa: PLC0415  # only who asks in place pays for it

    if isinstance(answer, Edit):
        return answer.arguments
    if isinstance(answer, Mapping):
        return cast("Mapping[str, object]", freeze_json(cast("object", answer), root="arguments"))
    return answer if isinstance(answer, Deny) else Deny("a person refused it")


def _request(record: Record, plan: Plan, pause: Pause) -> ApprovalRequest:
    permit = record.permit
    assert permit is not None
    assert permit.request is not None
    effect, targets = _effect_of(plan)
    return ApprovalRequest(
        execution_id=record.id,
        call_id=record.call_id,
        tool_name=record.name,
        arguments=permit.request.arguments,
        question=question_of(pause),
        effect=effect,
        targets=targets,
        owner_id=record.owner,
        parent_id=None if record.parent is None else record.parent.id,
        request_context=record.request_context,
    )


def _effect_of(plan: Plan) -> tuple[str | None, tuple[str, ...]]:
    declared = plan.tool.definition.effect
    targets = () if declared is None else tuple(f"{target.kind}:{target.id}" for target in declared.targets)
    return plan.tool.definition.classification.effect_class, targets


def described(record: Record, plan: Plan, paused: Paused) -> PendingApproval:
    """The descriptor of a call that waits, not yet bound to anything."""
    permit = record.permit
    assert permit is not None
    assert permit.request is not None
    effect, targets = _effect_of(plan)
    return PendingApproval(
        call_id=record.call_id,
        tool_name=record.name,
        tool_id=plan.id,
        arguments=permit.request.arguments,
        question=question_of(paused.pauses[0]),
        edited=permit.edited,
        effect=effect,
        targets=targets,
        metadata=plan.tool.definition.metadata,
        satisfied=tuple(question_of(pause) for pause in (*permit.satisfied, *permit.answered)),
        idempotency_key=record.options.idempotency_key,
    )


async def issue(record: Record, plan: Plan, paused: Paused) -> PendingApproval:
    """Bind, sign and record the descriptor of a call that waits. Where there are no keys it stays as it is.

    An approval that the call was resumed with is used up by the next question, if its arguments are the same.

    Cancelled: nobody has the descriptor, so nothing can be resumed with it.

    Raises:
        NotBound: It can't be said what the approval would count for.
        ApprovalError: The approval that led here counts no more; then it is the ``failure`` of the permit.
        JsonError: The question, or what the tool says of itself, can't be signed.
        trio.TooSlowError: Keys and store took longer than `RECORD_TIMEOUT`. What they raise passes through.
    """
    with trio.fail_after(RECORD_TIMEOUT):
        return await _issue(record, plan, paused)


async def _issue(record: Record, plan: Plan, paused: Paused) -> PendingApproval:
    authority, permit = record.core.settings.authority, record.permit
    assert permit is not None
    pending = described(record, plan, paused)
    if authority.keys is None or authority.approvals is None:
        return pending
    scope = _bindable(record, plan, permit, pending.arguments)
    store = authority.approvals
    nonce = secrets.token_urlsafe(_NONCE_BYTES)
    binding = new_binding(scope, now=store.now(), lifetime=authority.lifetime, nonce=nonce)
    domain = authority.domain_of(scope.tenant)
    bound = msgspec.structs.replace(pending, binding=binding)
    signed = await sign_pending(authority.keys, bound, domain=domain)
    await store.issue(binding)
    if permit.binding is not None and permit.approved is not None and permit.satisfied:
        try:
            await _use_up(store, permit, permit.binding, scope_now(record, plan, permit, permit.approved))
        except BaseException as exc:
            permit.failure = exc if isinstance(exc, ApprovalError) else None
            with trio.move_on_after(RECORD_TIMEOUT, shield=True):
                await store.revoke(binding)
            raise
    return signed


async def _use_up(store: ApprovalStore, permit: Permit, binding: ApprovalBinding, scope: ApprovalScope) -> None:
    # Never halfway: where the call ends before anybody has the next descriptor, this one is given back.
    if not permit.held:
        await written(lambda: store.consume(binding, scope))
    elif not permit.taken:
        await written(lambda: store.commit(binding))
    permit.held = permit.taken = True


def _bindable(record: Record, plan: Plan, permit: Permit, arguments: Mapping[str, object]) -> ApprovalScope:
    try:
        return scope_now(record, plan, permit, arguments)
    except ApprovalError as exc:
        raise NotBound(ToolError("permission", "AUTHORITY_REQUIRED", exc.detail)) from exc
    except JsonError as exc:
        message = f"the arguments can't be bound to an approval (pass it as a string): {exc}"
        raise NotBound(ToolError("validation", "INVALID_ARGUMENTS", message)) from exc


async def written(write: Callable[[], Awaitable[None]]) -> None:
    """Let a store write something down. Cancelled: it is written all the same.

    Raises:
        trio.TooSlowError: It took longer than `RECORD_TIMEOUT`. What the store raises passes through.
    """
    with trio.fail_after(RECORD_TIMEOUT, shield=True):
        await write()


def tell_requested(record: Record, pause: Pause, pending: PendingApproval | None) -> None:
    """Tell the readers of events that a person is asked."""
    record.publish()
    if record.core.feed.readers:
        ask = pause.ask
        identity = None if pending is None else pending.id
        record.tell(ApprovalRequested, tier=pause.tier, kind=ask.kind, reason=ask.reason, approval_id=identity)


def tell_resolved(record: Record, decision: Decision, approval_id: str | None = None) -> None:
    """Tell the readers of events what came of a question."""
    if record.core.feed.readers:
        record.tell(ApprovalResolved, decision=decision, approval_id=approval_id)
