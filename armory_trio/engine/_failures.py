"""What went wrong, read from exceptions: by their type, never by their words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, cast

import trio

from ..definitions import (
    DEFAULT_CODES,
    ArgumentIssue,
    OutputInvalid,
    ToolError,
    ToolExecutionError,
    ToolFailure,
    ToolResult,
)
from ..definitions._exceptions import leaves
from ._execution import Record

PASSING: Final = ("transient", "timeout")
"""Categories of what may go well another time."""

_TOLD_AT_MOST: Final = 8
"""Members of an exception group that are named; more are counted."""


class StrayCancelled(Exception):
    """A tool raised a ``trio.Cancelled`` of no scope that is cancelled here: one that it kept from elsewhere."""


def without_wrapping(exc: BaseException) -> BaseException:
    """The exception that a person would name: the only leaf of a group that is no cancellation."""
    own = [leaf for leaf in leaves(exc) if not issubclass(type(leaf), trio.Cancelled)]
    return own[0] if len(own) == 1 else exc


def error_of(exc: BaseException, record: Record) -> ToolError:
    """Classify *exc* by its type; never by its words."""
    if isinstance(exc, ToolFailure):
        if exc.category not in DEFAULT_CODES or not isinstance(exc.code, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # what its class checked can be changed
            raise ValueError(f"a ToolFailure of category {exc.category!r} with code {exc.code!r}")
        details = None if exc.details is None else dict(exc.details)
        retryable = exc.category in PASSING if exc.retryable is None else exc.retryable
        message = sayable(lambda: exc.message) or exc.code
        return ToolError(exc.category, exc.code, message, retryable, details)
    if isinstance(exc, StrayCancelled):
        return ToolError("internal", "STRAY_CANCELLED", str(exc))
    if _is_unencodable(exc):
        return ToolError("internal", "OUTPUT_INVALID", str(exc))
    if isinstance(exc, OutputInvalid):
        return unfit(exc)
    from ._passing import is_lost_connection, is_passing  # noqa: PLC0415  # loaded by the first failure

    message = undeclared(record, description_of(exc))
    if is_lost_connection(exc):
        return ToolError("transient", "CONNECTION_LOST", message, retryable=True)
    if is_passing(exc):
        return ToolError("transient", "TRANSIENT_ERROR", message, retryable=True)
    return ToolError("internal", "INTERNAL_ERROR", message)


def _is_unencodable(exc: BaseException) -> bool:
    from ..content import UnencodableResult  # noqa: PLC0415  # loaded by the first result

    return isinstance(exc, UnencodableResult)


def readable_error_of(exc: BaseException, record: Record) -> ToolError:
    """`error_of` what a person would name of *exc*, whatever code of the exception's own raises."""
    try:
        return error_of(without_wrapping(exc), record)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: ASYNC103  # code of the exception's own, such as a property; nothing is awaited
        return unreadable(record, exc)  # noqa: ASYNC104  # as said


def unreadable(record: Record, exc: BaseException) -> ToolError:
    """What is told of *exc* when code of its own keeps it from being read."""
    message = undeclared(record, f"{_name_of(exc)}: it cannot be read, for code of its own raises")
    return ToolError("internal", "INTERNAL_ERROR", message)


def undeclared(record: Record, message: str) -> str:
    """*message*, which tells of an exception that nobody declared; or a generic line, where strangers may read it."""
    if record.core.settings.error_detail == "declared" or _is_discreet(record):
        return f"The tool failed ({record.id}); its operator can look the reason up."
    return message


def _is_discreet(record: Record | None) -> bool:
    """Whether the call, or one that it is part of, asked for generic lines."""
    while record is not None:
        if record.options.error_detail == "declared":
            return True
        record = record.parent
    return False


def description_of(exc: BaseException) -> str:
    """Type and text of *exc*; of all its members when it is a group."""
    members = [leaf for leaf in leaves(exc) if not issubclass(type(leaf), trio.Cancelled)]
    if len(members) > 1:
        named = "; ".join(description_of(leaf) for leaf in members[:_TOLD_AT_MOST])
        more = f"; and {len(members) - _TOLD_AT_MOST} more" if len(members) > _TOLD_AT_MOST else ""
        return f"{len(members)} errors: {named}{more}"
    name = _name_of(exc)
    text = sayable(lambda: str(exc))
    return f"{name}: {text}" if text else name


def _name_of(exc: BaseException) -> str:
    return sayable(lambda: type(exc).__name__) or "an exception without a name"


def sayable(text: Callable[[], str]) -> str:
    """Words of the user's, as every encoder takes them; none if they cannot be made.

    Half a character, as in the name of a file that is no text, is spelled out.
    """
    try:
        return str.encode(text(), "utf-8", "backslashreplace").decode()
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: ASYNC103  # code of the user's; nothing is awaited
        return ""  # noqa: ASYNC104  # as said


def unfit(exc: OutputInvalid) -> ToolError:
    """What is told of a value that the tool did not promise."""
    return ToolError(
        "internal", "OUTPUT_INVALID", f"the tool returned what it did not promise: {exc}", details=issues_of(exc.issues)
    )


def issues_of(issues: Sequence[ArgumentIssue]) -> dict[str, object]:
    """The details of an error that lists *issues*."""
    return {"issues": [{"path": issue.path, "code": issue.code, "message": issue.message} for issue in issues]}


def waited_for(ended: object) -> ToolResult[object] | None:
    """The result that a body handed on unread, raised or answered, because it needs somebody's action; or None."""
    # By type alone: what a body ends with may have code of its own.
    found = without_wrapping(cast("BaseException", ended)) if issubclass(type(ended), BaseException) else ended
    if type(found) is ToolExecutionError:
        found = found.result
    if type(found) is not ToolResult:
        return None
    result = cast("ToolResult[object]", found)
    return result if result.outcome == "action_required" and result.action is not None else None
