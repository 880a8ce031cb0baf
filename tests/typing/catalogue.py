"""What type checkers make of queries and inspections. Nothing here runs: `test_typing` has both checkers read it.

Each ``type: ignore`` marks code that must not pass, and both checkers complain about one that is not needed.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from typing import assert_type

from armory_trio import Tool, Toolbox, tool
from armory_trio.toolbox import LiveToolbox, Resolution, Resolved, Resolver, ToolboxChange, Unresolved
from armory_trio.toolbox.inspection import ToolboxInspection, ToolDetails, ToolOutline, ToolSummary, inspect_tool
from armory_trio.toolbox.query import Condition, Query, QueryResult, query_tools


@tool(effect="read-only")
def read(path: str) -> str:
    return path


toolbox = Toolbox([read])

# ── Queries ──────────────────────────────────────────────────────────────────────────────────────────────────────────

assert_type(toolbox.query(), QueryResult)
assert_type(query_tools([read], tags_any=["files"], effect_class="read-only", limit=3), QueryResult)
assert_type(Query(read_only=True) & ~Query(text="x") | Query(), Condition)
assert_type(toolbox.query(metadata_range={"cost": (1, None)}).names, tuple[str, ...])
assert_type(toolbox.query()[0], Tool[..., object])
assert_type(toolbox.query()[:1], tuple[Tool[..., object], ...])
assert_type(toolbox.query().summaries, tuple[ToolSummary, ...])

toolbox.query(tag_any=["files"])  # type: ignore[call-arg]
toolbox.query(effect_class="harmless")  # type: ignore[arg-type]
toolbox.query(read_only="yes")  # type: ignore[arg-type]
Query(tags_any=3)  # type: ignore[arg-type]

# ── Inspections ──────────────────────────────────────────────────────────────────────────────────────────────────────

assert_type(toolbox.inspect(), ToolboxInspection[ToolOutline])
assert_type(toolbox.inspect("summary").tools, tuple[ToolSummary, ...])
assert_type(toolbox.inspect("full").tools[0].shape, dict[str, str])
assert_type(inspect_tool(read), ToolOutline)
assert_type(inspect_tool(read, "full"), ToolDetails)

inspect_tool(read, "ful")  # type: ignore[call-overload]

# ── Names, and exchanging ────────────────────────────────────────────────────────────────────────────────────────────

assert_type(Resolver(toolbox, Resolution(suffix=True)).resolve("Read"), Resolved | Unresolved)
assert_type(LiveToolbox(toolbox).register(read), ToolboxChange)
assert_type(LiveToolbox(toolbox).update(lambda current: current.extend(read)), ToolboxChange)

LiveToolbox(toolbox).update(lambda current: None)  # type: ignore[arg-type, return-value]
LiveToolbox([read])  # type: ignore[arg-type]
