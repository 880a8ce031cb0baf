"""The main job on real input: an agent's transcript, and the Berkeley function-calling data."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Awaitable, Mapping, Sequence
from typing import Final, Protocol

import trio

from .agent import run_agent
from .bfcl import DataMissing
from .leaderboard import run_leaderboard
from .screen import Screen

EXIT_OTHERWISE: Final = 1
EXIT_MISSING: Final = 2
EXIT_INTERRUPTED: Final = 130


class Part(Protocol):
    """One part of the demo."""

    def __call__(self, screen: Screen, *, verbose: bool) -> Awaitable[bool]:
        """Run it. True when it went as promised."""
        ...


PARTS: Final[Mapping[str, Part]] = {"transcript": run_agent, "bfcl": run_leaderboard}

_ABOUT: Final = """\
Runs the main job on real input, and prints what happened.

  transcript  an agent explores this checkout through the coding kit: concurrent searches, a stream, a deadline
              that fires, a call outside of the root that is refused, a drain
  bfcl        every function of the Berkeley function-calling data becomes a tool, every expected call is run
"""
_EXITS: Final = """\
exit code: 0 everything went as promised, 1 something did not (it is said what), 2 the data is not installed.
Nothing is written, and no network is used.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts that *arguments* name and answer the exit code."""
    options = _parser().parse_args(arguments)
    if callable(reconfigure := getattr(sys.stdout, "reconfigure", None)):
        # File names and matches may hold characters that this locale cannot write.
        reconfigure(errors="backslashreplace")
    chosen = list(PARTS) if options.only is None else [options.only]
    code = EXIT_INTERRUPTED
    try:
        code = trio.run(_run, chosen, options.verbose)
    except* KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m examples.demo",
        description=_ABOUT,
        epilog=_EXITS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", choices=list(PARTS), help="run this part alone")
    parser.add_argument(
        "--verbose", action="store_true", help="show the answers to the model and the refused arguments"
    )
    return parser


async def _run(chosen: Sequence[str], verbose: bool) -> int:  # noqa: FBT001 - trio.run passes it by position
    screen = Screen(sys.stdout)
    code = 0
    for name in chosen:
        try:
            if not await PARTS[name](screen, verbose=verbose):
                screen.say(f"{name}: this is not how it should have ended", style="bad")
                code = EXIT_OTHERWISE
        except DataMissing as error:
            screen.say(f"{name}: {error}", style="bad")
            return EXIT_MISSING
    return code


if __name__ == "__main__":
    sys.exit(main())
