"""Tools, compiled for a provider. What was compiled once is kept, by the digest of the definition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from threading import Lock
from typing import Final, cast

import msgspec

from ..authority.policy import Allow
from ..definitions import ToolDefinition, is_tool, near, thaw_json
from ..definitions._checks import members, one_of, shown
from ..errors import DefinitionError
from ..toolbox import Toolbox
from ..toolbox._offering import Loss, Manifest, Naming, OfferedTool, ProviderName, SetAside, Strictness
from ..toolbox._resolution import AnyTool
from ._codings import Coding
from ._dialects import TOOL_NAMES, Rules
from ._forms import FORMS, Budget, sealed
from ._loss import NotSayable
from ._names import legal_names
from ._roots import written
from ._strictness import cost_of, require_within
from ._text import encodable
from ._verbatim import copied

__all__ = ("Compiled", "compile_definition", "compile_toolbox", "compile_tools")

_KEPT: Final = 65_536
"""Compiled contracts that are kept: so many that the largest catalogues are, in two dialects. One takes 2 to 3 kilobytes."""


class Compiled(msgspec.Struct, frozen=True, eq=False):
    """One contract in a provider's dialect.

    Args:
        schema: The schema of the arguments.
        coding: How they are written where that is not as they are.
        losses: What is said otherwise, or not at all.
        strict: The provider makes sure that they fit.
        why_not: Why it is not strict, if it could be.
        optional: Members that may be left out, when it is strict.
        unions: Places that are one of several things, when it is strict.
    """

    schema: Mapping[str, object]
    coding: Coding | None
    losses: tuple[Loss, ...]
    strict: bool = False
    why_not: str | None = None
    optional: int = 0
    unions: int = 0


class _Kept:
    """What was compiled, the oldest first. Several threads may compile at once."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._found: dict[tuple[str, str, bool], Compiled | NotSayable] = {}

    def get(self, key: tuple[str, str, bool]) -> Compiled | NotSayable | None:
        return self._found.get(key)

    def put(self, key: tuple[str, str, bool], value: Compiled | NotSayable) -> None:
        with self._lock:
            if len(self._found) >= _KEPT:
                del self._found[next(iter(self._found))]
            self._found[key] = value


_KEEP: Final = _Kept()


def compile_definition(
    definition: ToolDefinition, provider: ProviderName, *, strict: Strictness = "auto"
) -> Compiled | SetAside:
    """The contract of one tool in a provider's dialect.

    Args:
        definition: What the tool is.
        provider: Whose dialect.
        strict: True for strict or not at all, False for not strict, ``auto`` for strict where the contract can be said
            without another form for any of its values.
    """
    form = FORMS[provider]
    if strict is not False and form.strict is not None:
        rules = form.strict if strict is True else msgspec.structs.replace(form.strict, inventive=False)
        found = _compiled(definition, rules)
        if isinstance(found, Compiled):
            return found
        if strict is True:
            return SetAside(definition.id.text, found.pointer, found.reason)
        plain = _compiled(definition, form.plain)
        if isinstance(plain, Compiled):
            return msgspec.structs.replace(plain, why_not=str(found))
        return SetAside(definition.id.text, plain.pointer, plain.reason)
    plain = _compiled(definition, form.plain)
    return plain if isinstance(plain, Compiled) else SetAside(definition.id.text, plain.pointer, plain.reason)


def _compiled(definition: ToolDefinition, rules: Rules) -> Compiled | NotSayable:
    key = (definition.digest, rules.name, rules.inventive)
    kept = _KEEP.get(key)
    if kept is None:
        try:
            kept = _fresh(definition.input_schema, rules)
        except NotSayable as answer:
            kept = answer.with_traceback(None)
        _KEEP.put(key, kept)
    return kept


def _fresh(root: Mapping[str, object], rules: Rules) -> Compiled:
    plain = cast("dict[str, object]", thaw_json(root))  # never the contract's own: the values in it are handed out
    schema, coding, losses = (copied if rules.whole else written)(plain, rules)
    kept = cast("Mapping[str, object]", sealed(schema))  # every manifest of this process has it
    if not rules.strict:
        return Compiled(kept, coding, tuple(losses))
    if rules.ceiling is not None:
        require_within(schema, rules.ceiling)
    cost = cost_of(schema)
    return Compiled(kept, coding, tuple(losses), strict=True, optional=cost.optional, unions=cost.unions)


# ── many tools ───────────────────────────────────────────────────────────────────────────────────────────────────────


def compile_toolbox(
    toolbox: Toolbox,
    provider: ProviderName,
    *,
    tools: Sequence[AnyTool | str] | None = None,
    strict: Strictness = "auto",
    naming: Naming = "name",
) -> Manifest:
    """What *provider* is offered of *toolbox*: what its methods ``to_openai`` and so on do.

    A tool that the toolbox's gates refuse is never offered, and of several tools with one name only the one that the
    name means, unless they are called by their ids.

    Args:
        toolbox: The toolbox.
        provider: Whose form.
        tools: Which of its tools, or their names or ids; by default all.
        strict: Whether the provider is to make sure that arguments fit.
        naming: What a model calls them.

    Raises:
        DefinitionError: A name means no tool, an option has no such value, or *tools* is not given and only an
            availability hook could say whether a tool is available.
    """
    if not isinstance(cast("object", toolbox), Toolbox):
        raise DefinitionError("manifest", "toolbox", f"must be a Toolbox, not {shown(toolbox)}; see compile_tools")
    if tools is None:
        asking = next((tool for tool in toolbox if tool.options.availability is not None), None)
        if asking is not None:
            reason = f"{asking.id} says itself when it is available; pass tools=await toolbox.available()"
            raise DefinitionError("toolbox", "tools", reason)
        chosen: list[AnyTool] = [tool for tool in toolbox if naming == "id" or toolbox.get(tool.name) is tool]
    else:
        listed = members("toolbox", "tools", tools, "tools, or of their names or ids")
        chosen = [_meant(toolbox, cast("AnyTool | str", each)) for each in listed]
    gates = toolbox.gates
    if gates is not None:
        chosen = [tool for tool in chosen if isinstance(gates.judge(tool.definition), Allow)]
    return compile_tools(chosen, provider, strict=strict, naming=naming)


def _meant(toolbox: Toolbox, wanted: AnyTool | str) -> AnyTool:
    if is_tool(wanted):
        found = toolbox.get(wanted.id.text)
        if found is not None and found.bare is wanted.bare:
            return found
        raise DefinitionError("toolbox", "tools", f"{wanted.id} is not in this toolbox")
    name = cast("str", wanted)
    found = toolbox.get(name) if isinstance(cast("object", name), str) else None
    if found is None:
        hint = near(name, toolbox.names, 1) if isinstance(cast("object", name), str) else ()
        meant = f"; did you mean {hint[0]!r}?" if hint else ""
        raise DefinitionError("toolbox", "tools", f"there is no tool {shown(name)}{meant}")
    return found


def compile_tools(
    tools: Iterable[AnyTool], provider: ProviderName, *, strict: Strictness = "auto", naming: Naming = "name"
) -> Manifest:
    """What *provider* is offered: *tools*, in order. One that its dialect can't say is set aside, and the rest offered.

    Args:
        tools: The tools.
        provider: Whose form.
        strict: Whether the provider is to make sure that arguments fit.
        naming: What a model calls them.

    Raises:
        DefinitionError: Two tools have one name, an entry is no tool, or an option has no such value.
    """
    one_of("manifest", "provider", provider, FORMS)
    one_of("manifest", "naming", naming, ("name", "id"))
    if not isinstance(cast("object", strict), bool) and strict != "auto":
        raise DefinitionError("manifest", "strict", f"must be True, False or 'auto', not {shown(strict)}")
    form = FORMS[provider]
    listed = members("manifest", "tools", tools, "tools")
    for at, each in enumerate(listed):
        if not is_tool(each):
            raise DefinitionError("manifest", f"tools[{at}]", f"must be a tool, not {shown(each)}")
    wires = _named(cast("list[AnyTool]", listed), naming)
    offered: list[OfferedTool] = []
    aside: list[SetAside] = []
    spending = _Spending(form.budget)
    for name, (wire, tool) in wires.items():
        found = _within(spending, tool.definition, provider, strict)
        if isinstance(found, SetAside):
            aside.append(found)
            continue
        definition = tool.definition
        offered.append(
            OfferedTool(
                definition.id.text,
                name,
                wire,
                encodable(definition.description),
                found.schema,
                found.strict,
                found.why_not,
                found.losses,
                found.coding,
            )
        )
    return Manifest(provider, tuple(offered), tuple(aside), form)


def _named(tools: Sequence[AnyTool], naming: Naming) -> dict[str, tuple[str, AnyTool]]:
    """The tools by what they are called here, each with what the provider calls it."""
    found: dict[str, AnyTool] = {}
    for tool in tools:
        name = tool.name if naming == "name" else tool.id.text
        known = found.setdefault(name, tool)
        if known is not tool:
            reason = f"{known.id} and {tool.id} are both called {name!r}; call them by their ids, with naming='id'"
            raise DefinitionError("manifest", "tools", reason)
    wires = legal_names(found, TOOL_NAMES)
    return {name: (wires[name], tool) for name, tool in found.items()}


class _Spending:
    """How much of a request's budget for strict tools is left."""

    def __init__(self, budget: Budget | None) -> None:
        self._budget = budget
        self._tools: int = 0
        self._optional: int = 0
        self._unions: int = 0

    def take(self, found: Compiled) -> str | None:
        """Spend what *found* costs, or answer what there is not enough of."""
        budget = self._budget
        if budget is None or not found.strict:
            return None
        spent = (self._tools + 1, self._optional + found.optional, self._unions + found.unions)
        limits = (
            (budget.tools, "strict tools"),
            (budget.optional, "strict optional members"),
            (budget.unions, "strict unions"),
        )
        for have, (limit, what) in zip(spent, limits, strict=True):
            if have > limit:
                return f"#: one request takes at most {limit} {what}"
        self._tools, self._optional, self._unions = spent
        return None


def _within(
    spending: _Spending, definition: ToolDefinition, provider: ProviderName, strict: Strictness
) -> Compiled | SetAside:
    found = compile_definition(definition, provider, strict=strict)
    over = spending.take(found) if isinstance(found, Compiled) else None
    if over is None:
        return found
    if strict is True:
        return SetAside(definition.id.text, "#", over.removeprefix("#: "))
    plain = compile_definition(definition, provider, strict=False)
    return msgspec.structs.replace(plain, why_not=over) if isinstance(plain, Compiled) else plain
