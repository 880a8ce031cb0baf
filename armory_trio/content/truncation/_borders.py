"""Where a text may be cut: between characters as a reader sees them, never inside of one.

What a reader takes for one character may be many code points: a letter with its marks, a family of emoji, a flag, a
syllable of Hangul, the end of a line. The rules are those of Unicode's grapheme clusters as far as the categories of
the standard library tell them; where they do not, a cut is rather avoided.
"""

from __future__ import annotations

import unicodedata
from typing import Final

LONGEST: Final = 64
"""Code points that are taken for one character at most. Unicode's own bound for marks in a row is 30; a longer heap of
them is no character but a way to make a text that cannot be cut."""

_PLAIN: Final = "\u0300"
"""Below it only the end of a line takes two code points."""

_JOINER: Final = "\u200d"
_EXTENDING: Final = frozenset("\u200c\u200d\u0e33\u0eb3\uff9e\uff9f")
_PREPENDED: Final = frozenset(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\u0d4e"
    "\U000110bd\U000110cd\U000111c2\U000111c3\U0001193f\U00011941\U00011a3a\U00011d46\U00011f02"
)
_VIRAMA: Final = 9


def is_border(text: str, index: int) -> bool:
    """Whether *text* may be cut before the code point at *index*."""
    if index <= 0 or index >= len(text):
        return True
    before, after = text[index - 1], text[index]
    if before < _PLAIN and after < _PLAIN:
        return not (before == "\r" and after == "\n")
    if _splits_pair(before, after):
        return False
    if _is_control(before) or _is_control(after):
        return True
    if before == _JOINER or before in _PREPENDED or _extends(after):
        return False
    if unicodedata.combining(before) == _VIRAMA and unicodedata.category(after) == "Lo":
        return False
    if _is_flag_letter(before) and _is_flag_letter(after):
        return _flag_letters_before(text, index) % 2 == 0
    return not _is_one_syllable(before, after)


def border_before(text: str, index: int) -> int:
    """The last place up to *index* where *text* may be cut."""
    least = max(0, index - LONGEST)
    for place in range(min(index, len(text)), least - 1, -1):
        if is_border(text, place):
            return place
    return index - _splits_pair(text[index - 1], text[index])


def border_after(text: str, index: int) -> int:
    """The first place from *index* on where *text* may be cut."""
    for place in range(max(index, 0), min(len(text), index + LONGEST) + 1):
        if is_border(text, place):
            return place
    return index + _splits_pair(text[index - 1], text[index])


def _splits_pair(before: str, after: str) -> bool:
    return "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff"


def _is_control(character: str) -> bool:
    kind = unicodedata.category(character)
    if kind == "Cf":
        return not (character in _EXTENDING or character in _PREPENDED or _is_tag(character))
    return kind in {"Cc", "Zl", "Zp"}


def _extends(character: str) -> bool:
    if character in _EXTENDING or "\U0001f3fb" <= character <= "\U0001f3ff" or _is_tag(character):
        return True
    return unicodedata.category(character) in {"Mn", "Mc", "Me"}


def _is_tag(character: str) -> bool:
    return "\U000e0020" <= character <= "\U000e007f"


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _flag_letters_before(text: str, index: int) -> int:
    start = index
    while start and _is_flag_letter(text[start - 1]):
        start -= 1
    return index - start


def _is_one_syllable(before: str, after: str) -> bool:
    """Whether two letters of Hangul stand in one syllable."""
    if before < "\u1100" or after < "\u1100":
        return False
    first, second = _jamo(before), _jamo(after)
    return (
        (first == "L" and second in {"L", "V", "LV", "LVT"})
        or (first in {"LV", "V"} and second in {"V", "T"})
        or (first in {"LVT", "T"} and second == "T")
    )


def _jamo(character: str) -> str:
    if "\u1100" <= character <= "\u115f" or "\ua960" <= character <= "\ua97c":
        return "L"
    if "\u1160" <= character <= "\u11a7" or "\ud7b0" <= character <= "\ud7c6":
        return "V"
    if "\u11a8" <= character <= "\u11ff" or "\ud7cb" <= character <= "\ud7fb":
        return "T"
    if "\uac00" <= character <= "\ud7a3":
        return "LV" if (ord(character) - 0xAC00) % 28 == 0 else "LVT"
    return ""
