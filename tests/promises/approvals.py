"""Approvals: what they count for, their signatures, and where they are kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "approvals.scope": Requirement(
        "design 12, armorer-core 6G.55",
        "An approval counts for one principal, tenant, audience, agent, run, set of revisions, tool definition and "
        "action, and for whatever else the request said of itself.",
    ),
    "approvals.scope.missing": Requirement(
        "armorer-core 6G.56", "A request that does not say on whose behalf it is made says all that is missing at once."
    ),
    "approvals.revisions": Requirement(
        "armorer-core 6H.78", "Revisions are texts, and one that is none is refused where it is given."
    ),
    "approvals.binding": Requirement(
        "armorer-core 6G.55, armorer-core 6G.56", "A binding ends after its lifetime, and there is none without an end."
    ),
    "approvals.binding.checks": Requirement(
        "armorer-core 6G.58",
        "Form, clock, expiry and scope of a binding are looked at in this order, and the first that is wrong is told.",
    ),
    "approvals.binding.window": Requirement(
        "llm-core 4.5",
        "An approval counts from the instant of its issue to just before that of its expiry.",
        divergence="armorer takes one that is issued later than now, which is one whose clock went back.",
    ),
    "approvals.binding.mismatch": Requirement(
        "armorer-core 6G.58, armorer-core 6G.59",
        "What an approval does not count for is refused by naming the first field that differs, and no value.",
    ),
    "approvals.questions": Requirement(
        "armorer-core 6F.44", "A question in a descriptor gives back the pause that it was made of, and only that."
    ),
    "approvals.signature": Requirement(
        "design 12, armorer-core 6E.34, armorer-core 6E.37",
        "Every part of a descriptor is signed: one that was changed, added or left out anywhere is refused.",
    ),
    "approvals.signature.snapshot": Requirement(
        "armorer-core 6G.65", "What was verified is a copy: to change the descriptor meanwhile or later does nothing."
    ),
    "approvals.signature.missing": Requirement(
        "armorer-core 6D.33, armorer-core 6G.71", "What is not signed, or not bound, can be looked at and not resumed."
    ),
    "approvals.signature.keys": Requirement(
        "design 12, armorer-core 6E.39",
        "Descriptors of an old key count until it is retired; another domain, purpose or key signs for nobody else.",
        divergence="armorer has one secret without a name, for approvals and grants alike.",
    ),
    "approvals.signature.json": Requirement(
        "design 16.10", "What readers may take differently is not signed, and verifies as nothing."
    ),
    "approvals.store.conformance": Requirement(
        "design 12, armorer-core 6G.60, armorer-core 6G.64",
        "There is a published suite of what every store of approvals has to do, and the one in memory passes it.",
    ),
    "approvals.store.suite": Requirement(
        "design 12", "The suite finds a store that is wrong in any one thing, and says what should have been."
    ),
    "approvals.store.table": Requirement(
        "armorer-core 6G.60, armorer-core 6G.62",
        "For every operation in every state one table says where it leads, or the code with which it is refused.",
        divergence="armorer calls a reserved approval unknown; here it is reserved, and in flight for whoever comes next.",
    ),
    "approvals.store.once": Requirement(
        "armorer-core 6G.62, seed approvals",
        "No approval is consumed twice but after a release, none that was revoked or has expired is ever used.",
    ),
    "approvals.store.memory": Requirement(
        "armorer-core 6G.61",
        "The store in memory forgets what has expired, in whatever state.",
        divergence="armorer keeps what was reserved and never released for ever.",
    ),
    "approvals.store.clock": Requirement(
        "design, clocks",
        "A clock that jumps may make approvals expire early; it makes none live longer, and brings none back.",
    ),
    "approvals.store.broken-clock": Requirement(
        "armorer-core 6G.58", "While the clock says no time, approvals can be revoked and nothing else."
    ),
    "approvals.store.checkpoints": Requirement(
        "design 8", "The operations of the store in memory are done or not done, and are never cancelled halfway."
    ),
}
