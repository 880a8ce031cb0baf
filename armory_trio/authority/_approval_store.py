"""Where approvals are kept while they count, so that each is used once: what a store must do, and one in memory."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Mapping
from typing import Final, Literal, Protocol, final

from ..definitions import ApprovalBinding, ApprovalScope
from ..definitions._plurals import counted
from ..errors import ApprovalError, AuthorityCode
from ._approvals import check_binding, is_expired, is_finite
from ._clock import MemoryClock

ApprovalState = Literal["issued", "reserved", "consumed", "revoked"]
"""Where an approval stands: it may be used, is about to be, has been, or must not be any more."""

ApprovalOperation = Literal["issue", "reserve", "commit", "release", "consume", "revoke"]

TRANSITIONS: Final[Mapping[ApprovalOperation, Mapping[ApprovalState | None, ApprovalState | None]]] = {
    "issue": {None: "issued"},
    "reserve": {"issued": "reserved"},
    "commit": {"reserved": "consumed"},
    "release": {None: None, "issued": "issued", "reserved": "issued", "consumed": "issued", "revoked": "revoked"},
    "consume": {"issued": "consumed"},
    "revoke": {"issued": "revoked", "reserved": "revoked", "revoked": "revoked"},
}
"""Where each operation leads from where; None is an approval that is not there, or has expired."""

_TAKEN: Final[Mapping[ApprovalState | None, AuthorityCode]] = {
    None: "not-found",
    "reserved": "in-flight",
    "consumed": "already-consumed",
    "revoked": "revoked",
}

REFUSALS: Final[Mapping[ApprovalOperation, Mapping[ApprovalState | None, AuthorityCode]]] = {
    "issue": dict.fromkeys(("issued", "reserved", "consumed", "revoked"), "already-consumed"),
    "reserve": _TAKEN,
    "commit": {None: "not-found", "issued": "not-found", "consumed": "already-consumed", "revoked": "revoked"},
    "release": {},
    "consume": _TAKEN,
    "revoke": {None: "not-found", "consumed": "already-consumed"},
}
"""With which code each operation is refused everywhere else. One that is refused changes nothing."""

_TOLD: Final[Mapping[ApprovalState | None, str]] = {
    None: "the store does not know it",
    "issued": "it is there, and nobody has reserved it",
    "reserved": "it is being used at this moment",
    "consumed": "it was used, and counts once",
    "revoked": "it was revoked",
}


def transition(operation: ApprovalOperation, state: ApprovalState | None) -> ApprovalState | None:
    """Where *operation* leads from *state*.

    Raises:
        ApprovalError: Nowhere. The code is that of `REFUSALS`.
    """
    if state in TRANSITIONS[operation]:
        return TRANSITIONS[operation][state]
    raise ApprovalError(REFUSALS[operation][state], _TOLD[state])


class ApprovalStore(Protocol):
    """Keeps approvals as long as they count. Whoever shares approvals shares one store, and so one clock.

    All of it is required. Each operation is atomic: of any number that come at once, from any number of processes, the
    outcome is that of one after the other. What they do from which state, `TRANSITIONS` and `REFUSALS` say, and
    `armory_trio.testing.approval_store_cases` tries out. Beyond these tables:

    - A binding is known by its ``key``; what is stored under it must be equal in every field. Where another binding
      is stored, every operation raises ``mismatch`` (`issue`: ``already-consumed``), and changes nothing.
    - A binding has expired from the instant ``expires_at`` on, by the store's own clock. Then `issue`, `reserve`,
      `commit`, `consume` and `revoke` raise ``expired``, `release` does nothing, and `state` is None, whatever it was
      before. What has expired, reserved or not, may therefore be thrown away.
    - What has once been seen to be expired never counts again, though the clock go back.

    Cancelled: an operation was done, or was not; `state` tells. What goes wrong with the storage itself is raised as it
    comes, and is no `ApprovalError`.
    """

    def now(self) -> float:
        """The time, in seconds since 1970, on the one clock that counts for these approvals."""
        ...

    async def issue(self, binding: ApprovalBinding, /) -> None:
        """Take in a new approval.

        Raises:
            ApprovalError: `check_binding` refuses it (``invalid-binding``, ``expired``), or its key was used before.
        """
        ...

    async def reserve(self, binding: ApprovalBinding, scope: ApprovalScope, /) -> None:
        """Keep an issued approval for one use, which begins soon. `commit` or `release` has to follow.

        Args:
            binding: The approval.
            scope: What would be done. Compared, like the time, before anything is looked up.

        Raises:
            ApprovalError: It does not count for *scope* here and now, or is not free.
        """
        ...

    async def commit(self, binding: ApprovalBinding, /) -> None:
        """Say that the use for which it is reserved begins now. To be called by whoever reserved it, and only then.

        Raises:
            ApprovalError: It expired or was revoked meanwhile, or is not reserved. The use must not begin.
        """
        ...

    async def release(self, binding: ApprovalBinding, /) -> None:
        """Say that the use did not begin: a reserved one, and one that was just committed, is issued again.

        To be called only by whoever reserved it: the store can't tell whose reservation it is. Anything else is left
        as it is.

        Raises:
            ApprovalError: Another binding is stored under its key (``mismatch``).
        """
        ...

    async def consume(self, binding: ApprovalBinding, scope: ApprovalScope, /) -> None:
        """Reserve and commit in one step.

        Raises:
            ApprovalError: As for `reserve`.
        """
        ...

    async def revoke(self, binding: ApprovalBinding, /) -> None:
        """Take an approval back. Where it is reserved, the `commit` that follows is refused. Twice is no error.

        Raises:
            ApprovalError: It was consumed, has expired, or is not there.
        """
        ...

    async def state(self, binding: ApprovalBinding, /) -> ApprovalState | None:
        """Where it stands; None when it is not there, or has expired.

        Raises:
            ApprovalError: Another binding is stored under its key (``mismatch``).
        """
        ...


@final
class MemoryApprovals:
    """Approvals of one process, which end with it. For one thread.

    Every operation is one step in which nothing is awaited: it takes no checkpoint, and can't be cancelled halfway.
    What has expired is forgotten, so there are never more than were issued within a lifetime.

    Its clock never goes back. Where *clock* does, it goes on from the latest time that was seen, at the pace of
    *clock*: approvals may then expire early, and none lives longer than it was given.

    Args:
        clock: The time in seconds since 1970. While it is not finite, nothing can be issued or used, and revoked still.
    """

    __slots__ = ("_clock", "_expiries", "_held")

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = MemoryClock(clock, is_finite)
        self._held: dict[tuple[str, str, str], tuple[ApprovalBinding, ApprovalState]] = {}
        # One entry for each that is held: when it expires, and its key.
        self._expiries: list[tuple[float, tuple[str, str, str]]] = []

    def __repr__(self) -> str:
        return f"<MemoryApprovals: {counted(len(self._held), 'approval')}>"

    def now(self) -> float:
        """The time: that of the clock, but never before the latest time that was seen."""
        return self._clock.now()

    async def issue(self, binding: ApprovalBinding, /) -> None:
        """As `ApprovalStore.issue`."""
        now = self.now()
        check_binding(binding, None, now)
        self._move("issue", binding, now)
        heapq.heappush(self._expiries, (binding.expires_at, binding.key))

    async def reserve(self, binding: ApprovalBinding, scope: ApprovalScope, /) -> None:
        """As `ApprovalStore.reserve`."""
        now = self.now()
        check_binding(binding, scope, now)
        self._move("reserve", binding, now)

    async def commit(self, binding: ApprovalBinding, /) -> None:
        """As `ApprovalStore.commit`."""
        now = self.now()
        check_binding(binding, None, now)
        self._move("commit", binding, now)

    async def release(self, binding: ApprovalBinding, /) -> None:
        """As `ApprovalStore.release`."""
        self._move("release", binding, self.now())

    async def consume(self, binding: ApprovalBinding, scope: ApprovalScope, /) -> None:
        """As `ApprovalStore.consume`."""
        now = self.now()
        check_binding(binding, scope, now)
        self._move("consume", binding, now)

    async def revoke(self, binding: ApprovalBinding, /) -> None:
        """As `ApprovalStore.revoke`."""
        now = self.now()
        if is_expired(binding, now):
            raise ApprovalError("expired", "it counts no more, so there is nothing to revoke")
        self._move("revoke", binding, now)

    async def state(self, binding: ApprovalBinding, /) -> ApprovalState | None:
        """As `ApprovalStore.state`."""
        return self._state(binding, self.now())

    def __len__(self) -> int:
        """How many are held."""
        return len(self._held)

    def __bool__(self) -> bool:
        """True, also when none is held."""
        return True

    def _move(self, operation: ApprovalOperation, binding: ApprovalBinding, now: float) -> None:
        after = transition(operation, self._state(binding, now, any_of_its_key=operation == "issue"))
        if after is not None:
            self._held[binding.key] = binding, after

    def _state(self, binding: ApprovalBinding, now: float, *, any_of_its_key: bool = False) -> ApprovalState | None:
        self._forget(now)
        held, state = self._held.get(binding.key, (None, None))
        if held is not None and held != binding and not any_of_its_key:
            raise ApprovalError("mismatch", "another approval is stored under its key")
        return state

    def _forget(self, now: float) -> None:
        # Reserved ones, too: the commit that they wait for would be refused, as they have expired.
        while self._expiries and is_finite(now) and self._expiries[0][0] <= now:
            _, key = heapq.heappop(self._expiries)
            del self._held[key]
