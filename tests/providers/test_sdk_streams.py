"""The official SDKs' own streaming clients, against a server that speaks the wire formats.

Their clients are asyncio's or blocking, so each request runs in a thread. What they give is fed to our assemblers; what
we reply goes back through the same clients, and the server looks at the bytes.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterable, Callable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple, cast

import anthropic as anthropic_sdk
import openai as openai_sdk
import pytest
import trio
from anthropic.types import MessageParam, ToolUnionParam
from google import genai
from google.genai.types import ContentListUnionDict, GenerateContentConfigDict
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolUnionParam
from openai.types.responses import ResponseInputParam, ToolParam

from armory_trio import Toolbox, open_supervisor, tool
from armory_trio.providers import Assembler, Turn, check_history, extend_history
from armory_trio.providers.anthropic import MessageAssembler
from armory_trio.providers.gemini import ContentAssembler
from armory_trio.providers.openai import ChatAssembler, ResponseAssembler
from tests.requirements import requirement

from . import _sse_server, _streams
from ._legal import assert_legal
from ._sse_server import Server, serving
from ._streams import Said, codes, runnable, said

Json = dict[str, object]


@tool(effect="read-only")
async def read(path: str) -> str:
    """Read a file."""
    return f"text of {path}"


TOOLBOX = Toolbox([read])
SCHEMA: Json = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
CALLS = [
    said("call_a", "read", {"path": "ä/a"}),
    said("call_b", "read", {"path": '"b"'}, 3),
    said("call_c", "read", {}),
]


class Client(NamedTuple):
    """One way of one SDK to stream a message."""

    provider: str
    assembler: Callable[[], Assembler]
    stream: Callable[[str, list[object]], Iterator[object]]
    wire: Callable[[Sequence[Json]], bytes]
    sent: Callable[[Json], list[Json]]
    """The history in a request's body."""


def in_a_loop(events: Callable[[], AsyncIterable[object]]) -> Iterator[object]:
    """The events of an async client, which needs a loop of its own; an error comes after those that came before it."""

    async def collect() -> tuple[list[object], Exception | None]:
        found: list[object] = []
        try:
            async for event in events():
                found.append(event)  # noqa: PERF401  # what came before an error is what counts
        except Exception as error:  # noqa: BLE001  # raised again below
            return found, error
        return found, None

    found, error = asyncio.run(collect())
    yield from found
    if error is not None:
        raise error


def openai_client(url: str) -> openai_sdk.OpenAI:
    return openai_sdk.OpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0)


def openai_async(url: str) -> openai_sdk.AsyncOpenAI:
    return openai_sdk.AsyncOpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0)


CHAT_TOOLS = cast(
    "list[ChatCompletionToolUnionParam]", [{"type": "function", "function": {"name": "read", "parameters": SCHEMA}}]
)
RESPONSE_TOOLS = cast("list[ToolParam]", [{"type": "function", "name": "read", "parameters": SCHEMA, "strict": False}])
CLAUDE_TOOLS = cast("list[ToolUnionParam]", [{"name": "read", "input_schema": SCHEMA}])
GEMINI_TOOLS = cast(
    "GenerateContentConfigDict",
    {"tools": [{"function_declarations": [{"name": "read", "parameters_json_schema": SCHEMA}]}]},
)


def _as_chat(history: list[object]) -> list[ChatCompletionMessageParam]:
    return cast("list[ChatCompletionMessageParam]", history)


def chat_create(url: str, history: list[object]) -> Iterator[object]:
    with openai_client(url) as client:
        yield from client.chat.completions.create(model="m", messages=_as_chat(history), tools=CHAT_TOOLS, stream=True)


def chat_create_async(url: str, history: list[object]) -> Iterator[object]:
    async def events() -> AsyncIterable[object]:
        async with openai_async(url) as client:
            stream = await client.chat.completions.create(
                model="m", messages=_as_chat(history), tools=CHAT_TOOLS, stream=True
            )
            async for event in stream:
                yield event

    return in_a_loop(events)


def chat_helper(url: str, history: list[object]) -> Iterator[object]:
    with openai_client(url) as client, client.chat.completions.stream(model="m", messages=_as_chat(history)) as stream:
        yield from stream


def response_create(url: str, history: list[object]) -> Iterator[object]:
    with openai_client(url) as client:
        yield from client.responses.create(
            model="m", input=cast("ResponseInputParam", history), tools=RESPONSE_TOOLS, stream=True
        )


def response_helper_async(url: str, history: list[object]) -> Iterator[object]:
    async def events() -> AsyncIterable[object]:
        async with (
            openai_async(url) as client,
            client.responses.stream(model="m", input=cast("ResponseInputParam", history)) as stream,
        ):
            async for event in stream:
                yield event

    return in_a_loop(events)


def claude_create(url: str, history: list[object]) -> Iterator[object]:
    with anthropic_sdk.Anthropic(api_key="k", base_url=url, max_retries=0) as client:
        yield from client.messages.create(
            model="claude",
            max_tokens=99,
            messages=cast("list[MessageParam]", history),
            tools=CLAUDE_TOOLS,
            stream=True,
        )


def claude_helper_async(url: str, history: list[object]) -> Iterator[object]:
    async def events() -> AsyncIterable[object]:
        async with (
            anthropic_sdk.AsyncAnthropic(api_key="k", base_url=url, max_retries=0) as client,
            client.messages.stream(
                model="claude", max_tokens=99, messages=cast("list[MessageParam]", history)
            ) as stream,
        ):
            async for event in stream:
                yield event

    return in_a_loop(events)


def gemini_create(url: str, history: list[object]) -> Iterator[object]:
    client = genai.Client(api_key="k", http_options={"base_url": url})
    yield from client.models.generate_content_stream(
        model="gemini-3", contents=cast("ContentListUnionDict", history), config=GEMINI_TOOLS
    )


def gemini_create_async(url: str, history: list[object]) -> Iterator[object]:
    async def events() -> AsyncIterable[object]:
        client = genai.Client(api_key="k", http_options={"base_url": url}).aio
        stream = await client.models.generate_content_stream(
            model="gemini-3", contents=cast("ContentListUnionDict", history), config=GEMINI_TOOLS
        )
        async for chunk in stream:
            yield chunk

    return in_a_loop(events)


def field_of(name: str) -> Callable[[Json], list[Json]]:
    return lambda body: cast("list[Json]", body[name])


CLIENTS = {
    "openai-chat create": Client(
        "openai-chat", ChatAssembler, chat_create, _sse_server.chat_events, field_of("messages")
    ),
    "openai-chat create async": Client(
        "openai-chat", ChatAssembler, chat_create_async, _sse_server.chat_events, field_of("messages")
    ),
    "openai-chat stream": Client(
        "openai-chat", ChatAssembler, chat_helper, _sse_server.chat_events, field_of("messages")
    ),
    "openai-responses create": Client(
        "openai-responses", ResponseAssembler, response_create, _sse_server.named_events, field_of("input")
    ),
    "openai-responses stream async": Client(
        "openai-responses", ResponseAssembler, response_helper_async, _sse_server.named_events, field_of("input")
    ),
    "anthropic create": Client(
        "anthropic", MessageAssembler, claude_create, _sse_server.named_events, field_of("messages")
    ),
    "anthropic stream async": Client(
        "anthropic", MessageAssembler, claude_helper_async, _sse_server.named_events, field_of("messages")
    ),
    "gemini create": Client("gemini", ContentAssembler, gemini_create, _sse_server.plain_events, field_of("contents")),
    "gemini create async": Client(
        "gemini", ContentAssembler, gemini_create_async, _sse_server.plain_events, field_of("contents")
    ),
}
QUESTIONS: dict[str, Json] = {
    "openai-chat": {"role": "user", "content": "Read them."},
    "openai-responses": {"role": "user", "content": "Read them."},
    "anthropic": {"role": "user", "content": "Read them."},
    "gemini": {"role": "user", "parts": [{"text": "Read them."}]},
}
EVERY = pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS.keys())


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def events_of(client: Client, calls: Sequence[Said], stop: str | None, text: str = "") -> list[Json]:
    return _streams.WIRES[client.provider].events(calls, stop, text)


def feed(client: Client, assembler: Assembler, server: Server, history: Sequence[object]) -> None:
    for event in client.stream(server.url, list(history)):
        assembler.feed(event)


@requirement("assembly.sdk-streams")
@EVERY
async def test_a_streamed_round_trip_through_the_official_client(client: Client) -> None:
    wire = _streams.WIRES[client.provider]
    history: list[object] = [QUESTIONS[client.provider]]
    turns: list[Turn] = []
    with serving() as server:
        server.says(client.wire(events_of(client, CALLS, wire.stop, "Let me see.")))
        server.says(client.wire(events_of(client, [], _END_OF_TALK[client.provider], "There.")))
        async with open_supervisor(TOOLBOX) as supervisor:
            for _ in range(2):
                assembler = client.assembler()
                await trio.to_thread.run_sync(feed, client, assembler, server, history)
                turn = assembler.finish()
                turns.append(turn)
                results = await supervisor.execute_batch(turn.calls)
                history = extend_history(history, assembler.message(), turn, results)

    first, second = server.bodies
    sent = client.sent(second)
    assert client.sent(first) == [as_sent(client, QUESTIONS[client.provider])]
    assert_legal(client.provider, sent)
    assert check_history(history) == ()
    text = json.dumps(sent, ensure_ascii=False)
    assert "text of ä/a" in text
    assert 'text of \\"b\\"' in text.replace("\\\\", "\\")
    assert "`path` is required and missing" in text
    assert [len(turn.calls) for turn in turns] == [3, 0]


_END_OF_TALK = {"openai-chat": "stop", "openai-responses": "completed", "anthropic": "end_turn", "gemini": "STOP"}


def as_sent(client: Client, question: Json) -> Json:
    return {**question, "parts": [{"text": "Read them."}]} if client.provider == "gemini" else question


@requirement("assembly.sdk-streams", "assembly.same-turn")
@EVERY
async def test_what_the_client_gives_assembles_to_the_turn_of_the_whole_message(client: Client) -> None:
    wire = _streams.WIRES[client.provider]
    assembler = client.assembler()
    with serving() as server:
        server.says(client.wire(events_of(client, CALLS, wire.stop)))
        await trio.to_thread.run_sync(feed, client, assembler, server, [QUESTIONS[client.provider]])

    turn, whole = assembler.finish(), wire.parse(wire.whole(CALLS, wire.stop))

    assert list(map(_streams.meant, turn.calls)) == list(map(_streams.meant, whole.calls))
    assert (turn.wire, turn.stop_reason) == (whole.wire, whole.stop_reason)


@requirement("assembly.sdk-streams", "assembly.broken-off")
@EVERY
async def test_a_connection_that_is_lost_runs_no_call_that_may_be_cut(client: Client) -> None:
    assembler = client.assembler()
    with serving() as server:
        stream = client.wire(events_of(client, CALLS, None)).removesuffix(b"data: [DONE]\n\n")
        server.says(stream, is_cut=True)
        with suppress(Exception):  # each SDK has its own errors for this; some of them end without one
            await trio.to_thread.run_sync(feed, client, assembler, server, [QUESTIONS[client.provider]])

    turn = assembler.finish()

    assert runnable(turn) == [("read", {"path": "ä/a"}), ("read", {"path": '"b"'})][: len(turn.calls) - 1]
    assert codes(turn)[-1] == "TRUNCATED_CALL"
    assert turn.calls
