"""Who is asked before a call, and what a yes counts for; tools of others behind the rules of the host."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final, Unpack

import pytest

pytest.importorskip("claude_agent_sdk", reason="the SDK is too large to be installed here: make claude-agent")

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ToolPermissionContext, ToolUseBlock

from armory_trio import ApprovalRequest, CallOptions, Deny, Edit, Gates, PolicyRequest
from armory_trio.authority import ApprovalPolicy
from armory_trio.definitions import EffectSpec
from armory_trio.integrations.asyncio_host import open_asyncio_host
from armory_trio.integrations.claude_agent import ClaudeTools
from tests.integrations.banks import KEYS
from tests.integrations.claude_agent.cli import ScriptedCli, Use
from tests.integrations.claude_agent.sessions import Person, converse, hold_session, words
from tests.integrations.loops import run_on_asyncio
from tests.integrations.workshop import WHO, Rules, Workshop
from tests.requirements import requirement

CAREFUL: Final = ApprovalPolicy("on-mutation")
PAY: Final = "mcp__armory__pay"
DISK: Final[EffectSpec] = {"class": "destructive", "targets": [{"kind": "other", "id": "disk"}]}


def pay(**arguments: object) -> Use:
    return Use(PAY, {"to": "eve", **arguments})


def session(
    *turn: Use, person: Person | None, workshop: Workshop, keys: bool = True, allowed: tuple[str, ...] = ()
) -> ScriptedCli:
    async def main() -> ScriptedCli:
        async with open_asyncio_host(workshop.toolbox, keys=KEYS if keys else None) as host:
            tools = ClaudeTools(host, options=lambda _: {"request_context": WHO}, ask=person)
            return await hold_session(tools, *turn, allowed=allowed)

    return run_on_asyncio(main)


@requirement("agents.paused")
@pytest.mark.parametrize("allowed", [(), (PAY,)])
def test_a_person_is_asked_about_a_call_once_and_then_it_runs_once(allowed: tuple[str, ...]) -> None:
    workshop, person = Workshop(approval_policy=CAREFUL), Person()
    cli = session(pay(), Use("mcp__armory__work", {"number": 1}), person=person, workshop=workshop, allowed=allowed)

    assert person.asked == [(PAY, {"to": "eve"}, "toolu_0")]
    assert (words(cli), words(cli, "toolu_1"), workshop.said) == ("paid 5 to eve", "10", ["paid 5 to eve"])
    assert (PAY, "A person has to agree to this call.") in cli.asked


@requirement("agents.paused")
def test_a_no_is_told_to_the_model_and_nothing_runs() -> None:
    workshop = Workshop(approval_policy=CAREFUL)
    cli = session(pay(), person=Person(yes=False), workshop=workshop)

    assert (words(cli), cli.failed, workshop.said) == ("not today", {"toolu_0"}, [])


@requirement("agents.agreed-to-what-runs")
def test_a_person_may_agree_to_other_arguments_and_those_run() -> None:
    workshop = Workshop(approval_policy=CAREFUL)
    cli = session(pay(amount=900), person=Person(instead={"to": "eve", "amount": 1}), workshop=workshop)

    assert (words(cli), workshop.said) == ("paid 1 to eve", ["paid 1 to eve"])


@requirement("agents.agreed-to-what-runs")
def test_a_yes_does_not_count_for_arguments_that_a_hook_makes() -> None:
    def less(request: PolicyRequest) -> object:
        return Edit({**request.arguments, "amount": 1}) if request.tool_name == "pay" else True

    workshop = Workshop(approval_policy=CAREFUL, policy=less)
    cli = session(pay(amount=900), person=Person(), workshop=workshop)

    assert "it needs an approval first" in words(cli)
    assert workshop.said == []


@requirement("agents.agreed-to-what-runs")
def test_a_yes_does_not_count_a_second_time_nor_for_other_arguments() -> None:
    async def main() -> None:
        workshop = Workshop(approval_policy=CAREFUL)
        async with open_asyncio_host(workshop.toolbox, keys=KEYS) as host:
            tools = ClaudeTools(host, options=lambda _: {"request_context": WHO}, ask=Person())
            await hold_session(tools, pay())
            await tools.can_use_tool(PAY, {"to": "bob"}, ToolPermissionContext(tool_use_id="toolu_1"))
            bare = ClaudeAgentOptions(mcp_servers=tools.servers)  # nobody asks
            again, other = Use(PAY, {"to": "eve"}, id="toolu_0"), Use(PAY, {"to": "mallory"}, id="toolu_1")
            cli = ScriptedCli([again, other], allowed=[PAY])
            playing = asyncio.create_task(cli.play())
            async with ClaudeSDKClient(bare, transport=cli) as client:
                await converse(client)
            await playing
            assert "it needs an approval first" in words(cli)
            assert "it needs an approval first" in words(cli, "toolu_1")
            assert workshop.said == ["paid 5 to eve"]

    run_on_asyncio(main)


@requirement("agents.paused", "agents.facts")
def test_without_anybody_to_ask_the_call_waits_and_the_program_has_the_descriptor() -> None:
    async def main() -> None:
        workshop = Workshop(approval_policy=CAREFUL)
        async with open_asyncio_host(workshop.toolbox, keys=KEYS) as host:
            tools = ClaudeTools(host, options=lambda _: {"request_context": WHO})
            cli = await hold_session(tools, pay())
            assert "it needs an approval first" in words(cli)
            facts = tools.outcome_of(ToolUseBlock("toolu_0", PAY, {}))
            assert facts is not None
            assert "pending_approval" in facts
            result = await host.resume_approval(facts["pending_approval"], request_context=WHO)
            assert (result.value, workshop.said) == ("paid 5 to eve", ["paid 5 to eve"])

    run_on_asyncio(main)


@requirement("agents.paused")
def test_without_keys_nobody_is_asked_and_the_model_reads_that_the_call_does_not_go_on() -> None:
    workshop, person = Workshop(approval_policy=CAREFUL), Person()
    cli = session(pay(), person=person, workshop=workshop, keys=False)

    assert "Nothing goes on by itself here" in words(cli)
    assert (person.asked, workshop.said) == ([], [])


@requirement("agents.asked-in-place")
def test_the_handler_of_the_host_is_asked_and_the_call_waits_for_it() -> None:
    async def main() -> None:
        asked: list[str] = []

        async def handler(request: ApprovalRequest) -> bool:
            await asyncio.sleep(0)
            asked.append(request.tool_name)
            return True

        workshop = Workshop(approval_policy=CAREFUL)
        async with open_asyncio_host(workshop.toolbox, approval_handler=handler) as host:
            cli = await hold_session(ClaudeTools(host), pay())
            assert (words(cli), asked) == ("paid 5 to eve", ["pay"])

    run_on_asyncio(main)


@requirement("agents.words")
def test_what_the_rules_refuse_is_refused_by_the_call_and_nobody_is_asked() -> None:
    def no_large_sums(request: PolicyRequest) -> object:
        return Deny("too much") if request.arguments.get("amount") == 900 else True

    workshop, person = Workshop(approval_policy=CAREFUL, policy=no_large_sums), Person()
    cli = session(pay(amount=900), person=person, workshop=workshop)

    assert "too much" in words(cli)
    assert (person.asked, workshop.said) == ([], [])


# ── Tools of others ──────────────────────────────────────────────────────────────────────────────────────────────────


def others(
    *turn: Use,
    effects: Mapping[str, EffectSpec] | None,
    person: Person | None = None,
    allowed: tuple[str, ...] = ("Bash", "Read", "Wipe"),
    **rules: Unpack[Rules],
) -> ScriptedCli:
    """A session whose model uses tools of Claude Code's own."""

    async def main() -> ScriptedCli:
        async with open_asyncio_host(Workshop(**rules).toolbox) as host:
            return await hold_session(ClaudeTools(host, ask=person, effects=effects), *turn, allowed=allowed)

    return run_on_asyncio(main)


BASH: Final = Use("Bash", {"command": "ls"})
READ: Final = Use("Read", {"file_path": "a"})


@requirement("agents.gate")
def test_tools_of_others_are_left_alone_unless_effects_are_given() -> None:
    cli = others(BASH, effects=None, gates=Gates(read_only=True))

    assert words(cli) == "ran Bash"


@requirement("agents.gate")
def test_tools_of_others_pass_the_gates_by_what_is_stated_of_them() -> None:
    stated: Mapping[str, EffectSpec] = {"Read": "read-only", "Wipe": DISK}
    cli = others(READ, BASH, Use("Wipe"), effects=stated, gates=Gates(read_only=True))

    assert words(cli) == "ran Read"
    for use in ("toolu_1", "toolu_2"):
        assert "did not run: it was refused, because this session does not allow such tools" in words(cli, use)


@requirement("agents.gate")
def test_the_policy_hook_decides_about_tools_of_others_with_their_arguments() -> None:
    seen: list[tuple[str, object, str]] = []

    def policy(request: PolicyRequest) -> object:
        seen.append((request.tool_name, request.arguments.get("command"), request.call_id))
        match request.arguments.get("command"):
            case "rm":
                return Deny("no rm")
            case "ls":
                return Edit({"command": "ls -l"})
            case "boom":
                raise LookupError("the rules are away")
            case _:
                return True

    turn = [Use("Bash", {"command": command}) for command in ("rm", "ls", "boom", "pwd")]
    cli = others(*turn, effects={}, policy=policy)

    assert "no rm" in words(cli)
    assert "wants other arguments" in words(cli, "toolu_1")
    assert "did not run: it was refused by policy" in words(cli, "toolu_2")
    assert words(cli, "toolu_3") == "ran Bash"
    assert ("Bash", "rm", "toolu_0") in seen


@requirement("agents.gate", "agents.paused")
def test_a_person_is_asked_about_tools_of_others_where_the_rules_want_it() -> None:
    yes, no = Person(), Person(yes=False)
    asks = ApprovalPolicy("on-mutation")

    assert words(others(BASH, effects={}, person=yes, approval_policy=asks)) == "ran Bash"
    assert words(others(BASH, effects={}, person=no, approval_policy=asks)) == "not today"
    assert (len(yes.asked), len(no.asked)) == (1, 1)
    assert "there is nobody here to ask" in words(others(BASH, effects={}, approval_policy=asks))


@requirement("agents.gate")
def test_what_claude_code_would_ask_about_is_put_to_the_person_or_denied() -> None:
    person = Person()

    assert words(others(BASH, effects=None, person=person, allowed=())) == "ran Bash"
    assert person.asked == [("Bash", {"command": "ls"}, "toolu_0")]
    assert words(others(BASH, effects=None, allowed=())) == "There is nobody here who could be asked."


@requirement("agents.gate")
def test_a_call_about_which_nothing_can_be_found_out_is_blocked() -> None:
    def options(_: str) -> CallOptions:
        raise LookupError("the table of users is away")

    async def main() -> None:
        async with open_asyncio_host(Workshop().toolbox) as host:
            tools = ClaudeTools(host, options=options, effects={})
            cli = await hold_session(tools, BASH, allowed=["Bash"])
            assert words(cli) == "hook failed: the table of users is away"
            [matcher] = tools.hooks["PreToolUse"]
            assert matcher.on_failure == "block"

    run_on_asyncio(main)
