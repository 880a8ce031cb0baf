"""The library that knows JSON Schema, as it is used here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from jsonschema_rs import KeywordValidator, Registry, ValidationError, Validator

ADDRESS: Final = "json-schema:///"
"""Where the library thinks that a document without a name stands."""

_BACKTRACKING: Final = 20_000
"""Steps back that a pattern may take over a text: about a millisecond. If it takes more, the text does not match."""

_TOO_WOUND: Final = "can't be checked by their schema, which refers to itself in too many ways"


class Unchecked(ValueError):
    """A value could not be checked. The text goes on from ``the arguments:``."""


def is_panic(error: BaseException) -> bool:
    """Whether *error*, which need not be an ``Exception``, says that the library is wrong itself, as about some names."""
    return type(error).__name__ == "PanicException" or (isinstance(error, RuntimeError) and "panicked" in str(error))


def validator_of(
    root: dict[str, object] | bool,  # noqa: FBT001  # these two are schemas
    *,
    formats: bool,
    keywords: Mapping[str, type[KeywordValidator]] | None = None,
    around: Registry | None = None,
) -> Validator:
    """The library's own validator of *root*, which stands beside the documents of *around*.

    Raises:
        jsonschema_rs.ValidationError: It is no legal schema.
        ValueError: It is too deep, holds a number that is too large, or the library can't read it.
    """
    from jsonschema_rs import FancyRegexOptions, validator_for  # noqa: PLC0415  # only who has a schema pays for it

    try:
        return validator_for(
            root,
            validate_formats=formats,
            offline=True,
            pattern_options=FancyRegexOptions(backtrack_limit=_BACKTRACKING),
            keywords=dict(keywords or {}),
            registry=around,
            base_uri=None if around is None else f"{ADDRESS}asked",
        )
    except BaseException as error:
        if is_panic(error):
            raise ValueError(  # noqa: ASYNC104  # a panic of the library; nothing is awaited
                "the names in it are such that no validator can be made of it; use fewer of them"
            ) from error
        raise


def fits(validator: Validator, value: object) -> bool:
    """Whether *value* is as *validator* says.

    Raises:
        Unchecked: The library is wrong itself.
        ValueError: Half a character stands in a text, or it is too deep.
    """
    try:
        return validator.is_valid(value)
    except BaseException as error:
        if is_panic(error):
            raise Unchecked(_TOO_WOUND) from error  # noqa: ASYNC104  # likewise
        raise


def errors_of(validator: Validator, value: object) -> list[ValidationError]:
    """What is wrong with *value*, as *validator* says.

    Raises:
        Unchecked, ValueError: As by `fits`.
    """
    try:
        return list(validator.iter_errors(value))
    except BaseException as error:
        if is_panic(error):
            raise Unchecked(_TOO_WOUND) from error  # noqa: ASYNC104  # likewise
        raise
