"""Each middleware around each kind of tool, in each place, at each door; and stopped at each of its awaits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from itertools import product
from typing import Final, cast

import pytest
import trio
import trio.testing

from armory_trio import (
    BindsToTools,
    CallNext,
    Chunks,
    Lifecycle,
    Middleware,
    MiddlewareCall,
    Risk,
    Supervisor,
    Tool,
    Toolbox,
    ToolBuilder,
    ToolCall,
    ToolContext,
    ToolFailure,
    ToolResult,
    define_tool,
    lazy,
    open_supervisor,
    tool,
)
from armory_trio.content import encode_content, words_for
from armory_trio.content.guardrails import Guard, Verdict
from armory_trio.content.truncation import Cap, ResultCaps
from armory_trio.middleware import (
    Cache,
    Fence,
    Guardrails,
    RateLimit,
    Retry,
    RetryPolicy,
    Timeout,
    Truncate,
    WarnOfDeprecated,
)
from armory_trio.testing import sample_toolbox
from tests.engine.cancelling import Probe, assert_unharmed, cancel_everywhere
from tests.engine.placement._tools import TOOLS
from tests.requirements import requirement

SCHEMA: Final[Mapping[str, object]] = {
    "type": "object",
    "properties": {"value": {}},
    "required": ["value"],
    "additionalProperties": False,
}
LIFECYCLE: Final = Lifecycle(deprecated=True)
RISK: Final = Risk(untrusted_output=True)
SMALL: Final = ResultCaps(result=Cap(bytes=400), error=Cap(bytes=400))


def say(value: object) -> object:
    return value


async def say_later(value: object) -> object:
    await trio.lowlevel.checkpoint()
    return value


def spell(value: object) -> Iterator[object]:
    yield value
    yield value


async def spell_later(value: object) -> AsyncIterator[object]:
    yield value
    yield value


async def say_input(given: Mapping[str, object]) -> object:
    return given["value"]


def _accept(given: Mapping[str, object]) -> bool:
    return "value" in given


def every_kind() -> dict[str, Tool[..., object]]:
    declared = tool(effect="read-only", lifecycle=LIFECYCLE, risk=RISK)
    return {
        "async": declared(say_later),
        "thread": declared(say),
        "inline": tool(effect="read-only", lifecycle=LIFECYCLE, risk=RISK, placement="task")(say),
        "generator": declared(spell),
        "async generator": declared(spell_later),
        "defined": define_tool(name="defined", execute=say_later, effect="read-only", lifecycle=LIFECYCLE, risk=RISK),
        "built": ToolBuilder("built").execute(say_later).effect("read-only").lifecycle(LIFECYCLE).risk(RISK).build(),
        "schema": define_tool(
            name="schema", input=SCHEMA, execute=say_input, effect="read-only", lifecycle=LIFECYCLE, risk=RISK
        ),
        "pair": define_tool(
            name="pair",
            input={"schema": SCHEMA, "validate": _accept},
            execute=say_input,
            effect="read-only",
            lifecycle=LIFECYCLE,
            risk=RISK,
        ),
        "lazy": define_tool(
            name="lazy",
            input=SCHEMA,
            execute=lazy(lambda: say_input),
            effect="read-only",
            lifecycle=LIFECYCLE,
            risk=RISK,
        ),
        "process": TOOLS["process"]["echo"],
    }


KINDS: Final = tuple(kind for kind in every_kind() if kind != "process")


async def _by_name(supervisor: Supervisor, call: ToolCall) -> ToolResult[object]:
    return await supervisor.execute(call)


async def _by_id(supervisor: Supervisor, call: ToolCall) -> ToolResult[object]:
    return await supervisor.execute(ToolCall(f"default:{call.name}", call.arguments))


async def _in_a_batch(supervisor: Supervisor, call: ToolCall) -> ToolResult[object]:
    [result] = await supervisor.execute_batch([call])
    return result


async def _started(supervisor: Supervisor, call: ToolCall) -> ToolResult[object]:
    return await supervisor.start(call).result()


async def _streamed(supervisor: Supervisor, call: ToolCall) -> ToolResult[object]:
    async with supervisor.stream(call) as stream:
        async for _ in stream:
            pass
    return stream.result


async def _nested(supervisor: Supervisor, call: ToolCall) -> ToolResult[object]:
    answered = await supervisor.execute(ToolCall("relay-all", {"name": call.name, "arguments": call.arguments}))
    return cast("ToolResult[object]", RELAYED.pop()) if answered.outcome == "success" else answered


RELAYED: Final[list[object]] = []


@tool(name="relay-all")
async def relay_all(name: str, arguments: dict[str, object], ctx: ToolContext) -> None:
    """Call another tool."""
    RELAYED.append(await ctx.call(name, arguments))


DOORS: Final = (_by_name, _by_id, _in_a_batch, _started, _streamed, _nested)
Door = Callable[[Supervisor, ToolCall], Awaitable[ToolResult[object]]]


async def through(
    door: Door, kind: str, *middleware: Middleware | BindsToTools, times: int = 1, value: object = 7
) -> list[str]:
    """Call a tool of *kind* so many times, and say how that ended; the box was extended and combined before."""
    made = every_kind()[kind]
    box = Toolbox([made], middleware=middleware).extend(relay_all.bound([_Nothing()]))
    box = Toolbox([]).extend(box.extend(box)).extend(made)
    async with open_supervisor(box) as supervisor:
        results = [await door(supervisor, ToolCall(made.name, {"value": value})) for _ in range(times)]
    return [result.error.code if result.error is not None else str(result.attempts) for result in results]


class _Nothing:
    def bind(self, _tool: object, /) -> None:
        return None


class Shown:
    """Puts into the place of a result, as a failure, how it looks further in."""

    async def __call__(self, call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        async def look(run: Callable[[], Awaitable[object]]) -> object:
            value = await run()
            text = words_for(ToolResult("", "", "", "success", content=encode_content(value)))
            words = "fenced" if "</untrusted-tool-output " in text else "at most 400 bytes"
            assert words == "fenced" or len(text.encode()) <= 400
            raise ToolFailure(words, code=words)

        if "generator" in call.tool.kind:
            return cast("Chunks", await call_next()).around(look)
        return await look(call_next)


def flagging(value: object) -> Verdict:
    """Flags whatever it sees."""
    return Verdict(value is not None, "seen", "it was seen")


class Failing:
    """Fails the first call of each number of calls, further in than what is tested."""

    def __init__(self) -> None:
        self.calls = 0

    async def __call__(self, call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        self.calls += 1
        if self.calls == 1:
            raise ToolFailure("not now", category="transient")
        return await call_next()


async def never(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
    await trio.sleep(10_000)
    return None


@requirement("middleware.everywhere")
@pytest.mark.parametrize(("kind", "door"), [*product(KINDS, DOORS), ("process", _by_name), ("process", _streamed)])
async def test_none_of_them_is_passed_by(kind: str, door: Door) -> None:
    told: list[str] = []
    streams = kind.endswith("generator")

    assert await through(door, kind, RateLimit(1, per=1000.0), times=2) == ["1", "RATE_LIMITED"]
    assert await through(door, kind, Retry(), Failing()) == ["1"]
    assert await through(door, kind, Timeout(0.001), never) == ["TIMEOUT"]
    assert await through(door, kind, Guardrails(arguments=Guard(detectors=[flagging]))) == ["GUARDRAIL_BLOCKED"]
    assert await through(door, kind, Guardrails(results=Guard(detectors=[flagging]))) == ["GUARDRAIL_BLOCKED"]
    assert await through(door, kind, Shown(), Truncate(SMALL), value="x" * 5000) == ["at most 400 bytes"]
    if kind != "process":
        assert await through(door, kind, Cache(), times=2) == ["1", "1" if streams else "0"]
        assert await through(door, kind, WarnOfDeprecated(lambda call, words: told.append(call.tool.name))) == ["1"]
        assert told == [every_kind()[kind].name]
        assert await through(door, kind, Shown(), Fence(), value="words") == ["fenced"]


@requirement("middleware.everywhere")
async def test_all_of_them_together_are_bound_once() -> None:
    limit, cache, told = RateLimit(2, per=1000.0), Cache(), list[str]()
    warn = WarnOfDeprecated(lambda call, words: told.append(call.id))
    codes = await through(_by_name, "async", warn, Timeout(5.0), limit, Retry(), cache, times=3)

    assert codes == ["1", "0", "RATE_LIMITED"]
    assert len(told) == 3


# -- stopped at each await


def flaky() -> Tool[..., object]:
    left = [ConnectionError(), ConnectionError()]

    @tool(effect="read-only", name="flaky", lifecycle=LIFECYCLE, risk=RISK)
    async def attempt(seconds: float = 1.0) -> str:
        await trio.sleep(seconds)
        if left:
            raise left.pop()
        return "there"

    return attempt


async def slow(value: object) -> Verdict:
    """Takes its time, and has no objections."""
    await trio.sleep(1)
    return Verdict(value is None, "none", "there is something")


def _middleware(which: str) -> list[Middleware | BindsToTools]:
    retry = Retry(RetryPolicy(3, delay=1.0, jitter="none"))
    limit = RateLimit(1, per=5.0, max_wait=None)
    guard = Guard(detectors=[slow])
    stacks: dict[str, list[Middleware | BindsToTools]] = {
        "timeout": [Timeout(30.0), retry],
        "retry": [retry],
        "rate limit": [limit, retry],
        "rate limit inside": [retry, limit],
        "cache": [Cache(), retry],
        "deprecation": [WarnOfDeprecated(), retry],
        "guardrails": [Guardrails(arguments=guard, results=guard), retry],
        "fence": [Fence(), Truncate(), retry],
        "all": [Fence(), Guardrails(arguments=guard, results=guard), Timeout(60.0), Cache(), retry, limit, Truncate()],
    }
    return stacks[which]


@requirement("middleware.cancelled-at-every-await")
@pytest.mark.parametrize(
    "which",
    ["timeout", "retry", "rate limit", "rate limit inside", "cache", "deprecation", "guardrails", "fence", "all"],
)
def test_each_of_them_can_be_stopped_at_each_of_its_awaits(which: str) -> None:
    async def case(probe: Probe) -> None:
        async def stopping(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
            return "stopped" if await probe.run(call_next) else "went on"

        box = Toolbox([flaky()], middleware=[_Once(stopping), *_middleware(which)])
        async with open_supervisor(box.extend(*(each.bound([_Nothing()]) for each in sample_toolbox()))) as supervisor:
            execution = supervisor.start(ToolCall("flaky"))
            await trio.testing.wait_all_tasks_blocked()
            second = supervisor.start(ToolCall("flaky"))
            results = await execution.result(), await second.result()
            assert [result.outcome for result in results] == ["success", "success"]
            assert results[0].effect == "none"
            assert "there" in results[1].text
            await assert_unharmed(supervisor)

    assert cancel_everywhere(case) >= 3


class _Once:
    """Stands around the first call only."""

    def __init__(self, inner: Middleware) -> None:
        self.inner: Middleware | None = inner

    async def __call__(self, call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        inner, self.inner = self.inner, None
        return await (call_next() if inner is None else inner(call, ctx, call_next))
