"""armory_trio itself, measured like all the others."""

from __future__ import annotations

import trio

from benchmarks import _supervised

from ._worker import serve

if __name__ == "__main__":
    serve(
        "armory-trio",
        {
            "sequential": "Supervisor.execute",
            "batch": "Supervisor.execute_batch",
            "thread": "Supervisor.execute",
            "hold": "Supervisor.start, Supervisor.abort",
        },
        {
            "sequential": lambda count: trio.run(_supervised.sequential, count),
            "batch": lambda count: trio.run(_supervised.batch, count),
            "thread": lambda count: trio.run(_supervised.in_threads, count),
            "hold": lambda count: trio.run(_supervised.hold_and_stop, count),
        },
    )
