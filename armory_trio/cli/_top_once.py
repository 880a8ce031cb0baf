"""The view as text or JSON, for scripts, pipes and terminals that can do nothing else."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import AsyncIterator
from typing import Final

import attrs
import msgspec
import trio

from ..engine._concurrency import open_private_nursery
from ..observability.live import Frame, LiveViewError, Query
from ._exit import BY_SIGNAL, READER_GONE, Unusable
from ._ledger_store import Undone
from ._streams import Streams, write_all
from ._texts import show
from ._top_frame import head
from ._top_link import ANSWER_WITHIN, Target, find, looking
from ._top_screen import ansi
from ._top_table import table
from ._top_text import Pen

_WIDE: Final = 10_000
"""Columns where there is no terminal: no text is cut, and a line stays a line."""

_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@attrs.frozen(kw_only=True)
class Output:
    """How it is printed.

    Args:
        as_json: As JSON, or as text.
        interval: Seconds between two frames.
        encoding: Of the text.
        is_colored: Whether colors are wanted on a terminal.
    """

    as_json: bool
    interval: float
    encoding: str
    is_colored: bool


def document(frame: Frame) -> str:
    """*frame* as one line of JSON in ASCII, the same bytes in every locale."""
    told = msgspec.to_builtins(frame)
    return json.dumps({name: value for name, value in told.items() if name not in ("is", "re")}, separators=(",", ":"))


async def one_frame(target: Target, query: Query) -> Frame:
    """What there is to see now. Cancelled: nothing is left.

    Raises:
        Undone: There is no host, or it goes away.
    """
    path, _ = await find(target)
    try:
        async with looking(path) as view:
            with trio.move_on_after(ANSWER_WITHIN):
                return await view.look(query)
    except LiveViewError as error:
        raise Undone(str(error)) from error
    raise Undone(f"{path}: the host does not answer; something in it may block its event loop")


def lines_of(frame: Frame, query: Query, fd: int, output: Output) -> list[str]:
    """*frame* as lines, as wide as the terminal *fd*; where it is none, as wide as their texts."""
    is_terminal = os.isatty(fd)
    width = max(20, os.get_terminal_size(fd).columns) if is_terminal else _WIDE
    pen = Pen(output.encoding)
    drawn = [
        *head(frame, pen, width),
        *table(frame.executions, pen, width, sort=query.sort, selected=None, descending=query.descending),
    ]
    left = frame.matched - len(frame.executions)
    shown = ansi(drawn, width, is_colored=output.is_colored) if is_terminal else [line.plain for line in drawn]
    return [line.rstrip() for line in shown] + ([f"and {left} more"] if left else [])


async def print_once(target: Target, query: Query, streams: Streams, output: Output) -> int:
    """Print one frame. Cancelled: nothing was printed.

    Raises:
        Undone: There is no host, or it goes away.
        Unusable: Standard output can't be written.
    """
    frame = await one_frame(target, query)
    if output.as_json:
        return show(streams, [document(frame)])
    return show(streams, lines_of(frame, query, streams.stdout, output), encoding=output.encoding)


async def stream_json(target: Target, query: Query, streams: Streams, output: Output) -> int:
    """Print a line of JSON for each frame, until a signal comes. Cancelled: a line may be cut off.

    Raises:
        Undone: There is no host, or it goes away.
        Unusable: Standard output can't be written.
    """
    path, _ = await find(target)
    came: list[int] = []
    with trio.open_signal_receiver(*_ENDING) as signals:
        async with open_private_nursery() as nursery:
            nursery.start_soon(_end_by, signals, came, nursery.cancel_scope)
            try:
                await _write_frames(path, query, streams.stdout, output.interval)
            except BrokenPipeError:
                pass
            except OSError as error:
                raise Unusable(f"standard output cannot be written: {error.strerror or error}") from error
            except LiveViewError as error:
                raise Undone(str(error)) from error
            nursery.cancel_scope.cancel("nobody reads any more")
    return BY_SIGNAL + came[0] if came else READER_GONE


async def _end_by(signals: AsyncIterator[int], came: list[int], work: trio.CancelScope) -> None:
    async for number in signals:
        came.append(number)
        work.cancel("a signal came")


async def _write_frames(path: str, query: Query, stdout: int, interval: float) -> None:
    async with looking(path) as view, view.subscribe(query, interval=interval) as frames:
        async for frame in frames:
            line = document(frame).encode() + b"\n"
            await trio.to_thread.run_sync(write_all, stdout, line, abandon_on_cancel=True)
