"""Session management: calls need a session that exists, and each session knows what was called in it.

The session's id comes with the request context of the call, where no model can write it; the store comes with the
toolbox's context.
"""

from __future__ import annotations

import attrs
import trio

from armory_trio import (
    CallNext,
    MiddlewareCall,
    RequestContext,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolFailure,
    open_supervisor,
    tool,
)
from examples.patterns._clock import run


@attrs.define(eq=False)
class Session:
    """What is kept of one user who is logged in."""

    user: str
    calls: list[str] = attrs.field(factory=list[str])


class Sessions:
    """The sessions that there are."""

    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}

    def open(self, name: str, user: str) -> None:
        """Somebody has logged in."""
        self._sessions[name] = Session(user)

    def get(self, name: str) -> Session | None:
        """The session of that name, if there is one."""
        return self._sessions.get(name)


def session_of(ctx: ToolContext) -> Session:
    """The session of a call.

    Raises:
        ToolFailure: It names none, or one that does not exist.
    """
    sessions = ctx.context["sessions"]
    assert isinstance(sessions, Sessions)
    name = ctx.request_context.session if ctx.request_context is not None else None
    session = None if name is None else sessions.get(name)
    if session is None:
        message = "log in first" if name is None else "the session has ended; log in again"
        raise ToolFailure(message, category="permission", code="NO_SESSION", effect="none")
    return session


async def within_a_session(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
    """Let only calls through that belong to a session, and note them there. Cancelled: the tool is."""
    session = session_of(ctx)
    session.calls.append(call.tool.name)
    return await call_next()


@tool(effect="read-only")
async def whoami(ctx: ToolContext) -> str:
    """Who is logged in, and what they did so far."""
    await trio.lowlevel.checkpoint()
    session = session_of(ctx)
    return f"{session.user}, {len(session.calls)} calls"


async def main() -> None:
    sessions = Sessions()
    sessions.open("s1", "ada")
    sessions.open("s2", "bob")
    toolbox = Toolbox([whoami], middleware=[within_a_session], context={"sessions": sessions})
    async with open_supervisor(toolbox) as supervisor:
        for session in ("s1", "s1", "s2", "s9", None):
            context = RequestContext(session=session)
            result = await supervisor.execute(ToolCall("whoami"), request_context=context)
            print(f"{session}: {result.value if result.error is None else result.error.message}")


if __name__ == "__main__":
    run(main)
