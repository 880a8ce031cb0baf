"""The command ``armory-trio``: tool calls in, one JSON result a line out. docs/cli.md tells how to use it."""

from __future__ import annotations

import sys
from importlib.util import find_spec

__all__ = ("main",)

_NEEDED = ("click", "rich")


def main() -> None:
    """Run the command with the arguments of this process, and exit with the code that docs/cli.md explains.

    Raises:
        SystemExit: Always.
    """
    missing = [package for package in _NEEDED if find_spec(package) is None]
    if missing:
        names = " and ".join(missing)
        sys.exit(_refuse(f"armory-trio: the command needs {names}; install the extra: pip install 'armory-trio[cli]'"))
    # Only now it is known that the packages of the extra are there.
    from ._command import execute  # noqa: PLC0415  # as said
    from ._streams import let_go  # noqa: PLC0415  # as said

    code = execute(sys.argv[1:])
    let_go()
    sys.exit(code)


def _refuse(reason: str) -> int:
    print(reason, file=sys.stderr)  # noqa: T201  # a command says on stderr what is wrong
    return 2
