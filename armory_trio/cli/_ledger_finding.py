"""Which attempts are meant: all that fit, or the one that somebody names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import attrs

from ..definitions import parse_json
from ..errors import JsonError
from ..ledger import Attempt, AttemptState, LedgerStore
from ._exit import Unusable
from ._ledger_store import Undone

_PAGE: Final = 500
"""Attempts that are read at once."""

_NAMED: Final = 5
"""Candidates that an error lists; whoever sees more adds a filter anyway."""


@attrs.frozen(kw_only=True)
class Filters:
    """Which attempts are looked at; what is None is not looked at.

    Args:
        states: In one of these states.
        tenant: Of this tenant.
        tool: Of tools of this name, or with a colon in it: of this tool id, whatever the version if it names none.
        host: Made by this host.
    """

    states: frozenset[AttemptState] | None = None
    tenant: str | None = None
    tool: str | None = None
    host: str | None = None

    @property
    def chosen(self) -> bool:
        """Whether a tenant, tool or host was named."""
        return (self.tenant, self.tool, self.host) != (None, None, None)

    @property
    def tool_name(self) -> str | None:
        """The name that the store can look for."""
        return None if self.tool is None or ":" in self.tool else self.tool

    def fits(self, attempt: Attempt) -> bool:
        """Whether *attempt* is of the tool id, if there is one."""
        if self.tool is None or ":" not in self.tool:
            return True
        return self.tool in (attempt.tool_id, attempt.tool_id.rpartition("@")[0])


async def visit(
    ledger: LedgerStore, filters: Filters, see: Callable[[Attempt], bool], *, after: str | None = None
) -> None:
    """Show *see* each attempt that fits, in the order of their keys, until it answers False. Cancelled: no more."""
    while True:
        page = await ledger.list(
            states=filters.states,
            tenant=filters.tenant,
            tool_name=filters.tool_name,
            host=filters.host,
            after=after,
            limit=_PAGE,
        )
        for attempt in page:
            if filters.fits(attempt) and not see(attempt):
                return
        if len(page) < _PAGE:
            return
        after = page[-1].key


async def find(ledger: LedgerStore, word: str, filters: Filters) -> Attempt:
    """The attempt that *word* names: its id, its execution, or its key, alone or as the store writes it.

    Raises:
        Undone: There is none.
        Unusable: There are several.
    """
    found: list[Attempt] = []
    exact = await ledger.load(word)

    def see(attempt: Attempt) -> bool:
        if word in (attempt.attempt_id, attempt.execution_id, attempt.key, key_of(attempt)):
            found.append(attempt)
        return True

    if exact is None:
        await visit(ledger, filters, see)
    else:
        found.append(exact)
    # An id is of one attempt; that some key reads like it must not stand in the way.
    by_id = [attempt for attempt in found if attempt.attempt_id == word]
    found = by_id or found
    if not found:
        among = " among those that fit --tenant and --tool" if filters.chosen else ""
        raise Undone(
            f"there is no attempt {word!r}{among}: it was never made, or another one took its place, or it was released"
            " or forgotten"
        )
    if len(found) > 1:
        raise Unusable(
            f"{len(found)} attempts fit {word!r}: {_candidates(found)}; name one by its id{_narrower(found)}"
        )
    return found[0]


def _candidates(found: list[Attempt]) -> str:
    told = [f"{one.attempt_id} (tool {one.tool_id}, tenant {one.tenant})" for one in found[:_NAMED]]
    more = len(found) - _NAMED
    return ", ".join(told) + (f" and {more} more" if more > 0 else "")


def _narrower(found: list[Attempt]) -> str:
    """Which filters would tell the candidates apart, as the end of a sentence."""
    options = [
        option
        for option, values in (("--tenant", {one.tenant for one in found}), ("--tool", {one.tool_id for one in found}))
        if len(values) > 1
    ]
    return f", or add {' and '.join(options)}" if options else ""


def key_of(attempt: Attempt) -> str:
    """The key alone, without tenant and tool; the whole text where it can't be read."""
    try:
        parts = parse_json(attempt.key)
    except JsonError:
        return attempt.key
    match parts:
        case [str(), str(), str() as key]:
            return key
        case _:
            return attempt.key
