"""The Claude Agent SDK: an agent uses the tools of a host, and tools that are not ours go by the host's rules.

``ClaudeTools(host)`` inside of ``async with open_asyncio_host(toolbox) as host``. Needs the extra ``claude-agent`` when one
is made.
"""

from __future__ import annotations

from .._agent_tools import Facts as Facts
from ._tools import ClaudeTools as ClaudeTools
