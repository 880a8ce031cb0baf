"""Sessions of the Claude Agent SDK with a scripted Claude Code, and what to look at in them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import cast

from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    Message,
    PermissionResult,
    PermissionResultAllow,
    PermissionResultDeny,
    ToolPermissionContext,
)

from armory_trio.integrations.claude_agent import ClaudeTools
from tests.integrations.claude_agent.cli import ScriptedCli, Use


def options_of(tools: ClaudeTools) -> ClaudeAgentOptions:
    """All three parts of *tools*."""
    return ClaudeAgentOptions(mcp_servers=tools.servers, hooks=tools.hooks, can_use_tool=tools.can_use_tool)


@asynccontextmanager
async def open_session(
    tools: ClaudeTools, *turn: Use, allowed: Sequence[str] = ()
) -> AsyncGenerator[tuple[ClaudeSDKClient, ScriptedCli]]:
    """A client that talks to a Claude Code whose model makes the calls of *turn* once it is asked something."""
    cli = ScriptedCli(turn, allowed=allowed)
    playing = asyncio.create_task(cli.play())
    try:
        async with ClaudeSDKClient(options_of(tools), transport=cli) as client:
            yield client, cli
    finally:
        await asyncio.wait([playing])
        playing.result()


async def converse(client: ClaudeSDKClient) -> list[Message]:
    """Ask something, and read to the end of the turn."""
    await client.query("go on")
    return [message async for message in client.receive_response()]


async def hold_session(tools: ClaudeTools, *turn: Use, allowed: Sequence[str] = ()) -> ScriptedCli:
    """A whole session, and the Claude Code that was in it."""
    async with open_session(tools, *turn, allowed=allowed) as (client, cli):
        await converse(client)
    return cli


def words(cli: ScriptedCli, use: str = "toolu_0") -> str:
    """What the model reads of the use *use*, which is words alone."""
    return "\n".join(cast("str", block["text"]) for block in cli.told[use])


class Person:
    """Somebody who is asked, and says yes, no, or yes to something else.

    Args:
        yes: What is said.
        instead: The arguments that are agreed to.
    """

    def __init__(self, *, yes: bool = True, instead: dict[str, object] | None = None) -> None:
        self.yes = yes
        self.instead = instead
        self.asked: list[tuple[str, dict[str, object], str | None]] = []

    async def __call__(
        self, name: str, arguments: dict[str, object], context: ToolPermissionContext
    ) -> PermissionResult:
        await asyncio.sleep(0)
        self.asked.append((name, arguments, context.tool_use_id))
        if not self.yes:
            return PermissionResultDeny(message="not today")
        return PermissionResultAllow(updated_input=self.instead)
