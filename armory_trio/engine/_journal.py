"""What the named steps of a running tool came to, so that it can go on later from where one of them had to wait."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from ..definitions import PendingApproval, Tool, ToolResult, result_from_json, result_to_json
from ..errors import ApprovalError, ArmoryError
from ._permits import Permit

_NOTHING: Final[Mapping[str, Mapping[str, object]]] = {}


class Resumption(msgspec.Struct, frozen=True):
    """A call that goes on because a person agreed.

    Args:
        pending: What they agreed to. ``within`` names the tools that are still to be entered before that call is made.
        arguments: What they wrote in place of its arguments; None when they changed nothing.
        permits: That of the call which they agreed to, once it is made.
    """

    pending: PendingApproval
    arguments: Mapping[str, object] | None = None
    permits: list[Permit] = msgspec.field(default_factory=list["Permit"])

    @property
    def failure(self) -> ApprovalError | None:
        """Why the approval did not count after all when its call was made, or None."""
        return next((permit.failure for permit in self.permits if permit.failure is not None), None)

    @property
    def inner(self) -> Resumption:
        """The same, seen from within the outermost tool."""
        return msgspec.structs.replace(
            self, pending=msgspec.structs.replace(self.pending, within=self.pending.within[1:])
        )


class Journal:
    """The named steps of one execution.

    Args:
        recorded: How steps ended when the tool ran before, by their places.
        waits_at: The step that had to wait then, or None.
        resumption: How that one goes on.
    """

    __slots__ = ("_begun", "_ended", "_recorded", "_resumption", "_waits_at")

    def __init__(
        self,
        recorded: Mapping[str, Mapping[str, object]] = _NOTHING,
        waits_at: str | None = None,
        resumption: Resumption | None = None,
    ) -> None:
        self._recorded = recorded
        self._waits_at = waits_at
        self._resumption = resumption
        self._begun: set[str] = set()
        self._ended: dict[str, tuple[ToolResult[object], Tool[..., object] | None]] = {}

    def begin(self, place: str) -> None:
        """A step begins at *place*, or one that ended before is asked for.

        Raises:
            ValueError: There was one at that place already.
        """
        if place in self._begun:
            raise ValueError(f"place={place!r}: another step has this place already; give each its own")
        self._begun.add(place)

    def known(self, place: str, tool: Tool[..., object] | None) -> ToolResult[object] | None:
        """How the step at *place* ended when *tool* ran before, or None. Its value is read by the tool's contract."""
        document = self._recorded.get(place)
        if document is None:
            return None
        result = result_from_json(document, None if tool is None else tool.output_contract)
        self._ended[place] = (result, tool)
        return result

    def resumption_at(self, place: str, tool_id: str) -> Resumption | None:
        """How the step at *place* goes on, if it is the one that had to wait.

        Raises:
            ArmoryError: Another tool stands there now.
        """
        resumption = self._resumption
        if resumption is None or place != self._waits_at:
            return None
        pending = resumption.pending
        wanted = pending.within[0].tool_id if pending.within else pending.tool_id
        if tool_id != wanted:
            raise ArmoryError(f"the step at {place!r} was {wanted!r} when it had to wait, and is {tool_id!r} now")
        return resumption

    def end(self, place: str, result: ToolResult[object], tool: Tool[..., object] | None) -> None:
        """The step at *place* has ended with *result*."""
        self._ended[place] = (result, tool)

    def place_of(self, result: ToolResult[object]) -> str | None:
        """Where *result* came from, or None if that had no place."""
        return next((place for place, (ended, _) in self._ended.items() if ended is result), None)

    def written(self) -> dict[str, Mapping[str, object]]:
        """What is to be kept of the steps that need nobody's action, as JSON.

        Raises:
            JsonError: A value has no JSON form.
            OutputInvalid: A value is not what its tool promised.
        """
        return {
            place: result_to_json(result, None if tool is None else tool.output_contract)
            for place, (result, tool) in self._ended.items()
            if result.outcome != "action_required"
        }
