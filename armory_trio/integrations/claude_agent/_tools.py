"""Tools of a host as an agent of the Claude Agent SDK has them: each call of one is an execution of the supervisor."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..._on_demand import in_words
from ...definitions._checks import instance, named, text
from ...definitions._effects import EffectSpec, parse_effect
from ...engine import CallOptions
from ...errors import DefinitionError
from ...toolbox._offering import Naming
from ...toolbox._resolution import AnyTool
from .._agent_tools import Facts, require_function_or_none, require_host
from ..asyncio_host import AsyncioHost
from ._offer import SERVER_NAMES, SUBJECT, Offer

if TYPE_CHECKING:
    from claude_agent_sdk import (
        CanUseTool,
        HookMatcher,
        McpSdkServerConfig,
        PermissionResult,
        ToolPermissionContext,
        ToolResultBlock,
        ToolUseBlock,
    )
    from claude_agent_sdk.types import HookEvent
else:
    (
        CanUseTool,
        HookMatcher,
        McpSdkServerConfig,
        PermissionResult,
        ToolPermissionContext,
        ToolResultBlock,
        ToolUseBlock,
    ) = in_words(
        "claude_agent_sdk",
        "CanUseTool",
        "HookMatcher",
        "McpSdkServerConfig",
        "PermissionResult",
        "ToolPermissionContext",
        "ToolResultBlock",
        "ToolUseBlock",
    )
    (HookEvent,) = in_words("claude_agent_sdk.types", "HookEvent")

__all__ = ("ClaudeTools",)


class ClaudeTools:
    """The tools of *host* for the agent of one session. To be made while the host is open, for as long as it is.

    It is given to ``ClaudeAgentOptions`` in three parts: ``mcp_servers=tools.servers``, ``hooks=tools.hooks`` and
    ``can_use_tool=tools.can_use_tool``.

    What is listed is what the toolbox has when a session begins, what is available then, and nothing that its gates or
    its approval policy would refuse in any case. A call has the id of the model's tool use. Whatever comes of it is told
    to the model in words; of what *options* raises it learns nothing, and the log its kind and place. A call that
    Claude Code gives up, and whatever runs when the client is closed, is aborted, source ``caller``.

    Args:
        host: The host.
        name: What the server is called: letters, digits, ``_`` and ``-``. For Claude Code, its tool ``pay`` is
            ``mcp__NAME__pay``.
        tools: Which of its tools, or their names or ids; by default all.
        naming: What a model calls them.
        options: Answers the options of a call, given the id of the tool use: on whose behalf it is, for instance.
        ask: Puts a call to a person, as ``can_use_tool`` does: an asyncio function of tool name, arguments and context.
            It is asked about calls of ours that a person has to agree to, for a host with ``keys`` and without an
            ``approval_handler``; *options* has to answer the request context. It is asked about tools of others where
            the rules or Claude Code want it. By default the handler of the host is asked about ours, or else the model
            is told that the call waits; and what is not ours, and Claude Code would ask about, is denied.
        effects: What tools that are not ours do, by the names that Claude Code gives them: ``"read-only"``, or class and
            targets, as for `tool`. Given it, even empty, their calls run only if the rules of the host's toolbox let
            them; one whose effect is not stated counts as one that changes something outside. None leaves them alone.

    Raises:
        DefinitionError: The SDK is not installed, a name means no tool, two tools have one name, an effect is none, or
            an argument has the wrong type.
    """

    def __init__(
        self,
        host: AsyncioHost,
        *,
        name: str = "armory",
        tools: Sequence[AnyTool | str] | None = None,
        naming: Naming = "name",
        options: Callable[[str], CallOptions] | None = None,
        ask: CanUseTool | None = None,
        effects: Mapping[str, EffectSpec] | None = None,
    ) -> None:
        _check(host, name, options, ask, effects)
        # Only here is it known that the packages are there.
        from ._permissions import Permissions  # noqa: PLC0415
        from ._serving import CallServer  # noqa: PLC0415

        self._offer = Offer(host, name, tools=tools, naming=naming, options=options)
        self._calls = CallServer(self._offer)
        self._permissions = Permissions(self._offer, self._calls, ask, effects)

    @property
    def servers(self) -> dict[str, McpSdkServerConfig]:
        """The server under its name, for ``mcp_servers``."""
        return {self._offer.name: {"type": "sdk", "name": self._offer.name, "instance": self._calls.server}}

    @property
    def names(self) -> list[str]:
        """What Claude Code calls the tools, whether they are available or not: for ``allowed_tools``.

        Raises:
            DefinitionError: The toolbox was exchanged for one that has not all of the tools that were named.
        """
        return [f"{self._offer.prefix}{wire}" for wire in self._offer.shown()]

    @property
    def hooks(self) -> dict[HookEvent, list[HookMatcher]]:
        """What the rules have to say before a call, for ``hooks``. If it can't be found out, the call is blocked."""
        return self._permissions.hooks

    async def can_use_tool(
        self, name: str, arguments: dict[str, object], context: ToolPermissionContext, /
    ) -> PermissionResult:
        """Whether Claude Code may make a call that nothing has allowed yet, for ``can_use_tool``.

        Calls of ours may be made, once a person agreed where one has to: what the rules say is found out by the call.

        Cancelled: whoever is being asked is.
        """
        return await self._permissions.can_use_tool(name, arguments, context)

    def outcome_of(self, block: ToolUseBlock | ToolResultBlock) -> Facts | None:
        """What became of the call behind a block of a message; None if it was none of ours, or has not ended.

        It names the execution and the effect, and the descriptor of a call that waits for a person. The last 1024 are
        remembered.
        """
        tool_use: object = getattr(block, "tool_use_id", None) or getattr(block, "id", None)
        return self._calls.facts_of(tool_use) if isinstance(tool_use, str) else None


def _check(
    host: object,
    name: str,
    options: Callable[[str], CallOptions] | None,
    ask: CanUseTool | None,
    effects: Mapping[str, EffectSpec] | None,
) -> None:
    if importlib.util.find_spec("claude_agent_sdk") is None:
        reason = "is not installed; pip install 'armory-trio[claude-agent]'"
        raise DefinitionError(SUBJECT, "claude-agent-sdk", reason)
    require_host(SUBJECT, host)
    text(SUBJECT, "name", name, blank=False)
    if not SERVER_NAMES.allows(name) or "__" in name or name.endswith("_"):
        wanted = f"must be at most {SERVER_NAMES.longest} letters, digits, - and single _, such as 'my-tools'"
        raise DefinitionError(SUBJECT, "name", f"{wanted}; this is {name!r}")
    require_function_or_none(SUBJECT, "options", options)
    require_function_or_none(SUBJECT, "ask", ask)
    if effects is not None:
        instance(SUBJECT, "effects", effects, Mapping)
        for tool, stated in effects.items():
            with named(f"{SUBJECT}: {tool!r}"):
                parse_effect(stated)
