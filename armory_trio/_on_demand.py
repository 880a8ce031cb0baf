"""Names that a package offers and imports only when somebody asks for them: who does not use them does not pay.

A package that offers such names imports them for the type checkers, and tells `on_demand` where they live::

    if TYPE_CHECKING:
        from ._actions import action_digest as action_digest
    else:
        __getattr__, __dir__ = on_demand(__name__, {"action_digest": "_actions"})
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def on_demand(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The ``__getattr__`` and the ``__dir__`` of *package*, which has each name of *homes* in the module named there.

    A name is looked up once; from then on it is an ordinary name of the package.

    Args:
        package: The package's ``__name__``.
        homes: Names, and the module of each within the package, without a dot in front: ``"_actions"``.
    """
    names = vars(sys.modules[package])

    def get(name: str) -> object:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules[package])
        found: object = getattr(import_module(f"{package}.{home}"), name)
        names[name] = found
        return found

    return get, lambda: sorted({*names, *homes})
