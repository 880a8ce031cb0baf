"""Whatever clients and tools do, each execution has one span, one first and one last line, and one place in the numbers."""

from __future__ import annotations

import logging
from collections import Counter

from hypothesis import settings

from armory_trio import Supervisor, replay
from armory_trio.observability import _vocabulary as words
from armory_trio.observability.logs import log_executions
from armory_trio.observability.otel import instrument
from armory_trio.storage.memory import MemoryJournal
from armory_trio.testing import run_seeded
from tests.engine.model_random import make
from tests.engine.model_run import run
from tests.requirements import requirement

from .exporting import Exported, context_of, is_error, said


class Written:
    """A logger that counts its lines."""

    def __init__(self) -> None:
        self.counted: Counter[tuple[str, object]] = Counter()

    def debug(self, event: str, **facts: object) -> None:
        self.counted[event, facts.get("execution_id")] += 1

    info = warning = debug


async def play(seed: int) -> None:
    exported, journal, written = Exported(), MemoryJournal(), Written()

    def attend(supervisor: Supervisor) -> None:
        instrument(supervisor, tracer_provider=exported.tracers, meter_provider=exported.meters)
        log_executions(supervisor, written)

    world = await run(make(seed), journal, attend)
    past = await replay(journal)
    spans = {str(said(span)[words.EXECUTION_ID]): span for span in exported.spans}

    assert world.faults == []
    assert len(spans) == len(exported.spans)
    assert spans.keys() == {shot.execution_id for shot in past.inspect()}
    for shot in past.inspect():
        span = spans[shot.execution_id]
        told = said(span)
        assert (told[words.OUTCOME], told[words.EFFECT], told[words.ATTEMPTS], told[words.STATE]) == (
            shot.outcome,
            shot.effect,
            shot.attempts,
            shot.state,
        )
        assert told.get(words.ERROR_TYPE) == shot.error_code
        assert is_error(span) == (shot.error_category not in (None, "cancelled", "permission"))
        if shot.parent_id is not None:
            assert span.parent == context_of(spans[shot.parent_id])
        assert written.counted["execution.admitted", shot.execution_id] == 1
        assert written.counted["execution.settled", shot.execution_id] == 1
    assert sum(exported.points("armory.tool.calls").values()) == len(spans)
    assert exported.points("armory.executions.live") == {}


@requirement("telemetry.once", "telemetry.parents", "logs.lines")
def test_after_any_program_telemetry_says_of_each_execution_what_its_last_snapshot_says() -> None:
    logger = logging.getLogger("armory_trio")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        for seed in range(settings().max_examples):
            run_seeded(play, seed, seed=seed)
    finally:
        logger.setLevel(before)
