"""The tools of MCP servers, as tools of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "mcp-client.trio": Requirement(
        "field case 84",
        "A client talks to servers in memory, over pipes and over HTTP on trio, and never asks asyncio.",
    ),
    "mcp-client.import": Requirement(
        "design 13 and surroundings 1.12",
        "Tools of a server are tools like any other, in a namespace of their own, and count as untrusted.",
    ),
    "mcp-client.effects": Requirement(
        "design 5 and surroundings 1.12",
        "What a tool does to the world is what the host says. A server's hints make a tool stricter, and milder only "
        "when the host trusts them; with nothing said it is unclassified.",
        divergence="armorer believes `readOnlyHint` as it comes, and reads no other hint.",
    ),
    "mcp-client.declare": Requirement(
        "design 5", "Whatever can be declared with a tool can be declared with an imported one."
    ),
    "mcp-client.options": Requirement(
        "design 16", "A wrong option, or one about a tool that is not listed, is refused with what would be right."
    ),
    "mcp-client.set-aside": Requirement(
        "field case 37 and surroundings 1.12",
        "A tool that cannot be imported is set aside with the reason, and the others are there.",
    ),
    "mcp-client.contracts": Requirement(
        "design 5",
        "Arguments are checked before anything is sent; a structured result that is not as promised is "
        "`OUTPUT_INVALID`, effect `completed`.",
    ),
    "mcp-client.content": Requirement(
        "field case 81 and surroundings 1.12",
        "Each kind of content is kept as a block, or described; structured content is the value, and text beside it is "
        "not doubled.",
        divergence="armorer reads a lone text as JSON where it can be; here a text is that text.",
    ),
    "mcp-client.revisions": Requirement(
        "design 13 and MCP conformance suite, auth/iss-supported",
        "A server is spoken to in the revision that it knows: after a handshake, or without one where it refuses that for "
        "whatever it misses in it.",
    ),
    "mcp-client.errors": Requirement(
        "design 7 and surroundings 1.12",
        "An error of the tool is an error with its words; one of the protocol has the category that it means, and "
        "effect `none` exactly when it says that nothing was run.",
    ),
    "mcp-client.bounds": Requirement(
        "design 16",
        "What a server says beside its results is kept up to a bound: words are cut with a mark, addresses are whole or left "
        "out.",
    ),
    "mcp-client.lost": Requirement(
        "field case 71",
        "A server that dies in a call makes it `CONNECTION_LOST`, with effect `unknown`, or `none` when the tool only "
        "reads; what was never sent has effect `none`.",
    ),
    "mcp-client.reconnect": Requirement(
        "design 13",
        "A broken connection is opened again, with growing pauses; calls wait for it, up to a bound, and are "
        "`TOOL_UNAVAILABLE` when there is none.",
    ),
    "mcp-client.cancel": Requirement(
        "field case 69 and surroundings 1.12",
        "A call that is stopped is announced to the server once, under the id of its request; a late answer is dropped, "
        "and the session lives on.",
    ),
    "mcp-client.withdrawn": Requirement(
        "design 7", "A call that is stopped before its request left is never sent, and had no effect."
    ),
    "mcp-client.one-end": Requirement(
        "design 16", "However stops and answers race, each call ends once, and the session is good for the next."
    ),
    "mcp-client.ids": Requirement(
        "field case 77", "No two requests of a session have one id, and a second answer to one is dropped."
    ),
    "mcp-client.receiving": Requirement(
        "field case 75",
        "A server's requests and changes are dealt with while calls wait, and none of them waits for a call.",
    ),
    "mcp-client.progress": Requirement(
        "design 13 and surroundings 1.12",
        "Progress reaches the execution in order; logs reach the call that they must be about, else the log.",
    ),
    "mcp-client.idle": Requirement(
        "design 8", "Progress resets the idle timeout of a call, under a cap that nothing resets."
    ),
    "mcp-client.elicit": Requirement(
        "design 13 and surroundings 1.10",
        "A server's question to a person is asked by the call that it is about, with its clocks standing still; where "
        "that cannot be told, or the call has no way to ask, it is declined.",
    ),
    "mcp-client.asked-back": Requirement(
        "design 13", "Asking a model is refused without a handler; directories are named when they are configured."
    ),
    "mcp-client.meta": Requirement(
        "field case 96 and surroundings 1.12",
        "The idempotency key and the trace of a call go along in `_meta`; rubbish does not.",
    ),
    "mcp-client.paging": Requirement(
        "field case 78 and surroundings 1.12 and surroundings 9",
        "A list is followed to its end, an empty cursor included; one without an end is an error.",
    ),
    "mcp-client.stray": Requirement(
        "field case 80",
        "What is no message is skipped and reported, up to a bound; an answer that cannot be read ends its own call.",
    ),
    "mcp-client.environment": Requirement(
        "field case 82", "A child process sees a short list of harmless variables, and what it is allowed or given."
    ),
    "mcp-client.pinned": Requirement(
        "field case 83",
        "A tool whose definition changed is refused until it is imported again, naming what changed, and an approval "
        "of the old one does not count for the new one.",
    ),
    "mcp-client.live": Requirement(
        "field case 83", "A live toolbox follows what the server lists, without being asked."
    ),
    "mcp-client.owner": Requirement(
        "field case 72", "Connections are closed from any task, in any order, and again; calls under way end as lost."
    ),
    "mcp-client.children": Requirement(
        "field case 76", "Closing ends a child process and its whole group, down to one that ignores SIGTERM."
    ),
    "mcp-client.opening": Requirement(
        "design 13", "A server that cannot be opened is an error that says why, with the last words of its process."
    ),
    "mcp-client.http": Requirement(
        "design 13",
        "One request that fails over HTTP fails alone; a session that the server forgot is opened anew, and what was "
        "not run says so.",
    ),
    "mcp-client.http.rest": Requirement(
        "design 13",
        "The rest of a stream that was cut off is asked for as long as its server says something, or holds it open; one that "
        "has nothing to say any more loses the call, its effect `unknown`.",
    ),
    "mcp-client.oauth": Requirement(
        "design 13 and surroundings 1.13 and surroundings 9",
        "A server that wants a person's consent gets it, once: authorization code with PKCE, tokens that are refreshed "
        "and kept in a file that only their owner can read.",
    ),
    "mcp-client.oauth.client": Requirement(
        "MCP conformance suite, auth/basic-cimd and auth/pre-registration",
        "A client is what it publishes of itself where that is taken, else what it registered; a secret goes into the header, "
        "or into the form, as the host says.",
    ),
    "mcp-client.oauth.scopes": Requirement(
        "MCP conformance suite, auth/scope-*",
        "What a server wants more is asked for beside what was agreed to, and one that is never content ends that.",
    ),
    "mcp-client.oauth.believed": Requirement(
        "MCP conformance suite, auth/resource-mismatch and auth/metadata-issuer-mismatch",
        "A server that names another resource, or an authorization server that names another issuer, gets nobody asked.",
    ),
    "mcp-client.oauth.unqueued": Requirement(
        "design 13", "Requests with a good token do not wait for each other, whichever provider of the SDK got it."
    ),
}
