"""What is masked, what is left alone, and that nothing that is logged can break it."""

from __future__ import annotations

import datetime as dt
import json
import re
from typing import Final

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from armory_trio.observability.logs import REDACTED, Redaction
from tests.requirements import requirement

SECRETS: Final = {
    "password": "password=Hunter2!",
    "password in JSON": '{"password": "Hunter2!"}',
    "password in a dict": "{'api_key': 'Hunter2!'}",
    "spelled apart": "API-Key: Hunter2!",
    "bearer": "Authorization: Bearer Hunter2!",
    "basic": "authorization: Basic Hunter2!",
    "bearer alone": "sent bearer Hunter2secret",
    "cookie": "Cookie: session=Hunter2!; theme=Hunter2!",
    "url": "postgresql://ann:Hunter2!@db.example/x",
    "url without user": "redis://:Hunter2!@cache",
    "pem": "-----BEGIN RSA PRIVATE KEY-----\nHunter2\n-----END RSA PRIVATE KEY-----",
    "cut pem": "-----BEGIN PRIVATE KEY-----\nHunter2",
    "openai": "sk-proj-Hunter2Hunter2Hunter2",
    "github": "ghp_Hunter2Hunter2Hunter2",
    "slack": "xoxb-Hunter2-Hunter2",
    "jwt": "eyJhbGciOi.Hunter2Hunter2.Hunter2",
    "JSON in JSON": r"{\"password\": \"Hunter2 Hunter2\", \"a\": 1}",
    "a quotation mark in JSON": r'{"password": "a\"Hunter2"}',
    "a pair": "[('password', 'Hunter2')]",
    "a header as a pair": "[(b'authorization', b'Basic Hunter2')]",
    "digest": 'Authorization: Digest username="ann", response="Hunter2"',
    "signature": "authorization: AWS4-HMAC-SHA256 Credential=a/b, SignedHeaders=host, Signature=Hunter2",
    "url with a password that has an at sign": "postgresql://ann:a@Hunter2@db.example/x",
    "connection string": "Server=db;Uid=ann;Pwd=Hunter2;",
}
HARMLESS: Final = (
    "the tokenizer was loaded",
    "a secretary of state",
    "see https://example.org:8080/path?q=1",
    "12:30:15 all is well",
    "passwords are hard",
    "disk: full",
)

mask: Final = Redaction()


def masked(**facts: object) -> dict[str, object]:
    return mask(None, "info", facts)


@requirement("logs.redaction")
@pytest.mark.parametrize("text", SECRETS.values(), ids=SECRETS.keys())
def test_what_looks_like_a_secret_is_masked_wherever_it_stands(text: str) -> None:
    found = masked(event=f"then {text} came", deep=[{"a": (text,)}], exception=ValueError(text))

    assert "Hunter2" not in repr(found)
    assert REDACTED in repr(found)


@requirement("logs.redaction")
@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_sounds_like_one_is_left_alone(text: str) -> None:
    assert masked(event=text) == {"event": text}


@requirement("logs.redaction")
def test_values_under_privileged_names_are_masked_whatever_they_are() -> None:
    found = masked(
        event="x",
        arguments={"a": 1},
        result=7,
        HEADERS=["a"],
        request_context=object(),
        user={"Pass-Word": "p", "refresh_token": "t", "max_tokens": 512, "name": "ann", "secret": None},
    )

    assert found == {
        "event": "x",
        **dict.fromkeys(("arguments", "result", "HEADERS", "request_context"), REDACTED),
        "user": {"Pass-Word": REDACTED, "refresh_token": REDACTED, "max_tokens": 512, "name": "ann", "secret": None},
    }


@requirement("logs.redaction")
@pytest.mark.parametrize("name", ["password", b"Authorization", "Set-Cookie"], ids=["text", "bytes", "cookie"])
def test_pairs_are_masked_by_their_name_as_members_of_a_mapping_are(name: object) -> None:
    found = masked(sent=[(name, "Hunter2"), ("accept", "any")], again={name: b"Hunter2", (1, 2): 3})

    assert found["sent"] == [[name, REDACTED], ["accept", "any"]]
    assert "Hunter2" not in repr(found)
    json.dumps(found["again"])  # names of any kind are texts by then


@requirement("logs.redaction")
def test_a_host_adds_names_and_forms_and_allows_others() -> None:
    own = Redaction(names={"Card-Number"}, allowed={"result"}, patterns=(re.compile(r"\b4\d{15}\b"),))

    assert own(None, "info", {"card_number": 1, "result": "fine, token=abc", "text": "paid by 4111111111111111"}) == {
        "card_number": REDACTED,
        "result": f"fine, token={REDACTED}",
        "text": f"paid by {REDACTED}",
    }


@attrs.define
class Login:
    user: str
    password: str


class Unreadable:
    def __repr__(self) -> str:
        raise RuntimeError


@requirement("logs.redaction")
def test_objects_stay_what_they_are_unless_they_show_a_secret() -> None:
    moment = dt.datetime(2026, 12, 1, tzinfo=dt.UTC)

    found = masked(moment=moment, login=Login("ann", "Hunter2!"), odd=Unreadable(), raw=b"token=Hunter2!")

    assert found["moment"] is moment
    assert found["login"] == f"Login(user='ann', password={REDACTED})"
    assert found["odd"] == REDACTED
    assert "Hunter2" not in str(found["raw"])


@requirement("logs.redaction")
def test_what_holds_itself_ends_somewhere() -> None:
    loop: list[object] = []
    loop.append(loop)

    assert REDACTED in json.dumps(masked(loop=loop))


@requirement("logs.redaction")
@pytest.mark.parametrize(
    "piece",
    ["a", "-", "://", "eyJ-", "token ", "cookie", "sk-", ":", "-----BEGIN PRIVATE KEY-----", "\\", 'token="\\"'],
)
def test_long_texts_are_masked_in_reasonable_time(piece: str) -> None:
    assert mask.text(piece * 20_000) is not None


_json: Final = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text() | some.binary(),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@requirement("logs.redaction")
@settings(max_examples=settings().max_examples // 3)
@given(some.dictionaries(some.text(max_size=8), _json, max_size=4))
def test_masking_never_fails_and_is_done_once(facts: dict[str, object]) -> None:
    once = mask(None, "info", facts)

    assert repr(mask(None, "info", once)) == repr(once)
