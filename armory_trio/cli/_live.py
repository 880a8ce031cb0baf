"""The live view on stderr. It looks at the supervisor now and then, and draws in a thread: it slows no tool down."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Final, TextIO

import msgspec
import trio
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ..definitions._plurals import counted
from ..engine import Snapshot
from ._streams import plain

_PERIOD: Final = 0.1
"""Seconds between two looks; more often than that nobody can read."""

_SHARE: Final = 20
"""Looking takes at most one part in so many of the time, however many executions there are."""

_ROWS: Final = 20
_ORDER: Final = {"abort-requested": 0, "cleanup-pending": 0, "streaming": 1, "active": 1, "waiting": 1, "queued": 2}
_WORDS: Final = {"active": "running", "abort-requested": "stopping", "cleanup-pending": "cleaning up"}
"""What the view calls a state; the others are called as they are."""

_STYLES: Final = {"active": "green", "streaming": "green", "waiting": "yellow", "queued": "dim"}
CURSOR_BACK: Final = b"\x1b[?25h\n"
"""Makes the cursor visible again, which a view that is not closed leaves hidden."""


class Frame(msgspec.Struct, frozen=True):
    """All that one picture shows.

    Args:
        shots: The executions that are not over.
        status: What the run as a whole is doing.
        limits: The sizes of the limits that are known by name.
        now: Seconds on trio's clock.
        rows: How many executions are shown one by one.
    """

    shots: Sequence[Snapshot]
    status: str
    limits: dict[str, int]
    now: float
    rows: int = _ROWS


def picture(frame: Frame) -> RenderableType:
    """*frame* as something that rich can draw."""
    states = Counter(shot.state for shot in frame.shots)
    counts = ", ".join(f"{count} {_WORDS.get(state, state)}" for state, count in states.most_common())
    lines: list[RenderableType] = [Text(f"{counts or 'nothing runs'} | {frame.status}", style="bold")]
    if used := _limits_in_use(frame):
        lines.append(Text(f"limits: {used}", style="dim"))
    shown = sorted(frame.shots, key=_importance)[: frame.rows]
    if shown:
        lines.append(_table(shown, frame.now))
    if len(frame.shots) > len(shown):
        lines.append(Text(f"and {len(frame.shots) - len(shown)} more", style="dim"))
    return Group(*lines)


def _importance(shot: Snapshot) -> tuple[int, float]:
    since = shot.queue_position if shot.queue_position is not None else (shot.started_at or shot.admitted_at)
    return (_ORDER.get(shot.state, 3), since)


def _limits_in_use(frame: Frame) -> str:
    used = Counter(limit for shot in frame.shots for limit in shot.capacity)
    parts = [
        f"{plain(limit, 40)} {count}/{frame.limits[limit]}" if limit in frame.limits else f"{plain(limit, 40)} {count}"
        for limit, count in sorted(used.items())
    ]
    return ", ".join(parts[:6])


def _table(shots: Iterable[Snapshot], now: float) -> Table:
    table = Table.grid(padding=(0, 1))
    for width in (24, 11, 8):
        table.add_column(no_wrap=True, overflow="ellipsis", max_width=width)
    table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    for shot in shots:
        since = shot.started_at if shot.started_at is not None else shot.admitted_at
        table.add_row(
            Text(plain(shot.tool_name, 40)),
            Text(_WORDS.get(shot.state, shot.state), style=_STYLES.get(shot.state, "red")),
            Text(_seconds(now - since), justify="right"),
            Text(plain(_doing(shot), 200)),
        )
    return table


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f}s" if seconds < 60 else f"{int(seconds) // 60}m{int(seconds) % 60:02d}s"


def _doing(shot: Snapshot) -> str:
    """What one execution is at, in words: the most telling thing first."""
    parts: list[str] = []
    if shot.abort is not None:
        parts.append(shot.abort.reason)
    if shot.queue_position is not None:
        parts.append(f"number {shot.queue_position} in line")
    if shot.waits_for is not None:
        parts.append(f"for {shot.waits_for}")
    if shot.declared_wait is not None:
        parts.append(f"for {shot.declared_wait}")
    if shot.progress is not None:
        percent, message = shot.progress.percent, shot.progress.message
        parts += [f"{percent:.0f}%"] if percent is not None else []
        parts += [message] if message else []
    if shot.chunks:
        parts.append(counted(shot.chunks, "chunk"))
    return ", ".join(parts)


def _screen() -> TextIO:
    """The terminal; where it cannot show a character it shows one other, so that every line keeps its width."""
    encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
    return open(2, "w", encoding=encoding, errors="replace", closefd=False)


class View:
    """Shows pictures on stderr until it is cancelled. A stderr that cannot be drawn on ends the view, not the run.

    Args:
        look: What there is to see now.
    """

    def __init__(self, look: Callable[[], Frame]) -> None:
        self._look = look
        self._console = Console(file=_screen(), force_terminal=True)
        self._live = self._blank()
        self._pen = threading.Lock()
        self._away = False
        """Whether the picture is put aside."""

    def _blank(self) -> Live:
        return Live(console=self._console, auto_refresh=False, transient=True)

    async def run(self) -> None:
        """Draw now and then. Cancelled: the view is wiped away."""
        try:
            try:
                while True:
                    await self._draw()
            finally:
                with trio.CancelScope(shield=True):
                    await trio.to_thread.run_sync(self._close)
        except (OSError, ValueError, SystemExit):
            pass  # the terminal is gone; rich leaves by SystemExit when a pipe is closed

    def _close(self) -> None:
        with self._pen:
            self._live.stop()

    async def _draw(self) -> None:
        began = trio.current_time()
        frame = self._look()
        looked = trio.current_time() - began
        await trio.to_thread.run_sync(self._show, frame)
        await trio.sleep(max(_PERIOD, looked * _SHARE))

    def _show(self, frame: Frame) -> None:
        rows = max(1, min(_ROWS, self._console.size.height - 4))
        with self._pen:
            if self._away:
                return
            self._live.start()
            self._live.update(picture(msgspec.structs.replace(frame, rows=rows)), refresh=True)

    @asynccontextmanager
    async def aside(self) -> AsyncGenerator[None]:
        """Leave the terminal, its cursor too, to somebody else for this block."""
        await trio.to_thread.run_sync(self._put_aside)
        try:
            yield
        finally:
            self._away = False

    def _put_aside(self) -> None:
        with self._pen:
            self._away = True
            self._live.stop()
            self._live = self._blank()  # the old one would wipe away as many lines as it had last

    @contextmanager
    def wiped(self) -> Generator[None]:
        """Keep the picture away while something else is written to the same terminal. For worker threads."""
        with self._pen:
            if self._live.is_started:
                self._live.update(Text(""), refresh=True)
            yield
