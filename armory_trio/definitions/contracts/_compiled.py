"""JSON Schemas, compiled. Nothing is ever fetched: a schema that refers elsewhere is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from ...errors import DefinitionError
from .._arguments import ArgumentIssue, path_text
from ._bounds import Step, TooManySteps, counted, refuse_multiplying, start_steps, steps_left
from ._document import Document
from ._library import fits as fits_by
from ._library import validator_of
from ._loops import refuse_loops

if TYPE_CHECKING:
    from jsonschema_rs import Validator

    from ._explaining import Explainer


def compile_schema(
    root: dict[str, object], subject: str, *, formats: bool, field: str = "input schema"
) -> SchemaValidator:
    """The validator of *root*, which never looks anything up elsewhere.

    Raises:
        DefinitionError: It is no legal schema, refers to another document, is its own alternative, or asks too many
            schemas about one value.
    """
    from jsonschema_rs import ValidationError  # noqa: PLC0415  # only tools with a schema of their own pay for it

    document = Document(root)
    refuse_multiplying(document, subject, field)  # first, because the library writes references out for some words
    try:
        validator = validator_of(root, formats=formats)
    except ValidationError as error:
        place = path_text(error.instance_path) or _reference_place(root, error.message)
        raise DefinitionError(subject, f"{field} at {place}" if place else field, error.message) from error
    except ValueError as error:
        raise DefinitionError(subject, field, str(error)) from error
    if document.refers:
        refuse_loops(document, subject, field)
    return SchemaValidator(document, validator, formats=formats)


def trusted_validator(root: dict[str, object]) -> SchemaValidator:
    """The validator of *root*, which the package has written itself; formats are not checked."""
    return SchemaValidator(Document(root), validator_of(root, formats=False), formats=False)


class SchemaValidator:
    """The validator of one JSON Schema; the work that it does for a value is bounded. Threads may share it."""

    __slots__ = ("_counted", "_explainer", "_formats", "_root", "_validator")

    def __init__(self, document: Document, validator: Validator, *, formats: bool) -> None:
        self._root = document.root
        self._formats = formats
        self._validator = validator
        self._counted = counted(document) if document.refers else None
        self._explainer: Explainer | None = None
        if self._counted is not None:
            self._validator = validator_of(self._counted.root, formats=formats, keywords={self._counted.keyword: Step})

    def is_valid(self, value: object) -> bool:
        """Whether the plain JSON *value* is as the schema says.

        Raises:
            Unchecked: It could not be found out, or not in time.
            ValueError: Half a character stands in a text, or it is too deep.
        """
        if self._counted is None:
            return fits_by(self._validator, value)
        start_steps()
        fits = fits_by(self._validator, value)
        if steps_left() >= 0:
            return fits
        start_steps(self._counted.allowance(value))
        fits = fits_by(self._validator, value)
        if steps_left() < 0:
            raise TooManySteps
        return fits

    def issues(self, value: object) -> list[ArgumentIssue]:
        """What is wrong with the plain JSON *value*.

        Raises:
            Unchecked, ValueError: As by `is_valid`.
        """
        if self._explainer is None:
            from ._explaining import Explainer  # noqa: PLC0415  # only a refusal pays for it

            self._explainer = Explainer(self._root, self._counted, formats=self._formats)
        return self._explainer.issues(value)


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
