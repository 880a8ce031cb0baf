"""What the named steps of a running tool came to, so that it can go on later from where one of them had to wait."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import msgspec

from ..definitions import ComposedStep, Effect, PendingApproval, Tool, ToolResult, result_from_json, result_to_json
from ..errors import ApprovalError, ArmoryError
from ._lifecycle import strongest
from ._permits import Permit
from .keeping._retelling import apart

if TYPE_CHECKING:
    from ..toolbox import Toolbox


class Resumption(msgspec.Struct, frozen=True):
    """A call that goes on because a person agreed, or one beside it that waited as well.

    Args:
        pending: What they agreed to; None for the one beside it, in which the call that had to wait is made afresh.
        within: The composed tools that are still to be entered before that call is made, outermost first.
        arguments: What they wrote in place of its arguments; None when they changed nothing.
        permits: Those of the calls on the way to the one that they agreed to, and of that, as they are made.
    """

    pending: PendingApproval | None
    within: tuple[ComposedStep, ...]
    arguments: Mapping[str, object] | None = None
    permits: list[Permit] = msgspec.field(default_factory=list["Permit"])

    @property
    def failure(self) -> ApprovalError | None:
        """Why the approval did not count after all when its call was to be made, or None."""
        return next((permit.failure for permit in self.permits if permit.failure is not None), None)

    @property
    def tool_id(self) -> str | None:
        """The tool that is called first, or None when nothing is known of it."""
        if self.within:
            return self.within[0].tool_id
        return None if self.pending is None else self.pending.tool_id

    @property
    def idempotency_key(self) -> str | None:
        """The key that the caller of the outermost tool gave it, or None."""
        if self.within:
            return self.within[0].idempotency_key
        return None if self.pending is None else self.pending.idempotency_key

    @property
    def inner(self) -> Resumption:
        """The same, seen from within the outermost tool."""
        return msgspec.structs.replace(self, within=self.within[1:])


class _Ended(msgspec.Struct, frozen=True):
    """How a step ended: as its caller was told, and, whatever that does to it, as it is kept."""

    result: ToolResult[object]
    kept: ToolResult[object]
    tool: Tool[..., object] | None


class Journal:
    """The named steps of one execution.

    Args:
        step: What was kept of it when it ran before and had to wait; None when it did not.
        resumption: How the step that had to wait goes on.
        permit: That of the execution, if it goes on: what was kept counts as long as what it is bound to.
    """

    __slots__ = (
        "_begun",
        "_definitions",
        "_ended",
        "_judged_in",
        "_permit",
        "_recorded",
        "_tools",
        "_waiting",
        "pauses",
        "resumes",
        "step",
    )

    def __init__(
        self, step: ComposedStep | None = None, resumption: Resumption | None = None, permit: Permit | None = None
    ) -> None:
        bound = None if step is None else step.binding
        self.resumes: str | None = None if step is None else step.attempt_id
        """The attempt in the ledger that it goes on from."""
        self.step: ComposedStep | None = step
        self._permit = permit
        self._definitions = {} if bound is None else dict(bound.definitions)
        self._recorded = {} if step is None else dict(step.results)
        self._tools = {} if step is None else dict(step.tools)
        self._waiting: dict[str, Resumption] = {}
        if step is not None and resumption is not None:
            self._waiting = {place: Resumption(None, within) for place, within in step.waiting}
            self._waiting[step.place] = resumption
        self._begun: set[str] = set()
        self._judged_in: list[Toolbox] = []
        self._ended: dict[str, _Ended] = {}
        self.pauses: list[ToolResult[object]] = []
        """The results of its calls, with a place or without, that need somebody's action."""

    def begin(self, place: str) -> None:
        """A step begins at *place*, or one that ended before is asked for.

        Raises:
            ValueError: There was one at that place already.
        """
        if place in self._begun:
            raise ValueError(f"place={place!r}: another step has this place already; give each its own")
        self._begun.add(place)

    @property
    def is_cut(self) -> bool:
        """Whether a step began whose end is not known."""
        return not self._begun <= {*self._ended, *self._recorded}

    @property
    def before(self) -> Effect:
        """What the steps did that ended before it had to wait."""
        found: Effect = "none"
        for document in self._recorded.values():
            found = strongest(found, cast("Effect", document.get("effect", "none")))
        return found

    @property
    def has_changed(self) -> bool:
        """Whether a step of this run may have changed something."""
        return any(step.result.effect != "none" for step in self._ended.values())

    @property
    def is_unused(self) -> bool:
        """Whether it goes on, and neither what a person agreed to was used, nor anything else happened."""
        resumption = None if self.step is None else self._waiting.get(self.step.place)
        return resumption is not None and not self.has_changed and not any(each.taken for each in resumption.permits)

    def restart(self) -> None:
        """Another attempt begins: what the one before did changed nothing, and its steps run again."""
        self._begun.clear()
        self._ended.clear()
        self._judged_in.clear()
        self.pauses.clear()

    def known(
        self, place: str, tool_id: str, tool: Tool[..., object] | None, toolbox: Toolbox
    ) -> ToolResult[object] | None:
        """How the step at *place* ended when it ran before, or None. Its value is read by the contract of *tool*.

        Raises:
            ArmoryError: Another tool stands there now.
            ApprovalError: The tool has changed, or *toolbox*, which is in use, has other rules: what it came to counts
                no more.
        """
        document = self._recorded.get(place)
        if document is None:
            return None
        _require_same(place, self._tools.get(place), tool_id, "when it ran")
        self.require_counting(place, tool, toolbox)
        return result_from_json(document, None if tool is None else tool.output_contract)

    def require_counting(self, place: str, tool: Tool[..., object] | None, toolbox: Toolbox) -> None:
        """Let the step at *place* answer what *tool* came to there, as long as nothing has changed since.

        Raises:
            ApprovalError: The tool has changed, or *toolbox*, which is in use, has other rules.
        """
        stale = None if self._permit is None else self._permit.outdated(toolbox)
        if stale is None and self._definitions.get(place) != _digest(tool):
            stale = ApprovalError("mismatch", f"the tool definition of the step at {place!r} changed since it ran")
        if stale is not None:
            if self._permit is not None:
                self._permit.failure = stale
            raise stale

    def resumption_at(self, place: str, tool_id: str) -> Resumption | None:
        """How the step at *place* goes on, if it is one that had to wait.

        Raises:
            ArmoryError: Another tool stands there now.
        """
        resumption = self._waiting.get(place)
        if resumption is None or resumption.tool_id is None:
            return None
        _require_same(place, resumption.tool_id, tool_id, "when it had to wait")
        return resumption

    def end(
        self,
        place: str,
        step: tuple[str, Tool[..., object] | None],
        result: ToolResult[object],
        toolbox: Toolbox | None,
    ) -> None:
        """The *step* at *place*, by its id and its tool, has ended with *result*; *toolbox* judged it, if any did."""
        tool_id, tool = step
        if (
            toolbox is not None
            and result.outcome != "action_required"
            and all(each is not toolbox for each in self._judged_in)
        ):
            self._judged_in.append(toolbox)
        self._tools[place] = tool_id
        self._definitions[place] = _digest(tool)
        self._ended[place] = _Ended(result, apart(result), tool)

    def place_of(self, result: ToolResult[object]) -> str | None:
        """Where *result* came from, or None if that had no place."""
        return next((place for place, step in self._ended.items() if step.result is result), None)

    def results(self) -> dict[str, Mapping[str, object]]:
        """What is to be kept of the steps that need nobody's action, in this run or one before, as JSON.

        Raises:
            JsonError: A value has no JSON form.
            OutputInvalid: A value is not what its tool promised.
        """
        written = {
            place: result_to_json(step.kept, None if step.tool is None else step.tool.output_contract)
            for place, step in self._ended.items()
            if step.result.outcome != "action_required"
        }
        return {**self._recorded, **written}

    def tools(self) -> dict[str, str]:
        """Which tools stood at the places, in this run or one before."""
        return dict(self._tools)

    def judged_in(self) -> tuple[Toolbox, ...]:
        """By whose rules the steps were let through that ran in this run."""
        return tuple(self._judged_in)

    def definitions(self) -> dict[str, str]:
        """The digests of the definitions of these tools, as they were then."""
        return dict(self._definitions)

    def waiting(self, but: str) -> tuple[tuple[str, tuple[ComposedStep, ...]], ...]:
        """The composed steps that wait, *but* the one at that place, and what is kept of each."""
        found = {place: resumption.within for place, resumption in self._waiting.items()}
        found.update((place, kept_of(step.result)) for place, step in self._ended.items())
        return tuple((place, within) for place, within in found.items() if within and place != but)


def kept_of(result: ToolResult[object]) -> tuple[ComposedStep, ...]:
    """What is kept of a composed tool that ended with *result* because one of its steps waits; else nothing."""
    pending = result.pending_approval
    return () if pending is None or not is_of(pending, result) else pending.within


def is_of(pending: PendingApproval, result: ToolResult[object]) -> bool:
    """Whether the call that ended with *result* goes on with *pending*, and not only one that it made."""
    return result.call_id == (pending.within[0].call_id if pending.within else pending.call_id)


def _digest(tool: Tool[..., object] | None) -> str:
    return "" if tool is None else tool.definition.digest


def _require_same(place: str, before: str | None, now: str, when: str) -> None:
    if before != now:
        raise ArmoryError(f"the step at {place!r} was {before!r} {when}, and is {now!r} now")
