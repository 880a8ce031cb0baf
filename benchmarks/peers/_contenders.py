"""Who is compared: each with a worker of ours that drives it, and the packages that the worker needs."""

from __future__ import annotations

from typing import Final

import msgspec

from benchmarks._row import ROOT


class Contender(msgspec.Struct, frozen=True):
    """One of those that are compared.

    Args:
        name: What ``--only`` calls it.
        module: The worker, started with ``python -m``.
        own: Whether it runs in our own environment instead of one that is made for it.
    """

    name: str
    module: str
    own: bool = False

    @property
    def requirements(self) -> str:
        """What has to be installed for it, as pip reads it."""
        return (ROOT / f"{self.module.replace('.', '/')}.txt").read_text(encoding="utf-8")


BASE: Final = Contender("armory_trio", "benchmarks.peers.supervised", own=True)
"""What all others are compared with."""

CONTENDERS: Final = (
    Contender("by-hand", "benchmarks.peers.by_hand", own=True),
    Contender("pydantic-ai", "benchmarks.peers.pydantic_ai_tools"),
    Contender("openai-agents", "benchmarks.peers.openai_agents"),
    Contender("mcp", "benchmarks.peers.mcp_sdk"),
    Contender("fastmcp", "benchmarks.peers.fastmcp_server"),
    Contender("langgraph", "benchmarks.peers.langgraph_node"),
    Contender("google-adk", "benchmarks.peers.google_adk"),
    Contender("haystack", "benchmarks.peers.haystack_agent"),
    Contender("smolagents", "benchmarks.peers.smolagents_agent"),
)
"""Everybody else, in the order of the tables."""
