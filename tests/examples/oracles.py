"""Two readers of the Berkeley data that share nothing with ours: another JSON Schema validator, and the dialect itself."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Protocol, cast


class SchemaError(Protocol):
    """What `jsonschema` says about one thing that is wrong."""

    absolute_path: Sequence[str | int]
    message: str


class SchemaValidator(Protocol):
    """As much of a validator of the package `jsonschema` as is used here; the package has no types."""

    def is_valid(self, instance: object) -> bool: ...
    def iter_errors(self, instance: object) -> Iterable[SchemaError]: ...


class _Draft(Protocol):
    FORMAT_CHECKER: object

    def __call__(self, schema: Mapping[str, object], *, format_checker: object) -> SchemaValidator: ...
    def check_schema(self, schema: Mapping[str, object]) -> None: ...


_DRAFT = cast("_Draft", vars(importlib.import_module("jsonschema"))["Draft202012Validator"])


def validator_of(schema: Mapping[str, object]) -> SchemaValidator:
    """A validator for *schema*, which must be legal and is closed where it says nothing: arguments have names.

    Raises:
        jsonschema.SchemaError: It is no legal schema of draft 2020-12.
    """
    _DRAFT.check_schema(schema)
    return _DRAFT({"additionalProperties": False, **schema}, format_checker=_DRAFT.FORMAT_CHECKER)


def accepted_by_dialect(parameters: Mapping[str, object], arguments: Mapping[str, object]) -> bool:
    """Whether *arguments* are what *parameters* ask for, read straight from the data, without any JSON Schema."""
    known = cast("Mapping[str, object]", parameters["properties"])
    return arguments.keys() <= known.keys() and fits(arguments, parameters)


def fits(value: object, spec: Mapping[str, object]) -> bool:
    """Whether *value* is what one parameter, or one part of it, asks for."""
    return _has_type(value, spec) and _has_value(value, spec)


def _has_type(value: object, spec: Mapping[str, object]) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match spec["type"]:
        case "any":
            return True
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "float":
            return number
        case "integer":
            return number and float(cast("float", value)).is_integer()
        case "array" | "tuple":
            return isinstance(value, list) and _items_fit(cast("list[object]", value), spec)
        case "dict":
            return isinstance(value, dict) and _members_fit(cast("dict[str, object]", value), spec)
        case other:
            raise AssertionError(f"the data has a type {other!r}")


def _items_fit(items: Sequence[object], spec: Mapping[str, object]) -> bool:
    inner = cast("Mapping[str, object]", spec["items"])
    return all(fits(item, inner) for item in items)


def _members_fit(members: Mapping[str, object], spec: Mapping[str, object]) -> bool:
    known = cast("Mapping[str, Mapping[str, object]]", spec.get("properties", {}))
    required = cast("Sequence[str]", spec.get("required", ()))
    return all(name in members for name in required) and all(
        fits(value, known[name]) for name, value in members.items() if name in known
    )


def _has_value(value: object, spec: Mapping[str, object]) -> bool:
    if "enum" in spec and value not in cast("Sequence[object]", spec["enum"]):
        return False
    if "maximum" in spec and cast("float", value) > cast("float", spec["maximum"]):
        return False
    return spec.get("format") != "date" or _is_date(cast("str", value))


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
