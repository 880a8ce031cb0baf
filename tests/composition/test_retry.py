"""Calls that are made again."""

from __future__ import annotations

import pytest
import trio

from armory_trio import (
    DefinitionError,
    Toolbox,
    ToolCall,
    ToolFailure,
    ToolResult,
    open_supervisor,
    tool,
)
from armory_trio.composition import pipe, retry
from armory_trio.definitions import Category, Effect
from armory_trio.definitions._retry import RetryPolicy
from tests.composition.tools import AnyTool, double, run, run_and_listen, told
from tests.requirements import requirement


class Flaky:
    """A tool that fails so many times, and when it was called."""

    def __init__(self, failures: int, failure: Exception, *, effect: bool = False) -> None:
        self.at: list[float] = []
        self._failures = failures
        self._failure = failure
        declared = tool(name="flaky") if effect else tool(name="flaky", effect="read-only")
        self.tool: AnyTool = declared(self._run)

    async def _run(self, n: int) -> int:
        self.at.append(trio.current_time())
        await trio.lowlevel.checkpoint()
        if len(self.at) <= self._failures:
            raise self._failure.with_traceback(None)
        return n


@requirement("composition.retry")
async def test_it_is_called_until_it_succeeds(autojump_clock: trio.abc.Clock) -> None:
    flaky = Flaky(2, ConnectionError("lost"))

    result = await run(retry(flaky.tool), {"n": 1})

    assert (result.value, len(flaky.at)) == (1, 3)


@requirement("composition.retry", "composition.failure")
async def test_the_last_failure_is_that_of_the_whole_as_it_is(autojump_clock: trio.abc.Clock) -> None:
    flaky = Flaky(5, ToolFailure("come back later", category="transient", code="RATE_LIMITED", details={"of": 1}))

    result = await run(retry(flaky.tool, RetryPolicy(attempts=2)), {"n": 1})

    assert len(flaky.at) == 2
    assert result.error is not None
    assert (result.error.code, result.error.message, result.error.details) == (
        "RATE_LIMITED",
        "come back later",
        {"of": 1},
    )


@requirement("composition.retry")
async def test_it_waits_as_the_policy_says_and_shows_that_it_waits(autojump_clock: trio.abc.Clock) -> None:
    flaky = Flaky(3, ConnectionError("lost"))
    policy = RetryPolicy(attempts=4, delay=10, backoff="exponential", max_delay=25)
    made = retry(flaky.tool, policy, random=lambda: 1.0)

    async with open_supervisor(Toolbox([made])) as supervisor:
        execution = supervisor.start(ToolCall(made.name, {"n": 1}))
        await trio.sleep(5)
        shot = execution.snapshot
        result = await execution.result()

    assert (shot.state, shot.declared_wait) == ("waiting", "attempt 2 of 4")
    assert result.value == 1
    assert [at - flaky.at[0] for at in flaky.at] == [0, 10, 30, 55]


@requirement("composition.retry")
async def test_jitter_spreads_the_waits(autojump_clock: trio.abc.Clock) -> None:
    flaky = Flaky(1, ConnectionError("lost"))

    await run(retry(flaky.tool, RetryPolicy(delay=10), random=lambda: 0.25), {"n": 1})

    assert flaky.at[1] - flaky.at[0] == 2.5


@requirement("composition.events")
async def test_events_tell_of_each_further_attempt(autojump_clock: trio.abc.Clock) -> None:
    _, heard = await run_and_listen(retry(Flaky(2, ConnectionError("lost")).tool), {"n": 1})

    assert [(event.name, told(event, "attempt")) for event in heard] == [("retry", 2), ("retry", 3)]


@requirement("composition.retry")
@pytest.mark.parametrize("category", ["permission", "validation", "cancelled", "conflict", "not_found"])
async def test_what_was_decided_is_not_argued_with(category: Category) -> None:
    flaky = Flaky(1, ToolFailure("no", category=category))

    result = await run(retry(flaky.tool), {"n": 1})

    assert (len(flaky.at), result.error is not None and result.error.category) == (1, category)


@requirement("composition.retry")
async def test_arguments_that_do_not_fit_are_refused_once_before_anything_runs() -> None:
    made = retry(pipe(double, double))

    async with open_supervisor(Toolbox([made])) as supervisor:
        result = await supervisor.execute(ToolCall(made.name, {"n": "x"}))
        assert len(supervisor.executions.inspect()) == 1

    assert (result.attempts, result.error is not None and result.error.code) == (0, "INVALID_ARGUMENTS")


@requirement("composition.retry")
async def test_other_categories_are_retried_if_the_policy_names_them() -> None:
    flaky = Flaky(1, ValueError("odd"))

    assert (await run(retry(flaky.tool, RetryPolicy(retry_on=["internal"])), {"n": 1})).value == 1


@requirement("composition.retry.never")
@pytest.mark.parametrize(
    ("failure", "effect"),
    [
        (ConnectionError("half way"), "unknown"),
        (ToolFailure("done, then lost", category="transient", effect="completed"), "completed"),
    ],
)
async def test_what_may_have_changed_something_is_not_done_twice(failure: Exception, effect: Effect) -> None:
    flaky = Flaky(1, failure, effect=True)

    result = await run(retry(flaky.tool, RetryPolicy(retry_on=["transient", "internal"])), {"n": 1})

    assert (len(flaky.at), result.effect) == (1, effect)


@requirement("composition.retry")
async def test_a_tool_that_says_that_nothing_happened_is_retried() -> None:
    flaky = Flaky(1, ToolFailure("not yet", category="transient", effect="none"), effect=True)

    result = await run(retry(flaky.tool), {"n": 1})

    assert (len(flaky.at), result.value, result.effect) == (2, 1, "completed")


@requirement("composition.retry.never")
@pytest.mark.parametrize("delay", [0.0, 10.0])
async def test_no_attempt_begins_while_the_supervisor_drains(delay: float, autojump_clock: trio.abc.Clock) -> None:
    flaky = Flaky(5, ConnectionError("lost"))
    made = retry(flaky.tool, RetryPolicy(attempts=6, delay=delay, jitter="none"))
    results: list[ToolResult[object]] = []

    async with open_supervisor(Toolbox([made])) as supervisor:
        execution = supervisor.start(ToolCall(made.name, {"n": 1}))
        if delay:
            await trio.sleep(1)
        supervisor.close_admission()
        results.append(await execution.result())

    assert len(flaky.at) == 1
    assert results[0].error is not None and results[0].error.code == "CONNECTION_LOST"


@requirement("composition.retry.never")
async def test_no_wait_outlasts_the_deadline(autojump_clock: trio.abc.Clock) -> None:
    flaky = Flaky(5, ConnectionError("lost"))
    made = retry(flaky.tool, RetryPolicy(attempts=6, delay=10, jitter="none"))

    async with open_supervisor(Toolbox([made])) as supervisor:
        result = await supervisor.execute(ToolCall(made.name, {"n": 1}), deadline=trio.current_time() + 25)
        now = trio.current_time()

    assert (len(flaky.at), now - flaky.at[0]) == (3, 20)
    assert result.error is not None and result.error.code == "CONNECTION_LOST"


@requirement("composition.abort")
async def test_an_abort_ends_the_wait_at_once_also_within_a_grace(autojump_clock: trio.abc.Clock) -> None:
    @tool(effect="read-only", grace=30)
    async def failing() -> int:
        raise ConnectionError("lost")

    made = retry(failing, RetryPolicy(delay=10, jitter="none"))
    async with open_supervisor(Toolbox([made])) as supervisor:
        execution = supervisor.start(ToolCall(made.name))
        await trio.sleep(1)
        execution.abort("enough")
        result = await execution.result()
        now = trio.current_time()
        shot = await execution.settled()

    assert result.error is not None and result.error.message == "enough"
    assert (now - (shot.started_at or 0), shot.cleanup) == (1, "completed")


@requirement("composition.defined")
def test_a_policy_that_cannot_hold_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"retry: policy\.retry_on: names the exception OSError"):
        retry(double, RetryPolicy(retry_on=[OSError]))
    with pytest.raises(DefinitionError, match="retry: policy: must be a RetryPolicy, not 3"):
        retry(double, 3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # that is the test
    with pytest.raises(DefinitionError, match=r"retry: random: must be a function that answers a number, not 0\.5"):
        retry(double, random=0.5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # that is the test
