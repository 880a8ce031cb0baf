"""``def`` tools without threads, for tests on a mock clock."""

from __future__ import annotations

from typing import Final

import attrs

from ..definitions import Tool
from ..definitions._checks import required
from ..toolbox import Toolbox

_BLOCKING: Final = ("def", "generator")


def inline(toolbox: Toolbox) -> Toolbox:
    """The same toolbox, but its ``def`` tools run on trio's thread instead of in worker threads.

    A mock clock does not see threads: with one in flight all tasks wait, so the clock jumps. Run inline, a ``def``
    tool takes no time on the clock, and a seed decides its place in the order of things like that of any other.

    Nothing else changes. The tool cannot be interrupted while it runs, but nothing else runs meanwhile either, so
    there is nobody to interrupt it; a generator is, between two chunks. Where it would have to wait for trio, which it
    now holds up itself, it is told so: ``ctx.call``, ``ctx.elicit`` and ``ctx.wait_abort_requested`` raise
    `ArmoryError`. Test such a tool in its thread, on the real clock.

    Only the tools of the toolbox are others: what a composed tool is made of, and what a tool calls as an object, runs
    where it ran. Make those of inline tools: ``pipe(*inline(Toolbox([first, second])))``.

    Raises:
        DefinitionError: *toolbox* is none.
    """
    required("inline", "toolbox", toolbox, Toolbox)
    return attrs.evolve(toolbox, tools=[_inline(tool) for tool in toolbox])


def _inline(tool: Tool[..., object]) -> Tool[..., object]:
    if tool.kind not in _BLOCKING:
        return tool
    return attrs.evolve(tool, options=attrs.evolve(tool.options, placement="task"))
