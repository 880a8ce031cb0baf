"""A response as a value: read up to a bound, decoded by its media type."""

from __future__ import annotations

import re
import zlib
from base64 import b64encode
from collections.abc import Iterable
from contextlib import aclosing
from typing import Final

import httpx2
import msgspec
import trio

from ...definitions import AudioContent, ImageContent, JsonLimits, parse_json
from ...errors import JsonError
from ._media import base_type, is_json, is_media_type, kind_of_media
from ._statuses import is_good

__all__ = ("Reply", "Unreadable", "excerpt_of", "reply_of", "value_of")

_ENCODINGS: Final = frozenset({"", "identity", "gzip", "x-gzip", "deflate"})
_GZIP: Final = b"\x1f\x8b"
_REDACTED: Final = b"[redacted]"
_EXCERPT: Final = 2_000
"""Characters of a response that an error quotes."""

_HEADERS: Final = 100
"""Headers of a response without a body that are told."""

_CHARSET: Final = re.compile(
    r"utf-?8|(us-)?ascii|latin-?1|iso-8859-\d{1,2}|(windows-|cp)\d{3,4}|koi8-[rut]|shift[_-]jis|euc-(jp|kr)"
    r"|iso-2022-(jp|kr)|gb2312|gbk|gb18030|big5",
    re.IGNORECASE,
)
"""Character sets that text is decoded by, ASCII in the range of ASCII. Python knows others that are no sets of characters."""

_WIDE: Final = re.compile(r"utf-?(16|32)(-?[bl]e)?", re.IGNORECASE)


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


async def reply_of(response: httpx2.Response, most: int, secrets: Iterable[re.Pattern[bytes]]) -> Reply:
    """Read *response* up to *most* bytes, and close it: what is not read is not waited for.

    An error says what it is by its status; its body is empty if that can't be read.

    Cancelled: its connection is closed at once.

    Raises:
        Unreadable: It is compressed in a way that was not asked for, or not as it says.
        httpx2.HTTPError: The connection broke.
    """
    async with aclosing(response):
        try:
            body, whole = await _body_of(response, most)
        except (httpx2.HTTPError, Unreadable):
            if is_good(response.status_code):
                raise
            body, whole = b"", True
    headers = {
        name: _without(value.encode(), secrets).decode()
        for name, value in response.headers.items()
        if "cookie" not in name
    }
    told = headers.get("content-type", "")
    found = re.search(r"charset\s*=\s*\"?([A-Za-z0-9._-]+)", told, re.IGNORECASE)
    charset = found[1] if found else "utf-8"
    if _WIDE.fullmatch(charset):
        body, charset = body.decode(charset, "replace" if whole else "ignore").encode(), "utf-8"
    return Reply(response.status_code, base_type(told), charset, _without(body, secrets), whole, headers)


async def _body_of(response: httpx2.Response, most: int) -> tuple[bytes, bool]:
    if response.is_stream_consumed:  # a transport without a network has it already, and decompressed
        return response.content[:most], len(response.content) <= most
    taken = _Taken(response.headers.get("content-encoding", "").strip().lower(), most)
    # Leaving the loop would leave the generators in it to the garbage collector; a cancellation ends them all.
    with trio.CancelScope() as scope:
        async for piece in response.aiter_raw():
            if not taken.more(piece):
                scope.cancel()
    return taken.result()


class _Taken:
    """What was taken of a body, decompressed; never more than one byte past the bound."""

    def __init__(self, encoding: str, most: int) -> None:
        if encoding not in _ENCODINGS:
            raise Unreadable("RESPONSE_UNREADABLE", "the response is compressed in a way that was not asked for")
        self._most = most
        self._body = bytearray()
        self._fault = False
        self._begun = False
        self._over = False
        self._room = most + most // 8 + 1024  # nothing that makes sense is larger compressed
        # The format says of itself whether it is that of gzip or that of zlib.
        self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 32) if encoding not in ("", "identity") else None

    def more(self, piece: bytes) -> bool:
        """Take one piece; False when that is enough."""
        left = self._most + 1 - len(self._body)
        self._room -= len(piece)
        self._body += piece[:left] if self._inflate is None else self._members(piece, left)
        return not (self._fault or self._over) and self._room >= 0 and len(self._body) <= self._most

    def _members(self, piece: bytes, left: int) -> bytes:
        """At most *left* bytes of *piece*. Members of gzip may follow each other; whatever else follows is left out."""
        found = self._inflated(piece, left)
        while self._inflate is not None and self._inflate.eof and self._inflate.unused_data and len(found) < left:
            rest = self._inflate.unused_data
            self._over = not rest.startswith(_GZIP[: len(rest)])
            if self._over:
                break
            self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
            found += self._inflated(rest, left - len(found))
        return found

    def _inflated(self, piece: bytes, left: int) -> bytes:
        assert self._inflate is not None
        try:
            return self._inflate.decompress(piece, left)
        except zlib.error:
            if self._begun:
                self._fault = True
                return b""
        finally:
            self._begun = True
        self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)  # what some servers mean by deflate
        return self._inflated(piece, left)

    def result(self) -> tuple[bytes, bool]:
        """The bytes, and whether they are all.

        Raises:
            Unreadable: They are not compressed as it was said.
        """
        whole = len(self._body) <= self._most and self._room >= 0
        cut_short = self._inflate is not None and self._begun and whole and not self._inflate.eof
        if self._fault or cut_short:
            raise Unreadable("RESPONSE_UNREADABLE", "the response is not compressed as it says")
        return bytes(self._body[: self._most]), whole


def _without(data: bytes, secrets: Iterable[re.Pattern[bytes]]) -> bytes:
    for secret in secrets:
        data = secret.sub(_REDACTED, data)
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
    if not reply.body and reply.whole:
        return None
    kind = kind_of_media(reply.media_type) if reply.media_type else "binary"
    if kind in ("text", "form"):
        text = _text(reply)
        return text if reply.whole else f"{text}\n[cut after {most} bytes]"
    if not reply.whole:
        raise Unreadable("RESPONSE_TOO_LARGE", f"the response is larger than {most} bytes")
    if is_json(reply.media_type):
        return _json(reply, most)
    told = reply.media_type if is_media_type(reply.media_type) else "application/octet-stream"
    if told.startswith("image/"):
        return ImageContent(reply.body, told)
    if told.startswith("audio/"):
        return AudioContent(reply.body, told)
    encoded = b64encode(reply.body).decode()
    return {"media_type": told, "bytes": len(reply.body), "base64": encoded}


def _json(reply: Reply, most: int) -> object:
    try:
        return parse_json(reply.body.removeprefix(b"\xef\xbb\xbf"), limits=JsonLimits(max_bytes=max(most, 1)))
    except JsonError as error:
        raise Unreadable("OUTPUT_INVALID", f"the response is no legal JSON: {error}") from error


def _text(reply: Reply) -> str:
    charset = reply.charset if _CHARSET.fullmatch(reply.charset) else "utf-8"
    try:
        return reply.body.decode(charset, "replace" if reply.whole else "ignore")
    except LookupError:  # there is no iso-8859-99
        return reply.body.decode("utf-8", "replace")


def excerpt_of(reply: Reply) -> str:
    """The beginning of a body, for an error; empty for one that is no text."""
    if kind_of_media(reply.media_type) in ("binary", "multipart") and reply.media_type:
        return ""
    text = "".join(
        char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}" for char in _text(reply)
    )
    return text if len(text) <= _EXCERPT else f"{text[:_EXCERPT]}..."
