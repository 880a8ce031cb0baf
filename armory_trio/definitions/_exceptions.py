"""Exceptions that others raise: what there is in their groups, and how the log names them without quoting them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import PurePath
from types import CodeType, TracebackType
from typing import Final, cast

_members: Final = cast("Callable[[BaseException], tuple[BaseException, ...]]", BaseExceptionGroup.exceptions.__get__)
_cause_of: Final = cast("Callable[[BaseException], BaseException | None]", vars(BaseException)["__cause__"].__get__)
_traceback_of: Final = cast(
    "Callable[[BaseException], TracebackType | None]", vars(BaseException)["__traceback__"].__get__
)
"""As they are, whatever a property in their place would say."""

_NAMED: Final = 8
"""Members of a group that are named; more are counted."""

_CHAINED: Final = 4
"""Causes that are named."""


def is_group(exc: BaseException) -> bool:
    """Whether it is a group, whatever it says of its class."""
    return issubclass(type(exc), BaseExceptionGroup)


def leaves(exc: BaseException) -> Iterator[BaseException]:
    """All exceptions in a group, however deep; the exception itself when it is none.

    Runs no code of theirs: neither what they say of their class nor a property in the place of the members.
    """
    waiting = [exc]
    while waiting:
        found = waiting.pop()
        if is_group(found):
            waiting.extend(reversed(_members(found)))
        else:
            yield found


class Withheld:
    """An exception among the arguments of a log line, which says of it what it is and where it was raised.

    Its words are left out: whatever raised it may have put a secret there, and so may what it read or was told. Who is
    allowed to see them finds the exception itself here, as ``configure_logging(exceptions=True)`` does.

    Args:
        exception: It.
        frames: Whether to say the way that it came, too: for bugs of ours.
    """

    __slots__ = ("_frames", "exception")

    def __init__(self, exception: BaseException, *, frames: bool = False) -> None:
        self.exception = exception
        self._frames = frames

    def __str__(self) -> str:
        named = " from ".join(map(_told, _chain(self.exception)))
        if not self._frames:
            return named
        return "\n  ".join(
            (named, *(f"{code.co_filename}:{line} in {code.co_name}" for code, line in _way(self.exception)))
        )

    __repr__ = __str__


def _chain(exc: BaseException) -> Iterator[BaseException]:
    """It, and what it was raised from."""
    found: BaseException | None = exc
    for _ in range(_CHAINED):
        if found is None:
            return
        yield found
        found = _cause_of(found)


def _told(exc: BaseException) -> str:
    if not is_group(exc):
        return _named(exc)
    members = list(leaves(exc))
    named = "; ".join(map(_named, members[:_NAMED]))
    more = f"; and {len(members) - _NAMED} more" if len(members) > _NAMED else ""
    return f"{_named(exc)} of {named}{more}"


def _named(exc: BaseException) -> str:
    last = next(reversed([*_way(exc)]), None)
    if last is None:
        return _name_of(exc)
    code, line = last
    return f"{_name_of(exc)} ({PurePath(code.co_filename).name}:{line})"


def _way(exc: BaseException) -> Iterator[tuple[CodeType, int]]:
    """The frames that it came through. Not their source, which may hold what is raised as well."""
    frame = _traceback_of(exc)
    while frame is not None:
        yield frame.tb_frame.f_code, frame.tb_lineno
        frame = frame.tb_next


def _name_of(exc: BaseException) -> str:
    try:
        return str(type(exc).__qualname__)
    except Exception:  # noqa: BLE001  # code of the class's own
        return "an exception without a name"
