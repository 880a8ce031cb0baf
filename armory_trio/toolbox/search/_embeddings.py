"""Texts as vectors: what an embedder is, what its answers must look like, and a memory for them."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Awaitable, Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, Protocol, cast

from ..._on_demand import in_words
from ...definitions._checks import count, shown
from ...definitions._plurals import counted
from ...errors import DefinitionError, EmbeddingError
from .._resolution import AnyTool
from ._extra import require_extra
from ._fields import texts_of
from ._words import words

if TYPE_CHECKING:  # numpy is loaded by who searches, not by who imports this
    from ._vectors import Floats
else:
    (Floats,) = in_words("armory_trio.toolbox.search._vectors", "Floats")

Vectors = Iterable[Iterable[float]]

_CAPACITY: Final = 20_000
_BATCH: Final = 64
_MOST_CHARACTERS: Final = 8_000


class Embedder(Protocol):
    """Turns texts into vectors of one length, close to each other where the texts mean alike.

    It may be a plain function or an async one. A plain one runs where the search runs, so one that takes long has to
    be async: `armory_trio.kits.search.LocalEmbedder` works in a thread.
    """

    def __call__(self, texts: Sequence[str], /) -> Vectors | Awaitable[Vectors]:
        """One vector for each of *texts*, in order: lists of floats, or the rows of an array."""
        ...


def embedding_text(tool: AnyTool) -> str:
    """What of *tool* is embedded: its name in words, what it does, and what its parameters are."""
    texts = texts_of(tool.definition)
    spoken = {field: " ".join(words(texts[field], everything=True)) for field in ("name", "parameters")}
    parts = (
        f"{spoken['name']}: {texts['description'].strip()}",
        spoken["parameters"],
        texts["parameter descriptions"],
        " ".join(texts["values"].split("\n")),
    )
    return " ".join(part for part in parts if part)[:_MOST_CHARACTERS]


class CachedEmbedder:
    """An embedder that is asked only once for each text. Give one to several indices, and they share what it knows.

    Args:
        embedder: What is asked.
        capacity: Vectors that are kept; those that were not needed for longest go first.
        batch_size: Texts of one question to the embedder.

    Raises:
        DefinitionError: An option is wrong, or a package of the extra ``search`` is not installed.
    """

    def __init__(self, embedder: Embedder, *, capacity: int = _CAPACITY, batch_size: int = _BATCH) -> None:
        if not callable(cast("object", embedder)):
            raise DefinitionError("CachedEmbedder", "embedder", f"must be a function of texts, not {shown(embedder)}")
        count("CachedEmbedder", "capacity", capacity)
        count("CachedEmbedder", "batch_size", batch_size)
        require_extra()
        self._embedder = embedder
        self._capacity = capacity
        self._batch_size = batch_size
        self._kept: OrderedDict[bytes, Floats] = OrderedDict()
        self._dimensions: int | None = None

    def __repr__(self) -> str:
        return f"<CachedEmbedder of {shown(self._embedder)}: {counted(len(self._kept), 'vector')}>"

    async def __call__(self, texts: Sequence[str], /) -> Floats:
        """One row for each of *texts*, of length 1, in an array of float32.

        Checkpoints only where the embedder does. Cancelled: what the embedder has answered so far is kept.

        Raises:
            EmbeddingError: The embedder's answer is not what it has to be. What it raises itself is passed on.
        """
        from ._vectors import stacked  # noqa: PLC0415  # loads numpy

        keys = [blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts]
        found: dict[bytes, Floats] = {}
        missing: dict[bytes, str] = {}
        for key, text in zip(keys, texts, strict=True):
            vector = self._kept.get(key)
            if vector is None:
                missing[key] = text
            else:
                self._kept.move_to_end(key)
                found[key] = vector
        for batch in _batches(list(missing.items()), self._batch_size):
            vectors = await self._ask([text for _, text in batch])
            for (key, _), vector in zip(batch, vectors, strict=True):
                found[key] = vector
                self._keep(key, vector)
        return stacked([found[key] for key in keys])

    def __len__(self) -> int:
        """How many vectors are kept."""
        return len(self._kept)

    def _keep(self, key: bytes, vector: Floats) -> None:
        self._kept[key] = vector
        if len(self._kept) > self._capacity:
            self._kept.popitem(last=False)

    async def _ask(self, texts: list[str]) -> list[Floats]:
        from ._vectors import vectors_in  # noqa: PLC0415  # loads numpy

        answer = self._embedder(texts)
        vectors = vectors_in(await answer if inspect.isawaitable(answer) else answer)
        if len(vectors) != len(texts):
            raise EmbeddingError(f"the embedder gave {len(vectors)} vectors for {len(texts)} texts; one each is needed")
        for at, vector in enumerate(vectors):
            if self._dimensions is None:
                self._dimensions = len(vector)
            if len(vector) != self._dimensions:
                reason = f"has {len(vector)} numbers where others have {self._dimensions}"
                raise EmbeddingError(f"vector {at} of the embedder {reason}; all must be of one length")
        return vectors


def _batches(items: list[tuple[bytes, str]], size: int) -> Iterator[list[tuple[bytes, str]]]:
    for at in range(0, len(items), size):
        yield items[at : at + size]
