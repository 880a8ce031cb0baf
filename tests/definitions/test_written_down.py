"""Definitions, calls and results as JSON, and their digests."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NotRequired, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from armory_trio import (
    AudioContent,
    BlobResourceContent,
    CallDefect,
    DefinitionError,
    EffectDeclaration,
    EffectRecord,
    EffectTarget,
    ImageContent,
    JsonContent,
    JsonError,
    Lifecycle,
    LinkContent,
    RequiredAction,
    ResourceAnnotations,
    Risk,
    Semantics,
    TextContent,
    TextResourceContent,
    ToolCall,
    ToolDefinition,
    ToolError,
    ToolId,
    ToolResult,
    call_from_json,
    call_to_json,
    define_tool,
    input_digest,
    output_digest,
    result_from_json,
    result_to_json,
    tool,
)
from armory_trio.definitions import canonical_text, output_contract
from tests.definitions._json import json_values
from tests.definitions._loosely import loose_tool
from tests.requirements import requirement

TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)
NAMES = TEXTS.filter(str.strip)
VALUES = json_values(TEXTS)
FLAGS = st.none() | st.booleans()
WORDS = st.from_regex("[a-z]{1,5}(-[a-z0-9]{1,4})?", fullmatch=True)
TARGETS = st.builds(
    EffectTarget, st.sampled_from(["resource", "service", "other"]), st.from_regex("[!-~]{1,9}", fullmatch=True)
)
LIFECYCLES = st.builds(
    Lifecycle, st.booleans() | TEXTS, st.none() | TEXTS, st.none() | st.builds(ToolId, NAMES, TEXTS, st.none() | TEXTS)
)
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=3)
FLAGGED = st.dictionaries(st.sampled_from(["readOnly", "read_only", "mutates", "dangerous"]), st.booleans(), max_size=3)


def together(some: Mapping[str, object], flags: Mapping[str, bool]) -> dict[str, object]:
    return {**some, **flags}


DEFINITIONS = st.builds(
    ToolDefinition,
    st.builds(ToolId, NAMES, TEXTS, st.none() | TEXTS),
    TEXTS,
    OBJECTS,
    title=TEXTS,
    tags=st.lists(WORDS, max_size=3),
    examples=st.lists(VALUES, max_size=2),
    metadata=st.builds(together, OBJECTS, FLAGGED),
    risk=st.none()
    | st.builds(
        Risk,
        FLAGS,
        FLAGS,
        FLAGS,
        FLAGS,
        st.lists(NAMES, max_size=2),
        st.lists(NAMES, max_size=2),
    ),
    effect=st.none()
    | st.builds(
        EffectDeclaration, st.sampled_from(["external-write", "destructive"]), st.lists(TARGETS, min_size=1, max_size=2)
    )
    | st.builds(EffectDeclaration, st.just("read-only"), st.lists(TARGETS, max_size=2)),
    lifecycle=LIFECYCLES,
    semantics=st.builds(
        Semantics,
        concurrency=st.sampled_from(["shared", "exclusive"]),
        idempotency=st.sampled_from(["required", "not-supported"]),
    ),
    requires_approval=st.booleans(),
    output_schema=st.none() | OBJECTS,
)


# ── Definitions ──────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("definitions.from-json")
@given(DEFINITIONS)
def test_a_definition_is_read_back_equal_with_its_digest(definition: ToolDefinition) -> None:
    document = definition.to_json()
    read = ToolDefinition.from_json(document)

    assert read == definition
    assert read.to_json() == document
    assert read.digest == definition.digest
    assert read.classification == definition.classification


@requirement("definitions.from-json")
def test_a_definition_goes_through_text() -> None:
    @tool(version="1", risk=Risk(dangerous=True), metadata={"big": 2**70})
    async def drop(table: Annotated[str, "Its name."]) -> None:
        """Drop a table."""

    text = canonical_text(drop.definition.to_json(), mode="exact")
    assert ToolDefinition.from_json(cast("dict[str, object]", json.loads(text))) == drop.definition


GOOD: Mapping[str, object] = ToolDefinition(
    ToolId("drop", "db", "1"),
    "Drop it.",
    risk=Risk(dangerous=True),
    effect=EffectDeclaration("destructive", (EffectTarget("service", "db"),)),
    lifecycle=Lifecycle(message="soon"),
).to_json()


@requirement("definitions.from-json.refused")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"id": "db:other@1"}, "tool 'drop': id: is 'db:other@1', but the rest of the document says 'db:drop@1'"),
        ({"name": "other"}, "tool 'other': name: is 'other', but"),
        ({"name": 3}, "tool definition: name: is 3, but"),
        ({"description": "Another."}, r"tool 'drop': display\.description: is 'Drop it.', but"),
        ({"descripton": "x"}, "descripton: is unknown here; did you mean 'description'"),
        ({"input": None}, "input_schema: must be a JSON object, not None"),
        ({"output": [1]}, "output_schema: must be a JSON object"),
        ({"execution": {}}, None),
        ({"execution": {"concurrency": "both"}}, r"execution\.concurrency: 'both' is not one of"),
        (
            {"execution": {"concurency": "shared"}},
            r"execution\.concurency: is unknown here; did you mean 'concurrency'",
        ),
        ({"effect": {"class": "nothing"}}, r"effect\.class: 'nothing' is not one of"),
        ({"risk": {"dangerous": 1}}, r"risk\.dangerous: must be True or False"),
        ({"risk": "high"}, "risk: must be a JSON object, not 'high'"),
        ({"lifecycle": {"deprecated": 3}}, "deprecated: must be True or False"),
        ({"lifecycle": {"replacedBy": " "}}, "id: is blank"),
        ({"schemaVersion": "draft-07"}, "schemaVersion: is 'draft-07'; only '2020-12' can be read"),
        ({"identity": {"name": "drop"}}, r"identity\.namespace: is missing"),
        ({"tags": ["No"]}, "tags"),
        ({"effectWindows": "yes"}, "effect_windows: must be True or False"),
    ],
)
def test_what_is_wrong_in_a_document_is_named(change: Mapping[str, object], words: str | None) -> None:
    document = {**GOOD, **change}
    if words is None:
        assert ToolDefinition.from_json(document).semantics == Semantics()
        return
    with pytest.raises(DefinitionError, match=words):
        ToolDefinition.from_json(document)


@requirement("definitions.from-json.refused")
@pytest.mark.parametrize("field", ["id", "identity", "display", "name", "description", "input", "execution"])
def test_what_is_missing_in_a_document_is_named(field: str) -> None:
    document = {key: value for key, value in GOOD.items() if key != field}
    with pytest.raises(DefinitionError, match=f"{field}: is missing"):
        ToolDefinition.from_json(document)
    with pytest.raises(DefinitionError, match="tool definition: document: must be a JSON object, not 3"):
        ToolDefinition.from_json(cast("dict[str, object]", 3))


# ── Calls and results ────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("definitions.wire")
@given(
    st.builds(
        ToolCall,
        TEXTS,
        OBJECTS,
        TEXTS,
        st.none()
        | st.builds(CallDefect, st.sampled_from(["MALFORMED_CALL", "TRUNCATED_CALL"]), TEXTS, st.none() | TEXTS),
    )
)
def test_a_call_is_read_back_equal(call: ToolCall) -> None:
    document = call_to_json(call)

    assert call_from_json(document) == call
    assert call_from_json(cast("dict[str, object]", json.loads(canonical_text(document, mode="exact")))) == call


CONTENT = (
    TextContent("words"),
    JsonContent('{"a":1}'),
    ImageContent(b"\x89PNG", "image/png"),
    AudioContent(b"RIFF", "audio/wav"),
    TextResourceContent("a:b", "words", "text/plain", ResourceAnnotations(("user",), 0.5)),
    BlobResourceContent("a:b", b"%PDF"),
    LinkContent("file:///a", "a", None, "a file"),
)
RESULTS: list[ToolResult[object]] = [
    ToolResult(
        "exe-1", "call-1", "t", "success", {"big": 2**80, "a": [1.5, None]}, CONTENT, effect="completed", attempts=1
    ),
    ToolResult(
        *("exe-1", "call-1", "t", "error"),
        content=(TextContent("no"),),
        error=ToolError("conflict", "BUSY", "busy", retryable=True, details={"left": [1, 2]}),
        effect="unknown",
        effects=(EffectRecord("charge", None, "open"), EffectRecord("mail", "smtp", "completed")),
        chunks=("a", {"b": 1}),
        attempts=2,
        duration=0.25,
    ),
    ToolResult("exe-1", "call-1", "t", "action_required", action=RequiredAction("approval", "ask", {"type": "object"})),
]


@requirement("definitions.wire")
@pytest.mark.parametrize("result", RESULTS)
def test_a_result_is_read_back_equal(result: ToolResult[object]) -> None:
    document = result_to_json(result)

    assert result_from_json(document) == result
    assert result_from_json(cast("dict[str, object]", json.loads(canonical_text(document, mode="exact")))) == result
    assert document.keys() == set(result.__struct_fields__)


@dataclass
class Point:
    x: int
    y: int


@requirement("definitions.wire")
def test_the_value_of_a_tool_with_a_promise_is_read_back_as_what_it_was() -> None:
    contract = output_contract(list[Point])
    result: ToolResult[object] = ToolResult("exe-1", "call-1", "t", "success", [Point(1, 2)])
    document = result_to_json(result, contract)

    assert document["value"] == [{"x": 1, "y": 2}]
    assert result_from_json(document, contract) == result
    assert result_from_json(document).value == [{"x": 1, "y": 2}]
    assert result_from_json(result_to_json(RESULTS[1], contract), contract) == RESULTS[1]


@requirement("definitions.wire")
def test_what_json_cannot_say_is_refused_with_its_place() -> None:
    broken: ToolResult[object] = ToolResult("exe-1", "call-1", "t", "success", object())

    with pytest.raises(JsonError, match=r"unsupported-type at result\.value: it has no JSON form"):
        result_to_json(broken)
    with pytest.raises(JsonError, match=r"arguments\.when"):
        call_to_json(ToolCall("t", {"when": {1, 2}}))


@requirement("definitions.wire")
@pytest.mark.parametrize(
    ("document", "words"),
    [
        ([], "call: must be an object, not list"),
        ({"arguments": {}}, "missing required field `name`"),
        ({"name": "t", "arguments": 3}, r"Expected `object`, got `int` - at `\$.arguments`"),
        ({"name": "t", "argumnets": {}}, r"call\.argumnets: there is no such member; did you mean 'arguments'"),
        ({"name": "t", "defect": {"code": "ODD", "message": ""}}, "Invalid enum value 'ODD'"),
    ],
)
def test_what_is_no_call_is_refused(document: object, words: str) -> None:
    with pytest.raises(JsonError, match=words):
        call_from_json(cast("dict[str, object]", document))


@requirement("definitions.wire")
def test_a_call_without_an_id_is_given_one() -> None:
    assert call_from_json({"name": "t"}).id


# ── Digests ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("definitions.digests")
@given(OBJECTS, OBJECTS)
def test_digests_are_equal_exactly_when_the_canonical_texts_are(
    one: dict[str, object], other: dict[str, object]
) -> None:
    same = canonical_text(one, mode="exact") == canonical_text(other, mode="exact")

    assert (input_digest(one) == input_digest(other)) is same
    assert (output_digest(one) == output_digest(other)) is same
    assert input_digest(dict(reversed(list(one.items())))) == input_digest(one)


@requirement("definitions.digests")
@pytest.mark.parametrize(
    ("one", "other"), [(1, "1"), (["a,b"], ["a", "b"]), (["ab", "c"], ["a", "bc"]), (None, "null"), (True, 1)]
)
def test_values_that_read_alike_have_different_digests(one: object, other: object) -> None:
    assert output_digest(one) != output_digest(other)


@requirement("definitions.digests")
def test_a_digest_is_that_of_the_exact_text() -> None:
    assert input_digest({"b": 2**80, "a": 1.0}) == input_digest({"a": 1, "b": 2**80})
    assert input_digest({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    assert output_digest(Point(1, 2)) == output_digest({"y": 2, "x": 1})
    with pytest.raises(JsonError, match="no JSON form"):
        output_digest(object())
    with pytest.raises(JsonError):
        input_digest({"a": float("inf")})


@requirement("definitions.digests.declared")
@pytest.mark.parametrize(
    ("digests", "sides"),
    [
        (True, {"input", "output"}),
        (False, set[str]()),
        ({}, {"input", "output"}),
        ({"input": False}, {"output"}),
        ({"input": True, "output": False}, {"input"}),
    ],
)
def test_a_tool_says_of_what_its_results_carry_digests(digests: object, sides: set[str]) -> None:
    async def nothing() -> None: ...

    assert loose_tool(nothing, digests=digests).options.digests == sides
    assert loose_tool(nothing).options.digests == set()


@requirement("definitions.digests.declared")
@pytest.mark.parametrize(
    ("digests", "words"),
    [
        (1, "digests: must be True, False or"),
        ({"inputs": True}, r"digests: 'inputs' is not one of input, output \(did you mean 'input'\?\)"),
        ({"input": "yes"}, r"digests\.input: must be True or False"),
    ],
)
def test_another_word_for_digests_is_refused(digests: object, words: str) -> None:
    async def nothing() -> None: ...

    with pytest.raises(DefinitionError, match=f"tool 'nothing': {words}"):
        loose_tool(nothing, digests=digests)


# ── Metadata, fields, and what an import costs ───────────────────────────────────────────────────────────────────────


@requirement("definitions.metadata-function")
def test_metadata_may_be_a_function_that_is_asked_at_definition() -> None:
    asked: list[str] = []

    def answer() -> Mapping[str, object]:
        asked.append("now")
        return {"build": 7}

    async def nothing() -> None: ...

    made = tool(nothing, metadata=answer)
    assert (made.definition.metadata, asked) == ({"build": 7}, ["now"])


@requirement("definitions.metadata-function")
def test_metadata_that_cannot_be_had_at_once_is_refused() -> None:
    async def later() -> Mapping[str, object]:
        return {}

    def broken() -> Mapping[str, object]:
        raise LookupError("no build")

    async def nothing() -> None: ...

    with pytest.raises(DefinitionError, match="tool 'nothing': metadata: the function that answers it is async; await"):
        loose_tool(nothing, metadata=later)
    with pytest.raises(DefinitionError, match="metadata: the function that answers it raised LookupError: no build"):
        loose_tool(nothing, metadata=broken)
    with pytest.raises(DefinitionError, match="metadata: must be a JSON object, not 3"):
        loose_tool(nothing, metadata=lambda: 3)


@requirement("definitions.input-fields")
async def test_a_mapping_of_names_to_types_is_an_input() -> None:
    async def add(numbers: dict[str, int]) -> int:
        return numbers["a"] + numbers["b"]

    made = define_tool(name="add", input={"a": int, "b": Annotated[int, msgspec.Meta(ge=0)]}, execute=add)

    assert await made(a=1, b=2) == 3
    schema = cast("dict[str, object]", made.definition.to_json()["input"])
    assert schema["properties"] == {"a": {"type": "integer"}, "b": {"type": "integer", "minimum": 0}}
    assert (schema["required"], schema["additionalProperties"]) == (["a", "b"], False)
    result = await made.call(a=1, b=-1)
    assert result.error is not None
    assert result.error.code == "INVALID_ARGUMENTS"


@requirement("definitions.input-fields")
async def test_a_field_that_is_not_required_may_be_left_out() -> None:
    async def greet(given: dict[str, str]) -> str:
        return " ".join(given.values())

    fields = {"name": str, "title": NotRequired[Annotated[str, "How to call somebody."]]}
    made = define_tool(name="greet", input=fields, execute=greet)

    assert made.definition.input_schema["required"] == ("name",)
    assert await made(name="Ada") == "Ada"
    assert await made(name="Ada", title="Lady") == "Ada Lady"


@requirement("definitions.import")
def test_an_import_loads_no_reader() -> None:
    program = "import json, sys, armory_trio; print(json.dumps(sorted(sys.modules)))"
    command = [sys.executable, "-c", program]
    ended = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True)
    loaded = {name.removeprefix("armory_trio.definitions.") for name in cast("list[str]", json.loads(ended.stdout))}

    readers = {"_careful_json", "_docstring", "_reading", "contracts._json_schema", "contracts._signature"}
    assert "_building" in loaded
    assert not loaded & {*readers, "contracts._typed", "contracts._pydantic", "contracts._hints"}


@requirement("definitions.digests.declared")
def test_a_set_with_another_word_is_refused_too() -> None:
    async def nothing() -> None: ...

    with pytest.raises(DefinitionError, match="digests: must be True, False or a mapping such as"):
        loose_tool(nothing, digests=frozenset({"inptu"}))


@requirement("definitions.digests")
def test_a_value_whose_own_code_raises_has_no_digest() -> None:
    class Broken:
        @property
        def __pydantic_serializer__(self) -> object:
            raise RuntimeError("broken")

    with pytest.raises(JsonError, match="reading the Broken raised RuntimeError: broken"):
        output_digest(Broken())
