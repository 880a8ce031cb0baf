"""Reading a provider's message, whether it is decoded JSON or an object of the provider's SDK."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Final, TypeGuard, cast

from ..errors import ArmoryError
from ._text import encodable, is_encodable

__all__ = (
    "GEMINI_ANSWER",
    "GEMINI_CALL",
    "MessageError",
    "as_json",
    "field",
    "has",
    "is_list",
    "is_record",
    "items",
    "members",
    "piece",
    "record",
    "require_record",
    "word",
    "word_or_none",
)

GEMINI_CALL: Final = ("functionCall", "function_call")
"""The field of a part that is a call: on the wire, and in the SDK."""

GEMINI_ANSWER: Final = ("functionResponse", "function_response")
"""The field of a part that is a result."""

_SHOWN: Final = 60
_NOT_RECORDS: Final = (
    *(str, bytes, bytearray, int, float, complex, list, tuple, set, frozenset, type, type(None)),
    Enum,  # its members have a name, which is no field
)
"""What certainly has no fields of a message. Anything else may be an SDK object, read by its attributes."""


class MessageError(ArmoryError):
    """A message is not of the shape that this parser reads. The mistake is the host's, never the model's.

    Args:
        path: Keys and indices from the root of the message to the place, such as ``$.choices[0].message``.
        found: What stood there.
        expected: What would be right.
    """

    __module__ = "armory_trio.providers"

    def __init__(self, path: str, found: object, expected: str) -> None:
        super().__init__(encodable(f"{path}: expected {expected}, found {_described(found)}"))
        self.path = path
        self.expected = expected


def is_record(node: object) -> bool:
    """Whether *node* has named fields: a mapping, or an object of some SDK."""
    return isinstance(node, dict) or not isinstance(node, _NOT_RECORDS)


def is_list(node: object) -> TypeGuard[Sequence[object]]:
    """Whether *node* is a list of entries."""
    return isinstance(node, (list, tuple))


def field(node: object, *names: str) -> object:
    """The first of the fields *names* that is there and not None; None when there is none."""
    if isinstance(node, (dict, Mapping)):  # a dict is told at once, any other mapping slowly
        mapping = cast("Mapping[object, object]", node)
        for name in names:
            if (value := mapping.get(name)) is not None:
                return value
    elif is_record(node):
        for name in names:
            if (value := getattr(node, name, None)) is not None:
                return value
    return None


def as_json(node: object) -> dict[str, object]:
    """The fields of *node* as one JSON object of its own, by the names that they have on the wire."""
    if isinstance(node, Mapping):
        return dict(cast("Mapping[str, object]", node))
    dump = getattr(node, "model_dump", None)
    if callable(dump):
        return cast("dict[str, object]", dump(mode="json", by_alias=True, exclude_none=True, warnings=False))
    return {name: value for name in _names_of(node) if (value := getattr(node, name, None)) is not None}


def _names_of(node: object) -> Iterator[str]:
    """The fields of an object that has no way of its own to be written as JSON."""
    yield from cast("Mapping[str, object]", getattr(node, "__dict__", {}))
    for kind in type(node).__mro__:
        slots = getattr(kind, "__slots__", ())
        yield from (name for name in ((slots,) if isinstance(slots, str) else slots) if not name.startswith("__"))


def members(node: object) -> Iterator[tuple[object, object]]:
    """The names and values of the fields of *node* as they stand in it, by which nothing is written anew."""
    if isinstance(node, Mapping):
        yield from cast("Mapping[object, object]", node).items()
        return
    yield from ((name, getattr(node, name, None)) for name in _names_of(node))
    extra = getattr(node, "model_extra", None)  # what an SDK does not know of its messages, it keeps there
    if isinstance(extra, Mapping):
        yield from cast("Mapping[object, object]", extra).items()


def has(node: object, name: str) -> bool:
    """Whether *node* has the field *name*, be it None."""
    if isinstance(node, (dict, Mapping)):
        return name in cast("Mapping[object, object]", node)
    return is_record(node) and hasattr(node, name)


def record(node: object, path: str, *names: str) -> object:
    """The field *names* of *node*, which has to be a record or absent.

    Raises:
        MessageError: Something else stands there.
    """
    value = field(node, *names)
    return None if value is None else require_record(value, f"{path}.{names[0]}", "an object")


def require_record(node: object, path: str, expected: str) -> object:
    """*node* itself.

    Raises:
        MessageError: It has no fields.
    """
    if not is_record(node):
        raise MessageError(path, node, expected)
    return node


def items(node: object, path: str, expected: str) -> Sequence[object]:
    """The entries of the list *node*; none when it is None.

    Raises:
        MessageError: It is neither.
    """
    if node is None:
        return ()
    if not is_list(node):
        raise MessageError(path, node, expected)
    return node


def word(node: object, path: str, *names: str) -> str | None:
    """The text in the field *names*, None when it is absent. A member of an enum is its value.

    Raises:
        MessageError: Something else stands there.
    """
    value = field(node, *names)
    if isinstance(value, Enum):
        value = cast("object", value.value)
    if value is None or (isinstance(value, str) and is_encodable(value)):
        return value
    expected = "a text without lone surrogates" if isinstance(value, str) else "a text"
    raise MessageError(f"{path}.{names[0]}", value, expected)


def piece(node: object, path: str, name: str) -> str:
    """The piece of a longer text in the field *name*, which may be cut within a character; empty when it is absent.

    Raises:
        MessageError: Something else stands there.
    """
    value = field(node, name)
    if value is not None and not isinstance(value, str):
        raise MessageError(f"{path}.{name}", value, "a text")
    return value or ""


def word_or_none(node: object, *names: str) -> str | None:
    """The same where a wrong type does not matter: anything but a text counts as absent."""
    value = field(node, *names)
    return value if isinstance(value, str) else None


def _described(found: object) -> str:
    if found is None:
        return "nothing"
    if isinstance(found, bool):
        return "true" if found else "false"
    if isinstance(found, (int, float)):
        return f"a number of type {type(found).__name__}"
    if isinstance(found, str):
        return f"the text {found[:_SHOWN]!r}{'...' if len(found) > _SHOWN else ''}"
    if is_list(found):
        return f"a list of {len(found)}"
    if isinstance(found, Mapping):
        keys = [str(key)[:_SHOWN] for key in cast("Mapping[object, object]", found)]
        return f"an object with the keys {', '.join(keys[:6])}{', ...' if len(keys) > 6 else ''}" if keys else "{}"
    return f"an object of type {type(found).__qualname__}"
