"""A live view of a running supervisor, over a socket that only its own user can open.

`serve_live_view` is the host's side; `LiveView` looks at it, as ``armory-trio top`` does. docs/top.md tells how.
"""

from __future__ import annotations

from ._socket_client import LiveFrames, LiveView
from ._socket_messages import (
    Frame,
    LiveAbort,
    LiveAbortAnswer,
    LiveDetail,
    LiveEvent,
    LiveExecution,
    LiveHost,
    LiveLimit,
    LiveProgress,
    LiveRates,
    LiveTotals,
    LiveViewError,
    LiveViewGone,
    Mark,
    Query,
    SortKey,
)
from ._socket_paths import LiveSocket
from ._socket_paths import running as running_hosts
from ._socket_server import LiveServer, serve_live_view

__all__ = (
    "Frame",
    "LiveAbort",
    "LiveAbortAnswer",
    "LiveDetail",
    "LiveEvent",
    "LiveExecution",
    "LiveFrames",
    "LiveHost",
    "LiveLimit",
    "LiveProgress",
    "LiveRates",
    "LiveServer",
    "LiveSocket",
    "LiveTotals",
    "LiveView",
    "LiveViewError",
    "LiveViewGone",
    "Mark",
    "Query",
    "SortKey",
    "running_hosts",
    "serve_live_view",
)
