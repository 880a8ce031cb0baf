"""The forms that types take when a program looks at them."""

from __future__ import annotations

import typing
from collections.abc import Sequence
from typing import Final, Union, cast, get_args, get_origin

import typing_extensions

from .._checks import shown

_LONGEST: Final = 200
"""Characters of a type that an error quotes."""


def kinds(*members: object) -> tuple[object, ...]:
    """A table of types. Checkers can't compare a type with one of its forms; with an object they can."""
    return members


def substituted(kind: object, parameters: Sequence[object], arguments: Sequence[object]) -> object:
    """*kind* with the type variables *parameters* replaced."""
    known = dict(zip(parameters, arguments, strict=False))
    if kind in known:
        return known[kind]
    inner: tuple[object, ...] = getattr(kind, "__parameters__", ())
    if not inner or isinstance(kind, type):
        return kind
    return cast("object", kind[tuple(known.get(parameter, parameter) for parameter in inner)])  # type: ignore[index]  # a generic alias: it has parameters and is no class


_QUALIFIERS: Final = kinds(typing_extensions.Required, typing_extensions.NotRequired, typing_extensions.ReadOnly, Final)
_ALIASES: Final = tuple(
    kind for kind in (getattr(typing, "TypeAliasType", None), typing_extensions.TypeAliasType) if kind is not None
)


def is_alias(kind: object) -> bool:
    """Whether *kind* was made by a ``type`` statement, with or without arguments."""
    return isinstance(kind, _ALIASES) or isinstance(get_origin(kind), _ALIASES)


def unfolded(kind: object) -> object:
    """What *kind*, an alias, a new type, a type variable or a qualified type, stands for; other types as they are."""
    origin: object = get_origin(kind)
    if origin in _QUALIFIERS:
        return cast("object", get_args(kind)[0])
    if isinstance(kind, _ALIASES):
        return cast("object", cast("typing_extensions.TypeAliasType", kind).__value__)
    if isinstance(origin, _ALIASES):
        alias = cast("typing_extensions.TypeAliasType", origin)
        return substituted(cast("object", alias.__value__), alias.__type_params__, get_args(kind))
    if isinstance(kind, typing.NewType):
        return cast("object", kind.__supertype__)
    if isinstance(kind, typing.TypeVar):
        return kind.__bound__ or (union_of(kind.__constraints__) if kind.__constraints__ else object)
    return kind


def union_of(members: Sequence[object]) -> object:
    """The union of types that are only known at run time."""
    return cast("object", Union[tuple(members)])  # type: ignore[valid-type,unused-ignore]  # noqa: UP007  # no checker can know it


def members_of(kind: object) -> tuple[object, ...]:
    """The types that a generic type or a union is made of."""
    return cast("tuple[object, ...]", get_args(kind))


def called(kind: object) -> str:
    """How an error calls a type, or whatever stands where a type should."""
    if isinstance(kind, type) and not get_args(kind):
        return kind.__name__
    name = (str(kind) if get_args(kind) else shown(kind)).replace("typing.", "")
    return name if len(name) <= _LONGEST else f"{name[:_LONGEST]}..."


def is_form(kind: object) -> bool:
    """Whether *kind* may be a type. What can't be told apart from other things, such as a list, is none."""
    if isinstance(kind, type) or get_origin(kind) is not None:
        return True
    try:
        hash(kind)
    except Exception:  # noqa: BLE001  # code of the caller's own
        return False
    return True
