"""Where the sockets of live views are: private folders, names that say whose they are, and what dead hosts left there."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import socket
import stat
import tempfile
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec
import trio

from ..engine._concurrency import enable_ki_protection
from ._socket_messages import LiveViewError

_NAME: Final = re.compile(r"live-(\d+)-([A-Za-z0-9._-]{1,40})\.sock")
_LONGEST: Final = 100
"""Bytes of a path that a socket may have everywhere; Linux takes 107, macOS 103."""

_PATIENCE: Final = 5.0
"""Seconds that another host may take to make its socket in the same folder."""


class LiveSocket(msgspec.Struct, frozen=True):
    """A socket in one of the folders where hosts put them.

    Args:
        path: Where it is.
        pid: The process that made it.
        name: What its host calls itself.
    """

    path: str
    pid: int
    name: str


def folders() -> list[Path]:
    """Where sockets of this user may be: the first is where new ones go."""
    temporary = Path(tempfile.gettempdir()) / f"armory-trio-{os.geteuid()}"
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR", ""))
    if runtime.is_absolute() and _is_own(runtime):
        return [runtime / "armory-trio", temporary]
    return [temporary]


def _is_own(folder: Path) -> bool:
    """Whether it is a folder of this user: the variable may be left of another one who became this."""
    try:
        found = folder.stat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def plain_name(name: str) -> str:
    """*name* as a part of the name of a file."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:40] or "host"


def default_path(name: str) -> Path:
    """Where the socket of this process goes, in a folder that only this user can enter, and that is made.

    Raises:
        LiveViewError: There is no such folder, and it can't be made, or others have rights on it.
    """
    folder = folders()[0]
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise LiveViewError(f"{folder} cannot be made: {error.strerror}; give a path") from error
    if not _is_private(folder):
        raise LiveViewError(f"{folder} is not a folder of this user alone (chmod 700); put it right, or give a path")
    return folder / f"live-{os.getpid()}-{plain_name(name)}.sock"


def _is_private(folder: Path) -> bool:
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


def running() -> list[LiveSocket]:
    """The sockets of this user whose hosts run, by process. Those that dead hosts left are removed."""
    return sorted(_running(), key=lambda found: (found.pid, found.name))


def _running() -> Iterator[LiveSocket]:
    for folder in folders():
        if not _is_private(folder):
            continue
        for name in _names_in(folder):
            path, told = folder / name, _NAME.fullmatch(name)
            if told is None:
                continue
            if answers(path):
                yield LiveSocket(str(path), int(told[1]), told[2])
            elif not _lives(int(told[1])):
                with suppress(OSError):
                    path.unlink()


def _names_in(folder: Path) -> list[str]:
    try:
        return [path.name for path in folder.iterdir()]
    except OSError:  # it has gone meanwhile
        return []


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def answers(path: Path) -> bool:
    """Whether somebody listens at *path*."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except BlockingIOError:  # so many wait to be let in that there is no room for us
            return True
        except OSError:
            return False
    return True


def require_short(path: Path) -> None:
    """Refuse a path that is too long for a socket.

    Raises:
        LiveViewError: It is.
    """
    if len(os.fsencode(path)) > _LONGEST:
        raise LiveViewError(f"{path}: a socket's path has at most {_LONGEST} bytes; choose a shorter one")


@asynccontextmanager
@enable_ki_protection  # Ctrl-C between two lines here would leave the socket where it is
async def listening(path: Path, *, backlog: int) -> AsyncGenerator[trio.SocketListener]:
    """A socket at *path* that only this user may connect to. When the block is left it is gone.

    Raises:
        LiveViewError: Somebody listens there already, something else is there, or the socket can't be made.
    """
    require_short(path)
    try:
        async with _locked(path.parent):
            made = _bound(path, backlog)
    except OSError as error:
        raise LiveViewError(f"{path}: the socket cannot be made: {error.strerror or error}") from error
    with trio.socket.from_stdlib_socket(made) as listener:
        remove = _remover(path)
        try:
            yield trio.SocketListener(listener)
        finally:
            remove()


def _bound(path: Path, backlog: int) -> socket.socket:
    _clear(path)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.bind(str(path))  # nobody can connect before it listens
        path.chmod(0o600)
        made.listen(backlog)
    except BaseException:
        made.close()
        raise
    return made


@asynccontextmanager
async def _locked(folder: Path) -> AsyncGenerator[None]:
    """Keep other hosts from making sockets in *folder*, so that none takes the place of another.

    Raises:
        OSError: The folder can't be opened, or somebody else holds it for very long.
    """
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        deadline = trio.current_time() + _PATIENCE
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if trio.current_time() >= deadline:
                    raise OSError(errno.ETIMEDOUT, "another process holds a lock on its folder") from None
                await trio.sleep(0.01)
        yield
    finally:
        os.close(fd)


def _clear(path: Path) -> None:
    """Remove what a dead host left at *path*.

    Raises:
        LiveViewError: Something else is there.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise LiveViewError(f"{path}: there is something else that is no socket; remove it, or choose another path")
    if answers(path):
        raise LiveViewError(f"{path}: another host serves its view there; choose another path")
    path.unlink()


def _remover(path: Path) -> Callable[[], None]:
    """What removes the socket that is at *path* now, and nothing else that comes to be there."""
    place, own = path.absolute(), path.lstat()  # the process may change its directory meanwhile

    def remove() -> None:
        with suppress(OSError):
            found = place.lstat()
            if (found.st_dev, found.st_ino) == (own.st_dev, own.st_ino):
                place.unlink()

    return remove
