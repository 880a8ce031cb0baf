"""How much work a schema can make: what multiplies without end is refused, and what may is counted while it works.

A validator asks a schema again for each way that leads to it. Ways about one and the same value can be counted when the
schema is defined. Ways through members of members can't: how many of them are gone depends on the value, and the best of
real schemas, such as those of expressions, have many of which a value takes one. So these are counted on the way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import Final, cast

from attrs import frozen

from ...errors import DefinitionError
from .._arguments import path_text
from .._canonical import thaw_json
from ._circles import components
from ._document import BESIDE, INSIDE, REFERENCES, Document, Path, held
from ._fitting import Schema
from ._library import Unchecked

TIMES: Final = 10_000
"""Schemas that may be asked about one value on behalf of one; a large document may ask each of its own a few times."""

_OWN: Final = 3
"""How often: to refer to it, to ask it, and to find out what it leaves unevaluated."""

_DEEP: Final = 250
"""Schemas that one may lead through about one value, as deep as the library reads a document."""

_TURNING: Final = re.compile(r"\(\?[=!<>]|\\[1-9k]")
"""What makes a pattern one that has to turn back."""

_PATTERN: Final = 100
"""Schemas that are asked in the time that such a pattern may take."""

_WALKED: Final = 1_000_000
"""Steps in which the schemas that lead back to themselves are counted out."""

_UNROLLED: Final = 2_000
"""Schemas that a document may have with every reference written out, and still be left uncounted."""

_STEPS: Final = 2_000_000
"""Units of work for any value. One takes about a microsecond, so that trio's thread is held for two seconds or three."""

_SHARE: Final = 4
"""How often the heaviest schema may be asked about each member of a value that is too large for `_STEPS`."""

_UNIT: Final = 16
"""Schemas that are asked in about the time that it takes to count."""

_HOLDING: Final = BESIDE | INSIDE
_KEYWORD: Final = "steps"
_DEFINITIONS: Final = frozenset(("$defs", "definitions"))
_DOCUMENT: Final = _DEFINITIONS | {"$schema", "$id", "id"}
"""What stays beside a reference that has no neighbours."""


def refuse_multiplying(document: Document, subject: str, field: str) -> None:
    """Refuse a schema that asks so many others about one value that no value could be checked in time.

    Raises:
        DefinitionError: There is one; it says where.
    """
    reached = _reached(document)
    most = max(TIMES, _OWN * len(reached))
    times: dict[int, int] = {}
    walk = _Walk(document, times, most)
    for members in components(reached, document.beside):
        for schema in members:
            times[id(schema)] = walk.times(schema, members)
            place = path_text(document.places[id(schema)][0])
            where = f"{field} at {place}" if place else field
            if times[id(schema)] > most:
                reason = (
                    f"it asks more than {most:,} schemas about one value, because its alternatives lead to the same "
                    "schemas in many ways; name each alternative once"
                )
                raise DefinitionError(subject, where, reason)
            if walk.depth(schema) > _DEEP:
                reason = f"it leads through more than {_DEEP} schemas about one value; refer to the last one directly"
                raise DefinitionError(subject, where, reason)


class _Walk:
    """Counting the schemas that a schema asks about a value."""

    def __init__(self, document: Document, times: Mapping[int, int], most: int) -> None:
        self._document = document
        self._times = times
        self._most = most
        self._left = _WALKED
        self._depths: dict[int, int] = {}

    def times(self, schema: Schema, members: Sequence[Schema]) -> int:
        """How many; those that *members*, which lead to each other, lead to beside themselves are known."""
        inner = self._document.beside(schema)
        again = 2 if "unevaluatedProperties" in schema or "unevaluatedItems" in schema else 1
        if len(members) > 1 or any(one is schema for one in inner):
            return again * self._round(schema, {id(member) for member in members})
        self._depths[id(schema)] = 1 + max((self._depths[id(one)] for one in inner), default=0)
        return again * (_own(schema) + sum(self._times[id(one)] for one in inner))

    def depth(self, schema: Schema) -> int:
        """How many schemas *schema* leads through, once its times are known."""
        return self._depths[id(schema)]

    def _round(self, start: Schema, members: set[int]) -> int:
        """How many; who comes back to a schema that is being asked is not asked again, as by the validator."""
        found, deepest = _own(start), 1
        under_way = {id(start)}
        ways = [(start, iter(self._document.beside(start)))]
        while ways and found <= self._most:
            schema, way = ways[-1]
            following = next(way, None)
            self._left -= 1
            if self._left < 0:
                return self._most + 1
            if following is None:
                ways.pop()
                under_way.discard(id(schema))
            elif id(following) not in members:
                found += self._times[id(following)]
                deepest = max(deepest, len(ways) + self._depths[id(following)])
            else:
                found += _own(following)
                deepest = max(deepest, len(ways))
                if id(following) not in under_way:
                    under_way.add(id(following))
                    ways.append((following, iter(self._document.beside(following))))
        self._depths[id(start)] = deepest
        return found


def _own(schema: Schema) -> int:
    """What it costs to ask *schema* for what it says itself."""
    pattern = schema.get("pattern")
    return _PATTERN if isinstance(pattern, str) and _TURNING.search(pattern) else 1


def _reached(document: Document) -> list[Schema]:
    found: dict[int, Schema] = {id(document.root): document.root}
    waiting: list[Schema] = [document.root]
    while waiting:
        schema = waiting.pop()
        for inner in (*document.beside(schema), *document.inside(schema)):
            if id(inner) not in found:
                found[id(inner)] = inner
                waiting.append(inner)
    return list(found.values())


# ── counting while it works ──────────────────────────────────────────────────────────────────────────────────────────


class TooManySteps(Unchecked):
    """Checking a value was given up: it takes too many steps to tell alternatives apart."""

    def __init__(self) -> None:
        super().__init__("take too many steps to tell the alternatives of their schema apart; nest them less deeply")


class _Steps:
    """What is left of the work that may be done for one value."""

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left


_steps: Final[ContextVar[_Steps]] = ContextVar("armory_trio_steps")


@frozen
class Counted:
    """A document whose references are counted whenever they are followed."""

    root: dict[str, object]
    keyword: str
    heaviest: int

    def allowance(self, value: object) -> int:
        """The units of work that *value* may cost, if it is large."""
        return _SHARE * self.heaviest * size_of(value)


def counted(original: Document) -> Counted | None:
    """The document *original* with its references counted, if what they mean may be asked about often; else None."""
    if _sizes(original)[id(original.root)] <= _UNROLLED:
        return None
    copied = cast("dict[str, object]", thaw_json(original.root))
    document = Document(copied)
    keyword = _KEYWORD
    while any(keyword in schema for _, schema in document.places.values()):
        keyword += "-"
    sizes = _sizes(document)
    weights = _weights(document, sizes)
    circles = _circles(document)
    steps: list[tuple[Path, dict[str, object], int]] = []
    for path, schema in document.places.values():
        meant = [one for word in REFERENCES for one in document.targets(schema, word)]
        if any(circles[id(one)] == circles[id(schema)] for one in meant):
            continue  # who comes back to a value is not asked again, and how that is noticed must stay as it is
        if document.elsewhere(schema) or any(sizes.get(id(one), 0) > _UNROLLED for one in meant):
            weight = max((weights[id(one)] for one in meant), default=1)
            steps.append((path, cast("dict[str, object]", schema), weight))
    for path, schema, weight in steps:
        _count(path, schema, {keyword: weight}, alone=document.alone)
    return Counted(copied, keyword, max((weight for _, _, weight in steps), default=1))


def start_steps(units: int = 0) -> None:
    """Allow *units* of work to whoever is asked in this context, `_STEPS` at least."""
    _steps.set(_Steps(max(units, _STEPS)))


def steps_left() -> int:
    """What is left of them; less than nothing if it was not enough."""
    return _steps.get().left


class Step:
    """The keyword that is legal once all work is used up, so that the alternative beside it is not asked any more."""

    __slots__ = ("_weight",)

    def __init__(self, parent_schema: dict[str, object], value: int, schema_path: Sequence[str | int]) -> None:
        """Called by the validator; only the weight counts."""
        del parent_schema, schema_path
        self._weight = value

    def validate(self, instance: object) -> None:
        """Called by the validator."""
        members = len(cast("Sequence[object]", instance)) if isinstance(instance, dict | list) else 0
        steps = _steps.get()
        steps.left -= self._weight + members // _UNIT
        if steps.left >= 0:
            raise ValueError


def _circles(document: Document) -> dict[int, int]:
    """The number of those that lead to each other about one value, for each schema."""
    schemas = (schema for _, schema in document.places.values())
    return {
        id(member): number for number, members in enumerate(components(schemas, document.beside)) for member in members
    }


def _sizes(document: Document) -> dict[int, int]:
    """How many schemas each is that the root leads to, with all references written out, up to one too many."""

    def onward(schema: Schema) -> list[Schema]:
        return [*document.beside(schema), *document.inside(schema)]

    sizes: dict[int, int] = {}
    for members in components([document.root], onward):
        inner = onward(members[0])
        circular = len(members) > 1 or any(one is members[0] for one in inner)
        endless = circular or document.elsewhere(members[0])
        size = _UNROLLED + 1 if endless else 1 + sum(sizes[id(one)] for one in inner)
        sizes.update((id(member), min(size, _UNROLLED + 1)) for member in members)
    return sizes


def _weights(document: Document, sizes: Mapping[int, int]) -> dict[int, int]:
    """The units of work that each schema costs, up to the references that are counted themselves."""
    asked: dict[int, int] = {}
    for _, schema in reversed(document.places.values()):
        size = 1
        for word in REFERENCES:
            size += sum(_light(sizes[id(one)]) for one in document.targets(schema, word) if id(one) in sizes)
        for word in schema.keys() & _HOLDING:
            size += sum(asked.get(id(one), 1) for one in held(schema, word))
        asked[id(schema)] = size
    return {key: 1 + size // _UNIT for key, size in asked.items()}


def _light(size: int) -> int:
    return 1 if size > _UNROLLED else size


def _count(path: Path, schema: dict[str, object], step: dict[str, object], *, alone: bool) -> None:
    """Put *step* before the references of *schema*, which stands at *path*."""
    references = {word: schema.pop(word) for word in REFERENCES if word in schema}
    if alone and "$ref" in references:
        references = {"$ref": references["$ref"]}
        for word in schema.keys() - (_DOCUMENT if path == () else _DEFINITIONS):
            del schema[word]
    either: dict[str, object] = {"anyOf": [step, references]}
    if "anyOf" in schema:
        schema["allOf"] = [*cast("list[object]", schema.get("allOf", [])), either]
    else:
        schema.update(either)


def size_of(value: object) -> int:
    """The members of members of *value*, and itself."""
    found = 0
    waiting: list[Iterable[object]] = [(value,)]
    while waiting:
        for one in waiting.pop():
            found += 1
            if isinstance(one, dict):
                waiting.append(cast("dict[str, object]", one).values())
            elif isinstance(one, list):
                waiting.append(cast("list[object]", one))
    return found
