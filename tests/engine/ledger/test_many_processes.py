"""Many processes that ask for the same keys at once: one does it, and all the others are told."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Final

from hypothesis import settings

from tests.engine.ledger.killing import Victims, said_in, world_in
from tests.engine.ledger.victim_terms import PATIENT, Ended, Found, Life, Told
from tests.requirements import requirement

SOAK: Final = settings().max_examples > 200
PROCESSES: Final = 10
KEYS: Final = 1_000 if SOAK else 60
"""How many keys all of them want; each process asks twice for each."""

EVERY: Final = 10
"""One key of so many belongs to a tool that fails after it has changed the world, so that nobody may be told more."""


def keys() -> tuple[str, ...]:
    return tuple(f"{'plain' if number % EVERY else 'fragile'}-{number}" for number in range(KEYS))


@requirement("keeping.many-processes")
def test_of_ten_processes_that_ask_for_the_same_keys_one_does_each_and_all_are_told(
    where: str, victims: Victims, tmp_path: Path
) -> None:
    world = tmp_path / "world"
    world.touch()
    says = [tmp_path / f"said-{number}" for number in range(PROCESSES)]
    pids = [
        victims.start(Life(where, str(world), str(path), keys(), seed=seed, part="racing", lease=PATIENT))
        for seed, path in enumerate(says)
    ]
    assert all(victims.hear(pid) for pid in pids)
    for pid in pids:
        victims.go(pid)
    assert [victims.wait(pid) for pid in pids] == [0] * PROCESSES

    lines = world_in(world)
    assert Counter(line.key for line in lines) == dict.fromkeys(keys(), 1)
    who = {line.key: line.execution for line in lines}
    outcomes: dict[str, list[Counter[str]]] = defaultdict(list)
    refusals = 0
    for path in says:
        told: dict[str, list[Told]] = defaultdict(list)
        for said in said_in(path):
            match said:
                case Told(key=key, outcome="refused"):  # the store was too slow, so it asks again
                    refusals += 1
                    assert (said.code, said.effect) == ("LEDGER_UNAVAILABLE", "none")
                case Told(key=key):
                    told[key].append(said)
                    assert_honest(said, who[key])
                case _:
                    assert isinstance(said, Found) or said == Ended(0, 0)
        assert {key: len(each) for key, each in told.items()} == dict.fromkeys(keys(), 2)
        for key, each in told.items():
            outcomes[key].append(Counter(one.outcome for one in each))
    winners: Counter[int] = Counter()
    told_of_all: Counter[str] = Counter()
    for key, by_process in outcomes.items():
        [winner] = [number for number, heard in enumerate(by_process) if heard["fresh"]]
        assert by_process[winner]["fresh"] == 1, key
        winners[winner] += 1
        for heard in by_process:
            told_of_all.update(heard)
    print(json.dumps({"told": told_of_all, "refused": refusals, "won": sorted(winners.values())}))  # noqa: T201  # shown with -rP


def assert_honest(told: Told, who: str) -> None:
    """Nobody is told anything but what happened, or that nobody knows."""
    if told.key.startswith("fragile"):
        assert (told.outcome, told.effect, told.did) in (
            ("fresh", "unknown", ""),
            ("unknown-outcome", "unknown", ""),
        ), told
        assert not told.recorded
    else:
        assert told.outcome in ("fresh", "deduped", "joined"), told
        assert (told.effect, told.did, told.recorded) == ("completed", who, True), told
