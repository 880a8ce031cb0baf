"""A toolbox says by which rules the calls of its tools are judged."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Final, cast

import attrs
import pytest

from armory_trio import (
    DefinitionError,
    LiveToolbox,
    Toolbox,
    ToolCall,
    ToolResult,
    combine_toolboxes,
    tool,
    toolbox_from_manifest,
)
from armory_trio.authority.policy import ApprovalPolicy, Gates, Permitted, PolicyRequest, Refused, Rules, begin
from armory_trio.testing import inline
from tests.requirements import requirement

HOME: Final = "tests.toolbox.test_policy_options"
SECRET: Final = "s3cr3t"
FIELDS: Final = (
    "policy",
    "policy_context",
    "approval_policy",
    "gates",
    "policy_revision",
    "approval_revision",
)


class Guard:
    def __repr__(self) -> str:
        return SECRET

    def before_execute(self, request: PolicyRequest, /) -> object:
        return None


class HalfAuditor:
    after_execute = "log"


class Auditor:
    def after_execute(self, request: PolicyRequest, result: ToolResult[object], /) -> object:
        return None


def deny(request: PolicyRequest) -> object:
    return False


def region() -> Mapping[str, object]:
    return {"region": "north"}


async def later() -> Mapping[str, object]:
    return {}


async def streamed() -> AsyncIterator[object]:
    yield {}


def named(name: str) -> Toolbox:
    async def body() -> str:
        return name

    return Toolbox([tool(body, name=name)])


async def add(a: int) -> int:
    """Add."""
    return a


def ruled(**more: object) -> Toolbox:
    """A toolbox that says all that can be said."""
    make = cast("Callable[..., Toolbox]", Toolbox)
    said: dict[str, object] = {
        "policy": GUARD,
        "policy_context": {"limit": 5},
        "approval_policy": ASKING,
        "gates": CLOSED,
        "policy_revision": "policy:7",
        "approval_revision": "approval:8",
    }
    return make(named("a").tools, **{**said, **more})


def rules_of(toolbox: Toolbox) -> list[object]:
    return [getattr(toolbox, field) for field in FIELDS]


GUARD, ASKING, CLOSED = Guard(), ApprovalPolicy("always"), Gates(read_only=True)
NOTHING: Final = [None, None, None, None, "policy:1", "approval:1"]
ALL: Final = [GUARD, {"limit": 5}, ASKING, CLOSED, "policy:7", "approval:8"]


# ── Said and kept ────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("toolbox.rules.kept")
def test_a_toolbox_of_which_nothing_is_said_has_no_rules_and_the_first_revisions() -> None:
    assert rules_of(Toolbox()) == NOTHING
    assert rules_of(ruled()) == ALL


@requirement("toolbox.rules.kept")
def test_named_values_for_policies_are_a_copy_that_can_not_be_changed() -> None:
    given: dict[str, object] = {"limit": 5}
    toolbox = ruled(policy_context=given)
    given["limit"] = 9

    assert toolbox.policy_context == {"limit": 5}
    with pytest.raises(TypeError):
        cast("dict[str, object]", toolbox.policy_context)["limit"] = 9
    assert ruled(policy_context=region).policy_context is region


@requirement("toolbox.rules.kept")
@pytest.mark.parametrize("field", FIELDS)
def test_rules_can_not_be_changed_and_are_said_by_name(field: str) -> None:
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        setattr(ruled(), field, None)
    assert next(each for each in attrs.fields(Toolbox) if each.name == field).kw_only


@requirement("toolbox.rules.kept")
def test_extending_keeps_the_receivers_rules() -> None:
    other = named("b")

    assert rules_of(ruled().extend(other)) == ALL
    assert rules_of(ruled().extend(*other)) == ALL
    assert rules_of(other.extend(ruled())) == NOTHING


@requirement("toolbox.rules.kept")
def test_combining_takes_the_first_ones_rules_only() -> None:
    bare = Toolbox(named("c").tools, policy=deny, policy_revision="policy:9")

    assert rules_of(combine_toolboxes(ruled(), named("b"), bare)) == ALL
    assert rules_of(combine_toolboxes(named("b"), ruled(), bare)) == NOTHING


@requirement("toolbox.rules.kept")
def test_rules_outlast_every_other_change_of_a_toolbox() -> None:
    live = LiveToolbox(ruled())
    live.register(*named("b"))
    change = live.unregister("a")

    assert live.toolbox.names == ("b",)
    assert rules_of(change.before) == rules_of(live.toolbox) == ALL
    assert rules_of(inline(ruled())) == ALL


@requirement("toolbox.rules.kept")
def test_a_policy_that_is_only_told_is_one() -> None:
    auditor = Auditor()

    assert Toolbox(policy=auditor).policy is auditor


@requirement("toolbox.repr-keeps-secrets")
def test_no_repr_shows_the_rules() -> None:
    toolbox = ruled(policy_context={"key": SECRET})

    assert repr(toolbox) == "<Toolbox 'toolbox:1': default:a>"
    assert SECRET not in repr(LiveToolbox(toolbox)) + str(toolbox)


# ── Said wrongly ─────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("toolbox.rules.refused")
@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"policy": True}, "policy: must be a function, or have a method before_execute, not True"),
        ({"policy": Guard}, "policy: must be a function, or have a method before_execute, not <class"),
        ({"policy": HalfAuditor()}, "policy: its after_execute must be a method, not 'log'"),
        ({"policy_context": ["a"]}, "policy_context: must be a mapping of names to values, or a function"),
        ({"policy_context": {1: 2}}, "policy_context[1]: must be text, not 1"),
        ({"policy_context": later}, "policy_context: must be a plain function of no arguments; nobody waits"),
        ({"policy_context": streamed}, "policy_context: must be a plain function of no arguments; nobody waits"),
        ({"approval_policy": "always"}, "approval_policy: must be an ApprovalPolicy, not 'always'"),
        ({"approval_policy": Gates()}, "approval_policy: must be an ApprovalPolicy, not Gates("),
        ({"gates": True}, "gates: must be a Gates, not True"),
        ({"gates": ApprovalPolicy("always")}, "gates: must be a Gates, not ApprovalPolicy("),
        ({"policy_revision": 7}, "policy_revision: must be text, not 7"),
        ({"policy_revision": " "}, "policy_revision: is blank"),
        ({"approval_revision": None}, "approval_revision: must be text, not None"),
        ({"approval_revision": ""}, "approval_revision: is blank"),
        ({"revision": "a\ud800"}, "revision: 'a\\ud800' holds half a character"),
        ({"policy_revision": "a\ud800"}, "policy_revision: 'a\\ud800' holds half a character"),
    ],
)
def test_wrong_rules_are_named(options: dict[str, object], told: str) -> None:
    with pytest.raises(DefinitionError, match="^" + re.escape(f"toolbox: {told}")):
        ruled(**options)


@requirement("toolbox.rules.import")
def test_a_toolbox_without_rules_loads_nothing_that_judges() -> None:
    program = (
        "import sys\n"
        "from armory_trio import Toolbox, tool\n"
        "Toolbox([tool(lambda: 1, name='one', policy=lambda request: True)], policy=lambda request: True)\n"
        "print('armory_trio.authority.policy' in sys.modules, 'armory_trio.authority._judging' in sys.modules)"
    )
    command = [sys.executable, "-c", program]
    ended = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True)

    assert ended.stdout == "False False\n"


# ── Written down ─────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("toolbox.rules.json")
async def test_revisions_are_written_and_code_stays_behind() -> None:
    toolbox = ruled()
    document = json.loads(json.dumps(toolbox.to_json()))
    read = Toolbox.from_json(document, get_tool=toolbox.as_execute_resolver())

    assert (document["policyRevision"], document["approvalRevision"]) == ("policy:7", "approval:8")
    assert {*document} == {"revision", "policyRevision", "approvalRevision", "defaultTimeout", "tools"}
    assert rules_of(read) == [None, None, None, None, "policy:7", "approval:8"]
    assert read.to_json() == document
    assert (await read.execute(ToolCall("a"))).unwrap() == "a"


@requirement("toolbox.rules.json")
def test_what_was_written_without_these_revisions_can_be_read() -> None:
    document: dict[str, object] = {"revision": "box:2", "defaultTimeout": None, "tools": []}
    read = Toolbox.from_json(document, get_tool=lambda _definition: None)

    assert (read.revision, *rules_of(read)) == ("box:2", *NOTHING)


@requirement("toolbox.rules.json")
@pytest.mark.parametrize("written", ["policyRevision", "approvalRevision"])
def test_a_wrong_revision_in_json_is_refused_by_its_name(written: str) -> None:
    with pytest.raises(DefinitionError, match=r"^toolbox: (policy|approval)_revision: must be text, not 7"):
        Toolbox.from_json({"tools": [], written: 7}, get_tool=lambda _definition: None)


@requirement("toolbox.rules.json")
def test_a_manifest_says_revisions_and_names_policies(tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    named_twice = {
        "policy_revision": "policy:7",
        "approval_revision": "approval:8",
        "tools": [
            {"function": f"{HOME}:add", "policy": f"{HOME}:deny", "policy_context": f"{HOME}:region"},
            {"function": f"{HOME}:add", "name": "other", "policy_context": {"limit": 5}},
        ],
    }
    file.write_text(json.dumps(named_twice), encoding="utf-8")
    toolbox = toolbox_from_manifest(file, allow=[HOME])
    one, other = (each.options for each in toolbox)

    assert (toolbox.policy_revision, toolbox.approval_revision) == ("policy:7", "approval:8")
    assert (one.policy, one.policy_context) == (deny, region)
    assert (other.policy, other.policy_context) == (None, {"limit": 5})


# ── What they are for ────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("toolbox.rules.judged")
def test_what_a_toolbox_says_is_what_rules_are_made_of() -> None:
    asked = PolicyRequest(named("a").tools[0].definition, {})

    def judged(toolbox: Toolbox) -> object:
        return begin(Rules(gates=toolbox.gates, approval_policy=toolbox.approval_policy, policy=toolbox.policy), asked)

    assert judged(Toolbox()) == Permitted()
    assert judged(Toolbox(policy=Auditor())) == Permitted()
    denied, closed = judged(Toolbox(policy=deny)), judged(ruled())
    assert isinstance(denied, Refused) and isinstance(closed, Refused)
    assert (denied.tier, closed.tier) == ("toolbox", "gate")
    assert Rules(gates=None).gates == Gates()
