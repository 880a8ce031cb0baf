"""The sentences that tell a model how its call ended.

What a model believes about a call decides what it does next, so each text says three things apart: whether the call
ran, what the world may have seen, and whether the call may be sent again. The first comes from ``attempts``, the
second from ``effect``, the third from ``retryable`` and the category; none is derived from another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, cast

from ..definitions import Effect, RequiredAction, ToolError, ToolResult
from ..definitions._plurals import counted

__all__ = ("NO_OUTPUT", "words_for", "words_for_error")

NO_OUTPUT: Final = "The tool ran and returned nothing."
"""Stands where a result has no text; providers refuse empty content."""

_NAME_SHOWN: Final = 128
"""Characters of a name or a code that are told: more than any provider lets a tool have."""

Ran = Literal["not-run", "ran"]

_NOT_RUN: Final[Mapping[str, str]] = {
    "validation": "its arguments are invalid",
    "permission": "it was refused",
    "not_found": "there is no such tool",
    "unavailable": "it is not available now",
    "conflict": "it conflicts with other work",
    "transient": "something failed for the moment before it could start",
    "timeout": "its time was up before it could start",
    "cancelled": "it was cancelled before it started",
    "internal": "something failed inside before it could start",
    "MALFORMED_CALL": "the call was malformed",
    "TRUNCATED_CALL": "the call was cut off before it was complete",
    "IDEMPOTENCY_KEY_REQUIRED": "it needs an idempotency key, and the call carries none",
    "POLICY_DENIED": "it was refused by policy",
    "GATE_DENIED": "it was refused, because this session does not allow such tools",
    "HUMAN_DENIED": "it was refused by a person",
    "HUMAN_TIMEOUT": "it needs the approval of a person, and nobody answered in time",
    "APPROVAL_INVALID": "what had allowed it does not count any more",
    "APPROVAL_UNAVAILABLE": "it needs an approval, and there is nobody here to ask",
    "AUTHORITY_REQUIRED": "the call carries no authority for it",
    "OVERLOADED": "too many calls are waiting",
    "LEDGER_UNAVAILABLE": "the record of past calls could not be reached",
    "BUDGET_EXCEEDED": "the budget of this run is used up",
    "RATE_LIMITED": "it was called too often",
    "GUARDRAIL_BLOCKED": "its arguments were refused by a safety check",
    "LOOP_BLOCKED": "the same call was repeated too often",
    "IDEMPOTENCY_CONFLICT": "its idempotency key was used before",
    "IDEMPOTENCY_CYCLE": "it would have to wait for itself",
    "CAPACITY_CYCLE": "it would have to wait for work that waits for it",
    "DEADLINE_EXCEEDED": "its deadline passed before it could start",
}
"""Why a call did not run: by code, else by category. Read after "did not run:"."""

_RAN: Final[Mapping[str, str]] = {
    "validation": "refused its input",
    "permission": "was refused permission",
    "not_found": "did not find what it was asked for",
    "unavailable": "could not use something that it needs",
    "conflict": "met a conflict",
    "transient": "failed for a passing reason",
    "timeout": "ran out of time",
    "cancelled": "was cancelled while it ran",
    "internal": "failed",
    "RATE_LIMITED": "was told to slow down",
    "GUARDRAIL_BLOCKED": "gave a result that a safety check held back",
    "CONNECTION_LOST": "lost its connection",
    "DEADLINE_EXCEEDED": "was still running at its deadline",
    "IDLE_TIMEOUT": "showed no progress for too long",
    "OUTPUT_INVALID": "returned something that cannot be shown",
    "WORKER_LOST": "was lost together with the process that it ran in",
    "TOOL_REPORTED_ERROR": "got an error from its server",
}
"""How a call that ran went wrong: by code, else by category. Read after the tool's name."""

_EFFECTS: Final[Mapping[tuple[Ran, Effect], str]] = {
    ("not-run", "none"): "Nothing was changed.",
    ("not-run", "unknown"): (
        "An earlier attempt of the same call may have taken effect. Do not simply repeat it; check first what happened."
    ),
    ("not-run", "completed"): "An earlier attempt of the same call has taken effect already. Do not repeat it.",
    ("ran", "none"): "It changed nothing.",
    ("ran", "unknown"): "It may have taken effect. Do not simply repeat it; check first what happened.",
    ("ran", "completed"): "It has taken effect; what failed came afterwards. Do not repeat it.",
}

_HEARSAY: Final[Mapping[str, str]] = {
    "TOOL_REPORTED_ERROR": (
        "That is what the server says. Whether it changed anything is not known here. Do not simply repeat it; check first "
        "what happened."
    ),
}
"""What is said, by code, where the words above are somebody else's, who is not taken at them, and may have claimed more."""

_SAFE_REPEATS: Final[Mapping[Effect, str]] = {
    "none": "The same call may be sent again.",
    "unknown": "It may have taken effect, but the same call may be sent again: it will not be done twice.",
    "completed": "It has taken effect, but the same call may be sent again: it will not be done twice.",
}
"""What a retryable error says in place of the warning."""

_ADVICE: Final[Mapping[str, str]] = {
    "validation": "Correct the call and send it again.",
    "permission": "Do not send the same call again unless something has changed.",
    "not_found": "Use one of the tools that were offered.",
    "MALFORMED_CALL": "",  # the defects say themselves what to do
    "TRUNCATED_CALL": "",
    "IDEMPOTENCY_KEY_REQUIRED": "Do not send the same call again unless something has changed.",
    "LOOP_BLOCKED": "Do something else.",
    "BUDGET_EXCEEDED": "Finish with what you have.",
}
"""What to do about a call that did not run and changed nothing: by code, else by category."""

_ACTIONS: Final[Mapping[str, str]] = {
    "approval": "it needs an approval first",
    "input": "it needs an answer from a person first",
    "resolution": "somebody has to find out first how an earlier attempt ended",
    "authorization": "an authorization is needed to show how an earlier attempt ended",
}

_ISSUES_SHOWN: Final = 20


def words_for(result: ToolResult[object]) -> str:
    """What to tell the model about *result*; never empty.

    A success is its own text. Everything else says whether the tool ran, what went wrong and where, what the world
    may have seen, and whether the call may be sent again.
    """
    match result.outcome:
        case "success":
            return result.text if result.text.strip() else NO_OUTPUT
        case "action_required":
            return _paused(result, result.action)
        case "error":
            error = result.error or ToolError("internal", "INTERNAL_ERROR", "")
            ran = result.attempts > 0
            return words_for_error(result.tool_name, error, result.effect, ran=ran, chunks=len(result.chunks))


def words_for_error(tool_name: str, error: ToolError, effect: Effect, *, ran: bool, chunks: int = 0) -> str:
    """What to tell the model about a call that ended with *error*; never empty.

    Args:
        tool_name: Empty when it is not known.
        error: How it ended.
        effect: What the world may have seen.
        ran: Whether the body was entered.
        chunks: How many pieces a stream had yielded.
    """
    subject = _subject(tool_name)
    reasons = _RAN if ran else _NOT_RUN
    why = reasons.get(error.code) or reasons[error.category]
    head = f"{subject} {why}" if ran else f"{subject} did not run: {why}"
    lines = [f"{head} ({_shortened(error.code)}).", *_reasons(error)]
    below = (error.details or {}).get("children")
    if isinstance(below, list) and below:
        lines.append(
            f"It had called {', '.join(map(str, cast('list[object]', below)))}, which was asked to stop as well."
        )
    if chunks:
        lines.append(f"It had produced {counted(chunks, 'piece of output', 'pieces of output')} before.")
    lines.append(_consequences("ran" if ran else "not-run", effect, error))
    return "\n".join(line for line in lines if line)


def _consequences(ran: Ran, effect: Effect, error: ToolError) -> str:
    if error.retryable:
        safe = _SAFE_REPEATS[effect]
        return f"{_EFFECTS[ran, effect]} {safe}" if effect == "none" else safe
    if (ran, effect) == ("ran", "unknown") and error.code in _HEARSAY:
        return _HEARSAY[error.code]
    if ran == "ran" or effect != "none":
        return _EFFECTS[ran, effect]
    advice = _ADVICE.get(error.code, _ADVICE.get(error.category, ""))
    return f"{_EFFECTS[ran, effect]} {advice}".strip()


def _paused(result: ToolResult[object], action: RequiredAction | None) -> str:
    why = _ACTIONS[action.type] if action is not None else "somebody has to act first"
    ran = _ran(result)
    head = "has not run yet" if ran == "not-run" and result.effect == "none" else "did not run again"
    head = "has stopped on its way" if ran == "ran" else head
    message = action.message.strip() if action is not None else ""
    pending = result.pending_approval
    lost = pending is not None and pending.binding is None and (ran, result.effect) == ("not-run", "none")
    rest = _NOT_RESUMABLE if lost else _PAUSED[ran, result.effect]
    return "\n".join(line for line in (f"{_subject(result.tool_name)} {head}: {why}.", message, rest) if line)


_NOT_RESUMABLE: Final = "Nothing was changed. Nothing goes on by itself here: do something else, or tell the user."
"""What is said of a call that nobody can resume, since nothing could be signed."""


_PAUSED: Final[Mapping[tuple[Ran, Effect], str]] = {
    ("not-run", "none"): "Nothing was changed. Do not send the call again; it goes on when that is done.",
    ("not-run", "unknown"): _EFFECTS["not-run", "unknown"],
    ("not-run", "completed"): _EFFECTS["not-run", "completed"],
    ("ran", "none"): "It has changed nothing so far. Do not send the call again; it goes on when that is done.",
    ("ran", "unknown"): "It may have taken effect already. Do not send the call again.",
    ("ran", "completed"): "It has taken effect in part already. Do not send the call again.",
}


def _ran(result: ToolResult[object]) -> Ran:
    return "ran" if result.attempts > 0 else "not-run"


def _subject(tool_name: str) -> str:
    return f"The tool {_shortened(tool_name)!r}" if tool_name else "The call"


def _shortened(name: str) -> str:
    return name if len(name) <= _NAME_SHOWN else f"{name[:_NAME_SHOWN]}..."


def _reasons(error: ToolError) -> list[str]:
    """The message, and the issues that it does not say already; a message that only lists them is left out."""
    message, issues = error.message.strip(), _issues(error.details)
    if message == "; ".join(issues):
        message = ""
    lines = [f"- {issue}" for issue in issues[:_ISSUES_SHOWN] if not message or issue not in message]
    if len(issues) > _ISSUES_SHOWN:
        lines.append(f"- and {len(issues) - _ISSUES_SHOWN} more")
    return [message, *lines]


def _issues(details: Mapping[str, object] | None) -> list[str]:
    issues = (details or {}).get("issues")
    return [_issue(entry) for entry in cast("Sequence[object]", issues)] if isinstance(issues, (list, tuple)) else []


def _issue(entry: object) -> str:
    if not isinstance(entry, Mapping):
        return str(entry)
    issue = cast("Mapping[str, object]", entry)
    path, message = str(issue.get("path") or ""), str(issue.get("message") or issue.get("code") or "is invalid")
    return message if path in message else f"{path}: {message}"
