"""Searching: which tools fit what somebody wants, best first."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Final, cast
from weakref import WeakKeyDictionary

from ...definitions import is_tool
from ...definitions._checks import members, shown, text
from ...definitions._exceptions import Withheld
from ...definitions._plurals import counted
from ...definitions._tool import no_tool
from ...errors import DefinitionError
from .._resolution import AnyTool
from ..query import Condition
from ._document import document_of
from ._embeddings import CachedEmbedder, Embedder, embedding_text
from ._extra import require_extra
from ._fusion import reciprocal_rank_fusion
from ._matches import Match, Reason
from ._reasons import reasons_for

if TYPE_CHECKING:  # numpy is loaded by who searches, not by who imports this
    from ._index import LexicalIndex, Wording
    from ._vectors import Floats, Indices

DEFAULT_LIMIT: Final = 10
LEAST_SIMILARITY: Final = 0.2
"""Below this cosine two texts have nothing to do with each other, with most models."""

_WEIGHTS: Final = (1.25, 1.0)
"""What the ranking by words counts, and the one by meaning."""

_DEPTH: Final = 200
"""Places of each ranking that are fused, at least: what stands further behind changes nothing in front."""

_log: Final = logging.getLogger("armory_trio.toolbox")

Where = Callable[[AnyTool], bool] | Condition
"""Which tools may be answered: a function that says it of one, or a condition as for `query_tools`."""


class SearchIndex:
    """Finds tools by words, and with an embedder also by meaning. Immutable, like the tools.

    What is known of a tool is worked out once, whichever indices it is in: the index of ``toolbox.extend(...)`` only
    reads the tools that are new. Building may take seconds for tens of thousands of new tools, and is safe in a thread.

    Args:
        tools: A toolbox, or any tools.
        embedder: Makes vectors of texts, for `hybrid_search`. A `CachedEmbedder` is shared with other indices.

    Raises:
        DefinitionError: One of *tools* is no tool, or a package of the extra ``search`` is not installed.
    """

    __slots__ = ("_embedder", "_lexical", "_places", "_vectors", "tools")

    tools: tuple[AnyTool, ...]

    def __init__(self, tools: Iterable[AnyTool], *, embedder: Embedder | None = None) -> None:
        require_extra()
        from ._index import LexicalIndex  # noqa: PLC0415  # loads numpy
        from ._vectors import places_of  # noqa: PLC0415  # loads numpy

        self.tools = _tools(tools)
        self._lexical: LexicalIndex = LexicalIndex([document_of(tool) for tool in self.tools])
        # Where scores are equal, names decide, whatever the order of the tools.
        self._places: Indices = places_of([(tool.name, tool.id.text) for tool in self.tools])
        self._embedder = _cached(embedder)
        self._vectors: Floats | None = None

    def __repr__(self) -> str:
        by_meaning = "" if self._embedder is None else ", by meaning too"
        return f"<SearchIndex of {counted(len(self), 'tool')}{by_meaning}>"

    def __len__(self) -> int:
        return len(self.tools)

    def search(
        self, query: str, *, limit: int = DEFAULT_LIMIT, where: Where | None = None, explain: bool = False
    ) -> tuple[Match, ...]:
        """The tools whose words fit *query* best, best first; of equal ones, in order of name.

        Only tools that hold a word of the query, another form of it or what it was probably meant to be are found.

        Args:
            query: What somebody wants, in words of any language.
            limit: How many to answer at most.
            where: Which tools may be answered: a function of a tool, or a condition such as ``Query(tags_any=["math"])``.
                What the function raises is passed on.
            explain: Whether to say why each was found.

        Raises:
            DefinitionError: An argument has the wrong type, or *limit* is below 0.
        """
        _check(query, limit, where)
        from ._index import Wording  # noqa: PLC0415  # loads numpy
        from ._vectors import best_first  # noqa: PLC0415  # loads numpy

        asked = Wording(query, self._lexical)
        scores, matched = self._lexical.scores(asked)
        ranking = best_first(scores, self._places, matched, limit if where is None else None)
        found = [(at, float(scores[at])) for at in self._permitted(ranking, where, limit)]
        return self._matches(found, asked, {}, explain=explain)

    async def hybrid_search(
        self,
        query: str,
        *,
        limit: int = DEFAULT_LIMIT,
        where: Where | None = None,
        least_similarity: float = LEAST_SIMILARITY,
        explain: bool = False,
    ) -> tuple[Match, ...]:
        """Like `search`, by words and by meaning: the two rankings are fused by reciprocal rank.

        Vectors that are still missing are asked for first; call `embed` beforehand to be spared the wait. When the
        embedder fails, that is logged as a warning, and words alone decide. Without an embedder it is `search`.

        Checkpoints only where the embedder does. Cancelled: vectors that were answered so far are kept.

        Args:
            query: As in `search`.
            limit: As in `search`.
            where: As in `search`.
            least_similarity: The cosine below which a tool is not found by meaning.
            explain: As in `search`.

        Raises:
            DefinitionError: As in `search`.
        """
        _check(query, limit, where)
        from ._index import Wording  # noqa: PLC0415  # loads numpy
        from ._vectors import best_first  # noqa: PLC0415  # loads numpy

        asked = Wording(query, self._lexical)
        similarities = await self._similarities(query) if asked.words and self.tools else None
        if similarities is None:
            return self.search(query, limit=limit, where=where, explain=explain)
        depth = None if where is not None else max(_DEPTH, limit)
        by_meaning = best_first(similarities, self._places, similarities >= least_similarity, depth)
        scores, matched = self._lexical.scores(asked)
        by_words = best_first(scores, self._places, matched, depth)
        fused = dict(reciprocal_rank_fusion((by_words, by_meaning), weights=_WEIGHTS))
        ranking = sorted(fused, key=lambda at: (-fused[at], self._places[at]))
        found = [(at, fused[at]) for at in self._permitted(ranking, where, limit)]
        alike = {at: float(similarities[at]) for at in by_meaning}
        return self._matches(found, asked, alike, explain=explain)

    async def embed(self) -> None:
        """Ask the embedder for the vectors of all tools that it was not asked for before; without one, do nothing.

        Checkpoints only where the embedder does. Cancelled: vectors that were answered so far are kept.

        Raises:
            EmbeddingError: An answer of the embedder is not what it has to be. What it raises itself is passed on.
        """
        if self._embedder is None or self._vectors is not None or not self.tools:
            return
        self._vectors = await self._embedder([embedding_text(tool) for tool in self.tools])

    # -- ranking

    def _permitted(self, ranking: Iterable[int], where: Where | None, limit: int) -> list[int]:
        permits = where.matches if isinstance(where, Condition) else where
        permitted = (at for at in ranking if permits is None or permits(self.tools[at]))
        return list(islice(permitted, min(limit, len(self.tools))))

    async def _similarities(self, query: str) -> Floats | None:
        if self._embedder is None:
            return None
        try:
            await self.embed()
            asked = (await self._embedder([query]))[0]
        except Exception as error:  # noqa: BLE001  # whatever it was, words are still there to go by
            _log.warning("the embedder failed, so words alone decide: %s", Withheld(error))
            return None
        assert self._vectors is not None
        similarities: Floats = self._vectors @ asked
        return similarities

    def _matches(
        self, found: Iterable[tuple[int, float]], asked: Wording, alike: Mapping[int, float], *, explain: bool
    ) -> tuple[Match, ...]:
        if not explain:
            return tuple(Match(self.tools[at], score) for at, score in found)
        wanted = {word: tuple(asked.meant.get(word, ())) for word in asked.words}
        return tuple(
            Match(
                self.tools[at],
                score,
                (
                    *reasons_for(self.tools[at], wanted),
                    *((Reason("meaning", similarity=alike[at]),) if at in alike else ()),
                ),
            )
            for at, score in found
        )


_indices: Final[WeakKeyDictionary[Iterable[AnyTool], SearchIndex]] = WeakKeyDictionary()


def index_of(toolbox: Iterable[AnyTool]) -> SearchIndex:
    """The index of *toolbox*, without an embedder. It is made once for each toolbox, and kept as long as that is."""
    index = _indices.get(toolbox)
    if index is None:
        index = _indices[toolbox] = SearchIndex(toolbox)
    return index


def _tools(value: Iterable[AnyTool]) -> tuple[AnyTool, ...]:
    found: list[AnyTool] = []
    for index, tool in enumerate(members("SearchIndex", "tools", value, "tools, or a toolbox")):
        if not is_tool(tool):
            raise DefinitionError("SearchIndex", f"tools[{index}]", no_tool(tool))
        found.append(tool)
    return tuple(found)


def _cached(embedder: Embedder | None) -> CachedEmbedder | None:
    return embedder if embedder is None or isinstance(embedder, CachedEmbedder) else CachedEmbedder(embedder)


def _check(query: str, limit: int, where: Where | None) -> None:
    text("search", "query", query)
    if isinstance(cast("object", limit), bool) or not isinstance(cast("object", limit), int) or limit < 0:
        raise DefinitionError("search", "limit", f"must be a whole number from 0 on, not {shown(limit)}")
    if where is not None and not isinstance(where, Condition) and not callable(where):
        raise DefinitionError("search", "where", f"must be a function of a tool or a condition, not {shown(where)}")
