"""How calls end: codes, words, and what a tool may throw without harming anyone."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable

import pytest
import trio
import trio.testing

from armory_trio import (
    Budget,
    CallDefect,
    Category,
    DefinitionError,
    Execution,
    ExecutionOver,
    Limits,
    Retention,
    Semantics,
    Supervisor,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolFailure,
    define_tool,
    open_supervisor,
    tool,
)
from tests.engine.tools import add, sleep, watch
from tests.requirements import requirement


@tool(availability=lambda context: bool(context.get("online")))
async def fetch() -> str:
    return "fetched"


@tool(semantics=Semantics(idempotency="required"), effect="read-only")
async def keyed() -> str:
    return "ran"


@tool(requires_approval=True)
async def gated() -> str:
    return "ran"


@tool
async def fails() -> None:
    raise LookupError("no such row")


@tool
async def unshown() -> object:
    return object()


@tool
async def lost() -> None:
    raise ConnectionResetError("peer went away")


@tool
async def timed_out() -> None:
    raise TimeoutError("db")


@tool(idle_timeout=2)
async def silent() -> None:
    await trio.sleep(9)


ALL = Toolbox([add, fetch, keyed, gated, fails, unshown, lost, timed_out, silent, sleep, watch])

Row = tuple[ToolCall, dict[str, float], Category, str, bool]
ENDS: list[Row] = [
    (ToolCall("add", {"a": 1}), {}, "validation", "INVALID_ARGUMENTS", False),
    (ToolCall("add", {}, defect=CallDefect("MALFORMED_CALL", "no JSON")), {}, "validation", "MALFORMED_CALL", False),
    (ToolCall("add", {}, defect=CallDefect("TRUNCATED_CALL", "cut")), {}, "validation", "TRUNCATED_CALL", False),
    (ToolCall("keyed"), {}, "validation", "IDEMPOTENCY_KEY_REQUIRED", False),
    (ToolCall("gated"), {}, "permission", "APPROVAL_UNAVAILABLE", False),
    (ToolCall("gated", {"extra": 1}), {}, "validation", "INVALID_ARGUMENTS", False),
    (ToolCall("keyed", {"extra": 1}), {}, "validation", "INVALID_ARGUMENTS", False),
    (ToolCall("adds"), {}, "not_found", "NOT_FOUND", False),
    (ToolCall("fetch"), {}, "unavailable", "TOOL_UNAVAILABLE", False),
    (ToolCall("lost"), {}, "transient", "CONNECTION_LOST", False),
    (ToolCall("timed_out"), {}, "transient", "TRANSIENT_ERROR", False),
    (ToolCall("watch", {"seconds": 9}), {"timeout": 1.0}, "timeout", "TIMEOUT", True),
    (ToolCall("sleep", {"seconds": 9}), {"timeout": 1.0}, "timeout", "TIMEOUT", False),
    (ToolCall("watch", {"seconds": 9}), {"deadline": 1.0}, "timeout", "DEADLINE_EXCEEDED", True),
    (ToolCall("silent"), {}, "timeout", "IDLE_TIMEOUT", False),
    (ToolCall("fails"), {}, "internal", "INTERNAL_ERROR", False),
    (ToolCall("unshown"), {}, "internal", "OUTPUT_INVALID", False),
]


@requirement("engine.codes")
@pytest.mark.parametrize(("call", "options", "category", "code", "retryable"), ENDS, ids=lambda part: str(part)[:24])
async def test_every_end_has_its_category_its_code_and_its_words(
    call: ToolCall,
    options: dict[str, float],
    category: Category,
    code: str,
    retryable: bool,
    autojump_clock: trio.abc.Clock,
) -> None:
    if "deadline" in options:
        options = {"deadline": trio.current_time() + options["deadline"]}
    async with open_supervisor(ALL) as supervisor:
        result = await supervisor.execute(call, **options)  # type: ignore[arg-type]  # floats only

    assert result.outcome == "error" and result.error is not None
    assert (result.error.category, result.error.code, result.error.retryable) == (category, code, retryable)
    assert code in result.text
    if result.attempts == 0:
        assert result.effect == "none"
        assert "did not run" in result.text
    assert result.call_id == call.id


@requirement("engine.codes")
async def test_a_full_queue_refuses_and_says_that_it_is_worth_trying_again(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([sleep]), limits=Limits(concurrent=1, queued=1)) as supervisor:
        first, second = (supervisor.start(ToolCall("sleep", {"seconds": 1})) for _ in range(2))
        third = await supervisor.execute(ToolCall("sleep", {"seconds": 1}))
        assert (await first.result()).outcome == (await second.result()).outcome == "success"

    assert third.error is not None
    assert (third.error.category, third.error.code, third.error.retryable) == ("unavailable", "OVERLOADED", True)


@requirement("engine.whose-timeout")
async def test_a_timeout_of_the_tool_is_the_tools_error(autojump_clock: trio.abc.Clock) -> None:
    @tool
    async def own_limit() -> None:
        with trio.fail_after(0.05):
            await trio.sleep(1)

    async with open_supervisor(Toolbox([own_limit, timed_out, sleep])) as supervisor:
        raised = await supervisor.execute(ToolCall("timed_out"), timeout=10)
        inner = await supervisor.execute(ToolCall("own_limit"), timeout=10)
        outer = await supervisor.execute(ToolCall("sleep", {"seconds": 1}), timeout=0.05)

    assert [result.error and result.error.code for result in (raised, inner, outer)] == [
        "TRANSIENT_ERROR",
        "TRANSIENT_ERROR",
        "TIMEOUT",
    ]
    assert raised.error is not None and "db" in raised.error.message


@requirement("engine.harmless")
@pytest.mark.parametrize(
    "thrown",
    [
        SystemExit(3),
        GeneratorExit(),
        asyncio.CancelledError(),
        ExceptionGroup("one", [ValueError("x")]),
        BaseExceptionGroup("two", [SystemExit(1), ValueError("y")]),
        BaseException("bare"),
        StopIteration(),
        StopAsyncIteration(),
        RecursionError("deep"),
        MemoryError(),
    ],
    ids=lambda exc: type(exc).__name__,
)
async def test_whatever_a_tool_throws_is_its_own_failure_only(
    thrown: BaseException, autojump_clock: trio.abc.Clock
) -> None:
    @tool
    async def thrower() -> None:
        await trio.sleep(0.5)
        raise thrown

    async with open_supervisor(Toolbox([thrower, watch])) as supervisor:
        failed, fine = await supervisor.execute_batch([ToolCall("thrower"), ToolCall("watch", {"seconds": 1})])

    assert failed.error is not None
    assert (failed.error.category, failed.effect) == ("internal", "unknown")
    assert fine.outcome == "success"


@requirement("engine.harmless")
async def test_a_bare_raise_and_an_exception_without_text_are_named(autojump_clock: trio.abc.Clock) -> None:
    @tool
    async def bare() -> None:
        raise  # noqa: PLE0704  # what a careless tool does

    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    @tool
    async def mute() -> None:
        raise Mute

    @tool
    async def empty() -> None:
        raise ValueError

    async with open_supervisor(Toolbox([bare, mute, empty])) as supervisor:
        results = await supervisor.execute_batch([ToolCall("bare"), ToolCall("mute"), ToolCall("empty")])

    messages = [result.error.message for result in results if result.error is not None]
    assert messages == ["RuntimeError: No active exception to reraise", "Mute", "ValueError"]


@requirement("engine.harmless")
async def test_a_cancellation_that_a_tool_kept_harms_nobody_else(autojump_clock: trio.abc.Clock) -> None:
    kept: list[trio.Cancelled] = []

    @tool
    async def keeps() -> None:
        if kept:
            raise kept[0]
        with trio.CancelScope() as scope:
            scope.cancel()
            try:
                await trio.sleep(1)
            except trio.Cancelled as exc:
                kept.append(exc)

    async with open_supervisor(Toolbox([keeps, watch])) as supervisor:
        await supervisor.execute(ToolCall("keeps"))
        stray, fine = await supervisor.execute_batch([ToolCall("keeps"), ToolCall("watch", {"seconds": 1})])

    assert stray.error is not None and stray.error.code == "STRAY_CANCELLED"
    assert fine.outcome == "success"


@requirement("engine.groups-unwrapped")
async def test_groups_are_told_by_their_leaves(autojump_clock: trio.abc.Clock) -> None:
    async def fail(kind: type[Exception], text: str) -> None:
        raise kind(text)

    @tool
    async def nested() -> None:
        async with trio.open_nursery() as outer, trio.open_nursery() as inner:
            inner.start_soon(fail, ValueError, "x")
            outer.start_soon(trio.sleep_forever)

    @tool
    async def both() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(fail, ValueError, "x")
            nursery.start_soon(fail, KeyError, "y")

    async with open_supervisor(Toolbox([nested, both])) as supervisor:
        one, two = await supervisor.execute_batch([ToolCall("nested"), ToolCall("both")])

    assert one.error is not None and one.error.message == "ValueError: x"
    assert two.error is not None
    assert "2 errors" in two.error.message
    assert "ValueError: x" in two.error.message and "KeyError: 'y'" in two.error.message


@requirement("engine.groups-unwrapped")
async def test_an_error_beside_an_outer_cancellation_is_recorded_and_the_cancellation_delivered(
    autojump_clock: trio.abc.Clock,
) -> None:
    @tool(effect="read-only")
    async def messy() -> None:
        async with trio.open_nursery() as nursery:

            async def child() -> None:
                try:
                    await trio.sleep_forever()
                finally:
                    raise ValueError("x")

            nursery.start_soon(child)
            await trio.sleep_forever()

    async with open_supervisor(Toolbox([messy])) as supervisor:
        with trio.move_on_after(1) as scope:
            await supervisor.execute(ToolCall("messy"))
        [snapshot] = supervisor.executions.inspect()

    assert scope.cancelled_caught
    assert (snapshot.error_code, snapshot.cleanup) == ("CANCELLED", "failed")


@requirement("engine.swallowed-cancel")
async def test_a_tool_that_swallows_the_cancel_is_still_cancelled(autojump_clock: trio.abc.Clock) -> None:
    ran: list[str] = []

    @tool
    async def swallows() -> str:
        try:
            await trio.sleep_forever()
        except trio.Cancelled:
            ran.append("swallowed")
        return "ok"

    async with open_supervisor(Toolbox([swallows])) as supervisor:
        execution = supervisor.start(ToolCall("swallows"))
        await trio.testing.wait_all_tasks_blocked()
        execution.abort("enough")
        result = await execution.result()
        await execution.settled()
        with trio.move_on_after(1) as scope:
            await supervisor.execute(ToolCall("swallows"))
            ran.append("went on")

    assert result.error is not None and result.error.code == "CANCELLED"
    assert execution.privileged_snapshot().late_value == "ok"
    assert scope.cancelled_caught
    assert ran == ["swallowed", "swallowed"]


@requirement("engine.wording")
async def test_cut_off_and_never_ran_differ_for_machine_and_model(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([sleep]), limits=Limits(concurrent=1)) as supervisor:
        ran = supervisor.start(ToolCall("sleep", {"seconds": 9}))
        never = supervisor.start(ToolCall("sleep", {"seconds": 9}))
        await trio.testing.wait_all_tasks_blocked()
        never.abort("user left")
        ran.abort("user left")
        states = [(await execution.settled()).state for execution in (ran, never)]
        words = [(await execution.result()).text for execution in (ran, never)]

    assert states == ["unknown-effect", "terminal"]
    assert "may have taken effect" in words[0] and "did not run" not in words[0]
    assert "did not run" in words[1] and "may have" not in words[1]


@requirement("engine.awaitables")
@pytest.mark.parametrize("form", ["partial", "callable object", "lambda", "decorated", "def"])
async def test_whatever_form_of_awaitable_a_tool_answers_the_model_gets_its_value(form: str) -> None:
    async def double(n: int) -> int:
        await trio.lowlevel.checkpoint()
        return 2 * n

    class Doubler:
        async def __call__(self, n: int) -> int:
            return await double(n)

    def decorated(function: Callable[[int], Awaitable[int]]) -> Callable[[int], Awaitable[int]]:
        @functools.wraps(function)
        def wrapper(n: int) -> Awaitable[int]:
            return function(n)

        return wrapper

    def answers_awaitable(n: int) -> Awaitable[int]:
        return double(n)

    answer: Callable[[int], Awaitable[int]] = lambda n: double(n)  # noqa: E731, PLW0108  # the form under test
    answer.__annotations__ = {"n": int}
    functions: dict[str, Callable[..., Awaitable[int]]] = {
        "partial": functools.partial(double, 21),
        "callable object": Doubler(),
        "lambda": answer,
        "decorated": decorated(double),
        "def": answers_awaitable,
    }
    doubling = define_tool(name="double", execute=functions[form], effect="read-only")
    arguments = {} if form == "partial" else {"n": 21}

    with trio.fail_after(5):
        async with open_supervisor(Toolbox([doubling])) as supervisor:
            result = await supervisor.execute(ToolCall("double", arguments))

    assert result.unwrap() == 42


@requirement("engine.unknown-tool")
async def test_a_misspelt_name_is_that_calls_error_and_its_siblings_run() -> None:
    async with open_supervisor(Toolbox([add])) as supervisor:
        bad, good = await supervisor.execute_batch([ToolCall("ad", {}), ToolCall("add", {"a": 1, "b": 2})])

    assert bad.error is not None and "'add'" in bad.error.message
    assert good.unwrap() == 3


@requirement("engine.budget")
@pytest.mark.parametrize("_", range(10))
async def test_a_budget_is_reserved_before_anything_starts(_: int) -> None:
    async with open_supervisor(Toolbox([add]), budget=Budget(max_calls=6)) as supervisor:
        refused = await supervisor.execute(ToolCall("add", {"a": "x"}))  # gives its reservation back
        calls = [supervisor.start(ToolCall("add", {"a": n, "b": 0})) for n in range(8)]
        results = [await call.result() for call in calls]

    assert refused.error is not None and refused.error.code == "INVALID_ARGUMENTS"
    assert [result.value for result in results[:6]] == [0, 1, 2, 3, 4, 5]
    assert [(result.error and result.error.code, result.attempts) for result in results[6:]] == [
        ("BUDGET_EXCEEDED", 0)
    ] * 2


@requirement("engine.budget")
async def test_a_budget_of_time_refuses_what_comes_later(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([watch]), budget=Budget(max_duration=2)) as supervisor:
        first = await supervisor.execute(ToolCall("watch", {"seconds": 2}))
        second = await supervisor.execute(ToolCall("watch", {"seconds": 0}))

    assert first.outcome == "success"
    assert second.error is not None and second.error.code == "BUDGET_EXCEEDED"


@requirement("engine.availability")
@pytest.mark.parametrize(("answer", "runs"), [(True, True), (False, False), ("yes", False), (ValueError(), False)])
@pytest.mark.parametrize("form", ["plain", "awaited"])
async def test_a_tool_runs_only_where_its_hook_says_that_it_is_available(answer: object, runs: bool, form: str) -> None:
    def say() -> bool:
        if isinstance(answer, Exception):
            raise answer
        return answer  # type: ignore[return-value]  # some hooks answer rubbish

    async def say_later(context: object) -> bool:
        await trio.lowlevel.checkpoint()
        return say()

    @tool(availability=(lambda context: say()) if form == "plain" else say_later, effect="read-only")
    async def rare() -> str:
        return "ran"

    async with open_supervisor(Toolbox([rare])) as supervisor:
        result = await supervisor.execute(ToolCall("rare"))

    assert result.outcome == ("success" if runs else "error")
    if not runs:
        assert result.error is not None and result.error.code == "TOOL_UNAVAILABLE"


@requirement("engine.over")
async def test_from_the_decision_on_a_context_starts_nothing_new(autojump_clock: trio.abc.Clock) -> None:
    seen: dict[str, type[BaseException] | str] = {}

    @tool(effect_windows=True, effect={"class": "external-write", "targets": [{"kind": "other", "id": "x"}]})
    async def lingers(ctx: ToolContext) -> None:
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await linger(ctx, seen)

    async def linger(ctx: ToolContext, seen: dict[str, type[BaseException] | str]) -> None:
        actions: dict[str, Callable[[], object]] = {
            "effect": lambda: ctx.effect("x"),
            "waiting": lambda: ctx.waiting("x"),
            "emit": lambda: ctx.emit("x"),
            "progress": lambda: ctx.progress(1),
            "log": lambda: ctx.log("info", "x"),
        }
        starts: dict[str, Callable[[], Awaitable[object]]] = {
            "call": lambda: ctx.call("watch"),
            "elicit": lambda: ctx.elicit("?"),
        }
        for name, action in actions.items():
            try:
                action()
                seen[name] = "fine"
            except ExecutionOver as exc:
                seen[name] = type(exc)
        for name, start in starts.items():
            try:
                await start()
            except ExecutionOver as exc:
                seen[name] = type(exc)
        seen["id"] = ctx.execution_id

    async with open_supervisor(Toolbox([lingers, watch])) as supervisor:
        await supervisor.execute(ToolCall("lingers"), timeout=1)
        await supervisor.wait_idle()

    assert {name for name, what in seen.items() if what is ExecutionOver} == {
        "effect",
        "waiting",
        "emit",
        "call",
        "elicit",
    }
    assert (seen["progress"], seen["log"]) == ("fine", "fine")


@requirement("engine.keyboard-interrupt")
async def test_keyboard_interrupt_leaves_bare_and_aborts_everything(autojump_clock: trio.abc.Clock) -> None:
    @tool
    async def interrupted() -> None:
        await trio.sleep(1)
        raise KeyboardInterrupt

    seen: list[tuple[Supervisor, Execution]] = []

    async def host() -> None:
        async with open_supervisor(Toolbox([interrupted, sleep])) as supervisor:
            seen.append((supervisor, supervisor.start(ToolCall("sleep", {"seconds": 9}))))
            await supervisor.execute(ToolCall("interrupted"))

    with pytest.raises(KeyboardInterrupt):
        await host()

    [(supervisor, other)] = seen
    assert (other.snapshot.state, other.snapshot.error_code) == ("unknown-effect", "CANCELLED")
    assert supervisor.report is not None


@requirement("engine.uninterruptible")
async def test_a_tool_that_must_not_be_cancelled_is_not(autojump_clock: trio.abc.Clock) -> None:
    ended: list[str] = []

    @tool(semantics=Semantics(cancellation="unsupported"))
    async def transfer() -> str:
        await trio.sleep(5)
        ended.append("transferred")
        return "transferred"

    async with open_supervisor(Toolbox([transfer])) as supervisor:
        execution = supervisor.start(ToolCall("transfer"), timeout=1)
        told = await execution.result()
        await trio.sleep(1)
        between = execution.snapshot
        settled = await execution.settled()

    assert told.error is not None and told.error.code == "TIMEOUT"
    assert between.state == "cleanup-pending"
    assert ended == ["transferred"]
    assert (settled.state, settled.effect) == ("terminal", "completed")


@requirement("engine.options")
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"timeout": 0}, "timeout=0: give a positive number of seconds"),
        ({"timeout": -1}, "timeout=-1"),
        ({"idle_timeout": float("nan")}, "idle_timeout=nan"),
        ({"human_timeout": -0.5}, "human_timeout=-0.5"),
        ({"deadline": float("nan")}, "deadline=nan: give a point on trio's clock"),
    ],
)
async def test_a_wrong_option_is_refused_at_the_door(options: dict[str, float], words: str) -> None:
    async with open_supervisor(Toolbox([add])) as supervisor:
        with pytest.raises(ValueError, match=words):
            await supervisor.execute(ToolCall("add"), **options)  # type: ignore[arg-type]  # floats only
        with pytest.raises(TypeError, match="timeuot"):
            await supervisor.execute(ToolCall("add"), timeuot=3)  # type: ignore[call-arg]
        assert supervisor.executions.inspect() == []


@requirement("engine.options")
@pytest.mark.parametrize(
    "make",
    [
        lambda: Limits(concurrent=0),
        lambda: Limits(per_owner=-1),
        lambda: Limits(groups={"db": 0}),
        lambda: Limits(threads=0),
        lambda: Limits(queued=-1),
        lambda: Budget(max_calls=-1),
        lambda: Budget(max_duration=float("nan")),
    ],
)
def test_a_wrong_limit_is_refused_where_it_is_made(make: Callable[[], object]) -> None:
    with pytest.raises(DefinitionError):
        make()


@requirement("engine.options")
@pytest.mark.parametrize("groups", [["db"], "db", None, 3])
def test_groups_that_are_no_mapping_are_refused_with_what_would_be_right(groups: object) -> None:
    with pytest.raises(DefinitionError, match=r"give a mapping from the name of a group to its size") as caught:
        Limits(groups=groups)  # type: ignore[arg-type]  # the point of the test

    assert caught.value.field == "groups"


@requirement("engine.options")
def test_a_group_whose_name_is_no_string_is_refused() -> None:
    with pytest.raises(DefinitionError, match="names the group 3; give its name as a string"):
        Limits(groups={3: 1})  # type: ignore[dict-item]  # the point of the test


@requirement("engine.options")
@pytest.mark.parametrize("size", [True, 1.5, "3", [1], float("inf")])
@pytest.mark.parametrize(
    ("kind", "field"),
    [
        (Limits, "concurrent"),
        (Limits, "per_owner"),
        (Limits, "threads"),
        (Limits, "processes"),
        (Limits, "queued"),
        (Limits, "groups['db']"),
        (Budget, "max_calls"),
        (Retention, "count"),
    ],
)
def test_a_size_that_is_no_whole_number_is_refused_and_its_field_named(
    kind: Callable[..., object], field: str, size: object
) -> None:
    given = {"groups": {"db": size}} if field.startswith("groups") else {field: size}
    with pytest.raises(DefinitionError, match=r"give a whole number, [01] or more") as caught:
        kind(**given)

    assert caught.value.field == field
    assert repr(size) in caught.value.reason


@requirement("engine.options")
@pytest.mark.parametrize("seconds", [True, "3", [1], -1, float("nan")])
@pytest.mark.parametrize(("kind", "field"), [(Budget, "max_duration"), (Retention, "seconds")])
def test_a_bound_in_seconds_that_is_no_length_of_time_is_refused(
    kind: Callable[..., object], field: str, seconds: object
) -> None:
    with pytest.raises(DefinitionError, match="give seconds, 0 or more, or None for no bound") as caught:
        kind(**{field: seconds})

    assert caught.value.field == field


@requirement("engine.options")
@pytest.mark.parametrize(
    ("kind", "field"), [(Limits, "threads"), (Limits, "processes"), (Limits, "groups['db']"), (Retention, "count")]
)
def test_a_bound_that_there_must_be_cannot_be_none(kind: Callable[..., object], field: str) -> None:
    given = {"groups": {"db": None}} if field.startswith("groups") else {field: None}
    with pytest.raises(DefinitionError, match=r"is None; give a whole number, [01] or more$"):
        kind(**given)


@requirement("engine.direct")
async def test_a_tool_called_as_a_function_runs_without_asking() -> None:
    assert await add(a=1, b=2) == 3
    assert (await gated.call()).unwrap() == "ran"
    assert (await fetch.call()).unwrap() == "fetched"
    refused = await keyed.call()
    assert refused.unwrap() == "ran"
    failed = await fails.call()
    assert failed.error is not None and failed.error.message == "LookupError: no such row"


@requirement("engine.bug")
async def test_a_failure_of_the_engine_ends_one_execution_and_is_reported(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, autojump_clock: trio.abc.Clock
) -> None:
    async with open_supervisor(Toolbox([add, watch])) as supervisor:
        other = supervisor.start(ToolCall("watch", {"seconds": 1}))
        monkeypatch.setattr("armory_trio.engine._actor.returned", _broken)
        broken = await supervisor.execute(ToolCall("add", {"a": 1, "b": 2}))
        monkeypatch.undo()
        assert (await other.result()).outcome == "success"
        fine = await supervisor.execute(ToolCall("add", {"a": 1, "b": 2}))

    assert broken.error is not None and broken.error.code == "ENGINE_ERROR"
    assert fine.unwrap() == 3
    assert supervisor.report is not None and len(supervisor.report.bugs) == 1
    assert "RuntimeError (test_outcomes.py:" in caplog.text
    assert "in _broken" in caplog.text, "the way that it came"
    assert "planted" not in f"{caplog.text} {supervisor.report}", "the words of an exception may hold anything"


def _broken(*_: object) -> None:
    raise RuntimeError("planted")


@requirement("engine.codes")
async def test_undeclared_errors_stay_in_the_house_when_asked_to() -> None:
    @tool
    async def leaky() -> None:
        raise RuntimeError("postgres://u:p@h")

    @tool
    async def declared() -> None:
        raise ToolFailure("no such city", category="not_found")

    async with open_supervisor(Toolbox([leaky, declared]), error_detail="declared") as supervisor:
        hidden = await supervisor.execute(ToolCall("leaky"))
        shown = await supervisor.execute(ToolCall("declared"))

    assert hidden.error is not None and "u:p" not in hidden.text
    assert hidden.execution_id in hidden.text
    assert "no such city" in shown.text


@requirement("engine.codes")
async def test_one_call_may_keep_undeclared_errors_in_the_house_and_those_of_what_it_calls() -> None:
    @tool
    async def leaky() -> None:
        raise RuntimeError("postgres://u:p@h")

    @tool
    async def asks(ctx: ToolContext) -> str:
        return (await ctx.call("leaky", {})).text

    async with open_supervisor(Toolbox([leaky, asks])) as supervisor:
        told = await supervisor.execute(ToolCall("leaky"))
        hidden = await supervisor.execute(ToolCall("leaky"), error_detail="declared")
        below = await supervisor.execute(ToolCall("asks"), error_detail="declared")
        with pytest.raises(ValueError, match="give message or declared"):
            supervisor.start(ToolCall("leaky"), error_detail="all")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # what is refused

    assert "u:p" in told.text
    assert "u:p" not in hidden.text and hidden.execution_id in hidden.text
    assert below.outcome == "success" and "u:p" not in below.text


@requirement("engine.calls-by-id")
async def test_two_calls_with_one_id_are_two_executions() -> None:
    async with open_supervisor(Toolbox([add])) as supervisor:
        calls = [ToolCall("add", {"a": n, "b": 0}, id="x") for n in (1, 2)]
        results = await supervisor.execute_batch(calls)

    assert [(result.call_id, result.value) for result in results] == [("x", 1), ("x", 2)]
    assert len({result.execution_id for result in results}) == 2
