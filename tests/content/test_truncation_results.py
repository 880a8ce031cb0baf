"""Structured values, content blocks and whole results made to fit."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Final, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from armory_trio import (
    AudioContent,
    BlobResourceContent,
    Content,
    DefinitionError,
    ImageContent,
    JsonContent,
    LinkContent,
    RequiredAction,
    ResourceAnnotations,
    TextContent,
    TextResourceContent,
    ToolError,
    ToolResult,
)
from armory_trio.content import content_size, encode_content, encode_json, words_for
from armory_trio.content.truncation import (
    Cap,
    ResultCaps,
    SpillDirectory,
    size_of,
    truncate_content,
    truncate_error,
    truncate_json,
    truncate_result,
    truncate_value,
)
from armory_trio.definitions import BinaryContent
from tests.requirements import requirement

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=30), st.dictionaries(st.one_of(st.text(), st.just("...")), inner, max_size=30)
    ),
    max_leaves=60,
)


@requirement("truncation.json")
@given(values, st.integers(64, 400), st.sampled_from(["bytes", "characters"]))
@example({"." * dots: "x" * 90 for dots in range(3, 12)}, 64, "bytes")
@example(10**90, 64, "bytes")
@example(["\x00" * 200], 64, "bytes")
def test_json_stays_json_of_the_same_kind_and_fits(value: object, limit: int, unit: str) -> None:
    text = encode_json(value)

    cut = truncate_json(text, Cap(bytes=limit) if unit == "bytes" else Cap(characters=limit))

    assert (len(cut.encode()) if unit == "bytes" else len(cut)) <= limit
    decoded: object = json.loads(cut)
    assert len(text.encode()) > limit or decoded == json.loads(text)
    if isinstance(value, list):
        assert isinstance(decoded, list)
    if isinstance(value, dict) and "..." not in value:
        assert isinstance(decoded, dict)


@requirement("truncation.json")
def test_a_long_list_keeps_its_ends_and_says_how_many_items_are_missing() -> None:
    rows = [{"id": number, "name": f"row {number}"} for number in range(500)]

    cut = cast("list[object]", json.loads(truncate_json(encode_json(rows), Cap(bytes=400))))

    gap = next(place for place, item in enumerate(cut) if isinstance(item, str))
    assert cut[:gap] == rows[:gap]
    assert cut[gap + 1 :] == rows[len(rows) - (len(cut) - gap - 1) :]
    assert cut[gap] == f"... items left out: {500 - len(cut) + 1}"
    assert gap > 1
    assert len(cut) - gap > 2


@requirement("truncation.json")
def test_a_long_object_keeps_its_ends_and_a_long_string_its_own() -> None:
    wide = {f"key {number}": number for number in range(500)}
    deep = {"id": 7, "log": "start" + "x" * 5000 + "end", "ok": True}

    cut_wide = cast("dict[str, object]", json.loads(truncate_json(encode_json(wide), Cap(bytes=300))))
    cut_deep = cast("dict[str, object]", json.loads(truncate_json(encode_json(deep), Cap(bytes=300))))

    assert cut_wide["..."] == f"members left out: {500 - len(cut_wide) + 1}"
    assert {"key 0", "key 499"} <= cut_wide.keys()
    assert (cut_deep["id"], cut_deep["ok"]) == (7, True)
    assert str(cut_deep["log"]).startswith("start")
    assert str(cut_deep["log"]).endswith("end")


@requirement("truncation.json")
def test_numbers_that_stay_keep_every_digit_and_members_named_twice_both_stay() -> None:
    text = '{"n":12345678901234567890.10,"n":1e400,"s":"' + "x" * 500 + '"}'

    assert truncate_json(text, Cap(bytes=200)).startswith('{"n":12345678901234567890.10,"n":1e400,"s":"xx')


@requirement("truncation.json")
@pytest.mark.parametrize(
    ("text", "cap"),
    [
        pytest.param("[1" + " " * 90, Cap(bytes=64), id="no JSON"),
        pytest.param("[NaN" + ",1" * 90 + "]", Cap(bytes=64), id="not a number"),
        pytest.param('"' + "x" * 90 + '"', Cap(bytes=63), id="too small a cap"),
        pytest.param("1", Cap(lines=1), id="neither bytes nor characters"),
    ],
)
def test_what_cannot_stay_json_is_refused(text: str, cap: Cap) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # json's own words among them
        truncate_json(text, cap)


@requirement("truncation.json")
def test_nesting_that_would_exhaust_the_stack_becomes_a_note() -> None:
    text = "[" * 100_000 + "]" * 100_000

    assert json.loads(truncate_json(text, Cap(bytes=100))) == "... nested too deeply, bytes left out: 200000"


blocks = st.lists(
    st.one_of(
        st.text().map(TextContent),
        values.map(encode_json).map(JsonContent),
        st.text(min_size=1).map(LinkContent),
        st.builds(TextResourceContent, st.text(min_size=1), st.text(), st.none() | st.just("text/plain")),
        st.builds(BlobResourceContent, st.just("a:b"), st.binary(max_size=60), st.none() | st.just("image/png")),
        st.binary(min_size=1, max_size=20).map(lambda data: ImageContent(data, "image/png")),
    ),
    max_size=40,
)


def _words_size(content: tuple[Content, ...]) -> int:
    return content_size(block for block in content if not isinstance(block, BinaryContent))


def _encodable(content: list[Content]) -> tuple[Content, ...]:
    return tuple(block for item in content for block in encode_content(item))


@requirement("truncation.content")
@given(blocks, st.integers(400, 700), st.sampled_from(["head", "tail", "both"]))
def test_the_blocks_of_a_result_fit_together(content: list[Content], limit: int, keep: str) -> None:
    whole = _encodable(content)

    cut = truncate_content(whole, ResultCaps(result=Cap(bytes=limit, keep=keep), media=100))  # type: ignore[arg-type]

    assert _words_size(cut) <= limit
    assert sum(len(block.data) for block in cut if isinstance(block, BinaryContent)) <= 100
    for block in cut:
        if isinstance(block, JsonContent):
            json.loads(block.json)
        assert not isinstance(block, TextContent) or block.text.strip()
    assert bool(cut) == bool(whole)


@requirement("truncation.content")
def test_blocks_share_the_room_evenly_and_too_many_lose_their_middle() -> None:
    caps = ResultCaps(result=Cap(bytes=1000))
    short, long = TextContent("short"), TextContent("x" * 5000)

    first, second, third = truncate_content([long, short, long], caps)
    many = truncate_content([TextContent(f"block {number:03}") for number in range(900)], caps)

    assert second == short
    assert abs(content_size([first]) - content_size([third])) < 3
    assert content_size([first]) > 480
    assert many[0] == TextContent("block 000")
    assert many[-1] == TextContent("block 899")
    assert TextContent(f"[... blocks left out: {900 - len(many) + 1}]") in many


@requirement("truncation.content")
def test_a_picture_among_blocks_that_are_left_out_stays() -> None:
    picture = ImageContent(b"x", "image/png")
    words: list[Content] = [TextContent("word " * 20)] * 50

    assert picture in truncate_content([*words, picture, *words], ResultCaps(result=Cap(bytes=400)))


@requirement("truncation.content")
def test_a_link_that_is_too_long_becomes_a_note_and_never_another_link() -> None:
    cut = truncate_content([LinkContent("https://x.test/" + "a" * 5000)], ResultCaps(result=Cap(bytes=400)))

    assert cut == (TextContent("[a link, in bytes: 5015, left out as too long]"),)


@requirement("truncation.content")
def test_a_resource_keeps_its_name_and_as_much_of_its_text_as_fits_beside_it() -> None:
    caps = ResultCaps(result=Cap(bytes=400))
    whole = TextResourceContent("file:///a.txt", "word " * 1000, "text/plain", ResourceAnnotations(("user",)))

    [cut] = truncate_content([whole], caps)
    [note] = truncate_content([TextResourceContent("x:" + "a" * 5000, "short")], caps)

    assert isinstance(cut, TextResourceContent)
    assert (cut.uri, cut.media_type, cut.annotations) == (whole.uri, whole.media_type, whole.annotations)
    assert 300 < content_size([cut]) <= 400
    assert note == TextContent("[a resource, in bytes: 5007, left out as too long]")


@requirement("truncation.media")
def test_bytes_of_resources_count_like_pictures_and_base64_in_their_text_like_that_in_texts() -> None:
    small, large = BlobResourceContent("a:1", b"x" * 10), BlobResourceContent("a:" + "2" * 900, b"y" * 100)
    page = TextResourceContent("a:3", "see data:image/png;base64,AAAA")

    cut = truncate_content([small, large, page], ResultCaps(media=50))

    assert cut == (
        small,
        TextContent("[a resource, in bytes: 100, left out as too large]"),
        TextResourceContent("a:3", "see [image/png, in bytes: 3, left out]"),
    )


@requirement("truncation.media")
def test_pictures_beyond_the_bound_are_named_and_not_included() -> None:
    small, large = ImageContent(b"x" * 10, "image/png"), AudioContent(b"y" * 100, "audio/wav")

    cut = truncate_content([small, large, small], ResultCaps(media=50))

    assert cut == (small, TextContent("[audio audio/wav, in bytes: 100, left out as too large]"), small)
    assert truncate_content([large], ResultCaps(media=None)) == (large,)


@requirement("truncation.media")
def test_base64_in_a_text_is_replaced_unless_it_is_wanted() -> None:
    content = (TextContent("see data:image/png;base64,AAAA"),)

    assert truncate_content(content, ResultCaps()) == (TextContent("see [image/png, in bytes: 3, left out]"),)
    assert truncate_content(content, ResultCaps(blobs=False)) == content


@requirement("truncation.value")
def test_a_value_keeps_its_kind_and_one_that_fits_is_the_same_object() -> None:
    caps = ResultCaps(result=Cap(bytes=400))
    rows = {"rows": list(range(1000)), "next": None}

    cut = cast("dict[str, object]", truncate_value(rows, caps))
    text = truncate_value("x" * 1000, caps)
    fitting = {"a": [1]}

    assert cut.keys() == rows.keys()
    assert len(encode_json(cut)) <= 400
    assert isinstance(text, str)
    assert len(text) <= 400
    assert truncate_value(fitting, caps) is fitting
    assert truncate_value(42, caps) == 42
    assert rows["rows"] == list(range(1000))


@requirement("truncation.value")
def test_a_value_that_is_shown_as_several_blocks_becomes_those() -> None:
    picture = ImageContent(b"x", "image/png")

    cut = truncate_value(["x" * 1000, picture], ResultCaps(result=Cap(bytes=400)))

    assert isinstance(cut, tuple)
    assert cut[1] == picture
    assert encode_content(cast("object", cut)) == cut


@requirement("truncation.content")
def test_a_json_block_that_is_no_json_is_cut_like_text() -> None:
    [cut] = truncate_content([JsonContent("[1, " + "x" * 1000)], ResultCaps(result=Cap(bytes=400)))

    assert isinstance(cut, TextContent)
    assert content_size([cut]) <= 400


def _failed(message: str, details: dict[str, object] | None = None, attempts: int = 1) -> ToolResult[object]:
    error = ToolError("internal", "INTERNAL_ERROR", message, details=details)
    result: ToolResult[object] = ToolResult(
        "ex", "c", "fetch", "error", error=error, effect="unknown", attempts=attempts
    )
    return ToolResult(
        "ex",
        "c",
        "fetch",
        "error",
        error=error,
        content=(TextContent(words_for(result)),),
        effect="unknown",
        attempts=attempts,
    )


@requirement("truncation.result")
def test_only_what_a_model_reads_of_a_result_is_cut() -> None:
    value = "x" * 50_000
    result = ToolResult("ex", "c", "fetch", "success", value, encode_content(value))

    cut = truncate_result(result)

    assert cut.value is value
    assert content_size(cut.content) == 8_000
    assert truncate_result(cut) is cut


@requirement("truncation.error")
@given(st.text(max_size=3000), st.lists(st.fixed_dictionaries({"path": st.text(), "message": st.text(max_size=300)})))
def test_all_that_is_said_about_an_error_fits_and_still_says_what_happened(
    message: str, issues: list[dict[str, str]]
) -> None:
    result = _failed(message, {"issues": issues})

    cut = truncate_result(result, ResultCaps(error=Cap(bytes=500)))

    assert size_of(words_for(cut)).bytes <= 500
    assert content_size(cut.content) <= 500
    assert words_for(cut).endswith("check first what happened.")
    assert words_for(cut).startswith("The tool 'fetch' failed (INTERNAL_ERROR).")


@requirement("truncation.error")
def test_errors_have_a_cap_of_their_own_and_keep_the_end_of_their_message() -> None:
    cut = truncate_result(_failed("Traceback\n" + "frame\n" * 3000 + "the reason"))

    assert cut.error is not None
    assert size_of(words_for(cut)).bytes <= 2_000
    assert cut.error.message.startswith("Traceback")
    assert cut.error.message.endswith("the reason")


@requirement("truncation.error")
def test_details_keep_their_shape_and_are_left_out_when_they_are_no_json() -> None:
    caps = ResultCaps(error=Cap(bytes=400))
    error = ToolError("internal", "X", "why", details={"rows": list(range(1000))})

    details = truncate_error(error, caps).details

    assert details is not None
    assert isinstance(details["rows"], list)
    assert truncate_error(ToolError("internal", "X", "why", details={"x": object()}), caps).details is None
    assert truncate_error(ToolError("internal", "X", "why", details={"a": 1}), caps).details == {"a": 1}


@requirement("truncation.error")
def test_what_has_to_be_done_first_is_cut_like_an_error() -> None:
    action = RequiredAction("input", "m" * 5000)
    result: ToolResult[None] = ToolResult("ex", "c", "fetch", "action_required", action=action)

    assert size_of(words_for(truncate_result(result))).bytes <= 2_000


# ── Files with the whole text ────────────────────────────────────────────────────────────────────────────────────────


@requirement("truncation.spill")
def test_the_whole_text_is_in_the_file_that_the_result_names(tmp_path: Path) -> None:
    text = "é\U0001f600\r\n" * 3000
    result = ToolResult("ex", "c", "fetch", "success", text, (TextContent(text),))

    cut = truncate_result(result, spill=SpillDirectory(tmp_path))

    [file] = tmp_path.iterdir()
    last = cut.content[-1]
    assert isinstance(last, TextContent)
    assert last.text == f"[The whole text is in the file {file}]"
    assert file.read_bytes().decode() == text
    assert content_size(cut.content) <= 8_000


@requirement("truncation.spill")
def test_nothing_is_written_for_a_result_that_fits(tmp_path: Path) -> None:
    truncate_result(ToolResult("ex", "c", "t", "success", "a", (TextContent("a"),)), spill=SpillDirectory(tmp_path))

    assert list(tmp_path.iterdir()) == []


@requirement("truncation.spill")
def test_files_are_private_whatever_the_mask_and_their_names_have_128_random_bits(tmp_path: Path) -> None:
    spill = SpillDirectory(tmp_path)
    before = os.umask(0o777)
    try:
        paths = [spill.write("x"), spill.write("x")]
    finally:
        os.umask(before)

    assert [stat.S_IMODE(path.stat().st_mode) for path in paths] == [0o600, 0o600]
    assert len({path.stem for path in paths}) == 2
    assert all(len(path.stem.removeprefix("result-")) == 32 for path in paths)


@requirement("truncation.spill")
def test_no_link_is_followed(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    spill = SpillDirectory(real)
    path = spill.reserve()
    (real / f".{path.name}.part").symlink_to(tmp_path / "stolen")
    with pytest.raises(FileExistsError):
        spill.write("secret", path)
    real.rename(tmp_path / "moved")
    link.symlink_to(tmp_path / "moved")
    link.rename(real)

    with pytest.raises(OSError, match="real"):
        spill.write("secret")
    assert not (tmp_path / "stolen").exists()
    with pytest.raises(DefinitionError, match="only a link"):
        SpillDirectory(real)


@requirement("truncation.spill")
def test_a_write_that_fails_leaves_no_file_and_the_result_is_cut_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "rename", full)
    spill = SpillDirectory(tmp_path)
    with pytest.raises(OSError, match="no space"):
        spill.write("x")
    cut = truncate_content([TextContent("x" * 9000)], ResultCaps(), spill=spill)

    assert list(tmp_path.iterdir()) == []
    assert len(cut) == 1
    assert content_size(cut) == 8_000


@requirement("truncation.spill")
def test_no_file_is_written_that_there_is_no_room_to_name(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 200)
    deep.mkdir()

    cut = truncate_content([TextContent("x" * 9000)], ResultCaps(result=Cap(bytes=400)), spill=SpillDirectory(deep))

    assert list(deep.iterdir()) == []
    assert content_size(cut) == 400


@requirement("truncation.spill")
@pytest.mark.parametrize("prefix", ["a/b", "\0", "\ud800", 3])
def test_a_prefix_that_is_no_part_of_a_name_is_refused(tmp_path: Path, prefix: str) -> None:
    with pytest.raises(DefinitionError, match="prefix"):
        SpillDirectory(tmp_path, prefix)


WRONG: Final[list[tuple[dict[str, object], str]]] = [
    ({"result": Cap(bytes=399)}, "result"),
    ({"error": Cap(lines=9)}, "error"),
    ({"error": 400}, "error"),
    ({"result": Cap(bytes=400, lines=0)}, "result"),
    ({"media": -1}, "media"),
    ({"blobs": "yes"}, "blobs"),
]


@requirement("truncation.options")
@pytest.mark.parametrize(("options", "field"), WRONG)
def test_caps_that_leave_nothing_to_read_are_refused_with_the_field(options: dict[str, object], field: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        ResultCaps(**options)  # type: ignore[arg-type]  # that is what is tested

    assert caught.value.field == field
