"""The keys that receipts are signed with, from the file that an operator names."""

from __future__ import annotations

import os
from typing import Final

from ..authority.signing import Keyring, load_keyring
from ..errors import DefinitionError
from ._exit import Unusable

VARIABLE: Final = "ARMORY_TRIO_KEYS"


def load_keys(option: str | None) -> Keyring:
    """The keys of the file that the option or the environment names.

    Raises:
        Unusable: No file is named, others may read it, or it does not hold keys.
    """
    name = option or os.environ.get(VARIABLE, "")
    if not name.strip():
        raise Unusable(f"no keys to sign with: give --keys FILE, or set {VARIABLE} to the name of the file")
    try:
        return load_keyring(name)
    except DefinitionError as error:
        raise Unusable(f"{error.field}: {error.reason}") from error.__cause__
