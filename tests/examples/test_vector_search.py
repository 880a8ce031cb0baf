"""The example that keeps vectors in LanceDB."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from armory_trio import Toolbox
from armory_trio.toolbox.search import CachedEmbedder
from tests.requirements import requirement
from tests.toolbox.search.tools import made

pytest.importorskip("lancedb", reason="needs the package lancedb", exc_type=ImportError)

from examples.vector_search.shelf import Shelf

FORECAST = made("forecast_tool", "What the sky will do.")
STOCKS = made("stock_tool", "What shares cost.")
TOOLBOX = Toolbox([STOCKS, FORECAST])


class Meanings:
    """An embedder that knows two subjects, and counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, texts: Sequence[str], /) -> list[list[float]]:
        self.asked.extend(texts)
        return [[1.0, 0.0] if "forecast" in text or "weather" in text else [0.0, 1.0] for text in texts]


@requirement("examples.vector-search")
async def test_vectors_are_made_once_kept_and_found_after_a_restart(tmp_path: Path) -> None:
    first = await Shelf.open(tmp_path, CachedEmbedder(Meanings()))
    assert await first.search(TOOLBOX, "weather") == []
    assert (await first.add(TOOLBOX), await first.add(TOOLBOX)) == (2, 0)

    again = Meanings()
    second = await Shelf.open(tmp_path, CachedEmbedder(again))
    assert await second.add(TOOLBOX.extend(made("bond_tool"))) == 1
    found = await second.search(TOOLBOX, "weather", limit=1)

    assert found == [FORECAST]
    assert len(again.asked) == 2


@requirement("examples.vector-search")
async def test_a_changed_tool_gets_a_new_vector_and_the_old_one_is_not_found(tmp_path: Path) -> None:
    shelf = await Shelf.open(tmp_path, CachedEmbedder(Meanings()))
    await shelf.add(TOOLBOX)
    changed = TOOLBOX.extend(made("stock_tool", "Also the weather."), replace=True)

    assert await shelf.add(changed) == 1
    found = await shelf.search(changed, "weather")

    assert {tool.description for tool in found} == {"What the sky will do.", "Also the weather."}
