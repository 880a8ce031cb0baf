"""The host's names for the states of what decisions were made by."""

from __future__ import annotations

from typing import Final

from ..definitions._checks import text
from ..definitions._declared import Declared
from ..errors import DefinitionError

_MAY_BE_BLANK: Final = "tool_definition"


class Revisions(Declared, frozen=True):
    """Which state of each set of rules a call is judged by. An approval of one state counts for no other.

    Raise the one whose rules have changed in a way that a person who agreed before should be asked about again.

    Args:
        catalog: The catalogue that tools come from.
        toolbox: The toolbox.
        tool_definition: The digest of the tool's definition; empty as long as it is about no tool in particular.
            Approvals take it from the definition itself, whatever stands here.
        policy: The policy.
        approval: The rules about approvals.
        redaction: The rules about what is hidden.

    Raises:
        DefinitionError: One is no text, is blank, or holds half a character.
    """

    catalog: str = "catalog:1"
    toolbox: str = "toolbox:1"
    tool_definition: str = ""
    policy: str = "policy:1"
    approval: str = "approval:1"
    redaction: str = "redaction:1"

    def __post_init__(self) -> None:
        for field in self.__struct_fields__:
            value: str = getattr(self, field)
            text("Revisions", field, value, blank=field == _MAY_BE_BLANK)
            try:
                value.encode()
            except UnicodeEncodeError as error:
                reason = f"{value!a} holds half a character (a lone surrogate)"
                raise DefinitionError("Revisions", field, reason) from error
