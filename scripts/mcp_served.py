"""A server of ours for clients that others wrote: ``python -m scripts.mcp_served [http]``.

Over standard input and output; or over HTTP, where it says its URL first and serves until its input ends.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec
import trio

from armory_trio import (
    ElicitAccepted,
    ImageContent,
    LiveToolbox,
    Supervisor,
    Toolbox,
    ToolContext,
    ToolFailure,
    open_supervisor,
    tool,
)
from armory_trio.definitions import EffectSpec
from armory_trio.integrations.mcp.server import McpServer, Prompts, Resources
from tests.integrations.mcp.server.everything import (
    PNG,
    complete,
    get_prompt,
    list_prompts,
    list_resources,
    list_templates,
    read_resource,
)

POST: Final[EffectSpec] = {"class": "external-write", "targets": [{"kind": "service", "id": "post"}]}
NAME: Final = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


class Weather(msgspec.Struct):
    """What is answered as structured content."""

    city: str
    degrees: float


class Sleepers:
    """What became of the calls that sleep."""

    def __init__(self) -> None:
        self.began = self.stopped = 0
        self._news = trio.Event()

    def tell(self) -> None:
        """One began, or was stopped."""
        self._news.set()
        self._news = trio.Event()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Return when *condition* holds."""
        while not condition():
            await self._news.wait()


SLEEPERS: Final = Sleepers()


@tool(effect="read-only")
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(effect="read-only")
async def weather(city: str) -> Weather:
    """Say how warm it is."""
    return Weather(city, 21.5)


@tool(effect="read-only")
async def draw() -> ImageContent:
    """Draw a picture."""
    return ImageContent(PNG, "image/png")


@tool(effect="read-only")
async def report(ctx: ToolContext) -> str:
    """Report progress and log meanwhile."""
    for percent in (0, 50, 100):
        ctx.progress(percent, f"at {percent}")
        ctx.log("info", f"logged {percent}")
        await trio.sleep(0.02)
    return "reported"


@tool(effect="read-only")
async def greet(ctx: ToolContext) -> str:
    """Ask for a name."""
    answer = await ctx.elicit("What is your name?", schema=NAME)
    return f"hello {answer.content}" if isinstance(answer, ElicitAccepted) else "nobody"


@tool(effect=POST)
async def sleep() -> str:
    """Sleep until stopped."""
    SLEEPERS.began += 1
    SLEEPERS.tell()
    try:
        await trio.sleep_forever()
    finally:
        SLEEPERS.stopped += 1
        SLEEPERS.tell()


@tool(effect="read-only", timeout=10.0)
async def begun(count: int) -> int:
    """Wait until so many calls sleep or slept."""
    await SLEEPERS.until(lambda: SLEEPERS.began >= count)
    return SLEEPERS.began


@tool(effect="read-only")
async def slept() -> str:
    """Say how many calls slept, and how many of them were stopped."""
    with trio.move_on_after(5):
        await SLEEPERS.until(lambda: SLEEPERS.stopped == SLEEPERS.began)
    return f"{SLEEPERS.stopped} of {SLEEPERS.began}"


@tool(effect=POST)
async def fail() -> str:
    """Fail as its author foresaw."""
    raise ToolFailure("there is no such address", category="not_found", effect="none")


@tool(effect=POST)
async def crash() -> str:
    """Fail as nobody foresaw."""
    raise ValueError("secret")


@tool(effect="read-only")
async def long_text(size: int) -> str:
    """Answer a long text."""
    return "é" * size


@tool(effect="read-only")
async def grow() -> str:
    """Let there be one tool more."""
    LIVE.register(late, replace=True)
    return "grown"


@tool(effect="read-only")
async def late() -> str:
    """Be there late."""
    return "late"


LIVE: Final = LiveToolbox(
    Toolbox([add, weather, draw, report, greet, sleep, begun, slept, fail, crash, long_text, grow])
)


async def main() -> None:
    """Serve."""
    async with open_supervisor(LIVE) as supervisor:
        server = McpServer(
            supervisor,
            name="served",
            version="1",
            resources=Resources(list=list_resources, read=read_resource, templates=list_templates),
            prompts=Prompts(list=list_prompts, get=get_prompt, complete=complete),
        )
        await (serve_http(server, supervisor) if "http" in sys.argv[1:] else server.serve_stdio())


async def serve_http(server: McpServer, supervisor: Supervisor) -> None:
    """Serve until standard input ends."""
    async with trio.open_nursery() as nursery:
        print(await nursery.start(partial(server.serve_http, port=0)), flush=True)
        await trio.to_thread.run_sync(sys.stdin.read, abandon_on_cancel=True)
        await supervisor.shutdown()


if __name__ == "__main__":
    trio.run(main)
