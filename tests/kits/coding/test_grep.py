from __future__ import annotations

import os
from pathlib import Path

import pytest

from armory_trio.definitions._call import ToolFailure
from armory_trio.kits.coding import GrepMatch, GrepQuery, GrepSummary, Jail, Skipped, collect_matches, grep
from armory_trio.kits.coding._grep import GrepLimits
from tests.kits.coding.trees import never, places, plant, search
from tests.requirements import requirement


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return plant(
        tmp_path,
        {
            "src/a.ts": "needle\nline\n",
            "src/lib/b.ts": "x\n  a needle here\n",
            "readme.md": "no match\n",
            "top.ts": "y",
        },
    )


@requirement("kits.grep.matches")
def test_path_line_and_text_of_each_match_are_given(root: Path) -> None:
    result = search(root, GrepQuery(pattern="needle"))

    assert result.matches == (GrepMatch("src/a.ts", 1, "needle"), GrepMatch("src/lib/b.ts", 2, "  a needle here"))
    assert (result.files_scanned, result.truncated, result.skipped, result.notes) == (4, False, Skipped(), ())


@requirement("kits.grep.matches")
def test_a_line_counts_once_however_often_it_matches(tmp_path: Path) -> None:
    plant(tmp_path, {"f": "aa a\nb\na"})

    assert places(search(tmp_path, GrepQuery(pattern="a"))) == [("f", 1), ("f", 3)]


@requirement("kits.grep.files")
@pytest.mark.parametrize(
    ("glob", "found"),
    [
        ("src/**/*.ts", ["src/a.ts", "src/lib/b.ts"]),
        ("*.ts", ["src/a.ts", "src/lib/b.ts"]),
        ("a.ts", ["src/a.ts"]),
        ("./*.ts", []),
        ("src", ["src/a.ts", "src/lib/b.ts"]),
        ("src/", ["src/a.ts", "src/lib/b.ts"]),
        ("src/lib", ["src/lib/b.ts"]),
        ("lib", ["src/lib/b.ts"]),
        (".", ["src/a.ts", "src/lib/b.ts"]),
        ("**", ["src/a.ts", "src/lib/b.ts"]),
        ("src/*", ["src/a.ts"]),
        ("*.{md,tsx}", []),
    ],
)
def test_a_glob_selects_the_files(root: Path, glob: str, found: list[str]) -> None:
    assert [path for path, _ in places(search(root, GrepQuery(pattern="needle", glob=glob)))] == found


@requirement("kits.grep.files", "kits.search.skips-counted")
def test_a_search_of_no_file_says_so(root: Path) -> None:
    assert search(root, GrepQuery(pattern="x", glob="*.rs")).notes == (
        "no file was searched: nothing readable fits the glob '*.rs'",
    )


@requirement("kits.grep.truncated")
@pytest.mark.parametrize("most", [1, 5, 19, 20, 21])
@pytest.mark.parametrize("files", [1, 20])
def test_a_search_is_truncated_exactly_when_there_is_more(tmp_path: Path, files: int, most: int) -> None:
    plant(tmp_path, {f"f{number:02}": "hit\n" * (20 // files) for number in range(files)})
    result = search(tmp_path, GrepQuery(pattern="hit", max_matches=most))

    assert (len(result.matches), result.truncated) == (min(most, 20), most < 20)
    told = f"stopped after {'1 match' if most == 1 else f'{most} matches'};"
    assert any(note.startswith(told) for note in result.notes) == (most < 20)


@requirement("kits.grep.truncated")
def test_a_limit_below_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ToolFailure, match="max_matches must be 1 or more, not 0"):
        search(tmp_path, GrepQuery(pattern="x", max_matches=0))


# -- lines


@requirement("kits.grep.line-ends")
def test_windows_line_ends_do_not_hide_a_match_and_are_not_shown(tmp_path: Path) -> None:
    plant(tmp_path, {"f": "one\r\ntwo\r\nthree"})

    assert search(tmp_path, GrepQuery(pattern="^two$")).matches == (GrepMatch("f", 2, "two"),)


@requirement("kits.grep.long-lines")
@pytest.mark.parametrize("at", [0, 10, 4_000, 79_990])
def test_a_long_line_is_cut_around_its_match(tmp_path: Path, at: int) -> None:
    line = "x" * at + "needle" + "x" * (80_000 - at)
    plant(tmp_path, {"f": f"first\n{line}\nlast"})
    [match] = search(tmp_path, GrepQuery(pattern="needle")).matches

    assert "needle" in match.text
    assert (match.line, len(match.text), match.omitted) == (2, 500, len(line) - 500)


@requirement("kits.grep.long-lines")
@pytest.mark.parametrize("most", range(1, 21))
def test_a_long_line_is_cut_between_characters(tmp_path: Path, most: int) -> None:
    text = "é😀" * 30 + "!" + "文" * 30
    plant(tmp_path, {"f": text})
    result = search(tmp_path, GrepQuery(pattern="!"), limits=GrepLimits(max_line=most))

    assert result.matches[0].text in text
    assert "!" in result.matches[0].text
    assert len(result.matches[0].text) + result.matches[0].omitted == len(text)
    assert len(result.matches[0].text) == most
    assert result.notes == (f"1 long line cut to {most} characters around the match",)


@requirement("kits.grep.matches")
def test_a_character_that_is_none_is_matched_like_a_replaced_one(tmp_path: Path) -> None:
    plant(tmp_path, {"f": b"caf\xe9 au lait\n"})

    assert search(tmp_path, GrepQuery(pattern="caf. au")).matches == (GrepMatch("f", 1, "caf\ufffd au lait"),)


# -- flags


@requirement("kits.grep.flags")
@pytest.mark.parametrize(
    ("pattern", "flags", "found"),
    [
        ("ALPHA", "", []),
        ("ALPHA", "i", [(1, 1, "alpha")]),
        ("É", "i", [(4, 1, "é")]),
        ("alpha.beta", "", []),
        ("alpha.beta", "m", []),
        ("alpha.beta", "s", [(1, 2, "alpha\nbeta")]),
        ("alpha\\nbeta", "m", [(1, 2, "alpha\nbeta")]),
        ("alpha\\s+beta\\s", "m", [(1, 2, "alpha\nbeta")]),
        ("ALPHA.*gamma", "si", [(1, 3, "alpha\nbeta\ngamma")]),
        ("^beta$", "", [(2, 1, "beta")]),
        ("^beta$", "m", [(2, 1, "beta")]),
        ("[^z]amma", "", [(3, 1, "gamma")]),
        ("a\\s*$", "", [(1, 1, "alpha"), (2, 1, "beta"), (3, 1, "gamma")]),
    ],
)
def test_flags_say_how_to_match(tmp_path: Path, pattern: str, flags: str, found: list[tuple[int, int, str]]) -> None:
    plant(tmp_path, {"f": "alpha\nbeta\ngamma\né\n"})
    result = search(tmp_path, GrepQuery(pattern=pattern, flags=flags))

    assert [(match.line, match.lines, match.text) for match in result.matches] == found


@requirement("kits.grep.flags")
@pytest.mark.parametrize("flags", ["g", "x", "iq", " "])
def test_an_unknown_flag_is_refused(tmp_path: Path, flags: str) -> None:
    with pytest.raises(ToolFailure, match="is unknown; flags are i") as caught:
        search(tmp_path, GrepQuery(pattern="x", flags=flags))

    assert caught.value.category == "validation"


# -- streaming


@requirement("kits.grep.stream")
def test_matches_are_yielded_before_the_next_file_is_opened(root: Path) -> None:
    opened: list[str] = []

    def opener(path: str, flags: int, *, dir_fd: int) -> int:
        opened.append(path)
        return os.open(path, flags, dir_fd=dir_fd)

    with Jail(root, opener=opener) as jail:
        items = grep(never, jail, GrepQuery(pattern="needle"))
        first = next(items)
        early = list(opened)
        rest = list(items)

    assert first == GrepMatch("src/a.ts", 1, "needle")
    assert "b.ts" not in early
    assert rest == [GrepMatch("src/lib/b.ts", 2, "  a needle here"), GrepSummary(4, truncated=False, skipped=Skipped())]


@requirement("kits.grep.stream")
def test_the_reducer_puts_matches_and_summary_together(root: Path) -> None:
    with Jail(root) as jail:
        items: list[object] = list(grep(never, jail, GrepQuery(pattern="needle")))

    result = collect_matches(items)

    assert list(result.matches) == items[:-1]
    with pytest.raises(ValueError, match="must end with its summary"):
        collect_matches(items[:-1])
