"""The two streams of a session, and the notice of what is handed to a transport of the SDK."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest

from ._record import LinkRecord

Streams = tuple[ReadStream[SessionMessage | Exception], WriteStream[SessionMessage]]
"""Where messages come from, and where they go."""


class Announced:
    """What the session writes to, when a transport of the SDK takes it from there.

    Such a transport does not say when it sends a request: from the moment that it gets it, it may have.
    """

    def __init__(self, inner: WriteStream[SessionMessage], record: LinkRecord) -> None:
        self._inner = inner
        self._record = record

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        return await self._inner.__aexit__(exc_type, exc_val, exc_tb)  # noqa: ASYNC102  # closing memory does not wait

    async def aclose(self) -> None:
        """Take no more."""
        await self._inner.aclose()

    async def send(self, item: SessionMessage, /) -> None:
        """Hand a message over.

        Raises:
            ValueError: It cannot be written as JSON.
        """
        if isinstance(item.message, JSONRPCRequest):
            item.message.model_dump_json(by_alias=True, exclude_unset=True)  # who sends it is told what is wrong
            self._record.sending(item.message.id)
        await self._inner.send(item)
