"""The body of a request, as the document declares it: in which of the offered forms it is sent, and of what it is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

import msgspec

from ._flattening import Fields, fields_of
from ._losses import Losses
from ._media import MediaKind, base_type, in_utf_8, is_media_type, kind_of_media
from ._parts import BINARY, Part, PartKind
from ._references import Node, References
from ._schemas import Schema, Schemas
from ._styles import Parameter, Style

__all__ = ("Body", "body_of")

_PREFERENCE: Final[tuple[MediaKind, ...]] = ("json", "form", "multipart", "text", "binary")
"""Of several forms that are offered the first of these is sent; of one kind, the first in the document."""


class Body(msgspec.Struct, frozen=True, eq=False):
    """What is sent as the body.

    Args:
        media_type: What ``Content-Type`` says, without the boundary of parts.
        kind: How it is written.
        required: It has to be there.
        schema: That of the whole.
        fields: Its members, each an argument of its own; None where the whole is one argument.
        parts: How the members of a form are written, by their names. Others are written by their values.
    """

    media_type: str
    kind: MediaKind
    required: bool
    schema: Schema
    fields: Fields | None
    parts: Mapping[str, Part]


def body_of(operation: Node, references: References, schemas: Schemas, losses: Losses) -> Body | None:
    """The body that *operation* takes; None if it takes none.

    Raises:
        DocumentFault: It can't be read.
    """
    declared = operation.child("requestBody")
    if declared.value is None:
        return None
    node = references.resolve(declared)
    offered: list[tuple[MediaKind, str, Node]] = sorted(
        (
            (kind_of_media(media_type), media_type, holder)
            for media_type, holder in node.child("content").children()
            if is_media_type(media_type)
        ),
        key=lambda each: _PREFERENCE.index(each[0]),
    )
    if not offered:
        losses.add(node.where, "dropped", "a body without a media type")
        return None
    kind, media_type, holder = offered[0]
    required = node.flag("required")
    written = {"*/*": "application/json", "application/*": "application/json"}.get(base_type(media_type), media_type)
    if "*" in written:
        written = "text/plain" if kind == "text" else "application/octet-stream"
    reader = _Reader(references, schemas, losses)
    if kind != "binary":
        written = reader.in_utf_8(written, holder)
    if kind in ("text", "binary"):
        whole: Schema = {"type": "string"} if kind == "text" else dict(BINARY)
        return Body(written, kind, required, whole, None, {})
    schema_node = references.resolve(holder).child("schema")
    parts = {} if kind == "json" else reader.parts(schema_node, references.resolve(holder).child("encoding"), kind)
    schema = reader.schema(schema_node, parts)
    if kind != "json" and schema is True:
        schema = dict(_SOME_OBJECT)
    return Body(written, kind, required, schema, reader.fields(schema, required=required), parts)


class _Reader:
    """Reads the schema of one body, and how its members are written."""

    def __init__(self, references: References, schemas: Schemas, losses: Losses) -> None:
        self._references = references
        self._schemas = schemas
        self._losses = losses

    def in_utf_8(self, media_type: str, node: Node) -> str:
        """*media_type*, which stands at *node*, with the charset that is sent."""
        sent = in_utf_8(media_type)
        if sent != media_type:
            self._losses.add(node.where, "assumed", f"it is sent in UTF-8, and not as {media_type!r} says")
        return sent

    def schema(self, node: Node, parts: Mapping[str, Part]) -> Schema:
        """The schema at *node*; members that are files say how a model gives them."""
        if node.value is None:
            return True
        files = [name for name, part in parts.items() if part.kind == "file"]
        if not files:
            return self._schemas.of(node)
        return self._schemas.of(_with_files(self._references.resolve(node), files))

    def fields(self, schema: Schema, *, required: bool) -> Fields | None:
        """The members of *schema* if each can be an argument of its own.

        Whoever leaves out a body that may be left out must not be made to give a part of it.
        """
        found = fields_of(schema, self._schemas.definitions(telling=False))
        if found is None or required:
            return found
        usual = any(isinstance(each, dict) and "default" in each for each in found.properties.values())
        return None if usual or found.required else found

    # ── the parts of a form ──────────────────────────────────────────────────────────────────────────────────────

    def parts(self, schema: Node, encoding: Node, kind: MediaKind) -> dict[str, Part]:
        """How the members of a form are written."""
        found: dict[str, Part] = {}
        if schema.value is None:
            return found
        properties = self._references.resolve(schema).child("properties")
        for name in properties.members:
            node = self._references.resolve(properties.child(name))
            found[name] = self._part(name, node, encoding.child(name), kind)
        return found

    def _part(self, name: str, node: Node, told: Node, kind: MediaKind) -> Part:
        content_type = told.text("contentType").partition(",")[0].strip()
        if told.child("headers").members:
            self._losses.add(told.child("headers").where, "dropped", "headers of a part are not sent")
        if kind == "multipart":
            part_kind = self._kind(node, content_type)
            known = content_type if "*" not in content_type and is_media_type(content_type) else ""
            if part_kind != "file":
                known = self.in_utf_8(known, told)
            return Part(name, part_kind, known or _USUAL[part_kind])
        style = told.text("style") or "form"
        if content_type and kind_of_media(content_type) == "json":
            return Part(name, "json", content_type)
        explode = told.flag("explode", style in ("form", "deepObject"))
        parameter = Parameter(name, "query", cast("Style", style), explode, told.flag("allowReserved"))
        styled = any(key in told.members for key in ("style", "explode", "allowReserved"))
        of_objects = not styled and self._holds_objects(node)
        return Part(name, "json" if of_objects else "text", "", parameter)

    def _kind(self, node: Node, content_type: str) -> PartKind:
        inner = self._references.resolve(node.child("items")) if node.value and "items" in node.members else node
        if _is_binary(inner) or (content_type and kind_of_media(content_type) == "binary"):
            return "file"
        if content_type:
            return "json" if kind_of_media(content_type) == "json" else "text"
        return "json" if self._holds_objects(node) else "text"

    def _holds_objects(self, node: Node) -> bool:
        inner = self._references.resolve(node.child("items")) if "items" in node.members else node
        return inner.text("type") == "object" or "properties" in inner.members or "allOf" in inner.members


_SOME_OBJECT: Final[Mapping[str, object]] = {"type": "object"}
_USUAL: Final[Mapping[PartKind, str]] = {
    "file": "application/octet-stream",
    "json": "application/json",
    "text": "text/plain; charset=utf-8",
}


def _is_binary(node: Node) -> bool:
    """Whether a part of this schema is bytes: by the format of 3.0, or by the media type of 3.1."""
    if node.text("format") == "binary" or node.text("type") == "file":
        return True
    return "contentMediaType" in node.members and "contentEncoding" not in node.members


def _with_files(node: Node, files: list[str]) -> Node:
    """*node* with another schema for those of its properties that are *files*."""
    properties = node.child("properties")
    replaced: dict[str, object] = dict(properties.members)
    for name in files:
        told = properties.child(name)
        items = told.members.get("type") == "array" or "items" in told.members
        about = {"description": told.text("description")} if told.text("description") else {}
        file: dict[str, object] = {**BINARY, **about}
        replaced[name] = {"type": "array", "items": dict(BINARY), **about} if items else file
    return Node({**node.members, "properties": replaced}, node.document, node.pointer)
