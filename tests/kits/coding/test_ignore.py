from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from armory_trio.kits.coding import GlobQuery
from tests.kits.coding.trees import listing, plant
from tests.requirements import requirement

RULES = """\
# a comment
*.log
!keep.log
/top
build/
docs/*.html
foo/*
!foo/bar
**/cache/**
trailing\\\x20
[ab]?.tmp
"""

FILES = [
    "a.log", "keep.log", "top", "sub/top", "build/x", "sub/build/y", "sub/build.txt", "docs/a.html", "docs/in/a.html",
    "foo/x", "foo/bar/y", "sub/foo/x", "cache/x", "sub/cache/deep/x", "ab.tmp", "a.tmp", "cb.tmp", "plain.txt",
    "sub/inner.txt", "sub/deep/again.log", "sub/deep/inner.txt",
]  # fmt: skip


def visible(root: Path) -> list[str]:
    return [path for path in listing(root, GlobQuery(pattern="**/*")).paths if (root / path).is_file()]


@requirement("kits.search.skips-counted")
def test_what_is_ignored_is_what_git_ignores(tmp_path: Path) -> None:
    """Git itself is asked where it is installed; its answer is written down, so the test says the same without it."""
    plant(tmp_path, dict.fromkeys(FILES, "x"))
    plant(
        tmp_path,
        {".gitignore": RULES, "sub/.gitignore": "inner.txt\n!again.log\n", "sub/deep/.gitignore": "!inner.txt"},
    )
    kept = [
        "a.tmp", "cb.tmp", "docs/in/a.html", "foo/bar/y", "keep.log", "plain.txt", "sub/build.txt",
        "sub/deep/again.log", "sub/deep/inner.txt", "sub/foo/x", "sub/top",
    ]  # fmt: skip

    assert visible(tmp_path) == kept
    if shutil.which("git"):
        subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
        command = ["git", "ls-files", "--others", "--exclude-standard"]
        told = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, encoding="utf-8").stdout
        assert sorted(path for path in told.split() if ".gitignore" not in path) == sorted(kept)


@requirement("kits.search.skips-counted")
def test_an_ignored_directory_is_not_entered_and_counts_as_one(tmp_path: Path) -> None:
    plant(tmp_path, {".gitignore": "/out\n*.o\n", "out/a/b": "", "out/c": "", "x.o": "", "main.c": ""})
    found = listing(tmp_path, GlobQuery(pattern="**/*"))

    assert found.paths == ("main.c",)
    assert found.skipped.ignored == 2


@requirement("kits.search.skips-counted")
def test_only_what_the_pattern_reaches_counts_as_ignored(tmp_path: Path) -> None:
    plant(tmp_path, {".gitignore": "*.o\n/out", "x.o": "", "src/y.o": "", "out/z.c": "", "src/main.c": ""})

    assert listing(tmp_path, GlobQuery(pattern="src/*.c")).skipped.ignored == 0
    assert listing(tmp_path, GlobQuery(pattern="src/*")).skipped.ignored == 1
    assert listing(tmp_path, GlobQuery(pattern="**/*.c")).skipped.ignored == 1


@requirement("kits.search.skips-counted")
def test_ignored_files_are_found_when_they_are_asked_for(tmp_path: Path) -> None:
    plant(tmp_path, {".gitignore": "*.o\n", "x.o": ""})
    found = listing(tmp_path, GlobQuery(pattern="*.o", ignored=True))

    assert (found.paths, found.skipped.ignored, found.notes) == (("x.o",), 0, ())


@requirement("kits.search.skips-counted")
@pytest.mark.parametrize("rules", ["!\n*.log\n", "*.log\n///\n", "\ufeff*.log\r\n", "*.log\n[\n"])
def test_a_line_that_is_no_pattern_does_not_lose_the_others(tmp_path: Path, rules: str) -> None:
    plant(tmp_path, {".gitignore": rules, "a.log": "", "b.txt": ""})

    assert visible(tmp_path) == ["b.txt"]


@requirement("kits.search.links-end")
def test_rules_are_never_read_through_a_link(tmp_path: Path) -> None:
    plant(tmp_path, {"rules": "*.txt\n", "root/a.txt": ""})
    (tmp_path / "root/.gitignore").symlink_to("../rules")

    assert visible(tmp_path / "root") == ["a.txt"]


@requirement("kits.search.skips-counted")
def test_rules_of_absurd_size_are_taken_for_absent(tmp_path: Path) -> None:
    plant(tmp_path, {".gitignore": "*.txt\n" * 50_000, "a.txt": ""})

    assert visible(tmp_path) == ["a.txt"]


@requirement("kits.search.skips-counted")
def test_rules_that_are_a_directory_are_none(tmp_path: Path) -> None:
    plant(tmp_path, {".gitignore/x": "", "a.txt": ""})

    assert visible(tmp_path) == ["a.txt"]
    assert listing(tmp_path, GlobQuery(pattern="*")).skipped.hidden == 1
