"""The catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "toolbox.duplicate-id": Requirement(
        "design 16.8, field case 49, surroundings 2.11, surroundings 9, llm-core 1.8, armorer-core 2C, armorer-core 2D, armorer-core 8D",
        "Two different tools with one id are an error that names both origins, unless replacing is asked for.",
        divergence="Elsewhere the later one replaces the earlier in silence.",
    ),
    "toolbox.same-tool-twice": Requirement(
        "design 12, armorer-core 2A, armorer-core 10",
        "The same tool met twice is one tool.",
    ),
    "toolbox.versions": Requirement(
        "design 16.8, surroundings 2.11, surroundings 9, armorer-core 1E, armorer-core 2C, armorer-core 8D, armorer-core 10",
        "By name the highest version that is not deprecated is meant, in the order of Semantic Versioning; an "
        "exact id always means itself.",
        divergence="Elsewhere the version that was registered last is taken.",
    ),
    "toolbox.namespaces": Requirement(
        "design 16.8, armorer-core 2C, armorer-core 11",
        "By name a tool of the default namespace comes before others; `namespace:name` means that namespace.",
        divergence="Elsewhere whichever was registered last is taken.",
    ),
    "toolbox.lookup": Requirement(
        "design 3, surroundings 2.11, armorer-core 2C, armorer-core 8D",
        "A name or id is found with one lookup, however many tools there are.",
    ),
    "toolbox.fuzzy.off": Requirement(
        "design 16.13, armorer-core 8C", "Without a `Resolution` only what is spelled right is found."
    ),
    "toolbox.fuzzy.tiers": Requirement(
        "design 16.13, surroundings 2.11, armorer-core 8C, armorer-core 11",
        "Exact comes before other case, other separators and a prefix too many; each tier can be turned off.",
        divergence="Elsewhere the tiers cannot be chosen, and the last one compares only what follows the last hyphen.",
    ),
    "toolbox.fuzzy.ambiguous": Requirement(
        "design 16.13, armorer-core 8C",
        "When a tier could mean several names nothing is guessed, and the names are told.",
    ),
    "toolbox.fuzzy.same-tool": Requirement(
        "design 16.13, armorer-core 8D",
        "A misspelling means the very tool, of all versions and namespaces, that the right spelling means.",
    ),
    "toolbox.fuzzy.namespaces": Requirement(
        "design 16.13, armorer-core 8C",
        "A name with a namespace means tools of that namespace only; a prefix that is no namespace only tools of the "
        "default one.",
        divergence="Elsewhere namespaces are not looked at.",
    ),
    "toolbox.fuzzy.suffix": Requirement(
        "design 16.13, surroundings 2.11, surroundings 9, armorer-core 8C, armorer-core 8D, armorer-core 10",
        "Only a prefix that ends in a dot, a slash or two underscores is left out, and the whole rest must be a name.",
        divergence="Elsewhere `delete-file` may run `read-file`.",
    ),
    "toolbox.fuzzy.risk": Requirement(
        "design 16.13, armorer-core 8C, armorer-core 10",
        "A guess picks no tool of a stricter effect class than the host allows; by default destructive and privileged "
        "tools have to be spelled right, and their names are offered.",
    ),
    "toolbox.fuzzy.bounded": Requirement("style 4", "Names of any length and content are answered in bounded time."),
    "toolbox.live.swap": Requirement(
        "design 16.9", "A live toolbox is exchanged as a whole, and its revision grows by one with each exchange."
    ),
    "toolbox.live.update": Requirement(
        "design 16.9, armorer-core 1S, armorer-core 2I, armorer-core 8D, armorer-core 10",
        "An update, a registration of several tools and their removal take place wholly or not at all.",
        divergence="Elsewhere a toolbox itself is changed, and a conflict leaves it half changed.",
    ),
    "toolbox.live.unregister": Requirement(
        "design 16.9, surroundings 2.11, armorer-core 8D",
        "What is taken out is named without doubt: by tool, by id, or by a name that only one has.",
    ),
    "toolbox.live.listeners": Requirement(
        "design 16.9",
        "Each change is told once to every listener, in order, with what was added, removed and changed; one that "
        "raises harms nobody.",
    ),
    "toolbox.live.threads": Requirement(
        "design 16.9", "Threads may exchange it at the same time, and no change is lost."
    ),
    "toolbox.missing": Requirement(
        "design 17, armorer-core 2C", "`missing` answers those of the given names that mean no tool, in order."
    ),
    "toolbox.query.inputs": Requirement(
        "design 17, surroundings 2.1, surroundings 9, surroundings 12.6",
        "A toolbox, one tool or any iterable of tools can be queried; without criteria all tools are found, in order.",
        divergence="Elsewhere a toolbox is only recognised under test, and each query emits an event.",
    ),
    "toolbox.query.all-hold": Requirement(
        "design 17, surroundings 2.1", "All criteria have to hold; an empty one asks for nothing."
    ),
    "toolbox.query.wrong-argument": Requirement(
        "design 17, field case 44, surroundings 2.1, surroundings 2.3",
        "A criterion that does not exist is refused with the near one, and a value that is not legal with its place.",
        divergence="Elsewhere unknown criteria and values are ignored.",
    ),
    "toolbox.query.page": Requirement(
        "design 17, surroundings 2.1, surroundings 9, surroundings 12.4",
        "A page begins at an offset and holds at most its limit; the total counts all pages.",
        divergence="Elsewhere a limit of 0 means none, and negative numbers pass.",
    ),
    "toolbox.query.ranked": Requirement(
        "design 17, surroundings 2.1, surroundings 12.4",
        "Ranked, more of the text comes first; equals keep their order.",
    ),
    "toolbox.query.shown": Requirement(
        "design 17, surroundings 2.1", "A result answers tools, names, ids and summaries."
    ),
    "toolbox.query.tags": Requirement(
        "design 17, surroundings 2.2", "Tags are asked for as all, any or none of some, in any case."
    ),
    "toolbox.query.identity": Requirement(
        "design 17, surroundings 2.2", "Name, namespace and version are one text or one of several."
    ),
    "toolbox.query.risk": Requirement(
        "design 5, surroundings 2.2, surroundings 12.4, armorer-core 1D",
        "Risk, tier and effect class are those of the one classifier; permissions and untrusted output those of the risk.",
        divergence="Elsewhere only the risk is looked at, so a tool about which nobody said anything does not mutate.",
    ),
    "toolbox.query.schema": Requirement(
        "design 17, surroundings 2.2",
        "Arguments are asked for by name, and by pieces of their schema, through references.",
        divergence="Elsewhere a schema matches when it has the same keys, whatever their types.",
    ),
    "toolbox.query.metadata": Requirement(
        "design 17, surroundings 2.2, surroundings 12.4",
        "Metadata is asked for keys, equal values, contents, beginnings, ranges, and with a predicate.",
        divergence="Elsewhere lists and objects are never equal.",
    ),
    "toolbox.query.lifecycle": Requirement(
        "design 17, surroundings 2.2, armorer-core 8D",
        "Deprecation, approval, placement and availability in a context can be asked for.",
    ),
    "toolbox.query.predicate": Requirement(
        "design 17, surroundings 2.2",
        "A tool of which a predicate raises is not included, under a negation either, and is told of.",
        divergence="Elsewhere a negation includes it.",
    ),
    "toolbox.query.async": Requirement(
        "design 17, llm-core 2.6", "A predicate or hook that is async is refused instead of taken for a yes."
    ),
    "toolbox.query.combined": Requirement(
        "design 17, surroundings 2.2, surroundings 12.4",
        "Conditions are values that are combined with `&`, `|` and `~`, in any depth, and have no truth value.",
    ),
    "toolbox.query.words": Requirement(
        "design 17, surroundings 2.3, surroundings 9",
        "Texts are taken apart into words: compound names, acronyms, numbers, without accents, in every script.",
    ),
    "toolbox.query.text": Requirement(
        "design 17, surroundings 2.2, surroundings 2.3, surroundings 9, surroundings 12.4",
        "Text is looked for in names, descriptions, tags, arguments and metadata, contained, exact or fuzzy, weighted.",
        divergence=(
            "Elsewhere text without Latin letters finds every tool, and an exact word never finds a compound name."
        ),
    ),
    "toolbox.query.asks-anew": Requirement(
        "design 17, surroundings 2.4, surroundings 9",
        "Every query asks the tools anew; nothing is kept of the answers that were given before.",
        divergence="Elsewhere answers are kept, and two functions may share one; or an early answer stays for good.",
    ),
    "toolbox.query.bounded": Requirement("style 4", "Very long texts are searched in bounded time."),
    "toolbox.inspect.levels": Requirement(
        "design 4, surroundings 2.10, armorer-core 2C",
        "There are three levels of detail, each with a type; what a level shows the next one shows, too.",
    ),
    "toolbox.inspect.full": Requirement(
        "design 4, surroundings 2.10",
        "The full level says all: schemas, shape, metadata, risk, effect, lifecycle, semantics, limits and digest.",
        divergence="Elsewhere risk, lifecycle and limits are left out.",
    ),
    "toolbox.inspect.copies": Requirement(
        "design 4, surroundings 2.10", "What is shown shares nothing with the tools, and encodes as JSON."
    ),
    "toolbox.inspect.counts": Requirement(
        "design 4, surroundings 2.10, armorer-core 2C", "A toolbox counts its tools, and those with tags or metadata."
    ),
    "toolbox.frozen": Requirement(
        "design 2, surroundings 2.4, armorer-core 2C, armorer-core 2D",
        "A toolbox and its context can't be changed, and share nothing with the list and the dict they came from.",
    ),
    "toolbox.extend": Requirement(
        "design 12, armorer-core 2A, armorer-core 2D, armorer-core 11",
        "`extend` gives a new toolbox with the receiver's options and the merged context.",
    ),
    "toolbox.replace": Requirement(
        "design 16.8, armorer-core 2C",
        "With `replace` a tool takes the place and the position of the one that has its id.",
    ),
    "toolbox.combine": Requirement(
        "design 12, armorer-core 2D, armorer-core 10, armorer-core 11",
        "Combining merges contexts, the last wins, and takes every option from the first toolbox.",
        divergence="Elsewhere duplicates replace each other; here they are an error unless replacing is asked for.",
    ),
    "toolbox.available": Requirement(
        "design 2, armorer-core 1N, armorer-core 2C, armorer-core 11",
        "`available` asks sync and async hooks with the context, keeps the order, lists only what a name "
        "means, and takes an error for no.",
    ),
    "toolbox.near": Requirement(
        "design 3",
        "Names that come near a wrong one are offered, best first.",
    ),
    "toolbox.wrong-argument": Requirement(
        "design 5, armorer-core 2A, armorer-core 2D",
        "What is no tool, no context or no timeout is refused with the place.",
    ),
    "toolbox.is-toolbox": Requirement(
        "design 2, armorer-core 2C",
        "`is_toolbox` knows a toolbox from everything else.",
    ),
    "toolbox.repr-keeps-secrets": Requirement(
        "design 2, armorer-core 2D",
        "Neither repr nor str of a toolbox shows its context.",
    ),
    "toolbox.rules.kept": Requirement(
        "design 12, armorer-core 2A, armorer-core 2D",
        "A toolbox's policy, its context, approval policy, gates and revisions are kept by `extend` and by every other "
        "change; combining takes those of the first toolbox only.",
    ),
    "toolbox.rules.refused": Requirement(
        "design 5, armorer-core 2A, armorer-core 6A",
        "A policy, policy context, approval policy, gate or revision that is none is refused by its name.",
        divergence="Elsewhere a policy context that is no mapping is ignored.",
    ),
    "toolbox.rules.json": Requirement(
        "design 12, design 17, armorer-core 2E",
        "The revisions of policy and approvals are written and read back; policies and gates stay behind.",
    ),
    "toolbox.rules.judged": Requirement(
        "design 12, armorer-core 6A",
        "What a toolbox says is what its calls are judged by; where it says nothing, everything may run.",
    ),
    "toolbox.rules.import": Requirement(
        "design 14", "Who gives a toolbox no gates and no approval policy does not load what judges by them."
    ),
    "toolbox.execute": Requirement(
        "design 17",
        "`await toolbox.execute(call)` runs one call under a supervisor of its own.",
    ),
}
