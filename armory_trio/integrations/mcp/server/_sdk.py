"""The server object of the SDK, with our handlers in it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from mcp import types
from mcp.server import Server
from mcp.server.lowlevel.server import NotificationOptions
from mcp.server.models import InitializationOptions
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from ....definitions._exceptions import Withheld
from ._gate import Gate
from ._hub import Hub
from ._request import Context, answering
from ._whole import whole_model

P = TypeVar("P", bound=BaseModel)
R = TypeVar("R", bound=BaseModel)

_log: Final = logging.getLogger("armory_trio.mcp")


class SdkServer(Server[Hub]):
    """Says in the handshake that its lists change, whoever asks for the options of that."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, object]] | None = None,
        extensions: dict[str, dict[str, object]] | None = None,
    ) -> InitializationOptions:
        """What the handshake tells the client."""
        changing = NotificationOptions(tools_changed=True, prompts_changed=True, resources_changed=True)
        return super().create_initialization_options(
            notification_options or changing, experimental_capabilities, extensions
        )


def add(
    server: SdkServer, gate: Gate, method: str, kind: type[P], handler: Callable[[Context, P], Awaitable[R]]
) -> None:
    """Let *handler* answer *method*.

    What it raises that is no answer of the protocol is logged; the client learns nothing of it.
    """

    async def guarded(context: Context, params: P) -> R:
        with gate.passing(), answering(context):
            try:
                return whole_model(await handler(context, params))
            except MCPError as error:
                if (told := whole_model(error.error)) is error.error:
                    raise
                raise MCPError.from_error_data(told) from None
            except Exception as exc:  # noqa: BLE001  # whatever a host's function raises costs one answer
                _log.error("%s failed: %s", method, Withheld(exc, frames=True))
                raise MCPError(types.INTERNAL_ERROR, "Internal error; its operator can look the reason up") from None

    server.add_request_handler(method, kind, guarded)
