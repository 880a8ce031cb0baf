"""The functions that both sides run: as tiny as can be, so that what is measured is what is around them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

import trio

from armory_trio import Toolbox, ToolCall, tool


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def hold(a: int, b: int) -> int:  # noqa: ARG001  # it takes what the others take
    """Wait until cancelled."""
    await trio.sleep_forever()


def add_blocking(a: int, b: int) -> int:
    """Add two numbers in a worker thread."""
    return a + b


async def count_up(stop: int) -> AsyncIterator[int]:
    """Yield the numbers from 0 up to *stop*."""
    for number in range(stop):
        yield number


TOOLBOX: Final = Toolbox([tool(function, effect="read-only") for function in (add, hold, add_blocking, count_up)])


def call(name: str, number: int) -> ToolCall:
    """A call of one of the functions that take two numbers."""
    return ToolCall(name, {"a": number, "b": 1})
