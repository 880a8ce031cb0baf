"""Texts of the view, in cells of a terminal, for terminals that can show much or little. Pure."""

from __future__ import annotations

from typing import Final

import attrs
from rich.cells import cell_len, set_cell_size
from rich.text import Text

from ._streams import plain

_LONGEST: Final = 400


@attrs.frozen
class Pen:
    """Writes texts so that they cannot steer a terminal, and so that it can show them.

    Args:
        encoding: That of the terminal.
    """

    encoding: str
    dots: str = attrs.field(init=False)
    rule: str = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        rich_enough = self._shows("…─")
        object.__setattr__(self, "dots", "…" if rich_enough else "..")
        object.__setattr__(self, "rule", "─" if rich_enough else "-")

    def _shows(self, text: str) -> bool:
        try:
            text.encode(self.encoding)
        except (UnicodeEncodeError, LookupError):
            return False
        return True

    def clean(self, text: str) -> str:
        """*text* as one line of characters that the terminal has, and that only show themselves."""
        shown = plain(text, _LONGEST)
        return shown if self._shows(shown) else shown.encode(self.encoding, "backslashreplace").decode(self.encoding)

    def fit(self, text: str, width: int) -> str:
        """*text*, which is clean, in exactly *width* cells."""
        if cell_len(text) <= width:
            return set_cell_size(text, width)
        dots = self.dots if width > len(self.dots) else ""
        return set_cell_size(text, max(0, width - len(dots))) + dots

    def line(self, text: str, width: int, style: str = "") -> Text:
        """A line of one style."""
        return Text(self.fit(text, width), style=style, no_wrap=True, end="")


def duration(seconds: float | None) -> str:
    """*seconds* in at most six characters."""
    if seconds is None:
        return "-"
    sign, rest = ("-" if seconds < 0 else ""), abs(seconds)
    if rest < 10:
        return f"{sign}{rest:.1f}s"
    if rest < 100:
        return f"{sign}{rest:.0f}s"
    whole = int(rest)
    if whole < 3600:
        return f"{sign}{whole // 60}m{whole % 60:02d}"
    if whole < 100 * 3600:
        return f"{sign}{whole // 3600}h{whole % 3600 // 60:02d}"
    return f"{sign}{whole // 86400}d"


def rate(number: float) -> str:
    """A number per second."""
    return f"{number:.1f}/s" if number < 100 else f"{number:.0f}/s"
