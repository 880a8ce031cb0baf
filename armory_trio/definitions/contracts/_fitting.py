"""Reading a JSON value by its schema: which schemas speak about a place, and the harmless repairs that strictness allows.

The repairs never change what a value means: ``3.0`` for an integer becomes ``3``, a null for an argument that may be
left out but not be null is left out. The lenient ones do more, and only where a tool asked for them.
"""

from __future__ import annotations

import json
import math
import re
import urllib.parse
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, cast

from ...errors import JsonError
from .._canonical import parse_json

Schema = Mapping[str, object]

_COMBINING: Final = ("$ref", "anyOf", "allOf", "oneOf", "if", "then", "else", "dependentSchemas", "$dynamicRef")
_REPAIRABLE: Final = frozenset((float, list, dict))
"""The types of values in which strictness may find something to repair."""
_SEARCHED: Final = 10_000
"""Places of a document that are searched for names. What is not found is left alone."""
_DEEPEST: Final = 16
"""References and alternatives that are followed to find out whether null is legal."""
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_DIGITS: Final = 4_000
"""Digits of a number that leniency reads out of a string; Python itself refuses more than 4,300."""


def json_type(value: object) -> str:
    """The word of JSON Schema for the type of *value*; for a foreign object the name of its class."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "integer" if float.is_integer(value) else "number"
        case str():
            return "string"
        case Mapping():
            return "object"
        case list() | tuple():
            return "array"
        case _:
            return type(value).__name__


# ── which schemas speak about a place ────────────────────────────────────────────────────────────────────────────────


class Speaking:
    """Which schemas of the document *root* have a say where, each found out once for all members of a value."""

    __slots__ = ("_below", "_first", "_known", "_nulls", "_targets", "root")

    def __init__(self, root: Schema) -> None:
        self.root = root
        self._targets = _Targets(root)
        self._known: dict[tuple[int, ...], list[Schema]] = {}
        """By the identities of those that they follow from."""

        self._below: dict[tuple[int, str | int], list[Schema]] = {}
        """By the identity of the list of those above, all of which are in `_known`, and the step."""

        self._first: dict[int, int] = {}
        """How many items have schemas of their own, by the same identity."""

        self._nulls: dict[int, bool] = {}

    def at_root(self) -> list[Schema]:
        """The schemas that speak about the whole value."""
        return self._of([self.root])

    def below(self, schemas: list[Schema], step: str | int) -> list[Schema]:
        """Those that speak about the member *step* of a value about which *schemas* speak, as they were given by this."""
        if isinstance(step, int):
            step = min(step, self._first_items(schemas))
        key = id(schemas), step
        found = self._below.get(key)
        if found is None:
            found = self._below[key] = self._of(inner for schema in schemas for inner in _inner(schema, step))
        return found

    def takes_null(self, schema: object) -> bool:
        """Whether null may be legal by *schema*. True when in doubt."""
        key = id(schema)
        if key not in self._nulls:
            self._nulls[key] = _Nulls(self._targets).may_be(schema, 0)
        return self._nulls[key]

    def _first_items(self, schemas: list[Schema]) -> int:
        found = self._first.get(id(schemas))
        if found is None:
            found = max((len(_list(schema.get("prefixItems"))) for schema in schemas), default=0)
            self._first[id(schemas)] = found
        return found

    def _of(self, schemas: Iterable[object]) -> list[Schema]:
        """*schemas*, and their references, branches and conditions, too."""
        waiting = deque(cast("Schema", schema) for schema in schemas if isinstance(schema, Mapping))
        key = tuple(id(schema) for schema in waiting)
        known = self._known.get(key)
        if known is not None:
            return known
        found: dict[int, Schema] = {}
        while waiting:
            schema = waiting.popleft()
            if id(schema) not in found:
                found[id(schema)] = schema
                inner = _beside(self._targets, schema)
                waiting.extend(cast("Schema", one) for one in inner if isinstance(one, Mapping))
        self._known[key] = [*found.values()]
        return self._known[key]


def _beside(targets: _Targets, schema: Schema) -> Iterator[object]:
    if not any(word in schema for word in _COMBINING):
        return
    for word in ("$ref", "$dynamicRef"):
        reference = schema.get(word)
        if isinstance(reference, str):
            yield targets.of(reference)
    for word in ("allOf", "anyOf", "oneOf"):
        yield from _list(schema.get(word))
    for word in ("if", "then", "else"):
        yield schema.get(word)
    yield from _mapping(schema.get("dependentSchemas")).values()


def target(root: Schema, reference: str) -> object:
    """What a reference inside the document *root* points at; None for other references, which are left alone."""
    return _Targets(root).of(reference)


class _Targets:
    """What references inside of one document point at."""

    __slots__ = ("_anchors", "_root")

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._anchors: dict[object, Schema] | None = None

    def of(self, reference: str) -> object:
        """See `target`."""
        if reference == "#":
            return self._root
        if reference.startswith("#/"):
            return _pointed(self._root, reference[2:])
        if not reference.startswith("#"):
            return None
        if self._anchors is None:
            self._anchors = _anchors(self._root)
        return self._anchors.get(reference[1:])


def _pointed(place: object, pointer: str) -> object:
    for step in pointer.split("/"):
        key = _unescaped(step)
        if key in _mapping(place):
            place = _mapping(place)[key]
        elif key.isdecimal() and int(key) < len(_list(place)):
            place = _list(place)[int(key)]
        else:
            return None
    return place


def _unescaped(step: str) -> str:

    return urllib.parse.unquote(step).replace("~1", "/").replace("~0", "~")


def _anchors(root: object) -> dict[object, Schema]:
    """The schemas that have a name in the document *root*, the first of each."""
    found: dict[object, Schema] = {}
    waiting = [root]
    for _ in range(_SEARCHED):
        if not waiting:
            break
        value = waiting.pop()
        if isinstance(value, Mapping):
            schema = cast("Schema", value)
            for anchor in (schema.get("$anchor"), schema.get("$dynamicAnchor")):
                if isinstance(anchor, str):
                    found.setdefault(anchor, schema)
            waiting.extend([*schema.values()][::-1])
        else:
            waiting.extend(_list(value)[::-1])
    return found


def _inner(schema: Schema, step: str | int) -> Iterator[object]:
    if isinstance(step, int):
        first = _list(schema.get("prefixItems"))
        yield first[step] if step < len(first) else schema.get("items")
        yield schema.get("contains")
        return
    named = _mapping(schema.get("properties"))
    yield named.get(step)
    # Whether a pattern matches is the validator's to say: Python's own engine could be kept busy for ever.
    yield from _mapping(schema.get("patternProperties")).values()
    if step not in named:
        yield schema.get("additionalProperties")
        yield schema.get("unevaluatedProperties")


def at(root: Schema, path: Sequence[str | int]) -> list[Schema]:
    """The schemas that speak about the place *path* of a value of *root*."""
    speaking = Speaking(root)
    schemas = speaking.at_root()
    for step in path:
        schemas = speaking.below(schemas, step)
    return schemas


class _Nulls:
    """What is known of null, by the identities of schemas: many ways may lead to one."""

    def __init__(self, targets: _Targets) -> None:
        self._targets = targets
        self._known: dict[int, bool] = {}

    def may_be(self, schema: object, depth: int) -> bool:
        """See `Speaking.takes_null`."""
        if not isinstance(schema, Mapping) or depth > _DEEPEST:
            return schema is not False
        known = cast("Schema", schema)
        if id(known) not in self._known:
            self._known[id(known)] = True  # for those that come back to it
            self._known[id(known)] = self._may_be_inside(known, depth + 1)
        return self._known[id(known)]

    def _may_be_inside(self, schema: Schema, depth: int) -> bool:
        if not _own_words_take_null(schema):
            return False
        reference = schema.get("$ref")
        if isinstance(reference, str) and not self.may_be(self._targets.of(reference), depth):
            return False
        if not all(self.may_be(branch, depth) for branch in _list(schema.get("allOf"))):
            return False
        return all(
            not branches or any(self.may_be(branch, depth) for branch in branches)
            for branches in (_list(schema.get("anyOf")), _list(schema.get("oneOf")))
        )


def _own_words_take_null(schema: Schema) -> bool:
    types = schema.get("type")
    if types is not None and types != "null" and "null" not in _list(types):
        return False
    if "enum" in schema and None not in _list(schema["enum"]):
        return False
    return schema.get("const") is None


# ── the repairs ──────────────────────────────────────────────────────────────────────────────────────────────────────


def fitted(root: Schema, value: object, *, lenient: bool) -> object:
    """A copy of the detached JSON *value* with every repair that its schema *root* allows."""
    speaking = Speaking(root)
    return _fitted(speaking, speaking.at_root(), value, lenient=lenient)


def _fitted(speaking: Speaking, schemas: list[Schema], value: object, *, lenient: bool) -> object:
    if lenient:
        value = _loosened(schemas, value)
    if isinstance(value, float):
        return int(value) if float.is_integer(value) and _whole(schemas, value) else value
    if isinstance(value, list):
        members = enumerate(cast("list[object]", value))
        return [_fitted_member(speaking, schemas, index, member, lenient=lenient) for index, member in members]
    if isinstance(value, dict):
        return _fitted_object(speaking, schemas, cast("dict[str, object]", value), lenient=lenient)
    return value


def _fitted_member(
    speaking: Speaking, schemas: list[Schema], step: str | int, member: object, *, lenient: bool
) -> object:
    if type(member) in _REPAIRABLE or lenient:
        return _fitted(speaking, speaking.below(schemas, step), member, lenient=lenient)
    return member


def _fitted_object(
    speaking: Speaking, schemas: list[Schema], value: dict[str, object], *, lenient: bool
) -> dict[str, object]:
    copy: dict[str, object] = {}
    for key, member in value.items():
        if member is None and _may_be_left_out(speaking, schemas, key):
            continue
        copy[key] = _fitted_member(speaking, schemas, key, member, lenient=lenient)
    return copy


def _may_be_left_out(speaking: Speaking, schemas: list[Schema], key: str) -> bool:
    required = any(key in _list(schema.get("required")) for schema in schemas)
    return not required and _refuses_null(speaking, schemas, key)


def _refuses_null(speaking: Speaking, schemas: list[Schema], key: str) -> bool:
    """Whether *key* is declared, and null is legal for it by none of its declarations."""
    declared = [properties[key] for schema in schemas if key in (properties := _mapping(schema.get("properties")))]
    return bool(declared) and not any(speaking.takes_null(schema) for schema in declared)


def _whole(schemas: Sequence[Schema], value: float) -> bool:
    """Whether one of *schemas* wants an integer here."""
    for schema in schemas:
        choices = [*_list(schema.get("enum")), schema.get("const")]
        if "integer" in _types(schema):
            return True
        if any(isinstance(choice, int) and not isinstance(choice, bool) and choice == value for choice in choices):
            return True
    return False


def _loosened(schemas: Sequence[Schema], value: object) -> object:
    """*value*, or what a lenient tool takes it for where its own type is not allowed."""
    wanted = {word for schema in schemas for word in _types(schema)}
    if not wanted or json_type(value) in wanted:
        return value
    if value in (0, 1) and "boolean" in wanted and not wanted & {"integer", "number"}:
        return bool(value)
    return _read(value, wanted) if isinstance(value, str) else value


def _read(text: str, wanted: set[str]) -> object:
    stripped = text.strip()
    if "boolean" in wanted and stripped.lower() in ("true", "false"):
        return stripped.lower() == "true"
    if wanted & {"integer", "number"} and len(stripped) <= _DIGITS and _NUMBER.fullmatch(stripped):
        number = json.loads(stripped)
        return text if isinstance(number, float) and not math.isfinite(number) else number
    if wanted & {"array", "object"} and stripped[:1] in ("[", "{"):
        return _read_container(text, wanted)
    return text


def _read_container(text: str, wanted: set[str]) -> object:
    try:
        value = parse_json(text)
    except JsonError:
        return text
    return value if json_type(value) in wanted else text


def _types(schema: Schema) -> tuple[str, ...]:
    types = schema.get("type")
    return (types,) if isinstance(types, str) else tuple(str(word) for word in _list(types))


def _list(value: object) -> Sequence[object]:
    return cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def holds_float(value: object) -> bool:
    """Whether a float stands anywhere in the plain JSON *value*."""
    if isinstance(value, dict):
        return any(holds_float(member) for member in cast("dict[str, object]", value).values())
    if isinstance(value, list):
        return any(holds_float(member) for member in cast("list[object]", value))
    return isinstance(value, float)
