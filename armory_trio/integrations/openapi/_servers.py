"""The one server that all requests go to, fixed when the document is imported."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, cast
from urllib.parse import unquote, urlsplit

import httpx2
import msgspec

from ...definitions._checks import shown
from ...errors import DefinitionError
from ._references import Node
from ._styles import leads_elsewhere

__all__ = ("Server", "ServerChoice", "server_of")

ServerChoice = str | Mapping[str, str]
"""The base URL; or values for the variables of the document's first server."""

_SUBJECT: Final = "toolbox_from_openapi"
_VARIABLE: Final = re.compile(r"\{([^{}]+)\}")


class Server(msgspec.Struct, frozen=True):
    """Where requests go.

    Args:
        origin: Scheme, host and port, as in ``https://api.example.com``.
        path: What stands before each path of the document, without a slash at its end.
    """

    origin: str
    path: str


def server_of(root: Node, chosen: object) -> Server:
    """The server that *chosen* names, or the first of the document.

    Raises:
        DefinitionError: There is none, or its URL is no absolute one of HTTP.
    """
    if isinstance(chosen, str):
        return _parsed(chosen, "server")
    if chosen is not None and not isinstance(chosen, Mapping):
        raise DefinitionError(_SUBJECT, "server", f"must be a base URL, or values of variables, not {shown(chosen)}")
    first = root.child("servers").child(0)
    url = first.text("url")
    if not url:
        raise DefinitionError(_SUBJECT, "server", "the document names no server; give its base URL as server=")
    return _parsed(_filled(url, first, cast("Mapping[str, object]", chosen or {})), "server")


def _filled(url: str, node: Node, values: Mapping[str, object]) -> str:
    """The URL with its variables filled in: by what was chosen, which must be legal, or by their defaults."""
    variables = node.child("variables")
    for name in values:
        if f"{{{name}}}" not in url:
            raise DefinitionError(_SUBJECT, "server", f"{url!r} has no variable {name!r}")

    def value(match: re.Match[str]) -> str:
        declared = variables.child(match[1])
        chosen = values.get(match[1], declared.members.get("default"))
        if chosen is None:
            raise DefinitionError(_SUBJECT, "server", f"the variable {match[1]!r} of {url!r} has no value; give one")
        legal = declared.members.get("enum")
        if isinstance(legal, list) and chosen not in legal:
            among = ", ".join(map(str, cast("list[object]", legal)))
            raise DefinitionError(_SUBJECT, "server", f"the variable {match[1]!r} is one of {among}, not {chosen!r}")
        return str(chosen)

    return _VARIABLE.sub(value, url)


def _parsed(url: str, field: str) -> Server:
    wanted = "must be an absolute http or https URL without a user, query or fragment"
    try:
        parts, known = urlsplit(url), httpx2.URL(url)
    except (ValueError, httpx2.InvalidURL) as error:
        raise DefinitionError(_SUBJECT, field, f"{wanted}, not {shown(url)}") from error
    if known.scheme not in ("http", "https") or not known.host or known.userinfo or parts.query or parts.fragment:
        hidden = shown(url) if not known.userinfo else "one with a user in it"
        raise DefinitionError(_SUBJECT, field, f"{wanted}, not {hidden}; give one as server=")
    if leads_elsewhere(unquote(parts.path)):
        raise DefinitionError(_SUBJECT, field, f"{wanted}, and without the steps . and .., not {shown(url)}")
    origin = f"{known.scheme}://{known.netloc.decode('ascii')}"
    return Server(origin, known.raw_path.decode("ascii").rstrip("/"))
