"""Which executions a viewer sees, and in which order."""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Sequence
from fnmatch import translate
from itertools import islice
from typing import Final, cast

from ._socket_messages import Mark, Query, SortKey
from ._socket_model import SLICE, Breathe
from ._socket_rows import Seen
from ._vocabulary import clipped

Key = tuple[float | str, ...]
Fits = Callable[[Seen, Mark | None], bool]

_GROUPS: Final = frozenset(("live", "ended", "stuck", "slow", "all"))
"""Words in the place of a state that stand for something else than one."""

_WITH_ENDED: Final = frozenset(("ended", "terminal", "all", "stuck"))
"""Words for which those that ended are looked through, too."""

_STEPS: Final = 200


def looks_at_ended(query: Query) -> bool:
    """Whether *query* may select executions that have ended and whose effect is known."""
    return not _WITH_ENDED.isdisjoint(query.states)


def chooser(query: Query) -> Fits:
    """What tells whether an execution with a mark is selected by *query*."""
    states, text = frozenset(query.states), query.text.casefold()
    tools, owners = _one_of(query.tools), _one_of(query.owners)

    def fits(seen: Seen, mark: Mark | None) -> bool:
        shot = seen.shot
        tool, owner = clipped(shot.tool_name), None if shot.owner_id is None else clipped(shot.owner_id)
        return (
            (not states or _in(states, seen, mark))
            and (tools is None or tools(tool))
            and (owners is None or (owner is not None and owners(owner)))
            and (not text or text in tool.casefold() or text in shot.execution_id or text in (owner or "").casefold())
        )

    return fits


def _in(states: frozenset[str], seen: Seen, mark: Mark | None) -> bool:
    return (
        seen.shot.state in states
        or (mark is not None and mark in states)
        or "all" in states
        or ("ended" if seen.settled else "live") in states
    )


def _one_of(words: Sequence[str]) -> Callable[[str], bool] | None:
    if not words:
        return None
    exact = frozenset(words)
    patterns = [re.compile(translate(_stars_only(word))) for word in words if "*" in word]
    return lambda text: text in exact or any(pattern.match(text) for pattern in patterns)


def _stars_only(word: str) -> str:
    """*word* as a pattern in which nothing but ``*`` has a meaning."""
    return re.sub(r"([\[?])", r"[\1]", word)


_FIRST: Final = {"streaming": 2, "active": 2, "waiting": 2, "queued": 3}


def _attention(seen: Seen, mark: Mark | None) -> Key:
    rank = 0 if mark == "stuck" else 1 if mark == "slow" else _FIRST.get(seen.shot.state, 4)
    return (rank, seen.since)


def _or_last(known: float | str | None, nothing: float | str, *, descending: bool) -> Key:
    """A key that puts those that have *nothing* last, whichever way round they are sorted."""
    return ((known is None) is not descending, nothing if known is None else known)


def _keys(query: Query, now: float) -> Callable[[Seen, Mark | None], Key]:
    down = query.descending
    keys: dict[SortKey, Callable[[Seen, Mark | None], Key]] = {
        "attention": _attention,
        "state": lambda seen, _: (seen.shot.state,),
        "tool": lambda seen, _: (seen.shot.tool_name,),
        "owner": lambda seen, _: (seen.shot.owner_id or "",),
        "age": lambda seen, _: (now - seen.shot.admitted_at,),
        "in-state": lambda seen, _: (now - seen.since,),
        "waits-for": lambda seen, _: _or_last(
            seen.shot.waits_for or seen.shot.declared_wait or None, "", descending=down
        ),
        "progress": lambda seen, _: _or_last(
            seen.shot.progress.percent if seen.shot.progress is not None else None, 0.0, descending=down
        ),
        "chunks": lambda seen, _: (seen.shot.chunks,),
        "attempts": lambda seen, _: (seen.shot.attempts,),
    }
    return keys[query.sort]


async def page_of(everything: Sequence[Seen], query: Query, now: float, breathe: Breathe) -> tuple[list[Seen], int]:
    """Those of *everything* that *query* shows, and how many fit it. Sorted in runs, between which others get a turn."""
    fits, key = chooser(query), _keys(query, now)
    runs: list[list[Key]] = []
    matched = 0
    for first in range(0, len(everything), SLICE):
        # Plain tuples of plain values: thousands of anything else would have the garbage collector look through the
        # whole host, which takes a hundred times as long.
        run: list[Key] = []
        for place, seen in enumerate(everything[first : first + SLICE], start=first):
            mark = seen.mark(now, query.slow_after)
            if fits(seen, mark):
                run.append((*key(seen, mark), *_admission(seen), place))
        matched += len(run)
        run.sort(reverse=query.descending)
        runs.append(run)
        await breathe()
    merged = heapq.merge(*runs, reverse=query.descending)
    left = query.offset
    while left > 0 and next(islice(merged, min(left, _STEPS) - 1, None), None) is not None:
        left -= min(left, _STEPS)
        await breathe()
    places = [] if left > 0 else [cast("int", entry[-1]) for entry in islice(merged, query.limit)]
    return [everything[place] for place in places], matched


def _admission(seen: Seen) -> Key:
    """Its place in the order of admission: the numbers at the end of ids grow, and so does their length."""
    name = seen.shot.execution_id
    return (seen.shot.admitted_at, len(name), name)
