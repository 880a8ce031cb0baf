"""Looking at attempts, and forgetting those that ended long ago."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

import attrs

from ..definitions._plurals import counted
from ..ledger import ENDED, Attempt, is_live, may_be_forgotten
from ._exit import READER_GONE, SUCCEEDED, UNCERTAIN, Unusable
from ._ledger_finding import Filters, find, visit
from ._ledger_store import open_existing
from ._ledger_view import Private, document, is_left, needs_decision, table, utc, whole
from ._streams import Streams, say
from ._texts import show

_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


@attrs.frozen(kw_only=True)
class Listing:
    """What is listed.

    Args:
        filters: Which attempts.
        left_only: Only those that nobody is at and that have no end.
        limit: At most so many.
        after: Only those whose key text comes after this one.
        as_json: One JSON object a line.
    """

    filters: Filters
    left_only: bool
    limit: int
    after: str | None
    as_json: bool


async def list_attempts(where: str, asked: Listing, streams: Streams) -> int:
    """Write the attempts that were asked for. Answers the exit code: whether one of them waits for a decision.

    Raises:
        Unusable: The store can't be used.
    """
    found: list[Attempt] = []
    held = 0
    async with open_existing(where) as store:

        def see(attempt: Attempt) -> bool:
            nonlocal held
            now = store.now()
            if not asked.left_only or is_left(attempt, now):
                found.append(attempt)
            else:
                held += is_live(attempt, now)
            return len(found) <= asked.limit

        await visit(store.ledger, asked.filters, see, after=asked.after)
        now = store.now()
    shown = found[: asked.limit]
    waiting = sum(needs_decision(attempt, now) for attempt in shown)
    lines = [document(attempt, now) for attempt in shown] if asked.as_json else table(shown, now, streams.stdout)
    code = show(streams, lines if shown else [], code=UNCERTAIN if waiting else SUCCEEDED)
    if code != READER_GONE:
        # Whoever sees one page of many was not shown all that is held, either.
        more = len(found) > len(shown)
        _tell(asked, shown, waiting, held=0 if more else held, more=more)
    return code


def _tell(asked: Listing, shown: Sequence[Attempt], waiting: int, *, held: int, more: bool) -> None:
    """Say on stderr what is to be done about a list."""
    later = f"{counted(held, 'is', 'are')} held by somebody now: list again when no lease is live, or with --all"
    if not shown:
        none = "needs anybody" if asked.left_only and not asked.filters.chosen else "fits"
        say(f"no attempt {none} yet; {later}" if held else f"no attempt {none}")
    if waiting:
        say(f"{counted(waiting, 'attempt waits', 'attempts wait')} for a decision; show tells what can be done")
    if shown and held:
        say(f"besides, {later}")
    if more:
        say(f"there are more: --after {shlex.quote(shown[-1].key)}")


async def show_attempt(
    where: str, word: str, filters: Filters, private: Private, streams: Streams, *, store_name: str, as_json: bool
) -> int:
    """Write all about one attempt.

    Raises:
        Undone: There is none.
        Unusable: There are several, or the store can't be used.
    """
    async with open_existing(where) as store:
        attempt = await find(store.ledger, word, filters)
        now = store.now()
    if as_json:
        return show(streams, [document(attempt, now, private)])
    return show(streams, list(whole(attempt, now, store_name, private)))


async def forget_ended(where: str, before: Callable[[float], float], streams: Streams, *, dry_run: bool) -> int:
    """Forget the attempts that ended before an instant, or only count them.

    Cancelled: some may have been forgotten, and the next time goes on from there.

    Args:
        where: The store.
        before: The instant, given the time of the store, in seconds since 1970.
        streams: Where is told what was done.
        dry_run: Only count.

    Raises:
        Unusable: The instant is not over yet, or the store can't be used.
        Unsure: Some were forgotten, and the store could not be used any more.
    """
    async with open_existing(where) as store:
        instant = before(store.now())
        if instant > store.now():
            raise Unusable(
                f"--ended-before {utc(instant)} is not over yet; the time of the store is {utc(store.now())}"
            )
        if dry_run:
            count = 0

            def see(attempt: Attempt) -> bool:
                nonlocal count
                is_over = attempt.ended_at is not None and attempt.ended_at < instant
                count += is_over and may_be_forgotten(attempt)
                return True

            await visit(store.ledger, Filters(states=ENDED), see)
        else:
            count = await store.ledger.forget(ended_before=instant)
    told = "would be forgotten" if dry_run else "forgotten"
    return show(streams, [f"{counted(count, 'attempt')} {told} that ended before {utc(instant)}"])


def instant_of(text: str) -> Callable[[float], float]:
    """Read an instant: a time before now, such as ``30d``, or a date, with a time or not, in UTC unless it says more.

    Raises:
        ValueError: It is neither.
    """
    ago = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhdw])", text.strip(), re.ASCII)
    if ago is not None:
        seconds = float(ago[1]) * _SECONDS[ago[2]]
        if not math.isfinite(seconds):
            raise ValueError(text)
        return lambda now: max(0.0, now - seconds)
    moment = datetime.fromisoformat(text.strip())
    instant = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return lambda _now: max(0.0, instant)
