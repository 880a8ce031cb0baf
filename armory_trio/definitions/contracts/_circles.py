"""Which members of a directed graph lead back to themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ._fitting import Schema

Onward = Callable[[Schema], Iterable[Schema]]


def components(starts: Iterable[Schema], onward: Onward) -> Iterator[list[Schema]]:
    """The schemas that *starts* lead to, those together that lead to each other; what they lead to comes first."""
    search = _Search(onward)
    for start in starts:
        yield from search.go(start)


class _Search:
    """Tarjan's, with a stack of its own: a document may be deeper than Python's."""

    def __init__(self, onward: Onward) -> None:
        self._onward = onward
        self._numbers: dict[int, int] = {}
        self._lowest: dict[int, int] = {}
        self._open: list[Schema] = []
        self._closed: set[int] = set()

    def go(self, start: Schema) -> Iterator[list[Schema]]:
        ways = [self._entered(start)] if id(start) not in self._numbers else []
        while ways:
            schema, way = ways[-1]
            following = next(way, None)
            if following is None:
                ways.pop()
                if ways:
                    self._lower(ways[-1][0], self._lowest[id(schema)])
                if self._lowest[id(schema)] == self._numbers[id(schema)]:
                    yield self._component(schema)
            elif id(following) not in self._numbers:
                ways.append(self._entered(following))
            elif id(following) not in self._closed:
                self._lower(schema, self._numbers[id(following)])

    def _entered(self, schema: Schema) -> tuple[Schema, Iterator[Schema]]:
        self._numbers[id(schema)] = self._lowest[id(schema)] = len(self._numbers)
        self._open.append(schema)
        return schema, iter(self._onward(schema))

    def _lower(self, schema: Schema, number: int) -> None:
        self._lowest[id(schema)] = min(self._lowest[id(schema)], number)

    def _component(self, first: Schema) -> list[Schema]:
        found: list[Schema] = []
        while not found or found[-1] is not first:
            found.append(self._open.pop())
            self._closed.add(id(found[-1]))
        return found
