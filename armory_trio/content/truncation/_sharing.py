"""Who gets how much when many share what is not enough for all: items of a list, blocks of a result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ._caps import Keep


class Claim(NamedTuple):
    """What one item costs: *fixed* in any case, and *size* that can be made smaller."""

    fixed: int
    size: int


class Shares(NamedTuple):
    """The first *head* and the last *tail* items stay, and each may take up to *level* beside its fixed cost."""

    head: int
    tail: int
    level: int


def share_out(claims: Sequence[Claim], budget: int, *, least: int, note: int, keep: Keep) -> Shares:
    """Keep as many items as can have *least* each, from both ends inwards, then fill them up evenly.

    Args:
        claims: What the items cost.
        budget: What they may cost together.
        least: What an item can be made to take, whatever it is.
        note: What it costs to say that some are missing.
        keep: Which end is kept, when not all can be.
    """
    floors = [fixed + min(size, least) for fixed, size in claims]
    head, tail = len(claims), 0
    if sum(floors) > budget:
        budget -= note
        head, tail = _ends(floors, budget, keep)
    kept = [*claims[:head], *claims[len(claims) - tail :]]
    return Shares(head, tail, _level([claim.size for claim in kept], budget - sum(claim.fixed for claim in kept)))


def _ends(floors: Sequence[int], budget: int, keep: Keep) -> tuple[int, int]:
    """How many items from either end there is room for, taken in turns."""
    head = tail = 0
    open_ends = {"head": keep != "tail", "tail": keep != "head"}
    while any(open_ends.values()) and head + tail < len(floors):
        at_head = open_ends["head"] and (head <= tail or not open_ends["tail"])
        cost = floors[head] if at_head else floors[-1 - tail]
        if cost > budget:
            open_ends["head" if at_head else "tail"] = False
            continue
        budget -= cost
        head, tail = head + at_head, tail + (not at_head)
    return head, tail


def _level(sizes: Sequence[int], budget: int) -> int:
    """The level up to which all *sizes* can be filled; those below it leave the rest to the others."""
    waiting = sorted(sizes)
    for index, size in enumerate(waiting):
        share = budget // (len(waiting) - index)
        if size > share:
            return share
        budget -= size
    return waiting[-1] if waiting else 0
