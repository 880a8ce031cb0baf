"""A step that needs an action of somebody's: the whole ends with its result, unread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import cast

import pytest
import trio

from armory_trio import RequiredAction, Tool, ToolError, ToolExecutionError, ToolResult
from armory_trio.composition import PipelineError, bind, parallel, pipe, postprocess, preprocess, retry, tap, when
from tests.composition.tools import AnyTool, double, increment, stringify
from tests.requirements import requirement

PAUSED = ToolResult[object](
    "exe-1", "call-1", "double", "action_required", action=RequiredAction("approval", "May it?")
)


class Scripted:
    """A context whose calls end as they were told to: nothing in the engine asks for an approval yet."""

    tool_name = "whole"
    abort_requested = False
    draining = False
    deadline = None

    def __init__(self, **ends: ToolResult[object]) -> None:
        self.called: list[str] = []
        self._ends = ends

    async def call(self, step: Tool[..., object], arguments: Mapping[str, object], *, place: str) -> ToolResult[object]:
        await trio.lowlevel.checkpoint()
        self.called.append(step.name)
        done = ToolResult[object](f"exe-{step.name}", f"call-{step.name}", step.name, "success", 1)
        return self._ends.get(step.name, done)

    def check(self) -> None:
        """Nobody aborts here."""

    def emit(self, name: str, data: object = None) -> None:
        """Nobody listens."""


async def run(made: AnyTool, arguments: Mapping[str, object], context: Scripted) -> object:
    return await cast("Awaitable[object]", made.invoke(made.contract.validate(arguments), context))


WHOLES: dict[str, Callable[[], AnyTool]] = {
    "pipe": lambda: pipe(double, increment),
    "bind": lambda: bind(double, {}),
    "when": lambda: when(bool, double, increment),
    "tap": lambda: tap(double, print),
    "tap with a tool": lambda: tap(increment, double),
    "parallel": lambda: parallel(double, increment),
    "parallel that collects": lambda: parallel(double, increment, on_error="collect"),
    "retry": lambda: retry(double),
    "preprocess": lambda: preprocess(double, dict),
    "postprocess": lambda: postprocess(double, str),
}


@requirement("composition.pause")
@pytest.mark.parametrize("name", WHOLES)
async def test_a_pause_is_handed_on_and_nothing_is_made_of_it(name: str) -> None:
    context = Scripted(double=PAUSED)

    with pytest.raises(ToolExecutionError) as caught:
        await run(WHOLES[name](), {"n": 1}, context)

    assert caught.value.result is PAUSED
    assert context.called.count("double") == 1


@requirement("composition.pause")
async def test_no_later_step_runs() -> None:
    context = Scripted(double=PAUSED)

    with pytest.raises(ToolExecutionError):
        await run(pipe(increment, double, stringify), {"n": 1}, context)

    assert context.called == ["increment", "double"]


@requirement("composition.pause")
async def test_an_error_beside_a_pause_is_the_end_since_nothing_is_left_to_wait_for() -> None:
    failed = ToolResult[object]("exe-2", "call-2", "increment", "error", error=ToolError("conflict", "BUSY", "not now"))

    with pytest.raises(PipelineError, match=r"step 1 \(increment\) failed: not now"):
        await run(parallel(double, increment), {"n": 1}, Scripted(double=PAUSED, increment=failed))
