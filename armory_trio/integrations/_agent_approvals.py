"""Questions about calls that are put to a person by an agent framework, in its own way, and the answers."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Final, cast

from ..authority.policy import Edited, Paused, PolicyRequest, Refused, Rules, judge
from ..definitions import (
    PendingApproval,
    RequestContext,
    ToolCall,
    ToolDefinition,
    ToolError,
    ToolResult,
    canonical_text,
)
from ..definitions._exceptions import Withheld
from ..definitions._policy import PolicyContext
from ..engine import CallOptions
from ..engine._plan import rules_of
from ..errors import AdmissionClosed, ApprovalError, GrantError, JsonError
from ..toolbox import Toolbox
from ..toolbox._resolution import AnyTool
from ._agent_tools import refusal
from .asyncio_host import AsyncioHost

__all__ = (
    "answered_by_yes",
    "can_be_resumed",
    "error_for_foreign",
    "judged",
    "may_ask",
    "resume",
    "run_agreed",
    "same_json",
    "would_interrupt",
)

_log: Final = logging.getLogger("armory_trio.integrations")

_QUESTIONS: Final = 16
"""Questions about one call that one yes answers; a policy that words each anew would never end."""


# ── before a call ────────────────────────────────────────────────────────────────────────────────────────────────────


async def judged(
    rules: Rules,
    definition: ToolDefinition,
    call: ToolCall,
    options: CallOptions,
    contexts: Iterable[PolicyContext | None],
) -> Paused | Refused | Edited | None:
    """What *rules* say of a call; None for no objection. Runs on trio's side, and runs no tool.

    A policy that can't be asked denies, as in the call itself. Cancelled: a hook that is being awaited is.

    Args:
        rules: What it is judged by.
        definition: Its tool.
        call: The call, with the arguments that would run.
        options: Those of the call.
        contexts: What the host keeps for its policies; a later one stands over an earlier one.
    """
    behalf, owner = options.get("request_context"), options.get("owner_id")
    try:
        request = PolicyRequest(
            definition,
            call.arguments,
            call_id=call.id,
            owner_id=behalf.owner if owner is None and behalf is not None else owner,
            request_context=behalf,
            context={name: value for each in contexts for name, value in _values_of(each).items()},
        )
    except Exception as error:  # noqa: BLE001  # code of the host's, which must not end the agent's run
        _log.warning("the policy could not be asked about %s: %s", definition.name, Withheld(error))
        return Refused("toolbox", f"Policy denied: it could not be asked ({type(error).__name__})", error)
    judgement = await judge(rules, request)
    return judgement if isinstance(judgement, Paused | Refused | Edited) else None


def answered_by_yes(paused: Paused) -> bool:
    """Whether a person who just says yes answers all of it, and nobody asks for something that is missing."""
    return all(pause.ask.kind == "approval" for pause in paused.pauses)


def error_for_foreign(verdict: Paused | Refused | Edited) -> ToolError:
    """Why a call of a tool that is not ours may not run: *verdict*, and nobody can be asked."""
    match verdict:
        case Refused():
            return ToolError("permission", verdict.code, verdict.reason)
        case Paused():
            return ToolError("permission", "APPROVAL_UNAVAILABLE", verdict.pauses[0].ask.message)
        case Edited():
            reason = "the policy wants other arguments, and a tool that is not ours runs with those that were sent"
            return ToolError("permission", "POLICY_DENIED", reason)


def _values_of(given: PolicyContext | None) -> Mapping[str, object]:
    found = given() if callable(given) else given
    if found is None:
        return {}
    if not isinstance(cast("object", found), Mapping):
        raise TypeError(f"policy_context answered {found!r}, which is no mapping")
    return found


def may_ask(host: AsyncioHost, tool: AnyTool) -> bool:
    """Whether anybody in the host's toolbox has anything to say about calls of *tool*."""
    return rules_of(tool, host.toolbox) is not None


async def would_interrupt(host: AsyncioHost, call: ToolCall, options: CallOptions) -> bool:
    """Whether a person has to agree to *call* before it runs, and can do so by a plain yes. Nothing is run.

    What can't be told, because the arguments do not fit or a hook fails, is no question: the call itself says so.

    Cancelled: a hook that is being awaited is.

    Raises:
        AdmissionClosed: The host is closed.
    """
    toolbox = host.toolbox
    tool = toolbox.get(call.name)
    rules = None if tool is None else rules_of(tool, toolbox)
    if tool is None or rules is None:
        return False
    paused = await host.run(lambda: _paused(toolbox, tool, rules, call, options))
    if paused is None or not answered_by_yes(paused):
        return False
    try:
        granted = await _may_be_granted(host, call, options)
    except GrantError:  # without keys: nothing could go on after a yes, and the call says so
        return False
    except AdmissionClosed:
        raise
    except Exception as error:  # noqa: BLE001  # a store of the host's; without an answer from it a person is asked
        _log.warning("the grants could not be looked through for %s: %s", call.name, Withheld(error))
        granted = False
    return not (granted and all(pause.tier == "capability" for pause in paused.pauses))


async def _paused(toolbox: Toolbox, tool: AnyTool, rules: Rules, call: ToolCall, options: CallOptions) -> Paused | None:
    arguments = await _effective(tool, call.arguments)
    if arguments is None:
        return None
    seen = ToolCall(call.name, arguments, call.id)
    contexts = (toolbox.policy_context, tool.options.policy_context)
    judgement = await judged(rules, tool.definition, seen, options, contexts)
    return judgement if isinstance(judgement, Paused) else None


async def _effective(tool: AnyTool, arguments: Mapping[str, object]) -> Mapping[str, object] | None:
    """What would run if no hook edits it: validated, defaults filled in. None if they do not fit."""
    contract = tool.contract
    try:
        validated = await contract.validate_async(arguments) if contract.awaits else contract.validate(arguments)
        return contract.dump(validated)
    except Exception:  # noqa: BLE001  # a validator may be code of the user's: the call itself meets what it raises
        return None


async def _may_be_granted(host: AsyncioHost, call: ToolCall, options: CallOptions) -> bool:
    """Whether somebody said yes in advance to such calls. Whether to this one, the call itself finds out.

    Raises:
        GrantError: The host has no keys.
    """
    behalf = options.get("request_context") or RequestContext()
    states = await host.list_grants(principal=behalf.principal, tenant=behalf.tenant, tool_name=call.name)
    return any(
        state.uses_remaining > 0
        and not state.revoked
        and (state.grant.principal, state.grant.tenant) == (behalf.principal, behalf.tenant)
        and state.grant.agent in (behalf.agent, "*")
        for state in states
    )


# ── after a yes ──────────────────────────────────────────────────────────────────────────────────────────────────────


def can_be_resumed(result: ToolResult[object]) -> bool:
    """Whether *result* is that of a call that waits for a person, and goes on once one agreed."""
    pending = result.pending_approval
    return result.outcome == "action_required" and pending is not None and pending.signature is not None


async def resume(
    host: AsyncioHost,
    call: ToolCall,
    pending: PendingApproval,
    options: CallOptions,
    *,
    arguments: Mapping[str, object] | None = None,
) -> ToolResult[object]:
    """Go on with *call*, which waits as *pending* says. An approval that does not count is an error result.

    Cancelled: the execution is aborted, and waited for at most 0.05 s.

    Raises:
        AdmissionClosed: The host takes no new work.
    """
    try:
        waited = pending.within[0].call_id if pending.within else pending.call_id
        if waited != call.id:
            raise ApprovalError("mismatch", f"it was given for the call {waited!r}, and this is {call.id!r}")  # noqa: TRY301
        return await host.resume_approval(pending, arguments=arguments, **options)
    except ApprovalError as error:
        return refusal(call, error)


async def run_agreed(
    host: AsyncioHost, call: ToolCall, options: CallOptions, begun: ToolResult[object] | None = None
) -> ToolResult[object]:
    """Run *call*, to which a person agreed who saw these arguments.

    What they said counts only if just this would run, defaults filled in. Where a hook made other arguments of them, or
    a step of a composed tool asks, the result still waits.

    Cancelled: the execution is aborted, and waited for at most 0.05 s.

    Args:
        host: The host.
        call: The call, with the arguments that the person saw.
        options: Those of a call.
        begun: How it went so far, if it was made already.

    Raises:
        AdmissionClosed: The host takes no new work.
    """
    result = await host.execute(call, **options) if begun is None else begun
    for _ in range(_QUESTIONS):
        pending = result.pending_approval
        if pending is None or not can_be_resumed(result):
            break
        tool = host.toolbox.get(call.name)
        if tool is None or tool.id.text != pending.tool_id:  # of a composed tool a step asks, which nobody saw
            break
        if not await _is_same(host, tool, call, pending):
            break
        result = await resume(host, call, pending, options)
    return result


async def _is_same(host: AsyncioHost, tool: AnyTool, call: ToolCall, pending: PendingApproval) -> bool:
    if pending.question.action.type != "approval":
        return False
    seen = await host.run(lambda: _effective(tool, call.arguments))
    return seen is not None and same_json(seen, pending.arguments)


def same_json(one: object, other: object) -> bool:
    """Whether two values say the same in JSON: 1 is no ``true``. What is no JSON is like nothing."""
    try:
        return canonical_text(one, mode="exact") == canonical_text(other, mode="exact")
    except JsonError:
        return False
