"""What running tools may do, on trio's thread: telling, marking effects and waits."""

from __future__ import annotations

from collections.abc import Mapping

from ..definitions import CleanupStatus, EffectRecord, LogLevel
from ..errors import ArmoryError, ExecutionOver
from ._events import CustomEmitted, EffectClosed, EffectOpened, LogWritten, ProgressReported
from ._execution import Record
from ._lifecycle import CLEANUP_PENDING, FINAL, Progress, Wait, WaitKind
from ._settlement import leave_behind


class Window:
    """One stretch in which the world changes."""

    __slots__ = ("_label", "_said", "_state", "_target")

    def __init__(self, label: str, target: str | None) -> None:
        self._label = label
        self._target = target
        self._state: str = "open"
        self._said: str | None = None

    def happened(self) -> None:
        self._said = "completed"

    def nothing_happened(self) -> None:
        self._said = "nothing-happened"

    def close(self, *, by_exception: bool) -> None:
        self._state = self._said or ("unknown" if by_exception else "completed")

    def not_entered(self) -> None:
        self._state = "nothing-happened"

    def record(self) -> EffectRecord:
        return EffectRecord(self._label, self._target, self._state)  # type: ignore[arg-type]  # set above only


class Actions:
    """What all contexts do in the end, on trio's thread."""

    __slots__ = ("record",)

    def __init__(self, record: Record) -> None:
        self.record = record

    def must_be_open(self) -> None:
        if self.record.verdict is not None or self.record.over:
            raise ExecutionOver(f"{self.record.id} ({self.record.name}) is over; nothing new may start in it")

    def must_not_be_final(self) -> None:
        if self.record.state in FINAL:
            raise ExecutionOver(f"{self.record.id} ({self.record.name}) is over")

    def progress(self, percent: float | None, message: str | None, checkpoint: object | None) -> None:
        record = self.record
        if record.verdict is not None:
            return
        record.touch()
        record.progress = Progress(percent, message)
        record.publish()
        if record.core.feed.readers:
            facts: dict[str, object] = {"percent": percent, "message": message}
            record.tell_with_payload(ProgressReported, facts, {"checkpoint": checkpoint})

    def log(self, level: LogLevel, message: str, data: Mapping[str, object] | None) -> None:
        record = self.record
        if record.verdict is not None:
            return
        record.touch()
        if record.core.feed.readers:
            record.tell_with_payload(LogWritten, {"level": level, "message": message}, {"data": data})

    def emit(self, name: str, data: object) -> None:
        self.must_be_open()
        if self.record.core.feed.readers:
            self.record.tell_with_payload(CustomEmitted, {"name": name}, {"data": data})

    def report_cleanup(self, status: CleanupStatus, detail: str) -> None:
        record = self.record
        self.must_not_be_final()
        record.cleanup = status
        record.cleanup_detail = detail
        if status == "unresolved" and record.state == CLEANUP_PENDING:
            leave_behind(record, "unresolved")

    def open_window(self, window: Window, label: str, target: str | None) -> None:
        record = self.record
        self.must_be_open()
        if record.plan is None or not record.plan.effect_windows:
            raise ArmoryError(
                f"tool {record.name!r} opened an effect window without declaring effect_windows=True; "
                f"declare it, so that a call without an open window is known to have changed nothing"
            )
        if record.windows is None:
            record.windows = []
        record.windows.append(window)
        if record.core.feed.readers:
            record.tell(EffectOpened, label=label, target=target)

    def close_window(self, window: Window, exc: BaseException | None) -> None:
        window.close(by_exception=exc is not None)
        self._told_closed(window)

    async def write_opened(self, window: Window) -> None:
        """Let the ledger write down that *window* is open, before the world changes. Shielded, and bounded.

        Raises:
            ToolFailure: It can't be, so nothing may be changed.
        """
        entry = self.record.entry
        if entry is None or entry.attempt_id is None:
            return
        from .keeping._refusals import FenceLost, LedgerUnavailable, refusal  # noqa: PLC0415  # only who has a key pays for it

        try:
            if not entry.started:
                await entry.start()  # what stands around the body is about to change something
            await entry.open_window()
        except (FenceLost, LedgerUnavailable) as exc:
            self.leave_unentered(window)
            raise refusal("an effect window can't be recorded", exc) from exc

    async def write_closed(self, window: Window) -> None:
        """Let the ledger write down what happened in *window*. Shielded, and bounded; never raises."""
        entry = self.record.entry
        if entry is not None and entry.started:
            await entry.close_window(window.record(), hold=self.record.known_by_key)

    def leave_unentered(self, window: Window) -> None:
        window.not_entered()
        self._told_closed(window)

    def _told_closed(self, window: Window) -> None:
        if self.record.core.feed.readers:
            closed = window.record()
            self.record.tell(EffectClosed, label=closed.label, target=closed.target, state=closed.state)

    def begin_wait(self, reason: str, kind: WaitKind = "declared") -> Wait:
        """The tool only waits from here on. The answer is what to end."""
        from ._waits import begin_wait  # noqa: PLC0415  # only who waits pays for it

        self.must_be_open()
        return begin_wait(self.record, kind, reason)

    def end_wait(self, wait: Wait) -> None:
        """*wait* of the tool's is over; dropped when the state is final."""
        from ._waits import end_wait  # noqa: PLC0415  # as above

        end_wait(self.record, wait)
