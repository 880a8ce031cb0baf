"""The forms that types take when a program looks at them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Union, cast, get_args


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


def union_of(members: Sequence[object]) -> object:
    """The union of types that are only known at run time."""
    return cast("object", Union[tuple(members)])  # type: ignore[valid-type,unused-ignore]  # noqa: UP007  # no checker can know it


def members_of(kind: object) -> tuple[object, ...]:
    """The types that a generic type or a union is made of."""
    return cast("tuple[object, ...]", get_args(kind))


def called(kind: object) -> str:
    """How an error calls a type."""
    name = getattr(kind, "__name__", None) if isinstance(kind, type) and not get_args(kind) else None
    return name or str(kind).replace("typing.", "")
