"""Calls that wait for a person, as deferred tools."""

from __future__ import annotations

import asyncio

import pytest
import trio
from pydantic import TypeAdapter
from pydantic_ai import DeferredToolRequests, DeferredToolResults, RunContext, ToolApproved
from pydantic_ai.agent import AgentRunResult
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter

from armory_trio import ApprovalPolicy, Ask, CallOptions, Edit, JsonError, PolicyRequest, RequestContext, Toolbox, tool
from armory_trio.authority.approvals import MemoryApprovals
from armory_trio.authority.policy import Policy
from armory_trio.composition import pipe
from armory_trio.integrations.asyncio_host import AsyncioHost, open_asyncio_host
from armory_trio.integrations.pydantic_ai import ArmoryToolset
from tests.integrations.banks import KEYS
from tests.integrations.loops import Run, on_each_loop, run_on_asyncio
from tests.integrations.pydantic_ai.runs import Ended, Script, agent_of, asks, returns
from tests.integrations.workshop import WHO, Workshop
from tests.requirements import requirement

PAY = asks("pay", {"to": "ada"}, "call-1")
REQUESTS = TypeAdapter(DeferredToolRequests)


def behalf(_: RunContext[RequestContext | None]) -> CallOptions:
    return {"request_context": WHO}


def asking(policy: Policy | None = None) -> Workshop:
    return Workshop(approval_policy=ApprovalPolicy("on-mutation")) if policy is None else Workshop(policy=policy)


class Waiting:
    """A run that ended with calls that wait, as another process reads it."""

    def __init__(self, ended: AgentRunResult[Ended]) -> None:
        assert isinstance(ended.output, DeferredToolRequests)
        self.messages: list[ModelMessage] = ModelMessagesTypeAdapter.validate_json(ended.all_messages_json())
        self.requests = REQUESTS.validate_json(REQUESTS.dump_json(ended.output))


async def begun(host: AsyncioHost) -> Waiting:
    toolset = ArmoryToolset(host, options=behalf)
    return Waiting(await agent_of(toolset, Script([PAY])).run("go on", deps=None))


async def answered(host: AsyncioHost, waiting: Waiting, results: DeferredToolResults) -> AgentRunResult[Ended]:
    toolset = ArmoryToolset(host, options=behalf)
    return await agent_of(toolset, Script()).run(
        message_history=waiting.messages, deferred_tool_results=results, deps=None
    )


def yes(waiting: Waiting, **overrides: object) -> DeferredToolResults:
    answer = ToolApproved(override_args=overrides or None)
    return waiting.requests.build_results(
        approvals={call.tool_call_id: answer for call in waiting.requests.approvals}, metadata=waiting.requests.metadata
    )


def said(ended: AgentRunResult[Ended]) -> str:
    return str(returns(ended.all_messages())["call-1"].content)


@requirement("agents.paused", "agents.facts")
@on_each_loop
def test_a_call_that_needs_a_person_is_deferred_and_goes_on_in_another_process(run: Run) -> None:
    async def main() -> None:
        first, second, approvals = asking(), asking(), MemoryApprovals()
        async with open_asyncio_host(first.toolbox, keys=KEYS, approvals=approvals) as host:
            waiting = await begun(host)
            [call] = waiting.requests.approvals
            kept = waiting.requests.metadata["call-1"]["armory_trio"]
            assert (call.tool_name, kept["outcome"], kept["effect"]) == ("pay", "action_required", "none")
            assert kept["pending_approval"]["arguments"] == {"to": "ada", "amount": 5}
            assert "requires approval" in kept["pending_approval"]["question"]["reason"]
        async with open_asyncio_host(second.toolbox, keys=KEYS, approvals=approvals) as host:
            ended = await answered(host, waiting, yes(waiting))
            assert (said(ended), ended.output) == ("paid 5 to ada", "done")
            assert (first.said, second.said) == ([], ["paid 5 to ada"])

    run(main)


@requirement("agents.paused", "agents.agreed-to-what-runs")
def test_what_was_agreed_runs_once() -> None:
    async def main() -> None:
        workshop = asking()
        async with open_asyncio_host(workshop.toolbox, keys=KEYS) as host:
            waiting = await begun(host)
            await answered(host, waiting, yes(waiting))
            again = await answered(host, waiting, yes(waiting))
            assert "did not run: what had allowed it does not count any more" in said(again)
            assert "already-consumed" in said(again)
            assert workshop.said == ["paid 5 to ada"]

    run_on_asyncio(main)


@requirement("agents.paused")
def test_a_person_who_says_no_is_told_to_the_model_and_nothing_ran() -> None:
    async def main() -> None:
        workshop = asking()
        async with open_asyncio_host(workshop.toolbox, keys=KEYS) as host:
            waiting = await begun(host)
            ended = await answered(host, waiting, waiting.requests.build_results(approvals={"call-1": False}))
            assert said(ended) == "The tool call was denied."
            assert workshop.said == []

    run_on_asyncio(main)


@requirement("agents.paused")
def test_a_person_may_write_other_arguments() -> None:
    async def main() -> None:
        workshop = asking()
        async with open_asyncio_host(workshop.toolbox, keys=KEYS) as host:
            waiting = await begun(host)
            assert said(await answered(host, waiting, yes(waiting, to="bob", amount=1))) == "paid 1 to bob"
            wrong = await answered(host, await begun(host), yes(waiting, to="bob", amount="1"))
            assert "did not run: its arguments are invalid" in said(wrong)
            no_json = await answered(host, await begun(host), yes(waiting, to="bob", amount=float("nan")))
            assert "did not run" in said(no_json)
            assert workshop.said == ["paid 1 to bob"]

    run_on_asyncio(main)


@requirement("agents.paused")
def test_a_yes_without_the_descriptor_counts_for_the_arguments_that_the_model_sent() -> None:
    async def main() -> None:
        workshop = asking()
        async with open_asyncio_host(workshop.toolbox, keys=KEYS) as host:
            waiting = await begun(host)
            ended = await answered(host, waiting, waiting.requests.build_results(approve_all=True))
            assert (said(ended), workshop.said) == ("paid 5 to ada", ["paid 5 to ada"])

    run_on_asyncio(main)


def edited(request: PolicyRequest) -> object:
    return Edit({"to": "mallory", "amount": 7_000}) if request.arguments["to"] == "ada" else Ask("is this right?")


@requirement("agents.agreed-to-what-runs")
def test_arguments_that_a_hook_made_run_only_for_who_was_shown_them() -> None:
    async def main() -> None:
        workshop = asking(edited)
        async with open_asyncio_host(workshop.toolbox, keys=KEYS) as host:
            waiting = await begun(host)
            blind = await answered(host, waiting, waiting.requests.build_results(approve_all=True))
            assert isinstance(blind.output, DeferredToolRequests)
            assert workshop.said == []
            shown = waiting.requests.metadata["call-1"]["armory_trio"]["pending_approval"]
            assert (shown["arguments"], shown["edited"]) == ({"to": "mallory", "amount": 7_000}, True)
            assert said(await answered(host, waiting, yes(waiting))) == "paid 7000 to mallory"

    run_on_asyncio(main)


@requirement("agents.agreed-to-what-runs")
def test_a_descriptor_that_was_changed_or_belongs_to_another_call_does_not_count() -> None:
    async def main() -> None:
        workshop = asking()
        async with open_asyncio_host(workshop.toolbox, keys=KEYS) as host:
            waiting = await begun(host)
            kept = waiting.requests.metadata["call-1"]["armory_trio"]
            kept["pending_approval"]["arguments"]["amount"] = 5_000
            assert "invalid-signature" in said(await answered(host, waiting, yes(waiting)))
            kept["pending_approval"]["call_id"] = "call-2"
            assert "it was given for the call 'call-2'" in said(await answered(host, waiting, yes(waiting)))
            kept["pending_approval"] = {"call_id": "call-1"}
            with pytest.raises(JsonError):
                await answered(host, waiting, yes(waiting))
            assert workshop.said == []

    run_on_asyncio(main)


@requirement("agents.agreed-to-what-runs")
def test_where_it_can_not_be_told_what_the_model_sent_the_rules_are_asked_about_what_came() -> None:
    async def main() -> None:
        workshop = asking()
        async with open_asyncio_host(workshop.toolbox, keys=KEYS) as host:
            waiting = await begun(host)
            waiting.requests.metadata["call-1"]["armory_trio"]["sent"] = {"to": float("nan")}
            assert said(await answered(host, waiting, yes(waiting))) == "paid 5 to ada"
            assert workshop.said == ["paid 5 to ada"]

    run_on_asyncio(main)


@requirement("agents.paused")
def test_somebody_elses_approval_does_not_count() -> None:
    async def main() -> None:
        workshop = asking()
        async with open_asyncio_host(workshop.toolbox, keys=KEYS) as host:
            waiting = await begun(host)
            toolset = ArmoryToolset[RequestContext | None](
                host, options=lambda _: {"request_context": RequestContext(principal="eve", tenant="acme")}
            )
            ended = await agent_of(toolset, Script()).run(
                message_history=waiting.messages, deferred_tool_results=yes(waiting), deps=None
            )
            assert "mismatch: " in said(ended)
            assert workshop.said == []

    run_on_asyncio(main)


@requirement("agents.paused")
def test_a_missing_input_is_filled_in_by_the_person() -> None:
    def which(request: PolicyRequest) -> object:
        return Ask("to whom?", kind="input") if request.arguments["to"] == "somebody" else None

    async def main() -> None:
        workshop = asking(which)
        async with open_asyncio_host(workshop.toolbox, keys=KEYS) as host:
            toolset = ArmoryToolset(host, options=behalf)
            script = Script([asks("pay", {"to": "somebody"}, "call-1")])
            waiting = Waiting(await agent_of(toolset, script).run("go on", deps=None))
            assert said(await answered(host, waiting, yes(waiting, to="ada"))) == "paid 5 to ada"

    run_on_asyncio(main)


@requirement("agents.paused")
def test_a_composed_tool_goes_on_from_the_step_that_waited() -> None:
    looked: list[str] = []

    @tool(effect="read-only")
    async def price(to: str) -> dict[str, object]:
        """What is due."""
        await trio.lowlevel.checkpoint()
        looked.append(to)
        return {"to": to, "amount": 9}

    async def main() -> None:
        workshop = asking()
        pay = workshop.toolbox.get("pay")
        assert pay is not None
        toolbox = Toolbox([pipe(price, pay, name="settle"), pay], approval_policy=ApprovalPolicy("on-mutation"))
        async with open_asyncio_host(toolbox, keys=KEYS) as host:
            toolset = ArmoryToolset(host, options=behalf)
            script = Script([asks("settle", {"to": "ada"}, "call-1")])
            waiting = Waiting(await agent_of(toolset, script).run("go on", deps=None))
            assert said(await answered(host, waiting, yes(waiting))) == "paid 9 to ada"
            assert (looked, workshop.said) == (["ada"], ["paid 9 to ada"])

    run_on_asyncio(main)


@requirement("agents.paused")
def test_without_keys_nothing_is_deferred_and_the_model_reads_that_nobody_could_be_asked() -> None:
    async def main() -> None:
        workshop = asking()
        async with open_asyncio_host(workshop.toolbox) as host:
            ended = await agent_of(ArmoryToolset(host, options=behalf), Script([PAY])).run("go on", deps=None)
            assert "Nothing goes on by itself here" in said(ended)
            assert (ended.output, workshop.said) == ("done", [])

    run_on_asyncio(main)


@requirement("agents.asked-in-place")
@pytest.mark.parametrize("agreed", [True, False])
def test_the_hosts_handler_is_asked_while_the_call_waits(agreed: bool) -> None:
    async def main() -> None:
        async def handler(_: object) -> bool:
            await asyncio.sleep(0)
            return agreed

        workshop = asking()
        async with open_asyncio_host(workshop.toolbox, approval_handler=handler, keys=KEYS) as host:
            ended = await agent_of(ArmoryToolset(host, options=behalf), Script([PAY])).run("go on", deps=None)
            assert workshop.said == (["paid 5 to ada"] if agreed else [])
            assert ("did not run: it was refused by a person" in said(ended)) is not agreed

    run_on_asyncio(main)
