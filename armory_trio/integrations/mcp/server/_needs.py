"""What importing needs besides the SDK is there, or whoever imports this is told what to install."""

from ..._extra import require

require("armory_trio.integrations.mcp.server", "mcp", "hypercorn", "starlette")
