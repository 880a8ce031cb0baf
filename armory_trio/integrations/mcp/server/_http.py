"""Streamable HTTP: the ASGI application, and Hypercorn's trio worker under it."""

from __future__ import annotations

import ipaddress
import logging
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from functools import partial
from typing import Final, cast

import attrs
import trio
from hypercorn.config import Config
from hypercorn.trio import serve  # pyright: ignore[reportUnknownVariableType]  # typed loosely for WSGI
from hypercorn.utils import UnexpectedMessageError
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.provider import TokenVerifier
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from mcp.server.auth.settings import AuthSettings
from mcp.server.streamable_http import EventStore
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ....definitions._checks import count, flag, names, seconds, text
from ....definitions._exceptions import Withheld
from ....engine._concurrency import open_private_nursery
from ....errors import DefinitionError
from ._gate import Gate
from ._history import History, Shelf
from ._posts import Posts
from ._request import STREAM_BEGUN, STREAM_FOR
from ._sdk import SdkServer

_SUBJECT: Final = "HttpOptions"
_LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
_LAST_ANSWERS: Final = 5.0
"""Seconds within which clients have to take their answers at the end."""

_UNREAD: Final = 15.0
"""Seconds after which the system breaks the connection of a client that reads nothing of what it was sent.

Hypercorn writes under a shield, which nothing else ends."""

_BACK_AFTER: Final = 1000
"""Milliseconds after which a client that was cut off is to come back."""

_LEAVING: Final = 2.0
"""Seconds at the end within which clients can end their sessions, and ask what they ask about their last answer."""

_QUIET: Final = 0.2
"""Seconds without a request after which nobody seems to have anything more to ask; there is no session to tell it."""

_GRACEFUL: Final = 0.2
"""Seconds that the streams have on which clients hear of changes: they would never end by themselves."""

_log: Final = logging.getLogger("armory_trio.mcp.http")


@attrs.frozen(kw_only=True, eq=False)
class HttpOptions:
    """How streamable HTTP is served.

    Args:
        path: Where, such as ``/mcp``.
        allowed_hosts: The ``Host`` headers that are answered, such as ``tools.example.com`` or ``localhost:*``; others
            may be web pages that mean somebody else. None answers all; on a loopback address it answers the names of
            that.
        allowed_origins: The ``Origin`` headers that browsers may send, likewise.
        token_verifier: Says who a bearer token belongs to, such as a `StaticToken`; without one nobody is asked for one.
        auth: What clients are told of where to get tokens, and which scopes they need. Only with a *token_verifier*.
        max_body_bytes: The longest request.
        session_idle: Seconds after which a session is closed that nobody uses; its calls are aborted.
        max_sessions: Sessions at once.
        kept_events: Messages of each session that are kept for a client that was cut off and comes back; 0 keeps none.
        kept_bytes: Bytes of such messages that all sessions keep together; the oldest are forgotten first. A client whose
            messages are forgotten does not get them when it comes back, and learns that its stream is over.
        stream_for: Seconds after which a stream with an answer to come is closed, and each on which a client came back for
            it. Clients of 2025-11-25 then come back for the rest, a second later; so the call goes on where a proxy cuts long requests off. None leaves it open.
        json_answers: Answer with plain JSON in place of event streams: no progress, no log lines, no questions.
    """

    path: str = "/mcp"
    allowed_hosts: Sequence[str] | None = None
    allowed_origins: Sequence[str] = ()
    token_verifier: TokenVerifier | None = None
    auth: AuthSettings | None = None
    max_body_bytes: int = 4 * 1024 * 1024
    session_idle: float = 1800.0
    max_sessions: int = 10_000
    kept_events: int = 256
    kept_bytes: int = 64 * 1024 * 1024
    stream_for: float | None = None
    json_answers: bool = False

    def __attrs_post_init__(self) -> None:
        text(_SUBJECT, "path", self.path)
        if not self.path.startswith("/"):
            raise DefinitionError(_SUBJECT, "path", f"is {self.path!r}; begin it with a slash, such as /mcp")
        if self.auth is not None and self.token_verifier is None:
            raise DefinitionError(_SUBJECT, "auth", "needs a token_verifier, which says who a token belongs to")
        self._check_bounds()
        if self.stream_for is not None:
            seconds(_SUBJECT, "stream_for", self.stream_for, zero=False)
            if not self.kept_events:
                raise DefinitionError(_SUBJECT, "stream_for", "needs kept_events, for clients that come back")

    def _check_bounds(self) -> None:
        for field in ("allowed_hosts", "allowed_origins"):
            if getattr(self, field) is not None:
                names(_SUBJECT, field, getattr(self, field))
        for field, least in (("max_body_bytes", 1), ("max_sessions", 1), ("kept_events", 0), ("kept_bytes", 1)):
            count(_SUBJECT, field, getattr(self, field), least=least)
        seconds(_SUBJECT, "session_idle", self.session_idle, zero=False)
        flag(_SUBJECT, "json_answers", self.json_answers)

    def for_host(self, host: str) -> HttpOptions:
        """The same, with the names of a loopback address allowed when *host* is one and nothing else is said."""
        if self.allowed_hosts is not None or not is_loopback(host):
            return self
        names = [f"{name}{port}" for name in _LOOPBACK for port in ("", ":*")]
        origins = [f"http://{name}" for name in names]
        return attrs.evolve(self, allowed_hosts=names, allowed_origins=self.allowed_origins or origins)

    @property
    def security(self) -> TransportSecuritySettings | None:
        """The same for the SDK."""
        if self.allowed_hosts is None:
            return None
        return TransportSecuritySettings(
            allowed_hosts=list(self.allowed_hosts), allowed_origins=list(self.allowed_origins)
        )


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches *host*."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _Sessions(StreamableHTTPSessionManager):
    """Keeps what each session was sent apart from all others: the SDK names streams by request ids alone."""

    kept_events = 0
    shelf = Shelf(0)
    stream_for: float | None = None

    @property
    def event_store(self) -> EventStore | None:
        """A store of its own for the session that is being opened."""
        return History(self.kept_events, self.shelf, self.stream_for) if self.kept_events else None

    @event_store.setter
    def event_store(self, _given: EventStore | None) -> None:
        """What the SDK sets when it is made, which is nothing."""


def make_app(sdk: SdkServer, options: HttpOptions) -> Starlette:
    """The application that serves *sdk*."""
    manager = _Sessions(
        sdk,
        json_response=options.json_answers,
        security_settings=options.security,
        session_idle_timeout=options.session_idle,
        max_request_body_size=options.max_body_bytes,
        max_sessions=options.max_sessions,
        retry_interval=_BACK_AFTER,
    )
    manager.kept_events, manager.shelf = options.kept_events, Shelf(options.kept_bytes)
    manager.stream_for = options.stream_for
    endpoint = Posts(StreamableHTTPASGIApp(manager), options.max_body_bytes)
    lifespan = partial(_running, manager)
    if options.token_verifier is None:
        return _app_of([Route(options.path, endpoint=endpoint)], [], lifespan, options)
    auth = options.auth
    resource = None if auth is None else auth.resource_server_url
    scopes = [] if auth is None else auth.required_scopes or []
    told = None if resource is None else build_resource_metadata_url(resource)
    routes = [Route(options.path, endpoint=RequireAuthMiddleware(endpoint, scopes, told))]
    if auth is not None and resource is not None:
        routes += create_protected_resource_routes(
            resource_url=resource, authorization_servers=[auth.issuer_url], scopes_supported=auth.required_scopes
        )
    checked = resource if auth is not None and auth.validate_token_resource else None
    backend = BearerAuthBackend(options.token_verifier, resource_server_url=checked)
    middleware = [Middleware(AuthenticationMiddleware, backend=backend), Middleware(AuthContextMiddleware)]
    return _app_of(routes, middleware, lifespan, options)


def _app_of(
    routes: Sequence[Route],
    middleware: Sequence[Middleware],
    lifespan: Callable[[Starlette], AbstractAsyncContextManager[None]],
    options: HttpOptions,
) -> Starlette:
    app = Starlette(routes=routes, middleware=[Middleware(_Beginnings), *middleware], lifespan=lifespan)
    setattr(app.state, STREAM_FOR, options.stream_for)
    return app


class _Beginnings:
    """Middleware that lets who handles a request know when the first bytes of its answer are on their way."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = scope[STREAM_BEGUN] = trio.Event()

        async def sent(message: Message) -> None:
            await send(message)
            if message.get("body"):
                begun.set()

        await self._app(scope, receive, sent)


@asynccontextmanager
async def _running(manager: StreamableHTTPSessionManager, _app: Starlette) -> AsyncGenerator[None]:
    async with manager.run():
        yield


def _bound_writes(listening: trio.socket.SocketType) -> None:
    """Let no client of *listening* hold a write for ever, where the system can see to that; connections inherit it."""
    option: int | None = getattr(socket, "TCP_USER_TIMEOUT", None)
    if option is not None:
        listening.setsockopt(socket.IPPROTO_TCP, option, round(_UNREAD * 1000))


@attrs.frozen(eq=False)
class Times:
    """When serving begins and ends.

    Args:
        ready: Told the URL once connections are taken.
        stop: Set when there is nothing more to answer.
        left: Waits until no client has a session.
    """

    ready: Callable[[str], None]
    stop: trio.Event
    left: Callable[[], Awaitable[None]]


@contextmanager
def _unheard() -> Generator[None]:
    """What the SDK still says to a client that hung up is no error of the server's."""
    try:
        yield
    except UnexpectedMessageError as exc:
        _log.debug("a client hung up before it was answered: %s", Withheld(exc))


async def serve_app(app: Starlette, host: str, port: int, path: str, times: Times) -> None:
    """Serve *app* until it is to stop, the last answers are taken and the clients have left, or have had time to.

    Raises:
        OSError: The address cannot be listened on.
    """
    listeners = await trio.open_tcp_listeners(port, host=host)
    for listener in listeners:
        _bound_writes(listener.socket)
    bound: tuple[object, ...] = listeners[0].socket.getsockname()
    config = Config()
    config.bind = [f"fd://{listener.socket.detach()}" for listener in listeners]  # Hypercorn owns and closes them
    config.graceful_timeout = _GRACEFUL
    config.errorlog = _log
    config.include_server_header = False
    run = cast("Callable[..., Awaitable[None]]", serve)
    answering = Gate()

    async def counted(scope: Scope, receive: Receive, send: Send) -> None:
        # Streams that clients keep open to hear of changes are no answers.
        counting = scope["type"] == "http" and scope["method"] != "GET"
        with answering.passing() if counting else nullcontext(), _unheard():
            await app(scope, receive, send)

    async def until_answered() -> None:
        await times.stop.wait()
        with trio.move_on_after(_LAST_ANSWERS):
            await answering.wait_empty()
        with trio.move_on_after(_LEAVING):
            await times.left()
            await answering.wait_quiet(_QUIET)

    async with open_private_nursery() as nursery:
        await nursery.start(partial(run, counted, config, shutdown_trigger=until_answered))
        times.ready(f"http://{f'[{host}]' if ':' in host else host}:{bound[1]}{path}")
