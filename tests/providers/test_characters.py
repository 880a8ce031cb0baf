"""Characters that a stream cuts in two, and halves of characters that a model wrote: no request could carry them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Final, cast

import anthropic as anthropic_sdk
import openai as openai_sdk
import pytest
from anthropic.types import MessageParam, TextBlock
from google.genai import types as genai
from openai.types.chat import ChatCompletionMessage, ChatCompletionMessageParam

from armory_trio import ImageContent, define_tool
from armory_trio.providers import check_history, compile_tools, extend_history, repair_history
from armory_trio.toolbox import ProviderName
from tests.requirements import requirement

from ._histories import Json
from ._results import run, success
from ._server import serving
from ._streams import (
    WIRES,
    Said,
    Wire,
    anthropic_delta,
    anthropic_end,
    anthropic_start,
    chat_chunk,
    gemini_chunk,
    runnable,
)

EVERY = pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES.keys())
HALF: Final = "\ud83d"
FACE: Final = "a😀b"


def units(text: str) -> list[str]:
    """*text* in its UTF-16 units, as servers written in JavaScript cut it."""
    encoded = text.encode("utf-16-le", "surrogatepass")
    return [encoded[at : at + 2].decode("utf-16-le", "surrogatepass") for at in range(0, len(encoded), 2)]


def events(wire: Wire, value: str) -> list[Json]:
    """One call with the argument *value*, in as many deltas as it has units."""
    if wire.provider != "gemini":
        return wire.events([Said("c1", "say", units(json.dumps({"text": value}, ensure_ascii=False)))], wire.stop, "")
    *first, last = units(value)
    parts: list[Json] = [{"jsonPath": "$.text", "stringValue": piece, "willContinue": True} for piece in first]
    begin: Json = {"functionCall": {"id": "c1", "name": "say", "willContinue": True}}
    grow: list[Json] = [
        {"functionCall": {"partialArgs": [part], "willContinue": True}}
        for part in [*parts, {"jsonPath": "$.text", "stringValue": last}]
    ]
    end: Json = {"functionCall": {}}
    return [gemini_chunk([part]) for part in (begin, *grow, end)] + [gemini_chunk([], wire.stop)]


def texts(wire: Wire, value: str) -> Iterator[Json]:
    """A text in as many deltas as it has units, and then a call."""
    call = Said("c1", "say", ["{}"])
    pieces = units(value)
    match wire.provider:
        case "openai-chat":
            yield from (chat_chunk({"content": piece}) for piece in pieces)
            yield from wire.events([call], wire.stop, "")
        case "anthropic":
            yield anthropic_start(0, {"type": "text", "text": ""})
            for piece in pieces:
                yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
            yield {"type": "content_block_stop", "index": 0}
            yield anthropic_start(1, {"type": "tool_use", "id": "c1", "name": "say", "input": {}})
            yield anthropic_delta(1, "{}")
            yield {"type": "content_block_stop", "index": 1}
            yield from anthropic_end()
        case _:
            yield from (gemini_chunk([{"text": piece}]) for piece in pieces)
            yield from wire.events([call], wire.stop, "")


def sent(history: Sequence[object]) -> str:
    """What a client sends, which are bytes in UTF-8."""
    return json.dumps(history, ensure_ascii=False, allow_nan=False).encode().decode()


@requirement("providers.sendable", "assembly.same-turn")
@EVERY
def test_a_character_that_is_cut_between_two_deltas_is_put_together(wire: Wire) -> None:
    assembler = wire.assembler()
    for event in events(wire, FACE):
        for news in assembler.feed(event):
            str(news).encode()
        if wire.provider != "gemini":
            str(assembler.previews).encode()

    turn = assembler.finish()

    assert runnable(turn) == [("say", {"text": FACE})]
    assert FACE in sent([assembler.message()])


@requirement("providers.sendable", "assembly.message")
@pytest.mark.parametrize("provider", ["openai-chat", "anthropic", "gemini"])
@pytest.mark.parametrize(("said", "expected"), [(FACE, FACE), (f"a{HALF}b", r"a\\ud83db")], ids=["whole", "half"])
def test_a_text_that_was_cut_can_be_sent_back(provider: str, said: str, expected: str) -> None:
    assembler = WIRES[provider].assembler()
    for event in texts(WIRES[provider], said):
        assembler.feed(event)

    assert expected in sent([assembler.message()])


@requirement("providers.sendable", "history.continued")
@EVERY
@pytest.mark.parametrize("streamed", [True, False], ids=["stream", "whole"])
def test_half_a_character_reaches_the_tool_and_does_not_end_the_conversation(wire: Wire, streamed: bool) -> None:
    message: object = wire.whole([Said("c1", "say", [json.dumps({"text": HALF, HALF: [HALF]})])], wire.stop)
    if streamed:
        assembler = wire.assembler()
        for event in events(wire, f"a{HALF}b"):
            assembler.feed(event)
        message, turn = assembler.message(), assembler.finish()
        assert runnable(turn) == [("say", {"text": f"a{HALF}b"})]
    else:
        turn = wire.parse(message)
        assert runnable(turn) == [("say", {"text": HALF, HALF: [HALF]})]

    history = extend_history([], message, turn, run(turn))

    assert r"\ud83d" in sent(history)
    assert check_history(history) == ()


def calls(provider: str, arguments: object, text: str = "") -> list[Json]:
    match provider:
        case "openai-chat":
            call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": arguments}}
            return [
                {"role": "assistant", "content": text, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "1", "content": "x"},
            ]
        case "openai-responses":
            return [
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]},
                {"type": "function_call", "call_id": "1", "name": "f", "arguments": arguments},
                {"type": "function_call_output", "call_id": "1", "output": "x"},
            ]
        case "anthropic":
            use = {"type": "tool_use", "id": "1", "name": "f", "input": arguments}
            result = {"type": "tool_result", "tool_use_id": "1", "content": "x"}
            return [
                {"role": "assistant", "content": [{"type": "text", "text": text}, use]},
                {"role": "user", "content": [result]},
            ]
        case _:
            asked = {"id": "1", "name": "f", "args": arguments}
            answer = {"id": "1", "name": "f", "response": {"output": "x"}}
            return [
                {"role": "model", "parts": [{"text": text}, {"functionCall": asked}]},
                {"role": "user", "parts": [{"functionResponse": answer}]},
            ]


@requirement("providers.sendable", "assembly.message")
@pytest.mark.parametrize("wire", [WIRES["openai-chat"], WIRES["anthropic"]], ids=["chat", "anthropic"])
def test_half_a_character_in_the_name_of_a_streamed_call_can_be_sent_back(wire: Wire) -> None:
    assembler = wire.assembler()
    for event in wire.events([Said("c1", f"f{HALF}", ["{}"])], wire.stop, ""):
        assembler.feed(event)

    sent = json.dumps(assembler.message(), ensure_ascii=False).encode()

    assert rb"f\\ud83d" in sent


@requirement("providers.sendable")
@pytest.mark.parametrize(
    "provider", ["openai-chat", "openai-responses", "anthropic", "gemini", "gemini-openapi", "common"]
)
def test_half_a_character_in_what_a_tool_says_of_itself_does_not_keep_tools_from_being_offered(
    provider: ProviderName,
) -> None:
    made = define_tool(execute=run, name="t", description=f"d{HALF}", input={"type": "object", "properties": {}})

    manifest = compile_tools([made], provider)

    json.dumps(manifest.tools, ensure_ascii=False).encode()
    assert manifest.offered[0].description == "d\\ud83d"


@requirement("providers.sendable")
@EVERY
def test_half_a_character_in_a_media_type_can_be_sent(wire: Wire) -> None:
    turn = wire.parse(wire.whole([Said("c1", "say", ["{}"])], wire.stop))
    [call] = turn.calls

    reply = turn.reply([success(call, ImageContent(b"x", f"image/{HALF}"))])

    assert rb"image/\\ud83d" in json.dumps(reply, ensure_ascii=False).encode()


@requirement("providers.sendable", "history.arguments")
@EVERY
def test_a_history_with_half_a_character_in_a_call_is_repaired(wire: Wire) -> None:
    arguments = {"a": HALF, HALF: (1, [HALF])}
    text = json.dumps(arguments, ensure_ascii=False)
    broken = calls(wire.provider, text if wire.provider.startswith("openai") else arguments)

    assert [fault.kind for fault in check_history(broken)] == ["arguments"]
    repaired = repair_history(broken).messages

    assert check_history(repaired) == ()
    assert r"\ud83d" in sent(repaired)
    assert repair_history(repaired).messages == repaired


@requirement("providers.sendable", "history.continued")
@EVERY
def test_the_next_round_can_be_sent_whatever_the_model_said(wire: Wire) -> None:
    message = calls(wire.provider, "{}" if wire.provider.startswith("openai") else {}, HALF)
    said = cast("object", message[:2] if wire.provider == "openai-responses" else message[0])
    turn = wire.parse(said)

    history = extend_history([], said, turn, run(turn))

    assert r"\\ud83d" in sent(history)


def talk(provider: str, half: str) -> list[Json]:
    """A round in which everybody says *half* of a character, and a call with its result."""
    user: Json = {"role": "user", "content": f"u{half}"}
    if provider == "gemini":
        user = {"role": "user", "parts": [{"text": f"u{half}"}]}
    round_ = json.dumps(calls(provider, "{}" if provider.startswith("openai") else {}, f"m{half}"))
    return [user, *cast("list[Json]", json.loads(round_.replace('"x"', json.dumps(f"r{half}"))))]


def kinds(history: Sequence[object]) -> list[str]:
    return [fault.kind for fault in check_history(history)]


@requirement("providers.sendable", "history.faults", "history.repair")
@EVERY
def test_half_a_character_in_any_text_is_told_with_its_place_and_escaped(wire: Wire) -> None:
    broken, before = talk(wire.provider, HALF), talk(wire.provider, HALF)

    faults = check_history(broken)
    repaired = repair_history(broken).messages

    assert [(fault.kind, fault.position) for fault in faults] == [("characters", at) for at in EXPECTED[wire.provider]]
    assert faults[0].path in ("$[0].content", "$[0].parts[0].text")
    assert broken == before
    assert sent(repaired).count(r"\\ud83d") == 3
    assert check_history(repaired) == ()
    assert repair_history(repaired).messages == repaired


EXPECTED: Final = {"openai-chat": [0, 1, 2], "openai-responses": [0, 1, 3], "anthropic": [0, 1, 2], "gemini": [0, 1, 2]}


@requirement("history.legal-untouched")
@EVERY
def test_whole_characters_are_no_fault(wire: Wire) -> None:
    history = talk(wire.provider, FACE)

    assert check_history(history) == ()
    assert all(new is old for new, old in zip(repair_history(history).messages, history, strict=True))


@requirement("providers.sendable", "history.repair")
@EVERY
def test_a_result_that_is_moved_is_escaped_on_the_way(wire: Wire) -> None:
    user, *said, result = talk(wire.provider, HALF)
    broken = [result, user, *said] if wire.provider == "openai-responses" else [user, *said, user, result]

    repaired = repair_history(broken).messages

    assert r"r\\ud83d" in sent(repaired)
    assert check_history(repaired) == ()


@requirement("providers.sendable", "history.repair")
@EVERY
def test_of_a_result_that_is_left_out_only_that_is_told(wire: Wire) -> None:
    *_, result = talk(wire.provider, HALF)

    assert kinds([result]) == ["orphan-result"]
    assert repair_history([result]).messages == []


@requirement("providers.sendable", "history.repair")
def test_half_a_character_in_a_history_without_calls_is_told_and_escaped() -> None:
    broken = [{"role": "user", "content": "fine"}, {"role": "user", "content": HALF, HALF: (HALF, b"\xff")}]

    [fault] = check_history(broken)
    repair = repair_history(broken)

    assert (fault.kind, fault.path) == ("characters", "$[1].content")
    assert repair.done == (fault,)
    assert repair.messages[0] is broken[0]
    assert repair.messages[1] == {"role": "user", "content": r"\ud83d", r"\ud83d": [r"\ud83d", b"\xff"]}


@requirement("providers.sendable", "history.repair")
def test_half_a_character_in_an_object_of_an_sdk_is_found_and_escaped() -> None:
    chat = ChatCompletionMessage.construct(role="assistant", content="fine", unknown={"to the SDK": HALF})
    claude = {"role": "assistant", "content": [TextBlock.construct(type="text", text=HALF)]}
    google = genai.Content.model_construct(role="user", parts=[genai.Part.model_construct(text=HALF)])

    repair = repair_history([chat, claude, google])

    places = ["$[0].unknown.to the SDK", "$[1].content[0].text", "$[2].parts[0].text"]
    assert [fault.path for fault in repair.done] == places
    assert sent(repair.messages).count(r"\\ud83d") == 3
    assert check_history(repair.messages) == ()


@requirement("history.any-json")
def test_a_text_that_is_too_deep_for_any_request_stays() -> None:
    deep: object = HALF
    for _ in range(20_000):
        deep = [deep]
    history = [{"role": "user", "content": deep}]

    assert check_history(history) == ()
    assert repair_history(history).messages[0] is history[0]


@requirement("providers.sendable", "history.continued")
@EVERY
def test_a_round_goes_on_after_half_a_character_in_an_older_text(wire: Wire) -> None:
    user, *_ = talk(wire.provider, HALF)
    message = wire.whole([Said("c1", "say", ["{}"])], wire.stop)
    turn = wire.parse(message)

    history = extend_history([user], message, turn, run(turn))

    assert r"u\\ud83d" in sent(history)
    assert check_history(history) == ()


def openai_sends(url: str, history: list[object]) -> None:
    with openai_sdk.OpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0) as client:
        client.chat.completions.create(model="m", messages=cast("list[ChatCompletionMessageParam]", history))


def anthropic_sends(url: str, history: list[object]) -> None:
    with anthropic_sdk.Anthropic(api_key="k", base_url=url, max_retries=0) as client:
        client.messages.create(model="m", max_tokens=1, messages=cast("list[MessageParam]", history))


@requirement("providers.sendable", "history.repair")
@pytest.mark.parametrize(
    ("provider", "send"),
    [("openai-chat", openai_sends), ("anthropic", anthropic_sends)],
    ids=["openai", "anthropic"],
)
def test_the_official_clients_send_what_was_repaired_as_it_is(
    provider: str, send: Callable[[str, list[object]], None]
) -> None:
    broken: list[object] = [*talk(provider, HALF)]
    repaired = repair_history(broken).messages

    with serving(WIRES[provider].whole([], "stop")) as server:
        with pytest.raises(UnicodeEncodeError):
            send(server.url, broken)
        send(server.url, repaired)

    assert [body["messages"] for body in server.sent] == [repaired]
