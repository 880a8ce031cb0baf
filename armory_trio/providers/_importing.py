"""Tools that are written in a provider's form, as a toolbox."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Literal, cast

import trio

from ..definitions import (
    DEFAULT_LIMITS,
    ToolDefinition,
    ToolFailure,
    ToolId,
    create_executable_tool,
    is_tool,
    near,
)
from ..definitions._checks import named, shown
from ..errors import DefinitionError
from ..toolbox import Toolbox
from ._doors import require_names
from ._message import as_json, field, has, is_list, is_record, word_or_none

__all__ = ("ToolForm", "toolbox_from")

ToolForm = Literal["openai", "anthropic", "gemini"]
"""Whose form of a tool: both of OpenAI's APIs have one for all."""

Body = Callable[..., object]

_LISTED: Final = 10
"""Names that an error lists."""

_EXPECTED: Final[Mapping[ToolForm, str]] = {
    "openai": "a function tool: {'type': 'function', 'function': {...}}, or the same flat",
    "anthropic": "a tool with a name and an input_schema",
    "gemini": "a tool with functionDeclarations, or one declaration",
}


def toolbox_from(
    form: ToolForm,
    tools: object,
    get_tool: Callable[[ToolDefinition], object] | None,
    names: Mapping[str, str] | None,
) -> Toolbox:
    """See `Toolbox.from_openai` and its like."""
    subject = f"Toolbox.from_{form}"
    if get_tool is not None and not callable(cast("object", get_tool)):
        raise DefinitionError(subject, "get_tool", f"must be a function of a definition, not {shown(get_tool)}")
    require_names(subject, names)
    found: list[object] = []
    entries = list(_entries(form, tools))
    _require_used(subject, names or {}, entries)
    for path, entry in entries:
        with named(f"{subject}: {path}"):
            found.append(_joined(_definition(form, entry, names or {}), get_tool))
    return Toolbox(found)  # type: ignore[arg-type]  # each was checked to be a tool


def _require_used(subject: str, names: Mapping[str, str], entries: Iterable[tuple[str, object]]) -> None:
    """Refuse a name that is no tool's: whoever wrote it believes that the tool is called otherwise here."""
    there = [name for _, entry in entries if (name := word_or_none(entry, "name")) is not None]
    for name in names:
        if name not in there:
            hint = near(name, there, 1)
            listed = f"the tools are {', '.join(map(shown, there[:_LISTED]))}" if there else "there are none"
            meant = f"did you mean {hint[0]!r}?" if hint else listed
            raise DefinitionError(subject, "names", f"{shown(name)} is the name of no tool here; {meant}")


def _entries(form: ToolForm, tools: object) -> Iterator[tuple[str, object]]:
    """Each declaration of a function with its place."""
    listed = tools if is_list(tools) else [tools]
    for at, entry in enumerate(listed):
        path = f"tools[{at}]" if is_list(tools) else "tools"
        if not is_record(entry):
            raise DefinitionError(f"Toolbox.from_{form}", path, f"must be {_EXPECTED[form]}, not {shown(entry)}")
        declared = field(entry, "functionDeclarations", "function_declarations") if form == "gemini" else None
        if is_list(declared):
            yield from ((f"{path}.functionDeclarations[{inner}]", each) for inner, each in enumerate(declared))
        else:
            yield path, field(entry, "function") if form == "openai" and has(entry, "function") else entry


def _definition(form: ToolForm, entry: object, names: Mapping[str, str]) -> ToolDefinition:
    name = word_or_none(entry, "name")
    kind = word_or_none(entry, "type")
    if name is None or kind not in (None, "function", "custom"):
        raise DefinitionError("tool", "tool", f"must be {_EXPECTED[form]}, not {shown(entry)}")
    schema = _schema(form, entry)
    tool_id = ToolId.parse(names[name]) if name in names else ToolId(name)
    return ToolDefinition(tool_id, word_or_none(entry, "description") or "", schema)


def _schema(form: ToolForm, entry: object) -> Mapping[str, object]:
    schema = field(entry, "input_schema" if form == "anthropic" else "parameters")
    if form == "gemini":
        plain = field(entry, "parametersJsonSchema", "parameters_json_schema")
        own = as_json(schema) if is_record(schema) else schema
        schema = plain if plain is not None else _of_gemini(own)
    if schema is None:
        return _NO_ARGUMENTS
    if not is_record(schema):
        raise DefinitionError("tool", "parameters", f"must be a JSON Schema, not {shown(schema)}")
    written = {key: value for key, value in as_json(schema).items() if key != "$schema"}
    return written if "type" in written else {"type": "object", **written}


_NO_ARGUMENTS: Final[Mapping[str, object]] = {"type": "object", "properties": {}, "additionalProperties": False}


def _joined(definition: ToolDefinition, get_tool: Callable[[ToolDefinition], object] | None) -> object:
    """What runs *definition*: the tool or the function that *get_tool* has for it, else one that says it is missing."""
    found = None if get_tool is None else get_tool(definition)
    if inspect.isawaitable(found):
        if inspect.iscoroutine(found):
            found.close()
        raise DefinitionError("tool", "get_tool", "answers what has to be awaited; answer the function itself")
    if is_tool(found):
        if found.name != definition.name:
            raise DefinitionError("tool", "get_tool", f"answers {found!r}, which has another name")
        return found
    body = _missing(definition) if found is None else cast("Body", found)
    return create_executable_tool(definition, None, body)


def _missing(definition: ToolDefinition) -> Body:
    """What runs in place of a tool of which only the description is here: each call says so."""

    async def missing(_: object) -> object:
        await trio.lowlevel.checkpoint()
        raise ToolFailure(
            f"{definition.id} was imported without anything that runs it. Give Toolbox.from_... a get_tool, such as "
            "another toolbox's as_execute_resolver().",
            category="unavailable",
            effect="none",
        )

    return missing


# ── Gemini's own kind of schema ──────────────────────────────────────────────────────────────────────────────────────

_TYPES: Final = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})
_SPELLINGS: Final = {
    "any_of": "anyOf",
    "min_items": "minItems",
    "max_items": "maxItems",
    "min_length": "minLength",
    "max_length": "maxLength",
    "min_properties": "minProperties",
    "max_properties": "maxProperties",
    "prefix_items": "prefixItems",
    "additional_properties": "additionalProperties",
    "defs": "$defs",
    "ref": "$ref",
}
_COUNTS: Final = frozenset({"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"})
_DIGITS: Final = 19
"""Of the largest integer of 64 bits."""

_IGNORED: Final = frozenset({"nullable", "example", "propertyOrdering", "property_ordering"})


def _of_gemini(node: object, depth: int = 0) -> object:
    """The JSON Schema that means what *node* means, a schema as Gemini writes it. What is no schema stays as it is."""
    if not isinstance(node, Mapping):
        return node
    if depth > DEFAULT_LIMITS.max_depth:
        raise DefinitionError("tool", "parameters", f"is nested more than {DEFAULT_LIMITS.max_depth} deep")
    given = {key: value for key, value in cast("Mapping[str, object]", node).items() if value is not None}
    schema: dict[str, object] = {}
    for key, value in given.items():
        name = _SPELLINGS.get(key, key)
        if name not in _IGNORED:
            schema[name] = _keyword(name, value, depth + 1)
    kinds = schema.get("type")
    if not all(isinstance(kind, str) and kind in _TYPES for kind in (kinds if is_list(kinds) else [kinds])):
        schema.pop("type", None)
    return _or_null(schema) if given.get("nullable") is True else schema


def _keyword(name: str, value: object, depth: int) -> object:
    if name == "type" and is_list(value):
        return [each.lower() if isinstance(each, str) else each for each in value]
    if name == "type" and isinstance(value, str):
        return value.lower()
    if name in _COUNTS and isinstance(value, str) and value.isdecimal() and len(value) <= _DIGITS:
        return int(value)  # how the wire writes an integer of 64 bits
    if name in ("properties", "$defs") and isinstance(value, Mapping):
        return {key: _of_gemini(each, depth) for key, each in cast("Mapping[str, object]", value).items()}
    if name in ("anyOf", "prefixItems") and is_list(value):
        return [_of_gemini(each, depth) for each in value]
    return _of_gemini(value, depth) if name in ("items", "additionalProperties") else value


def _or_null(schema: dict[str, object]) -> dict[str, object]:
    if is_list(schema.get("anyOf")):
        schema["anyOf"] = [*cast("list[object]", schema["anyOf"]), {"type": "null"}]
    kinds = schema.get("type")
    if isinstance(kinds, str):
        schema["type"] = [kinds, "null"]
    elif is_list(kinds) and "null" not in kinds:
        schema["type"] = [*kinds, "null"]
    if is_list(schema.get("enum")):
        schema["enum"] = [*cast("list[object]", schema["enum"]), None]
    return schema
