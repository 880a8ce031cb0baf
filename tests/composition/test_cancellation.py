"""A cancellation at every await of a composed tool, and what must be true afterwards."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from typing import cast

import pytest
import trio

from armory_trio import Limits, Toolbox, ToolCall, ToolContext, ToolFailure, open_supervisor, tool
from armory_trio.composition import parallel, pipe, postprocess, preprocess, retry, tap, when
from armory_trio.definitions._retry import RetryPolicy
from tests.composition.tools import AnyTool
from tests.engine.cancelling import Probe, assert_unharmed, cancel_everywhere
from tests.requirements import requirement


class Steps:
    """Steps that take time, and which of them began and ended."""

    def __init__(self) -> None:
        self.running = 0
        self.begun = 0

    async def step(self, n: int) -> int:
        self.running += 1
        self.begun += 1
        try:
            await trio.sleep(1)
            await trio.sleep(1)
        finally:
            self.running -= 1
        return n

    async def mapping(self, value: object) -> object:
        await trio.sleep(1)
        return value

    async def failing(self, n: int) -> int:
        await self.step(n)
        raise ConnectionError("lost")


def tools_of(steps: Steps) -> tuple[AnyTool, AnyTool]:
    return tool(name="step", effect="read-only")(steps.step), tool(name="failing", effect="read-only")(steps.failing)


WHOLES: dict[str, Callable[[Steps, AnyTool, AnyTool], AnyTool]] = {
    "pipe": lambda steps, step, failing: pipe(step, pipe(step, step)),
    "parallel": lambda steps, step, failing: parallel(step, parallel(step, failing, on_error="fail_fast"), step),
    "when": lambda steps, step, failing: when(steps.mapping, step, step),
    "tap": lambda steps, step, failing: tap(step, steps.mapping),
    "mapping": lambda steps, step, failing: postprocess(preprocess(step, steps.mapping), steps.mapping),
    "retry": lambda steps, step, failing: retry(failing, RetryPolicy(delay=3)),
}


@requirement("composition.cancelled-at-every-await")
@pytest.mark.parametrize("name", WHOLES)
def test_cancelled_at_any_await_no_step_runs_on_and_none_begins(name: str) -> None:
    async def case(probe: Probe) -> None:
        steps = Steps()
        made = WHOLES[name](steps, *tools_of(steps))

        @tool(effect="read-only")
        async def host(n: int, ctx: ToolContext) -> bool:
            """Runs the body of the whole in its own task, so that it can be cancelled there."""
            given = made.contract.validate({"n": n})
            with contextlib.suppress(ToolFailure):
                cancelled = await probe.run(lambda: cast("Awaitable[object]", made.invoke(given, ctx)))
                assert not cancelled or steps.running == 0
            begun = steps.begun
            await trio.sleep(100)
            return steps.begun == begun

        @tool(effect="read-only")
        async def echo(text: str) -> str:
            await trio.lowlevel.checkpoint()
            return text

        async with open_supervisor(Toolbox([host, echo]), limits=Limits(concurrent=2)) as supervisor:
            result = await supervisor.execute(ToolCall("host", {"n": 1}))
            assert result.value is True
            await assert_unharmed(supervisor)

    assert cancel_everywhere(case)


@requirement("composition.abort")
@pytest.mark.parametrize("name", WHOLES)
@pytest.mark.parametrize("after", [0.5, 1.0, 1.5, 2.0, 2.5, 3.5, 5.0])
async def test_aborted_at_any_time_the_end_is_an_abort_and_nothing_runs_on(
    name: str, after: float, autojump_clock: trio.abc.Clock
) -> None:
    steps = Steps()
    made = WHOLES[name](steps, *tools_of(steps))
    async with open_supervisor(Toolbox([made])) as supervisor:
        execution = supervisor.start(ToolCall(made.name, {"n": 1}))
        await trio.sleep(after)
        answer = execution.abort("enough")
        result = await execution.result()
        shot = await execution.settled()
        await trio.sleep(0.1)
        assert steps.running == 0
        assert supervisor.active == 0

    if answer == "requested":
        assert result.error is not None and (result.error.code, result.error.message) == ("CANCELLED", "enough")
        assert shot.cleanup == "completed"
    else:
        assert answer == "already-ended"
