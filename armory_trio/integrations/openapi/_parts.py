"""Bodies as bytes: JSON, forms, parts with files in them, text."""

from __future__ import annotations

import binascii
import re
import secrets
from base64 import b64decode
from collections.abc import Container, Iterator, Mapping
from typing import Final, Literal
from urllib.parse import quote_plus

import msgspec

from ...definitions import canonical_text
from ._json import is_array, is_object
from ._media import is_media_type
from ._styles import Pair, Parameter, Refused, pairs, require_own_names, scalar_text

__all__ = ("BINARY", "Part", "PartKind", "form_bytes", "json_bytes", "multipart_bytes", "octets", "text_bytes")

PartKind = Literal["text", "json", "file"]

BINARY: Final[Mapping[str, object]] = {
    "anyOf": [
        {"type": "string", "contentEncoding": "base64", "description": "The bytes in base64."},
        {
            "type": "object",
            "properties": {
                "data": {"type": "string", "contentEncoding": "base64", "description": "The bytes in base64."},
                "media_type": {"type": "string", "description": "Such as image/png."},
                "filename": {"type": "string"},
            },
            "required": ["data"],
            "additionalProperties": False,
        },
    ]
}
"""The schema of bytes in an argument."""

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_SLASH: Final = re.compile(r"[/\\]")


class Part(msgspec.Struct, frozen=True, eq=False):
    """How one member of a form is written.

    Args:
        name: Its name on the wire.
        kind: As text, as JSON, or as a file.
        media_type: That of the part; empty in a form without parts.
        parameter: How lists and objects are written in a form without parts.
    """

    name: str
    kind: PartKind
    media_type: str
    parameter: Parameter | None = None


class _Bytes(msgspec.Struct, frozen=True):
    data: bytes
    media_type: str
    filename: str


def json_bytes(value: object) -> bytes:
    """*value* as JSON.

    Raises:
        Refused: It holds half a character.
    """
    return text_bytes(canonical_text(value, mode="exact"))


def text_bytes(text: str) -> bytes:
    """*text* in UTF-8.

    Raises:
        Refused: It holds half a character.
    """
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise Refused("holds half a character (a lone surrogate)") from None


def octets(value: object) -> tuple[bytes, str]:
    """The bytes that an argument of the schema `BINARY` means, and their media type, empty if it says none.

    Raises:
        Refused: They are no base64.
    """
    read = _bytes(value, "", "")
    return read.data, read.media_type


def _bytes(value: object, media_type: str, filename: str) -> _Bytes:
    if is_object(value):
        said = str(value.get("media_type") or media_type)
        if said and not is_media_type(said):
            raise Refused(f"{said!r} is no media type; write one such as image/png")
        return _Bytes(_of_base64(str(value["data"])), said, str(value.get("filename") or filename))
    return _Bytes(_of_base64(str(value)), media_type, filename)


def _of_base64(text: str) -> bytes:
    try:
        return b64decode(re.sub(r"[\r\n]", "", text), validate=True)
    except (binascii.Error, ValueError):
        raise Refused("is no base64; write the bytes in the standard alphabet, with padding") from None


# ── application/x-www-form-urlencoded ────────────────────────────────────────────────────────────────────────────────


def form_bytes(members: Mapping[str, object], parts: Mapping[str, Part]) -> bytes:
    """*members* as a form. Spaces are written as ``+``.

    Raises:
        Refused: One of them can't be said.
    """
    written: list[str] = []
    known = parts.keys() | members.keys()
    for name, value in members.items():
        part = parts.get(name)
        if value is None:
            continue
        if part is None or part.kind == "json" or part.parameter is None:
            items = value if is_array(value) and part is None else [value]
            written.extend(f"{_plus(name)}={_plus(scalar_text(item))}" for item in items)
        else:
            written.extend(
                f"{key.replace('%20', '+')}={said}" for key, said in _form_pairs(part.parameter, value, known)
            )
    return "&".join(written).encode("ascii")


def _form_pairs(parameter: Parameter, value: object, declared: Container[str]) -> Iterator[Pair]:
    spaced = parameter.style != "spaceDelimited"  # there %20 is the separator
    written = pairs(parameter, value)
    require_own_names(parameter.wire, written, declared)
    for key, said in written:
        yield key, said.replace("%20", "+") if spaced else said


def _plus(text: str) -> str:
    try:
        return quote_plus(text)
    except UnicodeEncodeError:
        raise Refused("holds half a character (a lone surrogate)") from None


# ── multipart/form-data ──────────────────────────────────────────────────────────────────────────────────────────────


def multipart_bytes(members: Mapping[str, object], parts: Mapping[str, Part]) -> tuple[bytes, str]:
    """*members* as parts, and the boundary between them. A list is a part for each of its items, unless it is JSON.

    Raises:
        Refused: One of them can't be said.
    """
    boundary = f"armory-{secrets.token_hex(16)}"
    written: list[bytes] = []
    for name, value in members.items():
        if value is None:
            continue
        part = parts.get(name) or Part(name, _kind_by(value), "")
        items = value if is_array(value) and part.kind != "json" else [value]
        written += [b"--" + boundary.encode() + b"\r\n" + _one_part(part, item) + b"\r\n" for item in items]
    return b"".join(written) + f"--{boundary}--\r\n".encode(), boundary


def _kind_by(value: object) -> PartKind:
    holder = value[:1] if is_array(value) else [value]
    return "json" if any(isinstance(item, list | Mapping) for item in holder) else "text"


def _one_part(part: Part, value: object) -> bytes:
    told = f'Content-Disposition: form-data; name="{_quoted(part.name)}"'
    if part.kind == "file":
        read = _bytes(value, part.media_type, part.name)
        told += f'; filename="{_quoted(_SLASH.split(read.filename)[-1] or part.name)}"'
        media_type, data = read.media_type, read.data
    elif part.kind == "json":
        media_type, data = part.media_type or "application/json", json_bytes(value)
    else:
        media_type, data = part.media_type, text_bytes(scalar_text(value))
    kind = f"Content-Type: {media_type}\r\n" if media_type else ""
    return f"{told}\r\n{kind}\r\n".encode() + data


def _quoted(text: str) -> str:
    """*text* between quotes, as browsers write names."""
    if _CONTROL.search(text):
        raise Refused("holds a control character, such as the end of a line")
    text_bytes(text)
    return text.replace("\\", "\\\\").replace('"', "%22")
