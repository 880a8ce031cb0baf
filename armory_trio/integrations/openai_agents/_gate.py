"""A gate for tools that are not ours: the rules of the host's toolbox decide which of their calls may run."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final, Generic, TypeVar, cast

from agents import (
    FunctionTool,
    RunContextWrapper,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrail,
    ToolInputGuardrailData,
)

from ...authority.policy import Edited, Paused, Refused, Rules, standing
from ...content import words_for_error
from ...definitions import ToolCall, ToolDefinition, ToolError, ToolId
from ...definitions._checks import instance, members, named, near, shown
from ...definitions._effects import EffectSpec, parse_effect
from ...engine import CallOptions
from ...errors import DefinitionError
from ...providers.openai import parse_response_tool_calls
from .._agent_approvals import answered_by_yes, error_for_foreign, judged
from .._agent_tools import require_function_or_none, require_host
from ..asyncio_host import AsyncioHost

__all__ = ("gate_tools",)

_SUBJECT: Final = "gate_tools"

C = TypeVar("C")
"""What the program hands to its run as ``context``."""

NeedsApproval = bool | Callable[[RunContextWrapper[C], dict[str, object], str], Awaitable[bool]]


def gate_tools(
    host: AsyncioHost,
    tools: Iterable[FunctionTool],
    *,
    effects: Mapping[str, EffectSpec] | None = None,
    options: Callable[[RunContextWrapper[C]], CallOptions] | None = None,
    interrupt: bool = False,
) -> list[FunctionTool]:
    """*tools*, whose calls run only if the rules of the host's toolbox let them: gates, approval policy, policy hook.

    The answers are copies with a guardrail in front of their own ones. What may run is run by the SDK as before:
    without limits, ledger or effect. What may not run never begins, and the model is told so in words. Arguments that
    are no JSON object are refused; a hook that wants other arguments refuses.

    The rules are asked when a call comes, as they stand then. Of a tool whose effect is not stated nobody knows what it
    does: it counts as one that changes something outside, and an approval policy always asks about it.

    Args:
        host: The host.
        tools: Function tools of the SDK.
        effects: What they do, by their names: ``"read-only"``, or class and targets, as for `tool`.
        options: Answers on whose behalf a call is made, as for `agent_tools`; only ``owner_id`` and ``request_context``
            are read.
        interrupt: A call that a person has to agree to interrupts the run, and goes on when ``RunState.approve`` said
            so. By default it is refused, since there is nobody to ask. Where the toolbox has a policy hook, the SDK
            then asks by itself about calls whose arguments it would change, such as by filling in a default.

    Raises:
        DefinitionError: A tool is no function tool (those that run at the provider can't be kept from it), an effect is
            stated of no tool here or is none, or an argument has the wrong type.
    """
    require_host(_SUBJECT, host)
    require_function_or_none(_SUBJECT, "options", options)
    listed = members(_SUBJECT, "tools", tools, "function tools")
    for at, each in enumerate(listed):
        if not isinstance(each, FunctionTool):
            wanted = "must be a FunctionTool: what runs at the provider, or is a server of its own, can't be gated here"
            raise DefinitionError(_SUBJECT, f"tools[{at}]", f"{wanted}. This is {shown(each)}")
    foreign = cast("list[FunctionTool]", listed)
    stated = _stated(effects, [tool.name for tool in foreign])
    return [_Gate(host, _definition(tool, stated), options, interrupt=interrupt).around(tool) for tool in foreign]


def _stated(effects: Mapping[str, EffectSpec] | None, names: list[str]) -> Mapping[str, EffectSpec]:
    if effects is None:
        return {}
    instance(_SUBJECT, "effects", effects, Mapping)
    for name in effects:
        if name not in names:
            hint = near(name, names, 1)
            meant = f"; did you mean {hint[0]!r}?" if hint else ""
            raise DefinitionError(_SUBJECT, "effects", f"there is no tool {name!r} here{meant}")
    return effects


def _definition(tool: FunctionTool, stated: Mapping[str, EffectSpec]) -> ToolDefinition:
    with named(f"{_SUBJECT}: {tool.name!r}"):
        effect = parse_effect(stated[tool.name]) if tool.name in stated else None
        return ToolDefinition(ToolId(tool.name), tool.description, tool.params_json_schema, effect=effect)


class _Gate(Generic[C]):
    """What stands in front of one tool."""

    def __init__(
        self,
        host: AsyncioHost,
        definition: ToolDefinition,
        options: Callable[[RunContextWrapper[C]], CallOptions] | None,
        *,
        interrupt: bool,
    ) -> None:
        self._host = host
        self._definition = definition
        self._options = options
        self._interrupt = interrupt

    def around(self, tool: FunctionTool) -> FunctionTool:
        """A copy of *tool* behind this gate."""
        gated = copy.copy(tool)
        guardrail = ToolInputGuardrail[C](self._check, name=f"{_SUBJECT}: {tool.name}")
        gated.tool_input_guardrails = [guardrail, *(tool.tool_input_guardrails or ())]
        if self._interrupt:
            gated.needs_approval = self._asks(cast("NeedsApproval[C]", tool.needs_approval))
        return gated

    def _asks(self, own: NeedsApproval[C]) -> NeedsApproval[C]:
        """Whether a person is asked: because the tool says so itself, or because our rules do."""
        rules = self._rules()
        stands = standing(rules, self._definition)
        if own is True or isinstance(stands, Refused):
            return own
        if not rules.hooked:  # a function here would make the SDK ask about arguments that are left out
            return True if stands else own

        async def asks(context: RunContextWrapper[C], parameters: dict[str, object], call_id: str) -> bool:
            if callable(own) and await own(context, parameters, call_id):
                return True
            call = ToolCall(self._definition.name, parameters, call_id)
            verdict = await self._judge(call, context)
            return isinstance(verdict, Paused) and answered_by_yes(verdict)

        return asks

    async def _check(self, data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        context = cast("RunContextWrapper[C]", data.context)
        name, call_id = data.context.tool_name, data.context.tool_call_id
        item = {"type": "function_call", "call_id": call_id, "name": name, "arguments": data.context.tool_arguments}
        [call] = parse_response_tool_calls(item).calls
        if call.defect is not None:
            return self._refuse(ToolError("validation", call.defect.code, call.defect.message))
        verdict = await self._judge(call, context)
        if verdict is None:
            return ToolGuardrailFunctionOutput.allow()
        approved = self._interrupt and context.is_tool_approved(name, call_id)
        if approved and isinstance(verdict, Paused) and answered_by_yes(verdict):
            return ToolGuardrailFunctionOutput.allow()
        return self._refuse(error_for_foreign(verdict))

    async def _judge(self, call: ToolCall, context: RunContextWrapper[C]) -> Paused | Refused | Edited | None:
        options = CallOptions() if self._options is None else self._options(context)
        rules, context_of_host = self._rules(), self._host.toolbox.policy_context
        return await self._host.run(lambda: judged(rules, self._definition, call, options, [context_of_host]))

    def _rules(self) -> Rules:
        toolbox = self._host.toolbox
        return Rules(gates=toolbox.gates, approval_policy=toolbox.approval_policy, policy=toolbox.policy)

    def _refuse(self, error: ToolError) -> ToolGuardrailFunctionOutput:
        words = words_for_error(self._definition.name, error, "none", ran=False)
        return ToolGuardrailFunctionOutput.reject_content(words, {"code": error.code})
