"""Definitions out of the JSON in which they were written down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, cast

from ..errors import DefinitionError
from ._checks import near, shown
from ._effects import Risk, Semantics, parse_effect
from ._identity import ToolId

_REQUIRED: Final = ("schemaVersion", "id", "identity", "display", "name", "description", "effectWindows")
_REQUIRED_TOO: Final = ("requiresApproval", "execution", "input")
_OPTIONAL: Final = ("tags", "metadata", "risk", "lifecycle", "effect", "output")
_RISK: Final = {
    "readOnly": "read_only",
    "mutates": "mutates",
    "dangerous": "dangerous",
    "untrustedOutput": "untrusted_output",
    "permissions": "permissions",
    "notes": "notes",
}
_LIFECYCLE: Final = {"deprecated": "deprecated", "message": "message", "replacedBy": "replaced_by"}
_SEMANTICS: Final = {
    "concurrency": "concurrency",
    "cancellation": "cancellation",
    "idempotency": "idempotency",
    "retryAfterStart": "retry_after_start",
}


def parts_of(document: object, schema_version: str) -> tuple[str, dict[str, object]]:
    """How errors call the tool that *document* is about, and what `ToolDefinition` is made of.

    The lifecycle is still a dict of arguments: its class stands where the definition's does.

    Raises:
        DefinitionError: Something is missing, unknown, of another type, or contradicts itself.
    """
    given = _object("tool definition", "document", document)
    subject = f"tool {given['name']!r}" if isinstance(given.get("name"), str) else "tool definition"
    _only(subject, "", given, (*_REQUIRED, *_REQUIRED_TOO, *_OPTIONAL))
    for field in (*_REQUIRED, *_REQUIRED_TOO):
        if field not in given:
            raise DefinitionError(subject, field, "is missing")
    if given["schemaVersion"] != schema_version:
        reason = f"is {shown(given['schemaVersion'])}; only {schema_version!r} can be read"
        raise DefinitionError(subject, "schemaVersion", reason)
    identity = _identity(subject, given)
    display = _object(subject, "display", given["display"])
    _only(subject, "display.", display, ("title", "description", "examples"))
    _same(subject, "display.description", display.get("description"), given["description"])
    return subject, {
        "id": identity,
        "description": given["description"],
        "title": display.get("title"),
        "examples": display.get("examples", ()),
        "input_schema": given["input"],
        "output_schema": given.get("output"),
        "tags": given.get("tags", ()),
        "metadata": given.get("metadata", {}),
        "effect_windows": given["effectWindows"],
        "requires_approval": given["requiresApproval"],
        "effect": _effect(subject, given.get("effect")),
        "risk": _made(subject, "risk", given.get("risk"), _RISK, Risk),
        "semantics": _made(subject, "execution", given["execution"], _SEMANTICS, Semantics),
        "lifecycle": _arguments(subject, "lifecycle", given.get("lifecycle", {}), _LIFECYCLE),
    }


def _identity(subject: str, given: Mapping[str, object]) -> ToolId:
    identity = _object(subject, "identity", given["identity"])
    _only(subject, "identity.", identity, ("namespace", "name", "version"))
    for field in ("namespace", "name"):
        if field not in identity:
            raise DefinitionError(subject, f"identity.{field}", "is missing")
    made = ToolId(**cast("dict[str, str]", identity))
    _same(subject, "id", given["id"], made.text)
    _same(subject, "name", given["name"], made.name)
    return made


def _effect(subject: str, value: object) -> object:
    if value is None:
        return None
    try:
        return parse_effect(value)
    except DefinitionError as error:
        raise DefinitionError(subject, f"effect.{error.field}", error.reason) from error


def _made(
    subject: str, field: str, value: object, words: Mapping[str, str], make: Callable[..., object]
) -> object | None:
    if value is None:
        return None
    arguments = _arguments(subject, field, value, words)
    try:
        return make(**arguments)
    except DefinitionError as error:
        raise DefinitionError(subject, f"{field}.{error.field}", error.reason) from error


def _arguments(subject: str, field: str, value: object, words: Mapping[str, str]) -> dict[str, object]:
    given = _object(subject, field, value)
    _only(subject, f"{field}.", given, words)
    return {words[word]: said for word, said in given.items()}


def _object(subject: str, field: str, value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise DefinitionError(subject, field, f"must be a JSON object, not {shown(value)}")
    return cast("Mapping[str, object]", value)


def _only(subject: str, prefix: str, given: Mapping[str, object], legal: Mapping[str, str] | tuple[str, ...]) -> None:
    for field in given:
        if field not in legal:
            hint = near(str(field), legal, 1)
            meant = f"; did you mean {hint[0]!r}?" if hint else ""
            raise DefinitionError(subject, f"{prefix}{field}", f"is unknown here{meant}")


def _same(subject: str, field: str, said: object, wanted: object) -> None:
    if said != wanted:
        raise DefinitionError(subject, field, f"is {shown(said)}, but the rest of the document says {shown(wanted)}")
