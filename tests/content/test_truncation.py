"""Texts made to fit: never over the cap, never half a character, always honest about what is missing."""

from __future__ import annotations

import base64
import os
import re
from typing import Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from armory_trio import DefinitionError
from armory_trio.content.truncation import (
    Cap,
    Keep,
    cut_text,
    has_blobs,
    head_and_tail,
    safe_slice,
    size_of,
    strip_blobs,
    truncate_text,
)
from tests.requirements import requirement

KEEPS: Final[tuple[Keep, ...]] = ("head", "tail", "both")
FAMILY: Final = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
CLUSTERS: Final = (
    "e\u0301",
    "\r\n",
    FAMILY,
    "\U0001f44d\U0001f3fd",
    "\U0001f1e9\U0001f1ea",
    "\u1112\u1161\u11ab",
    "\u0915\u094d\u0937\u093f",
    "\u2764\ufe0f",
    "\U0001f3f4\U000e0067\U000e0062\U000e007f",
)
"""What a reader takes for one character, each of several code points."""

texts = st.text(
    st.one_of(
        st.sampled_from([*"ab\n\r\u0301\u200d\ud83d\ude00é漢", "\U0001f600", "\U0001f1e9"]),
        st.characters(exclude_categories=[]),
    )
)
markers = st.sampled_from(
    ["", "...", "\n[... bytes left out: {bytes} ...]\n", "{lines}\n\n{characters}", "\u0301\U0001f600"]
)
bounds = st.one_of(st.none(), st.integers(0, 60))


@st.composite
def caps(draw: st.DrawFn) -> Cap:
    octets, characters, lines = draw(bounds), draw(bounds), draw(st.one_of(st.none(), st.integers(0, 6)))
    if octets is characters is lines is None:
        octets = draw(st.integers(0, 60))
    return Cap(
        bytes=octets, characters=characters, lines=lines, keep=draw(st.sampled_from(KEEPS)), marker=draw(markers)
    )


@requirement("truncation.never-over")
@given(texts, caps())
@example("a\n" * 9, Cap(lines=3))
@example("\ud83d" * 9, Cap(bytes=11))
def test_no_text_is_ever_larger_than_its_cap_in_any_unit(text: str, cap: Cap) -> None:
    cut = truncate_text(text, cap)

    assert size_of(cut).fits(cap.room)
    assert cut.encode().decode() == cut


@requirement("truncation.never-over", "truncation.exact-count")
@given(texts, caps())
def test_what_is_kept_and_what_is_left_out_are_the_whole(text: str, cap: Cap) -> None:
    cut = cut_text(text, cap)

    kept = size_of(cut.head).bytes + size_of(cut.tail).bytes
    assert kept + cut.omitted.bytes == cut.size.bytes
    assert len(cut.head) + len(cut.tail) + cut.omitted.characters == cut.size.characters
    assert cut.truncated or cut.text == cut.head


@requirement("truncation.exact-count")
def test_the_marker_says_how_much_is_missing() -> None:
    text = "".join(f"line {number}\n" for number in range(1000))

    cut = truncate_text(text, Cap(bytes=200))

    found = re.search(r"bytes left out: (\d+)", cut)
    assert found is not None
    head, tail = cut.split(f"[... {found[0]} ...]\n")
    assert len(head) + int(found[1]) + len(tail) == len(text)
    assert text.startswith(head)
    assert text.endswith(tail)


@requirement("truncation.whole-characters")
@pytest.mark.parametrize("keep", KEEPS)
@pytest.mark.parametrize("cluster", CLUSTERS, ids=ascii)
def test_what_a_reader_takes_for_one_character_is_never_cut(cluster: str, keep: Keep) -> None:
    text = f"ab{cluster * 3}yz"
    for limit in range(len(text) + 1):
        cut = cut_text(text, Cap(characters=limit, keep=keep, marker=""))

        inner = cut.head.removeprefix("ab").removesuffix("yz") + cut.tail.removeprefix("ab").removesuffix("yz")
        assert inner.removeprefix("a").removesuffix("z").replace(cluster, "") in {"", "y", "b"}


@requirement("truncation.whole-characters")
@pytest.mark.parametrize("limit", range(1, 21))
def test_every_small_cap_gives_valid_text_of_whole_characters(limit: int) -> None:
    text = "é\U0001f600" * 30

    cut = cut_text(text, Cap(bytes=limit, marker=""))

    assert size_of(cut.text).bytes <= limit
    assert size_of(cut.text).bytes > limit - 4 or limit < 4
    assert set(cut.text) <= {"é", "\U0001f600"}


@requirement("truncation.whole-characters")
def test_a_letter_under_a_heap_of_marks_can_still_be_cut() -> None:
    assert 0 < len(truncate_text("a" + "\u0301" * 10_000, Cap(characters=500, marker=""))) <= 500


@requirement("truncation.one-long-line")
def test_one_long_line_keeps_its_head_and_its_tail() -> None:
    cut = cut_text("start" + "x" * 80_000 + "the error", Cap(bytes=300, lines=10))

    assert cut.head.startswith("start")
    assert cut.tail.endswith("the error")


@requirement("truncation.lines")
def test_lines_are_kept_whole_at_both_ends() -> None:
    text = "".join(f"{number}\n" for number in range(10))

    assert truncate_text(text, Cap(lines=4, marker="\n[{lines} lines]\n")) == "0\n1\n[7 lines]\n9\n"
    assert truncate_text(text, Cap(lines=10)) == text
    assert truncate_text(text, Cap(lines=1)) == "0\n"
    assert truncate_text(text, Cap(lines=0)) == ""


@requirement("truncation.lines")
def test_a_cut_in_bytes_goes_to_the_border_of_a_line_that_is_near() -> None:
    text = "".join(f"balance: {number}\n" for number in range(10_000, 10_100))

    cut = cut_text(text, Cap(bytes=201))

    assert cut.head.endswith("\n")
    assert cut.tail.startswith("balance: ")
    assert size_of(cut.text).bytes > 170
    assert truncate_text("a\n" + "b" * 99, Cap(bytes=50, marker="")) == "a\n" + "b" * 48


@requirement("truncation.marker")
@pytest.mark.parametrize(
    ("text", "cap", "expected"),
    [
        ("a" * 20, Cap(characters=15, keep="head", marker="..."), "a" * 12 + "..."),
        ("a" * 20, Cap(characters=20, keep="head", marker="..."), "a" * 20),
        ("a" * 100, Cap(characters=14, keep="head", marker="\n...(truncated)"), "a" * 14),
        ("a" * 100, Cap(characters=15, keep="head", marker="\n...(truncated)"), "a" * 15),
        ("a" * 100, Cap(characters=16, keep="head", marker="\n...(truncated)"), "a\n...(truncated)"),
        ("abcdef", Cap(bytes=0), ""),
        ("abcdef", Cap(bytes=5, keep="tail", marker="-"), "-cdef"),
    ],
)
def test_a_marker_is_part_of_what_fits_and_is_left_out_where_it_does_not(text: str, cap: Cap, expected: str) -> None:
    assert truncate_text(text, cap) == expected


@requirement("truncation.safe-slice")
@pytest.mark.parametrize(
    ("text", "characters", "expected"),
    [
        ("abc", 0, ""),
        ("abc", -1, ""),
        ("abc", 9, "abc"),
        ("\ud83d\ude00", 1, ""),
        ("\ud83d\ude00", 2, "\ud83d\ude00"),
        ("a\ud83db", 2, "a\ud83d"),
        ("\U0001f600\U0001f601", 1, "\U0001f600"),
    ],
)
def test_a_slice_never_ends_in_half_a_character(text: str, characters: int, expected: str) -> None:
    assert safe_slice(text, characters) == expected


@requirement("truncation.head-and-tail")
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("abcdefghijklmnopqrstuvwxyz", 10), ("abcde", "vwxyz", 26, 16)),
        (("short", 100), ("short", "", 5, 0)),
        (("aaa\U0001f600bbb\U0001f600ccc", 10, 5, 5), ("aaa", "ccc", 17, 11)),
        (("abcdef", 6, 12, 12), ("abcdef", "", 6, 0)),
        (("abcdefgh", 6, 12, 12), ("abcdef", "", 8, 2)),
        (("abcdef", 0), ("", "", 6, 6)),
        (("ééé漢字漢字ééé", 12, 6, 6), ("ééé", "ééé", 24, 12)),
    ],
)
def test_both_ends_of_a_text_with_their_sizes(arguments: tuple[str, int], expected: tuple[str, str, int, int]) -> None:
    ends = head_and_tail(*arguments)

    assert (ends.head, ends.tail, ends.size, ends.omitted) == expected
    assert ends.truncated is (ends.omitted > 0)


@requirement("truncation.head-and-tail")
@given(texts, st.integers(0, 30), st.one_of(st.none(), st.integers(0, 30)), st.one_of(st.none(), st.integers(0, 30)))
def test_both_ends_never_overlap_nor_exceed_their_budgets(
    text: str, most: int, head: int | None, tail: int | None
) -> None:
    ends = head_and_tail(text, most, head, tail)

    assert size_of(ends.head).bytes + size_of(ends.tail).bytes + ends.omitted == ends.size
    assert not ends.truncated or size_of(ends.head).bytes + size_of(ends.tail).bytes <= most


PICTURE: Final = base64.b64encode(bytes(range(48))).decode()


@requirement("truncation.blobs")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"![x](data:image/png;base64,{PICTURE})", "![x]([image/png, in bytes: 48, left out])"),
        (f'<img src="data:image/png;base64,{PICTURE}">', '<img src="[image/png, in bytes: 48, left out]">'),
        (f"data:text/plain;charset=utf-8;base64,{PICTURE} end", "[text/plain, in bytes: 48, left out] end"),
        (f"DATA:;BASE64,{PICTURE[:-4]}AA==", "[base64, in bytes: 46, left out]"),
        ("data: about a thing;base64,xyz", "data: about a thing;base64,xyz"),
        (f"metadata:image/png;base64,{PICTURE}", f"metadata:image/png;base64,{PICTURE}"),
        ("data:image/png;base64,", "data:image/png;base64,"),
        ("no blob", "no blob"),
    ],
)
def test_data_uris_become_a_note_of_their_kind_and_size(text: str, expected: str) -> None:
    assert strip_blobs(text) == expected
    assert has_blobs(text) is (text != expected)


@requirement("truncation.blobs")
def test_a_long_bare_run_of_base64_is_a_blob_and_other_long_runs_are_not() -> None:
    data = os.urandom(3000)
    run = base64.b64encode(data).decode()

    assert strip_blobs(f"<{run}>") == "<[base64, in bytes: 3000, left out]>"
    assert strip_blobs(base64.encodebytes(data).decode()).strip() == "[base64, in bytes: 3000, left out]"
    assert strip_blobs(run, bare=False) == run
    for other in ("ACGT" * 1000, "f00d" * 1000, run[:900], "a" * 5000):
        assert strip_blobs(other) == other


@requirement("truncation.blobs")
def test_a_blob_in_json_leaves_valid_json_behind() -> None:
    assert strip_blobs(f'["data:a/b;x=",";base64,{PICTURE}"]') == f'["data:a/b;x=",";base64,{PICTURE}"]'


@requirement("truncation.options")
@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({}, "bytes"),
        ({"bytes": -1}, "bytes"),
        ({"bytes": True}, "bytes"),
        ({"lines": 1.5}, "lines"),
        ({"characters": "9"}, "characters"),
        ({"bytes": 9, "keep": "middle"}, "keep"),
        ({"bytes": 9, "marker": None}, "marker"),
        ({"bytes": 9, "marker": "\ud800"}, "marker"),
    ],
)
def test_a_cap_that_makes_no_sense_is_refused_with_the_field(options: dict[str, object], field: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        Cap(**options)  # type: ignore[arg-type]  # that is what is tested

    assert caught.value.field == field


@requirement("truncation.blobs")
@pytest.mark.parametrize(
    "piece", ["data:", "data:a/b;x=", "a1A" * 30 + "\n", "a1A", "=", ";base64,", "data:a/a;base64,A"]
)
def test_no_text_makes_the_search_for_blobs_run_away(piece: str) -> None:
    """Quadratic time would be hours for this many characters, and the run is ended after minutes."""
    assert len(strip_blobs((f"{piece};base64,")[: len(piece)] * (400_000 // len(piece)) + ";base64,")) > 8
