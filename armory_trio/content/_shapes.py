"""Values that hold others, seen as one of four shapes: members, items, a bag, or a stand-in."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, KeysView, Mapping, Sequence, ValuesView
from collections.abc import Set as AbstractSet
from typing import Final, Protocol, TypeGuard, cast

import msgspec

_EMPTY_FACTORIES: Final = (list, dict, set)
"""The default factories by which msgspec leaves out an empty container."""


class Members(msgspec.Struct, frozen=True):
    """A JSON object: keys with values, in order."""

    pairs: Iterable[tuple[object, object]]


class Items(msgspec.Struct, frozen=True):
    """A JSON array: values in order."""

    items: Iterable[object]


class Bag(msgspec.Struct, frozen=True):
    """A JSON array of values that have no order of their own."""

    items: Iterable[object]


class StandIn(msgspec.Struct, frozen=True):
    """Another value, to be shown in the place of this one."""

    value: object


Shape = Members | Items | Bag | StandIn


class _AttrsField(Protocol):
    @property
    def name(self) -> str: ...


def shape_of(value: object) -> Shape | None:
    """The shape of *value*, or None when it has none. Reads no iterator, and runs no code but the value's own."""
    match value:
        case dict():
            return Members(cast("dict[object, object]", value).items())
        case tuple():
            row = cast("tuple[object, ...]", value)
            names: tuple[str, ...] | None = getattr(row, "_fields", None)
            return Items(row) if names is None else Members(zip(names, row, strict=True))
        case list():
            return Items(cast("list[object]", value))
        case set() | frozenset():
            return Bag(cast("AbstractSet[object]", value))
        case BaseException():
            return Members(_exception_members(value).items())
        case msgspec.Struct():
            return _struct_shape(value)
        case _:
            return _shape_by_protocol(value)


def is_row(value: object) -> TypeGuard[list[object] | tuple[object, ...]]:
    """Whether *value* is a list or a tuple, and no NamedTuple."""
    return isinstance(value, list) or (isinstance(value, tuple) and not hasattr(type(cast("object", value)), "_fields"))


def _shape_by_protocol(value: object) -> Shape | None:
    kind = type(value)
    dump = getattr(kind, "model_dump", None)
    if callable(dump):
        return StandIn(dump(value, mode="json"))
    if hasattr(kind, "__dataclass_fields__"):
        return _dataclass_shape(value)
    attributes: Sequence[_AttrsField] | None = getattr(kind, "__attrs_attrs__", None)
    if attributes is not None:
        return Members((field.name, getattr(value, field.name)) for field in attributes)
    return _shape_by_interface(value)


def _dataclass_shape(value: object) -> Shape:
    import dataclasses  # noqa: PLC0415  # whoever has a dataclass has paid for it

    kind = type(value)
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    return Members((field.name, getattr(value, field.name)) for field in fields)


def _shape_by_interface(value: object) -> Shape | None:
    if isinstance(value, Mapping):
        return Members(cast("Mapping[object, object]", value).items())
    if isinstance(value, (Sequence, KeysView, ValuesView, ItemsView)):
        return Items(cast("Iterable[object]", value))
    if isinstance(value, AbstractSet):
        return Bag(cast("AbstractSet[object]", value))
    return None


def _exception_members(error: BaseException) -> dict[str, object]:
    members: dict[str, object] = {"type": type(error).__qualname__}
    notes: object = getattr(error, "__notes__", None)
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        members |= {"message": group.message, "exceptions": group.exceptions}
    else:
        members["message"] = str(error)
    return members | {"notes": notes} if notes else members


def _struct_shape(value: msgspec.Struct) -> Shape:
    """A Struct as msgspec itself would write it: renamed, tagged, as an array, without defaults, as it declares."""
    config = value.__struct_config__
    items = [getattr(value, name) for name in value.__struct_fields__]
    tag: list[object] = [] if config.tag is None else [config.tag]
    if config.array_like:
        return Items([*tag, *items])
    names: list[str] = [config.tag_field or "type"] * len(tag) + list(value.__struct_encode_fields__)
    defaults = value.__struct_defaults__ if config.omit_defaults else ()
    missing = (msgspec.NODEFAULT,) * (len(names) - len(defaults))
    return Members(
        (name, item)
        for name, item, default in zip(names, [*tag, *items], missing + defaults, strict=True)
        if item is not msgspec.UNSET and not _is_default(item, default)
    )


def _is_default(item: object, default: object) -> bool:
    factory = getattr(default, "factory", None)
    return item is default or (factory in _EMPTY_FACTORIES and type(item) is factory and not item)
