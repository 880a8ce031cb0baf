"""``.gitignore`` files on the way down, the deepest that says something wins, as in git."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final, Protocol, cast

import attrs

from ._descent import is_exhaustion
from ._extra import load
from ._jail import RootHandle
from ._paths import shown

FILE_NAME: Final = ".gitignore"
MAX_BYTES: Final = 262_144
"""Largest ``.gitignore`` that is read. A larger one is no list of patterns, and is taken for absent."""


class _Verdict(Protocol):
    """What the patterns of a file say: to ignore, not to ignore, or nothing."""

    include: bool | None


class _Spec(Protocol):
    """The patterns of one file."""

    def check_file(self, file: str) -> _Verdict: ...


class _SpecMaker(Protocol):
    def from_lines(self, lines: list[str]) -> _Spec: ...


class IgnorePackage(Protocol):
    """The part of pathspec that we use."""

    GitIgnoreSpec: _SpecMaker


def ignore_package() -> IgnorePackage:
    """The reader of ignore patterns.

    Raises:
        DefinitionError: It is not installed.
    """
    return cast("IgnorePackage", load("pathspec", "pathspec", having="GitIgnoreSpec"))


@attrs.frozen(eq=False)
class IgnoreRules:
    """The rules that hold in one directory: (depth of the file's directory, its patterns), outermost first."""

    files: tuple[tuple[int, _Spec], ...] = ()

    def entering(self, root: RootHandle, directory: int, depth: int) -> IgnoreRules:
        """The rules below the directory with this handle, *depth* names below the root."""
        lines = _lines(root, directory)
        return IgnoreRules((*self.files, (depth, _spec(lines)))) if lines else self

    def ignores(self, names: tuple[str, ...], *, directory: bool) -> bool:
        """Whether the entry at *names* is ignored, none of its parents being so."""
        for depth, spec in reversed(self.files):
            path = "/".join(shown(name) for name in names[depth:])
            verdict = spec.check_file(f"{path}/" if directory else path).include
            if verdict is not None:
                return verdict
        return False


def _lines(root: RootHandle, directory: int) -> list[str]:
    try:
        fd = root.open_below(directory, FILE_NAME, "file")  # never through a link, as git does
    except OSError as error:
        if is_exhaustion(error):
            raise
        return []
    try:
        data = os.read(fd, MAX_BYTES + 1)
    except OSError:
        return []
    finally:
        os.close(fd)
    return [] if len(data) > MAX_BYTES else data.decode("utf-8-sig", "replace").splitlines()


def _spec(lines: list[str]) -> _Spec:
    make = ignore_package().GitIgnoreSpec.from_lines
    try:
        return make(lines)
    except ValueError:
        return make([line for line in lines if _is_pattern(make, line)])


def _is_pattern(make: Callable[[list[str]], _Spec], line: str) -> bool:
    """Git passes over a line that is no pattern, so one such line must not lose the others."""
    try:
        make([line])
    except ValueError:
        return False
    return True
