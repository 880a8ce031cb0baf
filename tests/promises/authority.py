"""On whose behalf calls run, what an action is, and what each audience sees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "context.names": Requirement(
        "design 12",
        "A request context holds names that are text, and none that is blank or half a character; wrong ones are refused "
        "with their place.",
    ),
    "context.frozen": Requirement(
        "design 12",
        "A request context never changes, whatever its maker does to what it was made of.",
    ),
    "context.no-credentials": Requirement(
        "design 12",
        "A request context has no place for credentials; JSON that brings some is refused.",
        divergence="Elsewhere it may hold credentials, which snapshots then have to drop.",
    ),
    "context.narrowed": Requirement(
        "design 12",
        "Narrowing leaves the capabilities that both sides have, an audience that is no wider, and everything else as it "
        "was; it never adds anything.",
        divergence="There is no word for all capabilities: nothing said is no authority, and stays so.",
    ),
    "context.nested": Requirement(
        "design 6, design 12",
        "A context that a nested call asks for has at most what the outer one has: another principal, tenant, owner, "
        "revision, agent, run or session is refused, and the chain can only grow at its end.",
    ),
    "context.delegate": Requirement(
        "design 12", "`delegate` puts a principal at the end of the chain, and changes nothing else."
    ),
    "context.json": Requirement("design 12", "A request context comes back equal from its JSON form, in one spelling."),
    "actions.vectors": Requirement(
        "design 12, llm-core 3.1, llm-core 3.4, llm-core 7.1",
        "Action documents are those of the published vectors, byte for byte.",
    ),
    "actions.target-order": Requirement(
        "design 12, llm-core 3.5, llm-core 8",
        "Targets are ordered by kind and id in code units, on every machine.",
        divergence="Elsewhere the locale of the process orders them, so one action has several digests.",
    ),
    "actions.what-counts": Requirement(
        "design 12, llm-core 3.2, llm-core 7.1",
        "Any difference in the id, version, schema, effect class, targets, semantics, arguments, tenant, principal or "
        "chain makes another action.",
    ),
    "actions.what-does-not": Requirement(
        "design 12, llm-core 3.2, llm-core 7.1",
        "Descriptions, run, session, request, owner, capabilities, order of keys and spelling of numbers make no other "
        "action.",
    ),
    "actions.stricter-class": Requirement(
        "design 5, design 12",
        "The effect class that is bound is the one that the tool counts as, also where nobody declared one.",
        divergence="Elsewhere a class must be declared, and only what was declared is bound.",
    ),
    "actions.document": Requirement(
        "design 12, llm-core 3.1", "A document is one text that holds everything, and never changes."
    ),
    "actions.refusals": Requirement(
        "design 16, llm-core 3.3",
        "Arguments that readers would understand differently are refused with the path and what to pass instead, and "
        "so is what is no definition, context or digest.",
    ),
    "actions.digest": Requirement(
        "design 12, llm-core 3.6, llm-core 7.1",
        "A digest is HMAC-SHA-256 over the UTF-8 bytes of the canonical text alone, made by whoever holds the key.",
    ),
    "actions.digest-form": Requirement(
        "llm-core 3.6, llm-core 7.1",
        "A digest is written in 43 characters of base64url, in one spelling only, and comes back equal from JSON.",
        divergence="Elsewhere the spare bits of the last character are not looked at.",
    ),
    "actions.verify": Requirement(
        "llm-core 3.6, llm-core 7.1, llm-core 8",
        "A digest verifies for its own action and key only; after a rotation an old one does with the old reference.",
    ),
    "actions.key-names": Requirement(
        "llm-core 3.6, llm-core 7.1", "Keys are named by printable references, and never show themselves."
    ),
    "projection.audiences": Requirement(
        "design 6",
        "The public sees where an execution stands in words that the library fixes, a tenant also whose it is and what "
        "its tool says, an operator also its authority.",
        divergence=(
            "Elsewhere the public reads what a tool says that it waits for, and limits that carry the names of owners."
        ),
    ),
    "projection.never": Requirement(
        "design 6",
        "Reasons of aborts, sessions, and every field of which nobody decided who sees it, are shown to nobody.",
    ),
    "projection.tenant": Requirement(
        "armorer-core 6H",
        "A tenant sees its own executions only, and so does an operator who is bound to a tenant; without a word on "
        "whose an execution is, nothing is shown.",
        divergence="Elsewhere an operator is never asked for a tenant.",
    ),
    "projection.json": Requirement("armorer-core 6H", "A projection is versioned JSON, and says for whom it is."),
}
