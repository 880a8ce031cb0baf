"""Bytes to messages, whichever way they came: one that a program cut a character of in half is mended."""

from __future__ import annotations

import codecs
import json
import re
from typing import Final, cast

from mcp_types import JSONRPCError, JSONRPCMessage, jsonrpc_message_adapter

_NO_ERROR: Final = ("result", "method")
"""What an error does not have."""

_HALF: Final = re.compile("[\ud800-\udfff]")


def unmarked(data: bytes) -> bytes:
    """*data* without the byte order mark that some programs begin what they write with."""
    return data.removeprefix(codecs.BOM_UTF8)


def message_of(data: bytes) -> tuple[JSONRPCMessage | None, object]:
    """The message in *data*; if it is none, None and the JSON that it is, which is None as well where it is none.

    A character that was cut in half, as programs do that cut texts, is replaced by U+FFFD. What is an error and a result or
    a request at once is no message: the error may say that nothing was done.
    """
    told: object = None
    data = unmarked(data)
    try:
        message = jsonrpc_message_adapter.validate_json(data, by_name=False)
    except ValueError:
        told = _mended(data)
        try:
            message = jsonrpc_message_adapter.validate_python(told, by_name=False)
        except ValueError:
            return None, told
    if isinstance(message, JSONRPCError):
        both = cast("dict[str, object] | None", _mended(data))
        if both is None or any(both.get(part) is not None for part in _NO_ERROR):
            return None, both
    return message, told


def _mended(data: bytes) -> object:
    try:
        told: object = json.loads(data.decode("utf-8", "replace"))
        return json.loads(_HALF.sub("\ufffd", json.dumps(told, ensure_ascii=False)))
    except (ValueError, RecursionError):
        return None
