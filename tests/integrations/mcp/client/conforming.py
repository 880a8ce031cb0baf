"""The client that the conformance suite of the protocol starts: ``python -m tests.integrations.mcp.client.conforming URL``.

The suite names the scenario in the environment. Whatever it is, the client does what a host would do: it opens the
connection, calls each tool that is listed, and leaves.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import urlsplit

import httpx2
import msgspec
import trio
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.auth.extensions.identity_assertion import IdentityAssertionOAuthProvider

from armory_trio import ElicitAccepted, ElicitAnswer, ElicitRequest, ToolCall, open_supervisor
from armory_trio.integrations.mcp.client import Connection, HttpServer, MemoryTokenStorage, OAuth, open_mcp

BACK: Final = "http://127.0.0.1:1/back"
METADATA: Final = "https://conformance-test.local/client-metadata.json"
"""What the suite calls the client where clients publish what they are."""

ARGUMENTS: Final[Mapping[str, dict[str, object]]] = {
    "add_numbers": {"a": 2, "b": 3},
    "valid_tool": {"region": "here"},
}
_TYPE: Final = "urn:ietf:params:oauth:token-type:"


class _Call(msgspec.Struct):
    name: str
    arguments: dict[str, object]


class Given(msgspec.Struct, rename={"tool_calls": "toolCalls"}):
    """What the suite gives a client that needs something of its own for a scenario."""

    tool_calls: list[_Call] = []

    client_id: str = ""
    client_secret: str = ""
    private_key_pem: str = ""
    signing_algorithm: str = "RS256"
    idp_client_id: str = ""
    idp_id_token: str = ""
    idp_token_endpoint: str = ""


class _Protected(msgspec.Struct):
    authorization_servers: list[str]


class _Exchanged(msgspec.Struct):
    access_token: str


class Person:
    """Agrees to everything: the suite's page sends one back at once."""

    def __init__(self) -> None:
        self._came_back = ""

    async def redirect(self, url: str) -> None:
        """Open the page."""
        async with httpx2.AsyncClient() as browser:
            self._came_back = (await browser.get(url)).headers["location"]

    async def callback(self) -> str:
        """Where that led to."""
        await trio.lowlevel.checkpoint()
        return self._came_back


async def issuer_of(url: str) -> str:
    """The authorization server in front of *url*: what the owner of a machine's credentials would know."""
    parts = urlsplit(url)
    async with httpx2.AsyncClient() as client:
        told = await client.get(f"{parts.scheme}://{parts.netloc}/.well-known/oauth-protected-resource{parts.path}")
    return msgspec.json.decode(told.content, type=_Protected).authorization_servers[0]


async def assertion(given: Given, audience: str, resource: str) -> str:
    """What the identity provider of an enterprise says of the person who signed in there."""
    form = {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "requested_token_type": f"{_TYPE}id-jag",
        "subject_token": given.idp_id_token,
        "subject_token_type": f"{_TYPE}id_token",
        "client_id": given.idp_client_id,
        "audience": audience,
        "resource": resource,
    }
    async with httpx2.AsyncClient() as client:
        told = await client.post(given.idp_token_endpoint, data=form)
    return msgspec.json.decode(told.content, type=_Exchanged).access_token


async def authentication(scenario: str, url: str, given: Given) -> OAuth | httpx2.Auth:
    """How the client gets in: as a machine where the suite makes it one, else with a person's consent."""
    storage = MemoryTokenStorage()
    if given.idp_id_token:

        async def assert_identity(audience: str, resource: str) -> str:
            return await assertion(given, audience, resource)

        return IdentityAssertionOAuthProvider(
            url,
            storage,
            given.client_id,
            given.client_secret,
            await issuer_of(url),
            assert_identity,
            token_endpoint_auth_method="client_secret_basic",
        )
    if given.private_key_pem:
        signed = SignedJWTParameters(
            issuer=given.client_id,
            subject=given.client_id,
            signing_key=given.private_key_pem,
            signing_algorithm=given.signing_algorithm,
        )
        signing, issuer = signed.create_assertion_provider(), await issuer_of(url)
        return PrivateKeyJWTOAuthProvider(url, storage, given.client_id, signing, issuer=issuer)
    if scenario.startswith("auth/client-credentials"):
        issuer = await issuer_of(url)
        return ClientCredentialsOAuthProvider(url, storage, given.client_id, given.client_secret, issuer=issuer)
    person = Person()
    if given.client_id:
        return OAuth(
            redirect=person.redirect,
            callback=person.callback,
            redirect_url=BACK,
            client_id=given.client_id,
            client_secret=given.client_secret,
        )
    return OAuth(redirect=person.redirect, callback=person.callback, redirect_url=BACK, metadata_url=METADATA)


async def agree(request: ElicitRequest) -> ElicitAnswer:
    """Press the button below the form, as it stands."""
    await trio.lowlevel.checkpoint()
    return ElicitAccepted()


def calls(given: Given, connection: Connection) -> Iterator[ToolCall]:
    """What the suite says, else each tool once. A property that is null is left out, since its schema has no null."""
    for call in given.tool_calls:
        yield ToolCall(call.name, {name: value for name, value in call.arguments.items() if value is not None})
    if given.tool_calls:
        return
    for listed in connection.listed:
        if listed.name == "json_schema_echo":
            for other in connection.listed:
                if other is not listed:
                    yield ToolCall(listed.name, {"schema": other.input_schema})
        else:
            yield ToolCall(listed.name, ARGUMENTS.get(listed.name, {}))


async def main(url: str) -> None:
    """Open, call everything, leave."""
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    given = msgspec.json.decode(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"), type=Given)
    server = HttpServer(url, auth=await authentication(scenario, url, given))
    async with open_mcp(server, name="suite") as connection, open_supervisor(connection.toolbox()) as supervisor:
        for call in calls(given, connection):
            result = await supervisor.execute(call, elicit=agree)
            print(call.name, result.text)  # noqa: T201  # the suite shows it


if __name__ == "__main__":
    trio.run(main, sys.argv[1])
