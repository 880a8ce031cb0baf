"""Vectors of tools in a LanceDB table: made once for each definition, and found again after a restart.

LanceDB runs in this process and keeps its tables in a folder. Its calls block, so they run in threads.
"""

# LanceDB has no types, and is only there for those who want this example.
# mypy: ignore-errors
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final, cast

import lancedb
import trio

from armory_trio import Tool, Toolbox
from armory_trio.toolbox.search import CachedEmbedder, embedding_text, reciprocal_rank_fusion

AnyTool = Tool[..., object]
_TABLE: Final = "tools"
_DEPTH: Final = 50
"""Places of each ranking that are fused."""


class Shelf:
    """The vectors of tools in a folder. Open it with `Shelf.open`.

    Args:
        database: The connection to the folder.
        embedder: Makes the vectors.
    """

    def __init__(self, database: lancedb.DBConnection, embedder: CachedEmbedder) -> None:
        self._database = database
        self._embedder = embedder

    @classmethod
    async def open(cls, folder: Path, embedder: CachedEmbedder) -> Shelf:
        """The vectors that are kept in *folder*, which is made if need be."""
        return cls(await trio.to_thread.run_sync(lancedb.connect, folder), embedder)

    async def add(self, toolbox: Toolbox) -> int:
        """Keep the vectors of the tools in *toolbox* that are not there yet, and answer how many those were.

        A tool is known by the digest of its definition: one that was changed gets a new vector.
        """
        known = await trio.to_thread.run_sync(self._digests)
        new = [tool for tool in toolbox if tool.definition.digest not in known]
        if new:
            vectors = await self._embedder([embedding_text(tool) for tool in new])
            rows = [
                {"digest": tool.definition.digest, "vector": vector}
                for tool, vector in zip(new, vectors.tolist(), strict=True)
            ]
            await trio.to_thread.run_sync(self._write, rows)
        return len(new)

    async def search(self, toolbox: Toolbox, query: str, *, limit: int = 5) -> list[AnyTool]:
        """The tools of *toolbox* that fit *query* by words and by meaning, best first."""
        [vector] = (await self._embedder([query])).tolist()
        nearest = await trio.to_thread.run_sync(partial(self._nearest, vector))
        by_digest = {tool.definition.digest: tool for tool in toolbox}
        # The table may hold tools of other toolboxes, and older versions.
        by_meaning = [by_digest[digest] for digest in nearest if digest in by_digest]
        by_words = [match.tool for match in toolbox.search(query, limit=_DEPTH)]
        return [tool for tool, _ in reciprocal_rank_fusion((by_words, by_meaning), weights=(1.25, 1.0))][:limit]

    def _digests(self) -> set[str]:
        if not self._exists():
            return set()
        return set(self._database.open_table(_TABLE).to_arrow()["digest"].to_pylist())

    def _write(self, rows: Sequence[dict[str, object]]) -> None:
        if self._exists():
            self._database.open_table(_TABLE).add(list(rows))
        else:
            self._database.create_table(_TABLE, list(rows))

    def _nearest(self, vector: list[float]) -> list[str]:
        if not self._exists():
            return []
        found = self._database.open_table(_TABLE).search(vector).metric("cosine").limit(_DEPTH).to_list()
        return [cast("str", row["digest"]) for row in found]

    def _exists(self) -> bool:
        return _TABLE in self._database.list_tables().tables
