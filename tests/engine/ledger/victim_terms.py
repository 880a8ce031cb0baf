"""What a victim and whoever kills it agree about."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

LEASE: Final = 0.4
"""Seconds for which an attempt is held after its process was killed."""

PATIENT: Final = 60.0
"""Seconds for which one is held by a process that is not to lose it, however slow the machine is."""

BOUND: Final = 120
"""Seconds after which a victim is taken for hung, and ends with SIGALRM; no result depends on it."""

Kind = Literal["plain", "windowed", "threaded", "placed", "nested", "streamed", "fragile"]
KINDS: Final[tuple[Kind, ...]] = ("plain", "windowed", "threaded", "placed", "nested", "streamed")

Part = Literal["everything", "deciding", "racing", "inside", "before-window", "queued"]


class Life(msgspec.Struct, frozen=True):
    """What a victim does until it ends.

    Args:
        where: The store.
        world: The file that stands for the world.
        says: The file that it writes what it is told to.
        keys: All keys that it asks for: the kind of the tool, a dash, a number.
        seed: What its choices come from.
        part: What it does with them.
        lease: Seconds for which its attempts are held.
        dies: At which of the moments that it passes it kills itself; None: at none.
    """

    where: str
    world: str
    says: str
    keys: tuple[str, ...]
    seed: int = 0
    part: Part = "everything"
    lease: float = LEASE
    dies: int | None = None


class Found(msgspec.Struct, frozen=True, tag=True):
    """What others left behind, as their executions, and how many lines the world had just before that was asked."""

    lines: int
    again: tuple[str, ...]
    unknown: tuple[str, ...]


class Released(msgspec.Struct, frozen=True, tag=True):
    """It is about to say that nothing came of the attempt for *key*, since that was listed as safe."""

    key: str


class Signed(msgspec.Struct, frozen=True, tag=True):
    """It is about to use a receipt that says retry."""

    key: str


class Told(msgspec.Struct, frozen=True, tag=True):
    """What it was told of *key*."""

    key: str
    outcome: str
    effect: str
    recorded: bool
    did: str = ""
    """The execution that did it, as the value says."""
    code: str = ""


class Ended(msgspec.Struct, frozen=True, tag=True):
    """It left its supervisor; how many executions were unfinished, and the bugs in the report."""

    unfinished: int
    bugs: int


Said = Found | Released | Signed | Told | Ended


class Start(msgspec.Struct, frozen=True, tag=True):
    """Begin a life. Answered with its process id."""

    life: Life


class Hear(msgspec.Struct, frozen=True, tag=True):
    """Wait until the victim says that it is as far. Answered with 1; with 0 if it is gone."""

    pid: int


class Go(msgspec.Struct, frozen=True, tag=True):
    """Let the victim go on that waits for it. Answered with 1."""

    pid: int


class Wait(msgspec.Struct, frozen=True, tag=True):
    """Wait until the victim is gone. Answered with its exit code, negative for the signal that ended it."""

    pid: int


class Still(msgspec.Struct, frozen=True, tag=True):
    """Wait until a signal has stopped the victim. Answered with the signal."""

    pid: int


Command = Start | Hear | Go | Wait | Still
