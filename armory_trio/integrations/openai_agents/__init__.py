"""The OpenAI Agents SDK: agents use the tools of a host, and tools that are not ours go by the host's rules.

``Agent(tools=agent_tools(host))`` inside of ``async with open_asyncio_host(toolbox) as host``. Nothing here makes a
request of its own.
"""

from __future__ import annotations

from .._agent_tools import Facts as Facts
from ._gate import gate_tools as gate_tools
from ._tools import agent_tools as agent_tools
from ._tools import outcome_of as outcome_of
