from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armory_trio.kits.coding import GlobQuery, GrepQuery, Jail, read_file
from armory_trio.kits.coding._paths import real_name, shown
from tests.kits.coding.trees import listing, never, places, search
from tests.requirements import requirement

NAMES = [
    b"caf\xe9.txt",
    b"\xff\xfe",
    b"back\\xffslash",
    b"back\\slash",
    "naïve-文.txt".encode(),
    b"new\nline",
    b"\\x5c",
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for number, name in enumerate(NAMES):
        (tmp_path / os.fsdecode(name)).write_text(f"needle {number}")
    return tmp_path


@requirement("kits.names.undecodable")
def test_paths_in_results_are_plain_text_and_lead_back_to_their_files(root: Path) -> None:
    jail = Jail(root)
    paths = listing(jail, GlobQuery(pattern="*")).paths
    found = {path: read_file(never, jail, path).content for path in paths}

    assert len(paths) == len(NAMES)
    assert sorted(found.values()) == [f"needle {number}" for number in range(len(NAMES))]
    assert "".join(paths).encode()
    assert found["caf\\xe9.txt"] == "needle 0"
    assert found["back\\slash"] == "needle 3"


@requirement("kits.names.undecodable", "kits.search.order")
def test_a_search_reads_such_files_too_and_sorts_them_as_they_are_written(root: Path) -> None:
    result = search(root, GrepQuery(pattern="needle"))

    assert len(result.matches) == len(NAMES)
    assert places(result) == sorted(places(result))


@requirement("kits.names.undecodable")
def test_a_pattern_matches_the_written_form(root: Path) -> None:
    assert listing(root, GlobQuery(pattern="caf\\xe9.*")).paths == ("caf\\xe9.txt",)


@requirement("kits.names.undecodable")
@given(st.binary(min_size=1, max_size=20))
def test_every_name_has_a_written_form_of_its_own(raw: bytes) -> None:
    name = raw.decode("utf-8", "surrogateescape")

    assert shown(name).encode()
    assert real_name(shown(name)) == name
