"""Every numbered behaviour of the catalogues is promised, told to differ, or waits for its room.

The catalogues list what other engines do, section by section, and ``field-cases`` what people report of them. Here each
number stands for promises of ``promises/``; for a row of docs/divergences.md, ``differs: its first cell``; or for
a room that is not there yet, ``later: room``. A promise that proves a behaviour names the section in its source, such
as "surroundings 2.1", so the catalogues can be followed from either side.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec
import pytest

from tests.docs import ROOT
from tests.requirements import REQUIREMENTS


class Section(msgspec.Struct, frozen=True):
    """How many behaviours a section has, what each of them stands for, and the number of the first.

    A key lists numbers, such as ``"1-3, 5"``; a value lists ids of promises and words, one after the other. A number
    may stand in several keys.
    """

    size: int
    proofs: Mapping[str, str]
    first: int = 1


Catalogue = Mapping[str, Section]

ROOMS: Final = frozenset({"gateway", "ledger"})
"""What may be waited for."""

SURROUNDINGS: Final[Catalogue] = {
    # -- MCP
    "1.9": Section(
        16,
        {
            "1": "differs: An MCP server is made by an async factory",
            "2": "mcp-server.visible",
            "3": "mcp-server.names",
            "4": "mcp-server.changes",
            "5, 7": "mcp-server.list",
            "6": "differs: A tool may show MCP clients another schema than its own",
            "8": "mcp-server.hints",
            "9": "mcp-server.cancel, mcp-server.elicit, mcp-server.trace",
            "10": "mcp-server.authority, mcp-server.keys",
            "11": "mcp-server.values; differs: JSON for MCP clients is indented, and what has no form is a placeholder",
            "12": "mcp-server.errors; differs: `format_result` puts another answer in the place of a result",
            "13": "mcp-server.pauses, mcp-server.approve",
            "14": "mcp-server.cancel, mcp-server.http, mcp-server.stdio",
            "15": "differs: Tools are exported with handlers for somebody else's MCP server",
            "16": "differs: A missing MCP SDK is an error of its own",
        },
    ),
    "1.10": Section(
        6,
        {
            "1, 3-5": "mcp-server.elicit",
            "2": "mcp-server.elicit.unavailable",
            "6": "mcp-client.elicit",
        },
    ),
    "1.11": Section(7, {"1-7": "differs: Slow tools are MCP tasks, which clients poll"}),
    # -- tools from elsewhere
    "1.15": Section(
        16,
        {
            "1": "openapi.found; differs: A document becomes a list of tools",
            "2": "openapi.servers",
            "3": "openapi.names; differs: Names of operations become kebab-case",
            "4": "openapi.found",
            "5": "openapi.effect-classes",
            "6": "openapi.selection; differs: A list of operations is one of their ids",
            "7": "openapi.references, openapi.styles; differs: Cookies are left out",
            "8": "openapi.clashes; differs: The second of one name ends in `Header`",
            "9": "openapi.bodies; differs: The body is one argument, and JSON or nothing",
            "10": "openapi.recursion, openapi.losses; differs: A reference that leads nowhere ends the import",
            "11": "openapi.path-stays",
            "12": "openapi.styles; differs: A null in a query is an empty value",
            "13": "openapi.credentials",
            "14": "openapi.values, openapi.statuses; differs: The result of an operation is a status and data",
            "15": "openapi.cancellation, openapi.one-server, openapi.bounded",
            "16": "openapi.schemas, openapi.clients",
        },
    ),
    # -- agents of other frameworks
    "1.6": Section(
        8,
        {
            "1": "agents.shown; differs: Sets of names by risk come along with an agent's tools",
            "2": "agents.available",
            "3": "agents.supervised, agents.cancel",
            "4": "differs: A tool may be described anew for an agent",
            "5": "agents.words; differs: An error is raised inside of the SDK's tool",
            "6": "agents.paused",
            "7": "differs: A missing SDK is told when tools are made",
            "8": "differs: Tags say whether a tool changes something",
        },
    ),
    "1.7": Section(
        5,
        {
            "1, 3": "agents.gate; differs: A tool that is in no list is refused",
            "2": "agents.gate; differs: A gate is asked about names alone",
            "4": "differs: The words of a gate can be replaced",
            "5": "agents.wrong",
        },
    ),
    # -- tools of MCP servers
    "1.12": Section(
        5,
        {
            "1": "mcp-client.import; differs: Tools come with a handler, or with a function that calls them",
            "2": "mcp-client.set-aside; differs: A schema that cannot be read accepts anything",
            "3": "mcp-client.effects; differs: `readOnlyHint` is believed, other hints are not read",
            "4": "mcp-client.content, mcp-client.errors; differs: A lone text is read as JSON",
            "5": "mcp-client.paging, mcp-client.cancel, mcp-client.progress, mcp-client.meta",
        },
    ),
    "1.13": Section(
        7,
        {
            "1, 4-7": "mcp-client.oauth",
            "2-3": "differs: The state and the verifier of a flow are kept and used again",
        },
    ),
    # -- queries, search, inspection, writing down
    "2.1": Section(
        10,
        {
            "1-2": "toolbox.query.inputs",
            "3": "toolbox.query.wrong-argument",
            "4": "toolbox.query.all-hold",
            "5, 8": "toolbox.query.shown; differs: `select` chooses what is answered",
            "6-7": "toolbox.query.page",
            "7": "differs: A limit of 0 means none",
            "9": "toolbox.query.ranked",
            "10": "differs: A query or search emits an event",
        },
    ),
    "2.2": Section(
        14,
        {
            "1": "toolbox.query.tags",
            "2": "toolbox.query.identity",
            "3": "toolbox.query.lifecycle",
            "4-5": "toolbox.query.risk",
            "4": "differs: Risk is what its flags say",
            "6-7": "toolbox.query.schema",
            "7": "differs: A schema matches if it has the keys",
            "8-12": "toolbox.query.metadata",
            "9": "differs: Lists and objects in metadata are never equal",
            "12": "toolbox.query.predicate; differs: A predicate that raises says no",
            "13": "toolbox.query.text",
            "14": "toolbox.query.combined; differs: `and`, `or` and `not` are criteria",
        },
    ),
    "2.3": Section(
        13,
        {
            "1-2, 5-13": "toolbox.query.text",
            "3-4": "toolbox.query.words",
            "4": "differs: Text without Latin letters matches everything",
            "7": "differs: An exact word is never a name with a hyphen",
            "9-10": "toolbox.query.wrong-argument; differs: Senseless numbers are corrected",
        },
    ),
    "2.4": Section(
        4,
        {
            "1": "toolbox.search.incremental",
            "2": "toolbox.frozen, toolbox.search.replaced; differs: An index is renewed by hand",
            "3": "toolbox.search.embedder-cached",
            "4": "toolbox.query.asks-anew; differs: Results of queries are kept",
        },
    ),
    "2.5": Section(
        9,
        {
            "1": "toolbox.search.where, toolbox.search.limit, toolbox.search.bad-arguments",
            "1-2, 5": "differs: Tags, functions and tie-breakers rank",
            "3": "toolbox.search.nothing-asked; differs: A search answers every tool",
            "4": "toolbox.search.ranked, toolbox.search.deterministic",
            "6": "toolbox.search.explain",
            "7": "differs: `select` chooses what is answered",
            "8": "toolbox.search.fields, toolbox.search.forms",
            "9": "differs: A query or search emits an event",
        },
    ),
    "2.6": Section(
        13,
        {
            "1, 6": "toolbox.search.hybrid",
            "1, 7, 12": "differs: A tool has five vectors",
            "2": "toolbox.search.embedder-checked; differs: A wrong vector is passed over",
            "3": "toolbox.search.replaced",
            "4, 10": "examples.vector-search; differs: Vectors are registered, or stand in metadata",
            "5": "toolbox.search.embedder-cached",
            "6": "differs: A query finds by meaning",
            "8": "toolbox.search.hybrid; differs: Candidates are drawn by random projections",
            "9": "toolbox.search.embedder-checked",
            "11": "toolbox.search.embedder-fails",
            "13": "toolbox.search.fusion; differs: Two scores are added",
        },
    ),
    "2.7": Section(
        3,
        {
            "1, 3": "toolbox.search.embedder-cached; differs: Vectors are kept for each list of texts",
            "2": "toolbox.search.embedder-fails",
        },
    ),
    "2.8": Section(
        9,
        {
            "1": "kits.search-tools.options",
            "2": "kits.search-tools.finds; differs: The search tool registers itself",
            "3": "kits.search-tools.finds, kits.search-tools.tags",
            "4": "kits.search-tools.schemas, kits.search-tools.not-itself; differs: The search tool finds itself",
            "5": "kits.search-tools.available, kits.search-tools.tags, kits.search-tools.bounded",
            "6": "toolbox.search.misspelt",
            "7": "toolbox.search.ranked; differs: The score of a find is its place",
            "8": "toolbox.search.explain; differs: The search tool repeats the query as its reason",
            "9": "kits.search-tools.meaning",
        },
    ),
    "2.9": Section(
        7,
        {
            "1": "definitions.portable; differs: Names have aliases",
            "2": "definitions.json-checked",
            "3": "definitions.digest, canonical.one-text",
            "4": "contracts.parser",
            "5": "toolbox.json; differs: A toolbox is written with its functions",
            "6": "toolbox.json, toolbox.json.refused; differs: A function that is missing is missed by the first call",
            "7": "definitions.from-json",
        },
    ),
    "2.10": Section(
        7,
        {
            "1, 5": "toolbox.inspect.levels",
            "2": "toolbox.inspect.counts",
            "3, 7": "toolbox.inspect.full",
            "4": "contracts.schema.legal; differs: A schema of something else has no keys",
            "6": "toolbox.inspect.copies",
        },
    ),
    "2.11": Section(
        5,
        {
            "1": "toolbox.versions, toolbox.lookup, toolbox.duplicate-id, toolbox.live.unregister; "
            "differs: Names have aliases; differs: A selector picks the version",
            "2": "toolbox.versions",
            "3": "definitions.identity.text",
            "4": "definitions.tags, definitions.risk.tags",
            "5": "toolbox.fuzzy.tiers, toolbox.fuzzy.suffix; differs: A suffix is any part of a name",
        },
    ),
    # -- truncation, fences, middleware, guardrails
    "3.1": Section(
        11,
        {
            "1-2": "truncation.safe-slice, truncation.whole-characters; differs: Lengths count UTF-16 units",
            "3": "truncation.marker",
            "4-5": "truncation.blobs",
            "6": "truncation.content, truncation.error",
            "6, 8": "differs: Errors keep 400 characters; differs: The note for base64 can be chosen",
            "7-9": "truncation.head-and-tail",
            "10-11": "truncation.stream",
            "10": "differs: The marker of a stream comes on top",
            "11": "truncate.streams; differs: A stream that is cut is left",
        },
    ),
    "3.2": Section(
        5,
        {
            "1": "middleware.bind, middleware.definition; differs: A middleware rewrites a configuration",
            "2": "middleware.order; differs: The last middleware is outermost",
            "3": "middleware.everywhere",
            "4": "middleware.everywhere, definitions.lazy.once",
            "5": "middleware.once",
        },
    ),
    "3.3": Section(
        4,
        {
            "1": "cache.definition; differs: Clocks and timers are given",
            "2": "cache.same",
            "3": "cache.ttl, cache.bounded, cache.values; differs: A cache forgets the oldest",
            "4": "cache.authority, cache.single-flight, cache.copies, cache.values",
        },
    ),
    "3.4": Section(
        3,
        {
            "1": "rate-limit.by, rate-limit.definition; differs: Limits have defaults and windows",
            "2": "rate-limit.never-more, rate-limit.bounded, rate-limit.waits",
            "3": "rate-limit.refuses",
        },
    ),
    "3.5": Section(
        2,
        {
            "1-2": "timeout.ends, timeout.covers",
            "1": "differs: Clocks and timers are given",
            "2": "differs: Work goes on after a timeout",
        },
    ),
    "3.6": Section(
        3,
        {
            "1-2": "truncate.values, truncation.value, truncation.result, truncation.json; "
            "differs: JSON that is too long is cut like text",
            "2-3": "differs: Members of a value decide what it is",
            "3": "truncate.streams",
        },
    ),
    "3.7": Section(
        6,
        {
            "1": "fence.only",
            "2": "fencing.layout, fencing.options",
            "3": "fencing.unforgeable, fencing.unguessable; differs: All fences look the same",
            "4": "fence.values, fence.streams, fencing.value; differs: Members of a value decide what it is",
            "5": "fence.order, middleware.everywhere",
            "6": "fencing.content, fencing.stream, fencing.errors, fencing.capped, fence.errors",
        },
    ),
    "3.8": Section(2, {"1": "deprecation.told, deprecation.only", "2": "toolbox.on-deprecated, engine.deprecated"}),
    "3.9": Section(
        8,
        {
            "1": "guardrails.verdict; differs: A detector is told of the conversation",
            "2": "guardrails.length",
            "3": "guardrails.topics, guardrails.classifier; differs: A topic is found inside of words",
            "4": "guardrails.injection, guardrails.benign; differs: Every phrase counts alike",
            "5": "guardrails.at-least",
            "6": "guardrails.pipeline, guardrails.failure",
            "7": "guardrails.arguments, guardrails.results, guardrails.errors, guardrails.streams, guardrails.places; "
            "differs: A tripwire raises",
            "8": "guardrails.failure, guardrails.failures, guardrails.disguise, guardrails.linear, guardrails.redacted; "
            "differs: A detector that fails lets pass",
        },
    ),
    # -- composition
    "4.1": Section(
        7,
        {
            "1": "composition.kinds, composition.call, composition.like-any",
            "2": "composition.abort, composition.deadline, composition.steps, composition.passed-on; "
            "differs: Each step has the whole timeout",
            "3": "composition.pause, composition.failure; differs: A pause is an empty success",
            "4": "composition.strictest, composition.whole, composition.availability, composition.like-any; "
            "authorities.composed; differs: What is said of the parts is lost",
            "5": "composition.pipe; differs: A mapping may be a call",
            "6": "composition.names; differs: Composed tools are called `pipe(a, b)`",
            "7": "composition.like-any",
        },
    ),
    "4.2": Section(
        6,
        {
            "1": "composition.defined, composition.names",
            "2, 6": "composition.pipe",
            "3": "composition.events",
            "4": "composition.failure",
            "5": "composition.abort",
        },
    ),
    "4.3": Section(
        2,
        {
            "1": "composition.bind, composition.bind.closed; differs: A caller's value for a bound argument is dropped",
            "2": "composition.bind.checked; differs: Bound values are checked in the call",
        },
    ),
    "4.4": Section(1, {"1": "composition.tap; differs: An observer that fails fails the call"}),
    "4.5": Section(1, {"1": "composition.when"}),
    "4.6": Section(
        2,
        {
            "1": "composition.parallel, composition.events, composition.failure; "
            "differs: One failure of `parallel` comes as it is",
            "2": "composition.parallel.on-error; differs: The others run on after a failure",
        },
    ),
    "4.7": Section(
        5,
        {
            "1": "composition.retry, retry.definition",
            "2": "retry.delays",
            "3": "retry.which, composition.events; differs: Hooks decide about a retry",
            "4": "composition.abort, composition.retry.never, retry.ends",
            "5": "retry.which, retry.after, retry.middleware; differs: Everything is tried again",
        },
    ),
    "4.8": Section(2, {"1-2": "composition.mapping"}),
    # -- telemetry
    "5": Section(
        10,
        {
            "1": "telemetry.conventions",
            "2": "telemetry.parents, telemetry.links; differs: `execute` is handed parent and links",
            "3": "telemetry.events",
            "4": "telemetry.conventions, telemetry.metrics; differs: An attribute holds the duration in milliseconds",
            "5": "telemetry.status; differs: A pause is OK, a denial an error",
            "6": "telemetry.discreet; differs: Exceptions are recorded",
            "7": "telemetry.once",
            "8": "telemetry.once, telemetry.stop, telemetry.names; differs: A span is known by the id of its call",
            "9": "telemetry.conventions; differs: Attributes begin with `armorer.tool.`",
            "10": "differs: Some events have no id",
        },
    ),
    # -- testing, and the coding kit
    "6.1": Section(
        5,
        {
            "1": "testing.mock, testing.mock.told; differs: A mock drops arguments that nobody declared",
            "2-4": "testing.record, testing.record.query",
            "3": "differs: A history knows the results of successes",
            "5": "testing.mock.sequence, testing.mock.arguments, testing.mock.stream, testing.record.assert, "
            "testing.rules, testing.rules.own, testing.seed, testing.ids, testing.inline, testing.script",
        },
    ),
    "6.2": Section(
        4,
        {
            "1": "kits.jail.wrong-root, kits.jail.root-link",
            "2": "kits.jail.inside, kits.jail.inner-links, kits.jail.escape-refused, kits.jail.malformed-refused",
            "3": "kits.jail.dangling-link, kits.jail.race; differs: A path is checked and then opened",
            "4": "kits.jail.escape-refused; differs: Errors show where the root is",
        },
    ),
    "6.3": Section(
        6,
        {
            "1-3": "kits.read.lines",
            "1": "kits.read.bad-numbers",
            "4": "kits.read.byte-cap",
            "5": "kits.jail.errors-told, kits.jail.escape-refused",
            "6": "kits.read.exact, kits.read.large-file, kits.read.binary, kits.read.invalid-utf8, "
            "kits.jail.special-files; differs: What lies behind the byte cap cannot be read; "
            "differs: A file is text, and ends with an empty line",
        },
    ),
    "6.4": Section(
        4,
        {
            "1": "kits.grep.flags, kits.grep.bad-pattern; differs: Patterns are those of the host's language",
            "2": "kits.grep.matches, kits.grep.files, kits.grep.truncated",
            "3": "kits.search.links-end, kits.search.skips-counted; differs: Files are passed over in silence",
            "4": "kits.search.order, kits.grep.long-lines, kits.grep.linear-time, kits.search.cancel, "
            "kits.search.skips-counted",
        },
    ),
    "6.5": Section(
        3,
        {
            "1": "kits.glob.patterns",
            "2": "kits.glob.refused, kits.glob.truncated",
            "3": "kits.search.links-end, kits.search.order",
        },
    ),
    "6.6": Section(2, {"1-2": "kits.tools.declared"}),
    # -- patterns
    "8": Section(14, {"1-13": "examples.patterns", "14": "middleware.everywhere"}),
    # -- what the other system has wrong, by its number in the ranked list
    "9": Section(
        39,
        {
            "1": "middleware.everywhere",
            "2": "toolbox.query.inputs, kits.search-tools.finds, toolbox.search.ranked",
            "3": "testing.record",
            "4": "composition.like-any, composition.strictest, composition.availability",
            "5": "composition.pause, mcp-server.pauses",
            "6": "cache.same, cache.authority",
            "7": "providers.malformed-never-runs",
            "8": "fence.values, fencing.unguessable, fencing.stream, fence.errors, fence.order",
            "9": "telemetry.discreet",
            "24": "telemetry.once, telemetry.stop",
            "10": "openapi.path-stays, openapi.one-server, openapi.cancellation",
            "35": "openapi.found",
            "11": "contracts.schema.legal, contracts.schema.hard",
            "12": "mcp-server.list",
            "25": "mcp-server.changes, mcp-client.paging, mcp-client.oauth",
            "13": "later: gateway",
            "14": "authorities.tiers",
            "15-16": "compiling.strict, compiling.legal",
            "17": "compiling.references",
            "18": "composition.names, toolbox.duplicate-id, offering.names",
            "19": "toolbox.query.asks-anew, toolbox.query.words, toolbox.query.text, toolbox.query.page, "
            "toolbox.search.embedder-checked",
            "20": "timeout.ends, openapi.statuses",
            "21": "toolbox.versions, toolbox.fuzzy.suffix",
            "22": "kits.read.byte-cap, kits.read.large-file, kits.grep.truncated, kits.search.order",
            "23": "truncation.blobs, truncate.streams",
            "26": "definitions.from-json, toolbox.json",
            "27": "engine.whose-timeout, timeout.ends",
            "28": "composition.steps, composition.passed-on",
            "29": "retry.which, retry.delays",
            "30": "composition.parallel.on-error",
            "31": "guardrails.failure, guardrails.results",
            "32": "toolbox.search.hybrid",
            "33": "toolbox.search.embedder-cached",
            "34": "differs: Vectors are registered, or stand in metadata",
            "36": "definitions.classify.one-reading, definitions.classify.stricter",
            "37": "kits.jail.escape-refused",
            "38": "kits.grep.linear-time",
            "39": "canonical.one-text, definitions.effect.order",
        },
    ),
    # -- acceptance vectors
    "12.4": Section(
        12,
        {
            "1-3": "toolbox.query.text",
            "4": "toolbox.query.page",
            "5-6": "toolbox.query.combined",
            "7": "differs: Tags, functions and tie-breakers rank",
            "8": "toolbox.query.ranked",
            "9-10": "toolbox.query.metadata",
            "11": "toolbox.query.risk",
            "12": "toolbox.search.hybrid",
        },
    ),
    "12.5": Section(
        13,
        {
            "1": "truncation.marker",
            "2": "truncation.head-and-tail",
            "3-4": "truncation.stream",
            "5": "fencing.unforgeable, fence.values",
            "6": "fencing.value",
            "7": "cache.bounded; differs: A cache forgets the oldest",
            "8": "cache.same",
            "9": "rate-limit.refuses",
            "10": "guardrails.injection",
            "11": "guardrails.at-least",
            "12": "guardrails.length",
            "13": "guardrails.results",
        },
    ),
    "12.6": Section(
        16,
        {
            "1": "composition.pipe",
            "2": "composition.bind, composition.bind.checked",
            "3": "composition.when",
            "4": "composition.parallel",
            "5": "composition.retry",
            "6": "composition.pause",
            "7": "composition.strictest, authorities.composed",
            "8": "kits.read.lines",
            "9": "kits.read.byte-cap",
            "10": "kits.grep.truncated",
            "11": "kits.glob.refused",
            "12-14": "later: gateway",
            "15": "composition.like-any, composition.events",
            "16": "toolbox.query.inputs, toolbox.search.ranked",
        },
    ),
}

CORE: Final[Catalogue] = {
    # -- a tool: declared, called, run
    "1A": Section(
        6,
        {
            "1": "definitions.tool.define, definitions.builder.steps, testing.ids; differs: A description is required; "
            "differs: Times are milliseconds",
            "1, 4": "definitions.tool.declarations, definitions.policy.declared, definitions.policy.forms",
            "2-3": "definitions.tool.wrong-declaration, definitions.lazy.fits; differs: A function may come as a promise",
            "4": "differs: Start and finish are told on request",
            "5": "definitions.metadata-function; differs: Metadata may be awaited",
            "6": "definitions.json-checked",
        },
    ),
    "1B": Section(
        8,
        {
            "7, 12-13": "definitions.identity.any-name",
            "8-10": "definitions.identity.text",
            "10": "definitions.identity.any-name",
            "11": "definitions.portable",
            "12": "offering.names",
            "14": "differs: Names have aliases",
        },
        first=7,
    ),
    "1C": Section(
        4,
        {
            "15-17": "definitions.tags",
            "15": "differs: Tags that are no list are none",
            "18": "definitions.risk.tags",
        },
        first=15,
    ),
    "1D": Section(
        4,
        {
            "19-21": "definitions.risk.flags",
            "19": "differs: A number in the metadata is a limit",
            "20-21": "definitions.classify.stricter; differs: A risk overrides the flags",
            "22": "toolbox.query.risk, fence.only",
        },
        first=19,
    ),
    "1E": Section(
        2,
        {
            "23": "definitions.lifecycle",
            "24": "engine.deprecated, toolbox.versions, deprecation.told, deprecation.only; "
            "differs: Deprecated tools are hidden",
        },
        first=23,
    ),
    "1F": Section(
        8,
        {
            "25": "contracts.closed, contracts.schema.root; differs: Unknown arguments are dropped",
            "26": "definitions.input-fields, contracts.classes",
            "27": "definitions.tool.define",
            "28-29": "contracts.parser",
            "28, 32": "contracts.awaited, engine.awaited-validators",
            "30": "contracts.schema.legal, contracts.frozen",
            "31": "contracts.pair, toolbox.json",
            "32": "contracts.signature.defaults, contracts.schema.filled",
        },
        first=25,
    ),
    "1G": Section(
        3,
        {
            "33": "definitions.json-checked, canonical.says-where",
            "34-35": "canonical.one-text",
            "34": "canonical.interop-vectors",
            "35": "canonical.interop-refusals, definitions.digests",
        },
        first=33,
    ),
    "1H": Section(
        3,
        {
            "36": "definitions.portable, contracts.types",
            "37": "differs: The written form is one object",
            "38": "definitions.tool.text",
        },
        first=36,
    ),
    "1I": Section(
        5,
        {
            "39": "differs: A function may come as a promise",
            "40": "definitions.lazy.once, definitions.lazy.retry, definitions.lazy.fits",
            "41": "toolbox.json.refused; differs: A function that is missing is missed by the first call",
            "42": "definitions.tool.call, definitions.lazy.retry; differs: A direct call raises the message",
            "43": "definitions.lazy.once, definitions.lazy.cancelled",
        },
        first=39,
    ),
    "1J": Section(
        10,
        {
            "44, 50": "definitions.tool.call; differs: A direct call raises the message",
            "45": "differs: A dict that looks like a call is one",
            "46": "engine.codes, engine.faults",
            "46, 52": "definitions.wire",
            "47": "engine.options; differs: A tool runs itself, with options",
            "48, 51, 53": "definitions.tool.function",
            "49": "definitions.tool.call-arguments, contracts.strict; differs: Arguments become JSON at one of two doors",
            "50": "authorities.unwrap",
        },
        first=44,
    ),
    "1K": Section(
        6,
        {
            "54-55": "placement.context",
            "55": "placement.telling, watching.progress, watching.declared-waits, telemetry.parents",
            "56, 59": "definitions.with-context; differs: The context is one bag",
            "57": "differs: Known keys of the context have types",
            "58": "engine.elicit",
        },
        first=54,
    ),
    "1L": Section(
        3,
        {
            "60": "contracts.hints; differs: Hints come from an adapter",
            "61-62": "engine.hints",
        },
        first=60,
    ),
    "1M": Section(
        5,
        {
            "63": "definitions.digests.declared",
            "64": "engine.digests; differs: A digest is that of the printed value",
            "65": "engine.digests, definitions.digests; differs: A digest of a stream is that of its joined text",
            "66-67": "definitions.digests; differs: A digest is that of the printed value",
        },
        first=63,
    ),
    "1N": Section(
        2,
        {
            "68-69": "toolbox.available, engine.availability",
            "68": "engine.direct; differs: Availability is asked of all at once",
        },
        first=68,
    ),
    "1O": Section(
        5,
        {
            "70": "definitions.tool.wrong-declaration; differs: A limit without sense is no limit",
            "70-71": "differs: A number in the metadata is a limit",
            "71": "differs: A toolbox has a default concurrency",
            "72": "capacity.fifo, capacity.holders; differs: A live stream gives its slot back at once",
            "73": "engine.queue-time",
            "74": "capacity.limits, capacity.withdraw, capacity.position",
        },
        first=70,
    ),
    "1P": Section(
        9,
        {
            "75": "watching.ways-to-end, definitions.lazy.cancelled; differs: Each step has an event",
            "75-76": "authorities.pipeline, authorities.events",
            "77-79": "authorities.provider",
            "78": "watching.ways-to-end",
            "80-81": "authorities.auditors; differs: Cancelled calls are told to no auditor",
            "82": "content.records",
            "83": "definitions.tool.placement",
        },
        first=75,
    ),
    "1Q": Section(
        1,
        {
            "84": "content.documented-forms, content.unencodable, engine.wording; "
            "differs: What has no JSON form becomes text; differs: The content of an error is its message; "
            "differs: A live stream is the value of its result",
        },
        first=84,
    ),
    "1R": Section(1, {"85": "definitions.tool.is-tool"}, first=85),
    "1S": Section(
        1,
        {
            "86": "toolbox.live.update, kits.search-tools.finds; differs: `register` changes a toolbox under test; "
            "differs: The search tool registers itself",
        },
        first=86,
    ),
    "1T": Section(1, {"87": "composition.retry, retry.delays, retry.definition"}, first=87),
    "1U": Section(
        3,
        {
            "88-89": "differs: Each tool and toolbox has listeners",
            "90": "watching.payloads; differs: Custom events stay with the tool",
        },
        first=88,
    ),
    # -- a toolbox
    "2A": Section(
        8,
        {
            "1": "toolbox.json; differs: Entries may be mappings, or made by a factory",
            "2": "toolbox.extend, engine.options; differs: A toolbox runs its tools",
            "2-3": "toolbox.rules.kept, toolbox.rules.refused, authorities.options",
            "3": "differs: A toolbox holds secret and stores",
            "4": "engine.concurrency, engine.batch-whole; differs: A toolbox has a default concurrency",
            "5": "toolbox.same-tool-twice; differs: A toolbox copies its tools",
            "6": "toolbox.wrong-argument",
            "7": "toolbox.json.refused; differs: A function that is missing is missed by the first call",
            "8": "differs: Entries may be mappings, or made by a factory",
        },
    ),
    "2B": Section(
        5,
        {
            "9": "middleware.bind; differs: A middleware rewrites a configuration",
            "9, 13": "middleware.order",
            "10": "middleware.definition",
            "11": "middleware.everywhere",
            "12": "middleware.once",
        },
        first=9,
    ),
    "2C": Section(
        8,
        {
            "14": "toolbox.duplicate-id, toolbox.replace; differs: The same id replaces",
            "15": "toolbox.lookup, toolbox.versions, toolbox.namespaces; differs: The version that came last is meant",
            "16": "engine.by-full-id",
            "17": "toolbox.available; differs: Availability is asked of all at once",
            "18": "toolbox.missing; differs: `hasAllTools` answers yes or no",
            "19": "toolbox.inspect.levels, toolbox.inspect.counts",
            "20": "toolbox.frozen",
            "21": "toolbox.is-toolbox, definitions.tool.is-tool",
        },
        first=14,
    ),
    "2D": Section(
        11,
        {
            "22-25": "toolbox.extend",
            "23, 32": "toolbox.frozen",
            "24": "toolbox.duplicate-id; differs: The same id replaces",
            "26": "engine.budget, loops.owners; differs: A toolbox runs its tools",
            "27-28": "toolbox.combine",
            "27": "toolbox.wrong-argument",
            "28, 30, 32": "toolbox.rules.kept",
            "29": "middleware.once; differs: Combining leaves middleware and limits out",
            "31": "toolbox.repr-keeps-secrets, signing.secret, definitions.policy.unseen",
        },
        first=22,
    ),
    "2E": Section(
        3,
        {
            "33-34": "toolbox.json, toolbox.rules.json",
            "33": "differs: A toolbox is written with its functions",
            "34": "toolbox.json.refused",
            "35": "offering.doors, offering.available",
        },
        first=33,
    ),
    "2F": Section(
        3,
        {
            "36": "contracts.hostile, contracts.issues; differs: What is no JSON in a call becomes text",
            "36-37": "definitions.wire",
            "38": "engine.arguments-untouched",
        },
        first=36,
    ),
    "2G": Section(
        12,
        {
            "39": "engine.fuzzy, engine.unknown-tool",
            "39-41": "watching.ways-to-end; differs: A refusal has an event of its kind",
            "40": "engine.availability",
            "41": "telemetry.parents, telemetry.links; differs: `execute` is handed parent and links",
            "42": "engine.deprecated",
            "43-46": "engine.loops, engine.budget; differs: Every call that was admitted is paid for",
            "47": "watching.exactly-once, authorities.pipeline",
            "48": "engine.user-code-raises, engine.bug; differs: What looks like a tool error is one",
            "49": "engine.codes, engine.state-abort-requested",
            "50": "later: ledger",
        },
        first=39,
    ),
    "2H": Section(
        7,
        {
            "51": "engine.order; differs: `execute` takes a call or a list",
            "52": "engine.batch-whole, engine.batch-in-order, policing.sequence",
            "53-54": "engine.fail-fast; differs: Fail-fast raises a mapping, and the rest runs on",
            "53": "engine.siblings",
            "55-56": "later: ledger",
            "57": "engine.options, telemetry.parents",
        },
        first=51,
    ),
    "2I": Section(2, {"58-59": "toolbox.live.update; differs: `register` changes a toolbox under test"}, first=58),
    "2J": Section(
        4,
        {
            "60-61": "gates.read-only, gates.dangerous",
            "62": "definitions.classify.one-reading, gates.one-classifier",
            "63": "definitions.classify.unclassified, gates.one-classifier; differs: A tool without flags is harmless",
        },
        first=60,
    ),
    "2K": Section(
        5,
        {
            "64-67": "engine.budget",
            "65": "watching.ways-to-end",
            "66": "differs: Every call that was admitted is paid for",
            "68": "later: ledger",
        },
        first=64,
    ),
    "2L": Section(1, {"69": "loops.statistics; differs: A toolbox makes detectors on demand"}, first=69),
    "2M": Section(
        3,
        {
            "70": "shutdown.admission-closed",
            "71": "shutdown.leaving, engine.cancelled-anywhere; differs: A signal completes a toolbox",
            "72": "watching.payloads",
        },
        first=70,
    ),
    # -- results and errors
    "3A": Section(
        16,
        {
            "1-7": "definitions.wire",
            "1, 4-5, 7": "differs: Fields are there twice",
            "3, 6": "engine.codes",
            "5, 10": "streams.collected, streams.live; differs: A live stream is the value of its result",
            "8-9, 11": "authorities.result",
            "14": "differs: A result says whether its approval was used up",
            "12": "engine.digests",
            "13": "later: ledger",
            "15": "definitions.wire",
            "16": "engine.result-frozen",
        },
    ),
    "3B": Section(
        3,
        {
            "17": "engine.codes; differs: Codes have other names; differs: Retryable follows the category",
            "18": "authorities.codes; differs: A reserved approval is unknown",
            "19": "kits.jail.escape-refused",
        },
        first=17,
    ),
    "3C": Section(
        10,
        {
            "20, 29": "engine.codes; differs: What looks like a tool error is one",
            "21": "differs: A timeout of the tool's own is a timeout",
            "21-24": "engine.whose-timeout, engine.passing; differs: Words in a message decide",
            "25": "differs: The code is what the exception says",
            "26-27": "engine.harmless",
            "28": "contracts.issues; differs: The path of an issue is a list",
        },
        first=20,
    ),
    "3D": Section(
        2,
        {
            "30": "engine.reason-said; differs: A reason may be anything",
            "31": "engine.batch-stops-honestly, engine.not-started",
        },
        first=30,
    ),
    "3E": Section(1, {"32": "watching.ways-to-end; differs: A status says how it ended"}, first=32),
    # -- events
    "4B": Section(
        10,
        {
            "1": "watching.events, watching.ways-to-end; differs: A refusal has an event of its kind",
            "1-2": "differs: Each step has an event",
            "2": "differs: A toolbox repeats its tools' events",
            "3": "watching.payloads; differs: Custom events stay with the tool",
            "4": "watching.exactly-once, streams.events",
            "5": "streams.never-read, streams.leaving-early",
            "6": "differs: Each tool and toolbox has listeners",
            "7, 10": "watching.whose-event",
            "8": "watching.owner",
            "9": "watching.events; differs: Some events have no id",
            "9-10": "engine.calls-by-id",
        },
    ),
    "4C": Section(
        10,
        {
            "11-13, 16-18": "watching.ways-to-end",
            "14-15": "authorities.events",
            "20": "authorities.auditors; differs: The tool's auditor is told first",
            "19": "watching.exactly-once",
        },
        first=11,
    ),
    "4D": Section(
        2,
        {"21": "differs: Start and finish are told on request", "22": "telemetry.conventions, telemetry.discreet"},
        first=21,
    ),
    "4E": Section(
        6,
        {
            "23-25": "differs: Each tool and toolbox has listeners",
            "26": "watching.lagged; differs: A full buffer drops the newest; differs: Readers end with the toolbox",
            "27": "shutdown.admission-closed; differs: Readers end with the toolbox",
            "28": "differs: Events are forwarded under a prefix",
        },
        first=23,
    ),
    # -- loops and names
    # -- policies, approvals, grants
    "6A": Section(
        15,
        {
            "1": "definitions.policy.forms, definitions.policy.refused, judging.async, policing.told",
            "2-3, 7, 9": "verdict.reading, verdict.defaults",
            "4-5": "verdict.contradiction; differs: A decision may contradict itself",
            "6": "verdict.unclear",
            "8": "judging.hook-raises, policing.raises; differs: A hook that raises is an internal error",
            "10": "judging.order, policing.table, toolbox.rules.judged, toolbox.rules.refused",
            "11-12": "judging.ask-hides-no-deny, policing.table",
            "13": "authorities.provider",
            "14-15": "differs: A tool alone asks its own hooks",
        },
    ),
    "6B": Section(
        9,
        {
            "16-18": "capability.table",
            "19": "verdict.lattice",
            "20": "capability.texts",
            "21": "policing.table",
            "22": "differs: The approval policy can be made a hook",
            "23": "capability.table, openapi.effect-classes",
            "24": "differs: A risk overrides the flags",
        },
        first=16,
    ),
    "6C": Section(
        5,
        {
            "25, 28": "headless.deny-by-default",
            "26": "headless.never-asks, policing.headless",
            "27-28": "headless.reasons",
            "29": "headless.never-asks; differs: A hook that raises is an internal error",
        },
        first=25,
    ),
    "6D": Section(
        4,
        {
            "30-32": "authorities.charge-card",
            "33": "approvals.signature.missing, approving.unsigned",
        },
        first=30,
    ),
    "6E": Section(
        7,
        {
            "34": "signing.golden, signing.canonical, approvals.signature",
            "34, 36": "differs: A signature is 64 hex digits over sorted JSON",
            "35": "signing.tampering, signing.constant-time",
            "36": "signing.golden",
            "37-38": "approving.forgery, approvals.signature",
            "39": "signing.purposes, signing.rotation, approvals.signature.keys, approving.keys; "
            "differs: One secret signs",
            "40": "signing.canonical",
        },
        first=34,
    ),
    "6F": Section(
        14,
        {
            "41, 43, 48": "approving.arguments, policing.shown",
            "42": "authorities.deny-later, approving.arguments",
            "44-47": "approvals.questions, approving.tiers, judging.satisfied",
            "48": "authorities.charge-card, approving.handler.edits",
            "49": "approving.tiers",
            "50": "authorities.input, approving.handler",
            "51": "authorities.charge-card; differs: Invalid arguments of a resumed call raise",
            "52, 54": "authorities.charge-card",
            "53": "later: ledger",
        },
        first=41,
    ),
    "6G": Section(
        20,
        {
            "55": "approvals.scope, approvals.binding",
            "56": "approvals.scope.missing, approvals.binding; differs: Only versioned tools can be approved; "
            "differs: What is missing for an approval is an internal error",
            "57, 67": "approving.unconsumed",
            "58": "approvals.binding.checks, approvals.binding.mismatch, approvals.store.broken-clock, approving.window",
            "59": "approvals.binding.mismatch, approving.scope; "
            "differs: An approval is bound to exactly the resumer's context",
            "60": "approvals.store.table, approvals.store.conformance, approving.once, cli.approve.ask; "
            "differs: A reserved approval is unknown",
            "61": "approvals.store.memory",
            "62": "approvals.store.table, approvals.store.once; differs: A reserved approval is unknown",
            "63": "approvals.store.conformance, approvals.signature.snapshot",
            "64": "approvals.store.conformance",
            "65": "approvals.signature.snapshot, approving.window, policing.frozen",
            "66, 68": "approving.unconsumed, approving.once",
            "69": "differs: A result says whether its approval was used up",
            "70": "approving.unconsumed, approving.window",
            "71": "approvals.signature.missing",
            "72": "approving.restore; differs: An approval restored under other rules is of an invalid binding",
            "73": "approving.window",
            "74": "differs: One method answers a question with a decision",
        },
        first=55,
    ),
    "6H": Section(
        8,
        {
            "75": "watching.authority-kept; differs: A request context may hold credentials",
            "76": "authorities.spoof",
            "77": "judging.narrowing, policing.narrowing, verdict.capabilities; differs: `*` leaves all capabilities",
            "78": "approvals.revisions, approving.drift, watching.authority-kept",
            "79": "watching.authority-kept",
            "80": "projection.tenant, projection.json",
            "81": "projection.json",
            "82": "projection.tenant; differs: A tool's wait is public; differs: An operator needs no tenant",
        },
        first=75,
    ),
    "6I": Section(
        16,
        {
            "83": "grants.legal",
            "84, 86": "grants.signed, approving.grants",
            "85": "grants.signed; differs: A signature is 64 hex digits over sorted JSON",
            "87": "grants.stores, grants.revoked",
            "88": "grants.scopes, authorities.grant-vector",
            "89": "grants.legal; differs: An unknown scope reaches as far as the principal",
            "90": "grants.people, grants.definition, grants.resource, grants.constraints, grants.expiry, grants.scopes, "
            "approving.grants.limits; differs: The name of the tool is enough; "
            "differs: A missing argument is null",
            "91-92": "judging.granted, approving.grants, authorities.grant-vector; differs: A grant ends the judgement",
            "93-94": "grants.stores, approving.grants.uses; differs: A use is charged when a call is judged",
            "95": "grants.delegation; differs: Delegation is written down",
            "96": "grants.resource; differs: A wildcard ends at a line",
            "97": "later: gateway",
            "98": "differs: A toolbox holds secret and stores",
        },
        first=83,
    ),
    "8A": Section(
        4,
        {
            "1, 4": "loops.repeat",
            "1": "differs: Without thresholds a detector only warns",
            "2-3": "engine.loops",
            "2": "loops.arguments",
            "3": "watching.ways-to-end, engine.fail-fast",
        },
    ),
    "8B": Section(
        10,
        {
            "5": "loops.settings; differs: A hash function and a window are given",
            "6": "loops.arguments",
            "7": "loops.bounded, loops.statistics",
            "8-9": "loops.repeat",
            "8, 10": "loops.ping-pong",
            "11": "differs: Varied calls may be a ping-pong; differs: Without thresholds a detector only warns",
            "12-13": "loops.only-the-run, loops.recovery, loops.ping-pong, loops.progress, loops.polling; "
            "differs: Equal calls anywhere in the window count",
            "14": "loops.owners; differs: A toolbox makes detectors on demand",
        },
        first=5,
    ),
    "8C": Section(
        8,
        {
            "15": "toolbox.fuzzy.off",
            "15-16, 19": "toolbox.fuzzy.tiers",
            "17, 19": "toolbox.fuzzy.ambiguous",
            "17": "engine.fuzzy; differs: What is ambiguous is just not found",
            "18-20": "toolbox.fuzzy.suffix; differs: A suffix is the last part of a name",
            "20": "toolbox.fuzzy.risk",
            "21": "engine.fuzzy, engine.deprecated, watching.ways-to-end",
            "22": "toolbox.fuzzy.namespaces",
        },
        first=15,
    ),
    "8D": Section(
        7,
        {
            "23": "toolbox.duplicate-id, toolbox.live.update; differs: Names have aliases; "
            "differs: A registry stands beside toolboxes",
            "24": "toolbox.lookup, toolbox.live.unregister",
            "25-26": "toolbox.versions",
            "25": "differs: A selector picks the version; differs: Deprecated tools are hidden",
            "27": "toolbox.query.lifecycle",
            "28": "toolbox.fuzzy.suffix; differs: A suffix is any part of a name",
            "29": "toolbox.fuzzy.same-tool; differs: A registry stands beside toolboxes",
        },
        first=23,
    ),
    # -- what the other system has wrong, by its number in the list
    "10": Section(
        30,
        {
            "1": "authorities.grant-vector; differs: A grant ends the judgement",
            "2": "authorities.charge-card",
            "9": "authorities.fail-closed; differs: A decision may contradict itself",
            "20": "authorities.purposes; differs: One secret signs",
            "24": "authorities.provider",
            "25": "authorities.auditors",
            "29": "authorities.headless, authorities.tiers",
            "3-4, 27": "later: ledger",
            "5": "toolbox.fuzzy.suffix, toolbox.fuzzy.risk",
            "6": "loops.only-the-run, loops.recovery, loops.ping-pong",
            "7": "watching.whose-event, streams.never-read",
            "8": "streams.leaving-early, streams.deadline-on-silence, streams.never-truncated",
            "10": "definitions.classify.one-reading, definitions.classify.unclassified",
            "11": "middleware.everywhere, middleware.once",
            "12": "toolbox.same-tool-twice, definitions.with-context, placement.context",
            "13": "engine.by-full-id",
            "14": "engine.fail-fast",
            "15": "toolbox.combine",
            "16": "watching.exactly-once",
            "17": "definitions.tool.call, authorities.unwrap",
            "18": "engine.whose-timeout, engine.passing",
            "19": "definitions.digests",
            "21": "watching.retention, shutdown.escalate, shutdown.drain-for, shutdown.abort",
            "22": "capacity.limits, capacity.withdraw",
            "23": "toolbox.versions, toolbox.live.update",
            "26": "toolbox.live.update",
            "27": "cache.authority",
            "28": "cache.same, timeout.ends, rate-limit.definition",
            "30": "engine.budget",
        },
    ),
    # -- acceptance vectors
    "11": Section(
        50,
        {
            "1": "engine.by-full-id, definitions.wire",
            "2": "definitions.tool.call",
            "3": "contracts.closed; differs: Unknown arguments are dropped",
            "4-5, 7-9": "engine.codes",
            "5-6": "engine.clocks, engine.timers-bounded",
            "7-9": "engine.passing; differs: Words in a message decide",
            "10": "engine.not-started",
            "11": "engine.abort-answers, engine.wording",
            "12": "engine.reason-said; differs: A reason may be anything",
            "13": "definitions.lazy.cancelled, engine.awaited-validators, authorities.stopped",
            "14": "definitions.digests.declared, engine.digests",
            "15-16": "streams.collected, streams.live, streams.events",
            "15": "differs: A digest of a stream is that of its joined text",
            "16": "differs: A live stream is the value of its result",
            "17": "streams.error-keeps-chunks",
            "18": "streams.deadline-on-silence",
            "19": "streams.cancel-at-yield",
            "20": "definitions.tags",
            "21": "definitions.tool.define",
            "22": "definitions.tool.wrong-declaration; differs: A number in the metadata is a limit",
            "23": "engine.queue-time, engine.concurrency",
            "24, 39": "authorities.provider",
            "25": "verdict.reading",
            "26, 35": "authorities.tiers",
            "36": "authorities.charge-card",
            "37": "judging.ask-hides-no-deny, authorities.deny-later",
            "38-39": "authorities.auditors",
            "49": "authorities.grant-vector",
            "47": "headless.reasons",
            "27": "engine.budget",
            "28": "engine.fail-fast",
            "29": "engine.availability, toolbox.available",
            "30": "toolbox.namespaces; differs: The version that came last is meant",
            "31": "toolbox.extend",
            "32": "toolbox.combine",
            "33": "toolbox.fuzzy.tiers, engine.fuzzy",
            "34": "loops.repeat, engine.loops",
            "40-41": "later: ledger",
            "42": "watching.payloads",
            "43": "engine.deprecated",
            "44": "definitions.tool.is-tool",
            "45-46": "definitions.wire",
            "46": "contracts.hostile, engine.arguments-untouched",
            "48": "watching.snapshot-discreet; later: gateway",
            "50": "shutdown.abort",
        },
    ),
}

LLM_CORE: Final[Catalogue] = {
    "1.1": Section(1, {"1": "definitions.tool.wrong-declaration, definitions.tool.define, definitions.semantics"}),
    "1.2": Section(
        1,
        {
            "1": "definitions.effect.read-only-bare, definitions.effect.targets-stated, definitions.effect.checked, "
            "definitions.effect.order"
        },
    ),
    "1.3": Section(1, {"1": "definitions.portable, contracts.frozen, canonical.interop-vectors"}),
    "1.4": Section(1, {"1": "definitions.executable.identity, definitions.executable.joined"}),
    "1.5": Section(1, {"1": "contracts.pair, contracts.strict, contracts.awaited"}),
    "1.6": Section(1, {"1": "contracts.pair, contracts.issues"}),
    "1.7": Section(1, {"1": "content.text, content.unencodable, definitions.tool.call, engine.faults"}),
    "1.8": Section(1, {"1": "toolbox.duplicate-id"}),
    "2.1": Section(1, {"1": "definitions.portable, definitions.effect.checked, definitions.semantics"}),
    "2.2": Section(1, {"1": "definitions.digest, canonical.interop-vectors"}),
    "2.3": Section(1, {"1": "definitions.wire"}),
    "2.4": Section(1, {"1": "definitions.executable.identity, definitions.executable.agrees, contracts.pair"}),
    "2.5": Section(1, {"1": "engine.codes, providers.never-empty"}),
    "2.6": Section(1, {"1": "contracts.awaited, toolbox.query.async"}),
    "3.1": Section(1, {"1": "actions.document, actions.vectors"}),
    "3.2": Section(1, {"1": "actions.what-counts, actions.what-does-not"}),
    "3.3": Section(1, {"1": "actions.refusals"}),
    "3.4": Section(1, {"1": "actions.vectors"}),
    "3.5": Section(1, {"1": "actions.target-order"}),
    "3.6": Section(1, {"1": "actions.digest, actions.digest-form, actions.key-names, actions.verify"}),
    "4.5": Section(1, {"1": "approvals.binding.window, authorities.digest, authorities.window; later: ledger"}),
    "4.8": Section(1, {"1": "authorities.delegation"}),
    "7.1": Section(  # L1 to L17
        17,
        {
            "1, 3": "contracts.pair, definitions.tool.define",
            "2": "contracts.frozen, definitions.portable",
            "4, 7": "definitions.executable.identity, definitions.executable.joined",
            "5": "definitions.effect.read-only-bare, definitions.effect.targets-stated",
            "6": "definitions.executable.joined, definitions.semantics",
            "8": "engine.codes, content.text",
            "9": "actions.vectors",
            "10-11": "actions.what-counts, actions.what-does-not",
            "12": "actions.digest, actions.digest-form",
            "13-14": "actions.key-names, actions.verify",
            "15": "authorities.digest; later: ledger",
            "16": "later: ledger",
            "17": "definitions.semantics",
        },
    ),
    "7.2": Section(9, {"1-8": "later: ledger", "9": "authorities.window"}),  # C1 to C9
    "7.3": Section(  # A9 to A12: what a person is asked
        4,
        {
            "9, 12": "authorities.requires-approval",
            "10": "authorities.only-true",
            "11": "authorities.asked-once",
        },
        first=9,
    ),
    "8": Section(
        16,
        {
            "1": "contracts.pair",
            "2, 6, 8-10, 12-14, 16": "later: ledger",
            "3": "definitions.effect.order, actions.target-order",
            "7": "actions.verify; later: ledger",
            "4": "definitions.effect.checked, definitions.semantics",
            "5": "definitions.effect.checked, content.unencodable",
            "11": "engine.clocks, authorities.stopped",
            "15": "definitions.tool.call, engine.codes",
        },
    ),
}

CATALOGUES: Final[Mapping[str, Catalogue]] = {"armorer-core": CORE, "surroundings": SURROUNDINGS, "llm-core": LLM_CORE}

FIELD_CASES: Final[Mapping[str, str]] = {
    "30-33, 35-39, 41-42, 44-46, 51-53, 64, 67-69, 71-72, 75-78, 80-84, 88-90, 93-94, 96-98": "promised",
}
"""The numbers are those of ``field-cases``; a promise names them in its source, such as "field cases 45 and 46"."""


def numbers_in(listed: str) -> Iterator[int]:
    """The numbers that ``"1-3, 5"`` lists."""
    for part in listed.split(","):
        first, _, last = part.strip().partition("-")
        yield from range(int(first), int(last or first) + 1)


def words_in(proofs: str) -> list[str]:
    """The ids and words of one value of the tables."""
    return [
        word.strip()
        for part in proofs.split(";")
        for word in ([part] if part.strip().startswith(("differs:", "later:")) else part.split(","))
    ]


def sections() -> Iterator[tuple[str, str, Section]]:
    for name, catalogue in CATALOGUES.items():
        for title, section in catalogue.items():
            yield name, title, section


def proofs() -> Iterator[tuple[str, str]]:
    """Each word of the tables, with the section where it stands."""
    for name, title, section in sections():
        for value in section.proofs.values():
            for word in words_in(value):
                yield f"{name} {title}", word


def rows_told() -> set[str]:
    """The first cells of the page about differences."""
    page = (ROOT / "docs" / "divergences.md").read_text(encoding="utf-8")
    return {line.split(" | ")[0].removeprefix("| ").strip() for line in page.splitlines() if line.startswith("| ")}


def test_every_number_of_a_catalogue_stands_for_something() -> None:
    for name, title, section in sections():
        covered = {number for listed in section.proofs for number in numbers_in(listed)}

        assert covered ^ set(range(section.first, section.first + section.size)) == set[int](), f"{name} {title}"


def test_every_promise_that_a_catalogue_names_exists() -> None:
    ids = [(place, word) for place, word in proofs() if ":" not in word]

    assert [f"{place}: {word}" for place, word in ids if word not in REQUIREMENTS] == []


@pytest.mark.parametrize("name", CATALOGUES)
def test_a_promise_names_a_section_in_its_source_exactly_if_the_section_names_it(name: str) -> None:
    for title in CATALOGUES[name]:
        here = {word for place, word in proofs() if place == f"{name} {title}" and ":" not in word}
        mention = re.compile(rf"\b{name} {re.escape(title)}(?!\w)")
        there = {id_ for id_, promise in REQUIREMENTS.items() if mention.search(promise.source)}

        assert sorted(here ^ there) == [], f"{name} {title}"


def test_every_difference_is_told_on_the_page() -> None:
    told = rows_told()

    assert [word for _, word in proofs() if word.startswith("differs: ") and word[9:] not in told] == []


def test_every_difference_on_the_page_is_one_of_a_catalogue() -> None:
    named = {word[9:] for _, word in proofs() if word.startswith("differs: ")}

    assert sorted(rows_told() - named - {"armorer"}) == []


def test_only_rooms_that_are_planned_are_waited_for() -> None:
    waited = [word for _, word in proofs() if word.startswith("later: ")]

    assert {word.removeprefix("later: ") for word in waited} <= ROOMS


def test_every_field_case_is_named_by_a_promise() -> None:
    named = {
        number
        for promise in REQUIREMENTS.values()
        for listed in re.findall(r"field cases? ((?:\d+|, | and | to )+)", promise.source)
        for number in _told(listed)
    }

    for listed, word in FIELD_CASES.items():
        assert word.removeprefix("later: ") in {"promised", *ROOMS}
        assert word != "promised" or set(numbers_in(listed)) - named == set[int]()


def _told(listed: str) -> Iterator[int]:
    """The numbers in ``"45 and 46"``, ``"1, 3"`` and ``"35 to 39"``."""
    for part in re.split(r", | and ", listed):
        found = [int(number) for number in re.findall(r"\d+", part)]
        yield from range(found[0], found[-1] + 1) if found else ()
