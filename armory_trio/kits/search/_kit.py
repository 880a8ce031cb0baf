"""The tool with which a model finds other tools."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Annotated, Final, cast
from weakref import WeakKeyDictionary

import trio
from msgspec import Meta

from ...definitions import RequestContext, Tool, ToolContext, tool
from ...definitions._checks import names, required
from ...errors import DefinitionError
from ...toolbox import Toolbox, is_toolbox
from ...toolbox.search import CachedEmbedder, Embedder, Match, SearchIndex
from ._found import FoundTools, fitted
from ._options import SearchOptions

_DEFAULTS: Final = SearchOptions()
_WIDENED: Final = 4
"""How many times as many tools are looked at when some of those that were found cannot be used."""

Allow = Callable[[Tool[..., object], RequestContext | None], bool]


class SearchKit:
    """Lets a model find tools instead of being shown all of them.

    One kit may be used with any number of supervisors. Add ``kit.tools`` to their toolboxes. What is searched is the
    toolbox of the call, whatever it holds by then, without the tool of the kit itself.

    Args:
        allow: Says of a tool, and on whose behalf the call is made, whether the model may know of it.
        tags: If any are given, only tools with one of these tags are found.
        embedder: Makes vectors of texts, so that tools are found by meaning as well as by words.
        options: How many tools an answer has, and how long it may be.

    Raises:
        DefinitionError: An option is wrong, or a package of the extra ``search`` is not installed.
    """

    def __init__(
        self,
        *,
        allow: Allow | None = None,
        tags: Collection[str] = (),
        embedder: Embedder | None = None,
        options: SearchOptions = _DEFAULTS,
    ) -> None:
        wanted = names("SearchKit", "tags", tags)
        required("SearchKit", "options", options, SearchOptions)
        if allow is not None and not callable(cast("object", allow)):
            what = "a function of a tool and a request context that says True or False, or None for every tool"
            raise DefinitionError("SearchKit", "allow", f"is {allow!r}; give {what}")
        SearchIndex(())  # says at once if a package is missing
        self._allow = allow
        self._tags = frozenset(wanted)
        self._options = options
        self._embedder = None if embedder is None else _cached(embedder)
        self._indices: WeakKeyDictionary[Toolbox, SearchIndex] = WeakKeyDictionary()
        self.tools: tuple[Tool[..., object], ...] = (self._search_tool(),)
        """``search_tools``."""

    def __repr__(self) -> str:
        return f"<SearchKit {self.tools[0].id}>"

    async def prepare(self, toolbox: Toolbox) -> None:
        """Do now what the first search in *toolbox* would do: index it and, with an embedder, embed its tools.

        Cancelled: what is done is kept, and done the next time it is needed.

        Raises:
            DefinitionError: *toolbox* is none.
            EmbeddingError: An answer of the embedder is not what it has to be. What it raises itself is passed on.
        """
        required("SearchKit.prepare", "toolbox", toolbox, Toolbox)
        await (await self._index(toolbox)).embed()

    def _search_tool(self) -> Tool[..., object]:
        options = self._options

        @tool(name=options.name, namespace=options.namespace, tags=("search", "utility"), effect="read-only")
        async def search_tools(
            ctx: ToolContext,
            query: Annotated[str, "What you want to do, in a few words or a sentence."],
            limit: Annotated[
                int, Meta(ge=1, le=options.most, description="How many tools to answer at most.")
            ] = options.limit,
            tags: Annotated[list[str] | None, "Only tools that have one of these tags."] = None,
            schemas: Annotated[bool, "Also tell what arguments each tool takes."] = True,  # noqa: FBT002  # by name
        ) -> FoundTools:
            """Find tools by what they do, best first. Call a tool that was found by its name."""
            matches = await self._find(ctx, query, limit, frozenset(tags or ()))
            return fitted(matches, options, schemas=schemas)

        return search_tools

    async def _find(self, ctx: ToolContext, query: str, limit: int, tags: frozenset[str]) -> list[Match]:
        toolbox = ctx.toolbox
        assert is_toolbox(toolbox)
        index = await self._index(toolbox)

        def permitted(found: Tool[..., object]) -> bool:
            # Of several tools with one name, only the one that the name means can be called by it.
            return toolbox.get(found.name) is found and self._is_permitted(found, ctx.request_context, tags)

        wanted = limit
        while True:
            matches = await index.hybrid_search(query, limit=wanted, where=permitted)
            # Only of those that would be shown is it asked whether they can be used at all.
            usable = await Toolbox([match.tool for match in matches]).available(ctx.context)
            found = [match for match in matches if match.tool in usable]
            if len(found) >= limit or len(matches) < wanted:
                return found[:limit]
            wanted *= _WIDENED

    def _is_permitted(self, found: Tool[..., object], request: RequestContext | None, tags: frozenset[str]) -> bool:
        if any(found.bare is own for own in self.tools):
            return False
        if any(wanted and wanted.isdisjoint(found.definition.tags) for wanted in (self._tags, tags)):
            return False
        return self._allow is None or self._allow(found, request) is True

    async def _index(self, toolbox: Toolbox) -> SearchIndex:
        index = self._indices.get(toolbox)
        if index is None:
            # Thousands of new tools take a second. Left behind when cancelled, the thread ends by itself.
            index = await trio.to_thread.run_sync(self._made, toolbox, abandon_on_cancel=True)
            index = self._indices.setdefault(toolbox, index)
        return index

    def _made(self, toolbox: Toolbox) -> SearchIndex:
        return SearchIndex(toolbox, embedder=self._embedder)


def _cached(embedder: Embedder) -> CachedEmbedder:
    return embedder if isinstance(embedder, CachedEmbedder) else CachedEmbedder(embedder)
