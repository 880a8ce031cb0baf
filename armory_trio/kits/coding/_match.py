"""Where the text of an edit stands in a file, or why it does not."""

from __future__ import annotations

from typing import Final, Self

import attrs
import msgspec

from ...definitions._call import ToolFailure
from ._paths import printable, quoted

_SHOWN: Final = 5
"""Lines that an ambiguous text is said to stand at, at most."""


class Edit(msgspec.Struct, frozen=True):
    """What to replace by what. The texts stand for their UTF-8 bytes.

    Args:
        old: The text that must be there.
        new: What stands in its place afterwards; nothing takes it out.
        replace_all: Whether *old* may occur more than once, and all of them are replaced, from the beginning on.
    """

    old: str
    new: str
    replace_all: bool = False

    def require_sense(self) -> None:
        """Refuse what can change nothing, or cannot be written.

        Raises:
            ToolFailure: It is so.
        """
        if not self.old:
            raise _invalid("old is empty; give the text to replace")
        if self.old == self.new:
            raise _invalid("old and new are the same text, so nothing would change")
        for name, text in (("old", self.old), ("new", self.new)):
            try:
                text.encode()
            except UnicodeEncodeError:
                raise _invalid(f"{name} holds half of a surrogate pair, which has no UTF-8") from None


@attrs.frozen
class FoundText:
    """The bytes of a file, and what an edit replaces in them.

    Args:
        data: The file.
        old: The bytes to replace.
        new: What they are replaced by.
        times: How often *old* occurs, no two overlapping.
        first: Where the first of them begins, in bytes.
    """

    data: bytes
    old: bytes
    new: bytes
    times: int
    first: int

    @classmethod
    def find(cls, path: str, data: bytes, edit: Edit) -> Self:
        """Look for the text of *edit* in *data*, the file at *path*.

        Raises:
            ToolFailure: It does not occur, or more than once without ``replace_all``.
        """
        old = edit.old.encode()
        first = data.find(old)
        if first < 0:
            raise ToolFailure(
                f"old does not occur in {quoted(path)}{_hint(data, edit.old)}",
                category="not_found",
                code="TEXT_NOT_FOUND",
                effect="none",
                details={"path": printable(path), "occurrences": 0},
            )
        times = data.count(old)
        if not edit.replace_all and data.find(old, first + 1) >= 0:
            raise _ambiguous(path, data, old, times)
        return cls(data, old, edit.new.encode(), times, first)

    @property
    def line(self) -> int:
        """The line of the first of them, counted from 1."""
        return self.data.count(b"\n", 0, self.first) + 1

    @property
    def size_after(self) -> int:
        """How many bytes `changed` has."""
        return len(self.data) + self.times * (len(self.new) - len(self.old))

    def changed(self) -> bytes:
        """The file as it is to be."""
        return self.data.replace(self.old, self.new)


def _invalid(message: str) -> ToolFailure:
    return ToolFailure(message, category="validation", code="INVALID_EDIT", effect="none")


def _ambiguous(path: str, data: bytes, old: bytes, times: int) -> ToolFailure:
    lines: list[int] = []
    at, line, counted = data.find(old), 1, 0
    while at >= 0 and len(lines) < _SHOWN:
        line += data.count(b"\n", counted, at)
        counted = at
        lines.append(line)
        at = data.find(old, at + 1)
    where = ", ".join(map(str, lines)) + (", ..." if at >= 0 else "")
    often = f"{times:,} times" if times > 1 else "more than once, overlapping"
    return ToolFailure(
        f"old occurs {often} in {quoted(path)} (lines {where}); give more of the text around it, or replace_all=true",
        category="validation",
        code="TEXT_AMBIGUOUS",
        effect="none",
        details={"path": printable(path), "occurrences": max(times, 2), "lines": lines},
    )


def _hint(data: bytes, old: str) -> str:
    if "\ufffd" in old:
        return "; U+FFFD in what was read stands for a byte that is no UTF-8, so leave it out"
    text = old.encode()
    if _plain(text) in _plain(data):
        return f"; it would if its line ends were those of the file, which has {_line_ends(data)}"
    if b"".join(text.split()) in b"".join(data.split()):
        return "; something alike does that differs in white space only, so give it exactly as it was read"
    return "; give it exactly as it was read, without line numbers"


def _plain(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _line_ends(data: bytes) -> str:
    pairs = data.count(b"\r\n")
    kinds = {
        r"\r\n": pairs,
        r"\n": data.count(b"\n") - pairs,
        r"\r": data.count(b"\r") - pairs,
    }
    return " and ".join(name for name, count in kinds.items() if count) or "none"
