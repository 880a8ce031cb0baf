"""Bytes to messages, whichever way they came: one that a program cut a character of in half is mended."""

from __future__ import annotations

import json
import re
from typing import Final, cast

from mcp_types import JSONRPCError, JSONRPCMessage, jsonrpc_message_adapter

_HALF: Final = re.compile("[\ud800-\udfff]")


def message_of(data: bytes) -> tuple[JSONRPCMessage | None, object]:
    """The message in *data*; if it is none, None and the JSON that it is, which is None as well where it is none.

    A character that was cut in half, as programs do that cut texts, is replaced by U+FFFD. What is a result and an error
    at once is no message: the error may say that nothing was done.
    """
    told: object = None
    try:
        message = jsonrpc_message_adapter.validate_json(data, by_name=False)
    except ValueError:
        told = _mended(data)
        try:
            message = jsonrpc_message_adapter.validate_python(told, by_name=False)
        except ValueError:
            return None, told
    if isinstance(message, JSONRPCError) and b'"result"' in data:
        both = cast("dict[str, object] | None", _mended(data))
        if both is None or both.get("result") is not None:
            return None, both
    return message, told


def _mended(data: bytes) -> object:
    try:
        told: object = json.loads(data.decode("utf-8", "replace"))
        return json.loads(_HALF.sub("\ufffd", json.dumps(told, ensure_ascii=False)))
    except (ValueError, RecursionError):
        return None
