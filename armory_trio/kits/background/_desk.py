"""The background calls of one supervisor: whose they are, how long their results are kept, who is to be told."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Final

import attrs
import trio

from ...definitions import BlockingContext, ToolContext, ToolResult
from ...engine import Execution
from ...engine._concurrency import Latch
from ._calls import BackgroundNotice
from ._options import BackgroundOptions

AnyContext = ToolContext | BlockingContext

Scope = tuple[str | None, ...]
"""Whose a background call is; see `scope_of`."""

Reader = str | None
"""Whose notices somebody wants: those of one owner, or all."""

_ALL: Final = None

_COUNTED: Final = 10_000
"""Owners of whom it is known how many ends each was not told of: more don't ask."""


def scope_of(ctx: AnyContext) -> Scope:
    """Who sees what the running call starts: its owner within its tenant.

    Without an owner it is everybody on whose behalf calls are made by the same principal, agent, run and session of one
    tenant: all the calls of a host that names none of these.
    """
    given = ctx.request_context
    tenant = None if given is None else given.tenant
    if ctx.owner_id is not None:
        return (tenant, ctx.owner_id)
    if given is None:
        return (None, None, None, None, None, None)
    return (tenant, None, given.principal, given.agent, given.run, given.session)


@attrs.define(eq=False)
class Job:
    """One background call.

    Args:
        execution: Its handle, which keeps the result.
        tool_name: The tool that runs.
        owner: Its owner, if it has one.
        scope: Whose it is.
        ended_at: When its state became final, on trio's clock.
        seen: Whether the model has been given the result.
        told: Whether a reader of notices has.
    """

    execution: Execution
    tool_name: str
    owner: str | None
    scope: Scope
    ended_at: float | None = None
    seen: bool = False
    told: bool = False

    @property
    def id(self) -> str:
        """Its execution id."""
        return self.execution.id

    @property
    def result(self) -> ToolResult[object] | None:
        """How it ended, once its state is final."""
        return None if self.ended_at is None else self.execution.privileged_snapshot().result


@attrs.define(eq=False)
class _Account:
    """The jobs of one scope, in order of their start and of their end."""

    running: dict[str, Job] = attrs.field(factory=dict[str, Job])
    ended: dict[str, Job] = attrs.field(factory=dict[str, Job])


class Desk:
    """Keeps the background calls of one supervisor. Synchronous: whoever learns something says so at once."""

    def __init__(self, options: BackgroundOptions) -> None:
        self._options = options
        self._accounts: dict[Scope, _Account] = {}
        self._ended: dict[str, Job] = {}
        """All that are kept, in order of their end."""
        self._untold: dict[Reader, dict[str, Job]] = {}
        self._running: Counter[Reader] = Counter()
        self._lost: dict[str | None, int] = {}
        self._lost_unasked = 0
        """Of owners that lost something so long ago that they are not counted each."""
        self._waiting: dict[Reader, list[Latch]] = {}

    # -- jobs

    def running_of(self, scope: Scope) -> int:
        """How many of *scope* are not over."""
        account = self._accounts.get(scope)
        return 0 if account is None else len(account.running)

    def of(self, scope: Scope) -> list[Job]:
        """Those of *scope*: the ended ones that are kept, then those that are not over."""
        self._forget_expired()
        account = self._accounts.get(scope)
        return [] if account is None else [*account.ended.values(), *account.running.values()]

    def find(self, scope: Scope, identity: str) -> Job | None:
        """The one called *identity*, if it is one of *scope* and still kept."""
        self._forget_expired()
        account = self._accounts.get(scope)
        return None if account is None else account.running.get(identity) or account.ended.get(identity)

    def every(self, owner: str | None) -> list[Job]:
        """Those of *owner*, or all when that is None."""
        self._forget_expired()
        return [
            job
            for account in self._accounts.values()
            for job in (*account.ended.values(), *account.running.values())
            if owner is None or job.owner == owner
        ]

    def add(self, job: Job) -> None:
        """Take a call that was started just now."""
        self._forget_expired()
        self._accounts.setdefault(job.scope, _Account()).running[job.id] = job
        self._running[_ALL] += 1
        if job.owner is not None:
            self._running[job.owner] += 1
        job.execution.when_settled(partial(self._end, job))

    def _end(self, job: Job) -> None:
        account = self._accounts[job.scope]
        del account.running[job.id]
        self._running[_ALL] -= 1
        if job.owner is not None:
            self._running[job.owner] -= 1
            if not self._running[job.owner]:
                del self._running[job.owner]
        job.ended_at = job.execution.snapshot.settled_at
        self._ended[job.id] = account.ended[job.id] = job
        self._untold.setdefault(_ALL, {})[job.id] = job
        if job.owner is not None:
            self._untold.setdefault(job.owner, {})[job.id] = job
        if len(account.ended) > self._options.kept_per_owner:
            self._drop(_least_wanted(account.ended))
        if len(self._ended) > self._options.kept:
            self._drop(next(iter(self._ended.values())))
        self._wake(_ALL)
        self._wake(job.owner)

    # -- forgetting

    def _forget_expired(self) -> None:
        horizon = trio.current_time() - self._options.kept_for
        while self._ended:
            job = next(iter(self._ended.values()))
            if job.ended_at is None or job.ended_at >= horizon:
                return
            self._drop(job)

    def _drop(self, job: Job) -> None:
        account = self._accounts[job.scope]
        del self._ended[job.id], account.ended[job.id]
        if not (account.ended or account.running):
            del self._accounts[job.scope]
        if not job.told:
            self._take_untold(job)
            self._lost[job.owner] = self._lost.pop(job.owner, 0) + 1
            if len(self._lost) > _COUNTED:
                self._lost_unasked += self._lost.pop(next(iter(self._lost)))

    def _take_untold(self, job: Job) -> None:
        for reader in {_ALL, job.owner}:
            waiting = self._untold[reader]
            del waiting[job.id]
            if not waiting:
                del self._untold[reader]

    # -- telling

    def take_notice(self, reader: Reader) -> BackgroundNotice | None:
        """The oldest end that *reader* wants to know of and nobody was told; from now on somebody was."""
        self._forget_expired()
        waiting = self._untold.get(reader)
        if waiting is None:
            return None
        job = next(iter(waiting.values()))
        result = job.result
        assert result is not None
        job.told = True
        self._take_untold(job)
        return BackgroundNotice(
            execution_id=job.id, tool_name=job.tool_name, owner_id=job.owner, result=result, seen=job.seen
        )

    def take_lost(self, reader: Reader) -> int:
        """How many ends *reader* will never be told of, since the last time somebody asked."""
        if reader is not None:
            return self._lost.pop(reader, 0)
        lost = sum(self._lost.values()) + self._lost_unasked
        self._lost.clear()
        self._lost_unasked = 0
        return lost

    def has_running(self, reader: Reader) -> bool:
        """Whether there is one that *reader* may still be told of."""
        return self._running[reader] > 0

    async def stirred(self, reader: Reader) -> None:
        """Return when something has happened that *reader* may want to know. Cancelled: nothing has changed."""
        latch = Latch()
        self._waiting.setdefault(reader, []).append(latch)
        try:
            await latch.wait()
        finally:
            if not latch.is_set:
                waiting = self._waiting[reader]
                waiting.remove(latch)
                if not waiting:
                    del self._waiting[reader]

    def close(self) -> None:
        """No more calls will be started: readers who wait for nothing else may go."""
        for reader in tuple(self._waiting):
            self._wake(reader)

    def _wake(self, reader: Reader) -> None:
        for latch in self._waiting.pop(reader, ()):
            latch.set()


def _least_wanted(jobs: dict[str, Job]) -> Job:
    """The oldest one that somebody was told of, or else the oldest."""
    return next((job for job in jobs.values() if job.told), next(iter(jobs.values())))
