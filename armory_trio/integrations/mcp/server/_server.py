"""A toolbox as an MCP server: what is served, and the ways in."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, TypeVar, cast

import trio
from mcp import types
from mcp.server import Server
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
from pydantic import BaseModel

from ...._on_demand import in_words
from ....definitions._checks import seconds, text
from ....engine import ErrorDetail, Supervisor
from ....engine._concurrency import open_private_nursery
from ....engine._opening import require_supervisor
from ....errors import DefinitionError
from ._calls import Calls, Terms
from ._catalogue import Catalogue, Entry, Visible
from ._gate import Gate
from ._handlers import Prompts, Resources
from ._hub import Hub, open_hub
from ._request import Context, ContextOf, McpRequest, connection_of, request_of
from ._sdk import SdkServer, add
from ._sessions import subscriptions_of
from ._stdio import MAX_MESSAGE, StandardStreams, open_lines
from ._telling import set_level

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from ._http import HttpOptions
else:
    (Starlette,) = in_words("starlette.applications", "Starlette")
    (HttpOptions,) = in_words("armory_trio.integrations.mcp.server._http", "HttpOptions")

P = TypeVar("P", bound=BaseModel)
R = TypeVar("R", bound=BaseModel)

_SUBJECT: Final = "McpServer"
_LAST_ANSWERS: Final = 5.0
"""Seconds within which what the supervisor has ended is answered, once it was shut down."""


class McpServer:
    """Serves the toolbox of a supervisor to MCP clients: over stdio, over streamable HTTP, or both at once.

    Every call goes through the supervisor, with its policy, limits and ledger. The server takes no part in the
    supervisor's life: it serves as long as a ``serve_*`` runs and the supervisor is open, and ends when that was shut
    down and every call is answered. A call whose client cancels it, or goes away, is aborted.

    Args:
        supervisor: Runs the calls. Its toolbox is what is listed; a `LiveToolbox` may be exchanged meanwhile.
        name: What the server is called.
        version: Its version.
        instructions: What a client may tell its model about the server.
        visible: Whether a client may know of a tool: a function of the definition and the `McpRequest` that must not
            wait. A tool that it may not know of is as one that is not there. By default all tools are shown but those
            whose metadata say ``{"mcp": {"visible": false}}``.
        request_context: On whose behalf a call is made: a function of the `McpRequest`, async or not. None leaves it to
            the supervisor; what it answers is never more than the supervisor's own context gives, if that has one.
        error_detail: What results show of an exception that no tool declared: ``declared`` a generic line and the
            execution id, ``message`` its type and text.
        page_size: How many tools one answer to ``tools/list`` holds.
        resources: Functions that serve resources.
        prompts: Functions that serve prompts.
        patience: Seconds that a question to a client of protocol 2026-07-28 stays open while no request of that is.

    Raises:
        DefinitionError: An argument is wrong.
    """

    def __init__(
        self,
        supervisor: Supervisor,
        *,
        name: str = "armory-trio",
        version: str = "",
        instructions: str | None = None,
        visible: Visible | None = None,
        request_context: ContextOf | None = None,
        error_detail: ErrorDetail = "declared",
        page_size: int = 100,
        resources: Resources | None = None,
        prompts: Prompts | None = None,
        patience: float = 600.0,
    ) -> None:
        _check(supervisor, name, version, error_detail, page_size)
        seconds(_SUBJECT, "patience", patience, zero=False)
        default = supervisor._core.settings.default_request_context  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  # no other room asks
        terms = Terms(supervisor, error_detail, request_context, default, patience)
        self._supervisor = supervisor
        self._default = default
        self._visible = visible
        self._page_size = page_size
        self._catalogue: Catalogue | None = None
        self._gate = Gate()
        self._hubs: set[Hub] = set()
        self._calls = Calls(terms, self._find)
        self._sdk = SdkServer(name, version=version, instructions=instructions, lifespan=self._live)
        self._sdk.get_tool_input_schema = self._schema_of
        self._serve_tools()
        if resources is not None:
            self._serve_resources(resources)
        if prompts is not None:
            self._serve_prompts(prompts)

    @property
    def sdk(self) -> Server[object]:
        """The server object of the SDK: for its in-memory client and ours, in tests."""
        return cast("Server[object]", self._sdk)

    # -- what is served

    def _serve_tools(self) -> None:
        add(self._sdk, self._gate, "tools/list", types.PaginatedRequestParams, self._list_tools)
        add(self._sdk, self._gate, "tools/call", types.CallToolRequestParams, self._calls.answer)
        add(self._sdk, self._gate, "logging/setLevel", types.SetLevelRequestParams, self._set_level)
        # A subscription is no work that a drain waits for.
        self._sdk.add_request_handler("subscriptions/listen", types.SubscriptionsListenRequestParams, _listen)
        self._sdk.add_notification_handler("notifications/initialized", types.NotificationParams, _initialized)

    def _serve_resources(self, served: Resources) -> None:
        self._pass_on("resources/list", types.PaginatedRequestParams, served.list)
        self._pass_on("resources/read", types.ReadResourceRequestParams, served.read)
        if served.templates is not None:
            self._pass_on("resources/templates/list", types.PaginatedRequestParams, served.templates)
        add(self._sdk, self._gate, "resources/subscribe", types.SubscribeRequestParams, _subscribe)
        add(self._sdk, self._gate, "resources/unsubscribe", types.UnsubscribeRequestParams, _unsubscribe)

    def _serve_prompts(self, served: Prompts) -> None:
        self._pass_on("prompts/list", types.PaginatedRequestParams, served.list)
        self._pass_on("prompts/get", types.GetPromptRequestParams, served.get)
        if served.complete is not None:
            self._pass_on("completion/complete", types.CompleteRequestParams, served.complete)

    def _pass_on(self, method: str, kind: type[P], handler: Callable[[McpRequest, P], Awaitable[R]]) -> None:
        async def answer(context: Context, params: P) -> R:
            return await handler(request_of(context, self._default), params)

        add(self._sdk, self._gate, method, kind, answer)

    def _now(self) -> Catalogue:
        """The catalogue of the toolbox that the supervisor resolves calls in."""
        toolbox = self._supervisor.toolbox
        if self._catalogue is None or self._catalogue.toolbox is not toolbox:
            self._catalogue = Catalogue(toolbox)
        return self._catalogue

    def _find(self, wire: str, context: Context) -> Entry:
        return self._now().find(wire, request_of(context, self._default, wire), self._visible)

    def _schema_of(self, wire: str) -> dict[str, object] | None:
        entry = self._now().by_wire.get(wire)
        return None if entry is None else entry.schema

    async def _list_tools(self, context: Context, params: types.PaginatedRequestParams) -> types.ListToolsResult:
        request = request_of(context, self._default)
        return await self._now().page(params.cursor, self._page_size, request, self._visible)

    @staticmethod
    async def _set_level(context: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
        set_level(context, params.level)
        await trio.lowlevel.checkpoint()
        return types.EmptyResult()

    # -- telling clients

    def prompts_changed(self) -> None:
        """Tell all clients that the list of prompts changed. Never waits."""
        for hub in self._hubs:
            hub.prompts_changed()

    def resources_changed(self) -> None:
        """Tell all clients that the list of resources changed. Never waits."""
        for hub in self._hubs:
            hub.resources_changed()

    def resource_changed(self, uri: str) -> None:
        """Tell the clients that subscribed to the resource *uri* that it changed. Never waits."""
        for hub in self._hubs:
            hub.resource_changed(uri)

    # -- the ways in

    async def serve(
        self, read_stream: ReadStream[SessionMessage | Exception], write_stream: WriteStream[SessionMessage]
    ) -> None:
        """Serve one client over a transport of the SDK, until that closes.

        At the end of what the client sends its calls are aborted. Cancelled: they are as well.
        """
        await self._sdk.run(read_stream, write_stream, self._sdk.create_initialization_options())

    async def serve_stdio(
        self, *, streams: StandardStreams | None = None, max_message_bytes: int = MAX_MESSAGE
    ) -> None:
        """Serve one client over standard input and output, until it closes them or the supervisor was shut down.

        What tools, and the programs that they start, print goes to stderr meanwhile, and they find an empty standard
        input. When the client closes the input, calls that are under way have a second to be answered; then they are
        aborted.

        Args:
            streams: File descriptors to use instead, which stay open; those of the process by default, which are put
                back at the end.
            max_message_bytes: The longest message that is read; a longer one is answered with an error and skipped.

        Cancelled: calls are aborted.

        Raises:
            RuntimeError: Somebody else serves the process's own streams already.
        """
        async with open_lines(streams, max_message_bytes) as lines, open_private_nursery() as nursery:
            nursery.start_soon(self._end_with_supervisor, lines.end)
            await self.serve(lines.reader, lines.writer)
            nursery.cancel_scope.cancel("the client is gone")

    def app(self, options: HttpOptions | None = None) -> Starlette:
        """An ASGI application that serves streamable HTTP, for an ASGI server that runs on trio.

        Its lifespan has to be run. It serves as long as that lasts, and calls that are under way at the end are aborted:
        shut the supervisor down first.
        """
        from ._http import HttpOptions, make_app  # noqa: PLC0415  # stdio needs no web framework

        return make_app(self._sdk, options or HttpOptions())

    async def serve_http(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 8000,
        options: HttpOptions | None = None,
        task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Serve clients over streamable HTTP, until the supervisor was shut down.

        Then clients have two seconds at most to end their sessions; what they call gets refused in words.

        Args:
            host: The address to listen on. On a loopback address only requests that name it are answered, which keeps
                web pages out; on another one say which names are yours.
            port: The port; 0 lets the system choose.
            options: Paths, names, tokens and bounds.
            task_status: Told the URL once connections are taken.

        Cancelled: calls are aborted.

        Raises:
            DefinitionError: An option is wrong.
            OSError: The address cannot be listened on.
        """
        from ._http import HttpOptions, Times, serve_app  # noqa: PLC0415  # as above

        chosen = (options or HttpOptions()).for_host(host)
        stop = trio.Event()

        def ready(url: str) -> None:
            task_status.started(url)

        async def left() -> None:
            for hub in tuple(self._hubs):
                await hub.sessions.wait_left()

        async with open_private_nursery() as nursery:
            nursery.start_soon(self._end_with_supervisor, stop.set)
            await serve_app(self.app(chosen), host, port, chosen.path, Times(ready, stop, left))
            nursery.cancel_scope.cancel("nothing is served any more")

    @asynccontextmanager
    async def _live(self, _server: Server[Hub]) -> AsyncGenerator[Hub]:
        async with open_hub(self._supervisor) as hub:
            self._hubs.add(hub)
            try:
                yield hub
            finally:
                self._hubs.discard(hub)

    async def _end_with_supervisor(self, end: Callable[[], object]) -> None:
        await self._supervisor.wait_shut_down()
        with trio.move_on_after(_LAST_ANSWERS):
            await self._gate.wait_empty()
        for hub in self._hubs:
            hub.listen.close()
        end()


def _check(supervisor: object, name: object, version: object, error_detail: object, page_size: object) -> None:
    require_supervisor(_SUBJECT, supervisor)
    text(_SUBJECT, "name", name, blank=False)
    text(_SUBJECT, "version", version)
    if error_detail not in ("message", "declared"):
        raise DefinitionError(_SUBJECT, "error_detail", f"is {error_detail!r}; give message or declared")
    if not isinstance(page_size, int) or isinstance(page_size, bool) or page_size < 1:
        raise DefinitionError(_SUBJECT, "page_size", f"is {page_size!r}; give a whole number, at least 1")


async def _listen(context: Context, params: types.SubscriptionsListenRequestParams) -> types.SubscriptionsListenResult:
    return await context.lifespan_context.listen(context, params)


async def _initialized(context: Context, _params: types.NotificationParams) -> None:
    context.lifespan_context.sessions.add(connection_of(context))
    await trio.lowlevel.checkpoint()


async def _subscribe(context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
    subscriptions_of(connection_of(context)).add(params.uri)
    await trio.lowlevel.checkpoint()
    return types.EmptyResult()


async def _unsubscribe(context: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
    subscriptions_of(connection_of(context)).discard(params.uri)
    await trio.lowlevel.checkpoint()
    return types.EmptyResult()
