"""Snapshots in a journal: how they are written, and what they say of executions whose process may be gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import msgspec
import trio

from .._on_demand import in_words
from ..definitions._plurals import counted
from ..errors import ArmoryError
from ._lifecycle import Progress, Snapshot
from ._subscriptions import Selection

if TYPE_CHECKING:  # loaded by who has a journal
    from ..journal import JournalEntry, JournalStore
else:
    JournalEntry, JournalStore = in_words("armory_trio.journal", "JournalEntry", "JournalStore")

_PAGE: Final = 500
"""Entries that are read at once."""


class Replayed(msgspec.Struct, frozen=True):
    """One revision of one execution, as a journal has kept it.

    Args:
        sequence: Its number in the journal.
        at: When it was read, in seconds since 1970; the times in the snapshot are those of a clock that is gone.
        host: The supervisor that it ran in: its host, process and prefix.
        snapshot: What it looked like.
    """

    sequence: int
    at: float
    host: str
    snapshot: Snapshot


class Replay:
    """What a journal knows of executions, as the supervisors that ran them showed it. Made by `replay`.

    Executions come by the first entry of their supervisors, and those of one in order of admission.
    """

    __slots__ = ("_last",)

    def __init__(self, last: Sequence[Replayed]) -> None:
        self._last = {found.snapshot.execution_id: found for found in last}

    def __repr__(self) -> str:
        return f"<Replay of {counted(len(self._last), 'execution')}>"

    def inspect(
        self,
        *,
        owner_id: str | None = None,
        tool_name: str | None = None,
        started_by: str | None = None,
        live_only: bool = False,
    ) -> list[Snapshot]:
        """The last snapshots, as ``supervisor.executions.inspect`` showed them; of all that are in the journal.

        Args:
            owner_id: Only those of this owner.
            tool_name: Only those of this tool.
            started_by: Only those that this execution started as top-level ones; not its children.
            live_only: Leave out those whose end is in the journal. See `without_end` for what the others are.
        """
        chosen = Selection(owner_id=owner_id, tool_name=tool_name)
        shots = (found.snapshot for found in self._last.values())
        return [
            shot
            for shot in shots
            if chosen(_Named(shot.execution_id, shot.tool_name, shot.owner_id))
            and (started_by is None or shot.started_by == started_by)
            and not (live_only and shot.ended_at is not None)
        ]

    def locate(self, execution_id: str) -> Snapshot | None:
        """The last snapshot of one execution; None if the journal has none."""
        found = self._last.get(execution_id)
        return None if found is None else found.snapshot

    def last(self, execution_id: str) -> Replayed | None:
        """Likewise, with where it ran and when it was read."""
        return self._last.get(execution_id)

    def without_end(self, *, host: str | None = None) -> list[Replayed]:
        """The executions whose end is not in the journal, of one supervisor or all.

        They still run, if their supervisor does; or they ended with its process, and nobody can say what they did after
        this; or their end could not be written, which the report of their supervisor tells. The journal can't know
        which. For what they did, ask the ledger.
        """
        return [
            found
            for found in self._last.values()
            if found.snapshot.ended_at is None and (host is None or found.host == host)
        ]


class _Named(msgspec.Struct, frozen=True):
    id: str
    name: str
    owner: str | None


async def replay(store: JournalStore, *, host: str | None = None) -> Replay:
    """What *store* knows of all executions: the last snapshot of each.

    Reads the whole journal, page by page, and keeps one snapshot for each execution. What is appended meanwhile may be
    in it or not.

    Args:
        store: The journal, such as ``store.journal``.
        host: Only those of this supervisor, as entries name it.

    Cancelled: nothing has changed.

    Raises:
        ArmoryError: An entry can't be read, as if something else had written it.
        StoreUnavailable: The journal can't be read. What else its store raises passes through.
    """
    last: dict[str, JournalEntry] = {}
    hosts: dict[str, int] = {}
    after: int | None = 0
    while after is not None:
        page = await store.read(after=after, limit=_PAGE)
        for entry in page:
            found = entry.publication
            if host is None or found.host == host:
                hosts.setdefault(found.host, len(hosts))
                known = last.get(found.execution_id)
                if known is None or found.revision >= known.publication.revision:
                    last[found.execution_id] = entry
        after = await _next(page)
    ordered = sorted(last.values(), key=lambda entry: (hosts[entry.publication.host], _number(entry)))
    return Replay([_replayed(entry) for entry in ordered])


async def history_of(store: JournalStore, execution_id: str) -> list[Replayed]:
    """What *store* has kept of one execution, in the order of its revisions; nothing if it knows none.

    Revisions that followed each other too quickly for a subscriber are not there.

    Cancelled: nothing has changed.

    Raises:
        ArmoryError: An entry can't be read, as if something else had written it.
        StoreUnavailable: The journal can't be read. What else its store raises passes through.
    """
    found: list[Replayed] = []
    after: int | None = 0
    while after is not None:
        page = await store.read(after=after, limit=_PAGE, execution_id=execution_id)
        found += map(_replayed, page)
        after = await _next(page)
    return sorted(found, key=lambda each: each.snapshot.revision)


async def _next(page: Sequence[JournalEntry]) -> int | None:
    """After which entry the next page begins; None if this was the last one."""
    await trio.lowlevel.checkpoint()
    return page[-1].sequence if len(page) == _PAGE else None


def _number(entry: JournalEntry) -> tuple[int, int]:
    # The last part of an id counts the executions of its supervisor.
    _, _, number = entry.publication.execution_id.rpartition("-")
    return (int(number), 0) if number.isdecimal() else (0, entry.sequence)


# ── Writing and reading snapshots ────────────────────────────────────────────────────────────────────────────────────


def text_of(shot: Snapshot) -> str:
    """*shot* as JSON.

    Raises:
        ValueError, TypeError: Something in it is no text and no number, though it should be.
    """
    progress, deadline = shot.progress, shot.deadline
    if progress is not None and not _is_plain(progress):
        # Nobody checks what tools say there.
        percent = None if progress.percent is None else float(progress.percent)
        message = None if progress.message is None else str(progress.message)
        shot = msgspec.structs.replace(shot, progress=Progress(percent, message))
    if deadline is None or abs(deadline) < _WIDE:
        return _json_of(shot)
    # JSON has no word for what is infinite, but numbers that are read as that.
    word = repr(float(deadline)).replace("inf", "1e999")
    # Within a text the quotes of this would be escaped.
    return _json_of(msgspec.structs.replace(shot, deadline=None)).replace('"deadline":null', f'"deadline":{word}', 1)


def _json_of(shot: Snapshot) -> str:
    try:
        return msgspec.json.encode(shot, enc_hook=str).decode()
    except UnicodeEncodeError:  # half a surrogate pair: no UTF-8 has it, and JSON can say it
        import json  # noqa: PLC0415  # hardly ever needed, and slow to load

        return json.dumps(msgspec.to_builtins(shot), separators=(",", ":"))


_WIDE: Final = 2.0**63
"""From here on msgspec can't write a whole number."""


def _is_plain(progress: Progress) -> bool:
    return type(progress.percent) in (float, int, type(None)) and type(progress.message) in (str, type(None))


def _shot_of(text: str) -> Snapshot:
    """The snapshot that `text_of` wrote.

    Raises:
        ValueError: It holds something else.
    """
    try:
        return msgspec.json.decode(text, type=Snapshot)
    except msgspec.DecodeError:
        import json  # noqa: PLC0415  # as above

        return msgspec.convert(json.loads(text), Snapshot)


def _replayed(entry: JournalEntry) -> Replayed:
    kept = entry.publication
    try:
        return Replayed(entry.sequence, kept.at, kept.host, _shot_of(kept.snapshot))
    except ValueError as error:
        raise ArmoryError(f"entry {entry.sequence} of the journal can't be read: {error}") from error
