"""Every door that a call can come in by passes the ledger."""

from __future__ import annotations

import asyncio

import pytest
import trio
import trio.testing

from armory_trio import (
    Ask,
    CallNext,
    MiddlewareCall,
    PendingApproval,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolFailure,
    ToolResult,
    open_supervisor,
    tool,
)
from armory_trio.composition import pipe
from armory_trio.errors import ApprovalError
from armory_trio.integrations.asyncio_host import open_asyncio_host
from armory_trio.ledger import Start
from armory_trio.middleware import Cache, Retry, RetryPolicy
from tests.engine.ledger.stores import (
    BANK,
    HER,
    KEYS,
    Bank,
    Clock,
    Troubled,
    code_of,
    passing,
    said_of,
    the_attempt,
    told_of,
)
from tests.requirements import requirement


@requirement("keeping.doors")
@pytest.mark.parametrize("door", ["execute", "start", "stream", "batch"])
async def test_each_door_asks_the_ledger(door: str, autojump_clock: trio.abc.Clock) -> None:
    bank = Bank()
    async with open_supervisor(Toolbox(bank.tools()), default_request_context=HER) as supervisor:

        async def ask() -> ToolResult[object]:
            call = ToolCall("pay")
            if door == "execute":
                return await supervisor.execute(call, idempotency_key="k")
            if door == "start":
                return await supervisor.start(call, idempotency_key="k").result()
            if door == "batch":
                return (await supervisor.execute_batch([call], idempotency_key="k"))[0]
            async with supervisor.stream(call, idempotency_key="k") as stream:
                async for _ in stream:
                    pass
                return stream.result

        told = [told_of(await ask()) for _ in range(2)]

    assert (told, bank.paid) == (["fresh", "deduped"], [100])


@tool(effect="read-only")
async def echo(text: str) -> str:
    return text


@requirement("keeping.doors.nested")
async def test_a_nested_call_has_the_key_of_its_tool_and_not_that_of_its_caller() -> None:
    ran: list[str | None] = []

    @tool(effect=BANK, idempotency_key=lambda arguments: str(arguments["order"]))
    async def pay(order: int, ctx: ToolContext) -> str:
        ran.append(ctx.idempotency_key)
        return "paid"

    @tool
    async def by_name(order: int, ctx: ToolContext) -> object:
        ran.append(ctx.idempotency_key)
        return (await ctx.call("pay", {"order": order})).unwrap()

    @tool
    async def by_tool(order: int, ctx: ToolContext) -> object:
        return (await ctx.call(pay, {"order": order})).unwrap()

    piped = pipe(pay, echo, name="piped")
    async with open_supervisor(
        Toolbox([pay, by_name, by_tool, piped, echo]), default_request_context=HER
    ) as supervisor:
        results = [
            await supervisor.execute(ToolCall("by_name", {"order": 7}), idempotency_key="outer"),
            await supervisor.execute(ToolCall("by_tool", {"order": 7})),
            await supervisor.execute(ToolCall("piped", {"order": 7})),
        ]

    assert [each.value for each in results] == ["paid", "paid", "paid"]
    assert ran == ["outer", "7"]
    assert {each.effect for each in results} == {"completed"}


@requirement("keeping.doors.asyncio")
def test_a_call_from_asyncio_asks_the_ledger() -> None:
    bank = Bank()

    async def main() -> list[str]:
        async with open_asyncio_host(Toolbox(bank.tools()), default_request_context=HER) as host:
            calls = (host.execute(ToolCall("pay"), idempotency_key="k") for _ in range(3))
            return sorted(told_of(each) for each in await asyncio.gather(*calls))

    told = asyncio.run(main())
    assert told.count("fresh") == 1
    assert bank.paid == [100]


@requirement("keeping.doors.resume")
@pytest.mark.parametrize("wrapped", [False, True])
async def test_a_call_that_waits_for_a_person_claims_nothing_until_they_agreed(wrapped: bool) -> None:
    bank, store = Bank(), Troubled()

    def policy(_: object) -> Ask:
        return Ask("Pay?")

    toolbox = Toolbox(bank.tools(), policy=policy, middleware=[passing] if wrapped else [])
    async with open_supervisor(toolbox, ledger=store, keys=KEYS, default_request_context=HER) as supervisor:
        paused = await supervisor.execute(ToolCall("pay"), idempotency_key="k")
        asked = store.asked.copy()
        pending = paused.pending_approval
        assert isinstance(pending, PendingApproval)
        first = await supervisor.resume_approval(pending, idempotency_key="k")
        with pytest.raises(ApprovalError, match="already-consumed"):
            await supervisor.resume_approval(pending, idempotency_key="k")
        other = await supervisor.execute(ToolCall("pay"), idempotency_key="k")
        assert other.pending_approval is not None
        second = await supervisor.resume_approval(other.pending_approval, idempotency_key="k")
        third = await supervisor.resume_approval(other.pending_approval, idempotency_key="k")

    assert asked == []
    assert [told_of(each) for each in (first, second, third)] == ["fresh", "deduped", "deduped"]
    assert (first.attempts, bank.paid) == (1, [100])


@requirement("keeping.doors.resume")
@pytest.mark.parametrize("wrapped", [False, True])
async def test_an_approval_is_not_used_up_by_a_call_that_could_not_be_recorded(wrapped: bool) -> None:
    bank, store = Bank(), Troubled()

    def policy(_: object) -> Ask:
        return Ask("Pay?")

    toolbox = Toolbox(bank.tools(), policy=policy, middleware=[passing] if wrapped else [])
    async with open_supervisor(toolbox, ledger=store, keys=KEYS, default_request_context=HER) as supervisor:
        paused = await supervisor.execute(ToolCall("pay"), idempotency_key="k")
        assert paused.pending_approval is not None
        store.trouble[Start] = "does-and-raises"
        refused = await supervisor.resume_approval(paused.pending_approval, idempotency_key="k")
        store.trouble.clear()
        await trio.testing.wait_all_tasks_blocked()  # until the approval was given back
        again = await supervisor.resume_approval(paused.pending_approval, idempotency_key="k")

    assert (code_of(refused), refused.effect) == ("LEDGER_UNAVAILABLE", "none")
    assert (told_of(again), bank.paid) == ("fresh", [100])


@requirement("keeping.middleware.answered")
async def test_a_middleware_that_answers_in_place_of_the_body_gives_the_attempt_back(
    autojump_clock: trio.abc.Clock,
) -> None:
    bank, store = Bank(), Troubled()
    toolbox = Toolbox(bank.tools(), middleware=[Cache(ttl=60, changing_tools=True)])
    async with open_supervisor(toolbox, ledger=store, default_request_context=HER) as supervisor:
        first = await supervisor.execute(ToolCall("pay"), idempotency_key="a")
        cached = await supervisor.execute(ToolCall("pay"), idempotency_key="b")
        rows = await store.list()
        await trio.sleep(100)
        later = await supervisor.execute(ToolCall("pay"), idempotency_key="b")

    assert (cached.attempts, cached.effect, cached.value) == (0, "none", first.value)
    assert [row.execution_id for row in rows] == [first.execution_id]
    assert (told_of(later), later.attempts, bank.paid) == ("fresh", 1, [100, 100])


@requirement("keeping.middleware.retry")
async def test_another_try_is_part_of_the_same_attempt() -> None:
    tries: list[int] = []

    @tool(effect=BANK)
    async def pay() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise ToolFailure("busy", category="transient", effect="none")
        return "paid"

    store = Troubled()
    toolbox = Toolbox([pay], middleware=[Retry(RetryPolicy(5))])
    async with open_supervisor(toolbox, ledger=store, default_request_context=HER) as supervisor:
        result = await supervisor.execute(ToolCall("pay"), idempotency_key="k")
        attempt = await the_attempt(store)

    assert (result.attempts, result.value, told_of(result)) == (3, "paid", "fresh")
    assert store.asked == ["Claim", *["Start"] * 3, "Complete"], "before each try the ledger is asked whether it may"
    assert attempt is not None and (attempt.number, attempt.state) == (1, "completed")


@requirement("keeping.middleware.children")
async def test_what_a_middleware_did_in_place_of_the_body_is_kept() -> None:
    bank, store = Bank(), Troubled()

    async def instead(_call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        return (await ctx.call("pay")).unwrap() if _call.tool.name == "wire" else await call_next()

    async with open_supervisor(
        Toolbox(bank.tools(), middleware=[instead]), ledger=store, default_request_context=HER
    ) as supervisor:
        first = await supervisor.execute(ToolCall("wire"), idempotency_key="k")
        again = await supervisor.execute(ToolCall("wire"), idempotency_key="k")

    assert (first.attempts, first.effect, told_of(again), bank.paid) == (0, "completed", "deduped", [100])


@requirement("keeping.middleware.joined")
async def test_joiners_share_what_a_middleware_answered(autojump_clock: trio.abc.Clock) -> None:
    bank = Bank()

    async def instead(_call: MiddlewareCall, _ctx: ToolContext, _next: CallNext) -> object:
        await trio.sleep(1)
        return "from the shelf"

    async with open_supervisor(Toolbox(bank.tools(), middleware=[instead]), default_request_context=HER) as supervisor:
        results = await supervisor.execute_batch([ToolCall("pay")] * 3, idempotency_key="k")

    assert {each.value for each in results} == {"from the shelf"}
    assert sorted(told_of(each) for each in results) == ["fresh", "joined", "joined"]
    assert {each.effect for each in results} == {"none"}


@requirement("keeping.doors.attempt")
async def test_a_call_says_which_attempt_it_is_about() -> None:
    bank, store = Bank(), Troubled(Clock())
    async with open_supervisor(Toolbox(bank.tools()), ledger=store, default_request_context=HER) as supervisor:
        result = await supervisor.execute(ToolCall("pay"), idempotency_key="k")
        attempt = await the_attempt(store)

    assert attempt is not None
    assert said_of(result).attempt_id == attempt.attempt_id
    assert (attempt.execution_id, attempt.tenant, attempt.tool_name) == (result.execution_id, "acme", "pay")
