"""What counts as a JSON value: the codes of every refusal, the plain value behind a subclass, and where we are in it.

There are two readings. The strict one takes the exact types of JSON, and the tuples and mapping proxies that freezing
makes of lists and dicts. The other one takes whatever has one obvious plain value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import date, time, timedelta
from enum import Enum
from numbers import Number
from types import MappingProxyType
from typing import Final, Literal, cast

from ..errors import DefinitionError, JsonError
from ._checks import shown
from ._declared import Declared

__all__ = (
    "DEFAULT_LIMITS",
    "MAX_DEPTH",
    "JsonCode",
    "JsonLimits",
    "Refusal",
    "Step",
    "Trail",
    "plain_members",
    "plain_value",
    "sorted_keys",
)

JsonCode = Literal[
    # what only a text can do wrong
    "byte-order-mark",
    "control-character",
    "empty-text",
    "invalid-escape",
    "invalid-number",
    "invalid-syntax",
    "invalid-utf8",
    "number-overflow",
    "text-too-large",
    "trailing-text",
    "unexpected-end",
    # what a text or a value can do wrong
    "duplicate-key",
    "non-finite-number",
    "too-deep",
    "too-many-digits",
    "unsupported-type",
    # what only a value can do wrong
    "cyclic-reference",
    "inspection-failed",
    "lone-surrogate",
    "non-index-array-property",
    "non-plain-object",
    "symbol-key",
    "unsafe-integer",
]
"""Every code that a `JsonError` can carry. Codes are added, never renamed."""


MAX_DEPTH: Final = 256
"""How deep a value may nest: twice what `parse_json` reads by default, so that a document may wrap what was read."""


class JsonLimits(Declared, frozen=True, kw_only=True):
    """How much JSON is too much.

    Args:
        max_bytes: Size of the text in UTF-8. The default is about twice what a model can write in one answer. The
            time of a refusal grows with it: a text that goes wrong at its very end is read twice, once in Python.
        max_depth: How many arrays and objects may be open at once. 128 is what a reader that recurses can take.
        max_digits: Digits of an integer. Reading digits takes quadratic time; the default is where Python stops too.

    Raises:
        DefinitionError: A limit is not a whole number of at least 1.
    """

    max_bytes: int = 1024 * 1024
    max_depth: int = 128
    max_digits: int = 4300

    def __post_init__(self) -> None:
        for name in ("max_bytes", "max_depth", "max_digits"):
            number: object = getattr(self, name)
            if type(number) is not int or number < 1:
                raise DefinitionError("JsonLimits", name, f"expected a whole number of at least 1, not {shown(number)}")


DEFAULT_LIMITS: Final = JsonLimits()

Step = str | int | None
"""A key or an index on the way to a place; None at the root."""


class Refusal(Exception):
    """A value is not JSON. Whoever knows the path makes a `JsonError` of it."""

    def __init__(self, code: JsonCode, detail: str) -> None:
        super().__init__(code, detail)
        self.code = code
        self.detail = detail


class Trail:
    """The containers around the place that is looked at, outermost first, and the steps that lead there."""

    __slots__ = ("containers", "path")

    def __init__(self) -> None:
        self.path: list[Step] = []
        self.containers: dict[int, object] = {}

    def enter(self, step: Step, container: object) -> None:
        """Go into *container*, which stands at *step*.

        Raises:
            Refusal: It holds itself, or is too deep.
        """
        if id(container) in self.containers:
            raise Refusal("cyclic-reference", "the value holds itself; JSON can only say trees")
        if len(self.path) >= MAX_DEPTH:
            raise Refusal("too-deep", f"at most {MAX_DEPTH} arrays and objects may stand in one another")
        self.path.append(step)
        self.containers[id(container)] = container

    def leave(self) -> None:
        """Come out of the innermost container."""
        self.path.pop()
        self.containers.popitem()

    def error(self, refusal: Refusal, step: Step, root: str) -> JsonError:
        """The error of a *refusal* at *step* of the innermost container."""
        path = tuple(part for part in (*self.path, step) if part is not None)
        return JsonError(refusal.code, path, refusal.detail, root=root)


def plain_value(item: object, *, strict: bool) -> object:
    """*item* as an exact scalar, dict, list or tuple of JSON.

    Raises:
        Refusal: It is of another type, or a subclass and *strict*, or could not be read.
    """
    kind = type(item)
    if kind in _EXACT_TYPES:
        return item
    try:
        if kind is MappingProxyType:
            return dict(cast("Mapping[object, object]", item))
        return _frozen_form(item) if strict else _base_value(item)
    except Refusal:
        raise
    except Exception as error:
        kinds = f"{type(item).__name__} failed with {type(error).__name__}"
        raise Refusal("inspection-failed", f"reading the {kinds}; pass a plain dict or list") from error


_EXACT_TYPES: Final = frozenset((dict, list, str, int, float, bool, type(None)))


def _frozen_form(item: object) -> object:
    if type(item) is tuple:
        return cast("tuple[object, ...]", item)
    raise _misfit(item)


_Items = Callable[[object], Iterator[object]]
_LIST_ITEMS: Final = cast("_Items", getattr(list, "__iter__"))  # noqa: B009  # checkers don't know of what the list is
_TUPLE_ITEMS: Final = cast("_Items", getattr(tuple, "__iter__"))  # noqa: B009  # the same


def _base_value(item: object) -> object:
    # The base classes' own methods: a subclass may have redefined them, but JSON takes what it is based on.
    is_record = hasattr(type(item), "_fields")
    if isinstance(item, str):
        return str.__str__(item)
    if isinstance(item, int):
        return int.__int__(item)
    if isinstance(item, float):
        return float.__float__(item)
    if isinstance(item, Mapping):
        return dict(cast("Mapping[object, object]", item))
    if _is(item, (list,)):
        return list(_LIST_ITEMS(item))
    if _is(item, (tuple,)) and not is_record:
        return list(_TUPLE_ITEMS(item))
    raise _misfit(item)


def plain_members(members: dict[object, object], *, strict: bool) -> dict[str, object]:
    """*members* with keys that are exact strings.

    Raises:
        Refusal: A key is none, or a subclass and *strict*, or stands there twice.
    """
    for key in members:
        if type(key) is not str:
            break
    else:
        return cast("dict[str, object]", members)
    plain: dict[str, object] = {}
    for key, item in members.items():
        if not isinstance(key, str) or (strict and type(key) is not str):
            raise Refusal(
                "symbol-key", f"a key is of type {type(key).__name__}; keys must be {'exactly ' if strict else ''}str"
            )
        name = str.__str__(key)
        if name in plain:
            raise Refusal("duplicate-key", f"two keys both read {name!a}")
        plain[name] = item
    return plain


def sorted_keys(members: dict[str, object]) -> list[str]:
    """The keys by UTF-16 code unit. It differs from Python's order only where a surrogate pair is involved.

    Raises:
        Refusal: Two keys have the same code units.
    """
    if "".join(members).isascii():
        return sorted(members)
    units = {key.encode("utf-16-be", "surrogatepass"): key for key in members}
    if len(units) < len(members):
        raise Refusal("duplicate-key", "two keys read the same, once as a character and once as its two halves")
    return [units[unit] for unit in sorted(units)]


_AS_NUMBER: Final = "write it as int, float or text"
_HINTS: Final[tuple[tuple[tuple[type, ...], str], ...]] = (
    ((Enum,), "pass its value"),
    ((bytes, bytearray, memoryview), "write bytes as base64 text"),
    ((date, time, timedelta), "write it as ISO 8601 text"),
    ((set, frozenset), "write a list"),
    ((str, int, float, list, tuple, Mapping), "pass the plain value"),
    ((Number,), _AS_NUMBER),
)
_FIELD_MARKS: Final = ("__slots__", "__struct_fields__", "__dataclass_fields__")


def _is(item: object, kinds: tuple[type, ...]) -> bool:
    """`isinstance`, without the narrowing to types of unknown contents."""
    return isinstance(item, kinds)


def _misfit(item: object) -> Refusal:
    """Why *item* is not JSON. It may raise what reading a broken mapping raises."""
    kind = type(item)
    hint = next((hint for kinds, hint in _HINTS if _is(item, kinds)), None)
    detail = f"{kind.__module__}.{kind.__qualname__} is no JSON type"
    if _is(item, (list,)):
        return Refusal("non-index-array-property", f"{detail}: a subclass of list may hold more; pass list(...)")
    if _is(item, (Mapping,)):
        next(iter(cast("Mapping[object, object]", item)), None)
    if hint == _AS_NUMBER or (hint is None and (callable(item) or not _has_fields(item))):
        return Refusal("unsupported-type", f"{detail}; {hint or 'use None, bool, str, int, float, list or dict'}")
    return Refusal("non-plain-object", f"{detail}; {hint or 'pass its text, or a dict of its fields'}")


def _has_fields(item: object) -> bool:
    return hasattr(item, "__dict__") or any(hasattr(type(item), mark) for mark in _FIELD_MARKS)
