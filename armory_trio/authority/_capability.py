"""The approval policy: what is asked about, by what a tool is able to do. Two axes, capability tier and mode."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, cast, get_args

import attrs

from ..definitions import ToolDefinition
from ..definitions._checks import named, one_of, shown
from ..definitions._effects import Tier
from ..definitions._value import Value
from ..errors import DefinitionError
from ._verdict import Allow, Ask, Deny, Verdict

ApprovalMode = Literal["never", "on-mutation", "always", "deny"]
"""When a person is asked: never; before anything changes; each time. ``deny`` runs nothing and asks nobody."""

_SUBJECT: Final = "ApprovalPolicy"
_Word = Literal["allow", "ask", "deny"]

_TABLE: Final[Mapping[Tier | None, Mapping[ApprovalMode, _Word]]] = {
    "read-only": {"never": "allow", "on-mutation": "allow", "always": "ask", "deny": "deny"},
    "mutating": {"never": "allow", "on-mutation": "ask", "always": "ask", "deny": "deny"},
    "dangerous": {"never": "allow", "on-mutation": "ask", "always": "ask", "deny": "deny"},
    None: {"never": "ask", "on-mutation": "ask", "always": "ask", "deny": "deny"},
}
"""What is done about a tool of each tier in each mode; None is a tool that nobody has classified."""


def _overrides(value: object) -> Mapping[Tier, ApprovalMode]:
    if not isinstance(value, Mapping):
        reason = f"must map tiers to modes, such as {{'dangerous': 'deny'}}, not {shown(value)}"
        raise DefinitionError(_SUBJECT, "tier_modes", reason)
    given = dict(cast("Mapping[Tier, ApprovalMode]", value))
    for tier, mode in given.items():
        one_of(_SUBJECT, "tier_modes", tier, get_args(Tier))
        with named(_SUBJECT, "tier_modes."):
            one_of(_SUBJECT, tier, mode, get_args(ApprovalMode))
    return MappingProxyType(given)


@attrs.frozen(eq=False, repr=False)
class ApprovalPolicy(Value):
    """Whether a person is asked before a tool runs, by its capability tier.

    A tool that nobody has classified belongs to no tier: it is asked about in every mode but ``deny``, and no override
    speaks of it.

    Args:
        mode: For all tiers that have no mode of their own.
        tier_modes: The modes of single tiers: ``read-only``, ``mutating``, ``dangerous``.

    Raises:
        DefinitionError: A mode or a tier is unknown.
    """

    mode: ApprovalMode = "on-mutation"
    tier_modes: Mapping[Tier, ApprovalMode] = attrs.field(
        factory=lambda: _overrides({}), converter=_overrides, kw_only=True
    )

    def __attrs_post_init__(self) -> None:
        one_of(_SUBJECT, "mode", self.mode, get_args(ApprovalMode))

    def __hash__(self) -> int:
        return hash((self.mode, frozenset(self.tier_modes.items())))

    def mode_for(self, tier: Tier | None) -> ApprovalMode:
        """The mode that counts for tools of *tier*; None is a tool that nobody has classified."""
        return self.mode if tier is None else self.tier_modes.get(tier, self.mode)

    def judge(self, definition: ToolDefinition) -> Verdict:
        """What is done about a call of this tool, whatever its arguments."""
        tier = definition.classification.tier
        mode = self.mode_for(tier)
        word = _TABLE[tier][mode]
        if word == "allow":
            return Allow()
        subject = f"Tool {definition.name!r} ({tier or 'unclassified'} tier)"
        if word == "deny":
            return Deny(f"{subject} is denied by approval policy (mode: {mode}).")
        return Ask(f"{subject} requires approval (mode: {mode}).")
