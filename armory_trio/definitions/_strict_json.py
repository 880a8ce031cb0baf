"""Strict JSON text to values: `parse_json` refuses everything that two readers could understand differently.

A text first goes through the standard library's scanner, with hooks that only say yes or no. Whatever that one does
not plainly accept is read again by `_careful_json`, which is slower, never recurses, and knows where it is: it alone words
the refusals. So a good text is cheap and a bad one is answered precisely.
"""

from __future__ import annotations

import math
import re
import sys
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from ..errors import JsonError
from ._json_values import DEFAULT_LIMITS, JsonLimits

if TYPE_CHECKING:
    import json

__all__ = ("DEFAULT_LIMITS", "JsonLimits", "parse_json")


def parse_json(text: str | bytes, *, limits: JsonLimits = DEFAULT_LIMITS) -> object:
    """Read one JSON text into plain dicts, lists, strings, ints, floats, bools and None.

    Integers stay exact, however large; every other number is the nearest float. A lone surrogate, raw or escaped,
    stays in its string: whether it may go on is for the writer to say.

    Args:
        text: The text, or its UTF-8 bytes.
        limits: What is too large, too deep or too long. The size is looked at before anything else.

    Raises:
        JsonError: The text is not strict JSON. It carries one of the codes of `JsonCode`, the path to the place, and
            a detail that names the line and column (the byte offset for broken UTF-8) and what would be right.
            Nothing else is raised, whatever the text.
    """
    source = _decode(text, limits.max_bytes)
    value = _read_plainly(source, limits)
    if value is not _UNSURE:
        return value
    from ._careful_json import CarefulReader  # noqa: PLC0415  # only a text that is not plainly good pays for it

    return CarefulReader(source, limits).read()


_UNSURE: Final = object()
_SPACE: Final = " \t\n\r"


def _decode(text: object, max_bytes: int) -> str:
    if isinstance(text, str):
        if _utf8_length(text, max_bytes) > max_bytes:
            raise JsonError("text-too-large", (), f"the text has more than {max_bytes} bytes; send less")
        return text
    if not isinstance(text, bytes):
        kind = type(text).__name__
        raise JsonError("unsupported-type", (), f"expected a JSON text as str or bytes, not {kind}")
    if len(text) > max_bytes:
        raise JsonError("text-too-large", (), f"the text has {len(text)} bytes; at most {max_bytes} are read")
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        place = f"byte 0x{text[error.start]:02x} at byte offset {error.start}"
        raise JsonError("invalid-utf8", (), f"{place} is not UTF-8; encode the text as UTF-8") from None


def _utf8_length(text: str, enough: int) -> int:
    """The length in UTF-8, or any number on the same side of *enough* when that is cheaper to know."""
    if len(text) > enough or text.isascii():
        return len(text)
    if len(text) * 4 <= enough:
        return len(text) * 4
    return len(text.encode("utf-8", "surrogatepass"))


# --- the cheap way: says yes, or that it is not sure


def _read_plainly(text: str, limits: JsonLimits) -> object:
    body = text.strip(_SPACE)
    # Brackets in strings count too here, so few brackets prove a shallow text and many prove nothing.
    if body.count("[") + body.count("{") > limits.max_depth and _depth(body) > limits.max_depth:
        return _UNSURE
    # Counting each integer's digits is slow. A short text cannot hold a long one, and mostly Python counts anyway.
    counted = len(body) <= limits.max_digits or 0 < sys.get_int_max_str_digits() <= limits.max_digits
    decoder = _decoder() if counted else _counting_decoder(limits.max_digits)
    try:
        value, end = decoder.raw_decode(body)
    except (ValueError, RecursionError):  # a RecursionError may be our caller's deep stack, so it proves nothing
        return _UNSURE
    return value if end == len(body) else _UNSURE


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("duplicate key")
    return members


def _finite(token: str) -> float:
    number = float(token)
    if math.isinf(number):
        raise ValueError("overflow")
    return number


def _refuse_constant(token: str) -> object:
    raise ValueError(token)


@cache
def _decoder() -> json.JSONDecoder:
    import json  # noqa: PLC0415  # only who reads JSON pays for it

    return json.JSONDecoder(object_pairs_hook=_unique, parse_float=_finite, parse_constant=_refuse_constant)


def _counting_decoder(max_digits: int) -> json.JSONDecoder:
    import json  # noqa: PLC0415  # the same

    def integer(token: str) -> int:
        if len(token) - token.startswith("-") > max_digits:
            raise ValueError("too many digits")
        return int(token)

    return json.JSONDecoder(
        object_pairs_hook=_unique, parse_float=_finite, parse_int=integer, parse_constant=_refuse_constant
    )


_NOT_BRACKETS: Final = r'(?s:"(?:[^"\\]++|\\.)*+"|[^\[\]{}"]++)'
_DEPTH_CHANGE: Final = {"[": 1, "{": 1, "]": -1, "}": -1}


def _depth(text: str) -> int:
    """How deep *text* nests, if it is JSON."""
    return max(accumulate(_DEPTH_CHANGE.get(char, 0) for char in re.sub(_NOT_BRACKETS, "", text)), default=0)
