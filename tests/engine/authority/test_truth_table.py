"""Every combination of rules, hooks and grants, run through the engine and held against a model of ten lines."""

from __future__ import annotations

import itertools
import logging
from collections import Counter
from typing import Final, NamedTuple, cast

import msgspec
import pytest
import trio
import trio.testing

from armory_trio import Supervisor, Tool, Toolbox, ToolCall, ToolResult, open_supervisor
from armory_trio.authority.grants import MemoryGrants
from armory_trio.authority.policy import Allow, ApprovalPolicy, Ask, BeforeExecute, Deny, Edit, Gates, PolicyRequest
from armory_trio.definitions import EffectClass
from tests.requirements import requirement

from .policies import ANN, KEYS, defined

GATES: Final = {
    "open": Gates(),
    "read-only": Gates(read_only=True),
    "no dangerous": Gates(allow_dangerous=False),
}
TIERS: Final[dict[str, EffectClass | None]] = {
    "read-only": "read-only",
    "mutating": "external-write",
    "dangerous": "destructive",
    "unclassified": None,
}
MODES: Final = {
    "none": None,
    "never": ApprovalPolicy("never"),
    "on-mutation": ApprovalPolicy("on-mutation"),
    "always": ApprovalPolicy("always"),
    "deny": ApprovalPolicy("deny"),
    "override": ApprovalPolicy("never", tier_modes={"read-only": "always", "dangerous": "deny"}),
}
HOOKS: Final[tuple[str, ...]] = (
    "none",
    "allow",
    "ask",
    "deny",
    "raises",
    "unknown status",
    "contradictory",
    "edit to the same",
)

LUCY: Final = msgspec.structs.replace(ANN, principal="lucy")
"""Who has a grant for each tool."""

USES: Final = 1_000


class Row(NamedTuple):
    gates: str
    mode: str
    toolbox_hook: str
    tier: str
    tool_hook: str
    declared: bool
    granted: bool


class Expected(NamedTuple):
    outcome: str
    code: str | None
    question: str | None


def model(row: Row) -> Expected:
    """What has to come of a call, written without a look at how the engine finds out."""
    barred = {"open": (), "read-only": ("mutating", "dangerous", "unclassified"), "no dangerous": ("dangerous",)}
    if row.tier in barred[row.gates]:
        return Expected("error", "GATE_DENIED", None)
    mode = {"read-only": "always", "dangerous": "deny"}.get(row.tier, "never") if row.mode == "override" else row.mode
    if mode == "deny" or {row.toolbox_hook, row.tool_hook} & {"deny", "raises", "unknown status", "contradictory"}:
        return Expected("error", "POLICY_DENIED", None)
    asks = mode == "always" or (mode == "on-mutation" and row.tier != "read-only")
    asks = asks or (mode == "never" and row.tier == "unclassified")
    asked = {"capability": asks and not row.granted, "declared": row.declared}
    asked |= {"toolbox": row.toolbox_hook == "ask", "tool": row.tool_hook == "ask"}
    first = next((tier for tier, wants in asked.items() if wants), None)
    return Expected("success" if first is None else "action_required", None, first)


def hook(kind: str, *, later: bool) -> BeforeExecute | None:
    """A hook that decides as *kind* says, at once or *later*."""
    if kind == "none":
        return None

    def decide(request: PolicyRequest) -> object:
        if kind == "raises":
            raise LookupError("the rules are not at home")
        return {
            "allow": Allow(),
            "ask": Ask("is this all right?"),
            "deny": Deny("not today"),
            "unknown status": {"allow": True, "status": "surely"},
            "contradictory": {"allow": True, "status": "deny"},
            "edit to the same": Edit(request.arguments),
        }[kind]

    async def decide_later(request: PolicyRequest) -> object:
        await trio.lowlevel.checkpoint()
        return decide(request)

    return decide_later if later else decide


class Table:
    """All tools, each of which counts how often it ran."""

    def __init__(self) -> None:
        self.ran: Counter[str] = Counter()
        self.tools: dict[tuple[str, str, bool], Tool[..., int]] = {
            key: self._tool(f"tool_{index}", key, later=index % 3 == 0)
            for index, key in enumerate(itertools.product(TIERS, HOOKS, (False, True)))
        }

    def _tool(self, name: str, key: tuple[str, str, bool], *, later: bool) -> Tool[..., int]:
        tier, kind, needs_approval = key

        async def body(number: int = 1) -> int:
            await trio.lowlevel.checkpoint()
            self.ran[name] += 1
            return number

        return defined(
            body,
            TIERS[tier],
            name=name,
            description="Count.",
            policy=hook(kind, later=later),
            requires_approval=needs_approval,
        )

    async def grant(self, grants: MemoryGrants) -> None:
        """Give Lucy a grant for each tool."""
        async with open_supervisor(Toolbox(self.tools.values()), keys=KEYS, grants=grants) as supervisor:
            for each in self.tools.values():
                await supervisor.issue_grant(
                    each.name,
                    principal="lucy",
                    tenant="acme",
                    agent="*",
                    lifetime=3600,
                    max_uses=USES,
                    scope="principal",
                )

    async def judge(self, supervisor: Supervisor, row: Row) -> None:
        """Run the call of *row*, and see that it ends as the model says."""
        name = self.tools[row.tier, row.tool_hook, row.declared].name
        before = self.ran[name]
        result = await supervisor.execute(ToolCall(name), request_context=LUCY if row.granted else ANN)
        expected = model(row)
        ran = self.ran[name] - before

        assert found_in(result) == expected, row
        assert ran == result.attempts == (expected.outcome == "success"), row
        assert result.effect == ("completed" if ran and row.tier != "read-only" else "none"), row
        assert result.executed_arguments_edited is False, row


def found_in(result: ToolResult[object]) -> Expected:
    pending, error = result.pending_approval, result.error
    assert error is None or error.category == "permission"
    assert pending is None or pending.signature is not None
    return Expected(
        result.outcome, None if error is None else error.code, None if pending is None else pending.question.tier
    )


@requirement("policing.table")
async def test_the_strictest_of_all_who_have_a_say_decides(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "armory_trio.engine")  # thousands of hooks fail here
    table, grants, rows = Table(), MemoryGrants(), 0
    await table.grant(grants)
    for number, (gates, mode, kind) in enumerate(itertools.product(GATES, MODES, HOOKS)):
        toolbox = Toolbox(
            table.tools.values(),
            gates=GATES[gates],
            approval_policy=MODES[mode],
            policy=hook(kind, later=number % 2 == 0),
        )
        async with open_supervisor(toolbox, keys=KEYS, grants=grants) as supervisor:
            for tier, tool_hook, needs_approval in table.tools:
                for granted in (False, True):
                    row = Row(gates, mode, kind, tier, tool_hook, needs_approval, granted)
                    await table.judge(supervisor, row)
                    rows += 1

    assert rows == 18_432


@requirement("policing.table")
async def test_a_grant_is_used_once_by_each_call_that_it_lets_run_and_by_no_other() -> None:
    table, grants = Table(), MemoryGrants()
    await table.grant(grants)
    toolbox = Toolbox(table.tools.values(), approval_policy=MODES["always"])
    async with open_supervisor(toolbox, keys=KEYS, grants=grants) as supervisor:
        for each in table.tools.values():
            await supervisor.execute(ToolCall(each.name), request_context=LUCY)
        await trio.testing.wait_all_tasks_blocked()  # what was not used is given back by a task of its own
        left = {state.grant.tool_name: state.uses_remaining for state in await supervisor.list_grants()}

    assert sum(table.ran.values()) > 0
    assert left == {each.name: USES - table.ran[each.name] for each in table.tools.values()}


@requirement("policing.table")
async def test_without_keys_a_question_of_the_declaration_is_refused_and_others_are_shown_unsigned() -> None:
    table = Table()
    toolbox = Toolbox(table.tools.values(), approval_policy=MODES["on-mutation"])
    async with open_supervisor(toolbox) as supervisor:
        for (tier, kind, needs_approval), each in table.tools.items():
            row = Row("open", "on-mutation", "none", tier, kind, needs_approval, granted=False)
            result, expected = await supervisor.execute(ToolCall(each.name)), model(row)
            if expected.outcome == "action_required" and needs_approval:
                expected = Expected("error", "APPROVAL_UNAVAILABLE", None)
            pending = result.pending_approval
            assert pending is None or (pending.binding, pending.signature) == (None, None)
            found = (
                result.outcome,
                None if result.error is None else result.error.code,
                None if pending is None else cast("str", pending.question.tier),
            )
            assert found == expected, row
