"""Output contracts: what a tool promises to give, from a type or a JSON Schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, cast

import msgspec

from ...errors import JsonError
from .._arguments import ArgumentIssue, OutputInvalid
from .._canonical import thaw_json
from .._outputs import OutputContract
from ._compiled import compile_schema
from ._issues import UNSAID, not_json, unchecked
from ._json_schema import copied_schema
from ._library import Unchecked
from ._markers import convert
from ._objects import object_shape
from ._refusals import conversion_issues, placed
from ._shapes import Translator
from ._typed import frozen_schema, root_schema, with_definitions
from ._writing import UNWRITABLE, written, written_by_fields

if TYPE_CHECKING:
    from ._compiled import SchemaValidator

_OF_ARGUMENTS: Final = (("the arguments:", "the result:"), ("is not a known argument", "is not declared"))
"""Words of issues that are about arguments, and what they are for a result."""


def output_contract(
    declared: object, *, subject: str = "output", localns: Mapping[str, object] | None = None
) -> OutputContract:
    """See `contracts.output_contract`."""
    if isinstance(declared, Mapping):
        root = copied_schema(cast("object", declared), subject, "output")
        validator = compile_schema(root, subject, formats=True, field="output")
        return _Output(frozen_schema(root, subject, "output"), validator, written, _same)
    translator = Translator(subject, object_shape, localns or {})
    shape = translator.translate(declared, "output")
    whole = "$ref" not in shape.schema
    schema = with_definitions(dict(shape.schema), translator.definitions) if whole else root_schema(translator, shape)
    validator = compile_schema(schema, subject, formats=False, field="output")
    write = written if translator.plain_dump else written_by_fields
    return _Output(frozen_schema(schema, subject, "output"), validator, write, _Reader(shape.type))


class _Reader(msgspec.Struct, frozen=True, eq=False):
    kind: object

    def __call__(self, plain: object) -> object:
        return convert(plain, self.kind)


def _same(plain: object) -> object:
    return plain


class _Output(OutputContract):
    """A schema that the JSON form of a value is checked with, and what reads and writes that form."""

    __slots__ = ("_read", "_validator", "_write")

    def __init__(
        self,
        schema: Mapping[str, object],
        validator: SchemaValidator,
        write: Callable[[object], object],
        read: Callable[[object], object],
    ) -> None:
        self.schema = schema
        self._validator = validator
        self._write = write
        self._read = read

    def validate(self, value: object) -> object:
        self.load(self._plain(value))
        return value

    def dump(self, value: object) -> object:
        plain = self._plain(value)
        self.load(plain)
        return plain

    def load(self, plain: object) -> object:
        try:
            if not self._validator.is_valid(plain):
                raise OutputInvalid(self._issues(plain))
            return self._read(plain)
        except msgspec.ValidationError as error:
            raise OutputInvalid([_reworded(placed(issue)) for issue in conversion_issues(error)]) from error
        except Unchecked as error:
            raise OutputInvalid([_reworded(unchecked(error))]) from error
        except ValueError as error:  # the validator met half a character, or had to go too deep
            raise OutputInvalid([ArgumentIssue("", "not-json", f"the result: {error}")]) from error

    def _plain(self, value: object) -> object:
        try:
            return thaw_json(self._write(value))
        except JsonError as fault:
            raise OutputInvalid([_reworded(not_json(fault))]) from None
        except UNWRITABLE as error:
            raise OutputInvalid([ArgumentIssue("", "not-json", f"the result: {error}")]) from error

    def _issues(self, plain: object) -> list[ArgumentIssue]:
        return [_reworded(issue) for issue in self._validator.issues(plain) or [UNSAID]]


def _reworded(issue: ArgumentIssue) -> ArgumentIssue:
    message = issue.message
    for ours, theirs in _OF_ARGUMENTS:
        message = message.replace(ours, theirs)
    return ArgumentIssue(issue.path, issue.code, message)
