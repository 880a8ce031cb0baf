"""What a call is bound to that goes on because a person agreed, and whether all of that is still so. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from ..definitions import ApprovalScope, RequestContext, StepBinding
from ..errors import ApprovalError

if TYPE_CHECKING:
    from ..authority import Revisions
    from ..definitions import ComposedStep, Tool
    from ..toolbox import Toolbox

_REVISIONS: Final = ("catalog", "toolbox", "policy", "approval")
_OF_TOOLBOX: Final = {
    "toolbox_revision": "revision",
    "policy_revision": "policy_revision",
    "approval_revision": "approval_revision",
}


def changed(bound: ApprovalScope | StepBinding, toolbox: Toolbox) -> ApprovalError | None:
    """Why what was agreed to does not count under *toolbox*; None if it does."""
    names = [name for name, of_toolbox in _OF_TOOLBOX.items() if getattr(bound, name) != getattr(toolbox, of_toolbox)]
    return _differs(names, "the question was put") if names else None


def require_same_rules(bound: ApprovalScope | StepBinding, other: ApprovalScope | StepBinding, since: str) -> None:
    """Refuse what does not count under the rules under which the *other* does.

    Raises:
        ApprovalError: The rules are others; the error names which.
    """
    fields = [f"{name}_revision" for name in _REVISIONS]
    names = [name for name in fields if getattr(bound, name) != getattr(other, name)]
    if names:
        raise _differs(names, since)


def require_unchanged(
    step: ComposedStep, tool: Tool[..., object], context: RequestContext | None, now: Revisions
) -> StepBinding:
    """What *step* is bound to, if *tool* can go on as that.

    Raises:
        ApprovalError: The tool or the rules are others, or it would be for somebody else. Or it is not said what the
            rules were.
    """
    bound = step.binding
    if bound is None:
        reason = f"an older version wrote it, which did not say under which rules {tool.name!r} began; ask again"
        raise ApprovalError("invalid-binding", reason)
    if step.tool_definition_revision != tool.definition.digest:
        raise ApprovalError("mismatch", f"the tool definition of {tool.name!r} changed since the question was put")
    require_same_rules(bound, step_binding(now), "the question was put")
    require_same(context or RequestContext(), RequestContext.from_json(step.request_context))
    return bound


def require_same(context: RequestContext, bound: RequestContext) -> None:
    """Refuse to go on for somebody else.

    Raises:
        ApprovalError: *context* says more, less or something else than *bound*; the name of the request is free.
    """
    for field in bound.__struct_fields__:
        if field != "request" and getattr(context, field) != getattr(bound, field):
            raise ApprovalError("mismatch", f"{field} is not what it was when the question was put")


def require_same_steps(bound: StepBinding, context: RequestContext | None) -> None:
    """Refuse to let a composed tool go on that would call its steps for somebody else than it did.

    Raises:
        ApprovalError: *context* is not the one for which it called those before.
    """
    require_same(context or RequestContext(), RequestContext.from_json(bound.request_context))


def step_binding(
    revisions: Revisions, definitions: Mapping[str, str] | None = None, context: RequestContext | None = None
) -> StepBinding:
    """What a composed tool is bound to that began under these *revisions*, and called its steps for *context*."""
    return StepBinding(
        toolbox_revision=revisions.toolbox,
        policy_revision=revisions.policy,
        approval_revision=revisions.approval,
        catalog_revision=revisions.catalog,
        definitions=definitions or {},
        request_context=said_by(context),
    )


def said_by(context: RequestContext | None) -> Mapping[str, object]:
    """What *context* says, but for the name of the request, as JSON."""
    return {} if context is None else msgspec.structs.replace(context, request=None).to_json()


def _differs(names: list[str], since: str) -> ApprovalError:
    words = " and ".join(name.replace("_", " ") for name in names)
    return ApprovalError("mismatch", f"the {words} changed since {since}")
