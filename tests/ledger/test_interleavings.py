"""Every order in which two claimers of one key, and a clock, can take their steps: nothing is done twice or denied.

A claimer is a process that may be slow, paused or killed between any two steps. It does the effect only after the ledger
let it, but perhaps long after. All that can be reached from the beginning is visited.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final, Literal, NamedTuple

import pytest
from msgspec.structs import replace

from armory_trio.ledger import (
    Attempt,
    Claim,
    CloseWindow,
    Complete,
    Done,
    FenceLost,
    Fresh,
    MarkUnknown,
    OpenWindow,
    Operation,
    Recorded,
    Release,
    Renew,
    Resolve,
    Start,
    Unknown,
    apply,
)
from tests.ledger.cases import CLAIM, LEASE, NOW, READING, TEXT, WINDOWED
from tests.requirements import requirement

Kind = Literal["plain", "windowed", "reading"]
Phase = Literal["asking", "claimed", "let go", "in a window", "did it", "window left", "over"]


class Claimer(NamedTuple):
    """Where a claimer stands. Its ids are made of its name and how often it asked."""

    name: str
    phase: Phase = "asking"
    asked: int = 0
    renewed: bool = False

    @property
    def fence(self) -> str:
        return f"{self.name}{self.asked}"


class World(NamedTuple):
    """Everything that there is."""

    row: Attempt | None
    claimers: tuple[Claimer, ...]
    ticks: int = 0
    receipts: int = 0
    starts: int = 0
    effects: int = 0
    released: int = 0


TICKS: Final = 2
TICK: Final = 0.6 * LEASE
"""After one a lease is live, after two it is over unless it was renewed between them."""

ASKS: Final = 2
CLAIMS: Final[dict[Kind, Claim]] = {"plain": CLAIM, "windowed": WINDOWED, "reading": READING}


def moves(world: World, kind: Kind) -> Iterator[World]:
    """Everything that can happen next."""
    if world.ticks < TICKS:
        yield world._replace(ticks=world.ticks + 1)
    for index, claimer in enumerate(world.claimers):
        for after, moved in steps(world, claimer, kind):
            claimers = (*world.claimers[:index], moved, *world.claimers[index + 1 :])
            yield after._replace(claimers=claimers)


def steps(world: World, claimer: Claimer, kind: Kind) -> Iterator[tuple[World, Claimer]]:
    """Everything that *claimer* can do next. It can always do nothing, and then it was killed for good."""
    if claimer.phase in ("let go", "in a window", "did it"):
        yield world, claimer._replace(phase="asking")  # it was killed, and comes back
    fence = claimer.fence
    match claimer.phase:
        case "asking":
            yield from ask(world, claimer, CLAIMS[kind])
        case "claimed":
            if not claimer.renewed:
                after, answer = do(world, Renew(TEXT, fence, LEASE))
                yield after, claimer._replace(renewed=True)
            after, answer = do(world, Start(TEXT, fence))
            if isinstance(answer, Done):
                yield after._replace(starts=after.starts + 1), claimer._replace(phase="let go")
            else:
                assert isinstance(answer, FenceLost)
                yield after, claimer._replace(phase="asking")
            yield do(world, Release(TEXT, fence))[0], claimer._replace(phase="over")
        case "let go" if kind == "windowed":
            after, answer = do(world, OpenWindow(TEXT, fence))
            yield after, claimer._replace(phase="in a window" if isinstance(answer, Done) else "over")
            yield from end(world, claimer, did=False)
        case "let go":
            yield from end(world, claimer, did=False)
            yield world._replace(effects=world.effects + (kind == "plain")), claimer._replace(phase="did it")
        case "in a window":
            yield do(world, CloseWindow(TEXT, fence, "nothing-happened"))[0], claimer._replace(phase="let go")
            acted = world._replace(effects=world.effects + 1)
            yield acted, claimer._replace(phase="did it")
        case "did it" if kind == "windowed":
            after, _ = do(world, CloseWindow(TEXT, fence, "completed"))
            yield after, claimer._replace(phase="window left")
        case "did it" | "window left":
            yield from end(world, claimer, did=kind != "reading")
        case "over":
            pass


def ask(world: World, claimer: Claimer, claim: Claim) -> Iterator[tuple[World, Claimer]]:
    if claimer.asked == ASKS:
        return
    asked = claimer._replace(asked=claimer.asked + 1, renewed=False)
    mine = replace(claim, attempt_id=asked.fence)
    after, answer = do(world, mine)
    yield after, asked._replace(phase="claimed" if isinstance(answer, Fresh) else "asking")
    if not isinstance(answer, Unknown):
        return
    decision = Resolve(key_text=TEXT, attempt_id=answer.attempt.attempt_id, decision="retry", receipt="{}", claim=mine)
    retried, answer = do(after, decision)
    assert isinstance(answer, Fresh)
    yield retried._replace(receipts=world.receipts + 1), asked._replace(phase="claimed")
    granted, _ = do(after, replace(decision, claim=None))
    yield granted._replace(receipts=world.receipts + 1), asked._replace(phase="asking")
    done, _ = do(after, replace(decision, decision="completed", result='"said"', claim=None))
    yield done, asked._replace(phase="asking")
    if after.row is not None and after.row.effect == "none":
        free, answer = do(after, Release(TEXT, after.row.attempt_id))
        assert isinstance(answer, Done)
        yield free._replace(released=world.released + 1), asked._replace(phase="asking")


def end(world: World, claimer: Claimer, *, did: bool) -> Iterator[tuple[World, Claimer]]:
    over = claimer._replace(phase="over")
    yield do(world, MarkUnknown(TEXT, claimer.fence))[0], claimer._replace(phase="asking")
    yield do(world, Complete(TEXT, claimer.fence, "completed" if did else "none", '"value"'))[0], over
    if not did:
        after, answer = do(world, Complete(TEXT, claimer.fence, "none"))
        yield after._replace(released=after.released + (isinstance(answer, Done) and after.row is None)), over


def do(world: World, operation: Operation) -> tuple[World, object]:
    row, answer = apply(world.row, operation, NOW + world.ticks * TICK)
    return world._replace(row=row), answer


@cache
def reached(kind: Kind) -> frozenset[World]:
    """Everything that can be reached. What it is reached from, it must not contradict."""
    first = World(None, (Claimer("a"), Claimer("b")))
    seen, ahead = {first}, [first]
    while ahead:
        world = ahead.pop()
        for after in moves(world, kind):
            assert keeps(world.row, after.row), (world, after)
            if after not in seen:
                seen.add(after)
                ahead.append(after)
    return frozenset(seen)


def is_right(world: World, kind: Kind) -> bool:
    once_more = world.receipts + world.released
    if world.starts > 1 + once_more:
        return False
    if world.effects > 1 + world.receipts:
        return False
    # What was done is never denied: whoever asks is not let through by what the ledger says.
    return not (world.effects and not world.receipts) or (
        world.row is not None and world.row.state in ("started", "unknown", "completed") and world.row.effect != "none"
    )


def keeps(before: Attempt | None, after: Attempt | None) -> bool:
    """Whether what was completed stays as it was, and fences only go forward."""
    if before is None:
        return after is None or after.number == 1
    if before.state == "completed":
        return after == before
    return after is None or after.number >= before.number


@requirement("ledger.once", "ledger.fence", "ledger.kept")
@pytest.mark.parametrize("kind", ["plain", "windowed", "reading"])
def test_in_no_order_is_anything_done_twice_or_denied(kind: Kind) -> None:
    wrong = [world for world in reached(kind) if not is_right(world, kind)]

    assert not wrong[:1]


@requirement("ledger.once")
def test_what_is_visited_holds_every_end() -> None:
    worlds = reached("plain")

    states = {None if world.row is None else world.row.state for world in worlds}
    assert states == {None, "claimed", "started", "completed", "unknown"}
    assert any(world.effects == 2 for world in worlds)
    assert any(world.row is not None and world.row.number > 1 and not world.receipts for world in worlds)
    assert any(isinstance(do(world, replace(CLAIM, attempt_id="z"))[1], Recorded) for world in worlds)
