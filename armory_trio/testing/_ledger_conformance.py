"""What every `LedgerStore` has to do, as cases that its tests run against it."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final, TypeVar, cast

import trio
from msgspec.structs import replace

from ..ledger import (
    Answer,
    Attempt,
    AttemptState,
    Claim,
    CloseWindow,
    Complete,
    Done,
    FenceLost,
    Fresh,
    LedgerKey,
    LedgerStore,
    MarkUnknown,
    OpenWindow,
    Operation,
    Recorded,
    Renew,
    Running,
    Start,
    Unknown,
    aged,
    apply,
    key_text,
    may_be_forgotten,
)
from ._grant_trials import require
from ._ledger_trials import BEFORE, CAP, LEASE, MOMENT, RECEIPT, Step, before, new_claim, operations, resolve
from ._store_case import NO_NUMBER, NO_TEXT, OpenStore, StoreCase, require_refused
from ._store_clock import StoreClock

_CROWD: Final = 32
"""Tasks that want the same thing at once: more than the connections of a pool, so that some have to queue."""

_ODD: Final = "odd ' \" % \\ ; -- \n \u00e9 \U0001f512 end"
"""Text that must come back as it was, wherever it is written."""

OpenLedgerStore = OpenStore[LedgerStore]
"""Opens a new, empty store that reads the clock that it is given, in seconds since 1970, and closes it."""

_Check = Callable[[LedgerStore, StoreClock], Awaitable[None]]
_T = TypeVar("_T")


LedgerStoreCase = StoreCase[LedgerStore]
"""One thing that such a store has to do: a name for reports, and a check that is tried with an empty store."""


def ledger_store_cases() -> tuple[LedgerStoreCase, ...]:
    """Everything that a store of attempts has to do.

    Hand them to ``pytest.mark.parametrize("case", ledger_store_cases())``; the test is ``await case(open_my_store)``.
    They share nothing, and take no time but that of the store.
    """
    cells: list[tuple[str, _Check]] = [
        (f"every operation on what is {name} does what the rules say", partial(_cells, name)) for name in BEFORE
    ]
    return tuple(LedgerStoreCase(name.replace(" ", "-"), check) for name, check in (*cells, *_CASES))


# ── Every operation on everything that can be there ──────────────────────────────────────────────────────────────────


async def _cells(name: str, store: LedgerStore, clock: StoreClock) -> None:
    for fence in ("a", "b"):
        for index in range(len(operations(new_claim()))):
            claim = new_claim()
            operation = operations(replace(claim, attempt_id=fence))[index]
            await _follow(store, clock, (*before(claim)[name], operation))


async def _follow(store: LedgerStore, clock: StoreClock, steps: Sequence[Step]) -> Attempt | None:
    """Take the steps, and compare each answer, and what is there afterwards, with what the rules say."""
    row: Attempt | None = None
    for step in steps:
        if isinstance(step, int | float):
            clock.seconds += step
            continue
        row, wanted = apply(row, step, clock.seconds)
        answer = await store.apply(step)
        require(answer == wanted, f"{step} is answered with {answer}, not {wanted}")
        found = await store.load(key_text(step))
        shown = None if row is None else aged(row, clock.seconds)
        require(found == shown, f"after {step} {found} is there, not {shown}")
    return row


# ── Leases and fences ────────────────────────────────────────────────────────────────────────────────────────────────


async def _leases(store: LedgerStore, clock: StoreClock) -> None:
    claim, started = new_claim(), new_claim()
    for operation in (claim, started, Start(started.key.text, "a")):
        await store.apply(operation)
    clock.seconds += LEASE - MOMENT
    for held in (claim, started):
        answer = await store.apply(replace(held, attempt_id="b"))
        require(isinstance(answer, Running), f"a moment before the end of its lease an attempt counts for {answer}")
    clock.seconds += MOMENT
    shown = await store.load(started.key.text)
    require(
        shown is not None and shown.state == "unknown", "load shows a started attempt as live when its lease is over"
    )
    listed = [row.key for row in await store.list(states=["unknown"])]
    require(listed == [started.key.text], "list(states=['unknown']) leaves out one whose lease is over")
    require(not await store.list(states=["started"]), "list(states=['started']) shows one whose lease is over")
    require(
        len(await store.list(states=["claimed"])) == 1, "list(states=['claimed']) leaves out one whose lease is over"
    )
    taken = await store.apply(replace(claim, attempt_id="b"))
    require(isinstance(taken, Fresh) and taken.attempt.number == 2, f"an unstarted attempt is not taken over: {taken}")
    lost = await store.apply(replace(started, attempt_id="b"))
    require(isinstance(lost, Unknown), f"a started attempt whose lease is over counts for {lost}")


async def _never_back(store: LedgerStore, clock: StoreClock) -> None:
    claim, late = new_claim(), new_claim()
    for operation in (claim, Start(claim.key.text, "a"), late):
        await store.apply(operation)
    clock.seconds += LEASE
    seen = store.now()
    await store.apply(replace(late, attempt_id="b"))
    clock.seconds -= LEASE
    require(store.now() >= seen, "the time goes back when the clock does")
    answer = await store.apply(Complete(claim.key.text, "a", "completed", "1"))
    require(isinstance(answer, FenceLost), f"a lease that was over is live again when the clock goes back: {answer}")
    shown = await store.load(claim.key.text)
    require(shown is not None and shown.state == "unknown", "a lease that was over is shown as live again")


async def _fences(store: LedgerStore, clock: StoreClock) -> None:
    claim = new_claim()
    await store.apply(claim)
    clock.seconds += LEASE
    await store.apply(replace(claim, attempt_id="b"))
    await store.apply(Start(claim.key.text, "b"))
    there = await store.load(claim.key.text)
    for operation in operations(claim):
        if not isinstance(operation, Claim):
            answer = await store.apply(operation)
            require(answer == FenceLost(there), f"an attempt that was taken over can do {operation}: {answer}")
    require(await store.load(claim.key.text) == there, "an attempt that was taken over changes the one that is there")


# ── Many at once ─────────────────────────────────────────────────────────────────────────────────────────────────────


async def _race(store: LedgerStore, operations: Sequence[Operation]) -> list[Answer]:
    answers: list[Answer] = []

    async def do(operation: Operation) -> None:
        await trio.lowlevel.checkpoint()
        answers.append(await store.apply(operation))

    async with trio.open_nursery() as nursery:
        for operation in operations:
            nursery.start_soon(do, operation, name="armory_trio.testing: one operation of a race")
    return answers


def _one(answers: Sequence[Answer], kind: type[_T], others: type[Answer]) -> _T:
    """The only answer of its kind; all others must be of the other."""
    winners = [answer for answer in answers if isinstance(answer, kind)]
    rest = [answer for answer in answers if not isinstance(answer, kind)]
    require(len(winners) == 1, f"of {len(answers)} at once, {len(winners)} are answered with {kind.__name__}, not one")
    require(all(isinstance(answer, others) for answer in rest), f"those that lose a race are answered with {rest}")
    return winners[0]


async def _one_claims(store: LedgerStore, _clock: StoreClock) -> None:
    claim = new_claim()
    crowd = [replace(claim, attempt_id=f"a{number}") for number in range(_CROWD)]
    fresh = _one(await _race(store, crowd), Fresh, Running)
    require(await store.load(claim.key.text) == fresh.attempt, "the attempt that is there is not that of the winner")


async def _one_takes_over(store: LedgerStore, clock: StoreClock) -> None:
    claim = new_claim()
    await store.apply(claim)
    clock.seconds += LEASE
    crowd = [replace(claim, attempt_id=f"b{number}") for number in range(_CROWD)]
    answers = await _race(store, [*crowd, Start(claim.key.text, "a")])
    lost = [answer for answer in answers if isinstance(answer, FenceLost)]
    require(len(lost) == 1, "an attempt whose lease is over is started while it is taken over")
    fresh = _one([answer for answer in answers if answer not in lost], Fresh, Running)
    require(fresh.attempt.number == 2, f"the attempt that took over is number {fresh.attempt.number}, not 2")


async def _one_renews_or_takes(store: LedgerStore, clock: StoreClock) -> None:
    for _ in range(_CROWD // 4):
        claim = new_claim()
        await store.apply(claim)
        clock.seconds += LEASE
        answers = await _race(store, [Renew(claim.key.text, "a", LEASE), replace(claim, attempt_id="b")])
        kinds = {type(answer) for answer in answers}
        require(kinds in ({Done, Running}, {FenceLost, Fresh}), f"renewing against taking over ends as {answers}")


async def _one_retries(store: LedgerStore, _clock: StoreClock) -> None:
    claim = new_claim()
    for operation in (claim, Start(claim.key.text, "a"), MarkUnknown(claim.key.text, "a")):
        await store.apply(operation)
    crowd = [resolve(claim, "retry", by=replace(claim, attempt_id=f"b{number}")) for number in range(_CROWD)]
    fresh = _one(await _race(store, crowd), Fresh, FenceLost)
    require(fresh.attempt.receipt == RECEIPT, "the attempt that was let through does not keep its receipt")


async def _all_are_counted(store: LedgerStore, _clock: StoreClock) -> None:
    claim = replace(new_claim(), windows_declared=True)
    key = claim.key.text
    for operation in (claim, Start(key, "a")):
        await store.apply(operation)
    await _race(store, [OpenWindow(key, "a")] * _CROWD)
    row = await store.load(key)
    require(row is not None and row.open_windows == _CROWD, f"{_CROWD} windows that open at once are not all counted")
    await _race(store, [CloseWindow(key, "a", "nothing-happened")] * _CROWD)
    row = await store.load(key)
    require(row is not None and row.windows == "unopened", f"{_CROWD} windows that close at once are not all counted")


async def _many_keys(store: LedgerStore, _clock: StoreClock) -> None:
    claims = [new_claim(f"a{number}") for number in range(_CROWD)]
    await _race(store, claims)
    await _race(store, [Start(claim.key.text, claim.attempt_id) for claim in claims])
    ends = [Complete(claim.key.text, claim.attempt_id, "completed", str(index)) for index, claim in enumerate(claims)]
    answers = await _race(store, ends)
    require(all(isinstance(answer, Done) for answer in answers), "attempts of many keys hinder each other")
    for index, claim in enumerate(claims):
        row = await store.load(claim.key.text)
        require(row is not None and row.result == str(index), "attempts of many keys get each other's results")


async def _cancelled(store: LedgerStore, _clock: StoreClock) -> None:
    claim, answer = new_claim(), None
    with trio.CancelScope() as scope:
        scope.cancel()
        answer = await store.apply(claim)
    row = await store.load(claim.key.text)
    if row is not None:
        require(answer in (None, Fresh(row)), "load does not tell what a cancelled claim did")
    else:
        require(answer is None, "a claim that was answered is not there")
        again = await store.apply(claim)
        require(isinstance(again, Fresh), f"a claim that was cancelled stands in the way of the next: {again}")


# ── Keeping, listing, forgetting ─────────────────────────────────────────────────────────────────────────────────────


async def _kept_exactly(store: LedgerStore, _clock: StoreClock) -> None:
    key = LedgerKey(_ODD, _ODD, _ODD)
    claim = replace(new_claim(key=key, host=_ODD), tool_name=_ODD, arguments=f'"{"x" * 200_000}"', execution_id=_ODD)
    claim = replace(claim, policy_revision=_ODD, attempt_id=_ODD)
    for operation in (claim, Start(key.text, _ODD), Complete(key.text, _ODD, "completed", f'"{"y" * 200_000}"')):
        answer = await store.apply(operation)
        require(isinstance(answer, Fresh | Done), f"odd text is answered with {type(answer).__name__}")
    answer = await store.apply(claim)
    require(isinstance(answer, Recorded), "what was completed is not found again")
    row = await store.load(key.text)
    require(
        tuple(await store.list(tenant=_ODD, tool_name=_ODD, host=_ODD)) == (row,), "odd text is not found by a list"
    )
    require(row is not None and (row.tool_name, row.arguments) == (_ODD, claim.arguments), "odd text is changed")


async def _keys_differ(store: LedgerStore, _clock: StoreClock) -> None:
    keys = [
        LedgerKey("a", "b", "c"),
        LedgerKey("a", "b", '","c'),
        LedgerKey("a", 'b","', "c"),
        LedgerKey("A", "b", "c"),
    ]
    keys += [LedgerKey("a", "b", "c "), LedgerKey("a", "b", "\u00e7"), LedgerKey("a", "b", "c\u0327")]
    for number, key in enumerate(keys):
        answer = await store.apply(new_claim(f"a{number}", key=key))
        require(isinstance(answer, Fresh), f"the key {key} is taken for another one")


async def _lists(store: LedgerStore, _clock: StoreClock) -> None:
    claims: list[Claim] = []
    for number, letter in enumerate("bZa_\u00e9fB\U0001f512"):
        claim = replace(
            new_claim(key=LedgerKey("acme" if number % 2 else "zeta", "t:x", letter)), host=f"h{number % 3}"
        )
        claims.append(replace(claim, tool_name=f"tool-{number % 2}"))
        await store.apply(claims[-1])
    wanted = sorted(claim.key.text for claim in claims)

    async def found(tenant: str | None = None, tool_name: str | None = None, host: str | None = None) -> set[str]:
        return {row.key for row in await store.list(tenant=tenant, tool_name=tool_name, host=host)}

    listed = [row.key for row in await store.list()]
    require(listed == wanted, f"list() gives {listed}, not {wanted}")
    for field, of in (("tenant", "acme"), ("tool_name", "tool-0"), ("host", "h1")):
        right = {claim.key.text for claim in claims if of in (claim.key.tenant, claim.tool_name, claim.host)}
        require(await found(**{field: of}) == right, f"list({field}=...) does not show exactly those that say the same")
    require(await found(tenant="acme", host="h1", tool_name="tool-0") == set(), "list() takes one of several filters")
    require(not await store.list(states=[]), "list(states=[]) shows something")
    pages: list[str] = []
    while page := await store.list(after=pages[-1] if pages else None, limit=3):
        pages += [row.key for row in page]
        require(len(page) <= 3, "list(limit=3) shows more than 3")
    require(pages == wanted, f"page by page a list gives {pages}, not {wanted}")


async def _forgets(store: LedgerStore, clock: StoreClock) -> None:
    for name in BEFORE:
        await _follow(store, clock, before(new_claim())[name])
    rows = await store.list()
    ended = [row for row in rows if may_be_forgotten(row)]
    last = max(row.ended_at or 0.0 for row in ended)
    older = [row for row in ended if (row.ended_at or 0.0) < last]
    clock.seconds += CAP
    future = store.now() + 1.0
    await require_refused({"to forget what will have ended": lambda: store.forget(ended_before=future)})
    count = await store.forget(ended_before=last)
    require(count == len(older), f"forget says {count}, and {len(older)} ended before the instant")
    kept = [row.key for row in await store.list()]
    require(kept == [row.key for row in rows if row not in older], "forget takes others than those that ended before")
    require(await store.forget(ended_before=clock.seconds) == len(ended) - len(older), "forget leaves some behind")
    kept = [row.key for row in await store.list()]
    require(kept == [row.key for row in rows if row not in ended], "forget takes what has not ended")


async def _wrong_types(store: LedgerStore, _clock: StoreClock) -> None:
    claim = new_claim()
    await store.apply(claim)
    await require_refused(
        {
            "what is no operation": lambda: store.apply(cast("Operation", "claim")),
            "an operation on a key that is no text": lambda: store.apply(Start(NO_TEXT, claim.attempt_id)),
            "a claim of a key that is no LedgerKey": lambda: store.apply(
                replace(claim, key=cast("LedgerKey", "key-1"))
            ),
            "the key of load()": lambda: store.load(NO_TEXT),
            "a word for states": lambda: store.list(states=cast("list[AttemptState]", "claimed")),
            "a state that there is not": lambda: store.list(states=cast("list[AttemptState]", ["bogus"])),
            "a tenant that is no text": lambda: store.list(tenant=NO_TEXT),
            "a tool name that is no text": lambda: store.list(tool_name=NO_TEXT),
            "a host that is no text": lambda: store.list(host=NO_TEXT),
            "a place to go on from that is no text": lambda: store.list(after=NO_TEXT),
            "a page of nothing": lambda: store.list(limit=0),
            "a limit that is no number": lambda: store.list(limit=NO_NUMBER),
            "an instant that is no number": lambda: store.forget(ended_before=NO_NUMBER),
            "an instant that is not a number": lambda: store.forget(ended_before=math.nan),
        }
    )
    require(len(await store.list()) == 1, "what is refused changes something")


_CASES: Final[tuple[tuple[str, _Check], ...]] = (
    ("a lease is live until the instant at which it ends", _leases),
    ("a lease that was over stays over, whatever the clock does", _never_back),
    ("an attempt that was taken over can do nothing", _fences),
    ("of many that claim one key at once, one gets it", _one_claims),
    ("of many that take over at once, one does, and the old one can't start", _one_takes_over),
    ("either the old attempt is renewed, or it is taken over", _one_renews_or_takes),
    ("of many that retry at once, one does", _one_retries),
    ("windows that open and close at once are all counted", _all_are_counted),
    ("attempts of different keys do not meet", _many_keys),
    ("a claim that is cancelled was made or was not", _cancelled),
    ("what is kept comes back as it was", _kept_exactly),
    ("keys that differ in anything are different keys", _keys_differ),
    ("a list shows exactly what was asked for, in order, page by page", _lists),
    ("only what has ended is forgotten", _forgets),
    ("what is of a wrong type is refused", _wrong_types),
)
