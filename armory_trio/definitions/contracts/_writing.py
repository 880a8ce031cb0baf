"""From Python values back to the JSON that a contract takes."""

from __future__ import annotations

import dataclasses
import enum
import math
import pathlib
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Final, cast

import attrs
import msgspec

from ...errors import JsonError
from .._canonical import thaw_json
from .._checks import told

UNWRITABLE: Final = (TypeError, ValueError, OverflowError, RecursionError)


def written(value: object) -> object:
    """*value* as plain JSON; sets and keys in a fixed order.

    Raises:
        TypeError: It has no JSON form, or code of its own raises when it is read.
        ValueError: It holds a number that is not finite.
    """
    try:
        return _checked(msgspec.to_builtins(value, str_keys=True, order="deterministic", enc_hook=plain_form))
    except UNWRITABLE:
        raise
    except Exception as error:
        raise TypeError(f"reading the {type(value).__name__} raised {told(error)}") from error


def written_by_fields(value: object) -> object:
    """`written`, for classes whose constructors take other names than their attributes have, or fewer of them."""
    if attrs.has(type(value)):
        fields = attrs.fields(cast("type[attrs.AttrsInstance]", type(value)))
        return {field.alias: written_by_fields(getattr(value, field.name)) for field in fields if field.init}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        known = dataclasses.fields(value)
        return {field.name: written_by_fields(getattr(value, field.name)) for field in known if field.init}
    if isinstance(value, msgspec.Struct):
        return _written_struct(value)
    if isinstance(value, Mapping):
        members = cast("Mapping[object, object]", value)
        return {str(written(key)): written_by_fields(member) for key, member in members.items()}
    if isinstance(value, AbstractSet):
        return sorted(
            (written_by_fields(member) for member in cast("AbstractSet[object]", value)), key=msgspec.json.encode
        )
    if isinstance(value, list | tuple):
        return [written_by_fields(member) for member in cast("list[object]", value)]
    return written(value)


def _written_struct(value: msgspec.Struct) -> object:
    config = value.__struct_config__
    tag: dict[str, object] = {str(config.tag_field): config.tag} if config.tag is not None else {}
    given = {
        name: written_by_fields(member)
        for name, field in zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
        if (member := cast("object", getattr(value, field))) is not msgspec.UNSET
    }
    return list(given.values()) if config.array_like else {**tag, **given}


def json_default(value: object) -> object:
    """The JSON form of a default, or ``msgspec.NODEFAULT`` when it has none that a schema could show."""
    try:
        return thaw_json(written(value))
    except (*UNWRITABLE, JsonError):
        return msgspec.NODEFAULT


def plain_form(value: object) -> object:
    """What msgspec is to write for *value*, whose type it doesn't know."""
    if isinstance(value, pathlib.PurePath):
        return str(value)
    if isinstance(value, enum.Enum):
        return cast("object", value.value)
    if isinstance(value, str):  # a subclass, such as markup: msgspec writes none of str, int and float
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    dump = getattr(value, "__pydantic_serializer__", None)
    if dump is not None:
        return cast("object", dump.to_python(value, mode="json", by_alias=True))
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _checked(value: object) -> object:
    """*value* with lists for tuples, all its numbers finite."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is not a number that JSON knows")
    if isinstance(value, dict):
        return {key: _checked(member) for key, member in cast("dict[str, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_checked(member) for member in cast("list[object]", value)]
    return value


def members(value: object) -> dict[str, object]:
    """The values of an instance by their names in JSON."""
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, object]", value))
    if isinstance(value, msgspec.Struct):
        names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
        return {name: getattr(value, field) for name, field in names}
    if attrs.has(type(value)):
        fields = attrs.fields(cast("type[attrs.AttrsInstance]", type(value)))
        return {field.alias: getattr(value, field.name) for field in fields if field.init}
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
    fields = cast("Mapping[str, object]", getattr(type(value), "model_fields", {}))
    return {getattr(info, "alias", None) or name: getattr(value, name) for name, info in fields.items()}
