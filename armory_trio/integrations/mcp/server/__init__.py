"""A toolbox as an MCP server, over stdio and streamable HTTP. docs/mcp-server.md tells how to use it.

Needs the extra ``mcp``.
"""

from __future__ import annotations

from ._handlers import Prompts as Prompts
from ._handlers import Resources as Resources
from ._http import HttpOptions as HttpOptions
from ._request import McpCall as McpCall
from ._request import McpRequest as McpRequest
from ._server import McpServer as McpServer
from ._stdio import StandardStreams as StandardStreams
