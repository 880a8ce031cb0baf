"""JSON Schemas, compiled. Nothing is ever fetched: a schema that refers elsewhere is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from ...errors import DefinitionError
from .._arguments import path_text

if TYPE_CHECKING:
    from jsonschema_rs import Validator


def compile_schema(root: dict[str, object], subject: str, *, formats: bool, field: str = "input schema") -> Validator:
    """The validator of *root*, which never looks anything up elsewhere.

    Raises:
        DefinitionError: It is no legal schema, refers to another document, or is its own alternative.
    """
    from jsonschema_rs import ValidationError, validator_for  # noqa: PLC0415  # only tools with a schema of their own pay for it

    from ._loops import refuse_loops  # noqa: PLC0415  # as above

    try:
        validator = validator_for(root, validate_formats=formats, offline=True)
    except ValidationError as error:
        place = path_text(error.instance_path) or _reference_place(root, error.message)
        raise DefinitionError(subject, f"{field} at {place}" if place else field, error.message) from error
    except ValueError as error:
        raise DefinitionError(subject, field, str(error)) from error
    refuse_loops(root, subject, field)
    return validator


def _reference_place(root: object, message: str) -> str:
    """Where the reference stands that *message* complains about."""
    for path, word in _references(root, ()):
        if word in message or word.removeprefix("#") in message:
            return path_text(path)
    return ""


def _references(value: object, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if isinstance(value, dict):
        for key, member in cast("dict[str, object]", value).items():
            if key == "$ref" and isinstance(member, str):
                yield (*path, key), member
            yield from _references(member, (*path, key))
    elif isinstance(value, list):
        for index, member in enumerate(cast("list[object]", value)):
            yield from _references(member, (*path, index))
