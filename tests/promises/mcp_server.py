"""Toolboxes as MCP servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    # -- listing
    "mcp-server.list": Requirement(
        "design 13, surroundings 1.9 and surroundings 9",
        "A tool is listed with its contract, title, description, id and digest; its other metadata stays private.",
        divergence="Elsewhere all metadata of a tool is published unless it says what is to be.",
    ),
    "mcp-server.hints": Requirement(
        "design 5, surroundings 1.9",
        "Hints follow from how a tool counts; what a tool says for itself never makes it look more harmless.",
        divergence="Elsewhere hints come from one flag, and what a tool says for itself stands.",
    ),
    "mcp-server.names": Requirement(
        "design 13, surroundings 1.9",
        "Names are legal and one to one, and the one that a name means is the one that is listed.",
    ),
    "mcp-server.pages": Requirement(
        "field case 78",
        "Ten thousand tools are listed page by page; a page goes on behind the tool that was last, also when the "
        "toolbox changed, and a cursor that nobody gave out is refused.",
    ),
    "mcp-server.visible": Requirement(
        "design 13, surroundings 1.9",
        "A client sees and calls only what it may know of; what cannot be used now is not listed, and says so when it "
        "is called.",
    ),
    "mcp-server.unknown": Requirement(
        "design 16 no. 13", "An unknown tool is an error of the protocol that names a near one."
    ),
    "mcp-server.changes": Requirement(
        "field case 83, surroundings 1.9 and surroundings 9",
        "When the toolbox is exchanged every open session is told, and what is called from then on is the new one.",
        divergence="Elsewhere a server shows the toolbox that it was made of for ever.",
    ),
    "mcp-server.arguments": Requirement("design 13", "A wrong argument of a server is refused with its name."),
    # -- calling
    "mcp-server.values": Requirement(
        "design 13, surroundings 1.9",
        "A value comes as words, and as structured content where it is an object or was promised; pictures, sounds, "
        "links and resources come as what they are, or described to clients that cannot show them.",
    ),
    "mcp-server.promised": Requirement(
        "design 13", "An output schema is listed only where what comes out is sure to fit it."
    ),
    "mcp-server.errors": Requirement(
        "design 7, surroundings 1.9",
        "An error says in words whether the call ran, what the world may have seen, and what to do.",
    ),
    "mcp-server.leaks": Requirement(
        "field case 79",
        "The text of an undeclared exception, of a tool or of the host's, does not leave the house; the execution id "
        "stands in its place.",
    ),
    "mcp-server.pauses": Requirement(
        "design 12, surroundings 1.9 and surroundings 9",
        "A call that waits for an approval is an error that says so.",
        divergence="Elsewhere it is an empty success.",
    ),
    "mcp-server.authority": Requirement(
        "design 12, surroundings 1.9",
        "A call is made on behalf of whom the host says, never with more than its own context gives.",
    ),
    "mcp-server.keys": Requirement(
        "design 12, surroundings 1.9", "An idempotency key in the `_meta` of requests makes two calls one."
    ),
    "mcp-server.trace": Requirement(
        "field case 96, surroundings 1.9",
        "A trace context in the `_meta` of a request reaches the call's metadata; malformed ones are passed over, and "
        "neither is an argument.",
    ),
    "mcp-server.progress": Requirement(
        "design 13", "What a tool reports reaches a client that asked for it, always growing, before the answer."
    ),
    "mcp-server.logs": Requirement(
        "design 13", "What a tool logs reaches its client from the level on that the client chose."
    ),
    # -- asking
    "mcp-server.elicit": Requirement(
        "design 8 and 13, surroundings 1.9 and surroundings 1.10",
        "A tool's question reaches the person behind the client, in every protocol version, also several at once, and "
        "goes on with the answer.",
    ),
    "mcp-server.elicit.unavailable": Requirement(
        "design 8, surroundings 1.10", "Where the client can put no question of a kind, a tool that asks is told so."
    ),
    "mcp-server.elicit.bound": Requirement(
        "design 12",
        "An answer counts once, for the tool and on behalf of whom it was asked; a question that nobody answers is "
        "cancelled in the end.",
    ),
    "mcp-server.approve": Requirement(
        "design 12, surroundings 1.9",
        "The person behind a client is asked whether a call may run while it waits; where nobody can be asked it is "
        "refused.",
    ),
    # -- ending
    "mcp-server.cancel": Requirement(
        "design 16 no. 7, field case 69, surroundings 1.9",
        "A call whose client cancels it is aborted, source `caller`, and never answered; cancelling what is not there "
        "changes nothing.",
    ),
    "mcp-server.cancel.race": Requirement(
        "design 16 no. 7",
        "At whatever moment a call is cancelled, there is one answer or none, and the session lives.",
    ),
    "mcp-server.gone": Requirement(
        "design 13, field case 76", "A client that hangs up, or a host that stops serving, aborts the client's calls."
    ),
    "mcp-server.drain": Requirement(
        "design 8",
        "While the supervisor drains, what runs is answered and what comes is refused in words; then the serving ends.",
    ),
    "mcp-server.ping": Requirement("field case 75", "A ping is answered while calls run."),
    # -- the ways in
    "mcp-server.ids": Requirement(
        "field case 77",
        'Ids are answered as they came, `1` and `"1"` apart and large ones exact; null is refused, and so is one that '
        "is under way.",
    ),
    "mcp-server.lines": Requirement(
        "field case 80",
        "Whatever comes on standard input, the session goes on: what is no message is answered with an error.",
    ),
    "mcp-server.stdout": Requirement(
        "field case 80", "What tools and their programs print does not reach the client, and they find an empty input."
    ),
    "mcp-server.stdio": Requirement(
        "design 13, field case 76, surroundings 1.9",
        "A client that starts `armory-trio mcp` lists and calls; at the end of its input the server is gone, a signal "
        "drains it.",
    ),
    "mcp-server.unread": Requirement(
        "design 9 and 13",
        "A client on standard input that reads no answers is not read from either, so that what it is owed stays bounded; "
        "when it leaves the server ends, and when it reads everything is answered.",
    ),
    "mcp-server.http": Requirement(
        "design 13, surroundings 1.9",
        "Clients of both kinds of protocol are served over streamable HTTP on Hypercorn's trio worker.",
    ),
    "mcp-server.http.names": Requirement(
        "design 13", "On a loopback address only requests that name it are answered, so that web pages are kept out."
    ),
    "mcp-server.http.tokens": Requirement(
        "design 12",
        "Where there is a token verifier, nobody gets in without a token, and the host is told whose it is.",
    ),
    "mcp-server.http.resume": Requirement(
        "design 13",
        "A client that was cut off gets what it missed, of its own session and of no other.",
    ),
    "mcp-server.http.leaving": Requirement(
        "design 8",
        "Clients that leave when the server has drained see no failure: it goes on answering until they have left, for a "
        "bounded time.",
    ),
    "mcp-server.http.gone": Requirement(
        "design 13",
        "A client of the later protocol that drops its request aborts the call; a session that is deleted aborts its "
        "calls, and a dropped request of a session does not.",
    ),
    "mcp-server.trio": Requirement("field case 84", "Nothing of it needs asyncio."),
    "mcp-server.handlers": Requirement(
        "design 13", "Resources and prompts are served by functions of the host, and clients hear of their changes."
    ),
    "mcp-server.command": Requirement(
        "design 13", "`armory-trio mcp` refuses what cannot be served with one line that says what would be right."
    ),
}
