"""A server that wants a person's consent."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Literal

import attrs
import httpx2
import pytest
import trio
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from armory_trio import DefinitionError, ToolCall, open_supervisor
from armory_trio.integrations.mcp.client import (
    ConnectionFailed,
    FileTokenStorage,
    HttpServer,
    MemoryTokenStorage,
    OAuth,
    TokenStorage,
    open_mcp,
)
from tests.integrations.mcp.client.consent import Consent, serving_guarded
from tests.requirements import requirement

pytestmark = pytest.mark.filterwarnings("ignore:Async generator:ResourceWarning")
"""httpx2 reads streams by generators, and the SDK leaves those where it has what it wants."""


class Person:
    """Opens the page, agrees, and is sent back; or does not agree."""

    def __init__(self, *, agrees: bool = True) -> None:
        self.agrees = agrees
        self.asked: list[str] = []
        self.came_back = ""

    async def redirect(self, url: str) -> None:
        self.asked.append(url)
        if not self.agrees:
            self.came_back = "http://127.0.0.1:1/back?error=access_denied&error_description=not+today"
            return
        async with httpx2.AsyncClient() as browser:
            response = await browser.get(url)
            self.came_back = response.headers["location"]

    async def callback(self) -> str:
        await trio.lowlevel.checkpoint()
        return self.came_back

    def oauth(self, storage: TokenStorage | None = None) -> OAuth:
        return OAuth(
            redirect=self.redirect,
            callback=self.callback,
            redirect_url="http://127.0.0.1:1/back",
            storage=storage or MemoryTokenStorage(),
        )


async def sum_of(server: HttpServer) -> object:
    async with open_mcp(server, name="web") as connection, open_supervisor(connection.toolbox()) as supervisor:
        return (await supervisor.execute(ToolCall("add", {"a": 1, "b": 2}))).unwrap()


@requirement("mcp-client.oauth")
async def test_a_person_is_asked_once_and_tokens_are_refreshed_also_in_the_next_process(tmp_path: Path) -> None:
    consent, person, path = Consent(), Person(), tmp_path / "tokens.json"
    async with serving_guarded(consent) as url:
        assert await sum_of(HttpServer(url, auth=person.oauth(FileTokenStorage(path)))) == {"result": 3}
        assert "code_challenge_method=S256" in person.asked[0]
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert await sum_of(HttpServer(url, auth=person.oauth(FileTokenStorage(path)))) == {"result": 3}
        assert (len(person.asked), consent.agreed, consent.refreshed) == (1, 1, 0)
        assert list(tmp_path.iterdir()) == [path]  # noqa: ASYNC240  # a directory with one file


@requirement("mcp-client.oauth")
async def test_a_token_that_expired_is_refreshed_before_it_is_used() -> None:
    consent, person = Consent(lasting=1), Person()
    storage = MemoryTokenStorage()
    async with serving_guarded(consent) as url:
        for _ in range(2):  # as in two processes, with one storage
            assert await sum_of(HttpServer(url, auth=person.oauth(storage))) == {"result": 3}
        assert (len(person.asked), consent.agreed) == (1, 1)
        assert consent.refreshed >= 1


class Full(MemoryTokenStorage):
    """Keeps nothing more once it is full."""

    full = False

    async def set_tokens(self, tokens: OAuthToken) -> None:
        if self.full:
            raise OSError("the disk is full")
        await super().set_tokens(tokens)


@requirement("mcp-client.oauth", "mcp-client.http")
async def test_a_token_that_cannot_be_kept_costs_the_call_that_needed_it_and_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    consent, storage = Consent(), Full()
    async with (
        serving_guarded(consent) as url,
        open_mcp(HttpServer(url, auth=Person().oauth(storage)), name="web") as connection,
        open_supervisor(connection.toolbox()) as supervisor,
    ):
        running = supervisor.start(ToolCall("linger"))
        await consent.lingering.wait()
        storage.full = True
        consent.tokens.clear()
        refused = await supervisor.execute(ToolCall("add", {"a": 1, "b": 2}))
        assert refused.error is not None
        assert (refused.error.code, refused.effect) == ("SERVER_REFUSED", "none")
        assert "authorization" in refused.error.message
        assert "OSError" in caplog.text
        assert (connection.state, running.snapshot.state) == ("open", "active")
        storage.full = False
        assert (await supervisor.execute(ToolCall("add", {"a": 1, "b": 2}))).value == {"result": 3}
        running.abort("enough")


@requirement("mcp-client.oauth")
async def test_a_person_who_does_not_agree_ends_the_opening() -> None:
    async with serving_guarded(Consent()) as url:
        with pytest.raises(ConnectionFailed, match="access_denied not today"):
            await sum_of(HttpServer(url, auth=Person(agrees=False).oauth()))


@requirement("mcp-client.oauth")
async def test_a_client_that_is_registered_already_does_not_register_again() -> None:
    consent, person = Consent(), Person()
    await consent.register_client(
        OAuthClientInformationFull.model_validate(
            {
                "client_id": "us",
                "client_secret": "ours",
                "redirect_uris": ["http://127.0.0.1:1/back"],
                "token_endpoint_auth_method": "client_secret_post",
                "grant_types": ["authorization_code", "refresh_token"],
            }
        )
    )
    method: Literal["client_secret_post"] = "client_secret_post"
    auth = attrs.evolve(person.oauth(), client_id="us", client_secret="ours", token_endpoint_auth_method=method)
    async with serving_guarded(consent) as url:
        assert await sum_of(HttpServer(url, auth=auth)) == {"result": 3}
    assert list(consent.clients) == ["us"]


@requirement("mcp-client.oauth")
async def test_a_person_who_comes_back_with_nothing_agreed_to_nothing() -> None:
    person = Person()

    async def nothing() -> str:
        await trio.lowlevel.checkpoint()
        return "http://127.0.0.1:1/back?state=x"

    auth = attrs.evolve(person.oauth(), callback=nothing)
    async with serving_guarded(Consent()) as url:
        with pytest.raises(ConnectionFailed, match="came back without a code"):
            await sum_of(HttpServer(url, auth=auth))


@requirement("mcp-client.oauth")
@pytest.mark.parametrize(
    ("change", "told"),
    [
        pytest.param(("code=", "iss=https%3A%2F%2Felsewhere.example&code="), "iss", id="another issuer"),
        pytest.param(("state=", "state=x"), "State", id="another state"),
    ],
)
async def test_an_answer_to_another_question_gets_no_token(change: tuple[str, str], told: str) -> None:
    consent, person = Consent(), Person()

    async def changed() -> str:
        await trio.lowlevel.checkpoint()
        return person.came_back.replace(*change)

    async with serving_guarded(consent) as url:
        with pytest.raises(ConnectionFailed, match=told):
            await sum_of(HttpServer(url, auth=attrs.evolve(person.oauth(), callback=changed)))
    assert (consent.agreed, consent.tokens) == (1, {})


@requirement("mcp-client.oauth")
async def test_a_person_may_take_longer_than_opening_may() -> None:
    person = Person()

    async def slowly() -> str:
        await trio.sleep(3.0)
        return person.came_back

    auth = OAuth(redirect=person.redirect, callback=slowly, redirect_url="http://127.0.0.1:1/back")
    async with serving_guarded(Consent()) as url, open_mcp(HttpServer(url, auth=auth), name="web", open_timeout=2.9):
        assert len(person.asked) == 1


@requirement("mcp-client.oauth")
async def test_a_file_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    path.write_text("{}")
    path.chmod(0o644)
    with pytest.raises(PermissionError, match="chmod 600"):
        await FileTokenStorage(path).get_tokens()
    assert await FileTokenStorage(tmp_path / "none.json").get_tokens() is None


@requirement("mcp-client.oauth")
def test_what_is_wrong_with_an_authorization_is_told() -> None:
    person = Person()
    with pytest.raises(DefinitionError, match="client_secret: belongs to a client_id"):
        OAuth(redirect=person.redirect, callback=person.callback, redirect_url="http://x", client_secret="s")
    with pytest.raises(DefinitionError, match="redirect: must be an async function"):
        OAuth(redirect="x", callback=person.callback, redirect_url="http://x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert "hunter2" not in repr(
        OAuth(
            redirect=person.redirect,
            callback=person.callback,
            redirect_url="http://x",
            client_id="us",
            client_secret="hunter2",
        )
    )
