"""Structs whose fields people write by hand: one that is misspelt is told by name, with those that there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from ._checks import near


class _NamesItsFields(msgspec.StructMeta):
    # Type checkers read the fields, and would take what stands here for the signature.
    if not TYPE_CHECKING:

        def __call__(self, *args: object, **given: object) -> object:
            try:
                return super().__call__(*args, **given)
            except TypeError as error:
                if error.__traceback__.tb_next is not None:  # the struct's own check has said what is wrong
                    raise
                raise TypeError(_what_is_wrong(self, given, str(error))) from None


class Declared(msgspec.Struct, frozen=True, metaclass=_NamesItsFields):
    """The base of options. Not for what is made with each call: making one takes half a microsecond longer."""


def _what_is_wrong(struct: type[msgspec.Struct], given: Mapping[str, object], otherwise: str) -> str:
    fields = struct.__struct_fields__
    listed = ", ".join(fields)
    for name in given:
        if name not in fields:
            hint = near(name, fields, 1)
            there_are = f"did you mean {hint[0]!r}? It has {listed}" if hint else f"it has {listed}"
            return f"{struct.__name__} has no field {name!r}; {there_are}"
    return f"{struct.__name__}: {otherwise}; it has {listed}"
