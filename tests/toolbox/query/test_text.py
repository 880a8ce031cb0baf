from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armory_trio import DefinitionError, Tool, define_tool
from armory_trio.toolbox.query import Query, Text, TextMode, query_tools, text_matches, text_score
from armory_trio.toolbox.query._text import similarity, words_of
from tests.requirements import requirement


def made(
    name: str, description: str = "", *, tags: tuple[str, ...] = (), keys: tuple[str, ...] = (), **metadata: object
) -> Tool[..., object]:
    def body(arguments: dict[str, object]) -> None: ...

    properties = {key: {"type": "string"} for key in keys}
    schema = {"type": "object", "properties": properties}
    return define_tool(name=name, description=description, tags=tags, metadata=metadata, input=schema, execute=body)


# ── Words ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("toolbox.query.words")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("alpha-sum", ["alpha", "sum"]),
        ("trackingId", ["tracking", "id"]),
        ("HTTPServer2Go", ["http", "server", "2", "go"]),
        ("send_email_v2", ["send", "email", "v", "2"]),
        ("Café élan", ["cafe", "elan"]),
        ("parseJSON", ["parse", "json"]),
        ("A", ["a"]),
        ("ABC", ["abc"]),
        ("検索ツール", ["検索ツール"]),
        ("날씨 한국", ["날씨", "한국"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("ПоискФайлов", ["поиск", "фаилов"]),
        ("straße", ["strasse"]),
        ("!?", []),
        ("", []),
    ],
)
def test_a_text_is_taken_apart_into_folded_words(text: str, words: list[str]) -> None:
    assert list(words_of(text)) == words


@given(st.text(max_size=30))
def test_every_text_can_be_taken_apart_and_its_words_stay_whole(text: str) -> None:
    for word in words_of(text):
        assert word
        assert not any(character.isspace() for character in word)


# ── Likeness ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("toolbox.query.text")
@pytest.mark.parametrize(
    ("one", "other", "share"),
    [
        ("alpa", "alpha", 0.8),
        ("weathr", "weather", 1 - 1 / 7),
        ("a", "a", 1),
        ("a", "b", 0),
        ("kitten", "sitting", 1 - 3 / 7),
    ],
)
def test_likeness_is_the_share_of_letters_that_agree(one: str, other: str, share: float) -> None:
    assert math.isclose(similarity(one, other), share)
    assert math.isclose(similarity(other, one), share)


WORDS = st.text("abcdefgh", min_size=1, max_size=12)


def plainly(one: str, other: str) -> float:
    table = {(0, 0): 0}
    for i in range(len(one) + 1):
        for j in range(len(other) + 1):
            if (i, j) != (0, 0):
                ways = [(i - 1, j, 1), (i, j - 1, 1), (i - 1, j - 1, int(one[i - 1 : i] != other[j - 1 : j]))]
                table[i, j] = min(table[a, b] + cost for a, b, cost in ways if a >= 0 and b >= 0)
    return 1 - table[len(one), len(other)] / max(len(one), len(other))


@requirement("toolbox.query.text")
@given(WORDS, WORDS, st.sampled_from([0.0, 0.3, 0.5, 0.7, 0.9, 1.0]))
def test_likeness_is_exact_from_the_threshold_on_and_nothing_below_it(one: str, other: str, at_least: float) -> None:
    exact = plainly(one, other)
    found = similarity(one, other, at_least=at_least)

    assert math.isclose(found, exact) if exact >= at_least - 1e-12 else found == 0


@requirement("toolbox.query.text")
@given(st.text("abcdefgh", min_size=8, max_size=14), st.data())
def test_three_tenths_of_the_letters_may_be_wrong_and_not_one_more(word: str, data: st.DataObject) -> None:
    places = data.draw(st.permutations(range(len(word))))
    wrong = math.floor(len(word) * 0.3 + 1e-9)
    for errors, found in ((wrong, True), (wrong + 1, False)):
        spoilt = "".join("z" if place in places[:errors] else letter for place, letter in enumerate(word))
        assert text_matches(made(word), Text(spoilt, mode="fuzzy", fields=["name"])) is found


# ── Where and how ────────────────────────────────────────────────────────────────────────────────────────────────────

SHIPPING = made(
    "track-shipment",
    "Find where a parcel is",
    tags=("logistics", "read-only"),
    keys=("trackingId", "locale"),
    team="dispatch",
)


@requirement("toolbox.query.text")
@pytest.mark.parametrize(
    ("words", "reasons"),
    [
        ("shipment", ("name",)),
        ("PARCEL", ("description",)),
        ("logistic", ("tags(logistics)",)),
        ("tracking id", ("schema_keys(trackingId)",)),
        ("trackingid", ("schema_keys(trackingId)",)),
        ("locale", ("schema_keys(locale)",)),
        ("team", ("metadata_keys(team)",)),
        ("dispatch", ()),
        ("a", ("name", "description", "tags(read-only)", "schema_keys(trackingId, locale)", "metadata_keys(team)")),
        ("trackShipment", ("name", "schema_keys(trackingId)")),
        ("", ()),
        ("  ", ()),
        ("!!!", ()),
    ],
)
def test_a_text_is_found_where_a_word_of_it_is_contained(words: str, reasons: tuple[str, ...]) -> None:
    assert text_score(SHIPPING, words).reasons == reasons


@requirement("toolbox.query.text")
@pytest.mark.parametrize(
    ("words", "mode", "found"),
    [
        ("track", "exact", True),
        ("trac", "exact", False),
        ("track-shipment", "exact", True),
        ("trackshipment", "exact", True),
        ("trackingId", "exact", True),
        ("tracking_id", "exact", True),
        ("trackingid", "exact", True),
        ("read-only", "exact", True),
        ("readonly", "exact", True),
        ("pars", "exact", False),
        ("parsel", "fuzzy", True),
        ("logistcs", "fuzzy", True),
        ("trakingid", "fuzzy", True),
        ("traking id", "fuzzy", True),
        ("elephant", "fuzzy", False),
    ],
)
def test_exact_and_fuzzy_look_at_words_and_at_whole_names(words: str, mode: TextMode, found: bool) -> None:
    assert text_matches(SHIPPING, Text(words, mode=mode)) is found


@requirement("toolbox.query.text")
def test_a_name_written_together_has_the_words_of_one_that_is_not() -> None:
    for mode in ("contains", "exact", "fuzzy"):
        assert text_matches(made("getweather"), Text("getWeather", mode=mode))
        assert text_matches(made("get-weather"), Text("getweather", mode=mode))
    assert not text_matches(made("x", "get weather"), Text("getweather"))
    assert text_score(made("getweather-report"), Text("getWeatherReport", mode="exact")).score == 3


@requirement("toolbox.query.text")
def test_the_threshold_says_how_alike_words_must_be() -> None:
    tool = made("alpha-sum")

    assert text_matches(tool, Text("alpa", mode="fuzzy", threshold=0.6))
    assert text_matches(tool, Text("alpa", mode="fuzzy"))
    assert not text_matches(tool, Text("alpa", mode="fuzzy", threshold=0.95))
    assert not text_matches(made("abc"), Text("xyz", mode="fuzzy", threshold=0))


@requirement("toolbox.query.text")
@pytest.mark.parametrize(("words", "found"), [("foo id", "fooId"), ("cafe", "Café"), ("検索", "検索ツール")])
def test_words_of_any_script_and_spelling_are_found(words: str, found: str) -> None:
    assert text_matches(made("x", keys=(found,)), words)
    assert not text_matches(made("x", keys=("other",)), words)


@requirement("toolbox.query.text")
def test_only_the_fields_that_are_named_are_looked_at() -> None:
    assert not text_matches(SHIPPING, Text("shipment", fields=["tags", "description"]))
    assert text_matches(SHIPPING, Text("shipment", fields=["tags", "name"]))
    assert text_matches(SHIPPING, Text("shipment", fields=[]))


@requirement("toolbox.query.text")
def test_a_score_counts_each_word_once_in_each_field_with_its_weight() -> None:
    tool = made("alpha", "alpha and beta alpha", tags=("alpha-one", "alpha-two"))

    assert text_score(tool, "alpha").score == 3
    assert text_score(tool, "alpha alpha ALPHA").score == 3
    assert text_score(tool, "alpha beta").score == 4
    assert text_score(tool, Text("alpha", weights={"name": 2, "description": 0.5})).score == 3.5
    assert text_score(tool, Text("alpha", weights={"tags": 0})).reasons == ("name", "description")
    assert not text_matches(tool, Text("beta", weights={"description": 0}))


@requirement("toolbox.query.text", "toolbox.query.ranked")
def test_weights_decide_what_comes_first() -> None:
    by_name, by_description = made("refund"), made("x", "refund an order")
    both = [by_description, by_name]

    ranked = query_tools(both, text=Text("refund", weights={"name": 2, "description": 0.5}), ranked=True)
    assert ranked.tools == (by_name, by_description)


@requirement("toolbox.query.text")
def test_a_fuzzy_word_counts_as_much_as_it_is_alike() -> None:
    assert math.isclose(text_score(made("weather"), Text("weathr", mode="fuzzy")).score, 1 - 1 / 7)


@requirement("toolbox.query.text")
def test_blank_text_asks_for_nothing_and_text_without_words_finds_nothing() -> None:
    tools = [made("a"), made("b")]

    assert query_tools(tools, text="  ").total == 2
    assert Query(text="  ") == Query()
    assert query_tools(tools, text="!?").total == 0


@requirement("toolbox.query.bounded")
def test_a_very_long_text_is_answered() -> None:
    tool = made("needle", "x" * 100_000 + " y" * 1_000)
    long = "needle " + " ".join(f"word{number}x" for number in range(1_000_000))

    assert text_matches(tool, long)
    assert text_score(tool, Text("z" * 1_000_000, mode="fuzzy", threshold=0)).score == 0


@requirement("toolbox.query.wrong-argument")
@pytest.mark.parametrize(
    ("arguments", "field", "words"),
    [
        ({"words": 3}, "words", "must be text"),
        ({"mode": "fuzy"}, "mode", "did you mean 'fuzzy'?"),
        ({"fields": "name"}, "fields", "must be a list"),
        ({"fields": ["title"]}, "fields[0]", "is not one of"),
        ({"threshold": 1.5}, "threshold", "from 0 to 1"),
        ({"threshold": math.nan}, "threshold", "from 0 to 1"),
        ({"threshold": True}, "threshold", "from 0 to 1"),
        ({"weights": {"nam": 1}}, "weights", "did you mean 'name'?"),
        ({"weights": {"name": -1}}, "weights['name']", "from 0 on"),
        ({"weights": {"name": math.inf}}, "weights['name']", "from 0 on"),
        ({"weights": ["name"]}, "weights", "must be a mapping"),
    ],
)
def test_a_wrong_text_is_refused_with_its_place(arguments: dict[str, object], field: str, words: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        Text(**{"words": "x", **arguments})  # type: ignore[arg-type]  # the mistake under test
    assert (caught.value.subject, caught.value.field) == ("Text", field)
    assert words in caught.value.reason
