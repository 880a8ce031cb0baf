"""Results as MCP says them: content blocks, structured content, and what stands in ``_meta``."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from typing import Final, cast

from mcp import types
from mcp.types.version import is_version_at_least

from ...content import encode_json, words_for
from ...definitions import (
    AudioContent,
    BlobResourceContent,
    Content,
    ImageContent,
    JsonContent,
    LinkContent,
    ResourceAnnotations,
    TextContent,
    TextResourceContent,
    ToolResult,
)
from ._meta import ACTION, EFFECT, ERROR, EXECUTION, OUTCOME

_AUDIO_SINCE: Final = "2025-03-26"
_LINKS_SINCE: Final = "2025-06-18"
"""The protocol versions that brought these blocks; who speaks an older one is told in words."""

UNDECLARED: Final = frozenset({"INTERNAL_ERROR", "TRANSIENT_ERROR", "CONNECTION_LOST"})
"""The codes of errors that may show the text of an exception that no tool declared."""


def mcp_block(block: Content, version: str) -> types.ContentBlock:
    """*block* as a client of protocol *version* takes it."""
    match block:
        case TextContent(text=text) | JsonContent(json=text):
            return types.TextContent(text=text)
        case ImageContent(data=data, media_type=media_type):
            return types.ImageContent(data=_base64(data), mime_type=media_type)
        case AudioContent(data=data, media_type=media_type):
            if not is_version_at_least(version, _AUDIO_SINCE):
                return types.TextContent(text=f"[audio {media_type}, {len(data)} bytes]")
            return types.AudioContent(data=_base64(data), mime_type=media_type)
        case LinkContent(uri=uri, name=name, media_type=media_type, description=description):
            if not is_version_at_least(version, _LINKS_SINCE):
                said = (name, f"<{uri}>", media_type or "", description)
                return types.TextContent(text=" ".join(part for part in said if part))
            return types.ResourceLink(uri=uri, name=name or uri, mime_type=media_type, description=description or None)
        case TextResourceContent(uri=uri, text=text, media_type=media_type, annotations=annotations):
            inside = types.TextResourceContents(uri=uri, text=text, mime_type=media_type)
            return types.EmbeddedResource(resource=inside, annotations=_annotations(annotations))
        case BlobResourceContent(uri=uri, data=data, media_type=media_type, annotations=annotations):
            held = types.BlobResourceContents(uri=uri, blob=_base64(data), mime_type=media_type)
            return types.EmbeddedResource(resource=held, annotations=_annotations(annotations))


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _annotations(given: ResourceAnnotations | None) -> types.Annotations | None:
    if given is None:
        return None
    audience = list(given.audience) or None
    return types.Annotations(audience=audience, priority=given.priority, last_modified=given.last_modified)


def call_result(result: ToolResult[object], version: str, *, promised: bool, wrapped: bool) -> types.CallToolResult:
    """*result* as the answer to ``tools/call``.

    Args:
        result: How the call ended.
        version: The protocol version that the client speaks.
        promised: Whether the tool was listed with an output schema, so that structured content is owed.
        wrapped: Whether that schema holds the value as ``result``, because it is no object itself.
    """
    if result.outcome != "success":
        text = types.TextContent(text=result.text or words_for(result))
        return types.CallToolResult(content=[text], is_error=True, _meta=_told(result))
    blocks = [mcp_block(block, version) for block in _shown(result.content, result.value)]
    structured = _structured(result, promised=promised, wrapped=wrapped)
    return types.CallToolResult(content=blocks, structured_content=structured, _meta=_told(result))


def _shown(content: Iterable[Content], value: object) -> Iterable[Content]:
    return () if value is None else content  # nothing came of it, and MCP can say nothing


def _structured(result: ToolResult[object], *, promised: bool, wrapped: bool) -> dict[str, object] | None:
    match result.content:
        case (JsonContent(json=text),):
            pass
        case _ if promised:
            text = encode_json(result.value)
        case _:
            return None
    try:
        value: object = json.loads(text)  # which takes half characters
    except ValueError:  # a number of more digits than Python reads; output contracts let none through
        return None
    if wrapped:
        return {"result": value}
    return cast("dict[str, object]", value) if isinstance(value, dict) else None


def _told(result: ToolResult[object]) -> dict[str, object]:
    execution = {EXECUTION: result.execution_id} if result.execution_id else {}
    told: dict[str, object] = {**execution, OUTCOME: result.outcome, EFFECT: result.effect}
    error, action = result.error, result.action
    if error is not None:
        told[ERROR] = {"category": error.category, "code": error.code, "retryable": error.retryable}
    if action is not None:
        pending = result.pending_approval
        approval: Mapping[str, object] = {} if pending is None else {"approval": pending.id}
        told[ACTION] = {"type": action.type, "message": action.message, **approval}
    return told
