"""Several clients, few keys, failures, stops and crashes over one ledger, against a model of what may happen.

The model is the world itself: it counts what was done for each key. Whatever the order of things, nothing is done twice
unless a receipt said so, and nobody is told that something did not happen which did.
"""

from __future__ import annotations

from collections import Counter
from typing import Final, Literal

import msgspec
import trio
from hypothesis import given
from hypothesis import strategies as st

from armory_trio import (
    ExecutionOver,
    Limits,
    Supervisor,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolFailure,
    ToolResult,
    open_supervisor,
    tool,
)
from armory_trio.ledger import AttemptState, Complete, OpenWindow, Operation, Release, Renew, Start
from armory_trio.ledger import Claim as ClaimOperation
from armory_trio.testing import run_seeded
from tests.engine.ledger.stores import BANK, HER, KEYS, Clock, Trouble, Troubled, receipt_for
from tests.requirements import requirement

Ending = Literal["returns", "raises-before", "raises-after", "says-none", "says-completed", "shielded"]
Stop = Literal["none", "abort", "timeout", "deadline", "caller"]

UNKNOWN: Final[tuple[AttemptState, ...]] = ("unknown",)
KEYS_USED: Final = ("a", "b")
OPERATIONS: Final = (ClaimOperation, Start, OpenWindow, Complete, Release, Renew)


class Ask(msgspec.Struct, frozen=True):
    """One call of one client."""

    key: str
    windows: bool
    ending: Ending
    stop: Stop
    after: float
    pause: float
    receipt: bool


class Crash(msgspec.Struct, frozen=True):
    """The supervisor is left at once, and another one opened after a while; *silent*: without a last word."""

    down_for: float
    silent: bool


class Break(msgspec.Struct, frozen=True):
    """The store has trouble for a while."""

    operation: int
    trouble: Trouble
    lasts: float


Step = Ask | Crash | Break

ASKS: Final = st.builds(
    Ask,
    key=st.sampled_from(KEYS_USED),
    windows=st.booleans(),
    ending=st.sampled_from(("returns", "raises-before", "raises-after", "says-none", "says-completed", "shielded")),
    stop=st.sampled_from(("none", "none", "abort", "timeout", "deadline", "caller")),
    after=st.sampled_from((0.0, 0.5, 1.0, 1.5, 2.5)),
    pause=st.sampled_from((0.0, 0.25, 1.0, 3.0)),
    receipt=st.booleans(),
)
STEPS: Final = st.one_of(
    ASKS,
    ASKS,
    ASKS,
    st.builds(Crash, down_for=st.sampled_from((0.0, 10.0, 100.0)), silent=st.booleans()),
    st.builds(
        Break,
        operation=st.integers(0, len(OPERATIONS) - 1),
        trouble=st.sampled_from(("raises", "hangs", "does-and-raises")),
        lasts=st.sampled_from((0.5, 3.0, 40.0)),
    ),
)


class World:
    """What was done, and who was told what about it."""

    def __init__(self) -> None:
        self.done: Counter[str] = Counter()
        self.retries: Counter[str] = Counter()
        self.inside: set[str] = set()
        world = self

        @tool(effect=BANK)
        async def plain(key: str, ending: Ending, run: str) -> str:
            return await world.body(key, ending, run, None)

        @tool(effect=BANK, effect_windows=True)
        async def windowed(key: str, ending: Ending, run: str, ctx: ToolContext) -> str:
            return await world.body(key, ending, run, ctx)

        self.toolbox = Toolbox([plain, windowed])

    async def body(self, key: str, ending: Ending, run: str, ctx: ToolContext | None) -> str:
        assert key not in self.inside, "two bodies of one key at a time"
        self.inside.add(key)
        try:
            await trio.sleep(1)
            if ending == "raises-before":
                raise ValueError("before")
            if ending == "says-none":
                raise ToolFailure("nothing was done", effect="none")
            if ctx is None:
                await self.change(key, ending)
            else:
                async with ctx.effect("pay"):
                    await self.change(key, ending)
            await trio.sleep(1)
            if ending == "raises-after":
                raise ValueError("after")
            if ending == "says-completed":
                raise ToolFailure("done, and then this", effect="completed")
            return run
        finally:
            self.inside.discard(key)

    async def change(self, key: str, ending: Ending) -> None:
        self.done[key] += 1
        with trio.CancelScope(shield=ending == "shielded"):
            await trio.sleep(0.5)


def _key(ask: Ask) -> str:
    # The arguments of a key are always the same: what differs is how its first body ends.
    return f"{ask.key}-{ask.windows}-{ask.ending}"


class Clients:
    """Lets clients do the steps, and looks at what each of them is told."""

    def __init__(self, world: World, store: Troubled) -> None:
        self.world = world
        self.store = store
        self.wrong: list[str] = []

    async def ask(self, supervisor: Supervisor, ask: Ask) -> None:
        world, key = self.world, _key(ask)
        before = world.done[key]
        receipt = None
        if ask.receipt:
            rows = [row for row in await self.store.list(states=UNKNOWN) if f'"{key}"' in row.key]
            if rows:
                receipt = await receipt_for(rows[0], "retry")
                world.retries[key] += 1
        call = ToolCall("windowed" if ask.windows else "plain", {"key": key, "ending": ask.ending, "run": "x"})
        begin = trio.current_time()
        deadline = begin + ask.after if ask.stop == "deadline" else None
        timeout = 0.1 + ask.after if ask.stop == "timeout" else None
        try:
            if ask.stop == "caller":
                with trio.move_on_after(ask.after):
                    await supervisor.execute(call, idempotency_key=key, resolution_receipt=receipt)
                return
            execution = supervisor.start(
                call, idempotency_key=key, resolution_receipt=receipt, deadline=deadline, timeout=timeout
            )
            if ask.stop == "abort":
                await trio.sleep(ask.after)
                execution.abort("not needed")
            result = await execution.result()
        except ExecutionOver:
            return
        self.judge(key, result, before)

    def judge(self, key: str, result: ToolResult[object], before: int) -> None:
        done, told = self.world.done[key], result.idempotency
        name = None if told is None else told.outcome
        if result.attempts and result.effect == "none" and done > before and result.outcome != "action_required":
            self.wrong.append(f"{key}: told that nothing happened by the body that did it: {result}")
        if name in ("deduped", "joined") and result.effect == "completed" and not done:
            self.wrong.append(f"{key}: told that it was done, and it was not: {result}")
        if name == "deduped" and result.effect == "none" and done:
            self.wrong.append(f"{key}: told that nothing happened, and it did: {result}")
        if result.error is not None and result.error.retryable and result.attempts and done > before:
            self.wrong.append(f"{key}: told that it is safe to repeat: {result}")

    async def run(self, steps: list[Step]) -> None:
        rest = list(steps)
        while rest:
            crash: Crash | None = None
            async with trio.open_nursery() as outside:
                try:
                    async with open_supervisor(
                        self.world.toolbox,
                        ledger=self.store,
                        keys=KEYS,
                        limits=Limits(concurrent=2),
                        default_request_context=HER,
                    ) as supervisor:
                        crash = await self.until_crash(supervisor, rest, outside)
                        if crash is not None:
                            raise Crashed  # noqa: TRY301  # as whatever goes wrong in a host
                except Crashed:
                    pass
                outside.cancel_scope.cancel()
            self.store.trouble.clear()
            if crash is not None:
                await trio.sleep(crash.down_for)

    async def until_crash(self, supervisor: Supervisor, rest: list[Step], outside: trio.Nursery) -> Crash | None:
        crash: Crash | None = None
        async with trio.open_nursery() as clients:
            while rest and crash is None:
                step = rest.pop(0)
                match step:
                    case Ask():
                        clients.start_soon(self.ask, supervisor, step)
                        await trio.sleep(step.pause)
                    case Break():
                        self.store.trouble[OPERATIONS[step.operation]] = step.trouble
                        outside.start_soon(self.mend, OPERATIONS[step.operation], step.lasts)
                    case Crash():
                        clients.cancel_scope.cancel()
                        silence: dict[type[Operation], Trouble] = dict.fromkeys(OPERATIONS, "raises")
                        self.store.trouble = silence if step.silent else {}
                        crash = step
        return crash

    async def mend(self, operation: type[Operation], lasts: float) -> None:
        await trio.sleep(lasts)
        self.store.trouble.pop(operation, None)


class Crashed(Exception):
    """The block of a supervisor is left at once."""


@requirement("keeping.once")
@given(steps=st.lists(STEPS, min_size=2, max_size=14), seed=st.integers(0, 1_000_000))
def test_nothing_is_done_twice_and_nothing_that_happened_is_denied(steps: list[Step], seed: int) -> None:
    world = World()

    async def main() -> None:
        store = Troubled(Clock(with_trio=True))
        clients = Clients(world, store)
        with trio.fail_after(5_000):
            await clients.run(steps)
        store.trouble.clear()
        await trio.sleep(100)
        assert clients.wrong == []
        for key, times in world.done.items():
            assert times <= 1 + world.retries[key], f"{key} was done {times} times"
        kept = {row.key: row for row in await store.list()}
        for key, times in world.done.items():
            rows = [row for text, row in kept.items() if f'"{key}"' in text]
            assert not times or rows or world.retries[key], f"{key} was done and forgotten"
            denied = bool(times) and any(row.effect == "none" for row in rows)
            assert not denied or world.retries[key], f"{key} was done and denied: {rows}"

    run_seeded(main, seed=seed, within=100_000)
