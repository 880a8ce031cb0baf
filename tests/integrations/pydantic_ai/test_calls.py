"""Agents of pydantic-ai call tools of a host."""

from __future__ import annotations

import re

import pytest
from pydantic_ai import BinaryContent, RunContext, UnexpectedModelBehavior
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import ToolDefinition

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
    tool,
)
from armory_trio.integrations.asyncio_host import open_asyncio_host
from armory_trio.integrations.pydantic_ai import ArmoryToolset
from tests.integrations.loops import Run, add, on_each_loop, run_on_asyncio
from tests.integrations.pydantic_ai.runs import Script, agent_of, asks, returns
from tests.integrations.workshop import PIXEL, WHO, Rules, Workshop
from tests.requirements import requirement

Context = RunContext[RequestContext | None]


def behalf(context: Context) -> CallOptions:
    return {"request_context": context.deps, "owner_id": "run-7"}


@requirement("agents.supervised")
@on_each_loop
def test_thirty_calls_at_once_obey_a_limit_of_two(run: Run) -> None:
    async def main() -> None:
        workshop = Workshop(meet=2)
        async with open_asyncio_host(workshop.toolbox) as host:
            calls = [asks("work", {"number": number}, f"call-{number}") for number in range(30)]
            ended = await agent_of(ArmoryToolset(host), Script(calls)).run("go on", deps=None)
            said = {call: part.content for call, part in returns(ended.all_messages()).items()}
            assert said == {f"call-{number}": str(number * 10) for number in range(30)}
            assert (workshop.most, ended.output) == (2, "done")

    run(main)


@requirement("agents.supervised", "agents.facts")
def test_a_call_has_the_frameworks_id_and_the_options_that_the_program_answers() -> None:
    async def main() -> None:
        async with open_asyncio_host(Workshop().toolbox) as host:
            toolset = ArmoryToolset(host, options=behalf)
            ended = await agent_of(toolset, Script([asks("whoami", {}, "call-9")])).run("go on", deps=WHO)
            part = returns(ended.all_messages())["call-9"]
            [shot] = host.executions.inspect(owner_id="run-7")
            assert (part.content, shot.call_id) == ("run-7 ann call-9", "call-9")
            facts = {"execution_id": shot.execution_id, "outcome": "success", "effect": "none", "attempts": 1}
            assert part.metadata == {"armory_trio": facts}
            again = ModelMessagesTypeAdapter.validate_json(ended.all_messages_json())
            assert returns(again)["call-9"].metadata == part.metadata

    run_on_asyncio(main)


@requirement("agents.malformed")
@pytest.mark.parametrize(
    "arguments",
    ['{"number": 1', "[1]", '{"number": 1, "number": 2}', '{"number": NaN}'],
    ids=["cut", "list", "twice", "nan"],
)
def test_arguments_that_are_no_json_object_never_run_and_may_be_written_again(arguments: str) -> None:
    async def main() -> None:
        workshop = Workshop()
        async with open_asyncio_host(workshop.toolbox) as host:
            script = Script([asks("work", arguments, "call-1")], [asks("work", {"number": 2}, "call-2")])
            ended = await agent_of(ArmoryToolset(host), script).run("go on", deps=None)
            said = returns(ended.all_messages())
            assert said["call-1"].outcome == "retried"
            assert "did not run: the call was malformed" in str(said["call-1"].content)
            assert (said["call-2"].content, len(host.executions.inspect())) == ("20", 1)

    run_on_asyncio(main)


@requirement("agents.words")
@pytest.mark.parametrize(
    ("name", "arguments", "words", "outcome"),
    [
        pytest.param("pay", {"to": "ada"}, "did not run: it was refused by policy", "failed", id="denied"),
        pytest.param("crash", {}, "It may have taken effect. Do not simply repeat it", "failed", id="unknown effect"),
        pytest.param("decline", {}, "no such account\nIt changed nothing.", "failed", id="changed nothing"),
        pytest.param("misjudge", {}, "refused its input", "failed", id="refused while it ran"),
        pytest.param("work", {"number": "x"}, "did not run: its arguments are invalid", "retried", id="invalid"),
    ],
)
def test_what_went_wrong_is_told_in_words(name: str, arguments: dict[str, object], words: str, outcome: str) -> None:
    def no_payments(request: PolicyRequest) -> bool:
        return request.tool_name != "pay"

    async def main() -> None:
        workshop = Workshop(policy=no_payments)
        async with open_asyncio_host(workshop.toolbox) as host:
            script = Script([asks(name, arguments, "call-1")])
            ended = await agent_of(ArmoryToolset(host), script).run("go on", deps=None)
            part = returns(ended.all_messages())["call-1"]
            assert words in str(part.content)
            assert (part.outcome, ended.output, workshop.said) == (outcome, "done", [])

    run_on_asyncio(main)


@requirement("agents.words")
def test_a_model_that_does_not_learn_to_write_a_call_runs_out_of_retries() -> None:
    async def main() -> None:
        async with open_asyncio_host(Workshop().toolbox) as host:
            wrong = [[asks("work", {"number": "x"}, f"call-{turn}")] for turn in range(3)]
            with pytest.raises(UnexpectedModelBehavior, match="exceeded max retries count of 1"):
                await agent_of(ArmoryToolset(host), Script(*wrong)).run("go on", deps=None)
            ended = await agent_of(ArmoryToolset(host, max_retries=3), Script(*wrong)).run("go on", deps=None)
            assert ended.output == "done"

    run_on_asyncio(main)


@requirement("agents.media")
def test_pictures_reach_the_model_and_streams_are_collected() -> None:
    async def main() -> None:
        async with open_asyncio_host(Workshop().toolbox) as host:
            script = Script([asks("draw", {}, "call-1"), asks("count", '{"upto": 3}', "call-2")])
            ended = await agent_of(ArmoryToolset(host), script).run("go on", deps=None)
            said = returns(ended.all_messages())
            assert said["call-1"].content == ["here it is", BinaryContent(PIXEL, media_type="image/png")]
            assert said["call-2"].content == "[0,1,2]"

    run_on_asyncio(main)


@requirement("agents.shown")
def test_the_agent_is_shown_the_contracts_themselves_by_legal_names() -> None:
    @tool(effect="read-only", namespace="shop", version="2", tags=["stock"])
    async def find(query: str, limit: int = 3) -> str:
        """Find an article."""
        return f"{query} {limit}"

    async def main() -> None:
        async with open_asyncio_host(Toolbox([find])) as host:
            model = TestModel()
            agent = agent_of(ArmoryToolset(host, naming="id", id="shop"), Script())
            await agent.run("go on", deps=None, model=model)
            assert model.last_model_request_parameters is not None
            [shown] = model.last_model_request_parameters.function_tools
            assert shown.parameters_json_schema == {
                "type": "object",
                "properties": {"query": {"type": "string"}, "limit": {"type": "integer", "default": 3}},
                "required": ["query"],
                "additionalProperties": False,
            }
            assert shown.description == "Find an article."
            assert (shown.metadata or {})["armory_trio"] == {
                "id": "shop:find@2",
                "tags": ["stock"],
                "effect": "read-only",
            }
            script = Script([asks(shown.name, {"query": "x"}, "call-1")])
            ended = await agent_of(ArmoryToolset(host, naming="id"), script).run("go on", deps=None)
            assert returns(ended.all_messages())["call-1"].content == "x 3"
            assert script.shown[0] == [shown.name]
            assert ":" not in shown.name

    run_on_asyncio(main)


@requirement("agents.shown")
def test_wrapped_toolsets_of_the_framework_call_the_same_tools() -> None:
    def harmless(_: Context, definition: ToolDefinition) -> bool:
        return bool((definition.metadata or {})["armory_trio"]["effect"] == "read-only")

    async def main() -> None:
        async with open_asyncio_host(Workshop().toolbox) as host:
            script = Script([asks("our_work", {"number": 4}, "call-1")])
            toolset = ArmoryToolset[RequestContext | None](host).filtered(harmless).prefixed("our")
            agent = agent_of(ArmoryToolset(host, tools=[]), script)
            ended = await agent.run("go on", deps=None, toolsets=[toolset])
            assert returns(ended.all_messages())["call-1"].content == "40"
            assert script.shown[0] == ["our_work", "our_draw", "our_count", "our_shop", "our_whoami"]

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
            script = Script()
            await agent_of(ArmoryToolset(host), script).run("go on", deps=None)
            assert script.shown == [["work", "draw", "count", "shop", "whoami"]]

    run_on_asyncio(main)


@requirement("agents.available")
def test_what_is_listed_follows_availability_and_a_live_toolbox_from_step_to_step() -> None:
    async def main() -> None:
        workshop = Workshop()
        live = LiveToolbox(workshop.toolbox)

        async with open_asyncio_host(live) as host:
            script = Script([asks("work", {"number": 1}, "call-1")], [asks("shop", {"item": "tea"}, "call-2")])

            def closing(context: Context) -> CallOptions:
                workshop.closed = True
                if context.run_step == 1:
                    live.swap(workshop.toolbox.extend(add))
                    live.unregister("pay")
                return {}

            ended = await agent_of(ArmoryToolset(host, options=closing), script).run("go on", deps=None)
            first, second = script.shown[0], script.shown[1]
            assert (set(first) - set(second), set(second) - set(first)) == ({"pay", "shop"}, {"add"})
            assert "Unknown tool name: 'shop'" in str(returns(ended.all_messages())["call-2"].content)

    run_on_asyncio(main)


@requirement("agents.available")
def test_a_tool_that_is_no_longer_available_when_it_is_called_does_not_run() -> None:
    async def main() -> None:
        workshop = Workshop()

        def closing(_: Context) -> CallOptions:
            workshop.closed = True
            return {}

        async with open_asyncio_host(workshop.toolbox) as host:
            script = Script([asks("shop", {"item": "tea"}, "call-1")])
            ended = await agent_of(ArmoryToolset(host, options=closing), script).run("go on", deps=None)
            assert "did not run: it is not available now" in str(returns(ended.all_messages())["call-1"].content)

    run_on_asyncio(main)


@requirement("agents.shutdown")
def test_a_call_of_a_closed_host_ends_the_run_with_words() -> None:
    async def main() -> None:
        workshop = Workshop()
        async with open_asyncio_host(workshop.toolbox) as host:
            toolset = ArmoryToolset[RequestContext | None](host)
            host.close_admission("the service is going down")
            with pytest.raises(AdmissionClosed, match="the service is going down"):
                await agent_of(toolset, Script([asks("work", {"number": 1}, "call-1")])).run("go on", deps=None)
        with pytest.raises(AdmissionClosed, match="closed"):
            await agent_of(toolset, Script([asks("work", {"number": 1}, "call-1")])).run("go on", deps=None)
        script = Script()
        assert (await agent_of(toolset, script).run("one last word", deps=None)).output == "done"
        assert "shop" not in script.shown[0]

    run_on_asyncio(main)


@requirement("agents.wrong")
def test_what_is_wrong_is_said_when_the_toolset_is_made() -> None:
    @tool(effect="read-only", name="work", version="0")
    async def older(number: int) -> int:
        """Another version."""
        return number

    def refused(told: str, **options: object) -> None:
        with pytest.raises(DefinitionError, match=re.escape(told)):
            ArmoryToolset(**options)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # that is the test

    async def main() -> None:
        toolbox = Workshop().toolbox.extend(older)
        refused("host: must be the host that open_asyncio_host opened", host=toolbox)
        async with open_asyncio_host(toolbox) as host:
            refused(
                "there is no tool 'wrok' in the toolbox of the host; did you mean 'work'?", host=host, tools=["wrok"]
            )
            refused("are both called 'work'", host=host, tools=["default:work", older])
            refused("options: must be a function", host=host, options={"owner_id": "x"})
            refused("max_retries", host=host, max_retries=-1)
            refused("id", host=host, id=" ")

    run_on_asyncio(main)
