from __future__ import annotations

from collections.abc import Iterable

import msgspec
import pytest

from armory_trio import DefinitionError, Tool, Toolbox, define_tool
from armory_trio.toolbox import LiveToolbox
from armory_trio.toolbox.query import Query, query_tools
from tests.requirements import requirement

AnyTool = Tool[..., object]


def made(name: str, description: str = "", *, version: str = "", tags: tuple[str, ...] = ()) -> AnyTool:
    return define_tool(name=name, description=description, version=version, tags=tags, execute=lambda: None)


ALPHA, BETA, GAMMA = made("alpha", tags=("math",)), made("beta", tags=("math", "fast")), made("gamma")
TOOLBOX = Toolbox([ALPHA, BETA, GAMMA])


# ── What is queried ──────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("toolbox.query.inputs")
@pytest.mark.parametrize("tools", [TOOLBOX, [ALPHA, BETA, GAMMA], (ALPHA, BETA, GAMMA)])
def test_without_criteria_all_tools_are_found_in_order(tools: Iterable[AnyTool]) -> None:
    assert query_tools(tools).tools == (ALPHA, BETA, GAMMA)
    assert TOOLBOX.query().tools == (ALPHA, BETA, GAMMA)


@requirement("toolbox.query.inputs")
def test_one_tool_and_any_iterable_can_be_queried() -> None:
    assert query_tools(ALPHA).tools == (ALPHA,)
    assert set(query_tools({ALPHA, BETA})) == {ALPHA, BETA}
    assert query_tools(tool for tool in (GAMMA, ALPHA)).tools == (GAMMA, ALPHA)
    assert query_tools([]).tools == ()
    assert query_tools(LiveToolbox(TOOLBOX).toolbox, name="beta").tools == (BETA,)


@requirement("toolbox.query.inputs")
def test_the_method_is_the_function() -> None:
    for criteria in (Query(tags_any=["math"]), ~Query(tags_any=["fast"])):
        mine, other = TOOLBOX.query(criteria, offset=1, limit=1, ranked=True), query_tools(TOOLBOX, criteria)
        assert mine.tools == other.tools[1:2]
        assert mine.total == other.total


@requirement("toolbox.query.inputs", "toolbox.query.wrong-argument")
@pytest.mark.parametrize("wrong", [42, None, "alpha", {"a": ALPHA}, [ALPHA, "beta"], [print]])
def test_what_holds_no_tools_is_refused(wrong: Iterable[AnyTool]) -> None:
    with pytest.raises(DefinitionError, match=r"query: tools"):
        query_tools(wrong)


@requirement("toolbox.query.all-hold")
def test_all_criteria_and_the_condition_have_to_hold() -> None:
    assert TOOLBOX.query(tags_any=["math"], name=["alpha", "gamma"]).tools == (ALPHA,)
    assert TOOLBOX.query(~Query(tags_any=["fast"]), tags_any=["math"]).tools == (ALPHA,)
    assert TOOLBOX.query(~Query(tags_any=["fast"])).tools == (ALPHA, GAMMA)


# ── Pages ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("toolbox.query.page")
@pytest.mark.parametrize(
    ("offset", "limit", "names"),
    [
        (0, None, ["alpha", "beta", "gamma"]),
        (1, 1, ["beta"]),
        (1, None, ["beta", "gamma"]),
        (0, 0, []),
        (2, 0, []),
        (0, 2, ["alpha", "beta"]),
        (2, 9, ["gamma"]),
        (3, 1, []),
        (9, None, []),
    ],
)
def test_a_page_begins_at_its_offset_and_the_total_counts_all(offset: int, limit: int | None, names: list[str]) -> None:
    result = TOOLBOX.query(offset=offset, limit=limit)

    assert list(result.names) == names
    assert (result.total, result.offset, len(result), bool(result)) == (3, offset, len(names), bool(names))


@requirement("toolbox.query.page", "toolbox.query.wrong-argument")
@pytest.mark.parametrize("field", ["offset", "limit"])
@pytest.mark.parametrize("wrong", [-1, 1.5, True, "1"])
def test_a_wrong_page_is_refused(field: str, wrong: object) -> None:
    with pytest.raises(DefinitionError, match=f"query: {field}: must be a whole number from 0 on"):
        TOOLBOX.query(**{field: wrong})  # type: ignore[arg-type]  # the mistake under test


# ── Order ────────────────────────────────────────────────────────────────────────────────────────────────────────────

BOTH, ONE, OTHER = made("one", "alpha beta"), made("two", "alpha"), made("alpha-three", "x")


@requirement("toolbox.query.ranked")
def test_ranked_more_of_the_text_comes_first_and_equals_keep_their_order() -> None:
    tools = [ONE, OTHER, BOTH, GAMMA]

    assert query_tools(tools, text="alpha beta").tools == (ONE, OTHER, BOTH)
    assert query_tools(tools, text="alpha beta", ranked=True).tools == (BOTH, ONE, OTHER)
    assert query_tools(tools, text="alpha beta", ranked=True, offset=1, limit=1).tools == (ONE,)
    assert query_tools(tools, ranked=True).tools == tuple(tools)


@requirement("toolbox.query.ranked")
def test_texts_of_a_condition_rank_but_for_those_that_are_excluded() -> None:
    tools = [ONE, BOTH, GAMMA]
    alpha, beta = Query(text="alpha"), Query(text="beta")

    assert query_tools(tools, alpha & (beta | Query()), ranked=True).tools == (BOTH, ONE)
    assert query_tools(tools, alpha | beta, ranked=True).tools == (BOTH, ONE)
    assert query_tools(tools, alpha & ~(beta & Query(name="gamma")), ranked=True).tools == (ONE, BOTH)
    assert query_tools(tools, ~alpha, ranked=True).tools == (GAMMA,)
    with pytest.raises(DefinitionError, match="query: ranked: must be True or False"):
        query_tools(tools, ranked=1)  # type: ignore[arg-type]  # the mistake under test


# ── What is answered ─────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("toolbox.query.shown")
def test_a_result_is_read_like_the_tuple_of_its_tools() -> None:
    result = Toolbox([made("sum", "Add.", version="1"), made("sum", version="2"), ALPHA]).query(limit=2)

    assert result.names == ("sum", "sum")
    assert result.ids == ("default:sum@1", "default:sum@2")
    assert [tool.id.text for tool in result] == ["default:sum@1", "default:sum@2"]
    assert result[0] is result.tools[0]
    assert result[:1] == result.tools[:1]
    assert (msgspec.json.decode(msgspec.json.encode(result.summaries)))[0] == {
        "id": "default:sum@1",
        "name": "sum",
        "description": "Add.",
        "tags": [],
        "deprecated": False,
    }


@requirement("toolbox.missing")
def test_missing_names_are_told_in_order() -> None:
    assert TOOLBOX.missing("alpha", "x", "default:beta", "default:beta@2", "y") == ("x", "default:beta@2", "y")
    assert TOOLBOX.missing("alpha") == ()
    assert TOOLBOX.missing() == ()
    assert Toolbox().missing("alpha") == ("alpha",)


# ── Nothing is kept ──────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("toolbox.query.asks-anew")
def test_every_query_asks_anew() -> None:
    wanted = {"alpha"}

    def is_wanted(tool: AnyTool) -> bool:
        return tool.name in wanted

    def is_last(tool: AnyTool) -> bool:
        return tool is GAMMA

    first = TOOLBOX.query(Query(predicate=is_wanted) & Query())
    other = TOOLBOX.query(Query(predicate=is_last) & Query())
    wanted.add("beta")

    assert (first.tools, other.tools) == ((ALPHA,), (GAMMA,))
    assert TOOLBOX.query(Query(predicate=is_wanted) & Query()).tools == (ALPHA, BETA)
