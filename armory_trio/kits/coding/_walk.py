"""One walk down a tree, in sorted order, by handles, entering only what the pattern can match in.

Names are sorted in each directory, and a directory comes before what is in it. At most `OPEN_LEVELS` directories are
held open, however deep the tree; the others are opened again on the way back. Links are not followed, but where the
pattern names one literally: so a loop of links cannot hold a walk.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from typing import Final

import attrs

from ...definitions._call import ToolFailure
from ._descent import Kind, fail, is_exhaustion
from ._ignore import FILE_NAME as IGNORE_FILE
from ._ignore import IgnoreRules
from ._jail import RootHandle
from ._paths import shown
from ._pattern import PathPattern, States
from ._skipped import Reason, Tally

OPEN_LEVELS: Final = 32
"""Handles that one walk may hold: forty worker threads stay below the usual limit of a process, 1024 handles, in
any tree that is not built to break them."""

REPOSITORIES: Final = frozenset({".git", ".hg", ".svn", ".jj"})
"""Entered only when the pattern names them: thousands of compressed files that no search is after."""


@attrs.frozen
class WalkOptions:
    """Where a walk looks.

    Args:
        hidden: Also at names that begin with a dot.
        ignored: Also at what a ``.gitignore`` excludes.
        links: Links are wanted as entries of their own; otherwise each counts as skipped.
    """

    hidden: bool = False
    ignored: bool = False
    links: bool = False


@attrs.define(eq=False)
class _Level:
    """One directory being walked.

    Args:
        names: The way to it from the root, as walked.
        states: What of the pattern its entries can match.
        rules: What is ignored in it.
        followed: There is a link on the way, one that the pattern names.
        entries: What is left of it to visit.
        fd: Its handle; None when it was let go of, to be opened again when it is needed.
    """

    names: tuple[str, ...]
    states: States
    rules: IgnoreRules
    followed: bool
    entries: Iterator[tuple[str, Kind]]
    fd: int | None

    def handle(self, root: RootHandle) -> int:
        """The open directory.

        Raises:
            OSError, ToolFailure: It was let go of, and is gone by now.
        """
        if self.fd is None:
            self.fd = root.open_directory(_path(self.names)) if self.followed else root.reopen(self.names)
        return self.fd

    def release(self) -> None:
        """Let go of the handle."""
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None


@attrs.frozen(eq=False)
class Entry:
    """Something that matches the pattern. It can be opened until the walk goes on.

    Args:
        path: Relative to the root, written as in results.
        kind: What it is; for a link, what it leads to.
    """

    path: str
    kind: Kind
    _name: str
    _root: RootHandle
    _level: _Level
    _followed: bool

    def open(self) -> int:
        """Open the file; the caller closes the handle.

        Raises:
            OSError, ToolFailure: It cannot be opened, or is no regular file by now.
        """
        if self._followed:
            return self._root.open_file(self.path)
        return self._root.open_below(self._level.handle(self._root), self._name, "file")


@attrs.frozen(eq=False)
class Walk:
    """One walk; iterate over ``entries()`` once. What is passed over is counted in *tally*."""

    root: RootHandle
    pattern: PathPattern
    options: WalkOptions
    tally: Tally
    _levels: list[_Level] = attrs.field(factory=list[_Level], init=False)

    def entries(self) -> Generator[Entry, None, None]:
        """Everything that matches, sorted name by name. Closing the generator lets go of all handles.

        Raises:
            ToolFailure: The root cannot be listed, or the process is out of handles.
        """
        try:
            try:
                self._push((), self.pattern.start, IgnoreRules(), followed=False, fd=self.root.reopen(()))
            except OSError as error:
                fail(".", error)
            while self._levels:
                self.root.check()
                level = self._levels[-1]
                found = next(level.entries, None)
                if found is None:
                    self._levels.pop().release()
                else:
                    yield from self._visit(level, *found)
        finally:
            for level in self._levels:
                level.release()

    def _visit(self, level: _Level, name: str, kind: Kind) -> Iterator[Entry]:
        names = (*level.names, name)
        target = self._target(names) if kind == "link" else kind
        # What a refused link would have led to is not known; it may have been a directory with matches in it.
        after = self._allowed(level, names, kind, target or "directory")
        if not after:
            return
        if kind != "link":
            if self._matches(after, kind):
                yield Entry(_path(names), kind, name, self.root, level, level.followed)
            if kind == "directory" and self.pattern.continues(after):
                self._enter(level, names, after, followed=level.followed)
        elif target is None:
            self.tally["links"] += 1
        else:
            yield from self._visit_link(level, names, target, after)

    def _visit_link(self, level: _Level, names: tuple[str, ...], target: Kind, after: States) -> Iterator[Entry]:
        named = self.pattern.step_literally(level.states, shown(names[-1]))
        if not named and not self.options.links:
            self.tally["links"] += 1
            return
        if self._matches(after, target):
            yield Entry(_path(names), target, names[-1], self.root, level, True)
        if target == "directory" and self.pattern.continues(named):
            # Only the states that named it go on, and those are used up name by name: no loop can hold them.
            self._enter(level, names, named, followed=True)
        elif target == "directory" and self.pattern.continues(after):
            self.tally["links"] += 1

    def _allowed(self, level: _Level, names: tuple[str, ...], kind: Kind, target: Kind) -> States:
        """The states of this entry; empty when it cannot match, or is not to be looked at, which is counted."""
        name = shown(names[-1])
        reach = self.pattern.step(level.states, name, hidden=True)
        if not (self._matches(reach, target) or (target == "directory" and self.pattern.continues(reach))):
            return frozenset()
        after = self.pattern.step(level.states, name, hidden=self.options.hidden)
        reason: Reason | None = None
        if name in REPOSITORIES and not self.pattern.step_literally(level.states, name):
            reason = "repository"
        elif not after:
            if name == IGNORE_FILE and kind == "file" and not self.options.ignored:
                return after
            reason = "hidden"
        elif not self.options.ignored and level.rules.ignores(names, directory=kind == "directory"):
            reason = "ignored"
        if reason is None:
            return after
        self.tally[reason] += 1
        return frozenset()

    def _matches(self, states: States, kind: Kind) -> bool:
        return self.pattern.accepts(states) and (kind == "directory" or not self.pattern.directories_only)

    def _target(self, names: tuple[str, ...]) -> Kind | None:
        """What a link leads to inside the root; None when it leads out, to nothing, or round in a loop."""
        try:
            return self.root.kind(_path(names))
        except ToolFailure as failure:
            if failure.category == "transient":
                raise
            return None

    def _enter(self, level: _Level, names: tuple[str, ...], states: States, *, followed: bool) -> None:
        try:
            if followed:
                fd = self.root.open_directory(_path(names))
            else:
                fd = self.root.open_below(level.handle(self.root), names[-1], "directory")
            self._push(names, states, level.rules, followed=followed, fd=fd)
        except OSError as error:
            if is_exhaustion(error):
                fail(_path(names), error)
            self.tally["unreadable"] += 1
        except ToolFailure as failure:
            if failure.category == "transient":
                raise
            self.tally["unreadable"] += 1

    def _push(self, names: tuple[str, ...], states: States, rules: IgnoreRules, *, followed: bool, fd: int) -> None:
        try:
            inner = rules if self.options.ignored else rules.entering(self.root, fd, len(names))
            entries = iter(self._listing(fd))
        except BaseException:  # the caller's wish to stop, too, must not leak the handle
            os.close(fd)
            raise
        self._levels.append(_Level(names, states, inner, followed, entries, fd))
        if len(self._levels) > OPEN_LEVELS:
            self._levels[-OPEN_LEVELS - 1].release()

    def _listing(self, fd: int) -> list[tuple[str, Kind]]:
        found: list[tuple[str, Kind]] = []
        with os.scandir(fd) as entries:
            for index, entry in enumerate(entries):
                if index % 256 == 0:
                    self.root.check()
                found.append((entry.name, _kind(entry)))
        found.sort(key=_sort_key)
        return found


def _kind(entry: os.DirEntry[str]) -> Kind:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "directory"
    return "file" if entry.is_file(follow_symlinks=False) else "special"


def _sort_key(found: tuple[str, Kind]) -> str:
    return shown(found[0])


def _path(names: tuple[str, ...]) -> str:
    return "/".join(shown(name) for name in names)
