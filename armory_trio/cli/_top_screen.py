"""The full-screen view: what comes from the host, the keys and the system, brought together on one board."""

from __future__ import annotations

import io
import os
import signal
import termios
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import attrs
import trio
from rich.console import Console
from rich.text import Text

from ..definitions._exceptions import leaves
from ..observability.live import LiveFrames, LiveView, LiveViewError, Query
from ._exit import BY_SIGNAL, SUCCEEDED, Unusable
from ._ledger_store import Undone
from ._top_board import AbortIt, Ask, Board, Quit, Wish
from ._top_frame import rows_for, screen
from ._top_link import Target, find, looking
from ._top_text import Pen, duration
from ._top_tty import Tty

_AGAIN: Final = 1.0
"""Seconds between two looks for a host that is gone."""

_FASTEST: Final = 0.05
"""Seconds between two pictures; more often than that nobody can read."""

_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_HEARD: Final = (*_ENDING, signal.SIGWINCH, signal.SIGTSTP, signal.SIGCONT)
_REASON: Final = "an operator asked for it (armory-trio top)"

_ANSWERS: Final = {
    "not-started": "it had not started, and never will",
    "requested": "it was asked to stop",
    "already-requested": "it had been asked already",
    "already-ended": "it had ended already",
    "unknown": "the host does not know it (any more)",
    "not-allowed": "this host lets nobody abort from here",
}


@attrs.frozen(kw_only=True)
class Look:
    """What the user asked for.

    Args:
        target: Which host.
        interval: Seconds between two frames.
        encoding: That of the terminal.
        is_colored: Whether colors are wanted.
    """

    target: Target
    interval: float
    encoding: str
    is_colored: bool


class App:
    """The view as it runs."""

    def __init__(self, look: Look, board: Board, tty: Tty) -> None:
        self._look = look
        self._board = board
        self._tty = tty
        self._pen = Pen(look.encoding)
        self._dirty = trio.Event()
        self._asked = trio.Event()
        self._view: LiveView | None = None
        self._done = trio.CancelScope()
        self._nursery: trio.Nursery | None = None
        self.code = SUCCEEDED

    async def run(self) -> int:
        """Show until the user or a signal ends it. Cancelled: the terminal is given back."""
        with trio.open_signal_receiver(*_HEARD) as signals, self._done:
            self._resize()
            async with trio.open_nursery() as self._nursery:
                self._nursery.start_soon(self._draw)
                self._nursery.start_soon(self._listen)
                self._nursery.start_soon(self._follow)
                async for number in signals:
                    self._heed(signal.Signals(number))
        return self.code

    def _end(self, code: int) -> None:
        self.code = code
        self._done.cancel("the view is left")

    def _heed(self, number: signal.Signals) -> None:
        if number in _ENDING:
            self._end(BY_SIGNAL + number)
            return
        if number == signal.SIGTSTP:
            self._sleep(os.getpid())
        elif number == signal.SIGCONT:
            self._tty.enter()
        self._resize()

    def _resize(self) -> None:
        self._fulfil(self._board.resize(rows_for(self._tty.size[1])))
        self._dirty.set()

    # -- keys

    async def _listen(self) -> None:
        while keys := await self._tty.keys():
            for key in keys:
                if key == "ctrl-z":
                    self._sleep(0)  # and whoever started us in a script, as a terminal would do it
                elif key == "ctrl-l":
                    self._tty.enter()
                else:
                    self._press(key)
            self._dirty.set()
        self._end(BY_SIGNAL + signal.SIGHUP)

    def _press(self, key: str) -> None:
        if key == "ctrl-c":
            self._end(BY_SIGNAL + signal.SIGINT)
        else:
            self._fulfil(self._board.key(key))

    def _sleep(self, who: int) -> None:
        """Let the shell have the terminal, until it wakes us; where there is none that could, we stay awake.

        Args:
            who: Our process, or 0 for our group of processes.
        """
        self._tty.leave()
        heard = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        try:
            os.kill(who, signal.SIGTSTP)
        finally:
            signal.signal(signal.SIGTSTP, heard)
        self._tty.enter()
        self._dirty.set()

    def _fulfil(self, wish: Wish) -> None:
        match wish:
            case Quit():
                self._end(SUCCEEDED)
            case Ask():
                self._asked.set()
            case AbortIt() if self._nursery is not None:
                self._nursery.start_soon(self._abort, wish.execution_id)
            case _:
                pass

    async def _abort(self, execution_id: str) -> None:
        view, told = self._view, "the host is gone"
        if view is not None:
            try:
                told = _ANSWERS[await view.abort(execution_id, _REASON)]
            except LiveViewError as error:
                told = str(error)
        self._board.news = f"{execution_id}: {told}"
        self._dirty.set()

    # -- the host

    async def _follow(self) -> None:
        target, since = self._look.target, trio.current_time()
        while True:
            try:
                path, target = await find(target)
                query = self._board.query
                async with (
                    looking(path) as self._view,
                    self._view.subscribe(query, interval=self._look.interval) as frames,
                    trio.open_nursery() as nursery,
                ):
                    nursery.start_soon(self._change, frames, query)
                    await self._take(frames)
            except* (LiveViewError, Undone, Unusable) as group:
                if self._view is not None:
                    self._view, since = None, trio.current_time()
                gone = duration(trio.current_time() - since)
                self._board.news = f"host gone for {gone}, waiting for it to come back; q quits ({next(leaves(group))})"
                self._dirty.set()
            await trio.sleep(_AGAIN)

    async def _take(self, frames: LiveFrames) -> None:
        async for frame in frames:
            if self._board.news.startswith("host gone"):
                self._board.news = ""
            self._board.show(frame)
            self._dirty.set()

    async def _change(self, frames: LiveFrames, asked: Query) -> None:
        while True:
            self._asked = trio.Event()
            if asked == self._board.query:
                await self._asked.wait()
            else:
                asked = self._board.query
                await frames.change(asked)

    # -- pictures

    async def _draw(self) -> None:
        try:
            while True:
                self._dirty = trio.Event()
                await self._tty.show(self._picture())
                await trio.sleep(_FASTEST)
                await self._dirty.wait()
        except OSError:  # the terminal is gone
            self._end(BY_SIGNAL + signal.SIGHUP)

    def _picture(self) -> str:
        columns, lines = self._tty.size
        drawn = ansi(screen(self._board, self._pen, columns, lines), columns, is_colored=self._look.is_colored)
        return "\x1b[H" + "\r\n".join(f"{line}\x1b[K" for line in drawn) + "\x1b[J"


def ansi(lines: list[Text], width: int, *, is_colored: bool) -> list[str]:
    """*lines* with their styles as a terminal understands them."""
    taken = io.StringIO()
    console = Console(
        file=taken,
        force_terminal=True,
        color_system="standard" if is_colored else None,
        width=width + 1,
        highlight=False,
        legacy_windows=False,
    )
    for line in lines:
        console.print(line, end="\n", no_wrap=True, overflow="ignore", crop=False, markup=False)
    return taken.getvalue().split("\n")[: len(lines)]


@contextmanager
def opened(terminal: int, encoding: str) -> Generator[Tty]:
    """The terminal, taken over for this block.

    Args:
        terminal: A descriptor of it.
        encoding: Of its texts.

    Raises:
        Unusable: It can't be used.
    """
    try:
        tty = Tty(terminal, encoding)
        with tty:
            yield tty
    except (OSError, termios.error) as error:
        raise Unusable(f"the terminal cannot be used: {error}; use --once or --json") from error
