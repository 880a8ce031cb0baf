"""Pauses below a running tool: handed on, read, and gone on with where the composed tool had to wait."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Final

import attrs
import msgspec
import pytest
import trio

from armory_trio import (
    ApprovalError,
    Ask,
    BindsToTools,
    Middleware,
    PendingApproval,
    PolicyRequest,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolResult,
    tool,
)
from armory_trio.composition import bind, parallel, pipe, postprocess, preprocess, retry, tap, when
from armory_trio.middleware import Cache, Fence, Retry, RetryPolicy, Timeout, Truncate
from tests.requirements import requirement

from .bank import ANN, PAY, PAYS, AnyTool, Book, Vault, bank, code_of, look_tool, pay_tool, pending_of, relay_tool

OUTER: Final = {"to": "bob", "amount": 5}


async def resumed(vault: Vault, toolbox: Toolbox, pending: PendingApproval) -> ToolResult[object]:
    """What another supervisor makes of the descriptor, after it was JSON."""
    async with vault.open(toolbox) as supervisor:
        return await supervisor.resume_approval(json.loads(json.dumps(pending.to_json())))


# -- parents without places


@requirement("approving.child")
@pytest.mark.parametrize("depth", [1, 3])
async def test_a_pause_that_is_raised_through_makes_the_whole_wait(depth: int) -> None:
    book, vault = Book(), Vault()
    relays = [relay_tool(book, f"relay{index}", f"relay{index - 1}" if index else "pay") for index in range(depth)]
    toolbox = bank(book, *relays)
    async with vault.open(toolbox) as supervisor:
        result = await supervisor.execute(ToolCall(f"relay{depth - 1}", OUTER))
    pending = pending_of(result)
    assert (result.tool_name, pending.tool_name, pending.within) == (f"relay{depth - 1}", "pay", ())
    assert (result.effect, result.attempts) == ("none", 1)
    assert len(book.entries) == depth

    done = await resumed(vault, toolbox, pending)
    assert (done.tool_name, done.value) == ("pay", "5 to bob")
    assert len(book.entries) == depth + 1


@requirement("approving.child")
async def test_a_pause_that_is_answered_makes_the_whole_wait() -> None:
    book, vault = Book(), Vault()

    @tool(effect="read-only")
    async def relay(ctx: ToolContext) -> object:
        """Answer what the call came to, unread."""
        return await ctx.call("pay", OUTER)

    async with vault.open(bank(book, relay)) as supervisor:
        pending = pending_of(await supervisor.execute(ToolCall("relay")))
        assert (await supervisor.resume_approval(pending)).value == "5 to bob"
    assert book.names() == ["pay"]


@requirement("approving.child")
async def test_a_parent_that_reads_the_pause_goes_on_and_the_child_can_still_be_resumed() -> None:
    book, vault = Book(), Vault()
    toolbox = bank(book, relay_tool(book, hands_on=False))
    seen: list[PendingApproval] = []

    @tool(effect="read-only")
    async def curious(ctx: ToolContext) -> str:
        """Keep the descriptor."""
        seen.append(pending_of(await ctx.call("pay", OUTER)))
        return "went on"

    async with vault.open(toolbox.extend(curious)) as supervisor:
        assert (await supervisor.execute(ToolCall("relay", OUTER))).value == "it will be paid some day"
        assert (await supervisor.execute(ToolCall("curious"))).value == "went on"
        assert (await supervisor.resume_approval(seen[0])).value == "5 to bob"
    assert book.names() == ["relay", "pay"]


@requirement("approving.child", "approving.scope")
async def test_a_child_asks_on_behalf_of_its_parent() -> None:
    book, vault = Book(), Vault()
    async with vault.open(bank(book, relay_tool(book))) as supervisor:
        pending = pending_of(await supervisor.execute(ToolCall("relay", OUTER)))
        assert pending.binding is not None
        assert pending.binding.scope.principal == "ann"
        with pytest.raises(ApprovalError, match="mismatch"):
            await supervisor.resume_approval(pending, request_context=msgspec.structs.replace(ANN, principal="eve"))
    assert book.names() == ["relay"]


# -- composed tools


def _pipe_of_three(book: Book) -> AnyTool:
    return pipe(look_tool(book, "first"), _paying(book), _third(book), name="whole")


def _paying(book: Book) -> AnyTool:
    @tool(name="pay", requires_approval=True, effect=PAYS)
    async def pay(to: str, amount: int = 1) -> dict[str, object]:
        """Pay, and pass on what was paid."""
        book.write("pay", to=to, amount=amount)
        await trio.lowlevel.checkpoint()
        return {"to": to, "amount": amount}

    return pay


def _third(book: Book) -> AnyTool:
    return look_tool(book, "third")


def _writes(book: Book, name: str) -> AnyTool:
    """A step that changes something, and that nobody is asked about."""

    @tool(name=name, effect=PAYS)
    async def write(to: str = "bob", amount: int = 1) -> dict[str, object]:
        """Change something."""
        book.write(name)
        await trio.lowlevel.checkpoint()
        return {"to": to, "amount": amount}

    return write


def _more(arguments: object) -> dict[str, object]:
    assert isinstance(arguments, dict)
    return {**arguments, "amount": 5}


def _yes(_: object) -> bool:
    return True


def _no(_: object) -> bool:
    return False


WHOLES: Final[dict[str, tuple[Callable[[Book], AnyTool], list[str]]]] = {
    "pipe": (_pipe_of_three, ["first", "pay", "third"]),
    "nested pipes": (
        lambda book: pipe(
            look_tool(book, "before"),
            pipe(look_tool(book, "first"), pipe(_paying(book), _third(book), name="inmost"), name="inner"),
            look_tool(book, "after"),
            name="whole",
        ),
        ["before", "first", "pay", "third", "after"],
    ),
    "when true": (lambda book: when(_yes, _paying(book), look_tool(book), name="whole"), ["pay"]),
    "when false": (lambda book: when(_no, look_tool(book), _paying(book), name="whole"), ["pay"]),
    "tap": (lambda book: tap(_paying(book), look_tool(book, "watcher"), name="whole"), ["pay", "watcher"]),
    "tap that pays": (lambda book: tap(look_tool(book, "first"), _paying(book), name="whole"), ["first", "pay"]),
    "retry": (lambda book: retry(_paying(book), name="whole"), ["pay"]),
    "bind": (lambda book: bind(_paying(book), {"amount": 5}, name="whole"), ["pay"]),
    "preprocess": (lambda book: preprocess(_paying(book), _more, name="whole"), ["pay"]),
    "postprocess": (lambda book: postprocess(_paying(book), str, name="whole"), ["pay"]),
    "parallel": (lambda book: parallel(look_tool(book, "first"), _paying(book), name="whole"), ["first", "pay"]),
    "parallel that collects": (
        lambda book: parallel(look_tool(book, "first"), _paying(book), on_error="collect", name="whole"),
        ["first", "pay"],
    ),
    "a pipe within a parallel": (
        lambda book: parallel(
            look_tool(book, "other"), pipe(look_tool(book, "first"), _paying(book), name="inner"), name="whole"
        ),
        ["first", "other", "pay"],
    ),
}


@requirement("approving.composed")
@pytest.mark.parametrize("name", WHOLES)
async def test_a_composed_tool_goes_on_and_no_step_runs_twice(name: str) -> None:
    make, steps = WHOLES[name]
    book, vault = Book(), Vault()
    arguments = {"to": "bob"} if name == "bind" else OUTER
    async with vault.open(Toolbox([make(book)])) as supervisor:
        waits = await supervisor.execute(ToolCall("whole", arguments, id="call-1"))
    pending = pending_of(waits)
    assert (waits.tool_name, waits.call_id) == ("whole", "call-1")
    assert (pending.tool_name, dict(pending.arguments)) == ("pay", OUTER)
    assert pending.within[0].call_id == "call-1"
    assert book.names().count("pay") == 0

    done = await resumed(vault, Toolbox([make(book)]), pending)
    assert (done.outcome, done.tool_name, done.call_id) == ("success", "whole", "call-1")
    assert sorted(book.names()) == sorted(steps)
    assert ("pay", OUTER) in book.entries
    assert done.effect == "completed"
    with pytest.raises(ApprovalError, match="already-consumed"):
        await resumed(vault, Toolbox([make(book)]), pending)
    assert len(book.entries) == len(steps)


@requirement("approving.composed", "approving.tiers")
async def test_two_steps_of_a_parallel_that_wait_are_asked_about_one_after_the_other() -> None:
    book, vault = Book(), Vault()
    toolbox = Toolbox([parallel(pay_tool(book, "one"), look_tool(book), pay_tool(book, "two"), name="whole")])
    async with vault.open(toolbox) as supervisor:
        first = pending_of(await supervisor.execute(ToolCall("whole", OUTER)))
    second = pending_of(await resumed(vault, toolbox, first))
    assert {first.tool_name, second.tool_name} == {"one", "two"}
    done = await resumed(vault, toolbox, second)
    assert done.value == ["5 to bob", {"to": "bob", "amount": 5}, "5 to bob"]
    assert sorted(book.names()) == ["look", "one", "two"]
    for used in (first, second):
        with pytest.raises(ApprovalError, match="already-consumed"):
            await resumed(vault, toolbox, used)


@requirement("approving.composed")
async def test_the_effect_of_the_whole_includes_what_was_done_before_it_waited() -> None:
    book, vault = Book(), Vault()
    toolbox = Toolbox([pipe(_writes(book, "written"), bind(_paying(book), {}), look_tool(book, "last"), name="whole")])
    async with vault.open(toolbox) as supervisor:
        waits = await supervisor.execute(ToolCall("whole", OUTER))
        assert waits.effect == "completed"  # a step wrote already
        done = await supervisor.resume_approval(pending_of(waits))
        assert (done.outcome, done.effect) == ("success", "completed")
    assert book.names() == ["written", "pay", "last"]


@requirement("approving.composed")
async def test_the_effect_of_recorded_steps_counts_when_the_last_step_fails() -> None:
    book, vault = Book(), Vault()

    @tool(requires_approval=True, effect="read-only")
    async def peek(to: str, amount: int = 1) -> None:
        """Fail."""
        await trio.lowlevel.checkpoint()
        raise ValueError("nothing there")

    async with vault.open(Toolbox([pipe(_writes(book, "written"), peek, name="whole")])) as supervisor:
        pending = pending_of(await supervisor.execute(ToolCall("whole", OUTER)))
        done = await supervisor.resume_approval(pending)
        assert (done.outcome, done.effect) == ("error", "completed")
    assert book.names() == ["written"]


@requirement("approving.composed", "approving.arguments")
async def test_other_arguments_are_for_the_step_that_waits() -> None:
    book, vault = Book(), Vault()

    def policy(request: PolicyRequest) -> object:
        return Ask("much") if request.tool_name == "pay" and request.arguments["amount"] == 5 else None

    paying = pay_tool(book, requires_approval=False)
    toolbox = Toolbox([pipe(look_tool(book, "first"), paying, name="whole")], policy=policy)
    async with vault.open(toolbox) as supervisor:
        pending = pending_of(await supervisor.execute(ToolCall("whole", OUTER)))
        wrong = await supervisor.resume_approval(pending, arguments={"to": 1})
        assert code_of(wrong) == "INVALID_ARGUMENTS"
        assert await vault.state(pending) == "issued"
        done = await supervisor.resume_approval(pending, arguments={"to": "eve", "amount": 2})
        assert done.value == "2 to eve"
    assert book.names() == ["first", "pay"]


@requirement("approving.composed", "approving.tiers")
async def test_questions_about_the_whole_and_about_a_step_come_one_after_the_other() -> None:
    book, vault = Book(), Vault()

    def policy(request: PolicyRequest) -> object:
        return Ask(f"May {request.tool_name}?")

    toolbox = Toolbox([_pipe_of_three(book)], policy=policy)
    questions: list[str] = []
    async with vault.open(toolbox) as supervisor:
        result = await supervisor.execute(ToolCall("whole", OUTER))
        while result.outcome == "action_required":
            pending = pending_of(result)
            questions.append(f"{pending.tool_name} {pending.question.tier}")
            result = await supervisor.resume_approval(pending)
    assert result.value == OUTER
    assert questions == ["whole toolbox", "first toolbox", "pay declared", "pay toolbox", "third toolbox"]
    assert book.names() == ["first", "pay", "third"]


@requirement("approving.composed", "approving.drift")
async def test_a_composed_tool_that_has_changed_does_not_go_on() -> None:
    book, vault = Book(), Vault()
    async with vault.open(Toolbox([_pipe_of_three(book)])) as supervisor:
        pending = pending_of(await supervisor.execute(ToolCall("whole", OUTER)))
    shorter = pipe(look_tool(book, "first"), _paying(book), name="whole")
    for toolbox, code in (
        (Toolbox([shorter]), "mismatch"),
        (Toolbox([_paying(book)]), "not-found"),
        (attrs.evolve(Toolbox([_pipe_of_three(book)]), policy_revision="policy:2"), "mismatch"),
        (attrs.evolve(Toolbox([_pipe_of_three(book)]), revision="toolbox:2"), "mismatch"),
        (attrs.evolve(Toolbox([_pipe_of_three(book)]), approval_revision="approval:2"), "mismatch"),
    ):
        with pytest.raises(ApprovalError) as caught:
            await resumed(vault, toolbox, pending)
        assert caught.value.code == code
        async with vault.open(toolbox) as supervisor:
            with pytest.raises(ApprovalError) as caught:
                await supervisor.restore_approval(pending)
            assert caught.value.code == ("not-found" if code == "not-found" else "invalid-binding")
    assert book.names() == ["first"]
    assert await vault.state(pending) == "issued"


@requirement("approving.composed", "approving.once")
async def test_of_many_that_resume_a_composed_tool_one_goes_on() -> None:
    book, vault = Book(), Vault()
    ended: list[ToolResult[object]] = []
    codes: list[str] = []
    async with vault.open(Toolbox([_pipe_of_three(book)])) as supervisor:
        pending = pending_of(await supervisor.execute(ToolCall("whole", OUTER)))

        async def resume() -> None:
            try:
                ended.append(await supervisor.resume_approval(pending))
            except ApprovalError as exc:
                codes.append(exc.code)

        async with trio.open_nursery() as nursery:
            for _ in range(32):
                nursery.start_soon(resume)
    assert book.names() == ["first", "pay", "third"]
    assert [result.outcome for result in ended] == ["success"]
    assert len(codes) == 31
    assert set(codes) <= {"in-flight", "already-consumed"}


# -- places of one's own


def _own(book: Book, **changes: object) -> AnyTool:
    """A tool of one's own with two places."""

    @tool(effect="read-only", name="own")
    async def own(ctx: ToolContext) -> object:
        """Look, then pay."""
        book.write("own")
        found = (await ctx.call(str(changes.get("first", "look")), OUTER, place="look")).unwrap()
        return found, (await ctx.call(str(changes.get("second", "pay")), OUTER, place="pay")).unwrap()

    return own


@requirement("approving.places")
async def test_a_tool_that_names_its_steps_goes_on() -> None:
    book, vault = Book(), Vault()
    toolbox = bank(book, _own(book))
    async with vault.open(toolbox) as supervisor:
        pending = pending_of(await supervisor.execute(ToolCall("own")))
        assert (pending.within[0].place, list(pending.within[0].results)) == ("pay", ["look"])
    done = await resumed(vault, toolbox, pending)
    assert (done.tool_name, done.value) == ("own", (OUTER, "5 to bob"))
    assert book.names() == ["own", "look", "own", "pay"]


@requirement("approving.places")
async def test_a_step_that_is_another_tool_now_is_not_run_in_its_place() -> None:
    book, vault = Book(), Vault()
    first = bank(book, _own(book), pay_tool(book, "pay2", requires_approval=False))
    async with vault.open(first) as supervisor:
        pending = pending_of(await supervisor.execute(ToolCall("own")))
    done = await resumed(vault, Toolbox([*bank(book), _own(book, second="pay2"), pay_tool(book, "pay2")]), pending)
    assert done.error is not None
    assert "was 'default:pay' when it had to wait, and is 'default:pay2' now" in done.error.message
    assert book.names() == ["own", "look", "own"]
    assert await vault.state(pending) == "issued"


@requirement("approving.places")
async def test_two_steps_cannot_have_one_place() -> None:
    book, vault = Book(), Vault()

    @tool(effect="read-only")
    async def own(ctx: ToolContext) -> None:
        """Use a place twice."""
        await ctx.call("look", place="here")
        await ctx.call("look", place="here")

    async with vault.open(bank(book, own)) as supervisor:
        result = await supervisor.execute(ToolCall("own"))
    assert result.error is not None
    assert "another step has this place already" in result.error.message
    assert book.names() == ["look"]


@requirement("approving.places")
@pytest.mark.parametrize("value", [float("nan"), [{"deep": "\ud800"}], 2**70], ids=["nan", "half a character", "large"])
async def test_a_step_whose_value_has_no_json_form_cannot_be_kept_and_this_is_told(value: object) -> None:
    book, vault = Book(), Vault()

    @tool(effect="read-only")
    async def odd() -> object:
        """Answer what nobody can write down."""
        await trio.lowlevel.checkpoint()
        return value

    @tool(effect="read-only")
    async def own(ctx: ToolContext) -> object:
        """Look at it, then pay."""
        await ctx.call("odd", place="odd")
        return (await ctx.call("pay", OUTER, place="pay")).unwrap()

    async with vault.open(bank(book, odd, own)) as supervisor:
        result = await supervisor.execute(ToolCall("own"))
    assert code_of(result) == "OUTPUT_INVALID"
    assert result.error is not None
    assert "what came before it can't be kept" in result.error.message
    assert book.entries == []


@requirement("approving.places")
async def test_a_failed_step_is_kept_as_it_failed() -> None:
    book, vault = Book(), Vault()
    seen: list[str] = []

    @tool(effect="read-only")
    async def broken() -> None:
        """Fail."""
        book.write("broken")
        await trio.lowlevel.checkpoint()
        raise ValueError("no")

    @tool(effect="read-only")
    async def own(ctx: ToolContext) -> object:
        """Try, then pay."""
        seen.append(code_of(await ctx.call("broken", place="try")))
        return (await ctx.call("pay", OUTER, place="pay")).unwrap()

    toolbox = bank(book, broken, own)
    async with vault.open(toolbox) as supervisor:
        pending = pending_of(await supervisor.execute(ToolCall("own")))
    assert (await resumed(vault, toolbox, pending)).value == "5 to bob"
    assert seen == ["INTERNAL_ERROR", "INTERNAL_ERROR"]
    assert book.names() == ["broken", "pay"]


# -- middleware


Stack = list[Middleware | BindsToTools]

STACKS: Final[dict[str, Callable[[], Stack]]] = {
    "Fence": lambda: [Fence()],
    "Retry": lambda: [Retry(RetryPolicy(attempts=5))],
    "Timeout": lambda: [Timeout(5)],
    "Cache": lambda: [Cache(changing_tools=True)],
    "Truncate": lambda: [Truncate()],
    "all": lambda: [Fence(), Retry(RetryPolicy(attempts=5)), Timeout(5), Cache(changing_tools=True), Truncate()],
}


@requirement("approving.middleware")
@pytest.mark.parametrize("name", STACKS)
@pytest.mark.parametrize("hands_on", ["raises", "answers"])
async def test_middleware_leaves_a_pause_alone(name: str, hands_on: str) -> None:
    book, vault = Book(), Vault()

    @tool(effect="read-only", name="relay")
    async def relay(ctx: ToolContext, to: str = "bob", amount: int = 5) -> object:
        """Let another tool pay."""
        book.write("relay")
        result = await ctx.call("pay", {"to": to, "amount": amount})
        return result if hands_on == "answers" else result.unwrap()

    plain = bank(book)
    async with vault.open(plain) as supervisor:
        reference = pending_of(await supervisor.execute(PAY))
    toolbox = Toolbox([*plain, relay], middleware=STACKS[name]())
    async with vault.open(toolbox) as supervisor:
        pending = reference
        for count in (1, 2):
            waits = await supervisor.execute(ToolCall("relay", OUTER))
            assert waits.outcome == "action_required", waits
            assert book.names() == ["relay"] * count
            assert (waits.action, waits.attempts, waits.effect) == (reference.question.action, 1, "none")
            pending = pending_of(waits)
            assert pending.question == reference.question
        done = await supervisor.resume_approval(pending)
        assert done.outcome == "success"
        assert "5 to bob" in str(done.value)
    assert book.names() == ["relay", "relay", "pay"]


@requirement("approving.middleware", "approving.composed")
@pytest.mark.parametrize("name", STACKS)
async def test_middleware_around_a_composed_tool_and_its_steps_leaves_a_pause_alone(name: str) -> None:
    book, vault = Book(), Vault()
    # What a fence makes of a value is no argument for the next step, so it only stands around the whole.
    around_steps = STACKS[name]() if name not in ("Fence", "all") else []
    steps = Toolbox([look_tool(book, "first"), _paying(book), _third(book)], middleware=around_steps)
    first, paying, third = steps.tools
    toolbox = Toolbox([pipe(first, paying, third, name="whole")], middleware=STACKS[name]())
    async with vault.open(toolbox) as supervisor:
        pending = pending_of(await supervisor.execute(ToolCall("whole", OUTER)))
        assert (pending.tool_name, dict(pending.arguments)) == ("pay", OUTER)
    async with vault.open(toolbox) as supervisor:
        done = await supervisor.resume_approval(copy.deepcopy(pending))
        assert done.outcome == "success", done
    assert book.names() == ["first", "pay", "third"]
