"""What one writes by hand on trio, measured like all the others."""

from __future__ import annotations

import trio

from benchmarks import _by_hand

from ._worker import serve

if __name__ == "__main__":
    one = "a task, a scope, msgspec.convert, an event"
    serve(
        "trio",
        {"sequential": one, "batch": one, "thread": f"{one}, to_thread.run_sync", "hold": one},
        {
            "sequential": lambda count: trio.run(_by_hand.sequential, count),
            "batch": lambda count: trio.run(_by_hand.batch, count),
            "thread": lambda count: trio.run(_by_hand.in_threads, count),
            "hold": lambda count: trio.run(_by_hand.hold_and_stop, count),
        },
    )
