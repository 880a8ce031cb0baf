"""LangChain's tools are calls of a host."""

from __future__ import annotations

import asyncio
import re
from base64 import b64encode
from typing import cast

import pytest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool, ToolException
from langchain_core.utils.function_calling import convert_to_openai_tool

from armory_trio import (
    AdmissionClosed,
    ApprovalPolicy,
    CallOptions,
    DefinitionError,
    Gates,
    PolicyRequest,
    Toolbox,
    ToolExecutionError,
    tool,
)
from armory_trio.integrations.asyncio_host import open_asyncio_host
from armory_trio.integrations.langchain import langchain_tools, tool_message
from tests.integrations.banks import KEYS
from tests.integrations.langchain.calls import answer_to, asks, by_name, result_of
from tests.integrations.loops import Run, on_each_loop, run_on_asyncio
from tests.integrations.workshop import PIXEL, WHO, Rules, Workshop
from tests.requirements import requirement


def behalf(config: RunnableConfig) -> CallOptions:
    return {"request_context": WHO, "owner_id": config.get("configurable", {})["owner"]}


MINE: RunnableConfig = {"configurable": {"owner": "run-7"}}


class Scripted(BaseChatModel):
    """A chat model that says what the test wrote for it."""

    turns: list[AIMessage]
    offered: list[object] = []  # noqa: RUF012  # of a pydantic model

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: object, **_: object) -> Runnable[LanguageModelInput, AIMessage]:
        self.offered.extend(convert_to_openai_tool(each) for each in cast("list[BaseTool]", tools))
        return cast("Runnable[LanguageModelInput, AIMessage]", self)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **_: object,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.turns.pop(0))])


@requirement("agents.supervised", "agents.shown")
@on_each_loop
def test_thirty_calls_of_a_model_at_once_obey_a_limit_of_two(run: Run) -> None:
    async def main() -> None:
        workshop = Workshop(meet=2)
        async with open_asyncio_host(workshop.toolbox) as host:
            tools = langchain_tools(host)
            calls = [asks("work", {"number": number}, f"call-{number}") for number in range(30)]
            model = Scripted(turns=[AIMessage("", tool_calls=calls), AIMessage("done")])
            bound = model.bind_tools(tools)
            said = await bound.ainvoke([HumanMessage("go on")])
            answers = await asyncio.gather(*(answer_to(tools, call) for call in said.tool_calls))
            assert [answer.content for answer in answers] == [str(number * 10) for number in range(30)]
            assert [answer.tool_call_id for answer in answers] == [call["id"] for call in calls]
            assert {answer.status for answer in answers} == {"success"}
            assert workshop.most == 2
            assert (await bound.ainvoke([said, *answers])).text == "done"
            shown = next(each for each in model.offered if "'pay'" in str(each))
            assert shown == {
                "type": "function",
                "function": {
                    "name": "pay",
                    "description": "Pay somebody.",
                    "parameters": {
                        "type": "object",
                        "properties": {"to": {"type": "string"}, "amount": {"type": "integer", "default": 5}},
                        "required": ["to"],
                        "additionalProperties": False,
                    },
                },
            }

    run(main)


@requirement("agents.supervised", "agents.facts")
def test_a_call_has_langchains_id_the_options_that_the_program_answers_and_its_result_as_artifact() -> None:
    async def main() -> None:
        async with open_asyncio_host(Workshop().toolbox) as host:
            message = await answer_to(langchain_tools(host, options=behalf), asks("whoami", {}, "call-9"), MINE)
            [shot] = host.executions.inspect(owner_id="run-7")
            result = result_of(message)
            assert message.content == "run-7 ann call-9"
            assert (result.execution_id, result.call_id, result.effect) == (shot.execution_id, "call-9", "none")

    run_on_asyncio(main)


@requirement("agents.supervised")
def test_given_arguments_alone_a_tool_answers_its_content_or_raises_the_words() -> None:
    async def main() -> None:
        async with open_asyncio_host(Workshop().toolbox) as host:
            tools = by_name(langchain_tools(host))
            assert await tools["work"].ainvoke({"number": 4}) == "40"
            with pytest.raises(ToolException, match="did not run: its arguments are invalid") as caught:
                await tools["work"].ainvoke({"number": "x"})
            assert isinstance(caught.value.__cause__, ToolExecutionError)
            tools["work"].handle_tool_error = True
            assert "did not run" in await tools["work"].ainvoke({"number": "x"})
            with pytest.raises(ValueError, match="String tool inputs are not allowed"):
                await tools["work"].ainvoke("4")

    run_on_asyncio(main)


@requirement("agents.malformed")
def test_arguments_that_are_no_json_never_run() -> None:
    async def main() -> None:
        workshop = Workshop()
        async with open_asyncio_host(workshop.toolbox) as host:
            message = await answer_to(langchain_tools(host), asks("work", {"number": float("nan")}))
            assert "did not run: the call was malformed" in message.text
            assert (message.status, workshop.most) == ("error", 0)

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
            message = await answer_to(langchain_tools(host), asks(name, arguments))
            assert words in message.text
            assert (message.status, message.name, workshop.said) == ("error", name, [])
            assert result_of(message).outcome == "error"

    run_on_asyncio(main)


@requirement("agents.media")
def test_pictures_reach_the_model_and_streams_are_collected() -> None:
    async def main() -> None:
        async with open_asyncio_host(Workshop().toolbox) as host:
            tools = langchain_tools(host)
            drawn = await answer_to(tools, asks("draw", {}))
            [words, picture] = drawn.content_blocks
            assert words == {"type": "text", "text": "here it is"}
            assert (picture["type"], picture.get("mime_type")) == ("image", "image/png")
            assert picture.get("base64") == b64encode(PIXEL).decode()
            assert (await answer_to(tools, asks("count", {"upto": 3}))).content == "[0,1,2]"

    run_on_asyncio(main)


@requirement("agents.shown")
def test_tools_have_legal_names_and_arguments_may_be_called_like_anything() -> None:
    @tool(effect="read-only", namespace="shop", version="2")
    async def odd(config: str, self: int, run_manager: int, call_id: str = "", callbacks: int = 3) -> str:
        """Have arguments with names of LangChain's own."""
        return f"{config} {self} {run_manager} {call_id} {callbacks}"

    @tool(effect="read-only")
    async def nothing() -> str:
        """Take no arguments."""
        return "nothing"

    async def main() -> None:
        async with open_asyncio_host(Toolbox([odd, nothing])) as host:
            [one, other] = langchain_tools(host, naming="id")
            assert ":" not in one.name
            arguments = {"config": "c", "self": 1, "run_manager": 2, "call_id": "x"}
            assert await one.ainvoke(arguments) == "c 1 2 x 3"
            assert (one.is_single_input, other.args) == (False, {})
            assert await other.ainvoke({}) == "nothing"
            assert one.metadata == {"armory_trio": "shop:odd@2"}

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
            assert [each.name for each in langchain_tools(host)] == ["work", "draw", "count", "shop", "whoami"]

    run_on_asyncio(main)


@requirement("agents.available")
def test_a_tool_that_is_not_available_does_not_run() -> None:
    async def main() -> None:
        workshop = Workshop()
        async with open_asyncio_host(workshop.toolbox) as host:
            tools = langchain_tools(host)
            workshop.closed = True
            message = await answer_to(tools, asks("shop", {"item": "tea"}))
            assert "did not run: it is not available now" in message.text
            now = await host.run(host.toolbox.available)
            assert "shop" not in by_name(langchain_tools(host, tools=now))

    run_on_asyncio(main)


@requirement("agents.paused", "agents.facts")
def test_a_call_that_needs_a_person_waits_and_its_message_is_replaced_when_they_agreed() -> None:
    async def main() -> None:
        workshop = Workshop(approval_policy=ApprovalPolicy("on-mutation"))
        async with open_asyncio_host(workshop.toolbox, keys=KEYS) as host:
            waits = await answer_to(langchain_tools(host, options=behalf), asks("pay", {"to": "ada"}, "call-9"), MINE)
            assert waits.status == "error"
            assert "has not run yet: it needs an approval first" in waits.text
            pending = result_of(waits).pending_approval
            assert pending is not None
            message = tool_message(await host.resume_approval(pending, request_context=WHO, owner_id="run-7"))
            assert (message.content, message.status, message.tool_call_id) == ("paid 5 to ada", "success", "call-9")
            assert (message.name, workshop.said) == ("pay", ["paid 5 to ada"])

    run_on_asyncio(main)


@requirement("agents.asked-in-place")
@pytest.mark.parametrize("agreed", [True, False])
def test_the_hosts_handler_is_asked_while_the_call_waits(agreed: bool) -> None:
    async def main() -> None:
        async def handler(_: object) -> bool:
            await asyncio.sleep(0)
            return agreed

        workshop = Workshop(approval_policy=ApprovalPolicy("on-mutation"))
        async with open_asyncio_host(workshop.toolbox, approval_handler=handler) as host:
            message = await answer_to(langchain_tools(host), asks("pay", {"to": "ada"}))
            assert workshop.said == (["paid 5 to ada"] if agreed else [])
            assert ("did not run: it was refused by a person" in message.text) is not agreed

    run_on_asyncio(main)


@requirement("agents.shutdown")
def test_a_call_of_a_closed_host_raises() -> None:
    async def main() -> None:
        async with open_asyncio_host(Workshop().toolbox) as host:
            tools = langchain_tools(host)
            host.close_admission("the service is going down")
            with pytest.raises(AdmissionClosed, match="the service is going down"):
                await answer_to(tools, asks("work", {"number": 1}))
        with pytest.raises(AdmissionClosed, match="closed"):
            await answer_to(tools, asks("work", {"number": 1}))

    run_on_asyncio(main)


@requirement("agents.wrong")
def test_what_is_wrong_is_said_when_the_tools_are_made() -> None:
    def refused(told: str, **options: object) -> None:
        with pytest.raises(DefinitionError, match=re.escape(told)):
            langchain_tools(**options)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # that is the test

    async def main() -> None:
        toolbox = Workshop().toolbox
        refused("host: must be the host that open_asyncio_host or open_blocking_host opened", host=toolbox)
        async with open_asyncio_host(toolbox) as host:
            refused(
                "there is no tool 'wrok' in the toolbox of the host; did you mean 'work'?", host=host, tools=["wrok"]
            )
            refused("options: must be a function", host=host, options={"owner_id": "x"})

    run_on_asyncio(main)
