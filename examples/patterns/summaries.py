"""Summaries: a model gets a summary of a long text, and the whole is there when it asks for it.

``postprocess`` changes what a tool answers; ``tap`` would only look at it. The whole is kept under a number that stands
in the summary.
"""

from __future__ import annotations

from typing import Final

import trio

from armory_trio import Toolbox, ToolCall, open_supervisor, tool
from armory_trio.composition import pipe, postprocess
from examples.patterns._clock import run

KEPT: Final[list[str]] = []
LONGEST: Final = 40


@tool(effect="read-only")
async def fetch(page: str) -> str:
    """The text of a page."""
    await trio.sleep(0.2)
    return f"{page}: " + "word after word, " * 50


@tool(effect="read-only")
async def read_kept(number: int, offset: int = 0, length: int = 20) -> str:
    """A part of a text that was kept, by the number in its summary."""
    await trio.lowlevel.checkpoint()
    return KEPT[number][offset : offset + length]


@tool(effect="read-only")
async def clean(text: str) -> str:
    """A text without what nobody reads."""
    await trio.lowlevel.checkpoint()
    return text.replace("word after ", "")


def summary(text: str) -> str:
    """The beginning of *text*, and where the rest is. A host would ask a small model here."""
    if len(text) <= LONGEST:
        return text
    KEPT.append(text)
    return f"{text[:LONGEST]}... ({len(text)} characters; read_kept({len(KEPT) - 1}) has all)"


async def main() -> None:
    KEPT.clear()
    toolbox = Toolbox([postprocess(pipe(fetch, clean), summary, name="fetch"), read_kept])
    async with open_supervisor(toolbox) as supervisor:
        print((await supervisor.execute(ToolCall("fetch", {"page": "trees"}))).text)
        print((await supervisor.execute(ToolCall("read_kept", {"number": 0, "offset": 7}))).text)


if __name__ == "__main__":
    run(main)
