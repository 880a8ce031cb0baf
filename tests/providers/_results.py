"""Results as an engine would give them, made by hand: formatting needs no engine."""

from __future__ import annotations

from typing import cast

from armory_trio import (
    Category,
    Content,
    Effect,
    ImageContent,
    TextContent,
    ToolCall,
    ToolError,
    ToolResult,
)
from armory_trio.providers import Turn

PIXELS = b"\x89PNG\r\n\x1a\nnot really a picture, but nobody here looks"
PICTURE = ImageContent(PIXELS, "image/png")


def success(call: ToolCall, *content: Content | str) -> ToolResult[object]:
    blocks = tuple(TextContent(block) if isinstance(block, str) else block for block in content)
    return ToolResult("", call.id, call.name, "success", None, blocks, effect="completed", attempts=1)


def failure(
    call: ToolCall,
    category: Category = "internal",
    code: str = "INTERNAL_ERROR",
    message: str = "boom",
    *,
    content: tuple[Content, ...] = (),
    attempts: int = 1,
    effect: Effect = "unknown",
) -> ToolResult[object]:
    error = ToolError(category, code, message)
    return ToolResult("", call.id, call.name, "error", content=content, error=error, effect=effect, attempts=attempts)


def answered(call: ToolCall) -> ToolResult[object]:
    """What the engine does with *call*: a broken one is an error that never ran, any other says its own id."""
    if call.defect is not None:
        return failure(call, "validation", call.defect.code, call.defect.message, attempts=0, effect="none")
    return success(call, f"done {call.id}")


def run(turn: Turn) -> list[ToolResult[object]]:
    return [answered(call) for call in turn.calls]


def entries(message: dict[str, object], name: str = "content") -> list[dict[str, object]]:
    """The list of objects in the field *name* of a message."""
    found = message[name]
    assert isinstance(found, list)
    return cast("list[dict[str, object]]", found)


def as_object(value: object) -> dict[str, object]:
    assert isinstance(value, dict)
    return cast("dict[str, object]", value)
