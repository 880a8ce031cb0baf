"""``armory-trio top``: what a running host is at, live."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final, TypedDict, Unpack, get_args

import click
import msgspec

from ._exit import Unusable
from ._ledger import run_telling
from ._parameters import Count, Seconds
from ._streams import Claim, Streams, is_colored
from ._texts import Command

if TYPE_CHECKING:  # whoever runs calls does not pay for the view
    from ..observability.live import Query
    from ._top_link import Target

_EXAMPLES: Final = """\
\b
Examples:
  armory-trio top
  armory-trio top --pid 4711 --filter state=stuck
  armory-trio top --once --filter tool=db_*,owner=run-7
  armory-trio top --once --json | jq .totals
  armory-trio top --json --interval 10 >> watch.jsonl
  ssh -t box armory-trio top

\b
Exit codes:
  0  left by the key q, or one frame was printed
  1  no host runs, it does not answer, or, without a screen, it went away
  2  wrong usage, several hosts that fit, or a terminal or output that cannot be used
  129, 130, 143  stopped by SIGHUP, SIGINT (Ctrl-C) or SIGTERM
  141  the reader of the output went away
"""
_SORTS: Final = (
    *("attention", "state", "tool", "owner", "age", "in-state", "waits-for", "progress", "chunks", "attempts"),
)


class _TopOptions(TypedDict):
    socket: str | None
    pid: int | None
    once: bool
    as_json: bool
    interval: float
    filter: tuple[str, ...]
    sort: str
    reverse: bool
    slow: float
    limit: int


@click.command(cls=Command, epilog=_EXAMPLES)
@click.option("--socket", metavar="PATH", help="The socket of the host.")
@click.option("--pid", type=Count(1), metavar="N", help="The process of the host.")
@click.option("--once", is_flag=True, help="Print one frame, and exit.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line: one with --once, else until stopped.")
@click.option("--interval", type=Seconds(), default=1.0, show_default=True, metavar="S", help="Seconds between frames.")
@click.option("--filter", multiple=True, metavar="WORDS", help="Which: state=active,tool=db_*,owner=run-7, or a text.")
@click.option("--sort", type=click.Choice(_SORTS), default="attention", show_default=True, help="What comes first.")
@click.option("--reverse", is_flag=True, help="Sort the other way round.")
@click.option(
    "--slow",
    type=Seconds(zero=True),
    default=30.0,
    show_default=True,
    metavar="S",
    help="Seconds in a state that are slow.",
)
@click.option(
    "--limit", type=Count(1), default=50, show_default=True, metavar="N", help="Executions without a screen, up to 200."
)
@click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error too.")
@click.pass_obj
def top(claim: Claim, /, **options: Unpack[_TopOptions]) -> int:
    """Look at a running host: its executions, limits and rates, live.

    The host serves its view by serve_live_view; only its own user can look. Without --socket and --pid the one host
    that runs is taken. It shows no arguments and no results.
    """
    _require_fitting(options)
    # Nothing that draws is loaded before something is known to be drawn.
    from ._top_link import Target  # noqa: PLC0415  # as said

    query = _query(options)
    target = Target(socket=options["socket"], pid=options["pid"])
    streams = claim()
    if options["once"] or options["as_json"]:
        return _print(target, query, streams, options)
    return _show(target, query, streams, options)


def _require_fitting(options: _TopOptions) -> None:
    if options["socket"] is not None and options["pid"] is not None:
        raise click.UsageError("--socket names the host already, so --pid contradicts it or says it twice")
    if not 0.1 <= options["interval"] <= 3600:
        raise click.UsageError("--interval is from 0.1 to 3600 seconds")
    if options["limit"] > 200:
        raise click.UsageError("--limit is at most 200; choose by --filter")
    if options["slow"] > 1e9:
        raise click.UsageError("--slow is at most 1000000000 seconds")


def _query(options: _TopOptions) -> Query:
    from ..observability.live import Query, SortKey  # noqa: PLC0415  # as above
    from ._top_query import filtered  # noqa: PLC0415  # as above

    sort = next(key for key in get_args(SortKey) if key == options["sort"])
    query = Query(sort=sort, descending=options["reverse"], slow_after=options["slow"], limit=options["limit"])
    try:
        return filtered(query, ",".join(options["filter"]))
    except ValueError as error:
        raise click.UsageError(f"--filter: {error}") from None


def _encoding() -> str:
    return getattr(sys.stderr, "encoding", None) or "utf-8"  # that of standard output, whose place it has taken


def _print(target: Target, query: Query, streams: Streams, options: _TopOptions) -> int:
    from ._top_once import Output, print_once, stream_json  # noqa: PLC0415  # as above

    output = Output(
        as_json=options["as_json"], interval=options["interval"], encoding=_encoding(), is_colored=is_colored()
    )
    printing = print_once if options["once"] else stream_json
    return run_telling(lambda: printing(target, query, streams, output))


def _show(target: Target, query: Query, streams: Streams, options: _TopOptions) -> int:
    if not os.isatty(streams.stdout):
        raise Unusable("standard output is no terminal; use --once or --json")
    if os.environ.get("TERM", "") in ("", "dumb", "unknown"):
        raise Unusable("the terminal can show no screen (TERM); use --once or --json")
    from ._top_board import Board  # noqa: PLC0415  # as above
    from ._top_link import find  # noqa: PLC0415  # as above
    from ._top_screen import App, Look, opened  # noqa: PLC0415  # as above

    async def main() -> int:
        _, found = await find(target)
        look = Look(target=found, interval=options["interval"], encoding=_encoding(), is_colored=is_colored())
        board = Board(msgspec.structs.replace(query, limit=0), ",".join(options["filter"]))
        with opened(streams.stdout, look.encoding) as tty:
            return await App(look, board, tty).run()

    return run_telling(main)
