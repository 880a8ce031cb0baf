"""Questions of tools to the person behind a client, in both kinds of protocol."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from typing import Final, cast

import pytest
import trio
from mcp import Client, types
from mcp.client.context import ClientRequestContext
from mcp.client.session import ElicitationFnT
from mcp.shared.exceptions import MCPError

from armory_trio import (
    ApprovalPolicy,
    ElicitationUnavailable,
    RequestContext,
    Toolbox,
    ToolCall,
    ToolContext,
    open_supervisor,
    tool,
)
from armory_trio.integrations.mcp.server import McpRequest, McpServer, ask_client
from tests.integrations.mcp.server.serving import (
    HANDSHAKE,
    MODERN,
    Mode,
    client_of,
    meta_of,
    on_each_protocol,
    serving,
    text_of,
    wired,
)
from tests.requirements import requirement

NAME: Final = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
FORMS: Final[dict[str, object]] = {"elicitation": {"form": {}}}


def answering(
    action: str, content: dict[str, object] | None = None, *, seen: list[str] | None = None
) -> ElicitationFnT:
    """A person who always answers the same."""

    async def answer(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        await trio.lowlevel.checkpoint()
        if seen is not None:
            seen.append(params.message)
        return types.ElicitResult.model_validate({"action": action, "content": content})

    return answer


@tool(effect="read-only")
async def greet(ctx: ToolContext) -> str:
    """Ask for a name."""
    return repr(await ctx.elicit("Who are you?", schema=NAME))


@tool(effect="read-only")
async def send_there(ctx: ToolContext) -> str:
    """Send a person to a page."""
    return repr(await ctx.elicit("Log in there.", url="https://example.com/login"))


@tool(effect="read-only")
async def careful(ctx: ToolContext) -> str:
    """Ask, if somebody can be asked."""
    try:
        return repr(await ctx.elicit("Sure?"))
    except ElicitationUnavailable as error:
        return f"nobody: {error}"


@tool
async def send(to: str) -> str:
    """Send a letter."""
    return f"sent to {to}"


TOOLS: Final = Toolbox([greet, send_there, careful])


@asynccontextmanager
async def asked(mode: Mode, answer: ElicitationFnT | None, toolbox: Toolbox = TOOLS) -> AsyncGenerator[Client]:
    """A client with somebody behind it."""
    async with (
        open_supervisor(toolbox, approval_handler=ask_client) as supervisor,
        Client(McpServer(supervisor).sdk, mode=mode, elicitation_callback=answer) as client,
    ):
        yield client


@requirement("mcp-server.elicit")
@on_each_protocol
@pytest.mark.parametrize(
    ("action", "content", "said"),
    [
        ("accept", {"name": "Ann"}, "ElicitAccepted(content={'name': 'Ann'})"),
        ("decline", None, "ElicitDeclined()"),
        ("cancel", None, "ElicitCancelled()"),
    ],
)
async def test_a_question_reaches_the_person_and_the_tool_goes_on(
    action: str, content: dict[str, object] | None, said: str, mode: Mode
) -> None:
    seen: list[str] = []
    async with asked(mode, answering(action, content, seen=seen)) as client:
        result = await client.call_tool("greet", {})

    assert (text_of(result), seen) == (said, ["Who are you?"])


@requirement("mcp-server.elicit")
@on_each_protocol
async def test_an_answer_that_does_not_fit_is_the_tools_to_see(mode: Mode) -> None:
    async with asked(mode, answering("accept", {"name": 5})) as client:
        result = await client.call_tool("greet", {})

    assert result.is_error and "Ann" not in text_of(result)


@requirement("mcp-server.elicit")
@on_each_protocol
async def test_a_person_can_be_sent_to_a_page(mode: Mode) -> None:
    async with asked(mode, answering("accept")) as client:
        assert text_of(await client.call_tool("send_there", {})) == "ElicitAccepted(content=None)"


@requirement("mcp-server.elicit.unavailable")
@on_each_protocol
async def test_where_nobody_can_be_asked_the_tool_is_told(mode: Mode) -> None:
    async with asked(mode, None) as client:
        result = await client.call_tool("careful", {})

    assert text_of(result).startswith("nobody: 'careful' asked 'Sure?', but the call was made without")


@requirement("mcp-server.elicit.unavailable")
async def test_a_client_that_has_forms_only_shows_no_page() -> None:
    async with serving(TOOLS) as (server, _), wired(server, FORMS) as wire:
        await wire.call(1, "send_there")
        answer = await wire.reply(1)

    assert "isError': True" in str(answer)
    assert [each for each in wire.got if each.get("method") == "elicitation/create"] == []


@requirement("mcp-server.elicit.unavailable")
async def test_a_client_that_has_pages_only_shows_no_form() -> None:
    async with serving(TOOLS) as (server, _), wired(server, {"elicitation": {"url": {}}}) as wire:
        await wire.call(1, "careful")

        assert "nobody: 'careful' asked a question, and the client can only show pages" in str(await wire.reply(1))


@requirement("mcp-server.elicit.unavailable")
async def test_a_client_that_answers_a_question_with_an_error_could_not_ask() -> None:
    async with serving(TOOLS) as (server, _), wired(server, FORMS) as wire:
        await wire.call(1, "careful")
        question = await wire.notification("elicitation/create")
        error = {"code": -32601, "message": "not here"}
        await wire.send({"jsonrpc": "2.0", "id": cast("int", question["id"]), "error": error})

        assert "could not ask: not here" in str(await wire.reply(1))


@requirement("mcp-server.elicit")
@on_each_protocol
async def test_several_questions_may_be_open_at_once_and_follow_each_other(mode: Mode) -> None:
    @tool(effect="read-only")
    async def survey(ctx: ToolContext) -> list[str]:
        said: list[str] = []

        async def ask(what: str) -> None:
            said.append(f"{what} {type(await ctx.elicit(what)).__name__}")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, "one")
            nursery.start_soon(ask, "two")
        await ask("three")
        return [*sorted(said[:2]), said[2]]

    async with asked(mode, answering("accept", {}), Toolbox([survey])) as client:
        result = await client.call_tool("survey", {})

    assert text_of(result) == '["one ElicitAccepted","two ElicitAccepted","three ElicitAccepted"]'


@requirement("mcp-server.elicit")
async def test_a_client_that_cancels_the_call_has_its_question_withdrawn() -> None:
    async with serving(TOOLS) as (server, supervisor), wired(server, FORMS) as wire:
        await wire.call(1, "greet")
        question = await wire.notification("elicitation/create")
        await wire.cancel(1)
        withdrawn = await wire.notification("notifications/cancelled")
        await supervisor.wait_idle()

        assert cast("dict[str, object]", withdrawn["params"])["requestId"] == question["id"]
        assert wire.replies(1) == []


@requirement("mcp-server.elicit", "mcp-server.drain")
async def test_a_drain_withdraws_questions_and_answers_the_calls() -> None:
    async with serving(TOOLS) as (server, supervisor), wired(server, FORMS) as wire:
        await wire.call(1, "greet")
        await wire.notification("elicitation/create")
        await supervisor.shutdown()

        assert "ElicitCancelled()" in str(await wire.reply(1))


# ── Questions that are handed out as an answer ──────────────────────────────────────────────────────────────────────


async def first_round(client: Client, name: str = "greet") -> types.InputRequiredResult:
    """The question that is handed out."""
    result = await client.session.call_tool(name, {}, allow_input_required=True)
    assert isinstance(result, types.InputRequiredResult)
    return result


async def next_round(client: Client, given: types.InputRequiredResult, name: str = "greet") -> str:
    """What comes of an answer to all that was asked."""
    responses: types.InputResponses = {
        key: types.ElicitResult(action="accept", content={"name": "Ann"}) for key in given.input_requests or {}
    }
    result = await client.session.call_tool(
        name, {}, input_responses=responses, request_state=given.request_state, allow_input_required=True
    )
    assert isinstance(result, types.CallToolResult)
    return text_of(result)


@requirement("mcp-server.elicit.bound")
async def test_an_answer_counts_once() -> None:
    async with asked(MODERN, answering("accept")) as client:
        given = await first_round(client)
        said = await next_round(client, given)
        with pytest.raises(MCPError, match="Unknown or expired requestState"):
            await next_round(client, given)

    assert said == "ElicitAccepted(content={'name': 'Ann'})"


@requirement("mcp-server.elicit.bound")
async def test_an_answer_counts_for_the_tool_that_asked_and_on_behalf_of_whom_it_asked() -> None:
    def whose(request: McpRequest) -> RequestContext:
        return RequestContext(principal=str(request.meta.get("who", "ann")))

    async with open_supervisor(TOOLS) as supervisor:
        server = McpServer(supervisor, request_context=whose)
        async with Client(server.sdk, mode=MODERN, elicitation_callback=answering("accept")) as client:
            given = await first_round(client)
            with pytest.raises(MCPError, match="Unknown or expired"):
                await next_round(client, given, "careful")
            with pytest.raises(MCPError, match="Unknown or expired"):
                await client.session.call_tool(
                    "greet", {}, request_state=given.request_state, meta=meta_of(who="eve"), allow_input_required=True
                )
            said = await next_round(client, given)

    assert "Ann" in said


@requirement("mcp-server.elicit.bound")
async def test_a_question_that_nobody_answers_is_cancelled_and_what_came_of_it_is_kept_for_a_while(
    autojump_clock: trio.abc.Clock,
) -> None:
    async with open_supervisor(TOOLS) as supervisor:
        server = McpServer(supervisor, patience=60)
        async with Client(server.sdk, mode=MODERN, elicitation_callback=answering("accept")) as client:
            early, late = await first_round(client), await first_round(client)
            await trio.sleep(90)
            idle = supervisor.active
            said = await next_round(client, early)
            await trio.sleep(90)
            with pytest.raises(MCPError, match="Unknown or expired"):
                await next_round(client, late)

    assert idle == 0
    assert said == "ElicitCancelled()"


@requirement("mcp-server.elicit.bound")
async def test_a_client_that_leaves_with_a_question_open_aborts_the_call() -> None:
    async with serving(TOOLS) as (server, supervisor):
        async with Client(server.sdk, mode=MODERN, elicitation_callback=answering("accept")) as client:
            await first_round(client)
            open_then = supervisor.active
        [shot] = supervisor.executions.inspect()

    assert (open_then, shot.outcome) == (1, "error")


@requirement("mcp-server.elicit.bound")
async def test_giving_up_in_the_second_round_aborts_the_call(autojump_clock: trio.abc.Clock) -> None:
    @tool(effect="read-only")
    async def slow(ctx: ToolContext) -> str:
        await ctx.elicit("Sure?")
        await trio.sleep(3600)
        return "done"

    async with serving(Toolbox([slow])) as (server, supervisor):
        async with Client(server.sdk, mode=MODERN, elicitation_callback=answering("accept", {})) as client:
            with trio.move_on_after(5):
                await client.call_tool("slow", {})
            await supervisor.wait_idle()
        [shot] = supervisor.executions.inspect()

    assert shot.outcome == "error" and shot.abort is not None


# ── Approvals ───────────────────────────────────────────────────────────────────────────────────────────────────────

LETTERS: Final = Toolbox([send], approval_policy=ApprovalPolicy("on-mutation"))


@requirement("mcp-server.approve")
@on_each_protocol
@pytest.mark.parametrize(
    ("action", "content", "told"),
    [
        ("accept", {"approve": True}, "sent to bob"),
        ("accept", {"approve": False}, "the person behind the client did not agree"),
        ("decline", None, "the person behind the client said no"),
        ("cancel", None, "there is nobody here to ask (APPROVAL_UNAVAILABLE)"),
        ("accept", {}, "there is nobody here to ask (APPROVAL_UNAVAILABLE)"),
        ("accept", {"approve": "true"}, "there is nobody here to ask (APPROVAL_UNAVAILABLE)"),
        ("accept", {"approve": 1}, "there is nobody here to ask (APPROVAL_UNAVAILABLE)"),
    ],
    ids=str,
)
async def test_the_person_behind_the_client_says_whether_a_call_may_run(
    action: str, content: dict[str, object] | None, told: str, mode: Mode
) -> None:
    seen: list[str] = []
    async with asked(mode, answering(action, content, seen=seen), LETTERS) as client:
        result = await client.call_tool("send", {"to": "bob"})

    assert told in text_of(result)
    assert result.is_error is (told != "sent to bob")
    assert "May the tool 'send' run?" in seen[0] and '{"to": "bob"}' in seen[0]


@requirement("mcp-server.approve")
@on_each_protocol
async def test_where_nobody_can_be_asked_a_call_that_needs_it_is_refused(mode: Mode) -> None:
    async with asked(mode, None, LETTERS) as client:
        result = await client.call_tool("send", {"to": "bob"})

    assert result.is_error and "APPROVAL_UNAVAILABLE" in text_of(result) and "Nothing was changed." in text_of(result)


@requirement("mcp-server.approve")
async def test_a_call_of_the_host_is_no_clients_to_approve() -> None:
    async with (
        open_supervisor(LETTERS, approval_handler=ask_client) as supervisor,
        client_of(McpServer(supervisor), HANDSHAKE),
    ):
        result = await supervisor.execute(ToolCall("send", {"to": "bob"}))

    assert result.error is not None and result.error.code == "APPROVAL_UNAVAILABLE"


@requirement("mcp-server.elicit.bound")
async def test_giving_up_before_the_question_was_handed_out_aborts_the_call(
    autojump_clock: trio.testing.MockClock,
) -> None:
    @tool(effect="read-only")
    async def tells_and_asks(ctx: ToolContext) -> str:
        ctx.progress(10, "about to ask")
        return repr(await ctx.elicit("Sure?"))

    heard = trio.Event()

    async def slow(progress: float, total: float | None, message: str | None) -> None:
        heard.set()
        await trio.sleep_forever()

    async with (
        serving(Toolbox([tells_and_asks])) as (server, supervisor),
        Client(server.sdk, mode=MODERN, elicitation_callback=answering("accept")) as client,
    ):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(client.session.call_tool, "tells_and_asks", {}, progress_callback=slow))
            await heard.wait()
            await trio.sleep(1)
            nursery.cancel_scope.cancel()
        began = trio.current_time()
        await supervisor.wait_idle()
        assert trio.current_time() - began < 60
