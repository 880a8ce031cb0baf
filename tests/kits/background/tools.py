"""What the tests of the background kit share."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Unpack

import msgspec
import trio

from armory_trio import (
    CallOptions,
    ImageContent,
    JsonContent,
    Limits,
    Supervisor,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolResult,
    open_supervisor,
    tool,
)
from armory_trio.kits.background import BackgroundCall, BackgroundKit


@tool(tags=["slow"])
async def work(seconds: float, ctx: ToolContext, text: str = "done") -> str:
    """Work for a while, and say so."""
    ctx.progress(50, "half of it")
    await trio.sleep(seconds)
    return text


@tool(tags=["slow"])
async def fail(seconds: float) -> None:
    """Fail after a while."""
    await trio.sleep(seconds)
    raise ValueError("no such luck")


@tool
async def stubborn(seconds: float) -> str:
    """Work where no cancellation reaches."""
    with trio.CancelScope(shield=True):
        await trio.sleep(seconds)
    return "made it"


@tool
async def paint() -> list[object]:
    """A picture with a caption."""
    return ["a caption", ImageContent(b"png", "image/png")]


class Agent:
    """A model that calls tools on behalf of one owner, and reads what a model reads."""

    def __init__(self, supervisor: Supervisor, **options: Unpack[CallOptions]) -> None:
        self.supervisor = supervisor
        self.options = options

    async def call(self, name: str, arguments: Mapping[str, object] | None = None) -> ToolResult[object]:
        return await self.supervisor.execute(ToolCall(name, arguments or {}), **self.options)

    async def start(self, name: str, arguments: Mapping[str, object] | None = None) -> str:
        """Start a call in the background; its id."""
        result = await self.call("start_background", {"name": name, "arguments": arguments or {}})
        assert result.outcome == "success", result.text
        return header(result).id

    async def code(self, name: str, arguments: Mapping[str, object]) -> str:
        """The code of a call that is refused."""
        result = await self.call(name, arguments)
        assert result.error is not None, result.text
        return result.error.code


def header(result: ToolResult[object]) -> BackgroundCall:
    """What the model reads first: the JSON of a background call."""
    block = result.content[0]
    assert isinstance(block, JsonContent)
    return msgspec.json.decode(block.json, type=BackgroundCall)


def answer(result: ToolResult[object]) -> str:
    """What the model reads after that."""
    return "\n\n".join(result.text.split("\n\n")[1:])


@asynccontextmanager
async def agents(kit: BackgroundKit, *, limits: Limits | None = None) -> AsyncGenerator[Supervisor]:
    """A supervisor whose toolbox has the tools of this page and those of *kit*."""
    toolbox = Toolbox([work, fail, stubborn, paint, *kit.tools])
    async with open_supervisor(toolbox, limits=limits or Limits()) as supervisor:
        yield supervisor
