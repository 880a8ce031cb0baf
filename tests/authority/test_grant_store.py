"""Stores of grants: the published suite, stores that break its rules, and one kept in memory against a model of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Final, TypeVar

import msgspec
import pytest
import trio
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from armory_trio import GrantError
from armory_trio.authority.grants import Grant, GrantState, GrantStore, MemoryGrants, Reservation
from armory_trio.testing import GrantStoreCase, StoreClock, grant_store_cases
from tests.requirements import requirement

T = TypeVar("T")

CASES: Final = grant_store_cases()


def grant(
    id: str = "grant:1", *, principal: str = "ann", uses: int = 1, now: float = 0.0, until: float = 10.0
) -> Grant:
    return Grant(
        id=id,
        principal=principal,
        tenant="acme",
        agent="*",
        tool_name="read_file",
        tool_definition_revision="d1",
        scope="principal",
        issued_at=now,
        expires_at=until,
        max_uses=uses,
        policy_revision="policy:1",
    )


def at_once(operation: Coroutine[object, object, T]) -> T:
    """What *operation* returns; it must not wait, not even for a checkpoint."""
    try:
        operation.send(None)
    except StopIteration as ended:
        answer: T = ended.value
        return answer
    raise AssertionError("it waits")


# ── The published suite ──────────────────────────────────────────────────────────────────────────────────────────────


@asynccontextmanager
async def in_memory(clock: Callable[[], float]) -> AsyncGenerator[GrantStore]:
    yield MemoryGrants(clock)


@requirement("grants.stores", "grants.revoked", "grants.conformance")
@pytest.mark.parametrize("case", CASES)
async def test_grants_in_memory_are_a_grant_store(case: GrantStoreCase) -> None:
    await case(in_memory)


class Kept(msgspec.Struct, eq=False):
    """What `OddStore` knows of one grant."""

    grant: Grant
    left: int
    revoked: bool = False
    held: dict[int, bool] = msgspec.field(default_factory=dict[int, bool])


class OddStore:
    """Another `GrantStore`, which waits wherever it may; right in everything, unless it has a fault."""

    def __init__(self, clock: Callable[[], float], fault: str = "") -> None:
        self.clock = clock
        self.latest = 0.0
        self.fault = fault
        self.kept: dict[str, Kept] = {}
        self.numbers = 0
        self.lock = trio.Lock()

    def now(self) -> float:
        self.latest = self.clock() if self.fault == "goes back" else max(self.latest, self.clock())
        return self.latest

    def _over(self, kept: Kept) -> bool:
        late = {"expires late": -0.001, "expires early": 0.002}.get(self.fault, 0.0)
        return kept.grant.expires_at <= self.now() + late

    async def _begin(self) -> None:
        """Wait for one's turn; nothing is changed before. What is changed after it is not to be cancelled."""
        if self.fault == "no turns":
            await trio.lowlevel.checkpoint()
        else:
            await self.lock.acquire()

    async def _between(self) -> None:
        """Other tasks run between looking and changing."""
        await trio.lowlevel.cancel_shielded_checkpoint()

    def _end(self) -> None:
        if self.fault != "no turns":
            self.lock.release()

    async def issue(self, grant: Grant) -> None:
        await self._begin()
        try:
            known = grant.id in self.kept and self.fault != "issues again"
            await self._between()
            if known:
                raise GrantError("invalid-binding", "known")
            if grant.expires_at <= self.now():
                raise GrantError("expired", "expired")
            self.kept[grant.id] = Kept(grant, grant.max_uses)
        finally:
            self._end()

    async def get(self, id: str, /) -> Grant | None:
        await trio.lowlevel.checkpoint()
        kept = self.kept.get(id)
        return None if kept is None or self._over(kept) or self.fault == "finds nothing" else kept.grant

    async def list(
        self,
        *,
        principal: str | None = None,
        tenant: str | None = None,
        agent: str | None = None,
        tool_name: str | None = None,
    ) -> Sequence[GrantState]:
        await trio.lowlevel.checkpoint()
        asked = {"principal": principal, "tenant": tenant, "agent": agent, "tool_name": tool_name}
        asked.pop(self.fault.removeprefix("lists any "), None)
        return [
            GrantState(kept.grant, kept.left, kept.revoked)
            for kept in self.kept.values()
            if not self._over(kept)
            and all(wanted is None or getattr(kept.grant, field) == wanted for field, wanted in asked.items())
        ]

    async def reserve(self, id: str, /) -> Reservation:
        if self.fault == "loses what is cancelled" and id in self.kept:
            self.kept[id].left -= 1
            await trio.lowlevel.checkpoint()
            self.kept[id].left += 1
        await self._begin()
        try:
            kept = self._usable(id)
            left = kept.left
            await self._between()
            if left < 1:
                raise GrantError("already-consumed", "used up")
            kept.left = left - 1
            self.numbers += 0 if self.fault == "one number" else 1
            kept.held[self.numbers] = False
            return Reservation(id, self.numbers, kept.left)
        finally:
            self._end()

    async def commit(self, reservation: Reservation, /) -> None:
        await self._begin()
        try:
            kept = self.kept.get(reservation.grant_id)
            if kept is None or reservation.number not in kept.held:
                if self.fault == "commits anything":
                    return
                raise GrantError("not-found", "not held")
            if self.fault == "charges each commit":
                kept.left -= 1
            if not kept.held[reservation.number]:
                if self.fault != "commits what was revoked":
                    self._usable(reservation.grant_id)
                kept.held[reservation.number] = True
        finally:
            self._end()

    async def release(self, reservation: Reservation, /) -> None:
        await self._begin()
        try:
            kept = self.kept.get(reservation.grant_id)
            if kept is None or self.fault == "gives nothing back":
                return
            committed = kept.held.get(reservation.number)
            await self._between()
            if self.fault == "gives back twice" or (
                committed is not None and not (committed and self.fault == "keeps what was committed")
            ):
                kept.held.pop(reservation.number, None)
                kept.left += 1
        finally:
            self._end()

    async def spend(self, id: str, /) -> int:
        reservation = await self.reserve(id)
        await self.commit(reservation)
        return reservation.uses_remaining + (self.fault == "answers what was left")

    async def revoke(self, id: str, /) -> None:
        await self._begin()
        try:
            if id in self.kept:
                self.kept[id].revoked = self.fault != "revokes nothing"
            elif self.fault == "must know what it revokes":
                raise GrantError("not-found", "unknown")
        finally:
            self._end()

    def _usable(self, id: str) -> Kept:
        if id not in self.kept:
            raise GrantError("not-found", "unknown")
        if self.kept[id].revoked:
            raise GrantError("revoked", "revoked")
        if self._over(self.kept[id]):
            raise GrantError("expired", "expired")
        return self.kept[id]


async def failing(fault: str) -> set[str]:
    """The cases that a store of this fault fails."""

    @asynccontextmanager
    async def odd(clock: Callable[[], float]) -> AsyncGenerator[GrantStore]:
        yield OddStore(clock, fault)

    names: set[str] = set()
    for case in CASES:
        try:
            await case(odd)
        except (AssertionError, GrantError):
            names.add(case.name.replace("-", " "))
    return names


@requirement("grants.conformance")
async def test_a_store_that_waits_and_keeps_the_rules_passes() -> None:
    assert await failing("") == set()


FAULTS: Final = {
    "no turns": {
        "of many that spend at once, as many win as there are uses",
        "of many that reserve at once, as many win as there are uses",
        "of many that reserve and release at once, none loses a use or holds one too many",
        "of many that release one reservation at once, one gives it back",
        "of many that issue one grant at once, one does",
    },
    "expires late": {"what has expired is neither shown nor usable"},
    "expires early": {"what has expired is neither shown nor usable"},
    "goes back": {"what has expired never comes back, whatever the clock does"},
    "issues again": {"a grant is issued once, and issuing it again changes nothing"},
    "finds nothing": {"what was issued is found with all of its uses"},
    "lists any tenant": {"a list shows exactly the grants that were asked for"},
    "lists any agent": {"a list shows exactly the grants that were asked for"},
    "lists any tool_name": {"a list shows exactly the grants that were asked for"},
    "loses what is cancelled": {"a reservation that is cancelled loses no use"},
    "one number": {"each reservation takes one use, and there are no more than that"},
    "commits anything": {"an unknown id is not found, and revoking it is no error"},
    "charges each commit": {"a commit keeps the use, and a release gives it back even then"},
    "commits what was revoked": {"a reservation of a grant that was revoked is not committed"},
    "gives nothing back": {"a release gives the use of its reservation back, once"},
    "gives back twice": {"a release gives the use of its reservation back, once"},
    "keeps what was committed": {"a commit keeps the use, and a release gives it back even then"},
    "answers what was left": {"spending answers what is left, down to nothing"},
    "revokes nothing": {"what was revoked is never usable again", "nobody spends a grant after it was revoked"},
    "must know what it revokes": {"an unknown id is not found, and revoking it is no error"},
}
"""Faults of `OddStore`, and cases that each of them must fail."""


@requirement("grants.conformance")
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_store_with_a_fault_fails_a_case(fault: str) -> None:
    assert await failing(fault) >= FAULTS[fault]


@requirement("grants.conformance")
def test_every_case_is_failed_by_some_store() -> None:
    assert {case.name.replace("-", " ") for case in CASES} == {name for names in FAULTS.values() for name in names}


# ── In memory ────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("grants.forgotten")
def test_a_grant_expires_at_its_instant() -> None:
    store = MemoryGrants(clock := StoreClock(0.0))
    at_once(store.issue(grant(uses=2)))
    clock.seconds = 9.999
    assert at_once(store.spend("grant:1")) == 1

    clock.seconds = 10.0
    with pytest.raises(GrantError, match="expired: the grant 'grant:1' has expired"):
        at_once(store.spend("grant:1"))
    assert (at_once(store.get("grant:1")), at_once(store.list())) == (None, ())


@requirement("grants.forgotten")
def test_a_clock_that_goes_back_revives_nothing() -> None:
    store = MemoryGrants(clock := StoreClock(0.0))
    at_once(store.issue(grant()))
    clock.seconds = 10.0
    assert at_once(store.get("grant:1")) is None

    clock.seconds = 5.0
    assert store.now() == 10.0
    with pytest.raises(GrantError, match="expired"):
        at_once(store.spend("grant:1"))
    at_once(store.issue(grant("grant:2", until=20.0)))
    with pytest.raises(GrantError, match="expired"):
        at_once(store.issue(grant()))


@requirement("grants.forgotten")
def test_what_has_expired_takes_no_room() -> None:
    store = MemoryGrants(clock := StoreClock(0.0))
    for one in range(100):
        at_once(store.issue(grant(f"grant:{one}", principal=f"principal:{one}", until=one + 1.0, uses=2)))
        at_once(store.reserve(f"grant:{one}"))
        clock.seconds = one + 1.0

    assert (len(store), bool(store), bool(MemoryGrants())) == (1, True, True)
    assert len(store._principals) == 1  # pyright: ignore[reportPrivateUsage]  # it shows nowhere else
    assert len(store._expiries) == 1  # pyright: ignore[reportPrivateUsage]  # likewise
    with pytest.raises(GrantError, match="not-found"):
        at_once(store.spend("grant:0"))


@requirement("grants.forgotten", "grants.stores")
def test_a_reservation_from_before_fits_no_later_grant_of_the_same_id() -> None:
    store = MemoryGrants(clock := StoreClock(0.0))
    at_once(store.issue(grant()))
    old = at_once(store.reserve("grant:1"))
    clock.seconds = 10.0
    at_once(store.issue(grant(now=10.0, until=20.0)))
    at_once(store.reserve("grant:1"))
    at_once(store.release(old))

    with pytest.raises(GrantError, match="already-consumed"):
        at_once(store.reserve("grant:1"))
    with pytest.raises(GrantError, match="not-found"):
        at_once(store.commit(old))


@requirement("grants.forgotten")
def test_a_clock_that_goes_back_lets_no_grant_live_longer() -> None:
    store = MemoryGrants(clock := StoreClock(100.0))
    at_once(store.issue(grant(now=100.0, until=110.0, uses=9)))
    clock.seconds = 50.0
    at_once(store.spend("grant:1"))

    clock.seconds = 59.9
    at_once(store.spend("grant:1"))
    clock.seconds = 60.0
    with pytest.raises(GrantError, match="expired"):
        at_once(store.spend("grant:1"))


@requirement("grants.forgotten")
@pytest.mark.parametrize("broken", [float("nan"), float("inf"), -1.0])
def test_while_the_clock_says_no_time_no_grant_counts(broken: float) -> None:
    store = MemoryGrants(clock := StoreClock(0.0))
    at_once(store.issue(grant(uses=2)))
    reservation = at_once(store.reserve("grant:1"))
    clock.seconds = broken

    for use in (store.spend("grant:1"), store.commit(reservation), store.issue(grant("grant:2"))):
        with pytest.raises(GrantError, match=r"expired: .* counts for nothing while the clock says no time"):
            at_once(use)
    assert (at_once(store.get("grant:1")), at_once(store.list())) == (None, ())
    clock.seconds = 5.0
    assert at_once(store.spend("grant:1")) == 0


@requirement("grants.stores")
def test_a_list_is_of_that_moment() -> None:
    store = MemoryGrants(StoreClock(0.0))
    at_once(store.issue(grant(uses=2)))
    before = at_once(store.list())
    at_once(store.spend("grant:1"))
    at_once(store.revoke("grant:1"))

    assert before == (GrantState(grant(uses=2), 2, revoked=False),)
    assert at_once(store.list()) == (GrantState(grant(uses=2), 1, revoked=True),)


class Known(msgspec.Struct, eq=False):
    """What the model knows of a grant: which of its reservations are out, and what was spent without one."""

    grant: Grant
    revoked: bool = False
    spent: int = 0
    reserved: set[int] = msgspec.field(default_factory=set[int])
    committed: set[int] = msgspec.field(default_factory=set[int])

    @property
    def left(self) -> int:
        return self.grant.max_uses - self.spent - len(self.reserved) - len(self.committed)


class Grants(RuleBasedStateMachine):
    """`MemoryGrants` against what its operations must have left behind, with a clock that jumps both ways."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = StoreClock(10_000.0)
        self.latest = 10_000.0
        self.store: GrantStore = MemoryGrants(self.clock)
        self.known: dict[str, Known] = {}
        self.made: list[Reservation] = []

    def code_of(self, operation: Coroutine[object, object, object]) -> str | None:
        try:
            at_once(operation)
        except GrantError as error:
            return error.code
        return None

    def over(self, known: Known) -> bool:
        return known.grant.expires_at <= self.latest

    def unusable(self, known: Known) -> set[str | None]:
        """Codes with which it may be refused; empty if it is usable."""
        codes: set[str | None] = {"expired", "not-found"} if self.over(known) else set()
        if known.revoked:
            codes.add("revoked")
        return codes

    def some(self, data: st.DataObject) -> Known:
        return self.known[data.draw(st.sampled_from(sorted(self.known)))]

    @rule(uses=st.integers(1, 3), life=st.integers(1, 30))
    def issue(self, uses: int, life: int) -> None:
        made = grant(f"grant:{len(self.known)}", uses=uses, now=self.latest, until=self.latest + life)
        at_once(self.store.issue(made))
        self.known[made.id] = Known(made)

    @precondition(lambda self: self.known)
    @rule(data=st.data())
    def issue_again(self, data: st.DataObject) -> None:
        known = self.some(data)
        allowed = {"invalid-binding", "expired"} if self.over(known) else {"invalid-binding"}
        assert self.code_of(self.store.issue(known.grant)) in allowed

    @precondition(lambda self: self.known)
    @rule(data=st.data())
    def reserve(self, data: st.DataObject) -> None:
        known = self.some(data)
        if refused := self.unusable(known) or (set() if known.left else {"already-consumed"}):
            assert self.code_of(self.store.reserve(known.grant.id)) in refused
            return
        reservation = at_once(self.store.reserve(known.grant.id))
        assert reservation not in self.made
        known.reserved.add(reservation.number)
        self.made.append(reservation)
        assert (reservation.grant_id, reservation.uses_remaining) == (known.grant.id, known.left)

    @precondition(lambda self: self.known)
    @rule(data=st.data())
    def spend(self, data: st.DataObject) -> None:
        known = self.some(data)
        if refused := self.unusable(known) or (set() if known.left else {"already-consumed"}):
            assert self.code_of(self.store.spend(known.grant.id)) in refused
            return
        known.spent += 1
        assert at_once(self.store.spend(known.grant.id)) == known.left

    @precondition(lambda self: self.made)
    @rule(data=st.data())
    def commit(self, data: st.DataObject) -> None:
        reservation = data.draw(st.sampled_from(self.made))
        known = self.known[reservation.grant_id]
        code = self.code_of(self.store.commit(reservation))
        if reservation.number in known.committed:
            assert code is None or self.over(known)
        elif reservation.number in known.reserved:
            refused = self.unusable(known)
            assert code in (refused or {None})
            if not refused:
                known.reserved.remove(reservation.number)
                known.committed.add(reservation.number)
        else:
            assert code == "not-found"

    @precondition(lambda self: self.made)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        reservation = data.draw(st.sampled_from(self.made))
        at_once(self.store.release(reservation))
        known = self.known[reservation.grant_id]
        known.reserved.discard(reservation.number)
        known.committed.discard(reservation.number)

    @precondition(lambda self: self.known)
    @rule(data=st.data())
    def revoke(self, data: st.DataObject) -> None:
        known = self.some(data)
        at_once(self.store.revoke(known.grant.id))
        known.revoked = True

    @rule(seconds=st.integers(-20, 20))
    def pass_time(self, seconds: int) -> None:
        self.clock.seconds += seconds
        self.latest += max(0, seconds)

    @invariant()
    def the_store_knows_what_the_model_knows(self) -> None:
        there = [known for known in self.known.values() if not self.over(known)]
        assert self.store.now() == self.latest
        assert list(at_once(self.store.list())) == [
            GrantState(known.grant, known.left, known.revoked) for known in there
        ]
        for known in self.known.values():
            assert 0 <= known.left <= known.grant.max_uses
            assert at_once(self.store.get(known.grant.id)) == (None if self.over(known) else known.grant)


TestGrants = requirement("grants.stores", "grants.revoked", "grants.forgotten")(Grants.TestCase)
