"""What Claude Code asks before it calls a tool: of its own rules, through a hook, and of a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal, cast

from ...authority.policy import Edited, Paused, Refused, Rules
from ...content import words_for_error
from ...definitions import ToolCall, ToolDefinition, ToolId
from ...definitions._effects import EffectSpec, parse_effect
from ...errors import AdmissionClosed
from .._agent_approvals import answered_by_yes, error_for_foreign, judged, would_interrupt
from ._offer import Offer
from ._serving import CallServer

if TYPE_CHECKING:
    from claude_agent_sdk import (
        CanUseTool,
        HookContext,
        HookInput,
        HookJSONOutput,
        HookMatcher,
        PermissionResult,
        ToolPermissionContext,
    )
    from claude_agent_sdk.types import HookEvent

__all__ = ("Permissions",)

_PERSON: Final = "A person has to agree to this call."


class Permissions:
    """The hook and the callback of one offer.

    Args:
        offer: What is offered.
        calls: Makes the calls to which a person agreed.
        ask: Puts a call to a person.
        effects: What tools that are not ours do; None to leave them alone.
    """

    def __init__(
        self, offer: Offer, calls: CallServer, ask: CanUseTool | None, effects: Mapping[str, EffectSpec] | None
    ) -> None:
        self._offer = offer
        self._calls = calls
        self._ask = ask
        self._effects = effects

    @property
    def hooks(self) -> dict[HookEvent, list[HookMatcher]]:
        """For ``ClaudeAgentOptions(hooks=...)``; empty if there is nothing to say."""
        from claude_agent_sdk import HookMatcher  # noqa: PLC0415  # the package is looked for when tools are made

        if self._ask is None and self._effects is None:
            return {}
        ours = None if self._effects is not None else f"{self._offer.prefix}.*"
        return {"PreToolUse": [HookMatcher(ours, [self.before], on_failure="block")]}

    async def before(self, given: HookInput, tool_use_id: str | None, _context: HookContext) -> HookJSONOutput:
        """What the rules of the host say of a call. Cancelled: a hook of the host's that is awaited is."""
        if given["hook_event_name"] != "PreToolUse":
            return {}
        name, arguments = given["tool_name"], cast("dict[str, object]", given["tool_input"])
        if name.startswith(self._offer.prefix):
            asks = self._ask is not None and await self._asks(name, arguments, tool_use_id or "")
            return _decided("ask", _PERSON) if asks else {}
        return {} if self._effects is None else await self._foreign(name, arguments, tool_use_id or "")

    async def can_use_tool(
        self, name: str, arguments: dict[str, object], context: ToolPermissionContext
    ) -> PermissionResult:
        """Whether a call that Claude Code may not make by itself may be made. Cancelled: whoever is asked is."""
        from claude_agent_sdk import PermissionResultAllow, PermissionResultDeny  # noqa: PLC0415  # as above

        if name.startswith(self._offer.prefix):
            tool_use = context.tool_use_id or ""
            if self._ask is None or not await self._asks(name, arguments, tool_use):
                return PermissionResultAllow()  # what the rules say of it, the call itself is told
            answer = await self._ask(name, arguments, context)
            if isinstance(answer, PermissionResultAllow):
                changed = cast("dict[str, object] | None", answer.updated_input)
                self._calls.agree(tool_use, arguments if changed is None else changed)
            return answer
        if self._ask is None:
            return PermissionResultDeny(message="There is nobody here who could be asked.")
        return await self._ask(name, arguments, context)

    async def _asks(self, name: str, arguments: Mapping[str, object], tool_use: str) -> bool:
        """Whether a person has to agree to this call of one of our tools."""
        call = self._offer.call(name.removeprefix(self._offer.prefix), arguments, tool_use)
        try:
            return call is not None and await would_interrupt(self._offer.host, call, self._offer.options_of(tool_use))
        except AdmissionClosed:
            return False  # the call says so

    async def _foreign(self, name: str, arguments: Mapping[str, object], tool_use: str) -> HookJSONOutput:
        verdict = await self._verdict(name, ToolCall(name, arguments, tool_use))
        if verdict is None:
            return {}
        if isinstance(verdict, Paused) and self._ask is not None and answered_by_yes(verdict):
            return _decided("ask", verdict.pauses[0].ask.message)
        return _decided("deny", words_for_error(name, error_for_foreign(verdict), "none", ran=False))

    async def _verdict(self, name: str, call: ToolCall) -> Paused | Refused | Edited | None:
        host, effects = self._offer.host, self._effects or {}
        stated = parse_effect(effects[name]) if name in effects else None
        definition = ToolDefinition(ToolId(name), "", {"type": "object"}, effect=stated)
        toolbox, options = host.toolbox, self._offer.options_of(call.id)
        rules = Rules(gates=toolbox.gates, approval_policy=toolbox.approval_policy, policy=toolbox.policy)
        try:
            return await host.run(lambda: judged(rules, definition, call, options, [toolbox.policy_context]))
        except AdmissionClosed:
            return Refused("toolbox", "the program is shutting down")


def _decided(decision: Literal["ask", "deny"], reason: str) -> HookJSONOutput:
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": decision,
            "permissionDecisionReason": reason,
        }
    }
