"""Schemas that are their own alternative, and so say nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, cast

from ...errors import DefinitionError
from .._arguments import path_text
from ._fitting import Schema, target

_ALTERNATIVES: Final = ("anyOf", "oneOf")
_REFERENCES: Final = ("$ref", "$dynamicRef")
_APPLYING: Final = frozenset((*_ALTERNATIVES, *_REFERENCES, "allOf", "not"))
_SAYS_NOTHING: Final = frozenset(
    (
        *("$schema", "$id", "$anchor", "$dynamicAnchor", "$comment", "$defs", "definitions"),
        *("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"),
    )
)

Path = tuple[str | int, ...]


def refuse_loops(root: Schema, subject: str, field: str) -> None:
    """Refuse a schema which comes back to itself as its own alternative, or as its own opposite.

    By JSON Schema that is undefined, and validators take anything there. One that comes back with something more to
    say, as the parts of a polymorphic schema do that repeat the whole, is decided by what it says more.

    Raises:
        DefinitionError: There is one; it says where.
    """
    for path, schema in _schemas(root, ()):
        if _comes_back(root, schema):
            place = path_text(path)
            reason = "it is its own alternative, so that any value would do; name the alternatives without itself"
            raise DefinitionError(subject, f"{field} at {place}" if place else field, reason)


def _comes_back(root: Schema, start: Schema) -> bool:
    """Whether only schemas that add nothing lie between *start* and itself."""
    seen: set[int] = set()
    waiting = list(_first(root, start))
    while waiting:
        schema = waiting.pop()
        if schema is start:
            return True
        if id(schema) not in seen:
            seen.add(id(schema))
            waiting.extend(_onward(root, schema))
    return False


def _first(root: Schema, schema: Schema) -> Iterator[Schema]:
    """What *schema* itself may be instead, or is another name of."""
    for word in (*_ALTERNATIVES, "not"):
        yield from _under(root, schema, word)
    yield from _onward(root, schema)


def _onward(root: Schema, schema: Schema) -> Iterator[Schema]:
    """What *schema* stands for, if it says nothing of its own."""
    said = [word for word in schema if word not in _SAYS_NOTHING]
    if len(said) != 1 or said[0] not in _APPLYING:
        return
    found = list(_under(root, schema, said[0]))
    if said[0] != "allOf" or len(found) == 1:
        yield from found


def _under(root: Schema, schema: Schema, word: str) -> Iterator[Schema]:
    given = schema.get(word)
    if word in _REFERENCES:
        given = target(root, given) if isinstance(given, str) else None
    members = cast("list[object]", given) if isinstance(given, list) else [given]
    yield from (cast("Schema", member) for member in members if isinstance(member, Mapping))


def _schemas(value: object, path: Path) -> Iterator[tuple[Path, Schema]]:
    """All of *value* that may come back to itself."""
    if isinstance(value, Mapping):
        known = cast("Schema", value)
        if not _APPLYING.isdisjoint(known):
            yield path, known
        for key, member in known.items():
            yield from _schemas(member, (*path, key))
    elif isinstance(value, list):
        for index, member in enumerate(cast("list[object]", value)):
            yield from _schemas(member, (*path, index))
