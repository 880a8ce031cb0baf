"""Strict JSON text to values: `parse_json` refuses everything that two readers could understand differently.

A text first goes through the standard library's scanner, with hooks that only say yes or no. Whatever that one does
not plainly accept is read again by `CarefulReader`, which is slower, never recurses, and knows where it is: it alone words
the refusals. So a good text is cheap and a bad one is answered precisely.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator
from itertools import accumulate
from typing import Final

import msgspec

from ..errors import DefinitionError, JsonError
from ._checks import shown
from ._json_values import JsonCode

__all__ = ("DEFAULT_LIMITS", "CarefulReader", "JsonLimits", "parse_json")


class JsonLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much JSON is too much.

    Args:
        max_bytes: Size of the text in UTF-8. The default is about twice what a model can write in one answer. The
            time of a refusal grows with it: a text that goes wrong at its very end is read twice, once in Python.
        max_depth: How many arrays and objects may be open at once. 128 is what a reader that recurses can take.
        max_digits: Digits of an integer. Reading digits takes quadratic time; the default is where Python stops too.

    Raises:
        DefinitionError: A limit is not a whole number of at least 1.
    """

    max_bytes: int = 1024 * 1024
    max_depth: int = 128
    max_digits: int = 4300

    def __post_init__(self) -> None:
        for name in ("max_bytes", "max_depth", "max_digits"):
            number: object = getattr(self, name)
            if type(number) is not int or number < 1:
                raise DefinitionError("JsonLimits", name, f"expected a whole number of at least 1, not {shown(number)}")


DEFAULT_LIMITS: Final = JsonLimits()


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
    return CarefulReader(source, limits).read() if value is _UNSURE else value


class _Mark:
    """A value that no JSON text can mean."""


_UNSURE: Final = _Mark()
_OPENED: Final = _Mark()
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
    decoder = _DECODER if counted else _counting_decoder(limits.max_digits)
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


def _counting_decoder(max_digits: int) -> json.JSONDecoder:
    def integer(token: str) -> int:
        if len(token) - token.startswith("-") > max_digits:
            raise ValueError("too many digits")
        return int(token)

    return json.JSONDecoder(
        object_pairs_hook=_unique, parse_float=_finite, parse_int=integer, parse_constant=_refuse_constant
    )


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_finite, parse_constant=_refuse_constant)
_NOT_BRACKETS: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"|[^\[\]{}"]++', re.DOTALL)
_DEPTH_CHANGE: Final = {"[": 1, "{": 1, "]": -1, "}": -1}


def _depth(text: str) -> int:
    """How deep *text* nests, if it is JSON."""
    return max(accumulate(_DEPTH_CHANGE.get(char, 0) for char in _NOT_BRACKETS.sub("", text)), default=0)


# --- the careful way: reads without recursion, and words every refusal


class _Object:
    """An object that is being read. *step* is the key whose value comes next; None between members."""

    __slots__ = ("content", "step")
    closer: Final = "}"

    def __init__(self) -> None:
        self.content: dict[str, object] = {}
        self.step: str | None = None

    def put(self, value: object) -> None:
        self.content[str(self.step)] = value
        self.step = None


class _Array:
    """An array that is being read. *step* is the index of the element that comes next; None between elements."""

    __slots__ = ("content", "step")
    closer: Final = "]"

    def __init__(self) -> None:
        self.content: list[object] = []
        self.step: int | None = None

    def put(self, value: object) -> None:
        self.content.append(value)
        self.step = None


_BLANK: Final = re.compile(r"[ \t\n\r]*+")
_RUN: Final = re.compile(r"[-+.0-9A-Za-z_]++")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*+)(\.[0-9]++)?([eE][+-]?[0-9]++)?")
_NUMBER_ENDS: Final = " \t\n\r,]}"  # and the end of the text, which is the empty string
_NUMBER_BEGUN: Final = re.compile(r"-|-?(?:0|[1-9][0-9]*+)(?:\.|(?:\.[0-9]++)?[eE][+-]?)")
_BODY: Final = r'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})[^"\\\x00-\x1f]*+)*+'
_STRING_BEGUN: Final = re.compile(_BODY)
_STRING: Final = re.compile(_BODY + '"')
_ESCAPE_BEGUN: Final = re.compile(r"\\(?:u[0-9A-Fa-f]{0,3})?")
_WORDS: Final = {"true": True, "false": False, "null": None}
_NON_FINITE: Final = ("NaN", "Infinity", "-Infinity")
_HINTS: Final = {
    "True": "write true",
    "False": "write false",
    "None": "write null",
    "undefined": "write null, or leave the member out",
    "'": "strings stand in double quotes",
    "/": "JSON has no comments",
    "+": "a positive number has no sign",
    ".": "a number starts with a digit",
}


_SHOWN: Final = 40
"""Characters of the text that a message quotes."""


def _shown(token: str) -> str:
    """*token* in ASCII, cut to a length that a message can bear."""
    return ascii(token) if len(token) <= _SHOWN else f"{token[:_SHOWN]!a}..."


class CarefulReader:
    """One reading of one text. *at* is where it stands; *open* are the containers around that place."""

    def __init__(self, text: str, limits: JsonLimits) -> None:
        self.text = text
        self.limits = limits
        self.at = 0
        self.open: list[_Object | _Array] = []

    def read(self) -> object:
        if self.text.startswith("\ufeff"):
            raise self._error("byte-order-mark", "the text starts with a byte order mark (U+FEFF); leave it out")
        if not self._peek():
            raise self._error("empty-text", "there is nothing to read; an empty object is written {}")
        value = self._value()
        while self.open:
            value = self._value() if value is _OPENED else self._attach(value)
        if self._peek():
            raise self._error("trailing-text", "the value is complete here; nothing but blanks may follow it")
        return value

    def _peek(self) -> str:
        """The next character that is not blank; empty at the end."""
        char = self.text[self.at : self.at + 1]
        if char > " ":
            return char
        blank = _BLANK.match(self.text, self.at)
        self.at = self.at if blank is None else blank.end()
        return self.text[self.at : self.at + 1]

    def _value(self) -> object:
        """A scalar or an empty container, or `_OPENED` with the place on the first element."""
        char = self._peek()
        if char == '"':
            return self._string()
        if char in ("[", "{"):
            return self._enter(_Array() if char == "[" else _Object())
        if not char:
            raise self._error("unexpected-end", "the text ends where a value should stand")
        number = _NUMBER.match(self.text, self.at)
        if number is None or self.text[number.end() : number.end() + 1] not in _NUMBER_ENDS:
            return self._word(char)
        token = number.group()
        value = self._integer(token) if number.lastindex is None else self._float(token)
        self.at += len(token)
        return value

    def _enter(self, container: _Object | _Array) -> object:
        if len(self.open) >= self.limits.max_depth:
            raise self._error("too-deep", f"at most {self.limits.max_depth} arrays and objects may be open at once")
        self.at += 1
        self.open.append(container)
        if self._peek() == container.closer:
            return self._leave(container)
        return self._step(container)

    def _leave(self, container: _Object | _Array) -> object:
        self.at += 1
        self.open.pop()
        return container.content

    def _step(self, container: _Object | _Array) -> object:
        if isinstance(container, _Array):
            container.step = len(container.content)
            return _OPENED
        start = self.at
        if self._peek() != '"':
            raise self._expected("a key in double quotes")
        container.step = self._string()
        if container.step in container.content:
            raise self._error("duplicate-key", "this key stands in the object already; write each key once", start)
        if self._peek() != ":":
            raise self._expected("a colon after the key")
        self.at += 1
        return _OPENED

    def _attach(self, value: object) -> object:
        """Put *value* where it belongs. Answers the container if that was its last value, else `_OPENED`."""
        container = self.open[-1]
        container.put(value)
        char = self._peek()
        if char == container.closer:
            return self._leave(container)
        if char != ",":
            raise self._expected(f"a comma or {container.closer}")
        self.at += 1
        if self._peek() == container.closer:
            raise self._error("invalid-syntax", f"no comma may stand before {container.closer}")
        return self._step(container)

    def _string(self) -> str:
        found = _STRING.match(self.text, self.at)
        if found is None:
            raise self._bad_string()
        self.at = found.end()
        token = found.group()
        return token[1:-1] if "\\" not in token else str(_DECODER.decode(token))

    def _bad_string(self) -> JsonError:
        begun = _STRING_BEGUN.match(self.text, self.at)
        at = self.at if begun is None else begun.end()
        rest = self.text[at : at + 6]
        if not rest or (at + len(rest) == len(self.text) and _ESCAPE_BEGUN.fullmatch(rest)):
            return self._error("unexpected-end", "the string that starts here is not closed")
        if rest[0] == "\\":
            right = 'the escapes are \\" \\\\ \\/ \\b \\f \\n \\r \\t and \\u with four hexadecimal digits'
            return self._error("invalid-escape", f"{_shown(rest[:2])} is no escape; {right}", at)
        right = f"write it as \\u{ord(rest[0]):04x}"
        return self._error("control-character", f"a raw {_shown(rest[0])} stands in a string; {right}", at)

    def _word(self, char: str) -> object:
        run = _RUN.match(self.text, self.at)
        token = char if run is None else run.group()
        if token not in _WORDS:
            raise self._bad_token(token)
        self.at += len(token)
        return _WORDS[token]

    def _integer(self, token: str) -> int:
        digits = len(token) - token.startswith("-")
        if digits > self.limits.max_digits:
            limit = self.limits.max_digits
            raise self._error("too-many-digits", f"an integer of {digits} digits; at most {limit} are read")
        try:
            return int(token)
        except ValueError:  # the host lowered sys.set_int_max_str_digits
            reason = f"an integer of {digits} digits is over sys.get_int_max_str_digits()"
            raise self._error("too-many-digits", reason) from None

    def _float(self, token: str) -> float:
        number = float(token)
        if math.isinf(number):
            right = "it must lie within plus and minus 1.7976931348623157e308"
            raise self._error("number-overflow", f"{_shown(token)} would become infinite; {right}")
        return number

    def _bad_token(self, token: str) -> JsonError:
        if token in _NON_FINITE:
            return self._error("non-finite-number", f"{token} is not JSON; write null, or say it in a string")
        begun = _NUMBER_BEGUN.fullmatch(token) or any(word.startswith(token) for word in _WORDS)
        if begun and self.at + len(token) == len(self.text):
            return self._error("unexpected-end", f"the text ends within {_shown(token)}")
        hint = _HINTS.get(token) or _HINTS.get(token[0])
        if token[0] in "-+.0123456789":
            right = hint or "a number is written like -12, 0.5 or 1e9"
            return self._error("invalid-number", f"{_shown(token)} is no JSON number; {right}")
        return self._error("invalid-syntax", f"{_shown(token)} is no JSON value; {hint or 'expected a value'}")

    def _expected(self, what: str) -> JsonError:
        char = self._peek()
        if not char:
            return self._error("unexpected-end", f"the text ends; expected {what}")
        return self._error("invalid-syntax", f"expected {what}, not {_shown(char)}")

    def _error(self, code: JsonCode, detail: str, at: int | None = None) -> JsonError:
        place = self.at if at is None else at
        line = self.text.count("\n", 0, place) + 1
        column = place - self.text.rfind("\n", 0, place)
        return JsonError(code, tuple(self._path()), f"{detail} (line {line}, column {column})")

    def _path(self) -> Iterator[str | int]:
        for container in self.open:
            if container.step is not None:
                yield container.step
