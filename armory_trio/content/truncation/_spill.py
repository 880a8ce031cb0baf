"""Where the whole text stays when a model gets to read only part of it: a file of its own, which a tool can read."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import attrs

from ...definitions._checks import shown, text
from ...errors import DefinitionError
from .._scalars import encodable

_OPEN_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PRIVATE: Final = 0o600
_TOKEN_BYTES: Final = 16


def _absolute(path: str | os.PathLike[str]) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100  # resolve() would follow links


@attrs.frozen
class SpillDirectory:
    """A directory for the texts that were too long.

    Each text gets a file of its own, readable for this user only, under a name that nobody can guess. It appears whole
    or not at all, and no link is ever followed. Nothing is deleted here: the directory and what is in it are the host's.

    Args:
        path: An existing directory, which is no link itself. It is made absolute.
        prefix: What the files' names begin with.

    Raises:
        DefinitionError: *path* is no directory, or *prefix* is no part of a name.
    """

    path: Path = attrs.field(converter=_absolute)
    prefix: str = "result-"

    def __attrs_post_init__(self) -> None:
        text("SpillDirectory", "prefix", self.prefix)
        if "/" in self.prefix or "\0" in self.prefix or encodable(self.prefix) != self.prefix:
            raise DefinitionError("SpillDirectory", "prefix", f"{shown(self.prefix)} is no part of a file's name")
        if self.path.is_symlink() or not self.path.is_dir():
            raise DefinitionError("SpillDirectory", "path", f"{self.path} is no directory, or only a link to one")

    def reserve(self) -> Path:
        """A path of a file that does not exist yet, for `write`."""
        return self.path / f"{self.prefix}{secrets.token_hex(_TOKEN_BYTES)}.txt"

    def write(self, text: str, path: Path | None = None) -> Path:
        """Put *text* into a new file, in UTF-8. Blocks: call it in a thread.

        Args:
            text: Lone surrogates in it are written as escapes.
            path: What `reserve` gave.

        Raises:
            OSError: The file cannot be written; none is left behind.
        """
        path = path or self.reserve()
        with self._opened() as directory:
            part = f".{path.name}.part"
            try:
                self._fill(part, encodable(text).encode(), directory)
                os.rename(part, path.name, src_dir_fd=directory, dst_dir_fd=directory)
            except BaseException:
                with suppress(OSError):
                    os.unlink(part, dir_fd=directory)
                raise
        return path

    @contextmanager
    def _opened(self) -> Generator[int]:
        directory = os.open(self.path, _OPEN_DIRECTORY)
        try:
            yield directory
        finally:
            os.close(directory)

    def _fill(self, name: str, data: bytes, directory: int) -> None:
        handle = os.open(name, _CREATE, _PRIVATE, dir_fd=directory)
        with os.fdopen(handle, "wb") as file:
            if stat.S_IMODE(os.fstat(handle).st_mode) != _PRIVATE:  # a mask may have taken the owner's own rights
                os.fchmod(handle, _PRIVATE)
            file.write(data)
