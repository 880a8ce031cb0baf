"""Who ranks: what one would put together without us, and ours."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, cast

from armory_trio.kits.search import LocalEmbedder
from armory_trio.toolbox.search import CachedEmbedder, SearchIndex, reciprocal_rank_fusion

from ._data import Definition
from ._peers import best, okapi

Rank = Callable[[str], Awaitable[list[str]]]
"""The names of the best tools for a query, best first."""

FIRST: Final = 10
_USUAL_OFFSET: Final = 60.0
_FUSED: Final = 200


def short_text(definition: Definition) -> str:
    """Name and description."""
    return f"{definition.name} {definition.description}"


def long_text(definition: Definition) -> str:
    """Name, description, and the names and descriptions of the parameters."""
    return " ".join([short_text(definition), *_parameter_texts(definition.parameters)])


def spoken_text(definition: Definition) -> str:
    """The long text, with the name in words, which a model reads better."""
    name = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", definition.name).replace("_", " ").replace(".", " ")
    return " ".join([f"{name}: {definition.description}", *_parameter_texts(definition.parameters)])


def _parameter_texts(parameters: Mapping[str, object]) -> list[str]:
    found: list[str] = []
    for name, inner in _mapping(parameters.get("properties")).items():
        schema = _mapping(inner)
        found += [name, str(schema.get("description", ""))]
        found += _parameter_texts(schema)
        found += _parameter_texts(_mapping(schema.get("items")))
    return found


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def by(names: Sequence[str], rank: Callable[[str], list[int]]) -> Rank:
    """*rank*, with the names for the indices."""

    async def ranked(query: str) -> list[str]:
        return [names[at] for at in rank(query)[:FIRST]]

    return ranked


async def by_meaning(names: Sequence[str], texts: Sequence[str], embedder: CachedEmbedder) -> Rank:
    """Vectors alone, of *texts*."""
    ranks = await _nearest(texts, embedder)

    async def ranked(query: str) -> list[str]:
        return [names[at] for at in (await ranks(query))[:FIRST]]

    return ranked


async def fused(names: Sequence[str], texts: Sequence[str], spoken: Sequence[str], embedder: CachedEmbedder) -> Rank:
    """rank-bm25 of *texts* and vectors of *spoken*, by reciprocal ranks with the usual offset of 60."""
    lexical = okapi(texts)
    ranks = await _nearest(spoken, embedder)

    async def ranked(query: str) -> list[str]:
        both = (lexical(query)[:_FUSED], (await ranks(query))[:_FUSED])
        return [names[at] for at, _ in reciprocal_rank_fusion(both, offset=_USUAL_OFFSET)][:FIRST]

    return ranked


async def _nearest(texts: Sequence[str], embedder: CachedEmbedder) -> Callable[[str], Awaitable[list[int]]]:
    vectors = await embedder(texts)

    async def ranks(query: str) -> list[int]:
        return best(vectors @ (await embedder([query]))[0])

    return ranks


def ours(index: SearchIndex) -> Rank:
    """`SearchIndex.search`."""

    async def ranked(query: str) -> list[str]:
        return [match.tool.name for match in index.search(query, limit=FIRST)]

    return ranked


def ours_hybrid(index: SearchIndex) -> Rank:
    """`SearchIndex.hybrid_search`."""

    async def ranked(query: str) -> list[str]:
        return [match.tool.name for match in await index.hybrid_search(query, limit=FIRST)]

    return ranked


def embedder() -> CachedEmbedder:
    """The local model, with room for every text that is compared."""
    return CachedEmbedder(LocalEmbedder(), capacity=50_000)
