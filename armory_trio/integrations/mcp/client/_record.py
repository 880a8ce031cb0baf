"""What is known of one link: a session with a server, from its opening to its end. Synchronous throughout."""

from __future__ import annotations

import itertools
import logging
import math
from collections import deque
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Final

import trio
from mcp_types import ElicitRequestParams, ElicitResult

from ....definitions import ToolContext
from ._catalogue import Page
from ._faults import Fault

_log: Final = logging.getLogger("armory_trio.mcp")

_TOLD_AT_MOST: Final = 20
"""Lines of one link that are logged because they are no messages; more are only counted."""

_SHOWN: Final = 200
"""Bytes of such a line that are shown."""

_TAIL_LINES: Final = 40
_TAIL_BYTES: Final = 4_000
"""How much of what a server says on its standard error is kept to explain its end."""


_QUESTIONS: Final = 16
"""Questions to a person that one call may have open; more are declined."""


_EMPTY: Final = 2
_EMPTY_FOR: Final = 20.0
"""A stream that ends at once, without a word, may be that of a server which has nothing to say yet. When more than so many do
in a row, over at least so many seconds, it has nothing to say any more."""


class Question:
    """What the server wants to ask a person, on its way to the call that it is about."""

    __slots__ = ("answer", "answered", "params", "scope")

    def __init__(self, params: ElicitRequestParams) -> None:
        self.params: ElicitRequestParams = params
        self.answer: ElicitResult = ElicitResult(action="cancel")
        self.answered: trio.Event = trio.Event()
        self.scope: trio.CancelScope = trio.CancelScope()
        """What the asking is in; cancelled once the server does not want to know any more."""

    def settle(self, answer: ElicitResult | None = None) -> None:
        """Give the answer; without one it is that nobody answered."""
        if answer is not None and not self.answered.is_set():
            self.answer = answer
        self.answered.set()


class Exchange:
    """One request of a tool and what is known of it.

    Args:
        request_id: Its id, and the token of its progress.
        context: What the calling tool may do.
    """

    __slots__ = (
        "_ask",
        "answer",
        "context",
        "cut",
        "empty",
        "empty_since",
        "fault",
        "handed",
        "questions",
        "request_id",
    )

    def __init__(self, request_id: int, context: ToolContext) -> None:
        self.request_id: int = request_id
        self.context: ToolContext = context
        self.handed: bool = False
        """Whether the server may have seen it."""

        self.answer: Mapping[str, object] | None = None
        self.fault: Fault | None = None
        self.cut: Fault | None = None
        """That its stream ended without the answer, which may still come on another."""

        self.empty: int = 0
        """How many streams in a row were to bring the rest of its own, and ended at once without a word."""

        self.empty_since: float = 0.0
        """When the first of them ended."""

        self._ask: trio.MemorySendChannel[Question]
        self.questions: trio.MemoryReceiveChannel[Question]
        self._ask, self.questions = trio.open_memory_channel(_QUESTIONS)

    def ask(self, question: Question) -> bool:
        """Hand a question to the call; False if that has too many, or is over."""
        try:
            self._ask.send_nowait(question)
        except (trio.WouldBlock, trio.BrokenResourceError, trio.ClosedResourceError):
            return False
        return True

    def close(self) -> None:
        """The call is over: nobody answers its questions any more."""
        self._ask.close()
        while True:
            try:
                self.questions.receive_nowait().settle()
            except (trio.WouldBlock, trio.EndOfChannel, trio.ClosedResourceError):
                break
        self.questions.close()


class LinkRecord:
    """Written by whoever learns something of the link, and read by its calls.

    Args:
        name: The name of the connection, for logs.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.exchanges: dict[int, Exchange] = {}
        """The calls that wait for an answer, by the id of their request."""

        self.stray: int = 0
        """How many things that are no messages the server sent."""

        self.ended: trio.Event = trio.Event()
        """Set once the link is no use any more, or is to be closed."""

        self.lost: str | None = None
        """Why it is no use any more."""

        self.opening: trio.CancelScope | None = None
        """What bounds the opening of the link, while it is not open."""

        self.modern = False
        """Whether a revision without a handshake is spoken."""

        self.listed_asked: int = 0
        """How often the server said that its tools changed."""

        self.tools_changed: trio.Event = trio.Event()
        self.page: Page = Page()
        """What the last page of tools came to."""

        self._ids = itertools.count(1)
        self._stderr: deque[str] = deque(maxlen=_TAIL_LINES)

    # -- what calls need

    def mint(self) -> int:
        """An id that no other request of this link has."""
        return next(self._ids)

    def sending(self, request_id: object) -> None:
        """The request is being handed over: from here on the server may have seen it."""
        if isinstance(request_id, int) and (exchange := self.exchanges.get(request_id)) is not None:
            exchange.handed = True

    def unsent(self, request_id: object) -> None:
        """The request was not handed over after all."""
        if isinstance(request_id, int) and (exchange := self.exchanges.get(request_id)) is not None:
            exchange.handed = False

    def fault(self, request_id: object, fault: Fault) -> bool:
        """Say what happened to a request, in place of what the SDK makes of it. Answers whether anybody waits."""
        if isinstance(request_id, int) and (exchange := self.exchanges.get(request_id)) is not None:
            exchange.fault = fault
            return True
        return False

    def cut_off(self, request_id: object, fault: Fault) -> None:
        """The stream of a request ended without its answer: *fault* if it comes on no other either."""
        if isinstance(request_id, int) and (exchange := self.exchanges.get(request_id)) is not None:
            exchange.cut = fault

    def rest_ended(self, request_id: object, *, empty: bool) -> bool:
        """What was to bring the rest of a stream ended without the answer; *empty* when it did so at once, without a word.

        Answers whether there is no use in asking for more.
        """
        exchange = self.exchanges.get(request_id) if isinstance(request_id, int) else None
        if exchange is None:
            return False
        now = trio.current_time()
        exchange.empty = exchange.empty + 1 if empty else 0
        if exchange.empty <= 1:
            exchange.empty_since = now
        return exchange.empty > _EMPTY and now - exchange.empty_since >= _EMPTY_FOR

    def forget_fault(self, request_id: object) -> None:
        """The request is sent again: what became of it before does not count."""
        if isinstance(request_id, int) and (exchange := self.exchanges.get(request_id)) is not None:
            exchange.fault = exchange.cut = None

    def only_exchange(self) -> Exchange | None:
        """The call that something must be about which does not say what it is about; None if it could be several."""
        return next(iter(self.exchanges.values())) if len(self.exchanges) == 1 else None

    # -- what transports learn

    @contextmanager
    def person(self) -> Generator[None]:
        """A person is asked: what bounds the opening of the link stands still meanwhile."""
        scope, asked = self.opening, trio.current_time()
        left = math.inf if scope is None else scope.deadline - asked
        if scope is not None:
            scope.deadline = math.inf
        try:
            yield
        finally:
            if scope is not None and self.opening is scope:
                scope.deadline = trio.current_time() + left

    def end(self, why: str) -> None:
        """The link is of no use any more. Only the first reason counts."""
        if self.lost is None:
            self.lost = why
        self.ended.set()

    def skip(self, what: str, line: bytes) -> None:
        """Something that is no message was skipped. How it begins is for who debugs: it may be part of a result."""
        self.stray += 1
        if self.stray <= _TOLD_AT_MOST:
            more = "; what follows of this kind is only counted" if self.stray == _TOLD_AT_MOST else ""
            _log.warning("the MCP server %r sent %s, which was skipped%s", self.name, what, more)
            _log.debug("what the MCP server %r sent begins: %r", self.name, line[:_SHOWN])

    def not_killed(self, pid: int) -> None:
        """The server's process could not be ended."""
        _log.warning("the process of the MCP server %r, %d, could not be killed, and is left behind", self.name, pid)

    def said(self, line: bytes) -> None:
        """The server wrote a line to its standard error."""
        text = line[:_TAIL_BYTES].decode("utf-8", "backslashreplace").rstrip()
        if text:
            self._stderr.append(text)
            _log.debug("the MCP server %r: %s", self.name, text)

    def tools_did_change(self) -> None:
        """The server said that its tools changed."""
        self.listed_asked += 1
        self.tools_changed.set()

    @property
    def stderr(self) -> str:
        """The end of what the server wrote to its standard error."""
        return "\n".join(self._stderr)[-_TAIL_BYTES:]
