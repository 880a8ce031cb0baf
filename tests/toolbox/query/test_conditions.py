from __future__ import annotations

import operator
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armory_trio import DefinitionError, Tool, define_tool
from armory_trio.toolbox.query import AllOf, AnyOf, Condition, Not, Query, all_of, any_of, not_, query_tools
from tests.requirements import requirement

AnyTool = Tool[..., object]


def tagged(name: str, *tags: str) -> AnyTool:
    return define_tool(name=name, tags=tags, execute=lambda: None)


TOOLS = [tagged("alpha", "math"), tagged("beta", "math", "fast"), tagged("gamma", "text")]
MATH, FAST, TEXT = (Query(tags_any=[tag]) for tag in ("math", "fast", "text"))


def found(condition: Condition) -> list[str]:
    return list(query_tools(TOOLS, condition).names)


# ── Combining ────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("toolbox.query.combined")
@pytest.mark.parametrize(
    ("condition", "names"),
    [
        (MATH & FAST, ["beta"]),
        (FAST | TEXT, ["beta", "gamma"]),
        (~MATH, ["gamma"]),
        (MATH & ~FAST, ["alpha"]),
        (~(MATH & FAST) & ~TEXT, ["alpha"]),
        (~~MATH, ["alpha", "beta"]),
        (any_of(TEXT, Query(tags_all=["math", "fast"])), ["beta", "gamma"]),
        (all_of(), ["alpha", "beta", "gamma"]),
        (all_of(MATH), ["alpha", "beta"]),
        (not_(FAST, TEXT), ["alpha"]),
        (not_(FAST), ["alpha", "gamma"]),
        (~Query(), []),
        (Query(), ["alpha", "beta", "gamma"]),
        (all_of(MATH, any_of(FAST, ~Query(name="alpha"))), ["beta"]),
    ],
)
def test_conditions_are_combined(condition: Condition, names: list[str]) -> None:
    assert found(condition) == names
    assert [tool.name for tool in TOOLS if condition.matches(tool)] == names


@requirement("toolbox.query.combined")
def test_conditions_are_values() -> None:
    assert Query(tags_any=["math", " MATH"]) == MATH
    assert MATH != FAST
    assert any_of(all_of(MATH, FAST), TEXT) == MATH & FAST | TEXT
    assert len({MATH & FAST, all_of(MATH, FAST), FAST & MATH}) == 2
    assert ~~(MATH | FAST) == MATH | FAST
    assert repr(Query(tags_any=["math"], read_only=True)) == "Query(read_only=True, tags_any=('math',))"
    assert "Not(" in repr(~MATH)
    assert "AllOf(" in repr(MATH & FAST)


@requirement("toolbox.query.combined")
def test_long_chains_do_not_nest() -> None:
    either, all_, negated = any_of(MATH), all_of(MATH), ~MATH
    for _ in range(5_000):
        either, all_, negated = either | FAST, all_ & MATH, ~negated

    assert found(either) == ["alpha", "beta"]
    assert found(all_) == ["alpha", "beta"]
    assert found(negated) == ["gamma"]


@requirement("toolbox.query.combined")
@pytest.mark.parametrize("wrong", [lambda: bool(MATH), lambda: operator.not_(FAST), lambda: bool(MATH | FAST)])
def test_a_condition_has_no_truth_value(wrong: Callable[[], object]) -> None:
    with pytest.raises(TypeError, match=r"combine with &, \| and ~"):
        wrong()


@requirement("toolbox.query.combined", "toolbox.query.wrong-argument")
def test_what_is_no_condition_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"query: any_of: of no conditions"):
        any_of()
    with pytest.raises(DefinitionError, match=r"query: all_of\[1\]: 'math' is no condition"):
        all_of(MATH, "math")  # type: ignore[arg-type]  # the mistake under test
    with pytest.raises(TypeError, match="unsupported operand"):
        MATH & {"tags_any": ["fast"]}  # type: ignore[operator]  # pyright: ignore[reportUnusedExpression]  # the mistake
    with pytest.raises(DefinitionError, match=r"query: condition: must be a condition"):
        query_tools(TOOLS, 42)  # type: ignore[arg-type]  # the mistake under test


# ── What nobody can tell ─────────────────────────────────────────────────────────────────────────────────────────────


class Odd:
    def __bool__(self) -> bool:
        raise ValueError("neither")


def raises(tool: AnyTool) -> bool:
    raise ValueError(tool.name)


def answers_oddly(tool: AnyTool) -> Odd:
    return Odd()


@requirement("toolbox.query.predicate")
@pytest.mark.parametrize("predicate", [raises, answers_oddly])
def test_a_tool_of_which_nobody_can_tell_is_never_included_silently(predicate: Callable[[AnyTool], object]) -> None:
    unknown = Query(predicate=predicate)

    for condition in (unknown, ~unknown, unknown & MATH, ~(unknown & MATH) & MATH, not_(unknown, FAST), unknown | FAST):
        result = query_tools(TOOLS, condition)
        assert set(result) | set(result.undecided) <= set(TOOLS)
        assert all(tool.name == "beta" and condition == unknown | FAST for tool in result)
    assert query_tools(TOOLS, ~unknown).undecided == tuple(TOOLS)


@requirement("toolbox.query.predicate")
def test_what_others_say_still_decides() -> None:
    unknown = Query(predicate=raises)

    assert query_tools(TOOLS, unknown | MATH).names == ("alpha", "beta")
    assert [tool.name for tool in query_tools(TOOLS, unknown | MATH).undecided] == ["gamma"]
    assert query_tools(TOOLS, unknown & MATH).names == ()
    assert [tool.name for tool in query_tools(TOOLS, unknown & MATH).undecided] == ["alpha", "beta"]
    assert query_tools(TOOLS, ~(unknown & TEXT) & MATH).names == ("alpha", "beta")


@requirement("toolbox.query.predicate")
def test_only_a_tool_of_which_it_raises_is_left_out() -> None:
    def picky(tool: AnyTool) -> bool:
        return {"alpha": True, "beta": False}[tool.name]

    result = query_tools(TOOLS, predicate=picky)
    assert (result.names, [tool.name for tool in result.undecided]) == (("alpha",), ["gamma"])
    negated = query_tools(TOOLS, ~Query(predicate=picky))
    assert (negated.names, [tool.name for tool in negated.undecided]) == (("beta",), ["gamma"])


@requirement("toolbox.query.predicate")
def test_an_interrupt_travels() -> None:
    def interrupted(tool: AnyTool) -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        query_tools(TOOLS, predicate=interrupted)


# ── Against the plain reading: whichever way the unknown answers come out, what is certain stays so ──────────────────

LEAVES = {"yes": True, "no": False, "unknown": None}


def leaf(name: str) -> Condition:
    answer = LEAVES[name]
    return Query(predicate=raises) if answer is None else Query() if answer else ~Query()


CONDITIONS = st.recursive(
    st.sampled_from([leaf(name) for name in LEAVES]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda parts: AllOf(tuple(parts))),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: AnyOf(tuple(parts))),
        inner.map(Not),
    ),
    max_leaves=8,
)


def outcomes(condition: Condition) -> set[bool]:
    """What the condition could be, if each predicate that raises could have said yes or no."""
    if isinstance(condition, Not):
        return {not outcome for outcome in outcomes(condition.part)}
    if isinstance(condition, AllOf | AnyOf):
        parts = [outcomes(part) for part in condition.parts]
        decisive = isinstance(condition, AnyOf)
        possible = {decisive} if any(decisive in part for part in parts) else set[bool]()
        return possible | ({not decisive} if all((not decisive) in part for part in parts) else set[bool]())
    answer = condition.decide(TOOLS[0])
    return {True, False} if answer is None else {answer}


@requirement("toolbox.query.predicate", "toolbox.query.combined")
@given(CONDITIONS)
def test_an_answer_is_given_exactly_when_nothing_unknown_could_change_it(condition: Condition) -> None:
    possible = outcomes(condition)

    assert condition.decide(TOOLS[0]) == (possible.pop() if len(possible) == 1 else None)
