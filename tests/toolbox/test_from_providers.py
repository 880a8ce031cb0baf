"""Tools in the form of a provider, as a toolbox."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pytest
from google.genai import types as genai
from openai.types.chat import ChatCompletionFunctionTool
from openai.types.responses import FunctionTool

from armory_trio import Toolbox, ToolCall, ToolDefinition, tool
from armory_trio.errors import DefinitionError
from tests.requirements import requirement

Json = dict[str, object]
From = Callable[..., Toolbox]

SUM: Json = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
    "additionalProperties": False,
}
GEMINI_SUM: Json = {
    "type": "OBJECT",
    "properties": {"a": {"type": "INTEGER"}, "b": {"type": "INTEGER", "nullable": False}},
    "required": ["a", "b"],
    "propertyOrdering": ["a", "b"],
}


@tool(name="sum", effect="read-only")
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def echo(_: ToolDefinition) -> Callable[[Json], Json]:
    return lambda arguments: arguments


def nothing(_: ToolDefinition) -> None:
    return None


SOURCE = Toolbox([add])
NAMED: Json = {"name": "sum", "description": "Add two numbers."}
FUNCTION: Json = {**NAMED, "parameters": SUM, "strict": True}
CHAT: Json = {"type": "function", "function": FUNCTION}
RESPONSES: Json = {"type": "function", **FUNCTION}
CLAUDE: Json = {**NAMED, "input_schema": SUM}
DECLARATION: Json = {**NAMED, "parameters": GEMINI_SUM}

FORMS: dict[str, tuple[From, object]] = {
    "chat": (Toolbox.from_openai, CHAT),
    "chat, a list": (Toolbox.from_openai, [CHAT]),
    "chat, the SDK's": (Toolbox.from_openai, ChatCompletionFunctionTool.model_validate(CHAT)),
    "responses": (Toolbox.from_openai, [RESPONSES]),
    "responses, the SDK's": (Toolbox.from_openai, [FunctionTool.model_validate(RESPONSES)]),
    "anthropic": (Toolbox.from_anthropic, CLAUDE),
    "anthropic, a list": (Toolbox.from_anthropic, [CLAUDE]),
    "gemini declaration": (Toolbox.from_gemini, DECLARATION),
    "gemini tools": (Toolbox.from_gemini, [{"functionDeclarations": [DECLARATION]}]),
    "gemini json schema": (Toolbox.from_gemini, [{**NAMED, "parametersJsonSchema": SUM}]),
    "gemini, the SDK's": (Toolbox.from_gemini, genai.Tool.model_validate({"functionDeclarations": [DECLARATION]})),
}


@requirement("imported-tools.from-provider", "imported-tools.forms")
@pytest.mark.parametrize(("read", "tools"), FORMS.values(), ids=FORMS.keys())
async def test_a_tool_is_read_checked_and_run_by_another_toolbox_or_a_function(read: From, tools: object) -> None:
    async def run(arguments: dict[str, int]) -> int:
        return sum(arguments.values())

    def runs(_: ToolDefinition) -> Callable[[dict[str, int]], object]:
        return run

    by_toolbox = read(tools, get_tool=SOURCE.as_execute_resolver())
    by_function = read(tools, get_tool=runs)

    for imported in (by_toolbox, by_function):
        [listed] = imported
        assert (listed.name, listed.definition.description) == ("sum", "Add two numbers.")
        assert (await imported.execute(ToolCall("sum", {"a": 4, "b": 5}))).unwrap() == 9
        refused = await imported.execute(ToolCall("sum", {"a": 4}))
        assert refused.error is not None
        assert refused.error.code == "INVALID_ARGUMENTS"
    assert by_toolbox.get("sum") is SOURCE.get("sum")


@requirement("imported-tools.missing-body")
@pytest.mark.parametrize(
    "get_tool", [None, nothing, Toolbox([]).as_execute_resolver()], ids=["none", "nothing", "empty"]
)
async def test_a_tool_that_nothing_runs_is_kept_and_says_so(get_tool: object) -> None:
    imported = Toolbox.from_openai([CHAT], get_tool=get_tool)  # type: ignore[arg-type]  # one of three

    result = await imported.execute(ToolCall("sum", {"a": 4, "b": 5}))

    assert result.error is not None
    assert (result.error.category, result.effect) == ("unavailable", "none")
    assert "imported without anything that runs it" in result.error.message


@requirement("imported-tools.from-provider")
async def test_names_are_mapped_to_ids() -> None:
    asked: list[ToolDefinition] = []
    imported = Toolbox.from_anthropic([CLAUDE], names={"sum": "math:add@2"}, get_tool=asked.append)

    assert [one.id.text for one in asked] == ["math:add@2"]
    assert "math:add@2" in imported


@requirement("imported-tools.from-provider")
async def test_a_name_means_the_highest_version_of_the_source() -> None:
    @tool(name="sum", version="1.0.0", effect="read-only")
    async def older(a: int, b: int) -> int:
        return a - b

    @tool(name="sum", version="2.0.0", effect="read-only")
    async def newer(a: int, b: int) -> int:
        return a * b

    imported = Toolbox.from_openai(CHAT, get_tool=Toolbox([newer, older]).as_execute_resolver())

    assert (await imported.execute(ToolCall("sum", {"a": 4, "b": 5}))).unwrap() == 20


@requirement("imported-tools.forms")
async def test_a_tool_without_a_schema_takes_no_arguments() -> None:
    for imported in (
        Toolbox.from_openai({"type": "function", "function": {"name": "now"}}, get_tool=echo),
        Toolbox.from_gemini({"name": "now", "parameters": None}, get_tool=echo),
    ):
        assert (await imported.execute(ToolCall("now"))).unwrap() == {}
        assert (await imported.execute(ToolCall("now", {"x": 1}))).outcome == "error"
    empty: Json = {"functionDeclarations": []}
    assert len(Toolbox.from_gemini([])) == len(Toolbox.from_gemini([empty])) == 0


@requirement("imported-tools.forms")
async def test_the_schemas_of_gemini_mean_what_they_say() -> None:
    schema: Json = {
        "type": "OBJECT",
        "properties": {
            "type": {"type": "STRING", "enum": ["a", "b"], "nullable": True},
            "nullable": {"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}], "nullable": True},
            "items": {"type": "ARRAY", "items": {"type": "NUMBER"}, "minItems": "1", "max_items": 2},
            "any": {"type": "TYPE_UNSPECIFIED", "example": 5},
            "both": {"type": ["STRING", "INTEGER"], "nullable": True},
            "odd": {"type": [["STRING"], {}]},
        },
        "required": ["type"],
    }
    imported = Toolbox.from_gemini({"name": "f", "parameters": schema}, get_tool=echo)

    async def takes(arguments: Json) -> bool:
        return (await imported.execute(ToolCall("f", arguments))).outcome == "success"

    assert await takes({"type": None, "nullable": None, "items": [1.5], "any": {"x": 1}})
    assert await takes({"type": "a", "nullable": "x"})
    assert await takes({"type": "a", "both": 1, "odd": [1]})
    assert await takes({"type": "a", "both": None, "odd": "x"})
    assert not await takes({"type": "a", "both": 1.5})
    assert not await takes({"type": "c"})
    assert not await takes({"type": "a", "nullable": 1.5})
    assert not await takes({"type": "a", "items": []})
    assert not await takes({"type": "a", "items": [1, 2, 3]})
    assert not await takes({"nullable": "x"})


WRONG: list[tuple[From, object, str]] = [
    (Toolbox.from_openai, "sum", "Toolbox.from_openai: tools: must be a function tool"),
    (Toolbox.from_openai, [CHAT, 5], "tools[1]"),
    (Toolbox.from_openai, [{"type": "web_search"}], "tools[0]"),
    (
        Toolbox.from_openai,
        [{"type": "function", "function": {"name": "f", "parameters": 5}}],
        "must be a JSON Schema",
    ),
    (Toolbox.from_anthropic, [{"type": "web_search_20250305", "name": "web_search"}], "tools[0]"),
    (Toolbox.from_anthropic, [None], "tools[0]"),
    (Toolbox.from_gemini, [{"googleSearch": {}}], "tools[0]"),
    (Toolbox.from_gemini, [{"name": "f", "parametersJsonSchema": {"type": "\ud800"}}], "tools[0]"),
    (Toolbox.from_gemini, [{"functionDeclarations": [{}]}], "tools[0].functionDeclarations[0]"),
    (Toolbox.from_gemini, [{"name": "f", "parameters": {"minProperties": "9" * 5_000}}], "tools[0]"),
]


@requirement("imported-tools.forms")
@pytest.mark.parametrize(
    ("read", "tools", "words"),
    WRONG,
    ids=[f"{at}" for at in range(len(WRONG))],
)
def test_what_is_no_tool_is_an_error_with_its_place(read: From, tools: object, words: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        read(tools)

    assert words in str(caught.value)


@requirement("imported-tools.forms")
def test_a_name_that_is_no_tools_is_an_error_that_says_which_are() -> None:
    with pytest.raises(DefinitionError, match=r"names: 'sun' is the name of no tool here; did you mean 'sum'"):
        Toolbox.from_openai([CHAT], names={"sum": "math:sum", "sun": "math:sun"})
    with pytest.raises(DefinitionError, match="names: 'x' is the name of no tool here; the tools are 'sum'"):
        Toolbox.from_anthropic([CLAUDE], names={"x": "math:x"})
    with pytest.raises(DefinitionError, match="names: 'x' is the name of no tool here"):
        Toolbox.from_gemini([], names={"x": "math:x"})


@requirement("imported-tools.forms")
def test_a_resolver_that_answers_something_else_is_an_error() -> None:
    async def later(_: ToolDefinition) -> None:
        return None

    @tool(effect="read-only")
    async def other() -> None:
        """Be another tool."""

    def wrong(_: ToolDefinition) -> object:
        return other

    def number(_: ToolDefinition) -> object:
        return 5

    resolvers: list[tuple[object, str]] = [(later, "has to be awaited"), (wrong, "another name")]
    for get_tool, words in (*resolvers, (5, "must be a function"), (number, "")):
        with pytest.raises(DefinitionError) as caught:
            Toolbox.from_openai([CHAT], get_tool=cast("Callable[[ToolDefinition], None]", get_tool))
        assert words in str(caught.value)
