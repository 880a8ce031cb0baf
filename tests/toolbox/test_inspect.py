from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import cast

import msgspec
import pytest

from armory_trio import DefinitionError, Lifecycle, Risk, Semantics, Tool, Toolbox, ToolId, define_tool, tool
from armory_trio.toolbox.inspection import (
    ToolboxInspection,
    ToolDetails,
    ToolOutline,
    ToolSummary,
    inspect_tool,
    inspect_tools,
)
from tests.requirements import requirement


class Unit(Enum):
    celsius = "celsius"
    kelvin = "kelvin"


def available(context: Mapping[str, object]) -> bool:
    return True


@tool(
    namespace="weather",
    version="2.1.0",
    title="Forecast",
    tags=["weather"],
    metadata={"capabilities": ["lookup", 3], "effort": 2, "big": 2**70, "nested": {"a": [1, 2]}},
    risk=Risk(read_only=True, untrusted_output=True, permissions=["net"]),
    lifecycle=Lifecycle(deprecated=True, replaced_by="weather:outlook"),
    semantics=Semantics(concurrency="exclusive"),
    examples=[{"city": "Bern"}],
    timeout=5,
    concurrency=3,
    groups=["net"],
    reads=lambda arguments: ["x"],
    availability=available,
)
async def forecast(city: str, days: int | None = None, unit: Unit = Unit.kelvin, extra: object = None) -> str:
    """Tell the weather."""
    return city


PLAIN = define_tool(name="plain", execute=lambda: None)
TOOLBOX = Toolbox([forecast, PLAIN])


# ── Levels ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("toolbox.inspect.levels")
def test_a_summary_is_a_line_of_a_list() -> None:
    assert inspect_tool(forecast, "summary") == ToolSummary(
        id="weather:forecast@2.1.0",
        name="forecast",
        description="Tell the weather.",
        tags=("weather", "readonly", "untrusted-output"),
        deprecated=True,
    )


@requirement("toolbox.inspect.levels")
def test_the_standard_level_is_a_card() -> None:
    card = inspect_tool(forecast)

    assert type(card) is ToolOutline
    assert (card.namespace, card.version, card.title) == ("weather", "2.1.0", "Forecast")
    assert card.schema_keys == ("city", "days", "unit", "extra")
    assert (card.effect_class, card.tier, card.classified) == ("read-only", "read-only", True)
    assert (card.requires_approval, card.conditional) == (False, True)
    assert (card.capabilities, card.effort, card.has_custom_metadata) == (("lookup",), 2, True)


@requirement("toolbox.inspect.levels")
def test_of_a_plain_tool_nothing_is_made_up() -> None:
    card = inspect_tool(PLAIN, "standard")

    assert (card.namespace, card.version, card.title, card.schema_keys) == ("default", None, "plain", ())
    assert (card.effect_class, card.tier, card.classified, card.conditional) == ("external-write", None, False, False)
    assert (card.capabilities, card.effort, card.has_custom_metadata) == (None, None, False)


@requirement("toolbox.inspect.levels")
@pytest.mark.parametrize(
    ("metadata", "capabilities", "effort"),
    [
        ({"capabilities": "lookup", "effort": True}, None, None),
        ({"capabilities": [], "effort": "high"}, (), "high"),
        ({"capabilities": None, "effort": 0.5}, None, 0.5),
    ],
)
def test_only_what_has_the_right_type_is_read_from_the_metadata(
    metadata: dict[str, object], capabilities: tuple[str, ...] | None, effort: object
) -> None:
    card = inspect_tool(define_tool(name="x", metadata=metadata, execute=lambda: None))

    assert (card.capabilities, card.effort) == (capabilities, effort)


@requirement("toolbox.inspect.full")
def test_the_full_level_says_all() -> None:
    details = inspect_tool(forecast, "full")

    assert details.shape == {
        "city": "string",
        "days": "integer | null?",
        "unit": "enum?",
        "extra": "unknown?",
    }
    assert details.input_schema == forecast.definition.to_json()["input"]
    assert details.metadata == {"capabilities": ["lookup", 3], "effort": 2, "big": 2**70, "nested": {"a": [1, 2]}}
    assert details.risk == {"readOnly": True, "untrustedOutput": True, "permissions": ["net"]}
    assert (details.effect, details.effect_windows, details.contradiction) == (None, False, ())
    assert details.lifecycle == {"deprecated": True, "replacedBy": "weather:outlook"}
    assert details.semantics["concurrency"] == "exclusive"
    assert (details.limits.timeout, details.limits.concurrency, details.limits.groups) == (5, 3, ("net",))
    assert (details.limits.reads, details.limits.writes) == ("by-arguments", ())
    assert (details.kind, details.placement, details.examples) == ("async", "task", ({"city": "Bern"},))
    assert (details.origin, details.digest) == (forecast.origin, forecast.definition.digest)
    assert inspect_tool(PLAIN, "full").shape == {}


@requirement("toolbox.inspect.full")
@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "array"}, "array"),
        ({"type": ["string", "null"]}, "string | null"),
        ({"const": 1}, "enum"),
        ({"oneOf": [{"type": "string"}, {"$ref": "#/$defs/n"}, {"type": "string"}]}, "string | integer"),
        ({"$ref": "#/$defs/n"}, "integer"),
        ({"$ref": "#/$defs/missing"}, "unknown"),
        ({"$ref": "#/$defs/itself"}, "unknown | null"),
        ({}, "unknown"),
        (True, "unknown"),
    ],
)
def test_the_shape_says_types_in_a_few_words(schema: object, words: str) -> None:
    def run(arguments: dict[str, object]) -> None: ...

    definitions: dict[str, object] = {
        "n": {"type": "integer"},
        "itself": {"anyOf": [{"$ref": "#/$defs/itself", "minLength": 1}, {"type": "null"}]},
    }
    if schema == {"$ref": "#/$defs/missing"}:
        definitions["missing"] = {"description": "of no type"}
    whole = {"type": "object", "properties": {"x": schema}, "required": ["x"], "$defs": definitions}
    made = define_tool(name="x", input=cast("dict[str, object]", whole), execute=run)

    assert inspect_tool(made, "full").shape == {"x": words}


@requirement("toolbox.inspect.levels")
@pytest.mark.parametrize("wrong", ["ful", "", 3, None])
def test_a_level_that_does_not_exist_is_refused(wrong: object) -> None:
    with pytest.raises(DefinitionError, match=r"inspect: level: .* is not one of summary, standard, full"):
        inspect_tool(PLAIN, wrong)  # type: ignore[call-overload]  # the mistake under test
    with pytest.raises(DefinitionError, match="inspect: level"):
        TOOLBOX.inspect(wrong)  # type: ignore[call-overload]  # the mistake under test
    with pytest.raises(DefinitionError, match="inspect: tools"):
        inspect_tools(cast("Tool[..., object]", wrong))


# ── A whole toolbox ──────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("toolbox.inspect.counts")
def test_a_toolbox_counts_its_tools() -> None:
    tagged = define_tool(name="tagged", tags=["x"], execute=lambda: None)
    shown = TOOLBOX.extend(tagged).inspect("summary")

    assert shown.level == "summary"
    assert [item.name for item in shown.tools] == ["forecast", "plain", "tagged"]
    counts = shown.counts
    assert (counts.total, counts.with_tags, counts.with_metadata, counts.deprecated) == (3, 2, 1, 1)


@requirement("toolbox.inspect.counts")
def test_an_empty_toolbox_has_nothing_to_show() -> None:
    shown = Toolbox().inspect()

    assert (shown.level, shown.tools, shown.counts.total, shown.counts.with_tags) == ("standard", (), 0, 0)


@requirement("toolbox.inspect.levels", "toolbox.inspect.counts")
def test_each_level_of_a_toolbox_has_its_type_and_shows_what_the_one_before_shows() -> None:
    summary, standard, full = TOOLBOX.inspect("summary"), TOOLBOX.inspect("standard"), TOOLBOX.inspect("full")

    assert [type(shown.tools[0]) for shown in (summary, standard, full)] == [ToolSummary, ToolOutline, ToolDetails]
    for less, more in ((summary.tools[0], standard.tools[0]), (standard.tools[0], full.tools[0])):
        for field in less.__struct_fields__:
            assert getattr(less, field) == getattr(more, field)
    assert inspect_tools(forecast, "full").tools == (inspect_tool(forecast, "full"),)
    assert inspect_tools(iter([PLAIN])).tools == (inspect_tool(PLAIN),)


# ── Copies ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("toolbox.inspect.copies")
def test_what_is_shown_can_be_changed_without_changing_the_tool() -> None:
    details = inspect_tool(forecast, "full")
    details.metadata["nested"] = details.input_schema["properties"] = "gone"
    details.lifecycle.clear()

    again = inspect_tool(forecast, "full")
    assert again.metadata["nested"] == {"a": [1, 2]}
    assert "city" in cast("dict[str, object]", again.input_schema["properties"])
    assert again.lifecycle == {"deprecated": True, "replacedBy": ToolId("outlook", "weather").text}


@requirement("toolbox.inspect.copies")
def test_every_level_is_written_as_json_and_read_back() -> None:
    summary, standard, full = TOOLBOX.inspect("summary"), TOOLBOX.inspect("standard"), TOOLBOX.inspect("full")

    assert msgspec.json.decode(msgspec.json.encode(summary), type=ToolboxInspection[ToolSummary]) == summary
    assert msgspec.json.decode(msgspec.json.encode(standard), type=ToolboxInspection[ToolOutline]) == standard
    assert msgspec.json.decode(msgspec.json.encode(full), type=ToolboxInspection[ToolDetails]) == full
