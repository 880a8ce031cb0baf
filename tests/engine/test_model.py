"""Whole programs under many schedules, against a model of what must be true."""

from __future__ import annotations

import logging
from typing import Final

import pytest
from hypothesis import settings

from armory_trio.engine import _door, _room
from tests.engine import model_programs as do
from tests.engine.model_random import make, shrink
from tests.engine.model_run import Faulty, faults_of
from tests.requirements import requirement

PARTS: Final = 10
EACH: Final = settings().max_examples // 2
"""Programs of each part: some hundreds in all; very many under ``--hypothesis-profile=soak``."""


@pytest.fixture(autouse=True)
def _quiet() -> object:
    """The engine names what holds an exit; here that is on purpose."""
    logger = logging.getLogger("armory_trio")
    before = logger.level
    logger.setLevel(logging.ERROR)
    yield
    logger.setLevel(before)


def check(program: do.Program, seed: int) -> None:
    """Run *program* under *seed*, and make it smaller if it fails."""
    faults = faults_of(program, seed)
    if faults:
        small = shrink(program, lambda other: bool(faults_of(other, seed)))
        words = "\n".join((faults_of(small, seed) or faults)[:6])
        raise Faulty(f"{words}\nunder seed {seed}, in\n{small!r}")


@requirement("engine.model")
@pytest.mark.parametrize("part", range(PARTS))
def test_whatever_clients_and_tools_do_the_engine_does_what_the_model_says(part: int) -> None:
    for seed in range(part * EACH, (part + 1) * EACH):
        check(make(seed), seed)


FAILED_ONCE: Final[list[tuple[do.Program, int]]] = [
    # An idle supervisor in which somebody had started something meanwhile.
    (
        do.Program(
            (
                do.Client((do.Step(do.Execute(do.Intent("reading"))),)),
                do.Client((do.Step(do.Idle(1.0)),)),
            )
        ),
        0,
    ),
    # A reader that was cancelled in the moment in which its tool ran out of time, and left before the body had.
    (
        do.Program(
            (
                do.Client((do.Step(do.Abort("execution_id", 7), 0.5),)),
                do.Client(
                    (
                        do.Step(
                            do.Read(
                                do.Intent("plain", (do.Sleep(0.5),)),
                                stall=1.0,
                                options=do.Options(idle_timeout=0.25),
                                patience=0.25,
                            ),
                            0.25,
                        ),
                    )
                ),
            )
        ),
        50,
    ),
    # A sign of life from a call that had aborted itself, which its callers do not live on.
    (
        do.Program(
            (
                do.Client(
                    (
                        do.Step(
                            do.Start(
                                do.Intent(
                                    "plain",
                                    (
                                        do.Sleep(0.25),
                                        do.Call((do.Intent("plain", (do.AbortMe(), do.Tell("progress"))),)),
                                        do.Sleep(1.0),
                                    ),
                                ),
                                options=do.Options(idle_timeout=1.0),
                            )
                        ),
                    )
                ),
            )
        ),
        1807,
    ),
    # A call that was over before its watcher looked, and was taken for one of the past.
    (do.Program((do.Client((do.Step(do.Execute(do.Intent("windowed")), 0.25),), "ann"),)), 0),
]
"""Programs that found something, made smaller; they stay, whatever programs the seeds make."""


@requirement("engine.model")
@pytest.mark.parametrize(("program", "seed"), FAILED_ONCE)
def test_what_failed_once_does_not_again(program: do.Program, seed: int) -> None:
    for other in range(seed, seed + 10):
        assert faults_of(program, other) == []


@requirement("engine.model")
def test_the_model_sees_an_engine_that_does_not_wait_for_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_slots(*_: object) -> tuple[str, ...]:
        return ()

    monkeypatch.setattr(_room, "_slots", no_slots)
    program = do.Program(
        (do.Client(tuple(do.Step(do.Start(do.Intent("narrow", (do.Sleep(1.0),)))) for _ in range(2))),)
    )

    assert "under tool:default:narrow = 1" in faults_of(program, 0)[0]


@requirement("engine.model")
def test_the_model_sees_an_engine_that_forgets_to_stop_what_a_cancelled_caller_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def leave(*_: object) -> None:
        pass

    monkeypatch.setattr(_door, "leave", leave)
    call = do.Execute(do.Intent("plain", (do.Sleep(3.0),)), patience=1.0)
    program = do.Program((do.Client((do.Step(call),)),))

    assert "go on, though their caller was cancelled" in faults_of(program, 0)[0]


@requirement("engine.model")
def test_a_failing_program_is_made_smaller_until_only_what_matters_is_left() -> None:
    def matters(op: do.Op) -> bool:
        return isinstance(op, do.Execute) and do.Sleep(3.0) in op.intent.moves

    def fails(program: do.Program) -> bool:
        return any(matters(step.op) for client in program.clients for step in client.steps)

    whole = next(program for seed in range(1000) if fails(program := make(seed)))
    small = shrink(whole, fails)
    (client,) = small.clients
    (step,) = client.steps

    assert isinstance(step.op, do.Execute)
    assert step == do.Step(do.Execute(do.Intent(step.op.intent.tool, (do.Sleep(3.0),))))
    assert small == do.Program((do.Client((step,)),))
