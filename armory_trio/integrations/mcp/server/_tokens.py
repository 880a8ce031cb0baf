"""Bearer tokens that a host knows beforehand."""

from __future__ import annotations

import hmac

import trio
from mcp.server.auth.provider import AccessToken, TokenVerifier

from ....definitions._checks import text


class StaticToken(TokenVerifier):
    """Lets those in who show one secret token. For a server of one's own; others have an authorization server.

    Args:
        token: The secret, 32 random characters or more. It is never shown.
        client_id: What whoever shows it is called in ``McpRequest.access``.

    Raises:
        DefinitionError: One of them is blank.
    """

    def __init__(self, token: str, client_id: str = "client") -> None:
        text("StaticToken", "token", token, blank=False)
        text("StaticToken", "client_id", client_id, blank=False)
        self._token = token.encode()
        self._client = client_id

    def __repr__(self) -> str:
        return f"<StaticToken of {self._client!r}>"

    async def verify_token(self, token: str) -> AccessToken | None:
        """Whoever shows *token*; None for anybody else."""
        await trio.lowlevel.checkpoint()
        if not hmac.compare_digest(token.encode(), self._token):
            return None
        return AccessToken(token=token, client_id=self._client, scopes=[])
