"""The command line: options in, settings out, errors to one line and a code."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Final, Unpack, cast

import click
import trio

from ._calling import CallingOptions, load_tightened, with_endings, with_error_detail, with_rules
from ._catalogue import definitions, find, found_lines, found_table, table
from ._exit import BY_SIGNAL, READER_GONE, SUCCEEDED, UNCERTAIN, UNUSABLE, Unusable
from ._ledger import ledger
from ._mcp import mcp
from ._naming import load, sorted_words, with_tool_options
from ._parameters import Count, Seconds
from ._settings import (
    APPROVERS,
    FORMATS,
    INPUTS,
    MEBIBYTE,
    Approver,
    InputKind,
    OutputFormat,
    RunSettings,
    ToolOptions,
)
from ._streams import Claim, claim_streams, say
from ._texts import Group, show, show_version
from ._top import top

_CONCURRENCY: Final = 64
_EXAMPLES: Final = """\
\b
Examples:
  armory-trio run my_tools:toolbox calls.json
  armory-trio run --kit coding --root . --format anthropic message.json
  printf '{"name": "add", "arguments": {"a": 5, "b": 3}}' | armory-trio run my_tools:add
  tail -f calls.jsonl | armory-trio run my_tools:toolbox --unordered --concurrency 8
  armory-trio run my_tools:toolbox calls.json --approval-mode always

\b
Exit codes:
  0  all input was read and every call succeeded
  1  some call did not succeed, or the deadline came before the end of the input
  2  wrong usage, or an input or output that cannot be used
  3  the effect of some call is unknown, or its cleanup failed
  4  something was left running
  129, 130, 143  stopped by SIGHUP, SIGINT or SIGTERM before everything had succeeded
  141  the reader of the results went away

\b
The first SIGINT, SIGTERM or SIGHUP drains, the second aborts, the third exits at once.
"""


@click.group(name="armory-trio", cls=Group, no_args_is_help=False, context_settings={"max_content_width": 100})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=show_version,
    help="Show the version and exit.",
)
def command() -> None:
    """Supervised execution of the tool calls that language models make."""


class RunOptions(CallingOptions):
    """The options of ``armory-trio run``, under the names that click gives them."""

    input: InputKind
    format: OutputFormat
    concurrency: int | None
    queue: int
    sequential: bool
    unordered: bool
    fail_fast: bool
    deadline: float | None
    owner: str | None
    approve: Approver
    approval_timeout: float | None
    live: bool | None


@command.command(epilog=_EXAMPLES)
@click.argument("words", nargs=-1, metavar="[MODULE:ATTRIBUTE]... [FILE]")
@with_tool_options
@click.option("--input", type=click.Choice(INPUTS), default="auto", help="What the input is; auto tells by its shape.")
@click.option(
    "--format", type=click.Choice(FORMATS), default="result", help="result: one ToolResult a line; else messages."
)
@click.option("--concurrency", type=Count(1), metavar="N", help="Calls that run at once.  [default: 64]")
@click.option("--sequential", is_flag=True, help="One call at a time, in order: --concurrency 1.")
@click.option(
    "--queue",
    type=Count(0),
    default=1000,
    show_default=True,
    metavar="N",
    help="Calls that may wait for their turn; then reading pauses.",
)
@click.option("--unordered", is_flag=True, help="Write results as the calls end, not in the order of the calls.")
@click.option("--fail-fast", is_flag=True, help="Stop everything as soon as one call fails.")
@click.option("--timeout", type=Seconds(), metavar="S", help="Seconds that each call may run.")
@click.option("--deadline", type=Seconds(), metavar="S", help="Seconds from now for everything.")
@with_endings(cleanup=30.0)
@click.option("--owner", metavar="ID", help="Who owns the calls, for their tools and for limits.")
@with_rules("When approval is needed.")
@click.option(
    "--approve",
    type=click.Choice(APPROVERS),
    default="ask",
    show_default=True,
    help="Who approves: you, when asked at the terminal of stderr; nobody; or all is approved unasked.",
)
@click.option("--approval-timeout", type=Seconds(), metavar="S", help="Seconds after which no answer is a no.")
@with_error_detail("message")
@click.option(
    "--max-bytes",
    type=Count(1),
    default=64 * MEBIBYTE,
    metavar="N",
    help="The longest line or document that is read.  [default: 64 MiB]",
)
@click.option("--live/--no-live", default=None, help="A live view on stderr.  [default: when stderr is a terminal]")
@click.pass_obj
def run(claim: Claim, /, **options: Unpack[RunOptions]) -> int:
    """Run tool calls under supervision, and write one JSON result a line.

    The tools are named by MODULE:ATTRIBUTE, from the current directory or an installed package. FILE, or standard
    input, holds calls ({"name": ..., "arguments": {...}, "id": ...}), a model's message as its provider sent it, a
    transcript, or JSON Lines of these, which are run as they come.
    """
    settings, references = _settings(options)
    streams = claim()
    toolbox = load_tightened(references, options)
    from ._run import run_calls  # noqa: PLC0415  # rich is not loaded before something is known to run

    return trio.run(run_calls, settings, toolbox, streams)


def _settings(options: RunOptions) -> tuple[RunSettings, list[str]]:
    references, files = sorted_words(options)
    if len(files) > 1:
        raise click.UsageError(f"one FILE at most, and these are {len(files)}: {', '.join(files)}")
    if not files and os.isatty(0):
        raise click.UsageError("no input: give a FILE, or pipe calls into standard input (- reads the terminal)")
    concurrency = options["concurrency"]
    if options["sequential"] and concurrency not in (None, 1):
        raise click.UsageError(f"--sequential is --concurrency 1, so --concurrency {concurrency} contradicts it")
    settings = RunSettings(
        file=files[0] if files else None,
        input=options["input"],
        format=options["format"],
        concurrency=1 if options["sequential"] else (concurrency or _CONCURRENCY),
        queue=options["queue"],
        unordered=options["unordered"],
        fail_fast=options["fail_fast"],
        timeout=options["timeout"],
        deadline=options["deadline"],
        drain_for=options["drain_for"],
        cleanup_timeout=options["cleanup_timeout"],
        owner=options["owner"],
        approve=options["approve"],
        approval_timeout=options["approval_timeout"],
        error_detail=options["error_detail"],
        max_bytes=options["max_bytes"],
        live=options["live"],
        debug=options["debug"],
    )
    return settings, references


@command.command()
@click.argument("words", nargs=-1, metavar="[MODULE:ATTRIBUTE]...")
@with_tool_options
@click.option("--json", "as_json", is_flag=True, help="One JSON definition a line, with schema and effect.")
@click.pass_obj
def tools(claim: Claim, /, *, as_json: bool, **options: Unpack[ToolOptions]) -> int:
    """List the tools of a toolbox."""
    references, files = sorted_words(options)
    if files:
        raise click.UsageError(f"{files[0]!r} is no MODULE:ATTRIBUTE")
    streams = claim()
    toolbox = load(references, options)
    return show(streams, definitions(toolbox) if as_json else table(toolbox))


@command.command()
@click.argument("query")
@click.argument("words", nargs=-1, metavar="[MODULE:ATTRIBUTE]...")
@with_tool_options
@click.option("--limit", type=Count(1), default=10, show_default=True, metavar="N", help="Tools that are shown.")
@click.option("--explain", is_flag=True, help="Show why each tool was found.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line: score, reasons and definition.")
@click.pass_obj
def search(
    claim: Claim, /, query: str, *, limit: int, explain: bool, as_json: bool, **options: Unpack[ToolOptions]
) -> int:
    """Find the tools of a toolbox that fit QUERY, best first."""
    references, files = sorted_words(options)
    if files:
        raise click.UsageError(f"{files[0]!r} is no MODULE:ATTRIBUTE; quote a query of several words")
    streams = claim()
    matches = find(load(references, options), query, limit=limit)
    if not matches:
        say(f"no tool fits {query!r}")
    return show(streams, found_lines(matches) if as_json else found_table(matches, explain=explain))


command.add_command(ledger)
command.add_command(mcp)
command.add_command(top)


def execute(arguments: Sequence[str], claim: Claim = claim_streams) -> int:
    """Run the command with *arguments* and return its exit code. Everything that is wrong is said on stderr.

    Args:
        arguments: Without the name of the program.
        claim: Takes over the standard streams when calls or results are about to go through them.
    """
    debug = "--debug" in arguments
    try:
        with _interruptible():
            code = cast("int | None", command.main(list(arguments), "armory-trio", standalone_mode=False, obj=claim))
    except Unusable as error:
        if debug:
            traceback.print_exc()
        say(str(error))
        code = UNUSABLE
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        where = context.command_path if isinstance(context, click.Context) else "armory-trio"
        say(f"{' '.join(error.format_message().split())}{_hint(error)} (see {where} --help)")
        code = UNUSABLE
    except SystemExit:
        return READER_GONE  # click's way to leave when it prints help into a closed pipe
    except (click.Abort, KeyboardInterrupt):
        code = _interrupted()
    except BaseExceptionGroup as group:
        code = _interrupted() if group.subgroup(KeyboardInterrupt) is not None else _bug()
    except Exception:  # noqa: BLE001  # a bug of ours must not look like a call that failed
        code = _bug()
    else:
        return code or SUCCEEDED
    return code


def _hint(error: click.ClickException) -> str:
    """What may be meant by an option that there is not: ids are random, and some begin with a dash."""
    if not isinstance(error, click.NoSuchOption) or error.option_name.startswith("--") or error.ctx is None:
        return ""
    takes_id = any(isinstance(each, click.Argument) and each.name == "attempt" for each in error.ctx.command.params)
    return " An ATTEMPT that begins with a dash stands behind two dashes, and last: -- -x1" if takes_id else ""


@contextmanager
def _interruptible() -> Generator[None]:
    """Where SIGINT would end the process, it raises KeyboardInterrupt in this block: there may be something to stop."""
    before = signal.getsignal(signal.SIGINT)
    try:
        if before is signal.SIG_DFL:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        yield
    finally:
        if before is signal.SIG_DFL:
            signal.signal(signal.SIGINT, before)


def _interrupted() -> int:
    say("interrupted; whatever ran was aborted")
    return BY_SIGNAL + signal.SIGINT


def _bug() -> int:
    traceback.print_exc()
    say("this is a bug of armory-trio, please report it; whatever ran was aborted")
    return UNCERTAIN
