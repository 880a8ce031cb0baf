"""What those see of a call who judge it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from ..authority.policy import PolicyRequest
from ..definitions._checks import shown
from ..definitions._policy import PolicyContext
from ..toolbox import Toolbox
from ._execution import Record
from ._permits import Permit
from ._plan import Plan


def request_of(record: Record, plan: Plan, permit: Permit, toolbox: Toolbox) -> PolicyRequest:
    """What the rules of *toolbox* are asked about.

    Raises:
        JsonError: The arguments have no JSON form.
        TypeError: What answers the policy context answers no mapping. What it raises passes through.
    """
    context = {**_context_of(toolbox.policy_context), **_context_of(plan.tool.options.policy_context)}
    return PolicyRequest(
        plan.tool.definition,
        cast("Mapping[str, object]", plan.tool.contract.dump(record.validated)),
        call_id=record.call_id,
        execution_id=record.id,
        owner_id=record.owner,
        request_context=permit.context,
        context=context,
    )


def _context_of(given: PolicyContext | None) -> Mapping[str, object]:
    found = given() if callable(given) else given
    if found is None:
        return {}
    if not isinstance(cast("object", found), Mapping):
        raise TypeError(f"policy_context answered {shown(found)}, which is no mapping")
    return found
