"""How the value of a parameter is written into a path, a query, a header or a cookie.

Whatever an argument holds stays inside of its place: everything but letters, digits and ``-._~`` is percent-encoded, and
what could move a request to another path is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Final, Literal, cast
from urllib.parse import quote, unquote

import msgspec

from ...definitions import canonical_text
from ._json import is_array, is_object

__all__ = (
    "Pair",
    "Parameter",
    "Place",
    "Refused",
    "Style",
    "header_value",
    "leads_elsewhere",
    "pairs",
    "path_text",
    "require_own_names",
    "scalar_text",
)

Place = Literal["path", "query", "header", "cookie"]
Style = Literal["simple", "label", "matrix", "form", "spaceDelimited", "pipeDelimited", "deepObject"]

Pair = tuple[str, str]
"""A name and a value, encoded."""

_RESERVED: Final = ":/?@!$'()*,="
"""What ``allowReserved`` leaves as it is. ``#[]&;+`` would end the value, or mean something else to some servers."""

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_SEPARATOR: Final = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C"}
_DECODINGS: Final = 3
"""How often a path may be decoded on its way, by proxies and at last by the server."""

_NESTED: Final = 16
"""How deep the object of a ``deepObject`` may be nested."""


class Refused(Exception):
    """The value of an argument can't be sent in its place. Its words are for the model."""


class Parameter(msgspec.Struct, frozen=True, eq=False):
    """A parameter as it is written on the wire.

    Args:
        wire: Its name there.
        place: Where it stands.
        style: How lists and objects are written.
        explode: Whether each of their members stands for itself.
        allow_reserved: Characters that have a meaning in URLs stay as they are, where that is safe.
        json: Its value is written as JSON text.
        required: It has to be there.
    """

    wire: str
    place: Place
    style: Style
    explode: bool
    allow_reserved: bool = False
    json: bool = False
    required: bool = False


def scalar_text(value: object) -> str:
    """*value* as text: numbers and booleans as JSON has them; what holds others, as JSON."""
    if isinstance(value, str):
        return value
    return canonical_text(value, mode="exact")


def _encoded(text: str, safe: str = "") -> str:
    try:
        return quote(text, safe=safe)
    except UnicodeEncodeError:
        raise Refused("holds half a character (a lone surrogate)") from None


def _members(value: Mapping[str, object]) -> list[tuple[str, object]]:
    """The members of an object that are there."""
    return [(key, member) for key, member in value.items() if member is not None]


def _items(value: list[object]) -> list[object]:
    return [item for item in value if item is not None]


# ── path ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def path_text(parameter: Parameter, value: object) -> str:
    """What stands in the path for *value*.

    Raises:
        Refused: It would be another path, or none.
    """
    written = _in_path(parameter, value)
    if not written.strip("."):
        raise Refused("is empty, or nothing but dots, and would make another path")
    return written


def _in_path(parameter: Parameter, value: object) -> str:
    name = _encoded(parameter.wire)
    named = False
    if not parameter.json and is_object(value):
        members = [(_segment(key), _segment(scalar_text(member))) for key, member in _members(value)]
        parts = ["=".join(pair) if parameter.explode else ",".join(pair) for pair in members]
    elif not parameter.json and is_array(value):
        parts = [_segment(scalar_text(item)) for item in _items(value)]
        named = parameter.explode
    else:
        text = _segment(canonical_text(value, mode="exact") if parameter.json else scalar_text(value))
        return {"label": f".{text}", "matrix": f";{name}={text}"}.get(parameter.style, text)
    if parameter.style == "label":
        return "." + ("." if parameter.explode else ",").join(parts)
    if parameter.style == "matrix":
        if not parameter.explode:
            return f";{name}={','.join(parts)}"
        return "".join(f";{name}={part}" if named else f";{part}" for part in parts)
    return ",".join(parts)


def _segment(text: str) -> str:
    """*text* as part of one segment of a path.

    Raises:
        Refused: It is empty, holds control characters, or a step such as ``..`` that servers may follow once decoded.
    """
    if not text:
        raise Refused("is empty, and would make another path")
    if any(map(_CONTROL.search, _readings(text))):
        raise Refused("holds a control character, or one that comes about once it is decoded")
    if leads_elsewhere(text):
        raise Refused("holds a step . or .., which would lead to another path")
    return _encoded(text)


def leads_elsewhere(text: str) -> bool:
    """Whether *text* holds a step such as ``..``, for whoever reads it.

    Some split paths only once they are decoded, decode them more than once, or drop what stands behind a semicolon.
    """
    steps = (step for reading in _readings(text) for step in re.split(r"[/\\]", reading))
    return any(step.partition(";")[0] in (".", "..") for step in steps)


def _readings(text: str) -> Iterator[str]:
    """What *text* is for those who decode it never, once, or more often."""
    for _ in range(_DECODINGS):
        yield text
        text = unquote(text)


# ── query and cookie ─────────────────────────────────────────────────────────────────────────────────────────────────


def pairs(parameter: Parameter, value: object) -> list[Pair]:
    """The names and values that stand in a query, in cookies or in a form for *value*, which is not None.

    Raises:
        Refused: It can't be said.
    """
    safe = _RESERVED if parameter.allow_reserved else ""

    def said(member: object) -> str:
        return _encoded(scalar_text(member), safe)

    name = _encoded(parameter.wire)
    if parameter.json:
        return [(name, _encoded(canonical_text(value, mode="exact"), safe))]
    if not (is_array(value) or is_object(value)):
        return [(name, said(value))]
    if parameter.style == "deepObject":
        return [(_encoded(f"{parameter.wire}{path}"), said(leaf)) for path, leaf in _leaves(value, 0)]
    return _listed_pairs(parameter, value, name, said)


def require_own_names(wire: str, written: Iterable[Pair], declared: Container[str]) -> None:
    """Refuse keys of the object in *wire* which are the names of other parameters, for they would be values of those.

    Args:
        wire: The parameter.
        written: What is sent for it.
        declared: The names of all parameters of its place.

    Raises:
        Refused: One of the names in *written* is another's.
    """
    for name, _ in written:
        plain = unquote(name.replace("+", " "))
        head = plain.partition("[")[0]
        if plain != wire and (plain in declared or (head != wire and head in declared)):
            raise Refused(f"the key {plain!r} is the name of another parameter")


def _listed_pairs(
    parameter: Parameter, value: list[object] | Mapping[str, object], name: str, said: Callable[[object], str]
) -> list[Pair]:
    if is_object(value):
        members = [(_encoded(key), said(member)) for key, member in _members(value)]
        if parameter.explode:
            return members
        parts = [part for pair in members for part in pair]
    else:
        parts = [said(item) for item in _items(cast("list[object]", value))]
        if parameter.explode:
            return [(name, part) for part in parts]
    return [(name, _SEPARATOR.get(parameter.style, ",").join(parts))] if parts else []


def _leaves(value: object, depth: int) -> Iterator[tuple[str, object]]:
    """The scalars in *value* and the way to each: ``[a][0]``. The specification goes only one step."""
    if depth > _NESTED:
        raise Refused(f"is nested more than {_NESTED} deep")
    if is_object(value):
        inner = _members(value)
    elif is_array(value):
        inner = [(str(index), item) for index, item in enumerate(value)]
    else:
        yield "", value
        return
    for key, member in inner:
        if "[" in key or "]" in key:
            raise Refused(f"the key {key!r} holds a bracket, and would mean another one")
        yield from ((f"[{key}]{path}", leaf) for path, leaf in _leaves(member, depth + 1))


# ── header ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def header_value(parameter: Parameter, value: object) -> bytes:
    """What stands in a header for *value*.

    Raises:
        Refused: It holds the end of a line or another control character.
    """
    if parameter.json:
        text = canonical_text(value, mode="exact")
    elif is_object(value):
        members = [(key, scalar_text(member)) for key, member in _members(value)]
        text = ",".join("=".join(pair) if parameter.explode else ",".join(pair) for pair in members)
    elif is_array(value):
        text = ",".join(scalar_text(item) for item in _items(value))
    else:
        text = scalar_text(value)
    if _CONTROL.search(text.replace("\t", " ")):
        raise Refused("holds a control character, such as the end of a line")
    if text != text.strip(" \t"):
        raise Refused("begins or ends with white space, which can't be sent in a header")
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise Refused("holds half a character (a lone surrogate)") from None
