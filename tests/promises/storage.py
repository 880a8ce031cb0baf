"""Durable stores: approvals, grants and attempts in a file or on a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "storage.conformance": Requirement(
        "design 12", "One implementation passes the published suites on SQLite and on a real PostgreSQL."
    ),
    "storage.durable": Requirement(
        "design 12, design 15",
        "What was answered is there after a restart, also when the process was killed in the middle of writing.",
    ),
    "storage.once": Requirement(
        "design 12, design 15", "Of any number of processes that want one thing at once, exactly one gets it."
    ),
    "storage.shared": Requirement(
        "design 12", "Stores that are opened at once on one place make its tables once, and see what the others did."
    ),
    "storage.groups": Requirement(
        "design 12",
        "Operations that wait at the same time share a transaction, and one that fails does not take the others along.",
    ),
    "storage.cancellation": Requirement(
        "design 8, design 12",
        "An operation that is cancelled was not begun, or returns; closing waits for what was queued.",
    ),
    "storage.clock": Requirement(
        "design 1, design 12",
        "The clock of a store never goes back, also not over a restart: what was seen to be over stays so.",
    ),
    "storage.server-clock": Requirement(
        "design 1", "Whoever shares a PostgreSQL store goes by the clock of the server, whatever their own says."
    ),
    "storage.faults": Requirement(
        "design 12",
        "What is wrong with a database is said in words, with the place and without the password, and nothing hangs.",
    ),
    "storage.same-file": Requirement(
        "design 12",
        "A store whose file, or its journal, was moved, deleted or replaced while it is open answers nothing any more, and "
        "makes no new file: what it wrote would be seen by nobody, and done again. Put back, it goes on.",
    ),
    "storage.reconnect": Requirement(
        "design 12", "After the server was restarted, the next operation connects again and is done."
    ),
    "storage.migrations": Requirement(
        "design 12",
        "An older store is brought up to date and keeps what it has; a later version is refused and left alone.",
    ),
    "storage.retention": Requirement(
        "design 12", "Approvals and grants that have expired are deleted; attempts only when they are told to be."
    ),
    "storage.keep": Requirement(
        "design 12",
        "A store forgets attempts that have ended, and its journal, after the seconds it was opened with, a page at a time; "
        "by default never.",
    ),
    "storage.compact": Requirement(
        "design 12",
        "Compacting gives back the room of what was forgotten, loses nothing, and is over before anybody who waits for "
        "it runs out of time.",
    ),
    "storage.text": Requirement(
        "design 12", "Any text comes back as it was, however long or strange, as part of a key too."
    ),
    "storage.options": Requirement("design 12", "What is no place, or no option, is refused when the store is opened."),
    "storage.arguments": Requirement(
        "design 5",
        "What is of a wrong type is refused by every store, in memory or not: the error names it, and what would be right; "
        "nothing is forgotten, listed or kept by mistake.",
    ),
}
