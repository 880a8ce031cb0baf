"""Everything that a tool can throw."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, NoReturn, cast

import trio


class Base(BaseException):
    """Derived from what nobody catches."""


class NoText(Exception):
    def __str__(self) -> str:
        raise SystemExit(4)


class NoRepr(Exception):
    def __repr__(self) -> str:
        raise ValueError("no repr")


class NotEvenText(Exception):
    def __str__(self) -> str:
        return cast("str", 7)


class NeverEqual(Exception):
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise ValueError("no comparison")


class NeverTrue(Exception):
    def __bool__(self) -> bool:
        raise ValueError("no truth")


class NeverMade(Exception):
    def __init__(self) -> None:
        raise LookupError("not made")


class Unnamed(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override]  # pyright: ignore[reportIncompatibleVariableOverride]
        raise ValueError("no name")


class OfNoName(Exception, metaclass=Unnamed):
    pass


class NoAttributes(Exception):
    def __getattribute__(self, name: str) -> object:
        if name in ("args", "message", "effect", "category"):
            raise ValueError("no attributes")
        return super().__getattribute__(name)


def _recursive() -> BaseException:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    first.__context__, second.__context__ = second, first
    return first


def _noted() -> BaseException:
    exc = ValueError("with notes")
    exc.add_note("x" * 100_000)
    return exc


def _mixed() -> BaseException:
    inner = BaseExceptionGroup("inner", [SystemExit(1), GeneratorExit(), asyncio.CancelledError()])
    return BaseExceptionGroup("outer", [ValueError("one"), inner, NoText()])


def _never_made() -> NoReturn:
    raise NeverMade


def _stray() -> BaseException:
    """A cancellation kept from a scope that is gone."""
    return _STRAYS[0]


_STRAYS: Final[list[trio.Cancelled]] = []


async def keep_a_stray() -> None:
    """Get hold of a cancellation."""
    with trio.CancelScope() as scope:
        scope.cancel()
        try:
            await trio.lowlevel.checkpoint()
        except trio.Cancelled as exc:
            _STRAYS[:] = [exc]


THROWN: Final[dict[str, Callable[[], BaseException]]] = {
    "Exception": lambda: ValueError("no"),
    "without text": KeyError,
    "BaseException": lambda: Base("no"),
    "SystemExit": lambda: SystemExit(3),
    "GeneratorExit": GeneratorExit,
    "StopIteration": lambda: StopIteration(7),
    "StopAsyncIteration": StopAsyncIteration,
    "CancelledError": asyncio.CancelledError,
    "MemoryError": MemoryError,
    "RecursionError": lambda: RecursionError("too deep"),
    "no text": NoText,
    "text that is none": NotEvenText,
    "no repr": lambda: NoRepr("told"),
    "no comparison": NeverEqual,
    "no truth": NeverTrue,
    "no name": OfNoName,
    "no attributes": NoAttributes,
    "never made": _never_made,
    "huge": lambda: ValueError("x" * 3_000_000),
    "half a character": lambda: ValueError("\ud800 is half of one"),
    "recursive": _recursive,
    "noted": _noted,
    "group of one": lambda: ExceptionGroup("one", [ValueError("no")]),
    "group": lambda: ExceptionGroup("two", [ValueError("no"), KeyError("no")]),
    "mixed group": _mixed,
    "group of the nameless": lambda: ExceptionGroup("", [OfNoName(), NoText(), NeverEqual()]),
    "stray": _stray,
    "group of strays": lambda: BaseExceptionGroup("kept", [_stray(), _stray()]),
    "stray beside": lambda: BaseExceptionGroup("kept", [_stray(), ValueError("no")]),
}
"""By name, what makes one of each."""
