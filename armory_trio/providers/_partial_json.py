"""A JSON text as far as it has come: what can be shown while a model is still writing it.

For people to look at, never for execution: what runs is read strictly, once, when it is whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import ClassVar, Final, cast

from ..definitions import DEFAULT_LIMITS
from ..definitions._checks import text as require_text

__all__ = ("PartialJson",)

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_PLAIN: Final = re.compile(r'[^"\\\x00-\x1f]*')
_SCALAR: Final = re.compile(r"[-+.0-9A-Za-z]*")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_LITERALS: Final[Mapping[str, bool | None]] = {"true": True, "false": False, "null": None}
_ESCAPES: Final = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_LONGEST_SCALAR: Final = 4300
"""Reading digits takes quadratic time; more of them are shown as no number at all."""

_EMPTY: Final = object()


class PartialJson:
    """Reads one JSON text fragment by fragment and always knows the longest prefix of it that is a value.

    A string shows as far as it has come; a number, a literal and a key only when they are whole, since ``1`` may
    become ``15``. What is no JSON stops the reader where it is. Of a key that comes twice the last value is shown.

    Feeding takes time linear in all that is fed. Looking at `value` costs the length of the string that is open.
    """

    __slots__ = ("_escape", "_high", "_keys", "_mode", "_pieces", "_root", "_shown", "_stack")

    def __init__(self) -> None:
        self._mode = "value"
        self._stack: list[dict[str, object] | list[object]] = []
        self._keys: list[str] = []
        self._pieces: list[str] = []
        self._escape = ""
        self._high = ""
        self._root: object = _EMPTY
        self._shown = False

    def __repr__(self) -> str:
        return f"<PartialJson: {self._mode}>"  # never what a model wrote: it may be a secret

    @property
    def is_whole(self) -> bool:
        """Whether one value is complete and nothing but white space follows."""
        return self._mode == "done"

    @property
    def is_broken(self) -> bool:
        """Whether what has come can never become JSON."""
        return self._mode == "broken"

    @property
    def is_object(self) -> bool:
        """Whether the text is an object, as far as it has come."""
        return isinstance(self._root, dict)

    @property
    def value(self) -> object:
        """The value so far, None before there is any.

        It is the reader's own: look at it now, for it grows with the next fragment, and do not change it.
        """
        if self._mode in ("string", "escape"):
            self._pieces = ["".join(self._pieces)]
            self._show(self._pieces[0])
        return None if self._root is _EMPTY else self._root

    def feed(self, text: str) -> None:
        """Read the next fragment. Whatever it holds is read as far as it can be.

        Raises:
            DefinitionError: It is no text: bytes are decoded before, for a character may be cut between two of them.
        """
        require_text("PartialJson", "text", text)
        at = 0
        while at < len(text) and self._mode != "broken":
            at = self._STEPS[self._mode](self, text, at)

    # Each step reads at *at* and answers where the next one begins.

    def _read_value(self, text: str, at: int) -> int:
        at = _skip(text, at)
        if at == len(text):
            return at
        char = text[at]
        if char in "{[":
            return self._enter({} if char == "{" else [], at)
        if char == "]" and self._mode == "first item":
            return self._leave(at)
        if char == '"':
            self._mode, self._pieces = "string", []
            return at + 1
        self._mode, self._pieces = "scalar", []
        return at if char in "-0123456789tfn" else self._break(at)

    def _read_key(self, text: str, at: int) -> int:
        at = _skip(text, at)
        if at == len(text):
            return at
        if text[at] == "}" and self._mode == "first key":
            return self._leave(at)
        self._mode, self._pieces = "key", []
        return at + 1 if text[at] == '"' else self._break(at)

    def _read_colon(self, text: str, at: int) -> int:
        at = _skip(text, at)
        if at == len(text):
            return at
        self._mode = "value"
        return at + 1 if text[at] == ":" else self._break(at)

    def _read_next(self, text: str, at: int) -> int:
        at = _skip(text, at)
        if at == len(text):
            return at
        is_object = isinstance(self._stack[-1], dict)
        if text[at] == ("}" if is_object else "]"):
            return self._leave(at)
        self._mode = "next key" if is_object else "value"
        return at + 1 if text[at] == "," else self._break(at)

    def _read_end(self, text: str, at: int) -> int:
        at = _skip(text, at)
        return at if at == len(text) else self._break(at)

    def _read_string(self, text: str, at: int) -> int:
        match = cast("re.Match[str]", _PLAIN.match(text, at))
        if match[0]:
            self._add(match[0])
        at = match.end()
        if at == len(text):
            return at
        if text[at] == '"':
            self._end_string()
            return at + 1
        self._mode = "key escape" if self._mode == "key" else "escape"
        return at + 1 if text[at] == "\\" else self._break(at)

    def _read_escape(self, text: str, at: int) -> int:
        self._escape += text[at]
        back = "key" if self._mode == "key escape" else "string"
        if self._escape[0] != "u":
            found = _ESCAPES.get(self._escape)
            if found is None:
                return self._break(at)
            self._add(found)
        elif self._escape[-1] not in _HEX and len(self._escape) > 1:
            return self._break(at)
        elif len(self._escape) < len("uXXXX"):
            return at + 1
        else:
            self._add_unit(chr(int(self._escape[1:], 16)))
        self._mode, self._escape = back, ""
        return at + 1

    def _read_scalar(self, text: str, at: int) -> int:
        match = cast("re.Match[str]", _SCALAR.match(text, at))
        self._pieces.append(match[0])
        if match.end() < len(text):
            self._end_scalar()
        return match.end()

    def _enter(self, container: dict[str, object] | list[object], at: int) -> int:
        if len(self._stack) >= DEFAULT_LIMITS.max_depth:
            return self._break(at)
        self._show(container)
        self._shown = False
        self._stack.append(container)
        self._keys.append("")
        self._mode = "first key" if isinstance(container, dict) else "first item"
        return at + 1

    def _leave(self, at: int) -> int:
        self._stack.pop()
        self._keys.pop()
        self._ended()
        return at + 1

    def _ended(self) -> None:
        self._shown = False
        self._mode = "next" if self._stack else "done"

    def _end_string(self) -> None:
        self._flush()
        text = "".join(self._pieces)
        if self._mode == "key":
            self._keys[-1] = text
            self._mode = "colon"
            return
        self._show(text)
        self._ended()

    def _end_scalar(self) -> None:
        token = "".join(self._pieces)
        if token in _LITERALS:
            self._show(_LITERALS[token])
        elif (number := _NUMBER.fullmatch(token)) is None or len(token) > _LONGEST_SCALAR:
            self._break(0)
            return
        else:
            self._show(float(token) if number[1] or number[2] else int(token))
        self._ended()

    def _add_unit(self, unit: str) -> None:
        """One UTF-16 unit of an escape: two of them may be one character."""
        if self._high and "\udc00" <= unit <= "\udfff":
            pair = (self._high + unit).encode("utf-16-le", "surrogatepass")
            self._high = ""
            self._pieces.append(pair.decode("utf-16-le"))
            return
        self._flush()
        if "\ud800" <= unit <= "\udbff":
            self._high = unit
        else:
            self._pieces.append(unit)

    def _add(self, text: str) -> None:
        self._flush()
        self._pieces.append(text)

    def _flush(self) -> None:
        if self._high:
            self._pieces.append(self._high)
            self._high = ""

    def _show(self, value: object) -> None:
        """Put *value* where it stands; a string that is still open may stand there already."""
        if not self._stack:
            self._root = value
            return
        container = self._stack[-1]
        if isinstance(container, dict):
            container[self._keys[-1]] = value
        elif self._shown:
            container[-1] = value
        else:
            container.append(value)
        self._shown = True

    def _break(self, at: int) -> int:
        if self._mode in ("string", "escape"):
            self._show("".join(self._pieces))
        self._mode = "broken"
        return at

    _STEPS: ClassVar[Mapping[str, Callable[..., int]]] = {
        "value": _read_value,
        "first item": _read_value,
        "first key": _read_key,
        "next key": _read_key,
        "colon": _read_colon,
        "next": _read_next,
        "done": _read_end,
        "string": _read_string,
        "key": _read_string,
        "escape": _read_escape,
        "key escape": _read_escape,
        "scalar": _read_scalar,
    }


def _skip(text: str, at: int) -> int:
    return cast("re.Match[str]", _SPACE.match(text, at)).end()
