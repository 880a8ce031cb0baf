"""Lone surrogates, which a JSON text in UTF-8 has not: wherever a server would say one, it says an escape."""

from __future__ import annotations

import json
from typing import Final, cast

import pytest

from armory_trio import Toolbox, ToolContext, ToolFailure, tool
from tests.integrations.mcp.server.test_http import over_http, session
from tests.integrations.mcp.server.test_lines import HELLO, READY, line, lines_to
from tests.requirements import requirement

HALF: Final = "a\ud800b"
TOLD: Final = "a\\ud800b"


@tool(effect="read-only", description=HALF, title=HALF)
async def mapping() -> dict[str, str]:
    return {HALF: HALF}


@tool(effect="read-only")
async def progress(ctx: ToolContext) -> str:
    ctx.progress(5, HALF)
    return "done"


@tool(effect="read-only")
async def log(ctx: ToolContext) -> str:
    ctx.log("warning", HALF)
    ctx.log("warning", HALF, {HALF: HALF})
    return "done"


@tool(effect="read-only")
async def fail() -> str:
    raise ToolFailure(HALF, code="HALF_SAID")


@tool(effect="read-only")
async def ask(ctx: ToolContext) -> str:
    await ctx.elicit(HALF)
    return "done"


TOOLS: Final = (mapping, progress, log, fail, ask)
PARAMS: Final[dict[str, object]] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"elicitation": {}},
    "clientInfo": {"name": "t", "version": "0"},
}
ASKED: Final[dict[str, object]] = {**HELLO, "params": PARAMS}
BOX: Final = Toolbox(TOOLS)


@requirement("mcp-server.lines")
@pytest.mark.parametrize("name", [each.name for each in TOOLS])
async def test_half_a_character_is_told_as_an_escape_and_costs_neither_answer_nor_session(name: str) -> None:
    async with lines_to(BOX) as (pipes, _, _ended):
        await pipes.say(line(ASKED) + line(READY))
        await pipes.replies(1)
        params = {"name": name, "arguments": {}, "_meta": {"progressToken": 1}}
        await pipes.say(line({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
        said: list[dict[str, object]] = []
        while not said or said[-1].get("id") != 1 or "method" in said[-1]:
            said += await pipes.replies(1)
            if said[-1].get("method") == "elicitation/create":
                declined = {"jsonrpc": "2.0", "id": said[-1]["id"], "result": {"action": "decline"}}
                await pipes.say(line(declined))
        assert TOLD in json.dumps(said, ensure_ascii=False).replace("\\\\", "\\")
        assert "result" in said[-1]
        await pipes.say(line({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}))
        (listed,) = await pipes.replies(1)
        assert TOLD in str(listed["result"]).replace("\\\\", "\\")
        pipes.hang_up()


@requirement("mcp-server.http")
async def test_half_a_character_costs_neither_answer_nor_session_over_http() -> None:
    async with over_http(BOX) as (url, _), session(url) as raw:
        for number, name in enumerate(each.name for each in TOOLS if each is not ask):
            params = {"name": name, "arguments": {}, "_meta": {"progressToken": 1}}
            answer = await raw.post({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
            assert TOLD in answer.text.replace("\\\\", "\\").replace("\\\\", "\\")
            assert '"result"' in answer.text
        listed = await raw.post({"jsonrpc": "2.0", "id": 99, "method": "tools/list", "params": {}})
        assert '"result"' in listed.text


@requirement("mcp-server.ids")
async def test_an_id_and_a_token_with_half_a_character_come_back_as_they_were_given() -> None:
    async with lines_to(BOX) as (pipes, _, _ended):
        await pipes.say(line(HELLO) + line(READY))
        await pipes.replies(1)
        params = {"name": "progress", "arguments": {}, "_meta": {"progressToken": HALF}}
        await pipes.say(line({"jsonrpc": "2.0", "id": HALF, "method": "tools/call", "params": params}))
        told, answer = await pipes.replies(2)
        assert cast("dict[str, object]", told["params"])["progressToken"] == HALF
        assert answer["id"] == HALF
        pipes.hang_up()
