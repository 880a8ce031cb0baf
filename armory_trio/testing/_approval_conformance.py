"""What every store of approvals has to do, as cases that whoever writes one runs against it."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from typing import Final, get_args

import msgspec

from ..authority.approvals import ApprovalOperation, ApprovalState, ApprovalStore
from ..definitions import ApprovalBinding, ApprovalScope
from ..errors import ApprovalError
from ._approval_trials import NOW, WAYS, act, approval, bring, outcome, race, refused, same, stands
from ._store_case import OpenStore, StoreCase
from ._store_clock import StoreClock

_RACERS: Final = 32
"""Tasks of a race: more than a store keeps connections, as a rule."""

_KEY: Final = ("tenant", "run")
"""Fields of the scope that are part of the key: a binding with another one of them is stored elsewhere."""

_MOMENT: Final = 0.001
"""Seconds before the expiry at which an approval must still count. Stores may keep times no finer than this."""


OpenApprovalStore = OpenStore[ApprovalStore]
"""Opens a new, empty store that reads the clock that it is given, and closes it."""

_Check = Callable[[ApprovalStore, StoreClock], Awaitable[None]]


ApprovalStoreCase = StoreCase[ApprovalStore]
"""One thing that such a store has to do: a name for reports, and a check that is tried with an empty store."""


def approval_store_cases() -> tuple[ApprovalStoreCase, ...]:
    """Everything that a store of approvals has to do.

    Hand them to ``pytest.mark.parametrize("case", approval_store_cases())``; the test is ``await case(open_my_store)``.
    They share nothing, and take no time but that of the store.
    """
    return tuple(ApprovalStoreCase(name.replace(" ", "-"), partial(_tried, check)) for name, check in _cases())


async def _tried(check: _Check, store: ApprovalStore, clock: StoreClock) -> None:
    clock.seconds = NOW
    try:
        await check(store, clock)
    except ApprovalError as error:
        raise AssertionError(f"it refused what it must do: {error}") from error


# ── The table ────────────────────────────────────────────────────────────────────────────────────────────────────────

_USED: Final = "already-consumed"
_OPERATIONS: Final[tuple[ApprovalOperation, ...]] = ("issue", "reserve", "commit", "release", "consume", "revoke")
"""In the order of the columns below."""

_TABLE: Final = {
    "absent": "issued not-found not-found absent not-found not-found",
    "issued": "already-consumed reserved not-found issued consumed revoked",
    "reserved": "already-consumed in-flight consumed issued in-flight revoked",
    "consumed": "already-consumed already-consumed already-consumed issued already-consumed already-consumed",
    "revoked": "already-consumed !revoked !revoked revoked !revoked revoked",
}
"""By state, where each operation leads, or the code with which it is refused. ``!revoked`` is the code, not the state."""

_STATES: Final = {
    "consumed at once": "consumed",
    "released": "issued",
    "released after the commit": "issued",
    "revoked while reserved": "revoked",
}


def _cells() -> Iterator[tuple[str, _Check]]:
    for way in WAYS:
        state = _STATES.get(way, way)
        yield f"state of one that is {way}", partial(_check_state, way, state)
        for operation in _OPERATIONS:
            yield f"{operation} one that is {way}", partial(_check_cell, way, state, operation)


def _stated(state: str) -> ApprovalState | None:
    return next((known for known in get_args(ApprovalState) if known == state), None)


async def _check_state(way: str, state: str, store: ApprovalStore, _: StoreClock) -> None:
    await bring(store, approval(), way)
    await stands(store, approval(), _stated(state), f"when it is {way}")


async def _check_cell(way: str, state: str, operation: ApprovalOperation, store: ApprovalStore, _: StoreClock) -> None:
    result = _TABLE[state].split()[_OPERATIONS.index(operation)]
    leads = result in _TABLE
    await bring(store, approval(), way)
    found = await outcome(act(store, operation, approval()))
    same(f"{operation} when {way}", found, "done" if leads else result.removeprefix("!"))
    await stands(store, approval(), _stated(result if leads else state), f"after {operation} when {way}")


# ── Time ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

_BEFORE: Final[Mapping[ApprovalOperation, str]] = {
    "issue": "absent",
    "reserve": "issued",
    "commit": "reserved",
    "consume": "issued",
    "revoke": "issued",
}
"""Where an approval must stand for each operation that expiry forbids."""


async def _tells_the_time(store: ApprovalStore, clock: StoreClock) -> None:
    same("now()", store.now(), NOW)
    await store.issue(approval())
    clock.seconds += 1
    same("now() a second later", store.now(), NOW + 1)


async def _counts_until_it_expires(operation: ApprovalOperation, store: ApprovalStore, clock: StoreClock) -> None:
    binding, late = approval(), approval("nonce-2")
    for each in (binding, late):
        await bring(store, each, _BEFORE[operation])
    clock.seconds = binding.expires_at - _MOMENT
    same(f"{operation} just before the expiry", await outcome(act(store, operation, binding)), "done")
    clock.seconds = late.expires_at
    await refused(f"{operation} at the expiry", act(store, operation, late), "expired")
    for each in (binding, late):
        await stands(store, each, None, "when it has expired")


async def _has_expired(way: str, store: ApprovalStore, clock: StoreClock) -> None:
    binding = approval()
    await bring(store, binding, way)
    clock.seconds = binding.expires_at
    await _never_counts(store, binding, way, exactly="expired")


async def _never_comes_back(way: str, store: ApprovalStore, clock: StoreClock) -> None:
    binding = approval()
    await bring(store, binding, way)
    clock.seconds = binding.expires_at + 1
    await refused("reserve after the expiry", act(store, "reserve", binding), "expired")
    clock.seconds = binding.issued_at + 1
    await _never_counts(store, binding, f"{way}, had expired, and the clock went back")


async def _never_counts(store: ApprovalStore, binding: ApprovalBinding, when: str, *, exactly: str = "") -> None:
    await act(store, "release", binding)
    for operation in _BEFORE:
        found = await outcome(act(store, operation, binding))
        if operation == "revoke" and not exactly:
            continue  # whether it is still there to be revoked makes no difference
        if found == "done" or (exactly and found != exactly):
            raise AssertionError(f"{operation} when {when}: it must be refused, and is {found!r}")
    await stands(store, binding, None, f"when {when}")


# ── Which one is meant ───────────────────────────────────────────────────────────────────────────────────────────────


async def _takes_only_what_is_well_formed(store: ApprovalStore, _: StoreClock) -> None:
    good = approval()
    wrong = {
        "a blank principal": msgspec.structs.replace(good, scope=msgspec.structs.replace(good.scope, principal=" ")),
        "a blank nonce": msgspec.structs.replace(good, nonce=""),
        "another version": msgspec.structs.replace(good, version=2),
        "an expiry that is no number": msgspec.structs.replace(good, expires_at=math.nan),
        "an endless lifetime": msgspec.structs.replace(good, expires_at=math.inf),
        "no lifetime": msgspec.structs.replace(good, expires_at=good.issued_at),
        "an issue that is yet to come": msgspec.structs.replace(good, issued_at=good.issued_at + 1),
    }
    for what, binding in wrong.items():
        await refused(f"issue with {what}", store.issue(binding), "invalid-binding")
    await stands(store, good, None, "after all of them were refused")


async def _counts_for_its_scope_only(field: str, store: ApprovalStore, _: StoreClock) -> None:
    binding = approval()
    other = _changed(binding.scope, field)
    await store.issue(binding)
    await refused(f"reserve for another {field}", store.reserve(binding, other), "mismatch")
    await refused(f"consume for another {field}", store.consume(binding, other), "mismatch")
    await stands(store, binding, "issued", "after it was tried for something else")
    await store.reserve(binding, binding.scope)


async def _knows_the_whole_binding(field: str, store: ApprovalStore, _: StoreClock) -> None:
    binding, other = approval(), _otherwise(field)
    await store.issue(binding)
    for operation in _OPERATIONS:
        if operation == "commit":
            await store.reserve(binding, binding.scope)
        code = _USED if operation == "issue" else "mismatch"
        await refused(f"{operation} with another {field}", act(store, operation, other), code)
    await refused(f"state with another {field}", store.state(other), "mismatch")
    await store.commit(binding)
    await stands(store, binding, "consumed", "after others of its key were refused")


def _changed(scope: ApprovalScope, field: str) -> ApprovalScope:
    value: object = getattr(scope, field)
    return msgspec.structs.replace(scope, **{field: (*value, "more") if isinstance(value, tuple) else f"{value}-2"})


def _otherwise(field: str) -> ApprovalBinding:
    binding = approval()
    match field:
        case "issued_at":
            return msgspec.structs.replace(binding, issued_at=binding.issued_at - 1)
        case "expires_at":
            return msgspec.structs.replace(binding, expires_at=binding.expires_at + 1)
        case _:
            return msgspec.structs.replace(binding, scope=_changed(binding.scope, field))


async def _keeps_keys_apart(store: ApprovalStore, _: StoreClock) -> None:
    others = (approval("nonce-2"), approval(tenant="beta"), approval(run="run-2"))
    await store.issue(approval())
    await bring(store, others[0], "revoked")
    await bring(store, others[1], "consumed")
    await stands(store, others[2], None, "of another run's")
    await store.consume(approval(), approval().scope)


# ── Several at once ──────────────────────────────────────────────────────────────────────────────────────────────────

_RACES: Final[Mapping[ApprovalOperation, str]] = {
    "issue": "absent",
    "reserve": "issued",
    "commit": "reserved",
    "consume": "issued",
}


async def _has_one_winner(operation: ApprovalOperation, way: str, store: ApprovalStore, _: StoreClock) -> None:
    binding = approval()
    await bring(store, binding, way)
    ended = await race(*[partial(act, store, operation, binding)] * _RACERS)
    losing = {"reserve": {"in-flight"}, "consume": {"in-flight", _USED}}.get(operation, {_USED})
    same(f"of {_RACERS} that {operation}, those that could", ended.count("done"), 1)
    same("with what others of them were refused", set(ended) - {"done"} - losing, set[str]())


async def _can_be_reserved_again_and_again(store: ApprovalStore, _: StoreClock) -> None:
    binding = approval()
    await store.issue(binding)
    for _round in range(3):
        ended = await race(*[partial(store.reserve, binding, binding.scope)] * _RACERS)
        same("those that could reserve it after it was released", ended.count("done"), 1)
        await store.release(binding)
    await store.consume(binding, binding.scope)
    await refused("reserve after it was consumed", store.reserve(binding, binding.scope), _USED)


async def _is_committed_or_revoked(store: ApprovalStore, _: StoreClock) -> None:
    for index in range(_RACERS):
        binding = approval(f"nonce-{index}")
        await bring(store, binding, "reserved")
        acts = [partial(store.commit, binding), partial(store.revoke, binding)]
        ended = await race(*(acts if index % 2 else reversed(acts)))
        state = await store.state(binding)
        same(
            "what commit and revoke came to",
            sorted(ended),
            sorted(["done", _USED if state == "consumed" else "revoked"]),
        )


async def _many_do_not_meet(store: ApprovalStore, _: StoreClock) -> None:
    bindings = [approval(f"nonce-{index}") for index in range(_RACERS)]
    ended = await race(*(partial(bring, store, binding, "consumed") for binding in bindings))
    same("how different ones ended that were used at once", ended, ["done"] * _RACERS)


def _cases() -> Iterator[tuple[str, _Check]]:
    yield from _cells()
    yield "the time is that of its clock", _tells_the_time
    for operation in _BEFORE:
        yield f"{operation} until the instant of the expiry", partial(_counts_until_it_expires, operation)
    for way in WAYS:
        yield f"one that was {way} has expired", partial(_has_expired, way)
        yield f"one that was {way} never comes back", partial(_never_comes_back, way)
    yield "only what is well formed is issued", _takes_only_what_is_well_formed
    for field in ApprovalScope.__struct_fields__:
        yield f"another {field} is another scope", partial(_counts_for_its_scope_only, field)
    for field in ("issued_at", "expires_at", *ApprovalScope.__struct_fields__):
        if field not in _KEY:
            yield f"another {field} is another approval", partial(_knows_the_whole_binding, field)
    yield "tenant, run and nonce keep approvals apart", _keeps_keys_apart
    for operation, way in _RACES.items():
        yield f"of many that {operation} one does", partial(_has_one_winner, operation, way)
    yield "a released one can be reserved again", _can_be_reserved_again_and_again
    yield "one is committed or revoked, never both", _is_committed_or_revoked
    yield "different ones are used at once", _many_do_not_meet
