"""Hosts to look at, each in a thread of this process."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import trio

from armory_trio import Limits, Supervisor, Toolbox, ToolCall, ToolContext, open_supervisor, tool
from armory_trio.observability.live import serve_live_view

from .commands import BOUND

EVIL: Final = "\x1b[2J\u202eevil\x07\u2192\U0001f600"
"""A name that clears the screen, turns the direction of writing, rings, and has characters that few terminals have."""


@tool(effect="read-only", groups=["web"])
async def crawl(ctx: ToolContext) -> None:
    """Say how far it is, and stay."""
    ctx.progress(25, "page 1")
    await trio.sleep_forever()


@tool(effect="read-only")
async def quick() -> int:
    """End at once."""
    return 1


TOOLBOX: Final = Toolbox([crawl, quick])


class Host:
    """A host whose view is served until it is stopped.

    Args:
        path: Where its socket is; None for a default one.
        name: What it calls itself.
        owners: Who begins a call of ``crawl`` each; two of them run.
        allow_abort: Whether viewers may abort.
    """

    def __init__(self, path: Path | None, name: str, owners: list[str], *, allow_abort: bool) -> None:
        self._given = path, name, owners, allow_abort
        self._ready = threading.Event()
        self._stop = trio.Event()
        self._token: trio.lowlevel.TrioToken | None = None
        self.path = ""
        self.ids: list[str] = []
        self.supervisor: Supervisor | None = None
        self._thread = threading.Thread(target=trio.run, args=(self._run,))
        self._thread.start()
        assert self._ready.wait(BOUND)

    async def _run(self) -> None:
        path, name, owners, allow_abort = self._given
        self._token = trio.lowlevel.current_trio_token()
        async with open_supervisor(TOOLBOX, limits=Limits(groups={"web": 2})) as supervisor:
            async with serve_live_view(supervisor, path=path, name=name, allow_abort=allow_abort) as server:
                begun = [supervisor.start(ToolCall("crawl", {}), owner_id=owner) for owner in owners]
                self.ids = [each.id for each in begun]
                self.path, self.supervisor = server.path, supervisor
                self._ready.set()
                await self._stop.wait()
            await supervisor.shutdown("abort")

    def stop(self) -> None:
        """End it, if it has not ended."""
        if self._thread.is_alive():
            assert self._token is not None
            self._token.run_sync_soon(self._stop.set)
            self._thread.join(BOUND)
        assert not self._thread.is_alive()


@contextmanager
def live_host(path: Path | None = None, *owners: str, name: str = "host", allow_abort: bool = True) -> Generator[Host]:
    """A host for the length of the block."""
    host = Host(path, name, list(owners), allow_abort=allow_abort)
    try:
        yield host
    finally:
        host.stop()
