"""JSON made to fit that stays JSON, and keeps its shape: lists stay lists, objects stay objects.

Long strings lose their middle, long lists and objects the items in their middle, and a note in that place says how
many. Keys and numbers are never cut: one that does not fit is left out with its member, or replaced by a note.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final, NoReturn, cast

import attrs
import msgspec

from .._scalars import encodable, quote
from ._caps import Cap
from ._sharing import Claim, share_out
from ._text import truncate_text

LEAST: Final = 64
"""The smallest bound for a JSON text: any value can be made to fit into it, as a note at worst."""

_FLOOR: Final = 48
"""What an item can be made to take, whatever it is: the longest note about one takes 45 bytes."""

_NOTE_NAMES: Final = tuple(f'"{"." * dots}"' for dots in range(3, 10))
"""What the member is called that says how many are missing: the first that is no name of the object."""

Measure = Callable[[str], int]


class _Number(str):
    """A number as it stood in the text, every digit of it."""

    __slots__ = ()


class _Members(msgspec.Struct, frozen=True):
    """An object as it stood in the text, members that are named twice included."""

    pairs: list[tuple[str, object]]


class _Leaf(msgspec.Struct, frozen=True):
    size: int
    text: str
    string: str | None


class _Branch(msgspec.Struct, frozen=True):
    """A list, or an object, whose items have names."""

    size: int
    names: list[str] | None
    items: list[_Leaf | _Branch]


_Node = _Leaf | _Branch


def truncate_json(text: str, cap: Cap) -> str:
    """JSON *text*, or as much of it as fits into *cap*, as valid and compact JSON of the same shape.

    Args:
        text: A JSON text.
        cap: Its bytes or characters count, 64 or more of them; compact JSON has one line. Its marker stands in strings.

    Raises:
        ValueError: *text* is no JSON, or *cap* gives less than 64 bytes or characters.
    """
    limits = [limit for limit in (cap.bytes, cap.characters) if limit is not None]
    text = encodable(text)
    measure = len if cap.bytes is None else _octets
    if limits and measure(text) <= min(limits) and text.count("\n") < cap.room.lines:
        return text
    if not limits or min(limits) < LEAST:
        raise ValueError(f"to stay JSON, a text needs a cap of {LEAST} bytes or characters at least, not {cap}")
    try:
        value: object = json.loads(
            text, parse_int=_Number, parse_float=_Number, parse_constant=_refuse, object_pairs_hook=_Members
        )
        return _Fitting(cap, measure).fit(_node(value, measure), min(limits))
    except RecursionError:
        return quote(f"... nested too deeply, bytes left out: {_octets(text)}")


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


def _octets(text: str) -> int:
    return len(text.encode())


def _node(value: object, measure: Measure) -> _Node:
    match value:
        case _Members(pairs=pairs):
            names = [quote(name) for name, _ in pairs]
            items = [_node(item, measure) for _, item in pairs]
            size = sum(map(measure, names)) + sum(item.size for item in items) + len(pairs)
            return _Branch(2 + size + max(0, len(pairs) - 1), names, items)
        case list():
            items = [_node(item, measure) for item in cast("list[object]", value)]
            return _Branch(2 + sum(item.size for item in items) + max(0, len(items) - 1), None, items)
        case _:
            text = value if isinstance(value, _Number) else json.dumps(value)
            string = value if isinstance(value, str) and not isinstance(value, _Number) else None
            text = text if string is None else quote(string)
            return _Leaf(measure(text), text, string)


@attrs.frozen
class _Fitting:
    """One text that is made to fit."""

    _cap: Cap
    _measure: Measure

    def fit(self, node: _Node, budget: int) -> str:
        """The text of *node*, no larger than *budget*, which is `_FLOOR` at least where the node is larger."""
        if isinstance(node, _Branch):
            return self._branch(node, budget)
        if node.size <= budget:
            return node.text
        if node.string is None:
            return quote(f"... a number, digits left out: {node.size}")
        return self._string(node.string, budget)

    def _string(self, string: str, budget: int) -> str:
        """Cut until the quoted text fits: quotes, line ends and the like take more room there than in the string."""
        limit = budget - 2
        while True:
            octets = None if self._measure is len else limit
            text = quote(truncate_text(string, attrs.evolve(self._cap, bytes=octets, characters=limit, lines=None)))
            size = self._measure(text)
            if size <= budget:
                return text
            limit = min(limit - 1, limit * budget // size)

    def _branch(self, node: _Branch, budget: int) -> str:
        if node.size <= budget:
            return self._text(node, [self.fit(item, item.size) for item in node.items])
        count = len(node.items)
        note = self._note(node, count)
        if note is None:
            return quote(f"... an object, members left out: {count}")
        shares = share_out(
            self._claims(node),
            budget - 1,  # of the two brackets one is paid by the last item, which has no comma
            least=_FLOOR,
            note=self._measure(note) + 1,
            keep=self._cap.keep,
        )
        kept = [*range(shares.head), *range(count - shares.tail, count)]
        texts = [self.fit(node.items[index], shares.level) for index in kept]
        names = node.names and [node.names[index] for index in kept]
        left_out = self._note(node, count - len(kept)) if len(kept) < count else None
        return self._text(_Branch(0, names, []), texts, left_out, shares.head)

    def _claims(self, node: _Branch) -> list[Claim]:
        if node.names is None:
            return [Claim(1, item.size) for item in node.items]
        return [Claim(self._measure(name) + 2, item.size) for name, item in zip(node.names, node.items, strict=True)]

    def _text(self, node: _Branch, texts: list[str], note: str | None = None, place: int = 0) -> str:
        """The text of a list or object with these *texts* of its items, and the *note* in its *place* among them."""
        named = texts if node.names is None else list(map(":".join, zip(node.names, texts, strict=True)))
        if note is not None:
            named.insert(place, note)
        return f"[{','.join(named)}]" if node.names is None else f"{{{','.join(named)}}}"

    def _note(self, node: _Branch, left_out: int) -> str | None:
        """The item or member that says how many are missing; None when all the names for it are taken."""
        if node.names is None:
            return quote(f"... items left out: {left_out}")
        free = next((name for name in _NOTE_NAMES if name not in node.names), None)
        return None if free is None else f"{free}:{quote(f'members left out: {left_out}')}"
