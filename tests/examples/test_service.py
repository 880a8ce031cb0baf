"""The example of a service ends as signals want it, and says what became of what."""

from __future__ import annotations

import signal

from tests.examples.programs import run_example, running_example
from tests.requirements import requirement


@requirement("examples.service")
def test_it_ends_by_itself_when_there_is_no_more_work() -> None:
    lines = run_example("service", "--orders", "3", "--bank", "0.05").splitlines()

    assert sorted(line for line in lines if line.endswith(": paid")) == [f"order {n}: paid" for n in (1, 2, 3)]
    assert lines[-2:] == ["drain: 6 ended, 0 unfinished", "exit code 0"]


@requirement("examples.service")
def test_the_first_signal_lets_what_was_begun_end() -> None:
    with running_example("service", "--bank", "1.5") as service:
        service.until("order 1: the bank is asked")
        service.process.send_signal(signal.SIGTERM)
        code, said, complained = service.end()

    assert "order 1: paid" in said
    assert said.splitlines()[-1] == "exit code 0"
    assert code == 0
    assert "SIGTERM: draining" in complained


@requirement("examples.service")
def test_the_second_signal_aborts_and_whatever_nobody_knows_is_named() -> None:
    with running_example("service", "--bank", "600") as service:
        service.until("order 1: the bank is asked")
        service.process.send_signal(signal.SIGTERM)
        assert "draining" in service.stderr.readline()
        service.process.send_signal(signal.SIGINT)
        code, said, complained = service.end()

    assert "order 1: CANCELLED, effect unknown" in said
    assert "look at the bank: order 1 (pay)" in said
    assert said.splitlines()[-1] == "exit code 3"
    assert code == 3
    assert "SIGINT: aborting" in complained
