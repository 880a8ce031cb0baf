from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import assert_type

import pytest
import trio

from armory_trio import (
    DefinitionError,
    Lifecycle,
    Process,
    Risk,
    Semantics,
    Tool,
    Toolbox,
    ToolBuilder,
    ToolCall,
    ToolResult,
    define_tool,
)
from armory_trio.definitions._options import LEGAL
from tests.requirements import requirement


@dataclass
class Numbers:
    a: int
    b: int = 1


async def add(numbers: Numbers) -> int:
    """Add two numbers."""
    return numbers.a + numbers.b


async def count(numbers: Numbers) -> AsyncIterator[int]:
    for n in range(numbers.a):
        await trio.lowlevel.checkpoint()
        yield n


def total(chunks: list[int]) -> str:
    return str(sum(chunks))


@requirement("definitions.builder.steps")
async def test_a_built_tool_is_the_one_that_the_same_parts_define() -> None:
    built = ToolBuilder("add").description("Add.").input(Numbers).execute(add).build()
    defined = define_tool(name="add", description="Add.", input=Numbers, execute=add)

    assert built.definition == defined.definition
    assert built.options == defined.options
    assert_type(built, Tool[..., int])
    assert await built(a=2, b=3) == 5


@requirement("definitions.builder.steps")
async def test_each_step_answers_a_new_builder_and_leaves_the_old_one_as_it_is() -> None:
    half = ToolBuilder("add").input(Numbers).execute(add)
    tagged, titled = half.tags("math").build(), half.title("Addition").build()

    assert (tagged.definition.tags, tagged.definition.title) == (("math",), "add")
    assert (titled.definition.tags, titled.definition.title) == ((), "Addition")
    assert half.title("A").title("B").build().definition.title == "B"
    assert repr(half) == "<ToolBuilder 'add': name, input, execute>"


@requirement("definitions.builder.steps")
async def test_there_is_a_step_for_every_declaration() -> None:
    steps = {name for name in vars(ToolBuilder) if not name.startswith("_")}

    assert {*LEGAL, "input", "execute", "build"} - {"name"} == steps


@requirement("definitions.builder.steps")
def test_every_declaration_reaches_the_tool() -> None:
    built = (
        ToolBuilder("add")
        .namespace("math")
        .version("2")
        .description("Add.")
        .title("Addition")
        .tags("a", "b")
        .examples({"a": 1})
        .metadata({"k": 1})
        .risk(Risk(untrusted_output=True))
        .effect({"class": "external-write", "targets": [{"kind": "service", "id": "s"}]})
        .effect_windows()
        .lifecycle(Lifecycle(deprecated=True))
        .semantics(Semantics(idempotency="required"))
        .requires_approval()
        .lenient()
        .input(Numbers)
        .output(int)
        .execute(add)
        .timeout(1)
        .idle_timeout(2)
        .grace(3)
        .cleanup_timeout(4)
        .concurrency(5)
        .groups("g", "h")
        .reads(["r"])
        .writes(["w"])
        .placement("task")
        .availability(lambda _context: True)
        .reconcile(lambda _attempt: None)
        .reconcile_timeout(6)
        .digests({"output": False})
        .build()
    )
    definition, options = built.definition, built.options

    assert str(built.id) == "math:add@2"
    assert (definition.title, definition.tags, definition.metadata) == (
        "Addition",
        ("a", "b", "untrusted-output"),
        {"k": 1},
    )
    assert definition.effect_windows
    assert definition.deprecated
    assert definition.requires_approval
    assert definition.semantics.idempotency == "required"
    assert definition.output_schema == {"type": "integer"}
    assert built.contract.dump(built.contract.validate({"a": "2"})) == {"a": 2, "b": 1}
    assert (options.timeout, options.idle_timeout, options.grace, options.cleanup_timeout) == (1, 2, 3, 4)
    assert (options.concurrency, options.groups, options.reads, options.writes) == (5, ("g", "h"), ("r",), ("w",))
    assert options.availability is not None
    assert options.reconcile is not None
    assert options.reconcile_timeout == 6
    assert options.digests == {"input"}


@requirement("definitions.builder.steps")
async def test_a_reducer_makes_the_value_of_a_built_generator() -> None:
    listed = ToolBuilder("count").input(Numbers).execute(count).buffer(3).build()
    reduced = ToolBuilder("count").input(Numbers).execute(count).reducer(total).build()

    assert_type(listed, Tool[..., list[int]])
    assert_type(reduced, Tool[..., str])
    assert await listed(a=3) == [0, 1, 2]
    assert await reduced(a=3) == "3"


@requirement("definitions.builder.steps")
async def test_a_built_tool_runs_under_a_supervisor() -> None:
    toolbox = Toolbox([ToolBuilder("add").input(Numbers).execute(add).build()])
    result: ToolResult[object] = await toolbox.execute(ToolCall("add", {"a": 1, "b": 1}))

    assert result.unwrap() == 2


@requirement("definitions.builder.missing")
def test_what_is_missing_or_wrong_is_named() -> None:
    with pytest.raises(DefinitionError, match=r"tool 'add': execute: is missing: say \.execute\(function\)"):
        ToolBuilder("add").input(Numbers).build()
    with pytest.raises(DefinitionError, match=r"tool 'add': timeout: must be"):
        ToolBuilder("add").input(Numbers).execute(add).timeout(-1).build()
    with pytest.raises(DefinitionError, match=r"tool 'add': placement: a worker process cannot run this: an async"):
        ToolBuilder("add").input(Numbers).execute(add).placement(Process()).build()
    with pytest.raises(DefinitionError, match="ToolBuilder: name: is blank"):
        ToolBuilder(" ")
