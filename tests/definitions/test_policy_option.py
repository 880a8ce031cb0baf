"""A tool declares its policy, and keeps it whatever is made of the tool."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final, cast

import pytest

from armory_trio import (
    DefinitionError,
    Middleware,
    Tool,
    Toolbox,
    ToolBuilder,
    ToolContext,
    ToolOptions,
    ToolResult,
    create_executable_tool,
    lazy,
    tool,
    with_context,
)
from armory_trio.authority.policy import AfterExecute, BeforeExecute, Deny, Policy, PolicyRequest, Refused, Rules, begin
from armory_trio.composition import RetryPolicy, parallel, retry
from armory_trio.definitions._policy import after_execute_of, before_execute_of
from armory_trio.middleware import Retry
from armory_trio.testing import mock_tool
from tests.definitions._loosely import loose_define, loose_executable, loose_tool
from tests.requirements import requirement

SECRET: Final = "s3cr3t"
NUMBER: Final = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


AnyTool = Tool[..., object]


class Guard:
    """Asks before, and is told after."""

    def __repr__(self) -> str:
        return SECRET

    def before_execute(self, request: PolicyRequest, /) -> object:
        return Deny(f"{request.tool_name} never runs")

    async def after_execute(self, request: PolicyRequest, result: ToolResult[object], /) -> object:
        return None


class Auditor:
    """Is only told."""

    def after_execute(self, request: PolicyRequest, result: ToolResult[object], /) -> object:
        return None


class AuditingFunction(Auditor):
    def __call__(self, request: PolicyRequest, /) -> object:
        return False


class HalfGuard:
    before_execute = "deny"

    def after_execute(self, request: PolicyRequest, result: ToolResult[object], /) -> object:
        return None


class HalfAuditor:
    after_execute = "log"


class GuardWhoCannotAudit(Guard):
    after_execute = None  # type: ignore[assignment]  # the mistake under test


def deny(request: PolicyRequest) -> object:
    return False


def region() -> Mapping[str, object]:
    return {"region": "north"}


async def later() -> Mapping[str, object]:
    return {}


def streamed() -> Iterator[object]:
    yield {}


async def double(a: int) -> int:
    """Twice as much."""
    return 2 * a


async def double_of(arguments: Mapping[str, object]) -> object:
    return arguments


def guarded(make: Callable[..., AnyTool], *parts: object, **declared: object) -> AnyTool:
    return make(*parts, **declared, policy=GUARD, policy_context=region)


GUARD: Final = Guard()
MADE: Final[Mapping[str, Callable[[], AnyTool]]] = {
    "tool": partial(guarded, loose_tool, double),
    "define_tool": partial(guarded, loose_define, name="double", execute=double),
    "create_executable_tool": partial(guarded, loose_executable, tool(double).definition, None, double_of),
    "lazy": partial(guarded, loose_define, name="double", input=NUMBER, execute=lazy(lambda: double_of)),
    "builder": lambda: ToolBuilder("double").execute(double).policy(GUARD).policy_context(region).build(),
}


# ── Declared ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("definitions.policy.declared")
@pytest.mark.parametrize("way", MADE)
def test_a_policy_is_declared_in_every_way_that_tools_are_made(way: str) -> None:
    options = MADE[way]().options

    assert (options.policy, options.policy_context) == (GUARD, region)


@requirement("definitions.policy.declared")
def test_a_tool_of_which_nothing_is_said_has_no_policy() -> None:
    options = tool(double, policy=None, policy_context=None).options

    assert options == tool(double).options
    assert (options.policy, options.policy_context) == (None, None)


@requirement("definitions.policy.declared")
def test_a_policy_that_several_tools_share_can_be_declared_once() -> None:
    guarded_tool = tool(policy=deny)

    assert guarded_tool(double).options.policy is deny
    assert guarded_tool(policy=GUARD)(double).options.policy is GUARD
    assert ToolBuilder("a").execute(double).policy(deny).policy(None).build().options.policy is None


@requirement("definitions.policy.declared")
def test_named_values_are_copied_and_can_not_be_changed() -> None:
    given: dict[str, object] = {"limit": 5}
    kept = tool(double, policy_context=given).options.policy_context
    given["limit"] = 9

    assert isinstance(kept, MappingProxyType)
    assert kept == {"limit": 5}


@requirement("definitions.policy.declared")
@pytest.mark.parametrize("way", ["tool", "define_tool"])
def test_neither_the_definition_nor_its_digest_says_anything_of_a_policy(way: str) -> None:
    made, plain = MADE[way](), tool(double)

    assert made.definition == plain.definition
    assert made.definition.digest == plain.definition.digest
    assert made.definition.to_json() == plain.definition.to_json()


@requirement("definitions.policy.unseen")
def test_no_repr_shows_a_policy_or_what_it_is_given() -> None:
    made = tool(double, policy=GUARD, policy_context={"key": SECRET})
    half = ToolBuilder("double").execute(double).policy(GUARD).policy_context({"key": SECRET})

    assert SECRET not in repr(made) + str(made) + repr(made.options) + repr(half)
    assert repr(made.options) == repr(tool(double).options)


# ── What a policy is ─────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("definitions.policy.forms")
def test_a_function_is_asked_and_an_object_is_asked_and_told_by_its_methods() -> None:
    auditor, both = Auditor(), AuditingFunction()

    assert (before_execute_of(None, "policy"), after_execute_of(None, "policy")) == (None, None)
    assert (before_execute_of(deny, "policy"), after_execute_of(deny, "policy")) == (deny, None)
    assert (before_execute_of(GUARD, "policy"), after_execute_of(GUARD, "policy")) == (
        GUARD.before_execute,
        GUARD.after_execute,
    )
    assert (before_execute_of(auditor, "policy"), after_execute_of(auditor, "policy")) == (None, auditor.after_execute)
    assert (before_execute_of(both, "policy"), after_execute_of(both, "policy")) == (both, both.after_execute)


@requirement("definitions.policy.forms")
def test_a_hook_that_is_only_told_objects_to_nothing_but_one_that_can_be_called_is_asked() -> None:
    asked = PolicyRequest(tool(double).definition, {"a": 1})

    assert not Rules(policy=Auditor(), tool_policy=Auditor()).hooked
    assert isinstance(begin(Rules(tool_policy=AuditingFunction()), asked), Refused)
    denied = begin(Rules(tool_policy=GUARD), asked)
    assert isinstance(denied, Refused)
    assert (denied.tier, denied.reason) == ("tool", "double never runs")


@requirement("definitions.policy.forms")
def test_the_types_say_what_a_policy_is() -> None:
    policies: list[Policy] = [deny, GUARD, Auditor(), AuditingFunction(), lambda request: request.call_id == ""]
    before: BeforeExecute = GUARD.before_execute
    after: AfterExecute = GUARD.after_execute

    assert all(tool(double, policy=each).options.policy is each for each in policies)
    assert all(map(callable, (before, after)))


# ── Declared wrongly ─────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("definitions.policy.refused")
@pytest.mark.parametrize(
    ("declared", "told"),
    [
        ({"policy": True}, "policy: must be a function, or have a method before_execute, not True"),
        ({"policy": Guard}, "policy: must be a function, or have a method before_execute, not <class"),
        ({"policy": Auditor}, "policy: must be a function, or have a method before_execute, not <class"),
        ({"policy": HalfGuard()}, "policy: must be a function, or have a method before_execute, not <"),
        ({"policy": HalfAuditor()}, "policy: its after_execute must be a method, not 'log'"),
        ({"policy": GuardWhoCannotAudit()}, "policy: its after_execute must be a method, not None"),
        ({"policy_context": ["a"]}, "policy_context: must be a mapping of names to values, or a function that answers"),
        ({"policy_context": {1: 2}}, "policy_context[1]: must be text, not 1"),
        ({"policy_context": later}, "policy_context: must be a plain function of no arguments; nobody waits"),
        ({"policy_context": streamed}, "policy_context: must be a plain function of no arguments; nobody waits"),
    ],
)
def test_a_wrong_policy_is_named_with_its_tool_when_it_is_declared(declared: dict[str, object], told: str) -> None:
    for make in (
        partial(loose_tool, double),
        partial(loose_executable, tool(double).definition, None, double_of),
        partial(loose_tool, double, name="double"),
    ):
        with pytest.raises(DefinitionError, match="^" + re.escape(f"tool 'double': {told}")):
            make(**declared)


@requirement("definitions.policy.refused")
def test_a_wrong_policy_is_refused_by_the_options_themselves() -> None:
    with pytest.raises(DefinitionError, match=r"^tool: policy: must be a function"):
        ToolOptions(policy=3)  # type: ignore[arg-type]
    with pytest.raises(DefinitionError, match=r"^tool: policy_context: must be a mapping"):
        ToolOptions(policy_context=3)  # type: ignore[arg-type]


# ── Kept ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def passing(call: object, ctx: object, call_next: Callable[[], object]) -> object:
    return call_next()


@tool(policy=GUARD, policy_context={"limit": 5})
async def where(ctx: ToolContext) -> object:
    """Say where this is."""
    return ctx.context["region"]


def retried(made: AnyTool) -> AnyTool:
    return made.bound([Retry(RetryPolicy())])


CHANGES: Final[Mapping[str, Callable[[AnyTool], AnyTool]]] = {
    "bound context": lambda made: with_context(made, {"region": "east"}),
    "bound middleware": lambda made: made.bound([cast("Middleware", passing)]),
    "retries": retried,
    "retries and bound context": lambda made: with_context(retried(made), {"region": "east"}),
    "a toolbox": lambda made: Toolbox([made], middleware=[Retry(RetryPolicy())]).tools[0],
    "a mock": lambda made: mock_tool(made, result=1),
}


@requirement("definitions.policy.kept")
@pytest.mark.parametrize("change", CHANGES)
def test_a_policy_stays_with_its_tool(change: str) -> None:
    changed = CHANGES[change](where)

    assert changed is not where
    assert changed.options.policy is GUARD
    assert changed.options.policy_context == {"limit": 5}


@requirement("definitions.policy.composed")
def test_a_tool_made_of_others_asks_for_none_of_them() -> None:
    part = tool(double, policy=GUARD, policy_context=region, requires_approval=True)
    wholes: list[AnyTool] = [retry(part), parallel(part, tool(double, name="other"))]

    for whole in wholes:
        assert not whole.definition.requires_approval
        assert (whole.options.policy, whole.options.policy_context) == (None, None)
    assert part.options.policy is GUARD


@requirement("definitions.policy.declared")
def test_a_definition_that_came_from_elsewhere_is_given_a_policy_here() -> None:
    definition = tool(double).definition
    made = create_executable_tool(definition, None, double_of, policy=deny, policy_context={"limit": 5})

    assert made.definition is definition
    assert (made.options.policy, made.options.policy_context) == (deny, {"limit": 5})
