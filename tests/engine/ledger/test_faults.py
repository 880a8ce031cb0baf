"""A supervisor over a database that something is wrong with."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from functools import partial
from pathlib import Path
from typing import Final

import pytest
import trio

from armory_trio import Execution, Report, Supervisor, Tool, Toolbox, ToolCall, ToolResult, open_supervisor, tool
from armory_trio.ledger import Attempt
from armory_trio.storage.sql import SqlLedger, open_store
from tests.engine.ledger.proxies import Proxy, open_proxy
from tests.engine.ledger.stores import BANK, HER, code_of, said_of, told_of
from tests.requirements import requirement
from tests.storage.servers import DSN, restart
from tests.storage.test_faults import full_disk, read_only

BOUND: Final = 60
"""Seconds: what takes longer hangs."""

LIMIT: Final = 0.3
"""Seconds that an operation of the store may take; what hangs is given up two seconds later."""

LEASE: Final = 3.0

Fault = Callable[[], AbstractAsyncContextManager[None]]


class Shop:
    """Tools that note which keys they were entered with."""

    def __init__(self) -> None:
        self.entered: list[str] = []
        self.inside = trio.Event()
        self.gate = trio.Event()
        shop = self

        @tool(effect=BANK)
        async def pay(name: str, note: str = "", *, waits: bool = False) -> str:
            shop.entered.append(name)
            if waits:
                shop.inside.set()
                await shop.gate.wait()
            return f"paid {name}"

        @tool(effect="read-only")
        async def look() -> str:
            return "seen"

        self.tools: list[Tool[..., object]] = [pay, look]

    async def ask(self, supervisor: Supervisor, key: str) -> ToolResult[object]:
        return await supervisor.execute(ToolCall("pay", {"name": key}), idempotency_key=key)


@asynccontextmanager
async def opened(shop: Shop, where: str) -> AsyncGenerator[tuple[Supervisor, SqlLedger]]:
    async with (
        open_store(where, timeout=LIMIT) as store,
        open_supervisor(
            Toolbox(shop.tools), ledger=store.ledger, ledger_lease=LEASE, default_request_context=HER
        ) as supervisor,
    ):
        yield supervisor, store.ledger


async def under_the_fault(shop: Shop, supervisor: Supervisor) -> None:
    """What may change something does not begin, and what only reads goes on."""
    before = list(shop.entered)
    results: dict[str, ToolResult[object]] = {}

    async def call(name: str, key: str | None) -> None:
        arguments: dict[str, object] = {} if name == "look" else {"name": "refused"}
        results[f"{name} {key}"] = await supervisor.execute(ToolCall(name, arguments), idempotency_key=key)

    async with trio.open_nursery() as nursery:
        for name in ("pay", "look"):
            for key in ("refused", None):
                nursery.start_soon(call, name, key)
    for key in ("refused", None):
        refused, read = results[f"pay {key}"], results[f"look {key}"]
        assert (code_of(refused), refused.effect, refused.attempts) == ("LEDGER_UNAVAILABLE", "none", 0)
        assert refused.error is not None and (refused.error.category, refused.error.retryable) == ("unavailable", True)
        assert (read.value, read.effect) == ("seen", "none")
    assert not said_of(results["look refused"]).recorded
    assert shop.entered == before


async def until_its_lease_is_over(ledger: SqlLedger, execution_id: str) -> Attempt:
    """The attempt of an execution that could not be recorded to have ended, when nobody holds it any more."""
    while True:
        for attempt in await ledger.list(states=["unknown"]):
            if attempt.execution_id == execution_id:
                return attempt
        await trio.sleep(LEASE / 10)


def assert_calm(report: Report | None) -> None:
    assert report is not None
    assert (report.unfinished, report.bugs) == ((), ())


async def met(where: str, fault: Fault) -> None:
    """Let a supervisor over *where* meet *fault*, and another one find what it left."""
    shop = Shop()
    with trio.fail_after(BOUND):
        async with opened(shop, where) as (supervisor, _):
            await shop.ask(supervisor, "before")
            call = ToolCall("pay", {"name": "running", "waits": True})
            running: Execution = supervisor.start(call, idempotency_key="running")
            await shop.inside.wait()
            async with fault():
                await under_the_fault(shop, supervisor)
                shop.gate.set()
                ran = await running.result()
                assert_calm(await supervisor.shutdown("drain"))
        assert (ran.value, ran.effect, said_of(ran).recorded) == ("paid running", "completed", False)

        async with open_store(where, timeout=LIMIT) as store:
            await until_its_lease_is_over(store.ledger, running.id)
        async with opened(shop, where) as (supervisor, _):
            assert supervisor.recovered is not None
            assert [each.execution_id for each in supervisor.recovered.unknown] == [running.id]
            told = {key: await shop.ask(supervisor, key) for key in ("before", "refused")}
            again = await supervisor.execute(call, idempotency_key="running")
        assert_calm(supervisor.report)
    assert {key: told_of(each) for key, each in told.items()} == {"before": "deduped", "refused": "fresh"}
    assert (told_of(again), again.effect) == ("unknown-outcome", "unknown")
    assert shop.entered == ["before", "running", "refused"]


@asynccontextmanager
async def locked(path: Path) -> AsyncGenerator[None]:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def damage(path: Path) -> bytes:
    """Spoil all pages that attempts are found by, and let open connections read them again; the file as it was."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        whole = path.read_bytes()
        [(size,)] = other.execute("PRAGMA page_size").fetchall()
        roots = other.execute("SELECT rootpage FROM sqlite_master WHERE tbl_name = 'armory_attempts'").fetchall()
        spoiled = bytearray(whole)
        for (root,) in roots:
            spoiled[(root - 1) * size : root * size] = b"\xa5" * size
        with path.open("r+b") as file:
            file.write(spoiled)
        other.execute("UPDATE armory_store SET latest = latest + 0.001")  # caches are of no use any more
    return whole


@asynccontextmanager
async def damaged(path: Path) -> AsyncGenerator[None]:
    whole = damage(path)
    yield
    with path.open("r+b") as file:
        file.write(whole)


@requirement("keeping.faults", "keeping.faults.back")
@pytest.mark.parametrize("fault", [locked, damaged], ids=["locked", "damaged"])
async def test_over_a_file_that_can_not_be_used_nothing_begins_that_could_not_be_recorded(
    fault: Callable[[Path], AbstractAsyncContextManager[None]], tmp_path: Path
) -> None:
    path = tmp_path / "store.db"
    await met(str(path), partial(fault, path))


@asynccontextmanager
async def vanished(proxy: Proxy) -> AsyncGenerator[None]:
    proxy.vanish()
    yield
    await proxy.listen()


@asynccontextmanager
async def silent(proxy: Proxy) -> AsyncGenerator[None]:
    proxy.fall_silent()
    yield
    proxy.speak()


@requirement("keeping.faults", "keeping.faults.back")
@pytest.mark.parametrize("fault", [vanished, silent], ids=["refused", "silent"])
async def test_over_a_server_that_can_not_be_used_nothing_begins_that_could_not_be_recorded(
    fault: Callable[[Proxy], AbstractAsyncContextManager[None]], schema: str
) -> None:
    async with open_proxy(schema) as proxy:
        await met(proxy.url, partial(fault, proxy))


@requirement("keeping.faults")
async def test_over_a_server_that_is_slow_everything_goes_on(schema: str) -> None:
    shop = Shop()
    with trio.fail_after(BOUND):
        async with open_proxy(schema) as proxy:
            proxy.delay = 0.02
            async with (
                open_store(proxy.url) as store,
                open_supervisor(Toolbox(shop.tools), ledger=store.ledger, default_request_context=HER) as supervisor,
            ):
                told = [told_of(await shop.ask(supervisor, "k")) for _ in range(2)]

    assert (told, shop.entered) == (["fresh", "deduped"], ["k"])
    assert_calm(supervisor.report)


@pytest.mark.skipif(DSN in os.environ, reason="only a server of our own may be restarted")
@requirement("keeping.faults.back")
async def test_what_ran_while_the_server_was_restarted_is_recorded_when_it_is_back(schema: str) -> None:
    shop = Shop()
    with trio.fail_after(BOUND):
        async with (
            open_store(schema) as store,
            open_supervisor(Toolbox(shop.tools), ledger=store.ledger, default_request_context=HER) as supervisor,
        ):
            call = ToolCall("pay", {"name": "running", "waits": True})
            running = supervisor.start(call, idempotency_key="running")
            await shop.inside.wait()
            await trio.to_thread.run_sync(restart, schema)
            shop.gate.set()
            ran = await running.result()
            told = [told_of(await shop.ask(supervisor, "after")) for _ in range(2)]
            again = await supervisor.execute(call, idempotency_key="running")

    assert (told_of(ran), said_of(ran).recorded, told_of(again)) == ("fresh", True, "deduped")
    assert (told, shop.entered) == (["fresh", "deduped"], ["running", "after"])
    assert_calm(supervisor.report)


@requirement("keeping.faults")
async def test_over_a_file_that_is_read_only_nothing_begins_that_could_not_be_recorded(tmp_path: Path) -> None:
    directory = tmp_path / "files"
    directory.mkdir()
    path, shop = directory / "store.db", Shop()
    with trio.fail_after(BOUND):
        async with opened(shop, str(path)) as (supervisor, _):
            await shop.ask(supervisor, "before")
            # As long as somebody has it open, others can read it without the right to write.
            for each in directory.iterdir():
                each.chmod(0o444)
            with read_only(path):
                async with opened(shop, str(path)) as (other, _):
                    await under_the_fault(shop, other)
                assert_calm(other.report)
            for each in directory.iterdir():
                each.chmod(0o644)
            told = [told_of(await shop.ask(supervisor, key)) for key in ("before", "refused")]

    assert (told, shop.entered) == (["deduped", "fresh"], ["before", "refused"])


@requirement("keeping.faults", "keeping.faults.back")
async def test_on_a_disk_that_is_full_nothing_begins_that_could_not_be_recorded(tmp_path: Path) -> None:
    """The limit of a file's size is met where a full disk would be."""
    directory = tmp_path / "files"
    directory.mkdir()
    path, shop, results = directory / "store.db", Shop(), dict[str, ToolResult[object]]()
    with trio.fail_after(BOUND):
        async with opened(shop, str(path)) as (supervisor, _):
            await shop.ask(supervisor, "before")
            with full_disk(path):
                while not any(code_of(each) for each in results.values()):
                    key = f"long-{len(results)}"
                    call = ToolCall("pay", {"name": key, "note": "x" * 10_000})
                    results[key] = await supervisor.execute(call, idempotency_key=key)
                seen = await supervisor.execute(ToolCall("look"))
            told = [told_of(await shop.ask(supervisor, key)) for key in ("before", "after")]
        assert_calm(supervisor.report)

    *ran, refused = results.values()
    assert (code_of(refused), refused.effect, refused.attempts) == ("LEDGER_UNAVAILABLE", "none", 0)
    assert all((each.effect, each.attempts) == ("completed", 1) for each in ran)
    assert (seen.value, told) == ("seen", ["deduped", "fresh"])
    assert shop.entered == ["before", *list(results)[:-1], "after"]
