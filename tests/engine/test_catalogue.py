"""The catalogue while a supervisor runs: misspelt names, an exchanged toolbox, calls that go round in circles."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Mapping

import attrs
import msgspec
import pytest
import trio
import trio.testing

from armory_trio import (
    DefinitionError,
    ExecutionRefused,
    ExecutionSettled,
    Lifecycle,
    LiveToolbox,
    LoopDetection,
    LoopWarned,
    NameResolved,
    RequestContext,
    Resolution,
    Supervisor,
    Tool,
    Toolbox,
    ToolboxChanged,
    ToolCall,
    ToolContext,
    current_supervisor,
    define_tool,
    input_digest,
    open_supervisor,
    tool,
)

from ..definitions._loosely import loose_define, loose_tool
from ..requirements import requirement
from .cancelling import assert_nothing_is_held


@tool(effect="read-only")
async def read_notes(path: str) -> str:
    """Read notes."""
    return f"notes of {path}"


@tool(effect="read-only")
async def first(ctx: ToolContext) -> list[str]:
    """Say what tools there are, after a while."""
    await trio.sleep(1)
    return [each.name for each in ctx.toolbox]


@tool(effect="read-only")
async def second() -> str:
    """Say hello."""
    return "second"


# -- names


@requirement("engine.fuzzy")
async def test_a_misspelt_name_is_understood_when_the_host_says_so(autojump_clock: trio.testing.MockClock) -> None:
    async with (
        open_supervisor(Toolbox([read_notes]), resolution=Resolution()) as supervisor,
        supervisor.events(NameResolved) as events,
    ):
        result = await supervisor.execute(ToolCall("Read-Notes", {"path": "a"}))
        again = await supervisor.execute(ToolCall("read_notes", {"path": "b"}))
        event = await anext(events)

    assert (result.value, result.tool_name) == ("notes of a", "read_notes")
    assert again.value == "notes of b"
    assert isinstance(event, NameResolved)
    assert (event.requested, event.tool_name, event.tier) == ("Read-Notes", "read_notes", "normalized")


@requirement("engine.fuzzy")
async def test_a_misspelt_name_is_not_found_by_default() -> None:
    async with open_supervisor(Toolbox([read_notes])) as supervisor:
        result = await supervisor.execute(ToolCall("Read-Notes", {"path": "a"}))

    assert result.error is not None
    assert result.error.code == "NOT_FOUND"
    assert result.error.details == {"near": ["read_notes"]}


@requirement("engine.fuzzy")
async def test_a_name_that_could_be_two_is_not_found_and_both_are_named() -> None:
    async def body() -> None: ...

    tools = [define_tool(name=name, description="d", execute=body) for name in ("read-notes", "read.notes")]
    async with open_supervisor(Toolbox(tools), resolution=Resolution()) as supervisor:
        result = await supervisor.execute(ToolCall("read_notes"))

    assert result.error is not None
    assert result.error.code == "NOT_FOUND"
    assert result.error.details is not None
    assert sorted(str(name) for name in _list(result.error.details, "ambiguous")) == ["read-notes", "read.notes"]


def _list(details: Mapping[str, object], key: str) -> list[object]:
    return msgspec.convert(details[key], list[object])


# -- an exchanged toolbox


@requirement("engine.live-toolbox")
async def test_running_executions_keep_the_toolbox_and_later_calls_get_the_new_one(
    autojump_clock: trio.testing.MockClock,
) -> None:
    live = LiveToolbox(Toolbox([first]))
    async with open_supervisor(live) as supervisor, supervisor.events(ToolboxChanged) as events:
        running = supervisor.start(ToolCall("first"))
        await trio.testing.wait_all_tasks_blocked()
        live.swap(Toolbox([second]))
        later = await supervisor.execute(ToolCall("second"))
        gone = await supervisor.execute(ToolCall("first"))
        kept = await running.result()
        event = await anext(events)
        assert supervisor.toolbox is live.toolbox

    assert later.value == "second"
    assert gone.error is not None
    assert gone.error.code == "NOT_FOUND"
    assert kept.value == ["first"]
    assert isinstance(event, ToolboxChanged)
    assert (event.revision, event.added, event.removed) == (2, ("default:second",), ("default:first",))


@requirement("engine.live-toolbox")
async def test_another_definition_of_one_name_takes_its_place_for_later_calls() -> None:
    def saying(word: str) -> Tool[..., object]:
        async def say() -> str:
            return word

        return define_tool(name="say", description=f"Say {word}.", execute=say)

    live = LiveToolbox(Toolbox([saying("old")]))
    async with open_supervisor(live) as supervisor:
        before = await supervisor.execute(ToolCall("say"))
        live.register(saying("new"), replace=True)
        after = await supervisor.execute(ToolCall("say"))

    assert (before.value, after.value) == ("old", "new")


@requirement("engine.live-toolbox")
async def test_a_thread_may_exchange_the_toolbox() -> None:
    live = LiveToolbox(Toolbox([first]))
    async with open_supervisor(live) as supervisor, supervisor.events(ToolboxChanged) as events:
        await trio.to_thread.run_sync(live.swap, Toolbox([second]))
        await anext(events)
        result = await supervisor.execute(ToolCall("second"))

    assert result.value == "second"


@requirement("engine.live-toolbox")
async def test_a_closed_supervisor_no_longer_follows() -> None:
    live = LiveToolbox(Toolbox([first]))
    async with open_supervisor(live) as supervisor:
        pass
    live.swap(Toolbox([second]))

    assert [each.name for each in supervisor.toolbox] == ["first"]


@requirement("engine.live-toolbox")
async def test_a_tool_that_allows_less_than_the_one_in_whose_place_it_came_is_held_to_that(
    autojump_clock: trio.testing.MockClock,
) -> None:
    running = most = 0

    async def work() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await trio.sleep(1)
        running -= 1

    def allowing(count: int) -> Tool[..., object]:
        return define_tool(name="work", description=f"{count} at once", execute=work, concurrency=count)

    live = LiveToolbox(Toolbox([allowing(3)]))
    async with open_supervisor(live) as supervisor:
        early = [supervisor.start(ToolCall("work")) for _ in range(3)]
        await trio.testing.wait_all_tasks_blocked()
        live.swap(Toolbox([allowing(1)]))
        for each in early:
            await each.settled()
        most = 0
        await supervisor.execute_batch([ToolCall("work")] * 3)

    assert most == 1


# -- deprecation


@requirement("engine.deprecated")
async def test_the_host_is_told_of_each_call_of_a_deprecated_tool_and_nothing_else_changes() -> None:
    told: list[tuple[str, Mapping[str, object]]] = []

    def tell(called: Tool[..., object], call: ToolCall) -> None:
        told.append((called.name, call.arguments))
        raise RuntimeError("a listener's own fault")

    old = tool(name="old", description="d", lifecycle=Lifecycle(deprecated="use second"))(_answer)
    async with open_supervisor(Toolbox([old, second], on_deprecated=tell)) as supervisor:
        results = await supervisor.execute_batch([ToolCall("old", {"n": 1}), ToolCall("second"), ToolCall("old")])

    assert [result.outcome for result in results] == ["success", "success", "error"]
    assert told == [("old", {"n": 1}), ("old", {})]


async def _answer(n: int) -> int:
    return n


# -- loops


@requirement("engine.loops")
async def test_a_call_that_goes_on_repeating_itself_is_warned_of_and_then_refused() -> None:
    async with (
        open_supervisor(Toolbox([read_notes]), loops=LoopDetection(warn_at=2, block_at=3)) as supervisor,
        supervisor.events(LoopWarned, ExecutionRefused) as events,
    ):
        results = [await supervisor.execute(ToolCall("read_notes", {"path": "a"})) for _ in range(4)]
        warned, refused = await anext(events), await anext(events)

    assert [result.error and result.error.code for result in results] == [None, None, "LOOP_BLOCKED", "LOOP_BLOCKED"]
    assert results[2].error is not None
    assert results[2].error.category == "conflict"
    assert results[2].error.details == {"calls": 3, "pattern": "repeat"}
    assert isinstance(warned, LoopWarned)
    assert (warned.calls, warned.pattern) == (2, "repeat")
    assert isinstance(refused, ExecutionRefused)


@requirement("engine.loops")
async def test_other_arguments_or_another_result_are_progress() -> None:
    answers = iter(range(100))

    async def poll(path: str) -> int:
        return next(answers)

    polling = define_tool(name="poll", description="d", execute=poll, effect="read-only")
    async with open_supervisor(Toolbox([polling, read_notes]), loops=LoopDetection(warn_at=None, block_at=3)) as host:
        changing = [await host.execute(ToolCall("poll", {"path": "a"})) for _ in range(5)]
        others = [await host.execute(ToolCall("read_notes", {"path": str(number)})) for number in range(5)]

    assert {result.outcome for result in changing + others} == {"success"}


@requirement("engine.loops")
async def test_owners_are_judged_on_their_own_and_what_tools_call_is_not_judged() -> None:
    async def ask(ctx: ToolContext) -> list[str]:
        return [(await ctx.call("read_notes", {"path": "a"})).outcome for _ in range(5)]

    asking = define_tool(name="ask", description="d", execute=ask, effect="read-only")
    loops = LoopDetection(warn_at=None, block_at=2)
    async with open_supervisor(Toolbox([asking, read_notes]), loops=loops) as supervisor:
        nested = await supervisor.execute(ToolCall("ask"))
        apart = [
            (await supervisor.execute(ToolCall("read_notes", {"path": "a"}), owner_id=owner)).outcome
            for owner in ("one", "two", "one")
        ]

    assert nested.value == ["success"] * 5
    assert apart == ["success", "success", "error"]


@requirement("engine.loops")
async def test_wrong_arguments_sent_again_and_again_are_a_loop_too() -> None:
    loops = LoopDetection(warn_at=None, block_at=3)
    async with open_supervisor(Toolbox([read_notes]), loops=loops) as supervisor:
        codes = [(await supervisor.execute(ToolCall("read_notes", {"paht": "a"}))).error for _ in range(3)]

    assert [error and error.code for error in codes] == ["INVALID_ARGUMENTS", "INVALID_ARGUMENTS", "LOOP_BLOCKED"]


@requirement("engine.live-toolbox")
@pytest.mark.parametrize("field", ["resolution", "loops"])
async def test_an_option_of_another_kind_is_refused(field: str) -> None:
    with pytest.raises(DefinitionError, match=field):
        async with open_supervisor(Toolbox([second]), **{field: "yes"}):  # type: ignore[arg-type]  # the mistake
            pass


# -- validators that have to be awaited


async def _positive(arguments: Mapping[str, object]) -> Mapping[str, object]:
    await trio.sleep(1)
    if arguments == {"n": 13}:
        raise ConnectionError("the store of numbers is down")
    valid = isinstance(arguments.get("n"), int)
    return {"valid": valid, "issues": [] if valid else [{"path": "n", "code": "type"}]}


_SCHEMA: Mapping[str, object] = {"type": "object", "properties": {"n": True}, "additionalProperties": False}


async def _take(arguments: Mapping[str, object]) -> object:
    return arguments["n"]


slow = define_tool(
    name="slow", description="d", input={"schema": _SCHEMA, "validate": _positive}, execute=_take, effect="read-only"
)


@requirement("engine.awaited-validators")
async def test_a_validator_that_waits_is_awaited_before_the_tool_runs(autojump_clock: trio.testing.MockClock) -> None:
    async with open_supervisor(Toolbox([slow])) as supervisor:
        handle = supervisor.start(ToolCall("slow", {"n": 1}))
        await trio.testing.wait_all_tasks_blocked()
        waiting = handle.snapshot
        fits = await handle.result()
        unfit = await supervisor.execute(ToolCall("slow", {"n": "one"}))

    assert (waiting.state, waiting.waits_for) == ("queued", "validation")
    assert fits.value == 1
    assert handle.snapshot.waits_for is None
    assert unfit.error is not None
    assert (unfit.error.code, unfit.effect, unfit.attempts) == ("INVALID_ARGUMENTS", "none", 0)


@requirement("engine.awaited-validators")
async def test_a_validator_that_raises_fails_its_call_before_anything_ran(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_supervisor(Toolbox([slow])) as supervisor:
        result = await supervisor.execute(ToolCall("slow", {"n": 13}))

    assert result.error is not None
    assert (result.error.category, result.error.retryable, result.effect) == ("transient", True, "none")
    assert "the store of numbers is down" in result.error.message


@requirement("engine.awaited-validators")
async def test_an_abort_while_the_validator_waits_ends_it_and_nothing_ran(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_supervisor(Toolbox([slow])) as supervisor, supervisor.events(ExecutionSettled) as events:
        handle = supervisor.start(ToolCall("slow", {"n": 1}))
        await trio.testing.wait_all_tasks_blocked()
        handle.abort("no longer wanted")
        result = await handle.result()
        await anext(events)

    assert result.error is not None
    assert (result.error.code, result.effect) == ("NOT_STARTED", "none")
    assert trio.current_time() < 1


@requirement("engine.awaited-validators")
async def test_a_deadline_holds_while_the_validator_waits(autojump_clock: trio.testing.MockClock) -> None:
    async with open_supervisor(Toolbox([slow])) as supervisor:
        result = await supervisor.execute(ToolCall("slow", {"n": 1}), deadline=trio.current_time() + 0.5)

    assert result.error is not None
    assert result.error.code == "DEADLINE_EXCEEDED"


# -- digests and hints


@requirement("engine.digests")
async def test_a_result_carries_the_digests_that_its_tool_declares() -> None:
    plain = tool(name="plain", description="d")(_answer)
    signed = attrs.evolve(plain, options=attrs.evolve(plain.options, digests=frozenset(("input", "output"))))
    async with open_supervisor(Toolbox([signed])) as supervisor:
        one = await supervisor.execute(ToolCall("plain", {"n": 1}))
        same = await supervisor.execute(ToolCall("plain", {"n": 1.0}))
        unfit = await supervisor.execute(ToolCall("plain", {"n": "x"}))

    assert one.input_digest is not None
    assert one.output_digest is not None
    assert (same.input_digest, same.output_digest) == (one.input_digest, one.output_digest)
    assert unfit.input_digest not in (None, one.input_digest)
    assert unfit.output_digest is None


@requirement("engine.hints")
async def test_a_refusal_says_how_the_arguments_could_be_mended() -> None:
    async with open_supervisor(Toolbox([read_notes])) as supervisor:
        result = await supervisor.execute(ToolCall("read_notes", {"paht": "a"}))

    assert result.error is not None
    assert result.error.details is not None
    hints = _list(result.error.details, "hints")
    assert any("path" in str(hint) and "paht" in str(hint) for hint in hints)


# -- what hooks may do


@requirement("engine.live-toolbox")
async def test_what_a_thread_exchanged_before_does_not_come_back() -> None:
    live = LiveToolbox(Toolbox())
    async with open_supervisor(live) as supervisor, supervisor.events(ToolboxChanged) as events:
        thread = threading.Thread(target=live.swap, args=(Toolbox([first]),))
        thread.start()
        thread.join()  # trio's thread has had no chance to hear of it
        live.swap(Toolbox([second]))

        assert supervisor.toolbox is live.toolbox
        await trio.testing.wait_all_tasks_blocked()
        assert supervisor.toolbox is live.toolbox
        told = [await anext(events) for _ in range(2)]
        assert [event.revision for event in told if isinstance(event, ToolboxChanged)] == [2, 3]


@requirement("engine.awaited-validators")
@pytest.mark.parametrize("error", [ValueError("v"), SystemExit(2), BaseExceptionGroup("g", [GeneratorExit()])])
async def test_a_validator_that_raises_at_once_fails_its_call_like_one_that_waits(error: BaseException) -> None:
    def refuse(_arguments: Mapping[str, object]) -> object:
        raise error

    odd = define_tool(name="odd", input={"schema": {"type": "object"}, "validate": refuse}, execute=_answer)
    async with open_supervisor(Toolbox([odd])) as supervisor:
        result = await supervisor.execute(ToolCall("odd"))

    assert result.error is not None
    assert (result.error.code, result.effect, result.attempts) == ("INTERNAL_ERROR", "none", 0)
    assert result.error.message.startswith("validating its arguments failed: ")


@requirement("engine.awaited-validators")
async def test_a_direct_call_asks_nobody_after_an_awaited_validator_either() -> None:
    async def accept(_arguments: Mapping[str, object]) -> bool:
        return True

    async def run(_arguments: object) -> str:
        return "ran"

    pair = {"schema": {"type": "object"}, "validate": accept}
    guarded = define_tool(name="guarded", input=pair, execute=run, requires_approval=True)
    assert await guarded() == "ran"


@requirement("engine.awaited-validators")
@pytest.mark.parametrize("where", ["validate", "availability", "on_deprecated", "reads"])
async def test_a_hook_that_aborts_its_own_call_leaves_nothing_behind(where: str) -> None:
    def stop(*_given: object) -> object:
        for supervisor in opened:
            supervisor.abort("enough", tool_name="hooked")
        return ["a"] if where == "reads" else True

    def fine(*_given: object) -> bool:
        return True

    opened: list[Supervisor] = []
    hooks = {each: stop if each == where else fine for each in ("validate", "availability", "reads")}
    hooked = loose_define(
        name="hooked",
        input={"schema": {"type": "object"}, "validate": hooks["validate"]},
        execute=_answer,
        lifecycle=Lifecycle(deprecated=True),
        concurrency=1,
        availability=hooks["availability"],
        reads=hooks["reads"] if where == "reads" else (),
    )
    toolbox = Toolbox([hooked], on_deprecated=stop if where == "on_deprecated" else None)
    async with open_supervisor(toolbox) as supervisor:
        opened.append(supervisor)
        result = await supervisor.execute(ToolCall("hooked"))
        opened.clear()
        assert result.error is not None
        assert (result.error.code, result.error.message) == ("NOT_STARTED", "enough")
        with trio.fail_after(5):
            again = await supervisor.execute(ToolCall("hooked"))
        assert again.attempts == 1
        assert_nothing_is_held(supervisor)


@requirement("engine.loops")
async def test_the_number_of_an_execution_is_no_progress() -> None:
    @tool
    async def fail() -> None:
        raise RuntimeError("always the same")

    loops = LoopDetection(warn_at=None, block_at=3)
    async with open_supervisor(Toolbox([fail]), loops=loops, error_detail="declared") as supervisor:
        results = [await supervisor.execute(ToolCall("fail")) for _ in range(3)]

    assert [result.error.code for result in results if result.error] == ["INTERNAL_ERROR"] * 2 + ["LOOP_BLOCKED"]


@requirement("engine.digests")
async def test_the_digest_covers_what_was_sent_whoever_changes_it_later(
    autojump_clock: trio.testing.MockClock,
) -> None:
    @tool(digests=True)
    async def wait(numbers: list[int]) -> int:
        await trio.sleep(1)
        return len(numbers)

    sent = [1]
    async with open_supervisor(Toolbox([wait])) as supervisor:
        execution = supervisor.start(ToolCall("wait", {"numbers": sent}))
        await trio.testing.wait_all_tasks_blocked()
        sent.append(2)
        result = await execution.result()

    assert result.input_digest == input_digest({"numbers": [1]})


@requirement("definitions.tool.wrong-declaration")
@pytest.mark.parametrize("field", ["reads", "writes", "reducer"])
def test_a_function_that_nobody_waits_for_must_not_be_async(field: str) -> None:
    async def later(_given: object) -> list[str]:
        return []

    async def chunks() -> AsyncIterator[int]:
        yield 1

    with pytest.raises(DefinitionError, match=f"tool 'chunks': {field}: is async, and nothing waits for it"):
        loose_tool(chunks, **{field: later})


# -- on whose behalf


@requirement("engine.never-more-authority")
@pytest.mark.parametrize("way", ["execute", "start"])
async def test_a_running_tool_cannot_call_on_behalf_of_somebody_else(way: str) -> None:
    seen: list[RequestContext | None] = []

    async def whoami(ctx: ToolContext) -> None:
        seen.append(ctx.request_context)

    async def relay(tenant: str, capabilities: list[str]) -> str:
        supervisor = current_supervisor()
        assert supervisor is not None
        asked = RequestContext(tenant=tenant, capabilities=frozenset(capabilities))
        if way == "start":
            await supervisor.start(ToolCall("whoami"), request_context=asked).result()
        else:
            await supervisor.execute(ToolCall("whoami"), request_context=asked)
        return "done"

    tools = [
        define_tool(name=name, description="d", execute=body) for name, body in (("whoami", whoami), ("relay", relay))
    ]
    mine = RequestContext(principal="ada", tenant="acme", capabilities=frozenset(("read", "pay")))
    async with open_supervisor(Toolbox(tools)) as supervisor:
        narrower = await supervisor.execute(
            ToolCall("relay", {"tenant": "acme", "capabilities": ["read", "fly"]}), request_context=mine
        )
        wider = await supervisor.execute(
            ToolCall("relay", {"tenant": "evil", "capabilities": []}), request_context=mine
        )

    assert narrower.value == "done"
    [context] = seen
    assert context is not None
    assert (context.principal, context.tenant, context.capabilities) == ("ada", "acme", frozenset(("read",)))
    assert wider.error is not None
    assert "tenant" in wider.error.message
