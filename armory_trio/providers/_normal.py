"""What is said of one place of a contract, in one form that dialects can be written from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import attrs

from ..toolbox._offering import Loss
from ._references import At, Branches, as_list, as_schema

__all__ = ("LIMITS", "NOTES", "TYPES", "Items", "Normal", "Properties", "Stack", "Union")

TYPES: Final = ("object", "array", "string", "integer", "number", "boolean", "null")

LIMITS: Final = {
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "string": ("minLength", "maxLength", "pattern"),
    "array": ("minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains"),
    "object": ("minProperties", "maxProperties", "propertyNames", "dependentRequired", "dependentSchemas"),
}
"""The keywords that limit a value of each type and need no reading."""

NOTES: Final = (
    *("description", "title", "format", "default", "examples", "deprecated", "readOnly", "writeOnly"),
    *("contentEncoding", "contentMediaType"),
)
"""Keywords that limit nothing (``format`` in the reading of most), of which the outermost counts."""

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
        conditions: Schemas that hold only sometimes. The members that they name may be there.
        counted: Where more is said of which members are there than which have to be: one that is null is there, too.
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
    conditions: list[At] = attrs.field(factory=list[At])
    counted: str | None = None
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
        return {name: self.member(name) for name in names}

    def member(self, name: str) -> tuple[At, ...]:
        """What holds for the member *name*."""
        return tuple(self._of_member(name))

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
        shut = next((at for at in said if at.schema is False), None)
        return (shut,) if shut else tuple(said) or None

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
            skip = at.skip | _FOLLOWED | {word for word in ("anyOf", "oneOf") if _is_lone(at, word)}
            if union is not None and (at.schema is union.source or f"{at.pointer}/{union.keyword}" == union.pointer):
                skip |= {union.keyword}
            found.append(at._replace(skip=skip))
        return tuple(found)


def _is_lone(at: At, word: str) -> bool:
    """Whether there is one alternative, which was followed as if it stood in an ``allOf``."""
    return len(as_list(as_schema(at.schema).get(word))) == 1


def _of_item(items: Items, index: int) -> At | None:
    return items.first[index] if index < len(items.first) else items.others
