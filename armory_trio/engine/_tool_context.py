"""What a running tool may do, done: for async tools, for ``def`` tools in a thread, and for ``def`` tools inline."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from types import TracebackType
from typing import Final, NoReturn, TypeVar

import trio

from ..definitions import (
    BlockingContext,
    Catalogue,
    CleanupStatus,
    EffectWindow,
    ElicitAnswer,
    LogLevel,
    RequestContext,
    Tool,
    ToolContext,
    ToolLike,
    ToolResult,
    is_tool,
)
from ..errors import ArmoryError, ExecutionAborted
from ..toolbox import Toolbox
from ._concurrency import Latch, Token
from ._execution import Record
from ._lifecycle import Wait
from ._tool_actions import Actions, Window

T = TypeVar("T")

Door = Callable[[Record, str | Tool[..., object], Mapping[str, object], str | None], Awaitable[ToolResult[object]]]
"""Runs a call of a tool, or of a name, as a child of a record; at a place, if its caller names one."""

_LEVELS: Final = ("debug", "info", "warning", "error")


class _EffectBlock:
    """``async with`` in an async tool, ``with`` in a ``def`` tool."""

    __slots__ = ("_context", "_window")

    def __init__(self, context: _Common, label: str, target: str | None) -> None:
        self._context = context
        self._window = Window(label, target)
        context.run(context.actions.open_window, self._window, label, target)

    async def __aenter__(self) -> EffectWindow:
        await self._context.actions.write_opened(self._window)
        try:
            await trio.lowlevel.checkpoint_if_cancelled()
        except BaseException:
            self._context.actions.leave_unentered(self._window)
            await self._context.actions.write_closed(self._window)  # noqa: ASYNC102, ASYNC120  # shields itself
            raise
        return self._window

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._context.actions.close_window(self._window, exc)
        await self._context.actions.write_closed(self._window)  # noqa: ASYNC102  # shields itself

    def __enter__(self) -> EffectWindow:
        self._context.must_be_writable(self._window)
        self._context.wait_for(self._context.actions.write_opened, self._window)
        try:
            self._context.check()
        except BaseException:
            self._context.run(self._context.actions.leave_unentered, self._window)
            self._context.wait_for(self._context.actions.write_closed, self._window)
            raise
        return self._window

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._context.run(self._context.actions.close_window, self._window, exc)
        self._context.wait_for(self._context.actions.write_closed, self._window)


class _WaitingBlock:
    """``async with`` in an async tool, ``with`` in a ``def`` tool."""

    __slots__ = ("_context", "_reason", "_waits")

    def __init__(self, context: _Common, reason: str) -> None:
        self._context = context
        self._reason = reason
        self._waits: list[Wait] = []  # more than one when the block is entered again inside of itself

    async def __aenter__(self) -> None:
        self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__exit__(kind, exc, traceback)

    def __enter__(self) -> None:
        self._waits.append(self._context.run(self._context.actions.begin_wait, self._reason))

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._context.run(self._context.actions.end_wait, self._waits.pop())


class _Common:
    """The members that need no waiting. `run` and `post` bring an action to trio's thread."""

    __slots__ = ("_door", "_record", "actions")

    def __init__(self, record: Record, door: Door) -> None:
        self._record = record
        self._door = door
        self.actions = Actions(record)

    def run(self, action: Callable[..., T], *args: object) -> T:
        """Do *action* and return what it returns."""
        return action(*args)

    def post(self, action: Callable[..., object], *args: object) -> None:
        """Do *action* soon, in order."""
        action(*args)

    def wait_for(self, _action: Callable[[Window], Awaitable[None]], _window: Window, /) -> None:
        """Do *_action*, which waits for the ledger, if there is anything to write."""

    def must_be_writable(self, window: Window) -> None:
        """Refuse *window* if the ledger has to know of it, and nothing here can wait for that.

        Raises:
            ArmoryError: It is so.
        """
        if self._record.entry is not None and self._record.entry.started:
            self.actions.leave_unentered(window)
            raise ArmoryError(
                f"{self.tool_name!r} can't open an effect window with `with` on trio's thread, since that would have to "
                f"wait until it is written down; make it async, or let it run in a thread"
            )

    @property
    def _toolbox(self) -> Toolbox:
        plan = self._record.plan
        return self._record.core.toolbox if plan is None else plan.toolbox

    @property
    def execution_id(self) -> str:
        return self._record.id

    @property
    def call_id(self) -> str:
        return self._record.call_id

    @property
    def tool_name(self) -> str:
        return self._record.name

    @property
    def owner_id(self) -> str | None:
        return self._record.owner

    @property
    def deadline(self) -> float | None:
        return self._record.deadline

    @property
    def context(self) -> Mapping[str, object]:
        return self._toolbox.context

    @property
    def request_context(self) -> RequestContext | None:
        return self._record.request_context

    @property
    def idempotency_key(self) -> str | None:
        entry = self._record.entry
        return None if entry is None else entry.told_key

    @property
    def metadata(self) -> object:
        return self._record.options.metadata

    @property
    def toolbox(self) -> Catalogue:
        return self._toolbox

    @property
    def abort_requested(self) -> bool:
        self.actions.must_not_be_final()
        return self._record.abort is not None

    @property
    def draining(self) -> bool:
        self.actions.must_not_be_final()
        return self._record.core.closed

    def check(self) -> None:
        self.actions.must_not_be_final()
        record = self._record
        if record.cut and record.abort is not None and (record.plan is None or record.plan.interruptible):
            raise ExecutionAborted(record.abort.reason)

    def progress(
        self, percent: float | None = None, message: str | None = None, checkpoint: object | None = None
    ) -> None:
        if percent is not None and not 0 <= percent <= 100:
            raise ValueError(f"progress of {percent!r} percent; give a number from 0 to 100")
        self.actions.must_not_be_final()
        self.post(self.actions.progress, percent, message, checkpoint)

    def log(self, level: LogLevel, message: str, data: Mapping[str, object] | None = None) -> None:
        if level not in _LEVELS:
            raise ValueError(f"log level {level!r}; give one of {', '.join(_LEVELS)}")
        self.actions.must_not_be_final()
        self.post(self.actions.log, level, message, data)

    def emit(self, name: str, data: object = None) -> None:
        self.run(self.actions.emit, name, data)

    def report_cleanup(self, status: CleanupStatus, detail: str = "") -> None:
        if status not in ("completed", "failed", "unresolved"):
            raise ValueError(f"cleanup {status!r}; give completed, failed or unresolved")
        self.run(self.actions.report_cleanup, status, detail)

    def effect(self, label: str, target: str | None = None) -> _EffectBlock:
        return _EffectBlock(self, label, target)

    def waiting(self, reason: str) -> _WaitingBlock:
        self.actions.must_be_open()
        return _WaitingBlock(self, reason)


class TaskContext(_Common, ToolContext):
    """For async tools, in their own task."""

    __slots__ = ()

    async def wait_abort_requested(self) -> None:
        record = self._record
        self.actions.must_not_be_final()
        if record.abort is not None:
            await trio.lowlevel.checkpoint()
            return
        if record.abort_latch is None:
            record.abort_latch = Latch()
        await record.abort_latch.wait()
        if record.abort is None:
            self.actions.must_not_be_final()  # it ended without having been asked to

    async def call(
        self, tool: str | ToolLike, arguments: Mapping[str, object] | None = None, /, *, place: str | None = None
    ) -> ToolResult[object]:
        self.actions.must_be_open()
        if not (isinstance(tool, str) or is_tool(tool)):
            raise TypeError(f"ctx.call({tool!r}): give the name of a tool, or a tool")
        return await self._door(self._record, tool, {} if arguments is None else arguments, place)

    async def elicit(
        self, message: str, *, schema: Mapping[str, object] | None = None, url: str | None = None
    ) -> ElicitAnswer:
        self.actions.must_be_open()
        wait = self.actions.begin_wait(message, "elicitation")
        try:
            from ._elicitation import ask  # noqa: PLC0415  # only who asks pays for it

            return await ask(self._record, message, schema, url)
        finally:
            self.actions.end_wait(wait)


class InlineContext(_Common, BlockingContext):
    """For ``def`` tools that run on trio's thread, where nothing may block."""

    __slots__ = ()

    def wait_abort_requested(self) -> None:
        self._cannot_block("wait_abort_requested")

    def call(self, *_: object, **__: object) -> ToolResult[object]:
        self._cannot_block("call")

    def elicit(self, *_: object, **__: object) -> ElicitAnswer:
        self._cannot_block("elicit")

    def _cannot_block(self, member: str) -> NoReturn:
        raise ArmoryError(
            f"ctx.{member} would block trio's thread: {self.tool_name!r} is a def tool with placement='task'; "
            f"make it async, or let it run in a thread"
        )


class ThreadContext(_Common, BlockingContext):
    """For ``def`` tools in a worker thread."""

    __slots__ = ("_blocking", "_token")

    def __init__(self, record: Record, door: Door, token: Token) -> None:
        super().__init__(record, door)
        self._token = token
        self._blocking = TaskContext(record, door)

    def run(self, action: Callable[..., T], *args: object) -> T:
        return trio.from_thread.run_sync(action, *args, trio_token=self._token)

    def post(self, action: Callable[..., object], *args: object) -> None:
        self._token.run_sync_soon(action, *args)

    def must_be_writable(self, window: Window) -> None:
        pass

    def wait_for(self, action: Callable[[Window], Awaitable[None]], window: Window, /) -> None:
        if self._record.entry is not None and self._record.entry.started:
            trio.from_thread.run(action, window, trio_token=self._token)

    def wait_abort_requested(self) -> None:
        trio.from_thread.run(self._blocking.wait_abort_requested, trio_token=self._token)

    def call(
        self, tool: str | ToolLike, arguments: Mapping[str, object] | None = None, /, *, place: str | None = None
    ) -> ToolResult[object]:
        calling = partial(self._blocking.call, tool, arguments, place=place)
        return trio.from_thread.run(calling, trio_token=self._token)

    def elicit(
        self, message: str, *, schema: Mapping[str, object] | None = None, url: str | None = None
    ) -> ElicitAnswer:
        asking = partial(self._blocking.elicit, message, schema=schema, url=url)
        return trio.from_thread.run(asking, trio_token=self._token)
