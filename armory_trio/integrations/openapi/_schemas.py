"""Schemas of a document as JSON Schema 2020-12: for what is sent, and for what comes back."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Final

import msgspec

from ._json import is_array, is_object
from ._keywords import (
    LISTS_OF_SCHEMAS,
    MAPS_OF_SCHEMAS,
    SCHEMAS,
    Direction,
    kept_plainly,
    of_3_0,
    usable_pattern,
)
from ._losses import Losses
from ._naming import Distinct
from ._references import Node, References

__all__ = ("Schema", "Schemas", "Translator", "reachable", "with_definitions")

Schema = dict[str, object] | bool
"""A schema of 2020-12. References point into ``#/$defs``."""

_DEPTH: Final = 64
"""How deep schemas may stand in each other without a reference between them."""


_SETS: Final = frozenset({"required", "type"})
"""Keywords whose lists are words that may stand there once only."""

_PARTS: Final = 8
"""How deep parts that are put together are looked into for what is not written."""


class _Translated(msgspec.Struct, eq=False):
    """One schema, and what was found on the way."""

    schema: Schema
    used: dict[str, None]
    losses: list[tuple[str, str]]
    size: int


_Into = tuple[Direction, _Translated]
"""What a schema is about, and where it is put down what was found on the way."""


class Translator:
    """Translates schemas of one document, each named one once for each direction.

    Args:
        references: Finds what references mean.
        old: The document is of OpenAPI 3.0.
    """

    def __init__(self, references: References, *, old: bool) -> None:
        self.references = references
        self.old = old
        self._names = Distinct(longest=64)
        self._nodes: dict[str, Node] = {}
        self._named: dict[tuple[str, str], str] = {}
        self._done: dict[tuple[str, Direction], _Translated] = {}

    def translate(self, node: Node, direction: Direction) -> _Translated:
        """The schema at *node*.

        Raises:
            DocumentFault: It is none, or refers to nothing.
        """
        found = _Translated(True, {}, [], 0)
        found.schema = self._schema(node, (direction, found), 0, frozenset())
        return found

    def definition(self, name: str, direction: Direction) -> _Translated:
        """The schema that references call *name*."""
        if (name, direction) not in self._done:
            self._done[name, direction] = self.translate(self._nodes[name], direction)
        return self._done[name, direction]

    def place_of(self, name: str) -> str:
        """Where the schema that references call *name* stands."""
        return self._nodes[name].where

    def _schema(self, node: Node, into: _Into, depth: int, absent: frozenset[str]) -> Schema:
        """The schema at *node*, in which nobody has to give the properties *absent*."""
        found = into[1]
        found.size += 1
        if isinstance(node.value, bool):
            return node.value
        if not isinstance(node.value, Mapping):
            raise node.fault("is no schema")
        if depth > _DEPTH:
            raise node.fault(f"is nested more than {_DEPTH} deep")
        reference = node.members.get("$ref")
        if not isinstance(reference, str):
            if "$dynamicRef" in node.members:
                raise node.fault("uses $dynamicRef, which is not followed")
            return self._members(node, into, depth, absent)
        if not self.old and node.flag("nullable"):
            return self._members(node, into, depth, absent)
        pointed: dict[str, object] = {"$ref": f"#/$defs/{self._use(node, reference, found)}"}
        if self.old:
            return pointed  # 3.0 ignores what stands beside a reference
        beside = {key: value for key, value in node.members.items() if key != "$ref"}
        rest = self._members(Node(beside, node.document, node.pointer), into, depth, absent)
        return {**pointed, **rest}

    def _use(self, node: Node, reference: str, found: _Translated) -> str:
        target = self.references.target(node, reference)
        place = (target.document, target.pointer)
        if place not in self._named:
            self.references.resolve(target)  # in a circle there is nothing to name
            wish = target.pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
            self._named[place] = self._names.take(wish or "schema")
            self._nodes[self._named[place]] = target
        name = self._named[place]
        found.used[name] = None
        return name

    def _members(self, node: Node, into: _Into, depth: int, absent: frozenset[str]) -> dict[str, object]:
        given = of_3_0(node.members)
        if "example" in given and "examples" not in given:
            given["examples"] = [given["example"]]
        holder = Node(given, node.document, node.pointer)
        own = self._hidden(holder, into[0], 0)
        hidden, inner = own | absent, depth + 1
        told: dict[str, object] = {}
        for keyword, value in given.items():
            place = holder.child(keyword)
            if keyword in SCHEMAS and (is_object(value) or isinstance(value, bool)):
                told[keyword] = self._schema(place, into, inner, frozenset())
            elif keyword in LISTS_OF_SCHEMAS and is_array(value) and value:
                left_out = hidden if keyword == "allOf" else frozenset[str]()
                branches = [self._schema(branch, into, inner, left_out) for branch in place.items()]
                told[_union(keyword, into[0], given)] = self._told_apart(holder, keyword, branches)
            elif keyword in MAPS_OF_SCHEMAS and is_object(value):
                told[keyword] = {
                    name: self._schema(place.child(name), into, inner, frozenset()) for name in place.members
                }
            else:
                _keep_plainly(keyword, value, place, (*into, told))
        return _without(told, hidden) if hidden else told

    # ── what only one direction has ──────────────────────────────────────────────────────────────────────────────

    def _hidden(self, node: Node, direction: Direction, depth: int) -> frozenset[str]:
        """The properties that only the server writes, in a request, or only the client, in a response.

        Those of what is put together, too: what is required may stand in another part than what it is.
        """
        flag = "readOnly" if direction == "request" else "writeOnly"
        properties = node.child("properties")
        own = frozenset(name for name in properties.members if self._is_flagged(properties.child(name), flag))
        if depth > _PARTS:
            return own
        parts = (self.references.resolve(part) for part in node.child("allOf").items())
        return own.union(*(self._hidden(part, direction, depth + 1) for part in parts))

    def _is_flagged(self, node: Node, flag: str) -> bool:
        if node.flag(flag) and not (self.old and "$ref" in node.members):
            return True
        return "$ref" in node.members and self.references.resolve(node).flag(flag)

    # ── discriminators ───────────────────────────────────────────────────────────────────────────────────────────

    def _told_apart(self, holder: Node, keyword: str, branches: list[Schema]) -> list[Schema]:
        """The alternatives of a union, each with the values of the property that tells it apart."""
        discriminator = holder.child("discriminator")
        name = discriminator.text("propertyName")
        if not name or keyword not in ("oneOf", "anyOf"):
            return branches
        known = discriminator.child("mapping").members
        together: list[Schema] = []
        for branch, node in zip(branches, holder.child(keyword).items(), strict=True):
            values = self._values_of(node, known, name)
            chosen: dict[str, object] = {"properties": {name: {"enum": values}}} if values else {}
            together.append({"allOf": [branch, {**chosen, "required": [name]}]})
        return together

    def _values_of(self, node: Node, known: Mapping[str, object], name: str) -> list[object]:
        """The values of the property *name* for the alternative *node*; none where it says so itself, or nobody does."""
        reference = node.members.get("$ref")
        if not isinstance(reference, str):
            return []
        own = self.references.resolve(self.references.target(node, reference).child("properties").child(name))
        if "enum" in own.members or "const" in own.members:
            return []
        mapped: list[object] = [value for value, where in known.items() if _is_same(str(where), reference)]
        return mapped or [reference.rpartition("/")[2]]


def _union(keyword: str, direction: Direction, given: Mapping[str, object]) -> str:
    """The keyword of an alternative: a response may fit several, for documents mean ``oneOf`` rarely as it is said."""
    return "anyOf" if keyword == "oneOf" and direction == "response" and "anyOf" not in given else keyword


def _is_same(mapped: str, reference: str) -> bool:
    """Whether the mapping of a discriminator means *reference*; it may say only the name of a schema."""
    return mapped == reference or ("/" not in mapped and f"#/components/schemas/{mapped}" == reference)


def _keep_plainly(
    keyword: str, value: object, place: Node, at: tuple[Direction, _Translated, dict[str, object]]
) -> None:
    """Take over a keyword that holds no schema, if it makes sense."""
    direction, found, told = at
    if keyword in SCHEMAS | LISTS_OF_SCHEMAS | MAPS_OF_SCHEMAS:
        found.losses.append((place.where, "holds no schema"))
        return
    kept = kept_plainly(keyword, value, direction)
    if kept is None:
        found.losses.append((place.where, "has no legal value"))
    elif kept and keyword == "pattern" and not usable_pattern(str(value)):
        found.losses.append((place.where, "is a pattern that can't be checked"))
    elif kept:
        told[keyword] = list(dict.fromkeys(value)) if keyword in _SETS and is_array(value) else value


def _without(schema: dict[str, object], hidden: frozenset[str]) -> dict[str, object]:
    """*schema* without the properties *hidden*."""
    left = dict(schema)
    properties, required = schema.get("properties"), schema.get("required")
    if is_object(properties):
        left["properties"] = {name: member for name, member in properties.items() if name not in hidden}
    if is_array(required):
        left["required"] = [name for name in required if name not in hidden]
    return left


class Schemas:
    """The schemas of one operation in one direction, which end in one set of definitions.

    Args:
        translator: That of the document.
        direction: What they are about.
        losses: Those of the operation.
        most: How many schemas the definitions may hold together. What lies beyond, farthest from the root, takes any
            value.
    """

    def __init__(self, translator: Translator, direction: Direction, losses: Losses, most: int) -> None:
        self._translator = translator
        self._direction: Direction = direction
        self._losses = losses
        self._most = most
        self._used: dict[str, None] = {}

    def of(self, node: Node) -> Schema:
        """The schema at *node*, whose references point into `definitions`.

        Raises:
            DocumentFault: It is none, or refers to nothing.
        """
        found = self._translator.translate(node, self._direction)
        self._most -= found.size
        self._used.update(found.used)
        self._tell(found)
        return found.schema

    def definitions(self, *, telling: bool = True) -> dict[str, object]:
        """What the schemas so far refer to, by name.

        Args:
            telling: What was cut off is told as a loss.

        Raises:
            DocumentFault: One of them is none, or refers to nothing.
        """
        told: dict[str, object] = {}
        cut: list[str] = []
        waiting, left = deque(self._used), self._most
        while waiting:
            name = waiting.popleft()
            if name in told:
                continue
            found = self._translator.definition(name, self._direction)
            if found.size > left:
                told[name] = True
                cut.append(self._translator.place_of(name))
                continue
            left -= found.size
            self._tell(found)
            told[name] = found.schema
            waiting.extend(found.used)
        if cut and telling:
            others = f" (and {len(cut) - 1} more)" if len(cut) > 1 else ""
            self._losses.add(cut[0], "widened", f"takes any value{others}: together the schemas are over max_schemas")
        return told

    def _tell(self, found: _Translated) -> None:
        for pointer, why in found.losses:
            self._losses.add(pointer, "widened", why)


def reachable(schema: Schema, definitions: Mapping[str, object]) -> dict[str, object]:
    """Those of *definitions* that *schema* needs."""
    found: dict[str, object] = {}
    waiting: deque[object] = deque([schema])
    while waiting:
        value = waiting.popleft()
        if is_array(value):
            waiting.extend(value)
        elif is_object(value):
            waiting.extend(value.values())
            name = str(value.get("$ref", "")).removeprefix("#/$defs/")
            if name in definitions and name not in found:
                found[name] = definitions[name]
                waiting.append(found[name])
    return found


def with_definitions(schema: Schema, definitions: dict[str, object]) -> dict[str, object]:
    """*schema* as a document of its own."""
    whole: dict[str, object] = {} if schema is True else {"not": {}} if schema is False else schema
    return {**whole, "$defs": definitions} if definitions else whole
