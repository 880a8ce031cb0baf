"""A program that forks victims, which do what keys stand for until somebody kills them: run by `killing`.

It reads commands, a JSON line each, and answers each with a number. What a victim needs is imported once, and the
process is forked before there is any thread.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import traceback
from collections.abc import Collection, Sequence
from importlib import import_module
from pathlib import Path
from typing import Final, assert_never, cast

import msgspec
import trio
import trio.testing

from armory_trio import Limits, Supervisor, Tool, Toolbox, ToolCall, ToolContext, ToolResult, open_supervisor, tool
from armory_trio.ledger import Answer, Attempt, AttemptState, Operation, Release, ResolutionReceipt
from armory_trio.storage.sql import SqlLedger, open_store
from tests.engine.ledger.stores import HER, KEYS, receipt_for
from tests.engine.ledger.victim_terms import (
    BOUND,
    Command,
    Ended,
    Found,
    Go,
    Hear,
    Life,
    Released,
    Said,
    Signed,
    Start,
    Still,
    Told,
    Wait,
)
from tests.engine.ledger.victim_tools import FEW, MOMENTS, TOOLS, WORLD, append, change, moment

_COMMANDS: Final = msgspec.json.Decoder(Command)
_PATIENCE: Final = 90.0
"""Seconds that the store of a victim may wait for a lock: on a slow machine many want it."""

_AT_ONCE: Final = 40
"""Calls that one of many processes makes at the same time."""


class Deadly:
    """A ledger in a database, with a moment to die before and after everything that is written."""

    def __init__(self, inner: SqlLedger) -> None:
        self._inner = inner

    def now(self) -> float:
        return self._inner.now()

    async def apply(self, operation: Operation, /) -> Answer:
        moment()
        answer = await self._inner.apply(operation)
        moment()
        return answer

    async def load(self, key_text: str, /) -> Attempt | None:
        return await self._inner.load(key_text)

    async def list(
        self,
        *,
        states: Collection[AttemptState] | None = None,
        tenant: str | None = None,
        tool_name: str | None = None,
        host: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Sequence[Attempt]:
        return await self._inner.list(
            states=states, tenant=tenant, tool_name=tool_name, host=host, after=after, limit=limit
        )

    async def forget(self, *, ended_before: float) -> int:
        return await self._inner.forget(ended_before=ended_before)


class Victim:
    """One life.

    Args:
        life: What it does.
        tell: Says that it is as far: a byte is written there.
        gate: Waits there for the word to go on.
    """

    def __init__(self, life: Life, tell: int, gate: int) -> None:
        self.life = life
        self.tell = tell
        self.gate = gate
        self.room = trio.CapacityLimiter(_AT_ONCE)
        self.receipts: dict[str, ResolutionReceipt] = {}

    def say(self, said: Said) -> None:
        append(self.life.says, msgspec.json.encode(said).decode())

    def as_far(self) -> None:
        os.write(self.tell, b"!")

    async def word(self) -> None:
        await trio.lowlevel.wait_readable(self.gate)
        os.read(self.gate, 1)

    async def live(self) -> None:
        """Do all of it, in any order."""
        life = self.life
        tools = [*TOOLS, *self.waiting_tools()]
        async with open_store(life.where, timeout=_PATIENCE) as store:
            ledger = Deadly(store.ledger)
            if life.part == "deciding":
                await until_nobody_holds_anything(ledger)
            lines = lines_in(life.world)
            limits = FEW if life.part == "queued" else Limits()
            async with open_supervisor(
                Toolbox(tools),
                ledger=ledger,
                ledger_lease=life.lease,
                limits=limits,
                keys=KEYS,
                default_request_context=HER,
            ) as supervisor:
                self.tell_what_was_found(supervisor, lines)
                if life.part == "deciding":
                    await self.decide(ledger, supervisor)
                self.as_far()
                if life.part == "racing":
                    await self.word()
                await self.ask_for_all(supervisor)
            assert supervisor.report is not None
            self.say(Ended(len(supervisor.report.unfinished), len(supervisor.report.bugs)))

    def waiting_tools(self) -> list[Tool[..., object]]:
        victim = self

        @tool(effect=WORLD)
        async def inside(key: str, world: str, ctx: ToolContext) -> str:
            """Change the world, and wait for the word."""
            change(world, key, ctx.execution_id)
            victim.as_far()
            await victim.word()
            return ctx.execution_id

        @tool(effect=WORLD, effect_windows=True, name="before-window")
        async def before_window(key: str, world: str, ctx: ToolContext) -> str:
            """Wait for the word, and change the world."""
            victim.as_far()
            await victim.word()
            async with ctx.effect("append"):
                change(world, key, ctx.execution_id)
            return ctx.execution_id

        @tool(effect="read-only")
        async def watching() -> None:
            """Hold the only slot until the word."""
            await victim.word()

        return [inside, before_window, watching]

    def tell_what_was_found(self, supervisor: Supervisor, lines: int) -> None:
        found = supervisor.recovered
        assert found is not None
        again = tuple(each.execution_id for each in found.again)
        self.say(Found(lines, again, tuple(each.execution_id for each in found.unknown)))

    async def decide(self, ledger: Deadly, supervisor: Supervisor) -> None:
        """Release what is safe, and sign receipts for some of what is not."""
        found = supervisor.recovered
        assert found is not None
        for attempt in found.safe:
            if attempt.deduplicates:
                self.say(Released(key_in(attempt)))
            await ledger.apply(Release(attempt.key, attempt.attempt_id))
        for attempt in found.unknown:
            if attempt.deduplicates and random.random() < 0.5:  # noqa: S311  # no secret
                self.receipts[key_in(attempt)] = await receipt_for(attempt, "retry")

    async def ask_for_all(self, supervisor: Supervisor) -> None:
        keys = list(self.life.keys)
        random.shuffle(keys)
        async with trio.open_nursery() as nursery:
            if self.life.part == "queued":
                nursery.start_soon(supervisor.execute, ToolCall("watching"))
                await trio.testing.wait_all_tasks_blocked()
            for key in keys:
                nursery.start_soon(self.ask, supervisor, key)
                if self.life.part == "racing":
                    nursery.start_soon(self.ask, supervisor, key)  # so that some are joined
            if self.life.part == "queued":
                # Claimed in the store, by a thread: only the ledger can tell that it is.
                while not await supervisor_holds(supervisor):  # noqa: ASYNC110  # as said
                    await trio.sleep(0.005)
                self.as_far()

    async def ask(self, supervisor: Supervisor, key: str) -> None:
        if self.life.part == "racing":
            async with self.room:  # a host has a bound, too
                while not await self.ask_once(supervisor, key):
                    pass
        else:
            await self.ask_once(supervisor, key)

    async def ask_once(self, supervisor: Supervisor, key: str) -> bool:
        """Whether there was an answer, and not only a refusal."""
        kind, _, _ = key.rpartition("-")
        if self.life.part in ("everything", "deciding", "racing"):
            await trio.sleep(random.random() / 8)  # noqa: S311  # no secret; whoever kills it finds all stages at once
        arguments = {"key": key, "world": self.life.world}
        receipt = self.receipts.get(key)
        if receipt is not None:
            self.say(Signed(key))
        if kind == "nested" and receipt is None:
            result = await supervisor.execute(ToolCall("parent", arguments))
            value = cast("dict[str, object] | None", result.value)
            said = msgspec.convert({"type": "Told", "key": key} | value, Told) if value else told(key, result)
        elif kind == "streamed":
            call = ToolCall(kind, arguments)
            async with supervisor.stream(call, idempotency_key=key, resolution_receipt=receipt) as stream:
                chunks = [str(chunk) async for chunk in stream]
            said = told(key, stream.result, chunks)
        else:
            call = ToolCall(kind, arguments)
            said = told(key, await supervisor.execute(call, idempotency_key=key, resolution_receipt=receipt))
        self.say(said)
        return said.outcome != "refused"


def told(key: str, result: ToolResult[object], chunks: list[str] | None = None) -> Told:
    said = result.idempotency
    did = ""
    if result.outcome == "success":
        # Of a stream: the chunk in the middle, if they are whole.
        did = str(result.value) if chunks is None else chunks[1] if chunks[::2] == [key, "end"] else "not whole"
    return Told(
        key,
        "refused" if said is None else said.outcome,
        result.effect,
        said is not None and said.recorded,
        did,
        "" if result.error is None else result.error.code,
    )


def lines_in(world: str) -> int:
    return len(Path(world).read_bytes().splitlines())


def key_in(attempt: Attempt) -> str:
    return str(msgspec.json.decode(attempt.arguments, type=dict[str, object])["key"])


async def supervisor_holds(supervisor: Supervisor) -> bool:
    await trio.lowlevel.checkpoint()
    ledger = supervisor._core.ledger  # pyright: ignore[reportPrivateUsage]  # what it claimed shows nowhere else
    return bool(ledger.mine)


async def until_nobody_holds_anything(ledger: Deadly) -> None:
    """Return when the leases of those that are gone are over."""
    while True:
        held = [each.lease_expires_at for each in await ledger.list(states=["claimed", "started"], limit=1_000)]
        left = max(held, default=0.0) - ledger.now()
        if left < 0:
            return
        await trio.sleep(left + 0.01)


def fork(life: Life) -> tuple[int, int, int]:
    """A child that lives *life*: its process id, where it is heard, and where it is let go on."""
    heard, tell = os.pipe()
    gate, go = os.pipe()
    pid = os.fork()
    if pid:
        os.close(tell)
        os.close(gate)
        return pid, heard, go
    status = 1
    try:
        os.close(heard)
        os.close(go)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        signal.alarm(BOUND)
        random.seed(life.seed)
        MOMENTS.extend([] if life.dies is None else [life.dies])
        trio.run(Victim(life, tell, gate).live)
        status = 0
    except BaseException:  # noqa: BLE001  # whatever it is, it is told, and a child must not return from here
        traceback.print_exc()
    finally:
        os._exit(status)


class Forks:
    """Those that were forked, and the pipes to them."""

    def __init__(self) -> None:
        self._heard: dict[int, int] = {}
        self._gates: dict[int, int] = {}

    def do(self, command: Command) -> int:
        """Do *command*; the answer to it."""
        match command:
            case Start(life=life):
                pid, heard, gate = fork(life)
                self._heard[pid], self._gates[pid] = heard, gate
                return pid
            case Hear(pid=pid):
                return len(os.read(self._heard[pid], 1))
            case Go(pid=pid):
                return os.write(self._gates[pid], b"!")
            case Still(pid=pid):
                return os.WSTOPSIG(os.waitpid(pid, os.WUNTRACED)[1])
            case Wait(pid=pid):
                _, status = os.waitpid(pid, 0)
                os.close(self._heard.pop(pid))
                os.close(self._gates.pop(pid))
                return os.waitstatus_to_exitcode(status)
            case _ as never:
                assert_never(never)


def main() -> None:
    """Do what each line says."""
    import_module("psycopg")  # before there is anybody to fork
    forks = Forks()
    for line in sys.stdin:
        sys.stdout.write(f"{forks.do(_COMMANDS.decode(line))}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
