"""The walk through one value: where it is, what it stands in, and what it has written."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final, NoReturn

from ..definitions._content import (
    AudioContent,
    BlobResourceContent,
    Content,
    ImageContent,
    JsonContent,
    LinkContent,
    TextContent,
    TextResourceContent,
    resource_name,
)
from ._blocks import MAX_VALUES, block_of, fault_of, holds_block, presentable, text_block
from ._plain import plain_text
from ._scalars import MAX_DIGITS, TooManyDigits, bare, data_uri, encodable, join_pairs, literal, octets, quote, words
from ._shapes import Bag, Items, Members, StandIn, is_row, shape_of
from ._unencodable import Step, UnencodableResult, hint_for, path_text, type_name

MAX_DEPTH: Final = 200
"""Containers within containers. JSON parsers give up soon after, and the walk must fit the interpreter's stack."""

MAX_REPEATS: Final = 100_000
"""How often a walk may come to a container that it has written before. Sharing is fine; a list that holds one list
twice, which holds one list twice, and so on, has a text longer than any memory."""

_SHALLOW: Final = 2
"""How far the walk looks ahead for something that the shortcut can write: a table of rows, but no more, for it looks
again at each container."""

_LONGEST_KEY: Final = 60
"""Characters of a key that an error repeats."""

_MEDIA: Final = (ImageContent, AudioContent)

_FIELDS: Final = (LinkContent, TextResourceContent)
"""Blocks that stand in JSON as an object of their fields."""


class Writer:
    """Writes one value; knows where it is, what it stands in, and which blocks of bytes it took out."""

    __slots__ = ("_hoisted", "_hoisting", "_media", "_met", "_open", "_repeats", "_root", "_values", "path")

    def __init__(self, root: object, *, hoisting: bool) -> None:
        self.path: list[Step] = []
        self._root = root
        self._open: dict[int, tuple[object, int]] = {}
        self._met: dict[int, object] = {}
        self._repeats = 0
        self._values = 0
        self._hoisting = hoisting
        self._hoisted: list[Content] = []
        self._media = 0

    @property
    def innermost(self) -> object:
        """The container that is being read."""
        return next(reversed(self._open.values()))[0] if self._open else self._root

    def fail(self, value: object, reason: str, cause: Exception | None = None) -> NoReturn:
        """Say what is wrong with *value*, which stands where the walk is."""
        raise UnencodableResult(tuple(self.path), type_name(value), reason) from cause

    def blocks(self, value: object) -> list[Content]:
        """The content of *value*: its own blocks in place, its text as text, the rest as JSON."""
        value = bare(value)
        block = self._block(value)
        if block is not None:
            self._media += isinstance(block, _MEDIA)
            return [presentable(block)]
        data = octets(value)
        text = words(value) if data is None else data_uri(data)
        if text is not None:
            return [text_block(text)]
        if is_row(value) and holds_block(value):
            return self._blocks_of_row(value)
        written = JsonContent(self.json(value))
        hoisted, self._hoisted = self._hoisted, []
        return [written, *hoisted]

    def _blocks_of_row(self, row: list[object] | tuple[object, ...]) -> list[Content]:
        self._enter(row)
        found: list[Content] = []
        for index, item in enumerate(row):
            self.path.append(index)
            self._count()
            found += self.blocks(item)
            self.path.pop()
        del self._open[id(row)]
        return found

    def json(self, value: object) -> str:
        """The JSON text of *value*."""
        if type(value) is str:
            return quote(value)
        value = bare(value)
        text = self._scalar(value)
        if text is None:
            text = plain_text(value, min(_SHALLOW, MAX_DEPTH - len(self._open)))
        if text is not None:
            return text
        self._enter(value)
        match shape_of(value):
            case Members(pairs):
                text = self._object(pairs)
            case Items(items):
                text = self._array(items)
            case Bag(items):
                text = self._bag(items)
            case StandIn(inner):
                text = self.json(inner)
            case None:
                self.fail(value, hint_for(value))
        del self._open[id(value)]
        return text

    def _scalar(self, value: object) -> str | None:
        try:
            text = literal(value)
        except TooManyDigits:
            self.fail(
                value, f"an integer of more than {MAX_DIGITS:,} digits: return it as text, such as hex(...) of it"
            )
        if text is not None:
            return text
        text = words(value)
        if text is not None:
            return quote(text)
        block = self._block(value)
        if isinstance(block, BlobResourceContent):
            return self._inline_resource(block)
        if block is not None and not isinstance(block, _FIELDS):
            return self._inline(block)
        data = octets(value)
        return None if data is None else quote(data_uri(data))

    def _array(self, items: Iterable[object]) -> str:
        texts: list[str] = []
        for index, item in enumerate(items):
            self.path.append(index)
            self._count()
            texts.append(self.json(item))
            self.path.pop()
        return f"[{','.join(texts)}]"

    def _bag(self, items: Iterable[object]) -> str:
        hoisting, self._hoisting = self._hoisting, False  # a set has no order to number pictures by
        texts = sorted((*_rank(item), self._counted_json(item)) for item in items)
        self._hoisting = hoisting
        return f"[{','.join(text for _, _, text in texts)}]"

    def _object(self, pairs: Iterable[tuple[object, object]]) -> str:
        keys: dict[str, object] = {}
        texts: list[str] = []
        for key, item in pairs:
            name = key if type(key) is str and key.isascii() else self._name(key)
            self.path.append(name)
            if name in keys:
                self._clash(name, keys[name], key)
            keys[name] = key
            self._count()
            texts.append(f"{quote(name)}:{self.json(item)}")
            self.path.pop()
        return f"{{{','.join(texts)}}}"

    def _counted_json(self, value: object) -> str:
        self._count()
        return self.json(value)

    def _count(self) -> None:
        self._values += 1
        if self._values > MAX_VALUES:
            self.fail(self.innermost, f"more than {MAX_VALUES:,} values: return the part that matters")

    def _name(self, key: object) -> str:
        """The member's name that a key becomes."""
        key = bare(key)
        if type(key) is str:
            return join_pairs(key)
        if octets(key) is not None:
            self.fail(key, f"bytes cannot be a key ({_short(key)}): decode it, or use its hex()")
        if is_row(key):
            hoisting, self._hoisting = self._hoisting, False
            name = self.json(key)
            self._hoisting = hoisting
            return name
        text = literal(key) or words(key)
        if text is None:
            self.fail(
                key, f"it cannot be a key ({_short(key)}): use a str, a number, a date, a UUID, an Enum or a tuple"
            )
        return join_pairs(text)

    def _clash(self, name: str, first: object, second: object) -> NoReturn:
        clash = f"{_short(first)} ({type_name(first)}) and {_short(second)} ({type_name(second)})"
        self.fail(second, f"the keys {clash} both become the name {_short(name)}: make them differ as text")

    def _enter(self, value: object) -> None:
        """Go into a container, which `json` and `_blocks_of_row` leave again."""
        if id(value) in self._open:
            place = path_text(tuple(self.path[: self._open[id(value)][1]]))
            self.fail(
                value, f"it contains itself, for it is the very object at {place}: return a copy without the cycle"
            )
        if len(self._open) == MAX_DEPTH:
            self.fail(value, f"nested deeper than {MAX_DEPTH} containers: return something flatter")
        self._repeats += id(value) in self._met
        if self._repeats > MAX_REPEATS:
            self.fail(value, f"containers stand in more than one place over {MAX_REPEATS:,} times: return each once")
        self._met[id(value)] = value  # which also keeps a value that was made on the way, so that no id comes twice
        self._open[id(value)] = (value, len(self.path))

    def _block(self, value: object) -> Content | None:
        block = block_of(value)
        fault = None if block is None else fault_of(block)
        if fault is not None:
            self.fail(value, fault)
        return block

    def _inline(self, block: TextContent | JsonContent | ImageContent | AudioContent) -> str:
        """A block that stands where only JSON can: pictures and sounds follow it, and a label says which is which."""
        if isinstance(block, TextContent):
            return quote(block.text)
        if isinstance(block, JsonContent):
            return encodable(block.json)
        if not self._hoisting:
            return quote(data_uri(block.data, block.media_type))
        self._media += 1
        self._hoisted.append(block)
        kind = "image" if isinstance(block, ImageContent) else "audio"
        return quote(f"[{kind} {self._media}: {block.media_type}, {len(block.data)} bytes]")

    def _inline_resource(self, block: BlobResourceContent) -> str | None:
        """The same for a resource, which has a name of its own; None lets it be an object of its fields."""
        if not self._hoisting:
            return None
        self._hoisted.append(block)
        return quote(f"[resource {resource_name(block)}, {len(block.data)} bytes]")


def _rank(item: object) -> tuple[int, float]:
    """Numbers come first, by value; everything else follows, by its JSON."""
    item = bare(item)
    if isinstance(item, int) or (isinstance(item, float) and not math.isnan(item)):
        return (0, item)
    return (1, 0)


def _short(key: object) -> str:
    text = repr(key)
    return text if len(text) <= _LONGEST_KEY else text[:_LONGEST_KEY] + "..."
