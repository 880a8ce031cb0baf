"""From a Python type to the two things that must agree: what msgspec converts into, and a closed JSON Schema."""

from __future__ import annotations

import collections
import datetime as dt
import decimal
import pathlib
import types
import typing
import uuid
from collections import abc
from collections.abc import Callable, Mapping, Sequence, Sized
from typing import Annotated, Final, NoReturn, Union, cast, get_args, get_origin

import msgspec
import typing_extensions

from ...errors import DefinitionError
from ._choices import choice
from ._forms import called, is_alias, is_form, kinds, members_of, unfolded, union_of
from ._limits import NUMERIC, Limits, UnknownConstraint, limited, read
from ._markers import (
    CallDecoder,
    JsonDecoder,
    Marker,
    SetDecoder,
    UnionDecoder,
    convert,
    marker,
)
from ._scalars import decimal_number, floating, integer, text

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
_ANYTHING: Final = kinds(object, typing.Any, typing_extensions.Any)
_SHOWN_PLACES: Final = 6
_INTEGER_KEY: Final = "^-?(0|[1-9][0-9]*)$"


class Shape(msgspec.Struct, frozen=True):
    """One type, translated. ``type`` is for msgspec, ``schema`` for the model."""

    type: object
    schema: dict[str, object]


class ObjectReader(typing.Protocol):
    """Translates classes with named fields; see `_objects`."""

    def __call__(self, translator: Translator, kind: object, /) -> Shape | None:
        """The shape of *kind*, or None when it is no such class."""
        ...


class Translator(msgspec.Struct, eq=False):
    """Translates the types of one contract. What classes have in common is collected in ``definitions``.

    Args:
        subject: What is being defined, for errors.
        objects: How to translate classes with named fields.
        hooked: Whether somebody else builds the values: attrs classes are only checked, by the names of their
            attributes, and a type that we don't know may be any JSON value.
        names: What the annotations of classes may name beside the globals of their modules.
    """

    subject: str
    objects: ObjectReader
    names: Mapping[str, object] = msgspec.field(default_factory=dict[str, object])
    hooked: bool = False
    definitions: dict[str, dict[str, object]] = msgspec.field(default_factory=dict[str, dict[str, object]])
    references: dict[object, Shape] = msgspec.field(default_factory=dict[object, Shape])
    plain_dump: bool = True
    """Whether msgspec's own way of writing values as JSON gives back what the contract takes."""
    needs_hook: bool = False
    """Whether markers or keys that are no text occur, for which msgspec takes twice as long."""
    writes_itself: bool = True
    """Whether `msgspec.to_builtins`, without help, gives the JSON of all values."""
    _place: list[str] = msgspec.field(default_factory=list[str])
    _aliases: list[object] = msgspec.field(default_factory=list[object])
    """Those within which the type at hand stands, up to the class around it."""
    _used: set[str] | None = None
    """In a union, the limits that one of its branches could use so far."""

    def translate(self, kind: object, place: str) -> Shape:
        """The shape of the annotation *kind*, which stands at *place*, such as ``parameter 'a'``.

        Raises:
            DefinitionError: It can't be said in JSON.
        """
        self._place.append(place)
        outer, self._aliases = self._aliases, []
        try:
            shape = self.shape(kind, Limits())
            self._accepted(shape.type)
        except RecursionError:
            self.refuse(f"the type has no end, or too many levels; {_HINT}")
        finally:
            self._place.pop()
            self._aliases = outer
        return shape

    def refuse(self, reason: str) -> NoReturn:
        """Say that the type at hand can't be part of an input contract."""
        places = self._place[::-1]
        if len(places) > _SHOWN_PLACES:
            places[_SHOWN_PLACES - 1 : -1] = ["..."]
        raise DefinitionError(self.subject, " in ".join(places), reason)

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
        depth = len(self._aliases)
        try:
            return self._shape(*self._bare(kind, limits))
        finally:
            del self._aliases[depth:]

    def _shape(self, kind: object, limits: Limits) -> Shape:
        if not is_form(kind):
            self.refuse(f"{called(kind)} is no type; {_HINT}")
        try:
            found = self._scalar(kind, limits) or self._container(kind, limits)
        except UnknownConstraint as error:
            self.refuse(str(error))
        if found is None:
            found = self._union(kind, limits) or self._choice(kind) or self.objects(self, kind)
            if found is not None and get_origin(kind) not in (Union, types.UnionType):
                self._only(limits, kind)
        if found is None and self.hooked:
            found = Shape(marker("Json", JsonDecoder()), {})
        if found is None:
            self.refuse(f"{called(kind)} has no form in JSON that we know; {_HINT}")
        if isinstance(found.type, type(Marker)):
            self.needs_hook, self.writes_itself = True, False
        texts = limits.texts()
        return Shape(found.type, {**found.schema, **texts}) if texts else found

    def _bare(self, kind: object, limits: Limits) -> tuple[object, Limits]:
        """*kind* without aliases and annotations, and what those said."""
        while True:
            if get_origin(kind) is Annotated:
                inner, *metadata = get_args(kind)
                limits = self._limits(metadata, limits)
            else:
                inner = self._unfolded(kind)
                if inner is kind:
                    return kind, limits
            kind = cast("object", inner)

    def _unfolded(self, kind: object) -> object:
        if is_alias(kind):
            if kind in self._aliases:
                self.refuse(f"{called(kind)} is made of itself; use a class with fields, or object for any JSON value")
            self._aliases.append(kind)
        try:
            return unfolded(kind)
        except Exception as error:  # noqa: BLE001  # the value of an alias is code: anything may go wrong in it
            self.refuse(f"{called(kind)} can't be resolved: {error}")

    def _limits(self, metadata: Sequence[object], outer: Limits) -> Limits:
        try:
            return read(metadata).within(outer)
        except UnknownConstraint as error:
            self.refuse(str(error))

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
            self._only(limits, kind, *NUMERIC)
            return Shape(*(integer if kind is int else floating)(limits))
        if kind is str:
            self._only(limits, kind, "min_length", "max_length", "pattern")
            return Shape(*text(limits))
        if kind is bytes or kind is bytearray:
            self._only(limits, kind, "min_length", "max_length")
            return Shape(limited(kind, limits.sizes), {"type": "string", "contentEncoding": "base64"})
        return self._textual(kind, limits)

    def _textual(self, kind: object, limits: Limits) -> Shape | None:
        if kind is decimal.Decimal:
            self._only(limits, kind, *NUMERIC)
            return Shape(*decimal_number(limits))
        if isinstance(kind, type) and issubclass(kind, pathlib.PurePath):
            self._only(limits, kind)
            return Shape(marker("Path", CallDecoder(kind)), {"type": "string", "format": "path"})
        if not isinstance(kind, type) or kind not in _TEXTUAL:
            return None
        self._only(limits, kind, *(("tz",) if kind in (dt.datetime, dt.time) else ()))
        return Shape(limited(kind, {"tz": limits.tz}), {"type": "string", "format": _TEXTUAL[kind]})

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
        array = limited(list[item.type], limits.sizes)  # type: ignore[name-defined]  # a type that is only known at run time
        if origin in _LISTS:
            return Shape(array, schema)
        return Shape(marker("Set", SetDecoder(_SETS[cast("object", origin)], array)), {**schema, "uniqueItems": True})

    def _tuple(self, kind: object, members: tuple[object, ...], limits: Limits) -> Shape:
        self._only(limits, kind, "min_length", "max_length")
        self.writes_itself = False  # it leaves tuples as they are
        if kind is tuple or (len(members) == 2 and members[1] is Ellipsis):
            item = self._inner(members[0] if members else object)
            schema: dict[str, object] = {"type": "array", **_items(item), **limits.words("array")}
            return Shape(limited(tuple[item.type, ...], limits.sizes), schema)  # type: ignore[name-defined]  # only known at run time
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
        return Shape(limited(dict[key.type, value.type], limits.sizes), schema)  # type: ignore[name-defined]  # only known at run time

    def _key_names(self, kind: object, key: Shape) -> dict[str, object]:
        """What the names of a free-form object must look like."""
        words = {name: value for name, value in key.schema.items() if name != "type"}
        choices = words.get("enum")
        if isinstance(choices, list) and all(isinstance(choice, str) for choice in cast("list[object]", choices)):
            return words
        wanted = key.schema.get("type")
        if wanted == "string" and ("pattern" in words or not isinstance(key.type, type(Marker))):
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
        unsaid = msgspec.structs.replace(limits, description=None, extra={})
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


def _items(item: Shape) -> dict[str, object]:
    return {"items": item.schema} if item.schema else {}
