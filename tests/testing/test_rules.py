"""Rules that every tool of a toolbox keeps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, cast

import msgspec
import pytest

from armory_trio import DefinitionError, Risk, Tool, Toolbox, define_tool, tool
from armory_trio.middleware import Fence
from armory_trio.testing import (
    CLASSIFIED,
    DANGEROUS_NEEDS_APPROVAL,
    DEFAULT_RULES,
    DESCRIBED,
    DESCRIBED_PARAMETERS,
    EXAMPLES_VALIDATE,
    HAS_EXAMPLES,
    MUTATING_NEEDS_APPROVAL,
    TIMED,
    UNDISPUTED,
    UNTRUSTED_IS_FENCED,
    Rule,
    ToolboxViolations,
    check_toolbox,
    every,
    mock_tool,
    sample_toolbox,
    untrusted_if_tagged,
    violations_of,
)
from tests.requirements import requirement


@tool(effect="read-only", timeout=5, examples=[{"sku": "A-1"}, "What does A-1 cost?"])
async def price(sku: Annotated[str, msgspec.Meta(description="Which article.")]) -> int:
    """The price of an article."""
    raise NotImplementedError


WEB = {"effect": "read-only", "timeout": 5, "tags": ["web"]}
UNTRUSTED = Risk(untrusted_output=True)
WRITES = {"class": "external-write", "targets": [{"kind": "service", "id": "shop"}]}
DESTROYS = {"class": "destructive", "targets": [{"kind": "service", "id": "shop"}]}


def made(**declared: object) -> Tool[..., object]:
    return cast("Callable[..., Tool[..., object]]", mock_tool)("it", **declared)


def _waits() -> Tool[..., object]:
    async def parse(_: object) -> object:
        raise NotImplementedError

    async def execute(_: object) -> None:
        raise NotImplementedError

    waiting: Callable[..., Awaitable[object]] = parse
    schema: dict[str, object] = {"type": "object", "properties": {}}
    define = cast("Callable[..., Tool[..., object]]", define_tool)
    return define(name="it", input={"schema": schema, "parse": waiting}, execute=execute, examples=[{"no": 1}])


RULES: list[tuple[Rule, Tool[..., object], Tool[..., object], str]] = [
    (DESCRIBED, price, made(description=""), "has none; write a docstring"),
    (DESCRIBED_PARAMETERS, price, sample_toolbox().get("echo") or price, "says nothing about text"),
    (TIMED, price, made(), "may take for ever"),
    (CLASSIFIED, price, made(), "counts as external-write since nobody said"),
    (CLASSIFIED, made(risk=Risk(mutates=True)), made(risk=UNTRUSTED), "declare effect="),
    (UNDISPUTED, price, made(effect="read-only", risk=Risk(mutates=True)), "says both: effect=read-only, risk.mutates"),
    (MUTATING_NEEDS_APPROVAL, price, made(effect=WRITES), "counts as external-write; declare requires_approval=True"),
    (MUTATING_NEEDS_APPROVAL, made(effect=WRITES, requires_approval=True), made(tags=["dangerous"]), "as destructive"),
    (MUTATING_NEEDS_APPROVAL, price, made(), "counts as external-write"),
    (DANGEROUS_NEEDS_APPROVAL, made(effect=WRITES), made(effect=DESTROYS), "counts as destructive"),
    (
        DANGEROUS_NEEDS_APPROVAL,
        made(effect=DESTROYS, requires_approval=True),
        made(risk=Risk(dangerous=True)),
        "counts",
    ),
    (UNTRUSTED_IS_FENCED, price, made(risk=UNTRUSTED), "has no Fence() around it"),
    (UNTRUSTED_IS_FENCED, price, made(metadata={"untrustedOutput": True}), "has no Fence() around it"),
    (HAS_EXAMPLES, price, made(), "has none; declare examples"),
    (EXAMPLES_VALIDATE, price, mock_tool("it", input={"sku": int}, examples=[{"sku": "A"}]), "examples[0]: `sku`"),
    (untrusted_if_tagged("web", "browser"), made(**WEB, risk=UNTRUSTED), made(**WEB), "is tagged web; declare risk="),
]


@requirement("testing.rules")
@pytest.mark.parametrize(("rule", "kept", "broken", "words"), RULES)
def test_a_rule_tells_who_keeps_it_from_who_does_not(
    rule: Rule, kept: Tool[..., object], broken: Tool[..., object], words: str
) -> None:
    assert violations_of(Toolbox([kept]), [rule]) == ()
    [found] = violations_of(Toolbox([broken]), [rule])

    assert (found.rule, found.tool_id, found.origin) == (rule.text, broken.id.text, broken.origin)
    assert words in found.reason


@requirement("testing.rules")
def test_what_the_toolbox_gives_its_tools_counts() -> None:
    bare, web = made(), made(risk=UNTRUSTED)

    assert violations_of(Toolbox([bare], default_timeout=9), [TIMED]) == ()
    assert violations_of(Toolbox([web], middleware=[Fence()]), [UNTRUSTED_IS_FENCED]) == ()
    assert len(violations_of(Toolbox([web], middleware=[_through]), [UNTRUSTED_IS_FENCED])) == 1


async def _through(_call: object, _ctx: object, call_next: Callable[[], Awaitable[object]]) -> object:
    return await call_next()


@requirement("testing.rules")
def test_examples_whose_validator_waits_are_left_alone() -> None:
    waiting = _waits()

    assert waiting.contract.awaits
    assert violations_of(Toolbox([waiting]), [EXAMPLES_VALIDATE]) == ()


@requirement("testing.rules")
def test_all_that_is_wrong_is_told_at_once() -> None:
    toolbox = Toolbox([price, mock_tool("one", description=""), mock_tool("two", timeout=1)])

    with pytest.raises(AssertionError) as caught:
        check_toolbox(toolbox, [DESCRIBED, TIMED, CLASSIFIED])

    assert isinstance(caught.value, ToolboxViolations)
    assert [(found.rule, found.tool_id) for found in caught.value.violations] == [
        (DESCRIBED.text, "default:one"),
        (TIMED.text, "default:one"),
        (CLASSIFIED.text, "default:one"),
        (CLASSIFIED.text, "default:two"),
    ]
    where = "(armory_trio.testing._deeds:Acting.answer)"
    assert str(caught.value) == (
        "4 violations of 3 rules:\n"
        "a tool has a description\n"
        f"- default:one {where}: has none; write a docstring, or declare description=\n"
        "a tool has a timeout\n"
        f"- default:one {where}: may take for ever; declare timeout=, or give the toolbox a default_timeout\n"
        "a tool says what it does to the world\n"
        f"- default:one {where}: counts as external-write since nobody said what it does; declare effect=\n"
        f"- default:two {where}: counts as external-write since nobody said what it does; declare effect="
    )


@requirement("testing.rules")
def test_a_good_toolbox_keeps_every_rule_that_there_is() -> None:
    check_toolbox(Toolbox([price]))
    check_toolbox(
        Toolbox([price]),
        [*DEFAULT_RULES, DESCRIBED_PARAMETERS, HAS_EXAMPLES, MUTATING_NEEDS_APPROVAL, untrusted_if_tagged("web")],
    )
    check_toolbox(Toolbox([]))


@requirement("testing.rules.own")
def test_a_rule_of_ones_own_is_a_condition_for_all_or_some_tools() -> None:
    short = every("a name has at most 3 letters", lambda tool: len(tool.name) <= 3)
    web = every("a web tool reads", lambda tool: tool.definition.classification.read_only, where=_is_web)
    toolbox = Toolbox([price, made(tags=["web"])])

    assert [(found.rule, found.tool_id, found.reason) for found in violations_of(toolbox, [short, web])] == [
        ("a name has at most 3 letters", "default:price", "does not keep it"),
        ("a web tool reads", "default:it", "does not keep it"),
    ]


def _is_web(tool: Tool[..., object]) -> bool:
    return "web" in tool.definition.tags


@requirement("testing.rules.own")
def test_a_rule_may_say_itself_what_is_wrong() -> None:
    def crowded(tool: Tool[..., object], toolbox: Toolbox) -> str | None:
        return f"{tool.name} is one of {len(toolbox)}" if len(toolbox) > 1 else None

    rule = Rule("a toolbox has one tool", crowded)

    assert violations_of(Toolbox([price]), [rule]) == ()
    assert [found.reason for found in violations_of(Toolbox([price, made()]), [rule])] == [
        "price is one of 2",
        "it is one of 2",
    ]


@requirement("testing.rules")
@pytest.mark.parametrize(
    ("check", "words"),
    [
        (lambda: check_toolbox(Toolbox([]), []), "rules: are none"),
        (lambda: check_toolbox(Toolbox([]), ["TIMED"]), "has 'TIMED', which is no Rule"),  # type: ignore[list-item]
        (lambda: check_toolbox([price]), "toolbox: must be a Toolbox, not"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_checked_is_refused(check: Callable[[], object], words: str) -> None:
    with pytest.raises(DefinitionError, match=words):
        check()
