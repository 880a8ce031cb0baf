"""A toolbox as MCP lists it: names, schemas, hints and pages."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Final, cast

import attrs
from mcp import types
from mcp.shared.exceptions import MCPError

from ....definitions import Tool, ToolDefinition, near, thaw_json
from ....providers._names import Alphabet, legal_names
from ....toolbox import Toolbox
from .._meta import DIGEST, EFFECT_CLASS, TAGS, TOOL_ID
from ._request import McpRequest

AnyTool = Tool[..., object]
Visible = Callable[[ToolDefinition, McpRequest], bool]
"""Whether a client may know of a tool. It must not wait."""

_NAMES: Final = Alphabet("A-Za-z0-9_.-", "A-Za-z0-9_.-", 128)
"""What the protocol allows in the name of a tool."""

_WHOLE: Final = "#"
_EMPTY: Final[Mapping[str, object]] = {}
_MCP: Final = "mcp"
"""The member of a tool's metadata that speaks to MCP clients: title, description, annotations, meta, visible."""


@attrs.define(eq=False)
class Entry:
    """One tool of a catalogue.

    Args:
        wire: What clients call it.
        tool: The tool.
        wrapped: Whether its output schema holds the value as ``result``.
    """

    wire: str
    tool: AnyTool
    wrapped: bool = attrs.field(init=False, default=False)
    output: dict[str, object] | None = attrs.field(init=False, default=None)
    _listed: types.Tool | None = attrs.field(init=False, default=None)

    def __attrs_post_init__(self) -> None:
        schema = self.tool.definition.output_schema
        if schema is not None and not self.tool.middleware:  # what stands around a tool may change what it gives
            self.output, self.wrapped = output_schema(cast("dict[str, object]", thaw_json(schema)))

    @property
    def id(self) -> str:
        """The whole id of the tool."""
        return self.tool.id.text

    @property
    def schema(self) -> dict[str, object]:
        """The schema of its arguments, of an object as the protocol wants it."""
        schema = cast("dict[str, object]", thaw_json(self.tool.definition.input_schema))
        return schema if schema.get("type") == "object" else {"type": "object", **schema}

    @property
    def said(self) -> Mapping[str, object]:
        """What its metadata says to MCP clients."""
        return _members(self.tool.definition.metadata, _MCP)

    @property
    def listed(self) -> types.Tool:
        """As it stands in a list. Made once; not to be changed."""
        if self._listed is None:
            definition, said = self.tool.definition, self.said
            self._listed = types.Tool(
                name=self.wire,
                title=_text(said, "title") or definition.title,
                description=_text(said, "description") or _described(definition),
                input_schema=self.schema,
                output_schema=self.output,
                annotations=_annotations(self.tool, said),
                _meta=_meta_of(definition, said),
            )
        return self._listed


class Catalogue:
    """The tools of one toolbox by the names that clients know, in order."""

    def __init__(self, toolbox: Toolbox) -> None:
        self.toolbox = toolbox
        meant = [tool for tool in toolbox if toolbox.get(tool.name) is tool]
        wires = legal_names([tool.name for tool in meant], _NAMES)
        self.entries = tuple(Entry(wires[tool.name], tool) for tool in meant)
        self.by_wire: Mapping[str, Entry] = {entry.wire: entry for entry in self.entries}
        self._position = {entry.wire: index for index, entry in enumerate(self.entries)}
        self._changing = any(entry.tool.options.availability is not None for entry in self.entries)

    def find(self, wire: str, request: McpRequest, visible: Visible | None) -> Entry:
        """The tool that a client calls *wire*.

        Raises:
            MCPError: There is none that this client may know of.
        """
        entry = self.by_wire.get(wire)
        if entry is not None and shown_to(entry, request, visible):
            return entry
        known = [each.wire for each in self.entries if shown_to(each, request, visible)]
        hint = near(wire[:200], known, 1)
        meant = f"; did you mean {hint[0]!r}?" if hint else ""
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {wire[:200]!r}{meant}")

    async def page(
        self, cursor: str | None, size: int, request: McpRequest, visible: Visible | None
    ) -> types.ListToolsResult:
        """Up to *size* tools behind *cursor*: those that this client may know of and that can be used now.

        Raises:
            MCPError: The cursor is none of ours.
        """
        start = 0 if cursor is None else self._start(cursor)
        available = {tool.id.text for tool in await self.toolbox.available()} if self._changing else None
        found: list[types.Tool] = []
        for entry in self.entries[start:]:
            if not shown_to(entry, request, visible) or not (available is None or entry.id in available):
                continue
            if len(found) == size:
                return types.ListToolsResult(tools=found, next_cursor=self._cursor(found[-1].name))
            found.append(entry.listed)
        return types.ListToolsResult(tools=found)

    def _cursor(self, last: str) -> str:
        text = f"{self._position[last]}:{last}"
        return base64.urlsafe_b64encode(text.encode()).decode("ascii").rstrip("=")

    def _start(self, cursor: str) -> int:
        """Where the page begins: behind the tool that was last, or at its place if that is gone meanwhile."""
        try:
            text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
            place, _, last = text.partition(":")
            position = int(place) if place.isdecimal() and len(place) < 10 and last else -1
        except (binascii.Error, ValueError):
            position, last = -1, ""
        if position < 0:
            raise MCPError(types.INVALID_PARAMS, "Invalid cursor: it is not one that this server gave out")
        known = self._position.get(last)
        return position if known is None else known + 1


def shown_to(entry: Entry, request: McpRequest, visible: Visible | None) -> bool:
    """Whether the client that made *request* may know of the tool."""
    if entry.said.get("visible") is False:
        return False
    return visible is None or visible(entry.tool.definition, request) is True


def output_schema(schema: dict[str, object]) -> tuple[dict[str, object] | None, bool]:
    """*schema* as the protocol lets results be described, which is as objects; and whether the value is wrapped."""
    if schema.get("type") == "object":
        return schema, False
    if _refers_to_all(schema):
        return None, False
    root: dict[str, object] = {"type": "object", "properties": {"result": schema}, "required": ["result"]}
    if "$defs" in schema:
        root["$defs"] = schema.pop("$defs")
    return root, True


def _refers_to_all(schema: object) -> bool:
    """Whether somewhere in *schema* stands a reference to the whole of it, which is lost once it is a part."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            members = cast("dict[str, object]", part)
            if members.get("$ref") == _WHOLE:
                return True
            waiting.extend(members.values())
        elif isinstance(part, list):
            waiting.extend(cast("list[object]", part))
    return False


def _members(said: Mapping[str, object], key: str) -> Mapping[str, object]:
    """The object that stands under *key*; an empty one if none does."""
    value = said.get(key)
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else _EMPTY


def _text(said: Mapping[str, object], key: str) -> str | None:
    value = said.get(key)
    return value if isinstance(value, str) and value.strip() else None


def _described(definition: ToolDefinition) -> str | None:
    lifecycle = definition.lifecycle
    if not definition.deprecated:
        return definition.description or None
    why = lifecycle.message or (lifecycle.deprecated if isinstance(lifecycle.deprecated, str) else "")
    instead = f"use {lifecycle.replaced_by.name!r} instead" if lifecycle.replaced_by is not None else ""
    told = "; ".join(part for part in (why, instead) if part)
    return f"{definition.description}\n\nDeprecated{': ' if told else ''}{told}.".strip()


def _annotations(tool: AnyTool, said: Mapping[str, object]) -> types.ToolAnnotations:
    """Hints that follow from how the tool counts. What nobody knows is left out: the protocol then takes the worst."""
    definition = tool.definition
    class_, risk = definition.classification.effect_class, definition.risk
    harmless, dangerous = class_ == "read-only", class_ in ("destructive", "privileged")
    stated = _members(said, "annotations")
    kept = None if harmless or tool.options.idempotency_key is None else True
    untrusted = True if risk is not None and risk.untrusted_output else None
    return types.ToolAnnotations(
        read_only_hint=harmless and stated.get("readOnlyHint") is not False,
        destructive_hint=True if dangerous else _hint(stated, "destructiveHint", _DESTRUCTIVE.get(class_)),
        idempotent_hint=_hint(stated, "idempotentHint", kept),
        open_world_hint=untrusted or _hint(stated, "openWorldHint", None),
    )


def _hint(stated: Mapping[str, object], name: str, otherwise: bool | None) -> bool | None:  # noqa: FBT001  # three-valued
    value = stated.get(name)
    return value if isinstance(value, bool) else otherwise


_DESTRUCTIVE: Final[Mapping[str, bool]] = {"read-only": False, "reversible": False}


def _meta_of(definition: ToolDefinition, said: Mapping[str, object]) -> dict[str, object]:
    return {
        **cast("dict[str, object]", thaw_json(_members(said, "meta"))),
        TOOL_ID: definition.id.text,
        DIGEST: definition.digest,
        EFFECT_CLASS: definition.classification.effect_class,
        **({TAGS: list(definition.tags)} if definition.tags else {}),
    }
