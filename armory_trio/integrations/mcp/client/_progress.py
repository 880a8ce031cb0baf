"""What a server says while it works, as a running tool here would say it."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from typing import Final

from ....content import UnencodableResult, encode_json
from ....definitions._context import LogLevel
from ._bounds import shortened, shortened_name
from ._record import LinkRecord

_log: Final = logging.getLogger("armory_trio.mcp")

_LEVELS: Final[Mapping[object, LogLevel]] = {
    "debug": "debug",
    "info": "info",
    "notice": "info",
    "warning": "warning",
    "error": "error",
    "critical": "error",
    "alert": "error",
    "emergency": "error",
}
_NUMBERS: Final = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


def percent_of(params: Mapping[str, object]) -> float | None:
    """How far the work is, from 0 to 100; None when the server does not say out of how much."""
    progress, total = params.get("progress"), params.get("total")
    if not (isinstance(progress, int | float) and isinstance(total, int | float)):
        return None
    try:
        percent = 100.0 * (progress / total)
    except (OverflowError, ZeroDivisionError):
        return None
    return min(100.0, max(0.0, percent)) if total > 0 and math.isfinite(percent) else None


def _shown(data: object) -> str:
    if isinstance(data, str):
        return data
    try:
        return encode_json(data)
    except UnencodableResult as error:
        return f"(something that cannot be shown: {error.reason})"


def tell_log(record: LinkRecord, params: Mapping[str, object]) -> None:
    """Pass a line of the server's log on: to the call that it must be about, else to our own log."""
    level = _LEVELS.get(str(params.get("level")), "info")
    data = params.get("data")
    text = shortened(_shown(data))
    exchange = record.only_exchange()
    if exchange is not None:
        named = params.get("logger")
        exchange.context.log(level, text, {"logger": shortened_name(named)} if isinstance(named, str) else None)
    else:
        _log.log(_NUMBERS[level], "the MCP server %r: %s", record.name, text)
