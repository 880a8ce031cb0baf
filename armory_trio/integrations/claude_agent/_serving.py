"""The in-process MCP server through which Claude Code reaches the tools of a host."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Mapping
from importlib import metadata
from typing import Final, TypeVar

from mcp import types
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from ...definitions import ToolError, ToolResult, near
from ...definitions._exceptions import Withheld
from ...errors import AdmissionClosed
from ...providers._blocks import Piece, admitted, encoded, media_type_of, pieces_of
from ...providers.anthropic import ANTHROPIC_MEDIA
from ...toolbox import Toolbox
from .._agent_approvals import run_agreed, same_json
from .._agent_tools import Facts, Shown, available, facts_of
from ..mcp.server._catalogue import Entry
from ._offer import Offer

__all__ = ("CallServer",)

T = TypeVar("T")

_log: Final = logging.getLogger("armory_trio.integrations")

_TOOL_USE: Final = "claudecode/toolUseId"
"""Under this name Claude Code sends the id of the model's tool use along with the call."""

_KEPT: Final = 1024
"""What is remembered of calls, and of answers whose call has not come: more than a model makes in one session."""

_SHUTTING_DOWN: Final = ToolError("cancelled", "NOT_STARTED", "The program is shutting down.")


class CallServer:
    """Lists the tools and makes the calls. One session of Claude Code after another, or several at once.

    Args:
        offer: What is offered.
    """

    def __init__(self, offer: Offer) -> None:
        self._offer = offer
        self._listed: tuple[Toolbox, dict[str, types.Tool]] | None = None
        self._facts: OrderedDict[str, Facts] = OrderedDict()
        self._agreed: OrderedDict[str, Mapping[str, object]] = OrderedDict()
        version = metadata.version("armory-trio")
        self.server = Server(offer.name, version=version, on_list_tools=self._list, on_call_tool=self._call)

    def agree(self, tool_use: str, arguments: Mapping[str, object]) -> None:
        """A person agreed to the call *tool_use* with *arguments*, which is still to come."""
        _keep(self._agreed, tool_use, arguments)

    def facts_of(self, tool_use: str) -> Facts | None:
        """What became of the call; None if it was none of ours, or is forgotten."""
        return self._facts.get(tool_use)

    async def _list(self, _context: object, _params: object) -> types.ListToolsResult:
        shown = self._offer.shown()
        ids = await available(self._offer.host, [each.tool for each in shown.values()])
        listed = self._as_listed(shown)
        return types.ListToolsResult(tools=[listed[wire] for wire, each in shown.items() if each.tool.id.text in ids])

    def _as_listed(self, shown: Mapping[str, Shown]) -> dict[str, types.Tool]:
        toolbox = self._offer.host.toolbox
        if self._listed is None or self._listed[0] is not toolbox:
            # Without an output schema: what it would oblige us to send besides, the model would read instead.
            bare = {"output_schema": None}
            entries = ((wire, Entry(wire, each.tool).listed) for wire, each in shown.items())
            self._listed = toolbox, {wire: listed.model_copy(update=bare) for wire, listed in entries}
        return self._listed[1]

    async def _call(
        self, context: ServerRequestContext[dict[str, object]], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Make the call. Cancelled: the execution is aborted, and waited for at most 0.05 s."""
        named: object = (context.meta or {}).get(_TOOL_USE)
        tool_use = named if isinstance(named, str) else ""
        try:
            result = await self._run(params.name, params.arguments or {}, tool_use)
        except Exception as exc:  # noqa: BLE001  # what a function of the program's raises is not for the model to read
            said = Withheld(exc, frames=True)
            _log.error("the call %s of %s could not be made: %s", tool_use, params.name, said)
            raise MCPError(types.INTERNAL_ERROR, "Internal error; the log of the program says why") from None
        if tool_use:
            _keep(self._facts, tool_use, facts_of(result))
        blocks = [_block(piece) for piece in admitted(pieces_of(result), ANTHROPIC_MEDIA)]
        return types.CallToolResult(content=blocks, is_error=result.outcome != "success")

    async def _run(self, wire: str, arguments: Mapping[str, object], tool_use: str) -> ToolResult[object]:
        call = self._offer.call(wire, arguments, tool_use)
        if call is None:
            hint = near(wire, self._offer.shown(), 1)
            meant = f"; did you mean {hint[0]!r}?" if hint else ""
            return _refusal(wire, tool_use, ToolError("not_found", "NOT_FOUND", f"there is no tool {wire!r}{meant}"))
        options = self._offer.options_of(tool_use)
        agreed = self._agreed.pop(tool_use, None)
        try:
            if agreed is not None and same_json(agreed, arguments):
                return await run_agreed(self._offer.host, call, options)
            return await self._offer.host.execute(call, **options)
        except AdmissionClosed:
            return _refusal(call.name, tool_use, _SHUTTING_DOWN)


def _refusal(name: str, tool_use: str, error: ToolError) -> ToolResult[object]:
    return ToolResult("", tool_use, name, "error", error=error)


def _block(piece: Piece) -> types.ContentBlock:
    if isinstance(piece, str):
        return types.TextContent(text=piece)
    return types.ImageContent(data=encoded(piece), mime_type=media_type_of(piece))


def _keep(kept: OrderedDict[str, T], key: str, value: T) -> None:
    kept[key] = value
    if len(kept) > _KEPT:
        kept.popitem(last=False)
