"""What became of a call that got no answer, or an error for one: in the words that results are told in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from ....content.truncation import truncate_error
from ....definitions import ToolError, ToolFailure
from ....definitions._call import Category
from ._bounds import ERROR

_NOT_RUN: Final[Mapping[int, tuple[Category, str]]] = {
    -32601: ("not_found", "NOT_FOUND"),
    -32602: ("validation", "INVALID_ARGUMENTS"),
}
"""Codes of JSON-RPC that say that a request was not carried out at all. -32600 and -32700 are not among them: they also
stand for answers that could not be read, and then nobody knows."""

_URL_WANTED: Final = -32042
"""The code with which a server wants a person to visit a page before it does anything."""

_SERVER_CODES: Final = range(-32099, -31999)
"""What JSON-RPC leaves to servers: their passing troubles, as far as anybody can tell."""

LOST: Final = "CONNECTION_LOST"
"""The code of a call whose connection broke."""

CHANGED: Final = "TOOL_CHANGED"
"""The code of a call whose tool is no longer the one that was imported."""

UNAVAILABLE: Final = "TOOL_UNAVAILABLE"
"""The code of a call for which there is no connection, or no word of the server about its tools."""

REFUSED: Final = "SERVER_REFUSED"
"""The code of a call that the server did not let in."""

REPORTED: Final = "TOOL_REPORTED_ERROR"
"""The code of a call that the tool itself, at the server, answered with an error."""


class Fault(msgspec.Struct, frozen=True):
    """Why a call has no value.

    Args:
        message: Words for the model.
        category: The kind.
        code: The precise reason.
        happened: Whether the server acted: False when it did not, None when nobody knows.
        retryable: Whether the call may be sent again, when nothing happened.
    """

    message: str
    category: Category
    code: str
    happened: Literal[False] | None = None
    retryable: bool | None = None
    details: Mapping[str, object] | None = None

    def failure(self) -> ToolFailure:
        """What the tool raises for it: no more words and details of the server's than `ERROR` lets through."""
        told = truncate_error(ToolError(self.category, self.code, self.message, details=self.details), ERROR)
        return ToolFailure(
            told.message,
            category=self.category,
            code=self.code,
            retryable=self.retryable,
            effect="unknown" if self.happened is None else "none",
            details=told.details,
        )


def lost(server: str, why: str, *, handed: bool) -> Fault:
    """The connection broke while a call was on its way."""
    if handed:
        message = f"the connection to {server!r} broke while the call ran there: {why}"
        return Fault(message, "transient", LOST, None)
    return Fault(f"the connection to {server!r} broke before the call was sent: {why}", "transient", LOST, False)


def error_answer(server: str, code: int, message: str, data: object) -> Fault:
    """The server answered with an error of JSON-RPC."""
    words = f"{server!r} answered with an error: {message or 'no message'} ({code})"
    details: dict[str, object] = {"code": code}
    if data is not None:
        details["data"] = data
    if code in _NOT_RUN:
        category, ours = _NOT_RUN[code]
        return Fault(words, category, ours, False, details=details)
    if code == _URL_WANTED:
        return Fault(words, "permission", REFUSED, False, details=details)
    if code in _SERVER_CODES:
        return Fault(words, "transient", "TRANSIENT_ERROR", None, details=details)
    return Fault(words, "internal", "INTERNAL_ERROR", None, details=details)
