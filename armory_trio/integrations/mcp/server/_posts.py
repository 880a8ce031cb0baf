"""What is posted to a session: no message there is taken for another, as on pipes.

The SDK takes a request without a legal id for a notification, and keeps one stream for each id, as text: of two requests with
one id the first would wait for ever, and the other get either's answer. One of its streams is that of no request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from typing import Final

from mcp import types
from mcp.server.streamable_http import GET_STREAM_KEY, MCP_SESSION_ID_HEADER
from mcp.server.transport_security import RequestBodyLimitMiddleware
from mcp.types import jsonrpc
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ._lines import Refused, line_of, message_of
from ._request import ANSWERED_IN

_Asked = tuple[str, str]
"""A session, and the id of a request there."""

_JSON: Final = "application/json"


class Posts:
    """The endpoint, for which it looks at what is posted to a session.

    Args:
        endpoint: Answers.
        most: Bytes of the longest message.
    """

    def __init__(self, endpoint: ASGIApp, most: int) -> None:
        self._endpoint = endpoint
        self._most = most
        self._bounded = RequestBodyLimitMiddleware(self._read, most)
        self._under_way = Counter[_Asked]()
        """How often each request is held: while it is posted, and while it is answered, which may take longer."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request. Cancelled: its id can be used again once nothing answers it any more."""
        posted = scope["method"] == "POST" and MCP_SESSION_ID_HEADER in Headers(scope=scope)
        await (self._bounded if posted else self._endpoint)(scope, receive, send)

    async def _read(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The same, with all of the body in the first that is received, if the client is still there."""
        first = await receive()
        if first["type"] != "http.request" or first.get("more_body"):
            return  # it left before it had said all
        try:
            message = message_of(first["body"], self._most)
            asked = self._asked(Headers(scope=scope)[MCP_SESSION_ID_HEADER], message)
        except Refused as refused:
            told = Response(line_of(refused.error), HTTPStatus.BAD_REQUEST, media_type=_JSON)
            await told(scope, receive, send)
            return
        if isinstance(message, jsonrpc.JSONRPCError):  # it may stand for an answer that cannot be read
            first = {"type": "http.request", "body": line_of(message)}
        await self._pass_on(asked, scope, _again(first, receive), send)

    def _asked(self, session: str, message: object) -> _Asked | None:
        """The request that *message* is; None if it is none.

        Raises:
            Refused: Its id is taken: a request with it is under way, say.
        """
        if not isinstance(message, jsonrpc.JSONRPCRequest):
            return None
        asked = session, str(message.id)
        if asked[1] == GET_STREAM_KEY:
            raise Refused(
                types.INVALID_REQUEST, f"Invalid request: the id {message.id!r} is that of the stream of no request"
            )
        if asked in self._under_way:
            # An answer with this id would be taken for that of the other one.
            raise Refused(types.INVALID_REQUEST, f"Invalid request: a request with the id {message.id!r} is under way")
        return asked

    async def _pass_on(self, asked: _Asked | None, scope: Scope, receive: Receive, send: Send) -> None:
        if asked is None:
            await self._endpoint(scope, receive, send)
            return
        scope[ANSWERED_IN] = partial(self._held, asked)
        with self._held(asked):
            await self._endpoint(scope, receive, send)

    @contextmanager
    def _held(self, asked: _Asked) -> Generator[None]:
        self._under_way[asked] += 1
        try:
            yield
        finally:
            self._under_way[asked] -= 1
            if not self._under_way[asked]:
                del self._under_way[asked]


def _again(first: Message, receive: Receive) -> Receive:
    """*first*, and then what comes."""
    left = [first]

    async def again() -> Message:
        return left.pop() if left else await receive()

    return again
