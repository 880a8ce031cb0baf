"""What a composed tool is called when nobody names it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from ..definitions import sha256_hex

_LONGEST: Final = 64
"""Characters that every provider takes in a name."""

_DIGEST: Final = 8
"""Hexadecimal digits that tell apart what was cut or spelled differently: enough for the tools of one toolbox."""

_ILLEGAL: Final = r"[^A-Za-z0-9_-]"


def default_name(word: str, parts: Iterable[str]) -> str:
    """*word* and the names of the *parts*, legal for every provider: ``pipe-parse-double``.

    A name that has to be cut or spelled differently ends with a digest of what it stands for, the same in each process.
    """
    whole = "-".join((word, *parts))
    legal = re.sub(_ILLEGAL, "_", whole)
    if legal == whole and len(whole) <= _LONGEST:
        return whole
    digest = sha256_hex(whole)[:_DIGEST]
    return f"{legal[: _LONGEST - _DIGEST - 1]}-{digest}"
