"""Finding tools by words."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armory_trio import DefinitionError, Tool, Toolbox, ToolDefinition
from armory_trio.toolbox.query import Query
from armory_trio.toolbox.search import SearchIndex, Where, _document, index_of
from armory_trio.toolbox.search._fields import Texts, texts_of
from armory_trio.toolbox.search._words import words
from tests.requirements import requirement
from tests.toolbox.search.tools import SHOP, made, names

shop = Toolbox(SHOP)

# -- what is found


@requirement("toolbox.search.fields")
@pytest.mark.parametrize(
    ("query", "found", "where"),
    [
        ("shipment", "trackShipment", "name"),
        ("risk", "flag_fraud", "tags"),
        ("money", "issue_refund", "description"),
        ("id", "trackShipment", "parameters"),
        ("label", "trackShipment", "parameter descriptions"),
        ("locale", "translate_message", "parameters"),
        ("icelandic", "translate_message", "values"),
        ("swindler", "flag_fraud", "examples"),
    ],
)
def test_a_tool_is_found_by_words_of_every_field(query: str, found: str, where: str) -> None:
    [match] = shop.search(query, explain=True)

    assert match.tool.name == found
    assert [reason.where for reason in match.reasons] == [where]


@requirement("toolbox.search.fields")
def test_parameters_are_found_wherever_a_schema_holds_schemas() -> None:
    deep = {
        "a": {"type": "array", "items": {"properties": {"zebra": {"description": "stripes"}}}},
        "b": {"anyOf": [{"type": "null"}, {"properties": {"gnu": {"const": "horned"}}}]},
        "c": {"additionalProperties": {"properties": {"okapi": {"default": "shy"}}}},
        "d": {"prefixItems": [{"examples": ["heron"]}]},
    }
    toolbox = Toolbox([made("zoo", properties=deep), made("other")])

    for query in ("zebra", "stripes", "gnu", "horned", "okapi", "shy", "heron"):
        assert names(toolbox.search(query)) == ["zoo"], query


@requirement("toolbox.search.forms")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("alpha-sum", ["alpha", "sum"]),
        ("trackingId", ["tracking", "id"]),
        ("HTTPServer2Go", ["http", "server", "2", "go"]),
        ("send_email_v2", ["send", "email", "v", "2"]),
        ("Café élan", ["cafe", "elan"]),
        ("GROẞ", ["gross"]),
        ("東京の天気", ["東京", "京の", "の天", "天気"]),
        ("茶", ["茶"]),
        ("मौसम बताओ", ["मौसम", "बताओ"]),
        ("прогноз погоды", ["прогноз", "погоды"]),
        ("\uc11c\uc6b8 날씨", ["서울", "날씨"]),
        ("!!! ... 🙂", []),
    ],
)
def test_text_is_taken_apart_into_words(text: str, expected: list[str]) -> None:
    assert words(text, everything=True) == expected


@requirement("toolbox.search.forms")
@pytest.mark.parametrize("query", ["refunds", "refunded", "refunding", "Refund!", "réfund", "REFUND order"])
def test_other_forms_of_a_word_are_found(query: str) -> None:
    assert names(shop.search(query))[0] == "issue_refund"


@requirement("toolbox.search.forms")
def test_the_words_of_a_name_count_also_when_they_say_little_elsewhere() -> None:
    toolbox = Toolbox([made("to_do", "A list."), made("done", "Not a list.")])

    assert names(toolbox.search("to do")) == ["to_do"]


@requirement("toolbox.search.scripts")
def test_words_of_scripts_without_spaces_are_found() -> None:
    toolbox = Toolbox(
        [
            made("weather", "指定した都市の天気予報を返します"),
            made("trains", "電車の時刻表を検索します"),
            made("thai", "ค้นหาโรงแรมในกรุงเทพ"),
            made("russian", "Прогноз погоды на завтра"),
        ]
    )

    assert names(toolbox.search("明日の天気は?"))[0] == "weather"
    assert names(toolbox.search("時刻表"))[0] == "trains"
    assert names(toolbox.search("โรงแรม"))[0] == "thai"
    assert names(toolbox.search("прогноз")) == ["russian"]
    assert toolbox.search("猫") == ()


# -- in what order


@requirement("toolbox.search.ranked")
def test_a_word_of_the_name_counts_more_than_one_of_the_description() -> None:
    toolbox = Toolbox([made("a_thing", "It can archive mail."), made("archive", "It puts mail away.")])

    first, second = toolbox.search("archive")

    assert (first.tool.name, second.tool.name) == ("archive", "a_thing")
    assert first.score > second.score > 0


@requirement("toolbox.search.ranked")
def test_a_rare_word_counts_more_than_a_usual_one() -> None:
    usual = [made(f"get_{name}", "Get something.") for name in ("a1", "b1", "c1", "d1", "e1")]
    toolbox = Toolbox([*usual, made("make_invoice", "Make something.")])

    assert names(toolbox.search("get invoice"))[0] == "make_invoice"


@requirement("toolbox.search.ranked")
def test_who_holds_more_of_the_query_comes_first() -> None:
    assert names(shop.search("send sms"))[:2] == ["send_sms", "send_email"]
    assert names(shop.search("send message"))[:2] == ["send_email", "send_sms"]


@requirement("toolbox.search.deterministic")
def test_the_order_of_the_tools_makes_no_difference() -> None:
    twins = [made(name, "Identical twins.") for name in ("delta", "alpha", "charlie", "bravo")]
    tools = [*SHOP, *twins]
    answers = {
        tuple((match.tool.name, match.score) for match in Toolbox(shuffled).search("the identical order"))
        for shuffled in (tools, tools[::-1], tools[3:] + tools[:3], sorted(tools, key=lambda each: each.name))
    }

    assert len(answers) == 1
    assert names(Toolbox(tools).search("identical")) == ["alpha", "bravo", "charlie", "delta"]


@requirement("toolbox.search.misspelt")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("weathr", "get_weather"),
        ("shipmnet", "trackShipment"),
        ("fruad", "flag_fraud"),
        ("tranlsate", "translate_message"),
    ],
)
def test_a_misspelt_word_finds_what_was_meant(query: str, found: str) -> None:
    right = next(match for match in shop.search(found) if match.tool.name == found)
    first = shop.search(query)[0]

    assert first.tool.name == found
    assert 0 < first.score < right.score


@requirement("toolbox.search.misspelt")
@pytest.mark.parametrize("query", ["smz", "xyzzy", "wea", "1234567"])
def test_short_words_numbers_and_far_ones_are_not_taken_for_others(query: str) -> None:
    assert shop.search(query) == ()


# -- nothing


@requirement("toolbox.search.nothing-asked")
@pytest.mark.parametrize("query", ["", "   ", "!!!", "🙂", "\ud800", "\x00\x01", "猫", "qqqqqq zzzzzz"])
def test_nothing_is_found_where_nothing_was_asked(query: str) -> None:
    assert shop.search(query) == ()


@requirement("toolbox.search.nothing-asked")
def test_an_empty_toolbox_and_one_without_words_have_nothing_to_find() -> None:
    assert Toolbox([]).search("anything") == ()
    assert Toolbox([made("…")]).search("anything") == ()


# -- why


@requirement("toolbox.search.explain")
def test_reasons_name_the_fields_and_the_words_that_are_there() -> None:
    match = shop.search("Which tool marks a suspicius order as fraud?", explain=True)[0]

    assert [str(reason) for reason in match.reasons] == [
        "name: fraud",
        "description: marks, suspicius~suspicious, order",
    ]


@requirement("toolbox.search.explain")
def test_without_being_asked_no_reasons_are_given() -> None:
    assert [match.reasons for match in shop.search("order")] == [(), ()]


# -- which


def is_message(tool: Tool[..., object]) -> bool:
    return "messages" in tool.definition.tags


@requirement("toolbox.search.where")
@pytest.mark.parametrize(
    "where",
    [is_message, Query(tags_any=["messages"])],
    ids=["function", "condition"],
)
def test_a_function_or_a_condition_says_what_may_be_answered(where: Where) -> None:
    everything = names(shop.search("send money to a phone"))
    some = names(shop.search("send money to a phone", where=where))

    assert some == [name for name in everything if name in {"send_email", "send_sms"}]
    assert 0 < len(some) < len(everything)


@requirement("toolbox.search.where")
def test_what_the_function_raises_is_passed_on() -> None:
    def broken(tool: object) -> bool:
        raise LookupError(tool)

    with pytest.raises(LookupError):
        shop.search("order", where=broken)


@requirement("toolbox.search.limit")
def test_at_most_as_many_as_asked_for_are_answered_and_they_are_the_best() -> None:
    everything = shop.search("a message to a phone in a city about an order", limit=10**30)

    assert len(everything) > 3
    for limit in range(len(everything) + 1):
        assert shop.search("a message to a phone in a city about an order", limit=limit) == everything[:limit]


@requirement("toolbox.search.bad-arguments")
@pytest.mark.parametrize(
    ("search", "told"),
    [
        (lambda: shop.search(7), "query: must be text, not 7"),  # type: ignore[arg-type]  # what is tested
        (lambda: shop.search("a", limit=-1), "limit: must be a whole number from 0 on, not -1"),
        (lambda: shop.search("a", limit=True), "limit: must be a whole number"),
        (lambda: shop.search("a", limit=1.5), "limit: must be a whole number"),  # type: ignore[arg-type]  # likewise
        (lambda: shop.search("a", where="tag"), "where: must be a function of a tool or a condition"),  # type: ignore[arg-type]  # likewise
        (lambda: SearchIndex([7]), r"tools\[0\]: 7 is no tool"),  # type: ignore[list-item]  # likewise
        (lambda: SearchIndex(7), "tools: must be a list of tools, or a toolbox, not 7"),  # type: ignore[arg-type]  # likewise
    ],
)
def test_wrong_arguments_are_refused_in_words(search: Callable[[], object], told: str) -> None:
    with pytest.raises(DefinitionError, match=told):
        search()


# -- tools that come and go


@requirement("toolbox.search.incremental")
def test_an_extended_toolbox_reads_only_the_new_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    toolbox = Toolbox([made("old_one", "archive"), made("older_one", "archive")])
    toolbox.search("archive")
    read: list[str] = []

    def noted(definition: ToolDefinition) -> Texts:
        read.append(definition.name)
        return texts_of(definition)

    monkeypatch.setattr(_document, "texts_of", noted)
    extended = toolbox.extend(made("new_one", "archive"))

    assert names(extended.search("archive")) == ["new_one", "old_one", "older_one"]
    assert read == ["new_one"]
    assert names(toolbox.search("archive")) == ["old_one", "older_one"]


@requirement("toolbox.search.incremental")
def test_the_index_of_a_toolbox_is_made_once() -> None:
    toolbox = Toolbox(SHOP)

    assert index_of(toolbox) is index_of(toolbox)
    assert index_of(toolbox) is not index_of(toolbox.extend(made("another")))


@requirement("toolbox.search.replaced")
def test_a_replaced_tool_is_found_by_its_own_words() -> None:
    toolbox = Toolbox([made("convert", "Change inches into centimetres.")])
    assert names(toolbox.search("inches")) == ["convert"]

    replaced = toolbox.extend(made("convert", "Change dollars into euros."), replace=True)

    assert replaced.search("inches") == ()
    assert [match.tool.description for match in replaced.search("dollars")] == ["Change dollars into euros."]


# -- hostile


@requirement("toolbox.search.hostile")
@settings(max_examples=60, deadline=None)
@given(
    name=st.from_regex(r"[a-z]{1,12}", fullmatch=True),
    texts=st.lists(st.text(), min_size=1, max_size=4),
    query=st.text(),
)
def test_no_text_makes_a_search_raise_or_find_what_is_not_there(name: str, texts: list[str], query: str) -> None:
    toolbox = Toolbox(
        [made(name, texts[0], properties={f"x{at}": {"description": text} for at, text in enumerate(texts)})]
    )

    for match in toolbox.search(query, explain=True):
        assert match.score > 0
        assert match.reasons != ()


@requirement("toolbox.search.hostile")
def test_endless_texts_words_and_schemas_are_read_only_so_far() -> None:
    deep: dict[str, object] = {"type": "string"}
    for _ in range(60):
        deep = {"type": "object", "properties": {"inner": deep}}
    endless = made("endless", "word " * 100_000, properties={"deep": deep, "long": {"description": "x" * 1_000_000}})
    toolbox = Toolbox([endless, *SHOP])

    assert names(toolbox.search("word " * 100_000 + "refund", limit=1)) == ["endless"]
    assert names(toolbox.search("inner")) == ["endless"]
    assert len(words("a b " * 1_000_000)) <= 2_000
    assert max(map(len, words("y" * 1_000_000))) <= 64


@requirement("toolbox.search.hostile")
def test_repeating_a_word_does_not_buy_the_first_place() -> None:
    honest = made("send_invoice", "Send an invoice to a customer.")
    stuffed = made("helper", "invoice " * 500)

    assert names(Toolbox([stuffed, honest, *SHOP]).search("send invoice"))[0] == "send_invoice"


# -- the extra


@requirement("toolbox.search.extra")
@pytest.mark.parametrize("missing", ["numpy", "rapidfuzz", "snowballstemmer"])
def test_a_missing_package_is_named_with_the_extra(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    present = importlib.import_module

    def load(name: str) -> ModuleType:
        if name == missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return present(name)

    monkeypatch.setattr(importlib, "import_module", load)

    with pytest.raises(
        DefinitionError, match=rf"search: {missing}: is not installed; pip install 'armory-trio\[search\]'"
    ):
        Toolbox([made("a")]).search("a")


@requirement("toolbox.search.extra")
def test_a_package_that_is_itself_broken_is_not_called_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> ModuleType:
        raise ModuleNotFoundError("No module named 'something_else'", name="something_else")

    monkeypatch.setattr(importlib, "import_module", broken)

    with pytest.raises(ModuleNotFoundError, match="something_else"):
        SearchIndex([])


@requirement("toolbox.search.extra")
def test_importing_the_room_loads_none_of_its_packages() -> None:
    program = (
        "import sys, armory_trio.toolbox.search, armory_trio.kits.search; "
        "print([name for name in ('numpy', 'rapidfuzz', 'snowballstemmer', 'torch') if name in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert ended.stdout.strip() == "[]"
