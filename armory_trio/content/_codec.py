"""Any Python result as content that a model can read: exact, or a clear error, never a repr.

docs/content.md says what becomes what. `_plain` writes what is JSON already, `_writer` everything else.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ..definitions._content import Content, JsonContent
from ._blocks import text_block
from ._plain import plain_text
from ._scalars import to_ascii
from ._unencodable import UnencodableResult, type_name
from ._writer import MAX_DEPTH, Writer


def encode_content(value: object) -> tuple[Content, ...]:
    """What a tool returned, as content blocks for a model. Never empty, and never changes *value*.

    Text stays text, content blocks stay blocks, everything else becomes compact JSON.

    Raises:
        UnencodableResult: Something in *value* has no faithful form; the error says where, and what would be right.
    """
    if type(value) is str:
        return (text_block(value),)
    text = plain_text(value, MAX_DEPTH)
    if text is not None:
        return (JsonContent(text),)
    writer = Writer(value, hoisting=True)
    with _blaming_the_value(writer):
        return tuple(writer.blocks(value))


def encode_json(value: object, *, ascii: bool = False) -> str:
    """What a tool returned, as JSON text by the same rules; pictures and sounds are ``data:`` URIs in it.

    Args:
        value: Any Python value.
        ascii: Escape everything beyond ASCII, so that the text passes through any encoding.

    Raises:
        UnencodableResult: As for `encode_content`.
    """
    text = plain_text(value, MAX_DEPTH)
    if text is None:
        writer = Writer(value, hoisting=False)
        with _blaming_the_value(writer):
            text = writer.json(value)
    return to_ascii(text) if ascii else text


@contextmanager
def _blaming_the_value(writer: Writer) -> Generator[None]:
    """Turn what the value's own code raises while it is read into the error that says where."""
    try:
        yield
    except UnencodableResult:
        raise
    except RecursionError as error:
        writer.fail(writer.innermost, "nested too deeply for the stack that is left: return something flatter", error)
    except Exception as error:  # noqa: BLE001  # whatever the value's own code raises
        writer.fail(writer.innermost, f"reading it raised {type_name(error)}: {_message(error)}", error)


def _message(error: Exception) -> str:
    try:
        return str(error) or "no message"
    except Exception:  # noqa: BLE001  # an exception's __str__ is foreign code too
        return "its message cannot be read"
