"""Copies of what a body gets, or gives, for those who may change theirs."""

from __future__ import annotations

import copy
from typing import Final, TypeVar

import msgspec

from ._concurrency import raise_interrupt

T = TypeVar("T")

_UNCHANGING: Final = frozenset[type]((type(None), bool, int, float, str, bytes))


def own_copy(value: T) -> T:
    """A copy of *value*, whose holder may change it; the same one if nothing in it can change.

    What cannot be copied is shared; so is what is copied into something else.
    """
    if type(value) in _UNCHANGING:
        return value
    try:
        if _can_not_change(value):
            return value
        copied = copy.deepcopy(value)
    except BaseException as exc:  # noqa: ASYNC103  # code of the value's own; nothing is awaited
        raise_interrupt(exc)
        return value  # noqa: ASYNC104  # as said
    return copied if type(copied) is type(value) else value


def _can_not_change(value: object) -> bool:
    """Whether nobody can change *value*, or anything in it; False if that is not seen at once."""
    if not isinstance(value, msgspec.Struct) or not value.__struct_config__.frozen:
        return False
    return all(type(getattr(value, field)) in _UNCHANGING for field in value.__struct_fields__)
