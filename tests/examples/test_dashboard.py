"""The example of a page shows what runs, live, to this machine only, and ends with its host."""

from __future__ import annotations

import json
import signal
import socket

import httpx2
import pytest

from examples.dashboard import listen
from tests.examples.programs import PATIENCE, run_example, running_example
from tests.requirements import requirement


@requirement("examples.dashboard")
def test_it_ends_by_itself_when_asked_to() -> None:
    lines = run_example("dashboard", "--once").splitlines()

    assert lines[0].startswith("look at http://127.0.0.1:")
    assert lines[-1] == "drain: 10 ended, 0 unfinished"


@requirement("examples.dashboard")
def test_a_browser_sees_each_execution_come_and_end_and_the_host_ends_in_order() -> None:
    with running_example("dashboard") as host:
        url = host.until("look at").removeprefix("look at ").strip()
        assert 'new EventSource("/events")' in httpx2.get(url).text
        seen: dict[str, list[str]] = {}
        with httpx2.stream("GET", f"{url}/events", timeout=PATIENCE) as events:
            assert events.headers["content-type"] == "text/event-stream"
            told = False
            for row in (json.loads(line.removeprefix("data: ")) for line in events.iter_lines() if line):
                assert row.keys() == {"id", "owner", "tool", "state", "progress", "waits_for", "ended"}
                seen.setdefault(row["id"], []).append(row["state"])
                if not told and any(states[0] != "terminal" and states[-1] == "terminal" for states in seen.values()):
                    host.process.send_signal(signal.SIGTERM)  # and read on, to the end of the answer
                    told = True
        code, said, complained = host.end()

    assert {states[-1] for states in seen.values()} == {"terminal"}
    assert code == 0
    assert said.startswith("drain: ")
    assert "SIGTERM: draining" in complained


@requirement("examples.dashboard")
def test_another_name_for_the_machine_is_refused() -> None:
    with running_example("dashboard") as host:
        url = host.until("look at").removeprefix("look at ").strip()
        answer = httpx2.get(url, headers={"Host": "evil.example"})

    assert (answer.status_code, answer.text) == (400, "Invalid host header")


@requirement("examples.dashboard")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_counts_from_its_first_line_on(number: signal.Signals) -> None:
    with running_example("dashboard") as host:
        host.until("look at")
        host.process.send_signal(number)
        code, _, complained = host.end()

    assert code == 0
    assert f"{number.name}: draining" in complained


@requirement("examples.dashboard")
@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="this system cannot be asked for that")
def test_the_system_lets_go_of_a_browser_that_reads_nothing_so_that_the_host_can_end() -> None:
    with listen(0) as listening:
        assert 0 < listening.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) <= 10_000


@requirement("examples.dashboard")
def test_a_port_that_is_taken_is_told_in_one_line() -> None:
    with listen(0) as taken, running_example("dashboard", "--port", str(taken.getsockname()[1])) as host:
        code, _, complained = host.end()

    assert code == 2
    assert "error: --port" in complained
    assert "Traceback" not in complained
