"""The trace that a call belongs to, across processes: in what comes with the call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, cast

import pytest
from opentelemetry import trace

from armory_trio import Process, Toolbox, ToolCall, ToolContext, open_supervisor, tool
from armory_trio.observability.otel import PROCESS_CONTEXT, instrument, trace_context_of, with_trace_context
from tests.requirements import requirement

from .exporting import Exported, context_of

TRACE: Final = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN: Final = "00f067aa0ba902b7"
PARENT: Final = f"00-{TRACE}-{SPAN}-01"


class _Hostile(Mapping[str, object]):
    """A mapping that raises."""

    def __getitem__(self, key: str) -> object:
        raise RuntimeError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(("traceparent",))

    def __len__(self) -> int:
        return 1


RUBBISH: Final[Mapping[str, object]] = {
    "nothing": None,
    "text": PARENT,
    "empty": {},
    "number": {"traceparent": 7},
    "bytes": {"traceparent": PARENT.encode()},
    "words": {"traceparent": "the usual one"},
    "zeros": {"traceparent": f"00-{'0' * 32}-{SPAN}-01"},
    "zero span": {"traceparent": f"00-{TRACE}-{'0' * 16}-01"},
    "short": {"traceparent": PARENT[:-3]},
    "long": {"traceparent": PARENT + "-more"},
    "version ff": {"traceparent": "ff" + PARENT[2:]},
    "huge": {"traceparent": "0" * 100_000},
    "list": [("traceparent", PARENT)],
    "hostile": _Hostile(),
}


@tool(effect="read-only")
async def what_came(ctx: ToolContext) -> object:
    """Answer what came with the call."""
    came: object = ctx.metadata
    return [str(key) for key in cast("Mapping[str, object]", came)] if type(came) is dict else None


@requirement("telemetry.remote")
async def test_the_parent_that_comes_with_a_call_is_the_parent_of_its_span() -> None:
    exported = Exported()
    metadata = {"traceparent": PARENT, "tracestate": "rojo=1,congo=2", "other": 1}
    async with exported.supervisor(Toolbox([what_came])) as supervisor:
        with exported.tracer.start_as_current_span("request"):
            result = await supervisor.execute(ToolCall("what_came"), metadata=metadata)

    span = exported.of_tool("what_came")
    assert span.parent is not None
    assert span.parent.is_remote
    assert f"{context_of(span).trace_id:032x}" == TRACE
    assert f"{span.parent.span_id:016x}" == SPAN
    assert dict(context_of(span).trace_state) == {"rojo": "1", "congo": "2"}
    assert [link.context.span_id for link in span.links] == [context_of(exported.called("request")).span_id]
    assert result.value == ["traceparent", "tracestate", "other"]


@requirement("telemetry.remote")
@pytest.mark.parametrize("metadata", RUBBISH.values(), ids=RUBBISH.keys())
async def test_rubbish_is_no_parent_and_no_error(metadata: object) -> None:
    assert trace_context_of(metadata) is None
    exported = Exported()
    async with exported.supervisor(Toolbox([what_came])) as supervisor:
        with exported.tracer.start_as_current_span("request"):
            result = await supervisor.execute(ToolCall("what_came"), metadata=metadata)

    assert result.outcome == "success"
    assert exported.parent_of("execute_tool what_came") == "request"


@requirement("telemetry.remote")
async def test_a_state_that_is_too_long_is_left_out_and_the_parent_stays() -> None:
    found = trace_context_of({"traceparent": PARENT, "tracestate": "a=" + "b" * 600})

    assert found is not None
    context = trace.get_current_span(found).get_span_context()
    assert (f"{context.trace_id:032x}", dict(context.trace_state)) == (TRACE, {})


@requirement("telemetry.remote")
async def test_nested_calls_hang_below_their_caller_and_not_below_what_came_with_it() -> None:
    exported = Exported()

    @tool(effect="read-only")
    async def outer(ctx: ToolContext) -> object:
        """Call another tool, which is given the same metadata."""
        return (await ctx.call("what_came", {})).unwrap()

    async with exported.supervisor(Toolbox([outer, what_came])) as supervisor:
        await supervisor.execute(ToolCall("outer"), metadata={"traceparent": PARENT})

    assert exported.parent_of("execute_tool what_came") == "execute_tool outer"


@requirement("telemetry.remote")
async def test_a_tool_names_its_own_span_as_the_parent_of_what_is_done_for_it_elsewhere() -> None:
    exported = Exported()

    @tool(effect="read-only")
    async def asks_a_server() -> dict[str, object]:
        """What would go along with a request to a server."""
        return with_trace_context({"progressToken": 7, "traceparent": "of somebody else"})

    async with exported.supervisor(Toolbox([asks_a_server])) as supervisor:
        result = await supervisor.execute(ToolCall("asks_a_server"))

    own = context_of(exported.of_tool("asks_a_server"))
    assert result.value == {
        "progressToken": 7,
        "traceparent": f"00-{own.trace_id:032x}-{own.span_id:016x}-{own.trace_flags:02x}",
    }
    found = trace_context_of(result.value)
    assert found is not None
    assert trace.get_current_span(found).get_span_context().span_id == own.span_id


@tool(effect="read-only", placement=Process(context={**PROCESS_CONTEXT, "region": "north"}))
def in_a_worker(ctx: ToolContext) -> dict[str, object]:
    """What came along, and what it means."""
    found = trace_context_of(ctx.context)
    return {**ctx.context, "found": found is not None and trace.get_current_span(found).get_span_context().span_id}


@requirement("telemetry.remote")
async def test_a_tool_in_a_process_finds_its_span_among_its_named_values() -> None:
    exported = Exported()
    async with open_supervisor(Toolbox([in_a_worker])) as supervisor:
        without = await supervisor.execute(ToolCall("in_a_worker"))
        instrument(supervisor, tracer_provider=exported.tracers, meter_provider=exported.meters)
        result = await supervisor.execute(ToolCall("in_a_worker"))

    own = context_of(exported.of_tool("in_a_worker"))
    named = f"00-{own.trace_id:032x}-{own.span_id:016x}-{own.trace_flags:02x}"
    assert without.value == {"region": "north", "found": False}
    assert result.value == {"region": "north", "traceparent": named, "found": own.span_id}


@requirement("telemetry.remote")
def test_without_a_span_nothing_is_named() -> None:
    assert with_trace_context() == {}
    assert with_trace_context({"traceparent": PARENT, "a": 1}) == {"a": 1}
