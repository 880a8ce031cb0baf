"""What a model could do about what is wrong with its arguments: near names, what is expected, and a legal example."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, cast

import msgspec

from ...errors import DefinitionError
from .._arguments import ArgumentIssue, path_steps
from .._canonical import canonical_text, thaw_json
from .._checks import near
from ._compiled import compile_schema
from ._fitting import Schema, at, target
from ._issues import described

if TYPE_CHECKING:
    from ._compiled import SchemaValidator

_DEEPEST: Final = 6
"""Levels of a value that an example goes down to."""
_PATIENCE: Final = 500
"""Schemas that are looked at for one example."""
_WORK: Final = 5_000
"""Words and members of the schemas that are compiled to check the examples of one refusal: it holds up everybody else."""
_MEMBERS: Final = 12
"""Members that an example of an array may have."""
_MOST: Final = 20
"""Issues that hints are given for: who reads more has forgotten the first ones."""
_LONGEST: Final = 200
"""Characters that an example may have: more would not help, and is read with every mistake."""
_KNOWN: Final = 12
"""Names that a hint lists."""
_TEXTS: Final[Mapping[str, str]] = {
    "date-time": "2026-01-31T12:00:00Z",
    "date": "2026-01-31",
    "time": "12:00:00Z",
    "duration": "PT1H",
    "uuid": "6f1c2f6e-3b0a-4c55-9d3e-0a1b2c3d4e5f",
    "email": "name@example.org",
    "uri": "https://example.org/page",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
}


class RepairHint(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a model could do about one issue.

    Args:
        path: Where, in the grammar of `ArgumentIssue`.
        suggestion: What to do, in one sentence for the model.
        expected: What is legal there, in a few words; empty when nothing is.
        near: Names that were probably meant.
        example: Canonical JSON text of a legal value, checked; empty when none is known.
    """

    path: str
    suggestion: str
    expected: str = ""
    near: tuple[str, ...] = ()
    example: str = ""


def repair_hints(schema: Mapping[str, object], issues: Sequence[ArgumentIssue]) -> tuple[RepairHint, ...]:
    """See `contracts.repair_hints`."""
    work = _Work()
    return tuple(_hint(schema, issue, work) for issue in issues[:_MOST])


class _Work:
    """How much may still be compiled for the hints of one refusal."""

    def __init__(self) -> None:
        self.left = _WORK


def _hint(root: Schema, issue: ArgumentIssue, work: _Work) -> RepairHint:
    steps = path_steps(issue.path)
    if issue.code == "unknown" and steps and isinstance(steps[-1], str):
        return _renamed(root, issue.path, steps[:-1], steps[-1])
    found = at(root, steps) if steps is not None else []
    expected, example = _expected(root, found), _example_text(root, found, work)
    place = f"`{issue.path}`" if issue.path else "the arguments as a whole"
    such = f", such as {example}" if example else ""
    if issue.code == "missing":
        suggestion = f"Add {place}: {expected or 'any value'}{such}."
    elif expected:
        suggestion = f"Make {place} {expected}{such}."
    else:
        suggestion = f"Correct {place}{such}."
    return RepairHint(issue.path, suggestion, expected, (), example)


def _renamed(root: Schema, path: str, parent: tuple[str | int, ...], name: str) -> RepairHint:
    known = tuple(dict.fromkeys(key for schema in at(root, parent) for key in _mapping(schema.get("properties"))))
    meant = near(name, [key for key in known if key != name], 3)
    if meant:
        return RepairHint(path, f"Rename `{path}` to `{meant[0]}`, or leave it out.", "", meant)
    listed = ", ".join(known[:_KNOWN]) + (", ..." if len(known) > _KNOWN else "")
    there = f"; what may stand there: {listed}" if listed else "; nothing may stand there"
    return RepairHint(path, f"Leave out `{path}`{there}.")


def _expected(root: Schema, schemas: Sequence[Schema]) -> str:
    for schema in schemas:
        words = described(root, schema)
        if words != "value":
            return " ".join([words, *_limits(schemas)])
    return " ".join(_limits(schemas))


def _limits(schemas: Sequence[Schema]) -> Iterator[str]:
    for schema in schemas:
        for word, said in _SAID.items():
            if word in schema:
                yield f"{said} {schema[word]}"


_SAID: Final[Mapping[str, str]] = {
    "minimum": "from",
    "exclusiveMinimum": "above",
    "maximum": "up to",
    "exclusiveMaximum": "below",
    "multipleOf": "in steps of",
    "minLength": "with a length of at least",
    "maxLength": "with a length of at most",
    "minItems": "with a length of at least",
    "maxItems": "with a length of at most",
    "pattern": "that matches",
}


# ── legal examples ───────────────────────────────────────────────────────────────────────────────────────────────────


def _example_text(root: Schema, schemas: Sequence[Schema], work: _Work) -> str:
    for schema in schemas[:1]:
        validator = _validator(root, schema, work)
        for value in _Examples(root).of(schema, 0) if validator is not None else ():
            text = canonical_text(thaw_json(value), mode="exact")
            if len(text) <= _LONGEST and _fits(validator, value):
                return text
    return ""


def _validator(root: Schema, schema: Schema, work: _Work) -> SchemaValidator | None:
    needed = _needed(root, schema, work)
    if needed is None:
        return None
    plain = cast("dict[str, object]", thaw_json({**needed, **schema}))
    try:
        return compile_schema(plain, "example", formats=True)
    except DefinitionError:  # it refers to a place that is only there in the whole
        return None


def _needed(root: Schema, schema: Schema, work: _Work) -> dict[str, object] | None:
    """What of the document *root* has to stand beside *schema*: the definitions that it refers to, directly or not.

    None when that is too much, or it refers to another place.
    """
    found: dict[str, dict[str, object]] = {word: {} for word in _DEFINITIONS}
    waiting: list[object] = [schema]
    while waiting:
        value = waiting.pop()
        work.left -= 1
        if work.left < 0:
            return None
        if isinstance(value, Mapping):
            waiting.extend(cast("Schema", value).values())
        elif isinstance(value, list | tuple):
            waiting.extend(cast("Sequence[object]", value))
        elif isinstance(value, str) and value.startswith("#/"):
            word, _, name = value[2:].partition("/")
            name = name.partition("/")[0]
            inner = _mapping(root.get(word) if word in _DEFINITIONS else None)
            if name in inner and name not in found[word]:
                found[word][name] = inner[name]
                waiting.append(inner[name])
    document = {word: members for word, members in found.items() if members}
    return {**document, "$schema": root["$schema"]} if "$schema" in root else {**document}


_DEFINITIONS: Final = ("$defs", "definitions")


def _fits(validator: SchemaValidator | None, value: object) -> bool:
    try:
        return validator is not None and validator.is_valid(thaw_json(value))
    except ValueError:
        return False


class _Examples:
    """Values that may be legal by a schema of the document *root*, the likeliest to help first.

    A schema may branch without end, so there is a bound to the schemas that are looked at.
    """

    def __init__(self, root: Schema) -> None:
        self.root = root
        self.left = _PATIENCE

    def of(self, schema: object, depth: int) -> Iterator[object]:
        self.left -= 1
        if not isinstance(schema, Mapping) or depth > _DEEPEST or self.left < 0:
            return
        known = cast("Schema", schema)
        yield from _sequence(known.get("examples"))
        for word in ("const", "default"):
            if word in known:
                yield known[word]
        yield from _sequence(known.get("enum"))[:1]
        reference = known.get("$ref")
        if isinstance(reference, str):
            yield from self.of(target(self.root, reference), depth + 1)
        for word in ("anyOf", "oneOf", "allOf"):
            for branch in _sequence(known.get(word)):
                yield from self.of(branch, depth + 1)
        for kind in _types(known):
            yield from self._of_type(known, kind, depth)

    def _of_type(self, schema: Schema, kind: str, depth: int) -> Iterator[object]:
        match kind:
            case "string":
                yield from _of_text(schema)
            case "integer" | "number":
                yield from _of_number(schema)
            case "boolean":
                yield True
            case "array":
                yield from self._of_array(schema, depth)
            case "object":
                known = _mapping(schema.get("properties"))
                members = {
                    str(name): self._first(known.get(str(name)), depth) for name in _sequence(schema.get("required"))
                }
                if _NONE not in members.values():
                    yield members
            case _:
                yield None

    def _of_array(self, schema: Schema, depth: int) -> Iterator[object]:
        first = _sequence(schema.get("prefixItems"))
        least = schema.get("minItems", 1)
        missing = min(least, _MEMBERS) - len(first) if isinstance(least, int) else 1
        inner = [*first, *[schema.get("items", {})] * max(0, missing)]
        members = [self._first(item, depth) for item in inner[:_MEMBERS]]
        if _NONE not in members:
            yield members
        yield []

    def _first(self, schema: object, depth: int) -> object:
        return next(self.of(schema, depth + 1), _NONE)


_NONE: Final = object()


def _of_text(schema: Schema) -> Iterator[str]:
    word = _TEXTS.get(str(schema.get("format")), "text")
    shortest = schema.get("minLength")
    yield word.ljust(min(shortest, _LONGEST), "x") if isinstance(shortest, int) else word
    yield "x"
    yield ""


def _of_number(schema: Schema) -> Iterator[object]:
    step = schema.get("multipleOf", 1)
    for word, away in (("minimum", 0), ("exclusiveMinimum", 1), ("maximum", 0), ("exclusiveMaximum", -1)):
        limit = schema.get(word)
        if isinstance(limit, int | float):
            yield limit + away
            if isinstance(step, int | float) and step:
                with suppress(OverflowError):  # whole numbers have no end, others do
                    yield (limit // step + 1) * step
    yield 1
    yield 0
    yield step


def _types(schema: Schema) -> tuple[str, ...]:
    types = schema.get("type", "object" if "properties" in schema else None)
    return (types,) if isinstance(types, str) else tuple(str(word) for word in _sequence(types))


def _sequence(value: object) -> Sequence[object]:
    return cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}
