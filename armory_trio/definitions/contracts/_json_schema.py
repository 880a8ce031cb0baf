"""Contracts from a JSON Schema."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Final, cast

from attrs import frozen

from ...errors import DefinitionError, JsonError
from .._arguments import ArgumentIssue, InputContract, InvalidArguments, Invoker
from .._canonical import canonical_text, freeze_json, thaw_json
from ._calling import single_caller
from ._compiled import SchemaValidator, compile_schema
from ._document import Document
from ._fitting import Schema, fitted, holds_float
from ._issues import UNSAID, not_an_object, not_json, unchecked
from ._library import Unchecked

_COMBINING: Final = ("$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas")
_DOCUMENT: Final = ("$schema", "$id", "$anchor", "$defs", "definitions")
_DEEPEST: Final = 16
"""References and alternatives that are followed to find out whether a root is open."""

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def contract_from_schema(
    schema: Mapping[str, object] | None, *, subject: str = "input", lenient: bool = False
) -> InputContract:
    """See `contracts.contract_from_schema`."""
    root = copied_schema(schema if schema is not None else {}, subject)
    _require_object(root, subject)
    _close(root, subject)
    validator = compile_schema(root, subject, formats=True)
    frozen_schema = cast("Mapping[str, object]", freeze_json(root))
    return SchemaContract(frozen_schema, validator, _legal_defaults(root, subject), lenient)


def copied_schema(schema: object, subject: str, field: str = "input schema") -> dict[str, object]:
    """A copy of *schema*, the caller's to change.

    Raises:
        DefinitionError: It is no JSON object.
    """
    try:
        copied = thaw_json(schema)
    except JsonError as error:
        raise DefinitionError(subject, field, str(error)) from error
    if not isinstance(copied, dict):
        raise DefinitionError(subject, field, f"must be an object of keywords, not {type(schema).__name__}")
    return cast("dict[str, object]", copied)


# ── the root ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _require_object(root: dict[str, object], subject: str) -> None:
    """Refuse a root that is about something else than an object; say ``object`` where it says nothing."""
    foreign = _foreign_type(root)
    if foreign is not None:
        reason = f"the arguments of a call are an object, but this is about {foreign}; wrap it in a property"
        raise DefinitionError(subject, "input schema", reason)
    if not any(word in root for word in ("$ref", "$dynamicRef")) or _DIALECT in str(root.get("$schema", _DIALECT)):
        root["type"] = "object"


def _foreign_type(root: dict[str, object]) -> str | None:
    """The type that *root*, or what it refers to or may be, asks for instead of an object; or None."""
    document = Document(root) if any(word in root for word in _COMBINING) else None
    seen: set[int] = set()
    waiting: list[Schema] = [root]
    while waiting:
        schema = waiting.pop()
        if id(schema) in seen:
            continue
        seen.add(id(schema))
        types = schema.get("type", "object")
        if types != "object" and not (isinstance(types, list) and "object" in types):
            return canonical_text(schema["type"], mode="exact")
        if document is not None:
            branches = [*_branches(schema, "allOf"), *_branches(schema, "anyOf"), *_branches(schema, "oneOf")]
            inner = [*branches, *document.targets(schema, "$ref")]
            waiting.extend(cast("Schema", one) for one in reversed(inner) if isinstance(one, Mapping))
    return None


def _branches(schema: Schema, word: str) -> list[object]:
    found = schema.get(word)
    return cast("list[object]", found) if isinstance(found, list) else []


def _close(root: dict[str, object], subject: str) -> None:
    if "additionalProperties" in root or "unevaluatedProperties" in root:
        return
    if not any(word in root for word in _COMBINING):
        root.setdefault("properties", {})
        root["additionalProperties"] = False
        return
    if _Openness(root).is_said(root):
        return
    if str(root.get("$schema", _DIALECT)).rstrip("#") != _DIALECT:
        reason = "a root that combines schemas can only be closed in draft 2020-12; say additionalProperties yourself"
        raise DefinitionError(subject, "input schema", reason)
    root["unevaluatedProperties"] = False


class _Openness:
    """Whether schemas say themselves how open they are."""

    def __init__(self, root: dict[str, object]) -> None:
        self._document = Document(root)
        self._known: dict[int, bool] = {}

    def is_said(self, schema: Schema, depth: int = 0) -> bool:
        """Whether *schema*, what it refers to, or each of its alternatives says it."""
        if "additionalProperties" in schema or "unevaluatedProperties" in schema:
            return True
        if depth > _DEEPEST:
            return False
        if id(schema) not in self._known:
            self._known[id(schema)] = False  # for those that come back to it
            self._known[id(schema)] = self._is_said_inside(schema, depth + 1)
        return self._known[id(schema)]

    def _is_said_inside(self, schema: Schema, depth: int) -> bool:
        if isinstance(schema.get("$ref"), str):
            return any(self.is_said(inner, depth) for inner in self._document.targets(schema, "$ref"))
        branches = [*_branches(schema, "anyOf"), *_branches(schema, "oneOf")]
        return bool(branches) and all(
            isinstance(branch, Mapping) and self.is_said(cast("Schema", branch), depth) for branch in branches
        )


def _legal_defaults(root: dict[str, object], subject: str) -> dict[str, object]:
    """The defaults of the root's own properties, as far as they fit these properties."""
    properties = _properties(root)
    defaults = {
        name: cast("Mapping[str, object]", schema)["default"]
        for name, schema in properties.items()
        if isinstance(schema, Mapping) and "default" in schema
    }
    if not defaults:
        return {}
    alone = {key: value for key, value in root.items() if key in _DOCUMENT}
    validator = compile_schema({**alone, "properties": dict(properties)}, subject, formats=True)
    return {name: default for name, default in defaults.items() if _is_legal(validator, name, default)}


def _is_legal(validator: SchemaValidator, name: str, default: object) -> bool:
    try:
        return validator.is_valid({name: default})
    except Unchecked:
        return False


def _properties(schema: Schema) -> Mapping[str, object]:
    found = schema.get("properties")
    return cast("Mapping[str, object]", found) if isinstance(found, Mapping) else {}


@frozen(eq=False)
class SchemaContract(InputContract):
    """A JSON Schema; validated arguments are a dict, the function's only argument beside the context."""

    _validator: SchemaValidator
    _defaults: Mapping[str, object]
    _lenient: bool = False

    def validate(self, arguments: Mapping[str, object]) -> object:
        plain = self._plain(arguments)
        if not self._is_valid(plain):
            plain = cast("dict[str, object]", fitted(self.schema, plain, lenient=self._lenient))
            if not self._is_valid(plain):
                raise InvalidArguments(self._issues(plain))
        elif holds_float(plain):
            plain = cast("dict[str, object]", fitted(self.schema, plain, lenient=False))
        return self._filled(plain)

    def _plain(self, arguments: object) -> dict[str, object]:
        if not isinstance(arguments, Mapping):
            raise InvalidArguments([not_an_object(arguments)])
        try:
            return cast("dict[str, object]", thaw_json(cast("object", arguments)))
        except JsonError as fault:
            raise InvalidArguments([not_json(fault)]) from None

    def _is_valid(self, plain: dict[str, object]) -> bool:
        try:
            return self._validator.is_valid(plain)
        except Unchecked as error:
            raise InvalidArguments([unchecked(error)]) from None
        except ValueError:  # it had to read a text with half a character in it
            raise InvalidArguments([_HALF]) from None

    def _issues(self, plain: dict[str, object]) -> list[ArgumentIssue]:
        try:
            return self._validator.issues(plain) or [UNSAID]
        except Unchecked as error:
            return [unchecked(error)]
        except ValueError:  # the same, only to explain
            return [_HALF]

    def _filled(self, plain: dict[str, object]) -> dict[str, object]:
        missing = {name: copy.deepcopy(value) for name, value in self._defaults.items() if name not in plain}
        if not missing:
            return plain
        whole = {**plain, **missing}
        return whole if self._is_valid(whole) else plain

    def named(self, validated: object) -> dict[str, object]:
        return dict(cast("Mapping[str, object]", validated))

    def dump(self, validated: object) -> dict[str, object]:
        return cast("dict[str, object]", thaw_json(validated))

    def caller(self, function: Callable[..., object], context_parameter: str | None = None) -> Invoker:
        return single_caller(function, context_parameter or self.context_parameter)


_HALF: Final = ArgumentIssue("", "not-json", "the arguments: half a character (a lone surrogate) stands in a text")
