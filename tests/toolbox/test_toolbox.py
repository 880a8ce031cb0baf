from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import cast

import attrs
import pytest
import trio
import trio.testing

from armory_trio import (
    DefinitionError,
    DuplicateToolError,
    Tool,
    Toolbox,
    ToolCall,
    ToolFailure,
    combine_toolboxes,
    is_tool,
    is_toolbox,
    tool,
)
from armory_trio.definitions import Catalogue
from tests.requirements import requirement

Hook = Callable[[Mapping[str, object]], "bool | Awaitable[bool]"]


def named(name: str, *, version: str = "", availability: Hook | None = None) -> Tool[[], str]:
    def body() -> str:
        return name

    if availability is None:
        return tool(body, name=name, version=version)
    return tool(body, name=name, version=version, availability=availability)


A, B, C = named("a"), named("b"), named("c")


# ── A frozen value ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_toolbox_lists_its_tools_in_order() -> None:
    toolbox = Toolbox([B, A, named("b", version="2")])
    assert [item.id.text for item in toolbox] == ["default:b", "default:a", "default:b@2"]
    assert len(toolbox) == 3
    assert toolbox.names == ("b", "a")
    assert B in toolbox
    assert "a" in toolbox
    assert "default:b@2" in toolbox
    assert C not in toolbox
    assert named("a") not in toolbox
    assert "c" not in toolbox
    assert 3 not in toolbox


def test_an_empty_toolbox_is_a_toolbox() -> None:
    toolbox = Toolbox()
    assert (len(toolbox), list(toolbox), toolbox.names, toolbox.get("a")) == (0, [], (), None)
    assert toolbox
    assert Toolbox(item for item in (A, B)).tools == (A, B)


@requirement("toolbox.frozen")
def test_a_toolbox_shares_nothing_with_what_it_was_made_of() -> None:
    tools: list[Tool[..., object]] = [A]
    context: dict[str, object] = {"region": "eu"}
    toolbox = Toolbox(tools, context=context)
    tools.append(B)
    context["region"] = "us"
    assert toolbox.tools == (A,)
    assert toolbox.context == {"region": "eu"}


@requirement("toolbox.frozen")
def test_a_toolbox_can_not_be_changed() -> None:
    toolbox = Toolbox([A], context={"region": "eu"})
    for field in ("tools", "context", "revision", "other"):
        with pytest.raises((attrs.exceptions.FrozenInstanceError, AttributeError)):
            setattr(toolbox, field, None)
    with pytest.raises(TypeError):
        toolbox.context["region"] = "us"  # type: ignore[index]  # the mistake under test


@requirement("toolbox.frozen")
def test_nested_context_values_are_shared_by_reference() -> None:
    client: list[int] = []
    assert Toolbox(context={"client": client}).context["client"] is client
    assert Toolbox(context={"client": client}).extend(A).context["client"] is client


def test_toolboxes_are_equal_only_to_themselves() -> None:
    toolbox = Toolbox([A])
    assert toolbox != Toolbox([A])
    assert len({toolbox, toolbox, Toolbox([A])}) == 2


def test_a_toolbox_is_the_catalogue_that_tools_see() -> None:
    catalogue: Catalogue = Toolbox([A])
    found = catalogue.get("a")
    assert found is not None
    assert (found.name, found.description) == ("a", "")


@requirement("toolbox.repr-keeps-secrets")
def test_neither_repr_nor_str_shows_the_context() -> None:
    toolbox = Toolbox([A, *(named(f"t{n}") for n in range(9))], context={"api_key": "sk-12345"}, revision="r:7")
    for shown in (repr(toolbox), str(toolbox)):
        assert "sk-12345" not in shown
        assert "api_key" not in shown
    assert repr(Toolbox(revision="r:7")) == "<Toolbox 'r:7': no tools>"
    assert repr(Toolbox([A, B])) == "<Toolbox 'toolbox:1': default:a, default:b>"
    assert repr(toolbox).endswith("and 4 more>")


@requirement("toolbox.is-toolbox")
def test_is_toolbox_knows_a_toolbox() -> None:
    toolbox = Toolbox([A])
    assert is_toolbox(toolbox)
    assert not is_tool(toolbox)
    others: list[object] = [A, None, {}, [], Toolbox, "toolbox"]
    for other in others:
        assert not is_toolbox(other)


@requirement("toolbox.wrong-argument")
@pytest.mark.parametrize(
    ("arguments", "field", "words"),
    [
        ({"tools": [A, print]}, "tools[1]", "decorate it with @tool"),
        ({"tools": ["a"]}, "tools[0]", "'a' is no tool"),
        ({"tools": A}, "tools", "must be a list of tools"),
        ({"tools": "a"}, "tools", "must be a list of tools"),
        ({"tools": None}, "tools", "must be a list of tools"),
        ({"context": ["a"]}, "context", "must be a mapping"),
        ({"context": {1: "a"}}, "context key 1", "must be text"),
        ({"revision": ""}, "revision", "is blank"),
        ({"revision": 3}, "revision", "must be text"),
        ({"default_timeout": 0}, "default_timeout", "above 0"),
        ({"default_timeout": float("nan")}, "default_timeout", "above 0"),
        ({"default_timeout": "5"}, "default_timeout", "above 0"),
    ],
)
def test_a_wrong_argument_is_refused_with_its_place(arguments: dict[str, object], field: str, words: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        Toolbox(**arguments)  # type: ignore[arg-type]  # the mistake under test
    assert (caught.value.subject, caught.value.field) == ("toolbox", field)
    assert words in caught.value.reason


# ── Extending and combining ──────────────────────────────────────────────────────────────────────────────────────────


@requirement("toolbox.extend")
def test_extending_gives_a_new_toolbox_with_the_receivers_options() -> None:
    base = Toolbox([A], context={"region": "eu", "role": "user"}, revision="r:1", default_timeout=5)
    other = Toolbox([C], context={"role": "admin"}, revision="r:2", default_timeout=9)
    extended = base.extend(B, other)

    assert extended.tools == (A, B, C)
    assert extended.context == {"region": "eu", "role": "admin"}
    assert (extended.revision, extended.default_timeout) == ("r:1", 5)
    assert base.tools == (A,)
    assert base.context == {"region": "eu", "role": "user"}
    assert base.extend().tools == (A,)


@requirement("toolbox.extend", "toolbox.same-tool-twice")
def test_toolboxes_that_share_tools_can_be_put_together() -> None:
    assert Toolbox([A, B]).extend(Toolbox([B, C])).tools == (A, B, C)


@requirement("toolbox.duplicate-id", "toolbox.replace")
def test_extending_with_a_taken_id_is_an_error_unless_replacing_is_asked_for() -> None:
    base, newer = Toolbox([A, B]), named("a")
    with pytest.raises(DuplicateToolError):
        base.extend(newer)
    replaced = base.extend(C, newer, replace=True)
    assert replaced.tools == (newer, B, C)
    assert replaced.get("a") is newer
    assert base.get("a") is A


@requirement("toolbox.wrong-argument")
def test_extending_by_what_is_no_tool_is_refused() -> None:
    with pytest.raises(DefinitionError, match="is no tool"):
        Toolbox([A]).extend("b")  # type: ignore[arg-type]  # the mistake under test


@requirement("toolbox.combine")
def test_combining_merges_contexts_and_takes_the_options_of_the_first() -> None:
    first = Toolbox([A], context={"region": "eu", "role": "user"}, revision="r:1", default_timeout=5)
    second = Toolbox([B], context={"role": "admin"}, revision="r:2", default_timeout=9)
    third = Toolbox([C, A], context={"team": "x"})
    combined = combine_toolboxes(first, second, third)

    assert combined.tools == (A, B, C)
    assert combined.context == {"region": "eu", "role": "admin", "team": "x"}
    assert (combined.revision, combined.default_timeout) == ("r:1", 5)
    assert combine_toolboxes(first).tools == (A,)
    assert combine_toolboxes(first) is not first


@requirement("toolbox.combine", "toolbox.replace")
def test_combining_different_tools_of_one_id_is_an_error_unless_replacing_is_asked_for() -> None:
    newer = named("a")
    with pytest.raises(DuplicateToolError):
        combine_toolboxes(Toolbox([A, B]), Toolbox([newer]))
    assert combine_toolboxes(Toolbox([A, B]), Toolbox([newer]), replace=True).tools == (newer, B)


@requirement("toolbox.combine", "toolbox.wrong-argument")
def test_there_must_be_toolboxes_to_combine() -> None:
    with pytest.raises(DefinitionError, match="give at least one"):
        combine_toolboxes()
    with pytest.raises(DefinitionError, match=r"toolboxes\[1\]: .* is no toolbox"):
        combine_toolboxes(Toolbox(), [A])  # type: ignore[arg-type]  # the mistake under test
    with pytest.raises(DefinitionError, match=r"toolboxes\[0\]: .* is no toolbox; .* one by one, as \*toolboxes$"):
        combine_toolboxes([Toolbox(), Toolbox()])  # type: ignore[arg-type]  # as above


# ── Availability ─────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("toolbox.available")
async def test_available_asks_sync_and_async_hooks_with_the_context_in_order() -> None:
    asked: list[object] = []

    def in_europe(context: Mapping[str, object]) -> bool:
        asked.append(context)
        return context["region"] == "eu"

    async def in_europe_later(context: Mapping[str, object]) -> bool:
        await trio.lowlevel.checkpoint()
        return in_europe(context)

    def never(context: Mapping[str, object]) -> bool:
        return False

    one, two, three = named("one", availability=in_europe_later), named("two", availability=in_europe), named("three")
    toolbox = Toolbox([one, named("off", availability=never), two, three], context={"region": "eu"})

    assert await toolbox.available() == (one, two, three)
    assert asked == [{"region": "eu"}, {"region": "eu"}]
    assert await toolbox.available({"region": "us"}) == (three,)


@requirement("toolbox.available")
async def test_a_hook_that_raises_or_answers_anything_but_true_says_no() -> None:
    def raises(context: Mapping[str, object]) -> bool:
        raise ValueError("no network")

    async def raises_later(context: Mapping[str, object]) -> bool:
        raise KeyError("region")

    def answering(value: object) -> Hook:
        return lambda context: cast("bool", value)

    hooks: list[Hook] = [raises, raises_later, answering(1), answering("yes"), answering(None)]
    off = [named(f"off{n}", availability=hook) for n, hook in enumerate(hooks)]
    assert await Toolbox([*off, A]).available() == (A,)


@requirement("toolbox.available")
async def test_a_hook_can_not_change_the_context() -> None:
    def greedy(context: Mapping[str, object]) -> bool:
        cast("dict[str, object]", context)["region"] = "us"
        return True

    given: dict[str, object] = {"region": "eu"}
    assert await Toolbox([named("a", availability=greedy)], context=given).available(given) == ()
    assert given == {"region": "eu"}


@requirement("toolbox.available")
async def test_only_what_a_name_means_is_listed_even_when_that_is_unavailable() -> None:
    def never(context: Mapping[str, object]) -> bool:
        return False

    old, new = named("x", version="1.0.0"), named("x", version="2.0.0")
    assert await Toolbox([new, old]).available() == (new,)
    newest = named("x", version="3.0.0", availability=never)
    assert await Toolbox([newest, new, old]).available() == ()


@requirement("toolbox.available")
async def test_a_waiting_hook_is_cancelled_with_its_caller() -> None:
    ended: list[str] = []

    async def wait(context: Mapping[str, object]) -> bool:
        try:
            await trio.sleep_forever()
        finally:
            ended.append("ended")

    toolbox = Toolbox([named("a", availability=wait)])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(toolbox.available)
        await trio.testing.wait_all_tasks_blocked()
        assert ended == []
        nursery.cancel_scope.cancel()
    assert ended == ["ended"]


# ── Near names ───────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("toolbox.near")
@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        ("read-fil", ["read-file", "write-file"]),
        ("Read_File", ["read-file", "write-file"]),
        ("READFILE", ["read-file", "write-file"]),
        ("read file", ["read-file", "write-file"]),
        ("wirte-file", ["write-file", "read-file"]),
        ("adds", ["add"]),
        ("zzz", []),
        ("", []),
    ],
)
def test_names_that_come_near_are_offered_best_first(wrong: str, near: list[str]) -> None:
    toolbox = Toolbox([named(name) for name in ("list-dir", "read-file", "write-file", "add")])
    assert list(toolbox.near(wrong)) == near


@requirement("toolbox.near")
def test_no_more_names_are_offered_than_asked_for_and_each_once() -> None:
    toolbox = Toolbox([named(f"read-{letter}", version=v) for letter in "abcdef" for v in ("1", "2")])
    assert len(toolbox.near("read")) == 3
    assert len(set(toolbox.near("read", 5))) == 5
    assert len(toolbox.near("read-a", 1)) == 1


# ── Running one call ─────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("toolbox.execute")
async def test_execute_runs_one_call_and_answers_for_every_end() -> None:
    @tool
    async def divide(a: int, b: int) -> float:
        if b == 0:
            raise ToolFailure("b is zero", category="validation", effect="none")
        return a / b

    toolbox = Toolbox([divide])
    result = await toolbox.execute(ToolCall("divide", {"a": 6, "b": 3}, id="call-7"))
    assert (result.outcome, result.value, result.call_id) == ("success", 2.0, "call-7")
    assert (await toolbox.execute(ToolCall("default:divide", {"a": 6, "b": 3}))).unwrap() == 2.0

    missing = await toolbox.execute(ToolCall("divid", {}))
    assert missing.error is not None
    assert missing.error.code == "NOT_FOUND"
    assert "divide" in missing.error.message
    failed = await toolbox.execute(ToolCall("divide", {"a": 6, "b": 0}))
    assert failed.error is not None
    assert failed.error.message == "b is zero"
