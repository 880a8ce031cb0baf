from __future__ import annotations

import math
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Final, TypeVar, cast, get_args

import pytest
import trio
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule
from msgspec import structs

from armory_trio import ApprovalError
from armory_trio.authority.approvals import (
    REFUSALS,
    TRANSITIONS,
    ApprovalOperation,
    ApprovalState,
    ApprovalStore,
    MemoryApprovals,
    new_binding,
    transition,
)
from armory_trio.definitions import ApprovalBinding, ApprovalScope
from armory_trio.testing import ApprovalStoreCase, StoreClock, approval_store_cases
from tests.requirements import requirement

T = TypeVar("T")
START: Final = 1_800_000_000.0
SCOPE: Final = ApprovalScope(
    principal="ann",
    tenant="acme",
    audience="tenant",
    agent="agent-1",
    run="run-1",
    toolbox_revision="toolbox:1",
    tool_definition_revision="d" * 64,
    policy_revision="policy:1",
    approval_revision="approval:1",
    catalog_revision="catalog:1",
    action_digest="a" * 64,
)
OPERATIONS: Final[tuple[ApprovalOperation, ...]] = get_args(ApprovalOperation)
STATES: Final[tuple[ApprovalState | None, ...]] = (None, *get_args(ApprovalState))
CASES: Final = approval_store_cases()


def approval(nonce: str = "n", *, now: float = START, lifetime: float = 300.0) -> ApprovalBinding:
    return new_binding(SCOPE, now=now, lifetime=lifetime, nonce=nonce)


async def code_of(doing: Awaitable[object]) -> str | None:
    try:
        await doing
    except ApprovalError as error:
        return error.code
    return None


def at_once(doing: Coroutine[object, object, T]) -> T:
    """What *doing* answers without waiting for anything."""
    try:
        doing.send(None)
    except StopIteration as end:
        return cast("T", end.value)
    raise AssertionError("it waited")


# ── What every store has to do ───────────────────────────────────────────────────────────────────────────────────────


@asynccontextmanager
async def in_memory(clock: Callable[[], float]) -> AsyncGenerator[ApprovalStore]:
    yield MemoryApprovals(clock)


@requirement("approvals.store.conformance")
@pytest.mark.parametrize("case", CASES)
async def test_the_store_in_memory_does_what_every_store_has_to(case: ApprovalStoreCase) -> None:
    await case(in_memory)


class Faulty:
    """A store in memory, to be made worse."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.good = MemoryApprovals(clock)

    def now(self) -> float:
        return self.good.now()

    async def issue(self, binding: ApprovalBinding, /) -> None:
        await self.good.issue(binding)

    async def reserve(self, binding: ApprovalBinding, scope: ApprovalScope, /) -> None:
        await self.good.reserve(binding, scope)

    async def commit(self, binding: ApprovalBinding, /) -> None:
        await self.good.commit(binding)

    async def release(self, binding: ApprovalBinding, /) -> None:
        await self.good.release(binding)

    async def consume(self, binding: ApprovalBinding, scope: ApprovalScope, /) -> None:
        await self.good.consume(binding, scope)

    async def revoke(self, binding: ApprovalBinding, /) -> None:
        await self.good.revoke(binding)

    async def state(self, binding: ApprovalBinding, /) -> ApprovalState | None:
        return await self.good.state(binding)


class AnotherClock(Faulty):
    def now(self) -> float:
        return START + 5


class HidesReservations(Faulty):
    async def state(self, binding: ApprovalBinding, /) -> ApprovalState | None:
        found = await super().state(binding)
        return None if found == "reserved" else found


class LosersFindNothing(Faulty):
    async def reserve(self, binding: ApprovalBinding, scope: ApprovalScope, /) -> None:
        if await self.good.state(binding) == "reserved":
            raise ApprovalError("not-found", "it is not there")
        await super().reserve(binding, scope)


class LooksAndThenLeaps(Faulty):
    """Takes a moment between looking and writing, so that several may look before one writes."""

    async def consume(self, binding: ApprovalBinding, scope: ApprovalScope, /) -> None:
        found = await self.good.state(binding)
        await trio.lowlevel.checkpoint()
        if found == "issued" and await self.good.state(binding) == "consumed":
            return
        await super().consume(binding, scope)


class ReservesForAll(Faulty):
    async def reserve(self, binding: ApprovalBinding, scope: ApprovalScope, /) -> None:
        found = await self.good.state(binding)
        await trio.lowlevel.checkpoint()
        if found == "issued" and await self.good.state(binding) == "reserved":
            return
        await super().reserve(binding, scope)


class CommitsForAll(Faulty):
    async def commit(self, binding: ApprovalBinding, /) -> None:
        if await self.good.state(binding) != "consumed":
            await super().commit(binding)


class CommitsLate(Faulty):
    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(clock)
        self.reserved: set[str] = set()

    async def reserve(self, binding: ApprovalBinding, scope: ApprovalScope, /) -> None:
        await super().reserve(binding, scope)
        self.reserved.add(binding.nonce)

    async def commit(self, binding: ApprovalBinding, /) -> None:
        if binding.nonce not in self.reserved or self.clock() < binding.expires_at:
            await super().commit(binding)


class NeverGivesBack(Faulty):
    async def release(self, binding: ApprovalBinding, /) -> None:
        if await self.good.state(binding) != "consumed":
            await super().release(binding)


class RevokesNothingInFlight(Faulty):
    async def revoke(self, binding: ApprovalBinding, /) -> None:
        if await self.good.state(binding) != "reserved":
            await super().revoke(binding)


class IsNotAskedFor(Faulty):
    async def reserve(self, binding: ApprovalBinding, scope: ApprovalScope, /) -> None:
        await super().reserve(binding, binding.scope)


class KnowsOnlyTheKey(Faulty):
    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(clock)
        self.first: dict[tuple[str, str, str], ApprovalBinding] = {}

    async def issue(self, binding: ApprovalBinding, /) -> None:
        await super().issue(binding)
        self.first[binding.key] = binding

    async def commit(self, binding: ApprovalBinding, /) -> None:
        await super().commit(self.first.get(binding.key, binding))


class ForgetsTheTenant(Faulty):
    async def issue(self, binding: ApprovalBinding, /) -> None:
        await super().issue(one_tenant(binding))

    async def state(self, binding: ApprovalBinding, /) -> ApprovalState | None:
        return await super().state(one_tenant(binding))


def one_tenant(binding: ApprovalBinding) -> ApprovalBinding:
    return structs.replace(binding, scope=structs.replace(binding.scope, tenant="all"))


class BelievesItsClock(Faulty):
    """Starts anew, with all that it had, when the clock goes back."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(clock)
        self.latest = clock()

    async def issue(self, binding: ApprovalBinding, /) -> None:
        if self.clock() < self.latest:
            self.good = MemoryApprovals(self.clock)
        await super().issue(binding)

    async def reserve(self, binding: ApprovalBinding, scope: ApprovalScope, /) -> None:
        self.latest = max(self.latest, self.clock())
        await super().reserve(binding, scope)


class TakesAnything(Faulty):
    async def issue(self, binding: ApprovalBinding, /) -> None:
        if binding.version == 1:
            await super().issue(binding)


class CountsAMomentTooLong(Faulty):
    async def reserve(self, binding: ApprovalBinding, scope: ApprovalScope, /) -> None:
        if self.clock() != binding.expires_at:
            await super().reserve(binding, scope)


@requirement("approvals.store.suite")
@pytest.mark.parametrize("faulty", Faulty.__subclasses__())
async def test_the_suite_finds_each_store_that_does_something_else(faulty: type[Faulty]) -> None:
    @asynccontextmanager
    async def opened(clock: Callable[[], float]) -> AsyncGenerator[ApprovalStore]:
        yield faulty(clock)

    told: list[str] = []
    for case in CASES:
        try:
            await case(opened)
        except AssertionError as error:
            told.append(str(error))

    assert told != []
    assert all(told)


@requirement("approvals.store.suite")
async def test_the_suite_finds_nothing_in_a_store_that_only_passes_everything_on() -> None:
    @asynccontextmanager
    async def opened(clock: Callable[[], float]) -> AsyncGenerator[ApprovalStore]:
        yield Faulty(clock)

    for case in CASES:
        await case(opened)


@requirement("approvals.store.suite")
def test_every_case_has_a_name_of_its_own_that_test_reports_show() -> None:
    names = Counter(case.__name__ for case in CASES)

    assert {"reserve-one-that-is-reserved", "of-many-that-consume-one-does"} <= names.keys()
    assert [name for name, count in names.items() if count > 1 or " " in name] == []


# ── The table ────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("approvals.store.table")
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("state", STATES)
def test_every_operation_in_every_state_leads_somewhere_or_is_refused(
    operation: ApprovalOperation, state: ApprovalState | None
) -> None:
    assert (state in TRANSITIONS[operation]) is not (state in REFUSALS[operation])


@requirement("approvals.store.table")
def test_nothing_but_a_release_leads_back_and_nothing_leads_out_of_revoked() -> None:
    steps = {
        (operation, before, after)
        for operation, row in TRANSITIONS.items()
        for before, after in row.items()
        if before != after
    }

    assert {operation for operation, before, _ in steps if before == "consumed"} == {"release"}
    assert [step for step in steps if step[1] == "revoked"] == []
    assert {operation for operation, _, after in steps if after == "consumed"} == {"commit", "consume"}


@requirement("approvals.store.table")
def test_a_refusal_says_what_the_approval_is_doing() -> None:
    with pytest.raises(ApprovalError) as caught:
        transition("reserve", "reserved")

    assert (caught.value.code, caught.value.detail) == ("in-flight", "it is being used at this moment")


# ── The store in memory ──────────────────────────────────────────────────────────────────────────────────────────────


@requirement("approvals.store.memory")
async def test_what_has_expired_is_forgotten_in_whatever_state() -> None:
    clock = StoreClock(START)
    store = MemoryApprovals(clock)
    bindings = [approval(f"n{index}", lifetime=10 + index % 2) for index in range(40)]
    for index, binding in enumerate(bindings):
        await store.issue(binding)
        if index % 4:
            await store.reserve(binding, SCOPE)
        if index % 4 == 2:
            await store.commit(binding)
        if index % 4 == 3:
            await store.revoke(binding)
    sizes = [len(store)]
    for seconds in (9.0, 10.0, 11.0):
        clock.seconds = START + seconds
        await store.state(approval("another"))
        sizes.append(len(store))

    assert sizes == [40, 40, 20, 0]
    assert store  # an empty store is one all the same, for whoever writes `store or ...`


@requirement("approvals.store.memory")
async def test_a_stream_of_approvals_takes_no_more_room_than_those_of_one_lifetime() -> None:
    clock = StoreClock(START)
    store = MemoryApprovals(clock)
    most = 0
    for index in range(500):
        clock.seconds += 1
        await store.issue(approval(f"n{index}", now=store.now(), lifetime=10))
        most = max(most, len(store))

    assert most == 10


@requirement("approvals.store.clock")
async def test_the_time_is_wall_time_unless_the_host_says_otherwise() -> None:
    store = MemoryApprovals()
    binding = approval(now=store.now())
    await store.issue(binding)

    assert store.now() > 1_700_000_000
    assert await store.state(binding) == "issued"


@requirement("approvals.store.clock")
def test_a_clock_that_goes_back_goes_on_from_the_latest_time() -> None:
    clock = StoreClock(START)
    store = MemoryApprovals(clock)
    seen: list[float] = []
    for seconds in (0, 100, 40, 40, 50, -1000, -990, -500):
        clock.seconds = START + seconds
        seen.append(store.now() - START)

    assert seen == [0, 100, 100, 100, 110, 110, 120, 610]


@requirement("approvals.store.clock")
async def test_a_clock_that_went_back_makes_nothing_live_longer() -> None:
    clock = StoreClock(START)
    store = MemoryApprovals(clock)
    binding = approval(lifetime=10)
    await store.issue(binding)
    clock.seconds -= 3600
    assert await store.state(binding) == "issued"
    clock.seconds += 10

    assert await store.state(binding) is None
    assert await code_of(store.consume(binding, SCOPE)) == "expired"


@requirement("approvals.store.clock")
async def test_a_clock_that_jumped_ahead_and_came_back_brings_nothing_back() -> None:
    clock = StoreClock(START)
    store = MemoryApprovals(clock)
    old = approval("old")
    await store.issue(old)
    clock.seconds += 1e6
    store.now()
    clock.seconds -= 1e6
    new = approval("new", now=store.now())
    await store.issue(new)

    assert await code_of(store.issue(old)) == "expired"
    assert await code_of(store.consume(old, SCOPE)) == "expired"
    assert await code_of(store.consume(new, SCOPE)) is None


@requirement("approvals.store.broken-clock")
@pytest.mark.parametrize("reading", [math.nan, math.inf, -math.inf])
async def test_while_the_clock_says_no_time_approvals_can_only_be_revoked(reading: float) -> None:
    clock = StoreClock(START)
    store = MemoryApprovals(clock)
    free, reserved, used = approval("free"), approval("reserved"), approval("used")
    for binding in (free, reserved, used):
        await store.issue(binding)
    await store.reserve(reserved, SCOPE)
    clock.seconds = reading
    codes = [
        await code_of(doing)
        for doing in (
            store.issue(approval("more")),
            store.reserve(free, SCOPE),
            store.consume(free, SCOPE),
            store.commit(reserved),
            store.revoke(free),
        )
    ]
    clock.seconds = START + 1

    assert codes == ["invalid-binding"] * 4 + [None]
    assert store.now() == START + 1
    assert [await store.state(binding) for binding in (free, reserved, used)] == ["revoked", "reserved", "issued"]


@requirement("approvals.store.checkpoints")
async def test_an_operation_is_done_though_its_task_is_cancelled() -> None:
    store = MemoryApprovals(StoreClock(START))
    with trio.CancelScope() as scope:
        scope.cancel()
        await store.issue(approval())
        await store.reserve(approval(), SCOPE)
        await store.commit(approval())

    assert await store.state(approval()) == "consumed"


# ── Against a model ──────────────────────────────────────────────────────────────────────────────────────────────────


class Approved:
    """What the model knows of one approval."""

    def __init__(self, binding: ApprovalBinding) -> None:
        self.binding = binding
        self.state = "issued"
        self.uses = 0  # commits that were not taken back
        self.dead = False  # revoked, or seen to be expired


class Machine(RuleBasedStateMachine):
    """Random hosts with a random clock. The model has words, not the tables of the store."""

    known = Bundle[Approved]("known")

    def __init__(self) -> None:
        super().__init__()
        self.clock = StoreClock(START)
        self.store = MemoryApprovals(self.clock)
        self.time = self.store.now()
        self.all: list[Approved] = []

    def settle(self, one: Approved) -> bool:
        """Whether *one* has expired; from then on it is dead."""
        expired = self.store.now() >= one.binding.expires_at
        if expired:
            one.state, one.dead = "expired", True
        return expired

    def attempt(self, doing: Coroutine[object, object, None]) -> str | None:
        try:
            at_once(doing)
        except ApprovalError as error:
            return error.code
        return None

    @rule(seconds=st.sampled_from([0.0, 0.5, 1.0, 4.0, 10.0, 1e7]))
    def time_passes(self, seconds: float) -> None:
        before = self.store.now()
        self.clock.seconds += seconds

        assert self.store.now() - before == pytest.approx(seconds)

    @rule(seconds=st.sampled_from([0.5, 5.0, 60.0, 1e7]))
    def the_clock_goes_back(self, seconds: float) -> None:
        before = self.store.now()
        self.clock.seconds -= seconds

        assert self.store.now() == before

    @rule(target=known, lifetime=st.sampled_from([1.0, 5.0, 20.0]))
    def issue(self, lifetime: float) -> Approved:
        made = Approved(approval(f"n{len(self.all)}", now=self.store.now(), lifetime=lifetime))
        self.all.append(made)

        assert self.attempt(self.store.issue(made.binding)) is None
        return made

    @rule(one=known)
    def issue_again(self, one: Approved) -> None:
        assert self.attempt(self.store.issue(one.binding)) == ("expired" if self.settle(one) else "already-consumed")

    @rule(one=known)
    def reserve(self, one: Approved) -> None:
        self.take(one, self.store.reserve(one.binding, SCOPE), "reserved")

    @rule(one=known)
    def consume(self, one: Approved) -> None:
        self.take(one, self.store.consume(one.binding, SCOPE), "consumed")

    def take(self, one: Approved, doing: Coroutine[object, object, None], after: str) -> None:
        expired = self.settle(one)
        code = self.attempt(doing)
        if code is None:
            assert one.state == "issued" and not one.dead and not expired
            one.state = after
            one.uses += after == "consumed"
        else:
            codes = {"expired": "expired", "reserved": "in-flight", "consumed": "already-consumed"}
            assert code == codes.get(one.state, one.state)

    @rule(one=known)
    def commit(self, one: Approved) -> None:
        expired = self.settle(one)
        code = self.attempt(self.store.commit(one.binding))
        if code is None:
            assert one.state == "reserved" and not one.dead and not expired
            one.state = "consumed"
            one.uses += 1
        else:
            codes = {"expired": "expired", "issued": "not-found", "consumed": "already-consumed"}
            assert code == codes.get(one.state, one.state)

    @rule(one=known)
    def release(self, one: Approved) -> None:
        self.settle(one)
        assert self.attempt(self.store.release(one.binding)) is None
        if one.state in {"reserved", "consumed"}:
            one.uses = 0
            one.state = "issued"

    @rule(one=known)
    def revoke(self, one: Approved) -> None:
        expired = self.settle(one)
        code = self.attempt(self.store.revoke(one.binding))
        if code is None:
            assert not expired and one.state != "consumed"
            one.state, one.dead = "revoked", True
        else:
            assert code == ("expired" if expired else "already-consumed")
            assert expired or one.state == "consumed"

    @rule(one=known)
    def try_it_for_something_else(self, one: Approved) -> None:
        other = structs.replace(SCOPE, action_digest="b" * 64)
        expired = self.settle(one)

        assert self.attempt(self.store.reserve(one.binding, other)) == ("expired" if expired else "mismatch")

    @rule(one=consumes(known))
    def forget(self, one: Approved) -> None:
        """Leave one where it is, for good."""

    @invariant()
    def every_approval_stands_where_the_model_says(self) -> None:
        for one in self.all:
            self.settle(one)
            found = at_once(self.store.state(one.binding))

            assert found == (None if one.state == "expired" else one.state)

    @invariant()
    def nothing_is_used_twice_and_what_is_dead_stays_dead(self) -> None:
        for one in self.all:
            assert one.uses <= 1
            assert not one.dead or one.state in {"expired", "revoked"}

    @invariant()
    def the_time_never_goes_back(self) -> None:
        now = self.store.now()

        assert now >= self.time
        self.time = now

    @invariant()
    def only_what_may_still_count_is_held(self) -> None:
        assert len(self.store) == sum(one.state != "expired" for one in self.all)


TestMachine = requirement("approvals.store.once")(Machine.TestCase)
