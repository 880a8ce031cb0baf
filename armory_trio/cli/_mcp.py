"""``armory-trio mcp``: a toolbox as a server that MCP clients start, or reach over HTTP."""

from __future__ import annotations

import math
import os
import re
from typing import Final, Literal, Unpack

import attrs
import click
import trio

from ._calling import CallingOptions, load_tightened, with_endings, with_error_detail, with_rules
from ._exit import Unusable
from ._naming import sorted_words, with_tool_options
from ._parameters import Count, Seconds
from ._settings import MEBIBYTE, ErrorDetail
from ._streams import Claim
from ._texts import Command

_PATH: Final = re.compile(r"(?:/[A-Za-z0-9._~!$&'()*+,;=:@-]+)+/?|/")
"""A path that needs no escapes in a URL."""

LEVELS: Final = ("debug", "info", "warning", "error")
_EXAMPLES: Final = """\
\b
Examples:
  armory-trio mcp --kit coding --root .
  armory-trio mcp my_tools:toolbox --name my-tools --read-only
  armory-trio mcp my_tools:toolbox --http 127.0.0.1:8000
  TOKEN=... armory-trio mcp my_tools:toolbox --http 0.0.0.0:8000 --token-env TOKEN

\b
Exit codes:
  0  the client closed the connection, or a signal ended it, and nothing is uncertain
  2  wrong usage, or an address or output that cannot be used
  3  the effect of some call is unknown, or its cleanup failed
  4  something was left running

\b
The first SIGINT, SIGTERM or SIGHUP drains, the second aborts, the third exits at once.
"""


class McpOptions(CallingOptions):
    """The options of ``armory-trio mcp``, under the names that click gives them."""

    http: str | None
    path: str
    allow_host: tuple[str, ...]
    token_env: str | None
    name: str
    concurrency: int
    log_level: Literal["debug", "info", "warning", "error"]


@attrs.frozen
class Address:
    """Where HTTP is served.

    Args:
        host: A name or an address of this machine.
        port: A port; 0 lets the system choose.
    """

    host: str
    port: int


@attrs.frozen(kw_only=True)
class McpSettings:
    """How a toolbox is served.

    Args:
        address: Where HTTP is served; None serves standard input and output.
        token: What HTTP clients have to show; None asks for nothing.
    """

    address: Address | None
    path: str
    allow_hosts: tuple[str, ...]
    token: str | None
    name: str
    timeout: float | None
    concurrency: int
    drain_for: float
    cleanup_timeout: float
    error_detail: ErrorDetail
    max_bytes: int
    log_level: str


@click.command(cls=Command, epilog=_EXAMPLES)
@click.argument("words", nargs=-1, metavar="[MODULE:ATTRIBUTE]...")
@with_tool_options
@click.option("--http", metavar="HOST:PORT", help="Serve streamable HTTP there, in place of standard input and output.")
@click.option("--path", default="/mcp", show_default=True, metavar="PATH", help="The path that HTTP is served under.")
@click.option("--allow-host", multiple=True, metavar="HOST", help="A Host header that HTTP answers; others it refuses.")
@click.option("--token-env", metavar="VARIABLE", help="The variable with the bearer token that HTTP clients must show.")
@click.option("--name", default="armory-trio", show_default=True, metavar="NAME", help="What the server is called.")
@with_rules("When the person behind the client is asked.")
@click.option(
    "--timeout", type=Seconds(), metavar="S", help="Seconds that a call may run if its tool says nothing else."
)
@click.option(
    "--concurrency", type=Count(1), default=64, show_default=True, metavar="N", help="Calls that run at once."
)
@with_endings(cleanup=5.0)
@with_error_detail("declared")
@click.option(
    "--max-bytes", type=Count(1), default=4 * MEBIBYTE, metavar="N", help="The longest message.  [default: 4 MiB]"
)
@click.option("--log-level", type=click.Choice(LEVELS), default="warning", show_default=True, help="Logged on stderr.")
@click.pass_obj
def mcp(claim: Claim, /, **options: Unpack[McpOptions]) -> int:
    """Serve tools to MCP clients, over standard input and output or HTTP.

    Configure a client to start this command, or give it the URL that is said on stderr. The tools are named by
    MODULE:ATTRIBUTE, from the current directory or an installed package.
    """
    references, files = sorted_words(options)
    if files:
        raise click.UsageError(f"{files[0]!r} is no MODULE:ATTRIBUTE")
    settings = _settings(options)
    streams = claim() if settings.address is None else None
    toolbox = load_tightened(references, options)
    try:
        from ._mcp_serving import serve_mcp  # noqa: PLC0415  # the SDK is only loaded by who serves
    except ModuleNotFoundError as error:
        raise Unusable(f"serving MCP needs {error.name}; install the extra: pip install 'armory-trio[mcp]'") from error
    return trio.run(serve_mcp, settings, toolbox, streams)


def _settings(options: McpOptions) -> McpSettings:
    address = None if options["http"] is None else _address(options["http"])
    token = None if options["token_env"] is None else _token(options["token_env"])
    if address is None and (token is not None or options["allow_host"]):
        raise click.UsageError("--token-env and --allow-host are for HTTP; give --http HOST:PORT with them")
    if not _PATH.fullmatch(options["path"]):
        raise click.UsageError(
            f"--path {options['path']}: begin it with a slash, and use letters, digits and marks that stand in a URL as "
            "they are, such as /mcp"
        )
    for name, texts in (("--name", (options["name"],)), ("--allow-host", options["allow_host"])):
        if any(not text.strip() for text in texts):
            raise click.UsageError(f"{name} is blank")
    timeout = options["timeout"]
    return McpSettings(
        address=address,
        path=options["path"],
        allow_hosts=options["allow_host"],
        token=token,
        name=options["name"],
        timeout=None if timeout is None or math.isinf(timeout) else timeout,
        concurrency=options["concurrency"],
        drain_for=options["drain_for"],
        cleanup_timeout=options["cleanup_timeout"],
        error_detail=options["error_detail"],
        max_bytes=options["max_bytes"],
        log_level=options["log_level"],
    )


def _address(given: str) -> Address:
    host, colon, port = given.rpartition(":")
    if not colon or not host or not port.isascii() or not port.isdecimal() or int(port) > 65535:
        raise click.UsageError(f"--http {given}: give HOST:PORT, such as 127.0.0.1:8000")
    return Address(host.strip("[]"), int(port))


def _token(variable: str) -> str:
    token = os.environ.get(variable, "")
    if not token.strip():
        raise Unusable(f"--token-env {variable}: the variable is not set, or blank")
    return token
