"""The example of two hosts that share a store: the second one finds out what the first one left, and nothing is done twice."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from tests.examples.programs import run_example, running_example
from tests.requirements import requirement


@requirement("examples.shared-state")
def test_what_a_killed_host_left_is_found_out_decided_and_finished_by_another_one() -> None:
    said = run_example("shared_state")
    first, second, bank = said.split("\n\n")
    lines = [line.strip().removeprefix("second: ") for line in second.splitlines()]

    assert "order 7: the bank is told, pays, and does not answer" in first
    assert "order 8: the bank is told, and does not hear it" in first
    assert "order 9: more than 100 euros" in first
    # The bank could be asked: what it did is told again, what it did not is done now.
    assert "order 7: paid: order 7, 5000 cents (deduped)" in lines
    assert "order 8: paid: order 8, 6000 cents (fresh)" in lines
    # The post office could not: that is said, and stays so until somebody has looked.
    unknown = [number for number, line in enumerate(lines) if line.endswith("(unknown-outcome)")]
    decided = lines.index("letter: bob decides, and the ledger says completed")
    assert [number < decided for number in unknown] == [True]
    assert "letter: sent, says the post office (deduped)" in lines[decided:]
    assert not any("a letter is sent" in line for line in lines)
    # What a person agreed to runs once.
    assert lines[-2:] == ["order 9: paid: order 9, 25000 cents (fresh)", "order 9, once more: already-consumed"]
    assert bank.split("\n") == [
        *("What the bank really did:", "  order 7, 5000 cents", "  order 8, 6000 cents", "  order 9, 25000 cents"),
        "",
    ]


@requirement("examples.shared-state")
def test_it_can_be_stopped_in_the_middle_and_leaves_neither_hosts_nor_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with running_example("shared_state") as story:
        while not list(tmp_path.glob("*/host.db")):  # what ends a test that hangs bounds it
            time.sleep(0.01)
        story.process.send_signal(signal.SIGTERM)
        code, _, _ = story.end()  # the hosts hold its standard error open as long as they run

    assert code == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []
