"""Runs an example on a clock that jumps, so that it waits for nothing. A program of yours says ``trio.run(main)``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio
import trio.testing


def run(main: Callable[[], Awaitable[None]]) -> None:
    """Run *main* to its end."""
    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
