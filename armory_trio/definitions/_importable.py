"""Whether another process finds a function by its name, and where."""

from __future__ import annotations

import inspect
import os
from types import FunctionType
from typing import cast

from ..errors import DefinitionError
from ._functions import kind_of, name_of
from ._options import Kind

_ASYNC: tuple[Kind, ...] = ("async", "async-generator")


def require_importable(subject: str, function: object) -> None:
    """Refuse what a worker process could not run: it imports a module, and takes a ``def`` function out of it.

    Raises:
        DefinitionError: *function* is no such function; the reason says what it is instead.
    """
    reason = _reason(function)
    if reason is not None:
        raise DefinitionError(subject, "placement", f"a worker process cannot run this: {reason}")


def importable_name(function: object) -> tuple[str, str]:
    """The module and the qualified name of a function that `require_importable` lets pass."""
    written = cast("FunctionType", function)
    return written.__module__, written.__qualname__


def _reason(function: object) -> str | None:
    if not hasattr(os, "killpg"):
        return "this system has no process groups, by which it would be killed"
    if kind_of(function) in _ASYNC:
        return "an async function runs in a task; write def to run it elsewhere"
    if not inspect.isfunction(function):
        return "it is no plain function (a partial, a method or an object); write a def that calls it"
    if name_of(function) is None:
        return "a lambda has no name to be found by; write a def"
    if "<locals>" in function.__qualname__:
        return "it is defined inside a function, so nobody else can find it; define it in the module"
    if function.__module__ == "__main__":
        return "it is defined in the program itself (__main__), which nobody can import; put it into a module"
    return None
