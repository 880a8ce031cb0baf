"""Drive a server of ours with fastmcp's client, in an environment that has it. See scripts/mcp_clients.py.

``python mcp_fastmcp.py MODE URL``, or in place of the URL the command that serves over standard input and output. MODE is
``auto`` for the newest revision of the protocol that both know, or ``legacy`` for the last one with sessions.
"""

# The package is only there in the environment that is made for it, so nothing here can be checked beside ours.
# mypy: ignore-errors
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable
from typing import Final

from fastmcp import Client
from fastmcp.client.client import CallToolResult
from fastmcp.client.transports import StdioTransport

TOOLS: Final = (
    "add",
    "weather",
    "draw",
    "report",
    "greet",
    "sleep",
    "begun",
    "slept",
    "fail",
    "crash",
    "long_text",
    "grow",
)


class Heard:
    """What the client was told without asking."""

    def __init__(self) -> None:
        self.progress: list[object] = []
        self.logged: list[object] = []
        self.notified: list[str] = []

    async def on_progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Progress of a call."""
        self.progress.append((progress, total, message))

    async def on_log(self, message: object) -> None:
        """A line of a tool."""
        self.logged.append(getattr(message, "data", None))

    async def on_message(self, message: object) -> None:
        """Whatever else."""
        self.notified.append(type(message).__name__)


async def answer(message: str, _kind: object, _params: object, _context: object) -> dict[str, str]:
    """Say what the person is called."""
    return {"name": "Ann"} if "name" in message else {}


def transport() -> object:
    """The way to the server."""
    _, _, *served = sys.argv
    return served[0] if len(served) == 1 else StdioTransport(served[0], served[1:], keep_alive=False)


async def raised(check: Awaitable[object]) -> str:
    """What *check* raises, in words."""
    try:
        return f"no error, but {await check!r}"
    except Exception as error:  # noqa: BLE001  # which one it is, is what is looked at
        return f"{type(error).__name__}: {error}"


def said(result: CallToolResult) -> str:
    """The words of a result."""
    return "".join(block.text for block in result.content)


async def cancelled(client: Client) -> str:
    """What the server says of calls that slept, once a task of ours that waits for one was cancelled."""
    call = asyncio.create_task(client.call_tool("sleep", {}))
    await client.call_tool("begun", {"count": 2})
    call.cancel()
    await asyncio.wait([call])
    return said(await client.call_tool("slept", {}))


async def several(client: Client) -> list[object]:
    """The answers to twenty calls at once."""
    answers = await asyncio.gather(*(client.call_tool("add", {"a": n, "b": 1}) for n in range(20)))
    return [int(said(each)) for each in answers]


async def grown(client: Client, heard: Heard) -> str:
    """Whether a tool that came later is listed, and whether the client was told."""
    await client.call_tool("grow", {})
    for _ in range(100):
        if "ToolListChangedNotification" in heard.notified:
            break
        await asyncio.sleep(0.05)
    listed = [each.name for each in await client.list_tools()]
    return f"listed {'late' in listed}, told {'ToolListChangedNotification' in heard.notified}"


async def main() -> int:
    """Do it all, and answer how much was not as expected."""
    heard, wrong, mode = Heard(), 0, sys.argv[1]

    def judge(name: str, told: object, expected: str) -> None:
        nonlocal wrong
        good = expected in str(told)
        wrong += not good
        print(f"  {'ok   ' if good else 'WRONG'} {name}: {str(told)[:160]}", flush=True)

    client = Client(
        transport(),
        elicitation_handler=answer,
        log_handler=heard.on_log,
        message_handler=heard.on_message,
        progress_handler=heard.on_progress,
        mode=mode,
    )
    async with client:
        judge("protocol", client.session.protocol_version, "2026-07-28" if mode == "auto" else "2025-11-25")
        judge("tools/list", [each.name for each in await client.list_tools()], str(list(TOOLS)))
        judge("add", said(await client.call_tool("add", {"a": 5, "b": 3})), "8")
        judge("structured", (await client.call_tool("weather", {"city": "Oslo"})).structured_content, "'degrees': 21.5")
        judge("picture", (await client.call_tool("draw", {})).content[0].mime_type, "image/png")
        judge("report", said(await client.call_tool("report", {})), "reported")
        judge("progress", heard.progress, "(50.0, 100.0, 'at 50')")
        judge("logging", heard.logged, "logged 100")
        judge("elicitation", said(await client.call_tool("greet", {})), "hello {'name': 'Ann'}")
        judge("a declared failure", await raised(client.call_tool("fail", {})), "there is no such address")
        judge("a crash", await raised(client.call_tool("crash", {})), "It may have taken effect")
        judge("wrong arguments", await raised(client.call_tool("add", {"a": "5"})), "INVALID_ARGUMENTS")
        judge("an unknown tool", await raised(client.call_tool("ad", {})), "did you mean 'add'?")
        judge("many at once", await several(client), str(list(range(1, 21))))
        # More than 1 MiB in one event is more than this client takes over HTTP in the older revision.
        judge("a long text", len(said(await client.call_tool("long_text", {"size": 400_000}))), "400000")
        judge("a timeout", await raised(client.call_tool("sleep", {}, timeout=0.5)), "imed out")
        judge("slept", said(await client.call_tool("slept", {})), "1 of 1")
        judge("a cancelled task", await cancelled(client), "2 of 2")
        judge("resources/list", [str(each.uri) for each in await client.list_resources()], "test://static-text")
        judge("resources/read", (await client.read_resource("test://static-text"))[0].text, "This is the content")
        judge("no such resource", await raised(client.read_resource("test://nowhere")), "no such resource")
        judge("templates", [each.uri_template for each in await client.list_resource_templates()], "{id}")
        judge("prompts/list", [each.name for each in await client.list_prompts()], "test_simple_prompt")
        got = await client.get_prompt("test_prompt_with_arguments", {"arg1": "x", "arg2": "y"})
        judge("prompts/get", got.messages[0].content.text, "arg1='x', arg2='y'")
        judge(
            "list changed", await grown(client, heard), f"listed True, told {mode == 'legacy'}"
        )  # auto does not listen
    return wrong


if __name__ == "__main__":
    sys.exit(1 if asyncio.run(main()) else 0)
