"""What the manifests of the tests name."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import msgspec
import trio

from armory_trio import ToolContext, tool

RAN: list[str] = []


class Order(msgspec.Struct):
    sku: str
    count: int = 1


async def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


async def region(ctx: ToolContext) -> object:
    """Say where this is."""
    return ctx.context.get("region")


def place(order: Order) -> str:
    """Order something."""
    return f"{order.count} x {order.sku}"


async def echo(arguments: Mapping[str, object]) -> object:
    """Say it again."""
    return dict(arguments)


async def count(n: int) -> AsyncIterator[int]:
    """Count."""
    for each in range(n):
        await trio.lowlevel.checkpoint()
        yield each


def on_weekdays(context: Mapping[str, object]) -> bool:
    return context.get("weekday") is True


@tool(effect="read-only", tags=["made"])
async def ready() -> str:
    """A tool already."""
    return "ready"


class Holder:
    @staticmethod
    async def inner() -> str:
        """Inside a class."""
        return "inner"
