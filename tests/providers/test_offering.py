"""What a provider is offered of a toolbox, and what comes back."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Final, Literal, cast

import anthropic as anthropic_sdk
import openai as openai_sdk
import pytest
import trio
from anthropic.types import ToolChoiceParam, ToolUnionParam
from google import genai
from google.genai import types as genai_types
from openai.types.chat import ChatCompletionToolChoiceOptionParam, ChatCompletionToolUnionParam
from openai.types.responses import (
    FunctionToolParam,
    ToolChoiceAllowedParam,
    ToolChoiceFunctionParam,
    ToolChoiceOptions,
    ToolParam,
)
from pydantic import TypeAdapter

from armory_trio import DefinitionError, Risk, Tool, Toolbox, define_tool, open_supervisor, tool
from armory_trio.authority.policy import Gates
from armory_trio.providers import Turn, anthropic, compile_toolbox, compile_tools, gemini, openai
from armory_trio.providers import _manifest as compiling  # pyright: ignore[reportPrivateUsage]  # what is kept shows nowhere else
from armory_trio.toolbox import Manifest, ProviderName, Strictness
from tests.requirements import requirement

from . import _sse_server
from ._bfcl import definitions
from ._server import serving

Json = dict[str, object]
PROVIDERS: Final[tuple[ProviderName, ...]] = (
    *("openai-chat", "openai-responses", "anthropic", "gemini", "gemini-openapi", "common"),
)
every_provider = pytest.mark.parametrize("provider", PROVIDERS)


@tool(effect="read-only", namespace="rooms")
def book(
    room: Literal[101, 201], guests: Annotated[dict[str, int], "Age by name."], note: str | None = None, nights: int = 1
) -> str:
    """Book a room."""
    return f"{room!r} {guests!r} {note!r} {nights!r}"


@tool(risk=Risk(dangerous=True), name="drop table")
def drop(table: str) -> str:
    """Drop a table."""
    return table


def execute(arguments: dict[str, object]) -> object:
    return arguments


def made(name: str, *, namespace: str = "default", version: str | None = None) -> Tool[..., object]:
    if version is None:
        return define_tool(execute=execute, name=name, namespace=namespace, description=name, input={})
    return define_tool(execute=execute, name=name, namespace=namespace, version=version, description=name, input={})


BOX: Final = Toolbox([book, made("pipe(a, b)"), made("list_files")])

# ── the official types and clients ───────────────────────────────────────────────────────────────────────────────────


def settled(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: settled(each) for key, each in cast("Mapping[str, object]", value).items()}
    if not isinstance(value, str) and hasattr(value, "__iter__"):
        return [settled(each) for each in cast("list[object]", value)]
    return value


@cache
def adapter_of(kind: object) -> TypeAdapter[object]:
    """The validator of an SDK's type. Some are unions of many large types: one takes a quarter of a second to build."""
    return TypeAdapter(cast("type[object]", kind))


def accepted(kind: object, value: object) -> None:
    """Assert that an SDK's type takes *value* and loses nothing of it."""
    assert settled(adapter_of(kind).validate_python(value)) == value


CHOICE_OF_RESPONSES: Final = ToolChoiceOptions | ToolChoiceFunctionParam | ToolChoiceAllowedParam


def accepted_by_the_sdk(manifest: Manifest, choices: list[Json]) -> None:
    match manifest.provider:
        case "openai-chat" | "common":
            for each in manifest.tools:
                accepted(ChatCompletionToolUnionParam, each)
            for choice in choices:
                accepted(ChatCompletionToolChoiceOptionParam, choice["tool_choice"])
        case "openai-responses":
            for each in manifest.tools:
                accepted(FunctionToolParam, each)
            for choice in choices:
                accepted(CHOICE_OF_RESPONSES, choice["tool_choice"])
        case "anthropic":
            for each in manifest.tools:
                accepted(ToolUnionParam, each)
            for choice in choices:
                accepted(ToolChoiceParam, choice["tool_choice"])
        case _:
            for each in manifest.tools:
                dumped = genai_types.Tool.model_validate(each).model_dump(mode="json", by_alias=True, exclude_none=True)
                assert dumped == each
            for choice in choices:
                config = genai_types.ToolConfig.model_validate(choice["toolConfig"])
                assert config.model_dump(mode="json", by_alias=True, exclude_none=True) == choice["toolConfig"]


@requirement("offering.sdk-accepts")
@every_provider
@pytest.mark.parametrize("strict", [True, False, "auto"])
def test_the_sdks_own_types_take_what_is_offered(provider: ProviderName, strict: Strictness) -> None:
    manifest = BOX.to_provider(provider, strict=strict)

    choices = [
        manifest.choose(),
        manifest.choose(mode="required"),
        manifest.choose("book"),
        manifest.choose(mode="none"),
    ]
    if provider not in ("anthropic", "common"):
        choices += [manifest.choose("book", "list_files"), manifest.choose("book", mode="auto")]
    accepted_by_the_sdk(manifest, choices)


@cache
def public_tools() -> list[Tool[..., object]]:
    return [
        define_tool(
            execute=execute,
            name=each.id.name,
            version=str(each.id.version),
            description=each.description,
            input={"schema": each.input_schema, "parse": dict},
        )
        for each in definitions()[::6]
    ]


@requirement("offering.sdk-accepts", "compiling.bfcl")
@every_provider
def test_the_sdks_own_types_take_the_public_data(provider: ProviderName) -> None:
    manifest = compile_tools(public_tools(), provider, naming="id")

    assert len(manifest) > 500
    accepted_by_the_sdk(manifest, [])


@requirement("offering.sdk-accepts", "offering.parsed")
def test_openais_client_sends_the_manifest_as_it_is() -> None:
    manifest = BOX.to_openai(strict=True)
    arguments = '{"room": 101, "guests": [{"key": "Ann", "value": 7}], "note": null, "nights": null}'
    call = {"id": "c1", "type": "function", "function": {"name": "book", "arguments": arguments}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    answer = {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}],
    }
    with serving(answer) as server, openai_sdk.OpenAI(api_key="k", base_url=server.url) as client:
        response = client.chat.completions.create(
            model="m",
            messages=[{"role": "user", "content": "hi"}],
            tools=cast("list[ChatCompletionToolUnionParam]", manifest.tools),
            tool_choice=cast("ChatCompletionToolChoiceOptionParam", manifest.choose("book")["tool_choice"]),
        )

    assert server.sent[0]["tools"] == manifest.tools
    assert server.sent[0]["tool_choice"] == {"type": "function", "function": {"name": "book"}}
    (called,) = openai.parse_chat_tool_calls(response, manifest=manifest).calls
    assert called.arguments == {"room": 101, "guests": {"Ann": 7}, "note": None}


WRITTEN: Final = '{"room": 101, "guests": [{"key": "Ann", "value": 7}], "note": null, "nights": null}'
ITEM: Final[Json] = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "book", "status": "completed"}
_FIXED: Final[Json] = {"id": "r", "object": "response", "created_at": 0, "model": "m", "tools": []}
RESPONSE: Final[Json] = {
    **_FIXED,
    "status": "completed",
    "tool_choice": "auto",
    "parallel_tool_calls": True,
    "output": [{**ITEM, "arguments": WRITTEN}],
}


@requirement("offering.sdk-accepts", "offering.parsed")
def test_openais_client_sends_the_manifest_of_the_responses_api_as_it_is() -> None:
    manifest = BOX.to_openai_responses(strict=True)
    with serving(RESPONSE) as server, openai_sdk.OpenAI(api_key="k", base_url=server.url) as client:
        response = client.responses.create(
            model="m",
            input="hi",
            tools=cast("list[ToolParam]", manifest.tools),
            tool_choice=cast("ToolChoiceFunctionParam", manifest.choose("book", parallel=False)["tool_choice"]),
            parallel_tool_calls=cast("bool", manifest.choose("book", parallel=False)["parallel_tool_calls"]),
        )

    assert server.sent[0]["tools"] == manifest.tools
    assert server.sent[0]["tool_choice"] == {"type": "function", "name": "book"}
    assert server.sent[0]["parallel_tool_calls"] is False
    (called,) = openai.parse_response_tool_calls(response, manifest=manifest).calls
    assert called.arguments == {"room": 101, "guests": {"Ann": 7}, "note": None}


@requirement("offering.sdk-accepts", "offering.parsed", "assembly.manifest")
async def test_openais_client_streams_a_response_to_the_manifest_that_it_sent() -> None:
    manifest = BOX.to_openai_responses(strict=True)
    place: Json = {"output_index": 0, "item_id": "fc_1"}
    events: list[Json] = [
        {"type": "response.created", "response": {**RESPONSE, "status": "in_progress", "output": []}},
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": {**ITEM, "arguments": "", "status": "in_progress"},
        },
        *({"type": "response.function_call_arguments.delta", "delta": each, **place} for each in WRITTEN),
        {"type": "response.function_call_arguments.done", "arguments": WRITTEN, "name": "book", **place},
        {"type": "response.output_item.done", "output_index": 0, "item": {**ITEM, "arguments": WRITTEN}},
        {"type": "response.completed", "response": RESPONSE},
    ]
    numbered = [{**event, "sequence_number": number} for number, event in enumerate(events)]
    assembler = openai.ResponseAssembler(manifest=manifest)

    def stream(url: str) -> None:
        with openai_sdk.OpenAI(api_key="k", base_url=url, max_retries=0) as client:
            for event in client.responses.create(
                model="m", input="hi", tools=cast("list[ToolParam]", manifest.tools), stream=True
            ):
                assembler.feed(event)

    with _sse_server.serving() as server:
        server.says(_sse_server.named_events(numbered))
        await trio.to_thread.run_sync(stream, server.url)

    (called,) = assembler.finish().calls
    assert server.bodies[0]["tools"] == manifest.tools
    assert (called.name, called.arguments) == ("book", {"room": 101, "guests": {"Ann": 7}, "note": None})
    assert assembler.message()["output"] == [{**ITEM, "arguments": WRITTEN}]


@requirement("offering.sdk-accepts", "offering.parsed")
def test_anthropics_client_sends_the_manifest_as_it_is() -> None:
    manifest = BOX.to_anthropic(strict=True)
    block = {
        "type": "tool_use",
        "id": "t1",
        "name": "book",
        "input": {"room": 201, "guests": [{"key": "Bo", "value": 3}]},
    }
    answer = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [block],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    with serving(answer) as server, anthropic_sdk.Anthropic(api_key="k", base_url=server.url) as client:
        response = client.messages.create(
            model="m",
            max_tokens=9,
            messages=[{"role": "user", "content": "hi"}],
            tools=cast("list[ToolUnionParam]", manifest.tools),
            tool_choice=cast("ToolChoiceParam", manifest.choose(parallel=False)["tool_choice"]),
        )

    assert server.sent[0]["tools"] == manifest.tools
    assert server.sent[0]["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}
    (called,) = anthropic.parse_tool_calls(response, manifest=manifest).calls
    assert called.arguments == {"room": 201, "guests": {"Bo": 3}}


@requirement("offering.sdk-accepts", "offering.parsed")
@pytest.mark.parametrize("provider", ["gemini", "gemini-openapi"])
def test_geminis_client_sends_the_manifest_as_it_is(provider: Literal["gemini", "gemini-openapi"]) -> None:
    manifest = BOX.to_provider(provider)
    plain = provider == "gemini"
    arguments: Json = (
        {"room": 101, "guests": {"Ann": 7}} if plain else {"room": "101", "guests": [{"key": "Ann", "value": 7}]}
    )
    content = {"role": "model", "parts": [{"functionCall": {"name": "book", "args": arguments}}]}
    with serving({"candidates": [{"content": content, "finishReason": "STOP"}]}) as server:
        client = genai.Client(api_key="k", http_options=genai_types.HttpOptions(base_url=server.url))
        response = client.models.generate_content(
            model="gemini-3-pro",
            contents="hi",
            config=genai_types.GenerateContentConfig(
                tools=[genai_types.Tool.model_validate(each) for each in manifest.tools],
                tool_config=genai_types.ToolConfig.model_validate(manifest.choose("book")["toolConfig"]),
                automatic_function_calling=genai_types.AutomaticFunctionCallingConfig(disable=True),
            ),
        )
        client.close()

    sent = json.dumps(server.sent[0]["tools"]).replace("parameters_json_schema", "parametersJsonSchema")
    assert json.loads(sent) == manifest.tools  # the client spells a name otherwise, which the API takes as well
    assert server.sent[0]["toolConfig"] == {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["book"]}}
    (called,) = gemini.parse_tool_calls(response, manifest=manifest).calls
    assert called.arguments == {"room": 101, "guests": {"Ann": 7}}


# ── the way back ─────────────────────────────────────────────────────────────────────────────────────────────────────


def turns(manifest: Manifest, name: str, arguments: Json) -> Turn:
    match manifest.provider:
        case "anthropic":
            return anthropic.parse_tool_calls(
                {"content": [{"type": "tool_use", "id": "1", "name": name, "input": arguments}]}, manifest=manifest
            )
        case "openai-responses":
            item = {"type": "function_call", "call_id": "1", "name": name, "arguments": arguments}
            return openai.parse_response_tool_calls({"output": [item]}, manifest=manifest)
        case "gemini" | "gemini-openapi":
            return gemini.parse_tool_calls(
                {"parts": [{"functionCall": {"name": name, "args": arguments}}]}, manifest=manifest
            )
        case _:
            call = {"id": "1", "type": "function", "function": {"name": name, "arguments": arguments}}
            return openai.parse_chat_tool_calls({"role": "assistant", "tool_calls": [call]}, manifest=manifest)


@requirement("offering.parsed", "compiling.way-back")
@every_provider
@pytest.mark.parametrize("strict", [True, False, "auto"])
async def test_what_a_model_wrote_runs_as_it_was_meant(provider: ProviderName, strict: Strictness) -> None:
    manifest = BOX.to_provider(provider, strict=strict, naming="id")
    (wire,) = [each.wire for each in manifest.offered if each.id == "rooms:book"]
    turn = turns(manifest, wire, dict(manifest.write("rooms:book", {"room": 201, "guests": {"Ann": 7}})))

    async with open_supervisor(BOX) as supervisor:
        (result,) = await supervisor.execute_batch(turn.calls)

    assert turn.calls[0].name == "rooms:book"
    assert result.unwrap() == "201 {'Ann': 7} None 1"
    assert wire in str(turn.reply([result])) or provider.startswith(("openai", "anthropic", "common"))


@requirement("offering.parsed")
@every_provider
def test_a_name_that_was_not_offered_stays_and_a_broken_call_has_no_arguments(provider: ProviderName) -> None:
    manifest = BOX.to_provider(provider)

    assert turns(manifest, "nobody", {"a": 1}).calls[0].name == "nobody"
    assert turns(manifest, "nobody", {"a": 1}).calls[0].arguments == {"a": 1}
    broken = turns(manifest, "book", cast("Json", [1]))
    assert broken.calls[0].defect is not None
    assert broken.calls[0].arguments == {}


@requirement("offering.parsed")
def test_names_and_a_manifest_may_come_together() -> None:
    manifest = BOX.to_openai()
    calls = [
        {"id": str(n), "type": "function", "function": {"name": name, "arguments": "{}"}}
        for n, name in enumerate(["old", "pipe_a_b_a6ed823a"])
    ]

    turn = openai.parse_chat_tool_calls(calls, names={"old": "list_files"}, manifest=manifest)

    assert [call.name for call in turn.calls] == ["list_files", "pipe(a, b)"]


@requirement("offering.parsed")
def test_arguments_that_do_not_fit_are_written_as_they_are() -> None:
    manifest = BOX.to_openai(strict=True)

    assert manifest.write("book", {"guests": "nobody"}) == {"guests": "nobody"}
    assert manifest.write("nobody", {"a": 1}) == {"a": 1}
    assert manifest.write("rooms:book", {"room": 101, "guests": {}}) == {
        "room": 101,
        "guests": [],
        "note": None,
        "nights": None,
    }


# ── what is offered ──────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("offering.doors")
def test_a_toolbox_has_a_door_for_each_provider() -> None:
    assert BOX.to_openai().provider == "openai-chat"
    assert BOX.to_openai_responses().provider == "openai-responses"
    assert BOX.to_anthropic().provider == "anthropic"
    assert BOX.to_gemini().provider == "gemini"
    assert BOX.to_provider("common").tools == compile_toolbox(BOX, "common").tools
    assert repr(BOX.to_gemini()) == "<Manifest for gemini: 3 tools>"
    assert len(BOX.to_gemini()) == 3


@requirement("offering.doors")
def test_nothing_of_the_providers_is_loaded_before_a_door_is_opened() -> None:
    code = "import sys, armory_trio; t = armory_trio.Toolbox(); print('armory_trio.providers' in sys.modules); t.to_gemini(); print('armory_trio.providers' in sys.modules)"

    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()

    assert told == ["False", "True"]


@requirement("offering.doors")
def test_an_empty_toolbox_offers_nothing() -> None:
    assert Toolbox().to_gemini().tools == []
    assert Toolbox().to_openai().tools == []


@requirement("offering.doors")
def test_what_is_handed_out_is_the_callers_to_change() -> None:
    manifest = BOX.to_openai()
    first = manifest.tools

    cast("Json", cast("Json", first[0]["function"])["parameters"]).clear()

    assert manifest.tools != first
    assert BOX.to_openai().tools == manifest.tools


@requirement("offering.names")
def test_names_are_mapped_and_ids_tell_namespaces_and_versions_apart() -> None:
    box = Toolbox([made("x"), made("x", namespace="other"), made("x", version="2.0.0")])

    assert [each.id for each in box.to_openai().offered] == ["default:x@2.0.0"]
    by_id = box.to_openai(naming="id")
    assert list(by_id.names.values()) == ["default:x", "other:x", "default:x@2.0.0"]
    assert len(set(by_id.names)) == 3
    with pytest.raises(DefinitionError, match="call them by their ids"):
        compile_tools(box.tools, "openai-chat")


@requirement("offering.available")
async def test_a_tool_that_says_when_it_is_available_is_offered_only_when_it_was_asked() -> None:
    shy = define_tool(
        execute=execute, name="shy", description="", input={}, availability=lambda context: context.get("on") is True
    )
    box = Toolbox([shy, made("plain")])

    with pytest.raises(DefinitionError, match=r"tools=await toolbox.available\(\)"):
        box.to_openai()
    assert [each.name for each in box.to_openai(tools=await box.available()).offered] == ["plain"]
    assert [each.name for each in box.to_openai(tools=await box.available({"on": True})).offered] == ["shy", "plain"]
    assert [each.name for each in box.to_openai(tools=["shy"]).offered] == ["shy"]


@requirement("offering.available")
def test_what_a_gate_refuses_is_never_offered() -> None:
    box = Toolbox([book, drop], gates=Gates(read_only=True))

    assert [each.name for each in box.to_anthropic().offered] == ["book"]
    assert box.to_anthropic(tools=["drop table"]).tools == []


@requirement("offering.available")
def test_a_choice_of_tools_names_what_is_there() -> None:
    assert [each.name for each in BOX.to_openai(tools=["list_files", book]).offered] == ["list_files", "book"]
    with pytest.raises(DefinitionError, match="did you mean 'list_files'"):
        BOX.to_openai(tools=["listfiles"])
    with pytest.raises(DefinitionError, match="is not in this toolbox"):
        BOX.to_openai(tools=[drop])


@requirement("offering.doors")
@pytest.mark.parametrize(
    ("options", "field"),
    [({"strict": "yes"}, "strict"), ({"naming": "title"}, "naming")],
    ids=["strict", "naming"],
)
def test_an_option_that_there_is_not_is_named(options: Json, field: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        BOX.to_provider("openai-chat", **options)  # type: ignore[arg-type]  # that is the mistake
    assert refused.value.field == field
    with pytest.raises(DefinitionError, match="did you mean 'openai-chat'"):
        BOX.to_provider("openai_chat")  # type: ignore[arg-type]  # that is the mistake


# ── which tools to call ──────────────────────────────────────────────────────────────────────────────────────────────


@requirement("offering.choice")
def test_each_form_says_what_is_to_be_called() -> None:
    box = Toolbox([made("a.b"), made("c")])
    chat, responses = box.to_openai(), box.to_openai_responses()
    wire = chat.offered[0].wire

    assert chat.choose() == {"tool_choice": "auto"}
    assert chat.choose(mode="none", parallel=True) == {"tool_choice": "none", "parallel_tool_calls": True}
    assert chat.choose("a.b") == {"tool_choice": {"type": "function", "function": {"name": wire}}}
    assert responses.choose("a.b") == {"tool_choice": {"type": "function", "name": wire}}
    assert responses.choose("a.b", "c", parallel=False) == {
        "tool_choice": {
            "type": "allowed_tools",
            "mode": "required",
            "tools": [{"type": "function", "name": wire}, {"type": "function", "name": "c"}],
        },
        "parallel_tool_calls": False,
    }
    assert box.to_anthropic().choose(mode="required", parallel=False) == {
        "tool_choice": {"type": "any", "disable_parallel_tool_use": True}
    }
    assert box.to_anthropic().choose("c") == {"tool_choice": {"type": "tool", "name": "c"}}
    assert box.to_anthropic().choose(mode="none", parallel=False) == {"tool_choice": {"type": "none"}}
    assert box.to_gemini().choose("c", mode="auto") == {
        "toolConfig": {"functionCallingConfig": {"mode": "VALIDATED", "allowedFunctionNames": ["c"]}}
    }


@requirement("offering.choice")
def test_what_a_provider_cannot_be_told_is_an_error() -> None:
    with pytest.raises(DefinitionError, match="one call at a time"):
        BOX.to_gemini().choose(parallel=False)
    with pytest.raises(DefinitionError, match="offer only these tools"):
        BOX.to_anthropic().choose("book", "list_files")
    with pytest.raises(DefinitionError, match="offer only these tools"):
        BOX.to_provider("common").choose("book", mode="auto")
    with pytest.raises(DefinitionError, match="did you mean 'book'"):
        BOX.to_openai().choose("books")
    with pytest.raises(DefinitionError, match="not one of auto"):
        BOX.to_openai().choose(mode="maybe")


# ── what is kept ─────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("compiling.kept")
def test_a_definition_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = compiling.compile_definition(book.definition, "gemini")

    assert compiling.compile_definition(book.definition, "gemini") is first
    assert compiling.compile_definition(book.definition, "gemini-openapi") is not first


@requirement("compiling.kept")
def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "_KEPT", 3)
    kept = compiling._Kept()  # pyright: ignore[reportPrivateUsage]  # likewise
    value = cast("compiling.Compiled", compiling.compile_definition(book.definition, "gemini"))

    for n in range(5):
        kept.put((str(n), "gemini", True), value)

    assert [kept.get((str(n), "gemini", True)) is value for n in range(5)] == [False, False, True, True, True]


@requirement("compiling.kept")
async def test_several_threads_may_compile_at_once() -> None:
    tools = [define_tool(execute=execute, name=f"n{n}", description="", input={}) for n in range(40)]
    told: list[int] = []

    def work() -> None:
        told.append(len(compile_tools(tools, "anthropic")))

    async with trio.open_nursery() as nursery:
        for _ in range(4):
            nursery.start_soon(trio.to_thread.run_sync, work)
    assert told == [40] * 4
