"""Processes, and loops, that stand still beyond their lease and go on: what they find is not theirs any more."""

from __future__ import annotations

import signal
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final

import pytest
import trio

from armory_trio import Supervisor, Tool, Toolbox, ToolCall, ToolContext, ToolResult, open_supervisor, tool
from armory_trio.ledger import LeftBehind, Release
from armory_trio.storage.sql import SqlStore, open_store
from tests.engine.ledger.killing import Line, Victims, said_in, world_in
from tests.engine.ledger.stores import HER, code_of, said_of, told_of
from tests.engine.ledger.victim_terms import BOUND, Ended, Life, Part, Told
from tests.engine.ledger.victim_tools import WORLD, append
from tests.requirements import requirement

LEASE: Final = 0.3
"""Seconds: shorter than anything here stands still."""


class Scene:
    """A victim with one key, and the world that it shares with us."""

    def __init__(self, victims: Victims, where: str, directory: Path, part: Part, key: str) -> None:
        self.victims = victims
        self.where = where
        self.world = directory / "world"
        self.world.touch()
        self.says = directory / "said"
        self.key = key
        self.call = ToolCall(key.rpartition("-")[0], {"key": key, "world": str(self.world)})
        self.life = Life(where, str(self.world), str(self.says), (key,), part=part, lease=LEASE)
        self.pid = 0

    async def start_and_stop(self) -> None:
        """Let it come as far as it is to, and then stand still."""
        self.pid = await trio.to_thread.run_sync(self.victims.start, self.life)
        for _ in range(2):  # it is open, and then it is there
            assert await trio.to_thread.run_sync(self.victims.hear, self.pid)
        await trio.to_thread.run_sync(self.victims.stop, self.pid)

    async def go_on(self) -> Told:
        """Let it go on to its end: what it was told of its key."""
        self.victims.send(self.pid, signal.SIGCONT)
        self.victims.go(self.pid)
        assert await trio.to_thread.run_sync(self.victims.wait, self.pid) == 0
        *_, told, ended = said_in(self.says)
        assert ended == Ended(0, 0)
        assert isinstance(told, Told)
        return told

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[tuple[SqlStore, Supervisor]]:
        """Another supervisor over the store, with tools of the same names."""
        async with (
            open_store(self.where) as store,
            open_supervisor(Toolbox(self.tools()), ledger=store.ledger, default_request_context=HER) as supervisor,
        ):
            yield store, supervisor

    def tools(self) -> list[Tool[..., object]]:
        @tool(effect=WORLD, name="inside")
        async def inside(key: str, world: str, ctx: ToolContext) -> str:
            append(world, f"did {key} {ctx.execution_id}")
            return ctx.execution_id

        @tool(effect=WORLD, effect_windows=True, name="before-window")
        async def before_window(key: str, world: str, ctx: ToolContext) -> str:
            async with ctx.effect("append"):
                append(world, f"did {key} {ctx.execution_id}")
            return ctx.execution_id

        @tool(effect=WORLD, name="plain")
        async def plain(key: str, world: str, ctx: ToolContext) -> str:
            append(world, f"did {key} {ctx.execution_id}")
            return ctx.execution_id

        return [inside, before_window, plain]

    async def ask(self) -> ToolResult[object]:
        """Ask for the key, somewhere else. Who runs it is waited for until its lease is over."""
        with trio.fail_after(BOUND):
            async with self.opened() as (_, supervisor):
                return await supervisor.execute(self.call, idempotency_key=self.key)

    async def found(self) -> LeftBehind:
        """What was left behind, to whoever opens a supervisor now."""
        async with self.opened() as (_, supervisor):
            assert supervisor.recovered is not None
            return supervisor.recovered

    def lines(self) -> list[Line]:
        return world_in(self.world)


@requirement("keeping.still")
async def test_a_body_that_stood_still_beyond_its_lease_is_unknown_and_its_completion_comes_too_late(
    where: str, victims: Victims, tmp_path: Path
) -> None:
    scene = Scene(victims, where, tmp_path, "inside", "inside-1")
    await scene.start_and_stop()
    [line] = scene.lines()
    meanwhile = await scene.ask()
    found = await scene.found()
    told = await scene.go_on()
    later = await scene.ask()

    for each in (meanwhile, later):
        assert (told_of(each), each.outcome, each.effect) == ("unknown-outcome", "action_required", "unknown")
    assert ([each.execution_id for each in found.unknown], found.again) == ([line.execution], ())
    assert told == Told("inside-1", "fence-lost", "completed", recorded=False, did=line.execution)
    assert scene.lines() == [line]


@requirement("keeping.still")
async def test_who_is_asked_of_by_nobody_meanwhile_has_lost_its_lease_all_the_same(
    where: str, victims: Victims, tmp_path: Path
) -> None:
    scene = Scene(victims, where, tmp_path, "inside", "inside-1")
    await scene.start_and_stop()
    async with open_store(where) as store:
        with trio.fail_after(BOUND):
            while not await store.ledger.list(states=["unknown"]):  # noqa: ASYNC110  # its lease is over then
                await trio.sleep(LEASE / 10)
    told = await scene.go_on()

    assert (told.outcome, told.effect, told.recorded) == ("fence-lost", "completed", False)
    assert told_of(await scene.ask()) == "unknown-outcome"
    assert len(scene.lines()) == 1


@requirement("keeping.still")
@pytest.mark.parametrize("again", [False, True], ids=["let-be", "run-again"])
async def test_who_stood_still_before_its_window_may_not_open_it_any_more(
    again: bool, where: str, victims: Victims, tmp_path: Path
) -> None:
    """Since it can't, what was listed as safe to be run again is, even though it still lives."""
    scene = Scene(victims, where, tmp_path, "before-window", "before-window-1")
    await scene.start_and_stop()
    meanwhile = await scene.ask()
    found = await scene.found()
    [attempt] = found.safe
    if again:
        async with scene.opened() as (store, _):
            await store.ledger.apply(Release(attempt.key, attempt.attempt_id))
        assert told_of(await scene.ask()) == "fresh"
    before = scene.lines()
    told = await scene.go_on()
    later = await scene.ask()

    assert (told_of(meanwhile), found.unknown, found.never_started) == ("unknown-outcome", (), ())
    assert told == Told("before-window-1", "fence-lost", "none", recorded=False, code="LEDGER_UNAVAILABLE")
    assert scene.lines() == before
    assert (len(before), told_of(later)) == ((1, "deduped") if again else (0, "unknown-outcome"))


@requirement("keeping.still")
async def test_who_stood_still_before_it_began_is_told_what_came_of_it_elsewhere(
    where: str, victims: Victims, tmp_path: Path
) -> None:
    scene = Scene(victims, where, tmp_path, "queued", "plain-1")
    await scene.start_and_stop()
    meanwhile = await scene.ask()
    [line] = scene.lines()
    told = await scene.go_on()

    assert (told_of(meanwhile), meanwhile.value) == ("fresh", line.execution)
    assert told == Told("plain-1", "deduped", "completed", recorded=True, did=line.execution)
    assert scene.lines() == [line]


class Stage:
    """Tools of one process, one of which lets its loop stand still."""

    def __init__(self) -> None:
        self.paid: list[str] = []
        self.inside = 0
        self.all_inside = trio.Event()
        self.gate = trio.Event()
        stage = self

        @tool(effect=WORLD)
        async def pay() -> str:
            stage.paid.append("pay")
            await stage.wait()
            return "paid"

        @tool(effect=WORLD, effect_windows=True)
        async def wire(ctx: ToolContext) -> str:
            await stage.wait()
            async with ctx.effect("wire"):
                stage.paid.append("wire")
            return "wired"

        @tool(effect=WORLD, effect_windows=True)
        async def post(ctx: ToolContext) -> str:
            async with ctx.effect("post"):
                stage.paid.append("post")
                await stage.wait()
            return "posted"

        @tool(effect="read-only")
        async def stall() -> None:
            time.sleep(LEASE * 2)  # noqa: ASYNC251  # this is the mistake that is tested
            stage.gate.set()

        self.tools: list[Tool[..., object]] = [pay, wire, post, stall]

    async def wait(self) -> None:
        self.inside += 1
        if self.inside == 3:
            self.all_inside.set()
        await self.gate.wait()


@requirement("keeping.still.loop")
async def test_a_loop_that_stood_still_beyond_the_lease_costs_what_ran_in_it_its_fence_and_nothing_else(
    where: str,
) -> None:
    stage, names = Stage(), ("pay", "wire", "post")
    async with (
        open_store(where) as store,
        open_supervisor(
            Toolbox(stage.tools), ledger=store.ledger, ledger_lease=LEASE, default_request_context=HER
        ) as supervisor,
    ):
        with trio.fail_after(BOUND):
            ask = partial(supervisor.start, idempotency_key="k")
            running = {name: ask(ToolCall(name)) for name in names}
            await stage.all_inside.wait()
            joined = ask(ToolCall("pay"))
            while joined.snapshot.waits_for != f"joined:{running['pay'].id}":  # noqa: ASYNC110  # it claims in a thread
                await trio.sleep(0.001)
            await supervisor.execute(ToolCall("stall"))
            results = {name: await execution.result() for name, execution in running.items()}
            shared = await joined.result()
            again = {name: await supervisor.execute(ToolCall(name), idempotency_key="k") for name in names}
    async with (
        open_store(where) as store,
        open_supervisor(Toolbox(stage.tools), ledger=store.ledger, default_request_context=HER) as supervisor,
    ):
        found = supervisor.recovered

    assert {name: (told_of(each), said_of(each).recorded) for name, each in results.items()} == dict.fromkeys(
        names, ("fence-lost", False)
    )
    assert [(each.outcome, each.effect) for each in results.values()] == [
        ("success", "completed"),
        ("error", "none"),
        ("success", "completed"),
    ]
    assert code_of(results["wire"]) == "LEDGER_UNAVAILABLE"
    assert (shared.value, said_of(shared).recorded) == ("paid", False)
    assert {told_of(each) for each in again.values()} == {"unknown-outcome"}
    assert stage.paid == ["pay", "post"]
    assert found is not None
    assert [each.tool_name for each in found.safe] == ["wire"]
    assert sorted(each.tool_name for each in found.unknown) == ["pay", "post"]
