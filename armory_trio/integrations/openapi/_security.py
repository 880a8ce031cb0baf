"""What an operation asks for of credentials, and how they are put into a request. They are nowhere else."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from html import escape
from inspect import isawaitable
from typing import Final, Literal, cast
from urllib.parse import quote

import msgspec

from ...definitions import ToolContext, ToolFailure
from ._losses import DocumentFault, Losses
from ._parameters import can_hold_key
from ._references import Node, References
from ._styles import Pair

__all__ = (
    "Alternative",
    "AuthCallback",
    "BasicCredentials",
    "Credentials",
    "Granted",
    "SecurityRequirement",
    "granted_for",
    "security_of",
)

_Kind = Literal["apiKey", "basic", "bearer", "oauth2", "openIdConnect"]
_Place = Literal["header", "query", "cookie"]
_PLACES: Final[Mapping[str, _Place]] = {"header": "header", "query": "query", "cookie": "cookie"}


class SecurityRequirement(msgspec.Struct, frozen=True):
    """One credential that a request needs.

    Args:
        scheme: What the document calls it.
        kind: What it is. Of ``oauth2`` and ``openIdConnect`` an access token is wanted, as of ``bearer``.
        scopes: What an access token has to be good for.
        tool: The name of the tool that runs.
        origin: The server that will see it: scheme, host and port.
        place: Where an API key stands: ``header``, ``query`` or ``cookie``; ``header`` for everything else.
        name: The name of the header, the parameter or the cookie.
    """

    scheme: str
    kind: _Kind
    scopes: tuple[str, ...]
    tool: str
    origin: str
    place: _Place = "header"
    name: str = "Authorization"


class BasicCredentials(msgspec.Struct, frozen=True):
    """A user and a password, for ``basic``. Never shown."""

    user: str
    password: str

    @property
    def is_sendable(self) -> bool:
        """Whether they can be told apart again: both are text, and the user has no colon."""
        texts = isinstance(cast("object", self.user), str) and isinstance(cast("object", self.password), str)
        return texts and ":" not in self.user

    def __repr__(self) -> str:
        return "BasicCredentials(...)"


Credentials = str | BasicCredentials
"""A key, a token, or a user and a password."""

AuthCallback = Callable[[SecurityRequirement, ToolContext], Credentials | Awaitable[Credentials | None] | None]
"""Answers the credential for one requirement; None if there is none."""

Alternative = tuple[SecurityRequirement, ...]
"""Requirements that together are enough. No requirement at all is enough, too."""


class Granted(msgspec.Struct, frozen=True):
    """Credentials as they stand in a request. Never shown.

    Args:
        headers: Names and values.
        query: Names and values, encoded.
        cookies: Names and values, encoded.
        secrets: What must not be seen in what comes back.
    """

    headers: tuple[tuple[str, bytes], ...] = ()
    query: tuple[Pair, ...] = ()
    cookies: tuple[Pair, ...] = ()
    secrets: tuple[re.Pattern[bytes], ...] = ()  # in all forms in which they may come back

    def __repr__(self) -> str:
        return "Granted(...)"


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def security_of(
    operation: Node, references: References, named: tuple[str, str], losses: Losses
) -> tuple[Alternative, ...]:
    """The alternatives of which one has to be met; an empty one where nothing is asked for.

    Args:
        operation: Where it stands.
        references: Those of the document.
        named: The name of the tool and the origin of the server.
        losses: Those of the operation.

    Raises:
        DocumentFault: None of the alternatives can be read.
    """
    own = operation.child("security")
    asked = references.root.child("security") if own.value is None else own
    if asked.value is None or asked.value == []:
        return ((),)
    found: list[Alternative] = []
    for alternative in asked.items():
        try:
            found.append(_alternative(alternative, references, named, losses))
        except DocumentFault as fault:
            losses.add(fault.pointer, "dropped", fault.why)
    if not found:
        raise asked.fault("asks for credentials of which none is understood")
    return tuple(sorted(found, key=lambda alternative: not alternative))  # without credentials only as the last way


def _alternative(node: Node, references: References, named: tuple[str, str], losses: Losses) -> Alternative:
    schemes = references.root.child("components").child("securitySchemes")
    found: list[SecurityRequirement] = []
    for name in node.members:
        if schemes.child(name).value is None:
            raise node.fault(f"asks for {name!r}, which is no security scheme of the document")
        scopes = tuple(str(scope.value) for scope in node.child(name).items())
        requirement = _requirement(name, references.resolve(schemes.child(name)), scopes, named)
        if requirement is None:
            losses.add(schemes.child(name).where, "assumed", f"{name!r} is left to the HTTP client's own settings")
        else:
            found.append(requirement)
    return tuple(found)


def _requirement(
    name: str, scheme: Node, scopes: tuple[str, ...], named: tuple[str, str]
) -> SecurityRequirement | None:
    """What the security scheme called *name* asks for; None if only the client itself can answer it."""
    kind, how = scheme.text("type"), scheme.text("scheme").lower()
    if kind == "apiKey":
        place, key = _PLACES.get(scheme.text("in")), scheme.text("name")
        if place is None or not key:
            raise scheme.fault("an API key needs a name, and says in: header, query or cookie")
        if place == "header" and not can_hold_key(key):
            raise scheme.fault(f"the header {key!r} can't hold an API key")
        return SecurityRequirement(name, "apiKey", scopes, *named, place=place, name=key)
    if kind == "http" and how in ("basic", "bearer"):
        return SecurityRequirement(name, cast("_Kind", how), scopes, *named)
    if kind in ("oauth2", "openIdConnect"):
        return SecurityRequirement(name, cast("_Kind", kind), scopes, *named)
    return None


# ── asking ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def granted_for(alternatives: tuple[Alternative, ...], auth: AuthCallback | None, ctx: ToolContext) -> Granted:
    """The credentials for the first alternative that can be met.

    Cancelled: the host's callback is; nothing was sent.

    Raises:
        ToolFailure: None can be met, or the callback failed; nothing was sent.
    """
    for alternative in alternatives:
        found: list[tuple[SecurityRequirement, Credentials]] = []
        for requirement in alternative:
            answer = None if auth is None else await _asked(auth, requirement, ctx)
            if answer is None:
                break
            found.append((requirement, answer))
        else:
            return _granted(found)
    wanted = " or ".join(" and ".join(each.scheme for each in alternative) for alternative in alternatives)
    raise _refusal(f"The host has no credentials for this tool ({wanted}), so nothing was sent.")


async def _asked(auth: AuthCallback, requirement: SecurityRequirement, ctx: ToolContext) -> Credentials | None:
    try:
        answer = auth(requirement, ctx)
        credentials: object = await answer if isawaitable(answer) else answer
    except ToolFailure:
        raise
    except Exception as error:  # noqa: BLE001  # the host's own code; its words could hold the secret
        reason = f"asking the host for {requirement.scheme!r} raised {type(error).__name__}, so nothing was sent."
        raise _refusal(reason) from None
    if credentials is None:
        return None
    if requirement.kind == "basic":
        if isinstance(credentials, BasicCredentials) and credentials.is_sendable:
            return credentials
    elif isinstance(credentials, str) and credentials:
        return credentials
    wanted = "BasicCredentials with a user without a colon" if requirement.kind == "basic" else "text"
    raise _refusal(f"the host answered no {wanted} for {requirement.scheme!r}, so nothing was sent.")


def _granted(found: list[tuple[SecurityRequirement, Credentials]]) -> Granted:
    headers: list[tuple[str, bytes]] = []
    query: list[Pair] = []
    cookies: list[Pair] = []
    secrets: list[re.Pattern[bytes]] = []
    for requirement, credentials in found:
        secret = _secret(requirement, credentials)
        secrets += _pattern_of(secret.decode(errors="replace"))
        if isinstance(credentials, BasicCredentials):
            secrets += _pattern_of(credentials.password)
        if requirement.place == "query":
            query.append((quote(requirement.name, safe=""), quote(secret, safe="")))
        elif requirement.place == "cookie":
            cookies.append((quote(requirement.name, safe=""), quote(secret, safe="")))
        else:
            scheme = {"apiKey": b"", "basic": b"Basic "}.get(requirement.kind, b"Bearer ")
            headers.append((requirement.name, scheme + secret))
    return Granted(tuple(headers), tuple(query), tuple(cookies), tuple(secrets))


def _pattern_of(secret: str) -> list[re.Pattern[bytes]]:
    """*secret* as a server may send it back: any of its characters as it is, or as URLs, JSON or HTML escape it."""
    if len(secret) < _SHORTEST_SECRET:
        return []
    return [re.compile(b"".join(map(_forms_of, secret)))]


def _forms_of(char: str) -> bytes:
    plain = re.escape(char.encode(errors="replace"))
    if char.isascii() and char.isalnum():
        return plain
    in_url = "".join(f"%{byte:02x}" for byte in char.encode(errors="replace"))
    units = char.encode("utf-16-be", "replace").hex()
    in_json = "".join(rf"\\u{units[index : index + 4]}" for index in range(0, len(units), 4))
    in_html = "|".join(
        re.escape(escape(char)) if index == 0 else f"&#{code};"
        for index, code in enumerate(("", ord(char), f"x0*{ord(char):x}"))
    )
    forms = (plain, rb"\\" + plain, f"(?i:{in_url}|{in_json}|{in_html})".encode(), *([rb"\+"] if char == " " else []))
    return b"(?:" + b"|".join(forms) + b")"


_SHORTEST_SECRET: Final = 6
"""Characters of a secret that is looked for in what comes back; a shorter one would be found everywhere."""

_UNSENDABLE: Final = frozenset({*range(0x20), 0x7F})


def _secret(requirement: SecurityRequirement, credentials: Credentials) -> bytes:
    if isinstance(credentials, BasicCredentials):
        return b64encode(f"{credentials.user}:{credentials.password}".encode(errors="replace"))
    secret = credentials.encode(errors="replace")
    if requirement.place == "header" and (_UNSENDABLE & set(secret) or secret != secret.strip()):
        raise _refusal(f"the credential for {requirement.scheme!r} can't stand in a header, so nothing was sent.")
    return secret


def _refusal(words: str) -> ToolFailure:
    return ToolFailure(words, category="permission", code="CREDENTIALS_MISSING", effect="none", retryable=False)
