"""What makes a call the same call as another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import pytest
import trio
import trio.testing

from armory_trio import (
    Edit,
    Limits,
    LiveToolbox,
    RequestContext,
    Semantics,
    Toolbox,
    ToolCall,
    ToolContext,
    open_supervisor,
    tool,
)
from armory_trio.authority.policy import PolicyRequest
from armory_trio.ledger import field_key, full_input_key
from tests.engine.ledger.stores import BANK, HER, Bank, Troubled, code_of, said_of, the_attempt, told_of
from tests.requirements import requirement


@requirement("keeping.keys.caller")
async def test_the_key_of_the_caller_makes_two_calls_one() -> None:
    bank = Bank()
    async with open_supervisor(Toolbox(bank.tools()), default_request_context=HER) as supervisor:
        first = await supervisor.execute(ToolCall("pay"), idempotency_key="order-1")
        second = await supervisor.execute(ToolCall("pay"), idempotency_key="order-1")
        other = await supervisor.execute(ToolCall("pay"), idempotency_key="order-2")
        none = await supervisor.execute(ToolCall("pay"))

    assert [told_of(each) for each in (first, second, other)] == ["fresh", "deduped", "fresh"]
    assert (said_of(first).key, said_of(first).recorded, none.idempotency) == ("order-1", True, None)
    assert bank.paid == [100, 100, 100]


@requirement("keeping.keys.tool")
async def test_a_tool_makes_a_key_of_its_validated_arguments_and_the_caller_has_the_last_word() -> None:
    seen: list[object] = []
    ran: list[str | None] = []

    def key(arguments: Mapping[str, object]) -> str:
        seen.append(arguments)
        return str(arguments["order"])

    @tool(effect=BANK, idempotency_key=key)
    async def pay(order: int, ctx: ToolContext, cents: int = 5) -> str:
        ran.append(ctx.idempotency_key)
        return "paid"

    async with open_supervisor(Toolbox([pay]), default_request_context=HER) as supervisor:
        await supervisor.execute(ToolCall("pay", {"order": 7}))
        again = await supervisor.execute(ToolCall("pay", {"order": 7, "cents": 5}))
        mine = await supervisor.execute(ToolCall("pay", {"order": 7}), idempotency_key="mine")

    assert seen == [{"order": 7, "cents": 5}] * 2
    assert ran == ["7", "mine"]
    assert (told_of(again), told_of(mine)) == ("deduped", "fresh")


@requirement("keeping.keys.tool")
async def test_the_key_rules_of_the_ledger_fit_a_tool() -> None:
    ran: list[object] = []

    @tool(effect=BANK, idempotency_key=field_key("order"))
    async def by_field(order: int, note: str = "") -> None:
        ran.append(order)

    @tool(effect=BANK, idempotency_key=full_input_key)
    async def by_all(order: int, note: str = "") -> None:
        ran.append(order)

    async with open_supervisor(Toolbox([by_field, by_all]), default_request_context=HER) as supervisor:
        await supervisor.execute(ToolCall("by_field", {"order": 1}))
        clash = await supervisor.execute(ToolCall("by_field", {"order": 1, "note": "other"}))
        await supervisor.execute(ToolCall("by_all", {"order": 1}))
        other = await supervisor.execute(ToolCall("by_all", {"order": 1, "note": "other"}))

    assert (code_of(clash), told_of(other)) == ("IDEMPOTENCY_CONFLICT", "fresh")
    assert ran == [1, 1, 1]


@requirement("keeping.keys.none")
@pytest.mark.parametrize("answer", [None, "", "  "])
async def test_a_tool_whose_function_answers_no_key_runs_without_one(answer: str | None) -> None:
    @tool(effect=BANK, idempotency_key=lambda _: answer)
    async def pay(ctx: ToolContext) -> object:
        return ctx.idempotency_key

    async with open_supervisor(Toolbox([pay])) as supervisor:
        result = await supervisor.execute(ToolCall("pay"))

    assert (result.outcome, result.value, result.idempotency) == ("success", None, None)


@requirement("keeping.keys.required")
async def test_a_tool_that_requires_a_key_does_not_run_without_one() -> None:
    @tool(effect=BANK, semantics=Semantics(idempotency="required"))
    async def pay() -> str:
        return "paid"

    @tool(effect=BANK, semantics=Semantics(idempotency="required"), idempotency_key=lambda _: " ")
    async def blank() -> str:
        return "paid"

    async with open_supervisor(Toolbox([pay, blank]), default_request_context=HER) as supervisor:
        without = await supervisor.execute(ToolCall("pay"))
        empty = await supervisor.execute(ToolCall("blank"))
        given = await supervisor.execute(ToolCall("pay"), idempotency_key="k")

    for refused in (without, empty):
        assert (code_of(refused), refused.effect, refused.attempts) == ("IDEMPOTENCY_KEY_REQUIRED", "none", 0)
    assert told_of(given) == "fresh"


@requirement("keeping.keys.tenant")
async def test_a_key_counts_within_a_tenant_and_not_without_one() -> None:
    bank = Bank()
    async with open_supervisor(Toolbox(bank.tools())) as supervisor:
        refused = await supervisor.execute(ToolCall("pay"), idempotency_key="k")
        nobody = await supervisor.execute(
            ToolCall("pay"), idempotency_key="k", request_context=RequestContext(principal="ann")
        )
        for tenant in ("acme", "beta", "acme"):
            context = RequestContext(principal="ann", tenant=tenant)
            await supervisor.execute(ToolCall("pay"), idempotency_key="k", request_context=context)

    assert [code_of(refused), code_of(nobody)] == ["AUTHORITY_REQUIRED"] * 2
    assert bank.paid == [100, 100]


@requirement("keeping.keys.who")
async def test_whoever_asks_within_the_tenant_asks_for_the_same() -> None:
    bank = Bank()
    bob = RequestContext(principal="bob", tenant="acme", agent="helper")
    async with open_supervisor(Toolbox(bank.tools())) as supervisor:
        await supervisor.execute(ToolCall("pay"), idempotency_key="k", request_context=HER, owner_id="run-1")
        again = await supervisor.execute(ToolCall("pay"), idempotency_key="k", request_context=bob, owner_id="run-2")

    assert (told_of(again), bank.paid) == ("deduped", [100])


@requirement("keeping.keys.tool-scope")
async def test_the_same_key_of_another_tool_is_another_key() -> None:
    bank = Bank()
    async with open_supervisor(Toolbox(bank.tools()), default_request_context=HER) as supervisor:
        await supervisor.execute(ToolCall("pay"), idempotency_key="k")
        other = await supervisor.execute(ToolCall("wire"), idempotency_key="k")

    assert (told_of(other), bank.paid) == ("fresh", [100, 100])


@requirement("keeping.keys.broken")
@pytest.mark.parametrize("answer", [5, object(), b"k"], ids=["number", "object", "bytes"])
async def test_a_function_that_answers_nonsense_fails_its_call_alone(answer: object) -> None:
    ran: list[str] = []

    @tool(effect=BANK, idempotency_key=lambda _: answer)  # type: ignore[arg-type, return-value]  # pyright: ignore[reportArgumentType]
    async def pay() -> None:
        ran.append("pay")

    async with open_supervisor(Toolbox([pay]), default_request_context=HER) as supervisor:
        result = await supervisor.execute(ToolCall("pay"))

    assert (code_of(result), result.effect, ran) == ("INTERNAL_ERROR", "none", [])
    assert supervisor.report is not None and supervisor.report.bugs == ()


@requirement("keeping.keys.broken")
@pytest.mark.parametrize("error", [ValueError("no order"), SystemExit(3), GeneratorExit()])
async def test_a_function_that_raises_fails_its_call_alone(error: BaseException) -> None:
    def key(_: Mapping[str, object]) -> str:
        raise error

    @tool(effect=BANK, idempotency_key=key)
    async def pay() -> None: ...

    async with open_supervisor(Toolbox([pay]), default_request_context=HER) as supervisor:
        result = await supervisor.execute(ToolCall("pay"))
        mine = await supervisor.execute(ToolCall("pay"), idempotency_key="k")

    assert (code_of(result), result.effect, told_of(mine)) == ("INTERNAL_ERROR", "none", "fresh")


@requirement("keeping.keys.broken")
async def test_a_function_that_aborts_its_own_call_ends_it_once() -> None:
    bank = Bank()

    def key(_: Mapping[str, object]) -> str:
        supervisor.abort("not now", tool_name="pay")
        return "k"

    @tool(effect=BANK, idempotency_key=key)
    async def pay() -> None:
        bank.paid.append(1)

    store = Troubled()
    async with open_supervisor(Toolbox([pay]), ledger=store, default_request_context=HER) as supervisor:
        result = await supervisor.execute(ToolCall("pay"))

    assert (code_of(result), bank.paid, store.asked) == ("NOT_STARTED", [], [])
    assert supervisor.report is not None and supervisor.report.bugs == ()


@requirement("keeping.keys.broken")
@pytest.mark.parametrize("key", ["", "  ", "\n"])
async def test_a_blank_key_is_a_mistake_of_the_host(key: str) -> None:
    async with open_supervisor(Toolbox(Bank().tools())) as supervisor:
        with pytest.raises(ValueError, match="idempotency_key"):
            await supervisor.execute(ToolCall("pay"), idempotency_key=key)
        with pytest.raises(TypeError, match="idempotency_key"):
            await supervisor.execute(ToolCall("pay"), idempotency_key=7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@requirement("keeping.conflict")
@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"cents": 100}, {}, True),
        ({"cents": 100, "seconds": 0.0}, {"seconds": 0, "cents": 100}, True),
        ({"cents": 100}, {"cents": 100.0}, True),
        ({"cents": 1}, {"cents": 2}, False),
        ({"fails": ""}, {"fails": " "}, False),
    ],
)
async def test_the_same_key_with_other_arguments_is_a_conflict(
    one: dict[str, object], other: dict[str, object], same: bool
) -> None:
    bank = Bank()
    async with open_supervisor(Toolbox(bank.tools()), default_request_context=HER) as supervisor:
        await supervisor.execute(ToolCall("pay", one), idempotency_key="k")
        second = await supervisor.execute(ToolCall("pay", other), idempotency_key="k")

    assert told_of(second) == ("deduped" if same else "conflict")
    assert code_of(second) == (None if same else "IDEMPOTENCY_CONFLICT")
    assert len(bank.paid) == 1
    if not same:
        assert (second.effect, second.error is not None and second.error.retryable) == ("none", False)


@requirement("keeping.conflict")
async def test_one_and_true_and_one_point_zero_are_told_apart_where_the_tool_can() -> None:
    @tool(effect=BANK)
    async def note(what: float | bool | str) -> None: ...

    async with open_supervisor(Toolbox([note]), default_request_context=HER) as supervisor:
        await supervisor.execute(ToolCall("note", {"what": 1}), idempotency_key="k")
        told = [
            told_of(await supervisor.execute(ToolCall("note", {"what": what}), idempotency_key="k"))
            for what in (1, True, "1", 1.0)
        ]

    assert told == ["deduped", "conflict", "conflict", "deduped"]


@requirement("keeping.keys.edited")
async def test_the_key_covers_the_arguments_that_run_not_those_that_were_sent() -> None:
    ran: list[int] = []

    @tool(effect=BANK, idempotency_key=lambda arguments: str(arguments["cents"]))
    async def pay(cents: int) -> None:
        ran.append(cents)

    def at_most_ten(request: PolicyRequest) -> Edit:
        return Edit({"cents": min(10, cast("int", request.arguments["cents"]))})

    store = Troubled()
    async with open_supervisor(
        Toolbox([pay], policy=at_most_ten), ledger=store, default_request_context=HER
    ) as supervisor:
        first = await supervisor.execute(ToolCall("pay", {"cents": 50}))
        second = await supervisor.execute(ToolCall("pay", {"cents": 90}))

    assert (said_of(first).key, told_of(second), ran) == ("10", "deduped", [10])
    attempt = await the_attempt(store)
    assert attempt is not None and attempt.arguments == '{"cents":10}'


@requirement("keeping.keys.edited")
async def test_arguments_that_are_edited_after_the_claim_are_claimed_anew(autojump_clock: trio.abc.Clock) -> None:
    ran: list[int] = []

    @tool(effect=BANK, idempotency_key=lambda arguments: str(arguments["cents"]))
    async def pay(cents: int) -> None:
        ran.append(cents)

    @tool
    async def occupy() -> None:
        await trio.sleep(10)

    def at_most_ten(request: PolicyRequest) -> Edit:
        return Edit({"cents": min(10, cast("int", request.arguments["cents"]))})

    live = LiveToolbox(Toolbox([pay, occupy]))
    store = Troubled()
    async with open_supervisor(
        live, ledger=store, limits=Limits(concurrent=1), default_request_context=HER
    ) as supervisor:
        occupied = supervisor.start(ToolCall("occupy"))
        await trio.sleep(1)
        execution = supervisor.start(ToolCall("pay", {"cents": 50}))
        await trio.sleep(1)
        live.swap(Toolbox([pay, occupy], policy=at_most_ten))
        result = await execution.result()
        await occupied.result()
        await trio.testing.wait_all_tasks_blocked()
        rows = [row for row in await store.list() if row.deduplicates]

    assert (ran, said_of(result).key) == ([10], "10")
    assert [row.arguments for row in rows] == ['{"cents":10}']


@requirement("keeping.keys.invalid")
async def test_a_call_that_is_refused_before_it_is_claimed_claims_nothing(autojump_clock: trio.abc.Clock) -> None:
    store = Troubled()
    async with open_supervisor(Toolbox(Bank().tools()), ledger=store, default_request_context=HER) as supervisor:
        bad = await supervisor.execute(ToolCall("pay", {"cents": "lots"}), idempotency_key="k")
        unknown = await supervisor.execute(ToolCall("nothing"), idempotency_key="k")
        late = await supervisor.execute(ToolCall("pay"), idempotency_key="k", deadline=trio.current_time() - 1)

    assert [code_of(bad), code_of(unknown), code_of(late)] == ["INVALID_ARGUMENTS", "NOT_FOUND", "DEADLINE_EXCEEDED"]
    assert store.asked == []
