"""Keys from a file: what is read, what is refused, and that no secret is ever told."""

from __future__ import annotations

import base64
import json
import os
import traceback
from pathlib import Path
from typing import Final, cast

import pytest

from armory_trio import DefinitionError
from armory_trio.authority.signing import Keyring, SigningKey, load_keyring, sign_with, verify_with
from tests.requirements import requirement

GEHEIM: Final = base64.b64encode(b"geheim geheim geheim").decode()


def write(path: Path, text: str, mode: int = 0o600) -> Path:
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return path


def refused(path: object) -> DefinitionError:
    """The error with which loading *path* ends."""
    with pytest.raises(DefinitionError) as caught:
        load_keyring(cast("str", path))
    return caught.value


@requirement("signing.file")
@pytest.mark.parametrize("mode", [0o600, 0o400, 0o700])
def test_a_file_of_keys_is_a_ring_of_them(mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLD_KEY", "ein Schlüssel")
    first = {"id": "new", "secret": base64.b64encode(b"\x00\xff").decode()}
    document = {"default": [first, {"id": "old", "secret": "env:OLD_KEY"}], "other": [{"id": "k", "secret": "AAAA"}]}
    path = write(tmp_path / "keys.json", json.dumps(document), mode)

    for named in (path, str(path)):
        ring = load_keyring(named)
        assert repr(ring) == "<Keyring default: ['new', 'old'], other: ['k']>"
        same = Keyring({"default": [SigningKey("new", b"\x00\xff"), SigningKey("old", "ein Schlüssel")]})
        for key_id in ("new", "old"):
            mine, theirs = ring.key("default", key_id), same.key("default", key_id)
            assert mine is not None
            assert theirs is not None
            signature = sign_with(mine, "receipt", {"a": 1}, domain="default")
            verify_with(theirs, "receipt", {"a": 1}, signature, domain="default")
        signing = ring.signing_key("default")
        assert signing is not None
        assert signing.id == "new"


@requirement("signing.file")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o610, 0o601])
def test_a_file_that_others_have_rights_on_is_refused_and_not_read(mode: int, tmp_path: Path) -> None:
    path = write(tmp_path / "keys.json", f'{{"default": [{{"id": "k", "secret": "{GEHEIM}"}}]}}', mode)

    error = refused(path)

    assert (error.subject, error.field) == ("keyring", str(path))
    told = f"others than its owner have rights on it (mode {mode:04o}), and whoever reads a key can sign; chmod 600 it"
    assert error.reason == told


@requirement("signing.file")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param(f'{{"default": [{{"id": "k", "secret": "{GEHEIM}"]}}', "not strict JSON", id="no JSON"),
        pytest.param("", "not strict JSON", id="nothing"),
        pytest.param("{}", "there are no keys in it; they look like", id="no domain"),
        pytest.param(f'["{GEHEIM}"]', "these are no keys; they look like", id="a list"),
        pytest.param(f'{{"default": [{{"id": "k", "{GEHEIM}": 1}}]}}', "these are no keys", id="another member"),
        pytest.param('{"default": [{"id": "k", "secret": "geheim!"}]}', "neither base64 nor env:NAME", id="no base64"),
        pytest.param('{"default": [{"id": "k", "secret": "env:NOT_SET"}]}', "variable 'NOT_SET', which", id="env"),
        pytest.param('{"default": [{"id": "k", "secret": ""}]}', "secret is empty", id="an empty secret"),
        pytest.param(f'{{"default": [{{"id": "a b", "secret": "{GEHEIM}"}}]}}', "id must be 1 to 255", id="no id"),
        pytest.param('{"default": []}', "not empty", id="no key"),
        pytest.param(
            f'{{"default": [{{"id": "k", "secret": "{GEHEIM}"}}, {{"id": "k", "secret": "AAAA"}}]}}',
            "has two keys of the id 'k'",
            id="two of an id",
        ),
    ],
)
def test_what_holds_no_keys_is_told_without_what_may_be_a_secret(text: str, told: str, tmp_path: Path) -> None:
    path = write(tmp_path / "keys.json", text)

    error = refused(path)

    assert (error.subject, error.field) == ("keyring", str(path))
    assert told in error.reason
    shown = "".join(traceback.format_exception(error))
    for secret in (GEHEIM, "geheim!"):
        assert secret not in shown


@requirement("signing.file")
def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    assert refused(tmp_path / "none.json").reason == "the keys can't be read: No such file or directory"
    assert refused(tmp_path).reason == "the keys can't be read: Is a directory"
    assert "more than 1048576 bytes" in refused(write(tmp_path / "large.json", " " * ((1 << 20) + 1))).reason


@requirement("signing.file")
@pytest.mark.parametrize("path", [None, 0, b"keys.json", "", " ", "a\0b", ["keys.json"]], ids=repr)
def test_what_is_no_path_is_refused(path: object) -> None:
    error = refused(path)

    assert (error.subject, error.field) == ("keyring", "path")
    assert error.reason.startswith("must be the path of a file, not ")


@requirement("signing.file")
def test_an_open_file_is_no_path_but_its_name_is(tmp_path: Path) -> None:
    path = write(tmp_path / "keys.json", '{"default": [{"id": "k", "secret": "AAAA"}]}')
    with path.open("rb") as file:
        assert refused(file.fileno()).field == "path"
        assert load_keyring(f"/dev/fd/{file.fileno()}").key("default", "k") is not None
        os.fstat(file.fileno())  # it is still open
