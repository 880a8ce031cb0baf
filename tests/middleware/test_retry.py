"""`Retry`: which failures are tried again, when, and what puts an end to it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import nullcontext
from typing import cast

import pytest
import trio
import trio.testing

from armory_trio import (
    Category,
    DefinitionError,
    ExecutionStarted,
    Semantics,
    Tool,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolFailure,
    ToolResult,
    open_supervisor,
    tool,
)
from armory_trio.middleware import RateLimit, Retry, RetryPolicy, Timeout
from tests.engine.ledger.stores import BANK, HER
from tests.engine.test_threads import PATIENCE
from tests.requirements import requirement

BACKOFF = RetryPolicy(4, delay=1.0, backoff="exponential", jitter="none")


class Flaky:
    """Fails so many times, and notes when it was tried."""

    def __init__(self, *failures: BaseException) -> None:
        self.failures = list(failures)
        self.tried: list[float] = []

    def attempt(self) -> str:
        self.tried.append(trio.current_time())
        if self.failures:
            raise self.failures.pop(0)
        return "there"

    def toolbox(self, *middleware: Retry | RateLimit, effect: str = "read-only") -> Toolbox:
        @tool(effect="read-only")
        async def flaky() -> str:
            return self.attempt()

        @tool
        async def changing() -> str:
            return self.attempt()

        @tool(effect="read-only")
        def threaded() -> str:
            return trio.from_thread.run_sync(self.attempt)

        @tool(effect="read-only")
        async def streaming() -> AsyncIterator[str]:
            yield "one"
            yield self.attempt()

        return Toolbox([flaky, changing, threaded, streaming], middleware=middleware)


async def run(toolbox: Toolbox, name: str = "flaky") -> ToolResult[object]:
    async with open_supervisor(toolbox) as supervisor:
        return await supervisor.execute(ToolCall(name))


@requirement("retry.middleware")
async def test_it_tries_again_with_growing_waits_until_it_succeeds(autojump_clock: trio.testing.MockClock) -> None:
    flaky = Flaky(ConnectionError(), trio.TooSlowError(), trio.BrokenResourceError())
    began = trio.current_time()

    result = await run(flaky.toolbox(Retry(BACKOFF)))

    assert (result.value, result.attempts, result.effect, result.duration) == ("there", 4, "none", 7.0)
    assert [at - began for at in flaky.tried] == [0.0, 1.0, 3.0, 7.0]


@requirement("retry.middleware")
async def test_the_last_failure_stands(autojump_clock: trio.testing.MockClock) -> None:
    flaky = Flaky(*[ToolFailure(f"failure {number}", category="transient") for number in range(9)])

    result = await run(flaky.toolbox(Retry(BACKOFF)))

    assert result.error is not None
    assert (result.error.message, result.attempts, result.error.retryable) == ("failure 3", 4, True)


@requirement("retry.middleware")
async def test_a_group_of_failures_from_a_nursery_is_read_by_its_members(
    autojump_clock: trio.testing.MockClock,
) -> None:
    flaky = Flaky(ExceptionGroup("nursery", [ConnectionError()]), ExceptionGroup("nursery", [ValueError("no")]))

    result = await run(flaky.toolbox(Retry(BACKOFF)))

    assert result.error is not None
    assert (result.error.message, result.attempts) == ("ValueError: no", 2)


@requirement("retry.middleware")
async def test_the_waits_are_spread_and_a_seed_fixes_them(autojump_clock: trio.testing.MockClock) -> None:
    waits: list[list[float]] = []
    for seed in (1, 1, 2):
        flaky = Flaky(*[ConnectionError() for _ in range(3)])
        await run(flaky.toolbox(Retry(RetryPolicy(4, delay=1.0, backoff="exponential"), seed=seed)))
        waits.append([later - at for at, later in zip(flaky.tried, flaky.tried[1:], strict=False)])

    assert waits[0] == pytest.approx(waits[1])
    assert waits[0] != pytest.approx(waits[2])
    assert all(0 <= wait <= most for wait, most in zip(waits[0], (1, 2, 4), strict=True))


@requirement("retry.after")
async def test_a_failure_that_names_a_wait_is_given_it(autojump_clock: trio.testing.MockClock) -> None:
    flaky = Flaky(ToolFailure("busy", category="transient", details={"retry_after": 30}))

    result = await run(flaky.toolbox(Retry(BACKOFF)))

    assert (result.value, result.duration) == ("there", 30.0)


@requirement("retry.middleware")
async def test_what_may_have_changed_something_is_not_tried_again(autojump_clock: trio.testing.MockClock) -> None:
    unknown = await run(Flaky(ConnectionError()).toolbox(Retry(BACKOFF)), "changing")
    harmless = await run(
        Flaky(ToolFailure("busy", category="transient", effect="none")).toolbox(Retry(BACKOFF)), "changing"
    )

    assert unknown.error is not None
    assert (unknown.error.code, unknown.attempts, unknown.effect) == ("CONNECTION_LOST", 1, "unknown")
    assert (harmless.value, harmless.attempts, harmless.effect) == ("there", 2, "completed")


@requirement("retry.middleware")
@pytest.mark.parametrize("category", ["permission", "validation", "conflict", "internal", "not_found"])
async def test_a_decision_is_not_argued_with(category: Category) -> None:
    flaky = Flaky(ToolFailure("no", category=category))

    assert (await run(flaky.toolbox(Retry(BACKOFF)))).attempts == 1


@requirement("retry.middleware")
async def test_a_function_in_a_thread_is_tried_again() -> None:
    flaky = Flaky(ConnectionError(), ConnectionError())

    with trio.fail_after(PATIENCE):
        result = await run(flaky.toolbox(Retry()), "threaded")

    assert (result.value, result.attempts) == ("there", 3)


@requirement("retry.middleware")
async def test_a_stream_is_tried_again_unless_somebody_has_seen_some_of_it(
    autojump_clock: trio.testing.MockClock,
) -> None:
    collected = await run(Flaky(ConnectionError()).toolbox(Retry(BACKOFF)), "streaming")
    async with (
        open_supervisor(Flaky(ConnectionError()).toolbox(Retry(BACKOFF))) as supervisor,
        supervisor.stream(ToolCall("streaming")) as stream,
    ):
        assert [chunk async for chunk in stream] == ["one"]

    assert (collected.value, collected.attempts) == (["one", "there"], 2)
    assert (stream.result.outcome, stream.result.attempts) == ("error", 1)


@requirement("retry.middleware")
@pytest.mark.parametrize("name", ["flaky", "streaming"])
async def test_a_refusal_by_what_stands_further_in_is_tried_again(
    name: str, autojump_clock: trio.testing.MockClock
) -> None:
    toolbox = Flaky().toolbox(Retry(RetryPolicy(2)), RateLimit(1, per=10))
    async with open_supervisor(toolbox) as supervisor:
        await supervisor.execute(ToolCall(name))
        result = await supervisor.execute(ToolCall(name))

    assert (result.outcome, result.attempts, result.duration) == ("success", 1, 10.0)


@requirement("retry.middleware")
async def test_every_attempt_is_told_and_every_wait_is_shown(autojump_clock: trio.testing.MockClock) -> None:
    flaky = Flaky(ConnectionError(), ConnectionError())
    async with (
        open_supervisor(flaky.toolbox(Retry(BACKOFF))) as supervisor,
        supervisor.events(ExecutionStarted) as events,
    ):
        execution = supervisor.start(ToolCall("flaky"))
        await trio.sleep(0.5)
        shown = execution.snapshot
        await execution.result()
        told = [await anext(events) for _ in range(3)]

    assert (shown.state, shown.declared_wait, shown.attempts) == ("waiting", "attempt 2 of 4", 1)
    assert [event.attempt for event in told if isinstance(event, ExecutionStarted)] == [1, 2, 3]


@requirement("retry.ends")
async def test_a_drain_ends_the_waiting_and_the_failure_stands(autojump_clock: trio.testing.MockClock) -> None:
    flaky = Flaky(ConnectionError("gone"))
    async with open_supervisor(flaky.toolbox(Retry(RetryPolicy(2, delay=1000.0, jitter="none")))) as supervisor:
        execution = supervisor.start(ToolCall("flaky"))
        await trio.sleep(10)
        began = trio.current_time()
        report = await supervisor.shutdown("drain", drain_for=25.0)
        assert trio.current_time() - began <= 1.0
        result = await execution.result()

    assert report.exit_code == 0
    assert result.error is not None
    assert (result.error.code, result.attempts) == ("CONNECTION_LOST", 1)


@requirement("retry.ends")
async def test_an_abort_ends_the_waiting(autojump_clock: trio.testing.MockClock) -> None:
    flaky = Flaky(ConnectionError())
    async with open_supervisor(flaky.toolbox(Retry(BACKOFF))) as supervisor:
        execution = supervisor.start(ToolCall("flaky"))
        await trio.sleep(0.5)
        execution.abort("enough")
        result, snapshot = await execution.result(), await execution.settled()

    assert result.error is not None
    assert (result.error.code, result.effect, snapshot.state) == ("CANCELLED", "none", "terminal")
    assert len(flaky.tried) == 1


@requirement("retry.ends")
async def test_the_timeout_of_the_call_goes_on_while_it_waits(autojump_clock: trio.testing.MockClock) -> None:
    flaky = Flaky(*[ConnectionError() for _ in range(9)])
    async with open_supervisor(flaky.toolbox(Retry(BACKOFF))) as supervisor:
        result = await supervisor.execute(ToolCall("flaky"), timeout=4.0)

    assert result.error is not None
    assert (result.error.code, result.attempts, result.duration) == ("TIMEOUT", 3, 4.0)


@requirement("retry.definition")
def test_what_is_no_policy_is_refused_and_one_attempt_needs_no_middleware() -> None:
    with pytest.raises(DefinitionError, match="middleware Retry: policy: must be a RetryPolicy, not 3"):
        Retry(cast("RetryPolicy", 3))
    with pytest.raises(DefinitionError, match="middleware Retry: seed: must be a whole number, not 'x'"):
        Retry(seed=cast("int", "x"))
    bound = Flaky().toolbox(Retry(RetryPolicy(1))).get("flaky")
    assert bound is not None
    assert bound.middleware == ()


def _charging(failures: list[Exception], *, windows: bool, idempotency: str = "provider-enforced") -> Tool[..., object]:
    @tool(
        effect=BANK,
        effect_windows=windows,
        semantics=Semantics(idempotency=idempotency),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    )
    async def charge(ctx: ToolContext) -> str | None:
        async with ctx.effect("charge") if windows else nullcontext():
            if failures:
                raise failures.pop(0)
        return ctx.idempotency_key

    return charge


@requirement("retry.by-key")
@pytest.mark.parametrize("windows", [False, True], ids=["whole", "windows"])
async def test_what_the_far_side_knows_by_its_key_is_tried_again_whatever_it_did(
    windows: bool, autojump_clock: trio.testing.MockClock
) -> None:
    failures: list[Exception] = [ConnectionError(), TimeoutError()]
    toolbox = Toolbox([_charging(failures, windows=windows)], middleware=[Retry(BACKOFF)])
    async with open_supervisor(toolbox, default_request_context=HER) as supervisor:
        execution = supervisor.start(ToolCall("charge"), idempotency_key="k")
        result, snapshot = await execution.result(), await execution.settled()
        again = await supervisor.execute(ToolCall("charge"), idempotency_key="k")

    assert (result.value, result.attempts, result.effect) == ("k", 3, "completed")
    assert (snapshot.state, snapshot.effect) == ("terminal", "completed")
    assert (again.value, again.attempts, again.effect) == ("k", 0, "completed")


@requirement("retry.by-key")
@pytest.mark.parametrize("windows", [False, True], ids=["whole", "windows"])
async def test_what_was_never_answered_stays_unknown_and_may_be_sent_again(
    windows: bool, autojump_clock: trio.testing.MockClock
) -> None:
    last = ToolFailure("busy", category="transient", effect="none")
    failures: list[Exception] = [*[ConnectionError()] * 3, last]
    toolbox = Toolbox([_charging(failures, windows=windows)], middleware=[Retry(BACKOFF)])
    async with open_supervisor(toolbox, default_request_context=HER) as supervisor:
        result = await supervisor.execute(ToolCall("charge"), idempotency_key="k")
        again = await supervisor.execute(ToolCall("charge"), idempotency_key="k")

    assert (again.effect, again.attempts, again.idempotency and again.idempotency.outcome) == (
        "unknown",
        0,
        "unknown-outcome",
    )
    assert result.error is not None
    assert (result.attempts, result.effect, result.error.retryable) == (4, "unknown", True)
    assert "will not be done twice" in result.text


@requirement("retry.by-key")
async def test_a_time_limit_around_each_attempt_is_a_failure_like_others(
    autojump_clock: trio.testing.MockClock,
) -> None:
    waits = [trio.sleep_forever, trio.lowlevel.checkpoint]

    @tool(effect=BANK, semantics=Semantics(idempotency="provider-enforced"))
    async def charge() -> None:
        await waits.pop(0)()

    toolbox = Toolbox([charge], middleware=[Retry(BACKOFF), Timeout(5)])
    async with open_supervisor(toolbox, default_request_context=HER) as supervisor:
        result = await supervisor.execute(ToolCall("charge"), idempotency_key="k")

    assert (result.outcome, result.attempts, result.effect) == ("success", 2, "completed")


@requirement("retry.by-key")
@pytest.mark.parametrize(
    ("failure", "idempotency", "key"),
    [
        (ConnectionError(), "provider-enforced", None),
        (ConnectionError(), "required", "k"),
        (ToolFailure("odd", category="internal", retryable=True), "provider-enforced", "k"),
        (ToolFailure("busy", category="transient", retryable=False), "provider-enforced", "k"),
        (ValueError("no"), "provider-enforced", "k"),
    ],
    ids=["no key", "not enforced", "not passing", "it says no", "a fault"],
)
async def test_otherwise_what_may_have_happened_is_neither_tried_nor_said_to_be_sendable_again(
    failure: Exception, idempotency: str, key: str | None
) -> None:
    toolbox = Toolbox([_charging([failure], windows=False, idempotency=idempotency)], middleware=[Retry(BACKOFF)])
    async with open_supervisor(toolbox, default_request_context=HER) as supervisor:
        result = await supervisor.execute(ToolCall("charge"), idempotency_key=key)

    assert result.error is not None
    assert (result.attempts, result.effect, result.error.retryable) == (1, "unknown", False)
