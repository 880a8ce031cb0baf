"""What the demo prints on: colours in a terminal, plain text anywhere else."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Final, Literal, TextIO

Style = Literal["title", "good", "bad", "warn", "dim", "plain"]

_CODES: Final[Mapping[Style, str]] = {
    "title": "1;36",
    "good": "32",
    "bad": "31",
    "warn": "33",
    "dim": "2",
    "plain": "",
}
_CONTROL: Final = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if code != 10}
"""What a file or an error holds is somebody else's text: none of it may steer the terminal."""


class Screen:
    """Lines for a person.

    Args:
        stream: Where they go.
        colour: Whether to colour them; by default when *stream* is a terminal and ``NO_COLOR`` is not set.
    """

    def __init__(self, stream: TextIO, *, colour: bool | None = None) -> None:
        self._stream = stream
        self._colour = stream.isatty() and not os.environ.get("NO_COLOR") if colour is None else colour

    def say(self, text: str = "", *, style: Style = "plain") -> None:
        """Print *text*, at once."""
        clean = text.translate(_CONTROL)
        code = _CODES[style] if self._colour and clean else ""
        try:
            print(f"\x1b[{code}m{clean}\x1b[0m" if code else clean, file=self._stream, flush=True)
        except BrokenPipeError:
            # Whoever read it has seen enough; the rest, and what Python writes at its end, goes nowhere.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)

    def heading(self, text: str) -> None:
        """Print a line that something new begins with."""
        self.say()
        self.say(text, style="title")
        self.say("=" * len(text), style="title")

    def table(self, titles: Sequence[str], rows: Sequence[Sequence[str]], *, total: bool = False) -> None:
        """Print *rows* under *titles*: the first column is text, the others are numbers.

        Args:
            titles: One for each column.
            rows: As long as *titles*.
            total: Whether the last row sums the others up.
        """
        widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
        rule = "  ".join("-" * width for width in widths)
        lines = [_aligned(row, widths) for row in rows]
        self.say(_aligned(titles, widths), style="title")
        self.say(rule, style="dim")
        for line in lines[:-1] if total else lines:
            self.say(line)
        if total:
            self.say(rule, style="dim")
            self.say(lines[-1])


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(cells, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]).rstrip()


def shortened(text: str, limit: int) -> str:
    """*text* on one line, at most *limit* characters of it."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 3]}..."
