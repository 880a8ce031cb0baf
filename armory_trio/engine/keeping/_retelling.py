"""What a ledger keeps of a result so that it can be told again, and how that is read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, cast

import msgspec

from ...definitions import TextContent, ToolResult
from .._copies import own_copy

if TYPE_CHECKING:  # loaded by who has a key
    from ...definitions._outputs import OutputContract

NOT_KEPT: Final = "It was done before. What it answered then was not kept."
"""What is told in place of a value."""

CHUNKS_KEPT: Final = 1 << 20
"""Bytes of JSON up to which the chunks of a stream are kept: a long answer of a model is a hundredth of that, and a row
of a database should not be larger."""


def written(result: ToolResult[object], output: OutputContract | None) -> str | None:
    """*result* as JSON text: all of it, or else without what has no JSON form. None if even that can't be written."""
    for form, contract in ((result, output), (_without_chunks(result), output), (without_content(result), None)):
        text = _tried(form, contract)
        if text is not None:
            return text
    return None


def _tried(result: ToolResult[object], output: OutputContract | None) -> str | None:
    import json  # noqa: PLC0415  # only who has a key pays for it

    from ...definitions import result_to_json  # noqa: PLC0415  # as above

    try:
        return json.dumps(result_to_json(result, output), ensure_ascii=True, separators=(",", ":"))
    except Exception:  # code of the value's own, or it has no JSON form: it happened, and can't be told again
        return None


def _without_chunks(result: ToolResult[object]) -> ToolResult[object]:
    return msgspec.structs.replace(result, chunks=())


def without_content(result: ToolResult[object]) -> ToolResult[object]:
    """*result* without its value, or without the details of its error, and without chunks."""
    error = result.error
    if error is not None:
        error = msgspec.structs.replace(error, details=None)
        return msgspec.structs.replace(result, error=error, chunks=())
    return msgspec.structs.replace(result, value=None, content=(TextContent(NOT_KEPT),), chunks=())


def with_chunks(result: ToolResult[object], chunks: Iterable[object] | None, *, live: bool) -> ToolResult[object]:
    """*result* with the chunks that it was made of, if there are not too many of them.

    Args:
        result: How a stream ended.
        chunks: What it yielded; None if that was not collected.
        live: Whether somebody read them as they came: then a value whose chunks are not kept is not kept either.
    """
    if chunks is not None and fit(chunks):
        return msgspec.structs.replace(result, chunks=tuple(chunks))
    return without_content(result) if live or chunks is None else _without_chunks(result)


def apart(result: ToolResult[object]) -> ToolResult[object]:
    """*result*, with a value, chunks and an error that are nobody else's, as far as they can be copied."""
    return msgspec.structs.replace(
        result, value=own_copy(result.value), chunks=own_copy(result.chunks), error=own_copy(result.error)
    )


def fit(chunks: Iterable[object]) -> bool:
    """Whether *chunks* have a JSON form of at most `CHUNKS_KEPT` bytes."""
    left = CHUNKS_KEPT
    for chunk in chunks:
        left -= size_of(chunk)
        if left < 0:
            return False
    return True


def size_of(chunk: object) -> int:
    """Bytes of the JSON form of *chunk*; more than are kept if it has none."""
    try:
        return len(msgspec.json.encode(chunk))
    except Exception:  # code of the chunk's own, or it has no JSON form
        return CHUNKS_KEPT + 1


def read(text: str, output: OutputContract | None) -> ToolResult[object]:
    """What `written` wrote, with its value as the tool gave it.

    Raises:
        Exception: It can't be read, or *output* refuses it.
    """
    import json  # noqa: PLC0415  # as above

    from ...definitions import result_from_json  # noqa: PLC0415  # as above

    document: object = json.loads(text)  # halves of characters, too
    result = result_from_json(cast("dict[str, object]", document))
    if output is None or result.outcome != "success" or is_without_content(result):
        return result
    return msgspec.structs.replace(result, value=output.load(result.value))


def is_without_content(result: ToolResult[object]) -> bool:
    """Whether the value was not kept."""
    return result.value is None and result.content == (TextContent(NOT_KEPT),)
