"""Calls to a server in a child process that does what no server should."""

from __future__ import annotations

import json
import logging
import random
from typing import cast

import pytest
import trio
import trio.testing
from hypothesis import settings
from opentelemetry.context import attach, detach
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

from armory_trio import LogWritten, ProgressReported, RequestContext, ToolCall
from armory_trio.definitions import ElicitAccepted, ElicitAnswer, ElicitCancelled, ElicitDeclined, ElicitRequest
from armory_trio.integrations.mcp.client import IDEMPOTENCY_KEY
from tests.integrations.mcp.client.rough import ONCE, Rough, open_rough, server
from tests.requirements import requirement


async def seen(rough: Rough) -> dict[str, list[int]]:
    """The ids of requests that the server was told are cancelled, and how many calls there were."""
    return cast("dict[str, list[int]]", json.loads(str(await rough.value("seen"))))


@requirement("mcp-client.ids")
async def test_a_second_answer_is_dropped() -> None:
    async with open_rough() as rough:
        assert await rough.value("twice") == "first"
        assert await rough.value("echo", a=1, b=None) == '{"a": 1, "b": null}'
        assert (await seen(rough))["calls"] == [3]


@requirement("mcp-client.cancel")
async def test_a_call_that_is_stopped_is_announced_once_and_its_late_answer_is_dropped() -> None:
    async with open_rough() as rough:
        execution = rough.supervisor.start(ToolCall("late"))
        await trio.testing.wait_all_tasks_blocked(0.05)
        execution.abort("the test stops it")
        stopped = await execution.result()
        assert stopped.error is not None
        assert (stopped.error.code, stopped.effect) == ("CANCELLED", "unknown")
        assert await rough.value("echo", a=1) == '{"a": 1}'
        cancelled = (await seen(rough))["cancelled"]
        assert len(cancelled) == 1


@requirement("mcp-client.cancel")
async def test_a_caller_that_is_cancelled_does_not_wait_for_the_server() -> None:
    async with open_rough() as rough:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(rough.call, "never")
            await trio.testing.wait_all_tasks_blocked(0.05)
            nursery.cancel_scope.cancel()
        assert len((await seen(rough))["cancelled"]) == 1


@requirement("mcp-client.withdrawn")
async def test_what_still_stands_in_line_for_a_deaf_server_is_never_sent() -> None:
    async with open_rough(server(stop_after=0.0, kill_after=0.0)) as rough:
        await rough.value("deaf")
        long = {"words": "x" * 1_000_000}
        async with trio.open_nursery() as nursery:
            nursery.start_soon(rough.call, "echo", long)  # stuck in the pipe
            await trio.testing.wait_all_tasks_blocked(0.05)
            unsent = rough.supervisor.start(ToolCall("mutable", {"a": 1}), timeout=0.05)
            told = await unsent.settled()
            assert (told.outcome, told.error_category, told.effect) == ("error", "timeout", "none")
            nursery.cancel_scope.cancel()


@requirement("mcp-client.one-end")
async def test_however_stops_and_answers_race_each_call_ends_once() -> None:
    dice, ends = random.Random(7), list[tuple[str, object]]()  # noqa: S311  # times, no secrets
    async with open_rough() as rough:
        for _ in range(2 * settings().max_examples):
            with trio.move_on_after(dice.random() * 0.004):
                result = await rough.call("sleep", {"seconds": dice.random() * 0.003})
                ends.append((result.outcome, result.value))
        assert set(ends) <= {("success", "slept")}
        told = await seen(rough)
        assert rough.connection.state == "open"
        assert len(told["cancelled"]) == len(set(told["cancelled"]))


@requirement("mcp-client.receiving")
async def test_a_ping_is_answered_while_a_call_waits() -> None:
    async with open_rough() as rough, trio.open_nursery() as nursery:
        nursery.start_soon(rough.call, "never")
        assert await rough.value("ping") == "pong"
        nursery.cancel_scope.cancel()


@requirement("mcp-client.receiving")
async def test_more_calls_than_stand_in_line_at_once_all_come_through() -> None:
    async with open_rough() as rough:
        calls = [ToolCall("echo", {"n": n, "words": "x" * 2_000}) for n in range(300)]
        with trio.fail_after(30):
            results = await rough.supervisor.execute_batch(calls)
        assert [json.loads(str(result.value))["n"] for result in results] == list(range(300))


@requirement("mcp-client.receiving")
async def test_a_flood_of_notices_neither_blocks_nor_kills() -> None:
    async with open_rough() as rough:
        assert await rough.value("flood") == "done"
        assert await rough.value("echo") == "{}"


@requirement("mcp-client.progress")
async def test_progress_comes_in_order() -> None:
    async with open_rough() as rough, rough.supervisor.events(ProgressReported) as events:
        assert await rough.value("progress") == "done"
        told = [await anext(events) for _ in range(5)]
        assert [(event.percent, event.message) for event in told if isinstance(event, ProgressReported)] == [
            (20.0 * at, f"step {at}") for at in range(1, 6)
        ]


@requirement("mcp-client.progress")
async def test_a_log_reaches_the_only_call_there_is_and_else_our_own_log(caplog: pytest.LogCaptureFixture) -> None:
    async with open_rough() as rough:
        async with rough.supervisor.events(LogWritten, include_payloads=True) as events:
            await rough.value("log")
            event = await anext(events)
            assert isinstance(event, LogWritten)
            assert (event.level, event.message) == ("warning", '{"grain":3}')
        with caplog.at_level(logging.WARNING, "armory_trio.mcp"):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(rough.call, "never")
                await trio.testing.wait_all_tasks_blocked()
                await rough.value("log")
                nursery.cancel_scope.cancel()
        assert "the MCP server 'rough': {\"grain\":3}" in caplog.messages


@requirement("mcp-client.progress")
async def test_a_log_that_cannot_be_shown_says_so() -> None:
    async with open_rough() as rough, rough.supervisor.events(LogWritten, include_payloads=True) as events:
        await rough.value("pit")
        event = await anext(events)
        assert isinstance(event, LogWritten)
        assert "cannot be shown: nested deeper" in str(event.message)


@requirement("mcp-client.progress")
async def test_a_server_is_told_how_much_to_log() -> None:
    async with open_rough(log_level="notice") as rough:
        assert await rough.value("level") == "notice"


@requirement("mcp-client.idle")
async def test_a_call_without_progress_and_one_without_end_are_stopped() -> None:
    async with open_rough() as rough:
        idle = await rough.call("never", idle_timeout=0.05)
        capped = await rough.call("tick", {"times": 10_000}, idle_timeout=60.0, timeout=0.2)
        assert idle.error is not None
        assert capped.error is not None
        assert (idle.error.code, capped.error.code) == ("IDLE_TIMEOUT", "TIMEOUT")


async def three(request: ElicitRequest) -> ElicitAnswer:
    await trio.lowlevel.checkpoint()
    return ElicitAccepted({"n": 3})


@requirement("mcp-client.elicit")
async def test_a_question_is_asked_by_its_call() -> None:
    async with open_rough() as rough:
        answered = await rough.call("ask", elicit=three)
        assert answered.value == '{"action": "accept", "content": {"n": 3}}'


async def visits(request: ElicitRequest) -> ElicitAnswer:
    await trio.lowlevel.checkpoint()
    assert (request.message, request.url, request.schema) == ("sign here", "https://example.com/1", None)
    return ElicitAccepted("whatever")


@requirement("mcp-client.elicit")
async def test_a_person_may_be_sent_to_a_page() -> None:
    async with open_rough() as rough:
        assert (await rough.call("visit", elicit=visits)).value == '{"action": "accept"}'


async def declines(request: ElicitRequest) -> ElicitAnswer:
    await trio.lowlevel.checkpoint()
    return ElicitDeclined()


async def dismisses(request: ElicitRequest) -> ElicitAnswer:
    await trio.lowlevel.checkpoint()
    return ElicitCancelled()


async def unfit(request: ElicitRequest) -> ElicitAnswer:
    await trio.lowlevel.checkpoint()
    return ElicitAccepted({"n": "three"})


async def says_half(request: ElicitRequest) -> ElicitAnswer:
    await trio.lowlevel.checkpoint()
    return ElicitAccepted({"n": 3, "more": "half \ud800"})


@requirement("mcp-client.elicit")
async def test_only_a_person_who_said_no_declines() -> None:
    async with open_rough() as rough:
        assert await rough.value("ask") == '{"action": "cancel"}'  # nobody was asked
        assert (await rough.call("ask", elicit=unfit)).value == '{"action": "cancel"}'
        assert (await rough.call("ask", elicit=says_half)).value == '{"action": "cancel"}'
        assert (await rough.call("ask", elicit=declines)).value == '{"action": "decline"}'
        assert (await rough.call("ask", elicit=dismisses)).value == '{"action": "cancel"}'
        async with trio.open_nursery() as nursery:
            nursery.start_soon(rough.call, "never")
            await trio.testing.wait_all_tasks_blocked()
            whose = await rough.call("ask", elicit=three)
            assert whose.value == '{"action": "decline"}'  # of two calls, nobody knows which one it is about
            nursery.cancel_scope.cancel()


@requirement("mcp-client.asked-back")
async def test_asking_a_model_is_refused_and_directories_are_named_when_there_are_some() -> None:
    async with open_rough(roots=("file:///home/ann",)) as rough:
        assert json.loads(str(await rough.value("sample")))["code"] == -32600
        assert json.loads(str(await rough.value("roots"))) == {"roots": [{"uri": "file:///home/ann"}]}
    async with open_rough() as rough:
        assert json.loads(str(await rough.value("roots")))["message"] == "List roots not supported"


@requirement("mcp-client.meta")
async def test_the_trace_of_a_call_goes_along_and_rubbish_does_not() -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    async with open_rough() as rough:
        meta = (await rough.call("meta", metadata={"traceparent": trace, "tracestate": 5, "secret": "x"})).value
        assert isinstance(meta, dict)
        assert set(cast("dict[str, object]", meta)) == {"progressToken", "traceparent"}


@requirement("mcp-client.meta")
async def test_the_current_span_of_the_caller_goes_along() -> None:
    span = SpanContext(int("ab" * 16, 16), int("cd" * 8, 16), is_remote=False, trace_flags=TraceFlags(1))
    token = attach(set_span_in_context(NonRecordingSpan(span)))
    try:
        async with open_rough() as rough:
            meta = await rough.value("meta")
    finally:
        detach(token)
    assert isinstance(meta, dict)
    assert str(cast("dict[str, object]", meta)["traceparent"]).startswith(f"00-{'ab' * 16}-")


@requirement("mcp-client.meta")
async def test_the_idempotency_key_goes_along() -> None:
    context = RequestContext(principal="ann", tenant="acme", audience="tenant")
    async with open_rough() as rough:
        meta = (await rough.call("meta", idempotency_key="once", request_context=context)).value
        assert isinstance(meta, dict)
        assert cast("dict[str, object]", meta)[IDEMPOTENCY_KEY] == "once"


@requirement("mcp-client.errors")
@pytest.mark.parametrize(
    ("code", "category", "ours", "effect"),
    [
        (-32700, "internal", "INTERNAL_ERROR", "unknown"),
        (-32600, "internal", "INTERNAL_ERROR", "unknown"),
        (-32602, "validation", "INVALID_ARGUMENTS", "none"),
        (-32601, "not_found", "NOT_FOUND", "none"),
        (-32603, "internal", "INTERNAL_ERROR", "unknown"),
        (-32000, "transient", "TRANSIENT_ERROR", "unknown"),
        (-32042, "permission", "SERVER_REFUSED", "none"),
        (7, "internal", "INTERNAL_ERROR", "unknown"),
    ],
    ids=str,
)
async def test_errors_of_the_protocol_mean_what_they_say(code: int, category: str, ours: str, effect: str) -> None:
    async with open_rough() as rough:
        result = await rough.call("error", {"code": code})
        assert result.error is not None
        assert (result.error.category, result.error.code, result.effect) == (category, ours, effect)
        assert "I will not" in result.error.message
        assert result.error.details == {"code": code, "data": {"why": "x"}}


@requirement("mcp-client.errors")
async def test_an_error_of_the_tool_is_an_error_with_its_words() -> None:
    async with open_rough() as rough:
        result = await rough.call("fail")
        assert result.error is not None
        assert (result.error.code, result.error.message) == ("TOOL_REPORTED_ERROR", "the mill is closed")
        assert result.effect == "unknown"


@requirement("mcp-client.errors")
@pytest.mark.parametrize(
    ("trusted", "said", "effect"),
    [(True, "none", "none"), (True, "completed", "completed"), (True, "odd", "unknown"), (False, "none", "unknown")],
)
async def test_a_server_that_is_trusted_is_believed_about_the_effect_of_an_error(
    trusted: bool, said: str, effect: str
) -> None:
    async with open_rough(trust_annotations=trusted) as rough:
        assert (await rough.call("fail", {"effect": said})).effect == effect


@requirement("mcp-client.stray")
async def test_what_is_no_message_is_skipped_and_told_up_to_a_bound(caplog: pytest.LogCaptureFixture) -> None:
    async with open_rough(server("banner")) as rough:
        with caplog.at_level(logging.WARNING, "armory_trio.mcp"):
            assert await rough.value("garbage", more=500) == "found"
        assert rough.connection.stray == 507  # the banner and six odd lines; blank ones are nothing
        assert len(caplog.messages) == 20
        assert "only counted" in caplog.messages[-1]


@requirement("mcp-client.stray", "mcp-client.opening")
async def test_a_byte_order_mark_in_front_of_all_is_no_part_of_the_first_message() -> None:
    async with open_rough(server("marked")) as rough:
        assert await rough.value("echo") == "{}"
        assert rough.connection.stray == 0


@requirement("mcp-client.stray")
@pytest.mark.parametrize("tool", ["oversized", "shapeless"])
async def test_how_a_skipped_line_begins_is_shown_only_to_who_debugs(
    tool: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_rough(server(max_message=1_000_000)) as rough:
        with caplog.at_level(logging.DEBUG, "armory_trio.mcp"):
            await rough.call(tool)
        told = {record.levelno: record.getMessage() for record in caplog.records if "sent" in record.getMessage()}

    assert "which was skipped" in told[logging.WARNING]
    assert "jsonrpc" not in told[logging.WARNING]
    assert "jsonrpc" in told[logging.DEBUG]


@requirement("mcp-client.stray")
@pytest.mark.parametrize("tool", ["oversized", "shapeless", "doubled", "fractional"])
async def test_an_answer_that_cannot_be_read_ends_its_own_call(tool: str) -> None:
    async with open_rough(server(max_message=1_000_000)) as rough:
        result = await rough.call(tool)
        assert result.error is not None
        assert (result.error.code, result.effect) == ("OUTPUT_INVALID", "unknown")
        assert await rough.value("echo") == "{}"


@requirement("mcp-client.contracts")
async def test_a_structured_result_that_is_not_as_promised_happened_all_the_same() -> None:
    async with open_rough() as rough:
        assert await rough.value("structured", n=1) == {"n": 1}
        result = await rough.call("structured", {"n": "one"})
        assert result.error is not None
        assert (result.error.code, result.effect) == ("OUTPUT_INVALID", "completed")


@requirement("mcp-client.contracts")
async def test_text_that_cannot_be_sent_is_refused_and_nothing_happened() -> None:
    async with open_rough() as rough:
        result = await rough.call("echo", {"words": "half \ud800"})
        assert result.error is not None
        assert (result.error.code, result.effect) == ("INVALID_ARGUMENTS", "none")
        assert await rough.value("echo") == "{}"


@requirement("mcp-client.stray")
async def test_a_character_that_was_cut_in_half_spoils_no_answer() -> None:
    async with open_rough() as rough:
        assert await rough.value("half") == "cut \ufffd off \ufffd"
        assert rough.connection.stray == 0


@requirement("mcp-client.receiving")
async def test_a_server_that_asks_and_does_not_read_is_given_up() -> None:
    async with open_rough(server(stop_after=0.0, kill_after=0.0), reconnect=ONCE) as rough:
        result = await rough.call("nag")
        assert result.error is not None
        assert (result.error.code, result.effect) == ("CONNECTION_LOST", "unknown")
        assert "it does not read what it asks for" in result.error.message
