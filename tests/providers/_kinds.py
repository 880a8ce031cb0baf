"""One object of every kind that an SDK's types know, made from the types themselves: new kinds come with a new SDK."""

from __future__ import annotations

import enum
import types
from collections.abc import Iterator
from random import Random
from typing import Annotated, Final, Literal, TypeVar, Union, cast, get_args, get_origin

from pydantic import BaseModel

__all__ = ("kinds_of", "made")

_DEEPEST: Final = 6
_PLAIN: Final[dict[object, object]] = {str: "text", int: 7, float: 1.5, bool: True, bytes: b"bytes"}

M = TypeVar("M", bound=BaseModel)


def kinds_of(union: object) -> Iterator[type[BaseModel]]:
    """The models of the *union* of an SDK."""
    for member in get_args(_bare(union)):
        kind = _bare(member)
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield kind


def made(model: type[M], chance: Random, *, depth: int = 0) -> M:
    """A *model* with every field that has to be there, and some of the others."""
    fields = {
        name: _value(field.annotation, chance, depth + 1)
        for name, field in model.model_fields.items()
        if field.is_required() or chance.random() < 0.5
    }
    return model.model_construct(None, **fields)


def _bare(annotation: object) -> object:
    alias = cast("object", getattr(annotation, "__value__", None))
    if alias is not None:
        return _bare(alias)
    return _bare(get_args(annotation)[0]) if get_origin(annotation) is Annotated else annotation


def _value(annotation: object, chance: Random, depth: int) -> object:
    kind = _bare(annotation)
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _value(chance.choice([each for each in inner if each is not type(None)]), chance, depth)
    if origin is Literal:
        return chance.choice(inner)
    if origin is list:
        return [_value(inner[0], chance, depth + 1)] if depth < _DEEPEST else []
    if not isinstance(kind, type):
        return {"key": "value"} if origin is dict else None
    if issubclass(kind, BaseModel):
        return made(kind, chance, depth=depth) if depth < _DEEPEST else None
    if issubclass(kind, enum.Enum):
        return chance.choice(list(kind))
    return _PLAIN.get(cast("object", kind))
