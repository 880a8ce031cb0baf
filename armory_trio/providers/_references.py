"""Where the references of a JSON Schema point, by position: a member that is called ``$ref`` is no reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, cast
from urllib.parse import unquote

from ._loss import step

__all__ = ("At", "Book", "Branches", "Schema", "as_list", "as_schema", "children")

Schema = Mapping[str, object]

_NOTHING: Final[Schema] = {}
_MAPS: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
"""Keywords that hold schemas by name."""

_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLE: Final = (
    *("items", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "propertyNames", "contains"),
    *("not", "if", "then", "else", "additionalItems", "contentSchema"),
)


class Branches(NamedTuple):
    """A union that stands in no document: each branch is a list of schemas that hold together."""

    options: tuple[tuple[At, ...], ...]


class At(NamedTuple):
    """A schema and where it stands.

    Args:
        schema: A mapping, True or False; or `Branches`. Whatever else stands in its place says nothing.
        pointer: Where, as a JSON pointer behind ``#``.
        skip: Keywords in it that have been seen to.
    """

    schema: object
    pointer: str
    skip: frozenset[str] = frozenset()

    def below(self, *steps: str | int) -> At:
        """The schema that stands at *steps*."""
        place: object = self.schema
        for each in steps:
            place = as_list(place)[each] if isinstance(each, int) else as_schema(place).get(each)
        return At(place, step(self.pointer, *steps))


def as_schema(value: object) -> Schema:
    """*value* where it is an object, else an empty one. Contracts are copied into plain dicts and lists before."""
    return cast("Schema", value) if isinstance(value, dict) else _NOTHING


def as_list(value: object) -> Sequence[object]:
    """*value* where it is a list, else an empty one."""
    return cast("Sequence[object]", value) if isinstance(value, list) else ()


def children(at: At) -> Iterator[At]:
    """The schemas directly inside of *at*."""
    schema = as_schema(at.schema)
    for word in _MAPS:
        for name in as_schema(schema.get(word)):
            yield at.below(word, name)
    for word in (*_LISTS, "items"):
        for index in range(len(as_list(schema.get(word)))):
            yield at.below(word, index)
    for word in _SINGLE:
        if isinstance(schema.get(word), dict):
            yield at.below(word)


class Book:
    """The document that references point into."""

    def __init__(self, root: Schema) -> None:
        self.root = At(root, "#")
        self._found: dict[tuple[str, str], At | None] = {}
        self._named: dict[str, At] | None = None
        self._resources: dict[str, At] = {}

    def find(self, reference: str, pointer: str) -> At | None:
        """What *reference*, which stands at *pointer*, means; None when nothing in this document."""
        key = (reference, self._resource_of(pointer).pointer if self._has_names() else "#")
        if key not in self._found:
            self._found[key] = self._search(*key)
        return self._found[key]

    def _search(self, reference: str, base: str) -> At | None:
        document, _, fragment = reference.partition("#")
        root = self.root if base == "#" else self._resources[base]
        if document:
            named = self._names().get(document) or self._names().get(document.rpartition("/")[2])
            if named is None:
                return None
            root = named
        if not fragment:
            return root
        if not fragment.startswith("/"):
            return self._names().get(f"#{unquote(fragment)}")
        return _followed(root, unquote(fragment))

    def _has_names(self) -> bool:
        self._names()
        return bool(self._resources)

    def _names(self) -> dict[str, At]:
        if self._named is None:
            self._named = {}
            waiting = [self.root]
            while waiting:
                at = waiting.pop()
                self._note(at, self._named)
                waiting.extend(children(at))
        return self._named

    def _note(self, at: At, named: dict[str, At]) -> None:
        schema = as_schema(at.schema)
        for word in ("$anchor", "$dynamicAnchor"):
            if isinstance(anchor := schema.get(word), str):
                named.setdefault(f"#{anchor}", at)
        identity = schema.get("$id")
        if isinstance(identity, str):
            named.setdefault(identity.rstrip("#"), at)
            named.setdefault(identity.rstrip("#").rpartition("/")[2], at)
            if at.pointer != "#":
                self._resources[at.pointer] = at

    def _resource_of(self, pointer: str) -> At:
        """The innermost schema around *pointer* that is a document of its own."""
        inside = [each for each in self._resources if pointer == each or pointer.startswith(f"{each}/")]
        return self._resources[max(inside, key=len)] if inside else self.root


def _followed(root: At, fragment: str) -> At | None:
    place: object = root.schema
    steps: list[str | int] = []
    for written in fragment.split("/")[1:]:
        key = written.replace("~1", "/").replace("~0", "~")
        if key in as_schema(place):
            place = as_schema(place)[key]
            steps.append(key)
        elif key.isdecimal() and int(key) < len(as_list(place)):
            place = as_list(place)[int(key)]
            steps.append(int(key))
        else:
            return None
    return At(place, step(root.pointer, *steps))
