"""Media types: which are JSON, text, forms or bytes."""

from __future__ import annotations

import re
from typing import Final, Literal

__all__ = ("MediaKind", "base_type", "in_utf_8", "is_json", "is_media_type", "kind_of_media")

MediaKind = Literal["json", "form", "multipart", "text", "binary"]

_MEDIA_TYPE: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+ *(;[\x20-\x7e]*)?")
_CHARSET: Final = re.compile(r";\s*charset\s*=(?!\s*\"?utf-8\"?\s*(?:;|$))(?:\"[^\"]*\"?|[^;]*)", re.IGNORECASE)
"""A charset that is another one."""

_TEXTS: Final = frozenset(
    {
        *("application/xml", "application/yaml", "application/x-yaml", "application/graphql", "application/javascript"),
        *("application/x-ndjson", "application/jsonl", "application/json-seq", "application/sql", "image/svg+xml"),
    }
)
_TEXT_ENDS: Final = ("+xml", "+yaml")


def base_type(media_type: str) -> str:
    """*media_type* without its parameters, in lower case."""
    return media_type.partition(";")[0].strip().lower()


def is_media_type(text: str) -> bool:
    """Whether *text* can stand in a header as a media type, or a range of them."""
    return _MEDIA_TYPE.fullmatch(text) is not None


def in_utf_8(media_type: str) -> str:
    """*media_type* as it is sent: everything is written in UTF-8, whichever other charset it names."""
    return _CHARSET.sub("; charset=utf-8", media_type)


def is_json(media_type: str) -> bool:
    """Whether it is JSON: ``application/json``, or whatever ends in ``+json``."""
    base = base_type(media_type)
    return base in ("application/json", "text/json") or base.endswith("+json")


def kind_of_media(media_type: str) -> MediaKind:
    """How a body of *media_type* is written. A range that JSON is within is JSON."""
    base = base_type(media_type)
    if is_json(base) or base in ("*/*", "application/*"):
        return "json"
    if base == "application/x-www-form-urlencoded":
        return "form"
    if base == "multipart/form-data":
        return "multipart"
    if base.startswith("text/") or base in _TEXTS or base.endswith(_TEXT_ENDS):
        return "text"
    return "binary"
