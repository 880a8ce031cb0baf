"""Rules that every tool of a toolbox has to keep, checked all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, cast

import attrs
import msgspec

from ..definitions import InvalidArguments, Tool, thaw_json
from ..definitions._checks import required
from ..definitions._plurals import counted
from ..errors import DefinitionError
from ..toolbox import Toolbox

AnyTool = Tool[..., object]
Breach = Callable[[AnyTool, Toolbox], str | None]
"""Says of a tool in its toolbox what is wrong with it; None if nothing is."""


@attrs.frozen
class Rule:
    """What every tool of a toolbox has to be.

    Args:
        text: The rule in words, as in ``a tool has a description``.
        breach: Says of a tool in its toolbox how it breaks the rule; None if it keeps it. It must not wait.
    """

    text: str
    breach: Breach


class Violation(msgspec.Struct, frozen=True):
    """One tool that breaks one rule."""

    rule: str
    tool_id: str
    origin: str
    reason: str

    def __str__(self) -> str:
        return f"{self.tool_id} ({self.origin}): {self.reason}"


class ToolboxViolations(AssertionError):
    """Tools of a toolbox break rules. ``violations`` lists all of them, rule by rule, in the order of the tools."""

    __module__ = "armory_trio.testing"

    def __init__(self, violations: tuple[Violation, ...]) -> None:
        broken = dict.fromkeys(violation.rule for violation in violations)
        lines = [f"{counted(len(violations), 'violation')} of {counted(len(broken), 'rule')}:"]
        for rule in broken:
            lines += [f"{rule}", *(f"- {violation}" for violation in violations if violation.rule == rule)]
        super().__init__("\n".join(lines))
        self.violations = violations


def every(text: str, holds: Callable[[AnyTool], bool], *, where: Callable[[AnyTool], bool] | None = None) -> Rule:
    """A rule of one's own: for every tool, or for every tool *where* something is so, *holds* answers True.

    Args:
        text: The rule in words; a tool that breaks it is listed beneath.
        holds: Whether a tool keeps it.
        where: Which tools it is about; all of them if nothing is said.
    """

    def breach(tool: AnyTool, _: Toolbox) -> str | None:
        if (where is None or where(tool)) and not holds(tool):
            return "does not keep it"
        return None

    return Rule(text, breach)


def untrusted_if_tagged(*tags: str) -> Rule:
    """A rule: a tool with one of these *tags*, such as ``web``, declares ``risk=Risk(untrusted_output=True)``."""

    def breach(tool: AnyTool, _: Toolbox) -> str | None:
        mine = [tag for tag in tags if tag in tool.definition.tags]
        if not mine or _is_untrusted(tool):
            return None
        return f"is tagged {', '.join(mine)}; declare risk=Risk(untrusted_output=True)"

    return Rule(f"a tool tagged {' or '.join(tags)} has untrusted output", breach)


def _has_no_description(tool: AnyTool, _: Toolbox) -> str | None:
    return None if tool.description.strip() else "has none; write a docstring, or declare description="


def _has_undescribed_parameters(tool: AnyTool, _: Toolbox) -> str | None:
    properties = cast("Mapping[str, Mapping[str, object]]", tool.input_schema.get("properties", {}))
    bare = [name for name, schema in properties.items() if not _says_something(schema)]
    return f"says nothing about {', '.join(bare)}" if bare else None


def _says_something(schema: object) -> bool:
    return isinstance(schema, Mapping) and bool(
        cast("Mapping[str, object]", schema).keys() & {"description", "enum", "const", "$ref"}
    )


def _has_no_timeout(tool: AnyTool, toolbox: Toolbox) -> str | None:
    if tool.options.timeout is not None or toolbox.default_timeout is not None:
        return None
    return "may take for ever; declare timeout=, or give the toolbox a default_timeout"


def _is_unclassified(tool: AnyTool, _: Toolbox) -> str | None:
    if tool.definition.classification.classified:
        return None
    return "counts as external-write since nobody said what it does; declare effect="


def _is_contradictory(tool: AnyTool, _: Toolbox) -> str | None:
    said = tool.definition.classification.contradiction
    return f"says both: {', '.join(said)}" if said else None


def _mutates_unasked(tool: AnyTool, _: Toolbox) -> str | None:
    counts = tool.definition.classification
    if counts.read_only or tool.definition.requires_approval:
        return None
    return f"counts as {counts.effect_class}; declare requires_approval=True"


def _is_dangerous_unasked(tool: AnyTool, _: Toolbox) -> str | None:
    counts = tool.definition.classification
    if counts.tier != "dangerous" or tool.definition.requires_approval:
        return None
    return f"counts as {counts.effect_class}; declare requires_approval=True"


def _is_untrusted(tool: AnyTool) -> bool:
    risk = tool.definition.risk
    return risk is not None and risk.untrusted_output is True


def _is_unfenced(tool: AnyTool, _: Toolbox) -> str | None:
    if not _is_untrusted(tool):
        return None
    from ..middleware import Fence  # noqa: PLC0415  # only who has such tools pays for it

    around = [getattr(each, "__self__", None) for each in tool.middleware or ()]
    if any(isinstance(each, Fence) for each in around):
        return None
    return "has no Fence() around it; list one as the toolbox's middleware"


def _has_no_examples(tool: AnyTool, _: Toolbox) -> str | None:
    return None if tool.definition.examples else "has none; declare examples=[{...}]"


def _has_wrong_examples(tool: AnyTool, _: Toolbox) -> str | None:
    if tool.contract.awaits:
        return None  # its validator waits, for a database or the like
    faults: list[str] = []
    for number, example in enumerate(tool.definition.examples):
        if isinstance(example, Mapping):
            try:
                tool.contract.validate(cast("Mapping[str, object]", thaw_json(cast("object", example))))
            except InvalidArguments as exc:
                faults.append(f"examples[{number}]: {exc}")
    return "; ".join(faults) or None


DESCRIBED: Final = Rule("a tool has a description", _has_no_description)
DESCRIBED_PARAMETERS: Final = Rule("a parameter has a description, or names its choices", _has_undescribed_parameters)
TIMED: Final = Rule("a tool has a timeout", _has_no_timeout)
CLASSIFIED: Final = Rule("a tool says what it does to the world", _is_unclassified)
UNDISPUTED: Final = Rule("what a tool says about its effect agrees", _is_contradictory)
MUTATING_NEEDS_APPROVAL: Final = Rule("a tool that mutates requires approval", _mutates_unasked)
DANGEROUS_NEEDS_APPROVAL: Final = Rule("a dangerous tool requires approval", _is_dangerous_unasked)
UNTRUSTED_IS_FENCED: Final = Rule("a tool with untrusted output is fenced", _is_unfenced)
HAS_EXAMPLES: Final = Rule("a tool has examples", _has_no_examples)
EXAMPLES_VALIDATE: Final = Rule("the examples of a tool are valid arguments", _has_wrong_examples)

DEFAULT_RULES: Final = (
    DESCRIBED,
    TIMED,
    CLASSIFIED,
    UNDISPUTED,
    DANGEROUS_NEEDS_APPROVAL,
    UNTRUSTED_IS_FENCED,
    EXAMPLES_VALIDATE,
)
"""What `check_toolbox` asks for when nothing is said."""


def violations_of(toolbox: Toolbox, rules: Iterable[Rule] = DEFAULT_RULES) -> tuple[Violation, ...]:
    """Every tool of *toolbox* that breaks one of the *rules*, rule by rule, in the order of the tools.

    Raises:
        DefinitionError: There are no rules, one is no `Rule`, or the toolbox is none.
    """
    required("check_toolbox", "toolbox", toolbox, Toolbox)
    asked = tuple(rules)
    if not asked:
        raise DefinitionError("check_toolbox", "rules", "are none, so nothing would be checked")
    for rule in asked:
        if not isinstance(rule, Rule):  # pyright: ignore[reportUnnecessaryIsInstance]  # likewise
            raise DefinitionError("check_toolbox", "rules", f"has {rule!r}, which is no Rule; see every(...)")
    return tuple(
        Violation(rule.text, tool.id.text, tool.origin, reason)
        for rule in asked
        for tool in toolbox
        if (reason := rule.breach(tool, toolbox)) is not None
    )


def check_toolbox(toolbox: Toolbox, rules: Iterable[Rule] = DEFAULT_RULES) -> None:
    """Assert that every tool of *toolbox* keeps the *rules*. For a test of what one ships.

    Raises:
        ToolboxViolations: Some do not; an `AssertionError` that lists all of them at once.
        DefinitionError: There are no rules, one is no `Rule`, or the toolbox is none.
    """
    __tracebackhide__ = True
    found = violations_of(toolbox, rules)
    if found:
        raise ToolboxViolations(found)
