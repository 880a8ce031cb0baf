"""A comparison from start to end: environments, workers, samples."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from benchmarks._report import environment

from . import _tables
from ._compare import Contest, Measure, open_contest
from ._contenders import Contender
from ._environments import Unavailable, python_of

__all__ = ("commands_of", "compare", "tell")


def commands_of(contenders: Iterable[Contender], cache: Path) -> tuple[dict[str, list[str]], dict[str, str]]:
    """How the workers of *contenders* are started, and why others can't be.

    Args:
        contenders: Who takes part.
        cache: Where environments are made and kept.
    """
    commands: dict[str, list[str]] = {}
    missing: dict[str, str] = {}
    for contender in contenders:
        tell(f"environment of {contender.name}")
        try:
            commands[contender.name] = [str(python_of(contender, cache.absolute())), "-m", contender.module]
        except Unavailable as error:
            missing[contender.name] = str(error)
    return commands, missing


async def compare(
    commands: dict[str, list[str]],
    measures: Sequence[Measure],
    missing: dict[str, str],
    keep: Callable[[_tables.Comparison], None] | None = None,
) -> _tables.Comparison:
    """Measure the workers that *commands* start, the first of which is the base.

    Args:
        commands: How each of them is started.
        measures: What they are asked to do.
        missing: Why others are not there; they are named beside them.
        keep: Told after each measure what is known so far, so that a long run which is broken off was not in vain.

    Raises:
        WorkerError: The base itself cannot be measured.
    """
    comparison = _tables.Comparison(environment(), (), ())
    async with open_contest(next(iter(commands)), commands) as contest:
        contenders = _contenders(commands, contest, missing)
        for measure in measures:
            found = (*comparison.found, *await contest.run(measure, tell))
            comparison = _tables.Comparison(comparison.environment, contenders, found)
            if keep is not None:
                keep(comparison)
    return comparison


def _contenders(
    commands: dict[str, list[str]], contest: Contest, missing: dict[str, str]
) -> tuple[_tables.Contender, ...]:
    known = [
        _tables.Contender(name, said.distribution, said.version)
        for name in commands
        if (said := contest.introductions.get(name)) is not None
    ]
    unknown = [_tables.Contender(name, "", "", error) for name, error in {**missing, **contest.missing}.items()]
    return (*known, *unknown)


def tell(text: str) -> None:
    """Say on a terminal what is going on, in one line that is overwritten."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()
