"""Grants while calls are made: which questions they answer, and when a use of one is spent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Unpack

import attrs
import msgspec
import pytest
import trio
import trio.testing

from armory_trio import (
    ApprovalPolicy,
    ApprovalRequest,
    Ask,
    CallNext,
    Deny,
    Edit,
    GrantError,
    GrantTerms,
    GrantUsed,
    Limits,
    LiveToolbox,
    MiddlewareCall,
    PolicyRequest,
    RequestContext,
    Supervisor,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolResult,
    open_supervisor,
    tool,
)
from armory_trio.authority.grants import Grant, GrantScope
from tests.requirements import requirement

from .bank import (
    ANN,
    KEYS,
    PAY,
    PAYS,
    SLOW,
    Book,
    Trouble,
    TroubledGrants,
    Vault,
    code_of,
    granting,
    pay_tool,
    pending_of,
    relay_tool,
    says,
)

TROUBLES: Final[tuple[Trouble, ...]] = ("raises", "raises-after", "hangs", "hangs-after")


async def grant(
    supervisor: Supervisor, uses: int = 1, scope: GrantScope = "principal", **terms: Unpack[GrantTerms]
) -> Grant:
    """A grant for the tool that pays."""
    terms.setdefault("owner", "household")
    return await supervisor.issue_grant(
        "pay", principal="ann", tenant="acme", agent="helper", lifetime=60, max_uses=uses, scope=scope, **terms
    )


async def left(supervisor: Supervisor) -> list[int]:
    """The uses that are left of each grant."""
    return [state.uses_remaining for state in await supervisor.list_grants()]


@requirement("approving.grants")
async def test_a_grant_answers_as_often_as_it_says() -> None:
    book, vault = Book(), Vault()
    used: list[GrantUsed] = []
    async with vault.open(granting(book)) as supervisor, supervisor.events(GrantUsed) as events:
        given = await grant(supervisor, 2)
        outcomes = [(await supervisor.execute(PAY)).outcome for _ in range(3)]
        assert await left(supervisor) == [0]
        with trio.move_on_after(0):
            async for event in events:
                assert isinstance(event, GrantUsed)
                used.append(event)
    assert outcomes == ["success", "success", "action_required"]
    assert book.names() == ["pay", "pay"]
    assert [(each.grant_id, each.principal, each.uses_remaining) for each in used] == [
        (given.id, "ann", 1),
        (given.id, "ann", 0),
    ]


@requirement("approving.grants", "approving.grants.uses")
@pytest.mark.parametrize("slow", [False, True])
async def test_of_32_calls_at_a_time_one_has_the_last_use(slow: bool, autojump_clock: trio.testing.MockClock) -> None:
    book, vault = Book(), Vault()
    store = TroubledGrants(vault.grants)
    store.trouble = dict.fromkeys(("list", "reserve", "commit"), "slow") if slow else {}
    vault.grants = store
    async with vault.open(granting(book)) as supervisor:
        await grant(supervisor, 1)
        results = await supervisor.execute_batch([ToolCall("pay", {"to": str(index)}) for index in range(32)])
    outcomes = [result.outcome for result in results]
    assert (outcomes.count("success"), outcomes.count("action_required")) == (1, 31)
    assert book.names() == ["pay"]


@requirement("approving.grants")
async def test_with_a_handler_only_those_without_a_grant_are_asked_about() -> None:
    book, asked = Book(), list[object]()
    vault = Vault()

    def handler(request: ApprovalRequest) -> bool:
        asked.append(request.arguments["to"])
        return False

    async with vault.open(granting(book), approval_handler=handler) as supervisor:
        await grant(supervisor, 1)
        first, second = [await supervisor.execute(ToolCall("pay", {"to": name})) for name in ("bob", "eve")]
    assert (first.outcome, code_of(second), asked) == ("success", "HUMAN_DENIED", ["eve"])


@requirement("approving.grants")
@pytest.mark.parametrize("tier", ["toolbox", "tool"])
async def test_a_grant_overrides_no_denial(tier: str) -> None:
    book, vault = Book(), Vault()
    toolbox = granting(book)
    if tier == "toolbox":
        toolbox = attrs.evolve(toolbox, policy=says(Deny("no")))
    else:
        [paying] = toolbox
        denied = attrs.evolve(paying, options=attrs.evolve(paying.options, policy=says(Deny("no"))))
        toolbox = Toolbox([denied], approval_policy=ApprovalPolicy("on-mutation"))
    async with vault.open(toolbox) as supervisor:
        await grant(supervisor)
        assert code_of(await supervisor.execute(PAY)) == "POLICY_DENIED"
        await trio.testing.wait_all_tasks_blocked()
        assert await left(supervisor) == [1]
    async with vault.open(attrs.evolve(granting(book), approval_policy=ApprovalPolicy("deny"))) as supervisor:
        assert code_of(await supervisor.execute(PAY)) == "POLICY_DENIED"
        assert await left(supervisor) == [1]
    assert book.entries == []


@requirement("approving.grants")
async def test_a_grant_answers_no_question_of_a_hook_and_none_of_the_tool_itself() -> None:
    book, vault = Book(), Vault()
    async with vault.open(attrs.evolve(granting(book), policy=says(Ask("the hook's")))) as supervisor:
        await grant(supervisor)
        pending = pending_of(await supervisor.execute(PAY))
        assert (pending.question.tier, [each.tier for each in pending.satisfied]) == ("toolbox", [])
        await trio.testing.wait_all_tasks_blocked()
        assert await left(supervisor) == [1]  # it waits: nothing began
        assert book.entries == []
    declared = Toolbox([pay_tool(book)], approval_policy=ApprovalPolicy("on-mutation"))
    vault = Vault()
    async with vault.open(declared) as supervisor:
        await grant(supervisor)
        assert pending_of(await supervisor.execute(PAY)).question.tier == "declared"
    assert book.entries == []


_OTHERS: Final[dict[str, tuple[GrantScope, GrantTerms, Mapping[str, object]]]] = {
    "another run": ("run", {"run": "run-2"}, {}),
    "another session": ("session", {"session": "session-2"}, {}),
    "no owner": ("principal", {"owner": None}, {}),
    "another principal": ("principal", {}, {"principal": "eve"}),
    "another tenant": ("principal", {}, {"tenant": "globex"}),
    "another agent": ("principal", {}, {"agent": "other"}),
    "a delegate": ("principal", {}, {"delegation": ("ann", "eve")}),
    "other arguments": ("principal", {"argument_constraints": {"to": "eve"}}, {}),
    "another resource": ("principal", {"resource_pattern": "accounts/*"}, {}),
}


@requirement("approving.grants.limits")
@pytest.mark.parametrize("name", _OTHERS)
async def test_a_grant_for_something_else_is_as_none(name: str) -> None:
    scope, terms, changes = _OTHERS[name]
    book, vault = Book(), Vault()
    async with vault.open(granting(book)) as supervisor:
        await grant(supervisor, 1, scope, **terms)
        who = msgspec.structs.replace(ANN, **changes)
        assert pending_of(await supervisor.execute(PAY, request_context=who)).question.tier == "capability"
        assert await left(supervisor) == [1]
    assert book.entries == []


@requirement("approving.grants.limits")
@pytest.mark.parametrize("what", ["revoked", "expired"])
async def test_a_grant_that_counts_no_more_is_as_none(what: str) -> None:
    book, vault = Book(), Vault()
    async with vault.open(granting(book)) as supervisor:
        given = await grant(supervisor, 5)
        assert (await supervisor.execute(PAY)).outcome == "success"
        if what == "revoked":
            await supervisor.revoke_grant(given.id)
            await supervisor.revoke_grant(given.id)
        else:
            vault.clock.now += 60
        assert (await supervisor.execute(PAY)).outcome == "action_required"
    assert book.names() == ["pay"]


@requirement("approving.grants.limits")
async def test_a_grant_is_void_with_another_policy_or_another_definition() -> None:
    book, vault = Book(), Vault()
    toolbox = granting(book)
    async with vault.open(toolbox) as supervisor:
        await grant(supervisor, 5)
    async with vault.open(attrs.evolve(toolbox, policy_revision="policy:2")) as supervisor:
        assert (await supervisor.execute(PAY)).outcome == "action_required"
    [paying] = toolbox
    changed = attrs.evolve(paying, definition=attrs.evolve(paying.definition, description="Pay anything."))
    async with vault.open(Toolbox([changed], approval_policy=toolbox.approval_policy)) as supervisor:
        assert (await supervisor.execute(PAY)).outcome == "action_required"
    async with vault.open(toolbox) as supervisor:
        assert (await supervisor.execute(PAY)).outcome == "success"


@requirement("approving.grants.limits")
@pytest.mark.parametrize(
    "forged", [{"max_uses": 100}, {"principal": "eve"}, {"signature": None}, {"signature": "v1:x:first"}]
)
async def test_a_grant_that_somebody_put_into_the_store_is_as_none(forged: dict[str, object]) -> None:
    book, vault = Book(), Vault()
    async with vault.open(granting(book)) as supervisor:
        given = await grant(supervisor)
        emptied = Vault(clock=vault.clock)
        await emptied.grants.issue(msgspec.structs.replace(given, **forged))
        who = msgspec.structs.replace(ANN, principal=str(forged.get("principal", "ann")))
        async with emptied.open(granting(book)) as other:
            assert (await other.execute(PAY, request_context=who)).outcome == "action_required"
    assert book.entries == []


@requirement("approving.grants.limits")
@pytest.mark.parametrize(
    ("terms", "outcome"), [({}, "action_required"), ({"delegation": "inherits-to-children"}, "success")]
)
async def test_a_grant_counts_for_nested_calls_only_if_it_says_so(terms: GrantTerms, outcome: str) -> None:
    book, vault = Book(), Vault()
    async with vault.open(granting(book, relay_tool(book))) as supervisor:
        await grant(supervisor, **terms)
        assert (await supervisor.execute(ToolCall("relay"))).outcome == outcome
    assert book.names() == ["relay", "pay"][: 2 if outcome == "success" else 1]


@requirement("approving.grants.uses")
@pytest.mark.parametrize("how", ["abort", "deadline"])
async def test_a_call_that_is_stopped_in_the_queue_gives_its_use_back(
    how: str, autojump_clock: trio.testing.MockClock
) -> None:
    book, vault = Book(), Vault()
    toolbox = granting(book, relay_tool(book))

    @tool(effect="read-only")
    async def long() -> None:
        """Take long."""
        await trio.sleep(10)

    async with vault.open(toolbox.extend(long), limits=Limits(concurrent=1)) as supervisor:
        await grant(supervisor)
        running = supervisor.start(ToolCall("long"))
        waiting = supervisor.start(PAY, deadline=trio.current_time() + 2 if how == "deadline" else None)
        await trio.sleep(1)
        assert await left(supervisor) == [0]
        supervisor.abort("enough", call_id="pay-1") if how == "abort" else await trio.sleep(2)
        assert code_of(await waiting.result()) in ("NOT_STARTED", "DEADLINE_EXCEEDED")
        await trio.testing.wait_all_tasks_blocked()
        assert await left(supervisor) == [1]
        await running.result()
        assert (await supervisor.execute(PAY)).outcome == "success"
        assert await left(supervisor) == [0]


@requirement("approving.grants.uses", "approving.handler.edits")
async def test_an_edit_gives_the_use_back_that_fitted_other_arguments() -> None:
    book, vault = Book(), Vault()

    def handler(_: object) -> object:
        return {"to": "eve", "amount": 1}

    def hook(request: PolicyRequest) -> object:
        return Ask("To bob?") if request.arguments["to"] == "bob" else None

    toolbox = attrs.evolve(granting(book), policy=hook)
    async with vault.open(toolbox, approval_handler=handler) as supervisor:
        await grant(supervisor, argument_constraints={"to": "bob"})
        result = await supervisor.execute(PAY)
        await trio.testing.wait_all_tasks_blocked()
        assert await left(supervisor) == [1]
    assert result.value != "5 to bob"


@requirement("approving.grants.uses")
async def test_a_hook_that_edits_is_judged_with_what_will_run() -> None:
    book, vault = Book(), Vault()

    def hook(request: PolicyRequest) -> object:
        return Edit({"to": "eve", "amount": 1}) if request.arguments["to"] == "bob" else None

    async with vault.open(attrs.evolve(granting(book), policy=hook)) as supervisor:
        await grant(supervisor, argument_constraints={"to": "bob"})
        pending = pending_of(await supervisor.execute(PAY))
        assert dict(pending.arguments) == {"to": "eve", "amount": 1}
        assert await left(supervisor) == [1]


@requirement("approving.grants.uses")
@pytest.mark.parametrize("what", ["revoked", "expired"])
@pytest.mark.parametrize("wrapped", [False, True])
async def test_a_grant_that_stops_counting_in_the_queue_lets_nothing_run(
    what: str, wrapped: bool, autojump_clock: trio.testing.MockClock
) -> None:
    book, vault = Book(), Vault()

    @tool(effect="read-only")
    async def long() -> None:
        """Take long."""
        await trio.sleep(10)

    async def around(_call: MiddlewareCall, _ctx: ToolContext, call_next: CallNext) -> object:
        return await call_next()

    toolbox = Toolbox(
        [pay_tool(book, requires_approval=False), long],
        approval_policy=ApprovalPolicy("on-mutation"),
        middleware=[around] if wrapped else [],
    )
    async with vault.open(toolbox, limits=Limits(concurrent=1)) as supervisor:
        given = await grant(supervisor)
        supervisor.start(ToolCall("long"))
        waiting = supervisor.start(PAY)
        await trio.sleep(1)
        if what == "revoked":
            await supervisor.revoke_grant(given.id)
        else:
            vault.clock.now += 61
        result = await waiting.result()
    assert (code_of(result), result.attempts, book.entries) == ("APPROVAL_INVALID", 0, [])


@requirement("approving.grants.limits", "approving.grants.uses")
async def test_a_tool_that_is_exchanged_while_its_call_waits_keeps_to_what_was_judged(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A hook that came meanwhile is asked, and its denial stands over the grant."""
    book, vault = Book(), Vault()

    @tool(effect="read-only")
    async def long() -> None:
        """Take long."""
        await trio.sleep(10)

    toolbox = granting(book, long)
    live = LiveToolbox(toolbox)
    async with open_supervisor(
        live, default_request_context=ANN, keys=KEYS, grants=vault.grants, limits=Limits(concurrent=1)
    ) as supervisor:
        await grant(supervisor)
        supervisor.start(ToolCall("long"))
        waiting = supervisor.start(PAY)
        await trio.sleep(1)
        live.swap(attrs.evolve(toolbox, policy=says(Deny("no more"))))
        assert code_of(await waiting.result()) == "POLICY_DENIED"
        await trio.testing.wait_all_tasks_blocked()
        assert await left(supervisor) == [1]
    assert book.entries == []


@requirement("approving.grants.uses")
async def test_a_body_that_fails_has_spent_its_use() -> None:
    vault = Vault()

    @tool(name="pay", effect=PAYS)
    async def pay(to: str, amount: int = 1) -> None:
        """Fail."""
        await trio.lowlevel.checkpoint()
        raise ValueError("no money")

    async with vault.open(Toolbox([pay], approval_policy=ApprovalPolicy("on-mutation"))) as supervisor:
        await grant(supervisor)
        assert code_of(await supervisor.execute(PAY)) == "INTERNAL_ERROR"
        await trio.testing.wait_all_tasks_blocked()
        assert await left(supervisor) == [0]


# -- stores that fail


@requirement("approving.grants.stores")
@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("operation", ["list", "reserve", "commit", "release"])
@pytest.mark.parametrize("wrapped", [False, True])
async def test_a_store_that_fails_lets_nothing_run_unasked(
    operation: str, trouble: Trouble, wrapped: bool, autojump_clock: trio.testing.MockClock
) -> None:
    book, vault = Book(), Vault()
    store = TroubledGrants(vault.grants)
    vault.grants = store

    async def around(_call: MiddlewareCall, _ctx: ToolContext, call_next: CallNext) -> object:
        return await call_next()

    toolbox = Toolbox(
        [pay_tool(book, requires_approval=False)],
        approval_policy=ApprovalPolicy("on-mutation"),
        middleware=[around] if wrapped else [],
    )
    results: list[ToolResult[object]] = []
    async with vault.open(toolbox) as supervisor:
        await grant(supervisor)
        store.trouble = {operation: trouble}
        for _ in range(2):
            began = trio.current_time()
            results.append(await supervisor.execute(PAY))
            assert trio.current_time() - began <= 5
            await trio.sleep(20)
        store.trouble = {}
        results.append(await supervisor.execute(PAY))
        assert (await supervisor.execute(PAY)).outcome == "action_required"
    assert len(book.entries) <= 1
    assert [result.outcome for result in results].count("success") == len(book.entries)
    first = results[0]
    match operation:
        case "commit":
            assert code_of(first) == "APPROVAL_UNAVAILABLE"
        case "release":
            assert first.outcome == "success"
        case _:
            assert first.outcome == "action_required"


@requirement("approving.grants.stores", "approving.grants.uses")
@pytest.mark.parametrize("operation", ["list", "reserve", "commit"])
async def test_a_call_that_is_stopped_while_the_store_works_loses_no_use(
    operation: str, autojump_clock: trio.testing.MockClock
) -> None:
    book, vault = Book(), Vault()
    store = TroubledGrants(vault.grants)
    vault.grants = store
    store.trouble = {operation: "slow"}
    async with vault.open(granting(book)) as supervisor:
        await grant(supervisor)
        result = await supervisor.execute(PAY, deadline=trio.current_time() + SLOW / 2)
        assert code_of(result) == "DEADLINE_EXCEEDED"
        await trio.sleep(10)
        assert (await left(supervisor), book.entries) == ([1], [])


# -- what a host may grant


@requirement("approving.grants.limits")
async def test_what_can_not_be_granted_is_told() -> None:
    book = Book()
    async with Vault().open(granting(book)) as supervisor:
        with pytest.raises(GrantError, match="did you mean 'pay'") as caught:
            await supervisor.issue_grant(
                "pya", principal="ann", tenant="acme", agent="*", lifetime=1, max_uses=1, scope="principal"
            )
        assert caught.value.code == "not-found"
        with pytest.raises(GrantError) as caught:
            await grant(supervisor, 1, "run")
        assert caught.value.code == "invalid-scope"
        with pytest.raises(GrantError):
            await grant(supervisor, 0)
        assert await supervisor.list_grants() == ()
    async with open_supervisor(granting(book)) as supervisor:
        for forbidden in (supervisor.list_grants(), supervisor.revoke_grant("x"), grant(supervisor)):
            with pytest.raises(GrantError, match="keys"):
                await forbidden


@requirement("approving.grants")
async def test_a_call_of_nobody_has_no_grant() -> None:
    book, vault = Book(), Vault()

    @tool(effect="read-only")
    async def whose(ctx: ToolContext) -> RequestContext | None:
        """Say on whose behalf."""
        await trio.lowlevel.checkpoint()
        return ctx.request_context

    async with vault.open(granting(book, whose), who=None) as supervisor:
        await grant(supervisor)
        assert code_of(await supervisor.execute(PAY)) == "AUTHORITY_REQUIRED"
        assert await left(supervisor) == [1]
