"""A tool that is called again when it failed in passing."""

from __future__ import annotations

import random as _random
from collections.abc import Callable, Mapping
from typing import Final, ParamSpec, TypeVar, Unpack, cast

import trio

from ..definitions import Tool, ToolContext, ToolResult
from ..definitions._checks import instance, shown
from ..definitions._options import refuse_unknown
from ..definitions._retry import RetryPolicy
from ..errors import DefinitionError
from ._composing import AnyTool, Recipe, compose, positional_of, require_tool
from ._mapping import wrapper_words
from ._steps import run_step, stop_if_asked, value_or_failure
from ._united import Naming

P = ParamSpec("P")
R = TypeVar("R")


class RetryNaming(Naming, total=False):
    """`Naming`, and where the jitter comes from: ``random`` answers a number from 0 up to 1."""

    random: Callable[[], float]


def retry(tool: Tool[P, R], policy: RetryPolicy | None = None, /, **naming: Unpack[RetryNaming]) -> Tool[P, R]:
    """A tool that calls *tool* again when it failed in passing. Each attempt is a call of its own.

    What *policy* says may be retried is, but never when the failed attempt may have changed something (its effect is
    not ``none``), when the supervisor drains, or when the wait would outlast the deadline; the last failure is then
    the failure of the whole, as it is. Events ``retry`` tell of each attempt that follows.

    Cancelled: *tool* is, or the wait ends.

    Args:
        tool: The tool.
        policy: How often, when and after which categories; by default three attempts without a pause.
        naming: See `RetryNaming`.

    Raises:
        DefinitionError: Something is no tool or no policy, or the policy names exceptions: a call ends with a category.
    """
    require_tool("retry", "tool", tool)
    refuse_unknown("retry", naming, RetryNaming.__annotations__)
    instance("retry", "policy", policy, RetryPolicy)
    rules = policy or RetryPolicy()
    for each in rules.retry_on:
        if isinstance(each, type):
            reason = f"names the exception {each.__name__}, but a call ends with a category, such as 'internal'"
            raise DefinitionError("retry", "policy.retry_on", reason)
    source = naming.pop("random", _RANDOM)
    if not callable(cast("object", source)):
        raise DefinitionError("retry", "random", f"must be a function that answers a number, not {shown(source)}")
    body = _Retry(tool, rules, source).run
    recipe = Recipe(word="retry", parts=(tool,), words=wrapper_words("retry", tool), naming=naming, answers=(tool,))
    return cast("Tool[P, R]", compose(recipe, tool.contract, body, positional=positional_of(tool)))


_RANDOM: Final = _random.random


class _Retry:
    __slots__ = ("_policy", "_random", "_tool")

    def __init__(self, tool: AnyTool, policy: RetryPolicy, random: Callable[[], float]) -> None:
        self._tool = tool
        self._policy = policy
        self._random = random

    async def run(self, arguments: Mapping[str, object], ctx: ToolContext) -> object:
        attempt = 1
        while True:
            result = await run_step(ctx, self._tool, arguments, f"attempt-{attempt}")
            attempt += 1
            delay = self._delay_before(attempt, result, ctx)
            if delay is None:
                return value_or_failure(result)
            ctx.emit("retry", {"attempt": attempt, "delay": delay, "error": result.error})
            if delay:
                await self._wait(ctx, attempt, delay)
            if ctx.draining:
                return value_or_failure(result)

    def _delay_before(self, attempt: int, result: ToolResult[object], ctx: ToolContext) -> float | None:
        """Seconds to wait before *attempt*; None when there is to be none."""
        error = result.error
        if error is None or result.effect != "none" or attempt > self._policy.attempts or ctx.draining:
            return None
        if not self._policy.should_retry(error):
            return None
        delay = self._policy.delay_before(attempt, self._random, error)
        in_time = ctx.deadline is None or trio.current_time() + delay < ctx.deadline
        return delay if in_time else None

    async def _wait(self, ctx: ToolContext, attempt: int, delay: float) -> None:
        async with ctx.waiting(f"attempt {attempt} of {self._policy.attempts}"):
            with trio.move_on_after(delay):
                await ctx.wait_abort_requested()
        stop_if_asked(ctx)
