"""What ``Annotated`` says about a type: texts for the model, and limits to enforce."""

from __future__ import annotations

import math
import operator
import re
import typing
from collections.abc import Callable, Iterable, Mapping
from decimal import Context, Decimal, InvalidOperation
from typing import Annotated, Final, cast

import msgspec

from .._checks import shown

Compare = Callable[[typing.Any, typing.Any], object]  # whatever the limit can be compared with

NUMERIC: Final = ("ge", "gt", "le", "lt", "multiple_of")
_SIZES: Final = ("min_length", "max_length")
_WORDS: Final = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
    "pattern": "pattern",
}
_SIZE_WORDS: Final = {"string": "Length", "array": "Items", "object": "Properties"}
_COMPARE: Final[Mapping[str, tuple[Compare, str]]] = {
    "ge": (operator.ge, ">="),
    "gt": (operator.gt, ">"),
    "le": (operator.le, "<="),
    "lt": (operator.lt, "<"),
}


_ENFORCED: Final = frozenset(
    (
        *("type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems", "contains", "minContains"),
        *("maxContains", "prefixItems", "items", "minProperties", "maxProperties", "required", "properties"),
        *("patternProperties", "additionalProperties", "propertyNames", "dependentRequired", "dependentSchemas"),
        *("unevaluatedItems", "unevaluatedProperties", "allOf", "anyOf", "oneOf", "not", "if", "then", "else"),
        *("$ref", "$dynamicRef", "$defs", "$id", "$schema", "$anchor", "$dynamicAnchor"),
    )
)
"""Words of JSON Schema that say what is legal. Only types and limits may say them, for only they are enforced."""

_EXACT: Final = Context(prec=5_000)
"""How numbers are divided: with more digits than any that is read."""


class UnknownConstraint(ValueError):
    """A constraint that we would have to ignore. The text says what to do instead."""


class Limits(msgspec.Struct, frozen=True):
    """The constraints and the texts of one annotation. None means that nothing was said."""

    ge: object = None
    gt: object = None
    le: object = None
    lt: object = None
    multiple_of: object = None
    min_length: object = None
    max_length: object = None
    pattern: str | None = None
    tz: bool | None = None
    description: str | None = None
    extra: Mapping[str, object] = {}

    @property
    def numeric(self) -> Mapping[str, object]:
        """The limits of numbers, by msgspec's names."""
        return self._said(NUMERIC)

    @property
    def sizes(self) -> Mapping[str, object]:
        """The limits of lengths, by msgspec's names."""
        return self._said(_SIZES)

    @property
    def constraining(self) -> tuple[str, ...]:
        """The names of all limits that were given."""
        return tuple(self._said((*NUMERIC, *_SIZES, "pattern", "tz")))

    def _said(self, names: Iterable[str]) -> Mapping[str, object]:
        values = {name: cast("object", getattr(self, name)) for name in names}
        return {name: value for name, value in values.items() if value is not None}

    def words(self, kind: str) -> dict[str, object]:
        """The limits as keywords of JSON Schema for a value of the JSON type *kind*."""
        if kind in ("integer", "number"):
            return {_WORDS[name]: value for name, value in self.numeric.items()}
        words: dict[str, object] = {}
        for name, value in self.sizes.items():
            words[name.removesuffix("_length") + _SIZE_WORDS[kind]] = value
        if kind == "string" and self.pattern is not None:
            words["pattern"] = self.pattern
        return words

    def within(self, outer: Limits) -> Limits:
        """These limits under those of the annotations around them: what is said outside stands."""
        said = {name: getattr(outer, name) for name in Limits.__annotations__}
        stands = {name: value for name, value in said.items() if value not in (None, {})}
        return msgspec.structs.replace(self, **{**stands, "extra": {**self.extra, **outer.extra}})

    def texts(self) -> dict[str, object]:
        """What goes into a schema beside the constraints."""
        said = {"description": self.description} if self.description is not None else {}
        return {**said, **self.extra}

    def checks(self) -> list[Callable[[object], str | None]]:
        """The limits of numbers as functions that answer a complaint, for types that msgspec can't limit."""
        found: list[Callable[[object], str | None]] = []
        for name, (compare, sign) in _COMPARE.items():
            limit = self.numeric.get(name)
            if limit is not None:
                found.append(_Comparison(compare, sign, limit))
        if self.multiple_of is not None:
            found.append(_Multiple(self.multiple_of))
        return found


class _Comparison(msgspec.Struct, frozen=True):
    compare: Compare
    sign: str
    limit: object

    def __call__(self, value: object) -> str | None:
        return (
            None
            if self.compare(value, Decimal(str(self.limit)))
            else f"Expected a value {self.sign} {self.limit}, got {value}"
        )


class _Multiple(msgspec.Struct, frozen=True):
    of: object

    def __call__(self, value: object) -> str | None:
        try:
            rest = _EXACT.remainder(Decimal(str(value)), Decimal(str(self.of)))
        except InvalidOperation:
            return f"Expected a multiple of {self.of} with at most {_EXACT.prec} digits, got {value}"
        return None if rest == 0 else f"Expected a multiple of {self.of}, got {value}"


def limited(kind: object, limits: Mapping[str, object]) -> object:
    """The msgspec type *kind* under *limits*, by msgspec's names.

    Raises:
        UnknownConstraint: A limit is none, such as a negative length.
    """
    said = {name: value for name, value in limits.items() if value is not None}
    if not said:
        return kind
    for name, value in said.items():
        if kind is int and not (isinstance(value, int) and -(2**63) <= value < 2**63):
            raise UnknownConstraint(f"{name} must be a whole number of at most 64 bits for an int, not {shown(value)}")
    try:
        return Annotated[kind, msgspec.Meta(**said)]  # type: ignore[arg-type,return-value,call-overload,unused-ignore]  # the names are msgspec's own
    except (TypeError, ValueError, re.error, OverflowError) as error:
        raise UnknownConstraint(str(error).replace("`", "")) from None


def whole(limit: object) -> object:
    """*limit* as an int where it is one."""
    return int(limit) if isinstance(limit, float) and limit.is_integer() else limit


def _plain_number(limit: object) -> object:
    """*limit* as JSON writes it."""
    if not isinstance(limit, Decimal) or not limit.is_finite():
        return limit
    number = int(limit) if limit == limit.to_integral_value() else float(limit)
    if Decimal(str(number)) != limit:
        raise UnknownConstraint(f"{limit} has more digits than a number in a JSON Schema can have")
    return number


def read(metadata: Iterable[object], limits: Limits | None = None) -> Limits:
    """*limits* and what *metadata*, the arguments of ``Annotated`` behind the type, adds; what stands later counts.

    Understood: plain text, ``typing_extensions.Doc``, `msgspec.Meta`, the constraints of ``annotated_types``, pydantic's
    ``Field``. Metadata of other libraries is left alone, as the language asks.

    Raises:
        UnknownConstraint: A constraint that JSON Schema cannot say.
    """
    found = limits or Limits()
    for item in metadata:
        found = _with(found, item)
    return found


def _with(limits: Limits, item: object) -> Limits:
    if isinstance(item, str):
        return msgspec.structs.replace(limits, description=item)
    if isinstance(item, msgspec.Meta):
        return _with_meta(limits, item)
    kind = type(item)
    library = kind.__module__.partition(".")[0]
    if library == "annotated_types":
        return _with_annotated(limits, item)
    if library == "pydantic":
        return _with_pydantic(limits, item)
    documentation = getattr(item, "documentation", None)
    if isinstance(documentation, str):
        return msgspec.structs.replace(limits, description=documentation)
    description = getattr(item, "description", None)
    return msgspec.structs.replace(limits, description=description) if isinstance(description, str) else limits


def _with_meta(limits: Limits, meta: msgspec.Meta) -> Limits:
    names = (*NUMERIC, *_SIZES, "pattern", "tz", "description")
    said = {name: cast("object", getattr(meta, name)) for name in names if getattr(meta, name) is not None}
    extra: dict[str, object] = dict(limits.extra)
    if meta.title is not None:
        extra["title"] = meta.title
    if meta.examples is not None:
        extra["examples"] = list(cast("Iterable[object]", meta.examples))
    extra.update(cast("Mapping[str, object]", meta.extra_json_schema or {}))
    unenforced = [word for word in extra if word in _ENFORCED]
    if unenforced:
        raise UnknownConstraint(f"{unenforced[0]} in extra_json_schema would only be shown, and not be enforced")
    return msgspec.structs.replace(limits, extra=extra, **said)


def _with_pydantic(limits: Limits, item: object) -> Limits:
    """What pydantic's ``Field`` says. Its validators in annotations are refused: they would not be run."""
    if type(item).__name__ == "FieldInfo":
        limits = read(cast("Iterable[object]", getattr(item, "metadata", ())), limits)
        description = getattr(item, "description", None)
        return msgspec.structs.replace(limits, description=description) if isinstance(description, str) else limits
    said = {name: value for name, value in vars(item).items() if value is not None} if hasattr(item, "__dict__") else {}
    if set(said) == {"pattern"}:
        return msgspec.structs.replace(limits, pattern=str(said["pattern"]))
    if set(said) == {"strict"}:
        return limits
    raise UnknownConstraint(f"pydantic's {type(item).__name__} works only in a pydantic model; put the value into one")


def _with_annotated(limits: Limits, item: object) -> Limits:
    name = type(item).__name__
    if name in ("Interval", "Len"):
        return read(cast("Iterable[object]", item), limits)
    attribute = {"MultipleOf": "multiple_of", "MinLen": "min_length", "MaxLen": "max_length"}.get(name, name.lower())
    if attribute in (*NUMERIC, *_SIZES):
        return msgspec.structs.replace(limits, **{attribute: _plain_number(getattr(item, attribute))})
    if name == "DocInfo":
        return msgspec.structs.replace(limits, description=str(getattr(item, "documentation", "")))
    if name == "Timezone":
        return msgspec.structs.replace(limits, tz=getattr(item, "tz", None) is not None)
    if name == "Unit" or getattr(item, "func", None) is math.isfinite:  # the one says nothing, the other is always so
        return limits
    raise UnknownConstraint(f"{name} can't be said in JSON Schema; check it in the tool, or in a class of your own")
