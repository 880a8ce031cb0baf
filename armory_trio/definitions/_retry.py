"""The one retry policy: whether a failed call is tried once more, and when. It waits for nothing itself."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from typing import Final, Literal, cast

import attrs

from ..errors import ArmoryError, DefinitionError
from ._call import DEFAULT_CODES, Category, ToolError, ToolExecutionError, ToolFailure
from ._checks import count, one_of, seconds, shown

Backoff = Literal["fixed", "exponential"]
Jitter = Literal["full", "none"]
RetryOn = Iterable[Category | type[Exception]]

_SUBJECT: Final = "retry policy"
_NEVER: Final = frozenset[Category](("validation", "permission", "cancelled"))
"""To ask again would be to argue with a decision: these are not retried, whoever asks for it."""

_TRANSIENT: Final = (ConnectionError, TimeoutError)
"""Exceptions that count as ``transient``, as in a result."""


def _retry_on(value: RetryOn) -> tuple[Category | type[Exception], ...]:
    given = cast("object", value)
    if not isinstance(given, Iterable) or isinstance(given, str | bytes):
        reason = f"must be a list of categories and exception types, such as ('transient',), not {shown(given)}"
        raise DefinitionError(_SUBJECT, "retry_on", reason)
    found = tuple(value)
    for index, each in enumerate(found):
        _check_reason(f"retry_on[{index}]", each)
    return found


def _check_reason(field: str, each: object) -> None:
    if isinstance(each, type):
        if not issubclass(each, Exception):
            raise DefinitionError(_SUBJECT, field, f"{each.__name__} is no kind of Exception, so it is no failure")
        return
    one_of(_SUBJECT, field, each, DEFAULT_CODES)
    if each in _NEVER:
        raise DefinitionError(_SUBJECT, field, f"{each} is a decision, and is never retried")


@attrs.frozen
class RetryPolicy:
    """How often, when and after which failures a call is tried once more.

    Only what may succeed another time is retried: never invalid arguments, a refusal or a cancellation, never a
    failure that says ``retryable=False``. A failure may say in its details how long to wait, as ``retry_after``.

    Args:
        attempts: How many attempts there are in all, the first one included.
        delay: Seconds before the second attempt.
        backoff: ``fixed`` waits as long each time, ``exponential`` twice as long as the time before.
        max_delay: The longest wait in seconds, or None for no bound. A failure that asks for more is not retried.
        jitter: ``full`` waits for a random part of the delay, so that many who failed together do not come back
            together; ``none`` for all of it.
        retry_on: Categories and exception types that are retried. A failure that says ``retryable=True`` is one, too.

    Raises:
        DefinitionError: An argument is out of its range.
    """

    attempts: int = 3
    delay: float = attrs.field(default=0.0, kw_only=True)
    backoff: Backoff = attrs.field(default="fixed", kw_only=True)
    max_delay: float | None = attrs.field(default=None, kw_only=True)
    jitter: Jitter = attrs.field(default="full", kw_only=True)
    retry_on: tuple[Category | type[Exception], ...] = attrs.field(
        default=("transient", "timeout"), kw_only=True, converter=_retry_on
    )

    def __attrs_post_init__(self) -> None:
        count(_SUBJECT, "attempts", self.attempts)
        seconds(_SUBJECT, "delay", self.delay, zero=True)
        one_of(_SUBJECT, "backoff", self.backoff, ("fixed", "exponential"))
        one_of(_SUBJECT, "jitter", self.jitter, ("full", "none"))
        if self.max_delay is not None:
            seconds(_SUBJECT, "max_delay", self.max_delay, zero=False, optional=True)

    def delay_before(
        self, attempt: int, random: Callable[[], float], error: ToolError | BaseException | None = None
    ) -> float:
        """Seconds to wait before attempt number *attempt*, which is 2 for the first repetition.

        Args:
            attempt: From 2 on.
            random: Answers a number from 0 up to 1, such as ``random.Random(seed).random``.
            error: How the last attempt failed. The ``retry_after`` that it names is the shortest wait.
        """
        delay = self.delay
        if self.backoff == "exponential" and delay:
            delay = _doubled(delay, attempt - 2)
        if self.max_delay is not None:
            delay = min(delay, self.max_delay)
        if self.jitter == "full" and delay:
            delay *= random()
        return max(delay, _retry_after(error) or 0.0)

    def should_retry(
        self, error: ToolError | BaseException, *, transient: tuple[type[BaseException], ...] = ()
    ) -> bool:
        """Whether a call that failed with *error* may be tried once more, if there are attempts left.

        Of a group, all members have to be such failures. What the failed attempt did is not known here: ask before
        whether its effect was ``none``.

        Args:
            error: The error of a result, or what a tool raised.
            transient: Exception types that count as ``transient``, beside `ConnectionError` and `TimeoutError`.
        """
        if isinstance(error, BaseExceptionGroup):
            members = cast("BaseExceptionGroup[BaseException]", error).exceptions
            return all(self.should_retry(member, transient=transient) for member in members)
        if isinstance(error, ToolExecutionError):
            inner = error.result.error
            return inner is not None and self.should_retry(inner)
        asked = _retry_after(error)
        if asked is not None and asked > (sys.float_info.max if self.max_delay is None else self.max_delay):
            return False
        if isinstance(error, ToolError | ToolFailure):
            return self._should_retry_failure(error)
        if isinstance(error, ArmoryError) or not isinstance(error, Exception):
            return False  # it was told to stop, or may not go on
        category: Category = "transient" if isinstance(error, (*_TRANSIENT, *transient)) else "internal"
        return category in self.retry_on or self._names(error)

    def _should_retry_failure(self, error: ToolError | ToolFailure) -> bool:
        if error.category in _NEVER:
            return False
        if isinstance(error, ToolError) and not error.retryable:
            return error.category not in ("transient", "timeout") and error.category in self.retry_on
        if error.retryable is not None:
            return error.retryable
        return error.category in self.retry_on or self._names(error)

    def _names(self, error: object) -> bool:
        return any(isinstance(each, type) and isinstance(error, each) for each in self.retry_on)


def _doubled(delay: float, times: int) -> float:
    try:
        return math.ldexp(delay, times)
    except OverflowError:
        return math.inf


def _retry_after(error: object) -> float | None:
    if isinstance(error, ToolExecutionError):
        error = error.result.error
    if not isinstance(error, ToolError | ToolFailure) or error.details is None:
        return None
    asked = error.details.get("retry_after")
    if isinstance(asked, bool) or not isinstance(asked, int | float) or not asked > 0:
        return None
    return asked
