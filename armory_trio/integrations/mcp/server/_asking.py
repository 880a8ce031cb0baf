"""Questions of tools to the person behind a client: asked over the connection, or handed out and waited for."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Final

import attrs
import trio
from mcp import types
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from ....definitions import (
    ElicitAccepted,
    ElicitAnswer,
    ElicitCancelled,
    ElicitDeclined,
    ElicitRequest,
)
from ....engine._keywords import Elicitor
from ....errors import ElicitationUnavailable
from ._request import Context
from ._whole import whole_model

_NO_FIELDS: Final[Mapping[str, object]] = {"type": "object", "properties": {}}


def can_ask(context: Context) -> bool:
    """Whether the client says that it can put questions to a person."""
    capabilities = context.session.client_capabilities
    return capabilities is not None and capabilities.elicitation is not None


def asks_by_answering(context: Context) -> bool:
    """Whether questions go out as the answer to the request, as from protocol 2026-07-28 on."""
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


def question_of(context: Context, request: ElicitRequest) -> types.ElicitRequest:
    """*request* in words of the protocol.

    Raises:
        ElicitationUnavailable: The client cannot put questions of this kind.
    """
    capabilities = context.session.client_capabilities
    able = None if capabilities is None else capabilities.elicitation
    assert able is not None  # else the call carries no way to ask
    if request.url is not None:
        if able.url is None:
            raise ElicitationUnavailable(f"{request.tool_name!r} sent a person to a page, and the client can show none")
        legacy = None if asks_by_answering(context) else secrets.token_urlsafe(16)
        page = types.ElicitRequestURLParams(message=request.message, url=request.url, elicitation_id=legacy)
        return types.ElicitRequest(params=whole_model(page))
    if able.form is None and able.url is not None:  # an empty capability means forms
        raise ElicitationUnavailable(f"{request.tool_name!r} asked a question, and the client can only show pages")
    schema = dict(request.schema or _NO_FIELDS)
    form = types.ElicitRequestFormParams(message=request.message, requested_schema=schema)
    return types.ElicitRequest(params=whole_model(form))


def answer_of(result: types.ElicitResult, request: ElicitRequest) -> ElicitAnswer:
    """What a person answered."""
    match result.action:
        case "accept":
            return ElicitAccepted(None if request.url is not None else dict(result.content or {}))
        case "decline":
            return ElicitDeclined()
        case "cancel":
            return ElicitCancelled()


def ask_over(context: Context) -> Elicitor:
    """What asks over the connection that the call came by, as in the handshake versions."""

    async def ask(request: ElicitRequest) -> ElicitAnswer:
        question = question_of(context, request)
        related = ServerMessageMetadata(related_request_id=context.request_id)
        try:
            result = await context.session.send_request(question, types.ElicitResult, metadata=related)
        except (MCPError, ValidationError) as error:
            raise ElicitationUnavailable(f"the client of {request.tool_name!r} could not ask: {error}") from error
        return answer_of(result, request)

    return ask


@attrs.define(eq=False)
class _Open:
    """One question that was handed out."""

    question: types.ElicitRequest
    answered: trio.Event = attrs.field(init=False, factory=trio.Event)
    result: types.ElicitResult | None = attrs.field(init=False, default=None)


class Questions:
    """The questions of one call that its client is handed as an answer, and answers with its next request.

    Args:
        context: The request that asked for the call.
        patience: Seconds that a question stays open.
        changed: Told when there is one more.
    """

    def __init__(self, context: Context, patience: float, changed: Callable[[], None]) -> None:
        self._context = context
        self._patience = patience
        self._changed = changed
        self._open: dict[str, _Open] = {}
        self._number = 0

    def __bool__(self) -> bool:
        return bool(self._open)

    async def ask(self, request: ElicitRequest) -> ElicitAnswer:
        """Hand a question out and wait for the answer; `ElicitCancelled` when none comes in time.

        Cancelled: it is withdrawn.

        Raises:
            ElicitationUnavailable: The client cannot put questions of this kind.
        """
        self._number += 1
        key = f"question-{self._number}"
        entry = self._open[key] = _Open(question_of(self._context, request))
        self._changed()
        try:
            with trio.move_on_after(self._patience):
                await entry.answered.wait()
        finally:
            self._open.pop(key, None)
        return ElicitCancelled() if entry.result is None else answer_of(entry.result, request)

    def take(self, responses: types.InputResponses) -> None:
        """What the client answered. Answers to questions that are not open are passed over."""
        for key, response in responses.items():
            entry = self._open.get(key)
            if entry is not None and isinstance(response, types.ElicitResult):
                entry.result = response
                self._open.pop(key)
                entry.answered.set()

    def handed_out(self) -> dict[str, types.InputRequest]:
        """The questions that are open, for the client."""
        return {key: entry.question for key, entry in self._open.items()}
