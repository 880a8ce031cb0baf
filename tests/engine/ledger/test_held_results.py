"""What is told of an end that is being written down, or that could not be."""

from __future__ import annotations

import pytest
import trio

from armory_trio import Toolbox, ToolCall, open_supervisor, tool
from armory_trio.ledger import Complete
from tests.engine.ledger.stores import BANK, HER, Bank, Troubled, code_of, said_of, told_of
from tests.requirements import requirement


@requirement("keeping.stopped.writing")
@pytest.mark.parametrize("asked", ["before", "meanwhile"])
async def test_whoever_asks_while_an_end_is_written_down_is_told_when_it_is(
    asked: str, autojump_clock: trio.abc.Clock
) -> None:
    bank, store = Bank(), Troubled(takes=1.0)
    told: list[tuple[float, bool]] = []

    async def ask() -> None:
        result = await execution.result()
        told.append((trio.current_time() - begin, said_of(result).recorded))

    begin = trio.current_time()
    async with (
        open_supervisor(Toolbox(bank.tools()), ledger=store, default_request_context=HER) as supervisor,
        trio.open_nursery() as nursery,
    ):
        execution = supervisor.start(ToolCall("pay", {"seconds": 1}), idempotency_key="k")
        await trio.sleep(2.5 if asked == "before" else 3.5)  # Claim, Start and the body take a second each
        nursery.start_soon(ask)

    [(after, recorded)] = told
    assert after == pytest.approx(4.0)
    assert recorded


@requirement("keeping.stopped.writing")
async def test_who_was_told_already_is_not_kept_waiting_while_the_end_is_written_down(
    autojump_clock: trio.abc.Clock,
) -> None:
    @tool(effect=BANK)
    async def pay() -> None:
        with trio.CancelScope(shield=True):
            await trio.sleep(5)

    store = Troubled(takes=1.0)
    async with open_supervisor(Toolbox([pay]), ledger=store, default_request_context=HER) as supervisor:
        execution = supervisor.start(ToolCall("pay"), idempotency_key="k")
        await trio.sleep(2.5)
        execution.abort("not needed")
        await trio.sleep(5)
        assert store.asked[-1] == "Complete"
        begin = trio.current_time()
        result = await execution.result()

        assert (code_of(result), result.effect, trio.current_time()) == ("CANCELLED", "completed", begin)
        await execution.settled()
        assert trio.current_time() == pytest.approx(begin + 0.5)


@requirement("keeping.down.after")
async def test_who_joined_is_told_as_well_that_the_end_could_not_be_recorded(autojump_clock: trio.abc.Clock) -> None:
    bank, store = Bank(), Troubled()
    store.trouble[Complete] = "raises"
    async with open_supervisor(Toolbox(bank.tools()), ledger=store, default_request_context=HER) as supervisor:
        call = ToolCall("pay", {"seconds": 1})
        results = await supervisor.execute_batch([call, call], idempotency_key="k")

    assert sorted((told_of(each), each.effect, said_of(each).recorded) for each in results) == [
        ("fresh", "completed", False),
        ("joined", "completed", False),
    ]
