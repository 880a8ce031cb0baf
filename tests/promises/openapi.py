"""Tools that are operations of an OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "openapi.styles": Requirement(
        "13; surroundings 1.15",
        "Parameters are written in every style of the specification, in the path, the query, headers and cookies, "
        "exploded or not, and as JSON where the document says so.",
    ),
    "openapi.reserved": Requirement(
        "field case 88",
        "Reserved characters stay as they are where the document allows it and no other parameter can come of them.",
    ),
    "openapi.path-stays": Requirement(
        "field case 88; surroundings 1.15, surroundings 9",
        "No argument changes the path of a request beyond its own step, adds a query to it or a parameter to its query: "
        "what it holds is encoded, and what could still lead elsewhere is refused before anything is sent.",
    ),
    "openapi.fixed-query": Requirement(
        "13",
        "A query that stands in a path of the document is sent with every request, and no argument takes its names; what "
        "stands behind # is never sent. Both are told.",
    ),
    "openapi.headers-stay": Requirement(
        "field case 88",
        "No argument ends a header, and none is one that frames the request, says whose it is or makes another one of it.",
    ),
    "openapi.one-server": Requirement(
        "13; surroundings 1.15, surroundings 9",
        "All requests go to the server that was fixed at the import; redirects are followed only there, and only where "
        "that changes nothing.",
    ),
    "openapi.bodies": Requirement(
        "13; surroundings 1.15",
        "Bodies are sent as JSON, forms, text or bytes, with the media type of the document; of several that are offered "
        "one is chosen by a rule; a body that may be left out is, and none of its parts is asked for.",
    ),
    "openapi.multipart": Requirement(
        "13",
        "Parts carry text, JSON and files, given in base64 with a name and a media type; nothing in them can end a part or "
        "a header of one.",
    ),
    "openapi.schemas-3-0": Requirement(
        "13",
        "What OpenAPI 3.0 says otherwise than JSON Schema is translated: nullable, exclusive bounds, examples, files, and "
        "what stands beside a reference. Such words that are left over in a document of 3.1 mean the same.",
    ),
    "openapi.schemas": Requirement(
        "13; surroundings 1.15, surroundings 1.16",
        "Every contract is a legal schema of 2020-12; a keyword whose value makes no sense is left out and told.",
    ),
    "openapi.recursion": Requirement(
        "field case 51; surroundings 1.15",
        "What refers to itself stays recursive where that makes sense, is no tool where it does not, and never ends the "
        "import; schemas past a bound take any value, which is told.",
    ),
    "openapi.directions": Requirement(
        "13",
        "Properties that only the server writes are no arguments, those that only the client writes no part of a result; "
        "formats and the one of `oneOf` bind what is sent and not what comes back.",
    ),
    "openapi.discriminators": Requirement(
        "13", "A discriminator binds each alternative of a union to the values that stand for it."
    ),
    "openapi.responses-typed": Requirement(
        "field case 53", "The result of a tool is typed by the responses of 200 to 299, where all of them are JSON."
    ),
    "openapi.clashes": Requirement(
        "field case 52; surroundings 1.15",
        "Every parameter and every member of the body has an argument of its own with a legal name, and is sent in its "
        "place under its own name, whatever others are called.",
    ),
    "openapi.names": Requirement(
        "surroundings 1.15",
        "A tool is called by its operationId, or by method and path, made legal and one to one.",
        "Names stay as the document has them as far as providers take them; armorer makes them kebab-case.",
    ),
    "openapi.found": Requirement(
        "13; surroundings 1.15, surroundings 9",
        "Tools carry the tags of the document, and its method, path and tags in their metadata.",
    ),
    "openapi.references": Requirement(
        "surroundings 1.15",
        "References are followed wherever they stand; an operation's parameters come over its path's.",
    ),
    "openapi.other-documents": Requirement(
        "13",
        "Other documents are read only where the host allows it: by name, by a function, or in one directory that nothing "
        "leads out of. Nothing is fetched.",
    ),
    "openapi.losses": Requirement(
        "field case 51; surroundings 1.15",
        "One bad operation never ends the import; it is told with its place and the reason, as is every part that was not "
        "taken over.",
    ),
    "openapi.credentials": Requirement(
        "13; surroundings 1.15",
        "The host answers for each requirement of a request the credential, and the first alternative that it can meet is "
        "sent, each credential in the place that the document names.",
    ),
    "openapi.no-credentials": Requirement(
        "13", "Without a credential that is needed nothing is sent: the call is refused and has changed nothing."
    ),
    "openapi.secrets": Requirement(
        "13",
        "Credentials stand in no argument, snapshot, log line, error text or result, also where the server sends them back.",
    ),
    "openapi.credentials-apart": Requirement("field case 88", "No argument is, or is sent as, a credential."),
    "openapi.clients": Requirement(
        "13; surroundings 1.15",
        "A host's own HTTP client can bring its credentials and headers; cookies pass from no call to another.",
    ),
    "openapi.effect-classes": Requirement(
        "surroundings 1.15, armorer-core 6B",
        "The method says whether a tool looks, changes or destroys; the host may know better.",
    ),
    "openapi.statuses": Requirement(
        "7; surroundings 1.15, surroundings 9",
        "A status that is no success becomes an error of the fitting kind, with the status, what the server said, cut, and "
        "how long it asks to wait.",
        "armorer tells only the status, and that nothing can be retried.",
    ),
    "openapi.effects": Requirement(
        "7",
        "What was not sent has changed nothing, what was refused neither; what was answered has happened, whatever the "
        "answer is worth; what got no answer is unknown.",
    ),
    "openapi.keys": Requirement(
        "12", "The idempotency key of a call is sent to a far side that is known to recognise it, and to no other."
    ),
    "openapi.values": Requirement(
        "13; surroundings 1.15",
        "JSON becomes a value, text text, pictures and sounds content, other bytes base64 with their media type, nothing "
        "None.",
        "armorer wraps each in a status and data.",
    ),
    "openapi.json": Requirement("field case 48", "A response that is no strict JSON is told as such."),
    "openapi.bounded": Requirement(
        "surroundings 1.15",
        "No more of a response is read than a bound, counted after it is decompressed; text is cut, what would be worth "
        "nothing in part is an error.",
    ),
    "openapi.cancellation": Requirement(
        "8; surroundings 1.15, surroundings 9",
        "A call that is stopped, or whose time is over, closes its connection at once, and says what the server may have "
        "seen.",
    ),
    "openapi.documents": Requirement(
        "13",
        "A document of 3.0 or 3.1 is taken decoded, as JSON or YAML, or from a file; one that makes no sense, or grows "
        "without end, is an error that says why.",
    ),
    "openapi.servers": Requirement(
        "field case 88; surroundings 1.15",
        "The server and its variables are chosen by the host when the document is imported, among what the document allows.",
    ),
    "openapi.selection": Requirement(
        "surroundings 1.15",
        "The host chooses operations by operationId, method and path, or a predicate, and says how each is run; what names "
        "no operation is an error with the near name.",
    ),
    "openapi.example": Requirement(
        "13", "The example imports a service that it starts, and does an effect once whose answer was lost."
    ),
}
