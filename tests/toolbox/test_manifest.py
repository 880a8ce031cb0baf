from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armory_trio import (
    DefinitionError,
    DuplicateToolError,
    Lifecycle,
    Risk,
    Semantics,
    Tool,
    Toolbox,
    ToolCall,
    ToolDefinition,
    ToolId,
    combine_toolboxes,
    define_tool,
    lazy,
    tool,
    toolbox_from_manifest,
)
from armory_trio.definitions import canonical_text
from armory_trio.toolbox import GetTool
from tests.requirements import requirement
from tests.toolbox import listed

HOME = "tests.toolbox.listed"

TOML = """
revision = "tools:3"
default_timeout = 30

[context]
region = "north"

[[tools]]
function = "tests.toolbox.listed:add"
name = "sum"
version = "2.0.0"
tags = ["math"]
effect = "read-only"
timeout = 5
output = "annotation"

[[tools]]
function = "tests.toolbox.listed:place"
input = "tests.toolbox.listed:Order"
effect = { class = "external-write", targets = [{ kind = "service", id = "shop" }] }
risk = { untrusted_output = true, permissions = ["orders"] }
lifecycle = { deprecated = "use the shop", replaced_by = "default:shop" }
semantics = { concurrency = "exclusive" }
placement = { fresh = true, max_frame = 1000 }
requires_approval = true

[[tools]]
function = "tests.toolbox.listed:count"
reducer = "builtins:sum"
availability = "tests.toolbox.listed:on_weekdays"

[[tools]]
function = "tests.toolbox.listed:ready"

[[tools]]
function = "tests.toolbox.listed:region"

[[tools]]
function = "tests.toolbox.listed:echo"
input = { type = "object", properties = { n = { type = "integer" } } }

[[tools]]
function = "tests.toolbox.listed:Holder.inner"
"""


def written(tmp_path: Path, text: str | Mapping[str, object], name: str = "tools.toml") -> Path:
    path = tmp_path / name
    path.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
    return path


def entry(**declared: object) -> dict[str, object]:
    return {"tools": [{"function": f"{HOME}:add", **declared}]}


# ── Manifests ────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("toolbox.manifest")
async def test_a_manifest_becomes_a_toolbox(tmp_path: Path) -> None:
    toolbox = toolbox_from_manifest(written(tmp_path, TOML))

    assert toolbox.names == ("sum", "place", "count", "ready", "region", "echo", "inner")
    assert (toolbox.revision, toolbox.default_timeout, toolbox.context) == ("tools:3", 30, {"region": "north"})
    assert (await toolbox.execute(ToolCall("sum", {"a": 2}))).unwrap() == 3
    assert (await toolbox.execute(ToolCall("region"))).unwrap() == "north"
    assert (await toolbox.execute(ToolCall("echo", {"n": 1}))).unwrap() == {"n": 1}
    assert (await toolbox.execute(ToolCall("inner"))).unwrap() == "inner"


@requirement("toolbox.manifest")
def test_what_a_manifest_declares_is_what_code_would_declare(tmp_path: Path) -> None:
    toolbox = toolbox_from_manifest(written(tmp_path, TOML))
    add = tool(
        listed.add, name="sum", version="2.0.0", tags=["math"], effect="read-only", timeout=5, output="annotation"
    )
    place = define_tool(
        input=listed.Order,
        execute=listed.place,
        effect={"class": "external-write", "targets": [{"kind": "service", "id": "shop"}]},
        risk=Risk(untrusted_output=True, permissions=("orders",)),
        lifecycle=Lifecycle(deprecated="use the shop", replaced_by=ToolId("shop")),
        semantics=Semantics(concurrency="exclusive"),
        requires_approval=True,
    )
    made = {each.name: each for each in toolbox}

    assert made["sum"].definition == add.definition
    assert made["sum"].options == add.options
    assert made["place"].definition == place.definition
    assert made["place"].options.process is not None
    assert made["place"].options.process.fresh
    assert made["count"].options.reducer is sum
    assert made["count"].options.availability is listed.on_weekdays
    assert made["ready"] is listed.ready


@requirement("toolbox.manifest")
def test_json_does_as_well_and_a_context_of_the_caller_stands_over_that_of_the_file(tmp_path: Path) -> None:
    manifest = {**entry(tags=["x"]), "context": {"a": 1, "b": 2}}
    toolbox = toolbox_from_manifest(str(written(tmp_path, manifest, "tools.json")), context={"b": 3})

    assert toolbox.names == ("add",)
    assert toolbox.context == {"a": 1, "b": 3}


WORDS = st.from_regex("[a-z]{1,6}(-[a-z0-9]{1,4})?", fullmatch=True)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=10)
DECLARED = st.fixed_dictionaries(
    {},
    optional={
        "name": TEXTS.filter(str.strip),
        "namespace": TEXTS,
        "title": TEXTS,
        "description": TEXTS,
        "tags": st.lists(WORDS, max_size=3),
        "metadata": st.dictionaries(TEXTS, st.integers() | TEXTS | st.lists(st.booleans()), max_size=3),
        "examples": st.lists(TEXTS | st.integers(), max_size=2),
        "effect": st.just("read-only"),
        "timeout": st.floats(0.1, 100),
        "grace": st.floats(0, 10),
        "concurrency": st.integers(1, 9),
        "groups": st.lists(WORDS, max_size=2),
        "reads": st.lists(WORDS, max_size=2),
        "digests": st.booleans(),
        "lenient": st.booleans(),
        "output": st.just("annotation") | st.just({"type": "integer"}),
    },
)


@requirement("toolbox.manifest")
@given(DECLARED)
def test_any_declarations_mean_in_a_manifest_what_they_mean_in_code(
    tmp_path_factory: pytest.TempPathFactory, declared: dict[str, object]
) -> None:
    path = tmp_path_factory.mktemp("manifest") / "tools.json"
    path.write_text(canonical_text(entry(**declared), mode="exact"), encoding="utf-8")
    make = cast("Callable[..., Tool[..., object]]", tool)
    [made], expected = toolbox_from_manifest(path), make(listed.add, **declared)

    assert made.definition == expected.definition
    assert made.options == expected.options
    assert made.contract.validate({"a": 1}) == made.contract.validate({"a": 1, "b": 1})


@requirement("toolbox.manifest.allow")
def test_only_modules_that_are_allowed_are_imported(tmp_path: Path) -> None:
    manifest = written(tmp_path, entry(), "tools.json")

    assert toolbox_from_manifest(manifest, allow=["tests.toolbox"]).names == ("add",)
    assert toolbox_from_manifest(manifest, allow=[HOME]).names == ("add",)
    for allow in (["tests.tool"], ["tests.toolbox.listed.add"], []):
        with pytest.raises(DefinitionError, match=r"function: tests\.toolbox\.listed may not be imported here"):
            toolbox_from_manifest(manifest, allow=allow)
    with pytest.raises(DefinitionError, match="availability: os may not be imported here; allowed: tests"):
        toolbox_from_manifest(written(tmp_path, entry(availability="os:abort"), "b.json"), allow=["tests"])
    with pytest.raises(DefinitionError, match="toolbox_from_manifest: allow: must be a list"):
        toolbox_from_manifest(manifest, allow="tests")


@requirement("toolbox.manifest.refused")
@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ({"function": None}, r"tools\[0\]: function: must be text, not None"),
        ({"function": "add"}, r'tools\[0\] \(add\): function: must be "module:qualname", not \'add\''),
        ({"function": "no.such:f"}, r"function: no\.such can't be imported: ModuleNotFoundError"),
        ({"function": f"{HOME}:ad"}, r"function: there is no 'ad' in tests\.toolbox\.listed; did you mean 'add'\?"),
        ({"function": f"{HOME}:RAN"}, "must be a function"),
        ({"function": f"{HOME}:ready", "timeout": 3}, "timeout: the function is a tool already; declare this where"),
        (
            {"name": "sum", "timout": 3},
            r"tools\[0\] \(sum\): timout: there is no such declaration; did you mean 'timeout'",
        ),
        ({"timeout": 0}, r"tools\[0\] \(.*add\): timeout: must be"),
        ({"effect": "destructive"}, r"effect\.targets: a destructive effect must state its targets"),
        ({"risk": {"dangerus": True}}, r"risk\.dangerus: is unknown here; did you mean 'dangerous'"),
        ({"risk": {"dangerous": 3}}, r"risk\.dangerous: must be True or False"),
        ({"semantics": {"concurrency": "both"}}, r"semantics\.concurrency: 'both' is not one of"),
        ({"input": f"{HOME}:Nothing"}, "input: there is no 'Nothing'"),
        ({"input": {"type": 3}}, "input schema"),
        ({"output": "annotations"}, "output: must be a type"),
        ({"metadata": 3}, "metadata: must be a JSON object"),
    ],
)
def test_what_is_wrong_in_an_entry_is_named(tmp_path: Path, declared: Mapping[str, object], words: str) -> None:
    path = written(tmp_path, entry(**declared), "tools.json")
    with pytest.raises(DefinitionError, match=words) as refused:
        toolbox_from_manifest(path)
    assert refused.value.subject.startswith(f"{path}: tools[0]")


@requirement("toolbox.manifest.refused")
@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        ("tools = 3 3", "tools.toml", r"tools\.toml: file: is no TOML: .*line 1"),
        ("\ud800", "tools.toml", r"tools\.toml: file: is no TOML"),
        ('{"tools": [], "tools": []}', "tools.json", r"tools\.json: file: is no JSON: duplicate-key"),
        ("[]", "tools.json", r"tools\.json: file: must be a table of names and values"),
        ("", "tools.toml", r"tools\.toml: tools: must be a list of tables"),
        ("tools = [3]", "tools.toml", r"tools\[0\]: entry: must be a table of names and values, not 3"),
        ("tool = []", "tools.toml", "tool: is unknown here; did you mean 'tools'"),
        ("tools = []\ncontext = 3", "tools.toml", r"tools\.toml: context: must be a table"),
        ("tools = []\ndefault_timeout = 0", "tools.toml", r"tools\.toml: default_timeout: must be"),
        ("", "tools.yaml", r"tools\.yaml: file: is neither \.toml nor \.json"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path: Path, text: str, name: str, words: str) -> None:
    path = tmp_path / name
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(DefinitionError, match=words):
        toolbox_from_manifest(path)


@requirement("toolbox.manifest.refused")
def test_a_file_that_is_not_there_and_an_id_that_is_taken_are_named(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match=r"none\.toml: file: can't be read: No such file"):
        toolbox_from_manifest(tmp_path / "none.toml")
    with pytest.raises(DefinitionError, match="file: can't be read: no file can have this name"):
        toolbox_from_manifest(tmp_path / "a\0b.toml")
    twice = {"tools": [{"function": f"{HOME}:add"}, {"function": f"{HOME}:add"}]}
    with pytest.raises(DuplicateToolError, match=r"tools\.json: id: default:add is claimed twice"):
        toolbox_from_manifest(written(tmp_path, twice, "tools.json"))


# ── As JSON ──────────────────────────────────────────────────────────────────────────────────────────────────────────

ADD, READY = tool(listed.add, version="1"), listed.ready
BOX = Toolbox([ADD, READY], revision="box:2", default_timeout=9.5)


async def answer(arguments: Mapping[str, object]) -> object:
    return dict(arguments)


@requirement("toolbox.json")
async def test_a_toolbox_is_read_back_with_equal_definitions() -> None:
    document = json.loads(json.dumps(BOX.to_json()))
    read = Toolbox.from_json(document, get_tool=lambda _definition: answer)

    assert [each.definition for each in read] == [each.definition for each in BOX]
    assert [each.definition.digest for each in read] == [each.definition.digest for each in BOX]
    assert (read.revision, read.default_timeout) == ("box:2", 9.5)
    assert read.to_json() == document
    assert (await read.execute(ToolCall("add", {"a": 1}))).unwrap() == {"a": 1, "b": 1}
    refused = await read.execute(ToolCall("add", {"a": "1"}))
    assert refused.error is not None
    assert refused.error.code == "INVALID_ARGUMENTS"


@requirement("toolbox.json")
async def test_another_toolbox_can_resolve_what_runs() -> None:
    read = Toolbox.from_json(BOX.to_json(), get_tool=BOX.as_execute_resolver())

    assert list(read) == list(BOX)
    with pytest.raises(DefinitionError, match=r"toolbox: tools\[0\]: get_tool: knows nothing that runs default:add@1"):
        Toolbox.from_json(BOX.to_json(), get_tool=Toolbox([READY]).as_execute_resolver())


@requirement("toolbox.json")
async def test_a_resolver_may_answer_lazily() -> None:
    asked: list[str] = []

    def resolve(definition: ToolDefinition) -> Callable[..., object]:
        def load() -> Callable[..., object]:
            asked.append(definition.name)
            return answer

        return lazy(load)

    read = Toolbox.from_json(BOX.to_json(), get_tool=resolve)
    assert (await read.execute(ToolCall("add", {"a": 2}))).unwrap() == {"a": 2, "b": 1}
    assert asked == ["add"]


def answering(found: object) -> GetTool:
    return lambda _definition: cast("Tool[..., object]", found)


async def resolve_later(_definition: ToolDefinition) -> object:
    return answer


@requirement("toolbox.json.refused")
@pytest.mark.parametrize(
    ("resolve", "words"),
    [
        (answering(None), "get_tool: knows nothing that runs default:add@1"),
        (answering(3), "function: must be a function, not 3"),
        (resolve_later, "get_tool: answers for tool 'add' what has to be awaited; answer lazy"),
        (answering(READY), "get_tool: answers <Tool default:ready .*>, whose definition is another one"),
    ],
)
def test_a_resolver_that_answers_nothing_that_fits_is_refused_at_once(resolve: GetTool, words: str) -> None:
    with pytest.raises(DefinitionError, match=rf"toolbox: tools\[0\]: {words}"):
        Toolbox.from_json(BOX.to_json(), get_tool=resolve)


@requirement("toolbox.json.refused")
@pytest.mark.parametrize(
    ("document", "words"),
    [
        (3, "toolbox: document: must be a table"),
        ({"tool": 1}, "toolbox: tool: is unknown here; did you mean 'tools'"),
        ({"tools": 3}, "toolbox: tools: must be a list"),
        ({"tools": [{"name": "x"}]}, r"toolbox: tools\[0\]: schemaVersion: is missing"),
        ({"tools": (), "revision": ""}, "toolbox: revision: is blank"),
    ],
)
def test_what_is_wrong_in_a_document_is_named(document: object, words: str) -> None:
    with pytest.raises(DefinitionError, match=words):
        Toolbox.from_json(cast("dict[str, object]", document), get_tool=lambda _definition: answer)


# ── Who is told of deprecated tools ──────────────────────────────────────────────────────────────────────────────────


def told(_tool: object, _call: ToolCall) -> None: ...


@requirement("toolbox.on-deprecated")
def test_who_is_told_of_deprecated_tools_stays_with_the_receiver() -> None:
    first, second = Toolbox([ADD], on_deprecated=told), Toolbox([READY])

    assert first.extend(READY).on_deprecated is told
    assert combine_toolboxes(first, second).on_deprecated is told
    assert combine_toolboxes(second, first).on_deprecated is None
    with pytest.raises(DefinitionError, match="toolbox: on_deprecated: must be a function of a tool and a call, not 3"):
        Toolbox(on_deprecated=3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # the point of the test


@requirement("toolbox.manifest.allow")
@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("tests.toolbox.test_manifest:json.loads", r"'json' is a module; name it before the colon, as in \"json:"),
        (f"{HOME}:add.__globals__.get", "'__globals__' is Python's own"),
    ],
)
def test_what_is_allowed_leads_nowhere_else(tmp_path: Path, function: str, words: str) -> None:
    path = written(tmp_path, {"tools": [{"function": function, "name": "x"}]}, "tools.json")
    with pytest.raises(DefinitionError, match=words):
        toolbox_from_manifest(path, allow=["tests.toolbox"])


@requirement("toolbox.manifest.refused")
def test_a_module_that_exits_or_looks_up_badly_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "exits_at_once.py").write_text("raise SystemExit(3)")
    (tmp_path / "looks_badly.py").write_text("def __getattr__(name):\n    raise RuntimeError(name)")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    for function, words in (
        ("exits_at_once:f", "exits_at_once can't be imported: SystemExit: 3"),
        ("looks_badly:f", "looking 'f' up in looks_badly raised RuntimeError: f"),
    ):
        path = written(tmp_path, {"tools": [{"function": function}]}, "tools.json")
        with pytest.raises(DefinitionError, match=words):
            toolbox_from_manifest(path)


@requirement("toolbox.manifest.refused")
def test_what_else_is_wrong_is_named(tmp_path: Path) -> None:
    deep = tmp_path / "deep.toml"
    deep.write_text(f"tools = {'[' * 5000}{']' * 5000}")
    with pytest.raises(DefinitionError, match=r"deep\.toml: file: is nested too deeply"):
        toolbox_from_manifest(deep)
    with pytest.raises(DefinitionError, match="toolbox_from_manifest: path: must be text or a Path, not 5"):
        toolbox_from_manifest(cast("str", 5))
    whole = written(tmp_path, {"tools": [{"function": f"{HOME}:add"}]}, "tools.json")
    with pytest.raises(DefinitionError, match="context: must be a table of names and values, not 5"):
        toolbox_from_manifest(whole, context=cast("Mapping[str, object]", 5))
    both = written(
        tmp_path, {"tools": [{"function": f"{HOME}:add", "input": {"type": "object"}, "execute": "x"}]}, "tools.json"
    )
    with pytest.raises(DefinitionError, match="execute: there is no such declaration; that is the function"):
        toolbox_from_manifest(both)
    with pytest.raises(DefinitionError, match="get_tool: must be a function of a definition, not 5"):
        Toolbox.from_json(Toolbox().to_json(), get_tool=cast("GetTool", 5))


@requirement("toolbox.on-deprecated")
def test_nobody_waits_for_who_is_told_of_deprecated_tools() -> None:
    async def later(_tool: object, _call: ToolCall) -> None: ...

    with pytest.raises(DefinitionError, match="toolbox: on_deprecated: is async, and nothing waits for it"):
        Toolbox(on_deprecated=later)
