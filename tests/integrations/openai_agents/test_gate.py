"""Tools of others behind the rules of a host's toolbox."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from typing import Final, cast

import pytest
import trio
from agents import (
    FunctionTool,
    RunContextWrapper,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrailData,
    WebSearchTool,
    function_tool,
    tool_input_guardrail,
)
from agents.items import TResponseOutputItem

from armory_trio import (
    Ask,
    CallOptions,
    DefinitionError,
    Deny,
    Edit,
    Gates,
    LiveToolbox,
    PolicyRequest,
    RequestContext,
    Toolbox,
)
from armory_trio.authority import ApprovalPolicy
from armory_trio.definitions import EffectSpec
from armory_trio.integrations.asyncio_host import AsyncioHost, open_asyncio_host
from armory_trio.integrations.openai_agents import gate_tools
from tests.integrations.loops import run_on_asyncio
from tests.integrations.openai_agents.runs import agent_of, asks, in_call, outputs, run_agent
from tests.integrations.workshop import BANK, WHO, Rules
from tests.requirements import requirement

DISK: Final[EffectSpec] = {"class": "destructive", "targets": [{"kind": "other", "id": "disk"}]}


class Foreign:
    """Function tools that are not ours, and what they did."""

    def __init__(self) -> None:
        self.did: list[str] = []

        @function_tool
        async def look(what: str = "around") -> str:
            """Look."""
            self.did.append(f"looked {what}")
            return f"nothing {what}"

        @function_tool
        async def wipe(disk: str) -> str:
            """Wipe a disk."""
            self.did.append(f"wiped {disk}")
            return f"wiped {disk}"

        self.look: FunctionTool = look
        self.wipe: FunctionTool = wipe


LOOK: Final = asks("look", {"what": "up"}, "look-1")
WIPE: Final = asks("wipe", {"disk": "a"}, "wipe-1")
EFFECTS: Final[Mapping[str, EffectSpec]] = {"look": "read-only", "wipe": DISK}


async def said_of(tools: list[FunctionTool], *calls: TResponseOutputItem) -> dict[str, str]:
    agent, _ = agent_of(tools, calls)
    return {call: str(said) for call, said in outputs(await run_agent(agent)).items()}


def gated(
    host: AsyncioHost,
    foreign: Foreign,
    options: Callable[[RunContextWrapper[RequestContext]], CallOptions] | None = None,
    *,
    interrupt: bool = False,
) -> list[FunctionTool]:
    return gate_tools(host, [foreign.look, foreign.wipe], effects=EFFECTS, options=options, interrupt=interrupt)


def not_today(_: PolicyRequest) -> Deny:
    return Deny("not today")


def otherwise(_: PolicyRequest) -> Edit:
    return Edit({})


def broken(_: PolicyRequest) -> None:
    raise RuntimeError("password=hunter2")


def nothing(_: PolicyRequest) -> None:
    return None


def no_mapping() -> Mapping[str, object]:
    return cast("Mapping[str, object]", 7)


@requirement("agents.gate")
@pytest.mark.parametrize(
    ("rules", "looked", "wiped"),
    [
        pytest.param({}, "nothing up", "wiped a", id="no rules"),
        pytest.param({"gates": Gates(read_only=True)}, "nothing up", "this session does not allow", id="read-only"),
        pytest.param({"gates": Gates(allow_dangerous=False)}, "nothing up", "does not allow such", id="no danger"),
        pytest.param({"approval_policy": ApprovalPolicy("deny")}, "by policy", "by policy", id="all denied"),
        pytest.param({"approval_policy": ApprovalPolicy()}, "nothing up", "nobody here to ask", id="asked about"),
        pytest.param({"policy": not_today}, "not today", "not today", id="a hook"),
        pytest.param({"policy": otherwise}, "wants other arguments", "other arguments", id="an edit"),
        pytest.param({"policy": broken}, "by policy", "by policy", id="a broken hook"),
        pytest.param(
            {"policy_context": no_mapping, "policy": nothing}, "by policy", "by policy", id="a broken context"
        ),
    ],
)
def test_the_rules_of_the_toolbox_decide_about_tools_of_others(rules: Rules, looked: str, wiped: str) -> None:
    async def main() -> None:
        foreign = Foreign()
        async with open_asyncio_host(Toolbox([], **rules)) as host:
            said = await said_of(gated(host, foreign), LOOK, WIPE)
            assert looked in said["look-1"]
            assert wiped in said["wipe-1"]
            for call, did, mark in (("look-1", "looked up", "nothing up"), ("wipe-1", "wiped a", "wiped a")):
                assert (did in foreign.did) is (said[call] == mark)
                assert said[call] == mark or "did not run" in said[call]

    run_on_asyncio(main)


@requirement("agents.gate")
def test_an_async_hook_of_trio_sees_the_call_and_on_whose_behalf_it_is() -> None:
    async def main() -> None:
        seen: list[PolicyRequest] = []

        async def hook(request: PolicyRequest) -> object:
            await trio.lowlevel.checkpoint()
            seen.append(request)
            return request.arguments.get("disk") != "a"

        foreign = Foreign()
        toolbox = Toolbox([], policy=hook, policy_context={"shift": "night"})
        async with open_asyncio_host(toolbox) as host:
            tools = gated(host, foreign, lambda _: {"request_context": WHO, "owner_id": "run-7"})
            said = await said_of(tools, WIPE, asks("wipe", {"disk": "b"}, "wipe-2"))
            assert foreign.did == ["wiped b"]
            assert "did not run: it was refused by policy" in said["wipe-1"]
            request = next(each for each in seen if each.call_id == "wipe-1")
            assert (request.tool_name, request.owner_id, request.request_context) == ("wipe", "run-7", WHO)
            assert dict(request.context) == {"shift": "night"}
            assert request.definition.classification.effect_class == "destructive"

    run_on_asyncio(main)


@requirement("agents.gate")
def test_a_tool_about_which_nothing_is_said_counts_as_one_that_changes_something() -> None:
    async def main() -> None:
        foreign = Foreign()
        async with open_asyncio_host(Toolbox([], gates=Gates(read_only=True))) as host:
            said = await said_of(gate_tools(host, [foreign.look]), LOOK)
            assert "nobody said what it does" in said["look-1"]
            assert foreign.did == []

    run_on_asyncio(main)


@requirement("agents.gate", "agents.malformed")
def test_arguments_that_are_no_json_object_do_not_pass_the_gate() -> None:
    async def main() -> None:
        foreign = Foreign()
        async with open_asyncio_host(Toolbox([])) as host:
            said = await said_of(gated(host, foreign), asks("wipe", '{"disk": "a", "disk": "b"}', "wipe-1"))
            assert "did not run: the call was malformed" in said["wipe-1"]
            assert foreign.did == []

    run_on_asyncio(main)


@requirement("agents.gate")
def test_rules_that_were_exchanged_count_at_once_and_own_guardrails_stay() -> None:
    @tool_input_guardrail
    def never_b(data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        if '"b"' in data.context.tool_arguments:
            return ToolGuardrailFunctionOutput.reject_content("never b")
        return ToolGuardrailFunctionOutput.allow()

    async def main() -> None:
        foreign = Foreign()
        foreign.wipe.tool_input_guardrails = [never_b]
        live = LiveToolbox(Toolbox([]))
        async with open_asyncio_host(live) as host:
            tools = gated(host, foreign)
            assert foreign.wipe.tool_input_guardrails == [never_b]
            assert await said_of(tools, WIPE, asks("wipe", {"disk": "b"}, "wipe-2")) == {
                "wipe-1": "wiped a",
                "wipe-2": "never b",
            }
            live.swap(Toolbox([], gates=Gates(allow_dangerous=False)))
            assert "did not run" in (await said_of(tools, WIPE))["wipe-1"]

    run_on_asyncio(main)


def ask_about_a(request: PolicyRequest) -> object:
    return Ask("really?") if request.arguments.get("disk") == "a" else None


@requirement("agents.gate", "agents.paused")
@pytest.mark.parametrize(
    "rules", [{"approval_policy": ApprovalPolicy()}, {"policy": ask_about_a}], ids=["approval policy", "hook"]
)
@pytest.mark.parametrize("yes", [True, False])
def test_a_question_interrupts_the_run_where_that_is_wanted(rules: Rules, yes: bool) -> None:
    async def main() -> None:
        foreign = Foreign()
        async with open_asyncio_host(Toolbox([], **rules)) as host:
            agent, _ = agent_of(gated(host, foreign, interrupt=True), [LOOK, WIPE])
            paused = await run_agent(agent)
            assert ([each.name for each in paused.interruptions], foreign.did) == (["wipe"], ["looked up"])
            state = paused.to_state()
            for each in paused.interruptions:
                (state.approve if yes else state.reject)(each)
            await run_agent(agent, state)
            assert foreign.did == ["looked up", *(["wiped a"] if yes else [])]

    run_on_asyncio(main)


def fill_in(request: PolicyRequest) -> object:
    return Ask("which one?", kind="input") if request.arguments.get("disk") == "a" else None


@requirement("agents.gate")
def test_what_the_tool_asks_itself_is_asked_as_well() -> None:
    async def own(_context: object, _parameters: object, call_id: str) -> bool:
        return call_id == "wipe-2"

    async def main() -> None:
        foreign = Foreign()
        foreign.wipe.needs_approval = own
        async with open_asyncio_host(Toolbox([], policy=fill_in)) as host:
            agent, _ = agent_of(gated(host, foreign, interrupt=True), [WIPE, asks("wipe", {"disk": "b"}, "wipe-2")])
            paused = await run_agent(agent)
            assert [each.call_id for each in paused.interruptions] == ["wipe-2"]
            assert "which one?" in str(outputs(paused)["wipe-1"])
            assert foreign.did == []

    run_on_asyncio(main)


@requirement("agents.gate")
def test_a_yes_is_no_answer_to_what_is_missing() -> None:
    async def main() -> None:
        foreign = Foreign()
        foreign.wipe.needs_approval = True
        async with open_asyncio_host(Toolbox([], policy=fill_in)) as host:
            agent, _ = agent_of(gated(host, foreign, interrupt=True), [WIPE])
            paused = await run_agent(agent)
            state = paused.to_state()
            for each in paused.interruptions:
                state.approve(each)
            ended = await run_agent(agent, state)
            assert "which one?" in str(outputs(ended)["wipe-1"])
            assert (len(paused.interruptions), foreign.did) == (1, [])

    run_on_asyncio(main)


@requirement("agents.gate")
def test_what_is_refused_in_any_case_is_not_asked_about() -> None:
    async def main() -> None:
        foreign = Foreign()
        async with open_asyncio_host(Toolbox([], gates=Gates(allow_dangerous=False))) as host:
            agent, _ = agent_of(gated(host, foreign, interrupt=True), [LOOK, WIPE])
            ended = await run_agent(agent)
            assert (ended.interruptions, foreign.did) == ([], ["looked up"])
            assert "this session does not allow such tools" in str(outputs(ended)["wipe-1"])

    run_on_asyncio(main)


@requirement("agents.wrong", "agents.gate")
def test_what_can_not_be_gated_is_refused() -> None:
    def refused(told: str, *given: object, **options: object) -> None:
        with pytest.raises(DefinitionError, match=re.escape(told)):
            gate_tools(*given, **options)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # that is the test

    async def main() -> None:
        foreign = Foreign()
        refused("host: must be the host", Toolbox([]), [foreign.look])
        async with open_asyncio_host(Toolbox([])) as host:
            refused("tools[1]: must be a FunctionTool", host, [foreign.look, WebSearchTool()])
            refused("there is no tool 'wpie' here; did you mean 'wipe'?", host, [foreign.wipe], effects={"wpie": BANK})
            refused("gate_tools: 'wipe'", host, [foreign.wipe], effects={"wipe": "destructive"})
            refused("options: must be a function", host, [foreign.wipe], options=7)
            refused("effects: must be", host, [foreign.wipe], effects=["wipe"])

    run_on_asyncio(main)


@requirement("agents.cancel-everywhere", "agents.gate")
def test_cancelled_in_any_round_a_gate_lets_nothing_through() -> None:
    async def main() -> None:
        foreign = Foreign()
        asked = trio.Event()

        async def hook(_: PolicyRequest) -> object:
            await asked.wait()
            return True

        async with open_asyncio_host(Toolbox([], policy=hook)) as host:
            [_, wipe] = gated(host, foreign)
            [guardrail] = wipe.tool_input_guardrails or []
            for rounds in range(15):
                agent, _ = agent_of([wipe])
                data = ToolInputGuardrailData(context=in_call(wipe, '{"disk": "a"}'), agent=agent)
                task = asyncio.create_task(guardrail.run(data))
                for _ in range(rounds):
                    await asyncio.sleep(0)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            assert foreign.did == []

    run_on_asyncio(main)
