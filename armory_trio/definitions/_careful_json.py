"""Strict JSON, read slowly: without recursion, and with a place for every refusal."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Final

from ..errors import JsonError
from ._json_values import JsonCode, JsonLimits

__all__ = ("CarefulReader",)


class _Mark:
    """A value that no JSON text can mean."""


_OPENED: Final = _Mark()
_DECODER: Final = json.JSONDecoder()
"""Reads the escapes of a string."""


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
