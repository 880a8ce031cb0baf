"""Whole conversations in the form of each provider, and ways to damage them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Final, NamedTuple, cast

from hypothesis import strategies as st

Json = dict[str, object]


class Round(NamedTuple):
    """What a user says, what the model says and calls, and what comes of it."""

    user: str
    said: str
    calls: list[tuple[str, str, Json]]


def chat(rounds: list[Round]) -> list[Json]:
    messages: list[Json] = [{"role": "system", "content": "be good"}]
    for round_ in rounds:
        calls: list[Json] = [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for call_id, name, arguments in round_.calls
        ]
        messages.append({"role": "user", "content": round_.user})
        messages.append({"role": "assistant", "content": round_.said, **({"tool_calls": calls} if calls else {})})
        messages.extend(
            [{"role": "tool", "tool_call_id": call_id, "content": f"done {call_id}"} for call_id, _, _ in round_.calls]
        )
    return messages


def responses(rounds: list[Round]) -> list[Json]:
    items: list[Json] = []
    for round_ in rounds:
        items.append({"role": "user", "content": round_.user})
        items.append({"type": "reasoning", "id": "rs", "summary": []})
        items.extend(
            [
                {"type": "function_call", "call_id": call_id, "name": name, "arguments": json.dumps(arguments)}
                for call_id, name, arguments in round_.calls
            ]
        )
        items.extend(
            [
                {"type": "function_call_output", "call_id": call_id, "output": f"done {call_id}"}
                for call_id, _, _ in round_.calls
            ]
        )
    return items


def anthropic(rounds: list[Round]) -> list[Json]:
    messages: list[Json] = []
    results: list[Json] = []
    for round_ in rounds:
        user: Json = {"role": "user", "content": [*results, {"type": "text", "text": round_.user}]}
        messages.append(user if results else {"role": "user", "content": round_.user})
        uses: list[Json] = [
            {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
            for call_id, name, arguments in round_.calls
        ]
        messages.append({"role": "assistant", "content": [{"type": "text", "text": round_.said}, *uses]})
        results = [
            {"type": "tool_result", "tool_use_id": call_id, "content": f"done {call_id}"}
            for call_id, _, _ in round_.calls
        ]
    return [*messages, {"role": "user", "content": results}] if results else messages


def gemini(rounds: list[Round], *, ids: bool = True) -> list[Json]:
    contents: list[Json] = []
    for round_ in rounds:
        contents.append({"role": "user", "parts": [{"text": round_.user}]})
        calls: list[Json] = [
            {"functionCall": {**({"id": call_id} if ids else {}), "name": name, "args": arguments}}
            for call_id, name, arguments in round_.calls
        ]
        contents.append({"role": "model", "parts": [{"text": round_.said}, *calls]})
        answers: list[Json] = [
            {
                "functionResponse": {
                    **({"id": call_id} if ids else {}),
                    "name": name,
                    "response": {"output": f"done {call_id}"},
                }
            }
            for call_id, name, _ in round_.calls
        ]
        if answers:
            contents.append({"role": "user", "parts": answers})
    return contents


def gemini_without_ids(rounds: list[Round]) -> list[Json]:
    return gemini(rounds, ids=False)


FORMS: Final[dict[str, tuple[str, Callable[[list[Round]], list[Json]]]]] = {
    "openai-chat": ("openai-chat", chat),
    "openai-responses": ("openai-responses", responses),
    "anthropic": ("anthropic", anthropic),
    "gemini": ("gemini", gemini),
    "gemini without ids": ("gemini", gemini_without_ids),
}

ENTRIES: Final = {"openai-chat": "tool_calls", "openai-responses": "", "anthropic": "content", "gemini": "parts"}
_NAMES: Final = st.sampled_from(["f", "g", "get_weather"])


@st.composite
def rounds(draw: st.DrawFn) -> list[Round]:
    made: list[Round] = []
    for at in range(draw(st.integers(1, 3))):
        count = draw(st.integers(0, 3))
        calls: list[tuple[str, str, Json]] = [(f"id_{at}_{k}", draw(_NAMES), {"n": k}) for k in range(count)]
        made.append(Round(f"question {at}", f"answer {at}", calls))
    return made


@st.composite
def damaged(draw: st.DrawFn, provider: str, history: list[Json]) -> list[Json]:
    """*history* after a few accidents: things lost, doubled, moved, renamed, cut short."""
    messages = copy.deepcopy(history)
    for _ in range(draw(st.integers(1, 5))):
        if not messages:
            break
        at = draw(st.integers(0, len(messages) - 1))
        accident = draw(st.sampled_from(_ACCIDENTS))
        inner = messages[at].get(ENTRIES[provider])
        if accident in ("lose", "double", "move"):
            _happen(draw, accident, messages, at)
        elif accident == "role":
            messages[at]["role"] = draw(st.sampled_from(["user", "assistant", "tool", "model"]))
        elif isinstance(inner, list) and inner and accident.startswith("inner"):
            entries = cast("list[Json]", inner)
            _happen(draw, accident.removeprefix("inner "), entries, draw(st.integers(0, len(entries) - 1)))
        elif accident == "rename":
            _rename(draw, messages[at])
    return messages


_ACCIDENTS: Final = ["lose", "double", "move", "role", "inner lose", "inner double", "inner move", "rename", "rename"]
_IDS: Final = st.sampled_from(["id_0_0", "id_0_1", "new", "bad|id", "x" * 83, "", None])
_VALUES: Final[dict[str, st.SearchStrategy[object]]] = {
    **dict.fromkeys(("id", "tool_call_id", "tool_use_id", "call_id"), _IDS),
    "name": st.sampled_from(["f", "bad name", "", "x" * 200]),
    "arguments": st.sampled_from(["", "{", "[]", "null", '{"a": 1}{}', '{"a": 1}']),
    "input": st.sampled_from([{}, None, "{", '{"a": 1}', [1]]),
    "args": st.sampled_from([{}, None, "x", [1]]),
}


def _happen(draw: st.DrawFn, accident: str, entries: list[Json], at: int) -> None:
    entry = entries.pop(at)
    if accident == "double":
        entries.insert(at, entry)
    if accident != "lose":
        entries.insert(draw(st.integers(0, len(entries))), copy.deepcopy(entry))


def _rename(draw: st.DrawFn, node: object) -> None:
    """Give one field of a call or a result another value."""
    found: list[tuple[Json, str]] = []
    waiting: list[object] = [node]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            record = cast("Json", item)
            found += [(record, key) for key in record if key in _VALUES]
            waiting += record.values()
        elif isinstance(item, list):
            waiting += cast("list[object]", item)
    if found:
        record, key = draw(st.sampled_from(found))
        record[key] = draw(_VALUES[key])
