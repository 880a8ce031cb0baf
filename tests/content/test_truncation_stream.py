"""Streams made to fit while they flow."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from armory_trio import DefinitionError
from armory_trio.content import encode_json
from armory_trio.content.truncation import Cap, StreamTruncator, size_of, strip_blobs
from tests.content.test_truncation import KEEPS, texts
from tests.requirements import requirement

MARKER = "[{bytes}]"


def _text(chunks: list[object]) -> str:
    return "".join(chunk if isinstance(chunk, str) else encode_json(chunk) for chunk in chunks)


def _run(chunks: list[object], cap: Cap) -> list[object]:
    truncator = StreamTruncator(cap)
    passed = [kept for chunk in chunks for kept in truncator.feed(chunk)]
    return [*passed, *truncator.finish()]


@requirement("truncation.stream")
@given(
    st.lists(st.one_of(texts, st.lists(st.integers(), max_size=3)), max_size=12),
    st.integers(0, 90),
    st.one_of(st.none(), st.integers(0, 9)),
    st.sampled_from(KEEPS),
    st.sampled_from([MARKER, "", "\n[... bytes left out: {bytes} ...]\n"]),
)
@example(["a" * 50, "e", "\u0301" * 9], 62, None, "head", MARKER)
@example([[], []], 7, 1, "both", "[{bytes}]")
def test_no_stream_is_ever_larger_than_its_cap(
    chunks: list[object], limit: int, lines: int | None, keep: str, marker: str
) -> None:
    cap = Cap(bytes=limit, lines=lines, keep=keep, marker=marker)  # type: ignore[arg-type]

    passed = _run(chunks, cap)

    text = _text(passed)
    assert len(text.encode()) <= limit
    if lines is not None and all(isinstance(chunk, str) for chunk in chunks):
        assert size_of(text).lines <= lines


@requirement("truncation.stream")
@given(st.lists(texts, max_size=12), st.integers(40, 90), st.sampled_from(KEEPS))
def test_a_stream_that_fits_is_unchanged_and_the_others_say_exactly_what_is_missing(
    chunks: list[str], limit: int, keep: str
) -> None:
    whole = _text(_run(list(chunks), Cap(bytes=10**6)))
    truncator = StreamTruncator(Cap(bytes=limit, keep=keep, marker=MARKER))  # type: ignore[arg-type]
    passed = [kept for chunk in chunks for kept in truncator.feed(chunk)] + truncator.finish()

    text = _text(passed)
    if len(whole.encode()) <= limit:
        assert text == whole
        return
    omitted = truncator.omitted.bytes
    kept = text.replace(f"[{omitted}]", "", 1)
    assert len(kept.encode()) + omitted == len(whole.encode())


@requirement("truncation.stream")
def test_chunks_keep_their_borders_and_the_marker_follows_the_head() -> None:
    marker = "\n(cut)"
    cap = Cap(characters=10 + len(marker), keep="head", marker=marker)

    assert _run(["aaaa", "bbbb", "cccc", "dddddd"], cap) == ["aaaa", "bbbb", "cc", marker]
    assert _run(["aaaa", "bbbb", "cccc", "dddd"], cap) == ["aaaa", "bbbb", "cccc", "dddd"]
    assert _run([], cap) == []


@requirement("truncation.stream")
def test_the_head_flows_on_at_once_and_the_rest_is_held_in_bounded_memory() -> None:
    truncator = StreamTruncator(Cap(bytes=2000))

    first = truncator.feed("x" * 500)
    held: list[object] = []
    for number in range(3000):
        held += truncator.feed(f"{number:04}" * 100)
        assert truncator.held <= 2000 + 400
    end = _text(truncator.finish())

    assert first == ["x" * 500]
    assert end.endswith("2999")
    assert re.search(r"left out: \d+ ", end) is not None
    assert len(_text([*first, *held])) + len(end) <= 2000


@requirement("truncation.stream")
def test_one_giant_chunk_is_not_kept_whole() -> None:
    truncator = StreamTruncator(Cap(bytes=200))

    truncator.feed("x" * 1_000_000)

    assert truncator.held <= 300


@requirement("truncation.stream")
def test_a_full_head_says_so_and_an_unread_rest_is_counted_as_at_least() -> None:
    truncator = StreamTruncator(Cap(bytes=80, keep="head", marker="[{bytes}]"))

    passed = truncator.feed("x" * 50)
    full = [truncator.full]
    passed += truncator.feed("y" * 50)
    full.append(truncator.full)
    passed += truncator.finish(complete=False)

    assert full == [False, True]
    assert re.fullmatch(r"x{49,50}y*\[at least \d+\]", _text(passed)) is not None
    assert truncator.finish() == []


@requirement("truncation.stream")
def test_other_chunks_are_passed_whole_or_not_at_all() -> None:
    cap = Cap(bytes=15 + 7, keep="head", marker="(cut)")

    passed = _run([{"a": 1}, {"b": 2}, {"c": [3] * 9}], cap)

    assert passed == [{"a": 1}, {"b": 2}, "(cut)"]


@requirement("truncation.stream", "truncation.whole-characters")
def test_halves_of_a_character_in_two_chunks_are_put_together() -> None:
    assert _run(["a\ud83d", "\ude00b"], Cap(bytes=900)) == ["a", "\U0001f600b"]
    assert _run(["a\ud83d", {"x": 1}, "\ud83d"], Cap(bytes=900)) == ["a", "\\ud83d", {"x": 1}, "\\ud83d"]


@requirement("truncation.stream", "truncation.whole-characters")
@pytest.mark.parametrize("limit", range(20, 40))
def test_a_letter_and_its_mark_in_two_chunks_are_not_parted(limit: int) -> None:
    chunks: list[object] = [*("e", "\u0301") * 30]

    text = _text(_run(chunks, Cap(bytes=limit, keep="head", marker="|")))

    assert text.replace("e\u0301", "") == "|"


@requirement("truncation.options")
def test_a_stream_without_a_bound_in_bytes_or_characters_is_refused() -> None:
    with pytest.raises(DefinitionError, match="bytes or characters"):
        StreamTruncator(Cap(lines=9))


@requirement("truncation.stream", "truncation.blobs")
@given(
    st.lists(
        st.sampled_from(
            [
                "data:",
                "d",
                "da",
                "ta:",
                "image/png",
                ";base64,",
                "AAAA",
                "AA==",
                "%3D",
                "%3",
                "D",
                " ",
                ")",
                ";x=y",
                "meta",
                "\n",
            ]
        ),
        max_size=14,
    )
)
@example(["da", "ta:image/png;bas", "e64,AA", "AA", "=="])
@example(["meta", "data:;base64,AAAA"])
def test_data_uris_are_found_however_the_chunks_cut_them(chunks: list[str]) -> None:
    passed = _run(list(chunks), Cap(bytes=10_000))

    assert _text(passed) == strip_blobs("".join(chunks), bare=False)


@requirement("truncation.stream", "truncation.blobs")
def test_a_blob_without_an_end_is_not_held() -> None:
    truncator = StreamTruncator(Cap(bytes=500))

    passed = truncator.feed("a picture: data:image/png;base64,")
    for _ in range(1000):
        passed += truncator.feed("A" * 1000)
        assert truncator.held < 100

    assert _text([*passed, *truncator.finish()]) == "a picture: [image/png, in bytes: 750000, left out]"
    plain = StreamTruncator(Cap(bytes=5000), blobs=False)
    assert plain.feed("data:image/png;base64,AAAA") == ["data:image/png;base64,AAAA"]
