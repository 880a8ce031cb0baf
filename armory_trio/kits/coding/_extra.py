"""The packages of the extra ``coding``, imported when they are first used."""

from __future__ import annotations

import importlib
from types import ModuleType

from ...errors import DefinitionError


def load(module: str, package: str, *, having: str) -> ModuleType:
    """Import *module*, which *package* brings, and make sure that it is the one meant: it has the name *having*.

    Raises:
        DefinitionError: It is not installed, or another package of the same name hides it.
    """
    try:
        loaded = importlib.import_module(module)
    except ModuleNotFoundError:
        reason = "is not installed; pip install 'armory-trio[coding]'"
        raise DefinitionError("coding kit", package, reason) from None
    if not hasattr(loaded, having):
        reason = f"is hidden by another package that brings a module {module!r}; uninstall that one"
        raise DefinitionError("coding kit", package, reason)
    return loaded
