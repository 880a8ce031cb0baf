from __future__ import annotations

import itertools

import pytest

from armory_trio import DefinitionError, Risk
from armory_trio.authority.policy import Allow, Deny, Gates
from armory_trio.definitions import EffectClass
from tests.authority.policies import defined
from tests.requirements import requirement

CLASSES: tuple[EffectClass | None, ...] = (
    "read-only",
    "reversible",
    "external-write",
    "destructive",
    "privileged",
    None,
)
DANGEROUS = ("destructive", "privileged")


@requirement("gates.read-only", "gates.dangerous")
@pytest.mark.parametrize("effect", CLASSES)
@pytest.mark.parametrize(("read_only", "mutation", "dangerous"), list(itertools.product([True, False], repeat=3)))
def test_each_gate_keeps_its_classes_out(
    effect: EffectClass | None, *, read_only: bool, mutation: bool, dangerous: bool
) -> None:
    gates = Gates(read_only=read_only, allow_mutation=mutation, allow_dangerous=dangerous)

    kept_out = (effect != "read-only" and (read_only or not mutation)) or (effect in DANGEROUS and not dangerous)
    assert isinstance(gates.judge(defined(effect)), Deny) is kept_out
    assert gates.open is (not read_only and mutation and dangerous)


@requirement("gates.read-only")
def test_a_tool_that_nobody_classified_is_none_that_only_reads() -> None:
    verdict = Gates(read_only=True).judge(defined())

    assert verdict == Deny("Mutating tool 'work' is not allowed here (nobody said what it does)")


@requirement("gates.read-only")
def test_the_denial_says_what_the_tool_counts_as() -> None:
    gates = Gates(read_only=True, allow_mutation=True)

    assert gates.judge(defined("reversible")) == Deny("Mutating tool 'work' is not allowed here (reversible)")


@requirement("gates.dangerous")
def test_the_gate_for_dangerous_tools_says_that_it_is_this_one() -> None:
    gates = Gates(allow_dangerous=False)

    assert gates.judge(defined("privileged")) == Deny("Dangerous tool 'work' is not allowed here (privileged)")
    assert gates.judge(defined("external-write")) == Allow()


@requirement("gates.one-classifier")
def test_a_tool_that_contradicts_itself_counts_as_the_stricter_for_gates_too() -> None:
    torn = defined("read-only", risk=Risk(mutates=True))
    worse = defined("read-only", risk=Risk(dangerous=True))

    assert isinstance(Gates(read_only=True).judge(torn), Deny)
    assert isinstance(Gates(allow_dangerous=False).judge(worse), Deny)


@requirement("gates.settings")
@pytest.mark.parametrize("field", ["read_only", "allow_mutation", "allow_dangerous"])
def test_a_gate_is_open_or_shut(field: str) -> None:
    with pytest.raises(DefinitionError, match=f"Gates: {field}: must be True or False, not 'no'"):
        Gates(**{field: "no"})  # type: ignore[arg-type]
