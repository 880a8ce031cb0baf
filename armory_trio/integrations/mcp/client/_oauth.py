"""Authorization with a person's consent: the SDK's OAuth, with a place to keep tokens and a way to ask."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractContextManager, aclosing
from typing import Final, Literal, get_args
from urllib.parse import parse_qs, urlsplit

import attrs
import httpx2
import trio
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.utils import is_valid_client_metadata_url
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
)

from ....definitions._checks import one_of, shown, text
from ....errors import DefinitionError
from ._tokens import MemoryTokenStorage, TokenStorage

_SUBJECT: Final = "OAuth"
_NOT_ENOUGH: Final = (401, 403)
"""What a server answers to a token that does not do."""

SecretMethod = Literal["client_secret_basic", "client_secret_post"]
"""How a client that has a secret shows it: in a header, or in the form."""


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
        token_endpoint_auth_method: How it shows that: in a header, which every authorization server has to take, or in
            the form.
        metadata_url: Where the host publishes what its client is (a client ID metadata document): an https address
            with a path. An authorization server that takes such documents gets it as the client's name, and the host
            does not register there.

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
    token_endpoint_auth_method: SecretMethod = "client_secret_basic"  # noqa: S105  # the name of a way
    metadata_url: str | None = None

    def __attrs_post_init__(self) -> None:
        for field in ("redirect", "callback"):
            given: object = getattr(self, field)
            if not callable(given):
                raise DefinitionError(_SUBJECT, field, f"must be an async function, not {shown(given)}")
        for field in ("redirect_url", "client_name"):
            text(_SUBJECT, field, getattr(self, field), blank=False)
        if self.client_secret is not None and self.client_id is None:
            raise DefinitionError(_SUBJECT, "client_secret", "belongs to a client_id; give that, too")
        method: object = self.token_endpoint_auth_method
        one_of(_SUBJECT, "token_endpoint_auth_method", method, get_args(SecretMethod))
        if self.metadata_url is None:
            return
        if not is_valid_client_metadata_url(self.metadata_url):
            reason = f"must be an https address with a path, not {shown(self.metadata_url)}"
            raise DefinitionError(_SUBJECT, "metadata_url", reason)
        if self.client_id is not None:
            raise DefinitionError(_SUBJECT, "metadata_url", "is for a client without a client_id; give one of the two")

    def authentication(self, server_url: str, person: Callable[[], AbstractContextManager[None]]) -> httpx2.Auth:
        """What authorizes requests to *server_url*; *person* is what stands round the waiting for one."""
        metadata = OAuthClientMetadata.model_validate(
            {
                "redirect_uris": [self.redirect_url],
                "client_name": self.client_name,
                "scope": " ".join(self.scopes) or None,
                "grant_types": ["authorization_code", "refresh_token"],
                "response_types": ["code"],
                "token_endpoint_auth_method": self._method,
            }
        )

        async def redirect(url: str) -> None:
            with person():
                await self.redirect(url)

        async def callback() -> AuthorizationCodeResult:
            with person():
                return _result_of(await self.callback())

        storage = self.storage if self.client_id is None else _Registered(self.storage, self)
        provider = OAuthClientProvider(server_url, metadata, storage, redirect, callback, self.metadata_url)
        return Unqueued(provider, storage)

    @property
    def _method(self) -> str:
        return "none" if self.client_secret is None else self.token_endpoint_auth_method

    def registered(self) -> OAuthClientInformationFull:
        """The registration that the host has already."""
        return OAuthClientInformationFull.model_validate(
            {
                "client_id": self.client_id,
                "client_secret": self.client_secret,
                "redirect_uris": [self.redirect_url],
                "token_endpoint_auth_method": self._method,
            }
        )


def _result_of(url: str) -> AuthorizationCodeResult:
    """What an authorization server told a person to bring back.

    Raises:
        PermissionError: The person, or the server, did not agree.
    """
    query = {name: values[0] for name, values in parse_qs(urlsplit(url).query, keep_blank_values=True).items()}
    if "error" in query:
        described = query.get("error_description", "")
        raise PermissionError(f"the authorization server refused: {query['error']} {described}".rstrip())
    if not query.get("code"):
        raise PermissionError("the person came back without a code, so nothing was agreed to")
    return AuthorizationCodeResult(code=query["code"], state=query.get("state"), iss=query.get("iss"))


class Unqueued(httpx2.Auth):
    """A provider of the SDK, but for two things.

    Requests with a good token do not wait for each other: the SDK's hold its lock until they are answered
    (modelcontextprotocol/python-sdk issue 3209). And what is known of the authorization server outlives the process, where
    there is a place to keep it, so that a token can be refreshed in the next one.

    Args:
        provider: The SDK's.
        storage: Where to keep what is known, or None.
    """

    def __init__(self, provider: OAuthClientProvider, storage: TokenStorage | None = None) -> None:
        self._provider = provider
        self._storage = storage
        self._known: OAuthMetadata | None = None
        self._begun = False

    async def async_auth_flow(  # noqa: ASYNC900  # what httpx2 asks for; it closes it
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send *request* with a token, and get one first if there is none, or a better one if it does not do."""
        context = self._provider.context
        tokens = context.current_tokens
        if tokens is not None and context.is_token_valid():
            request.headers["Authorization"] = f"Bearer {tokens.access_token}"
            response = yield request
            if response.status_code not in _NOT_ENOUGH:
                return
        if self._storage is not None and not self._begun:
            self._begun = True
            context.oauth_metadata = self._known = await self._storage.get_metadata()
        async with aclosing(self._provider.async_auth_flow(request)) as flow:
            wanted = await anext(flow, None)
            while wanted is not None:
                response = yield wanted  # noqa: ASYNC119  # as said
                try:
                    wanted = await flow.asend(response)
                except StopAsyncIteration:
                    wanted = None
        found = context.oauth_metadata
        if self._storage is not None and found is not None and found is not self._known:
            self._known = found
            await self._storage.set_metadata(found)


class _Registered:
    """A storage of a host whose client is registered already."""

    def __init__(self, inner: TokenStorage, oauth: OAuth) -> None:
        self._inner = inner
        self._client = oauth.registered()

    async def get_tokens(self) -> OAuthToken | None:
        return await self._inner.get_tokens()

    async def set_tokens(self, tokens: OAuthToken) -> None:
        await self._inner.set_tokens(tokens)

    async def get_metadata(self) -> OAuthMetadata | None:
        return await self._inner.get_metadata()

    async def set_metadata(self, metadata: OAuthMetadata) -> None:
        await self._inner.set_metadata(metadata)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        await trio.lowlevel.checkpoint()
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._client = client_info
        await trio.lowlevel.checkpoint()
