"""What lives as long as one way in is served: the relay of events, the open sessions, calls that wait for answers."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import trio
from mcp.server.connection import Connection
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)

from ....engine import Supervisor
from ....engine._concurrency import open_private_nursery
from ._relay import Relay
from ._sessions import Sessions

if TYPE_CHECKING:
    from ._calls import Conversation

_TOOLS: Final = "tools"
_PROMPTS: Final = "prompts"
_RESOURCES: Final = "resources"


class Hub:
    """What the requests of one way in have in common.

    Args:
        supervisor: Whose events are relayed.
        nursery: Runs what outlives a request.
    """

    def __init__(self, supervisor: Supervisor, nursery: trio.Nursery) -> None:
        self.nursery = nursery
        self.relay = Relay(supervisor, self.tools_changed)
        self.sessions = Sessions(nursery)
        self.parked: dict[str, Conversation] = {}
        """The calls whose clients were asked something, by what they hand back."""
        self._bus = InMemorySubscriptionBus()
        self.listen = ListenHandler(self._bus)
        """Answers the clients that subscribe to changes by a request, as from protocol 2026-07-28 on."""

    def tools_changed(self) -> None:
        """Tell all clients that the list of tools may have changed. Never waits."""
        self.sessions.announce(_TOOLS, Connection.send_tool_list_changed)
        self._publish(ToolsListChanged())

    def prompts_changed(self) -> None:
        """The same of the list of prompts."""
        self.sessions.announce(_PROMPTS, Connection.send_prompt_list_changed)
        self._publish(PromptsListChanged())

    def resources_changed(self) -> None:
        """The same of the list of resources."""
        self.sessions.announce(_RESOURCES, Connection.send_resource_list_changed)
        self._publish(ResourcesListChanged())

    def resource_changed(self, uri: str) -> None:
        """Tell those who subscribed to the resource *uri* that it changed. Never waits."""

        async def announce(connection: Connection) -> None:
            await connection.send_resource_updated(uri)

        self.sessions.announce_resource(uri, announce)
        self._publish(ResourceUpdated(uri=uri))

    def _publish(self, event: ServerEvent) -> None:
        self.nursery.start_soon(self._bus.publish, event, name="armory_trio: mcp change")


@asynccontextmanager
async def open_hub(supervisor: Supervisor) -> AsyncGenerator[Hub]:
    """A hub for as long as the block lasts. What it runs is cancelled at the end, so that such calls are aborted."""
    async with open_private_nursery() as nursery:
        hub = Hub(supervisor, nursery)
        await nursery.start(hub.relay.follow_events, name="armory_trio: mcp relay")
        try:
            yield hub
        finally:
            nursery.cancel_scope.cancel("the way in is closed")
