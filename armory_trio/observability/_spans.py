"""One span for each execution: begun when it is admitted, current in its task, ended when its state is final."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanContext, SpanKind, Status, StatusCode, Tracer
from opentelemetry.util.types import AttributeValue

from ..definitions import ToolDefinition
from ..engine import (
    ApprovalRequested,
    ApprovalResolved,
    ExecutionAdmitted,
    ExecutionSettled,
    NameResolved,
    Observed,
    OfExecution,
    Snapshot,
)
from . import _vocabulary as words
from ._narration import NAMES, facts_of
from ._propagation import Trace, name_for_processes, trace_context_of
from ._vocabulary import Identity

_PAUSED_AT_MOST: Final = 1024
"""Questions to people whose spans are remembered, so that what is resumed can point to them."""

_PREFIX: Final = "armory.tool."

SPAN_EVENTS: Final = {
    kind: f"{_PREFIX}{name}"
    for kind, name in NAMES.items()
    if kind
    not in (ExecutionAdmitted, NameResolved, ExecutionSettled)  # the beginning, the name and the end of the span
}
"""The events that a span may have."""

_FACTS: Final = {"category": words.CATEGORY, "code": words.ERROR_TYPE}
"""Facts that are called as on the span itself; the others have the prefix before their name."""

Find = Callable[[str], ToolDefinition | None]
"""Answers what the tool of a name is."""


class Spans:
    """The spans of the executions of one supervisor.

    Args:
        tracer: Makes them.
        find: Answers which tool a call means; None for one that nobody has.
        identify: What may be told of on whose behalf calls are made.
    """

    __slots__ = ("_find", "_identify", "_open", "_paused", "_tracer")

    def __init__(self, tracer: Tracer, find: Find, identify: frozenset[Identity]) -> None:
        self._tracer = tracer
        self._find = find
        self._identify = identify
        self._open: dict[str, Span] = {}
        self._paused: OrderedDict[str, SpanContext] = OrderedDict()

    def begin(self, event: ExecutionAdmitted, execution: Observed) -> None:
        """Begin the span of *execution*. Called where the call is made, whose current span is its parent."""
        parent, links = self._parent_of(event, execution)
        tool = execution.definition or self._find(execution.name)
        attributes: dict[str, AttributeValue] = {
            words.OPERATION: "execute_tool",
            words.TOOL_TYPE: "function",
            words.CALL_ID: words.clipped(execution.call_id),
            words.EXECUTION_ID: execution.id,
            **_tool_attributes(tool),
        }
        if execution.batch_id is not None:
            attributes[words.BATCH] = words.clipped(execution.batch_id)
        said = words.identity_of(self._identify, execution.owner, execution.request_context)
        attributes |= {_IDENTITY_ATTRIBUTES[name]: value for name, value in said.items()}
        self._open[execution.id] = self._tracer.start_span(
            _name_of(tool), context=parent, kind=SpanKind.INTERNAL, attributes=attributes, links=links
        )

    def _parent_of(self, event: ExecutionAdmitted, execution: Observed) -> tuple[Context, list[Link]]:
        told = execution.trace
        if not isinstance(told, Trace):
            return self._found_parent_of(event, execution)
        parent, links = self._found_parent_of(event, execution) if told.parent is None else (told.parent, [])
        return parent, [*links, *told.links]

    def _found_parent_of(self, event: ExecutionAdmitted, execution: Observed) -> tuple[Context, list[Link]]:
        here = contexts.get_current()
        ambient = trace.get_current_span(here).get_span_context()
        tool = self._open.get(event.parent_id or execution.started_by or "")
        if not ambient.is_valid and tool is not None:  # the tool calls without the context that it was given
            ambient = tool.get_span_context()
            here = trace.set_span_in_context(tool, here)
        if event.parent_id is not None:
            return here, []
        links = [Link(ambient)] if ambient.is_valid else []
        remote = trace_context_of(execution.metadata)
        if remote is not None:
            return remote, links
        if execution.started_by is not None:  # it is no part of what started it, and may go on for longer
            return trace.set_span_in_context(trace.INVALID_SPAN, here), links
        return here, []

    def enter(self, execution: Observed) -> None:
        """Make the span current in the task of *execution*, which this is called in. It stays so until that ends."""
        span = self._open.get(execution.id)
        if span is not None:
            contexts.attach(trace.set_span_in_context(span))
            if execution.definition is None or execution.placement == "process":
                name_for_processes()

    def note(self, event: OfExecution, execution: Observed) -> None:
        """Write *event* on the span, if there is something to write."""
        span = self._open.get(execution.id)
        name = SPAN_EVENTS.get(type(event))
        if span is None or name is None:
            return
        if span.is_recording():
            span.add_event(name, {attribute_of(fact): value for fact, value in facts_of(event).items()})
        if isinstance(event, ApprovalRequested) and event.approval_id is not None:
            self._remember(event.approval_id, span.get_span_context())
        if isinstance(event, ApprovalResolved) and event.approval_id is not None:
            before = self._paused.get(event.approval_id)
            if before is not None and before.span_id != span.get_span_context().span_id:
                span.add_link(before)

    def _remember(self, question: str, where: SpanContext) -> None:
        self._paused[question] = where
        if len(self._paused) > _PAUSED_AT_MOST:
            self._paused.popitem(last=False)

    def found(self, execution: Observed, tier: str) -> None:
        """A misspelt name was understood."""
        span = self._open.get(execution.id)
        tool = self._find(execution.name)
        if span is not None and tool is not None:
            span.update_name(_name_of(tool))
            span.set_attributes({words.NAME_TIER: tier, **_tool_attributes(tool)})

    def decided(self, execution: Observed) -> None:
        """The outcome is decided, and the result is there."""
        span, result = self._open.get(execution.id), execution.result
        if span is None or result is None:
            return
        told = {
            words.LEDGER: None if result.idempotency is None else result.idempotency.outcome,
            words.INPUT_DIGEST: result.input_digest,
            words.OUTPUT_DIGEST: result.output_digest,
        }
        for name, value in told.items():
            if value is not None:
                span.set_attribute(name, value)

    def end(self, event: ExecutionSettled, execution: Observed) -> None:
        """End the span: the state of *execution* is final."""
        span = self._open.pop(execution.id, None)
        if span is None:
            return
        try:
            if span.is_recording():
                shot = execution.snapshot()
                span.set_attributes(_final_attributes(shot))
                if event.outcome == "error" and shot.error_category not in words.NO_FAILURE:
                    span.set_status(Status(StatusCode.ERROR))
        finally:
            span.end()

    def end_all(self) -> None:
        """End what is left: nobody will tell any more how it went on."""
        left = list(self._open.values())
        self._open.clear()
        with ExitStack() as ends:  # all of them, whatever one of them raises
            for span in left:
                ends.callback(_cut_off, span)


def _cut_off(span: Span) -> None:
    try:
        span.set_attribute(words.UNFINISHED, True)
    finally:
        span.end()


_IDENTITY_ATTRIBUTES: Final[dict[Identity, str]] = {
    "owner": words.OWNER,
    "agent": words.AGENT,
    "conversation": words.CONVERSATION,
}


def attribute_of(fact: str) -> str:
    """What a fact of an event is called on a span."""
    return _FACTS.get(fact, f"{_PREFIX}{fact}")


def _name_of(tool: ToolDefinition | None) -> str:
    return "execute_tool" if tool is None else f"execute_tool {tool.id.name}"


def _tool_attributes(tool: ToolDefinition | None) -> dict[str, AttributeValue]:
    if tool is None:
        return {words.TOOL_NAME: words.OTHER}
    told: dict[str, AttributeValue] = {words.TOOL_NAME: tool.id.name, words.TOOL_ID: tool.id.text}
    if tool.description:
        told[words.TOOL_DESCRIPTION] = tool.description
    return told


def _final_attributes(shot: Snapshot) -> dict[str, AttributeValue]:
    told: dict[str, AttributeValue] = {
        words.STATE: shot.state,
        words.EFFECT: shot.effect,
        words.ATTEMPTS: shot.attempts,
        words.PLACEMENT: shot.placement,
    }
    if shot.outcome is not None:
        told[words.OUTCOME] = shot.outcome
    if shot.error_category is not None:
        told[words.CATEGORY] = shot.error_category
    if shot.error_code is not None:
        told[words.ERROR_TYPE] = words.code_of(shot.error_code)
    if shot.started_at is not None:
        told[words.QUEUED] = shot.started_at - shot.admitted_at
    if shot.chunks:
        told[words.CHUNKS] = shot.chunks
    if shot.abort is not None:
        told[words.ABORTED_BY] = shot.abort.source
        if shot.abort.honoured is not None:
            told[words.HONOURED] = shot.abort.honoured
        told[words.CLEANUP] = shot.cleanup
    return told
