"""One JSON Schema document as a graph: which schemas speak about the same value, and which about members of it."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, cast

from ._fitting import Schema, target
from ._library import ADDRESS

Path = tuple[str | int, ...]

NAMED: Final = frozenset(
    ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies")
)
"""What holds schemas under names that anybody may choose."""

REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
BESIDE: Final = frozenset(("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"))
"""What holds schemas that are asked about the same value."""

INSIDE: Final = frozenset(
    (
        *("properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "propertyNames"),
        *("items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"),
    )
)
"""What holds schemas that are asked about the members of a value."""

_DATA: Final = frozenset(("const", "enum", "default", "example", "examples"))
"""What holds values, which are no schemas even if they look like some."""

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_OLD: Final = ("draft-03", "draft-04", "draft-06", "draft-07")
"""Drafts in which a reference has no neighbours: what stands beside it says nothing."""


class Document:
    """The schemas of one document: each is read once, however often others refer to it."""

    def __init__(self, root: dict[str, object]) -> None:
        self.root = root
        self.places: dict[int, tuple[Path, Schema]] = {}
        """Every schema with its place, by its identity."""

        dialect = str(root.get("$schema", ""))
        self.alone = any(draft in dialect for draft in _OLD)
        """Whether a reference has no neighbours here."""

        self.refers = False
        """Whether any schema in it refers to another."""

        self._naming = "id" if "draft-03" in dialect or "draft-04" in dialect else "$id"
        self._bases: dict[int, str] = {}
        """The address of the resource that a schema is in, by the identity of the schema."""

        self._resources: dict[str, list[Schema]] = {ADDRESS: [root]}
        """By their addresses. Nothing keeps a stranger from giving one to several: any of them may be meant then."""

        self._anchors: dict[tuple[str, str], list[Schema]] = {}
        """By the address of the resource that they are in, and their names."""

        self._dynamic: dict[str, list[Schema]] = {}
        """The schemas that a dynamic reference of that name may mean; the name of a recursive one is empty."""

        self._targets: dict[tuple[int, str], list[Schema]] = {}
        self._led: dict[int, tuple[list[Schema], list[Schema]]] = {}
        self._read()

    def beside(self, schema: Schema) -> list[Schema]:
        """The schemas that are asked about the same value as *schema*, once for each time."""
        return self._edges(schema)[0]

    def inside(self, schema: Schema) -> list[Schema]:
        """The schemas that are asked about members of the value."""
        return self._edges(schema)[1]

    def _edges(self, schema: Schema) -> tuple[list[Schema], list[Schema]]:
        known = self._led.get(id(schema))
        if known is not None:
            return known
        beside: list[Schema] = []
        inside: list[Schema] = []
        for word in schema:
            if word in REFERENCES:
                beside.extend(self.targets(schema, word))
        if not (self.alone and "$ref" in schema):
            for word in schema:
                if word in BESIDE:
                    beside.extend(held(schema, word))
                elif word in INSIDE:
                    inside.extend(held(schema, word))
        self._led[id(schema)] = beside, inside
        return beside, inside

    def targets(self, schema: Schema, word: str) -> list[Schema]:
        """What the reference *word* of *schema* may mean; nothing if that is not in this document."""
        known = self._targets.get((id(schema), word))
        if known is None:
            known = self._targets[id(schema), word] = self._meant(schema, word)
        return known

    def _meant(self, schema: Schema, word: str) -> list[Schema]:
        direct = self.direct(schema, word)
        if word == "$ref":
            return direct
        name = str(schema.get(word)).partition("#")[2] if word == "$dynamicRef" else ""
        others = self._dynamic.get(name, ())
        return [*direct, *(other for other in others if not any(other is one for one in direct))]

    def elsewhere(self, schema: Schema) -> bool:
        """Whether *schema* refers to something that does not stand in this document, or is no schema with words."""
        return any(word in schema and not self.targets(schema, word) for word in REFERENCES)

    def direct(self, schema: Schema, word: str) -> list[Schema]:
        """What the reference *word* of *schema* means where nothing around it says otherwise."""
        reference = schema.get(word)
        if not isinstance(reference, str):
            return []
        base = self._bases.get(id(schema), ADDRESS)
        address, _, fragment = _joined(base, reference).partition("#")
        found = self._at(address, fragment)
        if not reference and not any(one is self.root for one in found):
            return [*found, self.root]  # which the library takes it for where it comes through a pointer
        return found

    def _at(self, address: str, fragment: str) -> list[Schema]:
        if fragment and not fragment.startswith("/"):
            return self._anchors.get((address, urllib.parse.unquote(fragment)), [])
        found = [target(resource, f"#{fragment}") for resource in self._resources.get(address, ())]
        return [cast("Schema", one) for one in found if isinstance(one, dict)]

    def _read(self) -> None:
        waiting: list[tuple[Path, object, str]] = [((), self.root, ADDRESS)]
        while waiting:
            path, value, base = waiting.pop()
            inner: list[tuple[Path, object, str]] = []
            if isinstance(value, list):
                inner = [((*path, index), member, base) for index, member in enumerate(cast("list[object]", value))]
            elif isinstance(value, dict):
                inner = list(self._noted(path, cast("Schema", value), base))
            waiting.extend(reversed(inner))

    def _noted(self, path: Path, schema: Schema, base: str) -> Iterator[tuple[Path, object, str]]:
        """Note *schema*; what stands in it, and the address of the resource that that is in."""
        if id(schema) in self.places:
            return
        name = schema.get(self._naming)
        if isinstance(name, str) and not (self.alone and "$ref" in schema):
            base = self._named(schema, name, base)
        self.places[id(schema)] = path, schema
        self._bases[id(schema)] = base
        for word in ("$anchor", "$dynamicAnchor"):
            anchor = schema.get(word)
            if isinstance(anchor, str):
                self._anchors.setdefault((base, anchor), []).append(schema)
                if word == "$dynamicAnchor":
                    self._dynamic.setdefault(anchor, []).append(schema)
        if schema.get("$recursiveAnchor") is True:
            self._dynamic.setdefault("", []).append(schema)
        for word, member in schema.items():
            if word in NAMED and isinstance(member, dict):
                named = cast("Schema", member)
                yield from (((*path, word, key), inner, base) for key, inner in named.items())
            elif word in REFERENCES:
                self.refers = True
            elif word not in _DATA:
                yield (*path, word), member, base

    def _named(self, schema: Schema, name: str, base: str) -> str:
        """The address of what stands in *schema*, which calls itself *name*."""
        address, _, fragment = _joined(base, name).partition("#")
        if name.startswith("#"):
            self._anchors.setdefault((base, fragment), []).append(schema)
            return base
        self._resources.setdefault(address, []).append(schema)
        return address


def held(schema: Schema, word: str) -> list[Schema]:
    """The schemas with words of their own under *word*, one that holds schemas."""
    member = schema.get(word)
    if word in NAMED and isinstance(member, dict):
        inner: Iterable[object] = cast("dict[str, object]", member).values()
    elif isinstance(member, list | tuple):
        inner = cast("Sequence[object]", member)
    else:
        inner = (member,)
    return [cast("Schema", one) for one in inner if isinstance(one, dict)]


def _joined(base: str, reference: str) -> str:
    """The address that *reference* means in the resource at *base*, of whatever scheme."""
    if not reference or reference.startswith("#"):
        return base + reference
    if _SCHEME.match(reference):
        return reference
    scheme, _, rest = base.partition(":")
    return f"{scheme}:{urllib.parse.urljoin(f'http:{rest}', reference).removeprefix('http:')}"
