"""Every test of MCP runs on trio alone: whoever asks asyncio for a loop in this process gets an error.

Peers that need asyncio are child processes.
"""

from __future__ import annotations

import asyncio
from typing import Final

import pytest

LOOPS: Final = ("get_event_loop", "get_running_loop", "new_event_loop")


@pytest.fixture(autouse=True)
def no_asyncio(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have nobody get at a loop of asyncio."""

    def refuse(*_: object) -> None:
        raise RuntimeError("there is no loop, and there will be none")

    for name in LOOPS:
        monkeypatch.setattr(asyncio, name, refuse)
        monkeypatch.setattr(asyncio.events, name, refuse)
