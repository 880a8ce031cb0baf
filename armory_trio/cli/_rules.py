"""What the command line says about what may run. It makes the rules of a toolbox stricter, never looser."""

from __future__ import annotations

from typing import Final

import attrs

from ..authority.policy import Allow, ApprovalMode, ApprovalPolicy, Ask, Deny, Gates, Verdict
from ..toolbox import Toolbox
from ._exit import Unusable

_LENIENT_FIRST: Final[tuple[type[Verdict], ...]] = (Allow, Ask, Deny)


def tightened(toolbox: Toolbox, *, read_only: bool, no_dangerous: bool, mode: ApprovalMode | None) -> Toolbox:
    """*toolbox* under stricter rules.

    Args:
        toolbox: The tools, and rules of their own.
        read_only: Only tools that leave the world as it was may run.
        no_dangerous: What is destructive or privileged may not.
        mode: When approval is needed, for all tools; None leaves that to the toolbox.

    Raises:
        Unusable: The mode would let a tool pass about which the toolbox is stricter.
    """
    if read_only or no_dangerous:
        there = toolbox.gates or Gates()
        gates = Gates(
            read_only=there.read_only or read_only,
            allow_mutation=there.allow_mutation,
            allow_dangerous=there.allow_dangerous and not no_dangerous,
        )
        toolbox = attrs.evolve(toolbox, gates=gates)
    if mode is None:
        return toolbox
    wanted = ApprovalPolicy(mode)
    _require_no_looser(toolbox, wanted)
    return attrs.evolve(toolbox, approval_policy=wanted)


def _require_no_looser(toolbox: Toolbox, wanted: ApprovalPolicy) -> None:
    there = toolbox.approval_policy
    if there is None:
        return
    for tool in toolbox:
        before, after = there.judge(tool.definition), wanted.judge(tool.definition)
        if _LENIENT_FIRST.index(type(after)) < _LENIENT_FIRST.index(type(before)):
            would = "refuse" if isinstance(before, Deny) else "ask about"
            raise Unusable(
                f"--approval-mode {wanted.mode} is looser than the approval policy of the toolbox, which would {would} "
                f"{tool.name!r}; the command line can only be stricter"
            )
