"""How much of everything; what both sides have in common."""

from __future__ import annotations

from typing import Final

BATCH: Final = 1_000
"""Calls in a batch."""

BUFFER: Final = 64
"""Chunks that a stream holds for a slow reader; the default of a tool."""

CALLS: Final = 5_000
"""Calls that are timed while others are live, or after others have ended.

So many that the first ones do not count, whose memory the collection before the sample drove out of the caches.
"""

FEW: Final = 10
"""Live executions that are next to none."""

SLICE: Final = 100
"""Calls that a host makes before it lets others run."""

STALLED: Final = 100
"""Subscribers that never read."""

WATCHERS: Final = 10
"""Subscribers that read everything."""


def padding(count: int) -> int:
    """How many executions wait before the memory of *count* more is measured.

    They use up what the process had left over from its start, which would otherwise be missed.
    """
    return max(SLICE, count // 4)
