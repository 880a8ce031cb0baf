"""What msgspec and the decoders say when a value can't become the Python type, and where in the value it happened."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from .._arguments import ArgumentIssue

_PLACE: Final = re.compile(r" - at (?:`key` in )?`\$(?P<path>[^`]*)`$")
_CODES: Final = (
    ("lone surrogate", "not-json"),
    ("unknown field", "unknown"),
    ("missing required field", "missing"),
    (", got ", "type"),
    ("Invalid enum value", "choice"),
    ("Expected ", "constraint"),
    ("Invalid ", "format"),
)
"""The code of an issue by what msgspec's message says; the first that fits."""


class Refused(ValueError):
    """Raised inside a conversion by a part that knows places inside its value. ``issues`` are relative to it."""

    def __init__(self, issues: Sequence[ArgumentIssue]) -> None:
        super().__init__("; ".join(issue.message for issue in issues))
        self.issues = tuple(issues)


def conversion_issues(error: BaseException, name: str = "") -> list[ArgumentIssue]:
    """The issues of an error of `msgspec.convert`. Their messages are without the path.

    *name* is the argument that was converted, when it was converted alone.
    """
    text = str(error)
    found = _PLACE.search(text)
    words = (text[: found.start()] if found else text).replace("`", "")
    inner, _, rest = found.group("path").partition("[...]") if found else ("", "", "")
    if rest or (found and found.group("path").endswith("[...]")):  # msgspec doesn't tell which member of a dict it was
        words = f"in one of its members: {words}"
    place = f"{name}{inner}" if name else inner.removeprefix(".")
    if isinstance(error.__cause__, Refused):
        return [_inside(place, issue) for issue in error.__cause__.issues]
    code = next((code for mark, code in _CODES if mark in words), "invalid")
    return [ArgumentIssue(place, code, words)]


def _inside(place: str, issue: ArgumentIssue) -> ArgumentIssue:
    dot = "." if place and issue.path and not issue.path.startswith("[") else ""
    return ArgumentIssue(f"{place}{dot}{issue.path}", issue.code, issue.message)


def placed(issue: ArgumentIssue) -> ArgumentIssue:
    """*issue* with its path in its message, as all that leave a contract have it."""
    words = f"`{issue.path}`: {issue.message}" if issue.path else f"the arguments: {issue.message}"
    return ArgumentIssue(issue.path, issue.code, words)
