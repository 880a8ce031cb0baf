"""Path patterns: ``*``, ``?``, ``[...]``, ``**`` and ``{a,b}``, matched name by name on the way down.

A pattern is a small automaton over names. The walk carries the states of each directory, so that it never enters one
in which nothing can match. Matching a name takes time linear in its length for each star, whatever the pattern.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import translate
from itertools import pairwise
from typing import Final

import attrs

from ._paths import InvalidPath, PathEscape, split_names

MAX_PATTERN: Final = 1024
"""Longest pattern taken, in characters; it bounds the work for each name."""
MAX_ALTERNATIVES: Final = 64
"""Most patterns that braces may stand for."""

States = frozenset[tuple[int, int]]
"""Where in which alternative the names so far may stand: (alternative, next segment)."""

_MAGIC: Final = re.compile(r"[*?\[]")
_DEEP: Final = "**"


@attrs.frozen
class _Segment:
    """One name's worth of pattern; ``regex`` is None for a literal one."""

    text: str
    regex: re.Pattern[str] | None

    @property
    def deep(self) -> bool:
        return self.text == _DEEP

    def matches(self, name: str) -> bool:
        # A name that equals the pattern as written matches too: 'app/[id]/page.tsx' is a path in many a web project.
        return name == self.text or (self.regex is not None and self.regex.match(name) is not None)


@attrs.frozen(eq=False)
class PathPattern:
    """A parsed pattern. Names that begin with a dot match only a segment that does so, too, or with ``hidden``."""

    text: str
    alternatives: tuple[tuple[_Segment, ...], ...]
    directories_only: bool

    @property
    def start(self) -> States:
        """The states of the root."""
        return self._closed((index, 0) for index in range(len(self.alternatives)))

    def step(self, states: States, name: str, *, hidden: bool) -> States:
        """The states of the entry *name* of a directory with *states*; empty when nothing there can match."""
        dotted = name.startswith(".") and not hidden
        return self._closed(self._moves(states, name, dotted=dotted))

    def step_literally(self, states: States, name: str) -> States:
        """Like `step`, but only by segments without wildcards: by those that name this very entry."""
        return self._closed(
            (index, at + 1)
            for index, at in states
            if at < len(self.alternatives[index])
            and self.alternatives[index][at].regex is None
            and not self.alternatives[index][at].deep
            and self.alternatives[index][at].text == name
        )

    def accepts(self, states: States) -> bool:
        """Whether an entry with *states* matches the whole pattern."""
        return any(at == len(self.alternatives[index]) for index, at in states)

    def continues(self, states: States) -> bool:
        """Whether something below a directory with *states* can match."""
        return any(at < len(self.alternatives[index]) for index, at in states)

    def _moves(self, states: States, name: str, *, dotted: bool) -> Iterator[tuple[int, int]]:
        for index, at in states:
            if at == len(self.alternatives[index]):
                continue
            segment = self.alternatives[index][at]
            if segment.deep:
                if not dotted:
                    yield index, at
            elif (not dotted or segment.text.startswith(".")) and segment.matches(name):
                yield index, at + 1

    def _closed(self, states: Iterator[tuple[int, int]]) -> States:
        closed: set[tuple[int, int]] = set()
        for index, at in states:
            closed.add((index, at))
            # '**' stands for no directory, too. No two are adjacent, and none is last.
            if at < len(self.alternatives[index]) and self.alternatives[index][at].deep:
                closed.add((index, at + 1))
        return frozenset(closed)


def parse_pattern(text: str, *, for_search: bool = False) -> PathPattern:
    """Read a path pattern relative to the root.

    Args:
        text: The pattern.
        for_search: It selects files to search, so a pattern without a slash is meant at any depth, and a plain name
            of a directory means everything below it.

    Raises:
        InvalidPath: *text* is empty, too long, holds a NUL, or has too many alternatives.
        PathEscape: *text* is absolute, begins with ``~`` or climbs with ``..``.
    """
    if not text.strip():
        raise InvalidPath(text, "is an empty pattern")
    if "\0" in text:
        raise InvalidPath(text, "holds a NUL character")
    if len(text) > MAX_PATTERN:
        raise InvalidPath(text, f"is a pattern of more than {MAX_PATTERN:,} characters")
    expanded = _expand(text)
    alternatives = [_segments(text, one, for_search=for_search) for one in expanded]
    if for_search:
        alternatives += [(*known, *_everything()) for known in alternatives if not known or known[-1].regex is None]
    directories = not for_search and all(one.endswith("/") for one in expanded)
    return PathPattern(text, tuple(alternatives), directories)


def _segments(whole: str, text: str, *, for_search: bool) -> tuple[_Segment, ...]:
    if text.startswith("/"):
        raise PathEscape(whole, "is an absolute pattern")
    if text.startswith("~"):
        raise PathEscape(whole, "begins with '~', a home directory")
    names = split_names(text)
    if ".." in names:
        raise PathEscape(whole, "climbs with '..'")
    if for_search and "/" not in text and names != [_DEEP]:
        names.insert(0, _DEEP)
    kept: list[str] = []
    for name in names:
        if name != _DEEP or kept[-1:] != [_DEEP]:
            kept.append(name)
    if kept[-1:] == [_DEEP]:
        kept.append("*")
    return tuple(_segment(name) for name in kept)


def _segment(name: str) -> _Segment:
    regex = re.compile(translate(name)) if name != _DEEP and _MAGIC.search(name) else None
    return _Segment(name, regex)


def _everything() -> tuple[_Segment, ...]:
    return (_segment(_DEEP), _segment("*"))


def _expand(text: str) -> list[str]:
    """What the braces stand for; braces without a comma stand for themselves."""
    done: list[str] = []
    waiting = [text]
    while waiting:
        one = waiting.pop()
        found = _braces(one)
        if found is None:
            done.append(one)
        else:
            start, end, choices = found
            waiting.extend(one[:start] + choice + one[end:] for choice in reversed(choices))
        if len(done) + len(waiting) > MAX_ALTERNATIVES:
            raise InvalidPath(text, f"stands for more than {MAX_ALTERNATIVES} patterns")
    return done


def _braces(text: str) -> tuple[int, int, list[str]] | None:
    """The first braces with a top-level comma: where they begin and end, and what they choose from."""
    for start in (index for index, character in enumerate(text) if character == "{"):
        depth, cuts = 0, [start]
        for index in range(start, len(text)):
            depth += {"{": 1, "}": -1}.get(text[index], 0)
            if text[index] == "," and depth == 1:
                cuts.append(index)
            elif depth == 0:
                if len(cuts) > 1:
                    edges = [*cuts, index]
                    return start, index + 1, [text[a + 1 : b] for a, b in pairwise(edges)]
                break
    return None
