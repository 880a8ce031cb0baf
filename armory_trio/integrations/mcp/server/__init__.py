"""A toolbox as an MCP server, over stdio and streamable HTTP. docs/mcp-server.md tells how to use it.

Needs the extra ``mcp``.
"""

from __future__ import annotations

from . import _needs  # noqa: F401  # pyright: ignore[reportUnusedImport]  # first: says what is missing
from ._approving import ask_client as ask_client
from ._handlers import Prompts as Prompts
from ._handlers import Resources as Resources
from ._http import HttpOptions as HttpOptions
from ._http import is_loopback as is_loopback
from ._request import McpCall as McpCall
from ._request import McpRequest as McpRequest
from ._server import McpServer as McpServer
from ._stdio import StandardStreams as StandardStreams
from ._tokens import StaticToken as StaticToken
