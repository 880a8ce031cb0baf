"""How the host introduces its client, what it asks for, and whom it does not believe: the protocol's ways to get in."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Literal

import attrs
import httpx2
import pytest
import trio
from mcp.client.auth import OAuthFlowError
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.server.auth.provider import AccessToken
from mcp.shared.auth import OAuthToken

from armory_trio import DefinitionError, ToolCall, open_supervisor
from armory_trio.integrations.mcp.client import HttpServer, MemoryTokenStorage, OAuth, open_mcp
from tests.integrations.mcp.client.authority import DOCUMENT, ENDPOINT, Agreeing, Authority, basic, client
from tests.integrations.mcp.client.consent import Consent, serving_guarded
from tests.requirements import requirement

pytestmark = pytest.mark.filterwarnings("ignore:Async generator:ResourceWarning")
"""httpx2 reads streams by generators, and the SDK leaves those where it has what it wants."""


def of(oauth: OAuth) -> httpx2.Auth:
    return oauth.authentication(ENDPOINT, nullcontext)


@requirement("mcp-client.oauth.client")
@pytest.mark.parametrize("taken", [True, False], ids=["documents are taken", "they are not"])
async def test_a_client_that_publishes_what_it_is_registers_only_where_that_is_not_taken(taken: bool) -> None:
    authority = Authority({"client_id_metadata_document_supported": taken})
    person = Agreeing(authority)
    async with client(authority, of(attrs.evolve(person.oauth(), metadata_url=DOCUMENT))) as host:
        assert (await host.post(ENDPOINT)).text == "let in"
    name = DOCUMENT if taken else "registered"
    assert (person.pages[0]["client_id"], authority.forms[0]["client_id"]) == (name, name)
    assert len(authority.registered) == (0 if taken else 1)


@requirement("mcp-client.oauth.client")
@pytest.mark.parametrize(
    ("method", "header", "in_form"),
    [("client_secret_basic", basic("us", "ours"), None), ("client_secret_post", "", "ours")],
)
async def test_a_secret_is_shown_in_the_header_or_in_the_form_and_never_in_both(
    method: Literal["client_secret_basic", "client_secret_post"], header: str, in_form: str | None
) -> None:
    authority = Authority()
    oauth = attrs.evolve(
        Agreeing(authority).oauth(), client_id="us", client_secret="ours", token_endpoint_auth_method=method
    )
    async with client(authority, of(oauth)) as host:
        assert (await host.post(ENDPOINT)).text == "let in"
    assert (authority.shown, authority.forms[0].get("client_secret")) == ([header], in_form)
    assert authority.registered == []


@requirement("mcp-client.oauth.client")
@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"metadata_url": "http://host.example.com/client.json"}, "metadata_url: must be an https address with a path"),
        ({"metadata_url": DOCUMENT, "client_id": "us"}, "metadata_url: is for a client without a client_id"),
        (
            {"token_endpoint_auth_method": "client_secret_basik"},
            r"token_endpoint_auth_method: .* \(did you mean 'client_secret_basic'",
        ),
    ],
)
def test_what_is_wrong_with_the_client_is_told(options: dict[str, str], told: str) -> None:
    with pytest.raises(DefinitionError, match=told):
        attrs.evolve(Agreeing(Authority()).oauth(), **options)  # type: ignore[arg-type]  # that is what is tried


@requirement("mcp-client.oauth.scopes")
async def test_a_person_is_asked_for_what_a_call_needs_beside_what_was_agreed_to() -> None:
    authority = Authority(wanted=("read", "read", "write", "write"))
    person = Agreeing(authority)
    async with client(authority, of(person.oauth())) as host:
        assert (await host.post(ENDPOINT)).text == "let in"
        assert (await host.post(ENDPOINT)).text == "let in"
    assert [set(page["scope"].split()) for page in person.pages] == [{"read"}, {"read", "write"}]
    assert len(authority.registered) == 1


@requirement("mcp-client.oauth.scopes")
async def test_a_server_that_is_never_content_ends_the_asking() -> None:
    authority = Authority(wanted=("read", *(f"more{at}" for at in range(50))))
    person = Agreeing(authority)
    async with client(authority, of(person.oauth())) as host:
        assert (await host.post(ENDPOINT)).status_code == 403
    assert len(person.pages) <= 3


@requirement("mcp-client.oauth.scopes")
@pytest.mark.parametrize("supported", [True, False])
async def test_a_token_that_can_be_refreshed_is_asked_for_where_that_has_to_be_said(supported: bool) -> None:
    offered = ["read", "offline_access"] if supported else ["read"]
    authority = Authority(
        {"scopes_supported": offered, "grant_types_supported": ["authorization_code", "refresh_token"]}
    )
    authority.wanted = ["read"]
    person = Agreeing(authority)
    async with client(authority, of(person.oauth())) as host:
        assert (await host.post(ENDPOINT)).text == "let in"
    assert ("offline_access" in person.pages[0]["scope"].split()) is supported


@requirement("mcp-client.oauth.believed")
@pytest.mark.parametrize(
    ("authority", "told"),
    [
        pytest.param(Authority(resource="https://evil.example.com/mcp"), "does not match", id="another resource"),
        pytest.param(Authority({"issuer": "https://evil.example.com"}), "issuer mismatch", id="another issuer"),
    ],
)
async def test_nobody_is_asked_where_the_server_speaks_for_somebody_else(authority: Authority, told: str) -> None:
    person = Agreeing(authority)
    async with client(authority, of(person.oauth())) as host:
        with pytest.raises(OAuthFlowError, match=told):
            await host.post(ENDPOINT)
    assert (person.pages, authority.forms) == ([], [])


@requirement("mcp-client.oauth.unqueued")
async def test_calls_of_a_machine_with_credentials_do_not_wait_for_each_other() -> None:
    consent, storage = Consent(), MemoryTokenStorage()
    consent.tokens["known"] = AccessToken(token="known", client_id="us", scopes=[])
    await storage.set_tokens(OAuthToken(access_token="known"))
    async with serving_guarded(consent, json_response=True) as url:
        consent.tokens["known"].resource = url
        auth = ClientCredentialsOAuthProvider(url, storage, "us", "ours", issuer=url.removesuffix("/mcp"))
        async with (
            open_mcp(HttpServer(url, auth=auth), name="web") as connection,
            open_supervisor(connection.toolbox()) as supervisor,
            trio.open_nursery() as nursery,
        ):
            nursery.start_soon(supervisor.execute, ToolCall("linger"))
            await consent.lingering.wait()
            with trio.fail_after(10):
                assert (await supervisor.execute(ToolCall("add", {"a": 1, "b": 2}))).value == {"result": 3}
            nursery.cancel_scope.cancel()
