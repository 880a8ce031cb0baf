"""The manifest of promised behaviours: each has an id, a source and at least one test that names it.

The promises stand in ``promises/``, a module for each part of the house. A test says
``@requirement("room.behaviour")``. ``test_requirements.py`` holds both directions: no promise without a test, no test
that names an unknown promise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

import pytest

from .promises import (
    agent_sdks,
    approvals,
    approving,
    assembly,
    authorities,
    authority,
    canonical,
    capacity,
    cli,
    compiling,
    composition,
    content,
    contracts,
    declaring,
    definitions,
    effects,
    engine,
    examples,
    fencing,
    grants,
    guardrails,
    history,
    hosts,
    importing,
    journal,
    keeping,
    kits,
    ledger,
    lifecycle,
    live_view,
    loops,
    mcp_client,
    mcp_server,
    middleware,
    observability,
    openapi,
    placements,
    policing,
    policy,
    proof,
    providers,
    releases,
    searching,
    shutdown,
    signing,
    storage,
    streams,
    testing,
    toolbox,
    truncation,
    watching,
)
from .promises._promise import Requirement

F = TypeVar("F", bound=Callable[..., object])

SECTIONS: Final = (
    agent_sdks.PROMISES,
    approvals.PROMISES,
    approving.PROMISES,
    assembly.PROMISES,
    authorities.PROMISES,
    authority.PROMISES,
    canonical.PROMISES,
    capacity.PROMISES,
    cli.PROMISES,
    compiling.PROMISES,
    composition.PROMISES,
    content.PROMISES,
    contracts.PROMISES,
    declaring.PROMISES,
    definitions.PROMISES,
    effects.PROMISES,
    engine.PROMISES,
    examples.PROMISES,
    fencing.PROMISES,
    grants.PROMISES,
    guardrails.PROMISES,
    history.PROMISES,
    hosts.PROMISES,
    journal.PROMISES,
    importing.PROMISES,
    keeping.PROMISES,
    kits.PROMISES,
    ledger.PROMISES,
    lifecycle.PROMISES,
    live_view.PROMISES,
    loops.PROMISES,
    mcp_client.PROMISES,
    mcp_server.PROMISES,
    middleware.PROMISES,
    observability.PROMISES,
    openapi.PROMISES,
    placements.PROMISES,
    policing.PROMISES,
    policy.PROMISES,
    proof.PROMISES,
    providers.PROMISES,
    releases.PROMISES,
    searching.PROMISES,
    shutdown.PROMISES,
    signing.PROMISES,
    storage.PROMISES,
    streams.PROMISES,
    testing.PROMISES,
    toolbox.PROMISES,
    truncation.PROMISES,
    watching.PROMISES,
)
"""Every module of ``promises/``."""

REQUIREMENTS: Final[Mapping[str, Requirement]] = {
    name: promise for section in SECTIONS for name, promise in section.items()
}
"""All promises by their ids."""


def requirement(*ids: str) -> Callable[[F], F]:
    """Mark a test as proof of the promises *ids*."""
    unknown = [name for name in ids if name not in REQUIREMENTS]
    if unknown:
        raise LookupError(f"no such requirement: {', '.join(unknown)}")
    return pytest.mark.requirement(*ids)
