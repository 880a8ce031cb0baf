"""Gates: whole classes of tools that do not run here, whoever asks and whatever a policy says."""

from __future__ import annotations

import attrs

from ..definitions import ToolDefinition
from ..definitions._checks import flag
from ..definitions._value import Value
from ._verdict import Allow, Deny


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Gates(Value):
    """Which classes of tools may run at all. A tool counts as its classification says.

    A tool about which nobody said anything counts as one that changes something outside.

    Args:
        read_only: Only tools that leave the world as it was may run, whatever ``allow_mutation`` says.
        allow_mutation: False means the same.
        allow_dangerous: False keeps out what is destructive or privileged.

    Raises:
        DefinitionError: A value is neither True nor False.
    """

    read_only: bool = False
    allow_mutation: bool = True
    allow_dangerous: bool = True

    def __attrs_post_init__(self) -> None:
        for field in ("read_only", "allow_mutation", "allow_dangerous"):
            flag("Gates", field, getattr(self, field))

    @property
    def open(self) -> bool:
        """Whether every tool passes."""
        return not self.read_only and self.allow_mutation and self.allow_dangerous

    def judge(self, definition: ToolDefinition) -> Allow | Deny:
        """Whether the tool passes all gates."""
        counted = definition.classification
        if (self.read_only or not self.allow_mutation) and not counted.read_only:
            why = counted.effect_class if counted.classified else "nobody said what it does"
            return Deny(f"Mutating tool {definition.name!r} is not allowed here ({why})")
        if not self.allow_dangerous and counted.tier == "dangerous":
            return Deny(f"Dangerous tool {definition.name!r} is not allowed here ({counted.effect_class})")
        return Allow()
