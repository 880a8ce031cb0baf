"""The same with Claude Code itself, whose model is a script on loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("claude_agent_sdk", reason="the SDK is too large to be installed here: make claude-agent")

import claude_agent_sdk
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ToolResultBlock, UserMessage

from armory_trio import Gates
from armory_trio.authority import ApprovalPolicy
from armory_trio.integrations.asyncio_host import AsyncioHost, open_asyncio_host
from armory_trio.integrations.claude_agent import ClaudeTools
from tests.integrations.banks import KEYS
from tests.integrations.claude_agent.cli import Use
from tests.integrations.claude_agent.sessions import Person, converse
from tests.integrations.loops import run_on_asyncio
from tests.integrations.workshop import WHO, Workshop
from tests.providers._sse_server import Server, named_events, serving
from tests.providers._streams import Said, anthropic_events
from tests.requirements import requirement

PROGRAM = Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude"

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="the SDK was installed without its program")


@contextmanager
def model(*turn: Use) -> Generator[Server]:
    """A model that makes the calls of *turn*, and then says that it is done."""
    uses = [Said(f"toolu_{n}", use.name, [json.dumps(dict(use.arguments))]) for n, use in enumerate(turn)]
    with serving() as server:
        server.says(named_events(anthropic_events(uses)))
        server.says(named_events(anthropic_events([], "end_turn", "done")))
        yield server


def options_of(tools: ClaudeTools, server: Server, home: Path) -> ClaudeAgentOptions:
    """Claude Code that knows nobody, and talks to *server* alone."""
    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1", "HOME": str(home)}
    model = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "none", "CLAUDE_CONFIG_DIR": str(home / "config")}
    return ClaudeAgentOptions(
        mcp_servers=tools.servers,
        hooks=tools.hooks,
        can_use_tool=tools.can_use_tool,
        env={**quiet, **model},
        cwd=str(home),
        setting_sources=[],
        model="claude-sonnet-4-5",
    )


def told(messages: list[object]) -> dict[str, str]:
    """What the model reads of each use."""
    return {
        block.tool_use_id: block.content if isinstance(block.content, str) else json.dumps(block.content)
        for message in messages
        if isinstance(message, UserMessage)
        for block in message.content
        if isinstance(block, ToolResultBlock)
    }


async def hold_session(tools: ClaudeTools, home: Path, *turn: Use) -> Mapping[str, str]:
    messages: list[object] = []
    with model(*turn) as server:
        async with ClaudeSDKClient(options_of(tools, server, home)) as client:
            messages += await converse(client)
    return told(messages)


@requirement("agents.supervised", "agents.words")
def test_its_calls_run_within_the_limits_and_it_is_told_how_they_ended(tmp_path: Path) -> None:
    async def main() -> None:
        workshop = Workshop()
        async with open_asyncio_host(workshop.toolbox) as host:
            turn = [*(Use("mcp__armory__work", {"number": n}) for n in range(6)), Use("mcp__armory__crash")]
            said = await hold_session(ClaudeTools(host), tmp_path, *turn)
            assert [json.loads(said[f"toolu_{n}"])[0]["text"] for n in range(6)] == ["0", "10", "20", "30", "40", "50"]
            assert "It may have taken effect." in said["toolu_6"]
            assert workshop.most == 2  # it makes calls of tools that only read at the same time
            assert {each.call_id for each in host.executions.inspect()} == {f"toolu_{n}" for n in range(7)}

    run_on_asyncio(main)


@requirement("agents.paused", "agents.gate")
def test_a_person_is_asked_before_it_makes_a_call_and_what_the_rules_refuse_it_does_not_do(tmp_path: Path) -> None:
    async def main() -> None:
        workshop, person = Workshop(approval_policy=ApprovalPolicy("on-mutation")), Person()
        async with open_asyncio_host(workshop.toolbox, keys=KEYS) as host:
            tools = ClaudeTools(host, options=lambda _: {"request_context": WHO}, ask=person, effects={})
            said = await hold_session(tools, tmp_path, Use("mcp__armory__pay", {"to": "eve"}))
            assert "paid 5 to eve" in said["toolu_0"]
            assert (person.asked, workshop.said) == (
                [("mcp__armory__pay", {"to": "eve"}, "toolu_0")],
                ["paid 5 to eve"],
            )
        async with open_asyncio_host(Workshop(gates=Gates(read_only=True)).toolbox) as host:
            touch = Use("Bash", {"command": f"touch {tmp_path}/touched"})
            said = await hold_session(ClaudeTools(host, effects={}), tmp_path, touch)
            assert "this session does not allow such tools (GATE_DENIED)" in said["toolu_0"]
            assert not (tmp_path / "touched").exists()

    run_on_asyncio(main)


async def ended(host: AsyncioHost, workshop: Workshop) -> None:
    """Raise AssertionError unless the one execution was aborted by its caller, and has ended."""
    await host.wait_idle()
    [shot] = host.executions.inspect()
    assert shot.abort is not None
    assert (shot.abort.source, workshop.said) == ("caller", ["began", "cleaned up"])


@requirement("agents.cancel")
@pytest.mark.parametrize("interrupts", [True, False])
def test_what_it_gives_up_is_aborted(interrupts: bool, tmp_path: Path) -> None:
    async def main() -> None:
        workshop = Workshop()
        async with open_asyncio_host(workshop.toolbox) as host:
            with model(Use("mcp__armory__sleep")) as server:
                async with ClaudeSDKClient(options_of(ClaudeTools(host), server, tmp_path)) as client:
                    talking = asyncio.create_task(converse(client))
                    await workshop.running.wait()
                    if interrupts:
                        await client.interrupt()
                        await talking
                    else:
                        talking.cancel()
                        await asyncio.wait([talking])
            await ended(host, workshop)

    run_on_asyncio(main)
