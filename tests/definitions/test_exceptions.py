"""How the log names an exception: what it is and where it came from, never what it says."""

from __future__ import annotations

import logging
from types import TracebackType
from typing import NoReturn

import pytest

from armory_trio.definitions._exceptions import Withheld
from tests.requirements import requirement

SECRET = "Zy7-swordfish-4417"


def raised(raise_it: BaseException, cause: BaseException | None = None) -> BaseException:
    """An exception with a traceback, and a note."""
    try:
        throw(raise_it, cause)
    except BaseException as exc:  # noqa: ASYNC103, BLE001  # for the test
        exc.add_note(SECRET)
        return exc  # noqa: ASYNC104  # as said


def throw(raise_it: BaseException, cause: BaseException | None) -> NoReturn:
    """Raise it."""
    raise raise_it from cause


@requirement("logs.withheld")
def test_it_is_named_by_its_type_and_its_place_and_so_are_its_causes() -> None:
    exc = raised(ValueError(SECRET), raised(KeyError(SECRET), OSError(SECRET)))
    place = f"(test_exceptions.py:{throw.__code__.co_firstlineno + 2})"

    assert str(Withheld(exc)) == f"ValueError {place} from KeyError {place} from OSError"
    assert repr(Withheld(exc)) == str(Withheld(exc))


@requirement("logs.withheld")
def test_of_a_group_the_members_are_named_up_to_some() -> None:
    inner = ExceptionGroup(SECRET, [KeyError(SECRET)])
    exc = BaseExceptionGroup(SECRET, [KeyboardInterrupt(SECRET), inner, *(ValueError(SECRET) for _ in range(9))])

    assert str(Withheld(exc)) == (
        "BaseExceptionGroup of KeyboardInterrupt; KeyError; ValueError; ValueError; ValueError; ValueError; "
        "ValueError; ValueError; and 3 more"
    )


@requirement("logs.withheld")
def test_a_chain_and_a_nest_without_end_have_one_here() -> None:
    exc: ExceptionGroup[Exception] = ExceptionGroup(SECRET, [ValueError(SECRET)])
    nested = exc
    for _ in range(10_000):
        nested = ExceptionGroup(SECRET, [nested])
    exc.__cause__ = exc

    assert str(Withheld(exc)) == " from ".join(["ExceptionGroup of ValueError"] * 4)
    assert str(Withheld(nested)).startswith("ExceptionGroup of ValueError")


@requirement("logs.withheld")
def test_code_of_the_exception_s_own_does_not_run() -> None:
    asked: list[int] = []

    class Meta(type):
        def __getattribute__(cls, name: str) -> object:
            if name == "__qualname__":
                raise RuntimeError(SECRET)
            return super().__getattribute__(name)

    class Unspeakable(Exception, metaclass=Meta):
        def __str__(self) -> str:
            asked.append(1)
            return SECRET

        __repr__ = __str__

        @property
        def __traceback__(self) -> TracebackType | None:  # type: ignore[override]  # pyright: ignore[reportIncompatibleVariableOverride]
            asked.append(1)
            return None

    assert str(Withheld(Unspeakable())) == "an exception without a name"
    assert asked == []


@requirement("logs.withheld")
def test_who_is_allowed_to_finds_the_exception_in_the_record(caplog: pytest.LogCaptureFixture) -> None:
    exc = raised(ValueError(SECRET))
    with caplog.at_level(logging.WARNING):
        logging.getLogger("armory_trio.tests").warning("a hook raised: %s", Withheld(exc, frames=True))

    [record] = caplog.records
    assert record.getMessage().endswith(f"test_exceptions.py:{throw.__code__.co_firstlineno + 2} in throw")
    assert SECRET not in f"{record.getMessage()} {record.args}"
    assert record.args
    [withheld] = record.args
    assert isinstance(withheld, Withheld)
    assert withheld.exception is exc
