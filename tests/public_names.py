"""Write down every public name: ``python -m tests.public_names`` makes tests/public_names.txt anew.

What stands there is a promise of docs/versioning.md. A line that comes is looked at by whoever reads the change; a line that
goes, or another one in its place, needs a word in CHANGELOG.md.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, ParamSpec, TypeVar, TypeVarTuple

import typing_extensions

from scripts.docs_site import offered_by, public_modules

LIST: Final = Path(__file__).with_name("public_names.txt")
_PLACEHOLDERS: Final = (TypeVar, ParamSpec, TypeVarTuple, typing_extensions.TypeVar)


def names_of(module: str) -> set[str]:
    """What can be imported from *module* and is meant to be."""
    loaded = importlib.import_module(module)
    declared: object = getattr(loaded, "__all__", None)
    if isinstance(declared, tuple | list):
        return {str(name) for name in declared}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  # whatever it holds
    offered = {name for name, _ in offered_by(module)}
    return {name for name in offered if not isinstance(getattr(loaded, name, None), _PLACEHOLDERS)}


def lines() -> Iterator[str]:
    """Each public name with its module, in order. What only runs when it is run has none."""
    for module in sorted(public_modules()):
        if not module.endswith(".__main__"):
            yield from (f"{module}.{name}" for name in sorted(names_of(module)))


def main() -> None:
    """Write the list."""
    LIST.write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8")


if __name__ == "__main__":
    main()
