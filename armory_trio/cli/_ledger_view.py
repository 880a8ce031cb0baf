"""What is shown of attempts: a table, everything about one, and JSON. No arguments and no results unless asked for."""

from __future__ import annotations

import io
import json
import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final, assert_never, cast

import attrs
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..definitions._plurals import counted
from ..ledger import Attempt, choices, is_live, truth_of, words_of
from ._ledger_finding import key_of
from ._ledger_keys import VARIABLE as KEYS
from ._streams import is_colored, plain

Document = dict[str, object]

_COLUMN: Final = 11
_WIDE: Final = 10_000
"""Columns where there is no terminal: a line of a table stays a line, whatever is done with it."""

_NARROWEST: Final = 60
_ALL: Final = 1 << 30
"""Characters of arguments and results that are shown to whoever asks for them: all."""

_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
_STYLES: Final = {
    "unknown": "bold red",
    "safe": "yellow",
    "never-started": "yellow",
    "running": "green",
    "granted": "cyan",
}


@attrs.frozen(kw_only=True)
class Private:
    """What may be private, and is shown all the same."""

    arguments: bool = False
    result: bool = False


# ── What is true ─────────────────────────────────────────────────────────────────────────────────────────────────────


def needs_decision(attempt: Attempt, now: float) -> bool:
    """Whether somebody has to decide what happened: it is unknown, and nobody has done so."""
    return not is_live(attempt, now) and truth_of(attempt) == "unknown" and not attempt.granted


def is_left(attempt: Attempt, now: float) -> bool:
    """Whether it has no end and nobody is at it, so that it is for somebody to look at."""
    return not is_live(attempt, now) and truth_of(attempt) is not None


def words(attempt: Attempt, now: float) -> str:
    """One line that says what is true of *attempt*. It holds no arguments, no key and no result."""
    if not is_live(attempt, now):
        return words_of(attempt)
    who = f"{attempt.tool_name} (execution {attempt.execution_id}, attempt {attempt.number})"
    return f"{who}: running on {attempt.host}, whose lease is live {_from_now(attempt.lease_expires_at, now)}"


def _kind(attempt: Attempt, now: float) -> str:
    """What is true of it in a word: one of `_STYLES`, or its state."""
    if is_live(attempt, now):
        return "running"
    return "granted" if attempt.granted else truth_of(attempt) or attempt.state


def _from_now(instant: float, now: float) -> str:
    return f"for {_span(instant - now)} more" if instant > now else f"no more, since {_span(now - instant)}"


def _span(seconds: float) -> str:
    size, unit = next((one for one in _UNITS if seconds >= one[0]), _UNITS[-1])
    return f"{max(0, int(seconds // size))} {unit}"


def utc(instant: float) -> str:
    """*instant* in UTC, as ISO 8601 writes it, to the second; the number itself where no calendar has it."""
    with suppress(ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(instant, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return f"{instant!r}"


def _when(instant: float | None, now: float) -> str:
    if instant is None:
        return "never"
    away = f"in {_span(instant - now)}" if instant > now else f"{_span(now - instant)} ago"
    return f"{utc(instant)} ({away})"


# ── A table ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def table(attempts: Sequence[Attempt], now: float, fd: int) -> list[str]:
    """A line for each attempt, as wide as the terminal *fd*; where it is none, without colors and never broken."""
    is_terminal = os.isatty(fd)
    shown = Table(box=None, pad_edge=False, header_style="bold" if is_terminal else "")
    shown.add_column("ATTEMPT", overflow="fold")
    shown.add_column("TENANT", overflow="fold")
    shown.add_column("SINCE", no_wrap=True)
    shown.add_column("WHAT IS TRUE", overflow="fold", ratio=1 if is_terminal else None)
    for attempt in attempts:
        style = _STYLES.get(_kind(attempt, now), "")
        since = _span(now - attempt.claimed_at)
        row = [plain(text) for text in (attempt.attempt_id, attempt.tenant, since, words(attempt, now))]
        shown.add_row(*(Text(text) for text in row[:-1]), Text(row[-1], style=style))
    return _drawn(shown, fd, is_terminal=is_terminal)


def _drawn(shown: Table, fd: int, *, is_terminal: bool) -> list[str]:
    taken = io.StringIO()
    Console(
        file=taken,
        force_terminal=is_terminal,
        color_system="auto" if is_terminal and is_colored() else None,
        width=_width(fd) if is_terminal else _WIDE,
        highlight=False,
        legacy_windows=False,
    ).print(shown)
    return [line.rstrip() for line in taken.getvalue().splitlines()]


def _width(fd: int) -> int:
    return max(os.get_terminal_size(fd).columns, _NARROWEST)


# ── One of them ──────────────────────────────────────────────────────────────────────────────────────────────────────


def whole(attempt: Attempt, now: float, store: str, private: Private) -> Iterator[str]:
    """Everything about *attempt*, a line each; and what can be done next.

    Args:
        attempt: The attempt.
        now: The time of its store.
        store: What names the store on a command line; empty if the environment does.
        private: What may be private, and is shown.
    """
    yield _row("is", words(attempt, now))
    yield _row("attempt", f"{attempt.attempt_id} (number {attempt.number} of its key)")
    yield _row("state", attempt.state)
    yield _row("tool", f"{attempt.tool_name} ({attempt.tool_id})")
    yield _row("tenant", attempt.tenant)
    yield _row("key", key_of(attempt) if attempt.deduplicates else "none; it is here for recovery alone")
    yield _row("execution", attempt.execution_id)
    yield _row("host", attempt.host)
    yield _row("policy", attempt.policy_revision or "not known")
    yield _row("effect", attempt.effect)
    yield _row("windows", _windows(attempt))
    for name, instant in (
        ("claimed", attempt.claimed_at),
        ("started", attempt.started_at),
        ("ended", attempt.ended_at),
    ):
        yield _row(name, _when(instant, now))
    yield _row("lease", f"{'live until' if is_live(attempt, now) else 'over since'} {_lease(attempt, now)}")
    yield _row("receipt", _receipt_line(attempt))
    if attempt.authorization is not None:
        yield _row("allowed", _authorization_line(attempt.authorization))
    yield _row(
        "arguments", _private(attempt.arguments or None, "not known", shown=private.arguments, how="--arguments")
    )
    yield _row("result", _private(attempt.result, "none is kept", shown=private.result, how="--result"))
    yield from _next(attempt, now, store)


def _row(name: str, text: str) -> str:
    return f"{name:<{_COLUMN}}{plain(text, _ALL)}".rstrip()


def _lease(attempt: Attempt, now: float) -> str:
    return f"{_when(attempt.lease_expires_at, now)}; never renewed beyond {utc(attempt.deadline)}"


def _windows(attempt: Attempt) -> str:
    match attempt.windows:
        case "undeclared":
            return "the tool only reads" if attempt.read_only else "the tool does not say where it changes anything"
        case "unopened":
            return "none was entered, or nothing happened in those that were"
        case "open":
            return f"{counted(attempt.open_windows, 'is', 'are')} open; those that are closed came to: {attempt.behind}"
        case "closed":
            return f"all are closed; together they came to: {attempt.behind}"
        case _ as never:
            assert_never(never)


def _private(text: str | None, otherwise: str, *, shown: bool, how: str) -> str:
    if text is None:
        return otherwise
    return text if shown else f"{len(text)} characters, not shown; {how} shows them"


def receipt_of(attempt: Attempt, *, result: bool) -> Document | None:
    """The decision that *attempt* stands by, as JSON; without its result unless that is to be shown."""
    receipt = _object(attempt.receipt)
    if receipt is None or result:
        return receipt
    return {name: value for name, value in receipt.items() if name != "result"}


def _object(text: str | None) -> Document | None:
    """The JSON object that *text* is; None if it is none."""
    with suppress(ValueError):
        found: object = None if text is None else json.loads(text)
        if isinstance(found, dict):
            return cast("Document", found)
    return None


def _receipt_line(attempt: Attempt) -> str:
    receipt = receipt_of(attempt, result=False)
    if receipt is None:
        return "none: nobody has decided about it"
    return f"{receipt.get('decision')}, {_by(receipt)}"


def _authorization_line(text: str) -> str:
    receipt = _object(text) or {}
    return f"to be told under {receipt.get('policy_revision')}, {_by(receipt)}"


def _by(receipt: Document) -> str:
    at = receipt.get("authorized_at")
    when = utc(at) if isinstance(at, int | float) else "?"
    return f"by {receipt.get('authorized_by')} at {when}: {receipt.get('evidence')}"


def _next(attempt: Attempt, now: float, store: str) -> Iterator[str]:
    possible = choices(attempt, now)
    if is_live(attempt, now):
        yield _row("next", "nothing can be decided while its lease is live, since somebody may be at it")
        return
    if not possible:
        yield _row("next", "nothing has to be decided")
        return
    yield _row("next", "one of these")
    named = ["armory-trio", "ledger", "resolve", *(["--store", store] if store else [])]
    meant = ["--", attempt.attempt_id] if attempt.attempt_id.startswith("-") else [attempt.attempt_id]
    for choice in possible:
        options = ["--decision", choice]
        if choice != "release":
            options += ["--evidence", "WHY", "--by", "WHO", *(["--result", "JSON"] if choice == "completed" else [])]
            options += [] if os.environ.get(KEYS, "").strip() else ["--keys", "FILE"]
        yield plain(f"  {shlex.join([*named, *options, *meant])}", _ALL)


# ── JSON ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def document(attempt: Attempt, now: float, private: Private | None = None) -> str:
    """*attempt* as one line of JSON, in ASCII. With *private* it is all that `whole` shows."""
    live = is_live(attempt, now)
    told: Document = {
        "attempt_id": attempt.attempt_id,
        "number": attempt.number,
        "state": attempt.state,
        "truth": None if live else truth_of(attempt),
        "live": live,
        "needs_decision": needs_decision(attempt, now),
        "words": words(attempt, now),
        "choices": list(choices(attempt, now)),
        "granted": attempt.granted,
        "tool_name": attempt.tool_name,
        "tool_id": attempt.tool_id,
        "tenant": attempt.tenant,
        "key": key_of(attempt),
        "key_text": attempt.key,
        "deduplicates": attempt.deduplicates,
        "execution_id": attempt.execution_id,
        "host": attempt.host,
        "policy_revision": attempt.policy_revision,
        "effect": attempt.effect,
        "read_only": attempt.read_only,
        "windows": attempt.windows,
        "open_windows": attempt.open_windows,
        "claimed_at": utc(attempt.claimed_at),
        "started_at": None if attempt.started_at is None else utc(attempt.started_at),
        "ended_at": None if attempt.ended_at is None else utc(attempt.ended_at),
        "lease_expires_at": utc(attempt.lease_expires_at),
        "deadline": utc(attempt.deadline),
    }
    if private is not None:
        told["receipt"] = receipt_of(attempt, result=private.result)
        told["authorization"] = _object(attempt.authorization)
        if private.arguments:
            told["arguments"] = _parsed(attempt.arguments)
        if private.result:
            told["result"] = None if attempt.result is None else _parsed(attempt.result)
    return json.dumps(told, separators=(",", ":"))


def _parsed(text: str) -> object:
    """The value of a JSON text; None where it is not known, and the text itself where it is no JSON."""
    try:
        return cast("object", json.loads(text)) if text else None
    except ValueError:
        return text
