"""Values that hold no others: numbers, words, dates, ids, bytes, and their JSON."""

from __future__ import annotations

import base64
import math
import re
from collections import UserString
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Final, cast
from uuid import UUID

import msgspec

MAX_DIGITS: Final = 100_000
"""The longest integer that is written out. A longer one costs quadratic time: a million digits take 17 seconds."""

_BITS_PER_DIGIT: Final = math.log2(10)

_LONE: Final = "[\ud800-\udfff]"
_BEYOND_ASCII: Final = "[^\x00-\x7f]"

_IMAGE_SIGNS: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
"""The first bytes of pictures that every provider takes."""

_RIFF: Final = 8
"""Where in a RIFF file it stands what it holds."""


_encode: Final = msgspec.json.Encoder().encode


class TooManyDigits(Exception):
    """An integer is longer than `MAX_DIGITS`. Never leaves the codec."""


def bare(value: object) -> object:
    """The value of an enum's member; anything else as it is."""
    while isinstance(value, Enum):
        inner: object = value.value
        if inner is value:  # a property of the enum's own
            break
        value = inner
    return value


def literal(value: object) -> str | None:
    """JSON text of what JSON writes without quotes: None, a bool, an int, a finite float. None for anything else.

    Raises:
        TooManyDigits: An integer is longer than `MAX_DIGITS`.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return _digits(value)
    if isinstance(value, float) and math.isfinite(value):
        return _encode(float.__pos__(value)).decode()
    return None


def words(value: object) -> str | None:
    """The text of what JSON writes as a string, without the quotes. None for anything else, and for bytes."""
    match value:
        case str():
            return str.__str__(value)
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return _duration(value)
        case Decimal() | UUID() | PurePath() | UserString():
            return str(value)
        case _:
            return None


def octets(value: object) -> bytes | None:
    """The bytes of a bytes-like value. None for anything else."""
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    return cast("memoryview[int]", value).tobytes() if isinstance(value, memoryview) else None


def quote(text: str) -> str:
    """*text* as a JSON string that can be encoded: lone surrogates are escaped, everything else is kept."""
    try:
        return _encode(text).decode()
    except UnicodeEncodeError:
        import json  # noqa: PLC0415  # only such rare text pays for it

        return encodable(json.dumps(text, ensure_ascii=False))


def encodable(text: str) -> str:
    """*text* with pairs of surrogates joined, and each lone one written as a ``u`` escape, which JSON reads back."""
    return re.sub(_LONE, _escape, join_pairs(text)) if _has_surrogates(text) else text


def join_pairs(text: str) -> str:
    """*text* with each pair of surrogates made the one character that it means; lone ones stay."""
    if not _has_surrogates(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def to_ascii(json_text: str) -> str:
    """The same JSON in ASCII alone: everything else stands inside strings, where it can be escaped."""
    return json_text if json_text.isascii() else re.sub(_BEYOND_ASCII, _escape, json_text)


def image_type(data: bytes) -> str | None:
    """The media type of a PNG, JPEG, GIF or WebP picture, by its first bytes."""
    if data.startswith(b"RIFF") and data.startswith(b"WEBP", _RIFF):
        return "image/webp"
    return next((media_type for sign, media_type in _IMAGE_SIGNS if data.startswith(sign)), None)


def data_uri(data: bytes, media_type: str | None = None) -> str:
    """Bytes as text that says what it is: a ``data:`` URI in base64."""
    kind = media_type or image_type(data) or "application/octet-stream"
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def _has_surrogates(text: str) -> bool:
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code <= 0xFFFF:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def _digits(number: int) -> str:
    try:
        return int.__repr__(number)
    except ValueError as error:  # the interpreter refuses from 4,300 digits on, a limit that the host may change
        if number.bit_length() > MAX_DIGITS * _BITS_PER_DIGIT:
            raise TooManyDigits from error
        return str(Decimal(number))


def _duration(span: timedelta) -> str:
    """An ISO 8601 duration, such as ``P1DT2H0.5S`` or ``-PT1S``; days are 24 hours."""
    micros = span // timedelta(microseconds=1)
    seconds, micros_left = divmod(abs(micros), 1_000_000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    fraction = f"{seconds}.{micros_left:06}".rstrip("0") if micros_left else str(seconds) if seconds else ""
    clock = "".join(f"{part}{unit}" for part, unit in ((hours, "H"), (minutes, "M"), (fraction, "S")) if part)
    sign = "-" if micros < 0 else ""
    day_part = f"{days}D" if days else ""
    return f"{sign}P{day_part}T{clock}" if clock else f"{sign}P{day_part}" if days else "PT0S"
