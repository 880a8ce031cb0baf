"""The example of telemetry shows a whole trace, and no secret."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
import structlog

from examples import telemetry
from tests.requirements import requirement


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)


@requirement("examples.telemetry")
async def test_a_turn_of_an_agent_is_one_trace_and_tells_no_secret() -> None:
    seen = await telemetry.run()

    assert list(seen.trace()) == [
        "turn 7 UNSET",
        "  execute_tool plan_trip success UNSET",
        "    execute_tool search_mail success UNSET",
        "  execute_tool search_mail error INTERNAL_ERROR ERROR",
        "  execute_tool error NOT_FOUND ERROR",
    ]
    assert sum("execution.settled" in line for line in seen.lines()) == 4
    assert telemetry.SECRET not in seen.everything()


@requirement("examples.telemetry")
def test_it_is_a_program(capsys: pytest.CaptureFixture[str]) -> None:
    telemetry.main()

    assert "The password was told: False" in capsys.readouterr().out
