"""What keeps a text inside of its fence: whatever looks like a delimiter, or names the token, is taken apart.

Both are looked for in the folded text, so that capitals, letters of other alphabets, full-width forms, accents and
invisible characters make no difference. A bracket that opens a look-alike becomes the word ``[quoted]``, and the token
``[token]``: no more is changed, and JSON stays JSON.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Final

from .._folding import fold, fold_with_places

QUOTED: Final = "[quoted] "
TOKEN: Final = "[token]"  # noqa: S105  # what stands in its place

_BRACKET: Final = r"(?:<|&lt;?|&#0*60;?|&#x0*3c;?|(?<!/)/+(?:u003c|x3c)|%3c)"
"""What opens a tag, in a text and in the escapes of HTML, JSON and URLs; folding makes slashes of backslashes."""

_INNER: Final = "[ \n/]*"
_BETWEEN: Final = "[ \n-]*"

HELD: Final = 512
"""Characters of a text that may wait for what follows them. A look-alike that is stuffed to be longer is taken apart
before it is complete."""


@cache
def _look_alike(name: str) -> re.Pattern[str]:
    return re.compile(f"({_BRACKET}){_INNER}{_BETWEEN.join(name.split('-'))}")


@cache
def _beginning(name: str) -> re.Pattern[str]:
    """What could still become a look-alike, at the end of a text."""
    entities = "|".join(_begun(escape) for escape in ("&lt;", "%3c"))
    numbers = "&(?:#(?:x?[0-9a-f]*;?)?)?"
    escapes = f"/(?:{_begun('u003c')}|{_begun('x3c')}|(?![ \\n/]))"  # of many slashes only the last can begin one
    letters = _begun([part for letter in name for part in ([_BETWEEN] if letter == "-" else [letter])])
    return re.compile(f"(?:<|{entities}|{numbers}|{escapes}){_INNER}(?:{letters})?\\Z")


def _begun(parts: Sequence[str]) -> str:
    """An expression for *parts* in a row, of which the last ones may be missing."""
    expression = ""
    for part in reversed(parts):
        expression = f"{part}(?:{expression})?" if expression else part
    return expression


@cache
def _tag_character() -> re.Pattern[str]:
    return re.compile("[\U000e0020-\U000e007e]")


def _readings(text: str) -> tuple[bool, ...]:
    """How the tag characters of a text are to be read: left out, and if there are some as what they stand for."""
    return (False,) if text.isascii() or _tag_character().search(text) is None else (False, True)


def defuse(text: str, name: str, token: str) -> str:
    """*text* without anything that a reader could take for a delimiter called *name*, or for the *token*.

    Tag characters, which no reader sees but models can read, are looked at twice: left out, and as the letters that
    they stand for.
    """
    readings = _readings(text)
    changed = True
    while changed:
        changed = False
        for tags in readings:
            defused = _defuse(text, name, token, tags=tags)
            changed, text = changed or defused != text, defused
    return text


def _defuse(text: str, name: str, token: str, *, tags: bool) -> str:
    folded = fold(text, tags=tags)
    pattern = _look_alike(name)
    if pattern.search(folded) is None and token not in folded:
        return text
    folded, places = fold_with_places(text, tags=tags)
    spans = [(*found.span(1), QUOTED) for found in pattern.finditer(folded)]
    spans += [(*found.span(), TOKEN) for found in re.finditer(re.escape(token), folded)]
    pieces: list[str] = []
    done = 0
    for first, last, replacement in sorted(spans):
        start, end = places.start(first), places.end(last)
        if start >= done:
            pieces += [text[done:start], replacement]
            done = end
    return "".join([*pieces, text[done:]])


def open_end(text: str, name: str, token: str) -> int:
    """How many characters at the end of *text* could become a look-alike or the token, with what may follow them."""
    longest = 0
    for tags in _readings(text):
        folded = fold(text, tags=tags)
        found = _beginning(name).search(folded)
        begun = [len(folded) - size for size in range(1, len(token)) if folded.endswith(token[:size])]
        start = min([len(folded) if found is None else found.start(), *begun])
        if start < len(folded):
            longest = max(longest, len(text) - fold_with_places(text, tags=tags)[1].start(start))
    return longest
