"""How a tool is named: namespace, name and version."""

from __future__ import annotations

from typing import Final, cast
from urllib.parse import quote, unquote

import attrs

from ..errors import DefinitionError
from ._checks import shown, text
from ._value import Value

DEFAULT_NAMESPACE: Final = "default"
_UNRESERVED: Final = "-_.!~*'()"
"""What percent-encoding of a URI component leaves alone beside letters and digits."""


def _trimmed(field: str, value: object) -> str:
    text("tool", field, value)
    trimmed = str(value).strip()
    if any("\ud800" <= char <= "\udfff" for char in trimmed):
        raise DefinitionError("tool", field, f"{trimmed!a} holds half a character (a lone surrogate)")
    return trimmed


def _name(value: str) -> str:
    return _trimmed("name", value)


def _namespace(value: str) -> str:
    return _trimmed("namespace", value) or DEFAULT_NAMESPACE


def _version(value: str | None) -> str | None:
    return None if value is None else _trimmed("version", value) or None


@attrs.frozen(eq=False, repr=False)
class ToolId(Value):
    """The identity of a tool, written ``namespace:name`` or ``namespace:name@version``.

    Each part is percent-encoded in the written form, so any text is a legal name. Surrounding white space is
    trimmed; a blank namespace is ``default``, a blank version is none.

    Raises:
        DefinitionError: A part is no text, or the name is blank.
    """

    name: str = attrs.field(converter=_name)
    namespace: str = attrs.field(default=DEFAULT_NAMESPACE, converter=_namespace)
    version: str | None = attrs.field(default=None, converter=_version)

    text: str = attrs.field(init=False, eq=False, repr=False)
    """The written form."""

    def __attrs_post_init__(self) -> None:
        if not self.name:
            raise DefinitionError("tool", "name", "is blank; give the tool a name")
        written = f"{quote(self.namespace, safe=_UNRESERVED)}:{quote(self.name, safe=_UNRESERVED)}"
        version = "" if self.version is None else f"@{quote(self.version, safe=_UNRESERVED)}"
        object.__setattr__(self, "text", written + version)

    def __str__(self) -> str:
        return self.text

    @classmethod
    def parse(cls, text: str) -> ToolId:
        """Read the written form. Text without a colon is a name in the namespace ``default``.

        Raises:
            DefinitionError: *text* is no text or blank, or its name is, or it encodes bytes that are no UTF-8.
        """
        if not isinstance(cast("object", text), str):
            raise DefinitionError("tool", "id", f"must be text, not {shown(text)}")
        if not text.strip():
            raise DefinitionError("tool", "id", "is blank; write namespace:name or namespace:name@version")
        namespace, colon, rest = text.partition(":")
        if not colon:
            namespace, rest = "", text
        name, _, version = rest.partition("@")
        return cls(_decoded(name), _decoded(namespace), _decoded(version))


def _decoded(part: str) -> str:
    try:
        return unquote(part, errors="strict")
    except UnicodeDecodeError:
        raise DefinitionError("tool", "id", f"{shown(part)} is percent-encoded, but not UTF-8") from None
