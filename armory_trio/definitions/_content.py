"""Content: the blocks that a model is shown of a result, and their words."""

from __future__ import annotations

from typing import Literal

import msgspec


class TextContent(msgspec.Struct, frozen=True, gc=False, tag="text"):
    """Words for the model."""

    text: str


class JsonContent(msgspec.Struct, frozen=True, gc=False, tag="json"):
    """A structured value, as compact JSON text."""

    json: str


class ImageContent(msgspec.Struct, frozen=True, tag="image"):
    """A picture. ``media_type`` is a MIME type such as ``image/png``."""

    data: bytes
    media_type: str


class AudioContent(msgspec.Struct, frozen=True, tag="audio"):
    """A sound. ``media_type`` is a MIME type such as ``audio/wav``."""

    data: bytes
    media_type: str


class LinkContent(msgspec.Struct, frozen=True, tag="link"):
    """A resource that is named, not included."""

    uri: str
    name: str = ""
    media_type: str | None = None
    description: str = ""


class ResourceAnnotations(msgspec.Struct, frozen=True, omit_defaults=True):
    """Whom a resource is for, and how much it matters. Passed on to MCP clients; models are not shown it.

    Args:
        audience: Who should see it, ``user`` or ``assistant`` or both; empty when nothing is said.
        priority: From 0, which may be left out, to 1, which is needed.
        last_modified: When it was last changed, in ISO 8601.
    """

    audience: tuple[Literal["user", "assistant"], ...] = ()
    priority: float | None = None
    last_modified: str | None = None


class TextResourceContent(msgspec.Struct, frozen=True, tag="text-resource", omit_defaults=True):
    """A resource that is included, as text: a file, say, with the name that it goes by.

    Args:
        uri: What it is called.
        text: All of it; may be empty.
        media_type: A MIME type such as ``text/markdown``.
        annotations: Whom it is for.
    """

    uri: str
    text: str
    media_type: str | None = None
    annotations: ResourceAnnotations | None = None


class BlobResourceContent(msgspec.Struct, frozen=True, tag="blob-resource", omit_defaults=True):
    """A resource that is included, as bytes, which may be none. A model sees it where it is a picture or a sound.

    Args:
        uri: What it is called.
        data: All of it.
        media_type: A MIME type such as ``application/pdf``.
        annotations: Whom it is for.
    """

    uri: str
    data: bytes
    media_type: str | None = None
    annotations: ResourceAnnotations | None = None


Content = (
    TextContent | JsonContent | ImageContent | AudioContent | LinkContent | TextResourceContent | BlobResourceContent
)
BinaryContent = ImageContent | AudioContent | BlobResourceContent
"""Content that is bytes, not words."""


def words_of(block: Content) -> str:
    """The words of *block*, as the text of a result has them; what is bytes is named, not included."""
    match block:
        case TextContent(text=text) | JsonContent(json=text):
            return text
        case ImageContent(data=data, media_type=media_type):
            return f"[image {media_type}, {len(data)} bytes]"
        case AudioContent(data=data, media_type=media_type):
            return f"[audio {media_type}, {len(data)} bytes]"
        case LinkContent(uri=uri, name=name, description=description):
            return " ".join(part for part in (name, f"<{uri}>", description) if part)
        case TextResourceContent():
            return resource_words(block)
        case BlobResourceContent(data=data):
            return f"[resource {resource_name(block)}, {len(data)} bytes]"


def resource_name(block: TextResourceContent | BlobResourceContent) -> str:
    """What words call a resource that is included."""
    kind = f", {block.media_type}" if block.media_type else ""
    return f"<{block.uri}>{kind}"


def resource_words(block: TextResourceContent) -> str:
    """What a model reads of a resource of text."""
    return f"[resource {resource_name(block)}]\n{block.text}"
