"""``tools/call``: one call through the supervisor, from a client's request to its answer."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, TypeVar

import attrs
import msgspec
import trio
from mcp import types
from mcp.shared.exceptions import MCPError

from ....content import words_for_error
from ....definitions import RequestContext, TextContent, ToolCall, ToolError, ToolResult
from ....engine import CallOptions, ErrorDetail, Supervisor
from ....engine._concurrency import open_private_nursery
from ....engine._keywords import Elicitor
from ....errors import AdmissionClosed
from .._content import UNDECLARED, call_result
from ._approving import asking
from ._asking import Questions, ask_over, asks_by_answering, can_ask
from ._catalogue import Entry
from ._request import Context, ContextOf, call_of, context_of, key_of, request_of, streaming
from ._telling import Teller

if TYPE_CHECKING:
    from ._hub import Hub

T = TypeVar("T")

_RETOLD: Final = ("deduped", "joined")
_SHUTTING_DOWN: Final = ToolError("cancelled", "NOT_STARTED", "The server is shutting down.")
_GENERIC: Final = "The tool failed; its operator can look the reason up."


@attrs.frozen(eq=False)
class Terms:
    """How calls are made.

    Args:
        supervisor: Makes them.
        error_detail: What results show of an exception that no tool declared.
        context_of: Says on whose behalf each is made.
        default: On whose behalf the supervisor makes those of which nobody says it.
        patience: Seconds that a question that was handed out stays open.
    """

    supervisor: Supervisor
    error_detail: ErrorDetail
    context_of: ContextOf | None
    default: RequestContext | None
    patience: float


class _Making:
    """One call while it is made, which may take several requests."""

    def __init__(self, terms: Terms, entry: Entry, call: ToolCall, options: CallOptions) -> None:
        self._terms = terms
        self.entry = entry
        self.call = call
        self.options = options

    @property
    def context(self) -> RequestContext | None:
        """On whose behalf."""
        return self.options.get("request_context")

    async def run(self) -> ToolResult[object]:
        """Make the call. Cancelled: it is aborted."""
        try:
            with asking(self.options.get("elicit")):
                return await self._terms.supervisor.execute(self.call, **self.options)
        except AdmissionClosed:
            return ToolResult("", self.call.id, self.entry.tool.name, "error", error=_SHUTTING_DOWN)


class Conversation:
    """A call whose client is asked in between: it goes on while no request of the client's is open.

    Args:
        making: The call.
        context: The request that asked for it.
        patience: Seconds that a question stays open, and that a result waits for a client that was asked something.
    """

    def __init__(self, making: _Making, context: Context, patience: float) -> None:
        self.making = making
        self.questions = Questions(context, patience, self._tell)
        self.state = ""
        """What the client hands back with its answers, while it has been asked something."""
        self._patience = patience
        self._scope = trio.CancelScope()
        self._news = trio.Event()
        self._result: ToolResult[object] | None = None

    async def run(self, hub: Hub) -> None:
        """Make the call. For a task of its own; cancelled: it is aborted."""
        with self._scope:
            self._result = await self.making.run()
            self._tell()
            with trio.move_on_after(self._patience):
                while hub.parked.get(self.state) is self:
                    self._news = trio.Event()
                    await self._news.wait()
        hub.parked.pop(self.state, None)

    def _tell(self) -> None:
        self._news.set()

    def take_up(self, hub: Hub, responses: types.InputResponses) -> None:
        """The client came back with *responses*."""
        del hub.parked[self.state]
        self._tell()
        self.questions.take(responses)

    async def next(self) -> ToolResult[object] | None:
        """The result, or None when there is something to ask first. Cancelled: nothing has changed."""
        while self._result is None and not self.questions:
            self._news = trio.Event()
            await self._news.wait()
        return self._result

    def abandon(self) -> None:
        """Abort the call: its client does not wait for it, and was not handed what leads back to it."""
        self._scope.cancel("the client is gone")


class Calls:
    """Answers ``tools/call``.

    Args:
        terms: How.
        find: The tool that a client means.
    """

    def __init__(self, terms: Terms, find: Callable[[str, Context], Entry]) -> None:
        self._terms = terms
        self._find = find

    async def answer(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Make the call, or go on with one. Cancelled: it is aborted.

        Raises:
            MCPError: There is no such tool, or nothing waits for what was answered.
        """
        hub = context.lifespan_context
        if params.request_state is not None:
            return await self._go_on(hub, context, params, params.request_state)
        making = await self._begin(context, params)
        if making.options.get("elicit") is None and can_ask(context):
            talk = Conversation(making, context, self._terms.patience)
            making.options["elicit"] = talk.questions.ask
            hub.nursery.start_soon(talk.run, hub, name=f"armory_trio: mcp {making.call.id}")
            return await self._converse(hub, context, talk)
        result = await self._heard(hub, context, making, making.run)
        return self._answer(context, making.entry, result)

    async def _begin(self, context: Context, params: types.CallToolRequestParams) -> _Making:
        entry = self._find(params.name, context)
        request = request_of(context, self._terms.default, params.name)
        options: CallOptions = {
            "request_context": await context_of(request, self._terms.context_of),
            "idempotency_key": key_of(request),
            "metadata": call_of(context, request),
            "error_detail": self._terms.error_detail,
            "elicit": self._elicitor(context),
        }
        return _Making(self._terms, entry, ToolCall(entry.id, params.arguments or {}), options)

    @staticmethod
    def _elicitor(context: Context) -> Elicitor | None:
        return ask_over(context) if can_ask(context) and not asks_by_answering(context) else None

    async def _go_on(
        self, hub: Hub, context: Context, params: types.CallToolRequestParams, state: str
    ) -> types.CallToolResult | types.InputRequiredResult:
        request = request_of(context, self._terms.default, params.name)
        asking = await context_of(request, self._terms.context_of)
        talk = hub.parked.get(state)
        if talk is None or talk.making.entry.wire != params.name or talk.making.context != asking:
            raise MCPError(types.INVALID_PARAMS, "Unknown or expired requestState: nothing waits for this answer")
        talk.take_up(hub, params.input_responses or {})
        return await self._converse(hub, context, talk)

    async def _converse(
        self, hub: Hub, context: Context, talk: Conversation
    ) -> types.CallToolResult | types.InputRequiredResult:
        try:
            result = await self._heard(hub, context, talk.making, talk.next)
        except BaseException:
            talk.abandon()
            raise
        if result is not None:
            return self._answer(context, talk.making.entry, result)
        talk.state = secrets.token_urlsafe(32)
        hub.parked[talk.state] = talk
        return types.InputRequiredResult(input_requests=talk.questions.handed_out(), request_state=talk.state)

    @staticmethod
    async def _heard(hub: Hub, context: Context, making: _Making, run: Callable[[], Awaitable[T]]) -> T:
        """Await *run*, and let the client hear of the call meanwhile, as far as it wants to."""
        teller = Teller(context)
        with hub.relay.line(making.call.id) as line:
            async with open_private_nursery() as nursery:
                nursery.start_soon(line.deliver, teller, name=f"armory_trio: mcp hears {making.call.id}")
                async with streaming(context):
                    answer = await run()
                hub.relay.catch_up()
                line.end()
        return answer

    def _answer(self, context: Context, entry: Entry, result: ToolResult[object]) -> types.CallToolResult:
        shown = self._discreet(result)
        promised = entry.output is not None
        return call_result(shown, context.protocol_version, promised=promised, wrapped=entry.wrapped)

    def _discreet(self, result: ToolResult[object]) -> ToolResult[object]:
        """*result* without what an earlier call, which others made, told of an exception."""
        error, ledger = result.error, result.idempotency
        if self._terms.error_detail == "message" or error is None or error.code not in UNDECLARED:
            return result
        if ledger is None or ledger.outcome not in _RETOLD:
            return result
        told = msgspec.structs.replace(error, message=_GENERIC, details=None)
        ran = result.attempts > 0 or result.effect != "none"
        content = (TextContent(words_for_error(result.tool_name, told, result.effect, ran=ran)),)
        return msgspec.structs.replace(result, error=told, content=content)
