"""Copies of what a body gets, or gives, for those who may change theirs."""

from __future__ import annotations

import copy
from typing import Final, TypeVar

import msgspec

T = TypeVar("T")

_UNCHANGING: Final = frozenset[type]((type(None), bool, int, float, str, bytes))


def own_copy(value: T) -> T:
    """A copy of *value*, whose holder may change it; the same one if nothing in it can change.

    What cannot be copied is shared.
    """
    if type(value) in _UNCHANGING:
        return value
    if isinstance(value, msgspec.Struct) and value.__struct_config__.frozen:
        fields = (getattr(value, field) for field in value.__struct_fields__)
        if all(type(each) in _UNCHANGING for each in fields):
            return value
    try:
        return copy.deepcopy(value)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: ASYNC103  # code of the value's own; nothing is awaited
        return value  # noqa: ASYNC104  # as said
