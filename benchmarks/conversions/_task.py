"""What everybody converts: one tool, one call of it, and one result. Only the standard library is used here."""

from __future__ import annotations

from typing import Any, Final

NAME: Final = "book_trip"
DESCRIPTION: Final = "Book a trip."

ARGUMENTS: Final[dict[str, Any]] = {
    "traveller": {"name": "Ann Example", "age": 41, "email": None},
    "legs": [
        {"origin": "Basel", "target": "Berlin", "day": "2026-05-01", "seat": "window"},
        {"origin": "Berlin", "target": "Oslo", "day": "2026-05-04", "seat": "aisle"},
    ],
    "budget": 950.5,
    "tags": {"project": "north", "cost centre": "17"},
}

ARGUMENTS_TEXT: Final = (
    '{"traveller": {"name": "Ann Example", "age": 41, "email": null}, "legs": [{"origin": "Basel", "target": "Berlin", '
    '"day": "2026-05-01", "seat": "window"}, {"origin": "Berlin", "target": "Oslo", "day": "2026-05-04", '
    '"seat": "aisle"}], "budget": 950.5, "tags": {"project": "north", "cost centre": "17"}}'
)

COMPLETION: Final[dict[str, Any]] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "call_1", "type": "function", "function": {"name": NAME, "arguments": ARGUMENTS_TEXT}}
                ],
            },
        }
    ],
}
"""What Chat Completions answered."""

RESULT: Final[dict[str, Any]] = {
    "booking": "X7-119",
    "price": 872.4,
    "legs": [{"train": "ICE 74", "seat": 61}, {"train": "NT 2", "seat": 12}],
}
"""What the tool gave, before anybody has made text of it."""
