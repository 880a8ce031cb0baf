"""Frozen JSON objects that are known to be ours: checked once, trees, and out of everybody's reach.

A mapping proxy alone says none of this, for it may stand before a dict that somebody else changes.
"""

from __future__ import annotations

import gc
from collections.abc import Mapping
from types import MappingProxyType
from typing import cast


class _Sealed(dict[str, object]):
    """What the proxies that are made here stand before."""

    __slots__ = ()


def sealed_object(members: dict[str, object]) -> object:
    """*members*, which the caller gives away and which hold nothing that can be changed, as an object nobody can change."""
    return MappingProxyType(_Sealed(members))


def is_sealed(value: object) -> bool:
    """Whether *value* is an object that was frozen here. Runs no code of whatever else it may stand before."""
    return type(value) is MappingProxyType and type(gc.get_referents(value)[0]) is _Sealed


def unsealed(root: Mapping[str, object]) -> dict[str, object]:
    """A plain copy of what was frozen here. There is nothing to check any more."""
    whole = dict(root)
    waiting: list[dict[str, object] | list[object]] = [whole]
    while waiting:
        target = waiting.pop()
        if isinstance(target, dict):
            for key, item in target.items():
                if (inner := _opened(item)) is not None:
                    target[key] = inner
                    waiting.append(inner)
        else:
            for index, item in enumerate(target):
                if (inner := _opened(item)) is not None:
                    target[index] = inner
                    waiting.append(inner)
    return whole


def _opened(item: object) -> dict[str, object] | list[object] | None:
    if type(item) is MappingProxyType:
        return dict(cast("Mapping[str, object]", item))
    return list(cast("tuple[object, ...]", item)) if type(item) is tuple else None
