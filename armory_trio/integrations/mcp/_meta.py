"""What both sides of a connection call things in the ``_meta`` of requests, results and tools."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

IDEMPOTENCY_KEY: Final = "armory-trio/idempotency-key"
"""In a request: what makes it the same call as another."""

EXECUTION: Final = "armory-trio/execution-id"
"""In a result: the execution, as the host's snapshots and logs name it."""

OUTCOME: Final = "armory-trio/outcome"
EFFECT: Final = "armory-trio/effect"
ERROR: Final = "armory-trio/error"
ACTION: Final = "armory-trio/action"
"""In a result: how it ended, what the world may have seen, why it failed, what somebody has to do first."""

TOOL_ID: Final = "armory-trio/id"
DIGEST: Final = "armory-trio/definition-digest"
EFFECT_CLASS: Final = "armory-trio/effect-class"
TAGS: Final = "armory-trio/tags"
"""In a listed tool: its whole id, what its definition amounts to, what it does to the world, words to find it by."""

_IDS: Final = "(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
_TRACEPARENT: Final = re.compile(f"00-{_IDS}|(?!00|ff)[0-9a-f]{{2}}-{_IDS}(?:-.*)?")
"""As W3C Trace Context has it: what follows the flags is for versions that are still to come."""

_PARENT: Final = "traceparent"
_ALONG: Final = ("tracestate", "baggage")
TRACE: Final = (_PARENT, *_ALONG)
"""In a request: the context of a trace, under the names that W3C gives it."""


def trace_of(meta: Mapping[str, object]) -> dict[str, str]:
    """The W3C trace context in the ``_meta`` of a request; nothing when there is none, or when it is malformed."""
    parent = meta.get(_PARENT)
    if not isinstance(parent, str) or _TRACEPARENT.fullmatch(parent) is None:
        return {}
    along = ((name, meta.get(name)) for name in _ALONG)
    return {_PARENT: parent, **{name: value for name, value in along if isinstance(value, str)}}
