"""How operations share transactions, what becomes of those that are cancelled, and what is kept of strange texts."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Literal, cast

import pytest
import sqlalchemy as sa
import trio
import trio.testing
from sqlalchemy import event

from armory_trio import DefinitionError, StoreUnavailable
from armory_trio.ledger import Complete as CompleteAttempt
from armory_trio.ledger import Fresh, Recorded
from armory_trio.ledger import Start as StartAttempt
from armory_trio.storage._grants import ROWS as GRANTS
from armory_trio.storage._grants import GrantRow
from armory_trio.storage._rows import Operation, View
from armory_trio.storage.sql import SqlStore, open_store
from tests.requirements import requirement
from tests.storage.deeds import approval, claim, grant

BOUND = 30


@contextmanager
def commits() -> Generator[list[str]]:
    """How often a transaction was committed in the block: an entry for each."""
    found: list[str] = []

    def note(connection: sa.Connection) -> None:
        found.append("commit")

    event.listen(sa.Engine, "commit", note)
    try:
        yield found
    finally:
        event.remove(sa.Engine, "commit", note)


class Gate:
    """An operation that holds the thread until it is let go."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.go = threading.Event()

    def decide(self, _view: View, _now: float) -> str:
        self.entered.set()
        assert self.go.wait(BOUND)
        return "passed"

    async def wait(self) -> None:
        with trio.fail_after(BOUND):
            assert await trio.to_thread.run_sync(self.entered.wait, BOUND)


async def run(store: SqlStore, operation: Operation[str]) -> str:
    lanes = store.grants._lanes  # pyright: ignore[reportPrivateUsage]  # the public operations hold nothing up
    return await lanes.run(operation)


async def many(store: SqlStore, count: int) -> None:
    """*count* claims of different keys, which wait together behind a gate."""
    gate = Gate()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run, store, Operation(gate.decide))
        await gate.wait()
        for index in range(count):
            nursery.start_soon(store.ledger.apply, claim(f"key-{index}", "a"))
        await trio.testing.wait_all_tasks_blocked()
        gate.go.set()


@requirement("storage.groups")
async def test_operations_that_wait_together_are_committed_together(where: str) -> None:
    async with open_store(where) as store:
        with commits() as found:
            await many(store, 100)

        assert len(found) == 1
        assert len(await store.ledger.list(limit=1000)) == 100


@requirement("storage.groups")
async def test_without_group_commit_each_is_a_transaction(where: str) -> None:
    async with open_store(where, group_commit=False) as store:
        with commits() as found:
            await many(store, 20)

        assert len(found) == 20
        assert len(await store.ledger.list()) == 20


@requirement("storage.groups")
async def test_one_that_fails_does_not_take_its_group_along(where: str) -> None:
    """A number beyond what the column takes is found out only when the whole group is written."""
    gate = Gate()
    ended: list[str] = []

    def too_much(view: View, now: float) -> str:
        row = GrantRow("p", "t", "a", "n", 2**70, 0, revoked=False, expires_at=now + 1, document="{}")
        view.put(GRANTS, "k", row)
        return "never"

    async def fail(store: SqlStore) -> None:
        with pytest.raises((StoreUnavailable, OverflowError)):
            await run(store, Operation(too_much, ((GRANTS, "k"),)))
        ended.append("failed")

    async def succeed(store: SqlStore, index: int) -> None:
        assert isinstance(await store.ledger.apply(claim(f"key-{index}", "a")), Fresh)
        ended.append("done")

    async with open_store(where) as store:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run, store, Operation(gate.decide))
            await gate.wait()
            for index in range(5):
                nursery.start_soon(succeed, store, index)
            nursery.start_soon(fail, store)
            for index in range(5, 10):
                nursery.start_soon(succeed, store, index)
            await trio.testing.wait_all_tasks_blocked()
            gate.go.set()

        assert sorted(ended) == ["done"] * 10 + ["failed"]
        assert len(await store.ledger.list()) == 10


@requirement("storage.groups")
async def test_in_a_group_each_sees_what_those_before_it_did(where: str) -> None:
    gate = Gate()
    left: list[int] = []

    async def spend(store: SqlStore, id: str) -> None:
        left.append(await store.grants.spend(id))

    async with open_store(where) as store:
        made = grant("grant:1", store.now(), uses=10)
        await store.grants.issue(made)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run, store, Operation(gate.decide))
            await gate.wait()
            for _ in range(10):
                nursery.start_soon(spend, store, made.id)
            await trio.testing.wait_all_tasks_blocked()
            gate.go.set()

    assert sorted(left) == list(range(10))


@requirement("storage.cancellation")
async def test_one_that_is_cancelled_in_the_queue_was_not_begun(where: str) -> None:
    gate = Gate()
    async with open_store(where) as store:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run, store, Operation(gate.decide))
            await gate.wait()
            with trio.CancelScope() as scope:
                scope.cancel()
                await store.ledger.apply(claim("key-1", "a"))
            with trio.move_on_after(0.05) as late:
                await store.ledger.apply(claim("key-2", "a"))
            gate.go.set()

        assert (scope.cancelled_caught, late.cancelled_caught) == (True, True)
        assert await store.ledger.list() == ()


@requirement("storage.cancellation")
async def test_one_that_is_cancelled_while_it_is_done_returns_what_it_did(where: str) -> None:
    gate = Gate()
    answers: list[str] = []

    async def cancelled(store: SqlStore, scope: trio.CancelScope) -> None:
        with scope:
            answers.append(await run(store, Operation(gate.decide)))
            await trio.lowlevel.checkpoint()

    scope = trio.CancelScope()
    async with open_store(where) as store, trio.open_nursery() as nursery:
        nursery.start_soon(cancelled, store, scope)
        await gate.wait()
        scope.cancel()
        await trio.testing.wait_all_tasks_blocked()
        assert answers == []
        gate.go.set()

    assert answers == ["passed"]
    assert scope.cancelled_caught


@requirement("storage.cancellation")
async def test_closing_waits_for_what_was_queued_and_takes_nothing_more(where: str) -> None:
    gate = Gate()
    async with trio.open_nursery() as callers:
        opening = open_store(where)
        store = await opening.__aenter__()
        callers.start_soon(run, store, Operation(gate.decide))
        await gate.wait()
        callers.start_soon(store.ledger.apply, claim("key-1", "a"))
        await trio.testing.wait_all_tasks_blocked()
        gate.go.set()
        await opening.__aexit__(None, None, None)

    with pytest.raises(StoreUnavailable, match="closed"):
        await store.ledger.load("key")
    async with open_store(where) as store:
        assert len(await store.ledger.list()) == 1


@requirement("storage.cancellation")
async def test_a_block_that_is_cancelled_leaves_the_store_whole(where: str) -> None:
    with trio.CancelScope() as scope:
        async with open_store(where) as store:
            await store.ledger.apply(claim("key-1", "a"))
            scope.cancel()
            await store.ledger.apply(claim("key-2", "a"))

    assert scope.cancelled_caught
    async with open_store(where) as store:
        assert [attempt.key for attempt in await store.ledger.list()] == [claim("key-1", "a").key.text]


@requirement("storage.cancellation")
async def test_what_the_body_raises_leaves_as_itself(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match="mine"):
        async with open_store(tmp_path / "store.db"):
            raise LookupError("mine")


STRANGE = ("nul \0 inside", "half \ud800 a pair", "\U0001f512 \u00e9 ' \" \\ % ;", "x" * 10_000, " ", "*")


@requirement("storage.text")
@pytest.mark.parametrize("text", STRANGE, ids=range(len(STRANGE)))
async def test_any_text_comes_back_as_it_was(where: str, text: str) -> None:
    async with open_store(where) as store:
        now = store.now()
        binding = approval(f"nonce {text}", now, tenant=f"tenant {text}")
        await store.approvals.issue(binding)
        await store.approvals.consume(binding, binding.scope)

        assert await store.approvals.state(binding) == "consumed"
        assert await store.approvals.state(approval("nonce", now, tenant="tenant")) is None
        if "\ud800" in text:
            return  # no grant and no key can hold it, as it could not be signed
        made = grant(f"id {text}", now, principal=f"principal {text}")
        await store.grants.issue(made)
        asked = claim(text, "a", tenant=f"tenant {text}", host=f"host {text}")
        await store.ledger.apply(asked)

        assert [state.grant for state in await store.grants.list(principal=f"principal {text}")] == [made]
        assert [found.key for found in await store.ledger.list(host=f"host {text}")] == [asked.key.text]


@requirement("storage.shared")
async def test_attempts_are_listed_in_the_order_of_their_keys_however_long_they_are(where: str) -> None:
    """Only the beginning of a key is in the index, and these have it in common."""
    keys = [f"{'k' * 300}{end}" for end in ("", "B", "a", "\u00e9", "\U0001f512", "\uffff")] + ["a", "B"]
    async with open_store(where) as store:
        for key in keys:
            await store.ledger.apply(claim(key, "a"))
        wanted = sorted(claim(key, "a").key.text for key in keys)
        found: list[str] = []
        while page := await store.ledger.list(after=found[-1] if found else None, limit=3):
            found.extend(attempt.key for attempt in page)

    assert found == wanted


@requirement("storage.durable")
async def test_what_was_answered_is_there_after_a_restart(where: str) -> None:
    async with open_store(where) as store:
        now = store.now()
        binding, made, asked = approval("nonce-1", now), grant("grant:1", now), claim("key-1", "a")
        await store.approvals.issue(binding)
        await store.approvals.reserve(binding, binding.scope)
        await store.grants.issue(made)
        reservation = await store.grants.reserve(made.id)
        await store.grants.spend(made.id)
        await store.ledger.apply(asked)
        await store.ledger.apply(StartAttempt(asked.key.text, "a"))
        await store.ledger.apply(CompleteAttempt(asked.key.text, "a", "completed", '"paid"'))

    async with open_store(where) as store:
        assert await store.approvals.state(binding) == "reserved"
        [state] = await store.grants.list(principal="ann")
        assert (state.grant, state.uses_remaining) == (made, 1)
        await store.grants.release(reservation)
        [state] = await store.grants.list(principal="ann")
        assert state.uses_remaining == 2
        answer = await store.ledger.apply(claim("key-1", "b"))
        assert isinstance(answer, Recorded)
        assert answer.attempt.result == '"paid"'


@requirement("storage.shared")
async def test_two_stores_on_one_place_see_what_the_other_did(where: str) -> None:
    async with open_store(where) as one, open_store(where) as other:
        binding = approval("nonce-1", one.now())
        await one.approvals.issue(binding)
        await other.approvals.reserve(binding, binding.scope)

        assert await one.approvals.state(binding) == "reserved"

        async with trio.open_nursery() as nursery:
            for index in range(40):
                for store in (one, other):
                    nursery.start_soon(store.ledger.apply, claim(f"key-{index}", "a"))
                    nursery.start_soon(store.ledger.apply, claim(f"key-{39 - index}", "a"))

        assert len(await one.ledger.list(limit=1000)) == 40


@requirement("storage.shared")
async def test_many_open_one_new_place_at_once(where: str) -> None:
    opened: list[str] = []

    async def open_one() -> None:
        async with open_store(where) as store:
            opened.append(store.where)
            await store.ledger.list()

    async with trio.open_nursery() as nursery:
        for _ in range(8):
            nursery.start_soon(open_one)

    assert len(opened) == 8


@requirement("storage.options")
@pytest.mark.parametrize(
    "where",
    [
        cast("str", 5),
        "postgresql://host:port/database",
        "",
        "  ",
        ":memory:",
        "file:store.db?mode=memory",
        "mysql://host/database",
        "sqlite:///store.db",
    ],
)
async def test_what_is_no_place_is_refused(where: str) -> None:
    with pytest.raises(DefinitionError, match="store: where: "):
        async with open_store(where):
            raise AssertionError("it is open")


@requirement("storage.options")
async def test_what_is_no_option_is_refused(tmp_path: Path) -> None:
    wrong = (
        partial(open_store, tmp_path / "s.db", group_commit=cast("bool", "yes")),
        partial(open_store, tmp_path / "s.db", synchronous=cast("Literal['full']", "off")),
        partial(open_store, tmp_path / "s.db", timeout=0.0),
        partial(open_store, tmp_path / "s.db", timeout=float("inf")),
    )
    for opening in wrong:
        with pytest.raises(DefinitionError, match="store: "):
            async with opening():
                raise AssertionError("it is open")
    assert not (tmp_path / "s.db").exists()
