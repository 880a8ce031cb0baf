"""A connection to a server, as its host sees it: one task owns it, any task uses it."""

from __future__ import annotations

from ....toolbox import LiveToolbox, Toolbox
from ._bounds import shortened_name
from ._catalogue import Listed, SetAside
from ._owner import Owner, State


class Connection:
    """A connection to a server, and its tools. Made by `open_mcp`, and only of use inside its block.

    Everything here may be used from any task of the block.
    """

    def __init__(self, owner: Owner) -> None:
        self._owner = owner

    def __repr__(self) -> str:
        return f"<Connection {self.name!r}: {self._owner.state}>"

    # -- looking

    @property
    def name(self) -> str:
        """What the host calls the server; the namespace of its tools."""
        return self._owner.name

    @property
    def state(self) -> State:
        """How it is now."""
        return self._owner.state

    @property
    def why(self) -> str:
        """Why it broke last; empty if it never did."""
        return self._owner.why

    @property
    def stray(self) -> int:
        """How much that is no message the server sent over the link that there is, or was last."""
        return self._owner.record.stray

    @property
    def stderr(self) -> str:
        """The end of what the server wrote to its standard error over that link."""
        return self._owner.record.stderr

    @property
    def instructions(self) -> str | None:
        """What the server says about how to use it. Nobody vouches for it."""
        return None if self._owner.link is None else self._owner.link.session.instructions

    @property
    def server_version(self) -> str:
        """What the server calls itself, and its version; empty if it does not say or there is no link."""
        info = None if self._owner.link is None else self._owner.link.session.server_info
        return "" if info is None else shortened_name(f"{info.name} {info.version}".strip())

    @property
    def protocol_version(self) -> str | None:
        """The revision of the protocol that is spoken, or None."""
        return None if self._owner.link is None else self._owner.link.session.protocol_version

    @property
    def listed(self) -> tuple[Listed, ...]:
        """The tools as the server listed them last, all of them."""
        return tuple(self._owner.catalogue.tools.values())

    @property
    def set_aside(self) -> tuple[SetAside, ...]:
        """Tools that are listed and cannot be imported, with the reasons. Imports what was not imported before."""
        return self._owner.imports.set_aside_of(self._owner.catalogue)

    # -- tools

    def toolbox(self) -> Toolbox:
        """The tools as the server lists them now, each pinned to what it is now.

        A tool whose definition changes at the server afterwards is refused when it is called (``TOOL_CHANGED``) until it
        is imported again, by this function or by `live`.

        Raises:
            DefinitionError: What the host declares for a tool is wrong.
        """
        return self._owner.toolbox()

    @property
    def live(self) -> LiveToolbox:
        """A toolbox that is exchanged for a new `toolbox` whenever the server says that its tools changed."""
        if self._owner.live is None:
            self._owner.live = LiveToolbox(self.toolbox())
        return self._owner.live

    # -- closing

    def close(self) -> None:
        """Begin to close it, from any task; again changes nothing. Calls that are under way end as lost."""
        self._owner.close()

    async def aclose(self) -> None:
        """Close it and wait until nothing of it is left. From any task, in any order with others, and again.

        Cancelled: it closes all the same.
        """
        self._owner.close()
        await self._owner.ended.wait()
