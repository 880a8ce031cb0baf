"""What may have changed by the time a call goes on: who resumes it, the tools on the way, the supervisor, the steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final, Literal, cast, get_args

import attrs
import msgspec
import pytest
import trio
import trio.testing

from armory_trio import (
    ApprovalError,
    Ask,
    LiveToolbox,
    PendingApproval,
    PolicyRequest,
    Question,
    RequestContext,
    RequiredAction,
    Supervisor,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolFailure,
    ToolResult,
    current_supervisor,
    open_supervisor,
    tool,
)
from armory_trio.authority.approvals import ApprovalState
from armory_trio.composition import bind, parallel, pipe
from armory_trio.definitions import ApprovalBinding
from armory_trio.errors import AdmissionClosed, ExecutionOver
from armory_trio.middleware import Retry, RetryPolicy
from tests.requirements import requirement

from .bank import ANN, PAY, AnyTool, Book, TroubledApprovals, Vault, bank, code_of, look_tool, pending_of

OUTER: Final = {"to": "bob", "amount": 5}
BARE: Final = RequestContext(principal="ann", tenant="acme", audience="tenant", agent="helper", run="run-1")


def placing(
    book: Book, name: str, called: str, *, described: str = "Let another tool pay.", requires_approval: bool = False
) -> AnyTool:
    """A tool that calls another one and gives it a place."""

    @tool(name=name, description=described, requires_approval=requires_approval, effect="read-only")
    async def placed(ctx: ToolContext, to: str = "bob", amount: int = 5) -> object:
        context = ctx.request_context
        said = {} if context is None else context.to_json()
        book.write(name, described=described, owner=said.get("owner"), capabilities=said.get("capabilities"))
        return (await ctx.call(called, {"to": to, "amount": amount}, place="only")).unwrap()

    return placed


class Meddling(TroubledApprovals):
    """Approvals in memory; something happens while it is looked how one stands."""

    def __init__(self, vault: Vault, meddle: Callable[[], object]) -> None:
        super().__init__(vault.approvals)
        self.meddle = meddle

    async def state(self, binding: ApprovalBinding, /) -> ApprovalState | None:
        found = await super().state(binding)
        self.meddle()
        return found


class SlowApprovals(TroubledApprovals):
    """Approvals in memory; how one stands is told when it may be."""

    def __init__(self, vault: Vault) -> None:
        super().__init__(vault.approvals)
        self.looking, self.go_on = trio.Event(), trio.Event()

    async def state(self, binding: ApprovalBinding, /) -> ApprovalState | None:
        self.looking.set()
        await self.go_on.wait()
        return await super().state(binding)


async def resume_and_tell(supervisor: Supervisor, pending: PendingApproval, raised: list[BaseException]) -> None:
    """Resume, and keep what that raises."""
    try:
        await supervisor.resume_approval(pending)
    except (AdmissionClosed, ApprovalError, ExecutionOver, RuntimeError) as exc:
        raised.append(exc)


async def resumed_to_the_end(supervisor: Supervisor, result: ToolResult[object]) -> ToolResult[object]:
    """Say yes to all that is asked."""
    for _ in range(20):
        if result.outcome != "action_required":
            return result
        result = await supervisor.resume_approval(pending_of(result).to_json())
    raise AssertionError("it is asked about for ever")


# -- the tools on the way


CHANGES: Final[dict[str, Callable[[Toolbox], Toolbox]]] = {
    "tool": lambda toolbox: toolbox,
    "revision": lambda toolbox: attrs.evolve(toolbox, revision="2"),
    "policy_revision": lambda toolbox: attrs.evolve(toolbox, policy_revision="2"),
    "approval_revision": lambda toolbox: attrs.evolve(toolbox, approval_revision="2"),
}


@requirement("approving.composed", "approving.drift")
async def test_a_composed_tool_in_the_middle_that_has_changed_does_not_go_on() -> None:
    book, vault = Book(), Vault()

    def toolbox(described: str) -> Toolbox:
        middle = placing(book, "middle", "pay", described=described, requires_approval=True)
        return bank(book, placing(book, "outer", "middle"), middle)

    async with vault.open(toolbox("Harmless.")) as supervisor:
        asked_about_middle = pending_of(await supervisor.execute(ToolCall("outer", OUTER)))
        pending = pending_of(await supervisor.resume_approval(asked_about_middle))
        assert (asked_about_middle.tool_name, pending.tool_name) == ("middle", "pay")
    book.entries.clear()
    async with vault.open(toolbox("Deletes everything.")) as supervisor:
        with pytest.raises(ApprovalError, match="mismatch: the tool definition of 'middle' changed"):
            await supervisor.resume_approval(pending)
    assert book.names() == ["outer"]
    assert await vault.state(pending) == "issued"


@requirement("approving.composed", "approving.drift")
@pytest.mark.parametrize("change", CHANGES)
async def test_what_is_exchanged_while_an_approval_is_looked_up_counts(change: str) -> None:
    book, vault = Book(), Vault()

    def toolbox(described: str) -> Toolbox:
        return bank(book, placing(book, "outer", "pay", described=described, requires_approval=True))

    live = LiveToolbox(toolbox("Harmless."))
    other = CHANGES[change](toolbox("Deletes everything." if change == "tool" else "Harmless."))
    async with vault.open(toolbox("Harmless.")) as supervisor:
        asked_about_outer = pending_of(await supervisor.execute(ToolCall("outer", OUTER)))
        pending = pending_of(await supervisor.resume_approval(asked_about_outer))
    book.entries.clear()
    meddling = Meddling(vault, lambda: live.swap(other))
    async with vault.open(cast("Toolbox", live), approvals=meddling) as supervisor:
        with pytest.raises(ApprovalError, match="mismatch"):
            await supervisor.resume_approval(pending)
    assert book.entries == []
    assert await vault.state(pending) == "issued"


# -- who resumes it


@requirement("approving.composed", "approving.scope")
@pytest.mark.parametrize("outer", ["outer", "whole"])
@pytest.mark.parametrize("field", ["owner", "session", "authorization_revision", "capabilities", "delegation"])
@pytest.mark.parametrize("unsaid", [True, False])
async def test_a_composed_tool_goes_on_for_nobody_else(outer: str, field: str, unsaid: bool) -> None:
    book, vault = Book(), Vault()
    toolbox = bank(book, placing(book, "outer", "pay"), bind(placing(book, "inner", "pay"), {}, name="whole"))
    values = {"capabilities": frozenset({"everything"}), "delegation": ("somebody",)}
    asked = BARE if unsaid else msgspec.structs.replace(ANN, delegation=("ann",))
    other = msgspec.structs.replace(asked, **{field: values.get(field, "other")})
    async with vault.open(toolbox, who=asked) as supervisor:
        pending = pending_of(await supervisor.execute(ToolCall(outer, OUTER)))
        book.entries.clear()
        with pytest.raises(ApprovalError, match=f"mismatch: {field}"):
            await supervisor.resume_approval(pending, request_context=other)
        assert book.entries == []
        assert (await supervisor.resume_approval(pending)).value == "5 to bob"


@requirement("approving.composed", "approving.scope")
async def test_whoever_may_do_more_goes_on_with_a_composed_tool_and_with_what_there_was() -> None:
    book, vault = Book(), Vault()
    more = msgspec.structs.replace(ANN, capabilities=frozenset({"pay", "read", "everything"}), request="another one")
    async with vault.open(bank(book, placing(book, "outer", "pay"))) as supervisor:
        pending = pending_of(await supervisor.execute(ToolCall("outer", OUTER)))
        book.entries.clear()
        assert (await supervisor.resume_approval(pending, request_context=more)).value == "5 to bob"
    assert [entry.get("capabilities") for name, entry in book.entries if name == "outer"] == [["pay", "read"]]


@requirement("approving.composed", "approving.scope")
async def test_what_a_tool_resumes_goes_on_for_nobody_but_the_one_it_was_asked_for() -> None:
    """The tool acts for an owner of whom the call that waited said nothing."""
    book, vault = Book(), Vault()
    kept: list[PendingApproval] = []

    @tool(effect="read-only")
    async def resumer() -> str:
        """Resume what waits."""
        with pytest.raises(ApprovalError) as caught:
            await current_supervisor().resume_approval(kept[0])
        return caught.value.code

    async with vault.open(bank(book, placing(book, "outer", "pay"), resumer), who=BARE) as supervisor:
        kept.append(pending_of(await supervisor.execute(ToolCall("outer", OUTER))))
        book.entries.clear()
        mine = msgspec.structs.replace(BARE, owner="household")
        assert (await supervisor.execute(ToolCall("resumer"), request_context=mine)).value == "mismatch"
    assert book.entries == []


# -- the supervisor


How = Literal["close", "drain", "abort", "leave"]
HOW: Final = get_args(How)


@requirement("approving.restart")
@pytest.mark.parametrize("how", HOW)
async def test_nothing_is_resumed_in_a_supervisor_that_was_closed_while_an_approval_was_looked_up(how: How) -> None:
    book, vault = Book(), Vault()
    raised: list[BaseException] = []
    slow = SlowApprovals(vault)
    async with trio.open_nursery() as nursery:
        async with vault.open(bank(book), approvals=slow) as supervisor:
            pending = pending_of(await supervisor.execute(PAY))
            nursery.start_soon(resume_and_tell, supervisor, pending, raised)
            await slow.looking.wait()
            if how == "close":
                supervisor.close_admission()
                slow.go_on.set()
                await trio.testing.wait_all_tasks_blocked()
            elif how != "leave":
                await supervisor.shutdown(how)
        slow.go_on.set()
    assert [type(each) for each in raised] == [AdmissionClosed]
    assert (book.entries, supervisor.active) == ([], 0)
    assert await vault.state(pending) == "issued"


@requirement("approving.restart")
async def test_nothing_is_resumed_for_a_tool_that_ended_while_the_approval_was_looked_up() -> None:
    book, vault = Book(), Vault()
    kept: list[PendingApproval] = []
    raised: list[BaseException] = []
    slow = SlowApprovals(vault)
    async with trio.open_nursery() as nursery:

        @tool(effect="read-only")
        async def leaves() -> None:
            """Let somebody else resume in its name, and end."""
            nursery.start_soon(resume_and_tell, current_supervisor(), kept[0], raised)
            await slow.looking.wait()

        async with vault.open(bank(book, leaves), approvals=slow) as supervisor:
            kept.append(pending_of(await supervisor.execute(PAY)))
            assert (await supervisor.execute(ToolCall("leaves"))).outcome == "success"
            slow.go_on.set()
            await trio.testing.wait_all_tasks_blocked()
    assert [type(each) for each in raised] == [ExecutionOver]
    assert book.entries == []


# -- the steps


@requirement("approving.composed")
async def test_no_step_of_a_composed_one_that_waits_beside_another_runs_twice() -> None:
    book, vault = Book(), Vault()
    deeper = parallel(
        pipe(look_tool(book, "seek"), _asked(book, "pack"), _asked(book, "load"), name="goods"),
        pipe(look_tool(book, "find"), _asked(book, "drive"), name="truck"),
        name="deeper",
    )
    whole = parallel(
        pipe(look_tool(book, "charge"), _asked(book, "mail"), name="first"),
        pipe(look_tool(book, "quote"), _asked(book, "ship"), name="second"),
        deeper,
        name="whole",
    )
    async with vault.open(Toolbox([whole])) as supervisor:
        done = await resumed_to_the_end(supervisor, await supervisor.execute(ToolCall("whole", OUTER)))
    assert done.outcome == "success", done
    steps = ["charge", "mail", "quote", "ship", "seek", "pack", "load", "find", "drive"]
    assert Counter(book.names()) == Counter(steps)


def _asked(book: Book, name: str) -> AnyTool:
    @tool(name=name, requires_approval=True, effect="read-only")
    async def asked(to: str, amount: int) -> dict[str, object]:
        """Do something that is asked about."""
        book.write(name)
        await trio.lowlevel.checkpoint()
        return {"to": to, "amount": amount}

    return asked


@requirement("approving.composed", "approving.drift")
async def test_a_composed_one_that_waits_beside_another_does_not_go_on_as_another_tool() -> None:
    book, vault = Book(), Vault()

    def toolbox(described: str) -> Toolbox:
        beside = placing(book, "beside", "pay", described=described)

        @tool(effect="read-only")
        async def own(ctx: ToolContext) -> object:
            """Ask for both."""
            first = await ctx.call("beside", place="beside")
            second = await ctx.call("pay", OUTER, place="pay")
            return second.unwrap(), first.unwrap()

        return bank(book, beside, own)

    async with vault.open(toolbox("Harmless.")) as supervisor:
        pending = pending_of(await supervisor.execute(ToolCall("own")))
        assert pending.within[0].place == "pay"
    book.entries.clear()
    async with vault.open(toolbox("Deletes everything.")) as supervisor:
        done = await supervisor.resume_approval(pending)
    assert done.error is not None
    assert "the tool definition of 'beside' changed" in done.error.message
    assert book.entries == []


@requirement("approving.places")
async def test_what_was_done_after_the_step_that_waited_is_kept_when_that_waits_once_more() -> None:
    book, vault = Book(), Vault()

    def policy(request: PolicyRequest) -> object:
        return Ask("Really?") if request.tool_name == "pay" else None

    @tool(effect="read-only")
    async def own(ctx: ToolContext) -> object:
        """Ask first, look meanwhile."""
        paid = await ctx.call("pay", OUTER, place="pay")
        if paid.outcome == "action_required" and len(book.entries) > 0:
            paid.unwrap()
        looked = await ctx.call("look", OUTER, place="look")
        return paid.unwrap(), looked.unwrap()

    async with vault.open(attrs.evolve(bank(book, own), policy=policy)) as supervisor:
        done = await resumed_to_the_end(supervisor, await supervisor.execute(ToolCall("own")))
    assert done.value == ("5 to bob", OUTER)
    assert sorted(book.names()) == ["look", "pay"]


@requirement("approving.places")
async def test_a_step_does_not_answer_what_another_tool_came_to_at_its_place() -> None:
    book, vault = Book(), Vault()
    first = iter([True])

    @tool(effect="read-only")
    async def own(ctx: ToolContext) -> object:
        """Take another tool the second time."""
        found = await ctx.call("look" if next(first, False) else "pay", OUTER, place="a")
        return found.unwrap(), (await ctx.call("pay", OUTER, place="b")).unwrap()

    async with vault.open(bank(book, own)) as supervisor:
        pending = pending_of(await supervisor.execute(ToolCall("own")))
        done = await supervisor.resume_approval(pending)
    assert done.error is not None
    assert "the step at 'a' was 'default:look' when it ran, and is 'default:pay' now" in done.error.message
    assert book.names() == ["look"]
    assert await vault.state(pending) == "issued"


@requirement("approving.places", "approving.child")
async def test_what_waits_below_a_step_that_gave_it_no_place_is_resumed_alone() -> None:
    book, vault = Book(), Vault()

    @tool(effect="read-only")
    async def between(ctx: ToolContext, to: str, amount: int) -> object:
        """Give no place."""
        return (await ctx.call("pay", {"to": to, "amount": amount})).unwrap()

    async with vault.open(bank(book, between, placing(book, "outer", "between"))) as supervisor:
        pending = pending_of(await supervisor.execute(ToolCall("outer", OUTER)))
        assert pending.within == ()
        done = await supervisor.resume_approval(pending)
    assert (done.tool_name, done.value) == ("pay", "5 to bob")
    assert book.names() == ["outer", "pay"]


# -- what tools make up


def _harmless(pending: PendingApproval) -> PendingApproval:
    look = Question("toolbox", "the weather", RequiredAction("approval", "Look at the weather?"))
    return msgspec.structs.replace(pending, tool_name="weather", question=look, satisfied=(pending.question,))


@requirement("approving.forgery", "approving.child")
@pytest.mark.parametrize("raised", [True, False])
@pytest.mark.parametrize("place", ["here", None])
@pytest.mark.parametrize("outer", ["liar", "whole"])
async def test_a_pause_that_a_tool_makes_up_is_none(outer: str, place: str | None, raised: bool) -> None:
    book, vault = Book(), Vault()

    @tool(effect="read-only")
    async def liar(ctx: ToolContext, to: str, amount: int) -> object:
        """Show something harmless."""
        found = await ctx.call("pay", {"to": to, "amount": amount}, place=place)
        lie = msgspec.structs.replace(found, pending_approval=_harmless(pending_of(found)))
        return lie.unwrap() if raised else lie

    async with vault.open(bank(book, liar, placing(book, "whole", "liar"))) as supervisor:
        told = await supervisor.execute(ToolCall(outer, OUTER))
    assert (told.outcome, told.pending_approval) == ("error", None)
    assert code_of(told) == ("OUTPUT_INVALID" if outer == "liar" else "INTERNAL_ERROR")
    assert "pay" not in book.names()


@requirement("approving.forgery", "approving.child")
@pytest.mark.parametrize("how", ["execute", "batch", "resume"])
async def test_a_pause_that_a_tool_came_to_by_its_supervisor_is_one(how: str) -> None:
    book, vault = Book(), Vault()

    def policy(request: PolicyRequest) -> object:
        return Ask("Really?") if request.tool_name == "pay" else None

    @tool(effect="read-only")
    async def own() -> object:
        """Hand on what waits."""
        supervisor = current_supervisor()
        if how == "batch":
            return (await supervisor.execute_batch([PAY]))[0].unwrap()
        result = await supervisor.execute(PAY)
        return (await supervisor.resume_approval(pending_of(result)) if how == "resume" else result).unwrap()

    async with vault.open(attrs.evolve(bank(book, own), policy=policy)) as supervisor:
        done = await resumed_to_the_end(supervisor, await supervisor.execute(ToolCall("own")))
    assert done.value == "5 to bob"


# -- how it is told


@requirement("approving.composed", "approving.once")
async def test_whoever_comes_too_late_with_a_tool_that_hands_on_is_told_that_the_approval_was_used() -> None:
    book, vault = Book(), Vault()
    codes: Counter[str] = Counter()

    async def resume(supervisor: Supervisor, pending: PendingApproval) -> None:
        try:
            codes[(await supervisor.resume_approval(pending)).outcome] += 1
        except ApprovalError as exc:
            codes[exc.code] += 1

    toolbox = bank(book, placing(book, "outer", "pay"))
    async with vault.open(toolbox) as one, vault.open(toolbox) as other:
        pending = pending_of(await one.execute(ToolCall("outer", OUTER)))
        async with trio.open_nursery() as nursery:
            for index in range(64):
                nursery.start_soon(resume, (one, other)[index % 2], pending)
    assert codes.pop("success") == 1
    assert set(codes) <= {"in-flight", "already-consumed"}
    assert (codes.total(), book.names().count("pay")) == (63, 1)


@requirement("approving.arguments")
@pytest.mark.parametrize("written", [{"amount": float("nan")}, {"to": "\ud800"}, {"to": b"x"}, {1: 2}])
@pytest.mark.parametrize("outer", ["pay", "outer"])
async def test_other_arguments_that_are_no_json_are_refused_like_those_of_any_call(
    outer: str, written: dict[str, object]
) -> None:
    book, vault = Book(), Vault()
    async with vault.open(bank(book, placing(book, "outer", "pay"))) as supervisor:
        pending = pending_of(await supervisor.execute(ToolCall(outer, OUTER)))
        told = await supervisor.resume_approval(pending, arguments=written)
        assert code_of(told) == ("INVALID_ARGUMENTS" if outer == "pay" else "INTERNAL_ERROR")
        assert told.error is not None
        assert outer == "pay" or "INVALID_ARGUMENTS" in told.error.message
        assert await vault.state(pending) == "issued"
    assert "pay" not in book.names()


@requirement("approving.arguments")
@pytest.mark.parametrize("written", [[("amount", 4)], "amount", 5])
async def test_other_arguments_that_are_no_mapping_are_a_mistake_of_the_host(written: object) -> None:
    book, vault = Book(), Vault()
    async with vault.open(bank(book)) as supervisor:
        pending = pending_of(await supervisor.execute(PAY))
        with pytest.raises(TypeError, match="arguments must be a mapping"):
            await supervisor.resume_approval(pending, arguments=written)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert book.entries == []


@requirement("approving.composed")
async def test_a_tool_that_names_its_steps_can_be_tried_again(autojump_clock: trio.abc.Clock) -> None:
    looked: list[int] = []

    @tool(effect="read-only")
    async def look() -> int:
        """Look."""
        looked.append(1)
        return len(looked)

    @tool(effect="read-only")
    async def flaky(ctx: ToolContext) -> int:
        """Fail once."""
        seen = (await ctx.call("look", place="x")).unwrap()
        if len(looked) < 2:
            raise ToolFailure("again", category="transient")
        assert isinstance(seen, int)
        return seen

    toolbox = Toolbox([flaky, look], middleware=[Retry(RetryPolicy(attempts=3, delay=1))])
    async with open_supervisor(toolbox) as supervisor:
        result = await supervisor.execute(ToolCall("flaky"))

    assert (result.value, result.attempts, looked) == (2, 2, [1, 1])
