"""What a middleware remembers: for one run of trio, because its times and its events mean nothing in another one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Lock
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from ..engine._concurrency import Token, current_token

S = TypeVar("S")


class PerRun(Generic[S]):
    """One *S* for each run of trio, made by *make* when it is first asked for, and forgotten with the run.

    A toolbox is a value and may be used in several runs, also at a time, in several threads.
    """

    __slots__ = ("_lock", "_make", "_of_run")

    def __init__(self, make: Callable[[], S]) -> None:
        self._make = make
        self._lock = Lock()
        self._of_run: WeakKeyDictionary[Token, S] = WeakKeyDictionary()

    def get(self) -> S:
        """That of this run.

        Raises:
            RuntimeError: Trio does not run here.
        """
        token = current_token()
        with self._lock:
            found = self._of_run.get(token)
            if found is None:
                found = self._of_run[token] = self._make()
            return found

    def __iter__(self) -> Iterator[S]:
        """Those of all runs that there are."""
        with self._lock:
            return iter(list(self._of_run.values()))
