"""One span for each execution, in its place in the trace, ended exactly once however the execution ends."""

from __future__ import annotations

import asyncio
import contextvars
import importlib
import logging
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextvars import ContextVar
from typing import Final, NoReturn

import pytest
import trio
import trio.testing
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.metrics import NoOpMeterProvider
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from armory_trio import (
    DefinitionError,
    InternalError,
    Limits,
    LoopDetection,
    RequestContext,
    Resolution,
    Supervisor,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolFailure,
    current_supervisor,
    open_supervisor,
    tool,
)
from armory_trio.authority.signing import Keyring, SigningKey
from armory_trio.definitions import EffectMapping
from armory_trio.integrations.asyncio_host import open_asyncio_host
from armory_trio.integrations.portal import open_blocking_host
from armory_trio.middleware import Retry, RetryPolicy
from armory_trio.observability import _vocabulary as words
from armory_trio.observability._vocabulary import IDENTITIES
from armory_trio.observability.otel import Trace, instrument
from tests.engine.tools import add, count, relay, sleep, stubborn, watch
from tests.requirements import requirement

from .exporting import Exported, context_of, event_names, is_error, said

ADD: Final = ToolCall("add", {"a": 1, "b": 2}, id="call-1")
BANK: Final[EffectMapping] = {"class": "external-write", "targets": [{"kind": "service", "id": "bank"}]}
ANN: Final = RequestContext(principal="ann", tenant="acme", owner="run-7", agent="scout", session="talk-1")


# -- what a span says


@requirement("telemetry.conventions")
async def test_a_span_is_called_and_described_as_the_conventions_say() -> None:
    exported = Exported()
    async with exported.supervisor(Toolbox([add])) as supervisor:
        result = await supervisor.execute(ADD)

    [span] = exported.spans
    assert (span.name, span.kind, is_error(span)) == ("execute_tool add", trace.SpanKind.INTERNAL, False)
    assert (
        said(span).items()
        >= {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "add",
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": "call-1",
            "gen_ai.tool.description": "Add two numbers.",
            "armory.tool.execution.id": result.execution_id,
            "armory.tool.id": "default:add",
            "armory.tool.outcome": "success",
            "armory.tool.effect": "none",
            "armory.tool.attempts": 1,
            "armory.tool.placement": "task",
            "armory.tool.state": "terminal",
        }.items()
    )


@requirement("telemetry.conventions")
async def test_digests_and_chunks_stand_on_the_span_of_a_tool_that_has_them() -> None:
    exported = Exported()

    @tool(effect="read-only", digests=True)
    async def numbers(upto: int) -> AsyncIterator[int]:
        """Count."""
        for number in range(upto):
            yield number

    async with exported.supervisor(Toolbox([numbers])) as supervisor:
        result = await supervisor.execute(ToolCall("numbers", {"upto": 3}))

    [span] = exported.spans
    assert result.input_digest is not None
    assert result.output_digest is not None
    assert (
        said(span).items()
        >= {
            words.INPUT_DIGEST: result.input_digest,
            words.OUTPUT_DIGEST: result.output_digest,
            words.CHUNKS: 3,
        }.items()
    )


@requirement("telemetry.conventions")
def test_every_attribute_is_a_published_one_or_has_our_prefix() -> None:
    published: set[object] = set()
    for module in ("_incubating.attributes.gen_ai_attributes", "attributes.error_attributes"):
        published |= {
            each
            for each in vars(importlib.import_module(f"opentelemetry.semconv.{module}")).values()
            if isinstance(each, str)
        }

    assert [name for name in words.ATTRIBUTES if name not in published and not name.startswith("armory.tool.")] == []
    assert {"gen_ai.tool.call.arguments", "gen_ai.tool.call.result"} <= published - words.ATTRIBUTES.keys()


@requirement("telemetry.identity")
async def test_on_whose_behalf_a_call_is_made_is_told_only_when_asked_for() -> None:
    told: list[dict[str, object]] = []
    for identify in ((), IDENTITIES):
        exported = Exported()
        async with exported.supervisor(Toolbox([add]), identify=identify) as supervisor:
            await supervisor.execute(ADD, request_context=ANN)
        told.append(
            {name: said(exported.of_tool("add")).get(name) for name in (words.OWNER, words.AGENT, words.CONVERSATION)}
        )

    assert told[0] == dict.fromkeys((words.OWNER, words.AGENT, words.CONVERSATION))
    assert told[1] == {words.OWNER: "run-7", words.AGENT: "scout", words.CONVERSATION: "talk-1"}


@requirement("telemetry.identity")
@pytest.mark.parametrize("wrong", ["owner", ["tenant"], None], ids=["a word", "unknown", "None"])
async def test_who_asks_for_another_identity_is_told_which_there_are(wrong: object) -> None:
    async with open_supervisor(Toolbox([add])) as supervisor:
        with pytest.raises(DefinitionError, match="owner, agent, conversation"):
            instrument(supervisor, identify=wrong)  # type: ignore[arg-type]


@requirement("telemetry.names")
async def test_what_a_model_made_up_is_no_name_of_a_span() -> None:
    exported = Exported()
    async with exported.supervisor(Toolbox([add])) as supervisor:
        await supervisor.execute(ToolCall("wipe the disk of 10.1.2.3"))

    [span] = exported.spans
    assert (span.name, said(span)[words.TOOL_NAME], said(span)[words.ERROR_TYPE]) == (
        "execute_tool",
        "_OTHER",
        "NOT_FOUND",
    )
    assert "10.1.2.3" not in span.to_json()
    assert is_error(span)


@requirement("telemetry.names")
async def test_a_misspelt_name_becomes_that_of_the_tool_that_was_meant() -> None:
    exported = Exported()
    async with open_supervisor(Toolbox([relay, watch]), resolution=Resolution()) as supervisor:
        instrument(supervisor, tracer_provider=exported.tracers, meter_provider=exported.meters)
        await supervisor.execute(ToolCall("Watch", {"seconds": 0}))

    [span] = exported.spans
    assert (span.name, said(span)[words.TOOL_NAME]) == ("execute_tool watch", "watch")
    assert said(span)[words.NAME_TIER] != "exact"
    assert "Watch" not in span.to_json()


@tool
async def fail(category: str, code: str = "") -> None:
    """Fail in a way that is asked for."""
    raise ToolFailure("it failed", category=category, code=code or None)  # type: ignore[arg-type]


@requirement("telemetry.names")
@pytest.mark.parametrize(
    ("code", "told"), [("NO_FUNDS", "NO_FUNDS"), ("card 4111 was refused", "_OTHER")], ids=["a code", "words"]
)
async def test_a_code_that_is_none_is_not_told(code: str, told: str) -> None:
    exported = Exported()
    async with exported.supervisor(Toolbox([fail])) as supervisor:
        await supervisor.execute(ToolCall("fail", {"category": "conflict", "code": code}))

    [span] = exported.spans
    assert said(span)[words.ERROR_TYPE] == told


# -- where it hangs


@requirement("telemetry.parents")
async def test_the_parent_is_the_span_that_is_current_where_the_call_is_made() -> None:
    exported = Exported()
    async with exported.supervisor(Toolbox([add])) as supervisor:
        with exported.tracer.start_as_current_span("host"):
            await supervisor.execute(ADD)
            await supervisor.execute_batch([ToolCall("add", {"a": n, "b": n}) for n in range(2)])

    host = context_of(exported.called("host"))
    calls = [span for span in exported.spans if span.name == "execute_tool add"]
    assert [span.parent is not None and span.parent.span_id for span in calls] == [host.span_id] * 3
    assert [words.BATCH in said(span) for span in calls] == [False, True, True]


@requirement("telemetry.parents")
async def test_what_a_tool_opens_and_calls_is_below_it() -> None:
    exported = Exported()

    @tool(effect="read-only")
    async def outer(ctx: ToolContext) -> object:
        """Call another tool in a span of its own."""
        with exported.tracer.start_as_current_span("step"):
            return (await ctx.call("inner", {})).unwrap()

    @tool(effect="read-only")
    async def inner() -> bool:
        """Open a span."""
        with exported.tracer.start_as_current_span("deep"):
            return trace.get_current_span().is_recording()

    async with exported.supervisor(Toolbox([outer, inner])) as supervisor:
        result = await supervisor.execute(ToolCall("outer"))

    assert result.value is True
    assert exported.parent_of("deep") == "execute_tool inner"
    assert exported.parent_of("execute_tool inner") == "step"
    assert exported.parent_of("step") == "execute_tool outer"
    assert exported.parent_of("execute_tool outer") is None


@requirement("telemetry.parents")
async def test_a_nested_call_from_a_lost_context_still_hangs_below_its_caller() -> None:
    exported = Exported()

    @tool(effect="read-only")
    async def outer(ctx: ToolContext) -> object:
        """Call from a task that was started without any context."""
        answers: list[object] = []

        async def call() -> None:
            answers.append((await ctx.call("add", {"a": 1, "b": 1})).unwrap())

        async with trio.open_nursery() as nursery:
            contextvars.Context().run(nursery.start_soon, call)
        return answers

    async with exported.supervisor(Toolbox([outer, add])) as supervisor:
        await supervisor.execute(ToolCall("outer"))

    assert exported.parent_of("execute_tool add") == "execute_tool outer"


@requirement("telemetry.threads")
async def test_threads_see_the_span_and_keep_what_they_change_to_themselves() -> None:
    exported = Exported()
    tenant: ContextVar[str] = ContextVar("tenant", default="nobody")
    seen: list[str] = []

    @tool(effect="read-only")
    def blocking() -> None:
        """Open a span in a thread, and change a context variable there."""
        seen.append(tenant.get())
        with exported.tracer.start_as_current_span("in a thread"):
            tenant.set("another")

    @tool(effect="read-only")
    def counting() -> Iterator[int]:
        """Open a span in a thread between two chunks."""
        yield 1
        with exported.tracer.start_as_current_span("between chunks"):
            yield 2

    tenant.set("acme")
    async with exported.supervisor(Toolbox([blocking, counting])) as supervisor:
        await supervisor.execute(ToolCall("blocking"))
        assert seen == ["acme"]
        await supervisor.execute(ToolCall("blocking"))
        await supervisor.execute(ToolCall("counting"))

    assert seen == ["acme", "acme"]
    names = {context_of(span).span_id: span.name for span in exported.spans}
    above = [names[span.parent.span_id] for span in exported.spans if span.parent is not None]
    assert above == ["execute_tool blocking", "execute_tool blocking", "execute_tool counting"]


@requirement("telemetry.parents")
async def test_middleware_and_hooks_run_in_the_span() -> None:
    exported = Exported()

    async def around(call: object, context: object, call_next: Callable[[], Awaitable[object]]) -> object:
        with exported.tracer.start_as_current_span("around"):
            return await call_next()

    async def available(context: object) -> bool:
        with exported.tracer.start_as_current_span("available"):
            await trio.lowlevel.checkpoint()
        return True

    @tool(effect="read-only", availability=available)
    async def look() -> None:
        """Open a span."""
        with exported.tracer.start_as_current_span("body"):
            pass

    async with exported.supervisor(Toolbox([look], middleware=[around])) as supervisor:
        await supervisor.execute(ToolCall("look"))

    assert exported.parent_of("available") == "execute_tool look"
    assert exported.parent_of("around") == "execute_tool look"
    assert exported.parent_of("body") == "around"


@requirement("telemetry.links")
async def test_what_a_tool_starts_has_a_trace_of_its_own_that_points_back() -> None:
    exported = Exported()

    @tool(effect="read-only")
    async def starter() -> None:
        """Start another call, and do not wait for it."""
        current_supervisor().start(ADD)

    async with exported.supervisor(Toolbox([starter, add])) as supervisor:
        with exported.tracer.start_as_current_span("host"):
            await supervisor.execute(ToolCall("starter"))
            supervisor.start(ToolCall("add", {"a": 2, "b": 2}))
            await supervisor.wait_idle()

    host = context_of(exported.called("host"))
    first, second = (span for span in exported.spans if span.name == "execute_tool add")
    assert first.parent is None
    assert [link.context.span_id for link in first.links] == [context_of(exported.of_tool("starter")).span_id]
    assert context_of(first).trace_id != host.trace_id
    assert second.parent is not None
    assert second.parent.span_id == host.span_id


@requirement("telemetry.links")
async def test_a_call_that_goes_on_after_a_person_agreed_points_to_where_it_waited() -> None:
    exported = Exported()

    @tool(effect=BANK, requires_approval=True)
    async def pay(cents: int) -> str:
        """Pay somebody."""
        return f"paid {cents}"

    keys = Keyring({"default": [SigningKey("k", b"s" * 32)]})
    who = RequestContext(principal="ann", tenant="acme", audience="tenant", agent="scout", run="run-7")
    async with exported.supervisor(Toolbox([pay]), keys=keys) as supervisor:
        waits = await supervisor.execute(ToolCall("pay", {"cents": 5}), request_context=who)
        assert waits.pending_approval is not None
        await supervisor.resume_approval(waits.pending_approval, request_context=who)

    paused, resumed = exported.spans
    assert (said(paused)[words.OUTCOME], is_error(paused), words.ERROR_TYPE in said(paused)) == (
        "action_required",
        False,
        False,
    )
    assert "approval_requested" in event_names(paused)
    assert "approval_resolved" in event_names(resumed)
    assert [link.context.span_id for link in resumed.links] == [context_of(paused).span_id]


@requirement("telemetry.links")
async def test_only_so_many_waiting_calls_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("armory_trio.observability._spans._PAUSED_AT_MOST", 1)
    exported = Exported()
    keys = Keyring({"default": [SigningKey("k", b"s" * 32)]})
    who = RequestContext(principal="ann", tenant="acme", audience="tenant", agent="scout", run="run-7")
    async with exported.supervisor(Toolbox([pay]), keys=keys) as supervisor:
        waits = [await supervisor.execute(ToolCall("pay"), request_context=who) for _ in range(2)]
        for each in waits:
            assert each.pending_approval is not None
            await supervisor.resume_approval(each.pending_approval, request_context=who)

    assert [len(span.links) for span in exported.spans[2:]] == [0, 1]


@requirement("telemetry.parents", "telemetry.events")
async def test_a_person_who_is_asked_in_place_is_asked_in_the_span(autojump_clock: trio.testing.MockClock) -> None:
    exported = Exported()

    @tool(effect=BANK, requires_approval=True)
    async def pay(cents: int) -> str:
        """Pay somebody."""
        return f"paid {cents}"

    async def ask(request: object) -> bool:
        with exported.tracer.start_as_current_span("a person"):
            await trio.sleep(30)
        return True

    async with exported.supervisor(Toolbox([pay]), approval_handler=ask) as supervisor:
        result = await supervisor.execute(ToolCall("pay", {"cents": 5}), request_context=ANN)

    span = exported.of_tool("pay")
    assert result.value == "paid 5"
    assert exported.parent_of("a person") == "execute_tool pay"
    assert event_names(span) == [
        *("wait_began", "approval_requested", "wait_ended", "approval_resolved"),
        *("started", "outcome_decided"),
    ]
    assert said(span)[words.QUEUED] == 30


@requirement("telemetry.parents")
def test_a_call_from_asyncio_hangs_below_its_task() -> None:
    exported = Exported()

    async def main() -> None:
        async with open_asyncio_host(Toolbox([add])) as host:
            instrument(host.supervisor, tracer_provider=exported.tracers, meter_provider=exported.meters)
            with exported.tracer.start_as_current_span("a task of asyncio"):
                await host.execute(ADD)

    asyncio.run(main())

    assert exported.parent_of("execute_tool add") == "a task of asyncio"


@requirement("telemetry.threads")
def test_a_call_from_a_plain_thread_hangs_below_what_is_current_there() -> None:
    exported = Exported()

    async def begin(supervisor: Supervisor) -> None:
        instrument(supervisor, tracer_provider=exported.tracers, meter_provider=exported.meters)

    with open_blocking_host(Toolbox([add])) as host:
        host.run(begin)
        with exported.tracer.start_as_current_span("a plain thread"):
            host.execute(ADD)

    assert exported.parent_of("execute_tool add") == "a plain thread"


@requirement("telemetry.parents")
async def test_the_span_of_the_caller_stays_current_whatever_is_streamed(caplog: pytest.LogCaptureFixture) -> None:
    exported = Exported()
    async with exported.supervisor(Toolbox([count])) as supervisor:
        with exported.tracer.start_as_current_span("host") as host, caplog.at_level(logging.DEBUG):
            async with supervisor.stream(ToolCall("count", {"upto": 100})) as stream:
                async for _ in stream:
                    assert trace.get_current_span() is host
                    break
            assert trace.get_current_span() is host
        await supervisor.wait_idle()

    assert [record.getMessage() for record in caplog.records] == []
    [span] = [span for span in exported.spans if span.name == "execute_tool count"]
    assert (said(span)[words.CATEGORY], said(span)[words.ABORTED_BY], is_error(span)) == ("cancelled", "caller", False)
    assert exported.parent_of("execute_tool count") == "host"


@requirement("telemetry.parents", "telemetry.links")
async def test_a_call_says_itself_where_its_span_belongs() -> None:
    exported = Exported()
    with exported.tracer.start_as_current_span("workflow") as workflow:
        below = trace.set_span_in_context(workflow)
    link = trace.Link(workflow.get_span_context(), {"why": "the same order"})
    async with exported.supervisor(Toolbox([relay, watch])) as supervisor:
        call = ToolCall("relay", {"name": "watch", "seconds": 0})
        with exported.tracer.start_as_current_span("host"):
            await supervisor.execute(call, trace=Trace(below))
            await supervisor.execute(call, trace=Trace(links=(link,)))
            await supervisor.execute(call, trace="rubbish")

    relays = [span for span in exported.spans if span.name == "execute_tool relay"]
    watches = [span for span in exported.spans if span.name == "execute_tool watch"]
    host = context_of(exported.called("host"))
    assert [span.parent for span in relays] == [workflow.get_span_context(), host, host]
    assert [list(span.links) for span in relays] == [[], [link], []]
    assert [span.parent for span in watches] == [context_of(span) for span in relays]
    assert [list(span.links) for span in watches] == [[], [], []]


@requirement("telemetry.links")
@pytest.mark.parametrize("wrong", [{"parent": "00-1-2-01"}, {"links": ("no link",)}], ids=["parent", "links"])
def test_what_is_no_place_in_a_trace_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(TypeError, match=r"give .*OpenTelemetry"):
        Trace(**wrong)  # type: ignore[arg-type]


# -- what counts as an error


@tool(effect=BANK, requires_approval=True)
async def pay() -> str:
    """Pay somebody."""
    return "paid"


@tool(effect="read-only")
async def crash() -> None:
    """Raise."""
    raise ValueError("no")


@requirement("telemetry.status")
@pytest.mark.parametrize(
    ("name", "told", "wrong"),
    [
        ("crash", "INTERNAL_ERROR", True),
        ("add", "INVALID_ARGUMENTS", True),
        ("pay", "APPROVAL_UNAVAILABLE", False),
        ("nobody", "NOT_FOUND", True),
    ],
    ids=["raised", "arguments", "denied", "unknown"],
)
async def test_only_what_went_wrong_shows_as_an_error(name: str, told: str, wrong: bool) -> None:
    exported = Exported()
    async with exported.supervisor(Toolbox([crash, add, pay])) as supervisor:
        await supervisor.execute(ToolCall(name))

    [span] = exported.spans
    assert (said(span)[words.ERROR_TYPE], is_error(span)) == (told, wrong)
    assert span.status.description is None
    assert [event for event in event_names(span) if "exception" in event] == []


@requirement("telemetry.status")
async def test_a_timeout_is_an_error_and_an_abort_is_none(autojump_clock: trio.testing.MockClock) -> None:
    exported = Exported()
    async with exported.supervisor(Toolbox([sleep])) as supervisor:
        await supervisor.execute(ToolCall("sleep", {"seconds": 9}), timeout=1)
        execution = supervisor.start(ToolCall("sleep", {"seconds": 9}))
        await trio.sleep(1)
        execution.abort("my password is hunter2")
        await execution.settled()

    late, stopped = exported.spans
    assert (said(late)[words.ERROR_TYPE], said(late)[words.ABORTED_BY], is_error(late)) == ("TIMEOUT", "deadline", True)
    assert (said(stopped)[words.ERROR_TYPE], said(stopped)[words.ABORTED_BY], is_error(stopped)) == (
        "CANCELLED",
        "caller",
        False,
    )
    assert (said(stopped)[words.HONOURED], said(stopped)[words.CLEANUP]) == (True, "completed")
    assert "hunter2" not in stopped.to_json()


# -- every way to end


@requirement("telemetry.once")
async def test_a_call_that_never_ran_has_ended_its_span(autojump_clock: trio.testing.MockClock) -> None:
    exported = Exported()
    async with exported.supervisor(Toolbox([sleep]), limits=Limits(concurrent=1)) as supervisor:
        supervisor.start(ToolCall("sleep", {"seconds": 5}))
        queued = supervisor.start(ToolCall("sleep", {"seconds": 5}, id="second"))
        await trio.testing.wait_all_tasks_blocked()
        queued.abort("not needed")

        [span] = exported.spans
        assert (
            said(span).items() >= {words.CALL_ID: "second", words.ERROR_TYPE: "NOT_STARTED", words.ATTEMPTS: 0}.items()
        )
        assert words.QUEUED not in said(span)
    assert len(exported.spans) == 2


@requirement("telemetry.once")
async def test_a_span_lasts_until_the_state_is_final(autojump_clock: trio.testing.MockClock) -> None:
    exported = Exported()
    async with exported.supervisor(Toolbox([stubborn])) as supervisor:
        result = await supervisor.execute(ToolCall("stubborn", {"seconds": 20}), timeout=1)

        assert result.error is not None
        assert result.error.code == "TIMEOUT"
        assert exported.spans == []
        await supervisor.wait_idle()

    [span] = exported.spans
    assert event_names(span) == ["started", "abort_requested", "outcome_decided", "cleanup_pending"]
    assert (said(span)[words.HONOURED], said(span)[words.EFFECT]) == (False, "completed")


@requirement("telemetry.once")
async def test_a_thread_that_was_left_behind_has_ended_its_span() -> None:
    exported = Exported()
    release = threading.Event()

    @tool
    def hang() -> None:
        """Wait where nothing reaches it."""
        release.wait(30)

    try:
        async with open_supervisor(Toolbox([hang]), cleanup_timeout=0.01, drain_for=0.01) as supervisor:
            instrument(supervisor, tracer_provider=exported.tracers, meter_provider=exported.meters)
            supervisor.start(ToolCall("hang"))
            await trio.testing.wait_all_tasks_blocked()
    finally:
        release.set()

    [span] = exported.spans
    assert (
        said(span).items()
        >= {
            words.STATE: "unknown-effect",
            words.EFFECT: "unknown",
            words.CLEANUP: "unresolved",
            words.PLACEMENT: "thread",
            words.ABORTED_BY: "shutdown",
        }.items()
    )


class _Boom(Exception):
    pass


@requirement("telemetry.once")
@pytest.mark.parametrize("way", ["abort", "raised", "cancelled"])
async def test_a_supervisor_that_is_left_in_any_way_leaves_no_span_open(
    way: str, autojump_clock: trio.testing.MockClock
) -> None:
    exported = Exported()
    with pytest.RaisesGroup(_Boom, allow_unwrapped=True) if way == "raised" else trio.CancelScope() as scope:
        async with exported.supervisor(Toolbox([sleep, relay])) as supervisor:
            supervisor.start(ToolCall("relay", {"name": "sleep", "seconds": 5}))
            await trio.testing.wait_all_tasks_blocked()
            if way == "abort":
                await supervisor.shutdown("abort")
            elif way == "raised":
                raise _Boom
            else:
                assert isinstance(scope, trio.CancelScope)
                scope.cancel()
                await trio.sleep_forever()

    assert sorted(span.name for span in exported.spans) == ["execute_tool relay", "execute_tool sleep"]
    assert {said(span)[words.CATEGORY] for span in exported.spans} == {"cancelled"}
    assert exported.parent_of("execute_tool sleep") == "execute_tool relay"


@requirement("telemetry.once")
async def test_a_supervisor_whose_own_task_fails_leaves_no_span_open(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    exported = Exported()

    async def fail(_: object) -> None:
        await trio.sleep(1)
        raise RuntimeError("a bug")

    monkeypatch.setattr("armory_trio.engine._timers.Timers.run", fail)

    async def fall() -> None:
        async with exported.supervisor(Toolbox([sleep])) as supervisor:
            supervisor.start(ToolCall("sleep", {"seconds": 5}))
            await trio.sleep_forever()

    with pytest.raises(InternalError):
        await fall()

    [span] = exported.spans
    assert (said(span)[words.CATEGORY], said(span)[words.ABORTED_BY]) == ("cancelled", "supervisor")


@requirement("telemetry.once")
async def test_a_bug_of_the_engine_ends_the_span_of_the_call_that_it_hit(monkeypatch: pytest.MonkeyPatch) -> None:
    exported = Exported()

    def fail(*_: object) -> NoReturn:
        raise RuntimeError("a bug")

    async with exported.supervisor(Toolbox([add])) as supervisor:
        monkeypatch.setattr("armory_trio.engine._actor._start", fail)
        await supervisor.execute(ADD)

    [span] = exported.spans
    assert (said(span)[words.ERROR_TYPE], is_error(span)) == ("ENGINE_ERROR", True)


@requirement("telemetry.once")
async def test_an_interrupted_program_leaves_no_span_open() -> None:
    exported = Exported()

    @tool
    async def interrupted() -> None:
        """As if somebody pressed Ctrl-C."""
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        async with exported.supervisor(Toolbox([interrupted])) as supervisor:
            await supervisor.execute(ToolCall("interrupted"))

    [span] = exported.spans
    assert said(span)[words.CATEGORY] == "cancelled"


@requirement("telemetry.once")
async def test_each_span_is_ended_once(monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock) -> None:
    exported = Exported()
    ended: list[ReadableSpan] = []
    whole = exported.exporter.export

    def export(spans: object) -> object:
        ended.extend(spans)  # type: ignore[arg-type]
        return whole(spans)  # type: ignore[arg-type]

    monkeypatch.setattr(exported.exporter, "export", export)
    async with exported.supervisor(
        Toolbox([add, sleep, stubborn, crash, count]), limits=Limits(concurrent=4)
    ) as supervisor:
        calls = [
            ADD,
            ToolCall("crash"),
            ToolCall("count", {"upto": 3}),
            ToolCall("nobody"),
            ToolCall("add", {"a": "x"}),
        ]
        calls += [ToolCall("stubborn", {"seconds": 9}), ToolCall("sleep", {"seconds": 9})]
        await supervisor.execute_batch(calls * 3, timeout=2)

    assert len(ended) == 21
    assert len({context_of(span).span_id for span in ended}) == 21


@requirement("telemetry.stop")
async def test_stopping_ends_what_is_open_and_tells_nothing_more(autojump_clock: trio.testing.MockClock) -> None:
    exported = Exported()
    async with open_supervisor(Toolbox([sleep])) as supervisor:
        stop = instrument(supervisor, tracer_provider=exported.tracers, meter_provider=exported.meters)
        supervisor.start(ToolCall("sleep", {"seconds": 5}))
        await trio.testing.wait_all_tasks_blocked()
        stop()
        stop()

        [span] = exported.spans
        assert said(span)[words.UNFINISHED] is True
        await supervisor.execute(ToolCall("sleep", {"seconds": 1}))
    assert len(exported.spans) == 1


@requirement("telemetry.stop")
async def test_what_runs_already_has_no_span_and_comes_to_no_harm(autojump_clock: trio.testing.MockClock) -> None:
    exported = Exported()
    async with open_supervisor(Toolbox([sleep])) as supervisor:
        before = supervisor.start(ToolCall("sleep", {"seconds": 5}))
        await trio.testing.wait_all_tasks_blocked()
        instrument(supervisor, tracer_provider=exported.tracers, meter_provider=exported.meters)
        result = await before.result()

    assert (result.value, exported.spans) == ("slept", [])
    assert sum(exported.points("armory.tool.calls").values()) == 1


# -- what happens on the way


@requirement("telemetry.events")
async def test_retries_effects_and_loops_are_events_of_the_span(autojump_clock: trio.testing.MockClock) -> None:
    exported = Exported()

    @tool(effect=BANK, effect_windows=True)
    async def charge(ctx: ToolContext) -> AsyncIterator[int]:
        """Open a window at the second try."""
        tries.append(1)
        if len(tries) == 2:
            raise ConnectionError("the line is down")
        async with ctx.effect("charge the card 4111", target="stripe:acct_1"):
            yield 1

    tries: list[int] = []
    toolbox = Toolbox([charge], middleware=[Retry(RetryPolicy(attempts=2))])
    async with open_supervisor(toolbox, loops=LoopDetection(warn_at=2)) as supervisor:
        instrument(supervisor, tracer_provider=exported.tracers, meter_provider=exported.meters)
        for _ in range(2):
            await supervisor.execute(ToolCall("charge"))

    _, span = exported.spans
    assert event_names(span) == [
        "loop_warned",
        "started",
        "stream_closed",
        "wait_began",
        "wait_ended",
        "started",
        "effect_opened",
        "stream_opened",
        "effect_closed",
        "stream_closed",
        "outcome_decided",
    ]
    assert "4111" not in span.to_json()
    assert "acct_1" not in span.to_json()


@requirement("telemetry.events", "telemetry.discreet")
async def test_waits_and_late_cleanups_are_events_of_the_span_and_say_only_of_which_kind(
    autojump_clock: trio.testing.MockClock,
) -> None:
    exported = Exported()

    @tool(effect=BANK, concurrency=1, cleanup_timeout=2.0)
    async def clings(ctx: ToolContext) -> None:
        """Wait, and not let go."""
        async with ctx.waiting("the card 4111"):
            with trio.CancelScope(shield=True):
                await trio.sleep(60)

    async with exported.supervisor(Toolbox([clings, add]), limits=Limits(per_owner=1)) as supervisor:
        first = supervisor.start(ToolCall("clings"), owner_id="owner 4111")
        second = supervisor.start(ToolCall("add", {"a": 1, "b": 2}), owner_id="owner 4111")
        await trio.sleep(1)
        first.abort("enough")
        await second.settled()

    clung, added = exported.of_tool("clings"), exported.of_tool("add")
    assert event_names(clung) == [
        *("started", "wait_began", "abort_requested", "outcome_decided"),
        *("cleanup_pending", "cleanup_overdue", "wait_ended"),
    ]
    assert event_names(added) == ["wait_began", "wait_ended", "started", "outcome_decided"]
    told = [{**(event.attributes or {})} for event in added.events[:2]]
    assert told == [
        {"armory.tool.kind": "capacity"},
        {"armory.tool.kind": "capacity", "armory.tool.seconds": 60.0},
    ]
    assert [span.name for span in (clung, added) if "4111" in span.to_json()] == []


@requirement("telemetry.events")
async def test_the_ledger_s_answer_stands_on_the_span() -> None:
    exported = Exported()

    @tool(effect=BANK)
    async def pay(cents: int) -> str:
        """Pay somebody."""
        return f"paid {cents}"

    async with exported.supervisor(Toolbox([pay])) as supervisor:
        for _ in range(2):
            await supervisor.execute(
                ToolCall("pay", {"cents": 5}), idempotency_key="order-7", request_context=RequestContext(tenant="acme")
            )

    assert [said(span)[words.LEDGER] for span in exported.spans] == ["fresh", "deduped"]
    assert "order-7" not in "".join(span.to_json() for span in exported.spans)
    assert sum(exported.points("armory.ledger.answers").values()) == 2


@requirement("telemetry.off")
async def test_what_is_not_sampled_still_passes_its_trace_on() -> None:
    exported = Exported()
    exported.tracers.sampler = ALWAYS_OFF
    async with exported.supervisor(Toolbox([add])) as supervisor:
        result = await supervisor.execute(ADD)

    assert (result.value, exported.spans) == (3, [])
    assert sum(exported.points("armory.tool.calls").values()) == 1


@requirement("telemetry.off")
@pytest.mark.parametrize("providers", ["the global ones", "none"])
async def test_where_nobody_has_set_an_sdk_up_nothing_is_told_and_nothing_fails(providers: str) -> None:
    seen: list[bool] = []

    @tool(effect="read-only")
    async def look() -> None:
        """See whether anything is recorded."""
        seen.append(trace.get_current_span().is_recording())

    async with open_supervisor(Toolbox([look, relay])) as supervisor:
        if providers == "none":
            stop = instrument(
                supervisor, tracer_provider=trace.NoOpTracerProvider(), meter_provider=NoOpMeterProvider()
            )
        else:
            stop = instrument(supervisor)
        results = await supervisor.execute_batch([ToolCall("look"), ToolCall("nobody")])
        stop()

    assert [result.outcome for result in results] == ["success", "error"]
    assert seen == [False]


@requirement("telemetry.off")
async def test_a_tracer_that_fails_harms_no_call(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    exported = Exported()

    def start_span(*_: object, **options: object) -> NoReturn:
        raise RuntimeError("the secret of the tracer")

    async with open_supervisor(Toolbox([add])) as supervisor:
        monkeypatch.setattr("opentelemetry.sdk.trace.Tracer.start_span", start_span)
        instrument(supervisor, tracer_provider=exported.tracers, meter_provider=exported.meters)
        results = [await supervisor.execute(ADD) for _ in range(3)]

    assert [result.value for result in results] == [3, 3, 3]
    assert [record.getMessage() for record in caplog.records] == ["the probe _Telemetry raised RuntimeError"]


class Failing(SpanProcessor):
    """Counts spans, and fails when one of them ends."""

    def __init__(self) -> None:
        self.begun = self.ended = 0

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        self.begun += 1

    def on_end(self, span: ReadableSpan) -> None:
        self.ended += 1
        raise RuntimeError("the secret of the exporter")


@requirement("telemetry.once")
@pytest.mark.parametrize("ends", ["stopped", "settled"])
async def test_an_exporter_that_fails_keeps_no_other_span_open_and_harms_nobody_who_stops_it(ends: str) -> None:
    exported, failing = Exported(), Failing()
    exported.tracers.add_span_processor(failing)
    async with open_supervisor(Toolbox([sleep])) as supervisor:
        stop = instrument(supervisor, tracer_provider=exported.tracers, meter_provider=exported.meters)
        running = [supervisor.start(ToolCall("sleep", {"seconds": 60})) for _ in range(3)]
        if ends == "stopped":
            stop()
            assert exported.points("armory.executions.live") == {}
        for execution in running:
            execution.abort("it is enough")
        for execution in running:
            await execution.settled()
        stop()
        assert (failing.begun, failing.ended) == (3, 3)
        stop()

    assert (failing.begun, failing.ended) == (3, 3)
    assert len(exported.spans) == 3


@requirement("telemetry.once")
async def test_a_meter_that_fails_leaves_no_span_open(monkeypatch: pytest.MonkeyPatch) -> None:
    exported = Exported()

    def fail(*_: object, **__: object) -> NoReturn:
        raise RuntimeError("no numbers today")

    monkeypatch.setattr("opentelemetry.sdk.metrics._internal.instrument._Histogram.record", fail)
    monkeypatch.setattr("opentelemetry.sdk.metrics._internal.instrument._Counter.add", fail)
    async with exported.supervisor(Toolbox([add])) as supervisor:
        result = await supervisor.execute(ADD)
        [span] = exported.spans

    assert result.value == 3
    assert (span.attributes or {})["armory.tool.outcome"] == "success"
