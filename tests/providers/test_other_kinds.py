"""Everything that streams and messages hold beside calls: all kinds that the official SDKs know, and those to come."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random
from typing import Final, cast

import anthropic.types as claude
import pytest
from anthropic.types import beta as claude_beta
from google.genai import types as genai
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionAssistantMessageParam
from openai.types.responses import ResponseOutputItem, ResponseStreamEvent
from pydantic import BaseModel, TypeAdapter

from armory_trio.providers import check_history, extend_history
from armory_trio.providers.anthropic import MessageAssembler
from armory_trio.providers.openai import ChatAssembler, ResponseAssembler
from tests.requirements import requirement

from ._kinds import kinds_of, made
from ._results import entries, run
from ._streams import (
    WIRES,
    Json,
    anthropic_end,
    anthropic_start,
    anthropic_stop,
    chat_chunk,
    gemini_chunk,
    response,
    runnable,
    said,
)

CALL: Final = said("call_1", "read", {"path": "a b"})
RAN: Final = [("read", {"path": "a b"})]
CHANCES: Final = st.integers(0, 2**32).map(Random)


def kind_of(model: type[BaseModel]) -> str:
    [found, *_] = cast("tuple[str, ...]", getattr(model.model_fields["type"].annotation, "__args__", ("",)))
    return found


def named(*unions: object, but: Sequence[str] = ()) -> dict[str, type[BaseModel]]:
    models = [model for union in unions for model in kinds_of(union)]
    return {f"{model.__name__}": model for model in models if kind_of(model) not in but}


_OF_CALLS: Final = (
    *("response.output_item.added", "response.output_item.done", "response.function_call_arguments.delta"),
    *("response.function_call_arguments.done", "response.completed", "response.incomplete", "response.failed", "error"),
)
EVENTS: Final = named(ResponseStreamEvent, but=_OF_CALLS)
ITEMS: Final = named(ResponseOutputItem, but=("function_call",))
BLOCKS: Final = named(claude.ContentBlock, claude_beta.BetaContentBlock, but=("tool_use", "fallback"))
DELTAS: Final = named(claude.RawContentBlockDelta, claude_beta.BetaRawContentBlockDelta, but=("input_json_delta",))


@requirement("assembly.other-kinds")
@pytest.mark.parametrize("model", EVENTS.values(), ids=EVENTS.keys())
@given(chance=CHANCES)
def test_no_other_event_of_a_response_touches_its_calls(model: type[BaseModel], chance: Random) -> None:
    assembler, events = ResponseAssembler(), WIRES["openai-responses"].events([CALL], "completed", "")
    for at, event in enumerate(events):
        if at == 3:
            assembler.feed(made(model, chance))
        assembler.feed(event)

    turn = assembler.finish()

    assert (runnable(turn), turn.others) == (RAN, ())


@requirement("assembly.other-kinds", "providers.other-calls")
@pytest.mark.parametrize("model", ITEMS.values(), ids=ITEMS.keys())
@given(chance=CHANCES)
def test_no_other_item_of_a_response_is_a_call_of_ours(model: type[BaseModel], chance: Random) -> None:
    item = made(model, chance)
    *events, end = WIRES["openai-responses"].events([CALL], "completed", "")
    own = entries(cast("Json", end["response"]), "output")
    assembler = ResponseAssembler()
    for event in (
        *events,
        {"type": "response.output_item.added", "output_index": 1, "item": item},
        {"type": "response.output_item.done", "output_index": 1, "item": item},
        {"type": "response.completed", "response": response("completed", [*own, item])},
    ):
        assembler.feed(event)

    turn, output = assembler.finish(), entries(assembler.message(), "output")

    assert runnable(turn) == RAN
    assert [each["type"] for each in output] == ["function_call", kind_of(model)]
    json.dumps(output)
    if kind_of(model) not in ("custom_tool_call", "custom_tool_call_output", "function_call_output"):
        history = extend_history([], assembler.message(), turn, run(turn))
        assert check_history(history) == ()
        assert check_history(history, provider="openai-responses") == ()


@requirement("assembly.other-kinds", "providers.other-calls")
@pytest.mark.parametrize("model", BLOCKS.values(), ids=BLOCKS.keys())
@given(chance=CHANCES)
def test_no_other_block_of_a_message_is_a_call_of_ours(model: type[BaseModel], chance: Random) -> None:
    block = made(model, chance)
    *events, _, _ = WIRES["anthropic"].events([CALL], "tool_use", "")
    assembler = MessageAssembler()
    for event in (*events, anthropic_start(1, cast("Json", block)), anthropic_stop(1), *anthropic_end()):
        assembler.feed(event)

    turn = assembler.finish()

    assert runnable(turn) == RAN
    assert [each["type"] for each in entries(assembler.message())] == ["tool_use", kind_of(model)]
    history = extend_history([], assembler.message(), turn, run(turn))
    json.dumps(history)
    assert check_history(history) == ()


@requirement("assembly.other-kinds")
@pytest.mark.parametrize("model", DELTAS.values(), ids=DELTAS.keys())
@given(chance=CHANCES)
def test_no_other_delta_of_a_message_touches_its_calls(model: type[BaseModel], chance: Random) -> None:
    assembler, events = MessageAssembler(), WIRES["anthropic"].events([CALL], "tool_use", "")
    for at, event in enumerate(events):
        if at == 3:
            assembler.feed({"type": "content_block_delta", "index": 7, "delta": made(model, chance)})
        assembler.feed(event)

    assert runnable(assembler.finish()) == RAN


@requirement("assembly.other-kinds")
@given(chance=CHANCES)
def test_no_other_part_of_a_content_is_a_call_of_ours(chance: Random) -> None:
    part = made(genai.Part, chance)
    part.function_call = None
    assembler, events = WIRES["gemini"].assembler(), WIRES["gemini"].events([CALL], "STOP", "")
    for event in (*events[:-1], gemini_chunk([part]), events[-1]):
        assembler.feed(event)

    assert runnable(assembler.finish()) == RAN
    genai.Content.model_validate(assembler.message())


def block_events(start: Json, *deltas: Json) -> list[Json]:
    return [
        anthropic_start(0, start),
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        anthropic_stop(0),
    ]


_CITED: Final[Json] = {"type": "char_location", "cited_text": "c", "document_index": 0}
GROWN: Final[dict[str, tuple[list[Json], Json]]] = {
    "a compaction": (
        block_events(
            {"type": "compaction", "content": None, "encrypted_content": None},
            {"type": "compaction_delta", "content": "what was said", "encrypted_content": "sealed"},
        ),
        {"type": "compaction", "content": "what was said", "encrypted_content": "sealed"},
    ),
    "a compaction that failed": (
        block_events({"type": "compaction", "content": None}, {"type": "compaction_delta", "content": None}),
        {"type": "compaction", "content": None},
    ),
    "a signature that comes twice": (
        block_events(
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": "hm"},
            {"type": "signature_delta", "signature": "signed"},
            {"type": "signature_delta", "signature": "signed"},
        ),
        {"type": "thinking", "thinking": "hm", "signature": "signed"},
    ),
}


@requirement("assembly.other-kinds")
@pytest.mark.parametrize(("events", "expected"), GROWN.values(), ids=GROWN.keys())
def test_what_deltas_say_of_other_blocks_is_in_the_history(events: list[Json], expected: Json) -> None:
    assembler = MessageAssembler()
    for event in (*events, *anthropic_end("end_turn")):
        assembler.feed(event)

    assert assembler.message()["content"] == [expected]


@requirement("assembly.other-kinds")
def test_a_citation_belongs_to_the_block_of_its_index() -> None:
    assembler = MessageAssembler()
    for event in (
        *(anthropic_start(at, {"type": "text", "text": "said"}) for at in (0, 1)),
        {"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta", "citation": _CITED}},
        *(anthropic_stop(at) for at in (0, 1)),
        *anthropic_end("end_turn"),
    ):
        assembler.feed(event)

    cited, plain = entries(assembler.message())
    assert cited["citations"] == [_CITED]
    assert "citations" not in plain


@requirement("assembly.other-kinds")
def test_what_was_spoken_stands_in_the_history_by_its_id() -> None:
    assembler = ChatAssembler()
    for delta in (
        {"role": "assistant", "content": None},
        {"audio": {"id": "audio_1", "transcript": "Hel"}},
        {"audio": {"transcript": "lo", "data": "AAAA"}},
        {"audio": {"expires_at": 1}},
    ):
        assembler.feed(chat_chunk(cast("Json", delta)))
    assembler.feed(chat_chunk({}, "stop"))

    assert assembler.message() == {"role": "assistant", "content": None, "audio": {"id": "audio_1"}}
    TypeAdapter(ChatCompletionAssistantMessageParam).validate_python(assembler.message())
    assert extend_history([], assembler.message(), assembler.finish(), []) == [assembler.message()]


@requirement("assembly.other-kinds", "assembly.matching")
def test_an_item_that_has_no_id_of_its_own_is_known_by_that_of_its_call() -> None:
    item: Json = {"type": "custom_tool_call", "call_id": "call_7", "name": "shell", "input": "ls"}
    assembler = ResponseAssembler()
    for event in (
        {"type": "response.output_item.added", "item": {**item, "input": ""}},
        {"type": "response.output_item.done", "item": item},
        {"type": "response.completed", "response": response("completed", [{"type": "reasoning", "summary": []}, item])},
    ):
        assembler.feed(event)

    assert [other.id for other in assembler.finish().others] == ["call_7"]
    assert [each for each in entries(assembler.message(), "output") if each["type"] != "reasoning"] == [item]
