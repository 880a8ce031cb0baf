"""The providers' rules about calls and results, written down once more and simply: the oracle of the history tests.

A history is legal when each message with calls is followed by exactly one result for each of them, in call order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import cast

Json = dict[str, object]

_FIT = re.compile(r"[A-Za-z0-9_-]+")


def objects(value: object) -> list[Json]:
    return cast("list[Json]", value) if isinstance(value, list) else []


def is_object_text(text: object) -> bool:
    if not isinstance(text, str):
        return False
    try:
        return not text.strip() or json.loads(text) is None or isinstance(json.loads(text), dict)
    except ValueError:
        return False


def assert_legal(provider: str, history: Sequence[object]) -> None:
    messages = cast("Sequence[Json]", history)
    {"openai-chat": _chat, "openai-responses": _responses, "anthropic": _anthropic, "gemini": _gemini}[provider](
        messages
    )


def _chat(messages: Sequence[Json]) -> None:
    at = 0
    while at < len(messages):
        message = messages[at]
        assert message.get("role") != "tool", f"a result without a call at {at}"
        calls = objects(message.get("tool_calls"))
        assert calls or message.get("tool_calls") is None, f"a list without calls at {at}"
        at += 1
        if not calls:
            continue
        assert message.get("role") in (None, "assistant")
        ids = [call["id"] for call in calls]
        assert len(set(map(str, ids))) == len(ids)
        assert all(isinstance(one, str) and len(one) <= 40 and _FIT.fullmatch(one) for one in ids)
        for call in calls:
            if "function" in call:
                function = cast("Json", call["function"])
                assert is_object_text(function["arguments"])
                assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", str(function["name"]))
        answers = messages[at : at + len(calls)]
        assert [answer.get("role") for answer in answers] == ["tool"] * len(calls)
        assert [answer.get("tool_call_id") for answer in answers] == ids
        at += len(calls)


def _responses(messages: Sequence[Json]) -> None:
    open_ids: dict[object, str] = {}
    seen: set[object] = set()
    for item in messages:
        kind = item.get("type")
        if kind in ("function_call", "custom_tool_call"):
            call_id = item["call_id"]
            assert isinstance(call_id, str)
            assert call_id not in seen
            assert len(call_id) <= 64
            assert _FIT.fullmatch(call_id)
            assert kind == "custom_tool_call" or is_object_text(item["arguments"])
            assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", str(item["name"]))
            seen.add(call_id)
            open_ids[call_id] = str(kind)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            assert open_ids.pop(item.get("call_id"), None) is not None, f"an output without a call: {item}"
    assert not open_ids


def _anthropic(messages: Sequence[Json]) -> None:
    seen: set[object] = set()
    waiting: list[object] = []
    for at, message in enumerate(messages):
        blocks = objects(message.get("content"))
        results = [block for block in blocks if block.get("type") == "tool_result"]
        uses = [block for block in blocks if block.get("type") == "tool_use"]
        assert [block.get("tool_use_id") for block in blocks[: len(waiting)]] == waiting, f"at {at}"
        assert len(results) == len(waiting), f"a result without a call at {at}"
        assert not results or message.get("role") == "user"
        waiting = [use["id"] for use in uses]
        for use in uses:
            assert message.get("role") in (None, "assistant")
            assert use["id"] not in seen
            assert isinstance(use["id"], str)
            assert len(use["id"]) <= 64
            assert _FIT.fullmatch(use["id"])
            assert isinstance(use["input"], dict)
            assert re.fullmatch(r"[A-Za-z0-9_-]{1,128}", str(use["name"]))
            seen.add(use["id"])
    assert not waiting


def _gemini(messages: Sequence[Json]) -> None:
    waiting: list[Json] = []
    for at, message in enumerate(messages):
        parts = objects(message.get("parts"))
        calls = [cast("Json", part["functionCall"]) for part in parts if part.get("functionCall") is not None]
        results = [
            cast("Json", part["functionResponse"])
            for part in parts
            if part.get("functionResponse") is not None and part.get("functionCall") is None
        ]
        assert len(results) == len(waiting), f"{len(results)} results for {len(waiting)} calls at {at}"
        assert not results or message.get("role") != "model"
        for call, result in zip(waiting, results, strict=True):
            if call.get("id") and result.get("id"):
                assert call["id"] == result["id"]
            else:
                assert call["name"] == result["name"]
        waiting = calls
        ids = [call["id"] for call in calls if call.get("id")]
        assert len(set(map(str, ids))) == len(ids)
        for call in calls:
            assert message.get("role") in (None, "", "model")
            assert call.get("args") is None or isinstance(call["args"], dict)
    assert not waiting
