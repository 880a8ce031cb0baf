"""Streaming responses: a tool that answers piece by piece, read live or as a whole.

A middleware can change the pieces on their way: it is given the stream before it begins.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import cast

import trio

from armory_trio import CallNext, MiddlewareCall, Toolbox, ToolCall, ToolContext, open_supervisor, tool
from armory_trio.definitions import Chunks
from examples.patterns._clock import run


def joined(words: list[str]) -> str:
    """The whole of a text that came in pieces."""
    return "".join(words)


@tool(effect="read-only", reducer=joined)
async def tell(story: str) -> AsyncIterator[str]:
    """Tell a story, word by word."""
    for word in story.split():
        await trio.sleep(0.5)
        if word == "end":
            raise RuntimeError("the page is torn")
        yield f"{word} "


async def in_capitals(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
    """Change each piece of a stream. Cancelled: there is none."""
    ctx.log("debug", f"the words of {call.tool.name} become capitals")
    return cast("Chunks", await call_next()).map(lambda piece: str(piece).capitalize())


async def main() -> None:
    async with open_supervisor(Toolbox([tell], middleware=[in_capitals])) as supervisor:
        whole = await supervisor.execute(ToolCall("tell", {"story": "once upon a time"}))
        print(f"as a whole: {whole.value}")

        async with supervisor.stream(ToolCall("tell", {"story": "there was a king"})) as stream:
            began = trio.current_time()
            async for piece in stream:
                print(f"after {trio.current_time() - began} s: {piece}")

        torn = await supervisor.execute(ToolCall("tell", {"story": "in the end"}))
        print(f"{torn.outcome} after {len(torn.chunks)} pieces: {torn.chunks}")


if __name__ == "__main__":
    run(main)
