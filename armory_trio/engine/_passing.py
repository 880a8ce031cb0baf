"""Which exceptions speak of something that passes: by their type and their number, never by their words."""

from __future__ import annotations

import errno
import socket
from typing import Final

import trio

from ..definitions._exceptions import leaves

_CONNECTION_ERRORS: Final = (ConnectionError, trio.BrokenResourceError)
_UNREACHABLE: Final = frozenset((errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTDOWN, errno.EHOSTUNREACH))
"""What an `OSError` says by its number that has no class of its own."""


def is_lost_connection(exc: BaseException) -> bool:
    """Whether *exc* says that a connection broke or that there was none to be had."""
    return _is_connection_error(exc) or _could_not_connect(exc)


def is_passing(exc: BaseException) -> bool:
    """Whether *exc* says that something took too long, or that a name cannot be looked up now."""
    if isinstance(exc, TimeoutError | trio.TooSlowError):
        return True
    return isinstance(exc, socket.gaierror) and exc.errno == socket.EAI_AGAIN


def _is_connection_error(exc: BaseException) -> bool:
    return isinstance(exc, _CONNECTION_ERRORS) or (isinstance(exc, OSError) and exc.errno in _UNREACHABLE)


def _could_not_connect(exc: BaseException) -> bool:
    """Whether *exc* is like that of `trio.open_tcp_stream`: an `OSError` of no number, caused by that of each attempt."""
    if not isinstance(exc, OSError) or exc.errno is not None or exc.__cause__ is None:
        return False
    return all(_is_connection_error(attempt) for attempt in leaves(exc.__cause__))
