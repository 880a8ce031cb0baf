"""What does not hold yet. Each test fails as long as that is so; who puts it right takes the mark away."""

from __future__ import annotations

import pytest
import trio
import trio.testing
from hypothesis import settings

from armory_trio import Toolbox, ToolCall, ToolContext, open_supervisor, tool
from armory_trio.ledger import CloseWindow, Complete, OpenWindow, Release, Renew
from armory_trio.storage.sql import open_store
from tests.engine.ledger.proxies import open_proxy
from tests.engine.ledger.stores import BANK, HER, Clock, Troubled, code_of
from tests.requirements import requirement

SOAK = settings().max_examples > 200


@pytest.mark.xfail(strict=True, reason="what a nested call changed is not known of the call that made it")
@requirement("keeping.killed.recovered")
async def test_a_tool_with_windows_whose_nested_call_changed_something_is_not_safe_to_run_again(
    autojump_clock: trio.abc.Clock,
) -> None:
    """It opened no window itself; but whoever runs it again pays again, since the nested call has no key."""
    clock = Clock()
    store, paid = Troubled(clock), list[str]()

    @tool(effect=BANK)
    async def pay() -> None:
        paid.append("paid")

    @tool(effect=BANK, effect_windows=True)
    async def outer(ctx: ToolContext) -> None:
        await ctx.call("pay")
        await trio.sleep_forever()

    toolbox = Toolbox([pay, outer])
    async with open_supervisor(toolbox, ledger=store, default_request_context=HER) as killed:
        killed.start(ToolCall("outer"), idempotency_key="k")
        await trio.testing.wait_all_tasks_blocked()
        # From here on nothing reaches the store, as if the process were killed.
        store.trouble = dict.fromkeys((Complete, Release, Renew, OpenWindow, CloseWindow), "raises")
        await killed.shutdown("abort")
    assert paid == ["paid"]
    store.trouble.clear()
    clock.ahead += 31
    async with open_supervisor(toolbox, ledger=store, default_request_context=HER) as supervisor:
        found = supervisor.recovered

    assert found is not None
    assert [each.tool_name for each in found.again] == []


@pytest.mark.skipif(not SOAK, reason="takes twelve seconds as long as it fails; make soak runs it")
@pytest.mark.xfail(strict=True, reason="an operation that has begun is waited for until the store gives it up")
@requirement("keeping.faults")
async def test_no_operation_of_a_store_is_waited_for_longer_than_five_seconds(schema: str) -> None:
    """Whatever the timeout of the store is, which is ten seconds if nobody says otherwise, and two more."""

    @tool(effect=BANK)
    async def pay() -> None:
        raise AssertionError("it begins")

    async with (
        open_proxy(schema) as proxy,
        open_store(proxy.url) as store,
        open_supervisor(Toolbox([pay]), ledger=store.ledger, default_request_context=HER) as supervisor,
    ):
        proxy.fall_silent()
        begin = trio.current_time()
        result = await supervisor.execute(ToolCall("pay"), idempotency_key="k")
        took = trio.current_time() - begin
        proxy.speak()

    assert code_of(result) == "LEDGER_UNAVAILABLE"
    assert took < 8
