"""Whatever begins or is skipped because of what a person agreed to does so under the rules that they agreed under."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Final, Literal

import attrs
import msgspec
import pytest
import trio

from armory_trio import (
    Allow,
    ApprovalError,
    Ask,
    CallNext,
    Edit,
    MiddlewareCall,
    PendingApproval,
    PolicyRequest,
    Supervisor,
    Toolbox,
    ToolCall,
    ToolContext,
    tool,
)
from armory_trio.authority import Revisions
from armory_trio.authority.approvals import sign_pending
from armory_trio.definitions import ComposedStep
from armory_trio.engine import AuthorityOptions
from armory_trio.ledger import MemoryLedger
from tests.requirements import requirement

from .bank import KEYS, PAYS, AnyTool, Book, TroubledApprovals, Vault, code_of, pending_of

LEVELS: Final = ("order", "outer", "middle")
"""Tools of which each calls the next one, and the last one ships."""

Exchange = Callable[[Toolbox], Toolbox]
EXCHANGES: Final[dict[str, Exchange]] = {
    "revision": lambda toolbox: attrs.evolve(toolbox, revision="another"),
    "policy_revision": lambda toolbox: attrs.evolve(toolbox, policy_revision="another"),
    "approval_revision": lambda toolbox: attrs.evolve(toolbox, approval_revision="another"),
    "no policy": lambda toolbox: attrs.evolve(toolbox, policy=None, policy_revision="none"),
}


class World:
    """Tools in one another, each asked about, and what they did under which rules."""

    def __init__(self, exchange: Exchange = lambda toolbox: toolbox, *, around: bool = False) -> None:
        self.did: list[tuple[str, str]] = []
        self.rules = "old"
        self.old = Toolbox(list(self._tools()), policy=self._asks, middleware=[self._waits] if around else ())
        self.new = exchange(self.old)

    def begin_anew(self) -> None:
        self.did.clear()
        self.rules = "old"

    def write(self, what: str) -> None:
        self.did.append((what, self.rules))

    def exchange(self, supervisor: Supervisor, which: Literal["old", "new"] = "new") -> None:
        self.rules = which
        supervisor.exchange(self.new if which == "new" else self.old)

    def _tools(self) -> Iterator[AnyTool]:
        for name, called in zip(LEVELS, (*LEVELS[1:], "ship"), strict=True):
            yield self._placing(name, called)

        @tool(effect="read-only")
        async def look() -> str:
            self.write("look")
            await trio.lowlevel.checkpoint()
            return "seen"

        @tool(effect=PAYS)
        async def ship() -> str:
            self.write("ship")
            await trio.lowlevel.checkpoint()
            return "shipped"

        yield from (look, ship)

    def _placing(self, name: str, called: str) -> AnyTool:
        async def here(_: object) -> bool:
            await trio.lowlevel.checkpoint()
            return True

        @tool(name=name, effect=PAYS, availability=here)
        async def placing(ctx: ToolContext) -> object:
            self.write(name)
            await trio.lowlevel.checkpoint()
            (await ctx.call("look", place="look")).unwrap()
            self.write(f"{name} saw")
            await trio.lowlevel.checkpoint()
            return (await ctx.call(called, place="called")).unwrap()

        return placing

    async def _asks(self, request: PolicyRequest) -> object:
        await trio.lowlevel.checkpoint()
        return None if request.tool_name == "look" else Ask(f"May I {request.tool_name}?")

    async def _waits(self, call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        await trio.lowlevel.checkpoint()
        return await call_next()


async def asked_about(supervisor: Supervisor, name: str, call: ToolCall) -> PendingApproval:
    """Say yes until *name* is asked about."""
    pending = pending_of(await supervisor.execute(call))
    while pending.tool_name != name:
        pending = pending_of(await supervisor.resume_approval(pending))
    return pending


# -- exchanged at whatever moment


def opened(world: World, vault: Vault, *, ledger: bool) -> AbstractAsyncContextManager[Supervisor]:
    options: AuthorityOptions = {"approvals": TroubledApprovals(vault.approvals)}
    if ledger:
        options["ledger"] = MemoryLedger(vault.clock)
    return vault.open(world.old, **options)


async def ended_before_the_exchange(world: World, turns: int, *, ledger: bool) -> bool:
    """Exchange the toolbox *turns* turns of the event loop after the resume has begun, and say if that was too late."""
    vault, exchanged = Vault(), trio.Event()
    async with opened(world, vault, ledger=ledger) as supervisor:
        pending = await asked_about(supervisor, "ship", ToolCall("order"))
        before = len(world.did)

        async def exchange() -> None:
            for _ in range(turns):
                await trio.lowlevel.checkpoint()
            world.exchange(supervisor)
            exchanged.set()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(exchange)
            error: ApprovalError | None = None
            try:
                await supervisor.resume_approval(pending)
            except ApprovalError as exc:
                error = exc
            too_late = not exchanged.is_set()
        await supervisor.wait_idle()

        assert [what for what, rules in world.did if rules == "new"] == [], world.did[before:]
        shipped = ("ship", "old") in world.did
        assert shipped == (error is None)
        if error is not None:
            assert error.code == "mismatch"
            assert await vault.state(pending) == "issued"
            world.exchange(supervisor, "old")
            assert (await supervisor.resume_approval(pending)).value == "shipped"
    done = Counter(what for what, _ in world.did)
    assert (done["look"], done["ship"]) == (3, 1)
    return too_late


@requirement("approving.rules")
@pytest.mark.parametrize(
    ("exchange", "around", "ledger"),
    [*((name, False, False) for name in EXCHANGES), ("policy_revision", True, False), ("policy_revision", False, True)],
)
async def test_whenever_the_rules_change_no_body_begins_and_no_step_is_skipped_on_what_was_agreed_before(
    exchange: str, around: bool, ledger: bool
) -> None:
    world = World(EXCHANGES[exchange], around=around)
    for turns in range(400):
        world.begin_anew()
        if await ended_before_the_exchange(world, turns, ledger=ledger):
            assert turns > 20
            return
    raise AssertionError("it never ends")


# -- exchanged while a body or a hook takes its time


async def resumed_while_exchanged(supervisor: Supervisor, pending: PendingApproval, toolbox: Toolbox) -> None:
    """Resume *pending*, and exchange the toolbox while that has begun."""

    async def resume() -> None:
        with pytest.raises(ApprovalError, match="mismatch"):
            await supervisor.resume_approval(pending)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(resume)
        await trio.sleep(1)
        supervisor.exchange(toolbox)


def in_one_another(ran: list[str], *, outer_waits: float = 0.0) -> list[AnyTool]:
    @tool(effect=PAYS)
    async def ship() -> str:
        ran.append("ship")
        await trio.lowlevel.checkpoint()
        return "shipped"

    @tool(effect=PAYS)
    async def middle(ctx: ToolContext) -> object:
        ran.append("middle")
        return (await ctx.call("ship", place="ship")).unwrap()

    @tool(effect=PAYS)
    async def outer(ctx: ToolContext) -> object:
        await trio.sleep(outer_waits)
        return (await ctx.call("middle", place="middle")).unwrap()

    return [ship, middle, outer]


@requirement("approving.rules", "approving.drift")
@pytest.mark.parametrize("exchange", ["policy_revision", "approval_revision", "revision"])
async def test_a_step_in_the_middle_does_not_begin_on_what_was_agreed_under_another_revision(
    exchange: str, autojump_clock: trio.abc.Clock
) -> None:
    ran: list[str] = []

    def asks(request: PolicyRequest) -> Allow | Ask:
        return Allow() if request.definition.name == "outer" else Ask(f"May I {request.definition.name}?")

    toolbox = Toolbox(in_one_another(ran, outer_waits=5), policy=asks)
    async with Vault().open(toolbox) as supervisor:
        first = pending_of(await supervisor.execute(ToolCall("outer")))
        assert first.tool_name == "middle"
        second = pending_of(await supervisor.resume_approval(first))
        assert second.tool_name == "ship"
        await resumed_while_exchanged(supervisor, second, EXCHANGES[exchange](toolbox))

    assert ran == ["middle"]


@requirement("approving.rules", "approving.drift")
async def test_the_whole_does_not_begin_on_what_was_agreed_under_another_revision(
    autojump_clock: trio.abc.Clock,
) -> None:
    ran: list[str] = []
    takes = [0.0]

    async def here(_: object) -> bool:
        await trio.sleep(takes[0])
        return True

    @tool(effect=PAYS, availability=here)
    async def order(ctx: ToolContext) -> object:
        ran.append("order")
        return (await ctx.call("ship", place="ship")).unwrap()

    def asks(request: PolicyRequest) -> Ask:
        return Ask(f"May I {request.definition.name}?")

    toolbox = Toolbox([in_one_another(ran)[0], order], policy=asks)
    async with Vault().open(toolbox) as supervisor:
        second = await asked_about(supervisor, "ship", ToolCall("order"))
        takes[0] = 5
        await resumed_while_exchanged(supervisor, second, attrs.evolve(toolbox, policy_revision="another"))

    assert ran == ["order"]


# -- exchanged before it waited


@requirement("approving.rules")
@pytest.mark.parametrize("exchange", EXCHANGES)
@pytest.mark.parametrize("back", [False, True], ids=["for good", "and back"])
async def test_nobody_is_asked_about_a_step_whose_caller_could_not_go_on_afterwards(exchange: str, back: bool) -> None:
    world = World(EXCHANGES[exchange])
    exchanges: list[Callable[[], None]] = []

    @tool
    async def whole(ctx: ToolContext) -> object:
        exchanges[0]()
        if back:
            (await ctx.call("look", place="look")).unwrap()
            exchanges[1]()
        return (await ctx.call("pay", place="pay")).unwrap()

    @tool(requires_approval=True, effect=PAYS)
    async def pay() -> None:
        await trio.lowlevel.checkpoint()
        world.write("pay")

    world.old = attrs.evolve(world.old.extend(whole, pay), policy=None)
    world.new = EXCHANGES[exchange](world.old)
    async with Vault().open(world.old) as supervisor:
        exchanges += [lambda: world.exchange(supervisor), lambda: world.exchange(supervisor, "old")]
        told = await supervisor.execute(ToolCall("whole"))

    assert code_of(told) == "APPROVAL_INVALID"
    assert told.error is not None
    assert "its caller could not go on afterwards" in told.error.message
    assert "changed since it began" in told.error.message
    assert [what for what, _ in world.did] == ["look"] * back


@requirement("approving.rules")
async def test_a_composed_one_that_waits_beside_does_not_go_on_under_other_rules_than_it_began_under() -> None:
    book, vault = Book(), Vault()
    exchanges: list[Callable[[], None]] = []

    @tool(requires_approval=True, effect=PAYS)
    async def pay() -> str:
        book.write("pay")
        await trio.lowlevel.checkpoint()
        return "paid"

    @tool
    async def beside(ctx: ToolContext) -> object:
        book.write("beside")
        return (await ctx.call("pay", place="pay")).unwrap()

    @tool
    async def whole(ctx: ToolContext) -> object:
        """Begin a step under other rules, which then waits."""
        exchanges[0]()
        other = await ctx.call("beside", place="beside")
        exchanges[1]()
        (await ctx.call("pay", place="pay")).unwrap()
        return other.unwrap()

    toolbox = Toolbox([pay, beside, whole])
    async with vault.open(toolbox) as supervisor:
        new = attrs.evolve(toolbox, policy_revision="another")
        exchanges += [lambda: supervisor.exchange(new), lambda: supervisor.exchange(toolbox)]
        pending = pending_of(await supervisor.execute(ToolCall("whole")))
        assert [place for place, _ in pending.within[0].waiting] == ["beside"]
        exchanges[0] = exchanges[1]
        told = await supervisor.resume_approval(pending)

    assert told.error is not None
    assert "the policy revision changed since the question was put" in told.error.message
    assert book.names() == ["beside"]


# -- what else may be another by then


def placing(book: Book, called: str = "pay") -> AnyTool:
    @tool(effect="read-only")
    async def whole(ctx: ToolContext, to: str = "bob") -> object:
        book.write("whole", to=to)
        (await ctx.call("look", place="look")).unwrap()
        return (await ctx.call(called, {"to": to}, place="pay")).unwrap()

    return whole


def paying(book: Book) -> AnyTool:
    @tool(requires_approval=True, effect=PAYS)
    async def pay(to: str) -> str:
        book.write("pay", to=to)
        await trio.lowlevel.checkpoint()
        return f"paid {to}"

    return pay


def looking(book: Book, described: str = "Look.") -> AnyTool:
    @tool(effect="read-only", description=described)
    async def look() -> str:
        book.write("look")
        await trio.lowlevel.checkpoint()
        return "seen"

    return look


async def refused(vault: Vault, toolbox: Toolbox, pending: PendingApproval) -> ApprovalError:
    """Why *pending* can't be resumed with *toolbox*; it can be used after that as before."""
    async with vault.open(toolbox) as supervisor:
        with pytest.raises(ApprovalError) as caught:
            await supervisor.resume_approval(pending)
    assert await vault.state(pending) == "issued"
    return caught.value


@requirement("approving.rules", "approving.places")
async def test_a_step_that_ran_is_not_passed_over_once_its_tool_has_changed() -> None:
    book, vault = Book(), Vault()
    others = [placing(book), paying(book)]
    async with vault.open(Toolbox([*others, looking(book)])) as supervisor:
        pending = pending_of(await supervisor.execute(ToolCall("whole")))
    why = await refused(vault, Toolbox([*others, looking(book, "Look away.")]), pending)

    assert str(why) == "mismatch: the tool definition of the step at 'look' changed since it ran"
    assert book.names() == ["whole", "look", "whole"]
    async with vault.open(Toolbox([*others, looking(book)])) as supervisor:
        assert (await supervisor.resume_approval(pending)).value == "paid bob"
    assert book.names() == ["whole", "look", "whole", "whole", "pay"]


@requirement("approving.rules", "approving.arguments")
async def test_the_whole_does_not_go_on_with_other_arguments_than_its_steps_ran_for() -> None:
    book, vault = Book(), Vault()
    toolbox = Toolbox([placing(book), paying(book), looking(book)])
    async with vault.open(toolbox) as supervisor:
        pending = pending_of(await supervisor.execute(ToolCall("whole")))

    def edits(request: PolicyRequest) -> object:
        return Edit({"to": "eve"}) if request.tool_name == "whole" else None

    why = await refused(vault, attrs.evolve(toolbox, policy=edits), pending)
    assert str(why) == "mismatch: the arguments of 'whole' are not those that it waited with"
    assert book.names() == ["whole", "look"]


@requirement("approving.rules", "approving.scope")
async def test_the_whole_does_not_go_on_for_less_or_more_than_its_steps_ran_for() -> None:
    book, vault = Book(), Vault()
    toolbox = Toolbox([placing(book), paying(book), looking(book)])

    def leaving(*capabilities: str) -> Toolbox:
        def policy(request: PolicyRequest) -> object:
            return Allow(frozenset(capabilities)) if request.tool_name == "whole" else None

        return attrs.evolve(toolbox, policy=policy)

    async with vault.open(leaving("pay")) as supervisor:
        pending = pending_of(await supervisor.execute(ToolCall("whole")))
    for other in (leaving(), leaving("pay", "read"), toolbox):
        assert str(await refused(vault, other, pending)).startswith("mismatch: capabilities is not what it was")
    assert book.names() == ["whole", "look"]
    async with vault.open(leaving("pay")) as supervisor:
        assert (await supervisor.resume_approval(pending)).value == "paid bob"


@requirement("approving.rules", "approving.composed")
async def test_a_new_question_about_the_whole_does_not_let_its_steps_run_again() -> None:
    book, vault = Book(), Vault()
    toolbox = Toolbox([placing(book), paying(book), looking(book)])
    async with vault.open(toolbox) as supervisor:
        pending = pending_of(await supervisor.execute(ToolCall("whole")))

    def asks(request: PolicyRequest) -> object:
        return Ask("Is it Friday?") if request.tool_name == "whole" else None

    asking = attrs.evolve(toolbox, policy=asks)
    assert str(await refused(vault, asking, pending)) == "mismatch: 'whole' is asked about anew: Is it Friday?"
    assert book.names() == ["whole", "look"]
    async with vault.open(asking, approval_handler=lambda request: True) as supervisor:
        assert (await supervisor.resume_approval(pending)).value == "paid bob"
    assert book.names() == ["whole", "look", "whole", "pay"]


@requirement("approving.rules", "approving.drift")
async def test_the_whole_does_not_go_on_with_another_catalogue() -> None:
    book, vault = Book(), Vault()
    toolbox = Toolbox([placing(book), paying(book), looking(book)])
    async with vault.open(toolbox) as supervisor:
        pending = pending_of(await supervisor.execute(ToolCall("whole")))
    async with vault.open(toolbox, revisions=Revisions(catalog="another")) as supervisor:
        with pytest.raises(ApprovalError, match="mismatch: the catalog"):
            await supervisor.resume_approval(pending)
    assert book.names() == ["whole", "look"]


# -- what an older version wrote


def of_an_older_version(step: ComposedStep) -> ComposedStep:
    waiting = tuple((place, tuple(map(of_an_older_version, within))) for place, within in step.waiting)
    return msgspec.structs.replace(step, binding=None, waiting=waiting)


@requirement("approving.rules.unsaid")
async def test_a_descriptor_that_does_not_say_under_which_rules_the_whole_began_is_refused_as_such() -> None:
    book, vault = Book(), Vault()
    toolbox = Toolbox([placing(book), paying(book), looking(book)])
    async with vault.open(toolbox) as supervisor:
        pending = pending_of(await supervisor.execute(ToolCall("whole")))
    older = msgspec.structs.replace(pending, within=tuple(map(of_an_older_version, pending.within)))
    document = (await sign_pending(KEYS, older, domain="default")).to_json()
    [step] = msgspec.convert(document["within"], list[dict[str, object]])
    assert "binding" not in step  # just what was written, and signed, before there was one

    async with vault.open(toolbox) as supervisor:
        with pytest.raises(ApprovalError, match=r"an older version wrote it.*ask again") as caught:
            await supervisor.resume_approval(document)
        assert caught.value.code == "invalid-binding"
        assert await vault.state(pending) == "issued"
        await supervisor.revoke_approval(document)
    assert await vault.state(pending) == "revoked"
    assert book.names() == ["whole", "look"]


@requirement("approving.rules.unsaid", "approving.restart")
async def test_a_descriptor_of_one_call_is_written_as_it_always_was_and_goes_on() -> None:
    book, vault = Book(), Vault()
    async with vault.open(Toolbox([paying(book)])) as supervisor:
        document = pending_of(await supervisor.execute(ToolCall("pay", {"to": "bob"}))).to_json()
        assert sorted(document) == sorted(
            [
                "arguments",
                "binding",
                "call_id",
                "edited",
                "effect",
                "metadata",
                "question",
                "satisfied",
                "signature",
                "targets",
                "tool_id",
                "tool_name",
                "version",
                "within",
            ]
        )
        assert (document["within"], document["version"]) == ([], 1)
        assert (await supervisor.resume_approval(document)).value == "paid bob"
