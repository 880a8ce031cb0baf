"""What the record of an execution asks of those who work for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

from ..definitions import EffectRecord, ToolCall, ToolDefinition, ToolResult
from ..definitions._identity import DEFAULT_NAMESPACE
from ..errors import JsonError
from ._timers import Timed

if TYPE_CHECKING:  # loaded by who looks for loops
    from ..authority import LoopDetection, LoopVerdict


class Keeper(Protocol):
    """Whoever keeps the result of an ended execution, so that its record need not."""

    def keep(self, result: ToolResult[object], late: object) -> None:
        """The execution ended with *result*; *late* is what its body returned when nobody wanted it any more."""
        ...


class Nobody:
    """The keeper of a result that nobody will ask for."""

    def keep(self, result: ToolResult[object], late: object) -> None:
        """Let it go."""


NOBODY: Final = Nobody()


class Sweep:
    """Executions that are asked to stop together, in one turn of the scheduler.

    Args:
        now: When, in seconds on trio's clock.
        cut: Whose scopes were cancelled.
        tripped: What batches that fail fast still have to do: stop their other members.
    """

    __slots__ = ("cut", "now", "tripped")

    def __init__(self, now: float) -> None:
        self.now: float = now
        self.cut: list[Timed] = []
        self.tripped: list[Callable[[], None]] = []


_USUAL: Final = f"{DEFAULT_NAMESPACE}:"
"""What a model does not see of the id of a tool."""


class Repeats:
    """Calls that repeat themselves: what was judged of those that run, until it is known how they end."""

    __slots__ = ("_detector", "_running")

    def __init__(self, settings: LoopDetection) -> None:
        from ..authority import LoopDetector  # noqa: PLC0415  # loaded by then

        self._detector = LoopDetector(settings)
        self._running: dict[str, LoopVerdict] = {}

    def judge(self, execution_id: str, tool: ToolDefinition, call: ToolCall, owner: str | None) -> LoopVerdict | None:
        """What is to be done about *call*. None when its tool may be called again and again, or it is no JSON."""
        if not self._detector.settings.watches(tool):
            return None
        from ..definitions import input_digest  # noqa: PLC0415  # as above

        try:
            name = tool.id.text.removeprefix(_USUAL)
            verdict = self._detector.check(name, input_digest(call.arguments), owner_id=owner)
        except JsonError:
            return None  # its validation will say what is wrong
        self._running[execution_id] = verdict
        return verdict

    def decided(self, result: ToolResult[object]) -> None:
        """The outcome of a call is decided: what the next call like it will be compared with."""
        verdict = self._running.pop(result.execution_id, None)
        if verdict is not None and result.attempts:
            self._detector.record_result(verdict, _digest_of(result))


def _digest_of(result: ToolResult[object]) -> str:
    error = result.error
    if error is not None:
        same = error.message.replace(result.execution_id, "")  # which execution it was makes no difference
        return f"{error.category} {error.code} {same}"
    try:
        from ..definitions import output_digest  # noqa: PLC0415  # as above

        return output_digest(result.value)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: ASYNC103  # code of the value's own, or it has no JSON form; nothing is awaited
        return repr(result.content)  # noqa: ASYNC104  # as said


class Hooks:
    """What a supervisor is asked to tell, and to whom; all but the first are rare.

    Args:
        host: Answers the supervisor as long as there is one: it keeps the shared state, not the other way round.
        closing: Whom to tell once no new work is taken.
        sweep: Several executions that are being asked to stop together; None while nobody does that.
        repeats: Judges whether calls repeat themselves; None when nobody asked for that.
        judge: Sees once more whether the call of a record may run, before what was done before is told again.
    """

    __slots__ = ("closing", "host", "judge", "repeats", "sweep")

    def __init__(self) -> None:
        self.host: Callable[[], object] = lambda: None
        self.closing: list[Callable[[], None]] = []
        self.sweep: Sweep | None = None
        self.repeats: Repeats | None = None
        self.judge: Callable[..., None]


class Window(Protocol):
    """An effect window, as far as the record needs it."""

    def record(self) -> EffectRecord: ...


class Feeder(Protocol):
    """The buffer between a live stream and its reader, as the tool's side sees it."""

    when_room: Callable[[], None] | None
    """Told when the tool need not wait any more, if its driver is in a thread."""

    @property
    def full(self) -> bool:
        """Whether the tool has to wait."""
        ...

    @property
    def empty(self) -> bool:
        """Whether the reader has everything, so that nothing will be heard of him before there is more."""
        ...

    @property
    def runs_ahead(self) -> bool:
        """Whether the tool need not wait for its reader, since others wait for the same stream."""
        ...

    def others_wait(self) -> None:
        """Others wait for the same stream now."""
        ...

    def put(self, chunk: object) -> None:
        """Add a chunk; the bound is the driver's to keep."""
        ...

    def mark_waiting(self) -> None:
        """The tool waits for the reader from now on."""
        ...

    async def room(self) -> None:
        """Return when there is room. Cancelled: nothing has changed."""
        ...

    def decided(self) -> None:
        """The outcome is decided: the reader may go once it has read what there is."""
        ...

    def limit_wait(self) -> None:
        """The supervisor drains: a reader that does not come holds it up only so long."""
        ...

    def stalled(self, at: float) -> bool:
        """Whether the time for which the tool may wait ran out at *at*, with nothing read meanwhile."""
        ...
