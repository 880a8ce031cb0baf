"""Arguments that Gemini streams value by value, each with the path of its place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Final, cast

from ..definitions import DEFAULT_LIMITS
from ._message import field, word_or_none
from ._text import paired

__all__ = ("PartialArguments",)

_STEP: Final = re.compile(
    r"""\.([A-Za-z_\u0080-\U0010ffff][\w\u0080-\U0010ffff]*)"""
    r"""|\[([0-9]{1,9})\]"""
    r"""|\['((?:[^'\\]|\\.)*)'\]"""
    r"""|\["((?:[^"\\]|\\.)*)"\]"""
)
_ESCAPED: Final = re.compile(r"\\(['\"\\/])")
_LARGEST_EXACT: Final = 2**53
_NOTHING: Final = object()

Step = str | int


class PartialArguments:
    """Builds one object out of values and their paths.

    What contradicts itself (a path that no object can have, a value that comes twice) is kept as `defect`.
    """

    __slots__ = ("_closed", "_open", "_root", "defect", "size")

    def __init__(self) -> None:
        self._root: dict[str, object] = {}
        self._open: dict[tuple[Step, ...], list[str]] = {}
        self._closed: set[tuple[Step, ...]] = set()
        self.defect: str | None = None
        self.size = 0

    @property
    def value(self) -> dict[str, object]:
        """The object so far, with the strings that are still open."""
        for steps, pieces in self._open.items():
            pieces[:] = ["".join(pieces)]
            self._put(steps, pieces[0])
        return self._root

    @property
    def is_open(self) -> bool:
        """Whether a value was to go on."""
        return bool(self._open)

    def add(self, part: object) -> None:
        """Take the next partial argument."""
        path = word_or_none(part, "jsonPath", "json_path") or ""
        steps = _steps(path)
        if steps is None:
            self.defect = self.defect or f"{path[:60]!r} is no path to an argument"
            return
        value, goes_on = _value(part), field(part, "willContinue", "will_continue") is True
        self.size += len(path) + (len(value) if isinstance(value, str) else 8)
        pieces = self._open.get(steps)
        if steps in self._closed or (pieces is None and value is _NOTHING and not goes_on):
            self.defect = self.defect or f"the value at {path[:60]} came twice, or not at all"
        elif pieces is not None or goes_on:
            self._extend(steps, pieces, value, goes_on=goes_on)
        else:
            self._settle(steps, value)

    def _extend(self, steps: tuple[Step, ...], pieces: list[str] | None, value: object, *, goes_on: bool) -> None:
        if pieces is None:
            pieces = self._open[steps] = []
        if isinstance(value, str):
            pieces.append(value)
        elif value is not _NOTHING:
            self.defect = self.defect or "a value that is no text came in pieces"
        if not goes_on:
            del self._open[steps]
            self._settle(steps, paired("".join(pieces)))

    def _settle(self, steps: tuple[Step, ...], value: object) -> None:
        self._closed.add(steps)
        if not self._put(steps, value):
            self.defect = self.defect or "two of its values contradict each other"

    def _put(self, steps: tuple[Step, ...], value: object) -> bool:
        node: object = self._root
        for step, after in pairwise(steps):
            node = _child(node, step, is_list=isinstance(after, int))
        last = steps[-1]
        if isinstance(node, dict) and isinstance(last, str):
            cast("dict[str, object]", node)[last] = value
            return True
        if not isinstance(node, list) or not isinstance(last, int):
            return False
        members = cast("list[object]", node)
        if last < len(members):
            members[last] = value
        elif last == len(members):
            members.append(value)
        else:
            return False
        return True


def _child(node: object, step: Step, *, is_list: bool) -> object:
    """What stands at *step* in *node*, made if there is nothing; None where nothing can stand."""
    fresh: object = cast("list[object]", []) if is_list else cast("dict[str, object]", {})
    if isinstance(node, dict) and isinstance(step, str):
        return cast("dict[str, object]", node).setdefault(step, fresh)
    if not isinstance(node, list) or not isinstance(step, int):
        return None
    members = cast("list[object]", node)
    if step == len(members):
        members.append(fresh)
    return members[step] if step < len(members) else None


def _steps(path: str) -> tuple[Step, ...] | None:
    """The keys and indices of *path*, None when it is none that leads to an argument."""
    steps: list[Step] = []
    at = 1
    while at < len(path) and len(steps) < DEFAULT_LIMITS.max_depth:
        match = _STEP.match(path, at)
        if match is None:
            return None
        plain, index, single, double = match.groups()
        quoted = single if single is not None else double
        if index is not None:
            steps.append(int(index))
        else:
            steps.append(plain if plain is not None else _ESCAPED.sub(r"\1", quoted or ""))
        at = match.end()
    is_path = path.startswith("$") and at >= len(path) and bool(steps) and isinstance(steps[0], str)
    return tuple(steps) if is_path else None


def _value(part: object) -> object:
    for names in (("stringValue", "string_value"), ("numberValue", "number_value"), ("boolValue", "bool_value")):
        value = field(part, *names)
        if value is not None:
            return _exact(value)
    if field(part, "nullValue", "null_value") is not None:
        return None
    is_json_null = isinstance(part, Mapping) and "nullValue" in cast("Mapping[object, object]", part)
    return None if is_json_null else _NOTHING


def _exact(value: object) -> object:
    """*value*, where a double that is a whole number is one: the wire knows no other numbers."""
    if isinstance(value, float) and value.is_integer() and abs(value) <= _LARGEST_EXACT:
        return int(value)
    return value
