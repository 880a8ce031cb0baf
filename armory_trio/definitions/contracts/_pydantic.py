"""Pydantic's models, validated by pydantic. It is imported only where somebody has imported it already."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, cast

import msgspec

from .._arguments import ArgumentIssue, path_text
from ._compiled import compile_schema
from ._markers import marker, plain_json
from ._refusals import Refused
from ._shapes import Shape, Translator

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from ._compiled import SchemaValidator

_PREFIX: Final = "#/$defs/"


def pydantic_shape(translator: Translator, kind: object, origin: type[object]) -> Shape | None:
    """The shape of a pydantic model or pydantic dataclass; None when *kind* is neither.

    *origin* is the class itself; *kind* may name type arguments with it.
    """
    if "pydantic" not in sys.modules or not _is_model(origin):
        return None
    from pydantic import TypeAdapter  # noqa: PLC0415  # it is loaded already

    adapter: TypeAdapter[object] = TypeAdapter(cast("type[object]", kind))
    try:
        document = adapter.json_schema(mode="validation", by_alias=True)
    except Exception as error:  # noqa: BLE001  # pydantic's own errors, and those of a model's hooks
        translator.refuse(f"pydantic can't say {origin.__name__} in JSON Schema: {error}")
    schema = cast("dict[str, object]", _closed(document))
    decoder = PydanticDecoder(origin, adapter, compile_schema(schema, translator.subject, formats=False))
    shape = Shape(marker(origin.__name__, decoder), _hoisted(translator, schema))
    translator.references[kind] = shape
    return shape


def _is_model(kind: type[object]) -> bool:
    from pydantic import BaseModel  # noqa: PLC0415  # it is loaded already
    from pydantic.dataclasses import is_pydantic_dataclass  # noqa: PLC0415  # it is loaded already

    return issubclass(kind, BaseModel) or is_pydantic_dataclass(kind)


def _closed(value: object) -> object:
    """A copy of a schema in which each object with named members takes no others, unless it says so."""
    if isinstance(value, list):
        return [_closed(member) for member in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    schema = {key: _closed(member) for key, member in cast("dict[str, object]", value).items()}
    if schema.get("type") == "object" and isinstance(schema.get("properties"), dict):
        schema.setdefault("additionalProperties", False)
    return schema


def _hoisted(translator: Translator, document: dict[str, object]) -> dict[str, object]:
    """*document* with its definitions moved to those of the contract, under names that are free there."""
    definitions = cast("dict[str, dict[str, object]]", document.get("$defs", {}))
    names = {name: translator.define(name, schema) for name, schema in definitions.items()}
    renamed = {f"{_PREFIX}{old}": f"{_PREFIX}{new}" for old, new in names.items()}
    for name, schema in definitions.items():
        translator.definitions[names[name]] = cast("dict[str, object]", _renamed(schema, renamed))
    root = {key: value for key, value in document.items() if key != "$defs"}
    return cast("dict[str, object]", _renamed(root, renamed))


def _renamed(value: object, names: Mapping[str, str]) -> object:
    if isinstance(value, list):
        return [_renamed(member, names) for member in cast("list[object]", value)]
    if isinstance(value, dict):
        members = cast("dict[str, object]", value)
        return {key: _renamed(member, names) for key, member in members.items()}
    return names.get(value, value) if isinstance(value, str) else value


class PydanticDecoder(msgspec.Struct, frozen=True, eq=False):
    """Checks the closed schema, then lets pydantic build the model: strictly, reading values as JSON."""

    kind: type
    adapter: TypeAdapter[object]
    validator: SchemaValidator

    def decode(self, value: object) -> object:
        if isinstance(value, self.kind):
            return value
        plain = plain_json(value)
        if not self.validator.is_valid(plain):
            raise ValueError(f"Expected {self.kind.__name__}")
        from pydantic import ValidationError  # noqa: PLC0415  # it is loaded already

        try:
            return self.adapter.validate_json(json.dumps(plain), strict=True)
        except ValidationError as error:
            raise Refused(
                [_issue(details) for details in error.errors(include_input=False, include_url=False)]
            ) from None
        except Exception as error:  # a validator of the model's own may raise anything, and all of it says no
            raise ValueError(f"{self.kind.__name__} refuses it: {str(error) or type(error).__name__}") from error


def _issue(details: Mapping[str, object]) -> ArgumentIssue:
    kind = str(details.get("type"))
    code = "type" if kind.endswith("_type") else "invalid"
    return ArgumentIssue(path_text(cast("Sequence[str | int]", details.get("loc", ()))), code, str(details.get("msg")))
