"""What the screen shows, as lines. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.text import Text

from ..observability.live import Frame, LiveDetail, LiveExecution, LiveLimit, LiveRates
from ._top_board import KEYS, Board
from ._top_table import MARKS, doing, table
from ._top_text import Pen, duration, rate

_ATTENTION: Final = ("abort-requested", "cleanup-pending", "unknown-effect")
_STATES: Final = (*_ATTENTION, "active", "streaming", "waiting", "queued", "terminal")
"""In the order in which they are told, so that what matters most is not what is cut off."""

_HEAD: Final = 5
"""Lines above the executions: the host, rates, states, limits, titles."""


def rows_for(height: int) -> int:
    """How many executions a screen of *height* lines shows."""
    return max(1, height - _HEAD - 1)


def screen(board: Board, pen: Pen, width: int, height: int) -> list[Text]:
    """Exactly *height* lines of exactly *width* cells."""
    frame = board.frame
    if board.mode == "help":
        body = [pen.line(f" {keys:<12} {words}", width) for keys, words in KEYS]
        body.append(pen.line(f" {MARKS['stuck']} stuck, {MARKS['slow']} slow", width))
    elif frame is None:
        body = [pen.line(f" {pen.clean(board.news or 'looking for the host')}", width)]
    elif board.looks_at is not None:
        body = [*head(frame, pen, width)[:1], *_detail(board.detail, board.looks_at, pen, width)]
        body = body[:1] + body[1 + board.scrolled_to(len(body) - 1, height - 2) :]
    else:
        body = [*head(frame, pen, width)[: max(1, height - 3)], *_table(board, frame, pen, width)]
    blank = pen.line("", width)
    body = [*body, *[blank] * height][: max(0, height - 1)]
    return [*body, _foot(board, pen, width)][-height:]


def head(frame: Frame, pen: Pen, width: int) -> list[Text]:
    """The lines above the table."""
    host, totals, rates = frame.host, frame.totals, frame.rates
    name = f"{host.name} pid {host.pid}" + (f" on {host.machine}" if width >= 60 else "")
    viewers = f"  {host.viewers} viewers" if host.viewers > 1 and width >= 60 else ""
    lines = [
        pen.line(
            pen.clean(f"{name}  up {duration(host.uptime)}  admission {host.admission}{viewers}"),
            width,
            "bold" if host.admission == "open" else "bold yellow",
        )
    ]
    lines.append(pen.line(f"live {totals.live}  {_rates(rates, is_narrow=width < 60)}", width))
    counts = [(state, totals.states.get(state, 0)) for state in _STATES if totals.states.get(state)]
    style = "red" if any(state in _ATTENTION for state, _ in counts) else ""
    lines.append(pen.line("  ".join(f"{state} {count}" for state, count in counts) or "nothing runs", width, style))
    lines.append(pen.line(_limits(frame.limits, frame.limits_left_out, pen), width, "dim"))
    return lines


def _rates(rates: LiveRates | None, *, is_narrow: bool) -> str:
    if rates is None:
        return "no rates yet"
    if is_narrow:
        return f"+{rate(rates.started)} -{rate(rates.ended)} !{rate(rates.failed)}"
    failed = rate(rates.failed) + ("+" if rates.unseen else "")
    return f"started {rate(rates.started)}  ended {rate(rates.ended)}  failed {failed}"


def _limits(limits: Sequence[LiveLimit], left_out: int, pen: Pen) -> str:
    parts = [
        f"{pen.clean(limit.name)} {limit.used}/{limit.size}" + (f" +{limit.waiting} wait" if limit.waiting else "")
        for limit in limits
    ]
    more = f"  and {left_out} more" if left_out else ""
    return f"limits: {'  '.join(parts) or 'none in use'}{more}"


def _table(board: Board, frame: Frame, pen: Pen, width: int) -> list[Text]:
    query = board.query
    return table(
        frame.executions,
        pen,
        width,
        sort=query.sort,
        selected=board.cursor if frame.executions else None,
        descending=query.descending,
    )


def _foot(board: Board, pen: Pen, width: int) -> Text:
    match board.mode:
        case "filter":
            return pen.line(f"filter: {pen.clean(board.typed)}_", width, "bold")
        case "confirm":
            target = pen.clean(board.target_words)
            return pen.line(f"abort {target}? y yes, any other key no", width, "bold red")
        case _:
            pass
    if board.news:
        return pen.line(pen.clean(board.news), width, "bold yellow")
    if board.mode == "help":
        return pen.line("any key goes back", width, "dim")
    frame, parts = board.frame, list[str]()
    if board.paused:
        parts.append("PAUSED")
    if frame is not None and board.looks_at is None:
        first = frame.offset + 1 if frame.executions else 0
        parts.append(f"{first}-{frame.offset + len(frame.executions)} of {frame.matched}")
    if board.filter_words:
        parts.append(f"filter {pen.clean(board.filter_words)}")
    keys = (
        "esc back  k abort  q quit" if board.looks_at is not None else "? help  enter detail  k abort  / filter  q quit"
    )
    return pen.line("  ".join([*parts, keys]), width, "dim")


# ── One of them ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _detail(detail: LiveDetail | None, name: str, pen: Pen, width: int) -> list[Text]:
    if detail is None:
        return [pen.line(pen.clean(f"{name} is not known (any more)"), width)]
    lines = [pen.line(pen.clean(f"{key:<13} {value}"), width) for key, value in facts(detail)]
    for title, relatives in (("called by", detail.ancestors), ("calls", detail.children)):
        if relatives:
            lines.append(pen.line(title, width, "bold"))
            lines += [pen.line(pen.clean(f"  {_relative(each)}"), width) for each in relatives]
    if detail.children_left_out:
        lines.append(pen.line(f"  and {detail.children_left_out} more", width))
    lines.append(pen.line("events since you look" + (", some missed" if detail.events_missed else ""), width, "bold"))
    for event in reversed(detail.events):
        lines.append(pen.line(pen.clean(f"  {duration(event.ago):>6} ago  {event.kind}  {event.words}"), width))
    return lines


def facts(detail: LiveDetail) -> list[tuple[str, str]]:
    """What there is to say about an execution, by name."""
    shown = detail.execution
    state = f"{shown.state} for {duration(shown.in_state)}" + (f"  ({shown.mark})" if shown.mark else "")
    found: list[tuple[str, str | None]] = [
        ("execution", shown.execution_id),
        ("tool", f"{shown.tool_name} ({shown.tool_id})" if shown.tool_id else shown.tool_name),
        ("state", state),
        ("is at", doing(shown) or None),
        ("owner", shown.owner_id),
        ("call", shown.call_id),
        ("parent", shown.parent_id),
        ("started by", shown.started_by),
        ("batch", None if shown.batch_id is None else f"{shown.batch_id} [{shown.batch_index}]"),
        ("times", _times(shown)),
        ("deadline", None if shown.deadline_in is None else f"in {duration(shown.deadline_in)}"),
        ("holds", ", ".join(shown.capacity) or None),
        ("limits", _limits(detail.limits, 0, Pen("utf-8")).partition(": ")[2] if detail.limits else None),
        ("stream", f"{shown.chunks} chunks" if shown.chunks else None),
        ("attempts", str(shown.attempts)),
        ("runs in", shown.placement),
        ("outcome", _outcome(shown)),
        ("effect", shown.effect),
        ("abort", _abort(shown)),
        ("cleanup", None if shown.cleanup == "not-required" else shown.cleanup),
    ]
    return [(key, value) for key, value in found if value is not None]


def _times(shown: LiveExecution) -> str:
    parts = [f"age {duration(shown.age)}", f"waited {duration(shown.waited)}"]
    parts += [] if shown.ran is None else [f"ran {duration(shown.ran)}"]
    parts += [] if shown.idle is None else [f"last sign of life {duration(shown.idle)} ago"]
    return ", ".join(parts)


def _outcome(shown: LiveExecution) -> str | None:
    if shown.outcome is None:
        return None
    return f"{shown.outcome} ({shown.error_category}, {shown.error_code})" if shown.error_code else shown.outcome


def _abort(shown: LiveExecution) -> str | None:
    abort = shown.abort
    if abort is None:
        return None
    honoured = {True: "honoured", False: "not honoured", None: "not known whether honoured"}[abort.honoured]
    return f"by {abort.source}, {duration(abort.ago)} ago, {honoured}"


def _relative(shown: LiveExecution) -> str:
    return f"{shown.execution_id}  {shown.tool_name}  {shown.state} for {duration(shown.in_state)}"
