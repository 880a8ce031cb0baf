"""Something between a store and its PostgreSQL server that may be slow, silent or gone."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final
from urllib.parse import quote

import trio
from psycopg.conninfo import conninfo_to_dict

_PIECE: Final = 65_536
_LOOPBACK: Final = "127.0.0.1"


class Proxy:
    """Passes bytes on, to a server whose URL is *url*. Loopback only."""

    def __init__(self, url: str, nursery: trio.Nursery) -> None:
        known = {name: str(value) for name, value in conninfo_to_dict(url).items() if value is not None}
        self._known = known
        self._nursery = nursery
        self._serving = trio.CancelScope()
        self._port = 0
        self._speaks = trio.Event()
        self._speaks.set()
        self.delay = 0.0
        """Seconds by which every piece is late."""

    @property
    def url(self) -> str:
        """Where a store finds it."""
        user, database = self._known.get("user", "postgres"), self._known.get("dbname", "postgres")
        options = quote(self._known.get("options", ""))
        return f"postgresql://{user}@{_LOOPBACK}:{self._port}/{database}?sslmode=disable&gssencmode=disable&options={options}"

    async def listen(self) -> None:
        """Be there."""
        self._serving = trio.CancelScope()
        await self._nursery.start(self._serve)

    def vanish(self) -> None:
        """End all connections, and refuse new ones."""
        self._serving.cancel()

    def fall_silent(self) -> None:
        """Take everything, and pass nothing on."""
        self._speaks = trio.Event()

    def speak(self) -> None:
        """Pass everything on again."""
        self._speaks.set()

    async def _serve(self, task_status: trio.TaskStatus[None]) -> None:
        with self._serving:
            [listener] = await trio.open_tcp_listeners(self._port, host=_LOOPBACK)
            self._port = int(listener.socket.getsockname()[1])
            async with listener, trio.open_nursery() as connections:
                task_status.started()
                await trio.serve_listeners(self._pass_on, [listener], handler_nursery=connections)

    async def _pass_on(self, client: trio.SocketStream) -> None:
        host, port = self._known.get("host", "localhost"), self._known.get("port", "5432")
        async with client:
            if host.startswith("/"):
                server: trio.SocketStream = await trio.open_unix_socket(f"{host}/.s.PGSQL.{port}")
            else:
                server = await trio.open_tcp_stream(host, int(port))
            async with server, trio.open_nursery() as ways:
                ways.start_soon(self._pump, client, server, ways.cancel_scope)
                ways.start_soon(self._pump, server, client, ways.cancel_scope)

    async def _pump(self, source: trio.SocketStream, target: trio.SocketStream, both: trio.CancelScope) -> None:
        try:
            while piece := await source.receive_some(_PIECE):
                await trio.sleep(self.delay)
                await self._speaks.wait()
                await target.send_all(piece)
        except trio.BrokenResourceError:
            pass
        both.cancel()


@asynccontextmanager
async def open_proxy(url: str) -> AsyncGenerator[Proxy]:
    """A `Proxy` that listens until the block is left."""
    async with trio.open_nursery() as nursery:
        proxy = Proxy(url, nursery)
        await proxy.listen()
        try:
            yield proxy
        finally:
            nursery.cancel_scope.cancel()
