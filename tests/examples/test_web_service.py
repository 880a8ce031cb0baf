"""The example of a web service on asyncio answers calls, stops what nobody reads, and drains on SIGTERM."""

from __future__ import annotations

import signal
import socket
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import cast

import httpx2
import pytest

from tests.examples.programs import PATIENCE, Running, run_example, running_example
from tests.requirements import requirement


@contextmanager
def serving() -> Generator[tuple[Running, httpx2.Client]]:
    """The service, and a client of the user Ann."""
    with running_example("web_service") as service:
        url = service.until("serving on").removeprefix("serving on ").strip()
        with httpx2.Client(base_url=url, headers={"X-User": "ann"}, timeout=PATIENCE) as client:
            yield service, client


@contextmanager
def reading(client: httpx2.Client, lines: int) -> Generator[Iterator[str]]:
    """The events of a stream that has begun."""
    with client.stream("POST", "/streams/read_log", json={"lines": lines}) as answer:
        events = answer.iter_lines()
        assert next(events) == "event: chunk"
        yield events


def executions(client: httpx2.Client, user: str = "ann") -> list[Mapping[str, object]]:
    """What the service shows to a *user*."""
    return cast("list[Mapping[str, object]]", client.get("/executions", headers={"X-User": user}).json())


@requirement("examples.web-service")
def test_a_visitor_gets_results_refusals_and_chunks() -> None:
    said = run_example("web_service", "--once")

    assert '"outcome":"success","effect":"none","code":null,"text":"Ann"' in said
    assert '"code":"INVALID_ARGUMENTS"' in said
    assert [line.strip() for line in said.splitlines() if "line " in line] == [f'data: "line {n}"' for n in range(3)]
    assert said.endswith("drain: 3 ended, 0 unfinished\n")


@requirement("examples.web-service")
def test_a_client_that_goes_away_stops_its_tool() -> None:
    with serving() as (_, client):
        with reading(client, 100_000):
            assert [shot["state"] for shot in executions(client)] == ["streaming"]
        while [shot["state"] for shot in executions(client)] != ["terminal"]:  # what ends a test that hangs bounds it
            pass
        assert [shot["outcome"] for shot in executions(client)] == ["error"]


@requirement("examples.web-service")
def test_a_user_sees_and_stops_what_is_their_own() -> None:
    with serving() as (_, client), reading(client, 100_000) as events:
        assert executions(client, "ben") == []
        assert client.delete("/executions", headers={"X-User": "ben"}).json() == {}
        assert list(client.delete("/executions").json().values()) == ["requested"]
        assert list(events)[-3:] == ["event: end", 'data: "error"', ""]


@requirement("examples.web-service")
def test_the_signal_lets_what_was_begun_end_and_the_service_says_that_all_is_well() -> None:
    with serving() as (service, client):
        assert client.get("/ready").json() == {"active": 0}
        with reading(client, 20) as events:
            service.process.send_signal(signal.SIGTERM)
            assert list(events)[-3:] == ["event: end", 'data: "success"', ""]
        assert service.end() == (0, "drain: 1 ended, 0 unfinished\n", "")


@requirement("examples.web-service")
def test_a_client_that_reads_nothing_does_not_hold_up_the_end() -> None:
    request = httpx2.Request(
        "POST", "http://here/streams/read_log", headers={"X-User": "ann"}, json={"lines": 10**5, "width": 10**6}
    )
    with serving() as (service, client), socket.socket() as silent:
        silent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        silent.connect((client.base_url.host, client.base_url.port or 80))
        lines = [f"POST {request.url.path} HTTP/1.1", *(f"{name}: {value}" for name, value in request.headers.items())]
        silent.sendall("\r\n".join([*lines, "", ""]).encode() + request.read())
        while [shot["state"] for shot in executions(client)] != ["streaming"]:
            pass
        service.process.send_signal(signal.SIGTERM)

        assert service.end() == (0, "drain: 1 ended, 0 unfinished\n", "")


@requirement("examples.web-service")
def test_a_request_that_says_not_on_whose_behalf_is_refused() -> None:
    with serving() as (_, client):
        assert client.get("/executions", headers={"X-User": "ann"}).status_code == 200
        del client.headers["X-User"]
        assert client.get("/executions").status_code == 422


@requirement("examples.web-service")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_that_comes_before_the_server_catches_it_is_not_lost(number: signal.Signals) -> None:
    with running_example("web_service") as service:
        service.until("serving on")
        service.process.send_signal(number)
        code, said, complained = service.end()

    assert (code, said, complained) == (0, "drain: 0 ended, 0 unfinished\n", "")


@requirement("examples.web-service")
def test_a_port_that_is_taken_is_told_in_one_line() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        running_example("web_service", "--port", str(taken.getsockname()[1])) as service,
    ):
        code, _, complained = service.end()

    assert code == 2
    assert "error: --port" in complained
    assert "Traceback" not in complained
