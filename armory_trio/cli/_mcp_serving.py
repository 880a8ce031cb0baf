"""The life of ``armory-trio mcp``: a supervisor, a server in it, and the signals that end them."""

from __future__ import annotations

import logging
import sys
from functools import partial
from typing import Final

import attrs

from ..engine import Limits, Report, Supervisor, open_supervisor, serve_until_signal
from ..engine._concurrency import open_private_nursery
from ..integrations.mcp.server import HttpOptions, McpServer, StandardStreams, StaticToken, ask_client, is_loopback
from ..toolbox import Toolbox
from ._exit import Unusable
from ._mcp import Address, McpSettings
from ._streams import Streams, say

_FORMAT: Final = "armory-trio: %(levelname)s: %(name)s: %(message)s"


async def serve_mcp(settings: McpSettings, toolbox: Toolbox, streams: Streams | None) -> int:
    """Serve *toolbox* until the client is gone or a signal ends it, and return the exit code.

    Only for a main thread: it catches signals.

    Raises:
        Unusable: The address cannot be listened on, or would be open to everybody.
    """
    logging.basicConfig(level=settings.log_level.upper(), stream=sys.stderr, format=_FORMAT)
    http = None if settings.address is None else _http_options(settings, settings.address)
    limits = Limits(concurrent=settings.concurrency)
    if settings.timeout is not None:
        toolbox = attrs.evolve(toolbox, default_timeout=settings.timeout)
    async with open_supervisor(
        toolbox,
        limits=limits,
        error_detail=settings.error_detail,
        drain_for=settings.drain_for,
        cleanup_timeout=settings.cleanup_timeout,
        approval_handler=ask_client,
    ) as supervisor:
        server = McpServer(supervisor, name=settings.name, error_detail=settings.error_detail)
        async with open_private_nursery() as nursery:
            nursery.start_soon(_heed, supervisor, settings.drain_for, name="armory-trio: signals")
            if settings.address is not None and http is not None:
                await _serve_http(server, settings.address, http)
            else:
                assert streams is not None
                own = StandardStreams(streams.stdin, streams.stdout)
                await server.serve_stdio(streams=own, max_message_bytes=settings.max_bytes)
            await supervisor.shutdown("abort")
            nursery.cancel_scope.cancel("nothing is served any more")
    return _code(supervisor.report)


async def _heed(supervisor: Supervisor, drain_for: float) -> None:
    await serve_until_signal(supervisor, drain_for=drain_for)


def _code(report: Report | None) -> int:
    assert report is not None
    for line in report.lines()[1:]:
        say(line)
    return report.exit_code


def _http_options(settings: McpSettings, address: Address) -> HttpOptions:
    if settings.token is None and not is_loopback(address.host):
        raise Unusable(
            f"--http {address.host}:{address.port} can be reached from other machines, and would answer anybody: give "
            "--token-env VARIABLE, or listen on 127.0.0.1"
        )
    return HttpOptions(
        path=settings.path,
        allowed_hosts=settings.allow_hosts or None,
        token_verifier=None if settings.token is None else StaticToken(settings.token),
        max_body_bytes=settings.max_bytes,
    )


async def _serve_http(server: McpServer, address: Address, options: HttpOptions) -> None:
    try:
        async with open_private_nursery() as nursery:
            url = await nursery.start(partial(server.serve_http, host=address.host, port=address.port, options=options))
            say(f"serving {url}")
    except OSError as error:
        reason = error.strerror or error
        raise Unusable(f"--http {address.host}:{address.port} cannot be listened on: {reason}") from error
