from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armory_trio.definitions._call import ToolFailure
from armory_trio.kits.coding import FileSlice, Jail, ReadLimits, read_file
from tests.kits.coding.trees import Stopped, never, plant, stop_after
from tests.requirements import requirement


def read(
    root: Path, data: str | bytes, *, offset: int = 0, limit: int = 2_000, column: int = 0, cap: int = 262_144
) -> FileSlice:
    plant(root, {"f": data})
    with Jail(root) as jail:
        return read_file(never, jail, "f", offset=offset, limit=limit, column=column, limits=ReadLimits(max_bytes=cap))


def lines(count: int) -> str:
    return "\n".join(f"line{number}" for number in range(count))


# -- lines


@requirement("kits.read.lines")
def test_a_short_file_is_read_whole(tmp_path: Path) -> None:
    assert read(tmp_path, lines(3)) == FileSlice("f", "line0\nline1\nline2", 0, 3, 3, truncated=False)


@requirement("kits.read.lines")
def test_some_lines_from_the_middle_say_that_more_follows(tmp_path: Path) -> None:
    assert read(tmp_path, lines(10), offset=3, limit=2) == FileSlice(
        "f", "line3\nline4", 3, 5, 10, truncated=True, truncated_reason="line-limit", next_offset=5
    )


@requirement("kits.read.lines")
@pytest.mark.parametrize("end", ["", "\n"])
def test_the_last_lines_are_not_truncated(tmp_path: Path, end: str) -> None:
    found = read(tmp_path, lines(10) + end, offset=8, limit=2)

    assert (found.content, found.end_line, found.total_lines, found.truncated) == (f"line8\nline9{end}", 10, 10, False)


@requirement("kits.read.lines")
@pytest.mark.parametrize(
    ("data", "offset", "total"), [("", 0, 0), ("", 5, 0), (lines(3), 3, 3), (lines(3), 99, 3), (lines(3) + "\n", 3, 3)]
)
def test_past_the_end_there_is_nothing_and_it_is_not_truncated(
    tmp_path: Path, data: str, offset: int, total: int
) -> None:
    assert read(tmp_path, data, offset=offset) == FileSlice("f", "", total, total, total, truncated=False)


@requirement("kits.read.lines")
@pytest.mark.parametrize("count", [1, 2, 10])
def test_as_many_lines_as_the_limit_are_not_truncated(tmp_path: Path, count: int) -> None:
    assert not read(tmp_path, lines(count) + "\n", limit=count).truncated
    assert read(tmp_path, lines(count + 1), limit=count).truncated


@requirement("kits.read.bad-numbers")
@pytest.mark.parametrize(("offset", "limit", "column"), [(-1, 1, 0), (0, 0, 0), (0, 1, -1)])
def test_numbers_out_of_range_are_refused(tmp_path: Path, offset: int, limit: int, column: int) -> None:
    with pytest.raises(ToolFailure) as caught:
        read(tmp_path, "x", offset=offset, limit=limit, column=column)

    assert caught.value.category == "validation"


# -- bytes as they are


@requirement("kits.read.exact")
def test_line_ends_and_byte_order_marks_are_kept(tmp_path: Path) -> None:
    data = b"\xef\xbb\xbfa\r\nb\n\rc\r"

    assert read(tmp_path, data).content.encode() == data
    assert read(tmp_path, data, limit=1).content.encode() == b"\xef\xbb\xbfa\r"


@requirement("kits.read.exact", "kits.read.byte-cap")
@given(
    pieces=st.lists(st.sampled_from(["a", "é", "文", "😀", "\n", "\r\n", "xx\n", "yyyyyyyyyyyyyyy"]), max_size=40),
    limit=st.integers(1, 5),
    cap=st.integers(4, 20),
)
def test_slices_that_follow_each_other_are_the_file(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[str], limit: int, cap: int
) -> None:
    root = tmp_path_factory.mktemp("slices")
    text = "".join(pieces)
    total = text.count("\n") + (not text.endswith("\n") and text != "")
    gathered, offset, column, truncated = "", 0, 0, True
    for _ in range(len(text) + 1):
        found = read(root, text, offset=offset, column=column, limit=limit, cap=cap)
        assert len(found.content.encode()) <= cap
        assert found.content.count("\n") <= limit
        assert (found.start_line, found.total_lines) == (offset, total)
        gathered += found.content
        truncated = found.truncated
        if not truncated:
            break
        assert found.next_offset is not None
        assert (found.next_offset, found.next_column) > (offset, column)
        gathered += "" if found.next_column else "\n"
        offset, column = found.next_offset, found.next_column
    assert not truncated
    assert gathered == text


# -- the byte cap


@requirement("kits.read.byte-cap")
def test_a_file_above_the_cap_is_cut_and_says_so(tmp_path: Path) -> None:
    found = read(tmp_path, "x" * 1_000, cap=100)

    assert found == FileSlice(
        "f", "x" * 100, 0, 1, 1, truncated=True, truncated_reason="byte-cap", next_offset=0, next_column=100
    )


@requirement("kits.read.byte-cap")
def test_the_cut_is_between_lines_where_a_line_fits(tmp_path: Path) -> None:
    found = read(tmp_path, "aaaa\nbbbb\ncccc\n", cap=12)

    assert (found.content, found.next_offset, found.next_column) == ("aaaa\nbbbb", 2, 0)
    assert found.truncated_reason == "byte-cap"


@requirement("kits.read.byte-cap")
@pytest.mark.parametrize("limit", [1, 2, 3, 50])
def test_the_byte_cap_wins_over_the_line_limit(tmp_path: Path, limit: int) -> None:
    found = read(tmp_path, "aaaa\nbbbbbbbbbb\ncccc\n", offset=1, cap=8, limit=limit)

    assert found.truncated_reason == "byte-cap"


@requirement("kits.read.byte-cap")
@pytest.mark.parametrize("cap", range(4, 21))
def test_a_character_is_never_split(tmp_path: Path, cap: int) -> None:
    text = "é😀" * 10
    found = read(tmp_path, text, cap=cap)
    rest = read(tmp_path, text, column=found.next_column)

    assert cap - 4 < len(found.content.encode()) <= cap
    assert "\ufffd" not in found.content
    assert found.content + rest.content == text
    assert found.invalid_bytes == 0


@requirement("kits.read.byte-cap")
def test_a_very_long_line_is_read_piece_by_piece_and_the_lines_after_it_too(tmp_path: Path) -> None:
    data = "head\n" + "y" * 700_000 + "\ntail\n"
    first = read(tmp_path, data)
    pieces: list[FileSlice] = []
    column = 0
    while not pieces or pieces[-1].next_column:
        pieces.append(read(tmp_path, data, offset=1, column=column))
        column = pieces[-1].next_column

    assert (first.content, first.next_offset, first.total_lines) == ("head", 1, 3)
    assert [len(piece.content) for piece in pieces[:-1]] == [262_144, 262_144]
    assert pieces[-1].content == "y" * (700_000 - 2 * 262_144) + "\ntail\n"
    assert {piece.total_lines for piece in pieces} == {3}


@requirement("kits.read.byte-cap")
def test_a_column_past_the_end_of_its_line_does_not_reach_the_next(tmp_path: Path) -> None:
    assert read(tmp_path, "ab\ncd", column=99).content == "\ncd"
    assert read(tmp_path, "ab\ncd", offset=1, column=99) == FileSlice("f", "", 1, 2, 2, truncated=False)


@requirement("kits.read.byte-cap", "kits.read.invalid-utf8")
def test_replaced_bytes_count_against_the_cap_as_long_as_they_became(tmp_path: Path) -> None:
    found = read(tmp_path, b"\xff" * 30, cap=10)

    assert (found.content, found.next_column, found.invalid_bytes) == ("\ufffd" * 3, 3, 3)


# -- large files


@requirement("kits.read.large-file")
def test_any_line_of_a_large_file_can_be_read(tmp_path: Path) -> None:
    with (tmp_path / "big").open("w") as file:
        file.writelines(f"this is line {number}\n" for number in range(400_000))
    with Jail(tmp_path) as jail:
        found = read_file(never, jail, "big", offset=399_998, limit=1)

    assert (found.content, found.start_line, found.total_lines) == ("this is line 399998", 399_998, 400_000)


@requirement("kits.read.large-file")
def test_the_total_is_unknown_when_the_end_is_too_far(tmp_path: Path) -> None:
    plant(tmp_path, {"big": "line\n" * 100_000})
    with Jail(tmp_path) as jail:
        near = read_file(never, jail, "big", limit=1, limits=ReadLimits(count_ahead=1_000_000))
        far = read_file(never, jail, "big", limit=1, limits=ReadLimits(count_ahead=100_000))

    assert (near.total_lines, far.total_lines) == (100_000, None)
    assert far.truncated


@requirement("kits.search.cancel")
def test_a_read_of_a_long_file_stops_where_its_caller_asks(tmp_path: Path) -> None:
    plant(tmp_path, {"big": "line\n" * 1_000_000})
    with Jail(tmp_path) as jail, pytest.raises(Stopped):
        read_file(stop_after(20), jail, "big", offset=999_999)


# -- what is no text


@requirement("kits.read.binary")
@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 20, "PNG"),
        (b"%PDF-1.7\n", "PDF"),
        (b"text\0text", "binary"),
        (b"x" * 8_000 + b"\0", "binary"),
        ("wide".encode("utf-16"), "UTF-16"),
    ],
)
def test_a_binary_file_is_an_error_that_says_what_it_is(tmp_path: Path, data: bytes, kind: str) -> None:
    with pytest.raises(ToolFailure, match=kind) as caught:
        read(tmp_path, data)

    assert (caught.value.category, caught.value.code) == ("validation", "BINARY_FILE")
    assert caught.value.details is not None
    assert caught.value.details["size"] == len(data)


@requirement("kits.read.invalid-utf8")
def test_bytes_that_are_no_utf8_are_replaced_and_counted(tmp_path: Path) -> None:
    found = read(tmp_path, b"caf\xe9\nna\xefve \xed\xa0\x80\n")

    assert found.content == "caf\ufffd\nna\ufffdve \ufffd\ufffd\ufffd\n"
    assert found.invalid_bytes == 5
    assert not found.truncated


@requirement("kits.jail.errors-told")
def test_an_error_while_reading_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_fd: int, _size: int) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    plant(tmp_path, {"f": "x"})
    monkeypatch.setattr(os, "read", broken)

    with Jail(tmp_path) as jail, pytest.raises(ToolFailure, match="cannot be read: input/output error"):
        read_file(never, jail, "f")
