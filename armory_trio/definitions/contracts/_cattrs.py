"""attrs classes whose fields need hooks: checked against the schema here, built by the caller's cattrs converter."""

from __future__ import annotations

import sys
from typing import Protocol

import msgspec

from .._arguments import ArgumentIssue
from ._markers import convert, plain_json
from ._refusals import Refused


class StructureConverter(Protocol):
    """What we need of a ``cattrs.Converter``."""

    def structure(self, obj: object, cl: type[object], /) -> object:
        """An instance of *cl* from plain JSON."""
        ...

    def unstructure(self, obj: object, /) -> object:
        """Plain JSON from an instance."""
        ...


class ConverterDecoder(msgspec.Struct, frozen=True, eq=False):
    """Checks the value, then has it built. ``check`` is the msgspec type that the value must fit."""

    kind: type[object]
    check: object
    converter: StructureConverter

    def decode(self, value: object) -> object:
        if isinstance(value, self.kind):
            return value
        convert(value, self.check)
        try:
            return self.converter.structure(plain_json(value), self.kind)
        except Exception as error:  # a hook may raise anything, and all of it says no
            raise Refused(_issues(error)) from error


def _issues(error: Exception) -> list[ArgumentIssue]:
    """All that cattrs found, which it tells as "what @ where"."""
    cattrs = sys.modules.get("cattrs")
    if cattrs is None or not isinstance(error, cattrs.BaseValidationError):
        return [ArgumentIssue("", "invalid", str(error) or type(error).__name__)]
    found: list[ArgumentIssue] = []
    for line in cattrs.transform_error(error, format_exception=_words):
        words, _, place = str(line).rpartition(" @ ")
        found.append(ArgumentIssue(place.removeprefix("$").removeprefix("."), "invalid", words))
    return found


def _words(error: BaseException, _kind: object) -> str:
    return str(error) or type(error).__name__
