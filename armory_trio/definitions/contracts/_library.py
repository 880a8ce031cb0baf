"""The library that knows JSON Schema, as it is used here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from jsonschema_rs import KeywordValidator, Registry, Validator

ADDRESS: Final = "json-schema:///"
"""Where the library thinks that a document without a name stands."""

_BACKTRACKING: Final = 100_000
"""Steps back that a pattern may take over a text: some milliseconds. If it takes more, the text does not match."""


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
        ValueError: It is too deep, or holds a number that is too large.
    """
    from jsonschema_rs import FancyRegexOptions, validator_for  # noqa: PLC0415  # only who has a schema pays for it

    return validator_for(
        root,
        validate_formats=formats,
        offline=True,
        pattern_options=FancyRegexOptions(backtrack_limit=_BACKTRACKING),
        keywords=dict(keywords or {}),
        registry=around,
        base_uri=None if around is None else f"{ADDRESS}asked",
    )
