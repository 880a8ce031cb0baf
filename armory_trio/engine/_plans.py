"""What calls mean by the names that they give, compiled for the engine and kept as long as the toolbox is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..definitions import Tool
from ..toolbox import Toolbox
from ._execution import Core
from ._loading import load_for
from ._plan import Plan, compile_plan, needs_of
from ._settlement import wake

if TYPE_CHECKING:  # loaded by the first name that is not exact
    from ..toolbox import Resolved, Resolver, Unresolved


class Plans:
    """The compiled tools of one toolbox, by the names that calls use."""

    __slots__ = ("_by_tool", "_core", "_resolver", "_revision", "by_name")

    def __init__(self, core: Core) -> None:
        self._core = core
        self.by_name: dict[str, Plan] = {}
        self._by_tool: dict[Tool[..., object], Plan] = {}
        self._resolver: Resolver | None = None
        self._revision = 0

    def find(self, name: str) -> Plan | None:
        """The plan of the tool that a call means by *name*: an exact id or name, or a misspelling of one."""
        plan = self.by_name.get(name) or self.exact(name)
        if plan is not None:
            return plan
        from ..toolbox import Resolved  # noqa: PLC0415  # loaded by then

        found = self.guess(name)
        return self.of(found.tool) if isinstance(found, Resolved) else None

    def exact(self, name: str) -> Plan | None:
        """The plan of the tool whose id or name is *name*, which has no plan yet; from now on it has."""
        tool = self._core.toolbox.get(name)
        if tool is None:
            return None
        plan = self.by_name[name] = self.of(tool)
        return plan

    def guess(self, name: str) -> Resolved | Unresolved:
        """What *name*, which is no id or name, is a misspelling of. Not kept: a model can think of any number of them."""
        if self._resolver is None:
            from ..toolbox import Resolver  # noqa: PLC0415  # only who misspells pays for it

            self._resolver = Resolver(self._core.toolbox, self._core.settings.resolution)
        return self._resolver.resolve(name)

    def exchange(self, toolbox: Toolbox) -> None:
        """Calls that come from now on are resolved in *toolbox*. What is admitted keeps its plan."""
        self._core.toolbox = toolbox
        self._resolver = None
        self._revision += 1
        self.by_name.clear()
        self._by_tool.clear()

    def of(self, tool: Tool[..., object]) -> Plan:
        """The plan of this very *tool*, whatever its name means in the toolbox."""
        plan = self._by_tool.get(tool)
        if plan is None:
            plan = self._by_tool[tool] = self._compiled(tool)
        return plan

    def _compiled(self, tool: Tool[..., object]) -> Plan:
        core, groups = self._core, self._core.settings.limits.groups
        records = core.ledger.durable
        plan = compile_plan(tool, core.toolbox, groups=groups, records=records)
        for need in needs_of(plan):
            load_for(need)  # if that fails, the call is refused, and the next one tries again
        if plan.size is None:
            return plan
        try:
            wake(core, core.planner.set_limit(plan.own_limit, plan.size))
        except ValueError:  # the tool in whose place it came allows more, and calls of that one run or wait
            label = f" since exchange {self._revision}"
            plan = compile_plan(tool, core.toolbox, groups=groups, records=records, label=label)
            core.planner.set_limit(plan.own_limit, plan.size or 1)
        return plan
