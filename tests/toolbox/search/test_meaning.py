"""Finding tools by meaning: embedders, their answers, and two rankings made one."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
import trio
import trio.testing

from armory_trio import DefinitionError, EmbeddingError, Toolbox
from armory_trio.toolbox.search import (
    CachedEmbedder,
    Embedder,
    SearchIndex,
    Vectors,
    embedding_text,
    reciprocal_rank_fusion,
)
from tests.requirements import requirement
from tests.toolbox.search.tools import made, names

FORECAST = made("forecast_tool", "What the sky will do.")
STOCKS = made("stock_tool", "What shares cost.")
TOOLS = (STOCKS, FORECAST)


class Meanings:
    """An embedder that knows a few words, and counts what it is asked."""

    def __init__(self, meanings: Mapping[str, Sequence[float]]) -> None:
        self.meanings = meanings
        self.asked: list[list[str]] = []

    def __call__(self, texts: Sequence[str], /) -> list[Sequence[float]]:
        self.asked.append(list(texts))
        return [self._of(text) for text in texts]

    def _of(self, text: str) -> Sequence[float]:
        return next((vector for word, vector in self.meanings.items() if word in text), (0.0, 0.0, 1.0))


def meanings() -> Meanings:
    return Meanings({"forecast": (1, 0, 0), "weather": (1, 0, 0), "stock": (0, 1, 0)})


@requirement("toolbox.search.hybrid")
async def test_a_tool_is_found_by_its_meaning_and_others_are_not() -> None:
    index = SearchIndex(Toolbox(TOOLS), embedder=meanings())

    [match] = await index.hybrid_search("weather", explain=True)

    assert match.tool is FORECAST
    assert [str(reason) for reason in match.reasons] == ["meaning: 1.00"]
    assert index.search("weather") == ()


@requirement("toolbox.search.hybrid")
async def test_an_async_embedder_and_rows_of_an_array_will_do() -> None:
    async def embedder(texts: Sequence[str], /) -> Vectors:
        await trio.lowlevel.checkpoint()
        return np.array(meanings()(texts))

    [match] = await SearchIndex(TOOLS, embedder=embedder).hybrid_search("weather")

    assert match.tool is FORECAST


@requirement("toolbox.search.hybrid", "toolbox.search.fusion")
async def test_who_is_found_both_ways_comes_before_who_is_found_in_one() -> None:
    tools = [made("rain_forecast"), made("weather_balloon"), made("weather_archive_of_a_long_name")]
    embedder = Meanings({"rain": (1, 0, 0), "balloon": (0, 1, 0), "archive": (0.9, 0.1, 0), "weather": (1, 0, 0)})
    index = SearchIndex(tools, embedder=embedder)
    found = await index.hybrid_search("weather", explain=True)

    assert names(index.search("weather")) == ["weather_balloon", "weather_archive_of_a_long_name"]
    assert {match.tool.name: [reason.where for reason in match.reasons] for match in found} == {
        "weather_archive_of_a_long_name": ["name", "meaning"],
        "weather_balloon": ["name"],
        "rain_forecast": ["meaning"],
    }
    assert names(found)[0] == "weather_archive_of_a_long_name"
    assert found[0].score == pytest.approx(1.25 / 7 + 1 / 7)


@requirement("toolbox.search.hybrid")
async def test_limits_and_conditions_hold_for_meanings_too() -> None:
    tools = [made(f"forecast_{letter}") for letter in "edcba"]
    index = SearchIndex(tools, embedder=meanings())

    assert names(await index.hybrid_search("weather", limit=2)) == ["forecast_a", "forecast_b"]
    assert names(await index.hybrid_search("weather", where=lambda tool: tool.name > "forecast_c")) == [
        "forecast_d",
        "forecast_e",
    ]
    assert await index.hybrid_search("weather", limit=0) == ()
    assert await index.hybrid_search("weather", least_similarity=1.1) == ()
    with pytest.raises(DefinitionError, match="limit"):
        await index.hybrid_search("weather", limit=-1)


@requirement("toolbox.search.hybrid")
async def test_without_an_embedder_or_without_words_it_is_a_search_by_words() -> None:
    asked = meanings()
    index = SearchIndex(TOOLS, embedder=asked)

    assert names(await SearchIndex(TOOLS).hybrid_search("shares")) == ["stock_tool"]
    assert await index.hybrid_search("!!!") == ()
    assert await SearchIndex([], embedder=asked).hybrid_search("weather") == ()
    assert asked.asked == []
    await SearchIndex(TOOLS).embed()


def test_what_is_embedded_is_the_name_in_words_the_description_and_the_parameters() -> None:
    tool = made("getWeather", "The forecast.", properties={"cityName": {"description": "Where.", "enum": ["Rome"]}})

    assert embedding_text(tool) == "get weather: The forecast. city name Where. Rome"


# -- asked once


@requirement("toolbox.search.embedder-cached")
async def test_each_text_is_asked_for_once_whichever_index_needs_it() -> None:
    asked = meanings()
    shared = CachedEmbedder(asked)
    first = SearchIndex(Toolbox(TOOLS), embedder=shared)
    await first.embed()
    await first.hybrid_search("weather")
    await first.hybrid_search("weather")
    second = SearchIndex(Toolbox(TOOLS).extend(made("bond_tool")), embedder=shared)
    await second.hybrid_search("weather")

    assert asked.asked == [
        [embedding_text(STOCKS), embedding_text(FORECAST)],
        ["weather"],
        [embedding_text(made("bond_tool"))],
    ]


@requirement("toolbox.search.embedder-cached")
async def test_texts_are_asked_for_in_batches_and_each_only_once() -> None:
    asked = meanings()
    embedder = CachedEmbedder(asked, batch_size=2)

    vectors = await embedder(["a", "b", "a", "c", "stock"])

    assert asked.asked == [["a", "b"], ["c", "stock"]]
    assert vectors.shape == (5, 3)
    assert vectors[4].tolist() == [0, 1, 0]
    assert (await embedder([])).shape == (0, 0)


@requirement("toolbox.search.embedder-cached")
async def test_what_was_not_needed_for_longest_is_forgotten() -> None:
    asked = meanings()
    embedder = CachedEmbedder(asked, capacity=2)

    for text in ("a", "b", "a", "c", "a", "b"):
        await embedder([text])
    vectors = await embedder(["d", "e", "f"])

    assert asked.asked[:-1] == [["a"], ["b"], ["c"], ["b"]]
    assert len(vectors) == 3
    assert len(embedder) == 2


@requirement("toolbox.search.embedder-cached")
async def test_what_was_answered_before_a_cancellation_is_kept() -> None:
    asked: list[str] = []

    async def embedder(texts: Sequence[str], /) -> Vectors:
        asked.extend(texts)
        if len(asked) == 2:
            await trio.sleep_forever()
        return [(1.0, 0.0) for _ in texts]

    index = SearchIndex(TOOLS, embedder=CachedEmbedder(embedder, batch_size=1))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(index.embed)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    await index.embed()

    assert asked == [embedding_text(tool) for tool in (STOCKS, FORECAST, FORECAST)]


WRONG: Sequence[tuple[object, str]] = (
    ([], "gave 0 vectors for 2 texts; one each is needed"),
    ([[1.0]] * 3, "gave 3 vectors for 2 texts"),
    ([[1.0], [1.0, 2.0]], "vector 1 of the embedder has 2 numbers where others have 1"),
    ([[1.0], [math.nan]], "vector 1 of the embedder holds a number that is not finite"),
    ([[math.inf], [1.0]], "vector 0 of the embedder holds a number that is not finite"),
    ([list[float](), list[float]()], "vector 0 of the embedder is "),
    ([1.0, 2.0], "vector 0 of the embedder is 1.0; a list of floats is needed"),
    ([["a"], ["b"]], "vector 0 of the embedder is "),
    ([[[1.0]], [[1.0]]], "vector 0 of the embedder is "),
    ({"a": [1.0], "b": [2.0]}, "vector 0 of the embedder is 'a'; a list of floats is needed"),
    (None, "the embedder gave None; a list of vectors is needed"),
    ("vectors", "the embedder gave 'vectors'; a list of vectors is needed"),
)


@requirement("toolbox.search.embedder-checked")
@pytest.mark.parametrize(("answer", "told"), WRONG)
async def test_a_wrong_answer_of_an_embedder_is_refused_in_words(answer: Vectors, told: str) -> None:
    index = SearchIndex(TOOLS, embedder=lambda texts: answer)

    with pytest.raises(EmbeddingError, match=told):
        await index.embed()


@requirement("toolbox.search.embedder-checked")
async def test_a_later_answer_of_another_length_is_refused() -> None:
    lengths = iter((2, 3))
    embedder = CachedEmbedder(lambda texts: [[1.0] * next(lengths) for _ in texts])

    await embedder(["a"])
    with pytest.raises(EmbeddingError, match="has 3 numbers where others have 2"):
        await embedder(["b"])


@requirement("toolbox.search.embedder-checked")
async def test_a_vector_without_direction_is_like_nothing() -> None:
    index = SearchIndex(TOOLS, embedder=lambda texts: [(0.0, 0.0) for _ in texts])

    assert await index.hybrid_search("weather") == ()
    assert names(await index.hybrid_search("shares")) == ["stock_tool"]


@requirement("toolbox.search.embedder-checked")
@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: CachedEmbedder(7), "embedder: must be a function of texts, not 7"),  # type: ignore[arg-type]  # what is tested
        (lambda: CachedEmbedder(meanings(), capacity=0), "capacity: must be a whole number from 1 on, not 0"),
        (lambda: CachedEmbedder(meanings(), batch_size=0), "batch_size: must be a whole number from 1 on, not 0"),
        (lambda: SearchIndex(TOOLS, embedder="model"), "embedder: must be a function of texts, not 'model'"),  # type: ignore[arg-type]  # likewise
    ],
)
def test_a_wrong_option_of_an_embedder_is_refused_in_words(make: Callable[[], object], told: str) -> None:
    with pytest.raises(DefinitionError, match=told):
        make()


def _raise(texts: Sequence[str], /) -> Vectors:
    raise OSError("no model today")


async def _raise_later(texts: Sequence[str], /) -> Vectors:
    await trio.lowlevel.checkpoint()
    return _raise(texts)


def _too_many(texts: Sequence[str], /) -> Vectors:
    return [[1.0]] * (len(texts) + 1)


@requirement("toolbox.search.embedder-fails")
@pytest.mark.parametrize("embedder", [_raise, _raise_later, _too_many])
async def test_when_the_embedder_fails_words_decide_and_that_is_logged(
    embedder: Embedder, caplog: pytest.LogCaptureFixture
) -> None:
    index = SearchIndex(TOOLS, embedder=embedder)

    with caplog.at_level(logging.WARNING, "armory_trio"):
        found = await index.hybrid_search("shares")

    assert found == index.search("shares")
    [record] = caplog.records
    assert "the embedder failed, so words alone decide" in record.getMessage()
    assert ("OSError (test_meaning.py:" in record.getMessage()) is (embedder is not _too_many)
    assert ("EmbeddingError" in record.getMessage()) is (embedder is _too_many)
    assert "no model today" not in record.getMessage(), "the words of an exception may hold anything"


@requirement("toolbox.search.embedder-fails")
async def test_an_embedder_that_works_again_is_used_again() -> None:
    works = False

    def embedder(texts: Sequence[str], /) -> Vectors:
        return meanings()(texts) if works else _raise(texts)

    index = SearchIndex(TOOLS, embedder=embedder)
    assert await index.hybrid_search("weather") == ()

    works = True
    assert names(await index.hybrid_search("weather")) == ["forecast_tool"]


# -- two rankings made one


@requirement("toolbox.search.fusion")
def test_fused_ranks_are_sums_of_weighted_reciprocals() -> None:
    fused = reciprocal_rank_fusion((["a", "b"], ["b", "c"]), weights=(2, 1), offset=1)

    assert [item for item, _ in fused] == ["b", "a", "c"]
    assert dict(fused) == pytest.approx({"b": 2 / 3 + 1 / 2, "a": 2 / 2, "c": 1 / 3})


@requirement("toolbox.search.fusion")
def test_of_equal_ones_the_first_stays_first_and_nothing_is_nothing() -> None:
    assert [item for item, _ in reciprocal_rank_fusion((["a", "b"], ["b", "a"]))] == ["a", "b"]
    assert reciprocal_rank_fusion(()) == []
    with pytest.raises(ValueError, match="there are 2 rankings and 1 weights"):
        reciprocal_rank_fusion((["a"], ["b"]), weights=(1,))
