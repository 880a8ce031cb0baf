"""The task that owns a connection."""

from __future__ import annotations

import logging
import random
from typing import Final, Literal, NamedTuple

import trio
from mcp.shared.exceptions import MCPError

from ....definitions import ToolContext
from ....definitions._exceptions import Withheld, leaves
from ....errors import DefinitionError
from ....toolbox import LiveToolbox, Toolbox
from ._bounds import shortened
from ._calls import Link
from ._catalogue import Catalogue, ListingFailed
from ._errors import ConnectionFailed
from ._faults import UNAVAILABLE, Fault
from ._imports import Imports, unknown_name
from ._link import open_link, renew
from ._options import ClientOptions
from ._record import LinkRecord
from ._servers import AnyServer, HttpServer, InMemoryServer, StdioServer

_log: Final = logging.getLogger("armory_trio.mcp")

_STEADY: Final = 10.0
"""Seconds after which a link that breaks counts as one that had worked: reconnecting begins anew."""

_CATCH_UP: Final = 2.0
"""Seconds that a call which changed the tools of its server is held until they are read again."""

State = Literal["opening", "open", "reconnecting", "failed", "closed"]
"""``reconnecting``: it broke, and is tried again. ``failed``: it broke, and is not."""


class _Word(NamedTuple):
    """That the tools changed: how often the server of a link had said so."""

    record: LinkRecord
    asked: int


class Owner:
    """The one task that opens a connection, keeps it open and closes it, and what calls need of it.

    Args:
        server: What to connect to.
        options: How.
    """

    def __init__(self, server: AnyServer, options: ClientOptions) -> None:
        self._server = server
        self.options = options
        self.state: State = "opening"
        self.link: Link | None = None
        self.record: LinkRecord = LinkRecord(options.name)
        self.catalogue: Catalogue = Catalogue()
        self.imports: Imports = Imports(options, self)
        self.live: LiveToolbox | None = None
        self._news = trio.Event()
        self._scope = trio.CancelScope()
        self.ended: trio.Event = trio.Event()
        self.why: str = ""
        self._refusal: DefinitionError | ConnectionFailed | None = None

    @property
    def name(self) -> str:
        """What the host calls the server."""
        return self.options.name

    def toolbox(self) -> Toolbox:
        """The tools as the server lists them now.

        Raises:
            DefinitionError: What the host declares for a tool is wrong.
        """
        return Toolbox(self.imports.tools_of(self.catalogue))

    # -- calls

    async def ready(self, context: ToolContext) -> Link:
        """An open link whose catalogue is up to date, for a call. Cancelled: nothing has changed.

        Raises:
            ToolFailure: There is none, and none within ``Reconnect.wait`` seconds.
        """
        word = self._word()
        link = self._usable(word)
        if link is not None:
            return link
        with trio.move_on_after(self.options.reconnect.wait):
            async with context.waiting(f"connection to {self.name}"):
                while self.state not in ("failed", "closed"):
                    news = self._news
                    link = self._usable(word)
                    if link is not None:
                        return link
                    await news.wait()
        if self.state == "open":
            message = f"the tools of {self.name!r} changed, and it has not said how yet"
        else:
            message = f"the connection to {self.name!r} is {self.state}: {self.why}"
        raise Fault(message, "unavailable", UNAVAILABLE, False, self.state in ("open", "reconnecting")).failure()

    async def catch_up(self) -> None:
        """Return once `live` shows what the server has said by now about its tools, or cannot do so soon."""
        if self.live is None:
            return
        word = self._word()
        with trio.move_on_after(_CATCH_UP):
            while self.link is not None and self._usable(word) is None:
                await self._news.wait()

    def _usable(self, word: _Word) -> Link | None:
        """The link, if it is open and its catalogue covers *word*. A new link has read the list anew, and covers all."""
        link = self.link
        if link is None or link.record.ended.is_set():
            return None
        return link if link.record is not word.record or link.covered >= word.asked else None

    def _word(self) -> _Word:
        """What the server has said by now about its tools."""
        return _Word(self.record, self.record.listed_asked)

    # -- closing

    def close(self) -> None:
        """Begin to close it, from any task; again changes nothing. Calls that are under way end as lost."""
        self._become("closed")
        self.record.end("it was closed here")
        if self.link is None:
            self._scope.cancel()

    # -- the task

    async def opened(self) -> None:
        """Return once it is open for the first time. Cancelled: it goes on opening.

        Raises:
            ConnectionFailed: It could not be opened.
            DefinitionError: The options are about a tool that is not listed.
        """
        while self.state == "opening":
            await self._news.wait()
        if self._refusal is not None:
            raise self._refusal

    async def own_to_the_end(self) -> None:
        """Open it, keep it open, and close it once `close` was called, which alone ends this.

        Under a shield: a server goes on with the calls of a client that left without a word.
        """
        with trio.CancelScope(shield=True):
            await self._own()

    async def _own(self) -> None:
        failures = 0
        try:
            while True:
                began = trio.current_time()
                opened = await self._hold()
                if self.state == "opening":
                    self._refusal = self._refusal or ConnectionFailed(self.name, self.why, self.record.stderr)
                if self._refusal is not None or self.state == "closed":
                    return
                failures = 1 if opened and trio.current_time() - began >= _STEADY else failures + 1
                most = self.options.reconnect.attempts
                if most is not None and failures > most:
                    self._become("failed")
                    await self._until_closed()
                    return
                _log.warning("the connection to the MCP server %r broke: %s", self.name, self.why)
                await self._pause(failures)
        finally:
            self._become("closed")
            self.ended.set()

    async def _hold(self) -> bool:
        """Open a link and keep it until it ends. Answers whether it was open."""
        if self.state == "closed":
            return False
        record = self.record = LinkRecord(self.name)
        record.opening = self._scope = trio.CancelScope(deadline=trio.current_time() + self.options.open_timeout)
        opened = False
        try:
            with record.opening as scope:
                async with open_link(self._server, self.options, record) as link:
                    opened, record.opening, scope.deadline = True, None, float("inf")
                    self._publish(link)
                    await self._attend(link)
                    self._withdraw(record)
                    scope.deadline = trio.current_time() + _goodbye(self._server)
            if scope.cancelled_caught and not opened:
                record.end(f"it was not ready within {self.options.open_timeout:g} s")
        except* Exception as errors:  # noqa: BLE001  # whatever ends a link, transports of others included
            self._explain(record, errors, opened=opened)
        finally:
            self._withdraw(record)
        return opened

    def _explain(self, record: LinkRecord, errors: BaseException, *, opened: bool) -> None:
        """Note why a link ended, or was not opened, unless its transport knows better."""
        told = _told(errors)
        if opened:
            record.end(told)
        elif record.lost is None or not isinstance(_first(errors), MCPError):
            record.lost = told

    def _publish(self, link: Link) -> None:
        if self.state == "opening":
            self._refusal = unknown_name(link.catalogue, self.options)
        if self._refusal is not None:
            link.record.ended.set()
            return
        self.link = link
        self._adopt(link.catalogue)
        if self.state == "closed":
            link.record.ended.set()
        else:
            self._become("open")

    def _withdraw(self, record: LinkRecord) -> None:
        """The link has ended: calls wait for the next one from now on, while what is left of this one is ended."""
        self.link = None
        self.why = record.lost or self.why
        if self.state == "open":
            self._become("reconnecting")

    async def _attend(self, link: Link) -> None:
        """Keep the catalogue up to date until the link ends."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._follow, link, name="mcp: catalogue")
            await link.record.ended.wait()
            nursery.cancel_scope.cancel()

    async def _follow(self, link: Link) -> None:
        record = link.record
        while True:
            await record.tools_changed.wait()
            record.tools_changed = trio.Event()
            try:
                with trio.fail_after(self.options.open_timeout):
                    await renew(link, self.options)
            except (MCPError, ListingFailed, ValueError, trio.TooSlowError) as error:
                record.end(f"its tools changed, and it does not say how: {_told(error)}")
                return
            self._adopt(link.catalogue)
            self._tell()

    def _adopt(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        if self.live is not None:
            try:
                self.live.swap(self.toolbox())
            except Exception as exc:  # noqa: BLE001  # functions of the host's say what is declared
                told = "the new tools of %r cannot be imported; the old ones stand, and are refused: %s"
                _log.error(told, self.name, Withheld(exc, frames=True))

    async def _pause(self, failures: int) -> None:
        delay = self.options.reconnect.delay(failures, random.random())  # noqa: S311  # it only spreads clients
        with trio.move_on_after(delay) as self._scope:
            await trio.sleep_forever()

    async def _until_closed(self) -> None:
        with trio.CancelScope() as self._scope:
            await trio.sleep_forever()

    def _become(self, state: State) -> None:
        if self.state != "closed":
            self.state = state
        self._tell()

    def _tell(self) -> None:
        news, self._news = self._news, trio.Event()
        news.set()


def _told(error: BaseException) -> str:
    first = _first(error)
    return shortened(f"{type(first).__name__}: {first}".rstrip(": "))


def _first(error: BaseException) -> BaseException:
    """What a person would call the reason: what the protocol says of its own end only when there is nothing else."""
    found = list(leaves(error))
    return next((leaf for leaf in found if not isinstance(leaf, MCPError)), found[0])


def _goodbye(server: AnyServer) -> float:
    """Seconds for the end of a link. A child process takes its own time, under a shield."""
    match server:
        case HttpServer():
            return server.close_timeout
        case StdioServer():
            return 0.0
        case InMemoryServer():
            return 5.0
