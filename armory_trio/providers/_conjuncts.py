"""What several schemas that hold together say of one place, put into one form that dialects can be written from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, cast

import attrs

from ..toolbox._offering import Loss
from ._json_kinds import same_key
from ._references import At, Book, Branches, Schema, as_list, as_schema

__all__ = ("LIMITS", "NOTES", "TYPES", "Normal", "Stack", "Union", "gather")

TYPES: Final = ("object", "array", "string", "integer", "number", "boolean", "null")

LIMITS: Final = {
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "string": ("minLength", "maxLength", "pattern"),
    "array": ("minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains"),
    "object": ("minProperties", "maxProperties", "propertyNames", "dependentRequired", "dependentSchemas"),
}
"""The keywords that limit a value of each type and need no reading."""

_LIMITING: Final = frozenset(word for words in LIMITS.values() for word in words)
_LOWER: Final = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_UPPER: Final = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_COUNTS: Final = frozenset((*_LOWER, *_UPPER, "multipleOf", "minContains", "maxContains"))

NOTES: Final = (
    *("description", "title", "format", "default", "examples", "deprecated", "readOnly", "writeOnly"),
    *("contentEncoding", "contentMediaType"),
)
"""Keywords that limit nothing (``format`` in the reading of most), of which the outermost counts."""

_SILENT: Final = frozenset(
    (
        *("$schema", "$id", "$anchor", "$dynamicAnchor", "$defs", "definitions", "$comment", "$vocabulary"),
        *("additionalItems", "then", "else", "minContains", "maxContains"),
    )
)
"""Keywords that say nothing to a model, or are read with others."""

_IMPLIED: Final = {
    "object": ("properties", "required", "additionalProperties", "patternProperties", *LIMITS["object"]),
    "array": ("items", "prefixItems", *LIMITS["array"]),
    "string": LIMITS["string"],
    "number": LIMITS["number"],
}
"""The type that a schema means when it names none and says this."""

_OF_OBJECTS: Final = frozenset(
    ("properties", "required", "additionalProperties", "patternProperties", "unevaluatedProperties")
)
_READ_BELOW: Final = frozenset(("type", "enum", "const", "allOf", "items", "prefixItems", *_OF_OBJECTS))

_FOLLOWED: Final = frozenset(("$ref", "$dynamicRef", "allOf", *NOTES))

Stack = tuple[str, ...]
"""The references that were followed to get here, outermost first."""


class Union(NamedTuple):
    """Alternatives that are still to be written.

    Args:
        keyword: ``anyOf`` or ``oneOf``.
        pointer: Where it stands.
        options: What holds together in each alternative.
        source: The schema that says it.
    """

    keyword: str
    pointer: str
    options: tuple[tuple[At, ...], ...]
    source: object


class Properties(NamedTuple):
    """What one of the schemas says of the members of an object."""

    named: dict[str, At]
    patterns: tuple[At, ...]
    others: At | None


class Items(NamedTuple):
    """What one of the schemas says of the items of an array."""

    first: tuple[At, ...]
    others: At | None


@attrs.define(eq=False)
class Normal:
    """What is said of one place.

    Args:
        conjuncts: The schemas that say it, references and ``allOf`` followed.
        stack: The references that were followed to this place and in it.
        types: The types that are legal; None when nobody says.
        impossible: Where it is said that nothing is legal.
        recursive: The definition that this place is, when it stands inside of itself and has to stay a reference.
        choices: The only legal values, and where they stand.
        limits: The limiting keywords, each as tight as anybody says, and where they stand.
        notes: Remarks, and where they stand.
        required: The members that have to be there.
        closed: Where it is said that there are no other members than the named ones.
        unevaluated: Where the same is said of members that no other of the schemas speaks of.
        losses: What has no place in this form.
    """

    conjuncts: list[At] = attrs.field(factory=list[At])
    stack: Stack = ()
    types: frozenset[str] | None = None
    impossible: str | None = None
    recursive: At | None = None
    choices: tuple[list[object], str] | None = None
    limits: dict[str, tuple[object, str]] = attrs.field(factory=dict[str, tuple[object, str]])
    notes: dict[str, tuple[object, str]] = attrs.field(factory=dict[str, tuple[object, str]])
    objects: list[Properties] = attrs.field(factory=list[Properties])
    arrays: list[Items] = attrs.field(factory=list[Items])
    required: dict[str, str] = attrs.field(factory=dict[str, str])
    closed: str | None = None
    unevaluated: str | None = None
    unions: list[Union] = attrs.field(factory=list[Union])
    losses: list[Loss] = attrs.field(factory=list[Loss])

    @property
    def pointer(self) -> str:
        """Where the outermost of the schemas stands."""
        return self.conjuncts[0].pointer if self.conjuncts else "#"

    def lose(self, pointer: str, keyword: str, detail: str) -> None:
        """Note that *keyword* is dropped."""
        self.losses.append(Loss(pointer, keyword, "dropped", detail))

    def properties(self) -> dict[str, tuple[At, ...]]:
        """What holds for each named member, in the order in which they are named."""
        names = dict.fromkeys(name for each in self.objects for name in each.named)
        return {name: tuple(self._of_member(name)) for name in names}

    def _of_member(self, name: str) -> Iterator[At]:
        for each in self.objects:
            if name in each.named:
                yield each.named[name]
            elif each.others is not None and not each.patterns:
                yield each.others

    def others(self) -> tuple[At, ...] | None:
        """What holds for members of any other name; None when nobody says."""
        said = [each.others for each in self.objects if each.others is not None and not each.patterns]
        for each in self.objects:
            if each.patterns:
                more = () if each.others is None or each.others.schema is False else (each.others,)
                if each.others is None and self.closed is None:
                    more = (At(schema=True, pointer=each.patterns[0].pointer),)
                options = tuple((branch,) for branch in (*each.patterns, *more))
                said.append(At(Branches(options), each.patterns[0].pointer))
        return tuple(said) or None

    def items(self) -> tuple[list[tuple[At, ...]], tuple[At, ...]]:
        """What holds for the first items, one by one, and for those behind them."""
        longest = max((len(each.first) for each in self.arrays), default=0)
        first = [
            tuple(said for each in self.arrays if (said := _of_item(each, index)) is not None)
            for index in range(longest)
        ]
        return first, tuple(each.others for each in self.arrays if each.others is not None)

    def limit(self, word: str) -> object:
        """The value of a limiting keyword, None when nobody says it."""
        return self.limits[word][0] if word in self.limits else None

    def rest(self, union: Union | None = None) -> tuple[At, ...]:
        """The same schemas without their remarks, what was followed already, and *union*."""
        found: list[At] = []
        for at in self.conjuncts:
            skip = at.skip | _FOLLOWED
            if union is not None and (at.schema is union.source or f"{at.pointer}/{union.keyword}" == union.pointer):
                skip |= {union.keyword}
            found.append(at._replace(skip=skip))
        return tuple(found)


def _of_item(items: Items, index: int) -> At | None:
    return items.first[index] if index < len(items.first) else items.others


def gather(conjuncts: Iterable[At], book: Book, stack: Stack, *, keeps: bool = False, turns: int = 1) -> Normal:
    """What *conjuncts* say together.

    A reference that was followed *turns* times on the way here is kept as one if *keeps*, and else left off.
    """
    found = Normal(stack=stack)
    waiting = list(conjuncts)[::-1]
    seen: set[str] = set()
    while waiting:
        at = waiting.pop()
        if at.schema is False:
            found.impossible = at.pointer
            found.conjuncts.append(at)
        elif isinstance(at.schema, Branches):
            if "anyOf" not in at.skip:
                found.unions.append(Union("anyOf", at.pointer, at.schema.options, at.schema))
            found.conjuncts.append(at)
        else:
            found.conjuncts.append(at)
            waiting += reversed(_read(found, at, book, seen, keeps=keeps, turns=turns))
    return _settled(found)


def _read(found: Normal, at: At, book: Book, seen: set[str], *, keeps: bool, turns: int) -> list[At]:
    """Take in what *at* says; answer the schemas that hold with it."""
    schema = as_schema(at.schema)
    more = [at.below("allOf", index) for index in range(len(as_list(schema.get("allOf"))))] if "allOf" in schema else []
    for word in schema:
        if word in at.skip or word in _SILENT or word in _READ_BELOW:
            continue
        if word in ("$ref", "$dynamicRef"):
            more += _referred(found, at, word, book, seen, keeps=keeps, turns=turns)
        elif word in ("anyOf", "oneOf"):
            more += _alternatives(found, at, word)
        elif word in _LIMITING:
            _tighten(found, at, word, schema[word])
        elif word in NOTES:
            found.notes.setdefault(word, (schema[word], at.pointer))
        else:
            found.lose(at.pointer, word, "there is no way to say it")
    _types(found, at, schema)
    _choices(found, at, schema)
    if not schema.keys().isdisjoint(_OF_OBJECTS):
        _members(found, at, schema)
    if "items" in schema or "prefixItems" in schema:
        _items(found, at, schema)
    return more


def _referred(
    found: Normal, at: At, word: str, book: Book, seen: set[str], *, keeps: bool, turns: int
) -> tuple[At, ...]:
    reference = as_schema(at.schema)[word]
    target = book.find(reference, at.pointer) if isinstance(reference, str) else None
    if target is None:
        found.lose(at.pointer, word, "it points at nothing in this schema")
        return ()
    if target.pointer in seen:
        return ()
    seen.add(target.pointer)
    if found.stack.count(target.pointer) >= turns:
        found.recursive = target
        if not keeps:
            found.losses.append(Loss(at.pointer, word, "widened", f"it never ends, and is told {turns} levels deep"))
        return ()
    found.stack = (*found.stack, target.pointer)
    return (target,)


def _alternatives(found: Normal, at: At, word: str) -> tuple[At, ...]:
    branches = as_list(as_schema(at.schema)[word])
    options = [at.below(word, index) for index in range(len(branches))]
    if len(options) == 1:
        return (options[0],)
    if options and all(_only_asks(branch) for branch in branches):
        found.lose(at.pointer, word, "which members belong together can't be said")
    elif options:
        found.unions.append(Union(word, f"{at.pointer}/{word}", tuple((option,) for option in options), None))
    return ()


_ASKING: Final = frozenset(("required", "not", "dependentRequired", "description", "title", "minProperties"))


def _only_asks(branch: object) -> bool:
    """Whether *branch* only asks for members to be there, and says nothing about any."""
    schema = as_schema(branch)
    return "required" in schema and schema.keys() <= _ASKING


def _tighten(found: Normal, at: At, word: str, value: object) -> None:
    if word in _COUNTS and (not isinstance(value, int | float) or isinstance(value, bool)):
        found.lose(at.pointer, word, "it is no number")
        return
    known = found.limits.get(word)
    if known is None:
        found.limits[word] = (value, at.pointer)
    elif known[0] != value:
        tighter = (value > known[0]) if word in _LOWER else (value < known[0]) if word in _UPPER else None  # type: ignore[operator]  # both are numbers
        if tighter:
            found.limits[word] = (value, at.pointer)
        elif tighter is None:
            found.lose(at.pointer, word, "another schema says one for the same place")


def _types(found: Normal, at: At, schema: Schema) -> None:
    said = schema.get("type")
    if said is None or "type" in at.skip:
        return
    words = [said] if isinstance(said, str) else [word for word in as_list(said) if isinstance(word, str)]
    known = frozenset(word for word in words if word in TYPES)
    if not known:
        return
    if found.types is None:
        found.types = known
        return
    both = found.types & known
    for one, other in ((found.types, known), (known, found.types)):
        if "number" in one and "integer" in other:
            both |= {"integer"}
    found.types = both
    if not both and found.impossible is None:
        found.impossible = at.pointer


def _choices(found: Normal, at: At, schema: Schema) -> None:
    for word in ("enum", "const"):
        if word in schema and word not in at.skip:
            values = [schema["const"]] if word == "const" else list(as_list(schema["enum"]))
            if found.choices is not None:
                keys = {same_key(value) for value in values}
                values = [value for value in found.choices[0] if same_key(value) in keys]
            found.choices = (values, at.pointer)


def _members(found: Normal, at: At, schema: Schema) -> None:
    named = {name: at.below("properties", name) for name in as_schema(schema.get("properties"))}
    patterns = tuple(at.below("patternProperties", name) for name in as_schema(schema.get("patternProperties")))
    others: At | None = None
    if isinstance(schema.get("additionalProperties"), bool | dict):
        others = at.below("additionalProperties")
    unevaluated = schema.get("unevaluatedProperties")
    if others is None and isinstance(unevaluated, bool):
        if unevaluated:
            others = at.below("unevaluatedProperties")
        else:
            found.unevaluated = at.pointer
    elif as_schema(unevaluated):
        found.lose(at.pointer, "unevaluatedProperties", "there is no way to say it")
    if others is not None and others.schema is False:
        found.closed = at.pointer
    if named or patterns or others is not None:
        found.objects.append(Properties(named, patterns, others))
    for name in as_list(schema.get("required")):
        if isinstance(name, str):
            found.required.setdefault(name, at.pointer)


def _items(found: Normal, at: At, schema: Schema) -> None:
    first = tuple(at.below("prefixItems", index) for index in range(len(as_list(schema.get("prefixItems")))))
    items, others = schema.get("items"), None
    if isinstance(items, list):  # the older drafts' way to say prefixItems
        first = tuple(at.below("items", index) for index in range(len(cast("Sequence[object]", items))))
        if isinstance(schema.get("additionalItems"), bool | dict):
            others = at.below("additionalItems")
    elif isinstance(items, bool | dict):
        others = at.below("items")
    if first or others is not None:
        found.arrays.append(Items(first, others))


def _settled(found: Normal) -> Normal:
    open_ended = any(each.others is not None and each.others.schema is not False for each in found.objects)
    if found.unevaluated is not None and found.closed is None and not open_ended:
        found.closed = found.unevaluated
    if found.types is None and found.choices is None and found.recursive is None and not found.unions:
        said = {word for at in found.conjuncts for word in as_schema(at.schema) if word not in at.skip}
        implied = [kind for kind, words in _IMPLIED.items() if said.intersection(words)]
        if len(implied) == 1:
            found.types = frozenset(implied)
            found.losses.append(Loss(found.pointer, "type", "narrowed", f"it is taken for {implied[0]}, as it reads"))
    return found
