"""Processes that are killed at any moment: an effect is never had twice, and one that is done is never forgotten."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Final

import pytest
from hypothesis import settings

from tests.engine.ledger.victim_terms import LEASE
from tests.requirements import requirement

ROOT: Final = Path(__file__).parents[3]
KEYS: Final = 12
ROUNDS: Final = 4
SEEDS: Final = range(2 if settings().max_examples <= 200 else 60)
"""How many lives there are; very many in the long runs."""


def victim(store: Path, world: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.engine.ledger.victim", str(store), str(world), str(KEYS)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def kill_at_some_moment(process: subprocess.Popen[str], chance: random.Random) -> None:
    assert process.stdout is not None
    process.stdout.readline()  # it is ready
    time.sleep(chance.random() / 4)
    process.kill()
    process.communicate()


def last_words(process: subprocess.Popen[str]) -> dict[str, tuple[str, str]]:
    """What the last one was told of each key: the outcome, and the effect."""
    said, _ = process.communicate(timeout=60)
    assert process.returncode in (0, None), said
    return {key: (outcome, effect) for _, key, outcome, effect in (line.split() for line in said.splitlines()[1:])}


@requirement("keeping.killed")
@pytest.mark.parametrize("seed", SEEDS)
def test_no_effect_is_had_twice_and_none_is_forgotten_however_often_it_is_killed(seed: int, tmp_path: Path) -> None:
    chance, store, world = random.Random(seed), tmp_path / "store.db", tmp_path / "world"  # noqa: S311  # no secret
    world.touch()
    for _ in range(ROUNDS):
        kill_at_some_moment(victim(store, world), chance)
    time.sleep(LEASE * 2)  # nobody holds anything any more
    told = last_words(victim(store, world))
    happened = Counter(world.read_text(encoding="utf-8").split())

    assert len(told) == 2 * KEYS
    assert max(happened.values(), default=0) <= 1
    for key, (outcome, effect) in told.items():
        assert outcome in ("fresh", "deduped", "unknown-outcome"), key
        if outcome == "unknown-outcome":
            assert effect == "unknown", key
        else:
            assert (happened[key], effect) == (1, "completed"), key
    assert set(happened) <= set(told)
