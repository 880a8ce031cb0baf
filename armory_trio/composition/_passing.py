"""How values and arguments go from one step to another."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import cast

import attrs
import msgspec

from ..definitions import InputContract, Tool
from ..definitions.contracts._writing import members
from ..errors import DefinitionError


def properties_of(contract: InputContract) -> Mapping[str, object] | None:
    """The arguments that *contract* names; None when its schema does not list them in one place."""
    found = contract.schema.get("properties")
    return cast("Mapping[str, object]", found) if isinstance(found, Mapping) else None


def required_of(contract: InputContract) -> tuple[str, ...]:
    """The arguments without which *contract* refuses."""
    return tuple(cast("tuple[str, ...]", contract.schema.get("required", ())))


def is_closed(contract: InputContract) -> bool:
    """Whether *contract* refuses an argument that it does not name."""
    schema = contract.schema
    return schema.get("additionalProperties") is False and "patternProperties" not in schema


def arguments_from(value: object, step: Tool[..., object]) -> Mapping[str, object]:
    """The arguments of *step*, made of what the step before answered.

    A mapping is the arguments by name. Anything else is the value of the step's first required parameter, or of its
    first one when none is required; a step without parameters gets none. Where several are required, an object with
    fields is taken apart into these.
    """
    if isinstance(value, Mapping):
        return cast("Mapping[str, object]", value)
    required = required_of(step.contract)
    if len(required) > 1 and _has_fields(value):
        return members(value)
    parameters = required or tuple(properties_of(step.contract) or ())
    return {parameters[0]: value} if parameters else {}


def _has_fields(value: object) -> bool:
    kind = type(value)
    if isinstance(value, msgspec.Struct) or attrs.has(kind) or dataclasses.is_dataclass(kind):
        return True
    return isinstance(getattr(kind, "model_fields", None), Mapping)  # a model of pydantic's, which may not be there


def chosen(arguments: Mapping[str, object], step: Tool[..., object]) -> Mapping[str, object]:
    """Those of *arguments* that *step* has parameters for."""
    known = properties_of(step.contract)
    if known is None or not is_closed(step.contract):
        return arguments
    return {name: value for name, value in arguments.items() if name in known}


def require_arguments(subject: str, field: str, step: Tool[..., object], contract: InputContract) -> None:
    """Refuse a *step* that needs an argument which *contract*, the input of the whole, does not have.

    Raises:
        DefinitionError: It does.
    """
    there = properties_of(contract)
    if there is None or not is_closed(contract):
        return
    missing = sorted(set(required_of(step.contract)) - set(there))
    if missing:
        listed = ", ".join(there) or "none"
        reason = f"{step.name!r} needs {', '.join(missing)}, and the arguments of the whole are {listed}"
        raise DefinitionError(subject, field, f"{reason}; bind it, or give the whole an input of its own")
