"""A policy for runs without anybody to ask: what is not on the list does not run, and nothing waits."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Final

import attrs

from ..definitions import ToolDefinition
from ..definitions._checks import instance, names
from ..definitions._policy import PolicyRequest
from ..definitions._value import Value
from ..errors import DefinitionError
from ._capability import ApprovalPolicy
from ._verdict import Allow, Ask, Deny, read_decision

HeadlessGate = Callable[[str, Mapping[str, object]], object]
"""Gets the name of the tool and its arguments; answers as a hook does, but at once. None allows nothing."""

_SUBJECT: Final = "HeadlessPolicy"
_LONGEST: Final = 300
"""Characters of a gate's reason that are passed on: it may quote what the model sent."""


def _allowed(value: object) -> frozenset[str]:
    return frozenset(names(_SUBJECT, "allow", value))


def _denied(value: object) -> frozenset[str]:
    return frozenset(names(_SUBJECT, "deny", value))


@attrs.frozen(eq=False, repr=False)
class HeadlessPolicy(Value):
    """A policy hook that never asks. What would need a person is denied.

    All of it is looked at for each call, and the strictest answer stands. Names are compared exactly.

    Args:
        allow: The names or ids of the tools that may run.
        deny: Names or ids that may not, though their name or id be allowed.
        capability: What would ask elsewhere is denied here.
        gate: Looks at the arguments. It is asked about every call, also about those that are denied already.

    Raises:
        DefinitionError: A value has the wrong type.
    """

    allow: frozenset[str] = attrs.field(converter=_allowed)
    deny: frozenset[str] = attrs.field(default=frozenset[str](), converter=_denied, kw_only=True)
    capability: ApprovalPolicy | None = attrs.field(default=None, kw_only=True)
    gate: HeadlessGate | None = attrs.field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        instance(_SUBJECT, "capability", self.capability, ApprovalPolicy)
        if self.gate is not None and not callable(self.gate):
            raise DefinitionError(_SUBJECT, "gate", "must be a function of the tool's name and its arguments")

    def before_execute(self, request: PolicyRequest, /) -> Allow | Deny:
        """Allow or deny. What the gate raises about a listed tool passes through, and denies."""
        unlisted = self._unlisted(request.definition)
        try:
            gated = self._gated(request)
        except Exception:
            if unlisted is None:
                raise
            return unlisted
        if unlisted is not None:
            return unlisted
        return gated if isinstance(gated, Deny) else self._incapable(request.definition) or gated

    def _unlisted(self, definition: ToolDefinition) -> Deny | None:
        called = {definition.name, definition.id.text}
        if called & self.deny:
            return Deny(f"Tool {definition.name!r} is on the deny list")
        if not called & self.allow:
            return Deny(f"Tool {definition.name!r} is not on the allow list: unlisted tools are denied by default")
        return None

    def _gated(self, request: PolicyRequest) -> Allow | Deny:
        if self.gate is None:
            return Allow()
        answer = self.gate(request.tool_name, request.arguments)
        if inspect.isawaitable(answer):
            if inspect.iscoroutine(answer):
                answer.close()
            return Deny("The gate answers later, but it must answer at once")
        decision = Deny("The gate did not decide") if answer is None else read_decision(answer)
        if isinstance(decision, Allow):
            return decision
        reason = decision.reason if isinstance(decision, Ask | Deny) else "The gate may not edit arguments"
        return Deny(_one_line(reason))

    def _incapable(self, definition: ToolDefinition) -> Deny | None:
        if definition.requires_approval:
            return Deny(f"Tool {definition.name!r} requires approval, but nobody is there to ask")
        verdict = Allow() if self.capability is None else self.capability.judge(definition)
        if isinstance(verdict, Allow):
            return None
        if isinstance(verdict, Deny):
            return verdict
        return Deny(f"{verdict.reason} Nobody is there to ask.")


def _one_line(reason: str) -> str:
    line = " ".join(reason.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
