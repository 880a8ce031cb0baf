"""The texts of a value, and where they stand: what detectors look at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, cast

from ._verdict import InspectionLimit, Path

MAX_CHARACTERS: Final = 1_000_000
"""Characters of one value that are inspected. Patterns take a second for some millions of them."""

MAX_NODES: Final = 100_000
MAX_DEPTH: Final = 256


class Text(NamedTuple):
    """One text of a value: a string in it, or the name of a member."""

    where: Path
    text: str


class Extent(NamedTuple):
    """How large a value is: characters and bytes of its texts, containers within each other, and items in all."""

    characters: int
    bytes: int
    depth: int
    items: int


def walk(value: object) -> Iterator[tuple[Path, object]]:
    """Every value in *value*, itself included, outermost first; names of members count as texts of their own.

    Raises:
        InspectionLimit: There are too many, or they are nested too deeply, as in a container that holds itself.
    """
    waiting: list[tuple[Path, object]] = [((), value)]
    seen = 0
    while waiting:
        where, current = waiting.pop()
        seen += 1
        if seen + len(waiting) > MAX_NODES or len(where) > MAX_DEPTH:
            raise InspectionLimit(f"more than {MAX_NODES:,} values, or nested deeper than {MAX_DEPTH}")
        yield where, current
        if isinstance(current, Mapping):
            members = cast("Mapping[object, object]", current)
            for key, item in reversed([*members.items()]):
                step = key if isinstance(key, str) else str(key)
                waiting += [((*where, step), item), ((*where, step), step)]
        elif isinstance(current, list | tuple):
            items = cast("list[object] | tuple[object, ...]", current)
            waiting += reversed([((*where, index), item) for index, item in enumerate(items[: MAX_NODES + 1])])


def texts_of(value: object) -> list[Text]:
    """All texts in *value*, in its order.

    Raises:
        InspectionLimit: They are too many or too long.
    """
    texts = [Text(where, item) for where, item in walk(value) if isinstance(item, str)]
    if sum(len(text.text) for text in texts) > MAX_CHARACTERS:
        raise InspectionLimit(f"more than {MAX_CHARACTERS:,} characters")
    return texts


def extent_of(value: object) -> Extent:
    """How large *value* is.

    Raises:
        InspectionLimit: It has too many values, or is nested too deeply.
    """
    characters = octets = depth = items = 0
    for where, item in walk(value):
        if isinstance(item, str):
            characters += len(item)
            octets += len(item.encode("utf-8", "surrogatepass"))
        if isinstance(item, Mapping | list | tuple):
            depth = max(depth, len(where) + 1)
            items += len(cast("Mapping[object, object] | list[object]", item))
    return Extent(characters, octets, depth, items)
