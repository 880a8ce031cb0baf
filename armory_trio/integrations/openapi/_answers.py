"""What the document promises about the responses of an operation."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from ...definitions import canonical_text
from ...errors import JsonError
from ._losses import Losses
from ._media import is_json, is_media_type
from ._references import Node, References
from ._schemas import Schema, Schemas, with_definitions

__all__ = ("Answers", "answers_of")

_GOOD: Final = re.compile(r"2(\d\d|XX|xx)")
_EMPTY: Final = ("204", "205")


class Answers(msgspec.Struct, frozen=True, eq=False):
    """What may come back when all goes well.

    Args:
        schema: JSON Schema 2020-12 of the value; None where nothing is promised that can be checked.
        accept: The media types to ask for, in the order of the document.
    """

    schema: dict[str, object] | None
    accept: tuple[str, ...]


def answers_of(operation: Node, references: References, schemas: Schemas, losses: Losses) -> Answers:
    """What the document says of the responses with a status of 200 to 299.

    Raises:
        DocumentFault: A response, or its schema, can't be read.
    """
    found: list[Schema] = []
    accept: dict[str, None] = {}
    typed = True
    for status, node in operation.child("responses").children():
        if not _GOOD.fullmatch(status):
            continue
        contents = [
            (media_type, references.resolve(holder).child("schema"))
            for media_type, holder in references.resolve(node).child("content").children()
            if is_media_type(media_type)
        ]
        # Where JSON is to be had, nothing else is asked for.
        wanted = [each for each in contents if is_json(each[0])] or contents
        accept.update(dict.fromkeys(media_type for media_type, _ in wanted))
        if status in _EMPTY:
            found.append({"type": "null"})
        elif not wanted:
            typed = False
        for media_type, schema in wanted:
            if is_json(media_type):
                found.append(True if schema.value is None else schemas.of(schema))
            else:
                typed = False
                losses.add(node.where, "dropped", f"what comes back as {media_type} is not checked")
    try:
        told = _together(found) if typed else None
    except JsonError as error:
        raise operation.child("responses").fault(f"a schema can't be written: {error.detail}") from error
    whole = None if told is None else with_definitions(told, schemas.definitions())
    return Answers(whole, tuple(accept))


def _together(found: list[Schema]) -> Schema | None:
    different = {canonical_text(schema, mode="exact"): schema for schema in found}
    if not different or True in found:
        return None
    alternatives = list(different.values())
    return alternatives[0] if len(alternatives) == 1 else {"anyOf": alternatives}
