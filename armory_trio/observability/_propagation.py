"""The trace that a call belongs to, in what comes with the call: W3C trace context under its own two keys."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar
from typing import Final, cast

import msgspec
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator


class Trace(msgspec.Struct, frozen=True):
    """Where the span of a call belongs, said with the call: its option ``trace``.

    Args:
        parent: The context that its span begins in; None for the current one.
        links: Spans that it points to.

    Raises:
        TypeError: They are something else.
    """

    parent: Context | None = None
    links: tuple[Link, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.parent, Context | None):  # pyright: ignore[reportUnnecessaryIsInstance]  # a host need not be typed
            raise TypeError(f"Trace(parent={self.parent!r}): give an OpenTelemetry Context, or None")
        if not all(isinstance(link, Link) for link in self.links):  # pyright: ignore[reportUnnecessaryIsInstance]  # likewise
            raise TypeError(f"Trace(links={self.links!r}): give OpenTelemetry Links")


TRACEPARENT: Final = "traceparent"
TRACESTATE: Final = "tracestate"

PROCESS_CONTEXT: Final[Mapping[str, ContextVar[str]]] = {
    name: ContextVar(f"armory_trio.{name}") for name in (TRACEPARENT, TRACESTATE)
}
"""For ``Process(context=PROCESS_CONTEXT)``: the span of the call, which the tool finds in its worker by
``trace_context_of(ctx.context)``."""

_MOST: Final = 512
"""Characters of a ``tracestate`` that others have to pass on; a longer one is left out."""

_propagator: Final = TraceContextTextMapPropagator()


def trace_context_of(metadata: object) -> Context | None:
    """The remote parent that *metadata* names, as a context to start spans in.

    Args:
        metadata: What came with a call, such as ``_meta`` of an MCP request: a mapping with the text ``traceparent``
            and perhaps ``tracestate``, as W3C Trace Context writes them.

    Returns:
        The current context with that parent; None when there is none, or it makes no sense: rubbish from outside is no
        error.
    """
    carrier = _carrier_of(metadata)
    if TRACEPARENT not in carrier:
        return None
    found = _propagator.extract(carrier, Context())
    span = trace.get_current_span(found)
    return trace.set_span_in_context(span) if span.get_span_context().is_valid else None


def _carrier_of(metadata: object) -> dict[str, str]:
    if not isinstance(metadata, Mapping):
        return {}
    given = cast("Mapping[object, object]", metadata)
    parent: object = None
    state: object = None
    with suppress(Exception):  # a mapping of the host's own, which may do anything
        parent, state = given.get(TRACEPARENT), given.get(TRACESTATE)
    carrier: dict[str, str] = {}
    if isinstance(parent, str):
        carrier[TRACEPARENT] = parent
    if isinstance(state, str) and len(state) <= _MOST:
        carrier[TRACESTATE] = state
    return carrier


def with_trace_context(metadata: Mapping[str, object] | None = None) -> dict[str, object]:
    """A copy of *metadata* that names the current span as the parent of what will be done for it elsewhere.

    What *metadata* said of that before is replaced. Without a current span it is left out: a parent that is not ours to
    name is not passed on.
    """
    found = {key: value for key, value in (metadata or {}).items() if key not in (TRACEPARENT, TRACESTATE)}
    carrier: dict[str, str] = {}
    _propagator.inject(carrier)
    return {**found, **carrier}


def name_for_processes() -> None:
    """Name the current span in `PROCESS_CONTEXT`, for this task."""
    carrier: dict[str, str] = {}
    _propagator.inject(carrier)
    for name, value in carrier.items():
        PROCESS_CONTEXT[name].set(value)
