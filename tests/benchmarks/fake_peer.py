"""A worker that measures nothing: ``python -m tests.benchmarks.fake_peer WAY`` behaves as WAY says."""

from __future__ import annotations

import sys

from benchmarks._sample import Sample
from benchmarks.peers._worker import serve


def slow(count: int) -> Sample:
    """Four seconds a unit."""
    return Sample(count, 4.0 * count, 4.0 * count, 400 * count)


def fast(count: int) -> Sample:
    """One second a unit. What it prints is not taken for an answer."""
    print("{}")  # noqa: T201
    return Sample(count, 1.0 * count, 1.0 * count, 100 * count)


def failing(count: int) -> Sample:
    """Raise."""
    raise ValueError(f"no {count} of them")


def falling(count: int) -> Sample:
    """End the process."""
    raise SystemExit(f"fell over {count}")


if __name__ == "__main__":
    [way] = sys.argv[1:]
    if way == "absent":
        sys.exit("ModuleNotFoundError: there is no such package")
    apis = {"sequential": f"{way}.call", "batch": f"{way}.batch", "hold": "it cannot wait"}
    work = {"slow": slow, "fast": fast, "failing": failing, "falling": falling}[way]
    serve("trio", apis, {"sequential": work, "batch": work})
