from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armory_trio.definitions._call import ToolFailure
from armory_trio.kits.coding import GlobQuery, GrepQuery, PathEscape
from armory_trio.kits.coding._pattern import PathPattern, parse_pattern
from tests.kits.coding.trees import listing, search
from tests.requirements import requirement


def matches(pattern: PathPattern, path: str, *, hidden: bool = False) -> bool:
    states = pattern.start
    for name in path.split("/"):
        states = pattern.step(states, name, hidden=hidden)
    return pattern.accepts(states)


@requirement("kits.glob.patterns")
@pytest.mark.parametrize(
    ("pattern", "fits", "fails"),
    [
        ("*.py", ["a.py"], ["a.pyc", "src/a.py", ".a.py"]),
        ("src/*.py", ["src/a.py"], ["a.py", "src/b/a.py"]),
        ("src/**/*.py", ["src/a.py", "src/b/a.py", "src/b/c/a.py"], ["a.py", "src", "lib/src/a.py"]),
        ("**/*.py", ["a.py", "src/b/a.py"], ["a.txt"]),
        ("**", ["a", "a/b/c"], [".a", "a/.b"]),
        ("src/**", ["src/a", "src/b/c"], ["src", "lib"]),
        ("**/test/**", ["test/a", "a/test/b/c"], ["test", "tests/a"]),
        ("a/**/b/**/c", ["a/b/c", "a/x/b/y/z/c", "a/b/b/c"], ["a/c", "a/b", "b/a/c"]),
        ("a/**/**/b", ["a/b", "a/x/b"], ["a"]),
        ("?.txt", ["a.txt"], ["ab.txt", ".txt"]),
        ("[a-c]*", ["a", "cx"], ["d"]),
        ("[!a]", ["b"], ["a"]),
        ("*.{ts,tsx}", ["a.ts", "a.tsx"], ["a.js"]),
        ("{src,lib}/*.{c,h}", ["src/a.c", "lib/a.h"], ["src/a.x"]),
        ("{a,b{c,d}}", ["a", "bc", "bd"], ["b", "c"]),
        ("src{,/**}/x", ["src/x", "src/a/x"], ["x"]),
        ("./a//b/.", ["a/b"], ["a"]),
        (".github/*", [".github/x"], [".github/.x"]),
        (".*", [".cfg"], ["cfg"]),
        ("*/.env", ["a/.env"], [".env"]),
    ],
)
def test_a_pattern_matches_what_it_says(pattern: str, fits: list[str], fails: list[str]) -> None:
    parsed = parse_pattern(pattern)

    assert [path for path in fits if not matches(parsed, path)] == []
    assert [path for path in fails if matches(parsed, path)] == []


@requirement("kits.glob.patterns")
def test_hidden_names_match_when_they_are_asked_for() -> None:
    assert matches(parse_pattern("**/*"), ".git/.x/y", hidden=True)


@requirement("kits.glob.patterns")
@pytest.mark.parametrize("name", ["[id]", "a[", "{{cookiecutter.name}}", "{a}", "}{", "a*b", "?"])
def test_a_name_that_equals_the_pattern_always_matches(name: str) -> None:
    assert matches(parse_pattern(f"app/{name}/page"), f"app/{name}/page")


NAME = st.text("ab.", min_size=1, max_size=4).filter(lambda name: name.strip(".") == name and name)
SEGMENT = st.one_of(st.sampled_from(["*", "**", "a*", "*b", "?", "[ab]", "a*b*"]), NAME)


def _expected(segments: list[str]) -> re.Pattern[str]:
    """The same pattern as one regular expression over whole paths, for names without a leading dot."""
    parts: list[str] = []
    for segment in segments:
        if segment == "**":
            parts.append("(?:[^/]+/)*")
        else:
            parts.append(
                re.sub(r"[*?.]", lambda found: {"*": "[^/]*", "?": "[^/]", ".": r"\."}[found[0]], segment) + "/"
            )
    if segments[-1] == "**":
        parts.append("[^/]+/")
    return re.compile("".join(parts))


@requirement("kits.glob.patterns")
@given(st.lists(SEGMENT, min_size=1, max_size=5), st.lists(NAME, min_size=1, max_size=5))
def test_the_automaton_agrees_with_a_regular_expression(segments: list[str], names: list[str]) -> None:
    fits = _expected(segments).fullmatch("/".join(names) + "/") is not None

    assert matches(parse_pattern("/".join(segments)), "/".join(names)) == fits


@requirement("kits.glob.patterns")
@given(st.lists(SEGMENT, min_size=1, max_size=5), st.lists(NAME, min_size=2, max_size=5))
def test_a_directory_is_given_up_only_when_nothing_below_can_match(segments: list[str], names: list[str]) -> None:
    pattern = parse_pattern("/".join(segments))
    states = pattern.start
    for name in names[:-1]:
        states = pattern.step(states, name, hidden=False)
        if not pattern.continues(states):
            assert not matches(pattern, "/".join(names))


@requirement("kits.grep.linear-time")
def test_a_pattern_full_of_stars_takes_no_exponential_time() -> None:
    assert not matches(parse_pattern("*a" * 120 + "*b"), "a" * 250)
    assert not matches(parse_pattern("**/a/" * 150 + "b"), "/".join("a" * 300))


@requirement("kits.glob.refused")
@pytest.mark.parametrize("pattern", ["/etc/*", "../*", "a/../b", "{a,/etc}/*", "{a,..}/*", "~/x", "~root/x"])
def test_a_pattern_that_leads_out_is_refused(tmp_path: Path, pattern: str) -> None:
    for ask in (lambda: listing(tmp_path, GlobQuery(pattern=pattern)), lambda: search(tmp_path, _search_in(pattern))):
        with pytest.raises(PathEscape) as caught:
            ask()
        assert caught.value.category == "permission"


@requirement("kits.glob.refused")
@pytest.mark.parametrize(
    "pattern", ["", "  ", "a\0b", "x" * 2_000, "{a,b}" * 7, "{" * 30 + "a,b" + "}" * 30 + "{a,b}" * 9]
)
def test_a_pattern_that_is_none_is_refused(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(ToolFailure) as caught:
        listing(tmp_path, GlobQuery(pattern=pattern))

    assert caught.value.category == "validation"


def _search_in(glob: str) -> GrepQuery:
    return GrepQuery(pattern="x", glob=glob)
