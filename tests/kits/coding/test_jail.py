from __future__ import annotations

import contextlib
import errno
import gc
import os
import shutil
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from armory_trio.definitions._call import ToolFailure
from armory_trio.errors import DefinitionError
from armory_trio.kits.coding import GlobQuery, InvalidPath, Jail, NotAFile, NothingThere, PathEscape, glob, read_file
from tests.kits.coding.trees import SECRET, Doorkeeper, never, plant
from tests.requirements import requirement


@pytest.fixture
def root(tmp_path: Path) -> Path:
    plant(tmp_path, {"outside/secret.txt": SECRET, "outside/deep/secret.txt": SECRET})
    return plant(tmp_path / "root", {"top.txt": "top", "nested/f.txt": "inner", "nested/deep/g.txt": "deepest"})


def content(jail: Jail | Path, path: str) -> str:
    return read_file(never, jail if isinstance(jail, Jail) else Jail(jail), path).content


def refusal(jail: Jail | Path, path: str) -> ToolFailure:
    with pytest.raises(ToolFailure) as caught:
        content(jail, path)
    return caught.value


# -- what is inside


@requirement("kits.jail.inside")
@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("top.txt", "top"),
        ("./top.txt", "top"),
        ("nested/f.txt", "inner"),
        ("nested//deep/./g.txt", "deepest"),
        ("nested/../nested/f.txt", "inner"),
        ("nested/deep/../../top.txt", "top"),
        ("nested/deep/../f.txt", "inner"),
    ],
)
def test_a_path_that_stays_inside_is_read(root: Path, path: str, found: str) -> None:
    assert content(root, path) == found


@requirement("kits.jail.inner-links")
@pytest.mark.parametrize(
    ("link", "target", "path", "found"),
    [
        ("alias", "top.txt", "alias", "top"),
        ("dir", "nested", "dir/f.txt", "inner"),
        ("dir", "nested/deep", "dir/../f.txt", "inner"),
        ("nested/up", "../top.txt", "nested/up", "top"),
        ("nested/deep/up", "../../nested", "nested/deep/up/deep/g.txt", "deepest"),
        ("here", ".", "here/here/here/top.txt", "top"),
    ],
)
def test_a_link_that_stays_inside_is_followed(root: Path, link: str, target: str, path: str, found: str) -> None:
    (root / link).symlink_to(target)

    assert content(root, path) == found


@requirement("kits.jail.inner-links")
def test_an_absolute_link_to_a_place_inside_is_followed(root: Path) -> None:
    (root / "absolute").symlink_to(root / "nested")
    (root / "itself").symlink_to(root)

    assert content(root, "absolute/f.txt") == "inner"
    assert content(root, "nested/../itself/top.txt") == "top"


@requirement("kits.jail.root-link")
def test_the_root_itself_may_be_a_link(root: Path, tmp_path: Path) -> None:
    entrance = tmp_path / "entrance"
    entrance.symlink_to(root)
    (root / "by-entrance").symlink_to(entrance / "nested/f.txt")
    (root / "by-target").symlink_to(root / "nested/f.txt")

    assert [content(entrance, path) for path in ("top.txt", "by-entrance", "by-target")] == ["top", "inner", "inner"]


@requirement("kits.jail.root-link")
def test_an_opened_root_stays_the_same_directory(root: Path, tmp_path: Path) -> None:
    jail = Jail(root)
    assert content(jail, "top.txt") == "top"

    root.rename(tmp_path / "moved")
    plant(root, {"top.txt": "another tree"})

    assert content(jail, "top.txt") == "top"


# -- what leads out


@requirement("kits.jail.escape-refused")
@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../outside/secret.txt",
        "nested/../../outside/secret.txt",
        "nested/deep/../../../outside/secret.txt",
        "./../root/top.txt",
        "/etc/passwd",
        "/",
    ],
)
def test_a_path_that_leads_out_is_refused(root: Path, path: str) -> None:
    failure = refusal(root, path)

    assert isinstance(failure, PathEscape)
    assert (failure.category, failure.code, failure.effect) == ("permission", "PATH_ESCAPE", "none")


@requirement("kits.jail.escape-refused")
def test_an_absolute_path_is_refused_even_when_it_is_inside(root: Path) -> None:
    assert isinstance(refusal(root, str(root / "top.txt")), PathEscape)


@requirement("kits.jail.escape-refused")
@pytest.mark.parametrize(
    ("link", "target", "path"),
    [
        ("leaf", "../outside/secret.txt", "leaf"),
        ("dir", "../outside", "dir/secret.txt"),
        ("dir", "../outside", "dir/deep/../secret.txt"),
        ("nested/far", "../../outside/secret.txt", "nested/far"),
        ("parent", "..", "parent/outside/secret.txt"),
        ("system", "/etc", "system/passwd"),
        ("again", "../root/top.txt", "again"),
    ],
)
def test_a_link_that_leads_out_is_refused(root: Path, link: str, target: str, path: str) -> None:
    (root / link).symlink_to(target)

    assert isinstance(refusal(root, path), PathEscape)


@requirement("kits.jail.escape-refused")
def test_a_link_to_a_sibling_whose_name_begins_like_the_root_leads_out(root: Path) -> None:
    plant(root.with_name("root-2"), {"secret.txt": SECRET})
    (root / "sibling").symlink_to(root.with_name("root-2") / "secret.txt")

    assert isinstance(refusal(root, "sibling"), PathEscape)


@requirement("kits.jail.escape-refused")
def test_a_chain_of_links_is_judged_by_where_it_ends(root: Path) -> None:
    (root / "one").symlink_to("two")
    (root / "two").symlink_to("nested/three")
    (root / "nested/three").symlink_to("../../outside/secret.txt")

    assert isinstance(refusal(root, "one"), PathEscape)


@requirement("kits.jail.escape-refused")
@pytest.mark.parametrize("path", ["../secret", "out/secret.txt", "nope", "nested", "pipe", "gone"])
def test_no_message_tells_where_the_root_is(root: Path, path: str) -> None:
    (root / "out").symlink_to(root.parent / "outside")
    (root / "gone").symlink_to("nothing-here")
    os.mkfifo(root / "pipe")

    failure = refusal(root, path)

    assert str(root) not in failure.message
    assert str(root.parent) not in str(failure.details)


# -- what is no path, or no file


@requirement("kits.jail.malformed-refused")
@pytest.mark.parametrize("path", ["", "a\0b", "x" * 5000, "half\ud800pair"])
def test_what_cannot_be_a_path_is_refused(root: Path, path: str) -> None:
    failure = refusal(root, path)

    assert isinstance(failure, InvalidPath)
    assert failure.category == "validation"
    assert len(failure.message) < 400
    failure.message.encode()


@requirement("kits.jail.errors-told")
@pytest.mark.parametrize("path", ["nope", "nope/../top.txt", "nested/nope.txt", "top.txt/f", "top.txt/../top.txt"])
def test_what_is_not_there_is_not_found(root: Path, path: str) -> None:
    failure = refusal(root, path)

    assert isinstance(failure, NothingThere)
    assert (failure.category, failure.code) == ("not_found", "NOT_FOUND")


@requirement("kits.jail.errors-told")
def test_a_name_that_is_too_long_is_told(root: Path) -> None:
    assert isinstance(refusal(root, "n" * 300), InvalidPath)


@requirement("kits.jail.special-files")
@pytest.mark.parametrize("path", [".", "nested", "nested/", "nested/deep/.."])
def test_a_directory_is_no_file(root: Path, path: str) -> None:
    failure = refusal(root, path)

    assert isinstance(failure, NotAFile)
    assert "glob" in failure.message


@requirement("kits.jail.special-files")
def test_a_file_is_no_directory(root: Path) -> None:
    with Jail(root) as jail, jail.handle(never) as handle, pytest.raises(NotAFile, match="is a file, not a directory"):
        handle.open_directory("top.txt")


@requirement("kits.jail.special-files")
def test_a_pipe_or_a_socket_is_refused_without_waiting_for_its_other_end(root: Path) -> None:
    os.mkfifo(root / "pipe")
    (root / "to-pipe").symlink_to("pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(root / "socket"))

        assert [type(refusal(root, path)) for path in ("pipe", "to-pipe", "socket")] == [NotAFile] * 3


@requirement("kits.jail.special-files")
def test_a_pipe_that_is_swapped_in_after_the_look_does_not_hang(root: Path) -> None:
    def swap(path: str, flags: int, *, dir_fd: int) -> int:
        if path == "top.txt":
            (root / "top.txt").unlink()
            os.mkfifo(root / "top.txt")
        return os.open(path, flags, dir_fd=dir_fd)

    assert isinstance(refusal(Jail(root, opener=swap), "top.txt"), NotAFile | NothingThere)


@requirement("kits.jail.dangling-link")
@pytest.mark.parametrize(
    ("target", "error"), [("nothing-here", NothingThere), ("nope/x", NothingThere), ("../outside/not-yet", PathEscape)]
)
def test_a_dangling_link_is_refused(root: Path, target: str, error: type[ToolFailure]) -> None:
    (root / "dangling").symlink_to(target)

    failure = refusal(root, "dangling")

    assert type(failure) is error
    assert error is PathEscape or "link" in failure.message


@requirement("kits.jail.link-loop")
def test_a_loop_of_links_ends(root: Path) -> None:
    (root / "self").symlink_to("self")
    (root / "a").symlink_to("b/x")
    (root / "b").symlink_to("a/y")
    (root / "grows").symlink_to("grows/grows")

    assert [type(refusal(root, path)) for path in ("self", "a", "grows/z")] == [NotAFile] * 3


@requirement("kits.jail.link-loop")
def test_forty_links_are_followed_and_no_more(root: Path) -> None:
    (root / "l0").symlink_to("top.txt")
    for number in range(1, 41):
        (root / f"l{number}").symlink_to(f"l{number - 1}")

    assert content(root, "l39") == "top"
    assert isinstance(refusal(root, "l40"), NotAFile)


# -- errors of the system


@requirement("kits.jail.errors-told")
@pytest.mark.parametrize(
    ("number", "category", "code"),
    [
        (errno.EACCES, "permission", "ACCESS_DENIED"),
        (errno.EPERM, "permission", "ACCESS_DENIED"),
        (errno.EMFILE, "transient", "TRANSIENT_ERROR"),
        (errno.EIO, "internal", "READ_FAILED"),
    ],
)
@pytest.mark.parametrize("refused", ["nested", "f.txt"])
def test_an_error_of_the_system_is_told_for_what_it_is(
    root: Path, refused: str, number: int, category: str, code: str
) -> None:
    jail = Jail(root, opener=Doorkeeper({refused: number}))

    failure = refusal(jail, "nested/f.txt")

    assert (failure.category, failure.code) == (category, code)
    assert "nested/f.txt" in failure.message


# -- races


def _swapping(root: Path, swap: Callable[[int], None], attempts: Callable[[], None]) -> None:
    """Run *attempts* while a thread swaps, at least three hundred times."""
    stop = threading.Event()
    ready = threading.Event()

    def run() -> None:
        for turn in range(1_000_000):
            swap(turn)
            if turn == 20:
                ready.set()
            if stop.is_set() and turn >= 300:
                return

    swapper = threading.Thread(target=run)
    swapper.start()
    try:
        assert ready.wait(30)
        attempts()
    finally:
        stop.set()
        swapper.join()


@requirement("kits.jail.race")
def test_a_directory_swapped_for_a_link_while_it_is_read_never_leads_out(root: Path) -> None:
    plant(root, {"seat/secret.txt": "harmless"})
    (root / "link").symlink_to(root.parent / "outside")
    seen: set[str] = set()

    def swap(_turn: int) -> None:
        (root / "seat").rename(root / "aside")
        (root / "link").rename(root / "seat")
        (root / "seat").rename(root / "link")
        (root / "aside").rename(root / "seat")

    def attempts() -> None:
        with Jail(root) as jail:
            for _ in range(1_500):
                try:
                    seen.add(content(jail, "seat/secret.txt"))
                except ToolFailure as failure:
                    seen.add(type(failure).__name__)

    _swapping(root, swap, attempts)

    assert seen <= {"harmless", "PathEscape", "NothingThere", "NotAFile"}
    assert content(root, "seat/secret.txt") == "harmless"


@requirement("kits.jail.race")
def test_a_file_swapped_for_a_link_while_it_is_read_never_leads_out(root: Path) -> None:
    plant(root, {"leaf": "harmless"})
    seen = {content(root, "leaf")}

    def swap(turn: int) -> None:
        new = root / "new"
        if turn % 2:
            new.write_text("harmless")
        else:
            new.symlink_to(root.parent / "outside/secret.txt")
        new.rename(root / "leaf")

    def attempts() -> None:
        with Jail(root) as jail:
            for _ in range(1_500):
                try:
                    seen.add(content(jail, "leaf"))
                except ToolFailure as failure:
                    seen.add(type(failure).__name__)

    _swapping(root, swap, attempts)

    assert "harmless" in seen
    assert seen <= {"harmless", "PathEscape", "NotAFile"}


@requirement("kits.jail.race")
@pytest.mark.parametrize("victim", ["nested", "deep"])
def test_a_link_swapped_in_between_the_look_and_the_open_is_judged_anew(root: Path, victim: str) -> None:
    """The same race, at its worst moment, every time."""
    plant(root.parent, {"outside/g.txt": SECRET, "outside/deep/g.txt": SECRET})
    swapped: list[str] = []

    def swap(path: str, flags: int, *, dir_fd: int) -> int:
        if path == victim and not swapped:
            swapped.append(path)
            place = next(root.rglob(victim))
            place.rename(root / "aside")
            place.symlink_to(root.parent / "outside")
        return os.open(path, flags, dir_fd=dir_fd)

    failure = refusal(Jail(root, opener=swap), "nested/deep/g.txt")

    assert swapped == [victim]
    assert isinstance(failure, PathEscape)


@requirement("kits.jail.race")
def test_a_link_to_a_place_inside_that_is_swapped_in_is_followed(root: Path) -> None:
    plant(root, {"other/g.txt": "the other"})

    def swap(path: str, flags: int, *, dir_fd: int) -> int:
        if path == "deep" and not (root / "nested/deep").is_symlink():
            (root / "nested/deep").rename(root / "aside")
            (root / "nested/deep").symlink_to("../other")
        return os.open(path, flags, dir_fd=dir_fd)

    assert content(Jail(root, opener=swap), "nested/deep/g.txt") == "the other"


@requirement("kits.jail.race")
def test_a_directory_moved_out_while_the_path_climbs_in_it_does_not_take_us_along(root: Path) -> None:
    """The kernel's own ``..`` would now be the place outside."""

    def move(path: str, flags: int, *, dir_fd: int) -> int:
        fd = os.open(path, flags, dir_fd=dir_fd)
        if path == "deep" and (root / "nested/deep").exists():
            (root / "nested/deep").rename(root.parent / "outside/moved")
        return fd

    failure = refusal(Jail(root, opener=move), "nested/deep/../secret.txt")

    assert isinstance(failure, NothingThere)


# -- handles


@requirement("kits.jail.handles-closed")
@pytest.mark.parametrize(
    "path", ["top.txt", "nested/deep/g.txt", "nested/../nested/f.txt", "link/g.txt", "nope", "nested", "out", "self"]
)
def test_no_handle_is_left_open_however_a_read_ends(root: Path, path: str) -> None:
    (root / "link").symlink_to("nested/deep")
    (root / "out").symlink_to("../outside")
    (root / "self").symlink_to("self")
    keeper = Doorkeeper()
    before = _open_handles()

    with Jail(root, opener=keeper) as jail:
        with contextlib.suppress(ToolFailure):
            content(jail, path)
        assert keeper.still_open() == []

    assert _open_handles() == before


def _open_handles() -> set[int]:
    gc.collect()  # the roots of earlier tests
    found: set[int] = set()
    for fd in range(256):
        try:
            os.fstat(fd)
        except OSError:
            continue
        found.add(fd)
    return found


@requirement("kits.jail.close")
def test_a_closed_jail_reads_no_more(root: Path) -> None:
    jail = Jail(root)
    content(jail, "top.txt")
    jail.close()
    jail.close()

    assert refusal(jail, "top.txt").category == "unavailable"


@requirement("kits.jail.close")
def test_a_read_under_way_ends_well_when_its_jail_is_closed(root: Path) -> None:
    jail = Jail(root)

    def close_it() -> None:
        jail.close()

    assert read_file(close_it, jail, "nested/deep/g.txt").content == "deepest"


@requirement("kits.jail.close")
def test_a_jail_that_nobody_holds_lets_go_of_its_root(root: Path) -> None:
    before = _open_handles()
    jail = Jail(root)
    content(jail, "top.txt")
    assert len(_open_handles()) == len(before) + 1

    del jail

    assert _open_handles() == before


# -- wrong roots


@requirement("kits.jail.wrong-root")
@pytest.mark.parametrize("root", ["", "  ", "no/such/directory", "a\0b"])
def test_a_root_that_is_no_directory_is_refused_at_once(root: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        Jail(root)

    assert caught.value.field == "root"


@requirement("kits.jail.wrong-root")
@pytest.mark.parametrize("root", [None, 5, b"root", ["root"], "x" * 300])
def test_a_root_that_cannot_even_be_looked_at_is_refused_at_once(root: object) -> None:
    with pytest.raises(DefinitionError) as caught:
        Jail(root)  # type: ignore[arg-type]  # the mistake under test

    assert caught.value.field == "root"


@requirement("kits.jail.errors-told")
def test_a_root_that_was_deleted_is_told_and_does_not_look_empty(root: Path) -> None:
    with Jail(root) as jail:
        assert content(jail, "top.txt") == "top"
        shutil.rmtree(root)

        with pytest.raises(ToolFailure, match="the root directory was deleted"):
            glob(never, jail, GlobQuery(pattern="*"))


@requirement("kits.names.undecodable", "kits.jail.inside")
def test_a_name_of_blanks_is_a_name(root: Path) -> None:
    plant(root, {" ": "blank"})

    assert content(root, " ") == "blank"


@requirement("kits.jail.wrong-root")
def test_a_file_is_no_root(root: Path) -> None:
    with pytest.raises(DefinitionError, match="is not a directory"):
        Jail(root / "top.txt")


@requirement("kits.jail.wrong-root")
def test_a_root_that_went_away_before_its_first_use_is_not_found(root: Path) -> None:
    jail = Jail(root)
    root.rename(root.with_name("moved"))

    assert isinstance(refusal(jail, "top.txt"), NothingThere)


@requirement("kits.jail.wrong-root")
def test_a_system_without_directory_handles_is_told(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "supports_dir_fd", set[object]())

    with pytest.raises(DefinitionError, match="POSIX directory handles"):
        Jail(root)
