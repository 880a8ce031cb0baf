"""Background calls as a model and a host are told of them."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from ...definitions import BinaryContent, Category, Content, Effect, TextContent, ToolResult
from ...engine import AbortAnswer, Snapshot

BackgroundStatus = Literal["queued", "running", "stopping", "completed", "failed", "cancelled", "action_required"]
"""How far a background call is. The last four are ends."""

_NOTICE_TEXT: Final = 2_000
"""Characters of a result that a notice shows: it comes unasked, so it is short; the model can check for the rest."""


class BackgroundCall(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One background call, for a model.

    Args:
        id: What the other tools of the kit call it: its execution id.
        tool: The tool that runs.
        status: How far it is.
        seconds: Since it was started, or from its start to its end.
        percent: How far its tool says that it is, from 0 to 100.
        progress: What its tool last said about that.
        waits_for: What it waits for.
        code: Why it failed, in one word; the words follow as its result.
        effect: What the world may have seen, unless that is nothing.
        next_offset: Where to read on in a result that is longer than one answer.
        omitted: How many characters of the result follow after this answer.
        note: What else the model should know.
    """

    id: str
    tool: str
    status: BackgroundStatus
    seconds: float
    percent: float | None = None
    progress: str | None = None
    waits_for: str | None = None
    code: str | None = None
    effect: Effect = "none"
    next_offset: int | None = None
    omitted: int = 0
    note: str | None = None


class BackgroundAbort(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What asking a background call to stop did, for a model.

    Args:
        id: The call.
        answer: ``not-started`` (it never ran), ``requested``, ``already-requested`` or ``already-ended``.
        status: How far it is now.
        honoured: Whether it stopped because of that. None while it has not ended.
        effect: What the world may have seen, unless that is nothing.
        note: The same in words.
    """

    id: str
    answer: AbortAnswer
    status: BackgroundStatus
    honoured: bool | None
    effect: Effect = "none"
    note: str


class BackgroundNotice(msgspec.Struct, frozen=True, kw_only=True):
    """A background call has ended, for a host.

    Args:
        execution_id: The call; what the model calls it, too.
        tool_name: The tool that ran.
        owner_id: Whose call it was.
        result: How it ended, exactly.
        seen: Whether the model has been given the result already, by a tool of the kit.
    """

    execution_id: str
    tool_name: str
    owner_id: str | None
    result: ToolResult[object]
    seen: bool


def notice_text(notice: BackgroundNotice, *, max_text: int = _NOTICE_TEXT) -> str:
    """*notice* in words, for the history of the model.

    Args:
        notice: What has ended.
        max_text: Characters of the result that are shown.

    Raises:
        ValueError: *max_text* is negative.
    """
    if max_text < 0:
        raise ValueError(f"max_text={max_text!r}: give 0 or more")
    result = notice.result
    error = result.error
    how = ended_as(result.outcome, None if error is None else error.category).replace("_", " ")
    shown, left = cut(words_of(result), 0, max_text)
    more = f"\n[{left} more characters: use check_background]" if left else ""
    return f"Background call {notice.execution_id} of {notice.tool_name} has ended: {how}.\n{shown}{more}"


def status_of(snapshot: Snapshot) -> BackgroundStatus:
    """How far the execution is that *snapshot* shows."""
    match snapshot.state:
        case "queued":
            return "queued"
        case "active" | "streaming" | "waiting":
            return "running"
        case "abort-requested" | "cleanup-pending":
            return "stopping"
        case "terminal" | "unknown-effect":
            return ended_as(snapshot.outcome, snapshot.error_category)


def ended_as(outcome: str | None, category: Category | None) -> BackgroundStatus:
    """The word for how a call ended."""
    if outcome == "success":
        return "completed"
    if outcome == "action_required":
        return "action_required"
    return "cancelled" if category == "cancelled" else "failed"


def words_of(result: ToolResult[object]) -> str:
    """All the words of *result*."""
    return result.text


def cut(text: str, offset: int, most: int) -> tuple[str, int]:
    """At most *most* characters of *text* from *offset* on, and how many follow after these."""
    return text[offset : offset + most], max(0, len(text) - offset - most)


def content_from(result: ToolResult[object], offset: int, most: int) -> tuple[tuple[Content, ...], int]:
    """The content of *result* from character *offset* on, and how many characters follow.

    As long as it fits it is the content as it is. Pictures, sounds and other bytes come with the first part.
    """
    text = words_of(result)
    if not offset and len(text) <= most:
        return result.content, 0
    part, left = cut(text, offset, most)
    media = () if offset else tuple(each for each in result.content if isinstance(each, BinaryContent))
    return (*((TextContent(part),) if part else ()), *media), left
