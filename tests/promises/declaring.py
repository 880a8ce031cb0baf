"""How tools are declared: by decorator, builder, pair and definition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "definitions.wrong-thing": Requirement(
        "design 5",
        "What takes a tool, a toolbox, a call, a supervisor or options, and is given something else, says at once which of "
        "its parameters that was, what it got and what it wants.",
    ),
    "definitions.wrong-field": Requirement(
        "design 5",
        "Options that are given a field which they have not say whose it is, which one was probably meant, and which "
        "there are.",
    ),
    "definitions.builder.steps": Requirement(
        "design 17, armorer-core 1A",
        "A tool can be said in steps; each answers a new builder, there is one for every declaration, and the tool is the "
        "one that `define_tool` makes of the same parts.",
    ),
    "definitions.builder.missing": Requirement(
        "design 17",
        "A builder that cannot build says which step is missing or wrong, with the tool's name.",
    ),
    "definitions.policy.declared": Requirement(
        "design 5, design 12, armorer-core 1A",
        "A tool declares its policy and what that is given, in every way that tools are made; the definition and its "
        "digest say nothing of either.",
    ),
    "definitions.policy.forms": Requirement(
        "design 12, armorer-core 1A, armorer-core 6A",
        "A policy is a function that is asked, or an object that is asked before a call, told after it, or both.",
    ),
    "definitions.policy.refused": Requirement(
        "design 5, armorer-core 6A",
        "What is no policy, or nothing that a policy could be given, is refused with the tool when it is declared.",
        divergence="Elsewhere a context that is no mapping is ignored.",
    ),
    "definitions.policy.kept": Requirement(
        "design 12", "A policy stays with its tool through bound context, middleware, a toolbox and mocks."
    ),
    "definitions.policy.composed": Requirement(
        "design 12",
        "A tool made of others takes over neither their policies nor that they require approval: each is judged when "
        "it is called.",
    ),
    "definitions.policy.unseen": Requirement(
        "design 2, armorer-core 2D", "No repr shows a tool's policy or what that is given."
    ),
    "definitions.executable.joined": Requirement(
        "design 5, llm-core 1.4, llm-core 7.1",
        "A definition is joined with a validator and an executor into a tool that has exactly this definition.",
        divergence="The tool shows its parts: nothing in it is secret, and an executor does not run by being seen.",
    ),
    "definitions.executable.agrees": Requirement(
        "design 5, llm-core 2.4",
        "A contract over another schema than the definition's is refused; without a validator the definition's own schema "
        "decides.",
    ),
    "definitions.executable.identity": Requirement(
        "design 5, llm-core 1.4, llm-core 2.4, llm-core 7.1",
        "A tool is known by its identity: a copy is the tool itself, an equal one is another tool, and it is not pickled.",
        divergence="There is no registry: elsewhere whatever was spread or cloned is a look-alike that is refused when used.",
    ),
    "definitions.lazy.once": Requirement(
        "design 5, surroundings 3.2, armorer-core 1I",
        "A lazy function is loaded by the first call, after its arguments were validated, and once; calls that come "
        "meanwhile wait for the same load.",
    ),
    "definitions.lazy.retry": Requirement(
        "design 7, armorer-core 1I",
        "A load that fails ends the calls that wait for it with effect `none`, and the next call tries again.",
        divergence="Elsewhere an awaitable that was rejected stays rejected.",
    ),
    "definitions.lazy.cancelled": Requirement(
        "design 8, armorer-core 1I, armorer-core 1P, armorer-core 11",
        "A cancelled load takes nobody with it: one of those who waited for it loads anew.",
    ),
    "definitions.lazy.fits": Requirement(
        "design 5, armorer-core 1A, armorer-core 1I",
        "What is loaded must be a function of the declared kind; a lazy tool says its name and its input, and runs in no "
        "worker process.",
    ),
    "definitions.with-context": Requirement(
        "design 5, armorer-core 1K, armorer-core 10",
        "Values that are bound to a tool stand in `ctx.context` over those of the toolbox, and change nothing else.",
        divergence="Elsewhere they may take the place of members of the context itself.",
    ),
    "definitions.output.declared": Requirement(
        "field case 53",
        "What a tool promises to give is a type or a JSON Schema, stands in its definition, and can be taken from the "
        "return annotation when that is asked for.",
        divergence="Elsewhere outputs are not described.",
    ),
    "definitions.output.checked": Requirement(
        "field case 53",
        "A value that is not what was promised ends the call as `internal` `OUTPUT_INVALID` with issues, and its effect "
        "stays `completed`.",
        divergence="Elsewhere outputs are not checked.",
    ),
    "definitions.output.kept": Requirement(
        "design 12",
        "A value that keeps its promise reaches the caller as it is; written down, it is read back as an equal one.",
    ),
    "definitions.digests": Requirement(
        "design 16.10, armorer-core 1G, armorer-core 1M, armorer-core 10",
        "Equal arguments and equal values have equal digests, different ones different digests: types, nesting and the "
        "borders of chunks count, the order of keys and the spelling of numbers do not.",
        divergence='Elsewhere `1` and `"1"` collide, and so do chunks that read alike when they are joined.',
    ),
    "definitions.digests.declared": Requirement(
        "design 5, armorer-core 1M, armorer-core 11",
        "A tool declares of which side its results carry digests; a side that is not said is on.",
    ),
    "definitions.from-json": Requirement(
        "design 5, surroundings 2.9, surroundings 9",
        "A definition that was written as JSON is read back equal, with the same digest.",
        divergence="Elsewhere what was written cannot be read back.",
    ),
    "definitions.from-json.refused": Requirement(
        "design 5",
        "A document with something missing, unknown, wrong or contradictory is refused, with the tool and the place.",
    ),
    "definitions.wire": Requirement(
        "design 12, llm-core 2.3, armorer-core 1J, armorer-core 2F, armorer-core 3A, armorer-core 11",
        "Calls and results are written as JSON and read back equal; what JSON cannot say is refused with its place.",
    ),
    "definitions.metadata-function": Requirement(
        "design 5, armorer-core 1A",
        "Metadata may be a function that answers it at definition; an async one is refused with what to do instead.",
        divergence="Elsewhere a tool with an async one is itself awaited.",
    ),
    "definitions.input-fields": Requirement(
        "design 5, armorer-core 1F",
        "A mapping of names to types is an input; the function gets a dict.",
    ),
    "definitions.tool.text": Requirement(
        "design 5, armorer-core 1H",
        "The text of a tool is its name and its description.",
    ),
    "definitions.import": Requirement(
        "design 14",
        "Importing the package loads none of the readers of contracts, docstrings, definitions and bad JSON.",
    ),
    "contracts.parser": Requirement(
        "design 5, surroundings 2.9, armorer-core 1F",
        "A validator of another library is taken with a JSON Schema that says what it accepts; what it answers reaches "
        "the function, and what it raises against the arguments is a refusal.",
    ),
    "contracts.awaited": Requirement(
        "design 5, llm-core 1.5, llm-core 2.6, armorer-core 1F",
        "A validator may be async; it is awaited before the function is called, and its refusal is like any other.",
    ),
    "contracts.hints": Requirement(
        "design 5, armorer-core 1L",
        "For each issue there is a sentence that says what to do: the near name, what is expected, an example.",
        divergence="Elsewhere an adapter has to be plugged in, and its hints only reach an event.",
    ),
    "contracts.hints.legal": Requirement(
        "design 5",
        "An example in a hint is legal by the schema; where none is known there is none.",
    ),
    "toolbox.json": Requirement(
        "design 17, surroundings 2.9, surroundings 9, armorer-core 1F, armorer-core 2A, armorer-core 2E",
        "A toolbox is written as JSON and read back with equal definitions, each joined with what a resolver answers for it.",
        divergence="Elsewhere its live functions are part of what is written.",
    ),
    "toolbox.json.refused": Requirement(
        "design 5, surroundings 2.9, armorer-core 1I, armorer-core 2A, armorer-core 2E",
        "A resolver that answers nothing, something to await, or a tool with another definition is refused at once.",
        divergence="Elsewhere the first call fails.",
    ),
    "toolbox.on-deprecated": Requirement(
        "design 5, surroundings 3.8",
        "A toolbox names who is told of calls of deprecated tools; extending keeps it, combining takes the first one's.",
    ),
    "toolbox.manifest": Requirement(
        "design 17",
        "A toolbox is made of a TOML or JSON file that names functions with their declarations, and its definitions are "
        "those that the same words make in code.",
    ),
    "toolbox.manifest.allow": Requirement(
        "design 17",
        "A manifest imports nothing outside of the modules that its reader allows.",
    ),
    "toolbox.manifest.refused": Requirement(
        "design 5",
        "What is wrong in a manifest is refused with the file, the entry and the field.",
    ),
}
