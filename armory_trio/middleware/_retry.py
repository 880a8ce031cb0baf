"""Trying once more what failed for a while."""

from __future__ import annotations

from random import Random
from typing import Final, cast

import trio

from ..definitions import CallNext, Middleware, MiddlewareCall, ToolContext, WrappedTool
from ..definitions._checks import shown
from ..definitions._retry import RetryPolicy
from ..errors import DefinitionError
from ._holding import Run, hold_all

_TRANSIENT: Final = (trio.TooSlowError, trio.BrokenResourceError)
"""What counts as ``transient`` in a result and is unknown outside of trio."""

_LOOKS_EVERY: Final = 0.5
"""Seconds of a wait after which it looks whether another attempt is still wanted: a drain shall not wait for that."""


class Retry:
    """Tries a call again that failed as its policy says, if its effect so far is ``none``.

    Whatever its effect, what failed as ``transient`` or ``timeout`` is tried again if the tool declares
    ``idempotency="provider-enforced"`` and the call has a key: the far side does it once. The last attempt that was
    answered then says what became of it.

    There is no other attempt once the call was asked to stop or the supervisor takes no new work, and none of a stream
    of which a reader has seen something; the failure then stands. All attempts are one execution with one timeout,
    which the waits between them count against; ``attempts`` in its result says how often the tool was entered.

    Args:
        policy: How often, when and after which failures.
        seed: Makes the random part of the waits the same each time, for tests.

    Raises:
        DefinitionError: *policy* is no `RetryPolicy`, or *seed* no whole number.
    """

    __slots__ = ("_policy", "_random")

    def __init__(self, policy: RetryPolicy | None = None, *, seed: int | None = None) -> None:
        self._policy = _policy(policy)
        if seed is not None and not isinstance(cast("object", seed), int):
            raise DefinitionError("middleware Retry", "seed", f"must be a whole number, not {shown(seed)}")
        self._random = Random(seed)  # noqa: S311  # it spreads waits, and keeps no secrets

    def __repr__(self) -> str:
        return f"<Retry {self._policy.attempts} attempts>"

    def bind(self, _tool: WrappedTool, /) -> Middleware | None:
        """As `BindsToTools.bind`."""
        return self._stand if self._policy.attempts > 1 else None

    async def _stand(self, _call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        return await hold_all(call_next, _Attempts(self._policy, self._random, ctx, call_next).run)


def _policy(given: object) -> RetryPolicy:
    if given is not None and not isinstance(given, RetryPolicy):
        raise DefinitionError("middleware Retry", "policy", f"must be a RetryPolicy, not {shown(given)}")
    return given or RetryPolicy()


class _Attempts:
    """The attempts of one call."""

    __slots__ = ("_call_next", "_ctx", "_policy", "_random", "_tried")

    def __init__(self, policy: RetryPolicy, random: Random, ctx: ToolContext, call_next: CallNext) -> None:
        self._policy = policy
        self._random = random
        self._ctx = ctx
        self._call_next = call_next
        self._tried = 0

    async def run(self, run: Run) -> object:
        while True:
            try:
                return await run()
            except Exception as exc:  # noqa: BLE001  # raised below, if it stands
                failure = exc
            self._tried += 1
            if not self._may_go_on(failure) or not await self._wait_after(failure):
                raise failure

    def _may_go_on(self, failure: Exception) -> bool:
        return (
            self._tried < self._policy.attempts
            and self._call_next.may_repeat
            and self._policy.should_retry(failure, transient=_TRANSIENT)
        )

    async def _wait_after(self, failure: Exception) -> bool:
        """Wait as long as the policy says, and say whether another attempt is still wanted then."""
        attempt = self._tried + 1
        delay = self._policy.delay_before(attempt, self._random.random, failure)
        until = trio.current_time() + delay
        async with self._ctx.waiting(f"attempt {attempt} of {self._policy.attempts}"):
            while self._call_next.may_repeat:
                left = until - trio.current_time()
                await trio.sleep(min(max(left, 0.0), _LOOKS_EVERY))
                if left <= _LOOKS_EVERY:
                    break
        return self._call_next.may_repeat
