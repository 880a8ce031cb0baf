"""Processes that are killed at any moment: an effect is never had twice, and one that is done is never forgotten."""

from __future__ import annotations

import json
import random
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Final

import pytest
from hypothesis import settings

from tests.engine.ledger.killing import Line, Victims, said_in, world_in
from tests.engine.ledger.victim_terms import KINDS, PATIENT, Ended, Found, Life, Part, Released, Said, Signed, Told
from tests.requirements import requirement

SOAK: Final = settings().max_examples > 200
SEEDS: Final = range(50 if SOAK else 1)
"""How many worlds there are for each store, of some ten processes each; very many in the long runs."""

WORK: Final = 2
"""New keys of each kind in each round, so that each has something to do."""

ROUNDS: Final[tuple[tuple[Part, ...], ...]] = (
    ("everything",),
    ("everything", "everything"),
    ("everything",),
    ("deciding",),
)
"""Who is killed together. Afterwards one decides, and one asks, and nobody kills them."""

MOMENTS: Final = 130
"""Most of the moments that a killed one passes: about as many as there are in a round."""

KNOWN: Final = ("fresh", "deduped", "joined")


def keys_until(turn: int) -> tuple[str, ...]:
    """All keys that were asked for until round *turn*; fewer of those that need a process of their own."""
    new = [f"{kind}-{number}" for number in range(WORK * turn) for kind in KINDS if kind != "placed"]
    return (*new, *(f"placed-{number}" for number in range((turn + 1) // 2)))


class World:
    """A store and a file that victims share, and what is known of them."""

    def __init__(self, victims: Victims, where: str, directory: Path, seed: int) -> None:
        self.victims = victims
        self.where = where
        self.directory = directory
        self.file = directory / "world"
        self.file.touch()
        self.chance = random.Random(seed)  # noqa: S311  # no secret
        self.lives = 0
        self.kills = 0
        self.signed: Counter[str] = Counter()
        self.released: set[str] = set()
        self.done: dict[str, str] = {}
        """What somebody was told to be done and recorded, and who did it: nobody may be told otherwise later."""
        self.told: Counter[str] = Counter()

    def run(self, turn: int, *parts: Part, kill: bool) -> list[list[Said]]:
        """Let one life after the other begin, kill them at some moments, and hold what they said against the world."""
        begun: list[tuple[int, Path, Life]] = []
        for part in parts:
            self.lives += 1
            says = self.directory / f"said-{self.lives}"
            dies = self.chance.randint(1, MOMENTS) if kill and self.chance.random() < 0.5 else None
            lease = {} if kill else {"lease": PATIENT}
            life = Life(
                self.where,
                str(self.file),
                str(says),
                keys_until(turn),
                seed=self.chance.randrange(2**32),
                part=part,
                dies=dies,
                **lease,
            )
            begun.append((self.victims.start(life), says, life))
        for pid, _, life in begun:
            if kill and life.dies is None and self.victims.hear(pid):
                time.sleep(self.chance.random() / 3)  # at any moment: this is what is tested
                self.victims.send(pid, signal.SIGKILL)
        self.kills += sum(self.victims.wait(pid) != 0 for pid, _, _ in begun)
        return self.judged([said_in(says) for _, says, _ in begun])

    def judged(self, lives: list[list[Said]]) -> list[list[Said]]:
        lines = world_in(self.file)
        for life in lives:
            for each in life:
                match each:
                    case Found():
                        self.judge_found(each, lines)
                    case Told():
                        self.judge_told(each, lines)
                    case Signed(key=key):
                        self.signed[key] += 1
                    case Released(key=key):
                        self.released.add(key)
                    case Ended():
                        assert each == Ended(0, 0)
        for life in lives:
            self.done |= {each.key: each.did for each in life if isinstance(each, Told) and is_known(each)}
        assert not {key: times for key, times in self.happened().items() if times > 1 + self.signed[key]}
        return lives

    def happened(self) -> Counter[str]:
        """How often the effect of each key was had."""
        return Counter(line.key for line in world_in(self.file) if line.what == "did")

    def judge_found(self, found: Found, lines: list[Line]) -> None:
        """What may be run again has changed nothing, and entered nothing in which it could."""
        changed = {line.execution for line in lines}
        assert not changed & set(found.again)

    def judge_told(self, told: Told, lines: list[Line]) -> None:
        self.told[told.outcome] += 1
        if told.key in self.done:
            assert (told.outcome, told.did) == ("deduped", self.done[told.key]), told
        if is_known(told):
            assert Line("did", told.key, told.did) in lines, told
            assert (told.effect, told.code) == ("completed", ""), told
        elif told.outcome == "unknown-outcome":
            assert (told.effect, told.did) == ("unknown", ""), told
        elif told.outcome == "fence-lost":  # its lease was over, on a machine that is slow
            assert told.effect in ("completed", "none"), told
        else:
            assert (told.outcome, told.code) == ("refused", "LEDGER_UNAVAILABLE"), told
            assert told.effect == "none", told


def is_late(key: str) -> bool:
    """Whether a worker process may have outlived its supervisor for a moment, and changed the world in that."""
    return key.startswith("placed-")


def is_known(told: Told) -> bool:
    return told.outcome in KNOWN and told.recorded


def told_in(life: list[Said]) -> dict[str, Told]:
    found = [each for each in life if isinstance(each, Told)]
    by_key = {each.key: each for each in found}
    assert len(found) == len(by_key)
    return by_key


@requirement("keeping.killed", "keeping.killed.receipts", "keeping.killed.recovered")
@pytest.mark.parametrize("seed", SEEDS)
def test_no_effect_is_had_twice_and_none_is_forgotten_however_often_it_is_killed(
    seed: int, where: str, victims: Victims, tmp_path: Path
) -> None:
    world = World(victims, where, tmp_path, seed)
    for turn, parts in enumerate(ROUNDS, start=1):
        world.run(turn, *parts, kill=True)
    last = len(ROUNDS)
    before = world.happened()
    [deciding] = world.run(last, "deciding", kill=False)
    decided, after = told_in(deciding), world.happened()
    signed = {each.key for each in deciding if isinstance(each, Signed)}
    released = {each.key for each in deciding if isinstance(each, Released)}
    [asking] = world.run(last, "everything", kill=False)
    asked, happened = told_in(asking), world.happened()

    assert set(decided) == set(asked) == set(keys_until(last)) >= set(happened)
    # A receipt, and a release of what is safe, let it be done once more; nothing else is, but what was never begun.
    for key in signed | released:
        assert decided[key].outcome == "fresh", key
    assert {key: happened[key] for key in released if happened[key] != before[key] + 1} == {}
    # What is safe changed nothing, and if anything did before it, a receipt let it take the place of that.
    assert {key: before[key] for key in released if before[key] > world.signed[key]} == {}
    assert all(decided[key].outcome == "fresh" for key in after if after[key] != before[key] and not is_late(key))
    # Whoever asks again is told the same, and nothing is done any more.
    assert not {key for key in happened if happened[key] != after[key] and not is_late(key)}
    for key, told in asked.items():
        assert told.outcome == ("unknown-outcome" if decided[key].outcome == "unknown-outcome" else "deduped"), key
        assert told.did == decided[key].did
    tell(world, where, happened, len(signed), len(released))


def tell(world: World, where: str, happened: Counter[str], signed: int, released: int) -> None:
    """Leave a line for who counts."""
    counts = {
        "store": "postgresql" if "://" in where else "sqlite",
        "kills": world.kills,
        "lives": world.lives,
        "keys": len(keys_until(len(ROUNDS))),
        "effects": sum(happened.values()),
        "told": dict(world.told),
        "receipts": signed,
        "released": released,
    }
    print(json.dumps(counts))  # noqa: T201  # shown with -rP
