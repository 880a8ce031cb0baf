"""The Berkeley function-calling data: what stands in its files, and the calls that its answers expect."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar, cast

import msgspec

CATEGORIES: Final = ("simple_python", "multiple", "parallel", "parallel_multiple")
OMITTABLE: Final = ""
"""Among the acceptable values of an argument this one says that it may be left out."""

T = TypeVar("T")


class DataMissing(Exception):
    """The data is not installed, or not what it was."""


class Definition(msgspec.Struct, frozen=True):
    """A function that a test entry offers. ``parameters`` are in the dialect of the data."""

    name: str
    description: str
    parameters: dict[str, object]


class Entry(msgspec.Struct, frozen=True):
    """One line of a file of questions."""

    id: str
    function: list[Definition]


class Answer(msgspec.Struct, frozen=True):
    """One line of a file of answers.

    Args:
        id: The entry that it answers.
        ground_truth: One object for each call, with its function's name as the only key; in it, the acceptable
            values of each argument.
    """

    id: str
    ground_truth: list[dict[str, dict[str, list[object]]]]


class ExpectedCall(msgspec.Struct, frozen=True):
    """One call of an answer, with one of the values that it accepts for each argument."""

    name: str
    arguments: dict[str, object]


class Case(msgspec.Struct, frozen=True):
    """One test entry: the functions that it offers, and the calls that are right."""

    id: str
    category: str
    definitions: list[Definition]
    calls: list[ExpectedCall]


def data_folder() -> Path:
    """Where the data is installed.

    Raises:
        DataMissing: It is not installed.
    """
    # The package is found without being imported: its code wants a hundred others, its data wants nothing.
    found = importlib.util.find_spec("bfcl_eval")
    for folder in (found.submodule_search_locations if found is not None else None) or ():
        return Path(folder) / "data"
    raise DataMissing(
        "the package bfcl-eval is not installed; `make demo` and `make test` do it, "
        "or: python -m pip install --no-deps -r requirements/data.txt"
    )


def load_cases(category: str) -> list[Case]:
    """The test entries of one of the `CATEGORIES`, in the order of the file.

    Raises:
        DataMissing: The data is not installed, a file of it is missing, or is not as expected.
    """
    name, folder = f"BFCL_v4_{category}.json", data_folder()
    entries = _lines(folder / name, Entry)
    answers = {answer.id: answer for answer in _lines(folder / "possible_answer" / name, Answer)}
    if answers.keys() != {entry.id for entry in entries}:
        raise DataMissing(f"{name}: questions and answers do not belong together")
    return [
        Case(entry.id, category, entry.function, [expected_call(call) for call in answers[entry.id].ground_truth])
        for entry in entries
    ]


def _lines(path: Path, kind: type[T]) -> list[T]:
    try:
        text = path.read_bytes()
        return msgspec.json.Decoder(kind).decode_lines(text)
    except (OSError, msgspec.DecodeError) as error:
        raise DataMissing(f"{path.name}: {error}; is another version of bfcl-eval installed?") from error


def expected_call(call: Mapping[str, Mapping[str, Sequence[object]]]) -> ExpectedCall:
    """The call that one object of an answer stands for: the first acceptable value of each argument.

    What may be left out is left out.

    Raises:
        DataMissing: It is no call, or an argument has no acceptable value at all.
    """
    if len(call) != 1:
        raise DataMissing(f"an answer names {len(call)} functions where one was expected")
    ((name, acceptable),) = call.items()
    return ExpectedCall(name, _chosen(acceptable))


def _chosen(acceptable: Mapping[str, Sequence[object]]) -> dict[str, object]:
    if hopeless := [name for name, values in acceptable.items() if not values]:
        raise DataMissing(f"an answer accepts no value at all for {hopeless[0]!r}")
    return {name: _plain(values[0]) for name, values in acceptable.items() if OMITTABLE not in values}


def _plain(value: object) -> object:
    """One acceptable value without the alternatives in it: the members of an object have some of their own."""
    if isinstance(value, dict):
        return _chosen(cast("Mapping[str, Sequence[object]]", value))
    if isinstance(value, list):
        return [_plain(item) for item in cast("list[object]", value)]
    return value
