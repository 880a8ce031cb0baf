"""Bodies in worker processes, which are killed with everything that they started."""

from __future__ import annotations

import outcome

from .._execution import Record
from .._plan import Plan
from ._conversation import Conversation
from ._crossing import Crossing
from ._pool import Workers
from ._process import WorkerProcess


class ProcessBody:
    """The body of a ``def`` tool, in a worker process that it has for itself as long as it runs."""

    __slots__ = ("_ended", "_plan", "_record", "_worker", "_workers")

    def __init__(self, record: Record, plan: Plan) -> None:
        self._record = record
        self._plan = plan
        self._workers = Workers.of(record.core)
        self._worker: WorkerProcess | None = None
        self._ended: outcome.Maybe[object] | None = None

    async def run(self) -> object:
        """Have the function called in a worker, and see what it gives.

        A worker that was used before and does not enter the function, because it is lost or cannot make the tool
        ready, is replaced by a fresh one, silently.

        Cancelled: everything in the worker's process group was sent its death; `gone` waits for it.
        """
        # Nothing can have happened before the worker says that it enters the function.
        self._record.failure_effect = "none"
        crossing = self._workers.crossing(self._plan)
        used, talk = await self._hold(crossing, fresh=crossing.process.fresh)
        if used and not talk.entered:
            await self._dismiss(clean=False)
            _, talk = await self._hold(crossing, fresh=True)
        if talk.end is None:
            await self._dismiss(clean=False)  # how the worker ended is part of what is told
            return talk.value()
        self._ended = outcome.capture(talk.value)
        await self._dismiss(clean=talk.end.clean and not crossing.process.fresh)
        ended, self._ended = self._ended, None  # from here on nothing is left behind
        try:
            return ended.unwrap()
        finally:
            del ended  # a failure leads to this frame: no circle shall keep it

    async def gone(self) -> outcome.Maybe[object] | None:
        """Wait until nothing of the worker's group runs; what the body had said by then."""
        if self._worker is not None:
            await self._dismiss(clean=False)
        return self._ended

    async def _hold(self, crossing: Crossing, *, fresh: bool) -> tuple[bool, Conversation]:
        """Run the call once; whether its worker had run anything before, and what was said."""
        call = crossing.call_of(self._record, self._plan)
        worker = self._worker = self._workers.take(fresh=fresh)
        talk = Conversation(self._record, self._plan, crossing, worker)
        used = worker.calls > 0
        worker.calls += 1
        try:
            if not worker.opened.is_set:
                await worker.opened.wait()
            if worker.usable:
                await talk.hold(call)
        except BaseException:
            worker.kill()
            raise
        return used, talk

    async def _dismiss(self, *, clean: bool) -> None:
        """Let the worker go: back to the others, or out of the world with everything in its group."""
        worker = self._worker
        if worker is None:
            return
        if clean and worker.usable:
            self._workers.give_back(worker)
        else:
            worker.kill()
            await worker.gone.wait()
            if worker.unkillable:
                self._record.cleanup = "unresolved"
                self._record.cleanup_detail = f"the process group {worker.pid} cannot be killed"
        self._worker = None
