"""The packages of the extra ``search``, imported when they are first used."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Final

from ...errors import DefinitionError

_NEEDED: Final = ("numpy", "rapidfuzz", "snowballstemmer")


def require_extra() -> None:
    """Make sure that everything is there, so that a search never stops half-way for want of a package.

    Raises:
        DefinitionError: A package of the extra ``search`` is not installed.
    """
    for name in _NEEDED:
        load(name)


def load(module: str) -> ModuleType:
    """Import *module*, which a package of the same name brings.

    Raises:
        DefinitionError: It is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        reason = "is not installed; pip install 'armory-trio[search]'"
        raise DefinitionError("search", module.partition(".")[0], reason) from None
