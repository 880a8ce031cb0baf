"""The first steps of a call, which never touch the world: admit, resolve, check availability, validate, ask for room."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final, cast

import msgspec

from ..definitions import InvalidArguments, Tool, ToolCall, admitted, thaw_json
from ..definitions._checks import shown
from ..definitions._exceptions import Withheld
from ..errors import JsonError
from ._events import LoopWarned, NameResolved
from ._execution import Record
from ._failures import readable_error_of
from ._loading import load_for
from ._options import DIRECTLY
from ._permits import Hook, Permit, Way
from ._plan import Plan
from ._plans import Plans
from ._roles import Repeats
from ._room import ask_for_room, within_budget
from ._settlement import refuse, refuse_arguments, refuse_with

VALIDATION: Final = "validation"
"""What a call waits for whose arguments are being validated."""

_log: Final = logging.getLogger("armory_trio.engine")


def admit(record: Record, plans: Plans) -> None:
    """Bring *record* as far as it goes without waiting. It is over when it was refused."""
    core, call = record.core, record.call
    assert call is not None
    if core.settings.budget is not None and not within_budget(record, core.settings.budget):
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
        _close(available)
    elif inspect.isawaitable(available):
        answer = available
        record.hook = Hook(lambda: answer, _asked_whether_available, lambda: _close(answer))
        record.waits_for = "policy"
    else:
        _prepare(record, available=available is True)


def _close(hook: object) -> None:
    """A hook that was called and will not be awaited; a coroutine would complain."""
    if inspect.iscoroutine(hook):
        hook.close()


def _asked_whether_available(record: Record, answer: object, failure: BaseException | None) -> None:
    record.waits_for = None
    if failure is not None:
        _log.warning(
            "the availability hook of %s raised, so it counts as unavailable: %s", record.name, Withheld(failure)
        )
    _prepare(record, available=answer is True)


def _prepare(record: Record, *, available: bool) -> None:
    plan = record.plan
    assert plan is not None
    if available:
        go_on(record, plan)
    else:
        refuse(record, "unavailable", "TOOL_UNAVAILABLE", f"the tool {plan.name!r} is not available here")


def go_on(record: Record, plan: Plan) -> None:
    """Validate the arguments, see whether the call may run, and ask for room for a body that will run with them."""
    call, core = record.call, record.core
    assert call is not None
    repeats = core.hooks.repeats
    if repeats is not None and record.options is not DIRECTLY and _loops(record, plan, call, repeats):
        return
    if plan.digests and "input" in plan.digests:
        record.call = call = _detached(call)
    if plan.awaits:
        _await_validation(record, plan, call.arguments)
    else:
        _validate(record, plan, call.arguments)


def _await_validation(record: Record, plan: Plan, arguments: Mapping[str, object]) -> None:
    record.hook = Hook(lambda: admitted(plan.tool.contract, arguments), _validated)
    record.waits_for = VALIDATION


def _validated(record: Record, answer: object, failure: BaseException | None) -> None:
    """An awaited validator has decided about the arguments, and said so in them."""
    record.waits_for = None
    plan = record.plan
    assert plan is not None
    if failure is None:
        _validate(record, plan, cast("Mapping[str, object]", answer))
    else:
        _refuse_unvalidated(record, failure)


def _validate(record: Record, plan: Plan, arguments: Mapping[str, object]) -> None:
    validate = plan.validate
    try:
        record.validated = validate(arguments)
    except InvalidArguments as exc:
        refuse_arguments(record, plan, exc)
        return
    except KeyboardInterrupt:
        raise
    except BaseException as exc:  # noqa: ASYNC103  # a validator of the user's may raise anything; nothing is awaited
        _refuse_unvalidated(record, exc)
        return  # noqa: ASYNC104  # as said
    options = record.options
    if record.ended_at is not None:
        record.validated = None
    elif options is DIRECTLY or (plan.asks_nobody and not options.asks_ledger and record.permit is None):
        ask_for_room(record)
    elif _has_key(record, plan) and not _keyed(record, plan):
        return
    elif plan.rules is None and record.permit is None:
        _cleared(record)
    else:
        judge(record)


def _has_key(record: Record, plan: Plan) -> bool:
    """Whether the ledger may have to be asked about the call."""
    return plan.keyed or plan.recorded or record.options.asks_ledger


def _keyed(record: Record, plan: Plan) -> bool:
    load_for("key")  # the plan knows nothing of a key that came with the call
    from .keeping._claiming import give_up, take_entry  # noqa: PLC0415  # only who has a key pays for it

    if record.claimed:
        give_up(record)  # its arguments were edited since: the key may be another one, and what it stands for is
    return take_entry(record, plan)


def _cleared(record: Record) -> None:
    """It may run: see whether it did already, or ask for room."""
    entry = record.entry
    if entry is None or entry.attempt_id is not None:
        ask_for_room(record)
        if entry is not None and entry.line:
            entry.stir()  # whoever waits for it could not be told what it waits for
        return
    from .keeping._claiming import claim  # noqa: PLC0415  # only who has a key pays for it

    claim(record)


def judge(record: Record) -> None:
    """See whether a call whose arguments are valid may run."""
    from ._authorize import authorize  # noqa: PLC0415  # only who has rules pays for it

    authorize(record, _way())


@cache
def _way() -> Way:
    from ._spending import ended  # noqa: PLC0415  # as above

    return Way(_cleared, _validate_again, ended)


def permit_of(record: Record) -> Permit:
    """The permit of a call that nobody has judged yet."""
    permit = record.permit = Permit(_way(), record.request_context)
    return permit


def _validate_again(record: Record, arguments: Mapping[str, object]) -> None:
    plan = record.plan
    assert plan is not None
    if plan.awaits:
        _await_validation(record, plan, arguments)
    else:
        _validate(record, plan, arguments)


def _loops(record: Record, plan: Plan, call: ToolCall, repeats: Repeats) -> bool:
    """Whether *call* was refused because it repeats itself. What tools call is not judged: a model did not ask for it."""
    if record.parent is not None or (record.permit is not None and record.permit.approved is not None):
        return False  # one that is resumed was judged when it paused: it is the same call
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


def _refuse_unvalidated(record: Record, exc: BaseException) -> None:
    """End a queued execution whose validator raised *exc*, and so has not answered."""
    error = readable_error_of(exc, record)
    message = f"validating its arguments failed: {error.message}"
    refuse_with(record, msgspec.structs.replace(error, message=message))


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
        _log.warning("on_deprecated raised for %s: %s", plan.name, Withheld(exc))


def _resolved(record: Record, plans: Plans, name: str) -> Plan | None:
    """The plan of the tool that *name* means. None if there is none: then the call was refused."""
    plan = plans.exact(name)
    if plan is not None:
        record.name = plan.tool.name
        return plan
    from ..toolbox import Unresolved  # noqa: PLC0415  # only who misspells pays for it

    found = plans.guess(name)
    if isinstance(found, Unresolved):
        _not_found(record, found.near, found.ambiguous)
        return None
    record.name = found.tool.name
    if record.core.feed.readers:
        record.tell(NameResolved, requested=name, tier=found.tier)
    return plans.of(found.tool)


def _not_found(record: Record, near: tuple[str, ...], several: tuple[str, ...]) -> None:
    hint = f"; did you mean {' or '.join(repr(name) for name in near or several)}?" if near or several else ""
    message = f"there is no tool {shown(record.name)}{hint}"
    details = {key: list(names) for key, names in (("near", near), ("ambiguous", several)) if names}
    refuse(record, "not_found", "NOT_FOUND", message, {**details} or None)


def _availability(record: Record, plan: Plan, context: Mapping[str, object]) -> object:
    assert plan.availability is not None
    try:
        return plan.availability(context)
    except KeyboardInterrupt:
        raise
    except BaseException as exc:  # noqa: ASYNC103  # a hook of the user's may raise anything; nothing is awaited
        _log.warning("the availability hook of %s raised, so it counts as unavailable: %s", record.name, Withheld(exc))
        return False  # noqa: ASYNC104  # as said
