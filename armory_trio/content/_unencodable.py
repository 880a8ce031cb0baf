"""Why a result cannot be shown: the one error of the codec, and what would have been right."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Iterator
from typing import Final

import msgspec

from ..errors import ArmoryError

Step = str | int
"""One step of a path: the name of a member, or the index of an item."""

_LONGEST_NAME: Final = 60
"""Characters of a member's name that an error repeats: enough to find it, too few to flood a log."""

_SHOWN_STEPS: Final = 8
"""Steps that an error shows of each end of a long path."""

_CONVERTERS: Final = ("tolist", "to_dict", "to_pylist", "asdict", "isoformat")
"""Methods by which the common numeric, table and date libraries give plain values; an error names the first found."""


class UnencodableResult(ArmoryError):
    """A Python value has no faithful form that a model could read. The tool ran; only its result is lost.

    Args:
        path: Names and indices from the result to the place.
        type_name: The type of what stands there, with its module unless built in.
        reason: What is wrong with it, and what would be right.
    """

    __module__ = "armory_trio"

    def __init__(self, path: tuple[Step, ...], type_name: str, reason: str) -> None:
        super().__init__(f"the result cannot be shown: {path_text(path)} ({type_name}): {reason}")
        self.path = path
        self.type_name = type_name
        self.reason = reason


def path_text(path: tuple[Step, ...]) -> str:
    """A path in words: ``$`` is the result itself, ``$.rows[3]["two words"]`` a place inside it."""
    steps = [_step_text(step) for step in path]
    left_out = len(steps) - 2 * _SHOWN_STEPS
    if left_out > 0:
        steps[_SHOWN_STEPS:-_SHOWN_STEPS] = [f" ... {left_out} more ... "]
    return "$" + "".join(steps)


def _step_text(step: Step) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    if step.isidentifier() and len(step) <= _LONGEST_NAME:
        return f".{step}"
    short = step if len(step) <= _LONGEST_NAME else step[:_LONGEST_NAME] + "..."
    return f"[{short!a}]"


def type_name(value: object) -> str:
    """The name of the type of *value*, with its module unless built in."""
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def hint_for(value: object) -> str:
    """What would have been right in the place of *value*, a value of a type that has no form."""
    if isinstance(value, Awaitable):
        return "it was never awaited: await it in the tool and return what it gives"
    if isinstance(value, AsyncIterator):
        return "it was not read, for reading would use it up: collect it in the tool, or make the tool yield its items"
    if isinstance(value, Iterator):
        return "it was not read, for reading would use it up: return list(...) of it, or make the tool yield its items"
    if isinstance(value, type):
        return "it is a class, not a value: return an instance, or its name as a str"
    if isinstance(value, msgspec.Raw):
        return "return JsonContent(json=...) for text that is JSON already"
    for method in _CONVERTERS:
        if callable(getattr(type(value), method, None)):
            return f"it has no documented form: return what its {method}() gives"
    return (
        "it has no documented form: return a str, a number, a list, a dict, a dataclass, an attrs class, "
        "a msgspec Struct, a pydantic model or a content block, or str(...) of it"
    )
