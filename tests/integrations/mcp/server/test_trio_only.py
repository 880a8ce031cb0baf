"""Servers and clients under ``trio.run`` in a process in which nobody can get at an asyncio loop."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.requirements import requirement

ROOT: Final = Path(__file__).parents[4]
PROGRAM: Final = '''
import asyncio
import os
import sys
from functools import partial

def refuse(*args, **kwargs):
    raise RuntimeError("asyncio was asked for its loop")

asyncio.get_event_loop = asyncio.get_running_loop = asyncio.new_event_loop = refuse

import trio
from mcp import Client, StdioServerParameters, types
from mcp.client.stdio import stdio_client

from armory_trio import Toolbox, ToolContext, open_supervisor, tool
from armory_trio.integrations.mcp.server import McpRequest, McpServer, Prompts


@tool(effect="read-only")
async def work(ctx: ToolContext) -> str:
    """Work, and ask."""
    ctx.progress(50, "half")
    return type(await ctx.elicit("Sure?")).__name__


@tool(effect="read-only")
async def nap() -> None:
    """Sleep for ever."""
    await trio.sleep_forever()


async def prompts(request: McpRequest, params: types.PaginatedRequestParams) -> types.ListPromptsResult:
    return types.ListPromptsResult(prompts=[types.Prompt(name="greeting")])


async def prompt(request: McpRequest, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    return types.GetPromptResult(messages=[])


async def yes(context, params):
    return types.ElicitResult(action="accept", content={})


async def use(target, mode, supervisor=None):
    heard = []

    async def hear(progress, total, message):
        heard.append(message)

    async with Client(target, mode=mode, elicitation_callback=yes) as client:
        result = await client.call_tool("work", {}, progress_callback=hear)
        assert result.content[0].text == "ElicitAccepted" and heard == ["half"], (result, heard)
        with trio.move_on_after(0.05):
            await client.call_tool("nap", {})
        names = [each.name for each in (await client.list_prompts()).prompts] if supervisor else ["greeting"]
        assert names == ["greeting"], names
        if supervisor:
            await supervisor.wait_idle()


async def main(way, mode):
    if way == "stdio":
        command = ["-m", "armory_trio", "mcp", "made_here:toolbox"]
        environment = {"PYTHONPATH": os.environ["PYTHONPATH"]}
        return await use(stdio_client(StdioServerParameters(command=sys.executable, args=command, env=environment)), mode)
    async with open_supervisor(Toolbox([work, nap])) as supervisor:
        server = McpServer(supervisor, prompts=Prompts(list=prompts, get=prompt))
        if way == "memory":
            return await use(server.sdk, mode, supervisor)
        async with trio.open_nursery() as nursery:
            url = await nursery.start(partial(server.serve_http, port=0))
            await use(url, mode, supervisor)
            await supervisor.shutdown()


if __name__ == "__main__":
    for way, mode in zip(sys.argv[1::2], sys.argv[2::2]):
        trio.run(main, way, mode)
    print("done")
'''
TOOLS: Final = """
from armory_trio import Toolbox
from program import nap, work

toolbox = Toolbox([work, nap])
"""


@requirement("mcp-server.trio")
@pytest.mark.parametrize("way", ["memory", "http", "stdio"])
def test_everything_works_where_asyncio_has_no_loop(way: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "made_here.py").write_text(TOOLS, encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "program.py", way, "legacy", way, "2026-07-28"],
        cwd=tmp_path,
        env={"PYTHONPATH": f"{ROOT}:{tmp_path}", "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )

    assert (ended.stdout, ended.returncode) == ("done\n", 0), ended.stderr
