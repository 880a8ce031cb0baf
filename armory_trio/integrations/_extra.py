"""The packages of an extra: whoever lacks one is told which extra brings it."""

from __future__ import annotations

from importlib import import_module


def require(user: str, extra: str, *packages: str) -> None:
    """Make sure that *packages* are there, which *user* imports and the *extra* brings.

    Raises:
        ModuleNotFoundError: One is not; the text names it and what would help.
    """
    for package in packages:
        try:
            import_module(package)
        except ModuleNotFoundError as error:
            missing = error.name or package
            reason = f"{user} needs {missing}, which is not installed; pip install 'armory-trio[{extra}]'"
            raise ModuleNotFoundError(reason, name=missing, path=error.path) from None
