"""Authorization with a person's consent: the SDK's OAuth, with a place to keep tokens and a way to ask."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, Protocol, cast
from urllib.parse import parse_qs, urlsplit

import attrs
import msgspec
import trio
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)

from ....definitions._checks import shown, text
from ....errors import DefinitionError

_SUBJECT: Final = "OAuth"
_OWNER_ONLY: Final = 0o600


class TokenStorage(Protocol):
    """Where tokens and the client's registration are kept. One storage is for one server."""

    async def get_tokens(self) -> OAuthToken | None: ...
    async def set_tokens(self, tokens: OAuthToken) -> None: ...
    async def get_client_info(self) -> OAuthClientInformationFull | None: ...
    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None: ...


class MemoryTokenStorage:
    """Keeps them as long as the object lives."""

    def __init__(self) -> None:
        self._tokens: OAuthToken | None = None
        self._client: OAuthClientInformationFull | None = None

    def __repr__(self) -> str:
        return "<MemoryTokenStorage>"

    async def get_tokens(self) -> OAuthToken | None:
        """The tokens, if there are any."""
        await trio.lowlevel.checkpoint()
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep *tokens*. Cancelled: they are kept."""
        self._tokens = tokens
        await trio.lowlevel.checkpoint()

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """The client's registration, if it has one."""
        await trio.lowlevel.checkpoint()
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep the registration. Cancelled: it is kept."""
        self._client = client_info
        await trio.lowlevel.checkpoint()


class _Kept(msgspec.Struct, frozen=True):
    tokens: msgspec.Raw | None = None
    client: msgspec.Raw | None = None


class FileTokenStorage:
    """Keeps them in a file that only its owner can read (mode 0600), replaced as a whole with each change.

    Args:
        path: The file. Its directory has to be there. Whoever reads it can act as the person who agreed.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._lock = trio.Lock()

    def __repr__(self) -> str:
        return f"<FileTokenStorage {str(self._path)!r}>"

    async def get_tokens(self) -> OAuthToken | None:
        """The tokens, if there are any.

        Raises:
            PermissionError: Others than its owner can read the file.
            ValueError: It is damaged.
        """
        kept = await trio.to_thread.run_sync(self._read)
        return None if kept.tokens is None else OAuthToken.model_validate_json(bytes(kept.tokens))

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep *tokens*. Cancelled: they are kept, or nothing has changed."""
        await self._change(lambda kept: msgspec.structs.replace(kept, tokens=_raw(tokens)))

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """The client's registration, if it has one.

        Raises:
            PermissionError: Others than its owner can read the file.
            ValueError: It is damaged.
        """
        kept = await trio.to_thread.run_sync(self._read)
        return None if kept.client is None else OAuthClientInformationFull.model_validate_json(bytes(kept.client))

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep the registration. Cancelled: it is kept, or nothing has changed."""
        await self._change(lambda kept: msgspec.structs.replace(kept, client=_raw(client_info)))

    async def _change(self, change: Callable[[_Kept], _Kept]) -> None:
        async with self._lock:
            await trio.to_thread.run_sync(lambda: self._write(change(self._read())))

    def _read(self) -> _Kept:
        try:
            with self._path.open("rb") as file:
                if os.name == "posix" and os.fstat(file.fileno()).st_mode & 0o077:
                    raise PermissionError(f"{self._path}: others can read these tokens; run: chmod 600 {self._path}")
                return msgspec.json.decode(file.read(), type=_Kept)
        except FileNotFoundError:
            return _Kept()

    def _write(self, kept: _Kept) -> None:
        fresh = self._path.with_name(f"{self._path.name}.{os.getpid()}.new")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _OWNER_ONLY)
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, _OWNER_ONLY)
            file.write(msgspec.json.encode(kept))
            file.flush()
            os.fsync(descriptor)
        fresh.replace(self._path)


def _raw(value: OAuthToken | OAuthClientInformationFull) -> msgspec.Raw:
    return msgspec.Raw(value.model_dump_json(exclude_none=True).encode())


@attrs.frozen(eq=False, kw_only=True)
class OAuth:
    """Authorization code with PKCE, and refreshed tokens, as a server of MCP asks for it.

    Args:
        redirect: Takes a person to a page: gets its URL, and returns once that was opened.
        callback: Waits for the person to come back: returns the whole URL that they were sent to in the end.
        redirect_url: Where the authorization server sends them: an address of the host, such as one of a small server
            on the loopback interface.
        storage: Where tokens are kept. In memory, a person has to agree again in each process.
        scopes: What to ask for; by default what the server says that it needs.
        client_name: What the person is shown.
        client_id: A client that is registered already; without one the host registers itself.
        client_secret: Its secret, if it has one.

    Raises:
        DefinitionError: One of them is not legal.
    """

    redirect: Callable[[str], Awaitable[None]]
    callback: Callable[[], Awaitable[str]]
    redirect_url: str
    storage: TokenStorage = attrs.field(factory=MemoryTokenStorage)
    scopes: tuple[str, ...] = ()
    client_name: str = "armory-trio"
    client_id: str | None = None
    client_secret: str | None = attrs.field(default=None, repr=False)

    def __attrs_post_init__(self) -> None:
        for field in ("redirect", "callback"):
            given: object = getattr(self, field)
            if not callable(given):
                raise DefinitionError(_SUBJECT, field, f"must be an async function, not {shown(given)}")
        for field in ("redirect_url", "client_name"):
            text(_SUBJECT, field, getattr(self, field), blank=False)
        if self.client_secret is not None and self.client_id is None:
            raise DefinitionError(_SUBJECT, "client_secret", "belongs to a client_id; give that, too")

    def provider(self, server_url: str, person: Callable[[], AbstractContextManager[None]]) -> OAuthClientProvider:
        """What authorizes requests to *server_url*; *person* is what stands round the waiting for one."""
        metadata = OAuthClientMetadata.model_validate(
            {
                "redirect_uris": [self.redirect_url],
                "client_name": self.client_name,
                "scope": " ".join(self.scopes) or None,
                "grant_types": ["authorization_code", "refresh_token"],
                "response_types": ["code"],
                "token_endpoint_auth_method": "none" if self.client_secret is None else "client_secret_post",
            }
        )
        storage = self.storage if self.client_id is None else _Registered(self.storage, self)

        async def redirect(url: str) -> None:
            with person():
                await self.redirect(url)

        async def callback() -> AuthorizationCodeResult:
            with person():
                return await self._code()

        return OAuthClientProvider(server_url, metadata, storage, redirect, callback)

    async def _code(self) -> AuthorizationCodeResult:
        query = parse_qs(urlsplit(await self.callback()).query, keep_blank_values=True)
        if "error" in query:
            described = " ".join(query.get("error_description", ()))
            raise PermissionError(f"the authorization server refused: {query['error'][0]} {described}".rstrip())
        if not query.get("code"):
            raise PermissionError("the person came back without a code, so nothing was agreed to")
        return AuthorizationCodeResult(
            code=query["code"][0], state=query.get("state", [None])[0], iss=query.get("iss", [None])[0]
        )


class _Registered:
    """A storage whose client is registered already."""

    def __init__(self, inner: TokenStorage, oauth: OAuth) -> None:
        self._inner = inner
        self._client = OAuthClientInformationFull.model_validate(
            {
                "client_id": cast("str", oauth.client_id),
                "client_secret": oauth.client_secret,
                "redirect_uris": [oauth.redirect_url],
                "token_endpoint_auth_method": "none" if oauth.client_secret is None else "client_secret_post",
            }
        )

    async def get_tokens(self) -> OAuthToken | None:
        return await self._inner.get_tokens()

    async def set_tokens(self, tokens: OAuthToken) -> None:
        await self._inner.set_tokens(tokens)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        await trio.lowlevel.checkpoint()
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._client = client_info
        await trio.lowlevel.checkpoint()
