"""Room for a call: what the budget pays for, which limits it needs a slot of, and whether a batch fits as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..definitions._plurals import counted
from ..errors import BudgetExceeded, DefinitionError, Overloaded
from ._concurrency import Latch
from ._execution import Core, Record
from ._failures import description_of
from ._options import Budget
from ._plan import GROUP, PROCESSES, THREADS, Plan, resources
from ._plans import Plans
from ._settlement import refuse, wake
from .capacity import Claim, Granted, Refused, Waiting

_OWNER: Final = "owner"
_SUPERVISOR: Final = "supervisor"
_NOTHING: Final = frozenset[str]()


def within_budget(record: Record, budget: Budget) -> bool:
    """Let the budget pay for *record*. False when it can't: then the call was refused."""
    core = record.core
    if budget.max_calls is not None and core.spent >= budget.max_calls:
        refuse(record, "conflict", "BUDGET_EXCEEDED", f"the budget of {counted(budget.max_calls, 'call')} is spent")
        return False
    if record.batch_id is None and is_out_of_time(core, budget):
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


def is_out_of_time(core: Core, budget: Budget) -> bool:
    """Whether the time that *budget* pays for is over."""
    return budget.max_duration is not None and core.now() - core.opened_at >= budget.max_duration


def ask_for_room(record: Record) -> None:
    """Ask for what the body of *record* needs a slot of, unless it holds that already."""
    core, plan = record.core, record.plan
    assert plan is not None
    if not (plan.needs_room or core.wants_room or record.extra_needs or record.in_order):
        return
    if record.claim is not None:
        if record.claim.needs or record.claim.uses:
            return  # it asked before: it was only judged again
        _forget_standing(record, record.claim)
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


def _forget_standing(record: Record, claim: Claim) -> None:
    """A hook of *record* made calls, which gave it a claim that needs nothing; now it asks for room itself."""
    record.claim, record.claim_held = None, False
    wake(record.core, record.core.planner.release(claim))


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
        if is_out_of_time(core, budget):
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
    if plan is None or plan.awaits or plan.key_required:
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
