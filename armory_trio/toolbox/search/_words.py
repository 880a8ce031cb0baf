"""Text as words that can be compared: accents folded, names taken apart, words that say nothing left out."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from ._extra import load

MOST_WORDS: Final = 2_000
"""Words of one text that are looked at: more than any honest description has, so that no text stalls the host."""

_LONGEST_WORD: Final = 64
_MOST_CHARACTERS: Final = 16 * MOST_WORDS

_STOP_WORDS: Final = """
a about all also am an and any are as at be been being but by can could d did do does for from had has have he hello
help her hey hi his how i if im in into is it its ive just know let like ll looking m may me might my need of on or our
please re s shall she should so some something sure t tell than thank thanks that the their them then there these they
this those to too us ve very want was we were what when where which who whom why will with would you your
"""
STOP_WORDS: Final = frozenset(_STOP_WORDS.split())
"""English words without a subject of their own, and those in which a request is merely wrapped."""

_BORDERS: Final = re.compile(
    r"(?<=[a-z])(?=[A-Z])"  # trackingId
    r"|(?<=[A-Z])(?=[A-Z][a-z])"  # HTTPServer
    r"|(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])"  # v2, 3d
)
_ASCII_WORD: Final = re.compile(r"[0-9A-Za-z]+")
_UNSPACED: Final = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\uac00-\ud7af"  # Kana, Hangul
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+)"  # Chinese characters
)
"""Scripts that write no spaces between words, or hang endings on them: taken as pairs of characters."""


def words(text: str, *, everything: bool = False) -> list[str]:
    """The words of *text* in order, at most `MOST_WORDS`. Stop words are left out unless *everything* is asked for.

    ``sendEmail_v2`` is ``send email v 2``, ``Café`` is ``cafe``, and text of a script without spaces becomes its pairs
    of neighbouring characters. Signs and pictures are no words.
    """
    found: list[str] = []
    for word in _split(text[:_MOST_CHARACTERS]):
        if everything or word not in STOP_WORDS:
            found.append(word[:_LONGEST_WORD])
            if len(found) == MOST_WORDS:
                break
    return found


def _split(text: str) -> Iterator[str]:
    if text.isascii():
        yield from _ASCII_WORD.findall(_BORDERS.sub(" ", text).lower())
        return
    folded = _BORDERS.sub(" ", _without_accents(text)).casefold()
    for word in "".join(char if _is_letter(char) else " " for char in folded).split():
        for index, part in enumerate(_UNSPACED.split(word)):
            if index % 2:
                yield from _pairs_of_characters(part)
            elif part:
                yield part


def _without_accents(text: str) -> str:
    # Only the Latin kind of accent: the marks of other scripts are letters to their readers.
    plain = "".join(char for char in unicodedata.normalize("NFKD", text) if not "\u0300" <= char <= "\u036f")
    return unicodedata.normalize("NFC", plain)


def _is_letter(char: str) -> bool:
    return char.isalnum() or unicodedata.category(char).startswith("M")


def _pairs_of_characters(text: str) -> Sequence[str]:
    return [text[at : at + 2] for at in range(len(text) - 1)] or [text]


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """What an English word has in common with its other forms: ``calcul`` of ``calculating``; others stay as they are."""
    if not word.isascii() or not word.isalpha():
        return word
    # A stemmer has a state while it works, so each word gets its own: indices may be built in several threads.
    stemmed: str = load("snowballstemmer").stemmer("english").stemWord(word)
    return stemmed


_PIECE: Final = 5
"""Letters of a piece: long enough to mean something, short enough to be shared by relatives of a word."""


@lru_cache(maxsize=1 << 16)
def pieces(word: str) -> tuple[str, ...]:
    """The runs of letters in a word, its beginning marked, by which forms that the stemmer does not know are alike."""
    if not word.isascii() or word.isdigit():
        return ()
    marked = f"^{word}"
    return tuple(dict.fromkeys(marked[at : at + _PIECE] for at in range(max(1, len(marked) - _PIECE + 1))))
