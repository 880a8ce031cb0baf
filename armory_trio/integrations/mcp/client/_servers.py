"""Which server to connect to, and how: values, checked when they are made."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from typing import Final, cast

import attrs
import httpx2
from mcp.server import MCPServer, Server

from ....definitions._checks import count, names, seconds, shown, text
from ....errors import DefinitionError
from ._oauth import OAuth

SAFE_ENVIRONMENT: Final = (
    ("APPDATA", "LOCALAPPDATA", "PATH", "PATHEXT", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "USERPROFILE")
    if sys.platform == "win32"
    else ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER")
)
"""What a child process gets of our own environment without being allowed to: nothing that opens a door."""


_ADDRESS: Final = re.compile(r"https?://[^/?#\s]", re.IGNORECASE)
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_LINE: Final = re.compile(r"[^\x00\r\n]*")


def _arguments(value: object) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, list | tuple):
        raise DefinitionError("StdioServer", "args", f"must be a list of texts, not {shown(value)}")
    listed = list(cast("list[object]", value))
    for at, each in enumerate(listed):
        text("StdioServer", f"args[{at}]", each)
    return tuple(str(each) for each in listed)


def _command(value: object) -> str:
    if not isinstance(value, str | os.PathLike):
        raise DefinitionError("StdioServer", "command", f"must be the path or name of a program, not {shown(value)}")
    return os.fspath(cast("str | os.PathLike[str]", value))


def _directory(value: object) -> str | None:
    if value is None or isinstance(value, str | os.PathLike):
        return None if value is None else os.fspath(cast("str | os.PathLike[str]", value))
    raise DefinitionError("StdioServer", "cwd", f"must be a directory, not {shown(value)}")


def _allowed(value: object) -> tuple[str, ...]:
    return names("StdioServer", "env_allow", value)


def _pairs(subject: str, field: str, value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise DefinitionError(subject, field, f"must be a mapping of texts, not {shown(value)}")
    given = cast("Mapping[object, object]", value)
    for key, each in given.items():
        text(subject, f"{field}: a name", key)
        text(subject, f"{field}[{key!r}]", each)
    return {str(key): str(each) for key, each in given.items()}


def _environment(value: object) -> dict[str, str]:
    return _pairs("StdioServer", "env", value)


def _headers(value: object) -> dict[str, str]:
    given = _pairs("HttpServer", "headers", value)
    for name, each in given.items():
        if not (_TOKEN.fullmatch(name) and _LINE.fullmatch(each)):
            reason = f"{name!r} cannot be sent: a name is letters, digits and hyphens, a value one line"
            raise DefinitionError("HttpServer", "headers", reason)
    return given


MAX_MESSAGE: Final = 64 * 2**20
"""Bytes of the longest message of a server that is read, where nothing else is said."""


@attrs.frozen(eq=False, kw_only=True)
class StdioServer:
    """A server that runs as a child process, in a process group of its own, and speaks over its standard streams.

    Args:
        command: The program: a path, or a name to look for in PATH.
        args: Its arguments.
        env: Variables for it, beside what is let through.
        env_allow: Names of variables of our own environment to let through, beside `SAFE_ENVIRONMENT`. Nothing else is.
        cwd: The directory to run it in; by default ours.
        stop_after: Seconds that it has to end once its input is closed, before it is sent SIGTERM.
        kill_after: Seconds that its process group has to end after that, before what is left of it is killed.
        max_message: Bytes of its longest line. A longer one is skipped, and reported.

    Raises:
        DefinitionError: One of them is not legal.
    """

    command: str = attrs.field(converter=_command, kw_only=False)
    args: tuple[str, ...] = attrs.field(default=(), converter=_arguments, kw_only=False)
    env: Mapping[str, str] = attrs.field(factory=dict[str, str], converter=_environment, repr=False)
    env_allow: tuple[str, ...] = attrs.field(default=(), converter=_allowed)
    cwd: str | None = attrs.field(default=None, converter=_directory)
    stop_after: float = 2.0
    kill_after: float = 2.0
    max_message: int = MAX_MESSAGE

    def __attrs_post_init__(self) -> None:
        seconds("StdioServer", "stop_after", self.stop_after, zero=True)
        seconds("StdioServer", "kill_after", self.kill_after, zero=True)
        count("StdioServer", "max_message", self.max_message)
        if not self.command:
            raise DefinitionError("StdioServer", "command", "is empty; name a program")

    def environment(self) -> dict[str, str]:
        """All that the child process will find in its environment."""
        wanted = (*SAFE_ENVIRONMENT, *self.env_allow)
        # A value that begins like this is a function of some shells, and would be run by them.
        passed = {name: value for name in wanted if (value := os.environ.get(name)) and not value.startswith("()")}
        return {**passed, **self.env}


@attrs.frozen(eq=False, kw_only=True)
class HttpServer:
    """A server that is reached over streamable HTTP.

    Args:
        url: Its endpoint.
        headers: Sent with each request. Secrets in them are never shown or logged.
        auth: An `OAuth`, or an authentication of httpx2.
        connect_timeout: Seconds to reach it.
        close_timeout: Seconds for saying goodbye.
        max_message: Bytes of the longest answer, and of the longest message in a stream of events. A longer one ends its
            call.

    Raises:
        DefinitionError: One of them is not legal.
    """

    url: str = attrs.field(kw_only=False)
    headers: Mapping[str, str] = attrs.field(factory=dict[str, str], converter=_headers, repr=False)
    auth: OAuth | httpx2.Auth | None = attrs.field(default=None, repr=False)
    connect_timeout: float = 10.0
    close_timeout: float = 2.0
    max_message: int = MAX_MESSAGE

    def __attrs_post_init__(self) -> None:
        text("HttpServer", "url", self.url, blank=False)
        if not _ADDRESS.match(self.url):
            reason = f"must begin with http:// or https:// and a host, not {shown(self.url)}"
            raise DefinitionError("HttpServer", "url", reason)
        if not self.url.isprintable() or " " in self.url:
            raise DefinitionError(
                "HttpServer", "url", f"is no address, for there is white space in it: {shown(self.url)}"
            )
        count("HttpServer", "max_message", self.max_message)
        seconds("HttpServer", "connect_timeout", self.connect_timeout, zero=False)
        seconds("HttpServer", "close_timeout", self.close_timeout, zero=True)
        if not isinstance(cast("object", self.auth), OAuth | httpx2.Auth | None):
            raise DefinitionError("HttpServer", "auth", f"must be an OAuth or an httpx2.Auth, not {shown(self.auth)}")


@attrs.frozen(eq=False)
class InMemoryServer:
    """A server of the SDK that runs in this process: for tests, and for servers of one's own.

    Args:
        server: A `Server` or an `MCPServer` of the SDK. Each connection runs it anew.

    Raises:
        DefinitionError: It is neither.
    """

    server: Server[object] | MCPServer[object]

    def __attrs_post_init__(self) -> None:
        if not isinstance(cast("object", self.server), Server | MCPServer):
            reason = f"must be a Server or an MCPServer of the mcp package, not {shown(self.server)}"
            raise DefinitionError("InMemoryServer", "server", reason)


AnyServer = StdioServer | HttpServer | InMemoryServer
"""What `open_mcp` connects to."""
