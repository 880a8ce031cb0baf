"""Classes with named fields as closed JSON objects: msgspec, attrs, dataclasses, TypedDict, NamedTuple."""

from __future__ import annotations

import dataclasses
import re
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, Union, cast, get_args, get_origin

import attrs
import msgspec
import typing_extensions

from .._docstring import read_docstring
from ._forms import called, kinds, substituted, union_of
from ._markers import ObjectDecoder, marker
from ._pydantic import pydantic_shape
from ._shapes import Shape, Translator
from ._writing import json_default

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_NOTHING: Final = msgspec.NODEFAULT
_REQUIRED: Final = kinds(typing.Required, typing_extensions.Required)
_NOT_REQUIRED: Final = kinds(typing.NotRequired, typing_extensions.NotRequired)
_EMPTY_FACTORIES: Final = kinds(list, dict, set, frozenset, tuple)
"""Factories of defaults that a schema can show; what others make is known only when they are called."""
_UNFIT: Final = re.compile(r"[^A-Za-z0-9._-]+")


@attrs.frozen
class FieldPlan:
    """One field of a class.

    Args:
        name: Its name in JSON.
        parameter: The parameter of the constructor that takes it.
        kind: Its type, as annotated.
        required: Whether it must be given.
        default: Its default as far as a schema can show it, or ``NODEFAULT``.
    """

    name: str
    parameter: str
    kind: object
    required: bool
    default: object = _NOTHING


class ClassPlan(msgspec.Struct, frozen=True):
    """How a class is read from JSON. ``array`` says that it is an array there, in the order of its fields."""

    make: Callable[..., object]
    fields: Sequence[FieldPlan]
    array: bool = False
    plain: bool = True


def object_shape(translator: Translator, kind: object) -> Shape | None:
    """The shape of a class with named fields; None when *kind* is no such class."""
    try:
        known = translator.references.get(kind)
    except TypeError as error:  # a generic class over an annotation that can't be hashed
        translator.refuse(f"{called(kind)} can't be told apart from other types: {error}")
    if known is not None:
        return known
    found: object = get_origin(kind) or kind
    if not isinstance(found, type):
        return None
    origin = cast("type[object]", found)
    foreign = pydantic_shape(translator, kind, origin)
    if foreign is not None:
        return foreign
    plan = _plan(translator, kind, origin)
    if plan is None:
        return None
    name = _UNFIT.sub("_", _title(kind, origin)).strip("_")
    decoder = ObjectDecoder(
        name, dict if plan.make is dict else origin, plan.make, [field.parameter for field in plan.fields]
    )
    schema: dict[str, object] = {}
    reference = f"#/$defs/{translator.define(name, schema)}"
    shape = translator.references[kind] = Shape(marker(name, decoder), {"$ref": reference})
    if not plan.plain:
        translator.plain_dump = False
    _fill(translator, origin, plan, decoder, schema)
    return shape


def _fill(
    translator: Translator, origin: type[object], plan: ClassPlan, decoder: ObjectDecoder, schema: dict[str, object]
) -> None:
    """Complete the decoder and the schema, which a field of the class may refer to already."""
    doc = read_docstring(_own_docstring(origin), [field.parameter for field in plan.fields])
    shapes = [translator.translate(field.kind, f"field {field.name!r} of {origin.__name__}") for field in plan.fields]
    texts = [{"description": text} if (text := doc.parameters.get(field.parameter)) else {} for field in plan.fields]
    schemas = [
        {**text, **shape.schema, **field_default(field.default)}
        for text, shape, field in zip(texts, shapes, plan.fields, strict=True)
    ]
    decoder.shape = struct_of(
        origin.__name__,
        [(field.name, shape.type, field.required) for field, shape in zip(plan.fields, shapes, strict=True)],
        array=plan.array,
    )
    if doc.description:
        schema["description"] = doc.description
    if plan.array:
        schema.update(array_schema(schemas, sum(field.required for field in plan.fields)))
    else:
        required = [field.name for field in plan.fields if field.required]
        names = [field.name for field in plan.fields]
        schema.update(closed_object(dict(zip(names, schemas, strict=True)), required))


def closed_object(properties: Mapping[str, object], required: Sequence[str]) -> dict[str, object]:
    """The schema of an object that has no other members than *properties*."""
    schema: dict[str, object] = {"type": "object", "properties": dict(properties)}
    if required:
        schema["required"] = list(required)
    schema["additionalProperties"] = False
    return schema


def array_schema(items: Sequence[object], required: int) -> dict[str, object]:
    """The schema of an array with these members, of which the first *required* must be there."""
    first: dict[str, object] = {"prefixItems": list(items)} if items else {}
    return {"type": "array", **first, "minItems": required, "maxItems": len(items), "items": False}


def field_default(default: object) -> dict[str, object]:
    """The keyword for a default, when JSON can carry it."""
    if default is _NOTHING:
        return {}
    value = json_default(default)
    return {} if value is _NOTHING else {"default": value}


def struct_of(name: str, fields: Sequence[tuple[str, object, bool]], *, array: bool = False) -> type[msgspec.Struct]:
    """A closed struct with fields ``f0``, ``f1``, ... that are called otherwise in JSON; what is not given is UNSET.

    The safe names keep clear of everything that msgspec itself calls its own.
    """
    declared: list[tuple[str, object] | tuple[str, object, object]] = []
    for index, (_, kind, required) in enumerate(fields):
        declared.append((f"f{index}", kind) if required else (f"f{index}", kind, msgspec.UNSET))
    names = {f"f{index}": name for index, (name, _, _) in enumerate(fields)}
    return msgspec.defstruct(
        name, declared, rename=names, forbid_unknown_fields=True, frozen=True, kw_only=not array, array_like=array
    )


def _title(kind: object, origin: type[object]) -> str:
    inner = [getattr(argument, "__name__", str(argument)) for argument in get_args(kind)]
    return "_".join([origin.__name__, *map(str, inner)])


def _own_docstring(kind: type) -> str | None:
    """The docstring that a person wrote for *kind* itself."""
    text = kind.__dict__.get("__doc__")
    if not isinstance(text, str) or text.startswith(f"{kind.__name__}("):
        return None
    return text


# ── the kinds of classes ─────────────────────────────────────────────────────────────────────────────────────────────


def _plan(translator: Translator, kind: object, origin: type[object]) -> ClassPlan | None:
    if issubclass(origin, msgspec.Struct):
        return _struct_plan(translator, kind, origin)
    if typing_extensions.is_typeddict(origin):
        return _typed_dict_plan(translator, kind, origin)
    if attrs.has(origin):
        return _attrs_plan(translator, kind, origin)
    if dataclasses.is_dataclass(origin):
        return _dataclass_plan(translator, kind, origin)
    if hasattr(origin, "_fields") and issubclass(origin, tuple):
        return _named_tuple_plan(translator, kind, cast("type[object]", origin))
    return None


def _hints(translator: Translator, kind: object, origin: type[object]) -> dict[str, object]:
    """The annotations of a class, resolved where it was defined and where the tool was."""
    try:
        own = {str(variable): variable for variable in getattr(origin, "__type_params__", ())}
        found = typing_extensions.get_type_hints(origin, localns={**translator.names, **own}, include_extras=True)
    except Exception as error:  # noqa: BLE001  # an annotation is code: anything may go wrong in it
        translator.refuse(f"{origin.__name__} has an annotation that can't be resolved: {error}")
    parameters = cast("tuple[object, ...]", getattr(origin, "__parameters__", ()))
    arguments = get_args(kind)
    return {name: substituted(cast("object", hint), parameters, arguments) for name, hint in found.items()}


def _struct_plan(translator: Translator, kind: object, origin: type[msgspec.Struct]) -> ClassPlan:
    config = origin.__struct_config__
    hints = _hints(translator, kind, origin)
    fields: list[FieldPlan] = []
    tag = config.tag
    make: Callable[..., object] = cast("Callable[..., object]", origin)
    if tag is not None and not config.array_like:
        tag_field = cast("str", config.tag_field)
        fields.append(FieldPlan(tag_field, _TAG, Literal[tag], required=True))
        make = _Untagged(make)
    for info in msgspec.structs.fields(origin):
        wanted = _without_unset(hints.get(info.name, info.type))
        fields.append(FieldPlan(info.encode_name, info.name, wanted, info.required, _default(info)))
    if config.array_like and tag is not None:
        translator.refuse(f"{origin.__name__} is a tagged array, which we can't read; make it an object")
    return ClassPlan(make, fields, array=config.array_like)


_TAG: Final = "__tag__"


class _Untagged(msgspec.Struct, frozen=True):
    """Makes a struct from its fields; the tag has done its work when they were read."""

    make: Callable[..., object]

    def __call__(self, **given: object) -> object:
        del given[_TAG]
        return self.make(**given)


def _without_unset(kind: object) -> object:
    if get_origin(kind) not in (Union, types.UnionType):
        return kind
    members = tuple(member for member in get_args(kind) if member is not msgspec.UnsetType)
    return union_of(members)


def _default(info: object) -> object:
    """The default of a struct's or a dataclass's field, or NODEFAULT when only running code would tell."""
    default: object = getattr(info, "default", _NOTHING)
    if default is not _NOTHING and default is not dataclasses.MISSING:
        return _NOTHING if default is msgspec.UNSET else default
    factory = cast("Callable[[], object]", getattr(info, "default_factory", None))
    return factory() if (get_origin(factory) or factory) in _EMPTY_FACTORIES else _NOTHING


def _dataclass_plan(translator: Translator, kind: object, origin: type[object]) -> ClassPlan:
    hints = _hints(translator, kind, origin)
    declared = cast("Mapping[str, object]", getattr(origin, "__dataclass_fields__"))  # noqa: B009  # checkers don't know it
    known = dataclasses.fields(cast("type[DataclassInstance]", origin))
    if any(isinstance(hints.get(name), dataclasses.InitVar) for name in declared):
        translator.refuse(f"{origin.__name__} has an InitVar, whose value can't be shown again; make it a field")
    fields = [
        FieldPlan(
            info.name,
            info.name,
            hints[info.name],
            info.default is dataclasses.MISSING and info.default_factory is dataclasses.MISSING,
            _default(info),
        )
        for info in known
        if info.init
    ]
    return ClassPlan(origin, fields, plain=len(fields) == len(known))


def _attrs_plan(translator: Translator, kind: object, origin: type[object]) -> ClassPlan:
    hints = _hints(translator, kind, origin)
    taken = _constructor_hints(translator, origin)
    fields: list[FieldPlan] = []
    known = attrs.fields(cast("type[attrs.AttrsInstance]", origin))
    for info in known:
        if not info.init:
            continue
        wanted = taken.get(info.alias) if info.converter is not None and not translator.hooked else None
        default: object = info.default
        shown = default if default is not attrs.NOTHING and not isinstance(default, attrs.Factory) else _NOTHING  # type: ignore[arg-type]  # Factory is a class at run time
        required = default is attrs.NOTHING
        name = info.name if translator.hooked else info.alias
        fields.append(FieldPlan(name, name, wanted or hints.get(info.name, object), required, shown))
    plain = len(fields) == len(known) and all(info.alias == info.name for info in known)
    return ClassPlan(dict if translator.hooked else origin, fields, plain=plain)


def _constructor_hints(translator: Translator, origin: type[object]) -> Mapping[str, object]:
    """What the constructor of an attrs class takes: where a field has a converter, what the converter takes."""
    try:
        return typing_extensions.get_type_hints(
            getattr(origin, "__init__"),  # noqa: B009  # the class's own, not an instance's
            globalns=vars(sys.modules[origin.__module__]),
            localns=dict(translator.names),
            include_extras=True,
        )
    except (NameError, KeyError):
        return {}


def _typed_dict_plan(translator: Translator, kind: object, origin: type[object]) -> ClassPlan:
    required = cast("frozenset[str]", getattr(origin, "__required_keys__"))  # noqa: B009  # checkers don't know it
    fields: list[FieldPlan] = []
    for name, hint in _hints(translator, kind, origin).items():
        qualifier: object = get_origin(hint)
        needed = name in required
        if qualifier in _REQUIRED:
            needed = True
        elif qualifier in _NOT_REQUIRED:
            needed = False
        fields.append(FieldPlan(name, name, hint, needed))
    return ClassPlan(dict, fields)


def _named_tuple_plan(translator: Translator, kind: object, origin: type[object]) -> ClassPlan:
    hints = _hints(translator, kind, origin)
    names = cast("tuple[str, ...]", getattr(origin, "_fields"))  # noqa: B009  # checkers don't know it
    defaults = cast("Mapping[str, object]", getattr(origin, "_field_defaults"))  # noqa: B009  # checkers don't know it
    fields = [
        FieldPlan(name, name, hints.get(name, object), name not in defaults, defaults.get(name, _NOTHING))
        for name in names
    ]
    return ClassPlan(origin, fields, array=True)
