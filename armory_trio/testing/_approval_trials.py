"""What the cases for stores of approvals are made of: approvals, how they come to stand somewhere, and races."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import trio

from ..authority.approvals import ApprovalOperation, ApprovalState, ApprovalStore
from ..definitions import ApprovalBinding, ApprovalScope
from ..errors import ApprovalError

NOW: Final = 1_800_000_000.1234567
"""When cases begin. A store must keep all of its digits, since bindings are compared by all of theirs."""

LIFETIME: Final = 300.0


def approval(nonce: str = "nonce-1", *, tenant: str = "acme", run: str = "run-1") -> ApprovalBinding:
    """An approval that was just issued, and every field of its scope is said."""
    scope = ApprovalScope(
        principal="ann",
        tenant=tenant,
        audience="tenant",
        agent="agent-1",
        run=run,
        toolbox_revision="toolbox:1",
        tool_definition_revision="d" * 64,
        policy_revision="policy:1",
        approval_revision="approval:1",
        catalog_revision="catalog:1",
        action_digest="a" * 64,
        owner="owner-1",
        session="session-1",
        delegation=("ben", "cleo"),
        capabilities=("pay", "read"),
        authorization_revision="authorization:1",
    )
    return ApprovalBinding(scope, issued_at=NOW, expires_at=NOW + LIFETIME, nonce=nonce)


def act(store: ApprovalStore, operation: ApprovalOperation, binding: ApprovalBinding) -> Awaitable[None]:
    """*operation* on *binding*; for the scope of its own, where one is needed."""
    if operation == "reserve":
        return store.reserve(binding, binding.scope)
    if operation == "consume":
        return store.consume(binding, binding.scope)
    simple: Mapping[str, Callable[[ApprovalBinding], Awaitable[None]]] = {
        "issue": store.issue,
        "commit": store.commit,
        "release": store.release,
        "revoke": store.revoke,
    }
    return simple[operation](binding)


WAYS: Final[Mapping[str, tuple[ApprovalOperation, ...]]] = {
    "absent": (),
    "issued": ("issue",),
    "reserved": ("issue", "reserve"),
    "consumed": ("issue", "reserve", "commit"),
    "consumed at once": ("issue", "consume"),
    "released": ("issue", "reserve", "release"),
    "released after the commit": ("issue", "reserve", "commit", "release"),
    "revoked": ("issue", "revoke"),
    "revoked while reserved": ("issue", "reserve", "revoke"),
}
"""How an approval comes to stand where the cases want it."""


async def bring(store: ApprovalStore, binding: ApprovalBinding, way: str) -> None:
    """Take *binding* one of the `WAYS`."""
    for operation in WAYS[way]:
        await act(store, operation, binding)


async def outcome(doing: Awaitable[object]) -> str:
    """``done``, or the code with which it was refused."""
    try:
        await doing
    except ApprovalError as error:
        return error.code
    return "done"


def same(what: str, found: object, wanted: object) -> None:
    """Raise AssertionError, and say *what*, unless both are equal."""
    if found != wanted:
        raise AssertionError(f"{what}: it must be {wanted!r}, and is {found!r}")


async def refused(what: str, doing: Awaitable[object], code: str) -> None:
    """Raise AssertionError, and say *what*, unless it is refused with *code*."""
    same(what, await outcome(doing), code)


async def stands(store: ApprovalStore, binding: ApprovalBinding, state: ApprovalState | None, when: str) -> None:
    """Raise AssertionError, and say *when*, unless the store says that it stands at *state*."""
    same(f"the state {when}", await store.state(binding), state)


async def race(*doing: Callable[[], Awaitable[object]]) -> list[str]:
    """How each of them ended. They begin together."""
    ended: list[str] = []

    async def run(one: Callable[[], Awaitable[object]]) -> None:
        await trio.lowlevel.checkpoint()
        ended.append(await outcome(one()))

    async with trio.open_nursery() as nursery:
        for one in doing:
            nursery.start_soon(run, one)
    return ended
