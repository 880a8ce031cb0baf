"""What Claude Code is offered: which tools of which host, what they are called there, and on whose behalf they run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from ...definitions import ToolCall
from ...engine import CallOptions
from ...providers._names import Alphabet
from ...toolbox import Toolbox
from ...toolbox._offering import Naming
from ...toolbox._resolution import AnyTool
from .._agent_tools import Shown, chosen, shown_tools
from ..asyncio_host import AsyncioHost

__all__ = ("SERVER_NAMES", "SUBJECT", "Offer")

SUBJECT: Final = "ClaudeTools"

SERVER_NAMES: Final = Alphabet("A-Za-z0-9", "A-Za-z0-9_-", 57)
"""With what stands round it, and a tool's name of 64 characters, it makes a name of 128, which is what the API takes."""


class Offer:
    """The tools of a host, as they are at the moment.

    Args:
        host: The host.
        name: What the server is called.
        tools: Which of its tools; by default all.
        naming: What a model calls them.
        options: Answers the options of a call, given the id of the model's tool use.

    Raises:
        DefinitionError: A name means no tool, or two tools have one name.
    """

    def __init__(
        self,
        host: AsyncioHost,
        name: str,
        *,
        tools: Sequence[AnyTool | str] | None,
        naming: Naming,
        options: Callable[[str], CallOptions] | None,
    ) -> None:
        self.host = host
        self.name = name
        self._tools = tools
        self._naming: Naming = naming
        self._options = options
        self._shown = self._list(host.toolbox)

    @property
    def prefix(self) -> str:
        """What Claude Code puts before the name of each of the tools."""
        return f"mcp__{self.name}__"

    def shown(self) -> Mapping[str, Shown]:
        """The tools by the names that the server gives them.

        Raises:
            DefinitionError: The toolbox was exchanged for one that has not all of the tools that were named.
        """
        if self._shown[0] is not self.host.toolbox:
            self._shown = self._list(self.host.toolbox)
        return self._shown[1]

    def options_of(self, tool_use: str) -> CallOptions:
        """The options of the call *tool_use*."""
        return CallOptions() if self._options is None else self._options(tool_use)

    def call(self, wire: str, arguments: Mapping[str, object], tool_use: str) -> ToolCall | None:
        """The call of the tool that the server calls *wire*; None if there is none."""
        found = self.shown().get(wire)
        return None if found is None else ToolCall(found.name, arguments, tool_use)

    def _list(self, toolbox: Toolbox) -> tuple[Toolbox, dict[str, Shown]]:
        return toolbox, shown_tools(SUBJECT, chosen(SUBJECT, toolbox, self._tools, self._naming), self._naming)
