"""The journal: what was published, after the process is gone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "journal.stores": Requirement(
        "design 6, design 12", "Every store of a journal passes the published suite: in memory, in a file, on a server."
    ),
    "journal.replay": Requirement(
        "design 6",
        "A replay shows the last snapshot of each execution as the live view did, equal in every field, in its order.",
    ),
    "journal.history": Requirement(
        "design 6", "The revisions of one execution that a subscriber would have seen are there, in order."
    ),
    "journal.killed": Requirement(
        "design 6, design 8",
        "After a process was killed, the journal says which executions have no recorded end, and guesses nothing.",
    ),
    "journal.complete": Requirement(
        "design 6, design 8",
        "The last revision of every execution is written before the supervisor is left, however it is left and however "
        "few ended executions it keeps.",
    ),
    "journal.discreet": Requirement(
        "design 6", "An entry holds the public snapshot: no arguments, results, authority or credentials."
    ),
    "journal.slow": Requirement(
        "design 6, design 14", "A store that stands still holds up no call, and the exit no longer than five seconds."
    ),
    "journal.faults": Requirement(
        "design 6, design 12",
        "A store that fails is tried again and ends nothing; what could not be written is counted in the report, and each "
        "spell of failures is logged once.",
    ),
    "journal.off": Requirement("design 14", "Without a journal nothing follows the publications."),
    "journal.options": Requirement("design 6", "What is no journal is refused when the supervisor is opened."),
}
