"""What runs a tool: one request of its operation, and the truth about how that ended."""

from __future__ import annotations

from collections.abc import Mapping

import httpx2
import msgspec

from ...definitions import EffectWindow, ToolContext, ToolFailure
from ._operations import Operation
from ._requests import Prepared, prepare
from ._responses import Reply, Unreadable, excerpt_of, value_of
from ._security import AuthCallback, Granted, granted_for
from ._sending import Progress, Sender, conflicts_of
from ._servers import Server
from ._statuses import Happened, Meaning, happened_by, is_good, meaning_of, retry_after
from ._styles import Refused

__all__ = ("OperationTool",)

_KEY_HEADER = "Idempotency-Key"


class OperationTool(msgspec.Struct, frozen=True, eq=False):
    """Runs one operation.

    Args:
        operation: What it is.
        server: Where it is.
        sender: What sends its requests.
        auth: Answers credentials; None if there are none.
        as_client: The client has its own credentials.
        sends_key: The idempotency key of a call is sent.
        looking: It changes nothing.
    """

    operation: Operation
    server: Server
    sender: Sender
    auth: AuthCallback | None
    as_client: bool
    sends_key: bool
    looking: bool

    async def __call__(self, arguments: dict[str, object], ctx: ToolContext) -> object:
        """Send the request and read the response.

        Cancelled: the connection is closed at once. What had not been sent has changed nothing.

        Raises:
            ToolFailure: It could not be sent, was refused, or failed.
        """
        prepared = self._prepared(arguments, ctx)
        granted = Granted() if self.as_client else await granted_for(self.operation.security, self.auth, ctx)
        taken = conflicts_of(prepared, granted)
        if taken is not None:
            raise _refused(f"no argument may be sent as {taken!r}, which carries a credential")
        if self.looking:
            return await self._exchange(prepared, granted, None)
        async with ctx.effect(self.operation.info.place, self.server.origin) as window:
            return await self._exchange(prepared, granted, window)

    def _prepared(self, arguments: Mapping[str, object], ctx: ToolContext) -> Prepared:
        try:
            prepared = prepare(self.operation, self.server, arguments)
        except Refused as refused:
            raise _refused(str(refused)) from None
        if not self.sends_key:
            return prepared
        key = ctx.idempotency_key or (ctx.execution_id if self.operation.needs_key else None)
        if key is None:
            return prepared
        if not key.isascii() or not key.isprintable():
            raise _refused("the idempotency key of the call can't stand in a header")
        header = (self.operation.key_header or _KEY_HEADER, key.encode())
        return msgspec.structs.replace(prepared, headers=(*prepared.headers, header))

    async def _exchange(self, prepared: Prepared, granted: Granted, window: EffectWindow | None) -> object:
        progress = Progress()
        if self.sender.is_closed:
            _tell(window, "nothing")
            words = "the host has closed its HTTP client, so nothing was sent"
            raise ToolFailure(words, category="unavailable", code="TOOL_UNAVAILABLE", effect="none")
        try:
            reply = await self.sender.send(prepared, granted, progress, looking=self.looking)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            _tell(window, progress.happened(error))
            raise _lost(error, unsent=progress.happened(error) == "nothing") from None
        except Unreadable as error:
            _tell(window, progress.happened(error))
            raise ToolFailure(str(error), code=error.code) from None
        except BaseException as error:
            _tell(window, progress.happened(error))
            raise
        _tell(window, happened_by(reply.status))
        if not is_good(reply.status):
            raise _failure(reply, meaning_of(reply.status))
        try:
            return value_of(reply, self.operation.info.method, self.sender.most)
        except Unreadable as error:
            details = {"status": reply.status, "body": excerpt_of(reply)}
            raise ToolFailure(str(error), code=error.code, retryable=False, details=details) from None


def _tell(window: EffectWindow | None, happened: Happened) -> None:
    if window is not None and happened == "nothing":
        window.nothing_happened()
    elif window is not None and happened == "done":
        window.happened()


def _refused(words: str) -> ToolFailure:
    return ToolFailure(words, category="validation", effect="none")


def _lost(error: Exception, *, unsent: bool) -> ToolFailure:
    """What is told of a request that got no response. The words of the error could hold a URL: only its type is told."""
    name = type(error).__name__
    if isinstance(error, httpx2.UnsupportedProtocol | httpx2.InvalidURL | httpx2.LocalProtocolError):
        reason = f"the request can't be sent ({name}): an argument may be too long for it"
        return ToolFailure(reason, category="validation", effect="none")
    where = "before anything was sent" if unsent else "after the request was sent, or while it was"
    return ToolFailure(
        f"the connection to the server failed {where} ({name})",
        category="transient",
        code="CONNECTION_LOST",
        effect="none" if unsent else None,
    )


def _failure(reply: Reply, meaning: Meaning) -> ToolFailure:
    body = excerpt_of(reply)
    details: dict[str, object] = {"status": reply.status, "media_type": reply.media_type, "body": body}
    wait = retry_after(reply.headers.get("retry-after"), reply.headers.get("date"))
    details |= {} if wait is None else {"retry_after": wait}
    if meaning.code == "REDIRECTED":
        details["location"] = reply.headers.get("location", "")
    said = f": {body}" if body else ""
    return ToolFailure(
        f"the server answered {reply.status}{said}", category=meaning.category, code=meaning.code, details=details
    )
