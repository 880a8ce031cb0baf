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
_SAYING: Final = _APPLYING | frozenset(
    (
        *("type", "enum", "const", "format", "pattern", "minLength", "maxLength"),
        *("contentEncoding", "contentMediaType"),
        *("multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
        *("items", "prefixItems", "additionalItems", "unevaluatedItems", "contains", "minContains", "maxContains"),
        *("minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "required", "propertyNames"),
        *("properties", "patternProperties", "additionalProperties", "unevaluatedProperties"),
        *("dependencies", "dependentSchemas", "dependentRequired", "if", "then", "else", "$recursiveRef"),
    )
)
"""The words that a validator heeds; by all others a schema says nothing."""

_NAMED: Final = frozenset(
    ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies")
)
"""What holds schemas under names that anybody may choose."""

_DATA: Final = frozenset(("const", "enum", "default", "example", "examples"))
"""What holds values, which are no schemas even if they look like some."""

Path = tuple[str | int, ...]


def refuse_loops(root: Schema, subject: str, field: str) -> None:
    """Refuse a schema which comes back to itself as its own alternative, or as its own opposite.

    By JSON Schema that is undefined, and validators take anything there. One that comes back with something more to
    say, as the parts of a polymorphic schema do that repeat the whole, is decided by what it says more.

    Raises:
        DefinitionError: There is one; it says where.
    """
    path = _Document(root).loop()
    if path is not None:
        place = path_text(path)
        reason = "it is its own alternative, so that any value would do; name the alternatives without itself"
        raise DefinitionError(subject, f"{field} at {place}" if place else field, reason)


class _Document:
    """The schemas of one document: each is read once, however often others refer to it."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._found: list[tuple[Path, Schema]] = []
        """All that may come back to themselves."""

        self._resources: dict[int, Schema] = {}
        """The schema with an ``$id`` that another is in, by the identity of that."""

        self._anchors: dict[tuple[int, str], Schema] = {}
        """By the resource that they are in, and their names."""

        self._onwards: dict[int, list[Schema]] = {}
        self._read()

    def loop(self) -> Path | None:
        """Where one stands that comes back to itself; None if none does."""
        lead_on: set[int] = set()
        for _, schema in self._found:
            lead_on.update(map(id, self._onward(schema)))
        clear: set[int] = set()
        for path, schema in self._found:
            if self._onward(schema):
                circle = self._circle(schema, clear)
                if circle:
                    return next((place for place, member in self._found if id(member) in circle), path)
            else:
                first = self._first(schema)
                if any(one is schema for one in first) or (id(schema) in lead_on and self._meets(schema, first)):
                    return path
        return None

    def _circle(self, start: Schema, clear: set[int]) -> set[int]:
        """Those that come back to themselves from *start* on, as schemas that say nothing; if none does, all are *clear*."""
        if id(start) in clear:
            return set()
        under_way = {id(start)}
        ways = [(start, iter(self._onward(start)))]
        while ways:
            schema, way = ways[-1]
            following = next(way, None)
            if following is None:
                ways.pop()
                under_way.discard(id(schema))
                clear.add(id(schema))
            elif id(following) in under_way:
                circle = [id(schema) for schema, _ in ways]
                return set(circle[circle.index(id(following)) :])
            elif id(following) not in clear:
                under_way.add(id(following))
                ways.append((following, iter(self._onward(following))))
        return set()

    def _meets(self, start: Schema, first: list[Schema]) -> bool:
        """Whether only schemas that say nothing lie between *start*, which says something, and itself."""
        seen: set[int] = set()
        waiting = first
        while waiting:
            schema = waiting.pop()
            if schema is start:
                return True
            if id(schema) not in seen:
                seen.add(id(schema))
                waiting.extend(self._onward(schema))
        return False

    def _first(self, schema: Schema) -> list[Schema]:
        """What *schema* may be instead, whatever else it says."""
        return [one for word in (*_ALTERNATIVES, "not") for one in self._under(schema, word)]

    def _onward(self, schema: Schema) -> list[Schema]:
        """What *schema* stands for, if it says nothing of its own."""
        known = self._onwards.get(id(schema))
        if known is not None:
            return known
        said = _said(schema)
        found: list[Schema] = []
        if len(said) == 1 and said[0] in _APPLYING:
            found = list(self._under(schema, said[0]))
            if said[0] == "allOf":
                telling = [member for member in found if _said(member)]
                found = telling if len(telling) == 1 else []
        self._onwards[id(schema)] = found
        return found

    def _under(self, schema: Schema, word: str) -> Iterator[Schema]:
        given = schema.get(word)
        if word in _REFERENCES:
            given = self._target(schema, given) if isinstance(given, str) else None
        members = cast("list[object]", given) if isinstance(given, list) else [given]
        yield from (cast("Schema", member) for member in members if isinstance(member, Mapping))

    def _target(self, schema: Schema, reference: str) -> object:
        resource = self._resources.get(id(schema), self._root)
        if reference.startswith("#") and not reference.startswith("#/") and reference != "#":
            return self._anchors.get((id(resource), reference[1:]))
        return target(resource, reference or "#")

    def _read(self) -> None:
        waiting: list[tuple[Path, object, Schema]] = [((), self._root, self._root)]
        while waiting:
            path, value, resource = waiting.pop()
            inside: list[tuple[Path, object, Schema]] = []
            if isinstance(value, list):
                inside = [
                    ((*path, index), member, resource) for index, member in enumerate(cast("list[object]", value))
                ]
            elif isinstance(value, Mapping):
                inside = list(self._inside(path, cast("Schema", value), resource))
            waiting.extend(reversed(inside))

    def _inside(self, path: Path, schema: Schema, resource: Schema) -> Iterator[tuple[Path, object, Schema]]:
        """Note *schema*; what stands in it, and the resource that that is in."""
        name = schema.get("$id")
        if isinstance(name, str) and not name.startswith("#"):
            resource = schema
        self._resources[id(schema)] = resource
        for word in ("$anchor", "$dynamicAnchor"):
            anchor = schema.get(word)
            if isinstance(anchor, str):
                self._anchors.setdefault((id(resource), anchor), schema)
        if not _APPLYING.isdisjoint(schema):
            self._found.append((path, schema))
        for word, member in schema.items():
            if word in _NAMED and isinstance(member, Mapping):
                named = cast("Schema", member)
                yield from (((*path, word, key), inner, resource) for key, inner in named.items())
            elif word not in _DATA:
                yield (*path, word), member, resource


def _said(schema: Schema) -> list[str]:
    """The words of *schema* that say something of a value."""
    return [word for word in schema if word in _SAYING]
