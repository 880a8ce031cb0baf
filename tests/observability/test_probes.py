"""A probe is told at once, where it happens, and cannot do harm."""

from __future__ import annotations

import logging
from contextvars import ContextVar
from typing import Final

import pytest
import trio
import trio.testing

from armory_trio import (
    AdmissionWasClosed,
    ExecutionAdmitted,
    ExecutionSettled,
    Happening,
    Observed,
    OutcomeDecided,
    Toolbox,
    ToolCall,
    open_supervisor,
    tool,
)
from tests.engine.tools import add, sleep
from tests.requirements import requirement

ADD: Final = ToolCall("add", {"a": 1, "b": 2})
WHERE: Final[ContextVar[str]] = ContextVar("where", default="nowhere")


class Witness:
    """A probe that writes down what it is told, and marks the task of each execution."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.results: list[object] = []

    def happened(self, event: Happening, execution: Observed | None) -> None:
        self.told.append(f"{type(event).__name__} in {trio.lowlevel.current_task().name.rpartition('.')[2]}")
        if execution is not None and isinstance(event, OutcomeDecided) and execution.result is not None:
            self.results.append(execution.result.value)
        if execution is not None and isinstance(event, ExecutionSettled):
            assert execution.snapshot().state == event.state

    def entered(self, execution: Observed) -> None:
        WHERE.set(execution.id)
        self.told.append("entered")

    def closed(self) -> None:
        self.told.append("closed")


@requirement("probes.attached")
async def test_a_probe_is_told_in_the_task_in_which_it_happens() -> None:
    witness = Witness()
    seen: list[str] = []

    @tool(effect="read-only")
    async def look() -> str:
        """What the probe said in this task."""
        seen.append(WHERE.get())
        return "seen"

    async with open_supervisor(Toolbox([look])) as supervisor:
        supervisor.executions.attach(witness)
        result = await supervisor.execute(ToolCall("look"))

    here = trio.lowlevel.current_task().name.rpartition(".")[2]
    assert witness.told == [
        f"ExecutionAdmitted in {here}",
        "entered",
        f"ExecutionStarted in {result.execution_id}",
        f"OutcomeDecided in {result.execution_id}",
        f"ExecutionSettled in {result.execution_id}",
        f"AdmissionWasClosed in {here}",
        "closed",
    ]
    assert (seen, witness.results, WHERE.get()) == ([result.execution_id], ["seen"], "nowhere")


@requirement("probes.attached")
async def test_a_probe_that_was_detached_is_told_nothing_more() -> None:
    witness = Witness()
    async with open_supervisor(Toolbox([add])) as supervisor:
        detach = supervisor.executions.attach(witness)
        detach()
        detach()
        await supervisor.execute(ADD)

    assert witness.told == ["closed"]


class Careless:
    """A probe that raises whatever it is told."""

    def happened(self, event: Happening, execution: Observed | None) -> None:
        raise RuntimeError("a secret")

    def entered(self, execution: Observed) -> None:
        raise RuntimeError("a secret")

    def closed(self) -> None:
        raise RuntimeError("a secret")


@requirement("probes.attached")
async def test_what_a_probe_raises_harms_nobody_and_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    witness = Witness()
    async with open_supervisor(Toolbox([add])) as supervisor:
        supervisor.executions.attach(Careless())
        supervisor.executions.attach(witness)
        results = await supervisor.execute_batch([ADD] * 3)

    assert [result.value for result in results] == [3, 3, 3]
    assert sum(line.startswith("ExecutionSettled") for line in witness.told) == 3
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [
        (logging.WARNING, "the probe Careless raised RuntimeError")
    ]


class Broken(logging.Handler):
    """A handler that raises, as a probe does that writes to it."""

    def emit(self, record: logging.LogRecord) -> None:
        raise RuntimeError("a secret")


@requirement("probes.attached")
async def test_a_log_that_fails_as_the_probe_does_that_it_is_told_of_harms_nobody() -> None:
    broken = Broken()
    logging.getLogger("armory_trio").addHandler(broken)
    try:
        async with open_supervisor(Toolbox([add])) as supervisor:
            supervisor.executions.attach(Careless())
            results = [await supervisor.execute(ADD) for _ in range(2)]
    finally:
        logging.getLogger("armory_trio").removeHandler(broken)

    assert [result.value for result in results] == [3, 3]


@requirement("probes.attached")
async def test_a_call_that_was_stopped_before_its_task_began_is_not_entered(
    autojump_clock: trio.testing.MockClock,
) -> None:
    witness = Witness()
    async with open_supervisor(Toolbox([sleep])) as supervisor:
        supervisor.executions.attach(witness)
        supervisor.start(ToolCall("sleep", {"seconds": 1})).abort("at once")

    assert "entered" not in witness.told
    assert {ExecutionAdmitted.__name__, AdmissionWasClosed.__name__} <= {
        line.partition(" ")[0] for line in witness.told
    }
