"""What the integrations of agent frameworks share: which tools an agent is shown, and what is told of a call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NotRequired, TypedDict, cast

import msgspec

from ..authority.policy import Refused, standing
from ..definitions import ToolCall, ToolError, ToolResult, is_tool, near
from ..definitions._checks import members, one_of, shown
from ..engine._plan import rules_of
from ..errors import AdmissionClosed, ApprovalError, DefinitionError
from ..providers._blocks import MediaRules, admitted, pieces_of
from ..providers._dialects import TOOL_NAMES
from ..providers._names import legal_names
from ..toolbox import Toolbox
from ..toolbox._offering import Naming
from ..toolbox._resolution import AnyTool
from .asyncio_host import AsyncioHost

__all__ = (
    "FACTS",
    "Facts",
    "Shown",
    "available",
    "chosen",
    "facts_of",
    "refusal",
    "require_function_or_none",
    "require_host",
    "shown_tools",
    "words_of",
)

FACTS: Final = "armory_trio"
"""Under this name stands what we keep beside a framework's own record of a call."""


_WORDS_ALONE: Final = MediaRules(frozenset(), 0)


class Facts(TypedDict):
    """What is told of a call to the program, and not to the model. JSON, without arguments or values.

    Args:
        execution_id: The execution in the host's snapshots.
        outcome: ``success``, ``error`` or ``action_required``.
        effect: What the world may have seen.
        attempts: How often the body was entered.
        code: The code of the error; only there if it is one.
        pending_approval: The descriptor to resume the call with; only there if it waits for a person. It holds the
            arguments.
    """

    execution_id: str
    outcome: str
    effect: str
    attempts: int
    code: NotRequired[str]
    pending_approval: NotRequired[dict[str, object]]


class Shown(msgspec.Struct, frozen=True, eq=False):
    """One tool as an agent is shown it.

    Args:
        tool: The tool.
        name: What a call of it is called here.
        wire: What the model calls it.
    """

    tool: AnyTool
    name: str
    wire: str


def require_host(subject: str, host: object) -> None:
    """Refuse what is no asyncio host.

    Raises:
        DefinitionError: It is something else.
    """
    if not isinstance(host, AsyncioHost):
        wanted = "must be the host that open_asyncio_host opened; a blocking one would hold up the agent's loop"
        raise DefinitionError(subject, "host", f"{wanted}. This is {shown(host)}")


def require_function_or_none(subject: str, field: str, value: Callable[..., object] | None) -> None:
    """Refuse what is neither a function nor None.

    Raises:
        DefinitionError: It is something else.
    """
    if value is not None and not callable(cast("object", value)):
        raise DefinitionError(subject, field, f"must be a function of the run's context, not {shown(value)}")


def chosen(subject: str, toolbox: Toolbox, tools: Sequence[AnyTool | str] | None, naming: Naming) -> list[AnyTool]:
    """The tools that an agent is shown, but for whether they are available: none whose every call would be refused.

    Args:
        subject: Who asks, for errors.
        toolbox: The toolbox.
        tools: Which of its tools, or their names or ids. By default all that a name means, or with ids all.
        naming: What a model calls them.

    Raises:
        DefinitionError: A name means no tool, a tool is not in the toolbox, or *naming* has no such value.
    """
    one_of(subject, "naming", naming, ("name", "id"))
    if tools is None:
        found: Iterable[AnyTool] = (tool for tool in toolbox if naming == "id" or toolbox.get(tool.name) is tool)
    else:
        listed = members(subject, "tools", tools, "tools, or of their names or ids")
        found = [_meant(subject, toolbox, each) for each in listed]
    return [tool for tool in found if _may_run(tool, toolbox)]


def _meant(subject: str, toolbox: Toolbox, wanted: object) -> AnyTool:
    if is_tool(wanted):
        found = toolbox.get(wanted.id.text)
        if found is not None and found.bare is wanted.bare:
            return found
        raise DefinitionError(subject, "tools", f"{wanted.id} is not in the toolbox of the host")
    found = toolbox.get(wanted) if isinstance(wanted, str) else None
    if found is None:
        hint = near(wanted, toolbox.names, 1) if isinstance(wanted, str) else ()
        meant = f"; did you mean {hint[0]!r}?" if hint else ""
        raise DefinitionError(subject, "tools", f"there is no tool {shown(wanted)} in the toolbox of the host{meant}")
    return found


def _may_run(tool: AnyTool, toolbox: Toolbox) -> bool:
    rules = rules_of(tool, toolbox)
    return rules is None or not isinstance(standing(rules, tool.definition), Refused)


def shown_tools(subject: str, tools: Iterable[AnyTool], naming: Naming) -> dict[str, Shown]:
    """*tools* by names that every provider takes.

    Raises:
        DefinitionError: Two of them have one name.
    """
    named: dict[str, AnyTool] = {}
    for tool in tools:
        name = tool.name if naming == "name" else tool.id.text
        known = named.setdefault(name, tool)
        if known is not tool:
            reason = f"{known.id} and {tool.id} are both called {name!r}; call them by their ids, with naming='id'"
            raise DefinitionError(subject, "tools", reason)
    wires = legal_names(named, TOOL_NAMES)
    return {wires[name]: Shown(tool, name, wires[name]) for name, tool in named.items()}


async def available(host: AsyncioHost, tools: Iterable[AnyTool]) -> frozenset[str]:
    """The ids of those of *tools* that are (still) in the host's toolbox, with the same definition, and available.

    Of a host that is closed, those that have a hook to be asked are not. Cancelled: a hook that is asked is.
    """
    toolbox = host.toolbox
    there = [found for tool in tools if (found := _as_shown(toolbox, tool)) is not None]
    asked = [tool for tool in there if tool.options.availability is not None]

    async def ask() -> list[AnyTool]:
        return [tool for tool in asked if not await Toolbox([tool]).available(toolbox.context)]

    try:
        closed = await host.run(ask) if asked else []
    except AdmissionClosed:  # who calls one is told; an agent that only has its last word to say can say it
        closed = asked
    return frozenset(tool.id.text for tool in there if tool not in closed)


def _as_shown(toolbox: Toolbox, tool: AnyTool) -> AnyTool | None:
    """What has the place of *tool* in *toolbox*, if the agent was shown just that."""
    found = toolbox.get(tool.id.text)
    return found if found is tool or (found is not None and found.definition == tool.definition) else None


def facts_of(result: ToolResult[object]) -> Facts:
    """What is told of *result* to the program."""
    facts = Facts(
        execution_id=result.execution_id, outcome=result.outcome, effect=result.effect, attempts=result.attempts
    )
    if result.error is not None:
        facts["code"] = result.error.code
    if result.pending_approval is not None:
        facts["pending_approval"] = result.pending_approval.to_json()
    return facts


def words_of(result: ToolResult[object]) -> str:
    """What the model reads of *result* where it reads words alone: a picture or sound is mentioned."""
    return "\n\n".join(cast("list[str]", admitted(pieces_of(result), _WORDS_ALONE)))


def refusal(call: ToolCall, why: ApprovalError) -> ToolResult[object]:
    """The result of *call*, whose approval does not count."""
    error = ToolError("permission", "APPROVAL_INVALID", str(why))
    return ToolResult("", call.id, call.name, "error", error=error)
