"""States and their table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "lifecycle.table": Requirement(
        "design 6", "The states and events are one table with a row for every state; an illegal event changes nothing."
    ),
    "lifecycle.refused-never-ran": Requirement(
        "design 6", "A call that was refused, and one whose body ran, can never be mistaken for each other."
    ),
    "lifecycle.revisions": Requirement(
        "design 6", "A revision starts at 1 and grows by exactly one with each publication."
    ),
    "lifecycle.waits": Requirement(
        "design 6", "Waits are counted; the last one to end leads back to the state that the execution came from."
    ),
    "lifecycle.abort-is-sticky": Requirement(
        "design 6", "An execution that was asked to stop never looks as if it had not been."
    ),
}
