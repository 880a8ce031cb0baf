"""A server that wants a person's consent, and an authorization server that gives it, in one application."""

from __future__ import annotations

import secrets
import socket
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import trio
from mcp.server import MCPServer
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from tests.integrations.mcp.client.http_servers import start_serving


class Consent(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Agrees to everything at once, and counts what it was asked.

    Args:
        lasting: Seconds that a token lasts.
    """

    def __init__(self, lasting: int = 3_600) -> None:
        self.lasting = lasting
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.tokens: dict[str, AccessToken] = {}
        self.refreshing: dict[str, RefreshToken] = {}
        self.agreed = 0
        self.refreshed = 0
        self.lingering = trio.Event()

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        await trio.lowlevel.checkpoint()
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        await trio.lowlevel.checkpoint()
        assert client_info.client_id is not None
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        await trio.lowlevel.checkpoint()
        assert client.client_id is not None
        self.agreed += 1
        code = AuthorizationCode(
            code=secrets.token_urlsafe(16),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        await trio.lowlevel.checkpoint()
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        await trio.lowlevel.checkpoint()
        del self.codes[authorization_code.code]
        return self._issue(authorization_code.client_id, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        await trio.lowlevel.checkpoint()
        return self.refreshing.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        await trio.lowlevel.checkpoint()
        self.refreshed += 1
        del self.refreshing[refresh_token.token]
        return self._issue(refresh_token.client_id, scopes, refresh_token.resource)

    async def load_access_token(self, token: str) -> AccessToken | None:
        await trio.lowlevel.checkpoint()
        return self.tokens.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        await trio.lowlevel.checkpoint()

    def _issue(self, client: str, scopes: list[str], resource: str | None) -> OAuthToken:
        access, refresh = secrets.token_urlsafe(16), secrets.token_urlsafe(16)
        expires_at = int(time.time()) + 3_600
        self.tokens[access] = AccessToken(
            token=access, client_id=client, scopes=scopes, expires_at=expires_at, resource=resource
        )
        self.refreshing[refresh] = RefreshToken(token=refresh, client_id=client, scopes=scopes, resource=resource)
        return OAuthToken(access_token=access, refresh_token=refresh, expires_in=self.lasting, scope=" ".join(scopes))


def guarded(consent: Consent, port: int, *, json_response: bool = False) -> object:
    """An application that lets in whoever *consent* gave a token."""
    url = f"http://127.0.0.1:{port}"
    settings = AuthSettings.model_validate(
        {
            "issuer_url": url,
            "resource_server_url": f"{url}/mcp",
            "validate_token_resource": True,
            "client_registration_options": ClientRegistrationOptions(enabled=True),
        }
    )
    server: MCPServer[object] = MCPServer("guarded", auth_server_provider=consent, auth=settings)

    @server.tool()
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        await trio.lowlevel.checkpoint()
        return a + b

    @server.tool()
    async def linger() -> None:
        """Stay until nobody waits any more."""
        consent.lingering.set()
        await trio.sleep_forever()

    return server.streamable_http_app(json_response=json_response)


@asynccontextmanager
async def serving_guarded(consent: Consent, *, json_response: bool = False) -> AsyncGenerator[str]:
    """Serve it as long as the block lasts; gives the address of the endpoint."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    async with trio.open_nursery() as nursery:
        _, stop = await start_serving(nursery, guarded(consent, port, json_response=json_response), port)
        try:
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            stop.set()
