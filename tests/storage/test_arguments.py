"""What is of a wrong type is refused by every store, in memory and in a database, and changes nothing."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Final, cast

import attrs
import pytest

from armory_trio import DefinitionError
from armory_trio.authority.grants import GrantStore
from armory_trio.buckets import BucketStore, Rate
from armory_trio.journal import JournalStore, Publication
from armory_trio.ledger import AttemptState, Complete, LedgerKey, LedgerStore, Operation, Renew, Start
from armory_trio.storage.memory import MemoryBuckets, MemoryGrants, MemoryJournal, MemoryLedger
from armory_trio.storage.sql import open_store
from tests.requirements import requirement

from .deeds import claim, grant

INSTANT: Final = "must be seconds since 1970, such as store.now() - 30 * 24 * 3600, not "


@attrs.frozen
class Kept:
    """The stores that are asked."""

    ledger: LedgerStore
    journal: JournalStore
    buckets: BucketStore
    grants: GrantStore


@asynccontextmanager
async def in_memory(_path: Path) -> AsyncGenerator[Kept]:
    yield Kept(MemoryLedger(), MemoryJournal(), MemoryBuckets(), MemoryGrants())


@asynccontextmanager
async def in_a_database(path: Path) -> AsyncGenerator[Kept]:
    async with open_store(path / "store.db") as store:
        yield Kept(store.ledger, store.journal, store.buckets, store.grants)


opened = pytest.mark.parametrize("opening", [in_memory, in_a_database], ids=["memory", "database"])
Opening = Callable[[Path], AbstractAsyncContextManager[Kept]]
Ask = Callable[[Kept], Awaitable[object]]


async def fill(kept: Kept) -> None:
    """An attempt that has ended, an entry and a grant."""
    await kept.ledger.apply(claim("key-1", "a"))
    key = claim("key-1", "a").key.text
    await kept.ledger.apply(Start(key, "a"))
    await kept.ledger.apply(Complete(key, "a", "completed", "1"))
    await kept.journal.append([Publication(1.0, "host", "execution", 1, "{}")])
    await kept.grants.issue(grant("grant-1", kept.grants.now()))


async def counts(kept: Kept) -> tuple[int, int, int]:
    """How much is kept of each."""
    return len(await kept.ledger.list()), len(await kept.journal.read()), len(await kept.grants.list())


NO_INSTANTS: Final = {
    "text": "30d",
    "a number as text": "30",
    "a span": timedelta(days=30),
    "a date": datetime(2026, 9, 1, tzinfo=UTC),
    "none": None,
    "a truth": True,
    "no number": math.nan,
    "bytes": b"30",
    "a decimal": Decimal(30),
    "a list": [30.0],
}


@requirement("storage.arguments")
@opened
@pytest.mark.parametrize("given", NO_INSTANTS.values(), ids=NO_INSTANTS)
async def test_what_is_no_instant_forgets_nothing(given: object, opening: Opening, tmp_path: Path) -> None:
    async with opening(tmp_path) as kept:
        await fill(kept)

        with pytest.raises(DefinitionError) as attempts:
            await kept.ledger.forget(ended_before=cast("float", given))
        with pytest.raises(DefinitionError) as entries:
            await kept.journal.forget(before=cast("float", given))

        assert (attempts.value.subject, attempts.value.field) == ("ledger", "ended_before")
        assert (entries.value.subject, entries.value.field) == ("journal", "before")
        for caught in (attempts, entries):
            assert caught.value.reason.startswith(f"{INSTANT}{repr(given)[:20]}")
        assert await counts(kept) == (1, 1, 1)


@requirement("storage.arguments")
@opened
@pytest.mark.parametrize("large", [math.inf, 10**400], ids=["infinite", "huge"])
async def test_every_number_that_is_over_is_an_instant_however_large(
    large: float, opening: Opening, tmp_path: Path
) -> None:
    async with opening(tmp_path) as kept:
        await fill(kept)

        assert await kept.ledger.forget(ended_before=-large) == await kept.journal.forget(before=-large) == 0


@requirement("storage.arguments")
@opened
@pytest.mark.parametrize("ahead", [60.0, math.inf, 10**400], ids=["a minute", "infinite", "huge"])
async def test_what_would_forget_what_has_only_just_been_done_is_refused(
    ahead: float, opening: Opening, tmp_path: Path
) -> None:
    async with opening(tmp_path) as kept:
        await fill(kept)
        instant = kept.ledger.now() + ahead if ahead == 60.0 else ahead

        with pytest.raises(DefinitionError, match="ended_before: must not be in the future"):
            await kept.ledger.forget(ended_before=instant)
        with pytest.raises(DefinitionError, match="before: must not be in the future"):
            await kept.journal.forget(before=instant)
        assert await counts(kept) == (1, 1, 1)


STATES: Final = "claimed, started, completed, unknown, abandoned"
WRONG: Final[dict[str, tuple[Ask, str]]] = {
    "states are one text": (
        lambda kept: kept.ledger.list(states=cast("list[AttemptState]", "unknown")),
        "ledger: states: must be a list of words, such as ['claimed'], not 'unknown'",
    ),
    "a state is none": (
        lambda kept: kept.ledger.list(states=cast("list[AttemptState]", ["bogus"])),
        f"ledger: states: 'bogus' is not one of {STATES}",
    ),
    "a state is misspelt": (
        lambda kept: kept.ledger.list(states=cast("list[AttemptState]", ["unknow"])),
        f"ledger: states: 'unknow' is not one of {STATES} (did you mean 'unknown'?)",
    ),
    "a state is a number": (
        lambda kept: kept.ledger.list(states=cast("list[AttemptState]", [5])),
        f"ledger: states: 5 is not one of {STATES}",
    ),
    "states are a number": (
        lambda kept: kept.ledger.list(states=cast("list[AttemptState]", 5)),
        "ledger: states: must be a list of words, such as ['claimed'], not 5",
    ),
    "a tenant": (
        lambda kept: kept.ledger.list(tenant=cast("str", 5)),
        "ledger: tenant: must be text, or None for any, not 5",
    ),
    "a tool name": (
        lambda kept: kept.ledger.list(tool_name=cast("str", b"pay")),
        "ledger: tool_name: must be text, or None for any, not b'pay'",
    ),
    "a host": (
        lambda kept: kept.ledger.list(host=cast("str", ["host-1"])),
        "ledger: host: must be text, or None for any, not ['host-1']",
    ),
    "where the ledger goes on": (
        lambda kept: kept.ledger.list(after=cast("str", 3)),
        "ledger: after: must be text, or None for any, not 3",
    ),
    "no limit": (
        lambda kept: kept.ledger.list(limit=0),
        "ledger: limit: must be a whole number from 1 on, not 0",
    ),
    "a limit below none": (
        lambda kept: kept.ledger.list(limit=-1),
        "ledger: limit: must be a whole number from 1 on, not -1",
    ),
    "a limit that is no number": (
        lambda kept: kept.ledger.list(limit=cast("int", None)),
        "ledger: limit: must be a whole number from 1 on, not None",
    ),
    "a key": (
        lambda kept: kept.ledger.load(cast("str", LedgerKey("acme", "default:charge@1", "key-1"))),
        "ledger: key_text: must be text, not LedgerKey(",
    ),
    "an operation": (
        lambda kept: kept.ledger.apply(cast("Operation", "claim")),
        "ledger: operation: must be one of Claim, Renew, Start,",
    ),
    "a kind of operation": (
        lambda kept: kept.ledger.apply(cast("Operation", Start)),
        "ledger: operation: must be one of Claim, Renew, Start,",
    ),
    "the key of an operation": (
        lambda kept: kept.ledger.apply(Start(cast("str", None), "a")),
        "ledger: key_text: must be text, not None",
    ),
    "the key of a claim": (
        lambda kept: kept.ledger.apply(_keyed_by_text()),
        "ledger: key: must be a LedgerKey, not 'key-1'",
    ),
    "the host of a claim": (
        lambda kept: kept.ledger.apply(claim("key-2", "b", host=cast("str", None))),
        "Claim: host: must be text, not None",
    ),
    "the lease of a claim": (
        lambda kept: kept.ledger.apply(claim("key-2", "b", lease=cast("float", "30"))),
        "Claim: lease: must be a number of seconds above 0, not '30'",
    ),
    "the lease of a renewal": (
        lambda kept: kept.ledger.apply(Renew(claim("key-1", "a").key.text, "a", cast("float", timedelta(1)))),
        "Renew: lease: must be a number of seconds above 0, not datetime.timedelta(",
    ),
    "a journal's limit below none": (
        lambda kept: kept.journal.read(limit=-1),
        "journal: limit: must be a whole number from 1 on, not -1",
    ),
    "a journal's limit in parts": (
        lambda kept: kept.journal.read(limit=cast("int", 2.5)),
        "journal: limit: must be a whole number from 1 on, not 2.5",
    ),
    "where the journal goes on": (
        lambda kept: kept.journal.read(after=cast("int", "0")),
        "journal: after: must be a whole number from 0 on, not '0'",
    ),
    "before the journal": (
        lambda kept: kept.journal.read(after=-1),
        "journal: after: must be a whole number from 0 on, not -1",
    ),
    "an execution": (
        lambda kept: kept.journal.read(execution_id=cast("str", 7)),
        "journal: execution_id: must be text, or None for any, not 7",
    ),
    "publications": (
        lambda kept: kept.journal.append(cast("list[Publication]", 5)),
        "journal: publications: must be a list of Publication objects, not 5",
    ),
    "a publication": (
        lambda kept: kept.journal.append(
            [Publication(2.0, "host", "execution", 2, "{}"), cast("Publication", {"at": 1.0})]
        ),
        "journal: publications[1]: must be a Publication, not {'at': 1.0}",
    ),
    "when it was published": (
        lambda kept: kept.journal.append([Publication(cast("float", "now"), "host", "execution", 2, "{}")]),
        f"journal: publications[0].at: {INSTANT}'now'",
    ),
    "what was published": (
        lambda kept: kept.journal.append([Publication(2.0, "host", cast("str", 5), 2, "{}")]),
        "journal: publications[0].execution_id: must be text, not 5",
    ),
    "which revision was published": (
        lambda kept: kept.journal.append([Publication(2.0, "host", "execution", cast("int", "2"), "{}")]),
        "journal: publications[0].revision: must be a whole number from 0 on, not '2'",
    ),
    "a bucket": (
        lambda kept: kept.buckets.take(cast("str", 5), Rate(1.0, 1)),
        "buckets: bucket: must be text, not 5",
    ),
    "a rate": (
        lambda kept: kept.buckets.take("b", cast("Rate", 5)),
        "buckets: rate: must be a Rate, not 5",
    ),
    "an interval": (
        lambda kept: kept.buckets.take("b", Rate(cast("float", timedelta(1)), 1)),
        "buckets: rate.interval: must be a number of seconds above 0, not datetime.timedelta(",
    ),
    "a burst": (
        lambda kept: kept.buckets.take("b", Rate(1.0, cast("int", "5"))),
        "buckets: rate.burst: must be a whole number from 1 on, not '5'",
    ),
    "tokens": (
        lambda kept: kept.buckets.take("b", Rate(1.0, 1), 0),
        "buckets: most: must be a whole number from 1 on, not 0",
    ),
    "a principal": (
        lambda kept: kept.grants.list(principal=cast("str", 5)),
        "grants: principal: must be text, or None for any, not 5",
    ),
    "an agent": (
        lambda kept: kept.grants.list(agent=cast("str", ["agent-1"])),
        "grants: agent: must be text, or None for any, not ['agent-1']",
    ),
    "a grant": (lambda kept: kept.grants.get(cast("str", 5)), "grants: id: must be text, not 5"),
    "a grant to use": (lambda kept: kept.grants.spend(cast("str", None)), "grants: id: must be text, not None"),
    "a grant to revoke": (lambda kept: kept.grants.revoke(cast("str", 5)), "grants: id: must be text, not 5"),
}


def _keyed_by_text() -> Operation:
    made = claim("key-1", "b")
    return type(made)(
        key=cast("LedgerKey", "key-1"),
        tool_name=made.tool_name,
        attempt_id=made.attempt_id,
        arguments=made.arguments,
        execution_id=made.execution_id,
        host=made.host,
        policy_revision=made.policy_revision,
        lease=made.lease,
        cap=made.cap,
    )


@requirement("storage.arguments")
@opened
@pytest.mark.parametrize(("ask", "said"), WRONG.values(), ids=WRONG)
async def test_what_is_of_a_wrong_type_is_named_and_changes_nothing(
    ask: Ask, said: str, opening: Opening, tmp_path: Path
) -> None:
    async with opening(tmp_path) as kept:
        await fill(kept)

        with pytest.raises(DefinitionError) as caught:
            await ask(kept)

        assert str(caught.value).startswith(said)
        assert await counts(kept) == (1, 1, 1)


@requirement("storage.arguments")
@opened
async def test_what_is_large_or_empty_or_read_once_is_taken_as_it_is(opening: Opening, tmp_path: Path) -> None:
    async with opening(tmp_path) as kept:
        await fill(kept)

        assert len(await kept.ledger.list(limit=10**30)) == len(await kept.journal.read(limit=10**30)) == 1
        assert await kept.journal.read(after=10**30) == ()
        assert await kept.ledger.list(states=[]) == ()
        once = cast("list[AttemptState]", (state for state in ("unknown", "completed")))
        assert len(await kept.ledger.list(states=once)) == 1


@requirement("storage.arguments")
async def test_every_kind_of_database_takes_the_largest_numbers(where: str) -> None:
    async with open_store(where) as store:
        kept = Kept(store.ledger, store.journal, store.buckets, store.grants)
        await fill(kept)

        assert len(await kept.ledger.list(limit=10**30)) == len(await kept.journal.read(limit=10**30)) == 1
        assert await kept.journal.read(after=10**30) == ()
        assert await kept.ledger.forget(ended_before=-math.inf) == await kept.journal.forget(before=-math.inf) == 0
        for everything in (math.inf, 10**400):
            with pytest.raises(DefinitionError):
                await kept.ledger.forget(ended_before=everything)


@requirement("storage.options")
async def test_a_clock_that_cannot_be_asked_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        DefinitionError, match="store: clock: must be a function that answers seconds since 1970, not 5"
    ):
        async with open_store(tmp_path / "store.db", clock=cast("Callable[[], float]", 5)):
            raise AssertionError("it is open")
    assert not (tmp_path / "store.db").exists()
