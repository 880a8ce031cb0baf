"""Questions of a server to a person: asked on behalf of the call that they are about, with its clocks standing still."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from mcp.client.session import ClientRequestContext, ElicitationFnT
from mcp_types import ElicitRequestParams, ElicitRequestURLParams, ElicitResult

from ....definitions import ElicitAccepted, ElicitCancelled, ElicitDeclined, InvalidArguments, ToolContext
from ....errors import DefinitionError, ElicitationUnavailable, ExecutionOver
from ._bounds import MOST_ADDRESS_BYTES, MOST_ERROR_BYTES, fits
from ._record import Exchange, LinkRecord, Question


def asker(record: LinkRecord) -> ElicitationFnT:
    """What the session calls with a question that does not say which call it is about.

    It goes to the only call that waits for this server; when there is none, or there are several, it is declined.
    """

    async def ask(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:  # noqa: ARG001  # by name
        exchange, question = record.only_exchange(), Question(params)
        if exchange is None or not exchange.ask(question):
            return ElicitResult(action="decline")
        try:
            await question.answered.wait()
        finally:
            question.scope.cancel("the server does not wait for the answer")
        return question.answer

    return ask


async def answer_questions(exchange: Exchange) -> None:
    """Ask what comes in for a call, one after the other, until it is over."""
    async for question in exchange.questions:
        try:
            if not question.scope.cancel_called:
                with question.scope:
                    question.settle(await ask_person(exchange.context, question.params))
        finally:
            question.settle()


async def ask_person(context: ToolContext, params: ElicitRequestParams) -> ElicitResult:
    """Put one question. Cancelled: it is withdrawn.

    A call that carries no way to ask, a question that cannot be put, and an answer that does not fit it count as nobody's
    answer: whoever asked must not read that a person said no. What else the host's way to ask raises is the call's own failure.
    """
    url = params.url if isinstance(params, ElicitRequestURLParams) else None
    if not fits(params.message, MOST_ERROR_BYTES) or not fits(url or "", MOST_ADDRESS_BYTES):
        context.log("warning", "the server's question was not put: it, or its address, is longer than anybody reads")
        return ElicitResult(action="cancel")
    schema = None if isinstance(params, ElicitRequestURLParams) else params.requested_schema
    try:
        answer = await context.elicit(params.message, schema=cast("Mapping[str, object] | None", schema), url=url)
    except (DefinitionError, ElicitationUnavailable, ExecutionOver, InvalidArguments):
        return ElicitResult(action="cancel")
    match answer:
        case ElicitAccepted(content=content):
            return _accepted(content if url is None else None)
        case ElicitDeclined():
            return ElicitResult(action="decline")
        case ElicitCancelled():
            return ElicitResult(action="cancel")


def _accepted(content: object) -> ElicitResult:
    try:
        result = ElicitResult.model_validate({"action": "accept", "content": content})
        result.model_dump_json()  # which half a character cannot be written in
        return result
    except ValueError:
        return ElicitResult(action="cancel")  # the protocol has no words for such an answer
