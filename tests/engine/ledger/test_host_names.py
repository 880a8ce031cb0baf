"""Many supervisors on one ledger: what one of them did is never taken for what another one is asked to do."""

from __future__ import annotations

import pytest

from armory_trio import Toolbox, ToolCall, open_supervisor, tool
from armory_trio.definitions._minting import Ids
from armory_trio.journal import Publication
from armory_trio.ledger import MemoryLedger
from armory_trio.storage.memory import MemoryJournal
from tests.requirements import requirement

paid: list[int] = []


@tool(effect={"class": "external-write", "targets": [{"kind": "service", "id": "bank"}]})
async def pay(cents: int) -> str:
    """Pay."""
    paid.append(cents)
    return f"receipt {len(paid)}"


def alike(_ids: Ids) -> str:
    return "a1b2c3d4"


@requirement("keeping.recovery-only")
async def test_a_call_without_a_key_is_never_told_what_one_of_another_supervisor_came_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    paid.clear()
    # Executions are numbered anew in each supervisor, and the few digits before the number repeat among many.
    monkeypatch.setattr(Ids, "of_supervisor", alike)
    ledger, journal = MemoryLedger(), MemoryJournal()
    results: list[object] = []
    for cents in (5, 5, 7):
        async with open_supervisor(Toolbox([pay]), ledger=ledger, journal=journal) as supervisor:
            results.append((await supervisor.execute(ToolCall("pay", {"cents": cents}))).value)

    assert paid == [5, 5, 7]
    assert results == ["receipt 1", "receipt 2", "receipt 3"]
    assert len(await ledger.list()) == 3
    published: list[Publication] = [entry.publication for entry in await journal.read(limit=1_000)]
    assert len({each.host for each in published}) == 3
