r"""Paths as a model writes them, and names as the file system has them.

A file name is bytes. Bytes that are no UTF-8 are written ``\xNN``, so that every path in a result is plain text and
can be handed back as it stands; a backslash before ``xNN`` that is really part of a name is written ``\x5c``.
"""

from __future__ import annotations

import re
from typing import Final

from ...definitions._call import ToolFailure

MAX_PATH: Final = 4096
"""Longest path taken, in characters: what Linux takes in one call."""

_ESCAPED: Final = re.compile(r"\\x([89a-f][0-9a-f]|5c)")
_LITERAL: Final = re.compile(r"\\(?=x[0-9a-f]{2})")
_UNDECODABLE: Final = re.compile("[\udc80-\udcff]")


class PathEscape(ToolFailure):
    """A path or pattern that leads out of the root. Refused; nothing outside was looked at."""

    __module__ = "armory_trio.kits.coding"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"{quoted(path)} {reason}; give a path relative to the root that stays inside it, such as src/main.py",
            category="permission",
            code="PATH_ESCAPE",
            effect="none",
            details={"path": printable(path)},
        )


class InvalidPath(ToolFailure):
    """Text that cannot be a path at all."""

    __module__ = "armory_trio.kits.coding"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"{quoted(path)} {reason}; give a path relative to the root, such as src/main.py",
            category="validation",
            code="INVALID_PATH",
            effect="none",
            details={"path": printable(path)},
        )


class NotAFile(ToolFailure):
    """The path leads to something that cannot be read as a file, or not listed as a directory."""

    __module__ = "armory_trio.kits.coding"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"{quoted(path)} {reason}",
            category="validation",
            code="NOT_A_FILE",
            effect="none",
            details={"path": printable(path)},
        )


class NothingThere(ToolFailure):
    """No such file or directory inside the root."""

    __module__ = "armory_trio.kits.coding"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"{quoted(path)} {reason}",
            category="not_found",
            code="NOT_FOUND",
            effect="none",
            details={"path": printable(path)},
        )


def printable(text: str, limit: int = MAX_PATH) -> str:
    """*text* as plain Unicode, lone surrogates escaped, cut to *limit* characters."""
    plain = text.encode("utf-8", "backslashreplace").decode()
    return plain if len(plain) <= limit else f"{plain[:limit]}..."


def quoted(text: str) -> str:
    """*text* for a message: on one line, quoted, at most 200 characters of it."""
    return repr(printable(text, 200))


def shown(name: str) -> str:
    """A name or path from the file system as it is written in results; `real_name` reads it back."""
    if "\\" in name:
        name = _LITERAL.sub(r"\\x5c", name)
    if name.isascii():
        return name
    return _UNDECODABLE.sub(lambda found: f"\\x{ord(found[0]) - 0xDC00:02x}", name)


def real_name(text: str) -> str:
    """The file system's name for what `shown` wrote; other text stands for itself."""
    if "\\x" not in text:
        return text
    return _ESCAPED.sub(lambda found: "\\" if found[1] == "5c" else chr(0xDC00 + int(found[1], 16)), text)


def split_path(path: str) -> list[str]:
    """The names on the way from the root, ``..`` among them; empty for the root itself.

    Raises:
        InvalidPath: *path* is empty, too long, or holds what no path can.
        PathEscape: *path* is absolute.
    """
    if not path:  # one of blanks alone may be the name of a file
        raise InvalidPath(path, "is empty")
    if "\0" in path:
        raise InvalidPath(path, "holds a NUL character")
    if len(path) > MAX_PATH:
        raise InvalidPath(path, f"is longer than {MAX_PATH:,} characters")
    if path.startswith("/"):
        raise PathEscape(path, "is an absolute path")
    name = real_name(path)
    try:
        name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise InvalidPath(path, "holds half of a surrogate pair") from None
    return split_names(name)


def split_names(name: str) -> list[str]:
    """The parts of a path that go somewhere: neither empty ones nor ``.``."""
    return [part for part in name.split("/") if part not in ("", ".")]
