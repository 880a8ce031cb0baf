from __future__ import annotations

import copy
import pickle
from collections.abc import Mapping

import attrs
import pytest

from armory_trio import (
    DefinitionError,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolDefinition,
    ToolId,
    create_executable_tool,
    lazy,
    tool,
    with_context,
)
from armory_trio.definitions import CallNext, MiddlewareCall, contract_from_schema
from tests.definitions._loosely import loose_context, loose_executable
from tests.requirements import requirement

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
DEFINITION = ToolDefinition(ToolId("double", "math", "1.0.0"), "Double it.", SCHEMA)


async def double(arguments: Mapping[str, int]) -> int:
    return 2 * arguments["n"]


# ── A definition, joined with what validates and what runs it ────────────────────────────────────────────────────────


@requirement("definitions.executable.joined")
async def test_the_tool_has_exactly_this_definition_and_runs_the_executor() -> None:
    made = create_executable_tool(DEFINITION, None, double, timeout=5, concurrency=2)

    assert made.definition is DEFINITION
    assert (made.options.timeout, made.options.concurrency) == (5, 2)
    assert (await Toolbox([made]).execute(ToolCall("double", {"n": 4}))).unwrap() == 8


@requirement("definitions.executable.joined")
async def test_an_executor_may_take_the_context_and_may_be_lazy() -> None:
    async def tell(arguments: Mapping[str, int], ctx: ToolContext) -> str:
        return f"{ctx.tool_name} {arguments['n']}"

    assert await create_executable_tool(DEFINITION, None, tell)(n=1) == "double 1"
    assert await create_executable_tool(DEFINITION, None, lazy(lambda: tell))(n=1) == "double 1"


@requirement("definitions.executable.joined")
async def test_a_validator_decides_about_frozen_arguments() -> None:
    def odd(arguments: Mapping[str, object]) -> object:
        return arguments.get("n") in (1, 3)

    made = create_executable_tool(DEFINITION, odd, double)

    assert await made(n=3) == 6
    result = await made.call(n=2)
    assert result.error is not None
    assert result.error.code == "INVALID_ARGUMENTS"


@requirement("definitions.executable.agrees")
async def test_without_a_validator_the_schema_of_the_definition_decides() -> None:
    result = await create_executable_tool(DEFINITION, None, double).call(n="4")

    assert result.error is not None
    assert result.error.message == "`n`: expected integer, got string"


@requirement("definitions.executable.agrees")
async def test_a_contract_has_to_be_over_the_same_schema() -> None:
    assert await create_executable_tool(DEFINITION, contract_from_schema(SCHEMA), double)(n=1) == 2
    with pytest.raises(DefinitionError, match="tool 'double': validator: its schema is not the one of the definition"):
        create_executable_tool(DEFINITION, contract_from_schema({}), double)


@requirement("definitions.executable.agrees")
async def test_an_output_schema_of_the_definition_is_checked() -> None:
    definition = attrs.evolve(DEFINITION, output_schema={"type": "string"})
    result = await create_executable_tool(definition, None, double).call(n=1)

    assert result.error is not None
    assert result.error.code == "OUTPUT_INVALID"


@requirement("definitions.executable.joined")
def test_wrong_parts_are_refused() -> None:
    with pytest.raises(DefinitionError, match=r"create_executable_tool: definition: \{\} is no ToolDefinition"):
        loose_executable({}, None, double)
    with pytest.raises(DefinitionError, match=r"input\.validate: must be a function, not 3"):
        loose_executable(DEFINITION, 3, double)
    with pytest.raises(DefinitionError, match="function: must be a function, not 3"):
        loose_executable(DEFINITION, None, 3)
    with pytest.raises(DefinitionError, match="tool 'double': title: there is no such declaration"):
        loose_executable(DEFINITION, None, double, title="T")
    with pytest.raises(DefinitionError, match="tool 'double': timeout: must be"):
        loose_executable(DEFINITION, None, double, timeout=0)


# ── Identity ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@tool
async def look(ctx: ToolContext, key: str) -> object:
    """Look something up."""
    return ctx.context.get(key)


@requirement("definitions.executable.identity")
def test_a_copy_is_the_tool_itself_and_an_equal_one_is_another() -> None:
    first = create_executable_tool(DEFINITION, None, double)
    second = create_executable_tool(DEFINITION, None, double)

    assert copy.copy(first) is first
    assert copy.deepcopy([first])[0] is first
    assert first != second
    assert second not in Toolbox([first])
    with pytest.raises(TypeError, match="can't be pickled: send its id"):
        pickle.dumps(first)


@requirement("definitions.tool.text")
def test_the_text_of_a_tool_is_its_name_and_description() -> None:
    assert str(look) == "**look**: Look something up."
    assert repr(look) == "<Tool default:look (async)>"


# ── Values bound to a tool ───────────────────────────────────────────────────────────────────────────────────────────


def call(key: str) -> ToolCall:
    return ToolCall("look", {"key": key})


@requirement("definitions.with-context")
async def test_values_of_a_tool_stand_over_those_of_the_toolbox() -> None:
    toolbox = Toolbox([with_context(look, {"a": 1, "b": 2})], context={"b": 20, "c": 30})

    assert [(await toolbox.execute(call(key))).value for key in "abcd"] == [1, 2, 30, None]
    assert (await Toolbox([look], context={"b": 20}).execute(call("b"))).value == 20


@requirement("definitions.with-context")
async def test_the_rest_of_the_context_is_the_one_of_the_call() -> None:
    @tool
    async def tell(ctx: ToolContext) -> object:
        ctx.progress(percent=50)
        async with ctx.waiting("a moment"):
            assert isinstance(ctx, ToolContext)
        return [ctx.tool_name, sorted(ctx.context), (await ctx.call("look", {"key": "x"})).value]

    bound = with_context(tell, {"tool_name": "forged", "call": None})
    result = await Toolbox([bound, look], context={"x": "seen"}).execute(ToolCall("tell"))

    assert result.unwrap() == ["tell", ["call", "tool_name", "x"], "seen"]


@requirement("definitions.with-context")
async def test_bound_values_are_copied_and_bound_again() -> None:
    values = {"a": 1}
    once = with_context(look, values)
    values["a"] = 2
    twice = with_context(once, {"b": 3})

    assert await once(key="a") == 1
    assert [await twice(key="a"), await twice(key="b")] == [1, 3]
    assert once.definition is look.definition


@requirement("definitions.with-context")
def test_a_tool_without_a_context_stays_as_it_is_and_wrong_values_are_refused() -> None:
    @tool
    async def plain() -> None: ...

    assert with_context(plain, {"a": 1}) is plain
    with pytest.raises(DefinitionError, match="tool 'look': context: must be a mapping of names to values"):
        loose_context(look, 3)
    with pytest.raises(DefinitionError, match="tool 'look': context key 1: must be text"):
        loose_context(look, {1: 2})


@requirement("definitions.with-context")
async def test_bound_values_leave_middleware_where_it_is() -> None:
    seen: list[str] = []

    async def note(_call: MiddlewareCall, _ctx: ToolContext, call_next: CallNext) -> object:
        seen.append("around")
        return await call_next()

    [listed] = Toolbox([look], middleware=[note])
    bound = with_context(listed, {"a": 1})

    assert (await Toolbox([bound]).execute(call("a"))).value == 1
    assert seen == ["around"]


@requirement("definitions.with-context")
async def test_bound_once_more_the_later_values_stand_over_the_earlier_ones() -> None:
    twice = with_context(with_context(look, {"a": 1, "b": 1}), {"a": 2})

    assert await twice("a") == 2
    assert await twice("b") == 1
    with pytest.raises(DefinitionError, match="with_context: tool: must be a Tool, not 3"):
        loose_context(3, {})


@requirement("definitions.executable.joined")
def test_an_executor_that_is_a_tool_already_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"tool 'look': executor: is a tool already; give its .function"):
        loose_executable(look.definition, None, look)


@requirement("definitions.executable.agrees")
def test_definitions_that_say_1_and_true_are_two() -> None:
    one, true = (ToolDefinition(ToolId("a"), metadata={"n": value}) for value in (1, True))

    assert one != true
    assert one.digest != true.digest
    assert one == ToolDefinition(ToolId("a"), metadata={"n": 1.0})
    assert one != "a"
