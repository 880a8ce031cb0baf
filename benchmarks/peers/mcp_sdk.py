"""The official MCP SDK: a server's own dispatch of a call, without a client in between."""

# The package is only there in the environment that is made for it, so nothing here can be checked beside ours.
# mypy: ignore-errors
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportOptionalSubscript=false

from __future__ import annotations

from mcp.server.mcpserver import MCPServer

from ._asyncio import add, add_blocking, hold, serve_calls

server = MCPServer("peer")
for function in (add, add_blocking, hold):
    server.add_tool(function)


async def call(tool: str, a: int) -> int:
    """One call of a tool."""
    result = await server.call_tool(tool, {"a": a, "b": 1})
    return result.structured_content["result"]


if __name__ == "__main__":
    one = "MCPServer.call_tool"
    serve_calls("mcp", {"sequential": one, "batch": f"gather of {one}", "thread": one, "hold": one}, call)
