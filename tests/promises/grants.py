"""Reusable grants, and the stores that keep them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "grants.legal": Requirement(
        "design 12, armorer-core 6I.89",
        "A grant that says something illegal is never made; its error says which field, and what would be right.",
        divergence="Elsewhere only the ids of scopes are looked at, and a scope that does not exist counts as the widest.",
    ),
    "grants.scopes": Requirement(
        "design 12, armorer-core 6I.88, armorer-core 6I.90",
        "A grant reaches one run, one session or all of a principal's work; what a call does not say never matches.",
    ),
    "grants.frozen": Requirement(
        "design 12",
        "A grant never changes, whatever its maker does to what it was made of, and survives JSON unchanged.",
    ),
    "grants.signed": Requirement(
        "design 12, armorer-core 6I.84, armorer-core 6I.86",
        "The signature covers every field, for one purpose, domain and key; how much is left of a grant is no field.",
    ),
    "grants.people": Requirement(
        "armorer-core 6I.90",
        "A grant counts for its principal, tenant, owner and agent only; for any agent if it says so.",
    ),
    "grants.definition": Requirement(
        "field case 83, armorer-core 6I.90",
        "A grant counts for one definition of one tool under one state of the policy; a changed tool voids it.",
        divergence="Elsewhere the name of the tool is enough.",
    ),
    "grants.resource": Requirement(
        "armorer-core 6I.90, armorer-core 6I.96",
        "A resource pattern has one wildcard, fits the whole text or not at all, and costs time in proportion to both.",
        divergence="Elsewhere the wildcard stops at line ends.",
    ),
    "grants.constraints": Requirement(
        "armorer-core 6I.90",
        "A constrained argument must be there and equal as JSON.",
        divergence="Elsewhere a missing argument counts as null.",
    ),
    "grants.delegation": Requirement(
        "armorer-core 6I.95",
        "A grant counts for nested calls and for delegates only if it says so.",
        divergence="Elsewhere this is written down, and nobody looks at it.",
    ),
    "grants.expiry": Requirement(
        "design 12, armorer-core 6I.90",
        "A grant counts up to the instant at which it expires, and not at that instant.",
    ),
    "grants.reasons": Requirement(
        "design 12", "Why a grant does not count is said in words, always in the same order, and quotes no values."
    ),
    "grants.stores": Requirement(
        "design 12, armorer-core 6I.87, armorer-core 6I.93, armorer-core 6I.94",
        "Uses are reserved, committed and released as a whole: never more than there are, and none is lost.",
        divergence="Elsewhere a use is charged when the call is judged, and many calls can share the last one.",
    ),
    "grants.revoked": Requirement(
        "armorer-core 6I.87", "A grant that was revoked is never usable again, not even by who had reserved a use."
    ),
    "grants.forgotten": Requirement(
        "design Clocks", "What has expired is forgotten, and no jump of the clock makes it usable again."
    ),
    "grants.conformance": Requirement(
        "design 12", "There is a published suite of cases for grant stores, and a store that breaks a rule fails one."
    ),
}
