"""Hosts are opened with the options of a supervisor, whatever those are."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper, wraps
from typing import ForwardRef, ParamSpec, TypeVar

from ._inside import Opening

P = ParamSpec("P")
H = TypeVar("H")


def opened_like(opener: Callable[P, Opening]) -> Callable[[Callable[[Opening], H]], Callable[P, H]]:
    """Give a function that opens a host round a supervisor the parameters of *opener*, which makes the supervisor."""

    def decorate(open_host: Callable[[Opening], H]) -> Callable[P, H]:
        def open_with_options(*args: P.args, **kwargs: P.kwargs) -> H:
            return open_host(opener(*args, **kwargs))

        named = update_wrapper(open_with_options, open_host, updated=())
        opened = ForwardRef(open_host.__annotations__["return"], module=open_host.__module__)
        named.__annotations__ = {**opener.__annotations__, "return": opened}
        return wraps(opener, assigned=(), updated=())(named)  # what `inspect.signature` follows

    return decorate
