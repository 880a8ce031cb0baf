"""The regular expressions of the search: RE2, whose time is linear in the text, whatever the pattern."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Protocol, cast

import attrs

from ...definitions._call import ToolFailure
from ._descent import Check
from ._extra import load
from ._paths import printable, quoted

MAX_PATTERN: Final = 2_048
"""Longest regular expression taken, in characters."""
BLOCK: Final = 65_536
"""Bytes searched in one go, between which the caller may stop the search."""
BLOCK_COST: Final = 20_000_000
"""Program size times bytes of one go. The engine needs 10 to 30 ns for each when a pattern is too large for its fast
path, and cannot be interrupted meanwhile: this is about half a second."""
LINE_COST: Final = 300_000_000
"""The same for one line, which cannot be searched in parts: some seconds at worst. Where a longer line meets a larger
pattern, it is passed over and counted."""

_FLAGS: Final = "ims"
_NEGATED: Final = re.compile(r"(?<!\\)((?:\\\\)*)\[\^(?:\\.|[^\]\\])(?:\\.|[^\]\\])*\]", re.DOTALL)
"""A class that excludes characters, line ends perhaps among them."""
_LINE_END: Final = re.compile(r"(?<!\\)(?:\\\\)*\\(?:n|x0[aA]|x\{0*[aA]\}|012)|\n")


class Regex(Protocol):
    """The parts of a compiled RE2 expression that we use; the package has no types of its own."""

    @property
    def programsize(self) -> int: ...
    def search(self, text: bytes, pos: int | None = None, endpos: int | None = None) -> Found | None: ...


class Found(Protocol):
    """A match."""

    def start(self) -> int: ...
    def end(self) -> int: ...


class _Options(Protocol):
    log_errors: bool
    never_nl: bool
    dot_nl: bool
    never_capture: bool
    case_sensitive: bool


class RegexEngine(Protocol):
    """The parts of the package that we use."""

    error: type[Exception]

    def Options(self) -> _Options: ...  # noqa: N802 - their name
    def compile(self, pattern: bytes, options: _Options) -> Regex: ...


def regex_engine() -> RegexEngine:
    """The RE2 bindings.

    Raises:
        DefinitionError: They are not installed.
    """
    return cast("RegexEngine", load("re2", "google-re2", having="Options"))


@attrs.frozen
class Hit:
    """A match in a text: the bytes from ``start`` to ``end`` are the whole lines that it touches.

    Args:
        line: The number of the first of them, from 1.
        start: Where they begin.
        end: Where they end, the last line feed not included.
        at: Where the match itself begins.
    """

    line: int
    start: int
    end: int
    at: int


@attrs.frozen(eq=False)
class LineSearch:
    """A compiled expression. Without ``across`` it is matched within single lines."""

    regex: Regex
    across: bool

    def hits(self, data: bytes, check: Check, costly: list[int]) -> Iterator[Hit]:
        """Each line of *data* that matches, or each first line of a match across lines.

        Lines too long for this pattern are passed over; their numbers go into *costly*. *check* is called for every
        block.
        """
        line, counted, position = 1, 0, 0
        for start, end in self._blocks(data):
            check()
            line, counted = line + data.count(b"\n", counted, start), start
            if (end - start) * self.regex.programsize > LINE_COST:
                costly.append(line)
                continue
            position = start
            while position <= end:
                found = self.regex.search(data, position, end)
                if found is None:
                    break
                hit = _hit(data, found)
                line, counted = line + data.count(b"\n", counted, hit.start), hit.start
                yield attrs.evolve(hit, line=line)
                position = hit.end + 1

    def _blocks(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Runs of whole lines, the last line feed of each left out, so that no empty line is seen after it."""
        size = len(data) if self.across else min(BLOCK, BLOCK_COST // self.regex.programsize)
        start = 0
        while start < len(data):
            end = start + size
            if end >= len(data):
                end = len(data) - data.endswith(b"\n")
            else:
                end = data.rfind(b"\n", start, end)
                if end < 0:
                    end = data.find(b"\n", start)
                    end = len(data) if end < 0 else end
            yield start, end
            start = end + 1


def _hit(data: bytes, found: Found) -> Hit:
    at = found.start()
    start = data.rfind(b"\n", 0, at) + 1
    # A match that ends with a line feed ends on that line, not on the next.
    end = data.find(b"\n", max(at, found.end() - 1))
    return Hit(0, start, len(data) if end < 0 else end, at)


def compile_search(pattern: str, flags: str) -> LineSearch:
    r"""Compile a regular expression for lines of text.

    ``^`` and ``$`` are the edges of a line. A match stays within one line, unless *flags* has ``m`` (``\n`` and
    classes may match line ends) or ``s`` (``.`` may, too). ``i`` ignores case.

    Raises:
        ToolFailure: The pattern or a flag is wrong; it says what and where.
    """
    wrong = [flag for flag in flags if flag not in _FLAGS]
    if wrong:
        raise _refused(pattern, f"flag {wrong[0]!r} is unknown; flags are i (ignore case), m and s (across lines)")
    if not pattern:
        raise _refused(pattern, "the pattern is empty; it would match every line")
    if len(pattern) > MAX_PATTERN:
        raise _refused(pattern, f"the pattern is longer than {MAX_PATTERN:,} characters")
    across = "m" in flags or "s" in flags
    if not across and _LINE_END.search(_NEGATED.sub("", pattern)):
        raise _refused(pattern, "a line end in the pattern never matches within a line; add the flag m to match across")
    return LineSearch(_compile(pattern, flags, across=across), across)


def _compile(pattern: str, flags: str, *, across: bool) -> Regex:
    engine = regex_engine()
    options = engine.Options()
    options.log_errors = False
    options.never_capture = True
    options.never_nl = not across
    options.dot_nl = "s" in flags
    options.case_sensitive = "i" not in flags
    try:
        text = pattern.encode()
    except UnicodeEncodeError:
        raise _refused(pattern, "the pattern holds half of a surrogate pair") from None
    try:
        engine.compile(text, options)
        return engine.compile(b"(?m)" + text, options)
    except engine.error as error:
        raise _refused(pattern, _explain(pattern, error)) from None


def _explain(pattern: str, error: Exception) -> str:
    """The engine's words, the place, and what would be right."""
    words = error.args[0] if error.args else str(error)
    text = words.decode("utf-8", "replace") if isinstance(words, bytes) else str(words)
    reason, _, piece = text.partition(": ")
    place = pattern.find(piece) if piece else -1
    where = f" at character {place + 1}: {printable(piece, 100)}" if place >= 0 else (f": {piece}" if piece else "")
    return f"{reason}{where}{_hint(piece)}"


def _hint(piece: str) -> str:
    if piece.startswith(("(?=", "(?!", "(?<", "(?>")):
        return "; look-around and atomic groups do not exist here, as matching takes linear time"
    if piece.startswith("(?P"):
        return "; back-references do not exist here, as matching takes linear time"
    if re.fullmatch(r"\\[1-9]", piece):
        return "; back-references do not exist here, as matching takes linear time"
    if piece == r"\Z":
        return r"; write \z, or $ for the end of a line"
    return ""


def _refused(pattern: str, reason: str) -> ToolFailure:
    return ToolFailure(
        f"pattern {quoted(pattern)}: {reason}",
        category="validation",
        code="INVALID_PATTERN",
        effect="none",
        details={"pattern": printable(pattern, MAX_PATTERN)},
    )
