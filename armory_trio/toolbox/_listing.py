"""Whatever holds tools, as a list."""

from __future__ import annotations

from ..definitions import is_tool
from ..definitions._checks import members
from ..definitions._tool import no_tool
from ..errors import DefinitionError
from ._resolution import AnyTool


def listed(subject: str, tools: object) -> list[AnyTool]:
    """The tools of a toolbox or of any other iterable, or one tool, as a list of their own.

    Raises:
        DefinitionError: *tools* cannot be iterated, or something in it is no tool. It names *subject* and the place.
    """
    if is_tool(tools):
        return [tools]
    found: list[AnyTool] = []
    for index, tool in enumerate(members(subject, "tools", tools, "tools, or be a toolbox or one tool")):
        if not is_tool(tool):
            raise DefinitionError(subject, f"tools[{index}]", no_tool(tool))
        found.append(tool)
    return found
