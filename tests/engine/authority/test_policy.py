"""Which capabilities are left, what hooks find, and that no way in leads past the rules."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final, cast

import msgspec
import pytest
import trio
import trio.testing

from armory_trio import (
    ApprovalRequest,
    RequestContext,
    Supervisor,
    Tool,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolResult,
    open_supervisor,
    tool,
)
from armory_trio.authority.policy import (
    Allow,
    Ask,
    BeforeExecute,
    Deny,
    PolicyRequest,
)
from armory_trio.composition import bind, parallel, pipe, postprocess, preprocess, retry, tap, when
from armory_trio.integrations.asyncio_host import open_asyncio_host
from tests.integrations.loops import run_on_asyncio
from tests.requirements import requirement

from .policies import ANN, Deciding, always, end_of, look, run

READ_WRITE: Final = frozenset(("read", "write"))
CAPABLE: Final = msgspec.structs.replace(ANN, capabilities=READ_WRITE)

# -- narrowing


class Narrowing:
    """A tool that calls another one, and notes what each of all those who see a context sees of it."""

    def __init__(self, left: frozenset[str] | None, *, by: str = "allow") -> None:
        self.seen: dict[str, list[frozenset[str] | None]] = {}
        answer = Ask("?", capabilities=left) if by == "ask" else Allow(left)

        @tool(policy=self._hook("inner's", None))
        async def inner(ctx: ToolContext) -> None:
            await trio.lowlevel.checkpoint()
            self._note("inner", ctx.request_context)

        @tool(policy=self._hook("outer's", None))
        async def outer(ctx: ToolContext) -> str:
            self._note("outer", ctx.request_context)
            return end_of(await ctx.call("inner", {}))

        def narrow(request: PolicyRequest) -> object:
            self._note(f"before {request.tool_name}", request.request_context)
            return answer if request.tool_name == "outer" else None

        self.toolbox = Toolbox([inner, outer], policy=narrow)

    def _hook(self, who: str, answer: object) -> BeforeExecute:
        def hook(request: PolicyRequest) -> object:
            self._note(who, request.request_context)
            return answer

        return hook

    def _note(self, who: str, context: RequestContext | None) -> None:
        self.seen.setdefault(who, []).append(None if context is None else context.capabilities)

    async def run(self, context: RequestContext | None) -> ToolResult[object]:
        async with open_supervisor(self.toolbox, approval_handler=always_yes) as supervisor:
            return await supervisor.execute(ToolCall("outer"), request_context=context)


def always_yes(request: ApprovalRequest) -> bool:
    return True


@requirement("policing.narrowing")
@pytest.mark.parametrize("by", ["allow", "ask"])
async def test_what_the_toolboxs_hook_takes_away_is_gone_for_all_who_come_later(by: str) -> None:
    world = Narrowing(frozenset(("read", "fly")), by=by)
    result = await world.run(CAPABLE)
    left = frozenset(("read",))
    again = 2 if by == "ask" else 1

    assert result.value == "success"
    assert world.seen == {
        "before outer": [READ_WRITE] * again,
        "outer's": [left] * again,
        "outer": [left],
        "before inner": [left],
        "inner's": [left],
        "inner": [left],
    }


@requirement("policing.narrowing")
async def test_a_hook_gives_no_capability_to_whom_the_host_gave_none() -> None:
    nothing_said, none_at_all = Narrowing(READ_WRITE), Narrowing(READ_WRITE)
    await nothing_said.run(ANN)
    await none_at_all.run(None)

    assert nothing_said.seen["outer"] == nothing_said.seen["inner"] == [frozenset()]
    assert none_at_all.seen["outer"] == none_at_all.seen["inner"] == [None]


@requirement("policing.narrowing")
async def test_a_hook_that_says_nothing_leaves_everything_as_it_was() -> None:
    world = Narrowing(None)
    await world.run(CAPABLE)

    assert {who: seen for who, [seen] in world.seen.items()} == dict.fromkeys(world.seen, READ_WRITE)


@requirement("policing.narrowing")
async def test_the_tools_hook_takes_away_from_what_the_toolboxs_left() -> None:
    seen: list[frozenset[str] | None] = []

    @tool(policy=always(Allow(frozenset(("write", "fly")))))
    async def act(ctx: ToolContext) -> None:
        await trio.lowlevel.checkpoint()
        assert ctx.request_context is not None
        seen.append(ctx.request_context.capabilities)

    for left in (frozenset(("read",)), frozenset(("write",)), READ_WRITE):
        toolbox = Toolbox([act], policy=always(Allow(left)))
        async with open_supervisor(toolbox, default_request_context=CAPABLE) as supervisor:
            await supervisor.execute(ToolCall("act"))

    assert seen == [frozenset(), frozenset(("write",)), frozenset(("write",))]


@requirement("policing.narrowing")
async def test_a_nested_call_can_not_take_back_what_was_taken_away(autojump_clock: trio.testing.MockClock) -> None:
    @tool
    async def outer(ctx: ToolContext) -> str:
        supervisor = supervisors[0]
        inner = await supervisor.execute(ToolCall("look"), request_context=RequestContext(capabilities=READ_WRITE))
        return end_of(inner)

    supervisors: list[Supervisor] = []
    policy = Deciding(lambda request: Allow(frozenset(("read",))) if request.tool_name == "outer" else None)
    async with open_supervisor(Toolbox([outer, look], policy=policy)) as supervisor:
        supervisors.append(supervisor)
        result = await supervisor.execute(ToolCall("outer"), request_context=CAPABLE)

    contexts = {request.tool_name: cast("RequestContext", request.request_context) for request in policy.asked}
    assert result.value == "success"
    assert contexts["look"].capabilities == frozenset(("read",))


# -- the policy context


@requirement("policing.context")
async def test_hooks_find_the_toolboxs_context_and_the_tools_where_the_tools_wins() -> None:
    own, shared = Deciding(always(None), "tool"), Deciding(always(None))
    kept = object()

    @tool(policy=own, policy_context={"who": "tool", "own": kept})
    async def act(who: str = "caller") -> None:
        await trio.lowlevel.checkpoint()

    toolbox = Toolbox([act, look], policy=shared, policy_context=lambda: {"who": "toolbox", "shared": 1})
    async with open_supervisor(toolbox) as supervisor:
        await supervisor.execute(ToolCall("act"))
        await supervisor.execute(ToolCall("look"))

    assert own.asked[0].context == shared.asked[0].context == {"who": "tool", "shared": 1, "own": kept}
    assert own.asked[0].context["own"] is kept
    assert shared.asked[1].context == {"who": "toolbox", "shared": 1}
    assert own.heard[0][0].context == shared.asked[0].context


@requirement("policing.context")
async def test_a_function_is_asked_for_the_context_of_each_call() -> None:
    numbers = iter(range(10))
    policy = Deciding(always(None))
    toolbox = Toolbox([look], policy=policy, policy_context=lambda: {"number": next(numbers)})
    async with open_supervisor(toolbox) as supervisor:
        for _ in range(3):
            await supervisor.execute(ToolCall("look"))

    assert [request.context["number"] for request in policy.asked] == [0, 1, 2]


def _broken() -> Mapping[str, object]:
    raise LookupError("password=hunter2")


@requirement("policing.context")
@pytest.mark.parametrize("whose", ["toolbox", "tool"])
@pytest.mark.parametrize(
    "context", [_broken, lambda: 5, lambda: [("who", "ann")]], ids=["raises", "a number", "a list"]
)
async def test_a_function_that_fails_to_answer_denies(whose: str, context: Callable[[], Mapping[str, object]]) -> None:
    policy = Deciding(always(None))
    ran: list[int] = []

    @tool(policy_context=context if whose == "tool" else None)
    async def act() -> None:
        await trio.lowlevel.checkpoint()
        ran.append(1)

    toolbox = Toolbox([act], policy=policy, policy_context=context if whose == "toolbox" else None)
    result = await run(toolbox, "act")

    assert (end_of(result), result.effect, ran) == ("POLICY_DENIED", "none", [])
    assert "hunter2" not in result.text
    assert policy.asked == [] == policy.heard


@requirement("policing.context")
async def test_nothing_that_a_caller_says_gets_into_the_policy_context() -> None:
    policy = Deciding(always(None))

    @tool
    async def act(context: dict[str, object], role: str = "guest") -> None:
        await trio.lowlevel.checkpoint()

    @tool
    async def caller(ctx: ToolContext) -> None:
        await ctx.call("act", {"context": {"role": "admin"}, "role": "admin"})

    toolbox = Toolbox([act, caller], policy=policy, policy_context={"role": "guest"})
    async with open_supervisor(toolbox) as supervisor:
        await supervisor.execute(
            ToolCall("act", {"context": {"role": "admin"}, "role": "admin"}),
            metadata={"role": "admin", "context": {"role": "admin"}},
            owner_id="admin",
            request_context=RequestContext(principal="role=admin"),
        )
        await supervisor.execute(ToolCall("caller"))

    assert [dict(request.context) for request in policy.asked] == [{"role": "guest"}] * 3


# -- every way in


class Step:
    """A tool that is a step of others, and counts how often it ran."""

    def __init__(self) -> None:
        self.ran = 0

        @tool(policy=always(None))
        async def step(n: int) -> int:
            """Go one step."""
            await trio.lowlevel.checkpoint()
            self.ran += 1
            return n

        self.tool: Tool[..., int] = step


def by_name(step: Tool[..., int]) -> Tool[..., object]:
    @tool(name="composed")
    async def caller(n: int, ctx: ToolContext) -> object:
        return (await ctx.call("step", {"n": n})).unwrap()

    return caller


def by_object(step: Tool[..., int]) -> Tool[..., object]:
    @tool(name="composed")
    async def caller(n: int, ctx: ToolContext) -> object:
        return (await ctx.call(step, {"n": n})).unwrap()

    return caller


@tool
async def number(n: int) -> int:
    """Answer what it got."""
    await trio.lowlevel.checkpoint()
    return n


def yes(_: object) -> bool:
    return True


def no(_: object) -> bool:
    return False


def same(given: object) -> object:
    return given


COMPOSED: Final[dict[str, Callable[[Tool[..., int]], Tool[..., object]]]] = {
    "ctx.call by name": by_name,
    "ctx.call by object": by_object,
    "pipe, first": lambda step: pipe(step, number, name="composed"),
    "pipe, last": lambda step: pipe(number, step, name="composed"),
    "parallel": lambda step: parallel({"one": step, "two": number}, name="composed"),
    "when": lambda step: when(yes, step, name="composed"),
    "when not": lambda step: when(no, number, step, name="composed"),
    "retry": lambda step: retry(step, name="composed"),
    "tap": lambda step: tap(step, same, name="composed"),
    "tap, observing": lambda step: tap(number, step, name="composed"),
    "bind": lambda step: bind(step, {"n": 1}, name="composed"),
    "preprocess": lambda step: preprocess(step, same, name="composed"),
    "postprocess": lambda step: postprocess(step, str, name="composed"),
    "a pipe in a pipe": lambda step: pipe(pipe(number, step, name="within"), number, name="composed"),
}


@requirement("policing.doors")
@pytest.mark.parametrize("how", COMPOSED)
@pytest.mark.parametrize("denied", [True, False], ids=["denied", "allowed"])
async def test_a_step_of_a_composed_tool_is_judged_like_any_call(how: str, denied: bool) -> None:
    step = Step()
    policy = Deciding(lambda request: Deny("not that step") if denied and request.tool_name == "step" else None)
    composed = COMPOSED[how](step.tool)
    tools = [composed, step.tool] if "name" in how else [composed]
    async with open_supervisor(Toolbox(tools, policy=policy)) as supervisor:
        result = await supervisor.execute(ToolCall("composed", {} if how == "bind" else {"n": 1}))

    assert [request.tool_name for request in policy.asked].count("step") == 1
    assert [
        end for (request, _), end in zip(policy.heard, policy.ends, strict=True) if request.tool_name == "step"
    ] == ["POLICY_DENIED" if denied else "success"]
    assert step.ran == (0 if denied else 1)
    assert result.outcome == ("error" if denied and how != "tap, observing" else "success")


Way = Callable[[Supervisor, ToolCall], Awaitable[ToolResult[object]]]


async def _streamed(supervisor: Supervisor, call: ToolCall) -> ToolResult[object]:
    async with supervisor.stream(call) as stream:
        async for _ in stream:
            pass
    assert stream.result is not None
    return stream.result


async def _batch(supervisor: Supervisor, call: ToolCall, *, in_order: bool) -> ToolResult[object]:
    [result] = await supervisor.execute_batch([call], mode="sequential" if in_order else "parallel")
    return result


WAYS: Final[dict[str, Way]] = {
    "execute": lambda supervisor, call: supervisor.execute(call),
    "start": lambda supervisor, call: supervisor.start(call).result(),
    "stream": _streamed,
    "execute_batch": partial(_batch, in_order=False),
    "execute_batch in order": partial(_batch, in_order=True),
}


@requirement("policing.doors")
@pytest.mark.parametrize("whose", ["toolbox", "tool"])
@pytest.mark.parametrize("way", WAYS)
async def test_every_way_in_is_judged(way: str, whose: str) -> None:
    step = Step()
    policy = Deciding(always(Deny("no")))
    denied = tool(name="step", description="x", policy=policy if whose == "tool" else None)(step.tool.function)
    toolbox = Toolbox([denied], policy=policy if whose == "toolbox" else None)
    async with open_supervisor(toolbox) as supervisor:
        result = await WAYS[way](supervisor, ToolCall("step", {"n": 1}, "call-1"))

    assert (end_of(result), step.ran) == ("POLICY_DENIED", 0)
    assert [request.call_id for request in policy.asked] == ["call-1"]


@requirement("policing.doors")
async def test_a_hosts_direct_call_of_its_own_function_is_judged_by_nobody() -> None:
    step = Step()
    policy = Deciding(always(Deny("no")))
    async with open_supervisor(Toolbox([step.tool], policy=policy)) as supervisor:
        assert await step.tool(1) == 1
        assert (await supervisor.run_directly(step.tool, {"n": 1})).value == 1

    assert policy.asked == [] == policy.heard


@requirement("policing.doors")
def test_an_asyncio_program_is_held_to_the_same_rules() -> None:
    step = Step()
    policy = Deciding(lambda request: request.arguments["n"] == 1)

    async def main() -> list[str]:
        async with open_asyncio_host(Toolbox([step.tool], policy=policy)) as host:
            return [end_of(await host.execute(ToolCall("step", {"n": n}))) for n in (1, 2)]

    assert run_on_asyncio(main) == ["success", "POLICY_DENIED"]
    assert step.ran == 1
