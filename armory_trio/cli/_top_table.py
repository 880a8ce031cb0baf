"""The executions as a table that is as wide as the terminal. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import attrs
from rich.cells import cell_len
from rich.text import Text

from ..definitions._plurals import counted
from ..observability.live import LiveExecution, SortKey
from ._top_text import Pen, duration

_GAP: Final = 1
_SHORT: Final = {
    "abort-requested": "aborting",
    "cleanup-pending": "cleanup",
    "unknown-effect": "unknown",
}
_STYLES: Final = {"active": "green", "streaming": "green", "waiting": "yellow", "queued": "dim", "terminal": "dim"}
MARKS: Final = {"stuck": "!", "slow": "~"}
_MARK_STYLES: Final = {"stuck": "bold red", "slow": "yellow"}


@attrs.frozen
class Column:
    """A column of the table.

    Args:
        title: What stands above it.
        sort: What sorts by it.
        cell: What stands in it.
        from_width: It is shown on terminals that are at least so wide.
        least: What it may be squeezed to.
        right: Whether it is aligned to the right.
    """

    title: str
    sort: SortKey | None
    cell: Callable[[LiveExecution], str]
    from_width: int = 0
    least: int = 6
    right: bool = False


def doing(shown: LiveExecution) -> str:
    """What an execution is at, in words: the most telling thing first."""
    parts: list[str] = []
    if shown.abort is not None and shown.outcome is None:
        parts.append(f"stopped by {shown.abort.source}")
    if shown.outcome is not None:
        parts.append(shown.error_code or shown.outcome)
    if shown.cleanup in ("failed", "unresolved"):
        parts.append(f"cleanup {shown.cleanup}")
    if shown.waits_for is not None:
        place = f"#{shown.queue_position} for " if shown.queue_position is not None else "for "
        parts.append(place + shown.waits_for)
    if shown.declared_wait is not None:
        parts.append(f"for {shown.declared_wait}")
    if shown.progress is not None:
        parts += [f"{shown.progress.percent:.0f}%"] if shown.progress.percent is not None else []
        parts += [shown.progress.message] if shown.progress.message else []
    return ", ".join(parts)


def _doing_all(shown: LiveExecution) -> str:
    more = [counted(shown.chunks, "chunk")] if shown.chunks else []
    more += [f"attempt {shown.attempts}"] if shown.attempts > 1 else []
    return ", ".join([text for text in (doing(shown),) if text] + more)


def _name(shown: LiveExecution) -> str:
    return shown.tool_name or "?"


_STATE: Final = Column("STATE", "state", lambda shown: shown.state, least=15)
_SHORT_STATE: Final = Column("STATE", "state", lambda shown: _SHORT.get(shown.state, shown.state), least=9)
_TOOL: Final = Column("TOOL", "tool", _name, least=8)
_OWNER: Final = Column("OWNER", "owner", lambda shown: shown.owner_id or "", from_width=64, least=6)
_AGE: Final = Column("AGE", "age", lambda shown: duration(shown.age), from_width=52, right=True)
_IN_STATE: Final = Column("IN-ST", "in-state", lambda shown: duration(shown.in_state), right=True)
_CHUNKS: Final = Column("CHUNKS", "chunks", lambda shown: str(shown.chunks or ""), from_width=110, right=True)
_ATTEMPTS: Final = Column("TRIES", "attempts", lambda shown: str(shown.attempts or ""), from_width=110, right=True)
_DOING: Final = Column("WAITS FOR, PROGRESS", "waits-for", _doing_all, from_width=64, least=8)
_DOING_ONLY: Final = Column("WAITS FOR, PROGRESS", "waits-for", doing, from_width=110, least=8)
_ID: Final = Column("EXECUTION", None, lambda shown: shown.execution_id, from_width=140, least=12)


def columns_for(width: int) -> tuple[Column, ...]:
    """The columns that a terminal of *width* has room for."""
    if width < 64:
        chosen: tuple[Column, ...] = (_SHORT_STATE, _TOOL, _AGE, _IN_STATE)
    elif width < 110:
        chosen = (_STATE, _TOOL, _OWNER, _AGE, _IN_STATE, _DOING)
    else:
        chosen = (_STATE, _TOOL, _OWNER, _AGE, _IN_STATE, _CHUNKS, _ATTEMPTS, _ID, _DOING_ONLY)
    return tuple(column for column in chosen if column.from_width <= width)


def table(
    shown: Sequence[LiveExecution], pen: Pen, width: int, *, sort: SortKey, selected: int | None, descending: bool
) -> list[Text]:
    """A line of titles, and one for each of *shown*, each exactly *width* cells wide.

    Args:
        shown: The executions.
        pen: Writes the texts.
        width: Cells of a line.
        sort: What they are sorted by.
        selected: Which line is chosen; None for none.
        descending: Whether they are sorted the other way round.
    """
    columns = columns_for(width)
    cells = [[pen.clean(column.cell(each)) for column in columns] for each in shown]
    titles = [_title(column, sort, descending=descending) for column in columns]
    widths = _widths(columns, [titles, *cells], width - 2)
    lines = [Text(pen.fit("  " + _joined(titles, columns, widths, pen), width), style="bold reverse", end="")]
    for number, (each, row) in enumerate(zip(shown, cells, strict=True)):
        lines.append(_row(each, _joined(row, columns, widths, pen), pen, width, selected=number == selected))
    return lines


def _title(column: Column, sort: SortKey, *, descending: bool) -> str:
    return column.title + (("-" if descending else "+") if column.sort == sort else "")


def _row(each: LiveExecution, text: str, pen: Pen, width: int, *, selected: bool) -> Text:
    mark = MARKS.get(each.mark or "", " ")
    style = _MARK_STYLES.get(each.mark or "", _STYLES.get(each.state, ""))
    front = f"{'>' if selected else ' '}{mark}"
    return Text(pen.fit(front + text, width), style=f"{style} reverse".strip() if selected else style, end="")


def _joined(row: Sequence[str], columns: Sequence[Column], widths: Sequence[int], pen: Pen) -> str:
    fitted: list[str] = []
    for text, column, width in zip(row, columns, widths, strict=True):
        cut = pen.fit(text, width)
        fitted.append(cut.rstrip().rjust(width) if column.right and cell_len(text) <= width else cut)
    return (" " * _GAP).join(fitted)


def _widths(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """As wide as their texts; where that is too much, the widest are squeezed, down to their least."""
    widths = [max(cell_len(row[number]) for row in rows) for number in range(len(columns))]
    widths = [max(found, min(column.least, 6)) for found, column in zip(widths, columns, strict=True)]
    over = sum(widths) + _GAP * (len(columns) - 1) - width
    while over > 0:
        slack = [found - column.least for found, column in zip(widths, columns, strict=True)]
        widest = max(range(len(widths)), key=slack.__getitem__)
        if slack[widest] <= 0:
            break
        others = sorted(slack)
        step = min(over, max(1, slack[widest] - max(others[-2] if len(others) > 1 else 0, 0)))
        widths[widest] -= step
        over -= step
    return widths
