"""Searching a tree for lines that match a regular expression, saying what was not searched."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from typing import Final

import attrs
import msgspec

from ...definitions._call import ToolFailure
from ...definitions._plurals import counted
from ._descent import Check, fail, is_exhaustion
from ._jail import Jail, RootHandle
from ._limits import at_least
from ._pattern import parse_pattern
from ._regex import Hit, LineSearch, compile_search
from ._skipped import Skipped, Tally, skipped_from, skipped_note
from ._walk import Entry, Walk, WalkOptions

DEFAULT_MATCHES: Final = 200
MAX_FILE_BYTES: Final = 1_048_576
"""Larger files are generated or data; they are skipped, and counted."""
MAX_LINE: Final = 500
"""Characters of a matching line that are shown."""
REPORT_EVERY: Final = 500
"""Files between two progress reports."""

_CHUNK: Final = 262_144


class GrepMatch(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line that matches.

    Args:
        path: The file, relative to the root.
        line: The number of the line, from 1.
        text: The line without its end; a long one is cut around the match. With a match across lines, all of them.
        lines: How many lines the match touches.
        omitted: Characters of the line that were cut away.
    """

    path: str
    line: int
    text: str
    lines: int = 1
    omitted: int = 0


class GrepSummary(msgspec.Struct, frozen=True, omit_defaults=True):
    """How the search went; the last thing that it yields. The fields are those of `GrepResult`."""

    files_scanned: int
    truncated: bool
    skipped: Skipped
    notes: tuple[str, ...] = ()


class GrepResult(msgspec.Struct, frozen=True):
    """What a search found.

    Args:
        matches: In order of path, then line.
        files_scanned: Files that were searched, up to the point where the search stopped.
        truncated: There is at least one more match.
        skipped: What was not searched, and why.
        notes: The same in words, and what else a reader of the matches should know.
    """

    matches: tuple[GrepMatch, ...]
    files_scanned: int
    truncated: bool
    skipped: Skipped
    notes: tuple[str, ...]


@attrs.frozen
class GrepLimits:
    """What one search may read and show.

    Args:
        max_file_bytes: Larger files are passed over, and counted as ``too_large``.
        max_line: Characters of a matching line that are shown.

    Raises:
        DefinitionError: A limit is no whole number from 1 on.
    """

    max_file_bytes: int = attrs.field(default=MAX_FILE_BYTES, validator=at_least(1))
    max_line: int = attrs.field(default=MAX_LINE, validator=at_least(1))


@attrs.frozen(kw_only=True)
class GrepQuery:
    """What to search for, and where: the arguments of the tool."""

    pattern: str
    flags: str = ""
    glob: str = "**/*"
    max_matches: int = DEFAULT_MATCHES
    hidden: bool = False
    ignored: bool = False


_DEFAULT_LIMITS: Final = GrepLimits()


def grep(
    check: Check,
    jail: Jail,
    query: GrepQuery,
    *,
    limits: GrepLimits = _DEFAULT_LIMITS,
    report: Callable[[str], None] | None = None,
) -> Generator[GrepMatch | GrepSummary, None, None]:
    """Search the files that the query's glob selects; matches as they are found, then a summary.

    *check* is called for every file, directory and block of a file; *report* gets a line of progress now and then.

    Raises:
        ToolFailure: The pattern, a flag, the glob or a number is wrong, or the root cannot be listed.
    """
    if query.max_matches < 1:
        raise ToolFailure(
            f"max_matches must be 1 or more, not {query.max_matches}", category="validation", effect="none"
        )
    search = compile_search(query.pattern, query.flags)
    files = parse_pattern(query.glob, for_search=True)
    tally: Tally = Tally()
    with jail.handle(check) as root:
        walk = Walk(root, files, WalkOptions(hidden=query.hidden, ignored=query.ignored), tally)
        run = _Run(root, search, limits, tally, report)
        entries = walk.entries()
        try:
            yield from run.matches(entries, query.max_matches)
        finally:
            entries.close()
    yield run.summary(query)


def collect_matches(items: list[object]) -> GrepResult:
    """Put what `grep` yielded together: the reducer of the tool.

    Raises:
        ValueError: The summary is missing, so the search did not come to its end.
    """
    matches = tuple(item for item in items if isinstance(item, GrepMatch))
    match items[-1:]:
        case [GrepSummary() as end]:
            return GrepResult(matches, end.files_scanned, end.truncated, end.skipped, end.notes)
        case _:
            raise ValueError("the items of a search must end with its summary")


@attrs.define(eq=False)
class _Run:
    """One search under way."""

    root: RootHandle
    search: LineSearch
    limits: GrepLimits
    tally: Tally
    report: Callable[[str], None] | None
    scanned: int = 0
    found: int = 0
    cut: int = 0
    truncated: bool = False

    def matches(self, entries: Iterator[Entry], wanted: int) -> Iterator[GrepMatch]:
        """The first *wanted* matches. One more is looked for, to say truthfully whether there is one."""
        for entry in entries:
            data = self._data(entry)
            if data is None:
                continue
            self.scanned += 1
            self._progress()
            for match in self._lines(entry.path, data):
                if self.found == wanted:
                    self.truncated = True
                    return
                self.found += 1
                self.cut += match.omitted > 0
                yield match

    def summary(self, query: GrepQuery) -> GrepSummary:
        """How it went."""
        notes: list[str] = []
        if self.truncated:
            found = counted(self.found, "match", "matches")
            notes.append(f"stopped after {found}; narrow the pattern or the glob, or raise max_matches")
        if self.cut:
            notes.append(
                f"{counted(self.cut, 'long line')} cut to {self.limits.max_line:,} characters around the match"
            )
        if not self.scanned:
            notes.append(f"no file was searched: nothing readable fits the glob {query.glob!r}")
        notes += skipped_note(self.tally)
        return GrepSummary(self.scanned, self.truncated, skipped_from(self.tally), tuple(notes))

    def _progress(self) -> None:
        if self.report is not None and self.scanned % REPORT_EVERY == 0:
            self.report(f"{self.scanned:,} files searched, {self.found:,} matches")

    def _lines(self, path: str, data: bytes) -> Iterator[GrepMatch]:
        costly: list[int] = []
        for hit in self.search.hits(data, self.root.check, costly):
            text, omitted = _cut(data, hit, self.limits.max_line)
            yield GrepMatch(path, hit.line, text, data.count(b"\n", hit.start, hit.end) + 1, omitted)
        if costly:
            self.tally["too_costly"] += 1

    def _data(self, entry: Entry) -> bytes | None:
        """The file's text as UTF-8 with plain line feeds, or None when it is not to be searched, which is counted."""
        if entry.kind == "directory":
            return None
        if entry.kind == "special":
            self.tally["special"] += 1
            return None
        data = self._read(entry)
        if data is None:
            self.tally["unreadable"] += 1
        elif len(data) > self.limits.max_file_bytes:
            self.tally["too_large"] += 1
        elif b"\0" in data:
            self.tally["binary"] += 1
        else:
            return _as_text(data)
        return None

    def _read(self, entry: Entry) -> bytes | None:
        try:
            fd = entry.open()
        except OSError as error:
            if is_exhaustion(error):
                fail(entry.path, error)
            return None
        except ToolFailure as failure:
            if failure.category == "transient":
                raise
            return None
        try:
            return self._read_all(fd)
        except OSError:
            return None
        finally:
            os.close(fd)

    def _read_all(self, fd: int) -> bytes:
        """All of the file, or a byte more than may be searched."""
        most = self.limits.max_file_bytes + 1
        if os.fstat(fd).st_size >= most:
            return bytes(most)
        pieces: list[bytes] = []
        length = 0
        while length < most:
            self.root.check()
            piece = os.read(fd, min(_CHUNK, most - length))
            if not piece:
                break
            pieces.append(piece)
            length += len(piece)
        return b"".join(pieces)


def _as_text(data: bytes) -> bytes:
    if b"\r\n" in data:
        data = data.replace(b"\r\n", b"\n")
    try:
        data.decode()
    except UnicodeDecodeError:
        # RE2 matches characters: a byte that is none would be invisible even to a dot.
        return data.decode("utf-8", "replace").encode()
    return data


def _cut(data: bytes, hit: Hit, most: int) -> tuple[str, int]:
    """The text of a hit, at most *most* characters of it around the match, and how many were left out."""
    text = data[hit.start : hit.end].decode("utf-8", "replace")
    if len(text) <= most:
        return text, 0
    at = len(data[hit.start : hit.at].decode("utf-8", "replace"))
    start = max(0, min(at - most // 4, len(text) - most))
    return text[start : start + most], len(text) - most
