"""Calls that wait for a person, as interruptions of a run."""

from __future__ import annotations

import asyncio
from typing import NoReturn

import pytest
import trio
from agents import RunContextWrapper, RunResult, RunState
from agents.exceptions import UserError

from armory_trio import (
    AdmissionClosed,
    Ask,
    CallOptions,
    Edit,
    LiveToolbox,
    PendingApproval,
    PolicyRequest,
    RequestContext,
    StoreUnavailable,
    Toolbox,
    tool,
)
from armory_trio.authority import ApprovalPolicy
from armory_trio.authority.policy import Policy
from armory_trio.composition import pipe
from armory_trio.integrations.asyncio_host import AsyncioHost, open_asyncio_host
from armory_trio.integrations.openai_agents import agent_tools, outcome_of
from tests.integrations.banks import KEYS
from tests.integrations.loops import Run, on_each_loop, run_on_asyncio
from tests.integrations.openai_agents.runs import agent_of, asks, in_call, outputs, run_agent
from tests.integrations.workshop import BANK, WHO, Workshop
from tests.requirements import requirement

PAY = asks("pay", {"to": "ada", "amount": 7}, "call-1")


def behalf(_: RunContextWrapper[RequestContext]) -> CallOptions:
    return {"request_context": WHO}


def asking(policy: Policy | None = None) -> Workshop:
    """A workshop that asks about whatever changes something, or by *policy*."""
    return Workshop(approval_policy=ApprovalPolicy("on-mutation")) if policy is None else Workshop(policy=policy)


async def answered(result: RunResult, *, yes: bool, always: bool = False) -> RunState[RequestContext]:
    """The state of an interrupted run, as another process reads it, in which a person has answered everything."""
    agent = result.last_agent
    state = await RunState[RequestContext].from_string(agent, result.to_state().to_string())
    for interruption in state.get_interruptions():
        if yes:
            state.approve(interruption, always_approve=always)
        else:
            state.reject(interruption)
    return state


@requirement("agents.paused")
@on_each_loop
def test_a_call_that_needs_a_person_interrupts_the_run_and_goes_on_when_they_agreed(run: Run) -> None:
    async def main() -> None:
        workshop = asking()
        async with open_asyncio_host(workshop.toolbox, keys=KEYS) as host:
            agent, _ = agent_of(agent_tools(host, options=behalf, interrupt=True), [PAY, asks("draw", {}, "call-2")])
            paused = await run_agent(agent)
            assert [each.name for each in paused.interruptions] == ["pay"]
            assert workshop.said == []
            ended = await run_agent(agent, await answered(paused, yes=True))
            assert outputs(ended)["call-1"] == "paid 7 to ada"
            assert (workshop.said, ended.final_output) == (["paid 7 to ada"], "done")

    run(main)


@requirement("agents.paused")
def test_a_person_who_says_no_is_told_to_the_model_and_nothing_ran() -> None:
    async def main() -> None:
        workshop = asking()
        async with open_asyncio_host(workshop.toolbox, keys=KEYS) as host:
            agent, _ = agent_of(agent_tools(host, options=behalf, interrupt=True), [PAY])
            ended = await run_agent(agent, await answered(await run_agent(agent), yes=False))
            assert "not approved" in str(outputs(ended)["call-1"])
            assert (workshop.said, host.executions.inspect()) == ([], [])

    run_on_asyncio(main)


@requirement("agents.paused")
def test_of_several_questions_each_is_answered_by_itself_and_the_rest_waits_on() -> None:
    async def main() -> None:
        workshop = asking()
        async with open_asyncio_host(workshop.toolbox, keys=KEYS) as host:
            calls = [asks("pay", {"to": to}, f"call-{to}") for to in ("ann", "bob", "cid")]
            agent, _ = agent_of(agent_tools(host, options=behalf, interrupt=True), calls)
            state = (await run_agent(agent)).to_state()
            ann, bob, _ = state.get_interruptions()
            state.approve(ann)
            state.reject(bob)
            halfway = await run_agent(agent, state)
            assert [each.arguments for each in halfway.interruptions] == ['{"to":"cid"}']
            assert workshop.said == ["paid 5 to ann"]
            ended = await run_agent(agent, await answered(halfway, yes=True))
            assert "not approved" in str(outputs(ended)["call-bob"])
            assert (workshop.said, ended.final_output) == (["paid 5 to ann", "paid 5 to cid"], "done")

    run_on_asyncio(main)


@requirement("agents.paused")
def test_a_yes_in_a_process_with_other_keys_counts_as_well() -> None:
    async def main() -> None:
        first, second = asking(), asking()
        async with open_asyncio_host(first.toolbox, keys=KEYS) as host:
            agent, _ = agent_of(agent_tools(host, options=behalf, interrupt=True), [PAY])
            state = await answered(await run_agent(agent), yes=True)
        async with open_asyncio_host(second.toolbox, keys=KEYS) as host:
            agent, _ = agent_of(agent_tools(host, options=behalf, interrupt=True))
            state = await RunState[RequestContext].from_string(agent, state.to_string())
            await run_agent(agent, state)
        assert (first.said, second.said) == ([], ["paid 7 to ada"])

    run_on_asyncio(main)


@requirement("agents.paused")
def test_one_yes_answers_the_questions_of_all_tiers_and_always_answers_later_calls() -> None:
    @tool(effect=BANK, requires_approval=True, policy=lambda _: Ask("the tool asks as well"))
    async def wire(to: str) -> str:
        """Wire money."""
        await trio.lowlevel.checkpoint()
        return f"wired to {to}"

    async def main() -> None:
        toolbox = Toolbox([wire], approval_policy=ApprovalPolicy("always"), policy=lambda _: Ask("so does the toolbox"))
        async with open_asyncio_host(toolbox, keys=KEYS) as host:
            tools = agent_tools(host, options=behalf, interrupt=True)
            turns = [[asks("wire", {"to": f"bank {turn}"}, f"call-{turn}")] for turn in range(3)]
            agent, _ = agent_of(tools, *turns)
            ended = await run_agent(agent, await answered(await run_agent(agent), yes=True, always=True))
            assert list(outputs(ended).values()) == [f"wired to bank {turn}" for turn in range(3)]

    run_on_asyncio(main)


@requirement("agents.paused", "agents.facts")
def test_without_interruptions_the_call_waits_and_the_program_gets_its_descriptor() -> None:
    async def main() -> None:
        workshop = asking()
        async with open_asyncio_host(workshop.toolbox, keys=KEYS) as host:
            agent, _ = agent_of(agent_tools(host, options=behalf), [PAY])
            ended = await run_agent(agent)
            assert "has not run yet: it needs an approval first" in str(outputs(ended)["call-1"])
            [facts] = [facts for item in ended.new_items if (facts := outcome_of(item))]
            pending = PendingApproval.from_json(facts.get("pending_approval"))
            resumed = await host.resume_approval(pending, request_context=WHO)
            assert (resumed.value, resumed.call_id) == ("paid 7 to ada", "call-1")

    run_on_asyncio(main)


async def granted(host: AsyncioHost, *, agent: str = "*", revoke: bool = False) -> None:
    """Say yes in advance to one payment."""
    grant = await host.issue_grant(
        "pay", principal="ann", tenant="acme", agent=agent, lifetime=60, max_uses=1, scope="principal"
    )
    if revoke:
        await host.revoke_grant(grant.id)


@requirement("agents.paused")
def test_a_question_that_a_grant_answers_interrupts_nobody() -> None:
    async def main() -> None:
        workshop = asking()
        async with open_asyncio_host(workshop.toolbox, keys=KEYS) as host:
            await granted(host, agent="agent-1")
            tools = agent_tools(host, options=behalf, interrupt=True)
            agent, _ = agent_of(tools, [PAY], [asks("pay", {"to": "bob", "amount": None}, "call-2")])
            paused = await run_agent(agent)
            assert outputs(paused)["call-1"] == "paid 7 to ada"
            assert [each.call_id for each in paused.interruptions] == ["call-2"]

    run_on_asyncio(main)


@requirement("agents.paused")
@pytest.mark.parametrize("case", ["another agent", "revoked", "a hook asks"])
def test_a_grant_that_does_not_count_keeps_nobody_from_being_asked(case: str) -> None:
    async def main() -> None:
        workshop = asking(policy=a_hook_asks) if case == "a hook asks" else asking()
        async with open_asyncio_host(workshop.toolbox, keys=KEYS) as host:
            await granted(host, agent="agent-2" if case == "another agent" else "*", revoke=case == "revoked")
            agent, _ = agent_of(agent_tools(host, options=behalf, interrupt=True), [PAY])
            assert len((await run_agent(agent)).interruptions) == 1
            assert workshop.said == []

    run_on_asyncio(main)


@requirement("agents.paused")
@pytest.mark.parametrize(
    "failure",
    [StoreUnavailable("here", "the disk is gone"), AdmissionClosed("the host is closed")],
    ids=["store", "host"],
)
def test_a_store_of_grants_that_fails_keeps_nobody_from_being_asked(
    failure: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(**_: object) -> NoReturn:
        raise failure

    async def main() -> None:
        workshop = asking()
        async with open_asyncio_host(workshop.toolbox, keys=KEYS) as host:
            monkeypatch.setattr(host, "list_grants", fail)
            agent, _ = agent_of(agent_tools(host, options=behalf, interrupt=True), [PAY])
            if isinstance(failure, AdmissionClosed):  # it is the host that says so
                with pytest.raises(UserError, match="the host is closed"):
                    await run_agent(agent)
            else:
                assert len((await run_agent(agent)).interruptions) == 1
            assert workshop.said == []

    run_on_asyncio(main)


@requirement("agents.paused")
def test_what_has_to_be_filled_in_interrupts_nobody() -> None:
    async def main() -> None:
        workshop = asking(policy=wants_input)
        async with open_asyncio_host(workshop.toolbox, keys=KEYS) as host:
            agent, _ = agent_of(agent_tools(host, options=behalf, interrupt=True), [PAY])
            ended = await run_agent(agent)
            assert (ended.interruptions, workshop.said) == ([], [])
            assert "it needs an answer from a person first" in str(outputs(ended)["call-1"])

    run_on_asyncio(main)


def a_hook_asks(_: PolicyRequest) -> Ask:
    return Ask("the hook asks")


def edited(request: PolicyRequest) -> object:
    if request.arguments.get("to") == "ada":
        return Edit({"to": "mallory", "amount": 7_000})
    return Ask("is this right?")


def wants_input(_: PolicyRequest) -> object:
    return Ask("to which account?", kind="input")


@requirement("agents.agreed-to-what-runs")
@pytest.mark.parametrize(
    ("policy", "words"),
    [
        pytest.param(edited, "has not run yet: it needs an approval first", id="a hook made other arguments"),
        pytest.param(wants_input, "has not run yet: it needs an answer from a person first", id="something is missing"),
    ],
)
def test_a_yes_counts_for_nothing_else_than_the_person_saw(policy: Policy, words: str) -> None:
    async def main() -> None:
        workshop = asking(policy=policy)
        async with open_asyncio_host(workshop.toolbox, keys=KEYS) as host:
            tools = agent_tools(host, options=behalf, interrupt=True)
            for each in tools:
                each.needs_approval = True  # a person is asked in any case, and sees what the model wrote
            agent, _ = agent_of(tools, [PAY])
            ended = await run_agent(agent, await answered(await run_agent(agent), yes=True))
            assert words in str(outputs(ended)["call-1"])
            assert workshop.said == []

    run_on_asyncio(main)


@requirement("agents.agreed-to-what-runs")
def test_a_step_of_a_composed_tool_is_not_agreed_to_with_the_whole() -> None:
    async def main() -> None:
        workshop = asking()
        price = tool(effect="read-only", name="price")(_price)
        pay = workshop.toolbox.get("pay")
        assert pay is not None
        toolbox = workshop.toolbox.extend(pipe(price, pay, name="settle"))
        async with open_asyncio_host(toolbox, keys=KEYS) as host:
            tools = agent_tools(host, tools=["settle"], options=behalf, interrupt=True)
            tools[0].needs_approval = True
            agent, _ = agent_of(tools, [asks("settle", {"to": "ada"}, "call-1")])
            ended = await run_agent(agent, await answered(await run_agent(agent), yes=True))
            assert "it needs an approval first" in str(outputs(ended)["call-1"])
            [facts] = [facts for item in ended.new_items if (facts := outcome_of(item))]
            resumed = await host.resume_approval(facts.get("pending_approval") or {}, request_context=WHO)
            assert resumed.value == "paid 9 to ada"

    run_on_asyncio(main)


async def _price(to: str) -> dict[str, object]:
    """What is due."""
    return {"to": to, "amount": 9}


@requirement("agents.agreed-to-what-runs")
def test_not_even_a_step_that_has_the_arguments_of_the_whole_is_agreed_to_with_it() -> None:
    async def main() -> None:
        workshop = asking()
        pay = workshop.toolbox.get("pay")
        assert pay is not None
        toolbox = workshop.toolbox.extend(pipe(pay, tool(effect="read-only", name="note")(_note), name="settle"))
        async with open_asyncio_host(toolbox, keys=KEYS) as host:
            [settle] = agent_tools(host, tools=["settle"], options=behalf, interrupt=True)
            settle.needs_approval = True
            agent, _ = agent_of([settle], [asks("settle", {"to": "ada", "amount": 7}, "call-1")])
            ended = await run_agent(agent, await answered(await run_agent(agent), yes=True))
            assert "it needs an approval first" in str(outputs(ended)["call-1"])
            assert workshop.said == []

    run_on_asyncio(main)


async def _note(text: str) -> str:
    """Note something."""
    return text


@requirement("agents.agreed-to-what-runs")
def test_a_question_that_comes_up_only_with_the_call_waits_for_a_yes() -> None:
    async def main() -> None:
        asked: list[PolicyRequest] = []

        def later(request: PolicyRequest) -> object:
            asked.append(request)
            return Ask("on second thoughts") if len(asked) > 1 else None

        workshop = asking(policy=later)
        async with open_asyncio_host(workshop.toolbox, keys=KEYS) as host:
            agent, _ = agent_of(agent_tools(host, options=behalf, interrupt=True), [PAY])
            ended = await run_agent(agent)
            assert ended.interruptions == []
            assert "has not run yet: it needs an approval first" in str(outputs(ended)["call-1"])
            assert (workshop.said, len(asked)) == ([], 2)

    run_on_asyncio(main)


@requirement("agents.agreed-to-what-runs")
def test_rules_that_were_exchanged_meanwhile_are_asked_anew() -> None:
    async def main() -> None:
        workshop, strict = asking(), asking(policy=lambda _: False)
        live = LiveToolbox(workshop.toolbox)
        async with open_asyncio_host(live, keys=KEYS) as host:
            agent, _ = agent_of(agent_tools(host, options=behalf, interrupt=True), [PAY])
            state = await answered(await run_agent(agent), yes=True)
            live.swap(strict.toolbox)
            ended = await run_agent(agent, state)
            assert "did not run: it was refused by policy" in str(outputs(ended)["call-1"])
            assert (workshop.said, strict.said) == ([], [])

    run_on_asyncio(main)


@requirement("agents.paused")
def test_a_host_without_keys_interrupts_nobody_and_says_that_nobody_could_be_asked() -> None:
    async def main() -> None:
        workshop = asking()
        async with open_asyncio_host(workshop.toolbox) as host:
            agent, _ = agent_of(agent_tools(host, options=behalf, interrupt=True), [PAY])
            ended = await run_agent(agent)
            assert (ended.interruptions, workshop.said) == ([], [])
            assert "Nothing goes on by itself here" in str(outputs(ended)["call-1"])

    run_on_asyncio(main)


@requirement("agents.paused")
def test_a_hook_that_fails_interrupts_nobody_and_denies() -> None:
    def broken(request: PolicyRequest) -> object:
        raise RuntimeError(request.tool_name)

    async def main() -> None:
        workshop = asking(policy=broken)
        async with open_asyncio_host(workshop.toolbox, keys=KEYS) as host:
            agent, _ = agent_of(agent_tools(host, options=behalf, interrupt=True), [PAY])
            ended = await run_agent(agent)
            assert (ended.interruptions, workshop.said) == ([], [])
            assert "did not run: it was refused by policy" in str(outputs(ended)["call-1"])

    run_on_asyncio(main)


@requirement("agents.paused")
def test_arguments_that_do_not_fit_interrupt_nobody() -> None:
    async def main() -> None:
        workshop = asking()
        async with open_asyncio_host(workshop.toolbox, keys=KEYS) as host:
            calls = [asks("pay", {"to": 7}, "call-1"), asks("pay", {"to": "ada", "amount": "all"}, "call-2")]
            agent, _ = agent_of(agent_tools(host, options=behalf, interrupt=True), calls)
            ended = await run_agent(agent)
            assert ended.interruptions == []
            assert all("did not run: its arguments are invalid" in str(said) for said in outputs(ended).values())

    run_on_asyncio(main)


@requirement("agents.paused")
def test_a_tool_that_is_gone_when_it_is_asked_about_interrupts_nobody() -> None:
    async def main() -> None:
        live = LiveToolbox(asking().toolbox)
        async with open_asyncio_host(live, keys=KEYS) as host:
            [pay] = agent_tools(host, tools=["pay"], options=behalf, interrupt=True)
            needs = pay.needs_approval
            assert callable(needs)
            context = in_call(pay, "{}")
            assert await needs(context, {"to": "ada", "amount": 7}, "call-1")
            live.unregister("pay")
            assert not await needs(context, {"to": "ada", "amount": 7}, "call-1")
            assert "there is no such tool" in await pay.on_invoke_tool(context, '{"to": "ada"}')

    run_on_asyncio(main)


@requirement("agents.agreed-to-what-runs")
def test_a_policy_that_words_each_question_anew_is_not_answered_for_ever() -> None:
    async def main() -> None:
        asked: list[str] = []

        def insatiable(_: PolicyRequest) -> object:
            asked.append("again")
            return Ask(f"question {len(asked)}")

        workshop = asking(policy=insatiable)
        async with open_asyncio_host(workshop.toolbox, keys=KEYS) as host:
            agent, _ = agent_of(agent_tools(host, options=behalf, interrupt=True), [PAY])
            ended = await run_agent(agent, await answered(await run_agent(agent), yes=True))
            assert "it needs an approval first" in str(outputs(ended)["call-1"])
            assert (workshop.said, len(asked) < 40) == ([], True)

    run_on_asyncio(main)


@requirement("agents.cancel", "agents.paused")
def test_a_run_that_is_cancelled_after_a_yes_aborts_what_goes_on() -> None:
    async def main() -> None:
        workshop = asking()
        async with open_asyncio_host(workshop.toolbox, keys=KEYS) as host:
            tools = agent_tools(host, options=behalf, interrupt=True)
            agent, _ = agent_of(tools, [asks("sleep", {}, "call-1")])
            state = await answered(await run_agent(agent), yes=True)
            running = asyncio.create_task(run_agent(agent, state))
            await workshop.running.wait()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            await host.wait_idle()
            assert workshop.said == ["began", "cleaned up"]
            assert host.executions.inspect()[-1].abort is not None

    run_on_asyncio(main)
