"""The SDK's dispatcher, with what this client has to know of each message: in order, and without a task for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

import anyio
from anyio.abc import TaskStatus
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.dispatcher import CallOptions, OnNotify, OnNotifyIntercept, OnRequest
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import SessionMessage
from mcp.shared.transport_context import TransportContext

from ._bounds import shortened
from ._catalogue import sift
from ._progress import percent_of, tell_log
from ._record import LinkRecord

_TAKEN: Final = "complete"
"""What the SDK is told in place of the answer to a call. It would refuse a whole result for one kind of content that
it does not know, so results are read by `_content`."""

_OF_THE_SDK: Final = ("notifications/cancelled", "notifications/subscriptions/acknowledged")
"""Notifications that only the session itself has a use for."""


_DIGITS: Final = 18


class Wire(JSONRPCDispatcher[TransportContext]):
    """One session's messages. Notes each answer of a tool in its `Exchange`; hands progress and logs over at once.

    Args:
        read: Where messages come from.
        write: Where they go.
        record: What is known of the link.
    """

    def __init__(
        self, read: ReadStream[SessionMessage | Exception], write: WriteStream[SessionMessage], record: LinkRecord
    ) -> None:
        super().__init__(read, write)
        self._record = record

    async def send_raw_request(
        self,
        method: str,
        params: Mapping[str, object] | None,
        opts: CallOptions | None = None,
        *,
        _related_request_id: int | str | None = None,
    ) -> dict[str, object]:
        """Send a request under an id that was never used before, and wait for its answer."""
        exchange = self._record.exchanges.get(_token(params)) if method == "tools/call" else None
        options: CallOptions = {**opts} if opts is not None else {}
        if "request_id" not in options:
            options["request_id"] = self._record.mint() if exchange is None else exchange.request_id
        answer: dict[str, object] = await super().send_raw_request(
            method, params, options, _related_request_id=_related_request_id
        )
        if exchange is not None:
            exchange.answer = answer
            return {"content": [], "resultType": _TAKEN}
        if method != "tools/list":
            return answer
        self._record.page, good = sift(answer)
        # A session without headers of its own for arguments needs nothing of them, and would refuse all for one.
        return {**answer, "tools": good if self._record.modern else []}

    async def run(  # noqa: ASYNC114, ASYNC128  # its session starts it, and the method above it says that it started
        self,
        on_request: OnRequest,
        on_notify: OnNotify,
        on_notify_intercept: OnNotifyIntercept | None = None,
        *,
        task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """Receive until there is nothing more to come; then the link has ended."""

        def intercept(method: str, params: Mapping[str, object] | None) -> bool:
            if on_notify_intercept is not None and on_notify_intercept(method, params):
                return True
            return method not in _OF_THE_SDK and self._notice(method, params or {})

        try:
            await super().run(on_request, on_notify, intercept, task_status=task_status)
            self._record.end("it ended the connection")
        finally:
            self._record.ended.set()  # else it is left from within, by somebody who knows why

    def _notice(self, method: str, params: Mapping[str, object]) -> bool:
        """Take a notification, in the order in which they came. Whatever nobody waits for is dropped."""
        record = self._record
        match method:
            case "notifications/progress":
                exchange = record.exchanges.get(_number(params.get("progressToken")))
                if exchange is not None:
                    exchange.context.progress(percent_of(params), message=_words(params.get("message")))
            case "notifications/message":
                tell_log(record, params)
            case "notifications/tools/list_changed":
                record.tools_did_change()
            case _:
                pass
        return True


def _token(params: Mapping[str, object] | None) -> int:
    meta = (params or {}).get("_meta")
    return _number(cast("Mapping[str, object]", meta).get("progressToken")) if isinstance(meta, Mapping) else 0


def _number(value: object) -> int:
    """The token that *value* is, which some servers give back as text; 0 is nobody's."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= _DIGITS:
        return int(value)
    return value if type(value) is int else 0


def _words(value: object) -> str | None:
    return shortened(value) if isinstance(value, str) else None
