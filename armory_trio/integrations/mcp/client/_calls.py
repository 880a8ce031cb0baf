"""One call of an imported tool: from the waiting for a connection to what the server answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol, cast

import attrs
import msgspec
import trio
from mcp.client.session import ClientRequestContext, ClientSession
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ErrorData,
    InputRequest,
    InputRequiredResult,
    InputResponse,
    InputResponses,
    RequestParamsMeta,
)

from ....definitions import EffectWindow, ToolContext, ToolFailure
from .._meta import EFFECT, IDEMPOTENCY_KEY, TRACE
from ._catalogue import Catalogue, Listed
from ._content import error_text, is_error, value_of
from ._faults import CHANGED, LOST, REPORTED, UNAVAILABLE, Fault, error_answer, lost
from ._questions import answer_questions, ask_person
from ._record import Exchange, LinkRecord

_MORE_ATTEMPTS: Final = 2
"""How often a call is sent again whose connection turned out to be broken before it was."""

_COMPLETE: Final = "complete"
_ASKS: Final = "input_required"
"""The kinds of results that the protocol has. Those of older revisions do not say theirs."""

_ROUNDS: Final = 10
"""How often a server may ask for something more before it gives a result."""

_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 0.25
"""Seconds before a request is repeated that a server only put off."""


@attrs.define(eq=False)
class Link:
    """A session that is open, and what its server lists.

    Args:
        session: The SDK's session.
        record: What is known of it.
        catalogue: The tools.
        covered: Which word of the server that its tools changed the catalogue covers.
    """

    session: ClientSession
    record: LinkRecord
    catalogue: Catalogue = attrs.field(factory=Catalogue)
    covered: int = 0


class Host(Protocol):
    """What a call needs of the connection that it goes through."""

    @property
    def name(self) -> str: ...

    async def ready(self, context: ToolContext) -> Link:
        """An open link whose catalogue is up to date.

        Raises:
            ToolFailure: There is none in time.
        """
        ...

    async def catch_up(self) -> None:
        """Let whoever follows the tools see what this call changed about them, if it does not take long."""
        ...


@attrs.define(eq=False)
class RemoteCall:
    """What runs an imported tool.

    Args:
        host: The connection.
        listed: The definition that was imported.
        trusting: Whether the server is believed when it says that an error changed nothing.
        windows: Whether it changes the world, as far as anybody knows; said before it is called.
    """

    host: Host
    listed: Listed
    trusting: bool
    windows: bool = False

    async def __call__(self, arguments: dict[str, object], context: ToolContext) -> object:
        """Call the tool at its server. Cancelled: the server is told, and what it still answers is dropped.

        A connection that turns out to be broken before the call was sent is no end of it: it is sent over the next.
        """
        answer = await self._attempt(arguments, context)
        for _ in range(_MORE_ATTEMPTS):
            if not _is_unsent(answer):
                break
            answer = await self._attempt(arguments, context)
        await self.host.catch_up()
        return _value(answer)

    async def _attempt(self, arguments: dict[str, object], context: ToolContext) -> Mapping[str, object] | Fault:
        link = await self.host.ready(context)
        if (changed := self.changed_in(link.catalogue)) is not None:
            raise changed.failure()
        conversation = _Conversation(self, link, context)
        if not self.windows:
            return await conversation.hold(arguments)
        async with context.effect(f"call {self.listed.name}", self.host.name) as window:
            try:
                answer = await conversation.hold(arguments)
            except BaseException:
                if not conversation.handed:
                    window.nothing_happened()
                raise
            if _is_unsent(answer):
                window.nothing_happened()
            elif isinstance(answer, Fault):
                raise _settled(answer, window)
            elif is_error(answer):
                if self.trusting:
                    _take_word(answer, window)
                raise _reported(answer).failure()
        return answer

    def changed_in(self, catalogue: Catalogue) -> Fault | None:
        """Why not to call what is no longer the tool that was imported, and perhaps agreed to; None if it still is."""
        now = catalogue.tools.get(self.listed.name)
        if now is None:
            message = f"{self.host.name!r} no longer offers {self.listed.name!r}"
            return Fault(message, "not_found", "NOT_FOUND", False, False)
        if now.digest == self.listed.digest:
            return None
        parts = now.differs_in(self.listed)
        message = (
            f"{self.listed.name!r} of {self.host.name!r} has changed since it was imported ({', '.join(parts)}); "
            "it does not run until it is imported again, and approvals of the old one do not count for the new one"
        )
        return Fault(message, "unavailable", CHANGED, False, False, {"changed": parts})


def _settled(fault: Fault, window: EffectWindow) -> ToolFailure:
    """The failure of a call that did not end well, with its window told what that means for the world."""
    if fault.happened is False:
        window.nothing_happened()
    return fault.failure()


def _take_word(answer: Mapping[str, object], window: EffectWindow) -> None:
    """Believe what the server says of the effect of an error."""
    meta = answer.get("_meta")
    told = cast("Mapping[str, object]", meta).get(EFFECT) if isinstance(meta, Mapping) else None
    if told == "none":
        window.nothing_happened()
    elif told == "completed":
        window.happened()


def _is_unsent(answer: Mapping[str, object] | Fault) -> bool:
    return isinstance(answer, Fault) and answer.code == LOST and answer.happened is False


def _reported(answer: Mapping[str, object]) -> Fault:
    """What the tool, at its server, says went wrong."""
    structured = answer.get("structuredContent")
    details = None if structured is None else {"structured": structured}
    return Fault(error_text(answer), "internal", REPORTED, None, details=details)


def _value(answer: Mapping[str, object] | Fault) -> object:
    if isinstance(answer, Fault):
        raise answer.failure()
    if is_error(answer):
        raise _reported(answer).failure()
    return value_of(answer)


class _Conversation:
    """The requests of one call: one, or several if the server asks back in place of answering."""

    __slots__ = ("_call", "_context", "_link", "handed")

    def __init__(self, call: RemoteCall, link: Link, context: ToolContext) -> None:
        self._call = call
        self._link = link
        self._context = context
        self.handed = False

    async def hold(self, arguments: dict[str, object]) -> Mapping[str, object] | Fault:
        """The server's answer, or why there is none."""
        responses: InputResponses | None = None
        state: str | None = None
        for turn in range(_ROUNDS):
            answer = await self._outdated() or await self._ask(arguments, responses, state)
            if isinstance(answer, Fault):
                # Once the server has begun to ask back, nobody knows what it did before.
                return answer if turn == 0 else msgspec.structs.replace(answer, happened=None)
            kind = answer.get("resultType")
            if kind in (None, _COMPLETE):
                return answer
            if kind != _ASKS:
                return self._unusable("answered with a result of a kind that is not known here")
            try:
                required = InputRequiredResult.model_validate(answer, by_name=False)
            except ValueError:
                return self._unusable("asked for something that cannot be read")
            if required.input_requests:
                answered = await self._respond(required.input_requests)
                if isinstance(answered, Fault):
                    return answered
                responses = answered
            else:
                responses = None
                await trio.sleep(min(_LONGEST_PAUSE, _PAUSE * 2.0**turn))
            state = required.request_state
        return self._unusable(f"asked for something more {_ROUNDS} times")

    async def _outdated(self) -> Fault | None:
        """Why not to send the next request: the tool changed while it was made ready, or a person was asked."""
        if self._link.covered < self._link.record.listed_asked:
            try:
                link = await self._call.host.ready(self._context)
            except ToolFailure as failure:
                return Fault(str(failure), "unavailable", UNAVAILABLE, False, failure.retryable)
            if link is not self._link:
                return lost(self._call.host.name, self._link.record.lost or "it ended", handed=False)
        return self._call.changed_in(self._link.catalogue)

    def _unusable(self, what: str) -> Fault:
        return Fault(f"{self._call.host.name!r} {what}, and gave no result", "internal", "OUTPUT_INVALID")

    async def _respond(self, requests: Mapping[str, InputRequest]) -> InputResponses | Fault:
        responses: InputResponses = {}
        for key, request in requests.items():
            response: InputResponse | ErrorData
            if isinstance(request, ElicitRequest):
                response = await ask_person(self._context, request.params)
            else:
                context = ClientRequestContext(session=self._link.session, request_id=key)
                response = await self._link.session.dispatch_input_request(context, request)
            if isinstance(response, ErrorData):
                return self._unusable(f"asked for something that it is refused ({response.message})")
            responses[key] = response
        return responses

    async def _ask(
        self, arguments: dict[str, object], responses: InputResponses | None, state: str | None
    ) -> Mapping[str, object] | Fault:
        """Send one request and wait for its answer, asking a person meanwhile if the server wants that."""
        record = self._link.record
        exchange = Exchange(record.mint(), self._context)
        record.exchanges[exchange.request_id] = exchange
        request = CallToolRequest(
            params=CallToolRequestParams(
                name=self._call.listed.name,
                arguments=arguments,
                input_responses=responses,
                request_state=state,
                _meta=self._meta(exchange),
            )
        )
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(answer_questions, exchange)
                fault = await self._send(request, exchange)
                nursery.cancel_scope.cancel()
        finally:
            self.handed = self.handed or exchange.handed
            record.exchanges.pop(exchange.request_id, None)
            exchange.close()
        if fault is not None:
            return fault
        assert exchange.answer is not None  # the wire noted it
        return exchange.answer

    async def _send(self, request: CallToolRequest, exchange: Exchange) -> Fault | None:
        """Send *request*; answers why there is no answer, or None when there is one in the exchange."""
        server, record = self._call.host.name, self._link.record
        try:
            await self._link.session.send_request(request, CallToolResult)
        except MCPError as error:
            if exchange.fault is not None:
                return exchange.fault
            if error.code == CONNECTION_CLOSED and exchange.cut is not None:
                return exchange.cut
            if error.code == CONNECTION_CLOSED and record.ended.is_set():
                return lost(server, record.lost or "it ended", handed=exchange.handed)
            return error_answer(server, error.code, error.message, cast("object", error.data))
        except ValueError as error:
            if exchange.handed:
                raise
            return Fault(f"the arguments cannot be sent: {error}", "validation", "INVALID_ARGUMENTS", False)
        return None

    def _meta(self, exchange: Exchange) -> RequestParamsMeta:
        meta: dict[str, object] = {"progressToken": exchange.request_id}
        if self._context.idempotency_key is not None:
            meta[IDEMPOTENCY_KEY] = self._context.idempotency_key
        given = self._context.metadata
        if isinstance(given, Mapping):
            told = cast("Mapping[str, object]", given)
            meta |= {key: told[key] for key in TRACE if isinstance(told.get(key), str)}
        return cast("RequestParamsMeta", meta)
