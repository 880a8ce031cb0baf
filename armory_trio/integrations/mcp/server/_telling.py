"""Progress and log lines of one call, as its client asked to hear of them."""

from __future__ import annotations

import json
import logging
import math
from typing import Final, get_args

from mcp import types
from mcp.server.connection import allowed_log_levels
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from ....content import UnencodableResult, encode_json
from ....content._scalars import encodable
from ....definitions._exceptions import Withheld
from ....engine import ChunkEmitted, LogWritten, ProgressReported
from ._relay import Told
from ._request import Context, connection_of
from ._whole import whole

_LEVELS: Final[tuple[types.LoggingLevel, ...]] = get_args(types.LoggingLevel)
"""From the least severe to the worst."""

_AT_FIRST: Final[types.LoggingLevel] = "info"
"""What a client of the handshake versions is sent before it has said what it wants."""

_LEVEL: Final = "armory-trio: log level"
_log: Final = logging.getLogger("armory_trio.mcp")


def set_level(context: Context, level: types.LoggingLevel) -> None:
    """From now on this connection hears of lines of *level* and worse."""
    connection_of(context).state[_LEVEL] = level


def wanted_levels(context: Context) -> frozenset[str]:
    """The levels of lines that the client of this request is to hear of."""
    chosen: object = connection_of(context).state.get(_LEVEL, _AT_FIRST)
    least = _LEVELS.index(_AT_FIRST if chosen not in _LEVELS else chosen)
    allowed = allowed_log_levels(context.protocol_version, context.meta)
    if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return allowed  # each request says what it wants
    return allowed & frozenset(_LEVELS[least:])


class Teller:
    """Tells the client of one request what its call says.

    Progress only ever grows, as the protocol wants it: what says no percentage, or one that does not grow, counts as a
    small step.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._levels = wanted_levels(context)
        self._last = 0.0
        self._of_hundred = False

    async def take(self, event: Told, /) -> None:
        """Tell the client, if it wants to hear of this. Waits for a slow one."""
        try:
            match event:
                case ProgressReported(percent=percent, message=message):
                    await self._tell_progress(percent, message)
                case ChunkEmitted():
                    await self._tell_progress(None, None)
                case LogWritten():
                    await self._tell_line(event)
        except Exception as exc:  # noqa: BLE001  # in memory this is code of the client's; told or not, the call goes on
            _log.debug("a client could not be told of its call: %s", Withheld(exc))

    async def _tell_progress(self, percent: float | None, message: str | None) -> None:
        self._of_hundred = self._of_hundred or percent is not None
        if percent is not None and percent > self._last:
            value = float(percent)
        else:
            value = math.nextafter(self._last, math.inf) if self._of_hundred else self._last + 1
        if self._of_hundred and value > 100:
            return
        self._last = value
        words = None if message is None else encodable(message)
        await self._context.session.report_progress(value, 100.0 if self._of_hundred else None, words)

    async def _tell_line(self, event: LogWritten) -> None:
        if event.level not in self._levels:
            return
        params = types.LoggingMessageNotificationParams(
            level=event.level, data=whole(_data_of(event)), logger=event.tool_name
        )
        notification = types.LoggingMessageNotification(params=params)
        await self._context.session.send_notification(notification, related_request_id=self._context.request_id)


def _data_of(event: LogWritten) -> object:
    if not event.data:
        return event.message
    try:
        data: object = json.loads(encode_json(event.data))
    except UnencodableResult:
        return event.message
    return {"message": event.message, "data": data}
