"""The socket of a live view: whose it is, where it is, what is left of it; and the client that looks through it."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import re
import signal
import socket
import stat
import struct
import subprocess
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Final, cast

import msgspec
import pytest
import trio
import trio.testing

from armory_trio import ToolCall, open_supervisor
from armory_trio.observability import _socket_paths, _socket_server
from armory_trio.observability._socket_messages import line_of
from armory_trio.observability._socket_paths import answers, folders
from armory_trio.observability._socket_server import Peer, peer_of
from armory_trio.observability._socket_wire import Wire
from armory_trio.observability.live import (
    LiveView,
    LiveViewError,
    LiveViewGone,
    Query,
    running_hosts,
    serve_live_view,
)
from tests.docs import ROOT
from tests.requirements import requirement

from .hosts import BOUND, TOOLBOX, begin, served

# ── Where it is ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@requirement("live.private")
async def test_the_socket_is_for_its_own_user_in_a_folder_of_its_own(folder: Path) -> None:
    async with open_supervisor(TOOLBOX) as supervisor, serve_live_view(supervisor, name="my host") as server:
        path = Path(server.path)
        assert path == folder / "armory-trio" / f"live-{os.getpid()}-my-host.sock"
        assert (_mode(path), _mode(path.parent)) == (0o600, 0o700)
        assert [(found.pid, found.name, found.path) for found in running_hosts()] == [
            (os.getpid(), "my-host", str(path))
        ]

    assert _names(folder / "armory-trio") == []
    assert running_hosts() == []


@requirement("live.private")
async def test_without_a_runtime_folder_it_is_in_the_one_for_temporary_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder / "is not there"))
    async with open_supervisor(TOOLBOX) as supervisor, serve_live_view(supervisor) as server:
        assert Path(server.path).parent == folder / f"armory-trio-{os.geteuid()}"
        assert [found.path for found in running_hosts()] == [server.path]


@requirement("live.private")
@pytest.mark.parametrize("runtime", ["of another user", "that is relative", "that cannot be"])
def test_a_runtime_folder_that_is_not_this_user_s_is_left_alone(
    runtime: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if runtime == "of another user":  # as it is for who became another one by sudo or su
        uid = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: uid + 1)
    else:
        monkeypatch.setenv("XDG_RUNTIME_DIR", "relative" if runtime == "that is relative" else f"/{'x' * 300}")

    assert folders() == [folder / f"armory-trio-{os.geteuid()}"]


@requirement("live.private")
def test_a_folder_that_goes_while_it_is_looked_through_holds_no_hosts(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "armory-trio").mkdir(mode=0o700)
    real = Path.lstat

    def gone(path: Path) -> os.stat_result:
        found = real(path)
        path.rmdir()
        return found

    monkeypatch.setattr(Path, "lstat", gone)
    assert running_hosts() == []


@requirement("live.private")
@pytest.mark.parametrize("kind", ["open to others", "a link", "a file", "of another user"])
async def test_a_folder_that_others_could_enter_is_refused(
    kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = folder / "armory-trio"
    if kind == "open to others":
        mine.mkdir()
        mine.chmod(0o755)
    elif kind == "a link":
        (folder / "elsewhere").mkdir(mode=0o700)
        mine.symlink_to(folder / "elsewhere")
    elif kind == "of another user":
        mine.mkdir(mode=0o700)
        real = Path.lstat

        def strange(path: Path) -> os.stat_result:
            found = list(real(path))
            found[stat.ST_UID] += 1
            return os.stat_result(found)

        monkeypatch.setattr(Path, "lstat", strange)
    else:
        mine.write_text("")
    async with open_supervisor(TOOLBOX) as supervisor:
        with pytest.raises(LiveViewError, match=r"armory-trio .*(chmod 700|cannot be made).*give a path"):
            async with serve_live_view(supervisor):
                pass

    assert running_hosts() == []


@requirement("live.private")
@pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="the system does not tell")
def test_a_user_with_a_very_high_number_is_known_as_such() -> None:
    def told(*_: int) -> bytes:
        return struct.pack("iII", 7, 4_294_967_294, 7)

    stream = SimpleNamespace(socket=SimpleNamespace(getsockopt=told))
    assert peer_of(cast("trio.SocketStream", stream)) == Peer(7, 4_294_967_294)


@requirement("live.private")
async def test_another_user_is_not_let_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with served(str(folder / "s")):
        async with await trio.open_unix_socket(folder / "s") as stream:
            assert peer_of(stream) == Peer(os.getpid(), os.geteuid())

        def stranger(_: trio.SocketStream) -> Peer:
            return Peer(1, 12345)

        monkeypatch.setattr(_socket_server, "peer_of", stranger)
        with pytest.raises(LiveViewError, match="its own user only"):
            async with LiveView.connect(folder / "s"):
                pass

    assert (Peer(1, 0).allowed, Peer(1, os.geteuid()).allowed, Peer().allowed) == (True, True, True)


@requirement("live.paths")
async def test_supervisors_of_one_process_have_a_socket_each_also_when_they_begin_at_once(folder: Path) -> None:
    found: list[str] = []
    all_there = trio.Event()

    async def serve() -> None:
        async with open_supervisor(TOOLBOX) as supervisor, serve_live_view(supervisor, name="host") as server:
            found.append(server.path)
            if len(found) == 3:
                assert sorted(each.path for each in running_hosts()) == sorted(found)
                all_there.set()
            await all_there.wait()

    with trio.fail_after(BOUND):
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(serve)
    async with open_supervisor(TOOLBOX) as supervisor, serve_live_view(supervisor, name="host") as server:
        again = server.path

    assert sorted(Path(path).name for path in found) == [
        f"live-{os.getpid()}-host{number}.sock" for number in ("-2", "-3", "")
    ]
    assert Path(again).name == f"live-{os.getpid()}-host.sock"


def _abandoned(path: Path) -> None:
    """What a host leaves that was killed."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))


def _dead() -> int:
    """The number of a process that is gone."""
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    return gone.pid


@requirement("live.paths")
async def test_what_a_dead_host_left_is_replaced(folder: Path) -> None:
    _abandoned(folder / "s")
    async with served(str(folder / "s")), LiveView.connect(folder / "s") as view:
        assert view.host.name == "host"


@requirement("live.paths")
async def test_what_dead_hosts_left_is_removed_and_nothing_else(folder: Path) -> None:
    mine = folder / "armory-trio"
    gone, alive, other = mine / f"live-{_dead()}-x.sock", mine / f"live-{os.getpid()}-x.sock", mine / "notes.txt"
    for path in (gone, alive):
        _abandoned(path)
    other.write_text("keep me")
    async with open_supervisor(TOOLBOX) as supervisor, serve_live_view(supervisor, name="y"):
        left = _names(mine)

    assert left == sorted([f"live-{os.getpid()}-x.sock", f"live-{os.getpid()}-y.sock", "notes.txt"])


@requirement("live.paths")
async def test_the_socket_of_a_host_that_lives_is_never_taken(folder: Path) -> None:
    async with served(str(folder / "s")), open_supervisor(TOOLBOX) as other:
        with pytest.raises(LiveViewError, match="another host serves its view there"):
            async with serve_live_view(other, path=folder / "s"):
                pass
        async with LiveView.connect(folder / "s") as view:
            assert view.host.pid == os.getpid()


@requirement("live.paths")
async def test_of_hosts_that_want_one_path_at_once_one_gets_it(folder: Path) -> None:
    _abandoned(folder / "s")
    outcomes: list[str] = []

    async def want() -> None:
        async with open_supervisor(TOOLBOX) as supervisor:
            try:
                async with serve_live_view(supervisor, path=folder / "s"):
                    outcomes.append("serves")
                    await all_decided.wait()
            except LiveViewError:
                outcomes.append("refused")
            if len(outcomes) == 5:
                all_decided.set()

    all_decided = trio.Event()
    with trio.fail_after(BOUND):
        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(want)

    assert sorted(outcomes) == ["refused"] * 4 + ["serves"]


@requirement("live.paths")
@pytest.mark.parametrize("patience", [0.05, 60.0])
async def test_a_host_waits_while_another_makes_its_socket_in_the_same_folder(
    patience: float, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_socket_paths, "_PATIENCE", patience)
    other = os.open(folder, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    outcome: list[str] = []
    decided = trio.Event()

    async def serve() -> None:
        try:
            async with served(str(folder / "s")):
                outcome.append("serves")
        except LiveViewError as error:
            outcome.append(str(error))
        decided.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve)
        await trio.sleep(0.1)
        assert "serves" not in outcome
        if patience < 1:
            await decided.wait()
        os.close(other)

    assert outcome == ["serves"] or "another process holds a lock on its folder" in outcome[0]
    assert (outcome == ["serves"]) is (patience > 1)


@requirement("live.paths")
async def test_a_host_that_is_too_busy_to_let_anybody_in_is_no_dead_one(folder: Path) -> None:
    path = folder / "s"
    with socket.socket(socket.AF_UNIX) as busy, contextlib.ExitStack() as waiting:
        busy.bind(str(path))
        busy.listen(0)
        for _ in range(3):
            client = waiting.enter_context(socket.socket(socket.AF_UNIX))
            client.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                client.connect(str(path))
        assert answers(path)
        with trio.fail_after(BOUND), pytest.raises(LiveViewError, match="so many wait to be let in"):
            async with LiveView.connect(path):
                pass
    assert not answers(path)


@requirement("live.paths")
@pytest.mark.parametrize("to", ["a socket in use", "a left-over socket", "a file", "nothing"])
async def test_a_link_is_not_followed_and_not_replaced(to: str, folder: Path) -> None:
    target, link = folder / "target", folder / "link"
    link.symlink_to(target)
    if to == "a left-over socket":
        _abandoned(target)
    elif to == "a file":
        target.write_text("keep me")
    async with served(str(target if to == "a socket in use" else folder / "s")), open_supervisor(TOOLBOX) as supervisor:
        with pytest.raises(LiveViewError, match="there is something else that is no socket"):
            async with serve_live_view(supervisor, path=link):
                pytest.fail("it is served")

    assert link.is_symlink()
    assert to != "a file" or target.read_text() == "keep me"


KILLED: Final = """
import trio
from armory_trio import Toolbox, open_supervisor
from armory_trio.observability.live import serve_live_view

async def main():
    async with open_supervisor(Toolbox([])) as supervisor, serve_live_view(supervisor, name="killed") as server:
        print(server.path, flush=True)
        await trio.sleep_forever()

trio.run(main)
"""


@requirement("live.paths")
def test_the_socket_of_a_host_that_was_killed_is_cleared_away_by_whoever_looks_or_serves(folder: Path) -> None:
    left: list[Path] = []
    for _ in range(2):
        with subprocess.Popen(
            [sys.executable, "-c", KILLED],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        ) as host:
            assert host.stdout is not None
            left.append(Path(host.stdout.readline().strip()))
            assert [found.name for found in running_hosts()] == ["killed"]
            host.kill()
            host.wait()
        assert left[-1].is_socket()
        if len(left) == 1:
            assert running_hosts() == []
            assert not left[-1].exists()

    async def serve() -> None:
        async with open_supervisor(TOOLBOX) as supervisor, serve_live_view(supervisor, name="next") as server:
            assert _names(Path(server.path).parent) == [Path(server.path).name]

    trio.run(serve)


@requirement("live.paths")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a file", "is no socket"),
        ("x" * 120, "at most 100 bytes"),
        ("is/not/there", "cannot be made: No such file"),
    ],
    ids=["something else", "too long", "no folder"],
)
async def test_a_path_that_cannot_be_used_says_why(name: str, words: str, folder: Path) -> None:
    (folder / "a file").write_text("keep me")
    async with open_supervisor(TOOLBOX) as supervisor:
        with pytest.raises(LiveViewError, match=words):
            async with serve_live_view(supervisor, path=folder / name):
                pass

    assert (folder / "a file").read_text() == "keep me"


# ── How it ends ──────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("live.ends")
@pytest.mark.parametrize("way", ["left", "raised", "cancelled"])
async def test_however_the_block_is_left_viewers_are_told_and_the_socket_is_gone(way: str, folder: Path) -> None:
    told = trio.Event()

    async def look(task_status: trio.TaskStatus[None]) -> None:
        async with LiveView.connect(folder / "s") as view, view.subscribe(interval=3600) as frames:
            await anext(frames)
            task_status.started()
            with pytest.raises(LiveViewGone):
                await anext(frames)
            told.set()
            with pytest.raises(LiveViewGone):
                await view.look()

    async with trio.open_nursery() as nursery:
        with trio.CancelScope() as scope:
            try:
                async with served(str(folder / "s")):
                    await nursery.start(look)
                    if way == "raised":
                        raise LookupError("mine")  # noqa: TRY301  # what leaves the block is what is tested
                    if way == "cancelled":
                        scope.cancel()
                        await trio.lowlevel.checkpoint()
            except LookupError:  # bare, not in a group
                pass
        with trio.fail_after(BOUND):
            await told.wait()

    assert not (folder / "s").exists()


@requirement("live.ends")
async def test_a_socket_that_somebody_put_in_its_place_is_left_there(folder: Path) -> None:
    async with served(str(folder / "s")):
        (folder / "s").unlink()
        _abandoned(folder / "s")

    assert (folder / "s").exists()


@requirement("live.ends")
async def test_serving_that_is_cancelled_anywhere_leaves_nothing(folder: Path) -> None:
    async with open_supervisor(TOOLBOX) as supervisor:
        for steps in range(8):
            with trio.CancelScope() as scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(_cancel_after, steps, scope)
                    async with serve_live_view(supervisor, path=folder / "s"):
                        await trio.lowlevel.checkpoint()
            assert _names(folder) == []


async def _cancel_after(steps: int, scope: trio.CancelScope) -> None:
    for _ in range(steps):
        await trio.lowlevel.checkpoint()
    scope.cancel()


# ── Who looks ────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("live.client", "live.abort")
async def test_a_viewer_looks_closely_and_aborts(folder: Path) -> None:
    async with served(str(folder / "s")) as supervisor:
        running = begin(supervisor, "crawl", "run-1")
        async with LiveView.connect(folder / "s") as view:
            assert (await view.look()).executions[0].owner_id == "run-1"
            assert (await view.abort(running.id, "because")) == "requested"
            assert (await running.result()).error is not None
            detail = await view.detail(running.id)
            assert await view.detail("exe-nobody") is None

    assert detail is not None and (detail.execution.state, detail.execution.error_code) == ("terminal", "CANCELLED")


@requirement("live.abort")
async def test_who_aborted_what_is_logged_and_not_the_reason(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "armory_trio.observability")
    async with served(str(folder / "s")) as supervisor:
        running = begin(supervisor, "crawl")
        async with LiveView.connect(folder / "s") as view:
            await view.abort(running.id, "the secret reason")

    [line] = [record.getMessage() for record in caplog.records]
    assert re.fullmatch(rf"a viewer \(uid .*, pid .*\) asked '{running.id}' to stop: \S+", line)


@requirement("live.abort")
async def test_a_host_may_let_nobody_abort(folder: Path) -> None:
    async with served(str(folder / "s"), allow_abort=False) as supervisor:
        running = begin(supervisor, "crawl")
        async with LiveView.connect(folder / "s") as view:
            assert not view.host.allow_abort
            assert await view.abort(running.id, "because") == "not-allowed"
        assert running.snapshot.abort is None


@requirement("live.viewers")
async def test_several_viewers_see_what_each_of_them_asked_for(folder: Path) -> None:
    async with served(str(folder / "s")) as supervisor:
        for owner in ("a", "b", "c"):
            begin(supervisor, "crawl", owner)
        seen: dict[str, list[str | None]] = {}

        async def look(owner: str) -> None:
            async with (
                LiveView.connect(folder / "s") as view,
                view.subscribe(Query(owners=(owner,)), interval=0.1) as frames,
            ):
                for _ in range(3):
                    seen[owner] = [each.owner_id for each in (await anext(frames)).executions]

        async with trio.open_nursery() as nursery:
            for owner in ("a", "b", "c"):
                nursery.start_soon(look, owner)

    assert seen == {"a": ["a"], "b": ["b"], "c": ["c"]}


@requirement("live.viewers")
async def test_there_are_only_so_many_viewers_at_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_socket_server, "_VIEWERS", 2)
    async with served(str(folder / "s")), LiveView.connect(folder / "s") as one:
        async with LiveView.connect(folder / "s"):
            assert (await one.look()).host.viewers == 2
            with pytest.raises(LiveViewGone, match="2 viewers look at this host already"):
                async with LiveView.connect(folder / "s"):
                    pass
        while (await one.look()).host.viewers > 1:
            pass
        async with LiveView.connect(folder / "s") as again:
            await again.look()


@requirement("live.client")
async def test_a_subscription_may_change_and_end_while_the_view_goes_on(folder: Path) -> None:
    async with served(str(folder / "s")) as supervisor:
        begin(supervisor, "crawl", "a")
        begin(supervisor, "crawl", "b")
        async with LiveView.connect(folder / "s") as view:
            async with view.subscribe(Query(owners=("a",)), interval=3600) as frames:
                first = await anext(frames)
                await frames.change(Query(owners=("b",)))
                second = await anext(frames)
                with pytest.raises(trio.BusyResourceError):
                    async with view.subscribe():
                        pass
            async with view.subscribe(Query(limit=0)) as frames:
                third = await anext(frames)
            last = await view.look()

    assert [first.executions[0].owner_id, second.executions[0].owner_id] == ["a", "b"]
    assert (third.executions, third.matched, last.matched) == ((), 2, 2)


@requirement("live.client")
async def test_a_subscription_that_is_cancelled_or_fails_ends_and_the_view_goes_on(folder: Path) -> None:
    async with served(str(folder / "s")), LiveView.connect(folder / "s") as view:
        with trio.CancelScope() as scope:
            async with view.subscribe(interval=0.1) as frames:
                await anext(frames)
                scope.cancel()
                await anext(frames)
        with pytest.raises(LookupError):  # noqa: PT012  # what leaves the block is what is tested
            async with view.subscribe(interval=0.1) as frames:
                await anext(frames)
                raise LookupError
        await view.look()
        wire = view._wire  # pyright: ignore[reportPrivateUsage]  # what comes unasked shows nowhere else
        wire._frame = None  # pyright: ignore[reportPrivateUsage]  # likewise
        for _ in range(3):
            await trio.sleep(0.1)
            await view.look()
        unasked = wire._frame  # pyright: ignore[reportPrivateUsage]  # likewise
        async with view.subscribe() as frames:
            assert (await anext(frames)).host.viewers == 1

    assert unasked is None


@requirement("live.client")
async def test_a_slow_viewer_gets_the_newest_frame(folder: Path) -> None:
    async with (
        served(str(folder / "s")) as supervisor,
        LiveView.connect(folder / "s") as view,
        view.subscribe(interval=0.1) as frames,
    ):
        await anext(frames)
        await supervisor.execute(ToolCall("quick", {}))
        before = await view.look()
        while (await view.look()).at < before.at + 0.5:  # frames come meanwhile
            pass
        assert (await anext(frames)).totals.ended == 1


@requirement("live.client")
@pytest.mark.parametrize("what", ["connect", "look", "abort", "frame", "change"])
async def test_a_viewer_that_is_cancelled_leaves_nothing(what: str, folder: Path) -> None:
    async with served(str(folder / "s")) as supervisor:
        running = begin(supervisor, "crawl")
        for steps in range(0, 12, 2):
            with trio.CancelScope() as scope:
                async with trio.open_nursery() as nursery:
                    if what == "connect":
                        nursery.start_soon(_cancel_after, steps, scope)
                    async with LiveView.connect(folder / "s") as view, view.subscribe(interval=3600) as frames:
                        do: dict[str, Callable[[], Awaitable[object]]] = {
                            "connect": view.look,
                            "look": view.look,
                            "abort": partial(view.abort, "exe-nobody", "x"),
                            "frame": frames.__anext__,
                            "change": partial(frames.change, Query(limit=1)),
                        }
                        if what != "connect":
                            nursery.start_soon(_cancel_after, steps, scope)
                        for _ in range(3):
                            await do[what]()
                        scope.cancel()
        async with LiveView.connect(folder / "s") as other:
            while (await other.look()).host.viewers > 1:  # those that left are forgotten
                pass
        assert running.snapshot.abort is None


@requirement("live.client")
@pytest.mark.parametrize("kind", ["nothing", "left over", "a file"])
async def test_a_path_where_nobody_listens_says_so(kind: str, folder: Path) -> None:
    if kind == "left over":
        _abandoned(folder / "s")
    elif kind == "a file":
        (folder / "s").write_text("")
    with pytest.raises(LiveViewError, match=r"cannot connect: (there is no socket|nobody listens)"):
        async with LiveView.connect(folder / "s"):
            pass


@requirement("live.client", "live.handshake")
@pytest.mark.parametrize(
    "answer",
    [b"HTTP/1.1 400 Bad Request\r\n\r\n", b'{"is":"frame","re":1}\n', b"\xff\n", b"[" * 10_000 + b"\n", b"x" * 100],
    ids=["http", "half a frame", "no text", "deep", "no line"],
)
async def test_something_else_than_a_host_is_told_from_one(answer: bytes, folder: Path) -> None:
    listener = trio.socket.socket(trio.socket.AF_UNIX)
    await listener.bind(str(folder / "s"))
    listener.listen()

    async def serve() -> None:
        connection, _ = await listener.accept()
        with connection:
            await connection.send(answer)

    with listener, trio.fail_after(BOUND):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve)
            with pytest.raises(LiveViewGone, match=r"no host of this version|the host is gone"):
                async with LiveView.connect(folder / "s"):
                    pass


@requirement("live.client")
async def test_frames_of_what_was_looked_at_before_are_not_shown(folder: Path) -> None:
    async with served(str(folder / "s")), LiveView.connect(folder / "s") as view:
        seen = await view.look()
    ours, theirs = map(trio.SocketStream, trio.socket.socketpair())
    wire = Wire(ours)
    async with ours, theirs, trio.open_nursery() as nursery:
        nursery.start_soon(wire.read)
        for query in (Query(), Query(limit=0)):
            await wire.subscribe(query, 1.0)
        late = [line_of(msgspec.structs.replace(seen, re=number)) for number in (2, 1)]
        await theirs.send_all(b"".join(late))
        await trio.testing.wait_all_tasks_blocked()
        assert (await wire.frame()).re == 2
        nursery.cancel_scope.cancel()


@requirement("live.private")
@pytest.mark.parametrize("where", ["_bound", "_remover"])
def test_ctrl_c_while_the_socket_is_made_leaves_none(where: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: Callable[..., object] = getattr(_socket_paths, where)

    def interrupted(*args: object, **options: object) -> object:
        found = made(*args, **options)
        signal.raise_signal(signal.SIGINT)
        return found

    async def main() -> None:
        async with served(str(folder / "s")):
            await trio.sleep_forever()

    monkeypatch.setattr(_socket_paths, where, interrupted)
    with pytest.raises(KeyboardInterrupt):
        trio.run(main)

    assert list(folder.iterdir()) == []
