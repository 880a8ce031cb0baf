"""What importing needs is there, or whoever imports this is told what to install."""

from .._extra import require

require("armory_trio.integrations.openapi", "openapi", "httpx2", "yaml")
