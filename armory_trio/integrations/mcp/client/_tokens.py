"""Where the tokens of a server are kept."""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

import msgspec
import trio
from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata, OAuthToken

_OWNER_ONLY: Final = 0o600
_MARGIN: Final = 30.0
"""Seconds before its end from which a token counts as expired: a request has to arrive, too."""


class TokenStorage(Protocol):
    """Where tokens, the client's registration and what is known of the authorization server are kept.

    One storage is for one server of MCP. A token that has expired is given with an empty ``access_token``: then it is
    refreshed before it is used.
    """

    async def get_tokens(self) -> OAuthToken | None: ...
    async def set_tokens(self, tokens: OAuthToken) -> None: ...
    async def get_client_info(self) -> OAuthClientInformationFull | None: ...
    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None: ...
    async def get_metadata(self) -> OAuthMetadata | None: ...
    async def set_metadata(self, metadata: OAuthMetadata) -> None: ...


class _Kept(msgspec.Struct, frozen=True):
    tokens: dict[str, object] | None = None
    expires_at: float | None = None
    client: dict[str, object] | None = None
    metadata: dict[str, object] | None = None


def _with_tokens(kept: _Kept, tokens: OAuthToken) -> _Kept:
    expires_at = None if tokens.expires_in is None else time.time() + tokens.expires_in
    return msgspec.structs.replace(kept, tokens=_plain(tokens), expires_at=expires_at)


def _tokens_of(kept: _Kept) -> OAuthToken | None:
    if kept.tokens is None:
        return None
    tokens = OAuthToken.model_validate(kept.tokens)
    if kept.expires_at is not None and time.time() >= kept.expires_at - _MARGIN:
        tokens.access_token = ""
    return tokens


def _plain(value: OAuthToken | OAuthClientInformationFull | OAuthMetadata) -> dict[str, object]:
    return value.model_dump(mode="json", exclude_none=True)


class _Storage(ABC):
    """What both storages do with what they keep."""

    @abstractmethod
    async def _read(self) -> _Kept:
        """All that is kept."""

    @abstractmethod
    async def _change(self, change: Callable[[_Kept], _Kept]) -> None:
        """Keep what *change* makes of it. Cancelled: that is kept, or nothing has changed."""

    async def get_tokens(self) -> OAuthToken | None:
        """The tokens, if there are any."""
        return _tokens_of(await self._read())

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep *tokens*. Cancelled: they are kept, or nothing has changed."""
        await self._change(lambda kept: _with_tokens(kept, tokens))

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """The client's registration, if it has one."""
        kept = await self._read()
        return None if kept.client is None else OAuthClientInformationFull.model_validate(kept.client)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep the registration. Cancelled: it is kept, or nothing has changed."""
        await self._change(lambda kept: msgspec.structs.replace(kept, client=_plain(client_info)))

    async def get_metadata(self) -> OAuthMetadata | None:
        """What the authorization server said of itself, if that is known."""
        kept = await self._read()
        return None if kept.metadata is None else OAuthMetadata.model_validate(kept.metadata)

    async def set_metadata(self, metadata: OAuthMetadata) -> None:
        """Keep what the authorization server says of itself. Cancelled: it is kept, or nothing has changed."""
        await self._change(lambda kept: msgspec.structs.replace(kept, metadata=_plain(metadata)))


class MemoryTokenStorage(_Storage):
    """Keeps them as long as the object lives."""

    def __init__(self) -> None:
        self._kept = _Kept()

    def __repr__(self) -> str:
        return "<MemoryTokenStorage>"

    async def _read(self) -> _Kept:
        await trio.lowlevel.checkpoint()
        return self._kept

    async def _change(self, change: Callable[[_Kept], _Kept]) -> None:
        self._kept = change(self._kept)
        await trio.lowlevel.checkpoint()


class FileTokenStorage(_Storage):
    """Keeps them in a file that only its owner can read (mode 0600), replaced as a whole with each change.

    Reading it raises PermissionError when others can read it, and ValueError when it is damaged.

    Args:
        path: The file. Its directory has to be there. Whoever reads it can act as the person who agreed.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._lock = trio.Lock()

    def __repr__(self) -> str:
        return f"<FileTokenStorage {str(self._path)!r}>"

    async def _read(self) -> _Kept:
        return await trio.to_thread.run_sync(self._load)

    async def _change(self, change: Callable[[_Kept], _Kept]) -> None:
        async with self._lock:
            await trio.to_thread.run_sync(lambda: self._save(change(self._load())))

    def _load(self) -> _Kept:
        try:
            with self._path.open("rb") as file:
                if os.name == "posix" and os.fstat(file.fileno()).st_mode & 0o077:
                    raise PermissionError(f"{self._path}: others can read these tokens; run: chmod 600 {self._path}")
                return msgspec.json.decode(file.read(), type=_Kept)
        except FileNotFoundError:
            return _Kept()

    def _save(self, kept: _Kept) -> None:
        fresh = self._path.with_name(f"{self._path.name}.{os.getpid()}.new")
        fresh.unlink(missing_ok=True)
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY)
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.encode(kept))
            file.flush()
            os.fsync(descriptor)
        fresh.replace(self._path)
