"""Tools in worker threads and processes. A worker process imports this module: it does nothing but define."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from armory_trio import BlockingContext, Tool, tool
from armory_trio.definitions import Placement
from tests.engine.ledger.stores import BANK

PATIENCE: Final = 60
"""Seconds after which a test is taken for hung; no result depends on it."""


def _wait_for(gate: str) -> None:
    until = time.monotonic() + PATIENCE
    while not Path(gate).exists() and time.monotonic() < until:
        time.sleep(0.005)


def _wire(ctx: BlockingContext, path: str, how: str = "", gate: str = "") -> str | None:
    with ctx.effect("pay"):
        if how == "within":
            raise ValueError("the line went dead")
        with Path(path).open("a") as paid:
            paid.write("paid\n")
        if gate:
            _wait_for(gate)
    return ctx.idempotency_key


@tool(effect=BANK, effect_windows=True, placement="thread", name="wire_thread")
def wire_thread(ctx: BlockingContext, path: str, how: str = "", gate: str = "") -> str | None:
    """Pay within an effect window."""
    return _wire(ctx, path, how, gate)


@tool(effect=BANK, effect_windows=True, placement="process", name="wire_process")
def wire_process(ctx: BlockingContext, path: str, how: str = "", gate: str = "") -> str | None:
    """Pay within an effect window."""
    return _wire(ctx, path, how, gate)


@tool(effect=BANK, effect_windows=True, placement="task", name="wire_task")
def wire_task(ctx: BlockingContext, path: str, how: str = "", gate: str = "") -> str | None:
    """Pay within an effect window."""
    return _wire(ctx, path, how, gate)


@tool(effect=BANK, placement="process")
def pay_process(path: str, gate: str = "") -> str:
    """Pay."""
    with Path(path).open("a") as paid:
        paid.write("paid\n")
    if gate:
        _wait_for(gate)
    return "paid"


@tool(effect=BANK, buffer=2, placement="thread")
def drone_thread(words: int) -> Iterator[str]:
    """Say more than the buffer holds."""
    yield from ["x"] * words


@tool(effect=BANK, buffer=2, placement="process")
def drone_process(words: int) -> Iterator[str]:
    """Say more than the buffer holds."""
    yield from ["x"] * words


DRONES: Final[dict[Placement, Tool[..., object]]] = {"thread": drone_thread, "process": drone_process}
TOOLS: Final[dict[Placement, Tool[..., object]]] = {
    "thread": wire_thread,
    "process": wire_process,
    "task": wire_task,
}
