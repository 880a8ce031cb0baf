"""Which host is looked at, and what to do when it is gone."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import attrs
import trio

from ..observability.live import LiveSocket, LiveView, LiveViewError, running_hosts
from ._exit import Unusable
from ._ledger_store import Undone
from ._streams import plain

ANSWER_WITHIN = 10.0
"""Seconds that a host may take to let a viewer in; one that takes longer is stuck in something that never waits."""


@attrs.frozen(kw_only=True)
class Target:
    """What the user named.

    Args:
        socket: The path of a socket.
        pid: A process.
        name: What the host called itself that was found, to find it again when it was started anew.
    """

    socket: str | None = None
    pid: int | None = None
    name: str | None = None


async def find(target: Target) -> tuple[str, Target]:
    """The path of the one socket that *target* means, and how to find its host again. Cancelled: nothing has changed.

    Raises:
        Undone: There is none.
        Unusable: There are several.
    """
    if target.socket is not None:
        await trio.lowlevel.checkpoint()
        return target.socket, target
    found = await trio.to_thread.run_sync(running_hosts)
    if target.pid is not None:
        found = [each for each in found if each.pid == target.pid]
    if target.name is not None:
        found = [each for each in found if each.name == target.name]
    if not found:
        raise Undone(_none(target))
    if len(found) > 1:
        raise Unusable(f"several hosts run; choose one: {'; '.join(map(_words, found))}")
    return found[0].path, target if target.pid is not None else Target(name=found[0].name)


def _none(target: Target) -> str:
    if target.pid is not None:
        return f"process {target.pid} serves no live view to this user"
    return "no host of this user serves a live view; in one: async with serve_live_view(supervisor)"


def _words(found: LiveSocket) -> str:
    return plain(f"{found.name} --pid {found.pid} (--socket {found.path})")


@asynccontextmanager
async def looking(path: str) -> AsyncGenerator[LiveView]:
    """A view of the host at *path*. Cancelled: it is closed.

    Raises:
        LiveViewError: It can't be had, or the host does not answer.
    """
    with trio.CancelScope(deadline=trio.current_time() + ANSWER_WITHIN) as connecting:
        async with LiveView.connect(path) as view:
            connecting.deadline = math.inf
            yield view
    if connecting.cancelled_caught:
        raise LiveViewError(f"{path}: the host does not answer; something in it may block its event loop")
