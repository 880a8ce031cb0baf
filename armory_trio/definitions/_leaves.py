"""What there is in an exception group."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, cast

_members: Final = cast("Callable[[BaseException], tuple[BaseException, ...]]", BaseExceptionGroup.exceptions.__get__)


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
