"""Streams whose routing is damaged, and streams that are nonsense: nothing runs that was not said."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final, Literal, NamedTuple, cast

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from armory_trio.providers import Assembler, MessageError, Turn
from tests.requirements import requirement

from ._results import run
from ._streams import (
    WIRES,
    Wire,
    anthropic_delta,
    anthropic_end,
    anthropic_start,
    anthropic_stop,
    assembled,
    chat_chunk,
    chat_delta,
    pieces,
    runnable,
    tool_use,
)

Json = dict[str, object]
When = Literal["first", "every", "never"]


class Piece(NamedTuple):
    """One fragment, and whose it really is."""

    owner: int
    is_first: bool
    text: str


class Spoken(NamedTuple):
    """What the model said: calls that are all different, their fragments in the order of the stream."""

    names: list[str]
    fragments: list[Piece]
    is_mixed: bool


def arguments_of(owner: int) -> Json:
    return {"me": owner, "list": [owner, {"me": owner}], "text": f"{{{owner}}}"}


@st.composite
def spoken(draw: st.DrawFn) -> Spoken:
    count = draw(st.integers(1, 3))
    names = [draw(st.sampled_from(["f", "g"])) for _ in range(count)]
    queues: list[list[Piece]] = []
    for owner in range(count):
        text = json.dumps(arguments_of(owner))
        texts = ["", *pieces(text, *draw(st.lists(st.integers(1, len(text)), max_size=4)))]
        queues.append([Piece(owner, not at, piece) for at, piece in enumerate(texts)])
    fragments: list[Piece] = []
    is_mixed = draw(st.booleans())
    while any(queues):
        waiting = [queue for queue in queues if queue]
        queue = draw(st.sampled_from(waiting)) if is_mixed else waiting[0]
        fragments.append(queue.pop(0))
    return Spoken(names, fragments, is_mixed)


WHENS: Final = st.sampled_from(["first", "every", "never"])
INDICES: Final[dict[str, Callable[[int, int], int | None]]] = {
    "right": lambda owner, at: owner,
    "from 1": lambda owner, at: owner + 1,
    "none": lambda owner, at: None,
    "always 0": lambda owner, at: 0,
    "counted on": lambda owner, at: at,
}


def has_each_once(turn: Turn, said: Spoken) -> None:
    """What runs are calls that were said, and none of them twice."""
    true = [(name, arguments_of(owner)) for owner, name in enumerate(said.names)]
    for call in runnable(turn):
        assert call in true
        true.remove((call[0], dict(call[1])))


@requirement("assembly.never-uncertain", "assembly.matching")
@settings(max_examples=300)
@given(spoken(), st.sampled_from(sorted(INDICES)), WHENS, st.sampled_from(["first", "every"]), st.booleans())
def test_chat_chunks_with_damaged_routing_never_mix_two_calls(
    said: Spoken, index: str, ids: When, names: When, ends: bool
) -> None:
    # An index of its own and a name are what the protocol says of a new call: such a lie can't be told from the truth.
    assume(not (index == "counted on" and names == "every"))
    events = [
        chat_delta(
            INDICES[index](piece.owner, at),
            f"id_{piece.owner}" if ids == "every" or (ids == "first" and piece.is_first) else None,
            said.names[piece.owner] if names == "every" or piece.is_first else None,
            piece.text,
        )
        for at, piece in enumerate(said.fragments)
    ]

    turn = assembled(WIRES["openai-chat"].assembler(), [*events, *([chat_chunk({}, "tool_calls")] if ends else [])])

    has_each_once(turn, said)
    if ends and index in ("right", "from 1"):
        assert len(runnable(turn)) == len(said.names)
    if ends and ids == "every" and index != "counted on":
        assert len(runnable(turn)) == len(said.names)
    if not ends and not said.is_mixed and index == "right":
        assert len(runnable(turn)) == len(said.names) - 1


@requirement("assembly.never-uncertain", "assembly.matching")
@given(spoken(), st.sampled_from(sorted(INDICES)), st.booleans(), st.booleans())
def test_anthropic_events_with_damaged_routing_never_mix_two_calls(
    said: Spoken, index: str, stops: bool, ends: bool
) -> None:
    events: list[Json] = []
    for at, piece in enumerate(said.fragments):
        place = INDICES[index](piece.owner, at)
        if piece.is_first:
            events.append(anthropic_start(place, tool_use(f"id_{piece.owner}", said.names[piece.owner])))
        events.append(anthropic_delta(place, piece.text))
        if stops and piece.owner not in {later.owner for later in said.fragments[at + 1 :]}:
            events.append(anthropic_stop(place))

    turn = assembled(WIRES["anthropic"].assembler(), [*events, *(anthropic_end() if ends else [])])

    has_each_once(turn, said)
    if ends and index in ("right", "from 1"):
        assert len(runnable(turn)) == len(said.names)


_WORDS: Final = st.sampled_from(
    ["", "x", "f", "{}", "{", "}", '{"a":1}', "stop", "length", "STOP", "$.a", "function", "\ud800"]
)
_LEAVES: Final = st.none() | st.booleans() | st.integers(-2, 3) | _WORDS
_KEYS: Final = st.sampled_from(
    [
        "type",
        "index",
        "id",
        "name",
        "text",
        "role",
        "delta",
        "message",
        "choices",
        "tool_calls",
        "function",
        "arguments",
        "finish_reason",
        "content",
        "error",
        "content_block",
        "partial_json",
        "stop_reason",
        "input",
        "item",
        "output",
        "item_id",
        "call_id",
        "output_index",
        "response",
        "status",
        "candidates",
        "parts",
        "functionCall",
        "args",
        "partialArgs",
        "jsonPath",
        "stringValue",
        "willContinue",
        "finishReason",
        "custom",
    ]
)
_TYPES: Final = st.sampled_from(
    [
        *("message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta"),
        *("message_stop", "error", "tool_use", "text", "input_json_delta", "text_delta", "function_call", "chunk"),
        *("response.output_item.added", "response.output_item.done", "response.completed", "response.incomplete"),
        *("response.function_call_arguments.delta", "response.function_call_arguments.done", "citations_delta"),
    ]
)


def _typed(kind: str, rest: Json) -> Json:
    return {**rest, "type": kind}


_JUNK: Final[st.SearchStrategy[object]] = st.recursive(
    _LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(_KEYS, inner, max_size=5)
        | st.builds(_typed, _TYPES, st.dictionaries(_KEYS, inner, max_size=5))
    ),
    max_leaves=12,
)


def chat_junk(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    entry = st.fixed_dictionaries(
        {},
        optional={
            "index": inner,
            "id": inner,
            "function": st.fixed_dictionaries({}, optional={"name": inner, "arguments": inner}),
        },
    )
    delta = st.fixed_dictionaries({}, optional={"tool_calls": st.lists(entry, max_size=3), "content": inner})
    choice = st.fixed_dictionaries({"delta": delta}, optional={"finish_reason": inner, "index": inner})
    return st.fixed_dictionaries({"choices": st.lists(choice, max_size=2)})


def anthropic_junk(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    block = st.fixed_dictionaries({"type": st.just("tool_use")}, optional={"id": inner, "name": inner, "input": inner})
    delta = st.fixed_dictionaries({"type": st.just("input_json_delta")}, optional={"partial_json": inner})
    stop = st.fixed_dictionaries({}, optional={"stop_reason": inner})
    return st.fixed_dictionaries(
        {
            "type": st.sampled_from(
                ["content_block_start", "content_block_delta", "content_block_stop", "message_delta"]
            )
        },
        optional={"index": inner, "content_block": block, "delta": st.one_of(delta, stop)},
    )


def responses_junk(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    item = st.fixed_dictionaries(
        {"type": st.just("function_call")},
        optional={"id": inner, "call_id": inner, "name": inner, "arguments": inner, "status": inner},
    )
    finished = st.fixed_dictionaries({}, optional={"status": inner, "output": st.lists(item, max_size=2)})
    return st.fixed_dictionaries(
        {"type": _TYPES},
        optional={
            "item": item,
            "response": finished,
            "delta": inner,
            "arguments": inner,
            "item_id": inner,
            "output_index": inner,
        },
    )


def gemini_junk(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    value = st.fixed_dictionaries(
        {}, optional={"jsonPath": inner, "stringValue": inner, "numberValue": inner, "willContinue": inner}
    )
    call = st.fixed_dictionaries(
        {},
        optional={
            "id": inner,
            "name": inner,
            "args": inner,
            "willContinue": inner,
            "partialArgs": st.lists(value, max_size=2),
        },
    )
    part = st.fixed_dictionaries({}, optional={"functionCall": call, "text": inner})
    candidate = st.fixed_dictionaries(
        {"content": st.fixed_dictionaries({"parts": st.lists(part, max_size=2)})}, optional={"finishReason": inner}
    )
    return st.fixed_dictionaries({"candidates": st.lists(candidate, max_size=2)})


SHAPED: Final = {
    "openai-chat": chat_junk(_LEAVES),
    "openai-responses": responses_junk(_LEAVES),
    "anthropic": anthropic_junk(_LEAVES),
    "gemini": gemini_junk(_LEAVES),
}


def finished(assembler: Assembler) -> Turn | None:
    """The turn; None where only choices came that were not asked for."""
    try:
        return assembler.finish()
    except MessageError as error:
        assert "expected one with the index 0" in str(error)  # the only thing that may be wrong at the end
        return None


@requirement("assembly.never-uncertain")
@pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES.keys())
@given(data=st.data())
def test_any_events_are_a_turn_or_one_of_our_errors(wire: Wire, data: st.DataObject) -> None:
    assembler = wire.assembler()
    shaped: st.SearchStrategy[object] = SHAPED[wire.provider]
    events = data.draw(st.lists(st.one_of(shaped, shaped, _JUNK), max_size=8))
    for event in events:
        try:
            assembler.feed(event)
        except MessageError:
            continue

    turn = finished(assembler)
    if turn is None:
        return

    assert turn.provider == wire.provider
    assert len(assembler.previews) == len(turn.calls)
    assert all(not call.arguments for call in turn.calls if call.defect is not None)
    assert assembler.finish() is turn
    turn.reply(run(turn))
    json.dumps(assembler.message())


@requirement("assembly.never-uncertain")
@pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES.keys())
@given(data=st.data())
def test_without_an_end_the_call_that_came_last_never_runs(wire: Wire, data: st.DataObject) -> None:
    events = data.draw(st.lists(SHAPED[wire.provider], min_size=1, max_size=6))
    assembler = wire.assembler()
    for event in events:
        try:
            assembler.feed(event)
        except MessageError:
            continue

    turn = finished(assembler)
    if turn is None:
        return

    empty: list[Json] = [{}]
    parts: object = assembler.message().get("content") or assembler.message().get("parts") or empty
    is_last = not isinstance(parts, list) or bool({"input", "functionCall"} & set(cast("list[Json]", parts)[-1]))
    if turn.calls and not turn.others and not assembler.has_ended and is_last:
        assert turn.calls[-1].defect is not None
