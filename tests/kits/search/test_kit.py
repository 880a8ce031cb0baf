"""What a model finds with the search tool, and what it does not."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import cast

import msgspec
import pytest
import trio

from armory_trio import (
    DefinitionError,
    RequestContext,
    Supervisor,
    Tool,
    Toolbox,
    ToolCall,
    ToolResult,
    open_supervisor,
    tool,
)
from armory_trio.kits.search import FoundTools, SearchKit, SearchOptions
from armory_trio.toolbox.search import Vectors
from tests.requirements import requirement
from tests.toolbox.search.tools import SHOP, made


@asynccontextmanager
async def shop(kit: SearchKit, *more: Tool[..., object]) -> AsyncGenerator[Supervisor]:
    async with open_supervisor(Toolbox([*kit.tools, *SHOP, *more])) as supervisor:
        yield supervisor


async def search(supervisor: Supervisor, query: str, **arguments: object) -> FoundTools:
    """What the model gets, as the value that it stands for."""
    result = await supervisor.execute(ToolCall("search_tools", {"query": query, **arguments}))
    return found_in(result)


def found_in(result: ToolResult[object]) -> FoundTools:
    assert result.outcome == "success", result.error
    assert isinstance(result.value, FoundTools)
    return result.value


def names(found: FoundTools) -> list[str]:
    return [each.name for each in found.tools]


# -- what is found


@requirement("kits.search-tools.finds", "kits.search-tools.schemas")
async def test_a_model_reads_names_descriptions_and_schemas_best_first() -> None:
    async with shop(SearchKit()) as supervisor:
        result = await supervisor.execute(ToolCall("search_tools", {"query": "send a sms", "limit": 2}))

    read = json.loads(result.text)
    assert [each["name"] for each in read["tools"]] == ["send_sms", "send_email"]
    assert read["tools"][0]["score"] > read["tools"][1]["score"] > 0
    assert read["tools"][1] == {
        "name": "send_email",
        "description": "Write a letter to somebody.",
        "score": read["tools"][1]["score"],
        "tags": ["messages"],
        "input_schema": {"type": "object", "properties": {"to": {"type": "string"}}, "additionalProperties": False},
    }


@requirement("kits.search-tools.finds")
async def test_tools_of_before_and_after_the_kit_are_found_in_each_supervisors_own_toolbox() -> None:
    kit = SearchKit()
    before, after = made("before_one", "archive"), made("after_one", "archive")
    async with open_supervisor(Toolbox([before]).extend(*kit.tools).extend(after)) as both:
        assert names(await search(both, "archive")) == ["after_one", "before_one"]
    async with open_supervisor(Toolbox([before, *kit.tools])) as one:
        assert names(await search(one, "archive")) == ["before_one"]


@requirement("kits.search-tools.finds")
async def test_nothing_found_is_said_with_what_to_do() -> None:
    async with shop(SearchKit()) as supervisor:
        found = await search(supervisor, "!!!")

    assert found == FoundTools(tools=(), note="Nothing fits. Say it in other words, or more generally.")


@requirement("kits.search-tools.schemas")
async def test_a_model_may_do_without_schemas() -> None:
    async with shop(SearchKit()) as supervisor:
        found = await search(supervisor, "email", schemas=False)

    assert [(each.name, each.input_schema, each.note) for each in found.tools] == [("send_email", None, None)]


@requirement("kits.search-tools.finds")
@pytest.mark.parametrize("limit", [0, -1, 21])
async def test_a_limit_that_is_none_is_an_error_for_the_model(limit: int) -> None:
    async with shop(SearchKit()) as supervisor:
        result = await supervisor.execute(ToolCall("search_tools", {"query": "email", "limit": limit}))

    assert result.error is not None
    assert result.error.code == "INVALID_ARGUMENTS"


# -- what is not


@requirement("kits.search-tools.not-itself")
async def test_it_does_not_find_itself_nor_what_its_name_would_not_call() -> None:
    kit = SearchKit()
    old, new = made("archive", "old archive", version="1.0"), made("archive", "new archive", version="2.0")
    async with shop(kit, old, new) as supervisor:
        assert names(await search(supervisor, "search tools by what they do")) == []
        assert [each.description for each in (await search(supervisor, "archive")).tools] == ["new archive"]


@requirement("kits.search-tools.permitted")
async def test_only_what_the_host_permits_on_this_callers_behalf_is_found() -> None:
    def allow(found: Tool[..., object], request: RequestContext | None) -> bool:
        return request is not None and request.tenant == "shop" and "billing" in found.definition.tags

    async with shop(SearchKit(allow=allow)) as supervisor:
        call = ToolCall("search_tools", {"query": "order money email", "limit": 1})
        permitted = await supervisor.execute(call, request_context=RequestContext(tenant="shop"))
        other = await supervisor.execute(call, request_context=RequestContext(tenant="other"))
        nobody = await search(supervisor, "order money email")

    assert names(found_in(permitted)) == ["issue_refund"]
    assert names(found_in(other)) == names(nobody) == []


@requirement("kits.search-tools.permitted")
async def test_a_predicate_that_raises_permits_nothing() -> None:
    def allow(found: Tool[..., object], request: RequestContext | None) -> bool:
        raise LookupError(f"no such customer, {len(found.name)}, {request}")

    async with shop(SearchKit(allow=allow)) as supervisor:
        result = await supervisor.execute(ToolCall("search_tools", {"query": "email"}))

    assert result.outcome == "error"
    assert "send_email" not in result.text


@requirement("kits.search-tools.permitted")
async def test_only_true_permits() -> None:
    def allow(found: Tool[..., object], request: RequestContext | None) -> bool:
        return cast("bool", "yes")

    async with shop(SearchKit(allow=allow)) as supervisor:
        assert names(await search(supervisor, "email")) == []


@requirement("kits.search-tools.available")
async def test_what_cannot_be_used_here_is_left_out_and_others_take_its_place() -> None:
    def closed(context: Mapping[str, object]) -> bool:
        return context.get("open") is True

    def body() -> None: ...

    shut = [tool(body, name=f"archive_{n}", description="archive", availability=closed) for n in range(9)]
    late = made("keep_papers", "A place for papers, not to say an archive.")
    kit = SearchKit()
    for context, expected in (({}, ["keep_papers"]), ({"open": True}, ["archive_0"])):
        async with open_supervisor(Toolbox([*kit.tools, *shut, late], context=context)) as supervisor:
            assert names(await search(supervisor, "archive", limit=1)) == expected


@requirement("kits.search-tools.tags")
async def test_host_and_model_both_narrow_to_tags() -> None:
    query = "order money email sms"
    async with shop(SearchKit(tags=["billing", "messages"])) as supervisor:
        assert set(names(await search(supervisor, query))) == {"issue_refund", "flag_fraud", "send_email", "send_sms"}
        assert set(names(await search(supervisor, query, tags=["risk", "none"]))) == {"flag_fraud"}
        assert names(await search(supervisor, query, tags=["none"])) == []
        assert len(names(await search(supervisor, query, tags=[]))) == 4


# -- how much of it


@requirement("kits.search-tools.bounded")
async def test_an_answer_is_never_longer_than_allowed_and_counts_what_it_leaves_out() -> None:
    wordy: dict[str, object] = {f"argument_{n}": {"type": "string", "description": "much " * 20} for n in range(20)}
    tools = [made(f"archive_{n}", "An archive. " + "words " * 200, properties=wordy) for n in range(20)]
    for most in (200, 500, 1_000, 3_000, 100_000):
        options = SearchOptions(max_text=most)
        async with open_supervisor(Toolbox([*SearchKit(options=options).tools, *tools])) as supervisor:
            result = await supervisor.execute(ToolCall("search_tools", {"query": "archive", "limit": 20}))
        found = found_in(result)
        assert len(result.text) <= most
        assert len(found.tools) + found.omitted == 20
        assert all(each.description.endswith("…") for each in found.tools)
        assert all((each.input_schema is None) == (each.note is not None) for each in found.tools)
        assert bool(found.tools) == (most > 200)
        assert bool(found.omitted) == (most < 100_000)


@requirement("kits.search-tools.bounded")
async def test_a_schema_that_is_too_long_leaves_its_tool_without_one_but_there() -> None:
    long: dict[str, object] = {"x": {"description": "y" * 5_000}}
    async with shop(SearchKit(), made("archive", properties=long)) as supervisor:
        [found] = (await search(supervisor, "archive")).tools

    assert (found.input_schema, found.note) == (None, "Too long to show here.")


@requirement("kits.search-tools.deferred")
async def test_five_thousand_tools_cost_a_model_less_than_a_thousand_tokens() -> None:
    verbs, nouns = ("list", "create", "update", "delete", "export"), ("invoice", "ticket", "server", "user", "report")
    arguments: dict[str, object] = {
        name: {"type": "string", "description": f"The {name} that is meant."}
        for name in ("account", "region", "filter")
    }
    tools = [
        made(f"{verb}_{noun}_{n}", f"Will {verb} the {noun} of division {n}.", properties=arguments)
        for n in range(200)
        for verb in verbs
        for noun in nouns
    ]
    kit = SearchKit()
    async with open_supervisor(Toolbox([*tools, *kit.tools])) as supervisor:
        result = await supervisor.execute(ToolCall("search_tools", {"query": "export the reports of division 117"}))
    shown = json.dumps([definition_of(each) for each in kit.tools])
    everything = sum(len(json.dumps(definition_of(each))) for each in tools)

    assert len(tools) == 5_000
    assert names(found_in(result))[0] == "export_report_117"
    # Four characters of English JSON are about one token.
    assert (len(shown) + len(result.text)) / 4 < 1_000
    assert everything / 4 > 300_000


def definition_of(each: Tool[..., object]) -> dict[str, object]:
    written = each.definition.to_json()
    return {"name": each.name, "description": each.description, "parameters": written["input"]}


# -- by meaning


class Embedder:
    """Knows that a forecast is about the weather; may be told to fail."""

    def __init__(self) -> None:
        self.fails = False
        self.asked: list[str] = []

    async def __call__(self, texts: Sequence[str], /) -> Vectors:
        await trio.lowlevel.checkpoint()
        if self.fails:
            raise OSError("no model today")
        self.asked.extend(texts)
        return [(1.0, 0.0) if "forecast" in text or "umbrella" in text else (0.0, 1.0) for text in texts]


@requirement("kits.search-tools.meaning")
async def test_with_an_embedder_a_tool_is_found_by_meaning() -> None:
    embedder = Embedder()
    kit = SearchKit(embedder=embedder)
    async with shop(kit) as supervisor:
        await kit.prepare(supervisor.toolbox)
        prepared = len(embedder.asked)
        found = await search(supervisor, "umbrella")
        await search(supervisor, "umbrella")

    assert names(found) == ["get_weather"]
    assert prepared == len(SHOP) + 1
    assert embedder.asked[prepared:] == ["umbrella"]


@requirement("kits.search-tools.meaning")
async def test_when_the_embedder_fails_a_model_finds_by_words(caplog: pytest.LogCaptureFixture) -> None:
    embedder = Embedder()
    embedder.fails = True
    async with shop(SearchKit(embedder=embedder)) as supervisor:
        with caplog.at_level(logging.WARNING, "armory_trio"):
            found = await search(supervisor, "weather")

    assert names(found) == ["get_weather"]
    assert "OSError" in caplog.text  # and not what it says, which may quote anything
    assert "no model today" not in caplog.text


@requirement("kits.search-tools.finds")
async def test_many_searches_at_once_answer_alike() -> None:
    async with shop(SearchKit(embedder=Embedder())) as supervisor:
        calls = [ToolCall("search_tools", {"query": "send an email"}) for _ in range(20)]
        results = await supervisor.execute_batch(calls)

    assert len({msgspec.json.encode(found_in(result)) for result in results}) == 1


# -- options


@requirement("kits.search-tools.options")
@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: SearchKit(tags="billing"), "tags: must be a list of names"),
        (lambda: SearchKit(tags=[7]), r"tags\[0\]: must be text, not 7"),  # type: ignore[list-item]  # likewise
        (lambda: SearchKit(options=7), r"options: must be a SearchOptions, not 7"),  # type: ignore[arg-type]  # likewise
        (lambda: SearchKit(allow=7), "allow: is 7; give a function of a tool and a request context"),  # type: ignore[arg-type]  # what is tested
        (lambda: SearchKit(embedder=7), "embedder: must be a function of texts, not 7"),  # type: ignore[arg-type]  # likewise
        (lambda: SearchOptions(limit=0), "limit: is 0; give a whole number, 1 or more"),
        (lambda: SearchOptions(max_text=10), "max_text: is 10; give a whole number, 200 or more"),
        (lambda: SearchOptions(most=True), "most: is True; give a whole number, 1 or more"),
        (lambda: SearchOptions(limit=9, most=3), "limit: is 9, above most, which is 3"),
    ],
)
def test_a_wrong_option_says_what_would_be_right(make: Callable[[], object], told: str) -> None:
    with pytest.raises(DefinitionError, match=told):
        make()


@requirement("kits.search-tools.options")
async def test_name_and_numbers_may_be_chosen() -> None:
    kit = SearchKit(options=SearchOptions(name="find", namespace="host", limit=1, most=2, max_description=20))
    [found] = kit.tools

    assert (found.id.text, found.definition.classification.read_only) == ("host:find", True)
    async with shop(kit) as supervisor:
        result = await supervisor.execute(ToolCall("find", {"query": "order"}))
    assert [each.description for each in found_in(result).tools] == ["Mark an order as su…"]
