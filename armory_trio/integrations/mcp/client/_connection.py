"""A connection to a server: one task owns it, any task uses it."""

from __future__ import annotations

import logging
import random
from typing import Final, Literal, NamedTuple

import trio
from mcp.shared.exceptions import MCPError

from ....definitions import ToolContext
from ....engine._concurrency import leaves
from ....errors import DefinitionError
from ....toolbox import LiveToolbox, Toolbox
from ._calls import Link
from ._catalogue import Catalogue, Listed, ListingFailed, SetAside
from ._errors import ConnectionFailed
from ._faults import Fault
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


class Connection:
    """A connection to a server, and its tools. Made by `open_mcp`, and only of use inside its block.

    Everything here may be used from any task of the block.
    """

    def __init__(self, server: AnyServer, options: ClientOptions) -> None:
        self._server = server
        self._options = options
        self._state: State = "opening"
        self._link: Link | None = None
        self._record = LinkRecord(options.name)
        self._catalogue = Catalogue()
        self._imports = Imports(options, self)
        self._live: LiveToolbox | None = None
        self._news = trio.Event()
        self._scope = trio.CancelScope()
        self._ended = trio.Event()
        self._why = ""
        self._refusal: DefinitionError | ConnectionFailed | None = None

    def __repr__(self) -> str:
        return f"<Connection {self.name!r}: {self._state}>"

    # -- looking

    @property
    def name(self) -> str:
        """What the host calls the server; the namespace of its tools."""
        return self._options.name

    @property
    def state(self) -> State:
        """How it is now."""
        return self._state

    @property
    def why(self) -> str:
        """Why it broke last; empty if it never did."""
        return self._why

    @property
    def stray(self) -> int:
        """How much that is no message the server sent over the link that there is, or was last."""
        return self._record.stray

    @property
    def stderr(self) -> str:
        """The end of what the server wrote to its standard error over that link."""
        return self._record.stderr

    @property
    def instructions(self) -> str | None:
        """What the server says about how to use it. Nobody vouches for it."""
        return None if self._link is None else self._link.session.instructions

    @property
    def server_version(self) -> str:
        """What the server calls itself, and its version; empty if it does not say or there is no link."""
        info = None if self._link is None else self._link.session.server_info
        return "" if info is None else f"{info.name} {info.version}".strip()

    @property
    def protocol_version(self) -> str | None:
        """The revision of the protocol that is spoken, or None."""
        return None if self._link is None else self._link.session.protocol_version

    @property
    def listed(self) -> tuple[Listed, ...]:
        """The tools as the server listed them last, all of them."""
        return tuple(self._catalogue.tools.values())

    @property
    def set_aside(self) -> tuple[SetAside, ...]:
        """Tools that are listed and cannot be imported, with the reasons. Imports what was not imported before."""
        return self._imports.set_aside_of(self._catalogue)

    # -- tools

    def toolbox(self) -> Toolbox:
        """The tools as the server lists them now, each pinned to what it is now.

        A tool whose definition changes at the server afterwards is refused when it is called (``TOOL_CHANGED``) until it
        is imported again, by this function or by `live`.

        Raises:
            DefinitionError: What the host declares for a tool is wrong.
        """
        return Toolbox(self._imports.tools_of(self._catalogue))

    @property
    def live(self) -> LiveToolbox:
        """A toolbox that is exchanged for a new `toolbox` whenever the server says that its tools changed."""
        if self._live is None:
            self._live = LiveToolbox(self.toolbox())
        return self._live

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
        with trio.move_on_after(self._options.reconnect.wait):
            async with context.waiting(f"connection to {self.name}"):
                while self._state not in ("failed", "closed"):
                    news = self._news
                    link = self._usable(word)
                    if link is not None:
                        return link
                    await news.wait()
        if self._state == "open":
            message = f"the tools of {self.name!r} changed, and it has not said how yet"
        else:
            message = f"the connection to {self.name!r} is {self._state}: {self._why}"
        raise Fault(
            message, "unavailable", "TOOL_UNAVAILABLE", False, self._state in ("open", "reconnecting")
        ).failure()

    async def catch_up(self) -> None:
        """Return once `live` shows what the server has said by now about its tools, or cannot do so soon."""
        if self._live is None:
            return
        word = self._word()
        with trio.move_on_after(_CATCH_UP):
            while self._link is not None and self._usable(word) is None:
                await self._news.wait()

    def _usable(self, word: _Word) -> Link | None:
        """The link, if it is open and its catalogue covers *word*. A new link has read the list anew, and covers all."""
        link = self._link
        if link is None or link.record.ended.is_set():
            return None
        return link if link.record is not word.record or link.covered >= word.asked else None

    def _word(self) -> _Word:
        """What the server has said by now about its tools."""
        return _Word(self._record, self._record.listed_asked)

    # -- closing

    def close(self) -> None:
        """Begin to close it, from any task; again changes nothing. Calls that are under way end as lost."""
        self._become("closed")
        self._record.end("it was closed here")
        if self._link is None:
            self._scope.cancel()

    async def aclose(self) -> None:
        """Close it and wait until nothing of it is left. From any task, in any order with others, and again.

        Cancelled: it closes all the same.
        """
        self.close()
        await self._ended.wait()

    # -- the task that owns it

    async def opened(self) -> None:
        """Return once it is open for the first time. Cancelled: it goes on opening.

        Raises:
            ConnectionFailed: It could not be opened.
            DefinitionError: The options are about a tool that is not listed.
        """
        while self._state == "opening":
            await self._news.wait()
        if self._refusal is not None:
            raise self._refusal

    async def own(self) -> None:
        """Open it, keep it open, and close it."""
        failures = 0
        try:
            while True:
                began = trio.current_time()
                opened = await self._hold()
                if self._state == "opening":
                    self._refusal = self._refusal or ConnectionFailed(self.name, self._why, self.stderr)
                if self._refusal is not None or self._state == "closed":
                    return
                failures = 1 if opened and trio.current_time() - began >= _STEADY else failures + 1
                most = self._options.reconnect.attempts
                if most is not None and failures > most:
                    self._become("failed")
                    await self._until_closed()
                    return
                _log.warning("the connection to the MCP server %r broke: %s", self.name, self._why)
                await self._pause(failures)
        finally:
            self._become("closed")
            self._ended.set()

    async def _hold(self) -> bool:
        """Open a link and keep it until it ends. Answers whether it was open."""
        if self._state == "closed":
            return False
        record = self._record = LinkRecord(self.name)
        record.opening = self._scope = trio.CancelScope(deadline=trio.current_time() + self._options.open_timeout)
        opened = False
        try:
            with record.opening as scope:
                async with open_link(self._server, self._options, record) as link:
                    opened, record.opening, scope.deadline = True, None, float("inf")
                    self._publish(link)
                    await self._attend(link)
                    self._withdraw(record)
                    scope.deadline = trio.current_time() + _goodbye(self._server)
            if scope.cancelled_caught and not opened:
                record.end(f"it was not ready within {self._options.open_timeout:g} s")
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
        if self._state == "opening":
            self._refusal = unknown_name(link.catalogue, self._options)
        if self._refusal is not None:
            link.record.ended.set()
            return
        self._link = link
        self._adopt(link.catalogue)
        if self._state == "closed":
            link.record.ended.set()
        else:
            self._become("open")

    def _withdraw(self, record: LinkRecord) -> None:
        """The link has ended: calls wait for the next one from now on, while what is left of this one is ended."""
        self._link = None
        self._why = record.lost or self._why
        if self._state == "open":
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
                with trio.fail_after(self._options.open_timeout):
                    await renew(link, self._options)
            except (MCPError, ListingFailed, ValueError, trio.TooSlowError) as error:
                record.end(f"its tools changed, and it does not say how: {_told(error)}")
                return
            self._adopt(link.catalogue)
            self._tell()

    def _adopt(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        if self._live is not None:
            try:
                self._live.swap(self.toolbox())
            except Exception:  # noqa: BLE001  # functions of the host's say what is declared
                _log.exception("the new tools of %r cannot be imported; the old ones stand, and are refused", self.name)

    async def _pause(self, failures: int) -> None:
        delay = self._options.reconnect.delay(failures, random.random())  # noqa: S311  # it only spreads clients
        with trio.move_on_after(delay) as self._scope:
            await trio.sleep_forever()

    async def _until_closed(self) -> None:
        with trio.CancelScope() as self._scope:
            await trio.sleep_forever()

    def _become(self, state: State) -> None:
        if self._state != "closed":
            self._state = state
        self._tell()

    def _tell(self) -> None:
        news, self._news = self._news, trio.Event()
        news.set()


def _told(error: BaseException) -> str:
    first = _first(error)
    return f"{type(first).__name__}: {first}".rstrip(": ")


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
