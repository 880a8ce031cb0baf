"""Whether the files of a store are still those that were opened.

SQLite goes on with what it has open. Moved away, deleted or replaced, such a file takes whatever is written, nobody else
ever sees that, and what was done is done again by whoever opens the path anew.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import attrs

__all__ = ("Files",)

Identity = tuple[int, int]
"""The device of a file, and its number there."""


@attrs.frozen
class Files:
    """Files as they were found.

    Args:
        known: By path, which file was there; those that were not are left out.
    """

    known: Mapping[str, Identity]

    @classmethod
    def of(cls, *paths: str) -> Files:
        """The files at *paths*."""
        return cls({path: found for path in paths if (found := _found(path)) is not None})

    def are_there(self) -> bool:
        """Whether each is still at its path. What can't be looked at counts as if it were."""
        try:
            return all(_found(path) == before for path, before in self.known.items())
        except OSError:  # such as a directory that this process may not enter any more
            return True


def _found(path: str) -> Identity | None:
    """Which file is at *path*, None if there is none."""
    try:
        status = os.stat(path)  # noqa: PTH116 - asked before each transaction, and a Path takes as long as all of it
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino
