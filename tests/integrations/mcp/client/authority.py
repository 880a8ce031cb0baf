"""An endpoint that wants a token and the authorization server in front of it, without sockets, in a few lines."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qs, urlsplit

import httpx2
import trio

from armory_trio.integrations.mcp.client import OAuth

HOST: Final = "https://mcp.example.com"
ENDPOINT: Final = f"{HOST}/mcp"
BACK: Final = "http://127.0.0.1:1/back"
DOCUMENT: Final = "https://host.example.com/client.json"


class Authority:
    """Answers as RFC 8414, 9728 and 7591 have it, but for what it is told to say otherwise.

    Args:
        metadata: What its metadata says beside the usual.
        resource: What it says is protected.
        wanted: The scopes that the endpoint wants, one request after the other; the last one stays.
    """

    def __init__(
        self, metadata: Mapping[str, object] | None = None, *, resource: str = ENDPOINT, wanted: tuple[str, ...] = ("",)
    ) -> None:
        self.metadata = {
            "issuer": HOST,
            "authorization_endpoint": f"{HOST}/authorize",
            "token_endpoint": f"{HOST}/token",
            "registration_endpoint": f"{HOST}/register",
            "response_types_supported": ["code"],
            **(metadata or {}),
        }
        self.resource = resource
        self.wanted = list(wanted)
        self.registered: list[dict[str, object]] = []
        self.forms: list[dict[str, str]] = []
        self.shown: list[str] = []
        self.scopes: dict[str, set[str]] = {}

    async def __call__(self, request: httpx2.Request) -> httpx2.Response:
        await trio.lowlevel.checkpoint()
        match request.url.path:
            case "/.well-known/oauth-protected-resource/mcp":
                return httpx2.Response(200, json={"resource": self.resource, "authorization_servers": [HOST]})
            case "/.well-known/oauth-authorization-server":
                return httpx2.Response(200, json=self.metadata)
            case "/register":
                self.registered.append(json.loads(request.content))
                return httpx2.Response(201, json={**self.registered[-1], "client_id": "registered"})
            case "/token":
                return self._token(request)
            case "/mcp":
                return self._endpoint(request)
            case _:
                return httpx2.Response(404)

    def _token(self, request: httpx2.Request) -> httpx2.Response:
        form = {name: values[0] for name, values in parse_qs(request.content.decode()).items()}
        self.forms.append(form)
        self.shown.append(request.headers.get("authorization", ""))
        token = f"t{len(self.forms)}"
        self.scopes[token] = set(self.asked_for.split())
        return httpx2.Response(200, json={"access_token": token, "token_type": "Bearer", "expires_in": 3_600})

    asked_for = ""
    """The scopes of the page that a person was taken to last."""

    def _endpoint(self, request: httpx2.Request) -> httpx2.Response:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        wanted = self.wanted.pop(0) if len(self.wanted) > 1 else self.wanted[0]
        scope = f'scope="{wanted}"' if wanted else "realm=x"
        if token not in self.scopes:
            return httpx2.Response(401, headers={"www-authenticate": f"Bearer {scope}"})
        if not set(wanted.split()) <= self.scopes[token]:
            return httpx2.Response(403, headers={"www-authenticate": f'Bearer error="insufficient_scope", {scope}'})
        return httpx2.Response(200, text="let in")


class Agreeing:
    """A person who agrees to whatever the page says.

    Args:
        authority: Whose page it is.
    """

    def __init__(self, authority: Authority) -> None:
        self._authority = authority
        self.pages: list[dict[str, str]] = []

    async def redirect(self, url: str) -> None:
        await trio.lowlevel.checkpoint()
        self.pages.append({name: values[0] for name, values in parse_qs(urlsplit(url).query).items()})
        self._authority.asked_for = self.pages[-1].get("scope", "")

    async def callback(self) -> str:
        await trio.lowlevel.checkpoint()
        return f"{BACK}?code=c&state={self.pages[-1]['state']}"

    def oauth(self) -> OAuth:
        return OAuth(redirect=self.redirect, callback=self.callback, redirect_url=BACK)


def client(authority: Authority, auth: httpx2.Auth) -> httpx2.AsyncClient:
    """What sends requests to *authority* and the endpoint."""
    return httpx2.AsyncClient(transport=httpx2.MockTransport(authority), auth=auth)


def basic(name: str, secret: str) -> str:
    """The header of a client with a secret."""
    return "Basic " + base64.b64encode(f"{name}:{secret}".encode()).decode()
