"""The tools of the model test: they do what their trace says, and tell it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from itertools import pairwise
from typing import Final, cast

import trio

from armory_trio import (
    BatchError,
    BlockingContext,
    ElicitAccepted,
    ElicitAnswer,
    ElicitRequest,
    ExecutionOver,
    Tool,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolFailure,
    tool,
)
from tests.engine import model_programs as do
from tests.engine.model_world import SPECS, Spec, Trace, World

FAILURES: Final[dict[str, Callable[[], BaseException]]] = {
    "value": lambda: ValueError("no"),
    "none": lambda: ToolFailure("no", effect="none"),
    "completed": lambda: ToolFailure("no", effect="completed"),
    "unknown": lambda: ToolFailure("no", effect="unknown"),
    "exit": lambda: SystemExit(3),
    "group": lambda: BaseExceptionGroup("some", [ValueError("no"), GeneratorExit()]),
    "timeout": lambda: TimeoutError("no"),
}


async def person(request: ElicitRequest) -> ElicitAnswer:
    """Answers after as many seconds as the question says."""
    await trio.sleep(float(request.message))
    return ElicitAccepted()


async def _stray() -> trio.Cancelled:
    """A cancellation that belongs to nobody here."""
    with trio.CancelScope(shield=True), trio.CancelScope() as scope:
        scope.cancel()
        try:
            await trio.lowlevel.checkpoint()
        except trio.Cancelled as exc:
            return exc
    raise AssertionError


class Bodies:
    """Interprets moves. Made once, for one run after the other: making tools takes longer than running them."""

    _world: World

    def play_in(self, world: World) -> None:
        """From here on the tools belong to *world*."""
        self._world = world

    def touched(self, arguments: Mapping[str, object]) -> list[str]:
        """What a call reads or writes."""
        return [self._world.traces[cast("int", arguments["key"])].intent.touch]

    async def run(self, key: int, ctx: ToolContext) -> int:
        trace = self._world.traces[key]
        self._world.enter(trace, ctx.execution_id)
        try:
            for move in trace.intent.moves:
                await self.play(move, trace, ctx)
        except BaseException as exc:
            self._world.leave(trace, exc)
            raise
        self._world.leave(trace)
        return key

    async def flow(self, key: int, ctx: ToolContext) -> AsyncIterator[int]:
        trace = self._world.traces[key]
        self._world.enter(trace, ctx.execution_id)
        number = 0
        try:
            for move in trace.intent.moves:
                if isinstance(move, do.Flow):
                    for _ in range(move.chunks):
                        self._world.alive(trace)
                        yield number
                        number += 1
                else:
                    await self.play(move, trace, ctx)
        except BaseException as exc:
            self._world.leave(trace, exc)
            raise
        self._world.leave(trace)

    def inline(self, key: int, ctx: BlockingContext) -> int:
        trace = self._world.traces[key]
        self._world.enter(trace, ctx.execution_id)
        try:
            for move in trace.intent.moves:
                self._play_inline(move, trace, ctx)
        except BaseException as exc:
            self._world.leave(trace, exc)
            raise
        self._world.leave(trace)
        return key

    def _play_inline(self, move: do.Move, trace: Trace, ctx: BlockingContext) -> None:
        match move:
            case do.Tell():
                self._tell(move, trace, ctx)
            case do.Fail(kind) if kind in FAILURES:
                failure = FAILURES[kind]()
                raise failure
            case do.AbortMe():
                self._world.supervisor.abort("it wanted to", execution_id=ctx.execution_id)
            case _:
                pass

    async def play(self, move: do.Move, trace: Trace, ctx: ToolContext) -> None:
        match move:
            case do.Sleep(seconds):
                await trio.sleep(seconds)
            case do.Shield(seconds):
                with trio.CancelScope(shield=True):
                    await trio.sleep(seconds)
            case do.Swallow(seconds):
                with suppress(trio.Cancelled):
                    await trio.sleep(seconds)
            case do.Tell():
                self._tell(move, trace, ctx)
            case do.Wait(seconds):
                async with ctx.waiting("it"):
                    await trio.sleep(seconds)
            case do.Ask(seconds):
                await self._ask(seconds, trace, ctx)
            case do.Effect():
                if trace.spec.windows:
                    await self._change(move, trace, ctx)
            case do.Fail(kind):
                if kind in FAILURES:
                    failure = FAILURES[kind]()
                    raise failure
                trace.stray = await _stray()
                raise trace.stray
            case do.Call():
                await self._call(move, trace, ctx)
            case do.AbortMe():
                self._world.supervisor.abort("it wanted to", execution_id=ctx.execution_id)
            case _:
                pass

    def _tell(self, move: do.Tell, trace: Trace, ctx: ToolContext | BlockingContext) -> None:
        match move.how:
            case "progress":
                self._alive(trace, ctx)
                ctx.progress(50, "half")
            case "log":
                self._alive(trace, ctx)
                ctx.log("info", "a line")
            case "emit":
                ctx.emit("it", 1)
            case "cleanup failed":
                trace.cleanup_told = True
                ctx.report_cleanup("failed")
            case "cleanup unresolved":
                trace.cleanup_told = True
                ctx.report_cleanup("unresolved")

    def _alive(self, trace: Trace, ctx: ToolContext | BlockingContext) -> None:
        shot = self._world.supervisor.executions.locate(ctx.execution_id)
        if shot is not None and shot.outcome is None:  # what is told after the decision counts no more
            self._world.alive(trace)

    async def _ask(self, seconds: float, trace: Trace, ctx: ToolContext) -> None:
        asked = not self._world.supervisor.closed  # when it drains, nobody is
        trace.asking_since = began = trio.current_time()
        try:
            await ctx.elicit(f"{seconds}")
        except ExecutionOver:
            asked = False
            raise
        finally:
            trace.asked += trio.current_time() - began
            trace.asking_since = None
            if asked:
                self._world.alive(trace)

    async def _change(self, move: do.Effect, trace: Trace, ctx: ToolContext) -> None:
        try:
            block = ctx.effect("it")
            place = len(trace.windows)
            trace.windows.append("open")
            state = "nothing"
            try:
                async with block as window:
                    state = "unknown"
                    if move.said == "happened":
                        window.happened()
                        state = "completed"
                    elif move.said == "nothing":
                        window.nothing_happened()
                        state = "nothing"
                    await trio.sleep(move.seconds)
                    if move.breaks:
                        raise KeyError(move)
                    if not move.said:
                        state = "completed"
            finally:
                trace.windows[place] = state
        except KeyError:
            pass

    async def _call(self, move: do.Call, trace: Trace, ctx: ToolContext) -> None:
        with trio.move_on_after(1e9 if move.patience is None else move.patience):
            match move.how:
                case "one by one":
                    for intent in move.children:
                        await self._one(intent, trace, ctx)
                case "together":
                    async with trio.open_nursery() as nursery:
                        for intent in move.children:
                            nursery.start_soon(self._one, intent, trace, ctx)
                case "start":
                    self._start(move, trace)
                case _:
                    await self._batch(move, trace)

    async def _one(self, intent: do.Intent, trace: Trace, ctx: ToolContext) -> None:
        child = self._world.expect(intent, trace, trace.owner)
        result = await ctx.call(intent.tool, {"key": child.key})
        if result.outcome == "success" and child.ended != "returned":
            self._world.fault(f"{child.key} succeeded though its body {child.ended or 'never ended'}")

    def _start(self, move: do.Call, trace: Trace) -> None:
        world = self._world
        for intent in move.children:
            if world.supervisor.closed:
                return
            fresh = world.expect(intent, None, trace.owner)
            world.supervisor.start(ToolCall(intent.tool, {"key": fresh.key}, id=fresh.call_id), elicit=person)

    async def _batch(self, move: do.Call, trace: Trace) -> None:
        world = self._world
        children = [world.expect(intent, trace, trace.owner) for intent in move.children]
        if move.how == "sequential":
            for before, after in pairwise(children):
                after.after = before
        calls = [ToolCall(child.intent.tool, {"key": child.key}, id=child.call_id) for child in children]
        try:
            results = await world.supervisor.execute_batch(
                calls,
                mode="sequential" if move.how == "sequential" else "parallel",
                on_error="fail_fast" if move.how == "fail fast" else "collect",
            )
        except BatchError as exc:
            results = list(exc.results)
        if [result.call_id for result in results] != [call.id for call in calls]:
            world.fault(f"the results of {[call.id for call in calls]} came in another order")


def _availability(_: Mapping[str, object]) -> Awaitable[bool]:
    async def ask() -> bool:
        await trio.sleep(0.25)
        return True

    return ask()


def _make(name: str, spec: Spec) -> Tool[..., object]:
    declare = tool(
        name=name,
        effect_windows=spec.windows,
        concurrency=spec.concurrency,
        groups=("g",) if spec.grouped else (),
        reads=BODIES.touched if spec.reads else (),
        writes=BODIES.touched if spec.writes else (),
        grace=spec.grace,
        timeout=spec.timeout,
        idle_timeout=spec.idle_timeout,
        cleanup_timeout=spec.cleanup_timeout,
        semantics=spec.semantics,
    )
    if spec.asks_first:
        declare = declare(availability=_availability)
    if spec.read_only:
        declare = declare(effect="read-only")
    if spec.target is not None:
        declare = declare(effect={"class": "external-write", "targets": [{"kind": "service", "id": spec.target}]})
    if name == "flowing":
        return declare(BODIES.flow, buffer=2)
    if name == "inline":
        return declare(BODIES.inline, placement="task")
    return declare(BODIES.run)


BODIES: Final = Bodies()
TOOLBOX: Final = Toolbox([_make(name, spec) for name, spec in SPECS.items()])
