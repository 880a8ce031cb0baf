"""Schemas that are their own alternative, and so say nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...errors import DefinitionError
from .._arguments import path_text
from ._circles import components
from ._document import Document, Path, held
from ._fitting import Schema

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


def refuse_loops(document: Document, subject: str, field: str) -> None:
    """Refuse a schema which comes back to itself as its own alternative, its own opposite, or its own condition.

    By JSON Schema that is undefined, and validators take anything there. One that comes back with something more to
    say, as the parts of a polymorphic schema do that repeat the whole, is decided by what it says more.

    Raises:
        DefinitionError: There is one; it says where.
    """
    path = _Alternatives(document).loop()
    if path is not None:
        place = path_text(path)
        reason = (
            "it is its own alternative, so that any value would do; name the alternatives without itself, and leave "
            "out those that only repeat it"
        )
        raise DefinitionError(subject, f"{field} at {place}" if place else field, reason)


class _Alternatives:
    """What each schema of a document may be instead of itself."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._found = [(path, schema) for path, schema in document.places.values() if not _LEADING.isdisjoint(schema)]
        self._circles = self._numbered()
        """The number of the circle that a schema is in, by its identity, if it may come back to itself at all."""

        self._onwards: dict[int, list[Schema]] = {}

    def loop(self) -> Path | None:
        """Where one stands that comes back to itself; None if none does."""
        clear: set[int] = set()
        for path, schema in self._found:
            if id(schema) not in self._circles:
                continue
            if self._onward(schema):
                circle = self._circle(schema, clear)
                if circle:
                    return next((place for place, member in self._found if id(member) in circle), path)
            elif self._meets(schema):
                return path
        return None

    def _numbered(self) -> dict[int, int]:
        starts = [schema for _, schema in self._found]
        numbers: dict[int, int] = {}
        for number, members in enumerate(components(starts, self._document.beside)):
            if len(members) > 1 or any(one is members[0] for one in self._document.beside(members[0])):
                numbers.update((id(member), number) for member in members)
        return numbers

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

    def _meets(self, start: Schema) -> bool:
        """Whether only schemas that say nothing lie between *start*, which says something, and itself."""
        seen: set[int] = set()
        number = self._circles[id(start)]
        waiting = [one for word in (*_ALTERNATIVES, "not", "if") for one in self._under(start, word)]
        while waiting:
            schema = waiting.pop()
            if schema is start:
                return True
            if id(schema) not in seen and self._circles.get(id(schema)) == number:
                seen.add(id(schema))
                waiting.extend(self._onward(schema))
        return False

    def _onward(self, schema: Schema) -> list[Schema]:
        """What *schema* stands for, if it says nothing of its own."""
        known = self._onwards.get(id(schema))
        if known is not None:
            return known
        said = [_REFERENCES[0]] if self._document.alone and "$ref" in schema else _said(schema)
        found: list[Schema] = []
        if len(said) == 1 and said[0] in _APPLYING:
            found = list(self._under(schema, said[0]))
            if said[0] == "allOf":
                telling = [member for member in found if _said(member)]
                found = telling if len(telling) == 1 else []
        self._onwards[id(schema)] = found
        return found

    def _under(self, schema: Schema, word: str) -> Iterator[Schema]:
        if word in _REFERENCES:
            yield from self._document.direct(schema, word)
        else:
            yield from held(schema, word)


_LEADING: Final = _APPLYING | {"if"}
"""The words by which a schema may come back to itself."""


def _said(schema: Schema) -> list[str]:
    """The words of *schema* that say something of a value."""
    return [word for word in schema if word in _SAYING]
