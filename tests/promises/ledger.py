"""What already happened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "ledger.key": Requirement(
        "design 12, armorer-core 7E.24",
        "What is done once is named by tenant, whole tool identity and key; no two of them are written alike.",
    ),
    "ledger.key.fields": Requirement(
        "design 5 and 12",
        "A key that is made of an argument which the tool does not have is refused when it is defined.",
    ),
    "ledger.claim": Requirement(
        "design 12, armorer-core 7B.11",
        "Of any number that claim a key at once, one gets it; the others are told why not.",
    ),
    "ledger.calls": Requirement(
        "design 7 and 12",
        "An attempt that made a call which may have changed something is never let go as if nothing had come of it.",
    ),
    "ledger.authorize": Requirement(
        "design 12, armorer-core 7F.36",
        "A result is bound to the rules that it was recorded under, until a decision binds it to others.",
    ),
    "ledger.pause": Requirement(
        "design 12",
        "An attempt that waits for somebody is told as such until its call goes on in a new attempt, and what it did"
        " before is never forgotten.",
    ),
    "ledger.conflict": Requirement(
        "design 12", "A key that is used again with other arguments is a conflict, whatever became of the first."
    ),
    "ledger.lease": Requirement(
        "design 12, armorer-core 7B.13",
        "A lease is live until the instant at which it ends, and is never renewed beyond the deadline of its attempt.",
    ),
    "ledger.takeover": Requirement(
        "design 12, llm-core 4.6",
        "An attempt whose lease is over before it started is taken over under a new fence; the old one can't begin.",
    ),
    "ledger.unknown": Requirement(
        "design 12, armorer-core 7G.41",
        "A started attempt whose lease is over is unknown from that instant on, for everybody, until somebody decides.",
        divergence="Elsewhere a started entry expires and is run again, or its holder may still complete it although"
        " others were told that nobody knows.",
    ),
    "ledger.fence": Requirement(
        "design 12, armorer-core 7B.13", "An attempt that is not the one that is there any more can do nothing at all."
    ),
    "ledger.start": Requirement(
        "design 7, design 12",
        "From its start on an attempt counts as one that the world may have seen, unless it says more.",
    ),
    "ledger.windows": Requirement(
        "design 7, design 12",
        "Effect windows are recorded as they open and close; what they say is the least that an end can claim.",
    ),
    "ledger.follows-effect": Requirement(
        "design 12, armorer-core 7E.30",
        "What had no effect is released, what had one is recorded, and what nobody knows is kept.",
        divergence="Elsewhere the category of the error decides, so that a failure before the first line blocks the key"
        " and one after the effect frees it. A success without an effect is recorded, since its value was asked for.",
    ),
    "ledger.lost-answers": Requirement(
        "design 12", "Doing an operation again, because its answer was lost, never does more than doing it once."
    ),
    "ledger.unused": Requirement(
        "design 12",
        "A decision that lets another attempt begin is used in the step in which that begins: one that never begins gives"
        " it back, and no two begin under it.",
    ),
    "ledger.resolve": Requirement(
        "design 12, armorer-core 7G.42",
        "A decision counts for the one unknown attempt that it names: to retry, to complete or to abandon it.",
    ),
    "ledger.once": Requirement(
        "design 12, design 15",
        "Whatever the order, a key is never started twice unless a decision or an end without effect came between.",
    ),
    "ledger.kept": Requirement(
        "design 12, armorer-core 7B.9",
        "What was completed is told until it is forgotten on purpose, and nothing else is.",
    ),
    "ledger.clock": Requirement(
        "design 0, llm-core 4.4", "The clock of the store decides; it never goes back, and no time is no permission."
    ),
    "ledger.stores": Requirement(
        "design 12, armorer-core 7B.14", "There is one contract for stores, all of it required, with a published suite."
    ),
    "ledger.memory": Requirement("design 12", "The ledger in memory does each operation in one step that never waits."),
    "ledger.lists": Requirement(
        "design 12", "What is kept can be listed by state, tenant, tool and host, page by page."
    ),
    "ledger.rules.pure": Requirement(
        "design 2", "The rules of the ledger use no clock, no trio and no input or output."
    ),
    "ledger.keys.made": Requirement(
        "armorer-core 7A",
        "Keys are made of all arguments, of one, or of several, alike however they were written down.",
    ),
    "ledger.keys.told-apart": Requirement(
        "armorer-core 7A.4",
        "A missing argument, null and an empty text make different keys, as do a number and its text.",
        divergence="Elsewhere the three make one key. Ours keeps that key for the missing one. There is no 'undefined'.",
    ),
    "ledger.keys.namespaces": Requirement(
        "armorer-core 7A.5",
        "A namespace and a key make a key that no other pair makes.",
        divergence="Elsewhere they are joined by a colon, so that 'a:b' with 'c' is 'a' with 'b:c'. Ours is an array.",
    ),
    "ledger.keys.settings": Requirement(
        "design 5", "Wrong names and namespaces of key rules are refused when they are made."
    ),
    "ledger.receipts": Requirement(
        "design 12, armorer-core 7G.42",
        "A receipt is signed, and bound to tenant, tool, key, attempt and arguments; changed anywhere it counts for nothing.",
    ),
    "ledger.receipts.form": Requirement(
        "design 12", "A receipt is JSON, can be read back, and what is no receipt says what is wrong with it."
    ),
    "ledger.receipts.legacy": Requirement(
        "armorer-core 7G.44",
        "An entry without a fence takes only a legacy receipt, bound to the instant of its start, and nothing else does.",
    ),
    "ledger.recovery": Requirement(
        "design 12, design 15",
        "What was left behind is sorted: never started, safe to run again, unknown; and nothing inside a window is safe.",
    ),
    "ledger.deciding.choices": Requirement(
        "design 12",
        "What can be decided about an attempt is told: release where nothing came of it, nothing while its lease is live.",
    ),
    "ledger.deciding.receipt": Requirement(
        "design 12",
        "The receipt of a decision is made from the attempt that it is about, of the kind that counts for it.",
    ),
    "ledger.deciding.decide": Requirement(
        "design 12",
        "A signed receipt decides without any call; one that is forged, stale or late changes nothing and is told apart.",
    ),
}
