"""OpenAI Responses: function calls out of the output items, outputs back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ._blocks import admitted, data_url, pieces_of
from ._detect import refuse_foreign
from ._message import MessageError, field, has, is_list, items, record, require_record, word, word_or_none
from ._openai_chat import OPENAI_MEDIA
from ._turn import Answer, Dialect, Found, Json, OtherCall, RawCall, Turn, WayBack, build_turn, cut_off

__all__ = ("RESPONSES", "RESPONSE_CUTS", "parse_response_tool_calls")

_SHAPES: Final = "a response, its list of output items or one output item"
RESPONSE_CUTS: Final = frozenset({"incomplete", "failed", "cancelled", "in_progress", "queued"})
"""Values of ``status`` that mean the response is not whole."""

_OPEN: Final = frozenset({"incomplete", "in_progress"})
"""The same for one item."""

_OTHER_CALLS: Final = frozenset({"program", "mcp_approval_request"})
"""Types of items that ask for work, though their names do not end in ``_call``."""


def parse_response_tool_calls(
    message: object, *, names: Mapping[str, str] | None = None, manifest: WayBack | None = None
) -> Turn:
    """The function calls of one response of the Responses API.

    A call in a namespace is named ``namespace:name``, which is the form of our own tool ids.

    Args:
        message: A response, its ``output`` list or one output item; decoded JSON or the SDK's own type.
        names: What the tools are called here, by the name that the provider knows. Other names pass as they are.
        manifest: What the model was offered: names and arguments are mapped back to what the tools' contracts say.

    Raises:
        MessageError: *message* is none of these, or its calls have the form of another provider.
        DefinitionError: *names* is no mapping, or *manifest* was made for another provider.
    """
    return refuse_foreign(message, build_turn(_found(message), RESPONSES, names, manifest))


def _found(message: object) -> Found:
    if is_list(message):
        return Found(message, "$")
    node = require_record(message, "$", _SHAPES)
    if has(node, "output") and word_or_none(node, "type") is None:
        output = field(node, "output")
        if output is None:
            raise MessageError("$.output", output, "a list of output items")
        status = word(node, "$", "status")
        reason = word_or_none(record(node, "$", "incomplete_details"), "reason") or status
        entries = items(output, "$.output", "a list of output items")
        return Found(entries, "$.output", reason, reason if status in RESPONSE_CUTS else None)
    if word_or_none(node, "type") is None:
        raise MessageError("$", node, _SHAPES)
    return Found((node,), "$")


def _read(item: object, path: str, cut: str | None) -> RawCall | OtherCall | None:
    kind = word(require_record(item, path, "an output item"), path, "type") or ""
    if kind == "function_call":
        return _function_call(item, path, cut)
    if kind.endswith("_call") or kind in _OTHER_CALLS:
        known_as = word_or_none(item, "call_id") or word_or_none(item, "id")
        return OtherCall(kind, known_as, word_or_none(item, "name"), path, word(item, path, "status") == "incomplete")
    return None


def _function_call(item: object, path: str, cut: str | None) -> RawCall:
    status, arguments, name = word(item, path, "status"), field(item, "arguments"), field(item, "name")
    reason = cut or (status if status in _OPEN else None)
    namespace = word(item, path, "namespace")
    if namespace and isinstance(name, str):
        name = f"{namespace}:{name}"
    return RawCall(
        word(item, path, "call_id"),
        name,
        arguments,
        None if reason is None else cut_off(reason, arguments),
        _echo(item, path),
    )


def _echo(item: object, path: str) -> Mapping[str, object]:
    """A call made by a program has to be answered to that program."""
    caller = record(item, path, "caller")
    caller_id = word(caller, f"{path}.caller", "caller_id")
    if word_or_none(caller, "type") != "program" or caller_id is None:
        return {}
    return {"caller": {"type": "program", "caller_id": caller_id}}


def _render(answers: Sequence[Answer]) -> list[Json]:
    outputs: list[Json] = []
    for call, result in answers:
        pieces = admitted(pieces_of(result), OPENAI_MEDIA)
        texts = [piece for piece in pieces if isinstance(piece, str)]
        output: object = "\n\n".join(texts)
        if len(texts) < len(pieces):
            output = [
                {"type": "input_text", "text": piece}
                if isinstance(piece, str)
                else {"type": "input_image", "image_url": data_url(piece)}
                for piece in pieces
            ]
        outputs.append({"type": "function_call_output", "call_id": call.reply_id, "output": output, **call.echo})
    return outputs


RESPONSES: Final = Dialect("openai-responses", _read, _render)
