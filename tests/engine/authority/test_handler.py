"""Asking a person while the call waits: what counts as a yes, and what becomes of the question meanwhile."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, cast

import pytest
import trio
import trio.testing

from armory_trio import (
    ApprovalRequest,
    ApprovalRequested,
    ApprovalResolved,
    Ask,
    Deny,
    Edit,
    Limits,
    PolicyRequest,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolResult,
    open_supervisor,
    tool,
)
from armory_trio.engine._keywords import ApprovalHandler
from tests.engine.cancelling import assert_nothing_is_held
from tests.requirements import requirement

from .bank import ANN, LONG, PAY, PAYS, AnyTool, Book, Vault, bank, code_of, pay_tool, pending_of, relay_tool, says


async def answered(handler: ApprovalHandler, toolbox: Toolbox, call: ToolCall = PAY) -> ToolResult[object]:
    """What becomes of a call whose question goes to *handler*; there are no keys."""
    async with open_supervisor(toolbox, default_request_context=ANN, approval_handler=handler) as supervisor:
        result = await supervisor.execute(call)
        assert [each.state for each in supervisor.executions.inspect()] != []
    assert_nothing_is_held(supervisor)
    return result


def later(answer: object) -> ApprovalHandler:
    """A handler that takes a moment."""

    async def ask(_: ApprovalRequest) -> object:
        await trio.lowlevel.checkpoint()
        return answer

    return ask


def at_once(answer: object) -> ApprovalHandler:
    """A handler that knows the answer."""
    return lambda _: answer


WAYS: Final[dict[str, Callable[[object], ApprovalHandler]]] = {"sync": at_once, "async": later}


@requirement("approving.handler")
@pytest.mark.parametrize("way", WAYS)
async def test_true_lets_it_run(way: str) -> None:
    book = Book()
    result = await answered(WAYS[way](True), bank(book))
    assert (result.value, result.executed_arguments_edited, book.names()) == ("5 to bob", False, ["pay"])


class _Truthy:
    def __bool__(self) -> bool:
        raise AssertionError("nobody asks whether it is true")

    def __eq__(self, other: object) -> bool:
        raise AssertionError("nobody compares it")

    __hash__ = None  # type: ignore[assignment]


@requirement("approving.handler")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "answer",
    [
        False,
        None,
        1,
        "yes",
        "true",
        "approved",
        1.0,
        b"yes",
        [True],
        (True,),
        {True},
        _Truthy(),
        object(),
        Ask("?"),
        bool,
    ],
    ids=lambda value: type(cast("object", value)).__name__,
)
async def test_nothing_but_true_lets_it_run(answer: object, way: str) -> None:
    book = Book()
    result = await answered(WAYS[way](answer), bank(book))
    assert (code_of(result), result.attempts, result.effect) == ("HUMAN_DENIED", 0, "none")
    assert book.entries == []


@requirement("approving.handler")
@pytest.mark.parametrize(("answer", "told"), [(None, "None"), (1, "an int"), ("yes", "a str"), (Ask("?"), "an Ask")])
async def test_the_log_says_what_was_answered_in_place_of_true(
    answer: object, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    await answered(at_once(answer), bank(Book()))
    [line] = caplog.messages
    assert line.startswith(f"the approval handler answered {told} for ")


@requirement("approving.handler")
async def test_a_denial_says_why() -> None:
    book = Book()
    result = await answered(at_once(Deny("not on a Sunday")), bank(book))
    assert result.error is not None
    assert (result.error.category, result.error.message) == ("permission", "not on a Sunday")
    assert book.entries == []


@requirement("approving.handler")
@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize(
    "make",
    [
        lambda: ValueError("x"),
        lambda: SystemExit(3),
        GeneratorExit,
        lambda: BaseExceptionGroup("several", [GeneratorExit(), ValueError("x")]),
        lambda: ExceptionGroup("several", [ValueError("x")]),
        StopIteration,
        StopAsyncIteration,
    ],
    ids=["Exception", "SystemExit", "GeneratorExit", "base group", "group", "StopIteration", "StopAsyncIteration"],
)
async def test_a_handler_that_raises_refuses_this_call_and_no_other(
    make: Callable[[], BaseException], way: str
) -> None:
    book = Book()
    broken = [True]

    def fail(_: ApprovalRequest) -> object:
        if broken[0]:
            raise make()
        return True

    async def fail_later(request: ApprovalRequest) -> object:
        await trio.lowlevel.checkpoint()
        return fail(request)

    handler = fail if way == "sync" else fail_later
    async with open_supervisor(bank(book), default_request_context=ANN, approval_handler=handler) as supervisor:
        assert code_of(await supervisor.execute(PAY)) == "APPROVAL_UNAVAILABLE"
        assert book.entries == []
        broken[0] = False
        assert (await supervisor.execute(PAY)).outcome == "success"


@requirement("approving.handler")
async def test_a_person_sees_what_would_run_and_cannot_change_it() -> None:
    book = Book()
    seen: list[ApprovalRequest] = []

    def handler(request: ApprovalRequest) -> bool:
        seen.append(request)
        with pytest.raises(TypeError):
            cast("dict[str, object]", request.arguments)["to"] = "eve"
        return True

    result = await answered(handler, bank(book), ToolCall("pay", {"to": "bob"}, id="c"))
    [request] = seen
    assert (request.call_id, request.tool_name, dict(request.arguments)) == ("c", "pay", {"to": "bob", "amount": 1})
    assert (request.effect, request.targets, request.owner_id) == ("external-write", ("service:bank",), "household")
    assert (request.request_context, request.parent_id, request.execution_id) == (ANN, None, result.execution_id)
    assert (request.question.tier, request.question.action.type) == ("declared", "approval")


@requirement("approving.handler", "approving.tiers")
async def test_each_question_is_put_on_its_own() -> None:
    book, asked = Book(), list[str]()

    def handler(request: ApprovalRequest) -> bool:
        asked.append(request.question.tier)
        return True

    @tool(requires_approval=True, policy=says(Ask("the tool's own")), effect=PAYS)
    async def pay(to: str, amount: int = 1) -> None:
        """Pay somebody."""
        book.write("pay")
        await trio.lowlevel.checkpoint()

    await answered(handler, Toolbox([pay], policy=says(Ask("the toolbox's"))))
    assert asked == ["declared", "toolbox", "tool"]
    assert book.names() == ["pay"]


@requirement("approving.handler")
async def test_a_policy_that_words_each_question_anew_comes_to_an_end() -> None:
    book, asked = Book(), list[str]()

    def handler(request: ApprovalRequest) -> bool:
        asked.append(request.question.reason)
        return True

    def hook(_: PolicyRequest) -> object:
        return Ask(f"question {len(asked)}")

    toolbox = Toolbox([pay_tool(book, requires_approval=False)], policy=hook)
    assert code_of(await answered(handler, toolbox)) == "POLICY_DENIED"
    assert len(asked) == 16
    assert book.entries == []


# -- edits


@requirement("approving.handler.edits")
@pytest.mark.parametrize("make", [dict, Edit], ids=["mapping", "Edit"])
@pytest.mark.parametrize("way", WAYS)
async def test_what_a_person_writes_runs(make: Callable[[Mapping[str, object]], object], way: str) -> None:
    book = Book()
    result = await answered(WAYS[way](make({"to": "eve", "amount": 2})), bank(book))
    assert (result.value, result.executed_arguments_edited) == ("2 to eve", True)
    assert book.entries == [("pay", {"to": "eve", "amount": 2})]


@requirement("approving.handler.edits")
async def test_what_would_run_otherwise_than_it_was_written_is_shown_once_more() -> None:
    book, seen = Book(), list[Mapping[str, object]]()

    def handler(request: ApprovalRequest) -> object:
        seen.append(dict(request.arguments))
        return {"to": "eve"} if len(seen) == 1 else True

    result = await answered(handler, bank(book))
    assert seen == [{"to": "bob", "amount": 5}, {"to": "eve", "amount": 1}]
    assert result.value == "1 to eve"


@requirement("approving.handler.edits")
async def test_a_hook_that_edits_what_a_person_wrote_has_it_shown_once_more() -> None:
    book, seen = Book(), list[Mapping[str, object]]()

    def hook(request: PolicyRequest) -> object:
        amount = request.arguments["amount"]
        assert isinstance(amount, int)
        return Edit({"to": "bob", "amount": 100}) if amount == 50 else None

    def handler(request: ApprovalRequest) -> object:
        seen.append(dict(request.arguments))
        return {"to": "bob", "amount": 50} if len(seen) == 1 else True

    toolbox = Toolbox([pay_tool(book)], policy=hook)
    result = await answered(handler, toolbox)
    assert seen == [{"to": "bob", "amount": 5}, {"to": "bob", "amount": 100}]
    assert result.value == "100 to bob"


@requirement("approving.handler.edits")
async def test_edits_that_a_policy_denies_do_not_run() -> None:
    book = Book()

    def hook(request: PolicyRequest) -> object:
        return Deny() if request.arguments["to"] == "eve" else None

    toolbox = Toolbox([pay_tool(book)], policy=hook)
    result = await answered(at_once({"to": "eve", "amount": 1}), toolbox)
    assert code_of(result) == "POLICY_DENIED"
    assert book.entries == []


@requirement("approving.handler.edits")
@pytest.mark.parametrize(
    "written",
    [{"to": 1}, {}, {"to": "eve", "more": 1}, {"to": object()}, {1: 2}],
    ids=["another type", "nothing", "one too many", "no JSON", "no names"],
)
async def test_edits_that_are_no_arguments_are_refused(written: object) -> None:
    book = Book()
    assert code_of(await answered(at_once(written), bank(book))) == "INVALID_ARGUMENTS"
    assert book.entries == []


@requirement("approving.handler.edits")
async def test_who_writes_other_arguments_each_time_comes_to_an_end(autojump_clock: trio.testing.MockClock) -> None:
    book, count = Book(), [0]

    def handler(request: ApprovalRequest) -> object:
        count[0] += 1
        assert count[0] < 100, "it asks for ever"
        return {"to": f"number {count[0]}"}

    result = await answered(handler, bank(book))
    assert result.outcome == "error"
    assert book.entries == []


# -- how a question ends


async def _never(_: ApprovalRequest) -> bool:
    await trio.sleep(LONG)
    return True


@requirement("approving.handler.ends")
async def test_nobody_waits_for_an_answer_longer_than_was_said(autojump_clock: trio.testing.MockClock) -> None:
    book = Book()
    async with open_supervisor(bank(book), default_request_context=ANN, approval_handler=_never) as supervisor:
        result = await supervisor.execute(PAY, human_timeout=7)
    assert (code_of(result), trio.current_time()) == ("HUMAN_TIMEOUT", 7)
    assert result.error is not None
    assert result.error.category == "permission"
    assert book.entries == []


@requirement("approving.handler.ends", "approving.handler.clocks")
async def test_a_timeout_is_for_the_work_and_not_for_the_person(autojump_clock: trio.testing.MockClock) -> None:
    book = Book()

    async def slow(_: ApprovalRequest) -> bool:
        await trio.sleep(100)
        return True

    async with open_supervisor(bank(book), default_request_context=ANN, approval_handler=slow) as supervisor:
        assert (await supervisor.execute(PAY, timeout=1, idle_timeout=1)).outcome == "success"


@requirement("approving.handler.ends")
@pytest.mark.parametrize(
    ("how", "code", "source"),
    [
        ("abort", "NOT_STARTED", "supervisor"),
        ("deadline", "DEADLINE_EXCEEDED", "deadline"),
        ("drain", "NOT_STARTED", "shutdown"),
        ("abort shutdown", "NOT_STARTED", "shutdown"),
    ],
)
async def test_a_call_that_is_stopped_takes_its_question_back(
    how: str, code: str, source: str, autojump_clock: trio.testing.MockClock
) -> None:
    book, withdrawn = Book(), list[float]()

    async def handler(_: ApprovalRequest) -> bool:
        try:
            await trio.sleep(LONG)
        finally:
            withdrawn.append(trio.current_time())
        return True

    async with open_supervisor(bank(book), default_request_context=ANN, approval_handler=handler) as supervisor:
        execution = (
            supervisor.start(PAY, deadline=trio.current_time() + 3) if how == "deadline" else supervisor.start(PAY)
        )
        await trio.sleep(3)
        match how:
            case "abort":
                supervisor.abort("enough", call_id="pay-1")
            case "drain":
                await supervisor.shutdown("drain", drain_for=100)
            case "abort shutdown":
                await supervisor.shutdown("abort")
            case _:
                pass
        result = await execution.result()
    assert (code_of(result), withdrawn, book.entries) == (code, [3], [])
    snapshot = execution.snapshot
    assert snapshot.abort is not None
    assert (snapshot.abort.source, snapshot.effect, snapshot.attempts) == (source, "none", 0)
    assert_nothing_is_held(supervisor)


@requirement("approving.handler.ends")
async def test_a_yes_that_comes_too_late_lets_nothing_run(autojump_clock: trio.testing.MockClock) -> None:
    book = Book()

    async def stubborn(_: ApprovalRequest) -> bool:
        with trio.CancelScope(shield=True):
            await trio.sleep(10)
        return True

    async with open_supervisor(bank(book), default_request_context=ANN, approval_handler=stubborn) as supervisor:
        result = await supervisor.execute(PAY, deadline=trio.current_time() + 3)
        assert code_of(result) == "DEADLINE_EXCEEDED"
        assert trio.current_time() <= 3.1
    assert trio.current_time() == 10
    assert book.entries == []


@requirement("approving.handler.ends")
async def test_nobody_is_asked_once_no_new_work_is_taken(autojump_clock: trio.testing.MockClock) -> None:
    book, asked = Book(), list[str]()

    def handler(request: ApprovalRequest) -> bool:
        asked.append(request.tool_name)
        return True

    @tool(effect="read-only")
    async def patient(ctx: ToolContext) -> object:
        """Wait, then have something paid."""
        await trio.sleep(5)
        return (await ctx.call("pay", dict(PAY.arguments))).unwrap()

    async with open_supervisor(
        bank(book, patient), default_request_context=ANN, approval_handler=handler
    ) as supervisor:
        running = supervisor.start(ToolCall("patient"))
        await trio.testing.wait_all_tasks_blocked()
        supervisor.close_admission()
        result = await running.result()
    assert result.outcome == "error"
    assert (asked, book.entries) == ([], [])


# -- what stands still meanwhile


@requirement("approving.handler.clocks", "approving.seen")
async def test_the_work_clocks_of_all_callers_stand_still(autojump_clock: trio.testing.MockClock) -> None:
    book = Book()

    async def slow(_: ApprovalRequest) -> bool:
        await trio.sleep(100)
        return True

    def parent(name: str, called: str) -> AnyTool:
        @tool(name=name, timeout=5, idle_timeout=4, effect="read-only")
        async def relay(ctx: ToolContext) -> object:
            """Let another one do it."""
            await trio.sleep(1)
            value = (await ctx.call(called, dict(PAY.arguments) if called == "pay" else {})).unwrap()
            await trio.sleep(1)
            return value

        return relay

    toolbox = bank(book, parent("inner", "pay"), parent("outer", "inner"))
    async with open_supervisor(toolbox, default_request_context=ANN, approval_handler=slow) as supervisor:
        execution = supervisor.start(ToolCall("outer"))
        await trio.sleep(50)
        shown = {each.tool_name: (each.state, each.waits_for) for each in supervisor.executions.inspect()}
        assert shown == {"outer": ("active", None), "inner": ("active", None), "pay": ("queued", "approval")}
        result = await execution.result()
        assert (result.value, trio.current_time()) == ("5 to bob", 104)


@requirement("approving.handler.clocks")
async def test_after_the_answer_the_clocks_go_on_where_they_stood(autojump_clock: trio.testing.MockClock) -> None:
    book = Book()

    async def slow(_: ApprovalRequest) -> bool:
        await trio.sleep(100)
        return True

    @tool(timeout=5, effect="read-only")
    async def outer(ctx: ToolContext) -> None:
        """Take too long."""
        await trio.sleep(3)
        await ctx.call("pay", dict(PAY.arguments))
        await trio.sleep(10)

    async with open_supervisor(bank(book, outer), default_request_context=ANN, approval_handler=slow) as supervisor:
        result = await supervisor.execute(ToolCall("outer"))
    assert (code_of(result), trio.current_time()) == ("TIMEOUT", 105)
    assert book.names() == ["pay"]


@requirement("approving.handler.clocks")
async def test_no_slot_is_held_while_a_person_is_asked(autojump_clock: trio.testing.MockClock) -> None:
    book = Book()

    async def slow(_: ApprovalRequest) -> bool:
        await trio.sleep(100)
        return True

    async with open_supervisor(
        bank(book), default_request_context=ANN, approval_handler=slow, limits=Limits(concurrent=1)
    ) as supervisor:
        waiting = supervisor.start(PAY)
        await trio.sleep(1)
        assert waiting.snapshot.capacity == ()
        assert (await supervisor.execute(ToolCall("look"))).outcome == "success"
        assert trio.current_time() == 1
        assert (await waiting.result()).outcome == "success"
    assert book.names() == ["look", "pay"]


@requirement("approving.handler.batch")
async def test_all_calls_of_a_batch_ask_at_once(autojump_clock: trio.testing.MockClock) -> None:
    book, asked = Book(), list[tuple[float, object]]()

    async def slow(request: ApprovalRequest) -> bool:
        asked.append((trio.current_time(), request.arguments["to"]))
        await trio.sleep(10)
        return request.arguments["to"] != "eve"

    async with open_supervisor(
        bank(book), default_request_context=ANN, approval_handler=slow, limits=Limits(concurrent=1)
    ) as supervisor:
        results = await supervisor.execute_batch([ToolCall("pay", {"to": name}) for name in ("bob", "eve", "zoe")])
    assert sorted(asked, key=str) == [(0.0, "bob"), (0.0, "eve"), (0.0, "zoe")]
    assert [result.outcome for result in results] == ["success", "error", "success"]
    assert trio.current_time() == 10


# -- what is seen of it


@requirement("approving.seen")
@pytest.mark.parametrize(
    ("answer", "decisions"),
    [
        (True, ["approved"]),
        (False, ["denied"]),
        ({"to": "eve", "amount": 1}, ["edited"]),
        ({"to": 1}, ["edited"]),
        ({"to": object()}, ["failed"]),
    ],
    ids=["yes", "no", "edit", "invalid edit", "no JSON"],
)
async def test_events_tell_of_questions_that_are_put_in_place(answer: object, decisions: list[str]) -> None:
    book, told = Book(), list[object]()
    async with (
        open_supervisor(bank(book), default_request_context=ANN, approval_handler=at_once(answer)) as supervisor,
        supervisor.events(ApprovalRequested, ApprovalResolved) as events,
    ):
        await supervisor.execute(PAY)
        with trio.move_on_after(0):
            async for event in events:
                told.append(event)
    requested, *resolved = told
    assert isinstance(requested, ApprovalRequested)
    assert (requested.tier, requested.kind, requested.approval_id) == ("declared", "approval", None)
    assert [each.decision for each in resolved if isinstance(each, ApprovalResolved)] == decisions


@requirement("approving.seen")
async def test_events_tell_of_questions_that_are_answered_later() -> None:
    book, vault, told = Book(), Vault(), list[object]()
    async with (
        vault.open(bank(book)) as supervisor,
        supervisor.events(ApprovalRequested, ApprovalResolved) as events,
    ):
        pending = pending_of(await supervisor.execute(PAY))
        await supervisor.resume_approval(pending)
        with trio.move_on_after(0):
            async for event in events:
                told.append(event)
    requested, resolved = told
    assert isinstance(requested, ApprovalRequested)
    assert isinstance(resolved, ApprovalResolved)
    assert (requested.approval_id, resolved.approval_id, resolved.decision) == (pending.id, pending.id, "approved")


@requirement("approving.seen")
async def test_a_parent_is_never_asked_about_what_its_child_waits_for() -> None:
    book, asked = Book(), list[tuple[str, bool]]()

    def handler(request: ApprovalRequest) -> Awaitable[bool] | bool:
        asked.append((request.tool_name, request.parent_id is not None))
        return True

    result = await answered(handler, bank(book, relay_tool(book)), ToolCall("relay"))
    assert (result.value, asked) == ("5 to bob", [("pay", True)])
