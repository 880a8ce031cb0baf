"""Agents of the OpenAI Agents SDK call tools of a host."""

from __future__ import annotations

import asyncio
import json
import re

import pytest
from agents import RunContextWrapper
from agents.exceptions import UserError

from armory_trio import (
    AdmissionClosed,
    ApprovalPolicy,
    CallOptions,
    DefinitionError,
    Gates,
    LiveToolbox,
    PolicyRequest,
    RequestContext,
    Toolbox,
    define_tool,
    tool,
)
from armory_trio.integrations.asyncio_host import open_asyncio_host
from armory_trio.integrations.openai_agents import agent_tools, outcome_of
from tests.integrations.loops import Run, add, on_each_loop, run_on_asyncio
from tests.integrations.openai_agents.runs import agent_of, asks, in_call, outputs, run_agent, shown
from tests.integrations.workshop import PIXEL_URL, WHO, Rules, Workshop
from tests.requirements import requirement


def behalf(context: RunContextWrapper[RequestContext]) -> CallOptions:
    return {"request_context": context.context, "owner_id": "run-7"}


@requirement("agents.supervised")
@on_each_loop
def test_thirty_calls_at_once_obey_a_limit_of_two(run: Run) -> None:
    async def main() -> None:
        workshop = Workshop(meet=2)
        async with open_asyncio_host(workshop.toolbox) as host:
            calls = [asks("work", {"number": number}, f"call-{number}") for number in range(30)]
            agent, _ = agent_of(agent_tools(host), calls)
            result = await run_agent(agent)
            assert outputs(result) == {f"call-{number}": str(number * 10) for number in range(30)}
            assert (workshop.most, result.final_output) == (2, "done")

    run(main)


@requirement("agents.supervised", "agents.facts")
def test_a_call_has_the_sdks_id_and_the_options_that_the_program_answers() -> None:
    async def main() -> None:
        workshop = Workshop()
        async with open_asyncio_host(workshop.toolbox) as host:
            agent, _ = agent_of(agent_tools(host, options=behalf), [asks("whoami", {}, "call-9")])
            result = await run_agent(agent, context=WHO)
            assert outputs(result) == {"call-9": "run-7 ann call-9"}
            [shot] = host.executions.inspect(owner_id="run-7")
            [facts] = [facts for item in result.new_items if (facts := outcome_of(item))]
            assert shot.call_id == "call-9"
            assert facts == {
                "execution_id": shot.execution_id,
                "outcome": "success",
                "effect": "none",
                "attempts": 1,
            }
            assert f'"armory_trio": {json.dumps(facts)}' in json.dumps(json.loads(result.to_state().to_string()))

    run_on_asyncio(main)


@requirement("agents.malformed")
@pytest.mark.parametrize("interrupt", [False, True])
@pytest.mark.parametrize(
    "arguments",
    ['{"number": 1', "[1]", '{"number": 1, "number": 2}', '{"number": NaN}'],
    ids=["cut", "list", "twice", "nan"],
)
def test_arguments_that_are_no_json_object_never_run(arguments: str, interrupt: bool) -> None:
    async def main() -> None:
        workshop = Workshop()
        async with open_asyncio_host(workshop.toolbox) as host:
            agent, _ = agent_of(agent_tools(host, interrupt=interrupt), [asks("work", arguments, "call-1")])
            said = str(outputs(await run_agent(agent))["call-1"])
            assert "did not run: the call was malformed" in said
            assert workshop.most == 0

    run_on_asyncio(main)


@requirement("agents.words")
@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        pytest.param("pay", {"to": "ada"}, "did not run: it was refused by policy", id="denied"),
        pytest.param("crash", {}, "It may have taken effect. Do not simply repeat it", id="unknown effect"),
        pytest.param("decline", {}, "no such account\nIt changed nothing.", id="changed nothing"),
        pytest.param("work", {"number": "x"}, "did not run: its arguments are invalid", id="invalid"),
    ],
)
def test_what_went_wrong_is_told_in_words(name: str, arguments: dict[str, object], words: str) -> None:
    def no_payments(request: PolicyRequest) -> bool:
        return request.tool_name != "pay"

    async def main() -> None:
        workshop = Workshop(policy=no_payments)
        async with open_asyncio_host(workshop.toolbox) as host:
            agent, _ = agent_of(agent_tools(host), [asks(name, arguments, "call-1")])
            result = await run_agent(agent)
            assert words in str(outputs(result)["call-1"])
            assert (workshop.said, result.final_output) == ([], "done")

    run_on_asyncio(main)


@requirement("agents.media")
def test_pictures_reach_the_model_and_streams_are_collected() -> None:
    async def main() -> None:
        workshop = Workshop()
        async with open_asyncio_host(workshop.toolbox) as host:
            agent, _ = agent_of(agent_tools(host), [asks("draw", {}, "call-1"), asks("count", {"upto": 3}, "call-2")])
            said = outputs(await run_agent(agent))
            assert said["call-2"] == "[0,1,2]"
            assert said["call-1"] == [
                {"type": "input_text", "text": "here it is"},
                {"type": "input_image", "image_url": PIXEL_URL},
            ]

    run_on_asyncio(main)


@requirement("agents.shown")
def test_the_agent_is_shown_contracts_in_openais_dialect() -> None:
    @tool(effect="read-only", namespace="shop", version="2")
    async def find(query: str, limit: int = 3) -> str:
        """Find an article."""
        return f"{query} {limit}"

    async def main() -> None:
        async with open_asyncio_host(Toolbox([find])) as host:
            [strict] = agent_tools(host)
            [loose] = agent_tools(host, strict=False)
            [by_id] = agent_tools(host, naming="id")
            assert strict.params_json_schema == host.toolbox.to_openai_responses().tools[0]["parameters"]
            assert (strict.strict_json_schema, loose.strict_json_schema) == (True, False)
            assert strict.params_json_schema["required"] == ["query", "limit"]
            assert loose.params_json_schema["required"] == ["query"]
            assert (strict.name, strict.description) == ("find", "Find an article.")
            agent, model = agent_of([by_id], [asks(by_id.name, {"query": "x", "limit": None}, "call-1")])
            assert outputs(await run_agent(agent)) == {"call-1": "x 3"}
            assert (shown(model), by_id.name.isascii(), ":" in by_id.name) == ([by_id.name], True, False)

    run_on_asyncio(main)


@requirement("agents.shown")
@pytest.mark.parametrize(
    "rules",
    [{"gates": Gates(read_only=True)}, {"approval_policy": ApprovalPolicy("never", tier_modes={"mutating": "deny"})}],
    ids=["gates", "approval policy"],
)
def test_what_could_never_run_is_not_shown(rules: Rules) -> None:
    async def main() -> None:
        async with open_asyncio_host(Workshop(**rules).toolbox) as host:
            names = {each.name for each in agent_tools(host)}
            assert names == {"work", "draw", "count", "shop", "whoami"}
            assert [each.name for each in agent_tools(host, tools=["shop", "pay"])] == ["shop"]

    run_on_asyncio(main)


@requirement("agents.available")
def test_a_tool_that_is_not_available_is_not_shown_and_never_runs() -> None:
    async def main() -> None:
        workshop = Workshop()
        async with open_asyncio_host(workshop.toolbox) as host:
            tools = agent_tools(host, tools=["shop", "work"])
            agent, model = agent_of(tools)
            await run_agent(agent)
            assert shown(model) == ["shop", "work"]
            workshop.closed = True
            agent, model = agent_of(tools)
            await run_agent(agent)
            assert shown(model) == ["work"]
            said = await tools[0].on_invoke_tool(in_call(tools[0], '{"item": "tea"}'), '{"item": "tea"}')
            assert "did not run: it is not available now" in said

    run_on_asyncio(main)


@requirement("agents.available")
def test_what_is_shown_follows_a_live_toolbox_as_long_as_the_definitions_stay() -> None:
    @tool(effect="read-only", name="draw")
    async def other_contract(colour: str) -> str:
        """Draw something else."""
        return colour

    async def main() -> None:
        live = LiveToolbox(Workshop().toolbox)
        async with open_asyncio_host(live) as host:
            tools = agent_tools(host, tools=["pay", "work", "draw"])
            live.swap(Workshop().toolbox)  # made anew, and the same
            agent, model = agent_of(tools, [asks("work", {"number": 4}, "call-1")])
            assert outputs(await run_agent(agent)) == {"call-1": "40"}
            assert shown(model) == ["pay", "work", "draw"]
            live.unregister("pay")
            live.register(other_contract, replace=True)
            agent, model = agent_of(tools)
            await run_agent(agent)
            assert shown(model) == ["work"]

    run_on_asyncio(main)


@requirement("agents.asked-in-place")
@pytest.mark.parametrize("yes", [True, False])
def test_the_hosts_handler_is_asked_while_the_call_waits(yes: bool) -> None:
    async def main() -> None:
        asked: list[object] = []

        async def handler(request: object) -> bool:
            asked.append(request)
            await asyncio.sleep(0)
            return yes

        workshop = Workshop(approval_policy=ApprovalPolicy("on-mutation"))
        async with open_asyncio_host(workshop.toolbox, approval_handler=handler) as host:
            agent, _ = agent_of(agent_tools(host), [asks("pay", {"to": "ada", "amount": None}, "call-1")])
            said = str(outputs(await run_agent(agent))["call-1"])
            assert (len(asked), workshop.said) == (1, ["paid 5 to ada"] if yes else [])
            assert ("did not run: it was refused by a person" in said) is not yes

    run_on_asyncio(main)


@requirement("agents.shutdown")
def test_a_call_of_a_closed_host_ends_the_run_with_words() -> None:
    async def main() -> None:
        workshop = Workshop()
        async with open_asyncio_host(workshop.toolbox) as host:
            tools = agent_tools(host)
            agent, _ = agent_of(tools, [asks("work", {"number": 1}, "call-1")])
            host.close_admission("the service is going down")
            with pytest.raises(UserError, match="the service is going down") as caught:
                await run_agent(agent)
            assert isinstance(caught.value.__cause__, AdmissionClosed)
        closed, _ = agent_of(tools, [asks("work", {"number": 1}, "call-1")])
        with pytest.raises(UserError, match="closed"):
            await run_agent(closed)
        silent, model = agent_of(tools)
        assert (await run_agent(silent)).final_output == "done"
        assert "shop" not in shown(model)

    run_on_asyncio(main)


@requirement("agents.wrong")
def test_what_is_wrong_is_said_when_the_tools_are_made() -> None:
    @tool(effect="read-only", name="work", version="2")
    async def newer(number: int) -> int:
        """A newer version."""
        return number

    impossible = {"schema": {"allOf": [{"type": "object"}, {"type": "string"}]}, "parse": dict}
    bad = define_tool(name="bad", description="Never.", effect="read-only", input=impossible, execute=str)

    def refused(told: str, **options: object) -> None:
        with pytest.raises(DefinitionError, match=re.escape(told)):
            agent_tools(**options)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # that is the test

    async def main() -> None:
        toolbox = Workshop().toolbox.extend(newer, bad)
        refused("host: must be the host that open_asyncio_host opened", host=toolbox)
        async with open_asyncio_host(toolbox) as host:
            refused(
                "there is no tool 'wrok' in the toolbox of the host; did you mean 'work'?", host=host, tools=["wrok"]
            )
            refused("there is no tool 7", host=host, tools=[7])
            refused("tools: must be a list", host=host, tools="work")
            refused("default:add is not in the toolbox", host=host, tools=[add])
            refused("are both called 'work'", host=host, tools=["default:work", "work"])
            refused("naming: 'wire' is not one of", host=host, naming="wire")
            refused("options: must be a function", host=host, options={"owner_id": "x"})
            refused("default:bad can't be offered: #/", host=host, tools=["bad"])
            assert len(agent_tools(host, tools=["default:work", newer], naming="id")) == 2
            assert [each.name for each in agent_tools(host, tools=[toolbox.get("work@2") or newer])] == ["work"]

    run_on_asyncio(main)
