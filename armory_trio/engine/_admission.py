"""The first steps of a call, which never touch the world: admit, resolve, check availability, validate, ask for room."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from ..definitions import InvalidArguments, Tool, ToolCall, admitted, thaw_json
from ..definitions._checks import shown
from ..definitions._plurals import counted
from ..errors import BudgetExceeded, DefinitionError, JsonError, Overloaded
from ..toolbox import Unresolved
from ._concurrency import Latch
from ._events import LoopWarned, NameResolved
from ._execution import Core, Record
from ._failures import description_of, readable_error_of
from ._options import DIRECTLY, Budget
from ._plan import GROUP, PROCESSES, THREADS, Plan, resources
from ._plans import Plans
from ._roles import Repeats
from ._settlement import refuse, refuse_arguments, refuse_with, wake
from .capacity import Claim, Granted, Refused, Waiting

_OWNER: Final = "owner"
_SUPERVISOR: Final = "supervisor"
VALIDATION: Final = "validation"
"""What a call waits for whose arguments are being validated."""

_NOTHING: Final = frozenset[str]()
_log: Final = logging.getLogger("armory_trio.engine")


def admit(record: Record, plans: Plans) -> None:
    """Bring *record* as far as it goes without waiting. It is over when it was refused."""
    core, call = record.core, record.call
    assert call is not None
    if core.settings.budget is not None and not _within_budget(record, core.settings.budget):
        return
    if call.defect is not None:
        refuse(record, "validation", call.defect.code, call.defect.message)
        return
    plan = record.plan or plans.by_name.get(call.name) or _resolved(record, plans, call.name)
    if plan is None:
        return
    record.plan = plan
    record.name = plan.name
    if plan.on_deprecated is not None:
        _tell_of_deprecated(plan, plan.on_deprecated, call)
        if record.over:
            return  # whom we told aborted it; so may each of the functions below
    if plan.availability is None:
        go_on(record, plan)
        return
    available = _availability(record, plan, core.toolbox.context)
    if record.over:
        if inspect.iscoroutine(available):
            available.close()
    elif inspect.isawaitable(available):
        record.hook = available
        record.waits_for = "policy"
    else:
        prepare(record, available=available is True)


def prepare(record: Record, *, available: bool) -> None:
    """Go on once it is known whether the tool is available in this runtime."""
    plan = record.plan
    assert plan is not None
    if available:
        go_on(record, plan)
    else:
        refuse(record, "unavailable", "TOOL_UNAVAILABLE", f"the tool {plan.name!r} is not available here")


def go_on(record: Record, plan: Plan) -> None:
    """Validate the arguments, and ask for room for a body that will run with them."""
    call = record.call
    assert call is not None
    directly = record.options is DIRECTLY
    core = record.core
    first = record.waits_for != VALIDATION
    if core.hooks.repeats is not None and first and not directly and _loops(record, plan, call, core.hooks.repeats):
        return
    if "input" in plan.digests and first:
        record.call = call = _detached(call)
    if plan.awaits and first:
        record.hook = admitted(plan.tool.contract, call.arguments)
        record.waits_for = VALIDATION
        return
    try:
        record.validated = plan.validate(call.arguments)
    except InvalidArguments as exc:
        refuse_arguments(record, plan, exc)
        return
    except KeyboardInterrupt:
        raise
    except BaseException as exc:  # noqa: ASYNC103  # a validator of the user's may raise anything; nothing is awaited
        refuse_unvalidated(record, exc)
        return  # noqa: ASYNC104  # as said
    if record.over:
        record.validated = None
    elif (plan.key_required or plan.approval_required) and not directly:
        _refuse_for_want_of_means(record, plan)
    elif plan.needs or plan.touches or record.core.wants_room or record.batch_id is not None:
        _ask_for_room(record, plan)


def _loops(record: Record, plan: Plan, call: ToolCall, repeats: Repeats) -> bool:
    """Whether *call* was refused because it repeats itself. What tools call is not judged: a model did not ask for it."""
    if record.parent is not None:
        return False
    verdict = repeats.judge(record.id, plan.tool.definition, call, record.owner)
    if verdict is None or verdict.level == "fine":
        return False
    if verdict.level == "block":
        details: dict[str, object] = {"calls": verdict.calls, "pattern": verdict.pattern}
        refuse(record, "conflict", "LOOP_BLOCKED", verdict.message, details)
        return True
    if record.core.feed.readers:
        record.tell(LoopWarned, calls=verdict.calls, pattern=verdict.pattern, message=verdict.message)
    return False


def refuse_unvalidated(record: Record, exc: BaseException) -> None:
    """End a queued execution whose validator raised *exc*, and so has not answered."""
    error = readable_error_of(exc, record)
    message = f"validating its arguments failed: {error.message}"
    refuse_with(record, msgspec.structs.replace(error, message=message))


def go_on_with(record: Record, arguments: Mapping[str, object]) -> None:
    """Go on once an awaited validator has decided about the *arguments*, and said so in them."""
    plan, call = record.plan, record.call
    assert plan is not None
    assert call is not None
    record.call = msgspec.structs.replace(call, arguments=arguments)
    go_on(record, plan)
    record.waits_for = None


def _detached(call: ToolCall) -> ToolCall:
    """*call* with arguments of its own, so that what its digest covers is what was sent, whoever changes them later."""
    try:
        return msgspec.structs.replace(call, arguments=thaw_json(call.arguments))
    except JsonError:
        return call  # its validation will say what is wrong


def _tell_of_deprecated(plan: Plan, tell: Callable[[Tool[..., object], ToolCall], object], call: ToolCall) -> None:
    try:
        tell(plan.tool, call)
    except KeyboardInterrupt:
        raise
    except BaseException as exc:  # noqa: ASYNC103  # code of the user's; nothing is awaited
        _log.warning("on_deprecated raised for %s: %s", plan.name, description_of(exc))


def _refuse_for_want_of_means(record: Record, plan: Plan) -> None:
    """Refuse what this supervisor has no means for."""
    if plan.key_required:
        message = f"the tool {plan.name!r} only runs with an idempotency key, and this call has none"
        refuse(record, "validation", "IDEMPOTENCY_KEY_REQUIRED", message)
    else:
        message = f"the tool {plan.name!r} needs an approval, and there is nobody here who could give one"
        refuse(record, "permission", "APPROVAL_UNAVAILABLE", message)


def _within_budget(record: Record, budget: Budget) -> bool:
    core = record.core
    if budget.max_calls is not None and core.spent >= budget.max_calls:
        refuse(record, "conflict", "BUDGET_EXCEEDED", f"the budget of {counted(budget.max_calls, 'call')} is spent")
        return False
    if record.batch_id is None and _is_out_of_time(core, budget):
        refuse(
            record,
            "conflict",
            "BUDGET_EXCEEDED",
            f"the budget of {counted(budget.max_duration or 0, 'second')} is spent",
        )
        return False
    core.spent += 1
    record.counted = True
    return True


def _resolved(record: Record, plans: Plans, name: str) -> Plan | None:
    """The plan of the tool that *name* means. None if there is none: then the call was refused."""
    found = plans.resolve(name)
    if isinstance(found, Unresolved):
        _not_found(record, found)
        return None
    record.name = found.tool.name
    if found.tier != "exact" and record.core.feed.readers:
        record.tell(NameResolved, requested=name, tier=found.tier)
    return plans.of(found.tool)


def _not_found(record: Record, found: Unresolved) -> None:
    near, several = found.near, found.ambiguous
    hint = f"; did you mean {' or '.join(repr(name) for name in near or several)}?" if near or several else ""
    message = f"there is no tool {shown(record.name)}{hint}"
    details = {key: list(names) for key, names in (("near", near), ("ambiguous", several)) if names}
    refuse(record, "not_found", "NOT_FOUND", message, {**details} or None)


def _is_out_of_time(core: Core, budget: Budget) -> bool:
    return budget.max_duration is not None and core.now() - core.opened_at >= budget.max_duration


def _availability(record: Record, plan: Plan, context: Mapping[str, object]) -> object:
    assert plan.availability is not None
    try:
        return plan.availability(context)
    except KeyboardInterrupt:
        raise
    except BaseException as exc:  # noqa: ASYNC103  # a hook of the user's may raise anything; nothing is awaited
        _log.warning("the availability hook of %s raised, so it counts as unavailable: %r", record.name, exc)
        return False  # noqa: ASYNC104  # as said


def _ask_for_room(record: Record, plan: Plan) -> None:
    core = record.core
    needs = _slots(record, plan)
    plain = not plan.touches and not record.in_order
    if plain and (not needs or (record.parent is None and _is_let_in(record, needs))):
        return
    try:
        claim = _claim(record, plan, needs)
    except KeyboardInterrupt:
        raise
    except BaseException as exc:  # noqa: ASYNC103  # a function of the user's may raise anything; nothing is awaited
        message = f"the reads or writes of {plan.name!r} could not be told: {description_of(exc)}"
        refuse(record, "internal", "INTERNAL_ERROR", message)
        return  # noqa: ASYNC104  # as said
    if record.over:
        return
    decision = core.planner.request(claim)
    match decision:
        case Granted():
            record.claim = claim
            record.claim_held = True
        case Waiting():
            record.claim = claim
            record.turn = Latch()
            _keep_bound(record)
        case Refused():
            refuse(record, "conflict", "CAPACITY_CYCLE", f"waiting would never end, since {decision.text}")
    if decision.others:
        wake(core, decision.others)


def _is_let_in(record: Record, needs: tuple[str, ...]) -> bool:
    """Whether everything is free that a call which only needs slots asks for: it then holds it. The way of nearly all."""
    claim = Claim(order=record.number, owner=record.owner, needs=needs, label=record.id)
    if not record.core.planner.start_plainly(claim):
        return False
    record.claim, record.claim_held = claim, True
    return True


def _claim(record: Record, plan: Plan, needs: tuple[str, ...]) -> Claim:
    reads, writes = _touched(record, plan)
    return Claim(
        order=record.number,
        owner=record.owner,
        needs=needs,
        reads=reads,
        writes=writes,
        parent=None if record.parent is None else standing_of(record.parent),
        label=record.id,
    )


def _slots(record: Record, plan: Plan) -> tuple[str, ...]:
    core = record.core
    if not core.wants_room and not record.extra_needs:
        return plan.needs
    needs = plan.needs + core.always + record.extra_needs
    if core.settings.limits.per_owner is not None and record.owner is not None:
        needs = (*needs, f"{_OWNER}:{record.owner}")
    return needs


def _touched(record: Record, plan: Plan) -> tuple[frozenset[str], frozenset[str]]:
    reads = writes = _NOTHING
    if plan.touches:
        named = plan.tool.contract.named(record.validated)
        reads = resources(plan.reads, named, record.owner)
        writes = resources(plan.writes, named, record.owner) | plan.targets
    if record.in_order:
        writes |= {f"batch:{record.batch_id}"}
    return reads, writes


def standing_of(record: Record) -> Claim:
    """What the planner knows *record*, which runs, by.

    One that needs nothing gets an empty claim as soon as something below it waits, or it is waited for: else the
    planner could not tell who waits for whom. So do those of its callers that have none.
    """
    bare: list[Record] = []
    each: Record | None = record
    while each is not None and each.claim is None:
        bare.append(each)
        each = each.parent
    above = None if each is None else each.claim
    for each in reversed(bare):
        above = Claim(order=each.number, owner=each.owner, parent=above, label=each.id)
        wake(record.core, record.core.planner.request(above).others)
        if not each.over:
            each.claim, each.claim_held = above, True
    assert above is not None
    return above


def _keep_bound(record: Record) -> None:
    bound = record.core.settings.limits.queued
    if bound is None or record.batch_id is not None or record.parent is not None:
        return  # a batch was measured as a whole; a nested call holds up its caller, who holds a place already
    if record.core.planner.waiting_count > bound:
        refuse(
            record,
            "unavailable",
            "OVERLOADED",
            f"{counted(bound, 'call')} in line already, and no more may wait; try again later",
        )


def set_limits(core: Core) -> None:
    """Tell the planner of a new supervisor what bounds there are.

    Raises:
        DefinitionError: There is a bound for a group that no tool is in.
    """
    limits = core.settings.limits
    core.planner.set_limit(THREADS, limits.threads)
    core.planner.set_limit(PROCESSES, limits.processes)
    used = {group for tool in core.toolbox for group in tool.options.groups}
    for name, size in limits.groups.items():
        if name not in used:
            there = ", ".join(sorted(used)) or "none"
            raise DefinitionError("Limits", "groups", f"no tool is in group {name!r}; the groups of the tools: {there}")
        core.planner.set_limit(GROUP + name, size)
    if limits.per_owner is not None:
        core.planner.set_family(_OWNER, limits.per_owner)
    if limits.concurrent is not None:
        core.planner.set_limit(_SUPERVISOR, limits.concurrent)
        core.always = (_SUPERVISOR,)
    core.wants_room = limits.concurrent is not None or limits.per_owner is not None


def require_room(records: Sequence[Record], plans: Plans) -> None:
    """See that *records*, the calls of a batch, can be admitted as a whole. None of them is admitted yet.

    Raises:
        Overloaded: The queue bound cannot hold those that would have to wait.
        BudgetExceeded: The budget cannot pay for all of them.
    """
    core, count = records[0].core, len(records)
    limits, budget = core.settings.limits, core.settings.budget
    if budget is not None:
        if budget.max_calls is not None and core.spent + count > budget.max_calls:
            left = max(0, budget.max_calls - core.spent)
            most = counted(budget.max_calls, "call")
            raise BudgetExceeded(f"the budget of {most} has {left} left, and the batch has {count}")
        if _is_out_of_time(core, budget):
            raise BudgetExceeded(f"the budget of {counted(budget.max_duration or 0, 'second')} is spent")
    bound = limits.queued
    if bound is None or records[0].parent is not None or core.planner.waiting_count + count <= bound:
        return
    claims = [claim for record in records if (claim := _foreseen(record, plans)) is not None]
    waiting = core.planner.waiting_count + core.planner.would_wait(claims)
    if waiting > bound:
        raise Overloaded(f"{counted(waiting, 'call')} would be waiting, and the bound is {bound}; try again later")


def _foreseen(record: Record, plans: Plans) -> Claim | None:
    """What *record* will ask for, or None when it will be refused before it does.

    A tool whose availability has to be asked for counts as available: asking is not without effect.
    """
    call = record.call
    assert call is not None
    plan = None if call.defect is not None else plans.find(call.name)
    if plan is None or plan.awaits or plan.key_required or plan.approval_required:
        return None
    if record.deadline is not None and record.deadline <= record.core.now():
        return None
    try:
        record.validated = plan.validate(call.arguments)
        return _claim(record, plan, _slots(record, plan))
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: ASYNC103  # whatever it is, it will be raised again when it is admitted
        return None  # noqa: ASYNC104  # as said
