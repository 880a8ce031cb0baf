"""Texts without half characters: Python's may hold lone surrogates, and a JSON text in UTF-8 has none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar, cast

from pydantic import BaseModel

from ....content._scalars import encodable

M = TypeVar("M", bound=BaseModel)


def whole(value: object) -> object:
    """*value*, which is JSON, with each lone surrogate in it written as an escape that can be read."""
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, Mapping):
        pairs = cast("Mapping[str, object]", value).items()
        return {encodable(key): whole(each) for key, each in pairs}
    if isinstance(value, list | tuple):
        return [whole(each) for each in cast("list[object]", value)]
    return value


def whole_model(model: M) -> M:
    """*model* as it can be sent: itself, nearly always.

    Raises:
        ValueError: It cannot be written as JSON for another reason.
    """
    try:
        model.model_dump_json()
    except ValueError:
        return type(model).model_validate(whole(model.model_dump(by_alias=True, exclude_unset=True)))
    return model
