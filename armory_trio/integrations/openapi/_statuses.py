"""What the status of a response means: for the caller, and for what the world has seen."""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Final, Literal

import msgspec

from ...definitions import Category

__all__ = ("Happened", "Meaning", "happened_by", "is_good", "meaning_of", "retry_after")


Happened = Literal["nothing", "done", "unknown"]
"""What has become of a change."""


class Meaning(msgspec.Struct, frozen=True):
    """What a status that is no success means.

    Args:
        category: The kind of error.
        code: The precise reason.
        happened: What became of an effect: ``nothing`` (the server refused before it), ``done`` (it was done, and the
            answer is elsewhere), or ``unknown``.
    """

    category: Category
    code: str
    happened: Happened


_MEANINGS: Final[Mapping[int, Meaning]] = {
    303: Meaning("unavailable", "REDIRECTED", "done"),
    307: Meaning("unavailable", "REDIRECTED", "nothing"),
    308: Meaning("unavailable", "REDIRECTED", "nothing"),
    400: Meaning("validation", "INVALID_ARGUMENTS", "nothing"),
    401: Meaning("permission", "CREDENTIALS_REFUSED", "nothing"),
    403: Meaning("permission", "ACCESS_DENIED", "nothing"),
    404: Meaning("not_found", "NOT_FOUND", "nothing"),
    407: Meaning("permission", "CREDENTIALS_REFUSED", "nothing"),
    408: Meaning("transient", "TRANSIENT_ERROR", "nothing"),
    409: Meaning("conflict", "CONFLICT", "nothing"),
    410: Meaning("not_found", "NOT_FOUND", "nothing"),
    412: Meaning("conflict", "CONFLICT", "nothing"),
    422: Meaning("validation", "INVALID_ARGUMENTS", "nothing"),
    423: Meaning("conflict", "CONFLICT", "nothing"),
    425: Meaning("transient", "TRANSIENT_ERROR", "nothing"),
    429: Meaning("transient", "RATE_LIMITED", "nothing"),
    501: Meaning("unavailable", "TOOL_UNAVAILABLE", "nothing"),
    502: Meaning("transient", "TRANSIENT_ERROR", "unknown"),
    503: Meaning("transient", "TRANSIENT_ERROR", "unknown"),
    504: Meaning("transient", "TRANSIENT_ERROR", "unknown"),
}
_BY_HUNDRED: Final[Mapping[int, Meaning]] = {
    3: Meaning("unavailable", "REDIRECTED", "unknown"),
    4: Meaning("validation", "INVALID_ARGUMENTS", "nothing"),
}
_OTHER: Final = Meaning("internal", "HTTP_ERROR", "unknown")

_LONGEST: Final = 24 * 3600.0
"""Seconds that a server may ask to wait; a longer wait is nobody's call any more."""


def is_good(status: int) -> bool:
    """Whether all went well."""
    return 200 <= status < 300


def meaning_of(status: int) -> Meaning:
    """What *status*, which is none of 200 to 299, means."""
    return _MEANINGS.get(status) or _BY_HUNDRED.get(status // 100, _OTHER)


def happened_by(status: int) -> Happened:
    """What has become of the change that a request with this answer asked for."""
    return "done" if is_good(status) else meaning_of(status).happened


def retry_after(value: str | None, date: str | None) -> float | None:
    """The seconds to wait that a server names; None if it names none that make sense.

    Args:
        value: Its ``Retry-After``: seconds, or a date.
        date: Its ``Date``: a date is compared with the server's own clock, not with ours.
    """
    if value is None:
        return None
    if value.strip().isascii() and value.strip().isdecimal() and len(value.strip()) < 10:
        return min(float(value), _LONGEST)
    try:
        wait = (parsedate_to_datetime(value) - parsedate_to_datetime(date or "")).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(wait, 0.0), _LONGEST)
