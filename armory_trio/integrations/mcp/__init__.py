"""The Model Context Protocol, on the official SDK and on trio: a toolbox as a server, and servers as toolboxes.

``armory_trio.integrations.mcp.server`` serves, ``armory_trio.integrations.mcp.client`` uses. Both need the extra ``mcp``.
"""

from .._extra import require

require(__name__, "mcp", "mcp", "mcp_types", "anyio", "httpx2")
