"""Policy hooks: code of the host's that is asked before a tool runs. What it is shown can't be changed by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, Protocol, TypeGuard, cast

import msgspec

from ..definitions import RequestContext, ToolDefinition
from ..definitions._canonical import freeze_json
from ..definitions._checks import shown
from ..errors import DefinitionError

_NOTHING: Final[Mapping[str, object]] = MappingProxyType({})


class PolicyRequest(msgspec.Struct, frozen=True):
    """The call that a hook is asked about.

    Args:
        definition: The tool.
        arguments: The validated ones, with defaults filled in. The hook sees a copy that can't be changed.
        call_id: The id of the call; empty where there is none.
        execution_id: The id of its execution; empty where there is none.
        owner_id: Whose call it is, or None.
        request_context: On whose behalf it is made, or None. A toolbox's hook may narrow what the tool's hook sees.
        context: What the host keeps for its policies. Passed on as it is.

    Raises:
        JsonError: The arguments are no JSON.
    """

    definition: ToolDefinition
    arguments: Mapping[str, object]
    call_id: str = ""
    execution_id: str = ""
    owner_id: str | None = None
    request_context: RequestContext | None = None
    context: Mapping[str, object] = _NOTHING

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "arguments", freeze_json(self.arguments, root="arguments"))

    @property
    def tool_name(self) -> str:
        """The name of the tool."""
        return self.definition.name


class PolicyHook(Protocol):
    """Asked before a tool runs, after its arguments were found valid. May be async.

    It may be asked more than once about a call: again with edited arguments, when a pause is resumed, and when the
    policy was changed while the call waited.
    """

    def before_execute(self, request: PolicyRequest, /) -> object:
        """Decide: None for no objection, a bool, `Allow`, `Ask`, `Deny`, `Edit`, or a mapping (see `read_decision`).

        Whatever it raises denies the call.
        """
        ...


BeforeExecute = Callable[[PolicyRequest], object]
"""A hook's ``before_execute`` alone."""

Policy = PolicyHook | BeforeExecute
"""What may be given as a policy: a hook, or only its function."""


def before_execute_of(policy: Policy | None, field: str) -> BeforeExecute | None:
    """The function that is asked, of a hook or of the function itself.

    Raises:
        DefinitionError: It is neither.
    """
    if policy is None:
        return None
    if _is_hook(policy):
        if callable(policy.before_execute):
            return policy.before_execute
    elif callable(policy) and not isinstance(cast("object", policy), type):
        return policy
    reason = f"must be a function, or have a method before_execute, not {shown(policy)}"
    raise DefinitionError("policy", field, reason)


def _is_hook(policy: Policy) -> TypeGuard[PolicyHook]:
    return hasattr(policy, "before_execute") and not isinstance(cast("object", policy), type)
