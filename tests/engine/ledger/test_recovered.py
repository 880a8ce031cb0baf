"""What a supervisor finds in a ledger when it is opened."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

import pytest
import trio

from armory_trio import StoreUnavailable, Toolbox, ToolCall, open_supervisor, tool
from armory_trio.ledger import (
    Attempt,
    Claim,
    LedgerKey,
    MarkUnknown,
    OpenWindow,
    Reconciled,
    Start,
    UnknownAttempt,
)
from tests.engine.ledger.stores import BANK, HER, KEYS, Bank, Clock, Troubled, told_of
from tests.requirements import requirement


async def claimed(store: Troubled, key: str, *, read_only: bool = False, windows: bool = False) -> str:
    made = Claim(
        key=LedgerKey("acme", "default:pay", key),
        tool_name="pay",
        attempt_id=f"attempt-{key}",
        arguments="{}",
        execution_id=f"exe-{key}",
        host="gone",
        policy_revision="",
        read_only=read_only,
        windows_declared=windows,
        lease=30.0,
        cap=100.0,
    )
    await store.apply(made)
    return made.key.text


async def populated(store: Troubled) -> None:
    """Attempts of a host that is gone, one of each kind."""
    await claimed(store, "queued")
    for key in ("reads", "windowed", "within", "ran", "lost"):
        text = await claimed(store, key, read_only=key == "reads", windows=key in ("windowed", "within"))
        await store.apply(Start(text, f"attempt-{key}"))
        if key == "within":
            await store.apply(OpenWindow(text, f"attempt-{key}"))
        if key == "lost":
            await store.apply(MarkUnknown(text, f"attempt-{key}"))


@requirement("keeping.reconcile.unable")
@pytest.mark.parametrize("recovers", [True, False])
async def test_a_cancellation_that_a_reconcile_kept_is_its_own_trouble(recovers: bool) -> None:
    kept: list[trio.Cancelled] = []
    with trio.CancelScope() as scope:
        scope.cancel()
        try:
            await trio.lowlevel.checkpoint()
        except trio.Cancelled as exc:
            kept.append(exc)
            raise

    async def ask(attempt: UnknownAttempt) -> Reconciled | None:
        await trio.lowlevel.checkpoint()
        raise kept[0]

    @tool(effect=BANK, reconcile=ask)
    async def pay() -> None:
        raise ValueError("the line is dead")

    call, store = ToolCall("pay"), Troubled()
    async with open_supervisor(Toolbox([pay]), ledger=store, keys=KEYS, default_request_context=HER) as supervisor:
        await supervisor.execute(call, idempotency_key="k")
        if recovers:
            try:
                left = await supervisor.recover(reconcile=True)
            except trio.Cancelled as exc:  # noqa: ASYNC103  # it would end this test without a word
                raise AssertionError("it was let out") from exc
            assert len(left.unknown) == 1
        else:
            assert told_of(await supervisor.execute(call, idempotency_key="k")) == "unknown-outcome"


@requirement("keeping.recovered")
async def test_what_others_left_behind_is_listed_by_what_is_true_of_it() -> None:
    clock = Clock()
    store = Troubled(clock)
    await populated(store)
    clock.ahead += 31
    async with open_supervisor(Toolbox(Bank().tools()), ledger=store) as supervisor:
        found = supervisor.recovered

    assert found is not None
    assert [each.execution_id for each in found.never_started] == ["exe-queued"]
    assert [each.execution_id for each in found.safe] == ["exe-reads", "exe-windowed"]
    assert [each.execution_id for each in found.unknown] == ["exe-lost", "exe-ran", "exe-within"]


@requirement("keeping.recovered")
async def test_what_somebody_may_be_at_is_not_listed() -> None:
    clock = Clock()
    store = Troubled(clock)
    await populated(store)
    clock.ahead += 29
    async with open_supervisor(Toolbox(Bank().tools()), ledger=store) as supervisor:
        found = supervisor.recovered

    assert found is not None
    assert [each.execution_id for each in (*found.unknown, *found.again)] == ["exe-lost"]


@requirement("keeping.recovered")
async def test_without_a_ledger_or_attempts_there_is_nothing_to_tell() -> None:
    async with open_supervisor(Toolbox([])) as without:
        assert without.recovered is None
    async with open_supervisor(Toolbox([]), ledger=Troubled()) as empty:
        assert empty.recovered is not None
        assert not empty.recovered


@requirement("keeping.recovered.bounded")
@pytest.mark.parametrize("trouble", ["raises", "hangs"])
async def test_a_ledger_that_can_not_be_read_keeps_nobody_from_opening(
    trouble: str, autojump_clock: trio.abc.Clock, caplog: pytest.LogCaptureFixture
) -> None:
    store = Troubled()
    store.listing = trouble  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]
    begin = trio.current_time()
    with caplog.at_level(logging.WARNING, "armory_trio.engine"):
        async with open_supervisor(Toolbox([]), ledger=store) as supervisor:
            assert supervisor.recovered is None
            assert trio.current_time() - begin <= 5

    assert "left behind" in caplog.text


@requirement("keeping.recovered.bounded")
async def test_so_many_that_nobody_looks_through_them_are_cut_short(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    store = Troubled(clock)
    for number in range(1_150):
        await claimed(store, f"{number:05}")
    clock.ahead += 31
    with caplog.at_level(logging.WARNING, "armory_trio.engine"):
        async with open_supervisor(Toolbox([]), ledger=store) as supervisor:
            found = supervisor.recovered

    assert found is not None and len(found.never_started) == 1_000
    assert "more than 1000" in caplog.text


@requirement("keeping.recovered.bounded")
@pytest.mark.parametrize("error", [SystemExit(2), asyncio.CancelledError()], ids=["exit", "asyncio"])
async def test_whatever_a_ledger_raises_while_it_is_read_keeps_nobody_from_opening(error: BaseException) -> None:
    class Wild(Troubled):
        async def list(self, **_: object) -> Sequence[Attempt]:
            raise error

    async with open_supervisor(Toolbox([]), ledger=Wild()) as supervisor:
        assert supervisor.recovered is None


@requirement("keeping.recovered.bounded")
async def test_looking_again_at_a_store_that_does_not_answer_is_bounded(autojump_clock: trio.abc.Clock) -> None:
    store = Troubled(Clock(with_trio=True))
    async with open_supervisor(Toolbox([]), ledger=store) as supervisor:
        store.listing = "hangs"
        begin = trio.current_time()
        with pytest.raises(StoreUnavailable, match="did not answer within 5 s"):
            await supervisor.recover(release=True)

    assert trio.current_time() - begin == pytest.approx(5.0)


@requirement("keeping.recovered")
async def test_who_is_cancelled_while_it_looks_opens_nothing(autojump_clock: trio.abc.Clock) -> None:
    store = Troubled()
    store.listing = "hangs"
    opened: list[object] = []
    with trio.move_on_after(1) as scope:
        async with open_supervisor(Toolbox([]), ledger=store) as supervisor:
            opened.append(supervisor)

    assert (scope.cancelled_caught, opened) == (True, [])
