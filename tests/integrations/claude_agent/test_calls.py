"""What an agent is shown, what its calls are, and what its model reads."""

from __future__ import annotations

import asyncio
import logging
from typing import cast

import pytest

pytest.importorskip("claude_agent_sdk", reason="the SDK is too large to be installed here: make claude-agent")

import trio
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ToolResultBlock, UserMessage, query

from armory_trio import CallOptions, DefinitionError, Gates, LiveToolbox, Toolbox, open_supervisor, tool
from armory_trio.authority import ApprovalPolicy
from armory_trio.definitions import thaw_json
from armory_trio.integrations.asyncio_host import AsyncioHost, open_asyncio_host
from armory_trio.integrations.claude_agent import ClaudeTools
from armory_trio.integrations.mcp.server import McpServer
from tests.integrations.claude_agent.cli import ScriptedCli, Use
from tests.integrations.claude_agent.sessions import converse, hold_session, open_session, options_of, words
from tests.integrations.loops import Run, on_each_loop, pending_futures, run_on_asyncio
from tests.integrations.workshop import WHO, Workshop
from tests.requirements import requirement


@requirement("agents.shown")
def test_claude_code_lists_the_tools_with_their_contracts_and_what_they_do_to_the_world() -> None:
    async def main() -> None:
        async with open_asyncio_host(Workshop().toolbox) as host:
            tools = ClaudeTools(host)
            cli = await hold_session(tools)
            assert list(cli.listed) == tools.names
            work, pay = cli.listed["mcp__armory__work"], cli.listed["mcp__armory__pay"]
            assert work["description"] == "Work a little, at most two at a time."
            assert work["inputSchema"] == thaw_json(
                {each.name: each for each in host.toolbox}["work"].definition.input_schema
            )
            assert (work["annotations"], pay["annotations"]) == (
                {"readOnlyHint": True, "destructiveHint": False},
                {"readOnlyHint": False},
            )
            assert not any("outputSchema" in each for each in cli.listed.values())

    run_on_asyncio(main)


@requirement("agents.shown")
def test_what_may_never_run_is_not_listed_and_names_are_made_legal() -> None:
    @tool(name="größe.messen", effect="read-only")
    async def measure(what: str) -> str:
        await trio.lowlevel.checkpoint()
        return f"{what}: 3"

    async def main() -> None:
        workshop = Workshop()
        toolbox = Toolbox([measure, *workshop.toolbox], gates=Gates(read_only=True))
        async with open_asyncio_host(toolbox) as host:
            tools = ClaudeTools(host, name="shop-1")
            [odd, *others] = tools.names
            assert (odd.isascii(), "mcp__shop-1__pay" in others, "mcp__shop-1__work" in others) == (True, False, True)
            cli = ScriptedCli([Use(odd, {"what": "box"})], servers=["shop-1"], allowed=[odd])
            playing = asyncio.create_task(cli.play())
            async with ClaudeSDKClient(options_of(tools), transport=cli) as client:
                await converse(client)
            await playing
            assert words(cli) == "box: 3"

    run_on_asyncio(main)


@requirement("agents.available")
def test_a_tool_that_is_not_available_is_not_listed_and_does_not_run() -> None:
    async def main() -> None:
        workshop = Workshop()
        workshop.closed = True
        async with open_asyncio_host(workshop.toolbox) as host:
            cli = await hold_session(ClaudeTools(host), Use("mcp__armory__shop", {"item": "tea"}))
            assert "mcp__armory__shop" not in cli.listed
            assert words(cli).startswith("The tool 'shop' did not run: it is not available now")

    run_on_asyncio(main)


@requirement("agents.shown")
def test_a_tool_that_was_not_chosen_or_is_gone_cannot_be_called() -> None:
    async def main() -> None:
        workshop = Workshop()
        live = LiveToolbox(workshop.toolbox)
        async with open_asyncio_host(live) as host:
            tools = ClaudeTools(host, tools=["work"])
            cli = await hold_session(tools, Use("mcp__armory__pay", {"to": "ada"}), Use("mcp__armory__wrok"))
            assert "did not run: there is no such tool (NOT_FOUND)" in words(cli)
            assert "did you mean 'work'?" in words(cli, "toolu_1")
            assert (workshop.said, cli.failed) == ([], {"toolu_0", "toolu_1"})
            everything = ClaudeTools(host)
            live.swap(Toolbox([each for each in workshop.toolbox if each.name == "work"]))
            assert everything.names == ["mcp__armory__work"]

    run_on_asyncio(main)


@requirement("agents.supervised")
@on_each_loop
def test_the_calls_of_a_turn_run_within_the_limits_of_the_host(run: Run) -> None:
    async def main() -> None:
        workshop = Workshop(meet=2)
        async with open_asyncio_host(workshop.toolbox) as host:
            turn = [Use("mcp__armory__work", {"number": n}) for n in range(12)]
            cli = await hold_session(ClaudeTools(host), *turn)
            assert [words(cli, f"toolu_{n}") for n in range(12)] == [str(n * 10) for n in range(12)]
            assert workshop.most == 2
        assert pending_futures() == []

    run(main)


@requirement("agents.supervised")
def test_a_call_has_the_id_of_its_use_and_the_options_that_the_program_answers_for_it() -> None:
    async def main() -> None:
        asked: list[str] = []

        def options(use: str) -> CallOptions:
            asked.append(use)
            return {"owner_id": "run-7", "request_context": WHO}

        async with open_asyncio_host(Workshop().toolbox) as host:
            cli = await hold_session(ClaudeTools(host, options=options), Use("mcp__armory__whoami", id="toolu_x"))
            assert (words(cli, "toolu_x"), set(asked)) == ("run-7 ann toolu_x", {"toolu_x"})

    run_on_asyncio(main)


@requirement("agents.words")
def test_the_model_reads_in_words_how_each_call_ended_and_whether_it_failed() -> None:
    async def main() -> None:
        async with open_asyncio_host(Workshop().toolbox) as host:
            turn = [Use(f"mcp__armory__{name}", arguments) for name, arguments in _TURN.items()]
            cli = await hold_session(ClaudeTools(host), *turn)
            crashed, declined, paid = (words(cli, f"toolu_{n}") for n in range(3))
            assert "The tool 'crash' failed" in crashed
            assert "It may have taken effect." in crashed
            assert "It changed nothing." in declined
            assert "did not run: its arguments are invalid (INVALID_ARGUMENTS)" in paid
            assert cli.failed == {"toolu_0", "toolu_1", "toolu_2"}

    run_on_asyncio(main)


_TURN = {"crash": {}, "decline": {}, "pay": {"to": 7}}


@requirement("agents.media")
def test_pictures_reach_the_model_and_the_chunks_of_a_stream_are_collected() -> None:
    async def main() -> None:
        async with open_asyncio_host(Workshop().toolbox) as host:
            turn = [Use("mcp__armory__draw"), Use("mcp__armory__count", {"upto": 3})]
            cli = await hold_session(ClaudeTools(host), *turn)
            text, picture = cli.told["toolu_0"]
            assert (text["text"], picture["type"], picture["mimeType"]) == ("here it is", "image", "image/png")
            assert words(cli, "toolu_1") == "[0,1,2]"

    run_on_asyncio(main)


@requirement("agents.facts")
def test_the_program_finds_the_facts_of_a_call_by_the_blocks_of_its_messages() -> None:
    async def main() -> None:
        async with open_asyncio_host(Workshop().toolbox) as host:
            tools = ClaudeTools(host)
            async with open_session(tools, Use("mcp__armory__crash")) as (client, _):
                messages = await converse(client)
            [block] = [
                block
                for message in messages
                if isinstance(message, UserMessage)
                for block in message.content
                if isinstance(block, ToolResultBlock)
            ]
            facts = tools.outcome_of(block)
            [shot] = host.executions.inspect()
            assert facts is not None
            assert (facts["execution_id"], facts["effect"], facts.get("code")) == (
                shot.execution_id,
                "unknown",
                "INTERNAL_ERROR",
            )
            assert tools.outcome_of(ToolResultBlock("toolu_other")) is None

    run_on_asyncio(main)


@requirement("agents.words")
def test_of_what_the_program_raises_the_model_learns_nothing_and_the_log_its_kind_and_place(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def options(_: str) -> CallOptions:
        raise LookupError("the table of users is at /secret")

    async def main() -> None:
        async with open_asyncio_host(Workshop().toolbox) as host:
            cli = await hold_session(ClaudeTools(host, options=options), Use("mcp__armory__work", {"number": 1}))
            assert (words(cli), cli.failed) == ("Internal error; the log of the program says why", {"toolu_0"})

    with caplog.at_level(logging.ERROR):
        run_on_asyncio(main)
    assert "LookupError (test_calls.py" in caplog.text
    assert "/secret" not in caplog.text


@requirement("agents.media")
def test_a_very_long_result_and_odd_characters_come_whole() -> None:
    @tool(effect="read-only")
    async def tell() -> str:
        await trio.lowlevel.checkpoint()
        return "\ud800" + "x" * 3_000_000 + "é\x00"

    async def main() -> None:
        async with open_asyncio_host(Toolbox([tell])) as host:
            cli = await hold_session(ClaudeTools(host), Use("mcp__armory__tell"))
            assert len(words(cli)) >= 3_000_002
            assert words(cli).endswith("xé\x00")

    run_on_asyncio(main)


@requirement("agents.supervised")
def test_several_sessions_share_one_set_of_tools() -> None:
    async def main() -> None:
        workshop = Workshop(meet=2)
        async with open_asyncio_host(workshop.toolbox) as host:
            tools = ClaudeTools(host)
            turn = [Use("mcp__armory__work", {"number": n}) for n in range(4)]
            clis = await asyncio.gather(*(hold_session(tools, *turn) for _ in range(3)))
            assert {words(cli, "toolu_3") for cli in clis} == {"30"}
            assert workshop.most == 2

    run_on_asyncio(main)


@requirement("agents.supervised")
def test_query_works_as_the_client_does() -> None:
    async def main() -> None:
        async with open_asyncio_host(Workshop().toolbox) as host:
            cli = ScriptedCli([Use("mcp__armory__work", {"number": 4})])
            playing = asyncio.create_task(cli.play())
            async for _ in query(prompt="go on", options=options_of(ClaudeTools(host)), transport=cli):
                pass
            await playing
            assert words(cli) == "40"

    run_on_asyncio(main)


@requirement("agents.supervised")
@pytest.mark.filterwarnings(
    "ignore:Async generator 'claude_agent_sdk:ResourceWarning"
)  # which it leaves to be collected
async def test_in_a_program_on_trio_our_mcp_server_is_the_sdks_own_kind_of_server() -> None:
    workshop = Workshop(meet=2)
    async with open_supervisor(workshop.toolbox) as supervisor, trio.open_nursery() as nursery:
        server = McpServer(supervisor, name="armory")
        cli = ScriptedCli([Use("mcp__armory__work", {"number": n}) for n in range(5)], allowed=["mcp__armory__work"])
        nursery.start_soon(cli.play)
        options = ClaudeAgentOptions(mcp_servers={"armory": {"type": "sdk", "name": "armory", "instance": server.sdk}})
        async with ClaudeSDKClient(options, transport=cli) as client:
            await converse(client)
        assert [words(cli, f"toolu_{n}") for n in range(5)] == ["0", "10", "20", "30", "40"]
        assert workshop.most == 2


@requirement("agents.wrong")
def test_what_is_wrong_about_the_tools_is_said_when_they_are_made() -> None:
    async def main() -> None:
        toolbox = Workshop(approval_policy=ApprovalPolicy("on-mutation")).toolbox
        async with open_asyncio_host(toolbox) as host:
            for name in ("", "a__b", "größe", "x" * 58, "a_"):
                with pytest.raises(DefinitionError, match="ClaudeTools: name"):
                    ClaudeTools(host, name=name)
            with pytest.raises(DefinitionError, match="did you mean 'work'"):
                ClaudeTools(host, tools=["wrok"])
            with pytest.raises(DefinitionError, match="'Bash'"):
                ClaudeTools(host, effects={"Bash": "anything"})  # type: ignore[dict-item]  # pyright: ignore[reportArgumentType]
            with pytest.raises(DefinitionError, match="ask"):
                ClaudeTools(host, ask=cast("None", 3))
            with pytest.raises(DefinitionError, match="host"):
                ClaudeTools(cast("AsyncioHost", object()))

    run_on_asyncio(main)
