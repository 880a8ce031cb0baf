"""Servers that ask, and then do not wait for the answer."""

from __future__ import annotations

import anyio
import trio
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from pydantic import BaseModel

from armory_trio import ToolCall, open_supervisor
from armory_trio.definitions import ElicitAccepted, ElicitAnswer, ElicitRequest
from armory_trio.integrations.mcp.client import InMemoryServer, open_mcp
from tests.requirements import requirement


class Number(BaseModel):
    n: int


def impatient() -> MCPServer[object]:
    """Withdraws its first question after a second; then asks again, or says nothing more."""
    server: MCPServer[object] = MCPServer("impatient")

    @server.tool()
    async def ask(ctx: Context[object], again: bool) -> int:
        """Ask how many."""
        with anyio.move_on_after(1):
            await ctx.elicit("how many?", Number)
        if not again:
            await anyio.sleep_forever()
        answer = await ctx.elicit("how many, then?", Number)
        return answer.data.n if answer.action == "accept" else 0

    return server


class Person:
    """Thinks for ever about the first question, and answers the second one."""

    def __init__(self) -> None:
        self.withdrawn = 0.0

    async def answer(self, request: ElicitRequest) -> ElicitAnswer:
        if request.message.endswith("then?"):
            await trio.lowlevel.checkpoint()
            return ElicitAccepted({"n": 2})
        try:
            await trio.sleep_forever()
        finally:
            self.withdrawn = trio.current_time()


@requirement("mcp-client.elicit")
async def test_a_question_that_the_server_withdraws_is_asked_no_more_and_the_next_one_is(
    autojump_clock: object,
) -> None:
    person, began = Person(), trio.current_time()
    async with (
        open_mcp(InMemoryServer(impatient()), name="impatient") as connection,
        open_supervisor(connection.toolbox()) as supervisor,
    ):
        result = await supervisor.execute(ToolCall("ask", {"again": True}), elicit=person.answer)
    assert result.value == {"result": 2}
    assert person.withdrawn - began == 1


@requirement("mcp-client.elicit")
async def test_the_clocks_of_a_call_go_on_once_its_question_is_withdrawn(autojump_clock: object) -> None:
    person, began = Person(), trio.current_time()
    async with (
        open_mcp(InMemoryServer(impatient()), name="impatient", timeout=5) as connection,
        open_supervisor(connection.toolbox()) as supervisor,
    ):
        with trio.fail_after(60):
            result = await supervisor.execute(ToolCall("ask", {"again": False}), elicit=person.answer)
    assert result.error is not None
    assert (result.error.code, result.effect) == ("TIMEOUT", "unknown")
    assert trio.current_time() - began == 6  # while a person was asked, they stood still
