"""What the cases for grant stores are made of: grants that nobody has seen before, and what is demanded of a store."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import trio

from ..authority.grants import Grant, GrantState, GrantStore
from ..errors import AuthorityCode, GrantError

LIFE: Final = 3600.0
"""Seconds that a grant counts."""


def require(condition: object, otherwise: str) -> None:
    """Fail with the sentence *otherwise* unless *condition* holds."""
    if not condition:
        raise AssertionError(otherwise)


def new_grant(store: GrantStore, *, uses: int = 3) -> Grant:
    """A grant that nobody has seen before, for a principal of its own."""
    token = secrets.token_hex(8)
    now = store.now()
    return Grant(
        id=f"grant:{token}",
        principal=f"principal:{token}",
        tenant="acme",
        agent="agent-1",
        tool_name="read_file",
        tool_definition_revision="0" * 64,
        scope="principal",
        issued_at=now,
        expires_at=now + LIFE,
        max_uses=uses,
        policy_revision="policy:1",
        argument_constraints={"mode": ["text", {"lines": 10}]},
        signature="v1:none:none",
    )


async def issued_grant(store: GrantStore, *, uses: int = 3) -> Grant:
    """`new_grant`, issued."""
    grant = new_grant(store, uses=uses)
    await store.issue(grant)
    return grant


async def state_of(store: GrantStore, grant: Grant) -> GrantState:
    """What the store knows of the grant."""
    found = await store.list(principal=grant.principal)
    require(len(found) == 1, f"list(principal=...) finds {len(found)} grants, not the one that was issued")
    return found[0]


async def require_left(store: GrantStore, grant: Grant, left: int) -> None:
    """Fail unless so many uses remain."""
    there = (await state_of(store, grant)).uses_remaining
    require(there == left, f"{there} uses remain, not {left}")


async def require_refused(attempt: Awaitable[object], *codes: AuthorityCode) -> None:
    """Fail unless the attempt ends with a `GrantError` of one of the codes."""
    try:
        await attempt
    except GrantError as error:
        require(error.code in codes, f"is refused with {error.code}, not {' or '.join(codes)}")
        return
    raise AssertionError(f"is not refused with {' or '.join(codes)}")


async def all_at_once(attempts: Iterable[Callable[[], Awaitable[object]]]) -> dict[str, int]:
    """Make the attempts at once, and count how they end: ``done``, or the code of a `GrantError`.

    Raises:
        AssertionError: What one of them found wrong, after all of them have ended.
    """
    ends: dict[str, int] = {}
    failures: list[AssertionError] = []

    async def attempt(do: Callable[[], Awaitable[object]]) -> None:
        await trio.lowlevel.checkpoint()
        end = "done"
        try:
            await do()
        except GrantError as error:
            end = error.code
        except AssertionError as error:
            failures.append(error)
        ends[end] = ends.get(end, 0) + 1

    async with trio.open_nursery() as nursery:
        for do in attempts:
            nursery.start_soon(attempt, do, name="armory_trio.testing: one attempt of a race")
    if failures:
        raise failures[0]
    return ends
