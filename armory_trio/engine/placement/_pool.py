"""The worker processes of one supervisor: taken for one body at a time, kept for the next."""

from __future__ import annotations

import math
from contextvars import Context

from .._execution import Core
from .._plan import Plan
from ._crossing import Crossing, crossing_of
from ._process import IDLE_FOR, WorkerProcess


class Workers:
    """The pool. Its processes have their tasks in the nursery of the executions, and end with it."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._all: set[WorkerProcess] = set()
        self._idle: list[WorkerProcess] = []
        self._crossings: dict[str, Crossing] = {}

    @staticmethod
    def of(core: Core) -> Workers:
        """The pool of *core*, made when it is first asked for."""
        if not isinstance(core.workers, Workers):
            core.workers = Workers(core)
        return core.workers

    @property
    def idle(self) -> tuple[WorkerProcess, ...]:
        """Those that wait for work, the last one used last."""
        return tuple(self._idle)

    def crossing(self, plan: Plan) -> Crossing:
        """What of the tool of *plan* crosses to a worker."""
        found = self._crossings.get(plan.id)
        if found is None:
            found = self._crossings[plan.id] = crossing_of(plan)
        return found

    def take(self, *, fresh: bool) -> WorkerProcess:
        """A worker for one body: an idle one, or one that starts now and is usable once it has `opened`.

        Args:
            fresh: Whether it must not have run anything.
        """
        while self._idle and not fresh:
            worker = self._idle.pop()
            if worker.usable:
                worker.scope.deadline = math.inf
                return worker
        if self._idle and len(self._all) >= self._core.settings.limits.processes:
            self._idle.pop(0).scope.cancel()
        worker = WorkerProcess()
        self._all.add(worker)
        # A task has a copy of the context that it was started in; that of an execution would keep its record.
        Context().run(lambda: self._core.nursery.start_soon(self._keep, worker, name="armory_trio: worker"))
        return worker

    def give_back(self, worker: WorkerProcess) -> None:
        """A body has ended in *worker*, which may be used again."""
        if worker.usable:
            worker.scope.deadline = self._core.now() + IDLE_FOR
            self._idle.append(worker)

    async def _keep(self, worker: WorkerProcess) -> None:
        try:
            await worker.live()
        finally:
            self._all.discard(worker)
            if worker in self._idle:
                self._idle.remove(worker)
