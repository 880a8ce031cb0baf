"""Credentials: asked of the host, put into the request, and nowhere else."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Final, Literal, cast

import httpx2
import msgspec
import pytest
import trio

from armory_trio import DefinitionError, ToolCall, ToolContext, ToolFailure, ToolResult, open_supervisor
from armory_trio.integrations.openapi import (
    AuthCallback,
    BasicCredentials,
    Credentials,
    SecurityRequirement,
    toolbox_from_openapi,
)
from armory_trio.integrations.openapi._security import Granted
from tests.requirements import requirement

from .documents import EMPTY, OK, document, imported, of_path, parameter
from .server import Answer, Received, Server, json_answer, open_server

SECRET: Final = "s3cr3t-t0ken"
CLIENT_OR_NONE: Final[tuple[Literal["client"] | None, ...]] = ("client", None)
NO_SCOPES: Final[list[str]] = []
SCHEMES: Final[Mapping[str, object]] = {
    "header": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "query": {"type": "apiKey", "in": "query", "name": "api key"},
    "cookie": {"type": "apiKey", "in": "cookie", "name": "session"},
    "basic": {"type": "http", "scheme": "Basic"},
    "bearer": {"type": "http", "scheme": "bearer"},
    "oauth": {"type": "oauth2", "flows": EMPTY},
    "oidc": {"type": "openIdConnect", "openIdConnectUrl": "https://example.test"},
    "digest": {"type": "http", "scheme": "digest"},
    "mtls": {"type": "mutualTLS"},
}


def _document(server: Server, *alternatives: Mapping[str, object], **operation: object) -> dict[str, object]:
    told = {"operationId": "it", "responses": OK, "security": list(alternatives), **operation}
    return document({"/it": {"get": told}}, server=server.url, components={"securitySchemes": SCHEMES})


async def _call(
    server: Server, auth: AuthCallback | None, *alternatives: Mapping[str, object], **operation: object
) -> ToolResult[object]:
    found = toolbox_from_openapi(_document(server, *alternatives, **operation), auth=auth)
    async with open_supervisor(found.toolbox) as supervisor:
        return await supervisor.execute(ToolCall("it"))


def _secret(requirement: SecurityRequirement, _: ToolContext) -> Credentials:
    return BasicCredentials("ada", SECRET) if requirement.kind == "basic" else SECRET


@requirement("openapi.credentials")
@pytest.mark.parametrize(
    ("scheme", "header", "value"),
    [
        ("header", "x-key", SECRET),
        ("cookie", "cookie", f"session={SECRET}"),
        ("basic", "authorization", "Basic YWRhOnMzY3IzdC10MGtlbg=="),
        ("bearer", "authorization", f"Bearer {SECRET}"),
        ("oauth", "authorization", f"Bearer {SECRET}"),
        ("oidc", "authorization", f"Bearer {SECRET}"),
        ("query", "x-none", None),
    ],
)
async def test_each_scheme_puts_the_credential_in_its_place(scheme: str, header: str, value: str | None) -> None:
    async with open_server() as server:
        result = await _call(server, _secret, {scheme: []})

    assert result.error is None
    assert server.last.header(header) == value
    assert server.last.target == (f"/it?api%20key={SECRET}" if scheme == "query" else "/it")


@requirement("openapi.credentials")
async def test_the_callback_may_wait_and_knows_what_is_asked_for() -> None:
    asked: list[tuple[SecurityRequirement, str]] = []

    async def auth(requirement: SecurityRequirement, ctx: ToolContext) -> str:
        await trio.lowlevel.checkpoint()
        asked.append((requirement, ctx.tool_name))
        return SECRET

    async with open_server() as server:
        await _call(server, auth, {"oauth": ["read", "write"], "header": NO_SCOPES})

    assert [(each.scheme, each.kind, each.scopes, each.place, each.name) for each, _ in asked] == [
        ("oauth", "oauth2", ("read", "write"), "header", "Authorization"),
        ("header", "apiKey", (), "header", "X-Key"),
    ]
    assert {(each.tool, each.origin, name) for each, name in asked} == {("it", server.url, "it")}
    assert server.last.header("authorization") == f"Bearer {SECRET}"
    assert server.last.header("x-key") == SECRET


@requirement("openapi.credentials")
async def test_the_first_alternative_that_can_be_met_is_taken() -> None:
    def auth(requirement: SecurityRequirement, _: ToolContext) -> str | None:
        return None if requirement.scheme == "oauth" else SECRET

    async with open_server() as server:
        await _call(
            server, auth, {}, {"header": NO_SCOPES, "oauth": NO_SCOPES}, {"bearer": NO_SCOPES}, {"query": NO_SCOPES}
        )
        await _call(server, None, {}, {"bearer": NO_SCOPES})

    assert [received.header("authorization") for received in server.received] == [f"Bearer {SECRET}", None]
    assert [received.header("x-key") for received in server.received] == [None, None]


@requirement("openapi.no-credentials")
@pytest.mark.parametrize("method", ["get", "post"])
async def test_without_credentials_nothing_is_sent(method: str) -> None:
    async with open_server() as server:
        paths = of_path("/it", method, security=[{"bearer": NO_SCOPES}, {"header": NO_SCOPES, "query": NO_SCOPES}])
        found = toolbox_from_openapi(document(paths, server=server.url, components={"securitySchemes": SCHEMES}))
        async with open_supervisor(found.toolbox) as supervisor:
            result = await supervisor.execute(ToolCall("it"))

    assert server.received == []
    assert result.error is not None
    assert (result.error.category, result.error.code) == ("permission", "CREDENTIALS_MISSING")
    assert (result.effect, result.error.retryable) == ("none", False)
    assert "bearer or header and query" in result.error.message


@requirement("openapi.no-credentials")
@pytest.mark.parametrize("answer", ["", 3, BasicCredentials("a", "b"), "a\nb", " a", b"bytes"])
async def test_what_is_no_credential_is_told_without_showing_it(answer: object) -> None:
    async with open_server() as server:
        result = await _call(server, lambda *_: answer, {"bearer": NO_SCOPES})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

    assert server.received == []
    assert (result.error and result.error.code) == "CREDENTIALS_MISSING"


@requirement("openapi.no-credentials")
@pytest.mark.parametrize("answer", [BasicCredentials("a:b", "c"), BasicCredentials("a", None), "a"])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
async def test_a_user_that_could_be_another_is_told(answer: Credentials) -> None:
    async with open_server() as server:
        result = await _call(server, lambda _requirement, _ctx: answer, {"basic": NO_SCOPES})

    assert server.received == []
    assert result.error is not None
    assert (result.error.code, "without a colon" in result.error.message) == ("CREDENTIALS_MISSING", True)


@requirement("openapi.no-credentials")
async def test_a_callback_that_fails_is_told_by_its_type_alone() -> None:
    def auth(requirement: SecurityRequirement, ctx: ToolContext) -> str:
        raise KeyError(SECRET)

    def refusing(requirement: SecurityRequirement, ctx: ToolContext) -> str:
        raise ToolFailure("ask the owner first", category="permission", code="ASK", effect="none")

    async with open_server() as server:
        failed = await _call(server, auth, {"bearer": NO_SCOPES})
        refused = await _call(server, refusing, {"bearer": NO_SCOPES})

    assert server.received == []
    assert failed.error is not None
    assert SECRET not in failed.error.message
    assert "KeyError" in failed.error.message
    assert (refused.error and refused.error.code) == "ASK"


@requirement("openapi.secrets")
@pytest.mark.parametrize("status", [200, 400, 503])
@pytest.mark.parametrize("scheme", ["header", "query", "cookie", "basic", "bearer"])
async def test_a_secret_that_comes_back_is_not_passed_on(
    scheme: str, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    def echo(received: Received) -> Answer:
        return json_answer({"headers": received.headers, "target": received.target}, status)

    async with open_server(echo) as server:
        found = toolbox_from_openapi(_document(server, {scheme: []}), auth=_secret)
        async with open_supervisor(found.toolbox) as supervisor:
            result = await supervisor.execute(ToolCall("it"))
            snapshots = [supervisor.executions.locate(result.execution_id)]

    assert len(server.received) == 1
    shown = f"{result!r} {snapshots!r} {found.losses!r} {found!r} {found.toolbox.get('it')!r} {caplog.text}"
    assert "YWRhOnMzY3IzdC10MGtlbg" not in shown
    assert SECRET not in shown
    assert "[redacted]" in result.text


@requirement("openapi.secrets")
@pytest.mark.parametrize("secret", ['quo"ted\\key', "a/b+c==d", "schlüssel"])
async def test_a_secret_that_comes_back_in_another_form_is_not_passed_on(secret: str) -> None:
    def echo(received: Received) -> Answer:
        told = {"key": secret, "target": received.target}
        return Answer(400, {"content-type": "application/json"}, msgspec.json.encode(told))

    def auth(requirement: SecurityRequirement, ctx: ToolContext) -> str:
        return secret

    async with open_server(echo) as server:
        result = await _call(server, auth, {"query": NO_SCOPES})

    assert result.error is not None
    assert (result.error.details or {})["body"] == '{"key":"[redacted]","target":"/it?api%20key=[redacted]"}'


@requirement("openapi.secrets")
@pytest.mark.parametrize(
    ("media_type", "told"),
    [
        ("application/json", rb'{"a": "s3\/cr+et&\"k "}'),
        ("application/json", rb'{"a": "s3/cr\u002Bet\u0026\u0022k\u0020"}'),
        ("text/html", b"s3/cr+et&amp;&quot;k s3/cr&#43;et&#x26;&#34;k&#32;"),
        ("text/plain", b"s3/cr%2bet%26%22k+"),
        ("text/plain; charset=utf-16", 's3/cr+et&"k '.encode("utf-16")),
        ('text/s3/cr+et&"k ;x=y', b"x"),
    ],
    ids=["solidus", "units", "html", "url", "utf-16", "media type"],
)
async def test_a_secret_is_recognised_however_its_characters_are_written(media_type: str, told: bytes) -> None:
    async with open_server(lambda _: Answer(next(statuses), {"content-type": media_type}, told)) as server:
        statuses = iter((200, 400))
        good, bad = [
            await _call(server, lambda _requirement, _ctx: 's3/cr+et&"k ', {"query": NO_SCOPES}) for _ in range(2)
        ]

    assert "s3/cr" not in f"{good!r}{bad!r}".replace("\\", "")


@requirement("openapi.secrets")
async def test_a_secret_in_the_place_that_a_redirect_names_is_not_passed_on() -> None:
    def answer(received: Received) -> Answer:
        return Answer(302, {"location": f"https://elsewhere.example.test{received.target}"})

    async with open_server(answer) as server:
        result = await _call(server, _secret, {"query": NO_SCOPES})

    assert result.error is not None
    assert (result.error.details or {})["location"] == "https://elsewhere.example.test/it?api%20key=[redacted]"


@requirement("openapi.secrets")
async def test_a_secret_stands_in_no_error_of_a_lost_connection(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with open_server(Answer(how="cut")) as server:
        result = await _call(server, _secret, {"query": NO_SCOPES})

    assert (result.error and result.error.code) == "CONNECTION_LOST"
    assert SECRET not in f"{result!r} {caplog.text}"


@requirement("openapi.credentials-apart")
def test_what_carries_a_credential_is_no_argument() -> None:
    declared = [
        parameter("x-key", "header"),
        parameter("X-Key", "query"),
        parameter("api key", "query"),
        parameter("session", "cookie"),
    ]
    paths = of_path(
        "/it", parameters=declared, security=[{"header": NO_SCOPES}, {"query": NO_SCOPES, "cookie": NO_SCOPES}]
    )
    found = imported(paths, components={"securitySchemes": SCHEMES})

    assert found.operations[0].arguments == {"X-Key": "query X-Key"}
    assert [loss.kind for loss in found.losses] == ["dropped"] * 3


@requirement("openapi.credentials-apart")
async def test_no_argument_is_sent_as_a_credential() -> None:
    free = parameter("filter", "query", {"type": "object"}, explode=True)
    async with open_server() as server:
        found = toolbox_from_openapi(_document(server, {"query": NO_SCOPES}, parameters=[free]), auth=_secret)
        async with open_supervisor(found.toolbox) as supervisor:
            result = await supervisor.execute(ToolCall("it", {"filter": {"api key": "mine"}}))

    assert server.received == []
    assert (result.error and result.error.category) == "validation"


@requirement("openapi.clients")
async def test_the_clients_own_credentials_count_only_where_the_host_says_so() -> None:
    headers = {"Authorization": f"Bearer {SECRET}", "X-Ours": "1"}
    async with open_server() as server, httpx2.AsyncClient(headers=headers) as client:
        told = _document(server, {"header": NO_SCOPES})
        for auth in CLIENT_OR_NONE:
            found = toolbox_from_openapi(told, client=client, auth=auth)
            async with open_supervisor(found.toolbox) as supervisor:
                result = await supervisor.execute(ToolCall("it"))
            assert (result.error is None) is (auth == "client")

    [received] = server.received
    assert received.header("authorization") == f"Bearer {SECRET}"
    assert received.header("x-ours") == "1"


@requirement("openapi.clients")
async def test_a_client_signs_no_request_that_the_host_gives_credentials_for() -> None:
    async with open_server() as server, httpx2.AsyncClient(auth=("ada", SECRET)) as client:
        for auth, scheme in ((None, None), (_secret, "header"), ("client", "header")):
            told = _document(server, *([{scheme: NO_SCOPES}] if scheme else []))
            found = toolbox_from_openapi(told, client=client, auth=cast("AuthCallback | None", auth))
            async with open_supervisor(found.toolbox) as supervisor:
                await supervisor.execute(ToolCall("it"))

    signed = [received.header("authorization") is not None for received in server.received]
    assert signed == [False, False, True]


@requirement("openapi.clients", "openapi.credentials-apart")
async def test_a_header_that_the_client_sets_is_no_argument() -> None:
    declared = [parameter("x-tenant", "header"), parameter("User-Agent", "header")]
    async with open_server() as server, httpx2.AsyncClient(headers={"X-Tenant": "a"}) as client:
        found = toolbox_from_openapi(_document(server, parameters=declared), client=client)
        async with open_supervisor(found.toolbox) as supervisor:
            await supervisor.execute(ToolCall("it", {"User-Agent": "mine"}))

    assert list(found.operations[0].arguments) == ["User-Agent"]
    assert [loss.kind for loss in found.losses] == ["dropped"]
    assert (server.last.header("x-tenant"), server.last.header("user-agent")) == ("a", "mine")


@requirement("openapi.clients")
async def test_cookies_are_neither_kept_nor_taken_from_the_client() -> None:
    async with (
        open_server(Answer(200, {"set-cookie": "session=1"})) as server,
        httpx2.AsyncClient(cookies={"mine": "1"}) as client,
    ):
        found = toolbox_from_openapi(_document(server), client=client)
        async with open_supervisor(found.toolbox) as supervisor:
            await supervisor.execute(ToolCall("it"))
            await supervisor.execute(ToolCall("it"))

    assert [received.header("cookie") for received in server.received] == [None, None]


@requirement("openapi.credentials")
def test_what_only_the_client_can_answer_is_left_to_it_and_told() -> None:
    found = imported(
        of_path("/it", security=[{"digest": NO_SCOPES}, {"mtls": NO_SCOPES}]), components={"securitySchemes": SCHEMES}
    )

    assert len(found.toolbox) == 1
    assert [loss.kind for loss in found.losses] == ["assumed", "assumed"]


@requirement("openapi.losses")
def test_an_operation_whose_credentials_nobody_understands_is_no_tool() -> None:
    schemes = {
        "odd": {"type": "apiKey", "in": "body"},
        "framing": {"type": "apiKey", "in": "header", "name": "Host"},
        "ending": {"type": "apiKey", "in": "header", "name": "X\r\nY"},
        "wide": {"type": "apiKey", "in": "header", "name": "X-Ключ"},
    }
    asked = [{name: NO_SCOPES} for name in ("gone", *schemes)]
    found = imported(of_path("/it", security=asked), components={"securitySchemes": schemes})

    assert len(found.toolbox) == 0
    assert [loss.kind for loss in found.losses] == [*["dropped"] * 5, "not-imported"]


@requirement("openapi.clients")
def test_a_wrong_client_or_callback_is_refused() -> None:
    for wrong in ({"client": 3}, {"auth": 3}, {"auth": "client"}):
        with pytest.raises(DefinitionError, match=next(iter(wrong))):
            toolbox_from_openapi(document({}), **wrong)  # pyright: ignore[reportArgumentType]


@requirement("openapi.secrets")
def test_credentials_show_nothing_of_themselves() -> None:
    granted = Granted(headers=(("x", SECRET.encode()),), secrets=(re.compile(SECRET.encode()),))

    assert SECRET not in f"{BasicCredentials('ada', SECRET)!r} {granted!r} {granted} {[granted]}"
