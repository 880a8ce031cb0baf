"""Listing the paths that a pattern matches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import attrs
import msgspec

from ...definitions._call import ToolFailure
from ...definitions._plurals import counted
from ._descent import Check
from ._jail import Jail
from ._paths import quoted
from ._pattern import PathPattern, parse_pattern
from ._skipped import Skipped, Tally, skipped_from, skipped_note
from ._walk import Walk, WalkOptions

DEFAULT_RESULTS: Final = 500
REPORT_EVERY: Final = 1_000
"""Paths between two progress reports."""


class GlobResult(msgspec.Struct, frozen=True):
    """Files and directories that match.

    Args:
        paths: Relative to the root, in order, name by name.
        truncated: There is at least one more.
        skipped: What the pattern reached, but was not looked at, and why.
        notes: The same in words, and what else a reader of the paths should know.
    """

    paths: tuple[str, ...]
    truncated: bool
    skipped: Skipped
    notes: tuple[str, ...]


@attrs.frozen(kw_only=True)
class GlobQuery:
    """What to list: the arguments of the tool."""

    pattern: str
    max_results: int = DEFAULT_RESULTS
    hidden: bool = False
    ignored: bool = False


def glob(check: Check, jail: Jail, query: GlobQuery, *, report: Callable[[str], None] | None = None) -> GlobResult:
    """List what matches the query's pattern. *check* is called for every entry; *report* gets a line now and then.

    Raises:
        ToolFailure: The pattern or a number is wrong, or the root cannot be listed.
    """
    if query.max_results < 1:
        raise ToolFailure(
            f"max_results must be 1 or more, not {query.max_results}", category="validation", effect="none"
        )
    pattern = parse_pattern(query.pattern)
    tally: Tally = Tally()
    paths: list[str] = []
    truncated = False
    with jail.handle(check) as root:
        options = WalkOptions(hidden=query.hidden, ignored=query.ignored, links=True)
        entries = Walk(root, pattern, options, tally).entries()
        try:
            for entry in entries:
                if len(paths) == query.max_results:
                    truncated = True
                    break
                paths.append(entry.path)
                if report is not None and len(paths) % REPORT_EVERY == 0:
                    report(f"{len(paths):,} paths found")
        finally:
            entries.close()
    notes = _notes(pattern, paths, truncated=truncated)
    return GlobResult(tuple(paths), truncated, skipped_from(tally), notes + skipped_note(tally))


def _notes(pattern: PathPattern, paths: list[str], *, truncated: bool) -> tuple[str, ...]:
    if truncated:
        return (f"stopped after {counted(len(paths), 'path')}; narrow the pattern, or raise max_results",)
    if not paths and "/" not in pattern.text:
        return (f"{quoted(pattern.text)} looks in the root alone; {quoted(f'**/{pattern.text}')} looks everywhere",)
    return ()
