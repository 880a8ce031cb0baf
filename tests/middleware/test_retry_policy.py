"""The one retry policy: pure rules, without a clock."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armory_trio import DefinitionError, ToolError, ToolExecutionError, ToolFailure, ToolResult
from armory_trio.definitions import Category
from armory_trio.errors import ExecutionAborted, ExecutionOver, RepeatRefused
from armory_trio.middleware import RetryPolicy
from tests.requirements import requirement


def half() -> float:
    return 0.5


@requirement("retry.delays")
@pytest.mark.parametrize(
    ("policy", "delays"),
    [
        (RetryPolicy(), [0.0, 0.0, 0.0]),
        (RetryPolicy(delay=10, jitter="none"), [10, 10, 10]),
        (RetryPolicy(delay=10, jitter="none", max_delay=4), [4, 4, 4]),
        (RetryPolicy(delay=10, backoff="exponential", jitter="none"), [10, 20, 40]),
        (RetryPolicy(delay=10, backoff="exponential", jitter="none", max_delay=25), [10, 20, 25]),
        (RetryPolicy(delay=10, backoff="exponential"), [5, 10, 20]),
        (RetryPolicy(delay=10, backoff="exponential", max_delay=25), [5, 10, 12.5]),
    ],
)
def test_delays_are_fixed_or_double_and_are_capped_and_spread(policy: RetryPolicy, delays: list[float]) -> None:
    assert [policy.delay_before(attempt, half) for attempt in (2, 3, 4)] == delays


@requirement("retry.delays")
@given(
    st.builds(
        RetryPolicy,
        st.integers(1, 10_000),
        delay=st.floats(0, 1e6),
        backoff=st.sampled_from(["fixed", "exponential"]),
        max_delay=st.none() | st.floats(1e-3, 1e6),
        jitter=st.sampled_from(["full", "none"]),
    ),
    st.integers(2, 10_000),
    st.integers(),
)
def test_a_delay_is_never_negative_nor_longer_than_asked_for(policy: RetryPolicy, attempt: int, seed: int) -> None:
    first, second = Random(seed), Random(seed)  # noqa: S311  # no secrets
    delay = policy.delay_before(attempt, first.random)

    assert 0 <= delay <= (math.inf if policy.max_delay is None else policy.max_delay)
    assert delay == policy.delay_before(attempt, second.random)


@requirement("retry.after")
@pytest.mark.parametrize(
    ("asked", "delay"), [(3, 3), (0.5, 1.0), (-1, 1.0), ("3", 1.0), (True, 1.0), (math.nan, 1.0), (None, 1.0)]
)
def test_a_failure_may_ask_for_a_longer_wait(asked: object, delay: float) -> None:
    failure = ToolFailure("busy", category="transient", details={"retry_after": asked})
    policy = RetryPolicy(delay=1, jitter="none")

    assert policy.should_retry(failure)
    assert policy.delay_before(2, half, failure) == delay
    assert policy.delay_before(2, half, ToolError("transient", "X", "x", details=failure.details)) == delay


@requirement("retry.after")
@pytest.mark.parametrize(("asked", "again"), [(10, True), (11, False), (math.inf, False), (10**400, False)])
def test_who_asks_for_a_longer_wait_than_the_longest_is_not_asked_again(asked: float, again: bool) -> None:
    failure = ToolFailure("busy", category="transient", details={"retry_after": asked})

    assert RetryPolicy(max_delay=10).should_retry(failure) is again
    assert RetryPolicy().should_retry(failure) is (asked <= 11)


class Own(Exception):
    pass


def failed(category: Category, *, retryable: bool = False) -> ToolError:
    return ToolError(category, "X", "x", retryable)


def unwrapped(error: ToolError | None) -> ToolExecutionError:
    return ToolExecutionError(ToolResult("e", "c", "t", "action_required" if error is None else "error", error=error))


@requirement("retry.which")
@pytest.mark.parametrize(
    ("error", "again"),
    [
        (ConnectionResetError(), True),
        (TimeoutError(), True),
        (ValueError("rate limit"), False),
        (Own(), False),
        (ToolFailure("x", category="transient"), True),
        (ToolFailure("x", category="timeout"), True),
        (ToolFailure("x", category="transient", retryable=False), False),
        (ToolFailure("x", category="internal", retryable=True), True),
        (ToolFailure("x", category="conflict"), False),
        (ToolFailure("x", category="permission", retryable=True), False),
        (ToolFailure("x", category="validation", retryable=True), False),
        (ToolFailure("x", category="cancelled", retryable=True), False),
        (failed("transient", retryable=True), True),
        (failed("transient"), False),
        (failed("permission", retryable=True), False),
        (failed("unavailable", retryable=True), True),
        (unwrapped(failed("timeout", retryable=True)), True),
        (unwrapped(failed("internal")), False),
        (unwrapped(None), False),
        (ExecutionAborted(), False),
        (ExecutionOver(), False),
        (RepeatRefused(), False),
        (KeyboardInterrupt(), False),
        (ExceptionGroup("", [ConnectionError(), TimeoutError()]), True),
        (ExceptionGroup("", [ConnectionError(), ValueError()]), False),
        (BaseExceptionGroup("", [ConnectionError(), SystemExit()]), False),
    ],
)
def test_by_default_what_may_succeed_another_time_is_retried(error: ToolError | BaseException, again: bool) -> None:
    assert RetryPolicy().should_retry(error) is again


@requirement("retry.which")
def test_categories_and_exceptions_can_be_named() -> None:
    policy = RetryPolicy(retry_on=("conflict", Own))

    assert policy.should_retry(Own())
    assert policy.should_retry(ToolFailure("x", category="conflict"))
    assert policy.should_retry(failed("conflict"))
    assert not policy.should_retry(ConnectionError())
    assert not policy.should_retry(ToolFailure("x", category="transient"))
    assert RetryPolicy(retry_on=("internal",)).should_retry(Own())
    assert RetryPolicy().should_retry(Own(), transient=(Own,))


@requirement("retry.which")
def test_no_exception_type_that_is_named_lets_a_denial_be_asked_again() -> None:
    policy = RetryPolicy(retry_on=(Exception,))

    assert policy.should_retry(Own())
    assert not policy.should_retry(ToolFailure("x", category="permission"))
    assert not policy.should_retry(ToolFailure("x", category="internal", retryable=False))
    assert not policy.should_retry(ExecutionAborted())


@requirement("retry.definition")
@pytest.mark.parametrize(
    ("options", "field", "said"),
    [
        ({"attempts": 0}, "attempts", "from 1 on, not 0"),
        ({"attempts": 2.0}, "attempts", "from 1 on, not 2.0"),
        ({"delay": -1}, "delay", "from 0 on, not -1"),
        ({"delay": math.inf}, "delay", "not inf"),
        ({"max_delay": 0}, "max_delay", "above 0"),
        ({"backoff": "linear"}, "backoff", "'linear' is not one of fixed, exponential"),
        ({"jitter": True}, "jitter", "True is not one of full, none"),
        ({"retry_on": "transient"}, "retry_on", "must be a list"),
        ({"retry_on": ["transiend"]}, "retry_on[0]", "did you mean 'transient'?"),
        ({"retry_on": ["timeout", "permission"]}, "retry_on[1]", "is a decision"),
        ({"retry_on": [KeyboardInterrupt]}, "retry_on[0]", "is no kind of Exception"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(options: dict[str, object], field: str, said: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        cast("Callable[..., object]", RetryPolicy)(**options)

    assert (caught.value.subject, caught.value.field) == ("retry policy", field)
    assert said in caught.value.reason
