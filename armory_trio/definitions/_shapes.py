"""From a Python type to the two things that must agree: what msgspec converts into, and a closed JSON Schema."""

from __future__ import annotations

import collections
import datetime as dt
import decimal
import pathlib
import sys
import types
import typing
import uuid
from collections import abc
from collections.abc import Callable, Mapping, Sequence, Sized
from typing import Annotated, Final, NoReturn, Union, cast, get_args, get_origin

import msgspec
import typing_extensions
from attrs import define, field, frozen

from ..errors import DefinitionError
from ._choices import choice
from ._forms import called, kinds, members_of, substituted, union_of
from ._limits import Limits, UnknownConstraint, read
from ._markers import (
    DECIMAL_PATTERN,
    CallDecoder,
    DecimalDecoder,
    Decoder,
    JsonDecoder,
    LimitedDecoder,
    Marker,
    SetDecoder,
    UnionDecoder,
    convert,
    marker,
)

_LARGEST: Final = sys.float_info.max

_LISTS: Final[tuple[object, ...]] = (
    list,
    abc.Sequence,
    abc.MutableSequence,
    abc.Collection,
    abc.Iterable,
    abc.Container,
    abc.Reversible,
)
_SETS: Final[Mapping[object, Callable[[Sequence[object]], Sized]]] = {
    set: set,
    frozenset: frozenset,
    abc.Set: frozenset,
    abc.MutableSet: set,
}
_DICTS: Final[tuple[object, ...]] = (dict, abc.Mapping, abc.MutableMapping, collections.OrderedDict)
_TEXTUAL: Final[Mapping[object, str]] = {
    dt.datetime: "date-time",
    dt.date: "date",
    dt.time: "time",
    dt.timedelta: "duration",
    uuid.UUID: "uuid",
}
_QUALIFIERS: Final = kinds(typing_extensions.Required, typing_extensions.NotRequired, typing_extensions.ReadOnly, Final)
_ALIASES: Final = tuple(
    kind for kind in (getattr(typing, "TypeAliasType", None), typing_extensions.TypeAliasType) if kind is not None
)
_ANYTHING: Final = kinds(object, typing.Any, typing_extensions.Any)
_INTEGER_KEY: Final = "^-?(0|[1-9][0-9]*)$"


@frozen
class Shape:
    """One type, translated. ``type`` is for msgspec, ``schema`` for the model."""

    type: object
    schema: dict[str, object]


class ObjectReader(typing.Protocol):
    """Translates classes with named fields; see `_objects`."""

    def __call__(self, translator: Translator, kind: object, /) -> Shape | None:
        """The shape of *kind*, or None when it is no such class."""
        ...


@define(eq=False)
class Translator:
    """Translates the types of one contract. What classes have in common is collected in ``definitions``.

    Args:
        subject: What is being defined, for errors.
        objects: How to translate classes with named fields.
        names: What the annotations of classes may name beside the globals of their modules.
    """

    subject: str
    objects: ObjectReader
    names: Mapping[str, object] = field(factory=dict[str, object])
    definitions: dict[str, dict[str, object]] = field(factory=dict[str, dict[str, object]])
    references: dict[object, Shape] = field(factory=dict[object, Shape])
    plain_dump: bool = True
    """Whether msgspec's own way of writing values as JSON gives back what the contract takes."""
    needs_hook: bool = False
    """Whether markers or keys that are no text occur, for which msgspec takes twice as long."""
    writes_itself: bool = True
    """Whether `msgspec.to_builtins`, without help, gives the JSON of all values."""
    _place: list[str] = field(factory=list[str])
    _used: set[str] | None = None
    """In a union, the limits that one of its branches could use so far."""

    def translate(self, kind: object, place: str) -> Shape:
        """The shape of the annotation *kind*, which stands at *place*, such as ``parameter 'a'``.

        Raises:
            DefinitionError: It can't be said in JSON.
        """
        self._place.append(place)
        try:
            shape = self.shape(kind, Limits())
            self._accepted(shape.type)
        finally:
            self._place.pop()
        return shape

    def refuse(self, reason: str) -> NoReturn:
        """Say that the type at hand can't be part of an input contract."""
        raise DefinitionError(self.subject, " in ".join(reversed(self._place)), reason)

    def define(self, name: str, schema: dict[str, object]) -> str:
        """Keep *schema* among the shared definitions, under *name* or a name like it, and answer the name."""
        free, count = name, 1
        while free in self.definitions and self.definitions[free] is not schema:
            count += 1
            free = f"{name}_{count}"
        self.definitions[free] = schema
        return free

    def shape(self, kind: object, limits: Limits) -> Shape:
        """The shape of *kind* under the *limits* of the annotations around it."""
        kind, limits = self._bare(kind, limits)
        found = self._scalar(kind, limits) or self._container(kind, limits)
        if found is None:
            found = self._union(kind, limits) or self._choice(kind) or self.objects(self, kind)
            if found is not None and get_origin(kind) not in (Union, types.UnionType):
                self._only(limits, kind)
        if found is None:
            self.refuse(f"{called(kind)} has no form in JSON that we know; {_HINT}")
        if isinstance(found.type, type(Marker)):
            self.needs_hook, self.writes_itself = True, False
        texts = limits.texts()
        return Shape(found.type, {**found.schema, **texts}) if texts else found

    def _bare(self, kind: object, limits: Limits) -> tuple[object, Limits]:
        """*kind* without aliases and annotations, and what those said."""
        while True:
            origin: object = get_origin(kind)
            if origin is Annotated:
                inner, *metadata = get_args(kind)
                limits = self._limits(metadata, limits)
                kind = cast("object", inner)
            elif origin in _QUALIFIERS:
                kind = cast("object", get_args(kind)[0])
            elif isinstance(kind, _ALIASES):
                kind = cast("object", kind.__value__)
            elif isinstance(origin, _ALIASES):
                alias = cast("typing_extensions.TypeAliasType", origin)
                kind = substituted(cast("object", alias.__value__), alias.__type_params__, get_args(kind))
            elif isinstance(kind, typing.NewType):
                kind = cast("object", kind.__supertype__)
            elif isinstance(kind, typing.TypeVar):
                kind = kind.__bound__ or (union_of(kind.__constraints__) if kind.__constraints__ else object)
            else:
                return kind, limits

    def _limits(self, metadata: Sequence[object], outer: Limits) -> Limits:
        """The inner annotations, then the outer ones over them."""
        try:
            inner = read(metadata)
        except UnknownConstraint as error:
            self.refuse(str(error))
        said = {name: value for name, value in _fields(outer).items() if value not in (None, {})}
        return Limits(**{**_fields(inner), **said, "extra": {**inner.extra, **outer.extra}})  # type: ignore[arg-type]  # the values come from fields of the same class

    # -- scalars

    def _scalar(self, kind: object, limits: Limits) -> Shape | None:
        if kind in _ANYTHING:
            self._only(limits, kind)
            return Shape(marker("Json", JsonDecoder()), {})
        if kind in (None, type(None)):
            return Shape(None, {"type": "null"})
        if kind is bool:
            self._only(limits, kind)
            return Shape(bool, {"type": "boolean"})
        if kind is int or kind is float:
            return self._number(cast("type", kind), limits)
        if kind is str:
            self._only(limits, kind, "min_length", "max_length", "pattern")
            return Shape(
                _limited(str, {**limits.sizes, "pattern": limits.pattern}),
                {"type": "string", **limits.words("string")},
            )
        if kind is bytes or kind is bytearray:
            self._only(limits, kind, "min_length", "max_length")
            return Shape(_limited(kind, limits.sizes), {"type": "string", "contentEncoding": "base64"})
        return self._textual(kind, limits)

    def _number(self, kind: type, limits: Limits) -> Shape:
        self._only(limits, kind, "ge", "gt", "le", "lt", "multiple_of")
        numeric = {name: _whole(value) if kind is int else value for name, value in limits.numeric.items()}
        words = {**limits.words("number")}
        if kind is float:
            # msgspec lets infinities and NaN pass for a float; a comparison keeps both out.
            if "gt" not in numeric:
                numeric.setdefault("ge", -_LARGEST)
            if "lt" not in numeric:
                numeric.setdefault("le", _LARGEST)
        return Shape(_limited(kind, numeric), {"type": "integer" if kind is int else "number", **words})

    def _textual(self, kind: object, limits: Limits) -> Shape | None:
        if kind is decimal.Decimal:
            self._only(limits, kind, "ge", "gt", "le", "lt", "multiple_of")
            checks = limits.checks()
            decoder: Decoder = LimitedDecoder(DecimalDecoder(), checks) if checks else DecimalDecoder()
            words = limits.words("number")
            return Shape(
                marker("Decimal", decoder), {"type": ["number", "string"], "pattern": DECIMAL_PATTERN, **words}
            )
        if isinstance(kind, type) and issubclass(kind, pathlib.PurePath):
            self._only(limits, kind)
            return Shape(marker("Path", CallDecoder(kind)), {"type": "string", "format": "path"})
        if not isinstance(kind, type) or kind not in _TEXTUAL:
            return None
        self._only(limits, kind, *(("tz",) if kind in (dt.datetime, dt.time) else ()))
        return Shape(_limited(kind, {"tz": limits.tz}), {"type": "string", "format": _TEXTUAL[kind]})

    def _only(self, limits: Limits, kind: object, *allowed: str) -> None:
        """Refuse limits that would have no effect. In a union they may be meant for another branch."""
        if self._used is not None:
            self._used.update(allowed)
            return
        extra = [name for name in limits.constraining if name not in allowed]
        if extra:
            self.refuse(f"{called(kind)} can't be limited by {', '.join(extra)}")

    # -- containers

    def _container(self, kind: object, limits: Limits) -> Shape | None:
        origin: object = get_origin(kind) or kind
        members = cast("tuple[object, ...]", get_args(kind))
        if not isinstance(origin, type):
            return None
        if origin is tuple:
            return self._tuple(kind, members, limits)
        if origin in _DICTS:
            return self._dict(members or (str, object), limits)
        if origin not in _LISTS and origin not in _SETS:
            return None
        self._only(limits, kind, "min_length", "max_length")
        item = self._inner(members[0] if members else object)
        schema: dict[str, object] = {"type": "array", **_items(item), **limits.words("array")}
        array = _limited(list[item.type], limits.sizes)  # type: ignore[name-defined]  # a type that is only known at run time
        if origin in _LISTS:
            return Shape(array, schema)
        return Shape(marker("Set", SetDecoder(_SETS[cast("object", origin)], array)), {**schema, "uniqueItems": True})

    def _tuple(self, kind: object, members: tuple[object, ...], limits: Limits) -> Shape:
        self._only(limits, kind, "min_length", "max_length")
        self.writes_itself = False  # it leaves tuples as they are
        if kind is tuple or (len(members) == 2 and members[1] is Ellipsis):
            item = self._inner(members[0] if members else object)
            schema: dict[str, object] = {"type": "array", **_items(item), **limits.words("array")}
            return Shape(_limited(tuple[item.type, ...], limits.sizes), schema)  # type: ignore[name-defined]  # only known at run time
        if limits.sizes:
            self.refuse(f"{called(kind)} has a fixed length already")
        shapes = [self._inner(member) for member in members]
        size = len(shapes)
        schema = {"type": "array", "minItems": size, "maxItems": size, "items": False}
        if shapes:
            schema["prefixItems"] = [shape.schema for shape in shapes]
        return Shape(tuple[tuple(shape.type for shape in shapes)], schema)  # type: ignore[misc]  # only known at run time

    def _dict(self, members: tuple[object, ...], limits: Limits) -> Shape:
        self._only(limits, dict, "min_length", "max_length")
        key, value = self._inner(members[0]), self._inner(members[1])
        schema: dict[str, object] = {"type": "object", **limits.words("object")}
        names = self._key_names(members[0], key)
        if names:
            schema["propertyNames"] = names
        schema["additionalProperties"] = value.schema or True
        return Shape(_limited(dict[key.type, value.type], limits.sizes), schema)  # type: ignore[name-defined]  # only known at run time

    def _key_names(self, kind: object, key: Shape) -> dict[str, object]:
        """What the names of a free-form object must look like."""
        words = {name: value for name, value in key.schema.items() if name != "type"}
        choices = words.get("enum")
        if isinstance(choices, list) and all(isinstance(choice, str) for choice in cast("list[object]", choices)):
            return words
        wanted = key.schema.get("type")
        if wanted == "string" and not isinstance(key.type, type(Marker)):
            return words
        if wanted != "integer" or words:
            self.refuse(
                f"{called(kind)} can't be the key of a JSON object; use str, plain int, or a Literal of strings"
            )
        self.needs_hook, self.writes_itself = True, False
        return {"pattern": _INTEGER_KEY}

    def _inner(self, kind: object) -> Shape:
        outer, self._used = self._used, None
        try:
            return self.shape(kind, Limits())
        finally:
            self._used = outer

    # -- choices and unions

    def _choice(self, kind: object) -> Shape | None:
        try:
            found = choice(kind)
        except ValueError as error:
            self.refuse(f"{called(kind)}: {error}")
        return Shape(*found) if found is not None else None

    def _union(self, kind: object, limits: Limits) -> Shape | None:
        if get_origin(kind) not in (Union, types.UnionType):
            return None
        outer, used = self._used, set[str]()
        self._used = used
        unsaid = Limits(**{**_fields(limits), "description": None, "extra": {}})  # type: ignore[arg-type]  # the values come from fields of the same class
        try:
            shapes = [self.shape(member, unsaid) for member in members_of(kind)]
        finally:
            self._used = outer
        unused = [name for name in limits.constraining if name not in used]
        if unused:
            self.refuse(f"{called(kind)} can't be limited by {', '.join(unused)}")
        schema: dict[str, object] = {"anyOf": [shape.schema for shape in shapes]}
        if any(not shape.schema for shape in shapes):
            schema = {}
        whole = union_of([shape.type for shape in shapes])
        if self._converts(whole):
            return Shape(whole, schema)
        ordered = sorted(shapes, key=lambda shape: shape.schema.get("type") != "integer")  # or a float would take it
        wanted = " or ".join(called(member) for member in members_of(kind))
        return Shape(marker("Union", UnionDecoder([shape.type for shape in ordered], wanted)), schema)

    def _converts(self, kind: object) -> bool:
        try:
            convert(_NOTHING, kind)
        except msgspec.ValidationError:
            return True
        except TypeError:
            return False
        return True

    def _accepted(self, kind: object) -> None:
        try:
            convert(_NOTHING, kind)
        except msgspec.ValidationError:
            return
        except TypeError as error:
            self.refuse(f"{error}; {_HINT}")


_HINT: Final = "use a type that JSON can carry, a class with annotated fields, or object for any JSON value"
_NOTHING: Final = object()


def _limited(kind: object, limits: Mapping[str, object]) -> object:
    said = {name: value for name, value in limits.items() if value is not None}
    return Annotated[kind, msgspec.Meta(**said)] if said else kind  # type: ignore[arg-type,return-value,call-overload,unused-ignore]  # the names are msgspec's own


def _items(item: Shape) -> dict[str, object]:
    return {"items": item.schema} if item.schema else {}


def _whole(limit: object) -> object:
    return int(limit) if isinstance(limit, float) and limit.is_integer() else limit


def _fields(limits: Limits) -> dict[str, object]:
    return {name: getattr(limits, name) for name in Limits.__annotations__}
