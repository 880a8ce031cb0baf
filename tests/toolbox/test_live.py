from __future__ import annotations

import logging
import threading
from collections.abc import Awaitable, Callable
from typing import cast

import pytest

from armory_trio import DefinitionError, DuplicateToolError, Tool, Toolbox, ToolId, tool
from armory_trio.toolbox import LiveToolbox, ToolboxChange
from tests.requirements import requirement


def named(name: str, *, version: str = "", namespace: str = "", description: str = "") -> Tool[[], str]:
    def body() -> str:
        return name

    return tool(body, name=name, version=version, namespace=namespace, description=description)


A, B, C = named("a"), named("b"), named("c")


def ids(live: LiveToolbox) -> list[str]:
    return [item.id.text.removeprefix("default:") for item in live.toolbox]


# ── Exchanging ───────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("toolbox.live.swap")
def test_a_swap_puts_another_toolbox_in_place_and_leaves_the_old_one_as_it_was() -> None:
    first, second = Toolbox([A]), Toolbox([B])
    live = LiveToolbox(first)
    assert (live.toolbox, live.revision) == (first, 1)

    change = live.swap(second)
    assert (live.toolbox, live.revision) == (second, 2)
    assert live.read() == (second, 2)
    assert (change.before, change.after, change.revision) == (first, second, 2)
    assert first.tools == (A,)
    assert repr(live) == "<LiveToolbox revision 2: <Toolbox 'toolbox:1': default:b>>"


@requirement("toolbox.live.swap")
def test_what_is_there_already_is_no_change() -> None:
    toolbox = Toolbox([A])
    live = LiveToolbox(toolbox)
    told: list[ToolboxChange] = []
    live.listen(told.append)

    change = live.swap(toolbox)
    assert live.update(lambda same: same).revision == 1
    assert (live.revision, told) == (1, [])
    assert (change.added, change.removed, change.changed) == ((), (), ())


@requirement("toolbox.live.swap", "toolbox.live.listeners")
def test_a_change_says_what_was_added_removed_and_changed() -> None:
    kept, old, new = named("kept"), named("x", description="old"), named("x", description="new")
    live = LiveToolbox(Toolbox([kept, old, A, named("twin")]))

    change = live.swap(Toolbox([C, new, kept, B, named("twin")]))
    assert change.added == ("default:c", "default:b")
    assert change.removed == ("default:a",)
    assert change.changed == ("default:x",)


@requirement("toolbox.live.update")
def test_an_update_makes_one_toolbox_of_another() -> None:
    live = LiveToolbox(Toolbox([A], context={"region": "eu"}))
    live.update(lambda toolbox: toolbox.extend(B))

    assert ids(live) == ["a", "b"]
    assert live.toolbox.context == {"region": "eu"}


@requirement("toolbox.live.update")
def test_an_update_that_fails_changes_nothing() -> None:
    live = LiveToolbox(Toolbox([A]))

    def failing(toolbox: Toolbox) -> Toolbox:
        raise ValueError("no")

    async def later(toolbox: Toolbox) -> Toolbox:
        return toolbox

    with pytest.raises(ValueError, match="no"):
        live.update(failing)

    def forgetful(toolbox: Toolbox) -> None: ...

    wrong: list[object] = [later, forgetful]
    for function in wrong:
        with pytest.raises(DefinitionError, match="live toolbox: update: needs a Toolbox"):
            live.update(cast("Callable[[Toolbox], Toolbox]", function))
    assert (ids(live), live.revision) == (["a"], 1)


@requirement("toolbox.live.update")
def test_an_update_that_swaps_by_itself_is_refused() -> None:
    live = LiveToolbox(Toolbox([A]))

    def confused(toolbox: Toolbox) -> Toolbox:
        live.swap(Toolbox([B]))
        return toolbox.extend(C)

    with pytest.raises(DefinitionError, match="exchanged the toolbox itself"):
        live.update(confused)
    assert (ids(live), live.revision) == (["b"], 2)


@requirement("toolbox.live.update")
def test_registering_several_tools_is_all_or_nothing() -> None:
    live = LiveToolbox(Toolbox([A]))
    with pytest.raises(DuplicateToolError):
        live.register(B, named("a"))
    with pytest.raises(DefinitionError, match="is no tool"):
        live.register(B, "c")  # type: ignore[arg-type]  # the mistake under test
    assert (ids(live), live.revision) == (["a"], 1)

    newer = named("a")
    assert live.register(B, Toolbox([C])).added == ("default:b", "default:c")
    live.register(newer, replace=True)
    assert (ids(live), live.revision) == (["a", "b", "c"], 3)
    assert live.toolbox.get("a") is newer


# ── Taking out ───────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("toolbox.live.unregister")
def test_tools_are_taken_out_by_tool_id_or_name() -> None:
    web = named("c", namespace="web", version="1")
    live = LiveToolbox(Toolbox([A, B, web, named("d"), named("e")], context={"region": "eu"}, revision="r:7"))

    change = live.unregister(A, ToolId("b"), "web:c", "d")
    assert change.removed == ("default:a", "default:b", "web:c@1", "default:d")
    assert (ids(live), live.revision) == (["e"], 2)
    assert (live.toolbox.revision, live.toolbox.context) == ("r:7", {"region": "eu"})


@requirement("toolbox.live.unregister")
def test_a_tool_is_known_with_middleware_around_it() -> None:
    async def around(call: object, ctx: object, call_next: Callable[[], Awaitable[object]]) -> object:
        return await call_next()

    live = LiveToolbox(Toolbox([A, B], middleware=[around]))
    assert live.toolbox.get("a") is not A
    live.unregister(A)
    live.register(C)

    assert ids(live) == ["b", "c"]
    assert all(item.middleware is not None for item in live.toolbox)


@requirement("toolbox.live.unregister")
def test_a_name_that_several_tools_have_is_refused() -> None:
    one, two = named("sum", version="1"), named("sum", version="2")
    live = LiveToolbox(Toolbox([one, two]))

    with pytest.raises(DefinitionError, match="'sum' could be any of default:sum@1, default:sum@2; give one"):
        live.unregister("sum")
    live.unregister("default:sum@2")
    assert live.toolbox.tools == (one,)


@requirement("toolbox.live.unregister", "toolbox.live.update")
@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ("bb", "'bb' is not in the toolbox"),
        ("read_file", "did you mean 'read-file'"),
        (ToolId("a", version="2"), "'default:a@2' is not in the toolbox"),
        (named("a"), "'default:a' is not in the toolbox"),
    ],
)
def test_taking_out_what_is_not_there_is_refused_as_a_whole(
    wanted: Tool[..., object] | ToolId | str, words: str
) -> None:
    live = LiveToolbox(Toolbox([A, B, named("read-file")]))

    with pytest.raises(DefinitionError, match=words):
        live.unregister(B, wanted)
    assert live.revision == 1


# ── Listeners ────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("toolbox.live.listeners")
def test_listeners_are_told_in_order_until_they_stop() -> None:
    live = LiveToolbox(Toolbox())
    told: list[tuple[str, int]] = []
    stop = live.listen(lambda change: told.append(("one", change.revision)))
    live.listen(lambda change: told.append(("two", change.revision)))

    live.register(A)
    stop()
    stop()
    live.register(B)
    assert told == [("one", 2), ("two", 2), ("two", 3)]


@requirement("toolbox.live.listeners")
def test_a_listener_that_raises_loses_neither_the_change_nor_the_others(caplog: pytest.LogCaptureFixture) -> None:
    live = LiveToolbox(Toolbox())
    told: list[int] = []

    def broken(change: ToolboxChange) -> None:
        raise ValueError("broken listener")

    live.listen(broken)
    live.listen(lambda change: told.append(change.revision))
    with caplog.at_level(logging.ERROR, "armory_trio.toolbox"):
        live.register(A)

    assert (ids(live), told) == (["a"], [2])
    assert "revision 2" in caplog.text
    assert "ValueError (test_live.py:" in caplog.text
    assert "broken listener" not in caplog.text, "the words of an exception may hold anything"


@requirement("toolbox.live.listeners")
def test_a_listener_sees_the_new_toolbox_and_may_change_it_again() -> None:
    live = LiveToolbox(Toolbox())
    told: list[tuple[str, int, list[str]]] = []

    def first(change: ToolboxChange) -> None:
        told.append(("first", change.revision, ids(live)))
        if change.revision == 2:
            live.register(B)

    live.listen(first)
    live.listen(lambda change: told.append(("second", change.revision, ids(live))))
    live.register(A)

    assert told == [
        ("first", 2, ["a"]),
        ("second", 2, ["a", "b"]),
        ("first", 3, ["a", "b"]),
        ("second", 3, ["a", "b"]),
    ]


@requirement("toolbox.live.listeners")
def test_a_listener_that_is_ended_by_an_earlier_one_is_not_told() -> None:
    live = LiveToolbox(Toolbox())
    told: list[int] = []
    live.listen(lambda change: stop())
    stop = live.listen(lambda change: told.append(change.revision))

    live.register(A)
    assert told == []


@requirement("toolbox.live.listeners")
def test_an_interrupted_listener_leaves_the_holder_in_order() -> None:
    live = LiveToolbox(Toolbox())
    told: list[int] = []

    def interrupted(change: ToolboxChange) -> None:
        told.append(change.revision)
        if change.revision == 2:
            live.register(B)
            raise KeyboardInterrupt

    live.listen(interrupted)
    with pytest.raises(KeyboardInterrupt):
        live.register(A)
    live.register(C)
    assert told == [2, 3, 4]
    assert ids(live) == ["a", "b", "c"]


@requirement("toolbox.live.listeners", "toolbox.live.swap")
def test_what_cannot_listen_or_be_held_is_refused() -> None:
    live = LiveToolbox(Toolbox())

    async def later(change: ToolboxChange) -> None: ...

    for wrong in (later, None):
        with pytest.raises(DefinitionError, match="needs a function that is not async"):
            live.listen(wrong)  # type: ignore[arg-type]  # the mistake under test
    with pytest.raises(DefinitionError, match="live toolbox: swap: needs a Toolbox"):
        live.swap(cast("Toolbox", [A]))
    with pytest.raises(DefinitionError, match="live toolbox: toolbox: needs a Toolbox"):
        LiveToolbox(cast("Toolbox", live))


# ── Threads ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("toolbox.live.threads")
def test_no_change_of_several_threads_is_lost_and_all_are_told_in_order() -> None:
    live = LiveToolbox(Toolbox())
    told: list[int] = []
    live.listen(lambda change: told.append(change.revision))
    gate = threading.Barrier(4)

    def work(thread: int) -> None:
        gate.wait()
        for number in range(25):
            live.register(named(f"t{thread}-{number}"))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(live.toolbox) == 100
    assert told == list(range(2, 102))
    assert live.revision == 101


@requirement("toolbox.live.listeners")
def test_what_ends_the_program_leaves_once_everybody_was_told() -> None:
    live = LiveToolbox(Toolbox())
    told: list[int] = []

    def leave(_change: ToolboxChange) -> None:
        raise SystemExit(3)

    live.listen(leave)
    live.listen(lambda change: told.append(change.revision))
    with pytest.raises(SystemExit):
        live.swap(Toolbox([A]))
    assert (told, live.revision) == ([2], 2)


@requirement("toolbox.live.listeners", "toolbox.live.unregister")
def test_an_object_that_is_async_and_what_is_no_tool_are_refused() -> None:
    class Later:
        async def __call__(self, change: ToolboxChange) -> None: ...

    live = LiveToolbox(Toolbox([A]))
    with pytest.raises(DefinitionError, match="listen: needs a function that is not async"):
        live.listen(Later())
    with pytest.raises(DefinitionError, match="unregister: needs tools, ids or names, not 5"):
        live.unregister(cast("str", 5))
