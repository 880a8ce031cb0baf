"""The example of a host with background calls does what its page says."""

from __future__ import annotations

import pytest
import trio

from examples import background
from tests.requirements import requirement


@requirement("examples.background")
async def test_the_model_is_told_of_everything_once(autojump_clock: trio.abc.Clock) -> None:
    history = await background.run()
    told = [line.partition("{")[0].strip() for line in history]
    notices = [line for line in history if line.startswith("Background call")]

    assert told[:4] == ["start_background:"] * 3 + ["add: 5"]
    assert sum("40 papers" in line for line in history) == 2  # trees by waiting, moss by a notice
    assert len(notices) == 2
    assert [line for line in notices if "cancelled" in line and "the user asked for trees only" in line] != []
    assert [line for line in notices if "moss: 40 papers" in line] != []


@requirement("examples.background")
def test_it_is_a_program(capsys: pytest.CaptureFixture[str]) -> None:
    background.main()

    assert "trees: 40 papers, 3 worth reading" in capsys.readouterr().out
