"""The example of a host to look at runs, shows what it promises, and can be stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import trio

from armory_trio.observability.live import LiveView, Query
from tests.requirements import requirement

ROOT = Path(__file__).parents[2]


@requirement("examples.live-view")
def test_there_is_much_to_see_in_the_example_of_a_host_to_look_at() -> None:
    with (
        tempfile.TemporaryDirectory(prefix="at-") as folder,
        subprocess.Popen(
            [sys.executable, "-m", "examples.live_view"],
            cwd=ROOT,
            env={**os.environ, "XDG_RUNTIME_DIR": folder},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as host,
    ):
        try:
            assert host.stdout is not None
            assert host.stderr is not None
            trio.run(_see, host.stdout.readline().strip().removeprefix("look at it with: armory-trio top --socket "))
            host.send_signal(signal.SIGTERM)
            said = host.stderr.readline()
        finally:
            host.kill()

    assert "SIGTERM: draining" in said


async def _see(path: str) -> None:
    """Look until there is something of every kind."""
    seen: set[str | None] = set()
    with trio.fail_after(60):
        async with LiveView.connect(path) as view, view.subscribe(Query(states=("all",)), interval=0.1) as frames:
            async for frame in frames:
                seen |= {each.state for each in frame.executions} | {each.mark for each in frame.executions}
                if {"active", "streaming", "waiting", "queued", "terminal", "stuck"} <= seen:
                    return
