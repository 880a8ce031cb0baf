"""The command ``armory-trio``: tool calls in, one JSON result a line out. docs/cli.md tells how to use it."""

from __future__ import annotations

import atexit
import os
import signal
import sys
from importlib.util import find_spec
from types import FrameType

__all__ = ("main",)

_NEEDED = ("click", "rich")
_ENDING = [number for number in signal.Signals if number.name in ("SIGINT", "SIGTERM", "SIGHUP")]  # those there are


def main() -> None:
    """Run the command with the arguments of this process, and exit with the code that docs/cli.md explains.

    Raises:
        SystemExit: Always.
    """
    # Ctrl-C while there is nothing to stop, before and after the command itself, ends the process without a traceback.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored, as in the background
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    atexit.register(_ignore_signals)  # registered first, it is called last
    missing = [package for package in _NEEDED if find_spec(package) is None]
    if missing:
        names = " and ".join(missing)
        sys.exit(_refuse(f"armory-trio: the command needs {names}; install the extra: pip install 'armory-trio[cli]'"))
    # Only now it is known that the packages of the extra are there.
    from ._command import execute  # noqa: PLC0415  # as said
    from ._streams import let_go  # noqa: PLC0415  # as said

    code = execute(sys.argv[1:])
    let_go()
    _exit_by_signal(code)
    sys.exit(code)


def _exit_by_signal(code: int) -> None:
    """Nothing is left to stop: a signal that comes now changes no code, and ends the wait for threads of the tools."""

    def exit_at_once(_number: int, _frame: FrameType | None) -> None:
        os._exit(code)

    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, exit_at_once)


def _ignore_signals() -> None:
    """While Python takes itself apart it would let signals kill the process, and the code would be theirs."""
    for number in _ENDING:
        signal.signal(number, signal.SIG_IGN)


def _refuse(reason: str) -> int:
    print(reason, file=sys.stderr)  # noqa: T201  # a command says on stderr what is wrong
    return 2
