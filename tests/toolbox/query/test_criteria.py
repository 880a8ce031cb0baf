from __future__ import annotations

import enum
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest

from armory_trio import (
    DefinitionError,
    EffectDeclaration,
    EffectTarget,
    Lifecycle,
    Risk,
    Tool,
    Toolbox,
    define_tool,
    tool,
)
from armory_trio.toolbox.query import Criteria, Query, query_tools
from tests.requirements import requirement


def found(tools: Sequence[Tool[..., object]], **criteria: object) -> list[str]:
    """The names of the tools that are found."""
    return list(query_tools(tools, **criteria).names)  # type: ignore[arg-type]  # the tests give wrong ones, too


def named(name: str, **metadata: object) -> Tool[..., object]:
    return define_tool(name=name, metadata=metadata, execute=lambda: None)


# ── Tags, names ──────────────────────────────────────────────────────────────────────────────────────────────────────


def tagged(name: str, *tags: str) -> Tool[..., object]:
    return define_tool(name=name, tags=tags, execute=lambda: None)


TAGGED = [tagged("alpha", "math"), tagged("beta", "math", "fast"), tagged("gamma", "text"), tagged("bare")]


@requirement("toolbox.query.tags")
@pytest.mark.parametrize(
    ("criteria", "names"),
    [
        ({"tags_any": ["math"]}, ["alpha", "beta"]),
        ({"tags_any": ["text", "fast"]}, ["beta", "gamma"]),
        ({"tags_any": ["MATH "]}, ["alpha", "beta"]),
        ({"tags_all": ["math", "fast"]}, ["beta"]),
        ({"tags_none": ["fast"]}, ["alpha", "gamma", "bare"]),
        ({"tags_any": ["math"], "tags_none": ["fast"]}, ["alpha"]),
        ({"tags_any": ["unknown"]}, []),
        ({"tags_any": []}, ["alpha", "beta", "gamma", "bare"]),
        ({"tags_any": ["", " "]}, ["alpha", "beta", "gamma", "bare"]),
        ({"tags_all": ()}, ["alpha", "beta", "gamma", "bare"]),
        ({"tags_none": iter(["math", "text"])}, ["bare"]),
    ],
)
def test_tags_are_asked_for_as_all_any_or_none(criteria: Criteria, names: list[str]) -> None:
    assert found(TAGGED, **criteria) == names


def of(name: str, namespace: str = "", version: str = "") -> Tool[..., object]:
    return define_tool(name=name, namespace=namespace, version=version, execute=lambda: None)


PLACED = [of("a"), of("a", version="1.0"), of("a", version="2.0"), of("b", "web"), of("b", "web", "1.0")]


@requirement("toolbox.query.identity")
@pytest.mark.parametrize(
    ("criteria", "ids"),
    [
        ({"name": "a"}, ["default:a", "default:a@1.0", "default:a@2.0"]),
        ({"name": "A"}, []),
        ({"name": ["b", "c"]}, ["web:b", "web:b@1.0"]),
        ({"namespace": "web"}, ["web:b", "web:b@1.0"]),
        ({"namespace": ["default", "web"], "version": "1.0"}, ["default:a@1.0", "web:b@1.0"]),
        ({"version": ["2.0", ""]}, ["default:a", "default:a@2.0", "web:b"]),
        ({"version": ""}, ["default:a", "web:b"]),
        ({"version": [], "name": "b"}, ["web:b", "web:b@1.0"]),
    ],
)
def test_names_namespaces_and_versions_are_one_or_one_of_several(criteria: Criteria, ids: list[str]) -> None:
    assert list(query_tools(PLACED, **criteria).ids) == ids


# ── Risk ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def risky(name: str, risk: Risk | None = None, effect: str = "") -> Tool[..., object]:
    if effect == "read-only":
        return define_tool(name=name, effect="read-only", execute=lambda: None)
    if effect:
        declared = EffectDeclaration(effect, [EffectTarget("other", "x")])  # type: ignore[arg-type]  # one of the words
        return define_tool(name=name, effect=declared, execute=lambda: None)
    return (
        define_tool(name=name, execute=lambda: None)
        if risk is None
        else define_tool(name=name, risk=risk, execute=lambda: None)
    )


RISKY = [
    risky("reads", Risk(read_only=True)),
    risky("looks", effect="read-only"),
    risky("writes", Risk(mutates=True, permissions=["disk"])),
    risky("drops", Risk(dangerous=True, permissions=["disk", "admin"])),
    risky("fetches", Risk(read_only=True, untrusted_output=True)),
    risky("sends", effect="external-write"),
    risky("unsaid"),
    named("flagged", dangerous=True),
    tagged("labelled", "read-only"),
]


@requirement("toolbox.query.risk")
@pytest.mark.parametrize(
    ("criteria", "names"),
    [
        ({"read_only": True}, ["reads", "looks", "fetches", "labelled"]),
        ({"read_only": False}, ["writes", "drops", "sends", "unsaid", "flagged"]),
        ({"mutates": True}, ["writes", "drops", "sends", "unsaid", "flagged"]),
        ({"mutates": False}, ["reads", "looks", "fetches", "labelled"]),
        ({"dangerous": True}, ["drops", "flagged"]),
        ({"untrusted_output": True}, ["fetches"]),
        ({"untrusted_output": False, "read_only": True}, ["reads", "looks", "labelled"]),
        ({"permissions": ["disk"]}, ["writes", "drops"]),
        ({"permissions": ["disk", "admin"]}, ["drops"]),
        ({"permissions": ["execute"]}, []),
        ({"permissions": [], "dangerous": True}, ["drops", "flagged"]),
        ({"effect_class": "external-write"}, ["writes", "sends", "unsaid"]),
        ({"effect_class": ["destructive", "privileged"]}, ["drops", "flagged"]),
        ({"tier": "mutating"}, ["writes", "sends"]),
        ({"tier": ["mutating", "dangerous"]}, ["writes", "drops", "sends", "flagged"]),
        ({"classified": False}, ["unsaid"]),
    ],
)
def test_risk_is_what_the_classifier_says(criteria: Criteria, names: list[str]) -> None:
    assert found(RISKY, **criteria) == names


# ── Arguments ────────────────────────────────────────────────────────────────────────────────────────────────────────


class Unit(enum.Enum):
    celsius = "celsius"
    kelvin = "kelvin"


@dataclass
class Place:
    city: str
    altitude: int = 0


@tool
def weather(place: Place, unit: Unit = Unit.kelvin, days: int | None = None) -> None: ...


@tool
def lookup(City: str, trackingId: int) -> None: ...  # noqa: N803  # case is what is tested


ARGUMENTS: list[Tool[..., object]] = [weather, lookup, named("none")]


@requirement("toolbox.query.schema")
@pytest.mark.parametrize(
    ("criteria", "names"),
    [
        ({"schema_keys": ["city"]}, ["lookup"]),
        ({"schema_keys": ["CITY", "trackingid"]}, ["lookup"]),
        ({"schema_keys": ["unit", "days"]}, ["weather"]),
        ({"schema_keys": ["unit", "city"]}, []),
        ({"schema_keys": ["", " "]}, ["weather", "lookup", "none"]),
        ({"schema_matches": {"City": {}}}, ["lookup"]),
        ({"schema_matches": {"city": {}}}, []),
        ({"schema_matches": {"City": {"type": "string"}}}, ["lookup"]),
        ({"schema_matches": {"City": {"type": "integer"}}}, []),
        ({"schema_matches": {"unit": {"enum": ["celsius", "kelvin"]}}}, ["weather"]),
        ({"schema_matches": {"unit": {"enum": ["celsius"]}}}, []),
        ({"schema_matches": {"place": {"properties": {"city": {"type": "string"}}}}}, ["weather"]),
        ({"schema_matches": {"place": {"properties": {"town": {}}}}}, []),
        ({"schema_matches": {"place": {"required": ["city"]}, "days": {"default": None}}}, ["weather"]),
        ({"schema_matches": {"days": {"default": 0}}}, []),
        ({"schema_matches": {}}, ["weather", "lookup", "none"]),
    ],
)
def test_arguments_are_asked_for_by_name_and_by_pieces_of_their_schema(criteria: Criteria, names: list[str]) -> None:
    assert found(ARGUMENTS, **criteria) == names


@requirement("toolbox.query.schema")
def test_references_are_followed_or_asked_for_and_cycles_end() -> None:
    def run(arguments: dict[str, object]) -> None: ...

    itself = {"allOf": [{"$ref": "#/$defs/loop"}, {"minLength": 1}]}
    schema: dict[str, object] = {
        "type": "object",
        "properties": {"a/b": {"$ref": "#/$defs/two%25"}, "loop": {"$ref": "#/$defs/loop"}, "gone": {"type": "null"}},
        "$defs": {"two%": {"type": "string"}, "loop": {"anyOf": [itself, {"type": "null"}]}},
    }
    tools = [define_tool(name="x", input=schema, execute=run)]

    assert found(tools, schema_matches={"a/b": {"type": "string"}}) == ["x"]
    assert found(tools, schema_matches={"a/b": {"$ref": "#/$defs/two%25"}}) == ["x"]
    assert found(tools, schema_matches={"loop": {"anyOf": [itself, {"type": "null"}]}}) == ["x"]
    assert found(tools, schema_matches={"loop": {"type": "null"}}) == []
    assert found(tools, schema_matches={"gone": {"type": {"deep": {}}}}) == []
    assert found([define_tool(name="y", input={"type": "object"}, execute=run)], schema_matches={"a/b": {}}) == []


# ── Metadata ─────────────────────────────────────────────────────────────────────────────────────────────────────────

NESTED: dict[str, object] = {"a": [1, {}]}
DESCRIBED = [
    named("alpha", score=10, team="core-search", labels=["fast", "new"], status="active", on=True, nested=NESTED),
    named("beta", score=4, team="billing", labels=[], status="paused", on=1, temp="hot"),
    named("gamma", score=1.0, status="retired", nothing=None),
    named("bare"),
]


def is_empty(metadata: Mapping[str, object]) -> bool:
    return not metadata


@requirement("toolbox.query.metadata")
@pytest.mark.parametrize(
    ("criteria", "names"),
    [
        ({"metadata_has": ["team", "labels"]}, ["alpha", "beta"]),
        ({"metadata_has": ["nothing"]}, ["gamma"]),
        ({"metadata_has": []}, ["alpha", "beta", "gamma", "bare"]),
        ({"metadata_equals": {"status": "active"}}, ["alpha"]),
        ({"metadata_equals": {"nested": NESTED}}, ["alpha"]),
        ({"metadata_equals": {"nested": {"a": [1.0]}}}, []),
        ({"metadata_equals": {"labels": ["fast", "new"]}}, ["alpha"]),
        ({"metadata_equals": {"labels": ["new", "fast"]}}, []),
        ({"metadata_equals": {"labels": ()}}, ["beta"]),
        ({"metadata_equals": {"score": 1}}, ["gamma"]),
        ({"metadata_equals": {"on": True}}, ["alpha"]),
        ({"metadata_equals": {"on": 1}}, ["beta"]),
        ({"metadata_equals": {"nothing": None}}, ["gamma"]),
        ({"metadata_contains": {"team": "search"}}, ["alpha"]),
        ({"metadata_contains": {"labels": "fast"}}, ["alpha"]),
        ({"metadata_contains": {"labels": "fas"}}, []),
        ({"metadata_contains": {"labels": ["new", "fast"]}}, ["alpha"]),
        ({"metadata_contains": {"labels": ["new", "slow"]}}, []),
        ({"metadata_contains": {"status": ["active", "paused"]}}, ["alpha", "beta"]),
        ({"metadata_contains": {"on": "yes"}}, []),
        ({"metadata_contains": {"on": True}}, ["alpha"]),
        ({"metadata_contains": {"score": [4, 1]}}, ["beta", "gamma"]),
        ({"metadata_startswith": {"team": "core"}}, ["alpha"]),
        ({"metadata_startswith": {"team": ""}}, ["alpha", "beta"]),
        ({"metadata_startswith": {"score": "1"}}, []),
        ({"metadata_range": {"score": (5, 12)}}, ["alpha"]),
        ({"metadata_range": {"score": (None, 5)}}, ["beta", "gamma"]),
        ({"metadata_range": {"score": (10, None)}}, ["alpha"]),
        ({"metadata_range": {"score": (4, 4)}}, ["beta"]),
        ({"metadata_range": {"temp": (None, None)}}, []),
        ({"metadata_range": {"on": (0, 2)}}, ["beta"]),
        ({"metadata_predicate": is_empty}, ["bare"]),
        ({"metadata_equals": {}, "metadata_range": {}, "metadata_contains": {}}, ["alpha", "beta", "gamma", "bare"]),
    ],
)
def test_metadata_is_asked_for_what_is_in_it(criteria: Criteria, names: list[str]) -> None:
    assert found(DESCRIBED, **criteria) == names


@requirement("toolbox.query.metadata")
def test_what_was_asked_with_can_be_changed_without_changing_the_question() -> None:
    given: dict[str, object] = {"labels": ["fast"]}
    query = Query(metadata_contains=given, tags_any=(tags := ["math"]))
    given["labels"] = ["slow"]
    tags.append("text")

    assert query == Query(metadata_contains={"labels": ["fast"]}, tags_any=["math"])
    assert query != Query(metadata_contains={"labels": ["slow"]}, tags_any=["math"])
    assert len({query, Query(metadata_contains={"labels": ["fast"]}, tags_any=["math"])}) == 1
    assert len({Query(schema_matches={"city": {"type": "string"}}) for _ in range(2)}) == 1


# ── Lifecycle ────────────────────────────────────────────────────────────────────────────────────────────────────────


def no(context: Mapping[str, object]) -> bool:
    return False


def in_europe(context: Mapping[str, object]) -> bool:
    return context["region"] == "eu"


LIVING: list[Tool[..., object]] = [
    define_tool(name="old", lifecycle=Lifecycle(deprecated="use new"), placement="task", execute=lambda: None),
    define_tool(name="new", requires_approval=True, execute=lambda: None),
    define_tool(name="off", availability=no, execute=lambda: None),
    define_tool(name="eu", availability=in_europe, lifecycle=Lifecycle(deprecated=False), execute=lambda: None),
]


@requirement("toolbox.query.lifecycle")
@pytest.mark.parametrize(
    ("criteria", "names"),
    [
        ({"deprecated": True}, ["old"]),
        ({"deprecated": False}, ["new", "off", "eu"]),
        ({"requires_approval": True}, ["new"]),
        ({"placement": "task"}, ["old"]),
        ({"placement": ["thread", "process"], "requires_approval": False}, ["off", "eu"]),
        ({"available_in": {"region": "eu"}}, ["old", "new", "eu"]),
        ({"available_in": {"region": "us"}}, ["old", "new"]),
        ({"available_in": {}}, ["old", "new"]),
    ],
)
def test_lifecycle_approval_placement_and_availability_can_be_asked_for(criteria: Criteria, names: list[str]) -> None:
    assert found(LIVING, **criteria) == names


@requirement("toolbox.query.lifecycle")
def test_a_tool_of_which_a_hook_raises_is_known_to_be_unavailable() -> None:
    result = query_tools(LIVING, ~Query(available_in={}))

    assert (list(result.names), result.undecided) == (["off", "eu"], ())


# ── Code of the host's ───────────────────────────────────────────────────────────────────────────────────────────────


@requirement("toolbox.query.async")
async def test_what_is_async_is_refused() -> None:
    async def later(context: object) -> bool:
        return True

    def hiding(asked: object) -> object:
        return later(asked)

    hooked = [define_tool(name="x", availability=later, execute=lambda: None)]
    with pytest.raises(DefinitionError, match=r"available_in: the hook of default:x is async.*toolbox.available"):
        query_tools(hooked, available_in={})
    for field in ("predicate", "metadata_predicate"):
        with pytest.raises(DefinitionError, match=f"query: {field}: must be a function that is not async"):
            found(DESCRIBED, **{field: later})
        with pytest.raises(DefinitionError, match=f"query: {field}: .* is async, and a query does not wait"):
            found(DESCRIBED, **{field: hiding})
    assert query_tools(await Toolbox(hooked).available()).total == 1


@requirement("toolbox.query.predicate")
def test_a_predicate_is_asked_with_the_tool_or_its_metadata() -> None:
    asked: list[object] = []

    def even(tool: Tool[..., object]) -> bool:
        asked.append(tool)
        return len(tool.name) % 2 == 0

    assert found(TAGGED, predicate=even) == ["beta", "bare"]
    assert asked == TAGGED

    def has_score(metadata: Mapping[str, object]) -> bool:
        return metadata["score"] == 4

    assert found(DESCRIBED, metadata_predicate=has_score) == ["beta"]


# ── Wrong questions ──────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("toolbox.query.wrong-argument")
@pytest.mark.parametrize(
    ("criteria", "field", "words"),
    [
        ({"tag_any": ["x"]}, "tag_any", "did you mean 'tags_any'?"),
        ({"tags": ["x"]}, "tags", "there is no such criterion; did you mean 'tags_"),
        ({"zzz": 1}, "zzz", "there are text, name, namespace"),
        ({"tags_any": "math"}, "tags_any", "must be a list"),
        ({"tags_any": [1]}, "tags_any[0]", "must be text"),
        ({"tags_any": None}, "tags_any", "must be a list"),
        ({"name": 3}, "name", "must be a list of texts, or be one text"),
        ({"version": [None]}, "version[0]", "must be text"),
        ({"effect_class": "external"}, "effect_class", "did you mean 'external-write'?"),
        ({"tier": ["dangerous", "harmless"]}, "tier[1]", "is not one of read-only, mutating, dangerous"),
        ({"placement": "cluster"}, "placement", "is not one of task, thread, process"),
        ({"read_only": None}, "read_only", "True or False"),
        ({"deprecated": 1}, "deprecated", "True or False"),
        ({"text": ["a"]}, "text", "must be text"),
        ({"schema_keys": "city"}, "schema_keys", "must be a list"),
        ({"schema_matches": {"city": "string"}}, "schema_matches['city']", "piece of a JSON Schema"),
        ({"schema_matches": ["city"]}, "schema_matches", "must be a mapping"),
        ({"metadata_equals": {1: 2}}, "metadata_equals key 1", "must be text"),
        ({"metadata_equals": {"a": {1, 2}}}, "metadata_equals['a']", "must be JSON"),
        ({"metadata_contains": {"a": object()}}, "metadata_contains['a']", "must be JSON"),
        ({"metadata_startswith": {"a": 1}}, "metadata_startswith['a']", "must be text"),
        ({"metadata_range": {"a": 5}}, "metadata_range['a']", "two bounds"),
        ({"metadata_range": {"a": (1, 2, 3)}}, "metadata_range['a']", "two bounds"),
        ({"metadata_range": {"a": (5, 1)}}, "metadata_range['a']", "5 is above 1"),
        ({"metadata_range": {"a": (math.nan, 1)}}, "metadata_range['a']", "a bound must be a number or None"),
        ({"metadata_range": {"a": ("0", 1)}}, "metadata_range['a']", "a bound must be a number or None"),
        ({"metadata_predicate": "x"}, "metadata_predicate", "must be a function"),
        ({"predicate": 3}, "predicate", "must be a function"),
        ({"available_in": ["x"]}, "available_in", "must be a mapping"),
    ],
)
def test_a_wrong_criterion_is_refused_with_its_place(criteria: dict[str, object], field: str, words: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        found([], **criteria)
    assert (caught.value.subject, caught.value.field) == ("query", field)
    assert words in caught.value.reason
