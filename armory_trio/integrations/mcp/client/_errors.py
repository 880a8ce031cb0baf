"""What goes wrong with a connection, as opposed to a call."""

from __future__ import annotations

from ....errors import ArmoryError


class ConnectionFailed(ArmoryError):
    """A connection to an MCP server could not be opened.

    Args:
        name: The name of the connection.
        reason: What went wrong, and what would help.
        stderr: The last lines that the server wrote to its standard error, if it has one.
    """

    __module__ = "armory_trio.integrations.mcp.client"

    def __init__(self, name: str, reason: str, stderr: str = "") -> None:
        last = f"\nIts last words on standard error:\n{stderr}" if stderr else ""
        super().__init__(f"the MCP server {name!r}: {reason}{last}")
        self.name = name
        self.reason = reason
        self.stderr = stderr
