"""A response as a value: read up to a bound, decoded by its media type."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable
from contextlib import aclosing
from typing import Final

import httpx2
import msgspec

from ...definitions import AudioContent, ImageContent, JsonLimits, parse_json
from ...errors import JsonError
from ._media import base_type, is_json, kind_of_media

__all__ = ("Reply", "Unreadable", "excerpt_of", "reply_of", "value_of")

_ENCODINGS: Final = frozenset({"", "identity", "gzip", "x-gzip", "deflate"})
_REDACTED: Final = b"[redacted]"
_SHORTEST_SECRET: Final = 6
"""Characters of a secret that is looked for in what comes back; a shorter one would be found everywhere."""

_EXCERPT: Final = 2_000
"""Characters of a response that an error quotes."""

_HEADERS: Final = 100
"""Headers of a response without a body that are told."""


class Unreadable(Exception):
    """The response can't be what was promised. ``code`` and the words are for the result."""

    def __init__(self, code: str, words: str) -> None:
        super().__init__(words)
        self.code = code


class Reply(msgspec.Struct, frozen=True, eq=False):
    """A response that was read.

    Args:
        status: Its status.
        media_type: What its body is, without parameters.
        charset: How text is encoded.
        body: As far as it was read, decompressed, credentials made unrecognisable.
        whole: Whether that is all of it.
        headers: All headers but cookies.
    """

    status: int
    media_type: str
    charset: str
    body: bytes
    whole: bool
    headers: dict[str, str]


async def reply_of(response: httpx2.Response, most: int, secrets: Iterable[bytes]) -> Reply:
    """Read *response* up to *most* bytes, and close it: what is not read is not waited for.

    Cancelled: its connection is closed at once.

    Raises:
        Unreadable: It is compressed in a way that was not asked for, or not as it says.
        httpx2.HTTPError: The connection broke.
    """
    body, whole = bytearray(), True
    async with aclosing(response), aclosing(response.aiter_bytes()) as pieces:
        if response.headers.get("content-encoding", "").strip().lower() not in _ENCODINGS:
            raise Unreadable("RESPONSE_UNREADABLE", "the response is compressed in a way that was not asked for")
        try:
            async for piece in pieces:
                body += piece[: most - len(body) + 1]
                if len(body) > most:
                    whole = False
                    break
        except httpx2.DecodingError as error:
            raise Unreadable("RESPONSE_UNREADABLE", "the response is not compressed as it says") from error
    told = response.headers.get("content-type", "")
    headers = {name: value for name, value in response.headers.items() if "cookie" not in name}
    found = re.search(r"charset\s*=\s*\"?([A-Za-z0-9._-]+)", told, re.IGNORECASE)
    data = _without(bytes(body[:most]), secrets)
    return Reply(response.status_code, base_type(told), found[1] if found else "utf-8", data, whole, headers)


def _without(data: bytes, secrets: Iterable[bytes]) -> bytes:
    for secret in secrets:
        if len(secret) >= _SHORTEST_SECRET:
            data = data.replace(secret, _REDACTED)
    return data


def value_of(reply: Reply, method: str, most: int) -> object:
    """What a tool answers for a response with a status of 200 to 299.

    JSON is decoded, strictly; text is text; pictures and sounds are content blocks; other bytes are a dict with
    ``media_type``, ``bytes`` and ``base64``. Nothing is None. Of ``HEAD`` it is the status and the headers.

    Raises:
        Unreadable: It is no legal JSON, or larger than *most* where a part of it would be none of that.
    """
    if method == "HEAD":
        return {"status": reply.status, "headers": dict(list(reply.headers.items())[:_HEADERS])}
    if not reply.body:
        return None
    kind = kind_of_media(reply.media_type) if reply.media_type else "binary"
    if kind in ("text", "form"):
        text = _text(reply)
        return text if reply.whole else f"{text}\n[cut after {most} bytes]"
    if not reply.whole:
        raise Unreadable("RESPONSE_TOO_LARGE", f"the response is larger than {most} bytes")
    if is_json(reply.media_type):
        return _json(reply, most)
    if reply.media_type.startswith("image/"):
        return ImageContent(reply.body, reply.media_type)
    if reply.media_type.startswith("audio/"):
        return AudioContent(reply.body, reply.media_type)
    encoded = b64encode(reply.body).decode()
    told = reply.media_type or "application/octet-stream"
    return {"media_type": told, "bytes": len(reply.body), "base64": encoded}


def _json(reply: Reply, most: int) -> object:
    try:
        return parse_json(reply.body.removeprefix(b"\xef\xbb\xbf"), limits=JsonLimits(max_bytes=max(most, 1)))
    except JsonError as error:
        raise Unreadable("OUTPUT_INVALID", f"the response is no legal JSON: {error}") from error


def _text(reply: Reply) -> str:
    try:
        return reply.body.decode(reply.charset, "replace" if reply.whole else "ignore")
    except LookupError:
        return reply.body.decode("utf-8", "replace")


def excerpt_of(reply: Reply) -> str:
    """The beginning of a body, for an error; empty for one that is no text."""
    if kind_of_media(reply.media_type) in ("binary", "multipart") and reply.media_type:
        return ""
    text = "".join(
        char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}" for char in _text(reply)
    )
    return text if len(text) <= _EXCERPT else f"{text[:_EXCERPT]}..."
