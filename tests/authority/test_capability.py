from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armory_trio import DefinitionError, Risk, ToolDefinition, ToolId
from armory_trio.authority.policy import Allow, ApprovalMode, ApprovalPolicy, Ask, Deny, HeadlessGate, HeadlessPolicy
from armory_trio.definitions import EffectClass
from armory_trio.definitions._effects import Tier
from tests.authority.policies import defined, request
from tests.requirements import requirement

# ── The two axes ─────────────────────────────────────────────────────────────────────────────────────────────────────

MODES: Final[tuple[ApprovalMode, ...]] = get_args(ApprovalMode)
TIERS: Final[tuple[Tier | None, ...]] = (*get_args(Tier), None)
TABLE: Final[Mapping[Tier | None, str]] = {
    # never, on-mutation, always, deny
    "read-only": "Allow Allow Ask Deny",
    "mutating": "Allow Ask Ask Deny",
    "dangerous": "Allow Ask Ask Deny",
    None: "Ask Ask Ask Deny",
}
CLASS_OF: Final[Mapping[Tier | None, EffectClass | None]] = {
    "read-only": "read-only",
    "mutating": "external-write",
    "dangerous": "destructive",
    None: None,
}


def expected(tier: Tier | None, mode: ApprovalMode) -> str:
    return TABLE[tier].split()[MODES.index(mode)]


@requirement("capability.table")
@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("override", [None, *MODES])
@pytest.mark.parametrize("overridden", get_args(Tier))
def test_every_tier_in_every_mode_with_every_override(
    tier: Tier | None, mode: ApprovalMode, override: ApprovalMode | None, overridden: Tier
) -> None:
    policy = ApprovalPolicy(mode, tier_modes={} if override is None else {overridden: override})

    counts = mode if override is None or overridden != tier else override
    verdict = policy.judge(defined(CLASS_OF[tier]))
    assert type(verdict).__name__ == expected(tier, counts)
    assert policy.mode_for(tier) == counts


@requirement("capability.table")
@given(
    st.sampled_from(TIERS),
    st.sampled_from(MODES),
    st.dictionaries(st.sampled_from(get_args(Tier)), st.sampled_from(MODES)),
)
def test_no_override_speaks_of_another_tier_or_of_a_tool_without_one(
    tier: Tier | None, mode: ApprovalMode, overrides: dict[Tier, ApprovalMode]
) -> None:
    counts = mode if tier is None else overrides.get(tier, mode)

    verdict = ApprovalPolicy(mode, tier_modes=overrides).judge(defined(CLASS_OF[tier]))
    assert type(verdict).__name__ == expected(tier, counts)


@requirement("capability.table")
@pytest.mark.parametrize(
    ("effect", "tier"), [("reversible", "mutating"), ("external-write", "mutating"), ("privileged", "dangerous")]
)
def test_effect_classes_belong_to_tiers(effect: EffectClass, tier: Tier) -> None:
    assert isinstance(ApprovalPolicy("never", tier_modes={tier: "deny"}).judge(defined(effect)), Deny)


@requirement("capability.texts")
def test_the_verdict_names_the_tool_the_tier_and_the_mode() -> None:
    policy = ApprovalPolicy(tier_modes={"dangerous": "deny"})

    assert policy.judge(defined("reversible")) == Ask(
        "Tool 'work' (mutating tier) requires approval (mode: on-mutation)."
    )
    assert policy.judge(defined()) == Ask("Tool 'work' (unclassified tier) requires approval (mode: on-mutation).")
    assert policy.judge(defined("destructive")) == Deny(
        "Tool 'work' (dangerous tier) is denied by approval policy (mode: deny)."
    )


@requirement("capability.table")
def test_a_tool_that_contradicts_itself_is_of_the_stricter_tier() -> None:
    torn = defined("read-only", risk=Risk(mutates=True))

    assert isinstance(ApprovalPolicy("on-mutation").judge(torn), Ask)


@requirement("capability.settings")
def test_a_policy_is_a_value() -> None:
    overrides: dict[Tier, ApprovalMode] = {"dangerous": "deny"}
    policy = ApprovalPolicy("always", tier_modes=overrides)
    overrides.clear()

    assert policy == ApprovalPolicy("always", tier_modes={"dangerous": "deny"}) != ApprovalPolicy("always")
    assert hash(policy) == hash(ApprovalPolicy("always", tier_modes={"dangerous": "deny"}))


@requirement("capability.settings")
@pytest.mark.parametrize(
    ("mode", "tier_modes", "told"),
    [
        ("allways", {}, "ApprovalPolicy: mode: 'allways' is not one of never, on-mutation, always, deny (did you mean"),
        ("never", {"harmless": "deny"}, "ApprovalPolicy: tier_modes: 'harmless' is not one of read-only, mutating"),
        ("never", {"dangerous": True}, "ApprovalPolicy: tier_modes.dangerous: True is not one of never"),
        ("never", ["dangerous"], "ApprovalPolicy: tier_modes: must map tiers to modes"),
    ],
)
def test_an_unknown_mode_or_tier_is_refused(mode: str, tier_modes: object, told: str) -> None:
    with pytest.raises(DefinitionError, match=re.escape(told)):
        ApprovalPolicy(mode, tier_modes=tier_modes)  # type: ignore[arg-type]


# ── Without anybody to ask ───────────────────────────────────────────────────────────────────────────────────────────


def reason(policy: HeadlessPolicy, definition: ToolDefinition | None = None) -> str | None:
    verdict = policy.before_execute(request(definition))
    return verdict.reason if isinstance(verdict, Deny) else None


@requirement("headless.deny-by-default")
def test_only_listed_tools_run_and_the_deny_list_beats_the_other() -> None:
    assert reason(HeadlessPolicy(["work"])) is None
    assert reason(HeadlessPolicy(["default:work"])) is None
    assert reason(HeadlessPolicy([])) == "Tool 'work' is not on the allow list: unlisted tools are denied by default"
    assert reason(HeadlessPolicy(["work"], deny=["default:work"])) == "Tool 'work' is on the deny list"


@requirement("headless.deny-by-default")
@pytest.mark.parametrize("near", ["Work", "work ", "wor", "work@1", "*"])
def test_names_are_compared_exactly(near: str) -> None:
    listed = HeadlessPolicy([near])

    assert (reason(listed) is None) is (near.strip() == "work")


@requirement("headless.deny-by-default")
def test_an_id_lets_no_tool_of_the_same_name_in() -> None:
    other = ToolDefinition(ToolId("work", namespace="other"))

    assert reason(HeadlessPolicy(["default:work"]), other) is not None
    assert reason(HeadlessPolicy(["other:work"]), other) is None


@requirement("headless.never-asks")
@pytest.mark.parametrize("effect", ["read-only", "external-write", "destructive", None])
@pytest.mark.parametrize("mode", MODES)
def test_what_would_ask_is_denied(effect: EffectClass | None, mode: ApprovalMode) -> None:
    capability = ApprovalPolicy(mode)
    verdict = HeadlessPolicy(["work"], capability=capability).before_execute(request(defined(effect)))

    assert isinstance(verdict, Allow) is isinstance(capability.judge(defined(effect)), Allow)
    if mode == "always":
        assert verdict.reason.endswith("(mode: always). Nobody is there to ask.")  # type: ignore[union-attr]


@requirement("headless.never-asks")
def test_a_tool_that_requires_approval_is_denied() -> None:
    needing = defined("read-only", approval=True)

    assert reason(HeadlessPolicy(["work"]), needing) == "Tool 'work' requires approval, but nobody is there to ask"


@requirement("headless.never-asks")
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (True, None),
        ({"allow": True}, None),
        (None, "The gate did not decide"),
        (False, "Policy denied"),
        ({"allow": False, "reason": "no\n  such \t path "}, "no such path"),
        ({"status": "needs_approval", "reason": "look"}, "look"),
        (
            {"allow": True, "status": "deny"},
            "Policy denied: the answer of a policy hook is not understood: allow: True",
        ),
    ],
)
def test_the_gate_allows_or_denies(answer: object, told: str | None) -> None:
    said = reason(HeadlessPolicy(["work"], gate=lambda _name, _arguments: answer))

    assert said is None if told is None else (said or "").startswith(told)


class Later:
    def __await__(self) -> Iterator[None]:
        yield


def at_some_time(name: str, arguments: Mapping[str, object]) -> Later:
    return Later()


async def later(name: str, arguments: Mapping[str, object]) -> bool:
    return True


@requirement("headless.never-asks")
@pytest.mark.parametrize("gate", [later, at_some_time])
def test_a_gate_that_answers_later_denies_and_leaves_nothing_behind(gate: HeadlessGate) -> None:
    assert reason(HeadlessPolicy(["work"], gate=gate)) == "The gate answers later, but it must answer at once"


@requirement("headless.reasons")
def test_a_long_reason_of_the_gate_is_cut() -> None:
    exact = HeadlessPolicy(["work"], gate=lambda _name, _arguments: Deny("x" * 300))
    longer = HeadlessPolicy(["work"], gate=lambda _name, _arguments: Deny("x" * 301))

    assert reason(exact) == "x" * 300
    assert reason(longer) == "x" * 300 + "…"


@requirement("headless.reasons")
def test_the_list_gives_its_reason_before_the_gate_and_the_gate_before_the_tier() -> None:
    seen: list[str] = []

    def gate(name: str, arguments: Mapping[str, object]) -> Deny:
        seen.append(name)
        return Deny("the gate")

    strict = ApprovalPolicy("deny")
    assert (
        reason(HeadlessPolicy(["work"], deny=["work"], capability=strict, gate=gate))
        == "Tool 'work' is on the deny list"
    )
    assert (reason(HeadlessPolicy([], capability=strict, gate=gate)) or "").startswith("Tool 'work' is not on")
    assert reason(HeadlessPolicy(["work"], capability=strict, gate=gate)) == "the gate"
    assert (reason(HeadlessPolicy(["work"], capability=strict)) or "").endswith("(mode: deny).")
    assert seen == ["work"] * 3  # asked each time, also about what is denied already


@requirement("headless.reasons")
def test_a_gate_that_raises_says_so_only_of_tools_that_are_listed() -> None:
    def gate(name: str, arguments: Mapping[str, object]) -> bool:
        raise KeyError(name)

    assert (reason(HeadlessPolicy([], gate=gate)) or "").startswith("Tool 'work' is not on the allow list")
    with pytest.raises(KeyError):
        HeadlessPolicy(["work"], gate=gate).before_execute(request())


@requirement("headless.settings")
@pytest.mark.parametrize(
    ("allow", "options", "told"),
    [
        ("work", {}, "HeadlessPolicy: allow: must be a list of names"),
        (["work"], {"deny": [5]}, "HeadlessPolicy: deny[0]: must be text, not 5"),
        (["work"], {"gate": True}, "HeadlessPolicy: gate: must be a function"),
        (["work"], {"capability": "never"}, "HeadlessPolicy: capability: must be an ApprovalPolicy, not 'never'"),
    ],
)
def test_a_headless_policy_made_wrongly_says_so(allow: object, options: dict[str, object], told: str) -> None:
    with pytest.raises(DefinitionError, match=re.escape(told)):
        HeadlessPolicy(allow, **options)  # type: ignore[arg-type]
