"""Names that a package offers and imports only when somebody asks for them: who does not use them does not pay.

A package that offers such names imports them for the type checkers, and tells `on_demand` where they live::

    if TYPE_CHECKING:
        from ._actions import action_digest as action_digest
    else:
        __getattr__, __dir__ = on_demand(__name__, {"action_digest": "_actions"})

A module that only needs such a type to say what it takes or gives has `in_words` stand for it, so that
`typing.get_type_hints` finds it::

    if TYPE_CHECKING:
        from ._keywords import CallOptions
    else:
        (CallOptions,) = in_words("armory_trio.engine._keywords", "CallOptions")
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Final, ForwardRef, cast


class _Late:
    """Where types that are not imported yet are found by the names that stand for them."""

    def __init__(self) -> None:
        self._homes: dict[str, tuple[str, str]] = {}

    def stand_for(self, module: str, name: str) -> ForwardRef:
        """What stands for the type *name* of *module*."""
        word = f"{name}_{len(self._homes)}"
        self._homes[word] = (module, name)
        # No more than a name and an attribute, since it is compiled at once.
        return ForwardRef(f"_late.{word}", module=__name__)

    def __getattr__(self, word: str) -> object:
        if word not in self._homes:
            raise AttributeError(f"no type stands as {word!r}", name=word, obj=self)
        module, name = self._homes[word]
        return cast("object", getattr(import_module(module), name))


_late: Final = _Late()


def in_words(module: str, *names: str) -> tuple[ForwardRef, ...]:
    """What stands for the types *names* of *module*, which is imported when somebody looks at one of them."""
    return tuple(_late.stand_for(module, name) for name in names)


_OURS: Final = frozenset(("TYPE_CHECKING", "on_demand"))
"""What such a package holds and does not offer."""


def on_demand(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The ``__getattr__`` and the ``__dir__`` of *package*, which has each name of *homes* in the module named there.

    The modules themselves are attributes of the package as well, and ``from package import *`` takes all names but those. A name
    from a private module is looked up once and is an ordinary name of the package from then on. One from a public
    module is what that module has under this name now: what a test put in its place for a while is not kept.

    Args:
        package: The package's ``__name__``.
        homes: Names, and the module of each within the package, without a dot in front: ``"_actions"``.
    """
    names, modules = vars(sys.modules[package]), frozenset(homes.values())

    def get(name: str) -> object:
        if name == "__all__":
            return [each for each in listed() if not (each.startswith("_") or each in modules or is_module(each))]
        if name in modules:
            return import_module(f"{package}.{name}")
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules[package])
        found: object = getattr(import_module(f"{package}.{home}"), name)
        return names.setdefault(name, found) if home.startswith("_") else found

    def is_module(name: str) -> bool:
        return isinstance(names.get(name), ModuleType)

    def listed() -> list[str]:
        return sorted({*names, *homes, *modules} - _OURS)

    return get, listed
