"""From whatever a provider sent as arguments to a JSON object, or to the reason why there is none.

Nothing is repaired or guessed: a call whose arguments are not one whole JSON object never runs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, cast

import msgspec

from ..definitions import DEFAULT_LIMITS, CallDefect, parse_json, require_json, thaw_json
from ..errors import JsonError
from ._text import shortened

__all__ = ("read_arguments", "write_arguments")

_BLANK_BOUND: Final = 4096
"""White space up to this length means "no arguments"; more of it is no model's way to say that."""

_RIGHT: Final = "Send the call again with one complete JSON object as its arguments."


def read_arguments(value: object) -> tuple[Mapping[str, object], CallDefect | None]:
    """The arguments and no defect, or no arguments and the defect.

    Args:
        value: JSON text, or a value that was decoded from JSON, to which the same limits apply: what is run has to
            stand in a history, too. Nothing (None, blank text, ``null``) is ``{}``.
    """
    if value is None:
        return {}, None
    if isinstance(value, str):
        return _from_text(value)
    return _from_value(value)


def write_arguments(arguments: Mapping[str, object]) -> str:
    """*arguments* as the JSON text that a history holds."""
    try:
        return msgspec.json.encode(arguments, enc_hook=thaw_json).decode()
    except UnicodeEncodeError:  # a lone surrogate can only be escaped
        return json.dumps(thaw_json(arguments))


def _from_text(text: str) -> tuple[Mapping[str, object], CallDefect | None]:
    if len(text) <= _BLANK_BOUND and not text.strip():
        return {}, None
    try:
        value = parse_json(text, limits=DEFAULT_LIMITS)
    except JsonError as error:
        return {}, _malformed(f"The arguments are not valid JSON ({error})", text)
    if value is None:
        return {}, None
    if not isinstance(value, dict):
        return {}, _malformed(f"The arguments are {_kind(value)}, not a JSON object", text)
    return cast("dict[str, object]", value), None


def _from_value(value: object) -> tuple[Mapping[str, object], CallDefect | None]:
    dump = getattr(value, "model_dump", None)
    if callable(dump):  # an SDK that knows the tool gives its arguments as a model
        value = dump(mode="json", exclude_unset=True, warnings=False)
    if not isinstance(value, Mapping):
        return {}, _malformed(f"The arguments are {_kind(value)}, not a JSON object", None)
    arguments = dict(cast("Mapping[str, object]", value))
    try:
        require_json(arguments, root="arguments")
        parse_json(write_arguments(arguments), limits=DEFAULT_LIMITS)
    except JsonError as error:
        return {}, _malformed(f"The arguments are not valid JSON ({error})", None)
    return arguments, None


def _malformed(reason: str, text: str | None) -> CallDefect:
    return CallDefect("MALFORMED_CALL", f"{reason}. {_RIGHT}", None if text is None else shortened(text))


def _kind(value: object) -> str:
    match value:
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case int() | float():
            return "a number"
        case list() | tuple():
            return "an array"
        case _:
            return f"of type {type(value).__name__}"
