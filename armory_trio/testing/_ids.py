"""Ids that are the same in each run."""

from __future__ import annotations

from contextlib import AbstractContextManager

from ..definitions._minting import fixed


def fixed_ids(label: str = "test") -> AbstractContextManager[None]:
    """Number calls and executions from 1, so that texts which show them can be compared; use it with ``with``.

    The first call without an id of its own is ``call-test-1``, the first execution of the first supervisor
    ``exe-test.1-1``. Holds for the whole process while the block lasts, and is undone after it. `run_seeded` does it
    by itself.

    Args:
        label: What stands in the ids. Two blocks of one label give the same ids again.
    """
    return fixed(label)
