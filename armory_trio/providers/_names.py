"""Names within what a provider allows: one to one, the same in every process, and never guessed back."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Final

import msgspec

from ..definitions import sha256_hex

__all__ = ("Alphabet", "legal_name", "legal_names")

_DIGITS: Final = 8
"""Hexadecimal digits of the digest that keeps changed names apart: among 10,000 of them two meet once in 80 runs, and
then the later one gets more digits."""


@cache
def _pattern(first: str, rest: str, longest: int) -> re.Pattern[str]:
    return re.compile(f"[{first}][{rest}]{{0,{longest - 1}}}")


class Alphabet(msgspec.Struct, frozen=True):
    """What a name may be made of.

    Args:
        first: The characters that it may begin with, as the inside of a character class.
        rest: The characters that may follow.
        longest: The most characters.
    """

    first: str
    rest: str
    longest: int

    def allows(self, name: str) -> bool:
        """Whether *name* can be used as it is."""
        return _pattern(self.first, self.rest, self.longest).fullmatch(name) is not None

    def likened(self, name: str, room: int) -> str:
        """What is left of *name* within the alphabet, in at most *room* characters."""
        likeness = re.sub(f"[^{self.rest}]+", "_", name[: self.longest * 4])[:room]
        if not re.match(f"[{self.first}]", likeness):
            likeness = f"_{likeness}"[:room] if re.match(f"[{self.first}]", "_") else f"x{likeness}"[:room]
        return likeness


def legal_name(name: str, alphabet: Alphabet, digits: int = _DIGITS) -> str:
    """*name* itself where it is legal; else what is left of it, and a digest of all of it.

    It depends on nothing but its arguments, so a tool is called the same whichever others stand beside it.
    """
    if alphabet.allows(name):
        return name
    kept = alphabet.likened(name, alphabet.longest - digits - 1).strip("_") or "x"
    if not alphabet.allows(kept):
        kept = alphabet.likened(f"x{kept}", alphabet.longest - digits - 1)
    return f"{kept}_{sha256_hex(name)[:digits]}"


def legal_names(names: Iterable[str], alphabet: Alphabet, *, bare: bool = False) -> dict[str, str]:
    """A legal name for each of *names*, no two alike. Those that are legal keep theirs.

    Args:
        names: The names, in an order that is always the same.
        alphabet: What is legal.
        bare: Leave the digest away where the likeness alone is legal and nobody else's. For names that are known
            together, as the members of one object are.
    """
    wanted = list(dict.fromkeys(names))
    given = {name: name for name in wanted if alphabet.allows(name)}
    taken = set(given)
    for name in wanted:
        if name in given:
            continue
        likeness = alphabet.likened(name, alphabet.longest)
        fresh = bare and alphabet.allows(likeness) and likeness not in taken
        candidate = likeness if fresh else legal_name(name, alphabet)
        digits = _DIGITS
        while candidate in taken:
            digits += 8
            candidate = legal_name(name, alphabet, digits)
        given[name] = candidate
        taken.add(candidate)
    return {name: given[name] for name in wanted}
