"""Makes programs for the model test, one for each seed, and makes those that fail smaller."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar, cast, get_args

import msgspec

from tests.engine import model_programs as do
from tests.engine.model_world import SPECS

T = TypeVar("T")

_FOCI: Final = (
    ("writer", "reader"),
    ("narrow", "plain"),
    ("paired", "grouped", "plain"),
    ("windowed", "plain"),
    ("limited", "plain"),
    ("graceful", "plain"),
    ("exclusive", "plain"),
    ("unstoppable", "plain"),
    ("asked", "narrow"),
    ("inline", "reading"),
    ("flowing", "plain"),
    tuple(SPECS),
    tuple(SPECS),
)
"""Tools that have something to do with each other: a few of them at a time meet more often."""

_RESTS: Final = (0.0, 0.25, 0.25, 0.5, 0.5, 1.0, 3.0)
"""Few and round, so that things happen at the same instant."""

_SOON: Final = (0.0, 0.0, 0.0, 0.25, 0.25, 0.5, 1.0)
_LIMITS: Final = (0.25, 0.5, 1.0, 2.0)


class Maker:
    """Makes one program."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)  # noqa: S311  # a program that can be repeated
        self._tools = self._one_of(_FOCI)

    def program(self) -> do.Program:
        some = self._some
        return do.Program(
            clients=tuple(self._client() for _ in range(self._rng.randint(1, 5))),
            bounds=do.Bounds(
                concurrent=some(0.3, (1, 2, 3)),
                per_owner=some(0.2, (1, 2)),
                group=some(0.6, (1, 2)),
                queued=some(0.15, (0, 2)),
                max_calls=some(0.1, (2, 5)),
                kept=some(0.15, (0, 2)) or do.Bounds().kept,
            ),
            leave=self._one_of(("normally", "normally", "by an exception", "cancelled")),
            leave_at=some(0.4, (0.0, 0.5, 1.0, 2.0)),
            drain_for=self._one_of((30.0, 30.0, 0.5)),
        )

    def _one_of(self, choices: Sequence[T]) -> T:
        return self._rng.choice(choices)

    def _some(self, chance: float, choices: Sequence[T]) -> T | None:
        return self._rng.choice(choices) if self._rng.random() < chance else None

    def _client(self) -> do.Client:
        steps = tuple(do.Step(self._op(), self._one_of(_SOON)) for _ in range(self._rng.randint(1, 4)))
        return do.Client(steps, self._one_of((None, "ann", "ann", "bob")))

    def _op(self) -> do.Op:
        if self._rng.random() < 0.3:
            return self._meddling()
        options, patience = self._options(), self._some(0.25, _SOON)
        kind = self._rng.random()
        if "flowing" in self._tools and kind < 0.4:
            return do.Read(
                self._intent(0, tools=("flowing", "flowing", "plain")),
                chunks=self._some(0.4, (0, 1, 3)),
                pause=self._one_of((0.0, 0.0, *_RESTS)),
                stall=self._one_of((0.0, 0.0, 1.0, 9.0)),
                options=options,
                patience=patience,
            )
        if kind < 0.55:
            return do.Execute(self._intent(2), options, patience)
        if kind < 0.8:
            then = self._one_of(get_args(do.Then))
            return do.Start(self._intent(2), then, options, patience)
        return do.Batch(
            tuple(self._intent(1) for _ in range(self._rng.randint(0, 4))),
            mode=self._one_of(get_args(do.Mode)),
            concurrency=self._some(0.4, (1, 2)),
            on_error=self._one_of(get_args(do.OnError)),
            options=options,
            patience=patience,
        )

    def _meddling(self) -> do.Op:
        match self._rng.randint(0, 9):
            case 0 | 1 | 2 | 3 | 4:
                by = self._one_of(get_args(do.Selector))
                return do.Abort(by, self._rng.randint(0, 7))
            case 5 | 6:
                what = self._one_of(get_args(do.Feed))
                return do.Watch(what, self._rng.randint(0, 9), self._one_of(_SOON))
            case 7:
                mode = self._one_of(get_args(do.Ending))
                return do.Shutdown(mode, self._some(0.6, (0.0, 0.5, 2.0)), self._some(0.3, _SOON))
            case 8:
                return do.Close()
            case _:
                return do.Idle(self._one_of((0.0, 1.0, None)))

    def _options(self) -> do.Options:
        if self._rng.random() < 0.6:
            return do.NONE
        some = self._some
        return do.Options(some(0.4, _LIMITS), some(0.4, _LIMITS), some(0.3, _LIMITS), some(0.3, _LIMITS))

    def _intent(self, depth: int, tools: Sequence[str] = ()) -> do.Intent:
        tool = self._one_of(tools or self._tools)
        moves = tuple(self._move(tool, depth) for _ in range(self._rng.randint(0, 4)))
        return do.Intent(tool, moves, self._one_of(("a", "a", "b")))

    def _move(self, tool: str, depth: int) -> do.Move:
        if self._rng.random() < 0.4:
            if tool == "flowing":
                return do.Flow(self._one_of((1, 2, 5)))
            if tool == "windowed" or (tool == "limited" and self._rng.random() < 0.4):
                said = self._one_of(get_args(do.Said))
                return do.Effect(self._one_of(_RESTS), said, breaks=self._rng.random() < 0.3)
        if depth and self._rng.random() < 0.35:
            how = self._one_of(get_args(do.How))
            children = tuple(self._intent(depth - 1) for _ in range(self._rng.randint(1, 3)))
            return do.Call(children, how, self._some(0.2, _SOON))
        seconds = self._one_of(_RESTS)
        match self._rng.randint(0, 19):
            case 0:
                return do.Shield(seconds)
            case 1:
                return do.Swallow(seconds)
            case 2 | 3:
                told = self._one_of(get_args(do.Told))
                return do.Tell(told)
            case 4:
                return do.Wait(seconds)
            case 5 | 6:
                return do.Ask(seconds)
            case 7 | 8:
                return do.Fail(self._one_of(get_args(do.Failure)))
            case 9:
                return do.AbortMe()
            case _:
                return do.Sleep(seconds)


def make(seed: int) -> do.Program:
    """The program of *seed*."""
    return Maker(seed).program()


def shrink(program: do.Program, fails: Callable[[do.Program], bool], *, tries: int = 1500) -> do.Program:
    """The smallest program that still fails, among those that come of leaving parts out one after the other."""
    while tries > 0:
        for smaller in _smaller(program):
            tries -= 1
            if isinstance(smaller, do.Program) and fails(smaller):
                program = smaller
                break
            if tries <= 0:
                return program
        else:
            return program
    return program


def _smaller(value: object) -> Iterator[object]:
    """Values like *value* with something left out: first the larger parts."""
    if isinstance(value, tuple):
        members = cast("tuple[object, ...]", value)
        for index, member in enumerate(members):
            if isinstance(member, msgspec.Struct | tuple):
                yield (*members[:index], *members[index + 1 :])
        for index, member in enumerate(members):
            for less in _smaller(member):
                yield (*members[:index], less, *members[index + 1 :])
    elif isinstance(value, msgspec.Struct):
        for field in msgspec.structs.fields(value):
            given: object = getattr(value, field.name)
            if not field.required and given != field.default:
                yield msgspec.structs.replace(value, **{field.name: field.default})
            for less in _smaller(given):
                yield msgspec.structs.replace(value, **{field.name: less})
