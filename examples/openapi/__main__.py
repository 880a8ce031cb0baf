"""A host whose model borrows books from a service that it knows only by its OpenAPI document.

``python -m examples.openapi`` starts the service on loopback, imports its document, and makes the calls of a model that is
scripted. The service loses the answer to one loan; the same call is sent again with its key, and the book is lent once.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Final, cast

import httpx2
import msgspec
import trio

from armory_trio import RequestContext, Supervisor, ToolCall, ToolContext, open_supervisor
from armory_trio.integrations.openapi import (
    OpenApiImport,
    OperationOptions,
    SecurityRequirement,
    toolbox_from_openapi,
)
from armory_trio.ledger import Reconciled, UnknownAttempt

DOCUMENT: Final = """
openapi: 3.1.0
info: {title: The library, version: "1"}
security: [{card: []}]
paths:
  /books:
    get:
      operationId: findBooks
      summary: Books whose title holds a word.
      parameters: [{name: "filter[title]", in: query, schema: {type: string}}]
      responses: {"200": {description: found, content: {application/json: {schema: {$ref: "#/components/schemas/Books"}}}}}
  /books/{id}/loans:
    post:
      operationId: borrow
      summary: Borrow a book.
      parameters:
        - {name: id, in: path, required: true, schema: {type: string}}
        - {name: Idempotency-Key, in: header, schema: {type: string}}
      requestBody:
        required: true
        content:
          application/json:
            schema: {type: object, required: [weeks], properties: {weeks: {type: integer, minimum: 1, maximum: 4}}}
      responses: {"201": {description: lent, content: {application/json: {schema: {$ref: "#/components/schemas/Loan"}}}}}
    delete:
      operationId: giveBack
      parameters: [{$ref: "#/components/parameters/missing"}]
      responses: {"204": {description: back}}
components:
  securitySchemes: {card: {type: apiKey, in: header, name: X-Card}}
  schemas:
    Books: {type: array, items: {type: object, required: [id, title], properties: {id: {type: string}, title: {type: string}}}}
    Loan: {type: object, required: [book, weeks], properties: {book: {type: string}, weeks: {type: integer}}}
"""

BOOKS: Final = {"b1": "Trees of the north", "b2": "Bees", "b3": "Tall trees"}


class Library:
    """The service. It knows a request that it has seen before by its key, and loses the answer to the first loan."""

    def __init__(self) -> None:
        self.loans: dict[str, dict[str, object]] = {}
        self.lost_one = False

    async def serve(self, stream: trio.SocketStream) -> None:
        """Answer one request; one that is lost is done, and nobody is told."""
        async with stream:
            method, target, headers, body = await _read(stream)
            status, value = self._answer(method, target, headers, body)
            if method == "POST" and status == 201 and not self.lost_one:
                self.lost_one = True
                return
            written = msgspec.json.encode(value)
            head = f"HTTP/1.1 {status} it\r\ncontent-type: application/json\r\ncontent-length: {len(written)}\r\n"
            await stream.send_all(f"{head}connection: close\r\n\r\n".encode() + written)

    def _answer(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> tuple[int, object]:
        if headers.get("x-card") != "card-0042":
            return 401, {"error": "no card"}
        if method == "GET":
            word = target.partition("=")[2].lower()
            return 200, [{"id": key, "title": title} for key, title in BOOKS.items() if word in title.lower()]
        book = target.split("/")[2]
        if book not in BOOKS:
            return 404, {"error": f"there is no book {book}"}
        key = headers.get("idempotency-key", "")
        weeks = msgspec.json.decode(body, type=dict[str, int])["weeks"]
        return 201, self.loans.setdefault(key, {"book": book, "weeks": weeks})


async def _read(stream: trio.SocketStream) -> tuple[str, str, dict[str, str], bytes]:
    data = b""
    while b"\r\n\r\n" not in data:
        data += await stream.receive_some()
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    while len(body) < int(headers.get("content-length", "0")):
        body += await stream.receive_some()
    return method, target, headers, body


@asynccontextmanager
async def open_library() -> AsyncGenerator[tuple[Library, str]]:
    """The service on a free port of loopback, and its URL."""
    library = Library()
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    address = cast("tuple[str, int]", listeners[0].socket.getsockname())
    async with trio.open_nursery() as nursery:
        await nursery.start(trio.serve_listeners, library.serve, listeners)
        yield library, f"http://127.0.0.1:{address[1]}"
        nursery.cancel_scope.cancel()


async def card(requirement: SecurityRequirement, ctx: ToolContext) -> str | None:
    """The card of the reader on whose behalf a call is made."""
    await trio.lowlevel.checkpoint()  # a host would look it up
    known = {("card", "reader-1"): "card-0042"}
    reader = ctx.request_context.principal if ctx.request_context else None
    return known.get((requirement.scheme, reader or ""))


def again(attempt: UnknownAttempt) -> Reconciled | None:
    """What to do about a loan of which nobody knows: this library keeps keys for ever, so it may be asked for again."""
    return Reconciled("retry", "the library recognises the key") if attempt.key else None


async def talk(supervisor: Supervisor) -> None:
    """The calls of a model, on behalf of a reader, and what it reads of each."""
    reader = RequestContext(principal="reader-1", tenant="town")
    for name, arguments in (
        ("findBooks", {"filter_title": "trees"}),
        ("borrow", {"id": "../admin", "weeks": 1}),
        ("borrow", {"id": "b9", "weeks": 1}),
        ("borrow", {"id": "b1", "weeks": 9}),
    ):
        result = await supervisor.execute(ToolCall(name, arguments), request_context=reader)
        print(result.text, f"[effect: {result.effect}]", sep="\n")
    for _ in range(3):
        call = ToolCall("borrow", {"id": "b1", "weeks": 2})
        result = await supervisor.execute(call, request_context=reader, idempotency_key="loan-1")
        told = result.idempotency.outcome if result.idempotency else ""
        print(result.text, f"[effect: {result.effect}, {told}]", sep="\n")
    anybody = await supervisor.execute(ToolCall("findBooks"))
    print(anybody.text)


def show(imported: OpenApiImport) -> None:
    """What came of the document."""
    for operation in imported.operations:
        print(operation.tool.name, dict(operation.arguments), operation.effect.class_)
    for loss in imported.losses:
        print(loss)


async def run() -> Library:
    """Everything, and the service as it was left."""
    async with open_library() as (library, url), httpx2.AsyncClient() as client:
        options = {"borrow": OperationOptions(execution={"reconcile": again})}
        imported = toolbox_from_openapi(DOCUMENT, server=url, client=client, auth=card, options=options)
        show(imported)
        async with open_supervisor(imported.toolbox) as supervisor:
            await talk(supervisor)
    print("lent:", list(library.loans.values()))
    return library


if __name__ == "__main__":
    trio.run(run)
