"""Whether a call may run: rules and hooks judge it, grants and people answer what they ask.

The whole of it is made of steps that decide at once. What has to be waited for becomes the hook of the record, which
its own task awaits; then the next step decides.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, cast

from ..authority.policy import (
    Deny,
    Edited,
    Judgement,
    Pause,
    Paused,
    Permitted,
    PolicyRequest,
    Refused,
    Rules,
    Unfinished,
    begin,
)
from ..definitions import PendingApproval, canonical_text, thaw_json
from ..definitions._checks import with_article
from ..definitions._exceptions import Withheld
from ..errors import ApprovalError, JsonError
from ..toolbox import Toolbox
from ._approving import (
    UNANSWERED,
    NotBound,
    ask_person,
    described,
    issue,
    said_by,
    tell_requested,
    tell_resolved,
)
from ._bound import require_same_steps
from ._execution import Record
from ._failures import sayable
from ._granting import set_aside
from ._permits import NOT_COUNTING, Hook, Permit, Way
from ._plan import Plan, rules_of
from ._settlement import pause, refuse, refuse_with, wake
from ._shown import request_of
from ._spending import give_back_grant

_log: Final = logging.getLogger("armory_trio.engine")

_ASKED_AT_MOST: Final = 16
"""Questions about one call; a policy that words each anew would never end."""


def authorize(record: Record, way: Way) -> None:
    """Judge a call whose arguments are valid, as far as that goes without waiting."""
    plan = record.plan
    assert plan is not None
    permit = record.permit
    if permit is None:
        permit = record.permit = Permit(way, record.request_context)
    toolbox = record.core.toolbox
    if permit.toolbox is not None and _revised(permit.toolbox, toolbox):
        _forget(record, permit)
    stale = permit.outdated(toolbox) if permit.held or permit.binding is None else None
    if stale is not None:
        _void(record, permit, stale)
        return
    permit.toolbox = toolbox
    request = permit.request = _shown(record, plan, permit, toolbox)
    if request is None or record.over:
        return  # the function that answers the policy context may have aborted it
    if (permit.written is not None or permit.approved is not None) and not _compare(record, permit, request):
        return
    rules = plan.rules if toolbox is plan.toolbox else rules_of(plan.tool, toolbox)
    if rules is None:
        record.request_context = permit.context  # what another policy took of it before counts no more
        _permitted(record)
    else:
        _ask_hooks(record, permit, rules, request)


def _shown(record: Record, plan: Plan, permit: Permit, toolbox: Toolbox) -> PolicyRequest | None:
    """What is judged. None: that can't be said, and the call was refused."""
    try:
        return request_of(record, plan, permit, toolbox)
    except KeyboardInterrupt:
        raise
    except JsonError as exc:
        refuse(record, "validation", "INVALID_ARGUMENTS", f"the arguments can't be shown to a policy: {exc}")
    except BaseException as exc:  # noqa: ASYNC103  # code of the host's or of a value's; nothing is awaited
        _log.warning("the policy of %s could not be asked: %s", record.name, Withheld(exc))
        refuse(record, "permission", "POLICY_DENIED", f"Policy denied: it could not be asked ({_kind_of(exc)})")
        return None  # noqa: ASYNC104  # as said
    return None


def _ask_hooks(record: Record, permit: Permit, rules: Rules, request: PolicyRequest) -> None:
    judgement = begin(rules, request, edited=permit.hook_edited)
    if not isinstance(judgement, Unfinished):
        _judged(record, judgement, None)
    elif record.over:
        judgement.abandon()
    else:
        record.waits_for = "policy"
        record.hook = Hook(judgement.finish, _judged, judgement.abandon)


def _void(record: Record, permit: Permit, why: ApprovalError) -> None:
    permit.failure = why
    refuse(record, "permission", NOT_COUNTING, f"its approval does not count: {why}")


def _compare(record: Record, permit: Permit, request: PolicyRequest) -> bool:
    """An answer counts for the arguments that it was given for, and so does what steps did. False: it ends here."""
    written, permit.written = permit.written, None
    if written is not None and not _same(written, request.arguments):
        permit.answered.clear()  # with its defaults it is not what the person wrote: they see it once more
    if permit.approved is not None and not _same(permit.approved, request.arguments):
        permit.satisfied = ()
        permit.edited = True
        if permit.step is not None:
            _void(
                record,
                permit,
                ApprovalError("mismatch", f"the arguments of {record.name!r} are not those that it waited with"),
            )
            return False
    return True


def _same(one: object, other: object) -> bool:
    return canonical_text(one, mode="exact") == canonical_text(other, mode="exact")


def is_out_of_date(record: Record) -> bool:
    """Whether the toolbox was exchanged for one with another policy or revision since *record* was judged."""
    plan, permit = record.plan, record.permit
    assert plan is not None
    before = plan.toolbox if permit is None or permit.toolbox is None else permit.toolbox
    after = record.core.toolbox
    if permit is not None and permit.outdated(after) is not None:
        return True
    return _revised(before, after) or any(getattr(before, name) is not getattr(after, name) for name in _JUDGES)


_JUDGES: Final = ("policy", "approval_policy", "gates", "policy_context")
_REVISIONS: Final = ("revision", "policy_revision", "approval_revision")


def _revised(before: Toolbox, after: Toolbox) -> bool:
    return any(getattr(before, name) != getattr(after, name) for name in _REVISIONS)


def _forget(record: Record, permit: Permit) -> None:
    """What was agreed to under another revision counts no more; of an approval its store knows that."""
    permit.answered.clear()
    _return_grant(record, permit)


def _return_grant(record: Record, permit: Permit) -> None:
    if permit.reservation is not None:
        give_back_grant(record, permit)
    permit.looked = False


# -- what was judged


def _judged(record: Record, answer: object, failure: BaseException | None) -> None:
    permit, judgement = record.permit, cast("Judgement", answer)
    record.waits_for = None
    if record.over or permit is None:
        return
    if failure is not None:
        _log.warning("a policy hook of %s failed: %s", record.name, Withheld(failure))
        refuse(record, "permission", "POLICY_DENIED", f"Policy denied: a policy hook failed ({_kind_of(failure)})")
        return
    match judgement:
        case Refused():
            if judgement.error is not None:
                _log.warning("%s: %s", judgement.reason, Withheld(judgement.error))
            refuse(record, "permission", judgement.code, judgement.reason)
        case Edited(arguments=arguments):
            permit.hook_edited = True
            _edit(record, permit, arguments)
        case Permitted(request_context=context):
            record.request_context = record.request_context if context is None else context
            _permitted(record)
        case Paused():
            if judgement.request_context is not None:
                record.request_context = judgement.request_context
            _paused(record, judgement)


def _edit(
    record: Record, permit: Permit, arguments: object, answered: Sequence[Pause] = (), *, written: object = None
) -> None:
    """Go on with other arguments, about which only *answered* was agreed, if they are just what was *written*."""
    plan = record.plan
    assert plan is not None
    permit.edited = True
    permit.answered = list(answered)
    permit.written = written
    permit.satisfied = ()
    _return_grant(record, permit)
    if callable(plan.reads) or callable(plan.writes):
        _leave_line(record)  # for the resources of other arguments: it was judged again when it had a place
    permit.arguments = cast("Mapping[str, object]", thaw_json(arguments))
    permit.way.again(record, permit.arguments)


def _leave_line(record: Record) -> None:
    """Give up the place of a call that had one, or its place in the line. It asks for another when it may run."""
    claim, planner = record.claim, record.core.planner
    if claim is None:
        return
    others = planner.release(claim) if record.claim_held else planner.withdraw(claim)
    record.claim = record.turn = None
    record.claim_held = False
    wake(record.core, others)


def _permitted(record: Record) -> None:
    permit = record.permit
    assert permit is not None
    if permit.step is not None:
        try:
            require_same_steps(permit.step, record.request_context)
        except ApprovalError as exc:
            _void(record, permit, exc)
            return
    permit.way.cleared(record)


def _paused(record: Record, paused: Paused) -> None:
    permit, plan = record.permit, record.plan
    assert permit is not None
    assert plan is not None
    left = paused.satisfied_by(permit.agreed)
    if isinstance(left, Permitted):
        _permitted(record)
        return
    capability = next((pause for pause in left.pauses if pause.tier == "capability"), None)
    grants = record.core.settings.authority.grants
    if capability is not None and grants is not None and permit.context is not None and not permit.looked:
        permit.looked = True
        _wait(record, "approval", Hook(partial(set_aside, record, plan), partial(_looked_for_grant, left, capability)))
        return
    _ask(record, plan, left)


def _looked_for_grant(
    left: Paused, capability: Pause, record: Record, _answer: object, failure: BaseException | None
) -> None:
    permit, plan = record.permit, record.plan
    assert permit is not None
    assert plan is not None
    record.waits_for = None
    if failure is not None:
        _log.warning("the grants could not be looked through for %s: %s", record.name, Withheld(failure))
    if permit.reservation is None:
        _ask(record, plan, left)
        return
    permit.granted = capability
    rest = left.satisfied_by([capability])
    if isinstance(rest, Permitted):
        _permitted(record)
    else:
        _ask(record, plan, rest)


def _wait(record: Record, what: str, hook: Hook) -> None:
    record.waits_for = what
    record.hook = hook


# -- asking


def _ask(record: Record, plan: Plan, left: Paused) -> None:
    authority, permit = record.core.settings.authority, record.permit
    assert permit is not None
    question = left.pauses[0]
    if authority.handler is not None:
        if permit.asked >= _ASKED_AT_MOST:
            refuse(record, "permission", "POLICY_DENIED", "Policy denied: it asks one question after the other")
            return
        if not record.in_order:  # the place of a call in its batch is its own, however long a person takes
            _leave_line(record)
        asking = partial(ask_person, record, plan, question)
        _wait(record, "approval", Hook(asking, partial(_answered, question)))
    elif permit.step is not None and authority.keys is not None:
        # A descriptor of this question alone would let it begin anew, and its steps run once more.
        _void(record, permit, ApprovalError("mismatch", f"{record.name!r} is asked about anew: {question.ask.reason}"))
    elif authority.keys is not None:
        _wait(record, "approval", Hook(partial(issue, record, plan, left), partial(_issued, question)))
    elif any(pause.tier == "declared" for pause in left.pauses):
        message = f"the tool {plan.name!r} needs an approval, and there is nobody here who could give one"
        refuse(record, "permission", "APPROVAL_UNAVAILABLE", message)
    else:
        _issued(question, record, described(record, plan, left), None)


def _answered(question: Pause, record: Record, answer: object, failure: BaseException | None) -> None:
    permit = record.permit
    assert permit is not None
    record.waits_for = None
    if failure is not None:
        _log.warning("the approval handler failed for %s: %s", record.name, Withheld(failure))
        tell_resolved(record, "failed")
        message = f"nobody could be asked: the approval handler failed ({_kind_of(failure)})"
        refuse(record, "permission", "APPROVAL_UNAVAILABLE", message)
    elif answer is True:
        tell_resolved(record, "approved")
        permit.answered.append(question)
        authorize(record, permit.way)
    elif answer is UNANSWERED:
        tell_resolved(record, "unanswered")
        refuse(record, "permission", "HUMAN_TIMEOUT", "nobody answered in time")
    else:
        _read_answer(question, record, permit, answer)


def _read_answer(question: Pause, record: Record, permit: Permit, answer: object) -> None:
    try:
        said = said_by(answer)
    except KeyboardInterrupt:
        raise
    except JsonError as exc:
        tell_resolved(record, "failed")
        refuse(record, "validation", "INVALID_ARGUMENTS", f"the edited arguments are not JSON: {exc}")
    except BaseException as exc:  # noqa: ASYNC103  # code of the answer's own, in which nothing is awaited
        _log.warning("what the approval handler answered for %s can't be read: %s", record.name, Withheld(exc))
        tell_resolved(record, "failed")
        message = f"what the person answered can't be read ({_kind_of(exc)})"
        refuse(record, "permission", "APPROVAL_UNAVAILABLE", message)
        return  # noqa: ASYNC104  # as said
    else:
        if not isinstance(said, Deny):
            _edited(question, record, permit, said)
            return
        if answer is not False and answer is not said:
            kind = "None" if answer is None else with_article(_kind_of(answer))
            _log.warning("the approval handler answered %s for %s; only True lets a call run", kind, record.name)
        tell_resolved(record, "denied")
        refuse(record, "permission", "HUMAN_DENIED", said.reason)


def _edited(question: Pause, record: Record, permit: Permit, arguments: Mapping[str, object]) -> None:
    tell_resolved(record, "edited")
    assert permit.request is not None
    if _same(arguments, permit.request.arguments):  # written again as they were
        permit.answered.append(question)
        authorize(record, permit.way)
        return
    permit.hook_edited = False
    _edit(record, permit, arguments, [*permit.answered, question], written=arguments)


def _kind_of(value: object) -> str:
    """What the class of *value* is called, which may be the user's."""
    return sayable(lambda: type(value).__name__) or "something without a name"


def _issued(question: Pause, record: Record, answer: object, failure: BaseException | None) -> None:
    record.waits_for = None
    permit = record.permit
    assert permit is not None
    if failure is None:
        pending = cast("PendingApproval", answer)
        tell_requested(record, question, pending)
        pause(record, pending.question.action, pending)
    elif failure is permit.failure:
        refuse(record, "permission", NOT_COUNTING, str(failure))
    elif isinstance(failure, NotBound):
        refuse_with(record, failure.error)
    else:
        _log.warning("no approval could be issued for %s: %s", record.name, Withheld(failure))
        message = f"no approval could be issued ({_kind_of(failure)})"
        refuse(record, "permission", "APPROVAL_UNAVAILABLE", message)
