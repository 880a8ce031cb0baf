"""A program that does what keys stand for, until somebody kills it: run by `test_killed`.

Its arguments are the store, the file that stands for the world, and how many keys there are.
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import trio

from armory_trio import RequestContext, Supervisor, Toolbox, ToolCall, ToolContext, open_supervisor, tool
from armory_trio.storage.sql import open_store
from tests.engine.ledger.victim_terms import LEASE

_STORE, _WORLD, _KEYS = sys.argv[1:4]
_HER = RequestContext(principal="ann", tenant="acme")


def _change_the_world(key: str) -> None:
    with Path(_WORLD).open("a", encoding="utf-8") as world:  # appended at once: several processes may write
        world.write(f"{key}\n")
        world.flush()
        os.fsync(world.fileno())


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def _pause() -> None:
    await trio.sleep(random.random() / 50)  # noqa: S311  # no secret


@tool(effect={"class": "external-write", "targets": [{"kind": "other", "id": "world"}]})
async def plain(key: str) -> str:
    """Change the world at some moment."""
    await _pause()
    _change_the_world(key)
    await _pause()
    return key


@tool(effect={"class": "external-write", "targets": [{"kind": "other", "id": "world"}]}, effect_windows=True)
async def windowed(key: str, ctx: ToolContext) -> str:
    """Change the world in a stretch that is marked."""
    await _pause()
    async with ctx.effect("append"):
        await _pause()
        _change_the_world(key)
    await _pause()
    return key


async def _ask(supervisor: Supervisor, name: str, key: str) -> None:
    result = await supervisor.execute(ToolCall(name, {"key": key}), idempotency_key=key)
    outcome = "refused" if result.idempotency is None else result.idempotency.outcome
    _say(f"{name} {key} {outcome} {result.effect}")


async def main() -> None:
    """Do all of it, in any order."""
    toolbox = Toolbox([plain, windowed])
    async with (
        open_store(_STORE) as store,
        open_supervisor(toolbox, ledger=store.ledger, ledger_lease=LEASE, default_request_context=_HER) as supervisor,
        trio.open_nursery() as nursery,
    ):
        _say("ready")
        for number in range(int(_KEYS)):
            for name in ("plain", "windowed"):
                nursery.start_soon(_ask, supervisor, name, f"{name}-{number}")


if __name__ == "__main__":
    trio.run(main)
