"""What people give by mistake: a function without its decorator, a list for a toolbox, a mapping for a call."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import cast

import msgspec
import pytest

from armory_trio import (
    Budget,
    DefinitionError,
    Limits,
    LoopDetection,
    Resolution,
    Retention,
    Revisions,
    Tool,
    Toolbox,
    ToolCall,
    call_to_json,
    tool,
    with_context,
)
from armory_trio.buckets import Rate
from armory_trio.composition import with_idempotency, with_toolbox_idempotency
from armory_trio.content.truncation import HeadAndTail
from armory_trio.definitions import JsonLimits
from armory_trio.engine import call_directly
from armory_trio.kits.background import BackgroundKit
from armory_trio.kits.search import SearchKit
from armory_trio.observability.live import Query
from armory_trio.storage.sql import Keep
from armory_trio.testing import ScriptedCall, check_toolbox, inline
from armory_trio.toolbox import resolve
from armory_trio.toolbox.query import text_matches, text_score
from tests.requirements import requirement

AnyTool = Tool[..., object]


@tool(effect="read-only")
async def look() -> str:
    """Look."""
    return "seen"


async def plain() -> str:
    return "seen"


NOT_A_TOOLBOX: dict[str, Callable[[Toolbox], object]] = {
    "inline": inline,
    "check_toolbox": check_toolbox,
    "with_toolbox_idempotency": with_toolbox_idempotency,
    "resolve": lambda toolbox: resolve(toolbox, "look"),
}
NOT_A_TOOL: dict[str, Callable[[AnyTool], object]] = {
    "with_context": lambda tool: with_context(tool, {}),
    "with_idempotency": with_idempotency,
    "text_score": lambda tool: text_score(tool, "look"),
    "text_matches": lambda tool: text_matches(tool, "look"),
}


@requirement("definitions.wrong-thing")
@pytest.mark.parametrize("name", NOT_A_TOOLBOX)
@pytest.mark.parametrize(
    "wrong", [[look], look, plain, Toolbox, None], ids=["list", "tool", "function", "class", "None"]
)
def test_what_is_no_toolbox_is_told_at_once(name: str, wrong: object) -> None:
    with pytest.raises(DefinitionError, match=f"{name}: toolbox: must be a Toolbox, not {re.escape(repr(wrong)[:20])}"):
        NOT_A_TOOLBOX[name](cast("Toolbox", wrong))


@requirement("definitions.wrong-thing")
@pytest.mark.parametrize("name", NOT_A_TOOL)
@pytest.mark.parametrize("wrong", [plain, "look", None], ids=["function", "name", "None"])
def test_what_is_no_tool_is_told_at_once(name: str, wrong: object) -> None:
    with pytest.raises(DefinitionError, match=f"{name}: tool: must be a Tool, not {re.escape(repr(wrong)[:20])}"):
        NOT_A_TOOL[name](cast("AnyTool", wrong))


@requirement("definitions.wrong-thing")
async def test_what_would_have_to_be_awaited_is_refused_as_well() -> None:
    with pytest.raises(DefinitionError, match=r"SearchKit\.prepare: toolbox: must be a Toolbox, not \["):
        await SearchKit().prepare(cast("Toolbox", [look]))
    with pytest.raises(DefinitionError, match="call_directly: tool: must be a Tool, not <function plain"):
        await call_directly(cast("AnyTool", plain), {})


@requirement("definitions.wrong-thing")
def test_tools_in_a_list_of_their_own_are_asked_for_one_by_one() -> None:
    toolbox = Toolbox([look])
    for several in (toolbox, [look]):
        with pytest.raises(
            DefinitionError, match=r"tools\[0\]: .* is no tool; give what it holds one by one, as \*tools"
        ):
            Toolbox([cast("AnyTool", several)])
    with pytest.raises(DefinitionError, match=r"one by one, as \*tools"):
        toolbox.extend(cast("AnyTool", [look]))


@requirement("definitions.wrong-thing")
def test_what_is_no_text_and_no_list_is_no_tool_and_nothing_more_is_said() -> None:
    with pytest.raises(DefinitionError, match=r"tools\[0\]: 'look' is no tool$"):
        Toolbox([cast("AnyTool", "look")])


@requirement("definitions.wrong-thing")
@pytest.mark.parametrize("wrong", [{"name": "look", "arguments": {}}, "look", look], ids=["mapping", "name", "tool"])
def test_what_is_no_call_cannot_be_written_down(wrong: object) -> None:
    with pytest.raises(TypeError, match=r"is no ToolCall; give ToolCall\(name, arguments\)"):
        call_to_json(cast("ToolCall", wrong))


@requirement("definitions.wrong-thing")
@pytest.mark.parametrize("kit", [BackgroundKit, SearchKit])
def test_the_options_of_a_kit_are_no_mapping(kit: Callable[..., object]) -> None:
    with pytest.raises(DefinitionError, match=r"Kit: options: must be a (Background|Search)Options, not \{"):
        kit(options={"per_owner": 3})


MISSPELT: list[tuple[type[msgspec.Struct], str, str]] = [
    (Limits, "concurrency", "concurrent"),
    (Budget, "calls", "max_calls"),
    (Retention, "second", "seconds"),
    (Resolution, "separator", "separators"),
    (Revisions, "catalogue", "catalog"),
    (LoopDetection, "poling", "polling"),
    (JsonLimits, "depth", "max_depth"),
    (HeadAndTail, "headd", "head"),
    (Rate, "intervall", "interval"),
    (Query, "state", "states"),
    (Keep, "journals", "journal"),
    (ScriptedCall, "argument", "arguments"),
]


@requirement("definitions.wrong-field")
@pytest.mark.parametrize(("options", "written", "meant"), MISSPELT, ids=lambda value: getattr(value, "__name__", None))
def test_options_name_the_field_that_they_have_not(options: type[msgspec.Struct], written: str, meant: str) -> None:
    with pytest.raises(TypeError) as caught:
        options(**{written: 1})

    fields = ", ".join(options.__struct_fields__)
    name = options.__name__
    assert str(caught.value) == f"{name} has no field {written!r}; did you mean {meant!r}? It has {fields}"
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@requirement("definitions.wrong-field")
def test_options_with_a_field_like_no_other_name_those_that_there_are() -> None:
    with pytest.raises(TypeError, match=r"^Retention has no field 'xyz'; it has count, seconds$"):
        cast("Callable[..., object]", Retention)(xyz=3)


@requirement("definitions.wrong-field")
def test_options_that_lack_a_field_or_get_too_many_say_whose_they_are() -> None:
    with pytest.raises(TypeError, match=r"^ScriptedCall: Missing required argument 'name'; it has name, "):
        cast("Callable[..., object]", ScriptedCall)()
    with pytest.raises(
        TypeError, match=r"^Budget: Extra positional arguments provided; it has max_calls, max_duration$"
    ):
        cast("Callable[..., object]", Budget)(1, 2, 3)


@requirement("definitions.wrong-field")
def test_what_the_options_say_themselves_of_a_value_stays_as_it_is() -> None:
    with pytest.raises(DefinitionError, match="Limits: concurrent: is 0"):
        Limits(concurrent=0)

    class Own(Limits, frozen=True):
        def __post_init__(self) -> None:
            raise TypeError("my own words")

    with pytest.raises(TypeError, match=r"^my own words$"):
        Own()
