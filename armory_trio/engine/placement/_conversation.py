"""What a host says and hears while a body runs in a worker process."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final, cast

import msgspec
import trio

from ...content import UnencodableResult
from ...definitions import Effect, ToolFailure
from ...errors import ExecutionOver
from .._concurrency import Latch, Signal, open_private_nursery
from .._execution import Record
from .._lifecycle import Wait
from .._plan import Plan
from .._streams import ChunkSink
from .._tool_actions import Actions, Window
from ._channel import LOST_CHANNEL
from ._crossing import Crossing
from ._failures import made_again, readable
from ._frames import (
    ROOM,
    AbortAsked,
    Answer,
    AskDraining,
    BeginWait,
    BrokenFrame,
    Call,
    Chunk,
    CloseWindow,
    Credit,
    Emit,
    End,
    EndWait,
    Entered,
    Failure,
    FromHost,
    FromWorker,
    Logged,
    OpenWindow,
    Progressed,
    Question,
    Raised,
    ReportCleanup,
    Returned,
    Splitter,
    Streaming,
    Unsendable,
    pack,
    read_from_worker,
)
from ._placed import open_sink, reduced
from ._process import WorkerProcess

_UNHEARD: Final = 1000
"""Messages that may wait for a worker to hear them; one that behaves has one question open at a time."""


class Conversation:
    """One body in one worker, from the call to its end."""

    __slots__ = (
        "_actions",
        "_crossing",
        "_lost",
        "_more",
        "_owed",
        "_plan",
        "_record",
        "_sink",
        "_splitter",
        "_unsent",
        "_unwritten",
        "_waits",
        "_windows",
        "_worker",
        "end",
        "entered",
    )

    def __init__(self, record: Record, plan: Plan, crossing: Crossing, worker: WorkerProcess) -> None:
        self._record = record
        self._plan = plan
        self._crossing = crossing
        self._worker = worker
        self._actions = Actions(record)
        self._windows: dict[int, Window] = {}
        self._waits: dict[int, Wait] = {}
        self._unwritten: deque[OpenWindow | CloseWindow] = deque()
        """What the ledger has to know of before the worker is answered."""
        self._sink: ChunkSink | None = None
        self._owed = 0
        self._splitter = Splitter(crossing.process.max_frame + ROOM)
        self._unsent: list[bytes] = []
        self._more = Signal()
        self._lost = ""
        self.entered = False
        """Whether the function itself was entered."""
        self.end: End | None = None
        """How the body ended; None when the worker was lost first."""

    async def hold(self, call: Call) -> None:
        """Have *call* run, and do what the worker asks for, until the body has ended or the worker is lost.

        Cancelled: the worker is to be killed; nobody listens to it any more.
        """
        with self._closed(), self._worker.held():
            self._say(call)
            async with open_private_nursery() as speaking:
                speaking.start_soon(self._speak)
                async with open_private_nursery() as watching:
                    watching.start_soon(self._tell_of_abort)
                    watching.start_soon(self._end_once_given_up)
                    with trio.CancelScope() as reading:
                        watching.start_soon(_cancel_after, self._worker.exited, reading)
                        await self._listen()
                    watching.cancel_scope.cancel("the body has ended")
                if self.end is None and self._worker.exited.is_set:
                    self._hear(self._worker.receive_rest())
                    await self._write_down_all()
                if self.end is None:
                    speaking.cancel_scope.cancel("the worker is lost")
                else:
                    self._more.set()  # a message that was begun is finished: the worker may be used again

    @contextmanager
    def _closed(self) -> Generator[None]:
        try:
            yield
        finally:
            for wait in self._waits.values():  # of a worker that was lost: whatever is tried next does not wait
                self._actions.end_wait(wait)
            if self._sink is not None:
                self._sink.close(complete=isinstance(self.end, Returned))

    # -- speaking

    def _say(self, message: FromHost) -> None:
        self._unsent.append(pack(message))
        self._more.set()

    async def _speak(self) -> None:
        while self.end is None:
            if not self._unsent:
                await self._more.wait()
                continue
            unsent, self._unsent = self._unsent, []
            await self._worker.send(b"".join(unsent))

    async def _tell_of_abort(self) -> None:
        record = self._record
        if record.abort is None:
            if record.abort_latch is None:
                record.abort_latch = Latch()
            await record.abort_latch.wait()
        if record.abort is not None:
            self._say(AbortAsked())

    async def _end_once_given_up(self) -> None:
        # Only a tool that must never be cancelled is still here when its cleanup timeout is over.
        record = self._record
        if record.settled is None:
            record.settled = Latch()
        await record.settled.wait()
        core = record.core
        if core.closed:
            self._end_given_up()
            return
        record.in_thread = True  # like a thread that was left behind, it does not hold the supervisor open
        if core.idle:
            core.stir()
        core.hooks.closing.append(self._end_given_up)
        try:
            await trio.sleep_forever()
        finally:
            core.hooks.closing.remove(self._end_given_up)

    def _end_given_up(self) -> None:
        self._record.in_thread = False  # unlike a thread it can be killed, and whoever reports waits for that
        self._lost = "was given up when the supervisor was left"
        self._worker.kill()

    # -- listening

    async def _listen(self) -> None:
        while self.end is None and not self._lost:
            received = await self._worker.receive()
            if not received:
                return
            self._hear(received)
            await self._write_down_all()

    async def _write_down_all(self) -> None:
        while self._unwritten:
            await self._write_down(self._unwritten.popleft())

    async def _write_down(self, message: OpenWindow | CloseWindow) -> None:
        """The world is about to change, or was: the worker goes on when the ledger knows."""
        answer = self._answer_to(message)
        if answer.error is None:
            window = self._windows[message.number]
            write = self._actions.write_opened if isinstance(message, OpenWindow) else self._actions.write_closed
            try:
                await write(window)
            except ToolFailure as exc:
                answer = Answer("refused", str(exc))
        self._say(answer)

    def _hear(self, received: bytes | bytearray) -> None:
        try:
            for frame in self._splitter.feed(received):
                if self.end is None:
                    self._take(read_from_worker(frame))
        except RecursionError:
            self.end = Unsendable("object", "it is nested too deeply for the host", returned=False, clean=False)
        except (BrokenFrame, msgspec.DecodeError) as exc:
            self._lost = f"sent what no worker sends ({exc})"

    def _take(self, message: FromWorker) -> None:
        match message:
            case Entered():
                self.entered = True
                self._record.failure_effect = None
            case Streaming():
                self._open_stream()
            case Chunk():
                self._deliver(message)
            case Progressed():
                self._actions.progress(message.percent, message.text, readable(message.checkpoint))
            case Logged():
                data = cast("dict[str, object] | None", readable(message.data))
                self._actions.log(message.level, message.text, data)
            case Returned() | Unsendable() | Raised():
                self.end = message
            case _:
                if len(self._unsent) > _UNHEARD:
                    raise BrokenFrame("questions, and it hears no answer")
                if isinstance(message, OpenWindow | CloseWindow) and self._is_recorded:
                    self._unwritten.append(message)
                    return
                self._say(self._answer_to(message))

    @property
    def _is_recorded(self) -> bool:
        entry = self._record.entry
        return entry is not None and entry.started

    def _open_stream(self) -> None:
        self._sink = open_sink(self._record)
        if self._sink.buffer is not None:
            self._sink.buffer.when_room = self._pay

    def _deliver(self, message: Chunk) -> None:
        sink = self._sink
        if sink is None or self._owed >= self._plan.tool.options.buffer:
            raise BrokenFrame("a chunk that nobody has room for")
        try:
            chunk = self._crossing.read_chunk(message.value)
        except (msgspec.DecodeError, RecursionError) as exc:
            self.end = Unsendable("object", f"the host cannot read it: {exc}", returned=False, clean=False)
            return
        buffer, wanted = sink.buffer, self._record.verdict is None
        sink.accept(chunk)
        self._owed += 1
        if buffer is None or not wanted or buffer.runs_ahead or buffer.empty:  # a stage may have kept it
            if self._owed * 2 >= self._plan.tool.options.buffer:
                self._pay()
        elif buffer.full:
            buffer.mark_waiting()

    def _pay(self) -> None:
        if self._owed:
            owed, self._owed = self._owed, 0
            self._say(Credit(owed))

    # -- answering

    def _answer_to(self, question: Question) -> Answer:
        try:
            return Answer(yes=self._do(question))
        except ExecutionOver as exc:
            return Answer("over", str(exc))
        except Exception as exc:
            return Answer("refused", str(exc))

    def _do(self, question: Question) -> bool:
        actions = self._actions
        match question:
            case Emit():
                actions.emit(question.name, readable(question.data))
            case OpenWindow():
                window = Window(question.label, question.target)
                actions.open_window(window, question.label, question.target)
                self._windows[question.number] = window
            case CloseWindow():
                self._close_window(question)
            case BeginWait():
                self._waits[question.number] = actions.begin_wait(question.reason)
            case EndWait():
                actions.end_wait(self._waits.pop(question.number))
            case ReportCleanup():
                actions.report_cleanup(question.status, question.detail)
            case AskDraining():
                return self._record.core.closed
        return True

    def _close_window(self, told: CloseWindow) -> None:
        window = self._windows[told.number]  # it stays: a block may be entered twice
        if told.said == "happened":
            window.happened()
        elif told.said == "nothing-happened":
            window.nothing_happened()
        self._actions.close_window(window, _LEFT if told.by_exception else None)

    # -- the end

    def value(self) -> object:
        """What the body returned, or the value of its chunks. Raises what it raised, or what became of its worker."""
        match self.end:
            case None:
                raise self._worker_lost()
            case Raised():
                raise made_again(self.end.failures if self.entered else _not_ready(self.end.failures))
            case Unsendable():
                self._record.returned = self.end.returned
                raise _unencodable(self.end.type_name, self.end.reason)
            case Returned():
                if self._sink is not None:
                    return reduced(self._record, self._plan)
                try:
                    return self._crossing.read_value(self.end.value)
                except (msgspec.DecodeError, RecursionError) as exc:
                    self._record.returned = True
                    raise _unencodable("object", f"the host cannot read it: {exc}") from exc

    def _worker_lost(self) -> ToolFailure:
        entered = "" if self.entered else ", before the tool began"
        effect: Effect | None = None if self.entered else "none"
        return ToolFailure(f"the worker process {self._fate()}{entered}", code="WORKER_LOST", effect=effect)

    def _fate(self) -> str:
        worker = self._worker
        if worker.failure is not None:
            return f"could not be started ({worker.failure})"
        if self._lost:
            return f"{self._lost} and was killed"
        status = worker.how_it_ended
        if status is None:
            return "could not be killed"
        if status == LOST_CHANNEL:
            return "lost its channel to the host: a tool may not close descriptors that are not its own"
        return f"was killed by {_signal_name(-status)}" if status < 0 else f"exited with status {status}"


_LEFT: Final = Exception("the block of the window was left by an exception")


def _unencodable(type_name: str, reason: str) -> UnencodableResult:
    return UnencodableResult((), type_name, f"it cannot leave its worker process: {reason}")


async def _cancel_after(latch: Latch, scope: trio.CancelScope) -> None:
    await latch.wait()
    scope.cancel("the worker has exited")


def _not_ready(failures: list[Failure]) -> list[Failure]:
    """What went wrong before the function was entered, with the traceback: it is about modules, not arguments."""
    return [
        msgspec.structs.replace(
            failure, text=f"{failure.text}; the tool could not be made ready in its worker process\n{failure.traceback}"
        )
        for failure in failures
    ]


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
