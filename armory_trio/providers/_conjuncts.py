"""What several schemas that hold together say of one place, put into one form that dialects can be written from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, cast

from ..toolbox._offering import Loss
from ._json_kinds import same_key
from ._normal import LIMITS, NOTES, TYPES, Items, Normal, Properties, Stack, Union
from ._references import At, Book, Branches, Schema, as_list, as_schema, children

__all__ = ("counts_members", "gather", "takes_null")

_LIMITING: Final = frozenset(word for words in LIMITS.values() for word in words)
_LOWER: Final = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_UPPER: Final = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_COUNTS: Final = frozenset((*_LOWER, *_UPPER, "multipleOf", "minContains", "maxContains"))

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

_CONDITIONAL: Final = ("if", "then", "else", "dependentSchemas")
"""Keywords whose schemas hold only sometimes."""

_EVALUATING: Final = frozenset(("$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", *_CONDITIONAL))
"""Keywords by which other schemas may speak of the members of the same object."""

_OF_OTHERS: Final = frozenset(("patternProperties", "additionalProperties", "unevaluatedProperties"))

_COUNTING: Final = frozenset(("not", "if", "dependencies", *LIMITS["object"]))
"""Keywords to which a member of an object that is null may not be the same as one that is left out."""

_LOOKING: Final = _COUNTING | {
    *("allOf", "oneOf", "patternProperties", "unevaluatedProperties"),
    *("prefixItems", "additionalItems", "unevaluatedItems", "contains", "uniqueItems"),
}
"""The same of an object anywhere inside, for all that we can tell."""

_MOST_ASKED: Final = 100
"""Alternatives that are asked whether they take null, before it is taken for granted."""

_REFERRING: Final = frozenset(("anyOf", "$ref", "$dynamicRef"))
"""The same where they stand beside other keywords that limit a value."""


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


def counts_members(root: At) -> bool:
    """Whether anything in the document *root* may tell a member that is null from one that is left out."""
    waiting = [root]
    while waiting:
        at = waiting.pop()
        words = as_schema(at.schema).keys()
        beside = words & (_READ_BELOW | _LIMITING | _REFERRING)
        if words & _LOOKING or (words & _REFERRING and len(beside) > 1) or as_list(as_schema(at.schema).get("items")):
            return True
        waiting += children(at)
    return False


def takes_null(normal: Normal, book: Book, asked: dict[tuple[str, ...], bool] | None = None) -> bool:
    """Whether null may be legal here.

    Args:
        normal: What is said here.
        book: The document.
        asked: What was found of alternatives; one that is asked about while it is looked at is none of its own.
    """
    asked = {} if asked is None else asked
    if normal.impossible is not None or (normal.types is not None and "null" not in normal.types):
        return False
    if normal.choices is not None:
        return None in normal.choices[0]
    return all(any(_option_takes_null(option, book, asked) for option in union.options) for union in normal.unions)


def _option_takes_null(option: tuple[At, ...], book: Book, asked: dict[tuple[str, ...], bool]) -> bool:
    key = tuple(at.pointer for at in option)
    if key not in asked:
        if len(asked) >= _MOST_ASKED:
            return True
        asked[key] = False
        asked[key] = takes_null(gather(option, book, (), keeps=True), book, asked)
    return asked[key]


def _read(found: Normal, at: At, book: Book, seen: set[str], *, keeps: bool, turns: int) -> list[At]:
    """Take in what *at* says; answer the schemas that hold with it."""
    schema = as_schema(at.schema)
    every = () if "allOf" in at.skip else as_list(schema.get("allOf"))
    more = [at.below("allOf", index) for index in range(len(every))]
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
    if not _COUNTING.isdisjoint(schema):
        found.counted = at.pointer
    found.conditions += (inner for word in _CONDITIONAL if word in schema for inner in _sometimes(at, word))
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
    """The schema that a reference means, to be gathered as well; nothing where it is here already, or lost."""
    reference = as_schema(at.schema)[word]
    target = book.find(reference, at.pointer) if isinstance(reference, str) else None
    if target is None:
        found.lose(at.pointer, word, "it points at nothing in this schema")
        return ()
    if target.pointer in seen or any(target.schema is each.schema and not each.skip for each in found.conjuncts):
        return ()  # what holds here holds here: a schema that is itself says nothing by it
    seen.add(target.pointer)
    if found.stack.count(target.pointer) >= turns:
        found.recursive = target
        if not keeps:
            found.losses.append(Loss(at.pointer, word, "widened", f"it never ends, and is told {turns} levels deep"))
        return ()
    found.stack = (*found.stack, target.pointer)
    return (target,)


def _alternatives(found: Normal, at: At, word: str) -> tuple[At, ...]:
    """A single alternative, to be gathered as well; several are a union, or only say which members go together."""
    branches = as_list(as_schema(at.schema)[word])
    options = [at.below(word, index) for index in range(len(branches))]
    if len(options) == 1:
        return (options[0],)
    if options and all(_only_asks(branch) for branch in branches):
        found.lose(at.pointer, word, "which members belong together can't be said")
        found.counted = at.pointer
    elif options:
        found.unions.append(Union(word, f"{at.pointer}/{word}", tuple((option,) for option in options), None))
    return ()


_ASKING: Final = frozenset(("required", "not", "dependentRequired", "description", "title", "minProperties"))


def _only_asks(branch: object) -> bool:
    """Whether *branch* only asks for members to be there, and says nothing about any."""
    schema = as_schema(branch)
    return "required" in schema and schema.keys() <= _ASKING


def _tighten(found: Normal, at: At, word: str, value: object) -> None:
    """Note a limit. Of two for the same the tighter one holds, where one can be told."""
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
    """Note the types: those that all conjuncts allow. A number may be an integer."""
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
    """Note the values of ``enum`` and ``const``: those that all conjuncts allow."""
    for word in ("enum", "const"):
        if word in schema and word not in at.skip:
            values = [schema["const"]] if word == "const" else list(as_list(schema["enum"]))
            if found.choices is not None:
                keys = {same_key(value) for value in values}
                values = [value for value in found.choices[0] if same_key(value) in keys]
            found.choices = (values, at.pointer)


def _sometimes(at: At, word: str) -> list[At]:
    """The schemas in the conditional keyword *word*."""
    if word != "dependentSchemas":
        return [at.below(word)]
    return [at.below(word, name) for name in as_schema(as_schema(at.schema)[word])]


def _members(found: Normal, at: At, schema: Schema) -> None:
    """Note what is said of the members of an object."""
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
    elif others is None and isinstance(unevaluated, dict):
        if schema.keys().isdisjoint(_EVALUATING):
            others = at.below("unevaluatedProperties")
        else:
            others = At(schema=True, pointer=at.pointer)
            found.lose(at.pointer, "unevaluatedProperties", "there is no way to say it")
    if others is not None and others.schema is False:
        found.closed = at.pointer
    if named or patterns or others is not None:
        found.objects.append(Properties(named, patterns, others))
    if patterns:
        detail = "a member may be of any kind that is legal for one of the patterns, whatever its name"
        found.losses.append(Loss(at.pointer, "patternProperties", "widened", detail))
    for name in as_list(schema.get("required")):
        if isinstance(name, str):
            found.required.setdefault(name, at.pointer)


def _items(found: Normal, at: At, schema: Schema) -> None:
    """Note what is said of the items of an array."""
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
        _close(found, found.unevaluated)
    if found.types is None and found.choices is None and found.recursive is None and not found.unions:
        said = {word for at in found.conjuncts for word in as_schema(at.schema) if word not in at.skip}
        implied = [kind for kind, words in _IMPLIED.items() if said.intersection(words)]
        if len(implied) == 1:
            found.types = frozenset(implied)
            found.losses.append(Loss(found.pointer, "type", "narrowed", f"it is taken for {implied[0]}, as it reads"))
    return found


def _close(found: Normal, pointer: str) -> None:
    """Close the object for members that no schema speaks of; those of which one speaks sometimes may be there."""
    named: dict[str, list[At]] = {}
    for at in found.conditions:
        schema = as_schema(at.schema)
        if not schema.keys().isdisjoint(_EVALUATING) or not schema.keys().isdisjoint(_OF_OTHERS):
            found.losses.append(
                Loss(pointer, "unevaluatedProperties", "widened", "which members a condition allows can't be said")
            )
            return
        for name in as_schema(schema.get("properties")):
            named.setdefault(name, []).append(at.below("properties", name))
    found.closed = pointer
    known = found.properties()
    options = {name: tuple((at,) for at in said) for name, said in named.items() if name not in known}
    if options:
        sometimes = {name: At(Branches(said), said[0][0].pointer) for name, said in options.items()}
        found.objects.append(Properties(sometimes, (), None))
