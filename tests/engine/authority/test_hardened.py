"""What a hostile reader of the engine found in how calls are agreed to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import attrs
import pytest
import trio
import trio.testing

from armory_trio import (
    ApprovalRequest,
    CallNext,
    LiveToolbox,
    LoopDetection,
    MiddlewareCall,
    PendingApproval,
    PolicyRequest,
    Supervisor,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolResult,
    open_supervisor,
    tool,
)
from armory_trio.authority.approvals import MemoryApprovals
from armory_trio.authority.policy import ApprovalPolicy, Ask, Deny, Edit, Policy
from armory_trio.authority.signing import Keyring, SigningKey
from armory_trio.errors import ApprovalError
from tests.engine.cancelling import assert_nothing_is_held
from tests.requirements import requirement

from .bank import (
    ANN,
    KEYS,
    PAY,
    PAYS,
    SLOW,
    AnyTool,
    Book,
    TroubledApprovals,
    Vault,
    bank,
    code_of,
    granting,
    pay_tool,
    pending_of,
    says,
)

ASKED_AT_MOST: Final = 16


async def grant_once(supervisor: Supervisor) -> str:
    """A grant of one use for what the bank's tool does."""
    issued = await supervisor.issue_grant(
        "pay", principal="ann", tenant="acme", owner="household", agent="*", lifetime=60, max_uses=1, scope="principal"
    )
    return issued.id


async def uses_left(supervisor: Supervisor) -> list[int]:
    await trio.testing.wait_all_tasks_blocked()
    return [state.uses_remaining for state in await supervisor.list_grants()]


# -- what a grant answers


@requirement("approving.grants")
async def test_what_a_grant_answered_is_asked_again_when_the_call_is_resumed() -> None:
    book, vault = Book(), Vault()
    async with vault.open(attrs.evolve(granting(book), policy=says(Ask("the hook's")))) as supervisor:
        issued = await grant_once(supervisor)
        waiting = list[PendingApproval]()
        for number in range(2):
            waiting.append(pending_of(await supervisor.execute(ToolCall("pay", {"to": "bob", "amount": number}))))
            assert [each.tier for each in waiting[-1].satisfied] == []
            assert await uses_left(supervisor) == [1]
        assert (await supervisor.resume_approval(waiting[0])).outcome == "success"
        assert await uses_left(supervisor) == [0]
        await supervisor.revoke_grant(issued)
        again = pending_of(await supervisor.resume_approval(waiting[1]))
        assert (again.question.tier, [each.tier for each in again.satisfied]) == ("capability", ["toolbox"])
        assert len(book.entries) == 1
        assert (await supervisor.resume_approval(again)).outcome == "success"


@requirement("approving.grants")
async def test_a_grant_for_other_arguments_answers_nothing_about_what_a_person_wrote() -> None:
    book, vault, asked = Book(), Vault(), list[str]()

    def handler(request: ApprovalRequest) -> object:
        asked.append(request.question.tier)
        return {"to": "eve", "amount": 9} if len(asked) == 1 else False

    toolbox = attrs.evolve(granting(book), policy=says(Ask("the hook's")))
    async with vault.open(toolbox, approval_handler=handler) as supervisor:
        await supervisor.issue_grant(
            "pay",
            principal="ann",
            tenant="acme",
            owner="household",
            agent="*",
            lifetime=60,
            max_uses=1,
            scope="principal",
            argument_constraints={"to": "bob"},
        )
        assert code_of(await supervisor.execute(PAY)) == "HUMAN_DENIED"
        assert await uses_left(supervisor) == [1]
    assert (asked, book.entries) == (["toolbox", "capability"], [])


@requirement("approving.grants")
async def test_a_composed_tool_that_has_begun_does_not_need_its_grant_again() -> None:
    book, vault = Book(), Vault()

    @tool(effect=PAYS)
    async def whole(ctx: ToolContext) -> object:
        book.write("whole")
        return (await ctx.call("pay", {"to": "bob"}, place="pay")).unwrap()

    toolbox = Toolbox(
        [whole, pay_tool(book)],
        approval_policy=ApprovalPolicy("on-mutation"),
    )
    async with vault.open(toolbox) as supervisor:
        await supervisor.issue_grant(
            "whole",
            principal="ann",
            tenant="acme",
            owner="household",
            agent="*",
            lifetime=60,
            max_uses=1,
            scope="principal",
        )
        pending = pending_of(await supervisor.execute(ToolCall("whole")))
        assert (pending.tool_name, await uses_left(supervisor)) == ("pay", [0])
        pending = pending_of(await supervisor.resume_approval(pending))  # its capability question comes as well
        assert (await supervisor.resume_approval(pending)).outcome == "success"
    assert book.names() == ["whole", "whole", "whole", "pay"]


# -- a toolbox that is exchanged while an approval is taken up


class Swapping(TroubledApprovals):
    """A store during an operation of which something happens."""

    def __init__(self, operation: str, happens: Callable[[], object]) -> None:
        super().__init__(MemoryApprovals())
        self.operation = operation
        self.happens = happens
        self.armed = False

    async def _after(self, operation: str) -> None:
        if self.armed and operation == self.operation:
            self.happens()
        await super()._after(operation)


REVISED: Final[dict[str, Callable[[Toolbox], Toolbox]]] = {
    "policy": lambda toolbox: attrs.evolve(toolbox, policy_revision="2"),
    "approval": lambda toolbox: attrs.evolve(toolbox, approval_revision="2"),
    "toolbox": lambda toolbox: attrs.evolve(toolbox, revision="2"),
}


@requirement("approving.drift")
@pytest.mark.parametrize("wrapped", [False, True], ids=["bare", "middleware"])
@pytest.mark.parametrize("revised", REVISED)
@pytest.mark.parametrize("operation", ["reserve", "commit"])
async def test_rules_that_change_while_an_approval_is_taken_up_let_nothing_run(
    operation: str, revised: str, wrapped: bool
) -> None:
    book = Book()
    before = Toolbox([pay_tool(book)], policy_revision="1", revision="1", middleware=[_through] if wrapped else [])
    live = LiveToolbox(before)
    store = Swapping(operation, lambda: live.swap(REVISED[revised](before)))
    async with open_supervisor(live, default_request_context=ANN, keys=KEYS, approvals=store) as supervisor:
        pending = pending_of(await supervisor.execute(PAY))
        store.armed = True
        with pytest.raises(ApprovalError, match="mismatch"):
            await supervisor.resume_approval(pending)
        store.armed = False
        await trio.testing.wait_all_tasks_blocked()
        assert book.entries == []
        live.swap(before)
        assert (await supervisor.resume_approval(pending)).outcome == "success"
        assert_nothing_is_held(supervisor)


async def _through(_call: MiddlewareCall, _ctx: ToolContext, call_next: CallNext) -> object:
    return await call_next()


@requirement("approving.drift")
@pytest.mark.parametrize("operation", ["reserve", "commit"])
async def test_a_new_question_that_comes_while_an_approval_is_taken_up_is_put(operation: str) -> None:
    book = Book()
    before = attrs.evolve(bank(book), policy=None)
    after = attrs.evolve(before, policy=says(Ask("a new one")))
    live = LiveToolbox(before)
    store = Swapping(operation, lambda: live.swap(after))
    async with open_supervisor(live, default_request_context=ANN, keys=KEYS, approvals=store) as supervisor:
        pending = pending_of(await supervisor.execute(PAY))
        store.armed = True
        again = pending_of(await supervisor.resume_approval(pending))
        assert (again.question.reason, book.entries) == ("a new one", [])
        with pytest.raises(ApprovalError, match="already-consumed"):
            await supervisor.resume_approval(pending)
        assert (await supervisor.resume_approval(again)).outcome == "success"


@requirement("approving.drift")
@pytest.mark.parametrize("revised", REVISED)
async def test_rules_that_change_while_a_composed_tool_waits_to_go_on_let_nothing_of_it_run(
    revised: str, autojump_clock: trio.testing.MockClock
) -> None:
    book, vault = Book(), Vault()

    @tool(requires_approval=True, concurrency=1)
    async def whole(ctx: ToolContext, seconds: int = 0) -> object:
        book.write("whole")
        await trio.sleep(seconds)
        return (await ctx.call("pay", {"to": "bob"}, place="pay")).unwrap()

    before = Toolbox([whole, pay_tool(book)], policy_revision="1", revision="1")
    live = LiveToolbox(before)
    async with (
        open_supervisor(live, default_request_context=ANN, keys=KEYS, approvals=vault.approvals) as supervisor,
        trio.open_nursery() as nursery,
    ):
        first = pending_of(await supervisor.execute(ToolCall("whole")))
        again = pending_of(await supervisor.resume_approval(first))
        long = pending_of(await supervisor.execute(ToolCall("whole", {"seconds": 10})))
        nursery.start_soon(supervisor.resume_approval, long)
        await trio.testing.wait_all_tasks_blocked()
        assert (again.tool_name, book.names()) == ("pay", ["whole", "whole"])

        async def resume() -> None:
            try:
                assert code_of(await supervisor.resume_approval(again)) == "APPROVAL_INVALID"
            except ApprovalError as exc:
                assert exc.code == "mismatch"

        nursery.start_soon(resume)
        await trio.testing.wait_all_tasks_blocked()
        live.swap(REVISED[revised](before))
    assert book.names() == ["whole", "whole"]


# -- a person who answers oddly


@requirement("approving.handler.ends")
@pytest.mark.parametrize("fights", [False, True], ids=["leaves a default out", "fights with a hook"])
async def test_a_handler_that_never_agrees_is_asked_sixteen_times_and_holds_nobody_up(
    fights: bool, autojump_clock: trio.testing.MockClock
) -> None:
    book, asked, turns = Book(), list[int](), list[int]()

    def handler(request: ApprovalRequest) -> object:
        asked.append(turns[-1])
        assert len(asked) <= ASKED_AT_MOST
        return {"to": "eve" if fights else "bob"}

    def hook(request: PolicyRequest) -> object:
        return Edit({"to": "bob", "amount": 1}) if request.arguments["to"] == "eve" else None

    async def tick() -> None:
        while True:
            turns.append(len(turns))
            await trio.lowlevel.checkpoint()

    toolbox = attrs.evolve(bank(book), policy=hook if fights else None)
    async with trio.open_nursery() as nursery, open_supervisor(toolbox, approval_handler=handler) as supervisor:
        turns.append(0)
        nursery.start_soon(tick)
        result = await supervisor.execute(ToolCall("pay", {"to": "bob"}))
        nursery.cancel_scope.cancel()
    assert (code_of(result), len(asked), book.entries) == ("POLICY_DENIED", ASKED_AT_MOST, [])
    assert len(set(asked)) >= ASKED_AT_MOST // 2  # the tasks of one turn go in any order


class Raising(Mapping[str, object]):
    """Other arguments that can't be read."""

    def __init__(self, make: Callable[[], BaseException]) -> None:
        self.make = make

    def __getitem__(self, key: str) -> object:
        raise self.make()

    def __iter__(self) -> Iterator[str]:
        raise self.make()

    def __len__(self) -> int:
        return 1


class _Nameless(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override]
        raise SystemExit("no name")


class Nameless(metaclass=_Nameless):
    """An answer whose class does not say what it is called."""


async def kept_cancelled() -> BaseException:
    """A `trio.Cancelled` of a scope that is over."""
    found: list[BaseException] = []
    with trio.CancelScope() as scope:
        scope.cancel()
        try:
            await trio.lowlevel.checkpoint()
        except trio.Cancelled as kept:
            found.append(kept)
            raise
    return found[0]


ODD: Final[dict[str, Callable[[BaseException], object]]] = {
    "a kept Cancelled": lambda kept: Raising(lambda: kept),
    "SystemExit": lambda _: Raising(lambda: SystemExit(3)),
    "GeneratorExit": lambda _: Raising(GeneratorExit),
    "no name": lambda _: Nameless(),
}


@requirement("approving.handler.ends")
@pytest.mark.parametrize("odd", ODD)
async def test_an_answer_of_a_person_that_cannot_be_read_ends_its_own_call_and_no_other(odd: str) -> None:
    book, broken, kept = Book(), [True], await kept_cancelled()

    def handler(request: ApprovalRequest) -> object:
        return ODD[odd](kept) if broken[0] else True

    async with open_supervisor(bank(book), approval_handler=handler) as supervisor:
        assert code_of(await supervisor.execute(PAY)) in ("APPROVAL_UNAVAILABLE", "HUMAN_DENIED")
        assert book.entries == []
        broken[0] = False
        assert (await supervisor.execute(PAY)).outcome == "success"
    assert supervisor.report is not None
    assert supervisor.report.bugs == ()


@requirement("approving.handler.ends")
@pytest.mark.parametrize("odd", ODD)
async def test_an_answer_of_a_hook_that_cannot_be_read_ends_its_own_call_and_no_other(odd: str) -> None:
    book, broken, kept = Book(), [True], await kept_cancelled()
    toolbox = Toolbox([pay_tool(book, requires_approval=False)], policy=lambda _: ODD[odd](kept) if broken[0] else None)
    async with open_supervisor(toolbox) as supervisor:
        assert code_of(await supervisor.execute(PAY)) == "POLICY_DENIED"
        broken[0] = False
        assert (await supervisor.execute(PAY)).outcome == "success"
    assert supervisor.report is not None
    assert supervisor.report.bugs == ()


@requirement("approving.handler.ends")
async def test_a_kept_cancelled_that_comes_out_of_the_engine_itself_ends_one_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = await kept_cancelled()

    def broken(*_: object) -> None:
        raise kept

    async def later(_: PolicyRequest) -> None:
        await trio.lowlevel.checkpoint()

    book = Book()
    async with open_supervisor(bank(book, look_again(book, later))) as supervisor:
        with monkeypatch.context() as patch:
            patch.setattr("armory_trio.engine._authorize._judged", broken)
            assert code_of(await supervisor.execute(ToolCall("again"))) == "ENGINE_ERROR"
        assert (await supervisor.execute(ToolCall("again"))).outcome == "success"
    assert book.names() == ["again"]


def look_again(book: Book, policy: Policy) -> AnyTool:
    @tool(policy=policy)
    async def again() -> None:
        book.write("again")
        await trio.lowlevel.checkpoint()

    return again


@requirement("approving.handler.ends")
async def test_a_text_is_no_sign_that_nobody_answered() -> None:
    async with open_supervisor(bank(Book()), approval_handler=lambda _: "unanswered") as supervisor:
        assert code_of(await supervisor.execute(PAY)) == "HUMAN_DENIED"


@requirement("approving.handler.ends")
async def test_a_yes_that_comes_after_the_time_for_it_is_none(autojump_clock: trio.testing.MockClock) -> None:
    book = Book()

    async def handler(_: ApprovalRequest) -> bool:
        with trio.CancelScope(shield=True):
            await trio.sleep(60)
        return True

    async with open_supervisor(bank(book), approval_handler=handler) as supervisor:
        assert code_of(await supervisor.execute(PAY, human_timeout=5)) == "HUMAN_TIMEOUT"
    assert book.entries == []


@requirement("approving.handler.clocks")
async def test_no_place_is_held_while_a_person_is_asked(autojump_clock: trio.testing.MockClock) -> None:
    book = Book()

    @tool(concurrency=1)
    async def work(n: int) -> int:
        book.write("work", n=n)
        await trio.sleep(1)
        return n

    ended: dict[int, ToolResult[object]] = {}
    times: dict[int, float] = {}

    async def handler(_: ApprovalRequest) -> bool:
        await trio.sleep(100)
        return True

    live = LiveToolbox(Toolbox([work]))
    async with open_supervisor(live, approval_handler=handler) as supervisor, trio.open_nursery() as nursery:

        async def run(n: int) -> None:
            ended[n] = await supervisor.execute(ToolCall("work", {"n": n}))
            times[n] = trio.current_time()

        for n in range(3):
            nursery.start_soon(run, n)
            await trio.testing.wait_all_tasks_blocked()
        live.swap(Toolbox([work], policy=lambda request: Ask("?") if request.arguments["n"] == 1 else None))
    assert [ended[n].outcome for n in range(3)] == ["success"] * 3
    assert times[2] < times[1]
    assert_nothing_is_held(supervisor)


# -- a descriptor that nobody gets


class SlowToConsume(TroubledApprovals):
    """A store that answers late that an approval is used up."""

    async def _after(self, operation: str) -> None:
        if operation == "consume":
            await trio.sleep(SLOW)
        await super()._after(operation)


@requirement("approving.unconsumed")
async def test_a_resume_that_is_stopped_while_the_next_question_is_issued_uses_nothing_up(
    autojump_clock: trio.testing.MockClock,
) -> None:
    book, store = Book(), SlowToConsume(MemoryApprovals())
    live = LiveToolbox(bank(book))
    async with open_supervisor(live, default_request_context=ANN, keys=KEYS, approvals=store) as supervisor:
        pending = pending_of(await supervisor.execute(PAY))
        live.swap(attrs.evolve(bank(book), policy=says(Ask("one more"))))
        result = await supervisor.resume_approval(pending, deadline=trio.current_time() + SLOW / 2)
        assert (code_of(result), book.entries) == ("DEADLINE_EXCEEDED", [])
        await trio.sleep(2 * SLOW)
        live.swap(bank(book))
        assert (await supervisor.resume_approval(pending)).outcome == "success"


class Keys:
    """Keys of which all signatures but the first are long in coming."""

    def __init__(self) -> None:
        self.signed = 0
        self.asked = trio.Event()

    async def signing_key(self, domain: str, /) -> SigningKey | None:
        self.signed += 1
        if self.signed > 1:
            self.asked.set()
            await trio.sleep(1000)
        return KEYS.signing_key(domain)

    async def key(self, domain: str, key_id: str, /) -> SigningKey | None:
        await trio.lowlevel.checkpoint()
        return KEYS.key(domain, key_id)


@requirement("approving.unconsumed")
async def test_an_abort_reaches_the_signing_of_what_a_composed_tool_hands_on(
    autojump_clock: trio.testing.MockClock,
) -> None:
    book, keys = Book(), Keys()

    @tool(effect="read-only")
    async def whole(ctx: ToolContext) -> object:
        return (await ctx.call("pay", {"to": "bob"}, place="pay")).unwrap()

    async with open_supervisor(bank(book, whole), default_request_context=ANN, keys=keys) as supervisor:
        execution = supervisor.start(ToolCall("whole"))
        await keys.asked.wait()
        began = trio.current_time()
        await supervisor.shutdown("abort")
        result = await execution.result()
        assert (code_of(result), result.effect, trio.current_time()) == ("CANCELLED", "none", began)
    assert supervisor.report is not None
    assert (supervisor.report.unknown_effects, supervisor.report.cleanup_failures) == ((), ())


# -- why nothing could be issued


def _no_domain(_: str) -> str:
    raise ApprovalError("invalid-binding", "no such tenant")


@requirement("approving.stores")
@pytest.mark.parametrize("lacks", ["key", "domain"])
async def test_without_a_key_to_sign_with_it_is_no_lack_of_authority(lacks: str) -> None:
    keys = Keyring({"other": [SigningKey("first", b"a secret of thirty-two bytes ...")]}) if lacks == "key" else KEYS
    domain = "default" if lacks == "key" else _no_domain
    async with open_supervisor(
        bank(Book()), default_request_context=ANN, keys=keys, security_domain=domain
    ) as supervisor:
        assert code_of(await supervisor.execute(PAY)) == "APPROVAL_UNAVAILABLE"


@requirement("approving.stores")
@pytest.mark.parametrize("whose", ["question", "tool"])
async def test_what_cannot_be_signed_is_not_the_fault_of_the_arguments(whose: str) -> None:
    @tool(requires_approval=True, metadata={"big": 2**60} if whose == "tool" else {})
    async def work() -> None:
        await trio.lowlevel.checkpoint()

    policy = says(Ask("how much?", schema={"maximum": 2**60})) if whose == "question" else None
    async with open_supervisor(Toolbox([work], policy=policy), default_request_context=ANN, keys=KEYS) as supervisor:
        result = await supervisor.execute(ToolCall("work"))
        if whose == "question":  # the tool's own question comes first, and can be signed
            result = await supervisor.resume_approval(pending_of(result))
    assert code_of(result) == "APPROVAL_UNAVAILABLE"


def answering(answer: object) -> Callable[[ApprovalRequest], object]:
    """A person who always answers the same."""

    def handler(_: ApprovalRequest) -> object:
        return answer

    return handler


@requirement("approving.handler")
async def test_half_a_character_in_a_reason_is_spelled_out() -> None:
    book = Book()
    for policy, handler in ((Deny("\ud800"), True), (Ask("?"), Deny("\ud800"))):
        toolbox = attrs.evolve(bank(book), policy=says(policy))
        async with open_supervisor(toolbox, approval_handler=answering(handler)) as supervisor:
            assert b"ud800" in (await supervisor.execute(PAY)).text.encode()
    toolbox = attrs.evolve(bank(book), policy=says(Ask("\ud800")))
    async with Vault().open(toolbox) as supervisor:
        pending = pending_of(await supervisor.execute(PAY))
        waits = await supervisor.resume_approval(pending)
        assert b"ud800" in waits.text.encode()
        assert (await supervisor.resume_approval(pending_of(waits))).outcome == "success"


@requirement("approving.call")
async def test_a_call_that_is_resumed_is_no_repetition_of_itself() -> None:
    book = Book()
    async with open_supervisor(
        bank(book), default_request_context=ANN, keys=KEYS, loops=LoopDetection(warn_at=2, block_at=3)
    ) as supervisor:
        for _ in range(2):
            pending = pending_of(await supervisor.execute(PAY))
            assert (await supervisor.resume_approval(pending)).outcome == "success"
        assert code_of(await supervisor.execute(PAY)) == "LOOP_BLOCKED"
    assert book.names() == ["pay", "pay"]
