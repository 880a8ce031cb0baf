"""Editing a file: the matched bytes change, and nothing else does."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armory_trio import ToolCall, ToolFailure, ToolResult, open_supervisor
from armory_trio.errors import DefinitionError
from armory_trio.kits.coding import (
    CodingOptions,
    Edit,
    EditLimits,
    EditResult,
    Jail,
    coding_toolbox,
    coding_tools,
    edit_file,
    edit_tool,
)
from tests.kits.coding.trees import SECRET, Doorkeeper, Stopped, never, plant, stop_after
from tests.requirements import requirement

CASE = b"\xef\xbb\xbfa\r\nb\xff\nc\r"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    plant(tmp_path, {"outside/secret.txt": SECRET})
    return plant(tmp_path / "root", {"case": CASE, "src/a.py": "one\ntwo\ntwo\n", "crlf": "a\r\nb\r\n"})


def change(root: Path | Jail, path: str, old: str, new: str, *, replace_all: bool = False) -> EditResult:
    jail = root if isinstance(root, Jail) else Jail(root)
    return edit_file(never, jail, path, Edit(old, new, replace_all))


def refusal(root: Path | Jail, path: str, old: str, new: str) -> ToolFailure:
    with pytest.raises(ToolFailure) as caught:
        change(root, path, old, new)
    assert caught.value.effect == "none"
    return caught.value


def full_disk(*_args: object, **_named: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def names_in(root: Path) -> set[str]:
    return {path.name for path in root.rglob("*")}


# -- only the match


@requirement("kits.edit.only-the-match")
def test_a_mark_line_ends_and_invalid_bytes_stay(root: Path) -> None:
    result = change(root, "case", "b", "B")

    assert (root / "case").read_bytes() == b"\xef\xbb\xbfa\r\nB\xff\nc\r"
    assert result == EditResult("case", replacements=1, line=2)


@requirement("kits.edit.only-the-match")
@settings(deadline=None, max_examples=60)
@given(
    before=st.binary(max_size=200), after=st.binary(max_size=200), new=st.text(st.characters(exclude_categories=["Cs"]))
)
def test_in_any_bytes_only_the_marker_changes(before: bytes, after: bytes, new: str) -> None:
    marker = "\u2603marker\u2603"
    if new == marker or (before + marker.encode() + after).count(marker.encode()) != 1:
        return
    with tempfile.TemporaryDirectory() as place, Jail(place) as jail:
        file = Path(place, "f")
        file.write_bytes(before + marker.encode() + after)
        result = change(jail, "f", marker, new)

        assert file.read_bytes() == before + new.encode() + after
        assert result.line == before.count(b"\n") + 1


@requirement("kits.edit.only-the-match")
def test_all_occurrences_are_replaced_when_all_are_meant(root: Path) -> None:
    assert change(root, "src/a.py", "two", "2", replace_all=True) == EditResult("src/a.py", replacements=2, line=2)
    assert (root / "src/a.py").read_bytes() == b"one\n2\n2\n"


@requirement("kits.edit.only-the-match")
def test_a_link_stays_a_link_and_its_target_is_edited(root: Path) -> None:
    (root / "link").symlink_to("src/a.py")

    change(root, "link", "one", "1")

    assert (root / "link").is_symlink()
    assert (root / "src/a.py").read_bytes() == b"1\ntwo\ntwo\n"


# -- whole


@requirement("kits.edit.whole")
@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o664])
def test_permission_bits_are_kept(root: Path, mode: int) -> None:
    (root / "case").chmod(mode)

    change(root, "case", "b", "B")

    assert stat.S_IMODE((root / "case").stat().st_mode) == mode


@requirement("kits.edit.whole")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file away")
def test_the_owner_is_kept_and_with_him_the_special_bits(root: Path) -> None:
    os.chown(root / "case", 4321, 4322)
    (root / "case").chmod(0o4750)

    change(root, "case", "b", "B")

    found = (root / "case").stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (4321, 4322, 0o4750)


@requirement("kits.edit.whole")
def test_rights_that_cannot_be_kept_are_a_reason_not_to_edit(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_args: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    before = names_in(root)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fchown", denied)
        patched.setattr(os, "fchmod", denied)
        failure = refusal(root, "case", "b", "B")

    assert (failure.category, failure.code) == ("permission", "ACCESS_DENIED")
    assert (root / "case").read_bytes() == CASE
    assert names_in(root) == before


@requirement("kits.edit.whole")
@pytest.mark.parametrize("step", ["write", "fsync", "fchmod", "replace"])
def test_a_crash_in_the_write_leaves_the_old_file_whole(root: Path, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = names_in(root)
    inode = (root / "case").stat().st_ino

    with monkeypatch.context() as patched:
        patched.setattr(os, step, full_disk)
        failure = refusal(root, "case", "b", "B")

    assert (failure.category, failure.code) == ("internal", "EDIT_FAILED")
    assert str(root) not in str(failure)
    assert (root / "case").read_bytes() == CASE
    assert (root / "case").stat().st_ino == inode
    assert names_in(root) == before


@requirement("kits.edit.whole")
def test_one_that_is_stopped_anywhere_leaves_the_old_file_or_the_new_one(root: Path) -> None:
    before = names_in(root)
    stopped = 0
    for steps in range(40):
        (root / "case").write_bytes(CASE)
        try:
            edit_file(stop_after(steps), Jail(root), "case", Edit("b", "B"))
        except Stopped:
            stopped += 1
            assert (root / "case").read_bytes() == CASE
        else:
            assert (root / "case").read_bytes() == CASE.replace(b"b", b"B")
        assert names_in(root) == before

    assert 3 < stopped < 40


@requirement("kits.edit.whole")
def test_no_handle_is_left_open(root: Path) -> None:
    keeper = Doorkeeper()
    with Jail(root, opener=keeper) as jail:
        change(jail, "src/a.py", "one", "1")
        refusal(jail, "src/a.py", "nowhere", "1")

    assert keeper.opened.count("a.py") >= 3
    assert keeper.still_open() == []


# -- exactly once


@requirement("kits.edit.exact")
def test_a_text_that_occurs_twice_is_refused_with_its_places(root: Path) -> None:
    failure = refusal(root, "src/a.py", "two", "2")

    assert (failure.category, failure.code) == ("validation", "TEXT_AMBIGUOUS")
    assert "occurs 2 times in 'src/a.py' (lines 2, 3)" in failure.message
    assert "replace_all" in failure.message
    assert (root / "src/a.py").read_bytes() == b"one\ntwo\ntwo\n"


@requirement("kits.edit.exact")
def test_places_that_overlap_are_more_than_one(root: Path) -> None:
    (root / "many").write_bytes(b"aaa")

    assert "more than once, overlapping" in refusal(root, "many", "aa", "b").message


@requirement("kits.edit.exact")
@pytest.mark.parametrize(
    ("path", "old", "hint"),
    [
        ("crlf", "a\nb", r"line ends were those of the file, which has \r\n"),
        ("src/a.py", "one\r\ntwo", r"line ends were those of the file, which has \n"),
        ("src/a.py", "one two", "differs in white space only"),
        ("src/a.py", "three", "without line numbers"),
        ("case", "b\ufffd", "a byte that is no UTF-8"),
    ],
)
def test_a_text_that_does_not_occur_is_refused_with_a_hint(root: Path, path: str, old: str, hint: str) -> None:
    before = (root / path).read_bytes()
    failure = refusal(root, path, old, "x")

    assert (failure.category, failure.code) == ("not_found", "TEXT_NOT_FOUND")
    assert hint in failure.message
    assert (root / path).read_bytes() == before


# -- refused


@requirement("kits.edit.refused")
def test_nothing_outside_is_edited_through_any_path(root: Path, tmp_path: Path) -> None:
    (root / "link").symlink_to(tmp_path / "outside/secret.txt")
    (root / "way").symlink_to("../outside")

    for path in ("link", "way/secret.txt", "../outside/secret.txt", str(tmp_path / "outside/secret.txt")):
        failure = refusal(root, path, SECRET, "gone")
        assert (failure.category, failure.code) == ("permission", "PATH_ESCAPE")

    assert (tmp_path / "outside/secret.txt").read_text() == SECRET


@requirement("kits.edit.refused")
def test_directories_pipes_and_missing_files_are_refused(root: Path) -> None:
    os.mkfifo(root / "pipe")

    assert refusal(root, "src", "a", "b").code == "NOT_A_FILE"
    assert refusal(root, ".", "a", "b").code == "NOT_A_FILE"
    assert refusal(root, "pipe", "a", "b").code == "NOT_A_FILE"
    assert refusal(root, "nowhere", "a", "b").code == "NOT_FOUND"


@requirement("kits.edit.refused")
def test_a_file_that_is_or_would_be_too_large_is_refused(root: Path) -> None:
    jail = Jail(root)
    for limit, new in ((len(CASE) - 1, "B"), (len(CASE) + 3, "BBBBB")):
        with pytest.raises(ToolFailure) as caught:
            edit_file(never, jail, "case", Edit("b", new), limits=EditLimits(max_file_bytes=limit))
        assert (caught.value.category, caught.value.code) == ("validation", "FILE_TOO_LARGE")

    edit_file(never, jail, "case", Edit("b", "BBBB"), limits=EditLimits(max_file_bytes=len(CASE) + 3))
    with pytest.raises(DefinitionError):
        EditLimits(max_file_bytes=0)


@requirement("kits.edit.refused")
def test_a_file_that_may_not_be_written_is_not_replaced_either(root: Path) -> None:
    failure = refusal(Jail(root, opener=Doorkeeper({"case": errno.EACCES})), "case", "b", "B")

    assert (failure.category, failure.code) == ("permission", "ACCESS_DENIED")
    assert failure.message == "'case' cannot be changed: permission denied"


@requirement("kits.edit.refused")
@pytest.mark.parametrize(
    ("old", "new", "said"), [("", "x", "old is empty"), ("b", "b", "same text"), ("b", "\ud800", "new holds half")]
)
def test_an_edit_without_sense_is_refused(root: Path, old: str, new: str, said: str) -> None:
    failure = refusal(root, "case", old, new)

    assert (failure.category, failure.code) == ("validation", "INVALID_EDIT")
    assert said in failure.message


# -- changed meanwhile


class Meddler(Doorkeeper):
    """Somebody who changes the file between the first open of it and the second."""

    def __init__(self, file: Path, how: str) -> None:
        super().__init__()
        self.file = file
        self.how = how
        self.seen = 0

    def __call__(self, path: str, flags: int, *, dir_fd: int) -> int:
        self.seen += path == self.file.name
        if self.seen == 2:
            self.meddle()
        return super().__call__(path, flags, dir_fd=dir_fd)

    def meddle(self) -> None:
        self.seen += 1
        found = self.file.stat()
        if self.how == "content":  # of the same size and time
            self.file.write_bytes(b"theirs!".ljust(found.st_size))
            os.utime(self.file, ns=(found.st_atime_ns, found.st_mtime_ns))
        elif self.how == "bits":
            self.file.chmod(0o640)
        elif self.how == "gone":
            self.file.unlink()
        elif self.how == "link":
            self.file.rename(self.file.with_name("theirs"))
            self.file.symlink_to("theirs")


@requirement("kits.edit.changed-meanwhile")
@pytest.mark.parametrize("how", ["content", "bits", "gone", "link"])
def test_a_file_that_changed_since_it_was_read_is_left_alone(root: Path, how: str) -> None:
    failure = refusal(Jail(root, opener=Meddler(root / "case", how)), "case", "b", "B")

    assert (failure.category, failure.code, failure.retryable) == ("conflict", "FILE_CHANGED", True)
    if how == "gone":
        assert not (root / "case").exists()
    elif how == "link":
        assert (root / "case").is_symlink()
    else:
        assert (root / "case").read_bytes() == (CASE if how == "bits" else b"theirs!".ljust(len(CASE)))
    assert not [name for name in names_in(root) if name.startswith(".armory")]


# -- under a supervisor


@requirement("kits.edit.one-at-a-time")
async def test_edits_of_one_file_run_one_after_the_other_and_all_land(root: Path) -> None:
    names = [f"word{number:02}" for number in range(12)]
    (root / "words").write_text("".join(f"{name}.\n" for name in names))
    (root / "other").symlink_to("words")
    spellings = ("words", "./words", "src/../words", "other")
    calls = [
        ToolCall("edit_file", {"path": spellings[number % 4], "old": f"{name}.", "new": name.upper()})
        for number, name in enumerate(names)
    ]
    async with open_supervisor(coding_toolbox(root, edits=True)) as supervisor:
        results = await supervisor.execute_batch(calls)

    assert [result.outcome for result in results] == ["success"] * 12
    assert (root / "words").read_text() == "".join(f"{name.upper()}\n" for name in names)


@requirement("kits.edit.one-at-a-time", "kits.edit.refused")
def test_what_a_call_writes_is_the_real_path_below_the_root_and_any_path_has_one(root: Path) -> None:
    (root / "way").symlink_to("src")
    writes = edit_tool(Jail(root)).options.writes
    assert callable(writes)

    found = {
        path: list(writes({"path": path})) for path in ("way/a.py", "./src//a.py", "src/new.py", "../case", "", "/")
    }

    assert found["way/a.py"] == found["./src//a.py"] == ["file:src/a.py"]
    assert found["src/new.py"] == ["file:src/new.py"]
    assert str(root) not in str(found)
    assert all(len(names) == 1 for names in found.values())


@requirement("kits.edit.declared")
async def test_the_window_stands_around_the_step_that_changes_the_file(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def edit(**arguments: object) -> ToolResult[object]:
        async with open_supervisor(coding_toolbox(root, edits=True)) as supervisor:
            return await supervisor.execute(ToolCall("edit_file", arguments))

    done = await edit(path="case", old="b", new="B")
    refused = await edit(path="case", old="nowhere", new="B")
    outside = await edit(path="../outside/secret.txt", old=SECRET, new="B")
    monkeypatch.setattr(os, "replace", full_disk)
    failed = await edit(path="case", old="B", new="b")

    assert done.value == EditResult("case", 1, 2)
    assert (done.effect, [(window.target, window.state) for window in done.effects]) == (
        "completed",
        [("case", "completed")],
    )
    assert (refused.effect, refused.effects) == ("none", ())
    assert outside.error is not None
    assert (outside.error.code, outside.effect, str(root) in outside.text) == ("PATH_ESCAPE", "none", False)
    assert (failed.outcome, failed.effect, [window.state for window in failed.effects]) == (
        "error",
        "none",
        ["nothing-happened"],
    )


@requirement("kits.edit.declared")
def test_the_tool_exists_only_when_asked_for_and_names_its_root(root: Path) -> None:
    assert [tool.name for tool in coding_toolbox(root)] == ["read_file", "grep", "glob"]
    assert len(coding_tools(root)) == 3

    tool = coding_tools(root, edits=True, options=CodingOptions(edit_file="change"))[3]
    effect = tool.definition.effect

    assert tool.name == "change"
    assert effect is not None
    assert effect.wire() == {"class": "external-write", "targets": [{"kind": "resource", "id": root.as_uri()}]}
    assert tool.definition.effect_windows
    assert "mutating" in tool.definition.tags
    assert tool.options.placement == "thread"


@requirement("kits.edit.declared")
def test_a_root_of_a_long_or_odd_name_is_a_target_too(tmp_path: Path) -> None:
    deep = tmp_path / ("ü" * 60) / "a b"
    deep.mkdir(parents=True)
    effect = edit_tool(Jail(deep)).definition.effect

    assert effect is not None
    assert effect.targets[0].id.startswith("file:sha256:")


@requirement("kits.edit.declared")
def test_a_window_is_opened_once_and_only_for_a_change(root: Path) -> None:
    opened: list[str] = []

    class Silent:
        def happened(self) -> None: ...
        def nothing_happened(self) -> None: ...

    def window(path: str) -> AbstractContextManager[Silent]:
        opened.append(path)
        assert (root / path).read_bytes() == CASE
        return nullcontext(Silent())

    edit_file(never, Jail(root), "case", Edit("b", "B"), window=window)
    with pytest.raises(ToolFailure):
        edit_file(never, Jail(root), "case", Edit("b", "B"), window=window)

    assert opened == ["case"]
