"""What every `GrantStore` has to do, as cases that its tests run against it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

import msgspec
import trio

from ..authority.grants import Grant, GrantState, GrantStore, Reservation
from ..errors import GrantError
from ._grant_trials import (
    all_at_once,
    issued_grant,
    new_grant,
    require,
    require_left,
    require_refused,
    state_of,
)
from ._store_case import OpenStore, StoreCase
from ._store_clock import StoreClock

_CROWD: Final = 32
"""Tasks that want the same thing at once: more than the connections of a pool, so that some have to queue."""

_ROUNDS: Final = 4
"""How often each of them tries, where one may try again."""

_MOMENT: Final = 0.001
"""Seconds before the expiry at which a grant must still count. Stores may keep times no finer than this."""


OpenGrantStore = OpenStore[GrantStore]
"""Opens a new, empty store that reads the clock that it is given, in seconds since 1970, and closes it."""

_Check = Callable[[GrantStore, StoreClock], Awaitable[None]]


GrantStoreCase = StoreCase[GrantStore]
"""One thing that such a store has to do: a name for reports, and a check that is tried with an empty store."""


def grant_store_cases() -> tuple[GrantStoreCase, ...]:
    """Everything that a store of grants has to do.

    Hand them to ``pytest.mark.parametrize("case", grant_store_cases())``; the test is ``await case(open_my_store)``.
    They share nothing, and take no time but that of the store.
    """
    return tuple(GrantStoreCase(name.replace(" ", "-"), check) for name, check in _CASES)


# ── The cases ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _is_found(store: GrantStore, _clock: StoreClock) -> None:
    grant = await issued_grant(store, uses=5)
    require(await store.get(grant.id) == grant, "get does not find the grant as it was issued")
    require(await state_of(store, grant) == GrantState(grant, 5, revoked=False), "list does not show all of its uses")


async def _is_issued_once(store: GrantStore, _clock: StoreClock) -> None:
    grant = await issued_grant(store)
    await store.spend(grant.id)
    await require_refused(store.issue(grant), "invalid-binding")
    other = msgspec.structs.replace(grant, max_uses=99)
    await require_refused(store.issue(other), "invalid-binding")
    await store.revoke(grant.id)
    await require_refused(store.issue(grant), "invalid-binding")
    require(await state_of(store, grant) == GrantState(grant, 2, revoked=True), "issuing again changes a grant")


async def _unknown_ids(store: GrantStore, _clock: StoreClock) -> None:
    unknown = new_grant(store).id
    require(await store.get(unknown) is None, "get finds a grant that was never issued")
    await require_refused(store.reserve(unknown), "not-found")
    await require_refused(store.spend(unknown), "not-found")
    await store.revoke(unknown)
    await store.release(Reservation(unknown, 1, 0))
    await require_refused(store.commit(Reservation(unknown, 1, 0)), "not-found")
    require(await store.get(unknown) is None, "revoking an unknown grant brings it into being")


async def _lists(store: GrantStore, _clock: StoreClock) -> None:
    mine = new_grant(store)
    variants = {
        "tenant": msgspec.structs.replace(mine, id=f"{mine.id}:tenant", tenant="other"),
        "agent": msgspec.structs.replace(mine, id=f"{mine.id}:agent", agent="*"),
        "tool_name": msgspec.structs.replace(mine, id=f"{mine.id}:tool", tool_name="other"),
    }
    for grant in (mine, *variants.values()):
        await store.issue(grant)
    stranger = await issued_grant(store)

    async def found(**asked: str) -> set[str]:
        return {state.grant.id for state in await store.list(**asked)}

    everything = {mine.id, *(grant.id for grant in variants.values())}
    require(await found(principal=mine.principal) == everything, "list(principal=...) shows something else")
    require(await found() >= {*everything, stranger.id}, "list() leaves grants out")
    for field, odd in variants.items():
        usual, other = (getattr(grant, field) for grant in (mine, odd))
        right = await found(principal=mine.principal, **{field: other}) == {odd.id}
        right = right and await found(principal=mine.principal, **{field: usual}) == everything - {odd.id}
        require(right, f"list({field}=...) does not show exactly the grants that say the same")


async def _reserves(store: GrantStore, _clock: StoreClock) -> None:
    grant = await issued_grant(store, uses=2)
    one, two = await store.reserve(grant.id), await store.reserve(grant.id)
    require((one.grant_id, two.grant_id) == (grant.id, grant.id), "a reservation names another grant")
    require(one.number != two.number, "two reservations have one number")
    require((one.uses_remaining, two.uses_remaining) == (1, 0), "reservations don't say what is left behind them")
    await require_refused(store.reserve(grant.id), "already-consumed")
    await require_refused(store.spend(grant.id), "already-consumed")
    await require_left(store, grant, 0)
    require(await store.get(grant.id) == grant, "get does not find a grant that is used up")


async def _releases(store: GrantStore, _clock: StoreClock) -> None:
    grant = await issued_grant(store, uses=2)
    one, two = await store.reserve(grant.id), await store.reserve(grant.id)
    for _ in range(2):
        await store.release(one)
        await require_left(store, grant, 1)
    three = await store.reserve(grant.id)
    require(three.number not in {one.number, two.number}, "the number of a reservation is used again")
    await store.release(one)
    await require_left(store, grant, 0)
    await require_refused(store.commit(one), "not-found")
    await require_left(store, grant, 0)


async def _commits(store: GrantStore, _clock: StoreClock) -> None:
    grant = await issued_grant(store, uses=2)
    one, two = await store.reserve(grant.id), await store.reserve(grant.id)
    for _ in range(2):
        await store.commit(one)
        await require_left(store, grant, 0)
    await require_refused(store.reserve(grant.id), "already-consumed")
    for _ in range(2):
        await store.release(one)
        await require_left(store, grant, 1)
    await require_refused(store.commit(one), "not-found")
    await store.commit(two)
    await require_left(store, grant, 1)


async def _spends(store: GrantStore, _clock: StoreClock) -> None:
    grant = await issued_grant(store, uses=3)
    require([await store.spend(grant.id) for _ in range(3)] == [2, 1, 0], "spend does not answer what is left")
    await require_refused(store.spend(grant.id), "already-consumed")
    await require_left(store, grant, 0)


async def _revokes(store: GrantStore, _clock: StoreClock) -> None:
    grant = await issued_grant(store)
    for _ in range(2):
        await store.revoke(grant.id)
        await require_refused(store.reserve(grant.id), "revoked")
        await require_refused(store.spend(grant.id), "revoked")
    require(await store.get(grant.id) == grant, "get does not find a grant that was revoked")
    require(await state_of(store, grant) == GrantState(grant, 3, revoked=True), "list does not say that it was revoked")


async def _revokes_reserved(store: GrantStore, _clock: StoreClock) -> None:
    grant = await issued_grant(store)
    committed, reserved = await store.reserve(grant.id), await store.reserve(grant.id)
    await store.commit(committed)
    await store.revoke(grant.id)
    await require_refused(store.commit(reserved), "revoked")
    await store.commit(committed)
    for _ in range(2):
        await store.release(reserved)
        await require_left(store, grant, 2)
    await require_refused(store.reserve(grant.id), "revoked")


async def _expires(store: GrantStore, clock: StoreClock) -> None:
    grant = await issued_grant(store, uses=5)
    committed, reserved, late = [await store.reserve(grant.id) for _ in range(3)]
    clock.seconds = grant.expires_at - _MOMENT
    await store.spend(grant.id)
    await store.commit(committed)
    require(await store.get(grant.id) == grant, "get does not find a grant that still counts")
    clock.seconds = grant.expires_at
    await _require_over(store, grant)
    await require_refused(store.commit(late), "expired", "not-found")
    for reservation in (committed, reserved):
        await store.release(reservation)
        await _require_over(store, grant)
    await store.revoke(grant.id)
    await require_refused(store.reserve(grant.id), "expired", "not-found", "revoked")


async def _never_revives(store: GrantStore, clock: StoreClock) -> None:
    grant = await issued_grant(store)
    reservation = await store.reserve(grant.id)
    clock.seconds = grant.expires_at
    await _require_over(store, grant)
    await require_refused(store.issue(grant), "expired", "invalid-binding")
    clock.seconds = grant.issued_at
    await _require_over(store, grant)
    await require_refused(store.commit(reservation), "expired", "not-found")
    await require_refused(store.issue(grant), "expired", "invalid-binding")
    await issued_grant(store)  # a store may take the opportunity to forget what has expired
    await require_refused(store.issue(grant), "expired", "invalid-binding")
    await _require_over(store, grant)


async def _require_over(store: GrantStore, grant: Grant) -> None:
    await require_refused(store.reserve(grant.id), "expired", "not-found")
    await require_refused(store.spend(grant.id), "expired", "not-found")
    require(await store.get(grant.id) is None, "get shows a grant that has expired")
    require(not await store.list(principal=grant.principal), "list shows a grant that has expired")


async def _one_wins(store: GrantStore, _clock: StoreClock) -> None:
    for uses in (1, 5):
        grant = await issued_grant(store, uses=uses)
        ends = await all_at_once([partial(store.spend, grant.id)] * _CROWD)
        wanted = {"done": uses, "already-consumed": _CROWD - uses}
        require(ends == wanted, f"{_CROWD} that want {uses} uses end as {ends}, not {wanted}")
        await require_left(store, grant, 0)


async def _reservations_race(store: GrantStore, _clock: StoreClock) -> None:
    grant = await issued_grant(store, uses=5)
    made: list[Reservation] = []

    async def reserve() -> None:
        made.append(await store.reserve(grant.id))

    ends = await all_at_once([reserve] * _CROWD)
    require(ends == {"done": 5, "already-consumed": _CROWD - 5}, f"{_CROWD} that reserve 5 uses end as {ends}")
    require(len({one.number for one in made}) == 5, "reservations that race have one number")
    require(sorted(one.uses_remaining for one in made) == [0, 1, 2, 3, 4], "reservations that race count alike")


async def _nothing_leaks(store: GrantStore, _clock: StoreClock) -> None:
    grant = await issued_grant(store, uses=3)
    held, most = 0, 0

    async def take_and_give_back() -> None:
        nonlocal held, most
        for turn in range(_ROUNDS):
            try:
                reservation = await store.reserve(grant.id)
            except GrantError as error:
                require(error.code == "already-consumed", f"a race for uses ends with {error.code}")
                continue
            held += 1
            most = max(most, held)
            await trio.lowlevel.checkpoint()
            if turn % 2:
                await store.commit(reservation)
            held -= 1
            await store.release(reservation)

    await all_at_once([take_and_give_back] * _CROWD)
    require(most <= 3, f"{most} hold one of 3 uses at once")
    await require_left(store, grant, 3)


async def _given_back_once(store: GrantStore, _clock: StoreClock) -> None:
    grant = await issued_grant(store, uses=5)
    reservation = await store.reserve(grant.id)
    await store.reserve(grant.id)
    await store.commit(reservation)
    await all_at_once([partial(store.release, reservation)] * _CROWD)
    await require_left(store, grant, 4)


async def _one_is_issued(store: GrantStore, _clock: StoreClock) -> None:
    grant = new_grant(store)
    ends = await all_at_once([partial(store.issue, grant)] * _CROWD)
    require(ends == {"done": 1, "invalid-binding": _CROWD - 1}, f"{_CROWD} that issue one grant end as {ends}")
    await require_left(store, grant, 3)


async def _nobody_after_revoking(store: GrantStore, _clock: StoreClock) -> None:
    grant = await issued_grant(store, uses=10_000)
    revoked = False

    async def revoke() -> None:
        nonlocal revoked
        await store.revoke(grant.id)
        revoked = True

    async def spend() -> None:
        while True:
            after = revoked
            await store.spend(grant.id)
            require(not after, "a grant is spent after it was revoked")
            await trio.lowlevel.checkpoint()

    ends = await all_at_once([*[spend] * _CROWD, revoke])
    require(ends == {"done": 1, "revoked": _CROWD}, f"a race against revoking ends as {ends}")
    await require_refused(store.spend(grant.id), "revoked")


async def _cancelled(store: GrantStore, _clock: StoreClock) -> None:
    grant = await issued_grant(store, uses=2)
    reservation: Reservation | None = None
    with trio.CancelScope() as scope:
        scope.cancel()
        reservation = await store.reserve(grant.id)
    await require_left(store, grant, 2 if reservation is None else 1)


_CASES: Final[tuple[tuple[str, _Check], ...]] = (
    ("what was issued is found with all of its uses", _is_found),
    ("a grant is issued once, and issuing it again changes nothing", _is_issued_once),
    ("an unknown id is not found, and revoking it is no error", _unknown_ids),
    ("a list shows exactly the grants that were asked for", _lists),
    ("each reservation takes one use, and there are no more than that", _reserves),
    ("a release gives the use of its reservation back, once", _releases),
    ("a commit keeps the use, and a release gives it back even then", _commits),
    ("spending answers what is left, down to nothing", _spends),
    ("what was revoked is never usable again", _revokes),
    ("a reservation of a grant that was revoked is not committed", _revokes_reserved),
    ("what has expired is neither shown nor usable", _expires),
    ("what has expired never comes back, whatever the clock does", _never_revives),
    ("of many that spend at once, as many win as there are uses", _one_wins),
    ("of many that reserve at once, as many win as there are uses", _reservations_race),
    ("of many that reserve and release at once, none loses a use or holds one too many", _nothing_leaks),
    ("of many that release one reservation at once, one gives it back", _given_back_once),
    ("of many that issue one grant at once, one does", _one_is_issued),
    ("nobody spends a grant after it was revoked", _nobody_after_revoking),
    ("a reservation that is cancelled loses no use", _cancelled),
)
