"""How much of a stream is kept, and what happens to the rest."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable

import pytest

from armory_trio.providers import Assembler, AssemblyLimits, StreamLimitError
from armory_trio.providers.anthropic import MessageAssembler
from armory_trio.providers.gemini import ContentAssembler
from armory_trio.providers.openai import ChatAssembler, ResponseAssembler
from tests.requirements import requirement

from ._streams import (
    WIRES,
    Wire,
    anthropic_delta,
    anthropic_start,
    assembled,
    chat_chunk,
    chat_delta,
    chat_events,
    codes,
    gemini_chunk,
    response_item,
    runnable,
    said,
    tool_use,
)

SMALL = AssemblyLimits(calls=2, call_bytes=40, message_bytes=1000)
KINDS = {
    "openai-chat": ChatAssembler,
    "openai-responses": ResponseAssembler,
    "anthropic": MessageAssembler,
    "gemini": ContentAssembler,
}
EVERY = pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES.keys())


@requirement("assembly.limits")
@EVERY
def test_too_long_arguments_refuse_their_call_and_no_other(wire: Wire) -> None:
    calls = [said("x", "f", {"a": 1}), said("y", "g", {"a": "x" * 60})]
    limits = AssemblyLimits(call_bytes=40)

    turn = assembled(KINDS[wire.provider](limits=limits), wire.events(calls, wire.stop, ""))

    assert runnable(turn) == [("f", {"a": 1})]
    assert codes(turn) == [None, "MALFORMED_CALL"]
    assert "more than 40 bytes" in str(turn.calls[1].defect)


@requirement("assembly.limits")
@EVERY
def test_what_was_kept_of_too_long_arguments_is_forgotten(wire: Wire) -> None:
    assembler = KINDS[wire.provider](limits=AssemblyLimits(call_bytes=40))

    assembled(assembler, wire.events([said("x", "g", {"a": "start", "b": "x" * 60})], wire.stop, ""))

    assert not assembler.preview(0).arguments
    assert "start" not in json.dumps(assembler.message())


@requirement("assembly.limits")
@pytest.mark.parametrize("provider", ["openai-chat", "openai-responses", "anthropic"])
def test_arguments_that_stand_inside_of_themselves_are_too_long_and_never_hang(provider: str) -> None:
    endless: dict[str, object] = {}
    endless["a"] = [endless]
    done = {"type": "response.output_item.done", "output_index": 0, "item": response_item(0, said("x", "f", {}))}
    events: dict[str, list[object]] = {
        "openai-chat": [chat_chunk({"tool_calls": [{"id": "x", "function": {"name": "f", "arguments": endless}}]})],
        "openai-responses": [{**done, "item": {**response_item(0, said("x", "f", {})), "arguments": endless}}],
        "anthropic": [anthropic_start(0, tool_use("x", "f", endless))],
    }
    assembler = KINDS[provider](limits=AssemblyLimits(call_bytes=400, message_bytes=1_000))

    try:
        turn = assembled(assembler, events[provider])
    except StreamLimitError:
        return
    assert runnable(turn) == []


@requirement("assembly.limits", "assembly.sent-again")
def test_values_that_are_too_deep_to_be_compared_are_not_the_same() -> None:
    deep: list[object] = []
    for _ in range(3_000):
        deep = [deep]
    again = json.loads(f"{'[' * 900}{']' * 900}")
    for _ in range(2_100):
        again = [again]
    assembler = ChatAssembler()
    for value in (deep, again):
        assembler.feed(chat_chunk({"tool_calls": [{"id": "x", "function": {"name": "f", "arguments": {"a": value}}}]}))

    assert codes(assembler.finish()) == ["MALFORMED_CALL"]


@requirement("assembly.limits")
@EVERY
def test_too_many_calls_are_an_error_that_names_the_limit(wire: Wire) -> None:
    calls = [said(f"id_{at}", "f", {}) for at in range(3)]
    assembler = KINDS[wire.provider](limits=AssemblyLimits(calls=2))

    with pytest.raises(StreamLimitError, match=r"more than 2 calls; .*AssemblyLimits\.calls") as caught:
        assembled(assembler, wire.events(calls, wire.stop, ""))

    assert (caught.value.limit, caught.value.allowed) == ("calls", 2)
    for again in (lambda: assembler.feed({}), assembler.finish, assembler.message):
        with pytest.raises(StreamLimitError):
            again()


@requirement("assembly.limits")
def test_text_without_end_is_an_error_that_names_the_limit() -> None:
    streams: dict[Callable[..., Assembler], list[dict[str, object]]] = {
        ChatAssembler: [chat_chunk({"content": "x" * 99})],
        MessageAssembler: [
            anthropic_start(0, {"type": "text", "text": ""}),
            *[dict[str, object](type="content_block_delta", index=0, delta={"type": "text_delta", "text": "x" * 99})]
            * 20,
        ],
        ContentAssembler: [gemini_chunk([{"text": "x" * 99}])],
        ResponseAssembler: [{"type": "response.output_item.done", "item": {"type": "message", "content": "x" * 99}}],
    }
    for kind, events in streams.items():
        assembler = kind(limits=SMALL)
        with pytest.raises(StreamLimitError, match=r"more than 1000 bytes of one message; .*message_bytes"):
            assembled(assembler, events * 20)


@requirement("assembly.limits")
def test_empty_blocks_without_end_are_bounded_as_well() -> None:
    empty = {
        MessageAssembler: anthropic_start(None, {"type": "text", "text": ""}),
        ContentAssembler: gemini_chunk([{"text": "", "thoughtSignature": ""}]),
        ResponseAssembler: {"type": "response.output_item.done", "item": {"type": "message"}},
    }
    for kind, event in empty.items():
        with pytest.raises(StreamLimitError):
            assembled(kind(limits=SMALL), [event] * 200)


@requirement("assembly.limits")
def test_a_call_that_is_too_long_is_forgotten_while_its_fragments_still_come() -> None:
    assembler = ChatAssembler(limits=AssemblyLimits(call_bytes=10_000))
    assembler.feed(chat_delta(0, "x", "f", '{"a": "'))
    piece = "y" * 1000
    tracemalloc.start()
    for _ in range(1_000):
        assembler.feed(chat_delta(0, None, None, piece))
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert kept < 200_000
    assert codes(assembled(assembler, [chat_chunk({}, "stop")])) == ["MALFORMED_CALL"]


@requirement("assembly.limits")
@pytest.mark.parametrize(
    "hostile", ["[" * 100_000, '{"a":' * 100_000, '{"a":' + "9" * 100_000 + "}", '{"a":"' + "\\u" * 9]
)
def test_deep_and_huge_json_is_refused(hostile: str) -> None:
    turn = assembled(ChatAssembler(), chat_events([said("x", "f", hostile, 1000)]))

    assert codes(turn) == ["MALFORMED_CALL"]


@requirement("assembly.limits")
def test_deep_values_are_refused() -> None:
    deep: dict[str, object] = {}
    for _ in range(500):
        deep = {"a": deep}
    anthropic = [anthropic_start(0, tool_use("x", "f", deep)), {"type": "content_block_stop", "index": 0}]
    path = "$" + ".a" * 500
    streamed = [gemini_chunk([{"functionCall": {"name": "f", "partialArgs": [{"jsonPath": path, "stringValue": ""}]}}])]

    assert codes(assembled(MessageAssembler(), [*anthropic, {"type": "message_stop"}])) == ["MALFORMED_CALL"]
    assert codes(assembled(ContentAssembler(), [*streamed, gemini_chunk([], "STOP")])) == ["MALFORMED_CALL"]


@requirement("assembly.limits")
def test_sizes_are_those_of_utf_8() -> None:
    text = json.dumps({"a": "ä" * 14}, ensure_ascii=False)
    assert (len(text), len(text.encode())) == (23, 37)

    fits = assembled(ChatAssembler(limits=SMALL), chat_events([said("x", "f", text)]))
    longer = assembled(ChatAssembler(limits=AssemblyLimits(call_bytes=36)), chat_events([said("x", "f", text)]))

    assert codes(fits) == [None]
    assert codes(longer) == ["MALFORMED_CALL"]


@requirement("assembly.limits")
def test_one_delta_after_another_takes_no_more_time_the_longer_the_call_is() -> None:
    """Counted in fragments that are joined, not in seconds: the text is put together once."""
    assembler = MessageAssembler()
    assembler.feed(anthropic_start(0, tool_use("x", "f")))
    for _ in range(50_000):
        assembler.feed(anthropic_delta(0, "[1,"))
    assembler.feed(anthropic_delta(0, "]"))

    assert codes(assembled(assembler, [{"type": "message_stop"}])) == ["TRUNCATED_CALL"]
