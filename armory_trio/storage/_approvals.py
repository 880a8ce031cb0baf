"""Approvals in a database."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar, final

from ..authority._approvals import is_expired, is_finite
from ..authority.approvals import ApprovalOperation, ApprovalState, check_binding, transition
from ..definitions import ApprovalBinding, ApprovalScope
from ..errors import ApprovalError
from ._documents import from_text, key_of, to_text
from ._part import StorePart
from ._rows import Kind, Operation, Row, View
from ._schema import APPROVALS

T = TypeVar("T")


class ApprovalRow(Row, frozen=True):
    """An approval, and where it stands."""

    state: ApprovalState
    expires_at: float
    document: str

    def instants(self) -> tuple[float, ...]:
        """When it has expired."""
        return (self.expires_at,)


ROWS: Final = Kind(APPROVALS, ApprovalRow)


@final
class SqlApprovals(StorePart):
    """The approvals of a store. An `ApprovalStore`; `open_store` makes it.

    Cancelled: an operation was not begun, and has changed nothing. One that has begun returns.

    Every operation raises `StoreUnavailable` when the database can't be used.
    """

    async def issue(self, binding: ApprovalBinding, /) -> None:
        """As `ApprovalStore.issue`."""
        await self._do("issue", binding, partial(check_binding, binding, None))

    async def reserve(self, binding: ApprovalBinding, scope: ApprovalScope, /) -> None:
        """As `ApprovalStore.reserve`."""
        await self._do("reserve", binding, partial(check_binding, binding, scope))

    async def commit(self, binding: ApprovalBinding, /) -> None:
        """As `ApprovalStore.commit`."""
        await self._do("commit", binding, partial(check_binding, binding, None))

    async def release(self, binding: ApprovalBinding, /) -> None:
        """As `ApprovalStore.release`."""
        await self._do("release", binding, _anytime)

    async def consume(self, binding: ApprovalBinding, scope: ApprovalScope, /) -> None:
        """As `ApprovalStore.consume`."""
        await self._do("consume", binding, partial(check_binding, binding, scope))

    async def revoke(self, binding: ApprovalBinding, /) -> None:
        """As `ApprovalStore.revoke`."""
        await self._do("revoke", binding, partial(_require_unexpired, binding))

    async def state(self, binding: ApprovalBinding, /) -> ApprovalState | None:
        """As `ApprovalStore.state`."""
        return await self._run(binding, partial(_state, binding), writes=False)

    async def _do(self, operation: ApprovalOperation, binding: ApprovalBinding, check: Callable[[float], None]) -> None:
        await self._run(binding, partial(_move, operation, binding, check), writes=True)

    async def _run(self, binding: ApprovalBinding, decide: Callable[[View, float], T], *, writes: bool) -> T:
        instants = (binding.expires_at,) if is_finite(binding.expires_at) else ()
        locks = ((ROWS, key_of(*binding.key)),)
        return await self._lanes.run(Operation(decide, locks, writes=writes, instants=instants))


def _anytime(_now: float) -> None:
    pass


def _require_unexpired(binding: ApprovalBinding, now: float) -> None:
    if is_expired(binding, now):
        raise ApprovalError("expired", "it counts no more, so there is nothing to revoke")


def _move(
    operation: ApprovalOperation, binding: ApprovalBinding, check: Callable[[float], None], view: View, now: float
) -> None:
    check(now)
    state = _state(binding, view, now, any_of_its_key=operation == "issue")
    after = transition(operation, state)
    if after is not None and after != state:
        view.put(ROWS, key_of(*binding.key), ApprovalRow(after, binding.expires_at, to_text(binding)))


def _state(binding: ApprovalBinding, view: View, now: float, *, any_of_its_key: bool = False) -> ApprovalState | None:
    row = view.get(ROWS, key_of(*binding.key))
    if row is None or (is_finite(now) and row.expires_at <= now):
        return None
    if not any_of_its_key and from_text(row.document, ApprovalBinding) != binding:
        raise ApprovalError("mismatch", "another approval is stored under its key")
    return row.state
