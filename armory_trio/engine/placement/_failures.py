"""Exceptions on their way from a worker to its host: described there, made again here."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final, Literal, cast

import msgspec
import trio

from ...definitions import ToolFailure
from ...definitions._exceptions import leaves
from ...errors import ExecutionAborted, ExecutionOver
from .._passing import is_lost_connection, is_passing
from ._frames import ROOM, Declared, Failure, packed_value, read_plain

_LONGEST: Final = 20_000
"""Characters of a text that cross: more than anybody reads, and little enough for any message."""

_MOST: Final = 16
"""Members of a group that cross."""

_DETAILS: Final = 2**18
"""Bytes that the details of a `ToolFailure` may have."""

_SPARE: Final = 2**12
"""Bytes of a message that failures leave to what is around them."""

_NAMELESS: Final = "Exception"

_Kind = Literal["plain", "timeout", "connection", "aborted", "over", "declared"]
_KINDS: Final[tuple[tuple[_Kind, Callable[[BaseException], bool]], ...]] = (
    ("aborted", lambda exc: isinstance(exc, ExecutionAborted)),
    ("over", lambda exc: isinstance(exc, ExecutionOver)),
    ("connection", is_lost_connection),
    ("timeout", is_passing),
)


class RemoteError(Exception):
    """An exception of a body in a worker process. Its class is called as the original's; its note is the traceback."""


_BASES: Final[Mapping[str, type[Exception]]] = {"timeout": TimeoutError, "connection": ConnectionError}
"""What a remote exception is as well, so that it is classified as the original would be."""


# -- in the worker


def described(exc: BaseException) -> list[Failure]:
    """*exc* in words, or the members of a group as far as a message has room for them. Never raises."""
    try:
        found = [leaf for leaf in leaves(exc) if not isinstance(leaf, trio.Cancelled)] or [exc]
    except BaseException:  # noqa: ASYNC103  # code of the user's, as everything below; there is no trio here
        found = [exc]  # noqa: ASYNC104  # as said
    failures: list[Failure] = []
    left = ROOM - _SPARE
    for leaf in found[:_MOST]:
        failure = _described(leaf)
        left -= len(msgspec.msgpack.encode(failure))
        if left < 0 and failures:
            break
        failures.append(failure)
    return failures


def _described(exc: BaseException) -> Failure:
    name, told, trace = name_of(exc), text_of(exc), _traceback_of(exc)
    try:
        if isinstance(exc, ToolFailure):
            return Failure("declared", name, told, trace, _declared(exc))
        return Failure(_kind_of(exc), name, told, trace)
    except BaseException:  # noqa: ASYNC103  # code of the exception's own, such as a property
        return Failure("plain", name, told, trace)  # noqa: ASYNC104  # as said


def _kind_of(exc: BaseException) -> _Kind:
    for kind, is_of_kind in _KINDS:
        if is_of_kind(exc):
            return kind
    return "plain"


def _declared(exc: ToolFailure) -> Declared:
    try:
        details = packed_value(None if exc.details is None else dict(exc.details), _DETAILS)
    except Exception as error:
        details = packed_value({"undelivered": _clipped(f"the details could not cross: {error}")}, _DETAILS)
    retryable = exc.retryable if isinstance(exc.retryable, bool) else None
    declared = Declared(exc.category, _clipped(str(exc.code)), retryable, exc.effect, details)
    # What its class checked when it was made may have been changed since.
    return msgspec.msgpack.decode(msgspec.msgpack.encode(declared), type=Declared)


def name_of(value: object) -> str:
    """The name of the class of *value*. Never raises."""
    with suppress(BaseException):  # a metaclass may run code of the user's
        return _clipped(type(value).__name__).replace("\0", "\\0") or _NAMELESS
    return _NAMELESS


def text_of(exc: BaseException) -> str:
    """What *exc* says, bounded; nothing if it raises. Never raises."""
    with suppress(BaseException):  # code of the user's
        return _clipped(str(exc))
    return ""


def _traceback_of(exc: BaseException) -> str:
    with suppress(BaseException):  # it asks the exception for its text, too
        return _clipped("".join(traceback.format_exception(exc)))
    return ""


def _clipped(text: str) -> str:
    """*text* as every encoding can write it, its middle left out when it is long."""
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]}\n... {len(text) - _LONGEST} characters ...\n{text[-_LONGEST // 2 :]}"
    return str.encode(text, "utf-8", "backslashreplace").decode()


# -- in the host


def readable(raw: msgspec.Raw) -> object:
    """What *raw* holds, as plain data; words instead of it when it cannot be read, which a worker prevents."""
    try:
        return read_plain(raw)
    except (msgspec.DecodeError, RecursionError) as exc:
        return {"undelivered": f"it could not be read: {exc}"}


def made_again(failures: list[Failure]) -> Exception:
    """The exception that *failures* describe, as the engine would have met it in its own process."""
    again = [_made_again(failure) for failure in failures]
    return again[0] if len(again) == 1 else ExceptionGroup("several errors in a worker process", again)


def _made_again(failure: Failure) -> Exception:
    exc = _of_kind(failure)
    if failure.traceback:
        exc.add_note(f"In the worker process:\n{failure.traceback}")
    return exc


def _of_kind(failure: Failure) -> Exception:
    declared = failure.declared
    if declared is not None:
        return ToolFailure(
            failure.text,
            category=declared.category,
            code=declared.code,
            retryable=declared.retryable,
            effect=declared.effect,
            details=cast("dict[str, object] | None", readable(declared.details)),
        )
    if failure.kind == "aborted":
        return ExecutionAborted(failure.text)
    if failure.kind == "over":
        return ExecutionOver(failure.text)
    base = _BASES.get(failure.kind)
    bases: tuple[type[Exception], ...] = (RemoteError,) if base is None else (RemoteError, base)
    again: Exception = type(failure.name, bases, {"__module__": __name__})(failure.text)
    return again
