"""Ids that nobody chose: unlike those of any other process, or in a test the same each time."""

from __future__ import annotations

import itertools
import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final


class Ids:
    """What ids are made of."""

    __slots__ = ("label", "numbers", "prefix", "supervisors")

    def __init__(self) -> None:
        self.prefix = os.urandom(4).hex()
        """Stands in the id of every call that came without one."""
        self.numbers = itertools.count(1)
        self.label: str | None = None
        self.supervisors = itertools.count(1)

    def of_supervisor(self) -> str:
        """What all executions of one supervisor share in their ids."""
        return os.urandom(4).hex() if self.label is None else f"{self.label}.{next(self.supervisors)}"

    def of_host(self) -> str:
        """What tells a supervisor from every other one that a store will ever know, of which there may be very many."""
        return os.urandom(12).hex() if self.label is None else self.label


IDS: Final = Ids()


@contextmanager
def fixed(label: str) -> Generator[None]:
    """Count from 1 with *label* in front, for as long as the block lasts. For the whole process, not for a task."""
    before = {name: getattr(IDS, name) for name in Ids.__slots__}
    IDS.prefix = IDS.label = label
    IDS.numbers, IDS.supervisors = itertools.count(1), itertools.count(1)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(IDS, name, value)
