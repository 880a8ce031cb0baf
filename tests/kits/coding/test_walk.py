"""What searching and listing have in common: where they go, what they count, and how they end."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from armory_trio.definitions._call import ToolFailure
from armory_trio.kits.coding import GlobQuery, GrepQuery, Jail, glob, grep
from armory_trio.kits.coding._walk import OPEN_LEVELS
from tests.kits.coding.trees import SECRET, Doorkeeper, Stopped, listing, never, places, plant, search, stop_after
from tests.requirements import requirement

EVERYTHING = GlobQuery(pattern="**/*")
NEEDLE = GrepQuery(pattern="needle")


# -- order


@requirement("kits.search.order")
def test_results_come_sorted_name_by_name(tmp_path: Path) -> None:
    names = ["b/z", "b.txt", "b/a", "a", "c/d/e", "c/d.x", "B", "é", "c/d-"]
    plant(tmp_path, dict.fromkeys(names, "needle"))

    assert listing(tmp_path, EVERYTHING).paths == (
        "B", "a", "b", "b/a", "b/z", "b.txt", "c", "c/d", "c/d/e", "c/d-", "c/d.x", "é",
    )  # fmt: skip
    assert [path for path, _ in places(search(tmp_path, NEEDLE))] == [
        "B", "a", "b/a", "b/z", "b.txt", "c/d/e", "c/d-", "c/d.x", "é",
    ]  # fmt: skip


# -- what is skipped is counted


@requirement("kits.search.skips-counted")
def test_a_match_in_a_hidden_or_ignored_file_alone_is_no_match_but_is_not_kept_quiet(tmp_path: Path) -> None:
    plant(tmp_path, {".cfg": "needle", "out.log": "needle", ".gitignore": "*.log", "main.c": "hay"})
    result = search(tmp_path, NEEDLE)

    assert (result.matches, result.files_scanned, result.truncated) == ((), 1, False)
    assert (result.skipped.hidden, result.skipped.ignored) == (1, 1)
    assert [note for note in result.notes if note.startswith("skipped: 1 hidden, 1 ignored")]
    assert "hidden=true and ignored=true" in result.notes[-1]


@requirement("kits.search.skips-counted")
def test_they_are_found_when_they_are_asked_for(tmp_path: Path) -> None:
    plant(
        tmp_path, {".cfg": "needle", "out.log": "needle", ".gitignore": "*.log", ".d/x": "needle", ".git/x": "needle"}
    )

    both = search(tmp_path, GrepQuery(pattern="needle", hidden=True, ignored=True))

    assert [path for path, _ in places(both)] == [".cfg", ".d/x", "out.log"]
    assert (both.skipped.hidden, both.skipped.ignored, both.skipped.repository) == (0, 0, 1)


@requirement("kits.search.skips-counted")
def test_hidden_names_count_only_where_the_pattern_reaches_them(tmp_path: Path) -> None:
    plant(tmp_path, {".cfg": "", ".x.py": "", ".d/e.py": "", "src/.y.py": "", "src/a.py": ""})

    assert listing(tmp_path, GlobQuery(pattern="src/*.py")).skipped.hidden == 1
    assert listing(tmp_path, GlobQuery(pattern="*.py")).skipped.hidden == 1
    assert listing(tmp_path, GlobQuery(pattern="**/*.py")).skipped.hidden == 3
    assert listing(tmp_path, GlobQuery(pattern="*/")).skipped.hidden == 1
    assert listing(tmp_path, GlobQuery(pattern=".d/*")).paths == (".d/e.py",)


@requirement("kits.search.skips-counted")
def test_version_control_data_is_entered_only_by_its_name(tmp_path: Path) -> None:
    plant(tmp_path, {".git/config": "needle", ".git/objects/ab": "needle", "a": "hay"})

    assert listing(tmp_path, GlobQuery(pattern="**/*", hidden=True)).skipped.repository == 1
    assert listing(tmp_path, GlobQuery(pattern=".git/*")).paths == (".git/config", ".git/objects")


@requirement("kits.search.skips-counted")
def test_binary_large_special_and_unreadable_files_are_counted(tmp_path: Path) -> None:
    plant(
        tmp_path,
        {
            "binary": b"needle\0",
            "large": b"needle" + b"x" * 1_048_576,
            "just-fits": b"needle" + b"x" * (1_048_576 - 6),
            "denied": "needle",
            "locked/inside": "needle",
            "empty": "",
        },
    )
    os.mkfifo(tmp_path / "pipe")
    jail = Jail(tmp_path, opener=Doorkeeper({"denied": errno.EACCES, "locked": errno.EACCES}))
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        result = search(jail, NEEDLE)

    assert places(result) == [("just-fits", 1)]
    assert result.files_scanned == 2
    skipped = result.skipped
    assert (skipped.binary, skipped.too_large, skipped.special, skipped.unreadable) == (1, 1, 2, 2)
    assert result.notes[-1] == "skipped: 2 pipes or devices, 2 unreadable, 1 binary, 1 too large"


@requirement("kits.search.skips-counted")
def test_a_file_that_vanishes_or_grows_under_the_search_is_counted(tmp_path: Path) -> None:
    plant(tmp_path, {"gone": "needle", "grows": "needle", "stays": "needle"})

    def meddle(path: str, flags: int, *, dir_fd: int) -> int:
        if path == "gone":
            (tmp_path / "gone").unlink()
        return os.open(path, flags, dir_fd=dir_fd)

    result = search(Jail(tmp_path, opener=meddle), NEEDLE)

    assert [path for path, _ in places(result)] == ["grows", "stays"]
    assert result.skipped.unreadable == 1


@requirement("kits.search.skips-counted")
def test_a_directory_that_cannot_be_listed_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, {"a/x": "", "b/y": ""})
    bad = (tmp_path / "a").stat().st_ino
    real = os.scandir

    def scandir(fd: int) -> object:
        if os.fstat(fd).st_ino == bad:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(fd)

    keeper = Doorkeeper()
    monkeypatch.setattr(os, "scandir", scandir)
    monkeypatch.setattr(os, "supports_fd", {*os.supports_fd, scandir})
    found = listing(Jail(tmp_path, opener=keeper), EVERYTHING)

    assert (found.paths, found.skipped.unreadable) == (("a", "b", "b/y"), 1)
    assert keeper.still_open() == []


@requirement("kits.search.exhaustion")
@pytest.mark.parametrize("refused", ["dir", "file", ".gitignore"])
def test_running_out_of_handles_is_an_error_and_no_skip(tmp_path: Path, refused: str) -> None:
    plant(tmp_path, {"dir/x": "needle", "file": "needle", ".gitignore": ""})
    keeper = Doorkeeper({refused: errno.EMFILE})
    jail = Jail(tmp_path, opener=keeper)

    with pytest.raises(ToolFailure) as caught:
        search(jail, NEEDLE)

    assert (caught.value.category, caught.value.retryable) == ("transient", True)
    assert keeper.still_open() == []


@requirement("kits.search.exhaustion")
def test_running_out_of_handles_at_a_link_is_an_error_too(tmp_path: Path) -> None:
    plant(tmp_path, {"dir/x": "needle"})
    (tmp_path / "link").symlink_to("dir/x")

    with pytest.raises(ToolFailure, match="too many open files"):
        listing(Jail(tmp_path, opener=Doorkeeper({"dir": errno.EMFILE})), GlobQuery(pattern="link"))


# -- links


@requirement("kits.search.links-end")
def test_loops_of_links_end(tmp_path: Path) -> None:
    plant(tmp_path, {"a/b/file": "needle"})
    (tmp_path / "a/b/up").symlink_to("..")
    (tmp_path / "a/loop").symlink_to("loop")
    (tmp_path / "here").symlink_to(".")

    result = search(tmp_path, NEEDLE)
    by_name = search(tmp_path, GrepQuery(pattern="needle", glob="here/**/here/**/*"))

    assert places(result) == [("a/b/file", 1)]
    assert result.skipped.links == 3
    assert places(by_name) == [("here/here/a/b/file", 1)]


@requirement("kits.search.links-end")
def test_a_link_is_followed_where_the_pattern_names_it(tmp_path: Path) -> None:
    plant(tmp_path, {"packages/core/src/a.py": "needle", "packages/core/src/b/c.py": "needle"})
    (tmp_path / "src").symlink_to("packages/core/src")
    (tmp_path / "one.py").symlink_to("src/a.py")

    assert listing(tmp_path, GlobQuery(pattern="src/**/*.py")).paths == ("src/a.py", "src/b/c.py")
    assert places(search(tmp_path, GrepQuery(pattern="needle", glob="one.py"))) == [("one.py", 1)]
    assert places(search(tmp_path, GrepQuery(pattern="needle", glob="./src"))) == [("src/a.py", 1), ("src/b/c.py", 1)]
    assert listing(tmp_path, GlobQuery(pattern="s*/**/*.py")).skipped.links == 1


@requirement("kits.search.links-end")
@pytest.mark.parametrize("target", ["../outside", "../outside/secret", "/etc", "nowhere", "link"])
@pytest.mark.parametrize("pattern", ["**/*", "link", "link/*", "link/**/*", "*/secret"])
def test_a_link_that_leads_out_or_nowhere_is_neither_listed_nor_searched(
    tmp_path: Path, target: str, pattern: str
) -> None:
    plant(tmp_path, {"outside/secret": SECRET, "root/file": "x"})
    (tmp_path / "root/link").symlink_to(target)

    found = listing(tmp_path / "root", GlobQuery(pattern=pattern))
    searched = search(tmp_path / "root", GrepQuery(pattern="secret|root:", glob=pattern))

    assert [path for path in found.paths if path != "file"] == []
    assert searched.matches == ()
    assert searched.skipped.links + found.skipped.links >= 1


@requirement("kits.search.links-end", "kits.jail.race")
@pytest.mark.parametrize("victim", ["seat", "f", ".gitignore"])
def test_a_link_swapped_in_between_the_listing_and_the_open_is_not_followed(tmp_path: Path, victim: str) -> None:
    """The race of the next test, at its worst moment, every time."""
    plant(tmp_path, {"outside/f": SECRET, "outside/rules": "z", "root/seat/f": "harmless", "root/seat/z": "harmless"})
    plant(tmp_path, {"root/seat/.gitignore": "nothing"})
    root = tmp_path / "root"

    def swap(path: str, flags: int, *, dir_fd: int) -> int:
        place = root / "seat" / ("" if victim == "seat" else victim)
        if path == victim and place.exists() and not place.is_symlink():
            place.rename(root.parent / "aside")
            place.symlink_to(root.parent / {"seat": "outside", "f": "outside/f", ".gitignore": "outside/rules"}[victim])
        return os.open(path, flags, dir_fd=dir_fd)

    result = search(Jail(root, opener=swap), GrepQuery(pattern="."))

    kept = {"seat": [], "f": ["seat/z"], ".gitignore": ["seat/f", "seat/z"]}[victim]
    assert [(match.path, match.text) for match in result.matches] == [(path, "harmless") for path in kept]
    assert result.skipped.unreadable == (victim != ".gitignore")


@requirement("kits.search.links-end")
def test_a_directory_swapped_for_a_link_while_it_is_searched_never_leads_out(tmp_path: Path) -> None:
    plant(tmp_path, {"outside/f": SECRET, "root/seat/f": "harmless", "root/z": "harmless"})
    root = tmp_path / "root"
    (root / "link").symlink_to("../outside")
    stop = threading.Event()
    ready = threading.Event()

    def swap() -> None:
        for turn in range(1_000_000):
            (root / "seat").rename(root / "aside")
            (root / "link").rename(root / "seat")
            (root / "seat").rename(root / "link")
            (root / "aside").rename(root / "seat")
            if turn == 20:
                ready.set()
            if stop.is_set() and turn > 300:
                return

    swapper = threading.Thread(target=swap)
    swapper.start()
    texts: set[str] = set()
    try:
        assert ready.wait(30)
        for _ in range(400):
            for where in ("**/*", "seat/*"):
                texts |= {match.text for match in search(root, GrepQuery(pattern=".", glob=where)).matches}
    finally:
        stop.set()
        swapper.join()

    assert texts == {"harmless"}


@requirement("kits.search.links-end", "kits.search.exhaustion")
def test_a_linked_directory_that_cannot_be_opened_is_counted_or_an_error(tmp_path: Path) -> None:
    plant(tmp_path, {"locked/f": "needle"})
    (tmp_path / "link").symlink_to("locked")
    query = GrepQuery(pattern="needle", glob="link/*")

    denied = search(Jail(tmp_path, opener=Doorkeeper({"locked": errno.EACCES})), query)

    assert (denied.matches, denied.skipped.unreadable) == ((), 1)
    with pytest.raises(ToolFailure, match="too many open files"):
        search(Jail(tmp_path, opener=Doorkeeper({"locked": errno.EMFILE})), query)


# -- deep and large trees


def _dig(root: Path, depth: int) -> None:
    fd = os.open(root, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=fd)
        below = os.open("d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(os.open("needle", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.close(fd)


@requirement("kits.search.deep-tree")
def test_a_very_deep_tree_is_walked_to_its_end_with_few_handles(tmp_path: Path) -> None:
    depth = 1_200
    _dig(tmp_path, depth)
    most = 0

    class Counting(Doorkeeper):
        def __call__(self, path: str, flags: int, *, dir_fd: int) -> int:
            nonlocal most
            fd = super().__call__(path, flags, dir_fd=dir_fd)
            if len(self.handles) % 100 == 0:
                most = max(most, len(set(self.still_open())))
            return fd

    keeper = Counting()
    try:
        found = listing(Jail(tmp_path, opener=keeper), EVERYTHING)
    finally:
        # Too deep for pytest's own cleaner, which is recursive.
        subprocess.run(["rm", "-rf", str(tmp_path / "d")], check=True)

    assert len(found.paths) == 500
    assert found.truncated
    assert 1 < most <= OPEN_LEVELS + 4
    assert keeper.still_open() == []


@requirement("kits.search.deep-tree")
def test_what_comes_after_a_deep_branch_is_still_found(tmp_path: Path) -> None:
    branch = "/".join("d" * (OPEN_LEVELS * 2))
    plant(
        tmp_path, {f"{branch}/f": "needle", "z": "needle", "d/z": "needle", "d/d/d/z": "needle", "d/d/zz/y": "needle"}
    )

    expected = [f"{branch}/f", "d/d/d/z", "d/d/zz/y", "d/z", "z"]

    assert [path for path, _ in places(search(tmp_path, NEEDLE))] == expected
    assert [path for path in listing(tmp_path, EVERYTHING).paths if path.endswith(("f", "z", "y"))] == [
        f"{branch}/f", "d/d/d/z", "d/d/zz", "d/d/zz/y", "d/z", "z",
    ]  # fmt: skip


@requirement("kits.search.deep-tree", "kits.search.skips-counted")
def test_a_directory_that_is_gone_when_the_walk_comes_back_to_it_is_counted(tmp_path: Path) -> None:
    branch = "/".join("d" * (OPEN_LEVELS * 2))
    plant(tmp_path, {f"{branch}/f": "needle", "d/z": "needle"})

    def meddle(path: str, flags: int, *, dir_fd: int) -> int:
        if path == "f":
            (tmp_path / "d").rename(tmp_path / "elsewhere")
        return os.open(path, flags, dir_fd=dir_fd)

    result = search(Jail(tmp_path, opener=meddle), NEEDLE)

    assert [path for path, _ in places(result)] == [f"{branch}/f"]
    assert result.skipped.unreadable == 1


@requirement("kits.search.deep-tree")
def test_a_deep_branch_behind_a_link_is_found_again_on_the_way_back(tmp_path: Path) -> None:
    branch = "/".join("d" * (OPEN_LEVELS * 2))
    plant(tmp_path, {f"real/{branch}/f": "needle", "real/z": "needle"})
    (tmp_path / "link").symlink_to("real")

    result = search(tmp_path, GrepQuery(pattern="needle", glob="./link"))

    assert places(result) == [(f"link/{branch}/f", 1), ("link/z", 1)]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("large")
    for directory in range(100):
        (root / f"d{directory:02}").mkdir()
        for number in range(100):
            (root / f"d{directory:02}/f{number:02}").write_bytes(b"some text\nneedle\n")
    return root


def _search(check: Callable[[], None], jail: Jail) -> int:
    return len(list(grep(check, jail, GrepQuery(pattern="nothing-like-it"))))


def _list(check: Callable[[], None], jail: Jail) -> int:
    return len(glob(check, jail, GlobQuery(pattern="**/nothing-like-it")).paths)


@requirement("kits.search.cancel")
@pytest.mark.parametrize("run", [_search, _list])
@pytest.mark.parametrize("checks", [0, 1, 2, 7, 300, 5_000])
def test_a_walk_through_ten_thousand_files_stops_in_the_middle(
    large: Path, run: Callable[[Callable[[], None], Jail], int], checks: int
) -> None:
    keeper = Doorkeeper()

    with Jail(large, opener=keeper) as jail, pytest.raises(Stopped):
        run(stop_after(checks), jail)

    assert len(keeper.opened) <= checks + 4
    assert keeper.still_open() == []


@requirement("kits.search.cancel")
def test_the_whole_of_it_is_searched_otherwise(large: Path) -> None:
    result = search(large, GrepQuery(pattern="needle", max_matches=20_000))

    assert (len(result.matches), result.files_scanned, result.truncated) == (10_000, 10_000, False)
    assert result.notes == ()


@requirement("kits.search.cancel")
def test_the_listing_of_one_large_directory_can_be_stopped(tmp_path: Path) -> None:
    for number in range(2_000):
        (tmp_path / f"f{number}").touch()

    with Jail(tmp_path) as jail, pytest.raises(Stopped):
        glob(stop_after(5), jail, GlobQuery(pattern="*"))


@requirement("kits.jail.handles-closed")
def test_a_search_that_is_closed_after_its_first_match_leaves_no_handle(large: Path) -> None:
    keeper = Doorkeeper()
    with Jail(large, opener=keeper) as jail:
        matches = grep(never, jail, NEEDLE)
        next(matches)
        assert keeper.still_open() != []
        matches.close()

        assert keeper.still_open() == []


@requirement("kits.search.skips-counted")
def test_progress_is_reported_now_and_then(large: Path) -> None:
    told: list[str] = []
    with Jail(large) as jail:
        list(grep(never, jail, GrepQuery(pattern="nothing-like-it"), report=told.append))
        glob(never, jail, GlobQuery(pattern="**/*", max_results=3_000), report=told.append)

    assert told[:2] == ["500 files searched, 0 matches", "1,000 files searched, 0 matches"]
    assert len(told) == 23
    assert told[-1] == "3,000 paths found"
