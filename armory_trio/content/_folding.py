# ruff: noqa: RUF001  # what looks alike is what this module is about
"""Texts as a reader takes them: what looks alike becomes one character, and what cannot be seen disappears.

Used to find words that somebody has disguised. A folded text is only compared, never shown. Every code point becomes at
most a few, so that what was found can be found again in the text itself.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from functools import cache
from itertools import accumulate
from typing import Final

_CACHED: Final = 4_096
"""Code points whose folded form is remembered: more than a text in one language has, and bounded."""

_ALIKE: Final = (
    "аa вb еe кk мm нh оo рp сc тt уy хx іi јj ѕs ԁd ԛq ԝw һh гr пn "
    "αa βb εe ηn ιi κk νv οo ρp τt υu χx γy ωw "
    "ıi ɑa ɡg ɩi ᴀa ʙb ᴄc ᴅd ᴇe ꜰf ɢg ʜh ɪi ᴊj ᴋk ʟl ᴍm ɴn ᴏo ᴘp ʀr ꜱs ᴛt ᴜu ᴠv ᴡw ʏy ᴢz "
    "օo ոn սu ցg հh ӏl ǀl ∣l"
)
"""Pairs of a character and the ASCII letter that it is taken for. Letters of other alphabets, and some of none."""

_OPENING: Final = "<＜﹤‹〈⟨❮❰˂ᐸ«《⧼"
_CLOSING: Final = ">＞﹥›〉⟩❯❱˃ᐳ»》⧽"
_SLASHES: Final = "/∕⁄⧸╱／＼\\"
_DASHES: Final = "_−‐‑‒–—―﹘﹣－⁻"


class _Table(dict[int, str]):
    """What each code point becomes; made as they come."""

    def __init__(self, *, tags: bool) -> None:
        super().__init__()
        self._tags = tags

    def __missing__(self, code: int) -> str:
        folded = _fold_one(chr(code), tags=self._tags)
        if len(self) < _CACHED:
            self[code] = folded
        return folded


def fold(text: str, *, tags: bool = False) -> str:
    """*text* in small letters without accents, disguises and invisible characters.

    Args:
        text: Any text.
        tags: Read the invisible tag characters as the ASCII that they stand for, instead of dropping them.
    """
    if text.isascii() and text.isprintable() and "_" not in text and "\\" not in text:
        return text.lower()
    return text.translate(_table(tags=tags))


def fold_with_places(text: str, *, tags: bool = False) -> tuple[str, Places]:
    """The same, with the way back."""
    table = _table(tags=tags)
    pieces = [table[ord(character)] for character in text]
    return "".join(pieces), Places(list(accumulate(map(len, pieces), initial=0)))


class Places:
    """Where each character of a folded text stood in the text itself."""

    def __init__(self, starts: list[int]) -> None:
        self._starts = starts

    def start(self, place: int) -> int:
        """Where the character stands that became the one at *place*."""
        return bisect_right(self._starts, place) - 1

    def end(self, place: int) -> int:
        """Where the character ends that became the one before *place*; behind it nothing invisible is taken along."""
        return self.start(place - 1) + 1


@cache
def _table(*, tags: bool) -> _Table:
    return _Table(tags=tags)


@cache
def _alike() -> dict[str, str]:
    pairs = {pair[0]: pair[1] for pair in _ALIKE.split()}
    for group, one in ((_OPENING, "<"), (_CLOSING, ">"), (_SLASHES, "/"), (_DASHES, "-")):
        pairs |= dict.fromkeys(group, one)
    return pairs


def _fold_one(character: str, *, tags: bool) -> str:
    if "\U000e0020" <= character <= "\U000e007e":
        return _fold_one(chr(ord(character) - 0xE0000), tags=False) if tags else ""
    if character in "\n\r\x0b\x0c\x85\u2028\u2029":
        return "\n"
    kind = unicodedata.category(character)
    if kind == "Zs" or character == "\t":
        return " "
    if kind in {"Cc", "Cf", "Cs", "Mn", "Me"} or character in _BLANK_LETTERS:
        return ""
    alike = _alike().get(character)
    return alike if alike is not None else _fold_letter(character)


_BLANK_LETTERS: Final = "\u115f\u1160\u3164\uffa0\u2800"
"""Letters by their category that show nothing."""


def _fold_letter(character: str) -> str:
    decomposed = unicodedata.normalize("NFKD", character).casefold()
    bare = "".join(part for part in decomposed if unicodedata.category(part) not in {"Mn", "Me"})
    alike = _alike()
    return "".join(alike.get(part, part) for part in unicodedata.normalize("NFC", bare))
