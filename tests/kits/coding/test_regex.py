from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armory_trio.definitions._call import ToolFailure
from armory_trio.kits.coding import GrepQuery
from armory_trio.kits.coding import _regex as regex_module
from armory_trio.kits.coding._regex import compile_search
from tests.kits.coding.trees import Stopped, never, places, plant, search, stop_after
from tests.requirements import requirement


def lines_of(pattern: str, text: str, flags: str = "") -> list[int]:
    costly: list[int] = []
    found = [hit.line for hit in compile_search(pattern, flags).hits(text.encode(), never, costly)]
    assert costly == []
    return found


@requirement("kits.grep.bad-pattern")
@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("foo(bar", "missing ) at character 1: foo(bar"),
        ("ab[c", "missing ] at character 3: [c"),
        ("a**", "bad repetition operator at character 2: **"),
        ("é(?=x)", "invalid perl operator at character 2: (?=; look-around"),
        (r"(a)\1", r"invalid escape sequence at character 4: \1; back-references"),
        (r"end\Z", r"invalid escape sequence at character 4: \Z; write \z"),
        ("[z-a]", "invalid character class range at character 2: z-a"),
        ("(?P=name)", "back-references"),
        ("a{2000}", "invalid repetition size at character 2: {2000}"),
        (r"(\pL{1,300}){3}", "pattern too large"),
        ("x\\", "trailing \\"),
        ("", "empty"),
        ("x" * 3_000, "longer than 2,048"),
        ("half\ud800", "surrogate"),
    ],
)
def test_a_wrong_pattern_is_an_error_that_says_what_and_where(tmp_path: Path, pattern: str, words: str) -> None:
    plant(tmp_path, {"f": "foo"})
    with pytest.raises(ToolFailure) as caught:
        search(tmp_path, GrepQuery(pattern=pattern))

    assert words in caught.value.message
    assert (caught.value.category, caught.value.code, caught.value.effect) == ("validation", "INVALID_PATTERN", "none")
    caught.value.message.encode()


@requirement("kits.grep.bad-pattern")
@pytest.mark.parametrize("pattern", ["a\\nb", "a\nb", "\\x0a", "\\x{00A}", "\\\\\\n", "\\012"])
def test_a_line_end_in_a_pattern_for_single_lines_is_an_error(pattern: str) -> None:
    with pytest.raises(ToolFailure, match="add the flag m"):
        compile_search(pattern, "")
    compile_search(pattern, "m")


@requirement("kits.grep.bad-pattern")
@pytest.mark.parametrize("pattern", ["a\\\\n", "\\\\\\\\n", "C:\\\\new"])
def test_an_escaped_backslash_before_an_n_is_no_line_end(pattern: str) -> None:
    compile_search(pattern, "")


@requirement("kits.grep.matches")
@pytest.mark.parametrize(
    ("pattern", "text", "lines"),
    [
        ("^$", "a\n\nb\n\n", [2, 4]),
        ("^$", "", []),
        ("^$", "\n", [1]),
        ("$", "a\nb", [1, 2]),
        ("x*", "a\nb\n", [1, 2]),
        ("^b", "ab\nb", [2]),
        (r"\bb", "ab b\nab\n", [1]),
        ("a|^b", "xb\nb\na", [2, 3]),
        (r"\Aa", "a\na", [1]),
        (r"^\s*foo$", "\n\n  foo\nbar", [3]),
        ("é", "e\né", [2]),
    ],
)
def test_lines_are_found_by_their_edges_and_words(pattern: str, text: str, lines: list[int]) -> None:
    assert lines_of(pattern, text) == lines


ATOMS = st.sampled_from(["a", "b", ".", "[^a]", "a*", "(?:a|b)+", "^", "$", r"\b", "é", r"\s"])


@requirement("kits.grep.matches")
@given(st.lists(ATOMS, min_size=1, max_size=5), st.text("abé \n", max_size=60), st.integers(1, 40))
def test_the_search_agrees_with_matching_each_line_alone(atoms: list[str], text: str, block: int) -> None:
    pattern = "".join(atoms)
    expected = re.compile(pattern, re.ASCII)
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    wanted = [number for number, line in enumerate(lines, 1) if expected.search(line)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(regex_module, "BLOCK", block)
        assert lines_of(pattern, text) == wanted
    assert lines_of(pattern, text) == wanted


@requirement("kits.grep.linear-time")
@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "^(a+)+$", "(a|aa)+$", "(a*)*b$", "(.*a){20}$", "^(([a-z])+.)+[A-Z]([a-z])+$"]
)
def test_a_pattern_that_is_a_trap_elsewhere_is_answered(tmp_path: Path, pattern: str) -> None:
    plant(tmp_path, {"f": "a" * 50 + "b\n" + "a" * 5_000 + "!\n"})
    result = search(tmp_path, GrepQuery(pattern=pattern))

    assert not result.truncated
    assert result.files_scanned == 1
    assert set(places(result)) <= {("f", 1)}


@requirement("kits.grep.linear-time")
def test_a_line_too_long_for_a_large_pattern_is_passed_over_and_counted(tmp_path: Path) -> None:
    plant(tmp_path, {"f": "z\n" + "a" * 200_000 + "\nz\n", "g": "z\n"})
    result = search(tmp_path, GrepQuery(pattern="((a?){300}){3}z"))

    assert places(result) == [("f", 1), ("f", 3), ("g", 1)]
    assert result.skipped.too_costly == 1
    assert result.notes == ("skipped: 1 with lines too long for this pattern",)


@requirement("kits.grep.linear-time", "kits.search.cancel")
def test_a_slow_search_asks_between_its_blocks_whether_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex_module, "BLOCK_COST", 2_000_000)
    hard = compile_search("((a?){300}){3}z", "")
    data = b"a" * 99 + b"\n"
    asked = 0

    def check() -> None:
        nonlocal asked
        asked += 1

    assert list(hard.hits(data * 100, check, [])) == []
    assert asked >= 9

    with pytest.raises(Stopped):
        list(hard.hits(data * 100, stop_after(2), []))


@requirement("kits.grep.line-ends")
def test_a_class_that_excludes_line_ends_matches_within_a_line() -> None:
    assert lines_of(r"a[^\n]+b", "axb\na\nb") == [1]
    assert lines_of(r"[^\]\n]", "]\nx") == [2]
    with pytest.raises(ToolFailure, match="never matches within a line"):
        compile_search(r"\[^\n]", "")
