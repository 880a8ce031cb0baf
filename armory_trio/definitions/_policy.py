"""Policies: code of the host's that is asked before a tool runs, and told how it ended. It can't change what it sees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, Protocol, cast

import msgspec

from ..errors import DefinitionError
from ._call import ToolResult
from ._canonical import freeze_json
from ._checks import shown, text
from ._definition import ToolDefinition
from ._values import RequestContext

_NOTHING: Final[Mapping[str, object]] = MappingProxyType({})
_ABSENT: Final = object()
"""Stands for a method that is not there, where None could be one by mistake."""


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
    """Asked before a tool runs, after its arguments were found valid. May be async, and a `PolicyAuditor` as well.

    It may be asked more than once about a call: again with edited arguments, when a pause is resumed, and when the
    policy was changed while the call waited.
    """

    def before_execute(self, request: PolicyRequest, /) -> object:
        """Decide: None for no objection, a bool, `Allow`, `Ask`, `Deny`, `Edit`, or a mapping (see `read_decision`).

        Whatever it raises denies the call.
        """
        ...


class PolicyAuditor(Protocol):
    """Told of calls that ended. May be async. Without a ``before_execute`` it objects to nothing."""

    def after_execute(self, request: PolicyRequest, result: ToolResult[object], /) -> object:
        """Take note of how the call ended. What it answers makes no difference."""
        ...


BeforeExecute = Callable[[PolicyRequest], object]
"""A hook's ``before_execute`` alone."""

AfterExecute = Callable[[PolicyRequest, ToolResult[object]], object]
"""An auditor's ``after_execute`` alone."""

Policy = PolicyHook | PolicyAuditor | BeforeExecute
"""What may be given as a policy: an object with one of the methods or both, or only the function that is asked."""

PolicyContext = Mapping[str, object] | Callable[[], Mapping[str, object]]
"""What the host keeps for its policies: named values, or a function that answers them."""


def before_execute_of(policy: Policy | None, field: str) -> BeforeExecute | None:
    """The function that is asked, of a hook or of the function itself; None of what is only told.

    Raises:
        DefinitionError: It is no policy.
    """
    if policy is None:
        return None
    if not isinstance(cast("object", policy), type):
        found: object = getattr(policy, "before_execute", policy)
        if callable(found):
            return cast("BeforeExecute", found)
        if found is policy and hasattr(policy, "after_execute"):
            _told(policy, field)
            return None
    reason = f"must be a function, or have a method before_execute, not {shown(policy)}"
    raise DefinitionError("policy", field, reason)


def after_execute_of(policy: Policy | None, field: str) -> AfterExecute | None:
    """The function that is told how a call ended; None where nobody is.

    Raises:
        DefinitionError: It is no policy, or only half of it is one.
    """
    before_execute_of(policy, field)
    return _told(policy, field)


def _told(policy: Policy | None, field: str) -> AfterExecute | None:
    found: object = getattr(policy, "after_execute", _ABSENT)
    if found is _ABSENT:
        return None
    if callable(found):
        return cast("AfterExecute", found)
    raise DefinitionError("policy", field, f"its after_execute must be a method, not {shown(found)}")


def policy_context(subject: str, value: PolicyContext | None) -> PolicyContext | None:
    """*value* as *subject* keeps it: a mapping is copied, shallowly.

    Raises:
        DefinitionError: It is neither a mapping of names to values nor a function.
    """
    given = cast("object", value)
    if isinstance(given, Mapping):
        copied = dict(cast("Mapping[str, object]", given))
        for key in copied:
            text(subject, f"policy_context[{shown(key)}]", key)
        return MappingProxyType(copied)
    if given is not None and not callable(given):
        reason = f"must be a mapping of names to values, or a function that answers one, not {shown(given)}"
        raise DefinitionError(subject, "policy_context", reason)
    return value
