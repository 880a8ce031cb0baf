"""What stores have to do is public: whoever writes one can try it, and a wrong one is found."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest

from armory_trio.authority.approvals import ApprovalStore, MemoryApprovals
from armory_trio.authority.grants import GrantStore, MemoryGrants
from armory_trio.definitions import ApprovalBinding, ApprovalScope
from armory_trio.testing import StoreClock, approval_store_cases, grant_store_cases
from tests.requirements import requirement


class Forgetful:
    """A store of approvals that lets each be used again and again."""

    def __init__(self, clock: Callable[[], float]) -> None:
        store = MemoryApprovals(clock)
        self.now, self.issue, self.reserve, self.commit = store.now, store.issue, store.reserve, store.commit
        self.release, self.revoke, self.state = store.release, store.revoke, store.state

    async def consume(self, binding: ApprovalBinding, expected: ApprovalScope, /) -> None:
        pass


@asynccontextmanager
async def open_forgetful(clock: Callable[[], float]) -> AsyncGenerator[ApprovalStore]:
    yield Forgetful(clock)


@asynccontextmanager
async def open_approvals(clock: Callable[[], float]) -> AsyncGenerator[ApprovalStore]:
    yield MemoryApprovals(clock)


@asynccontextmanager
async def open_grants(clock: Callable[[], float]) -> AsyncGenerator[GrantStore]:
    yield MemoryGrants(clock)


@requirement("testing.stores")
def test_the_clock_of_a_store_stands_still_until_it_is_set() -> None:
    clock = StoreClock(5.0)

    assert (clock(), clock()) == (5.0, 5.0)
    clock.seconds += 1
    assert clock() == 6.0


@requirement("testing.stores")
async def test_a_store_that_lets_an_approval_be_used_twice_is_found() -> None:
    failed: list[str] = []
    for case in approval_store_cases():
        try:
            await case(open_forgetful)
        except AssertionError:
            failed.append(case.name)

    assert "consume-one-that-is-consumed" in failed
    assert "state-of-one-that-is-issued" not in failed


@requirement("testing.stores")
async def test_each_case_has_a_name_of_its_own_that_a_report_can_show() -> None:
    for cases in (approval_store_cases(), grant_store_cases()):
        names = [case.__name__ for case in cases]
        assert len(set(names)) == len(names)
        assert all(" " not in name for name in names)
    await approval_store_cases()[0](open_approvals)
    await grant_store_cases()[0](open_grants)
    with pytest.raises(AttributeError):
        grant_store_cases()[0].name = "other"  # type: ignore[misc]  # nobody may exchange a case
