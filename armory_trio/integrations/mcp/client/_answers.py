"""What a server sent in answer to a request over HTTP: judged before the session sees it, whichever way it came."""

from __future__ import annotations

from mcp_types import JSONRPCError, JSONRPCResponse

from ._faults import Fault
from ._messages import message_of, unmarked


def unusable(server: str, what: str) -> Fault:
    """The server got the request, and what came back is no answer to it: nobody knows what it did."""
    return Fault(f"{server!r} {what}", "internal", "OUTPUT_INVALID")


def too_long(server: str, most: int) -> Fault:
    """The same, of an answer that is not read to its end."""
    return unusable(server, f"sent an answer of more than {most:,} bytes")


def unreadable(server: str) -> Fault:
    """The same, of an answer that is no message."""
    return unusable(server, "sent an answer that cannot be read")


def answer_in(body: bytes, request_id: object, server: str) -> bytes | Fault:
    """The answer in *body* as the session can read it, or what is wrong with it."""
    body = unmarked(body)
    message, mended = message_of(body)
    if not isinstance(message, JSONRPCResponse | JSONRPCError):
        return unreadable(server)
    if str(message.id) != str(request_id):
        return unusable(server, "answered another request than the one that it got")
    try:
        return body if mended is None else written(message)
    except ValueError:  # it is nested deeper than the session can read
        return unreadable(server)


def error_in(body: bytes | None, request_id: object, *, is_telling: bool) -> JSONRPCError | None:
    """The error of JSON-RPC that the *body* of a refusal is, or None.

    One that names another of our requests is believed only where the status *is telling*: where it says by itself that
    this request was not carried out.
    """
    message = None if body is None else message_of(body)[0]
    if not isinstance(message, JSONRPCError):
        return None
    is_foreign = str(message.id).isdecimal() and str(message.id) != str(request_id)
    return None if is_foreign and not is_telling else message


def written(message: JSONRPCResponse | JSONRPCError) -> bytes:
    """*message* as a body.

    Raises:
        ValueError: It is nested too deep for that.
    """
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode()
