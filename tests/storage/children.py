"""Processes of their own that use a store: ``python -m tests.storage.children race|take|write|journal PLACE``."""

from __future__ import annotations

import json
import os
import sys
import traceback
from typing import Final

import msgspec
import trio
import trio.testing

from armory_trio import ApprovalError, GrantError, Limits, Toolbox, ToolCall, ToolContext, open_supervisor, tool
from armory_trio.buckets import Rate
from armory_trio.ledger import Complete, Fresh, Start
from armory_trio.storage.sql import SqlStore, open_store
from tests.storage.deeds import approval, claim

CHILDREN: Final = 10
KEYS: Final = 20
USES: Final = 15
WRITERS: Final = 8

TURNS: Final = 10
SLOW: Final = Rate(interval=100_000.0, burst=23)
QUICK: Final = Rate(interval=0.02, burst=10)

BOUND: Final = 120


def main() -> None:
    """Do what the command line says."""
    kind, where, *rest = sys.argv[1:]
    if kind == "journal":
        trio.run(journal, where)
        return
    if kind == "write":
        trio.run(write, where, rest[0])
        return
    # Imported once, and then forked before there is any thread.
    ready, go = os.pipe()
    told, tell = os.pipe()
    children = [pid for index in range(CHILDREN) if (pid := fork(kind, index, where, float(rest[0]), ready, tell))]
    os.close(tell)
    os.write(go, b"x" * CHILDREN)
    with os.fdopen(told) as lines:
        sys.stdout.writelines(lines)
    failed = [pid for pid in children if os.waitpid(pid, 0)[1]]
    sys.exit(bool(failed))


def fork(kind: str, index: int, where: str, issued_at: float, ready: int, tell: int) -> int:
    """A child that waits for the word to go, and then takes all that it can get."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        os.read(ready, 1)
        won = trio.run(take_tokens, where, index) if kind == "take" else trio.run(race, where, issued_at, index)
        os.write(tell, f"{json.dumps(won)}\n".encode())  # in one piece: it is shorter than a page
        status = 0
    finally:
        if status:
            traceback.print_exc()
        os._exit(status)  # a child must not return from here


async def race(where: str, issued_at: float, index: int) -> list[str]:
    """What this child got of what every child wants, in an order of its own."""
    won: list[str] = []
    with trio.fail_after(BOUND):
        async with open_store(where, timeout=BOUND / 2) as store, trio.open_nursery() as nursery:
            numbers = list(range(KEYS))
            numbers = numbers[index:] + numbers[:index]
            for number in numbers if index % 2 else reversed(numbers):
                nursery.start_soon(want, store, number, f"child-{index}", issued_at, won)
    return won


async def want(store: SqlStore, number: int, me: str, issued_at: float, won: list[str]) -> None:
    """Try to get one claim, one approval and one use."""
    answer = await store.ledger.apply(claim(f"key-{number}", me, host=me))
    if isinstance(answer, Fresh):
        won.append(f"claim {number}")
    binding = approval(f"nonce-{number}", issued_at)
    try:
        await store.approvals.consume(binding, binding.scope)
        won.append(f"approval {number}")
    except ApprovalError:
        pass
    try:
        await store.grants.commit(await store.grants.reserve("grant:1"))
        won.append("use")
    except GrantError:
        pass


async def take_tokens(where: str, index: int) -> list[str]:
    """What this child got out of two buckets: one that does not fill, and one that does; and when it began and ended."""
    got: list[str] = []
    with trio.fail_after(BOUND):
        async with open_store(where, timeout=BOUND / 2) as store:
            got.append(f"at {store.now()!r}")
            for turn in range(TURNS):
                async with trio.open_nursery() as nursery:
                    for number in range(4):
                        nursery.start_soon(take_one, store, "slow", SLOW, 1 + (index + number) % 3, got)
                        nursery.start_soon(take_one, store, "quick", QUICK, 1 + (turn + number) % 3, got)
            # Again, so that what the clock says is not an estimate from before.
            await store.buckets.take("clock", SLOW)
            got.append(f"at {store.now()!r}")
    return got


async def take_one(store: SqlStore, bucket: str, rate: Rate, most: int, got: list[str]) -> None:
    """Take some tokens of a bucket."""
    taken = await store.buckets.take(bucket, rate, most)
    got.extend([bucket] * taken.tokens)


async def write(where: str, prefix: str) -> None:
    """Complete attempts for ever, and say of each that it is done once that was answered."""
    async with open_store(where) as store, trio.open_nursery() as nursery:
        for writer in range(WRITERS):
            nursery.start_soon(complete, store, f"{prefix}-{writer}")


async def complete(store: SqlStore, prefix: str) -> None:
    """One after the other."""
    number = 0
    while True:
        key = f"{prefix}-{number}"
        asked = claim(key, "a")
        await store.ledger.apply(asked)
        await store.ledger.apply(Start(asked.key.text, "a"))
        await store.ledger.apply(Complete(asked.key.text, "a", "completed", json.dumps(key)))
        os.write(1, f"{key}\n".encode())
        number += 1


@tool(effect="read-only")
async def work(seconds: float, ctx: ToolContext) -> float:
    """Say so, and sleep."""
    ctx.progress(10, "begun")
    await trio.sleep(seconds)
    return seconds


async def journal(where: str) -> None:
    """Run calls that end and calls that don't, and say what the live view shows once the journal has it all."""
    async with (
        open_store(where) as store,
        open_supervisor(Toolbox([work]), journal=store.journal, limits=Limits(concurrent=8)) as supervisor,
    ):
        endless = [supervisor.start(ToolCall("work", {"seconds": 3_600.0}), owner_id="endless") for _ in range(10)]
        await trio.sleep(0.01)
        endless[0].abort("to make room")
        await endless[0].settled()
        while True:
            await trio.testing.wait_all_tasks_blocked(0.02)  # what writes the journal has looked, too
            told = supervisor.executions.journal
            if told is not None and told.written and not told.waiting:
                break
        shots = [msgspec.json.encode(shot).decode() for shot in supervisor.executions.inspect()]
        os.write(1, f"{json.dumps(shots)}\n".encode())
        await trio.sleep_forever()


if __name__ == "__main__":
    main()
