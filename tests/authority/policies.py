"""What the tests of verdicts, gates and policies are made of."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from armory_trio import EffectDeclaration, EffectTarget, RequestContext, Risk, ToolDefinition, ToolId
from armory_trio.authority.policy import Allow, Ask, Deny, PolicyRequest, Verdict
from armory_trio.definitions import EffectClass

_NAMES = st.frozensets(st.sampled_from(["read", "write", "pay"]))
CAPABILITIES = st.none() | _NAMES
VERDICTS: st.SearchStrategy[Verdict] = st.one_of(
    st.builds(Allow, CAPABILITIES),
    st.builds(
        Ask,
        st.sampled_from(["why", "other"]),
        st.sampled_from(["approval", "input"]),
        st.sampled_from(["", "Agree?"]),
        st.none() | st.just({"type": "string"}),
        CAPABILITIES,
    ),
    st.builds(Deny, st.sampled_from(["no", "never"])),
)


def defined(effect: EffectClass | None = None, *, risk: Risk | None = None, approval: bool = False) -> ToolDefinition:
    """A tool ``work`` of the effect class *effect*; None says nothing about it."""
    targets = () if effect in {None, "read-only"} else (EffectTarget("service", "bank"),)
    declared = None if effect is None else EffectDeclaration(effect, targets)
    return ToolDefinition(ToolId("work"), effect=declared, risk=risk, requires_approval=approval)


def request(
    definition: ToolDefinition | None = None,
    arguments: Mapping[str, object] | None = None,
    capabilities: frozenset[str] | None = None,
) -> PolicyRequest:
    """A call of *definition*, of a principal with *capabilities*."""
    context = RequestContext(principal="ann", capabilities=capabilities)
    return PolicyRequest(definition or defined("read-only"), arguments or {}, request_context=context)
