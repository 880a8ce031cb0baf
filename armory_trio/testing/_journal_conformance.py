"""What every `JournalStore` has to do, as cases that its tests run against it."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, cast

import trio
from msgspec.structs import replace

from ..journal import JournalEntry, JournalStore, Publication
from ._grant_trials import require
from ._store_case import NO_NUMBER, NO_TEXT, OpenStore, StoreCase, require_refused
from ._store_clock import StoreClock

_CROWD: Final = 32
"""Tasks that append at once: more than the connections of a pool, so that some have to queue."""

_ODD: Final = "odd ' \" % \\ ; -- \n \0 \ud800 \u00e9 \U0001f512 end"
"""Text that must come back as it was, wherever it is written."""

_MANY: Final = 600

OpenJournalStore = OpenStore[JournalStore]
"""Opens a new, empty store that reads the clock that it is given, in seconds since 1970, and closes it."""

_Check = Callable[[JournalStore, StoreClock], Awaitable[None]]


JournalStoreCase = StoreCase[JournalStore]
"""One thing that such a store has to do: a name for reports, and a check that is tried with an empty store."""


def journal_store_cases() -> tuple[JournalStoreCase, ...]:
    """Everything that a journal has to do.

    Hand them to ``pytest.mark.parametrize("case", journal_store_cases())``; the test is ``await case(open_my_store)``.
    They share nothing, and take no time but that of the store.
    """
    return tuple(JournalStoreCase(name.replace(" ", "-"), check) for name, check in _CASES)


def _made(number: int, *, execution: str = "e-1", host: str = "host-1", at: float = 1_000.0) -> Publication:
    return Publication(at, host, execution, number, f'{{"revision":{number}}}')


async def _all(store: JournalStore, *, limit: int = 100, execution_id: str | None = None) -> list[JournalEntry]:
    """Every entry, page by page, with what must be true of any list looked at."""
    found: list[JournalEntry] = []
    while True:
        after = found[-1].sequence if found else 0
        page = await store.read(after=after, limit=limit, execution_id=execution_id)
        require(len(page) <= limit, f"read(limit={limit}) shows {len(page)}")
        for entry in page:
            last = found[-1].sequence if found else 0
            require(entry.sequence > last, f"an entry of number {entry.sequence} comes after one of number {last}")
            found.append(entry)
        if len(page) < limit:
            return found


def _of(entries: Sequence[JournalEntry]) -> list[Publication]:
    return [entry.publication for entry in entries]


async def _in_order(store: JournalStore, _clock: StoreClock) -> None:
    require(not await store.read(), "an empty journal shows something")
    made = [_made(number, execution=f"e-{number % 3}") for number in range(10, 0, -1)]
    await store.append(made[:4])
    await store.append(())
    await store.append(made[4:])
    for limit in (1, 3, 10, 100):
        require(_of(await _all(store, limit=limit)) == made, f"in pages of {limit} entries are not in their order")


async def _once(store: JournalStore, _clock: StoreClock) -> None:
    first, second = _made(1), _made(2)
    await store.append((first, second, first))
    await store.append((second, _made(3)))
    require(_of(await _all(store)) == [first, second, _made(3)], "what is appended again is there twice, or not at all")
    before = await _all(store)
    await store.append((_made(1),))
    require(await _all(store) == before, "an entry that is appended again gets another number")
    others = [_made(1, host="host-2"), _made(1, execution="e-2")]
    await store.append(others)
    require(_of(await _all(store))[3:] == others, "another host, or another execution, is taken for the same one")


async def _of_one(store: JournalStore, _clock: StoreClock) -> None:
    names = ["e-1", "e-10", "E-1", "e-1 ", _ODD]
    made = [_made(number, execution=name) for number in range(1, 6) for name in names]
    await store.append(made)
    for name in names:
        wanted = [each for each in made if each.execution_id == name]
        found = await _all(store, limit=2, execution_id=name)
        require(_of(found) == wanted, f"read(execution_id={name!r}) does not show exactly what is of it")
    require(not await store.read(execution_id="nobody"), "an execution that nobody knows has entries")


async def _many_at_once(store: JournalStore, _clock: StoreClock) -> None:
    async def append(number: int) -> None:
        await trio.lowlevel.checkpoint()
        await store.append([_made(revision, host=f"host-{number}") for revision in range(1, 6)])

    async with trio.open_nursery() as nursery:
        for number in range(_CROWD):
            nursery.start_soon(append, number, name="armory_trio.testing: one that appends")
    found = await _all(store)
    require(len(found) == 5 * _CROWD, f"of {5 * _CROWD} that were appended at once {len(found)} are there")
    for number in range(_CROWD):
        mine = [entry.publication.revision for entry in found if entry.publication.host == f"host-{number}"]
        require(mine == [1, 2, 3, 4, 5], f"what was appended together is kept in the order {mine}")


async def _followed(store: JournalStore, _clock: StoreClock) -> None:
    seen: list[JournalEntry] = []
    over = trio.Event()

    async def follow() -> None:
        while True:
            last = over.is_set()
            page = await store.read(after=seen[-1].sequence if seen else 0, limit=7)
            seen.extend(page)
            await trio.lowlevel.checkpoint()
            if last and not page:
                return

    async def append(number: int) -> None:
        for revision in range(1, 6):
            await store.append([_made(revision, host=f"host-{number}")])
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as reading:
        reading.start_soon(follow, name="armory_trio.testing: one that follows")
        async with trio.open_nursery() as nursery:
            for number in range(_CROWD):
                nursery.start_soon(append, number, name="armory_trio.testing: one that appends")
        over.set()
    require(seen == await _all(store), "who goes on from the last number that it has seen misses entries")


async def _exactly(store: JournalStore, _clock: StoreClock) -> None:
    made = Publication(1_700_000_000.123456, _ODD, _ODD, 2**40, f'"{_ODD}{"x" * 100_000}"')
    await store.append([made])
    require(_of(await _all(store)) == [made], "odd text or long text is changed")


async def _forgets(store: JournalStore, clock: StoreClock) -> None:
    made = [_made(number, at=float(number)) for number in range(1, 11)]
    await store.append(made)
    last = (await _all(store))[-1].sequence
    count = await store.forget(before=4.0)
    require(count == 3, f"forget says {count}, and 3 were read before the instant")
    require(_of(await _all(store)) == made[3:], "forget takes others than those that were read before the instant")
    future = store.now() + 1.0
    await require_refused({"to forget what will have been read": lambda: store.forget(before=future)})
    require(await store.forget(before=clock.seconds) == 7, "forget leaves some behind")
    require(not await _all(store), "forget leaves some behind")
    await store.append([_made(11)])
    [entry] = await _all(store)
    require(entry.sequence > last, "a number that was forgotten is used again")


async def _forgets_many(store: JournalStore, _clock: StoreClock) -> None:
    await store.append([_made(number) for number in range(1, _MANY + 1)])
    count = await store.forget(before=1_001.0)
    require(count == _MANY, f"of {_MANY} entries {count} are forgotten")
    require(not await _all(store), "of many some are left behind")


async def _never_back(store: JournalStore, clock: StoreClock) -> None:
    await store.append([_made(1)])
    clock.seconds += 100.0
    await store.append([_made(2)])
    seen = store.now()
    clock.seconds -= 50.0
    await store.append([_made(3)])
    require(store.now() >= seen, "the time goes back when the clock does")


async def _cancelled(store: JournalStore, _clock: StoreClock) -> None:
    made, answered = [_made(number) for number in range(1, 6)], False
    with trio.CancelScope() as scope:
        scope.cancel()
        await store.append(made)
        answered = True
    found = _of(await _all(store))
    require(found in ([], made), f"of a batch that was cancelled {len(found)} of {len(made)} are kept")
    require(bool(found) or not answered, "a batch that was answered is not there")
    await store.append(made)
    require(_of(await _all(store)) == made, "a batch that was cancelled can't be appended again")


async def _wrong_types(store: JournalStore, _clock: StoreClock) -> None:
    made = _made(1)
    await store.append([made])
    await require_refused(
        {
            "what is no list of publications": lambda: store.append(cast("list[Publication]", 5)),
            "what is no publication": lambda: store.append([_made(2), cast("Publication", {})]),
            "a time that is no number": lambda: store.append([replace(made, at=NO_NUMBER, revision=2)]),
            "a host that is no text": lambda: store.append([replace(made, host=NO_TEXT)]),
            "an execution that is no text": lambda: store.append([replace(made, execution_id=NO_TEXT)]),
            "a revision that is no number": lambda: store.append([replace(made, revision=NO_NUMBER)]),
            "a snapshot that is no text": lambda: store.append([replace(made, snapshot=NO_TEXT, revision=2)]),
            "a place to go on from that is no number": lambda: store.read(after=NO_NUMBER),
            "a place before the first": lambda: store.read(after=-1),
            "a page of nothing": lambda: store.read(limit=0),
            "a limit that is no number": lambda: store.read(limit=NO_NUMBER),
            "an execution to read that is no text": lambda: store.read(execution_id=NO_TEXT),
            "an instant that is no number": lambda: store.forget(before=NO_NUMBER),
            "an instant that is not a number": lambda: store.forget(before=math.nan),
        }
    )
    require(_of(await _all(store)) == [made], "what is refused changes something")


_CASES: Final[tuple[tuple[str, _Check], ...]] = (
    ("entries come in their order, page by page", _in_order),
    ("what is appended again is kept once", _once),
    ("an execution has exactly its own entries", _of_one),
    ("what many append at once is all kept", _many_at_once),
    ("who follows misses none", _followed),
    ("what is kept comes back as it was", _exactly),
    ("only what is older than the instant is forgotten", _forgets),
    ("any number is forgotten", _forgets_many),
    ("what is of a wrong type is refused", _wrong_types),
    ("the time never goes back", _never_back),
    ("a batch that is cancelled was kept or was not", _cancelled),
)
