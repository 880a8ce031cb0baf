"""What middleware makes of a stream: the stages that its chunks go through, and what its value goes through."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import NamedTuple

from ..definitions import Chunks, ChunkStage

Run = Callable[[], Awaitable[object]]
Around = Callable[[Run], Awaitable[object]]
Reduce = Callable[[list[object]], object]


class Staged(NamedTuple):
    """A stage, made anew for each attempt, and what makes the value in its place, if anything does."""

    make: Callable[[], ChunkStage]
    value: Callable[[object], object] | None


class StreamOfChunks(Chunks):
    """The stream of a generator tool that has not begun; see `Chunks`. *enter* lets the tool run through stages."""

    __slots__ = ("_around", "_enter", "_staged", "owner")

    def __init__(
        self,
        owner: object,
        enter: Callable[[Sequence[Staged]], Awaitable[object]],
        staged: tuple[Staged, ...] = (),
        around: tuple[Around, ...] = (),
    ) -> None:
        self.owner = owner
        """Whose stream it is."""
        self._enter = enter
        self._staged = staged
        self._around = around

    def map(self, function: Callable[[object], object], /) -> StreamOfChunks:
        return self.through(partial(_Mapped, function))

    def through(
        self, make: Callable[[], ChunkStage], /, *, value: Callable[[object], object] | None = None
    ) -> StreamOfChunks:
        return StreamOfChunks(self.owner, self._enter, (*self._staged, Staged(make, value)), self._around)

    def around(self, run: Around, /) -> StreamOfChunks:
        return StreamOfChunks(self.owner, self._enter, self._staged, (*self._around, run))

    async def run(self) -> object:
        """Let the stream run to its end, and answer its value. Cancelled: it was stopped."""
        run: Run = partial(self._enter, self._staged)
        for outer in self._around:
            run = partial(outer, run)
        return await run()


class Pipeline:
    """The stages of one attempt, and what they keep for its value, if one is wanted."""

    __slots__ = ("_kept", "_values", "stages")

    def __init__(self, staged: Sequence[Staged], *, collects: bool) -> None:
        self.stages: list[ChunkStage] = [each.make() for each in staged]
        bare = [index for index, each in enumerate(staged) if each.value is None]
        first = bare[-1] + 1 if bare else 0
        self._values = [each.value for each in staged[first:] if collects and each.value is not None]
        self._kept: Kept | None = None
        if self._values:
            self._kept = Kept(passes=True)
            self.stages.insert(first, self._kept)

    @property
    def makes_the_value(self) -> bool:
        """Whether the value is not made of the chunks that come out."""
        return self._kept is not None

    def value(self, reduce: Reduce | None) -> object:
        """What the chunks are worth that the tool gave. Raises what *reduce* and the makers of values raise."""
        chunks: list[object] = [] if self._kept is None else self._kept.chunks
        value: object = chunks if reduce is None else reduce(chunks)
        for make in self._values:
            value = make(value)
        return value


class Kept:
    """Keeps the chunks that come by, and lets them pass or not."""

    __slots__ = ("_passes", "chunks")

    def __init__(self, *, passes: bool) -> None:
        self._passes = passes
        self.chunks: list[object] = []

    def feed(self, chunk: object) -> tuple[object, ...]:
        self.chunks.append(chunk)
        return (chunk,) if self._passes else ()

    def end(self) -> tuple[()]:
        return ()


class _Mapped:
    __slots__ = ("_function",)

    def __init__(self, function: Callable[[object], object]) -> None:
        self._function = function

    def feed(self, chunk: object) -> tuple[object]:
        return (self._function(chunk),)

    def end(self) -> tuple[()]:
        return ()
