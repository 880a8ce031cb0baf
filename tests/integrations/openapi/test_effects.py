"""What the world may have seen of a call, and what its status means."""

from __future__ import annotations

import httpx2
import pytest
import trio

from armory_trio import (
    EffectDeclaration,
    EffectTarget,
    RequestContext,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolResult,
    open_supervisor,
)
from armory_trio.integrations.openapi import OperationOptions, SecurityRequirement, toolbox_from_openapi
from armory_trio.middleware import Retry, RetryPolicy
from tests.engine.ledger.stores import HER
from tests.requirements import requirement

from .documents import EMPTY, call, document, imported, of_path, parameter
from .server import Answer, json_answer, open_server

CHANGES = of_path("/it", "post")
LOOKS = of_path("/it")


@requirement("openapi.effect-classes")
@pytest.mark.parametrize(
    ("method", "effect", "tier"),
    [
        ("get", "read-only", "read-only"),
        ("head", "read-only", "read-only"),
        ("options", "read-only", "read-only"),
        ("trace", "read-only", "read-only"),
        ("post", "external-write", "mutating"),
        ("put", "external-write", "mutating"),
        ("patch", "external-write", "mutating"),
        ("delete", "destructive", "dangerous"),
    ],
)
def test_the_method_says_what_a_tool_does(method: str, effect: str, tier: str) -> None:
    [operation] = imported(of_path("/it", method)).operations
    definition = operation.tool.definition

    assert (definition.classification.effect_class, definition.classification.tier) == (effect, tier)
    assert definition.effect_windows is (effect != "read-only")
    if effect != "read-only":
        assert operation.effect.targets == (EffectTarget("service", "https://api.example.test"),)


@requirement("openapi.effect-classes")
async def test_the_host_knows_better() -> None:
    options = {"it": OperationOptions(effect="read-only", name="search", requires_approval=True)}
    async with open_server(Answer(500)) as server:
        found = toolbox_from_openapi(document(CHANGES, server=server.url), options=options)
        [operation] = found.operations
        result = await operation.tool.call()

    assert operation.effect == EffectDeclaration("read-only")
    assert (operation.tool.name, operation.tool.definition.requires_approval) == ("search", True)
    assert result.effect == "none"


STATUSES = [
    (300, "unavailable", "REDIRECTED", "unknown", False),
    (303, "unavailable", "REDIRECTED", "completed", False),
    (308, "unavailable", "REDIRECTED", "none", False),
    (400, "validation", "INVALID_ARGUMENTS", "none", False),
    (401, "permission", "CREDENTIALS_REFUSED", "none", False),
    (403, "permission", "ACCESS_DENIED", "none", False),
    (404, "not_found", "NOT_FOUND", "none", False),
    (408, "transient", "TRANSIENT_ERROR", "none", True),
    (409, "conflict", "CONFLICT", "none", False),
    (418, "validation", "INVALID_ARGUMENTS", "none", False),
    (422, "validation", "INVALID_ARGUMENTS", "none", False),
    (429, "transient", "RATE_LIMITED", "none", True),
    (500, "internal", "HTTP_ERROR", "unknown", False),
    (501, "unavailable", "TOOL_UNAVAILABLE", "none", False),
    (502, "transient", "TRANSIENT_ERROR", "unknown", False),
    (503, "transient", "TRANSIENT_ERROR", "unknown", False),
    (504, "transient", "TRANSIENT_ERROR", "unknown", False),
    (599, "internal", "HTTP_ERROR", "unknown", False),
]


def _told(result: ToolResult[object]) -> tuple[object, ...]:
    assert result.error is not None
    return result.error.category, result.error.code, result.effect, result.error.retryable


@requirement("openapi.statuses")
@pytest.mark.parametrize(("status", "category", "code", "effect", "retryable"), STATUSES)
async def test_what_a_status_means_for_a_change_and_for_a_look(
    status: int, category: str, code: str, effect: str, retryable: bool
) -> None:
    async with open_server(Answer(status, {"content-type": "text/plain"}, b"because")) as server:
        changed = await call(server, CHANGES, {})
        looked = await call(server, LOOKS, {})

    assert _told(changed) == (category, code, effect, retryable)
    assert _told(looked) == (category, code, "none", category == "transient")
    assert changed.error is not None
    assert changed.error.details is not None
    assert (changed.error.details["status"], changed.error.details["body"]) == (status, "because")
    assert f"{status}: because" in changed.error.message


@requirement("openapi.statuses")
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT", "date": "Wed, 21 Oct 2026 07:28:30 GMT"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "999999999"}, 86400.0),
        ({"retry-after": f"Wed, 21 Oct 2026 07:28:30 +{'9' * 30}", "date": "Wed, 21 Oct 2026 07:28:00 GMT"}, None),
        ({}, None),
    ],
)
async def test_how_long_the_server_asks_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    async with open_server(Answer(429, headers)) as server:
        result = await call(server, LOOKS, {})

    assert result.error is not None
    assert (result.error.details or {}).get("retry_after") == seconds


@requirement("openapi.statuses")
async def test_the_body_of_an_error_is_cut() -> None:
    async with open_server(Answer(500, {"content-type": "text/html"}, b"x\x1b" * 50_000)) as server:
        result = await call(server, LOOKS, {})

    assert result.error is not None
    body = str((result.error.details or {})["body"])
    assert (len(body), "\x1b" in body) == (2_003, False)


@requirement("openapi.effects")
@pytest.mark.parametrize("body", [b"1", b"{", b"[" * 300])
async def test_a_change_that_was_answered_has_happened_whatever_was_answered(body: bytes) -> None:
    async with open_server(Answer(200, {"content-type": "application/json"}, body)) as server:
        result = await call(server, CHANGES, {})

    assert result.effect == "completed"
    assert (result.error and result.error.code) == (None if body == b"1" else "OUTPUT_INVALID")


@requirement("openapi.effects")
async def test_a_result_that_was_not_promised_is_an_error_of_a_change_that_has_happened() -> None:
    responses = {"200": {"description": "", "content": {"application/json": {"schema": {"type": "integer"}}}}}
    async with open_server(json_answer("no number")) as server:
        result = await call(server, of_path("/it", "post", responses=responses), {})

    assert (result.error and result.error.code, result.effect) == ("OUTPUT_INVALID", "completed")


@requirement("openapi.effects")
@pytest.mark.parametrize(("how", "effect"), [("cut", "unknown"), ("cut-in-body", "completed")])
async def test_a_connection_that_is_lost_after_a_change_was_sent_says_what_is_known(how: str, effect: str) -> None:
    async with open_server(Answer(200, body=b"x", how=how)) as server:  # type: ignore[arg-type]
        changed = await call(server, CHANGES, {})
        looked = await call(server, LOOKS, {})

    assert _told(changed) == ("transient", "CONNECTION_LOST", effect, False)
    assert _told(looked) == ("transient", "CONNECTION_LOST", "none", True)


@requirement("openapi.statuses")
@pytest.mark.parametrize(
    ("headers", "how"),
    [({}, "cut-in-body"), ({"content-encoding": "br"}, "answer"), ({"content-encoding": "gzip"}, "answer")],
    ids=["cut", "not asked for", "no gzip"],
)
async def test_an_error_is_told_by_its_status_whatever_becomes_of_its_body(headers: dict[str, str], how: str) -> None:
    async with open_server(lambda _: Answer(statuses.pop(), headers, b"because", how=how)) as server:  # type: ignore[arg-type]
        statuses = [403, 500]
        failed = await call(server, CHANGES, {})
        refused = await call(server, CHANGES, {})

    assert _told(failed) == ("internal", "HTTP_ERROR", "unknown", False)
    assert _told(refused) == ("permission", "ACCESS_DENIED", "none", False)


@requirement("openapi.effects")
async def test_a_server_that_is_not_there_has_seen_nothing() -> None:
    async with open_server() as server:
        pass
    result = await call(server, CHANGES, {})

    assert _told(result) == ("transient", "CONNECTION_LOST", "none", True)


@requirement("openapi.effects")
async def test_a_request_that_is_too_long_was_not_sent() -> None:
    async with open_server() as server:
        result = await call(server, of_path("/it", "post", parameters=[parameter("q", "query")]), {"q": "x" * 70_000})

    assert server.received == []
    assert _told(result) == ("validation", "INVALID_ARGUMENTS", "none", False)


class _Broken(httpx2.AsyncBaseTransport):
    """A transport of a host's own, which tells nothing of how far it came."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        raise self.error


@requirement("openapi.effects")
@pytest.mark.parametrize(
    ("error", "effect"),
    [
        (httpx2.ConnectError("x"), "none"),
        (httpx2.PoolTimeout("x"), "none"),
        (httpx2.ReadError("x"), "unknown"),
        (httpx2.ReadTimeout("x"), "unknown"),
    ],
)
async def test_where_nobody_tells_how_far_it_came_the_error_decides(error: Exception, effect: str) -> None:
    async with httpx2.AsyncClient(transport=_Broken(error)) as client:
        found = toolbox_from_openapi(document(CHANGES), client=client)
        async with open_supervisor(found.toolbox) as supervisor:
            result = await supervisor.execute(ToolCall("it"))

    assert (result.error and result.error.code, result.effect) == ("CONNECTION_LOST", effect)


@requirement("openapi.effects")
async def test_a_change_that_is_stopped_while_its_credentials_are_asked_for_has_not_happened() -> None:
    asked = trio.Event()

    async def auth(requirement: SecurityRequirement, ctx: ToolContext) -> str:
        asked.set()
        await trio.sleep_forever()
        raise AssertionError

    schemes = {"bearer": {"type": "http", "scheme": "bearer"}}
    paths = of_path("/it", "post", security=[{"bearer": EMPTY}])
    async with open_server() as server:
        found = toolbox_from_openapi(
            document(paths, server=server.url, components={"securitySchemes": schemes}), auth=auth
        )
        async with open_supervisor(found.toolbox) as supervisor:
            execution = supervisor.start(ToolCall("it"))
            await asked.wait()
            execution.abort("enough")
            result = await execution.result()

    assert server.received == []
    assert (result.error and result.error.category, result.effect) == ("cancelled", "none")


# ── idempotency keys ─────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("openapi.keys")
@pytest.mark.parametrize(("declared", "options"), [(True, None), (False, OperationOptions(sends_key=True))])
async def test_the_key_of_a_call_is_sent_where_the_far_side_knows_it(
    declared: bool, options: OperationOptions | None
) -> None:
    parameters = [parameter("Idempotency-key", "header")] if declared else []
    paths = of_path("/it", "post", parameters=parameters)
    async with open_server() as server:
        found = toolbox_from_openapi(document(paths, server=server.url), options=lambda _: options)
        [operation] = found.operations
        async with open_supervisor(found.toolbox) as supervisor:
            await supervisor.execute(ToolCall("it"), idempotency_key="k-1", request_context=_context())
            await supervisor.execute(ToolCall("it"))

    assert operation.arguments == {}
    assert operation.tool.definition.semantics.idempotency == "provider-enforced"
    assert [received.header("idempotency-key") for received in server.received] == ["k-1", None]


@requirement("openapi.keys")
async def test_where_a_key_must_be_sent_the_execution_is_one() -> None:
    paths = of_path("/it", "post", parameters=[parameter("Idempotency-Key", "header", required=True)])
    async with open_server() as server:
        result = await call(server, paths, {})

    assert server.last.header("idempotency-key") == result.execution_id


@requirement("openapi.keys")
async def test_other_tools_send_no_key() -> None:
    async with open_server() as server:
        found = toolbox_from_openapi(document(CHANGES, server=server.url))
        async with open_supervisor(found.toolbox) as supervisor:
            await supervisor.execute(ToolCall("it"), idempotency_key="k-1", request_context=_context())

    assert server.last.header("idempotency-key") is None
    assert found.operations[0].tool.definition.semantics.idempotency == "not-supported"


@requirement("openapi.keys")
async def test_a_key_that_would_end_a_header_is_refused() -> None:
    async with open_server() as server:
        found = toolbox_from_openapi(
            document(CHANGES, server=server.url), options={"POST /it": OperationOptions(sends_key=True)}
        )
        async with open_supervisor(found.toolbox) as supervisor:
            result = await supervisor.execute(ToolCall("it"), idempotency_key="a\r\nb", request_context=_context())

    assert server.received == []
    assert (result.error and result.error.category, result.effect) == ("validation", "none")


def _context() -> RequestContext:
    return RequestContext(tenant="t")


@requirement("retry.by-key")
async def test_a_change_that_got_no_answer_is_sent_again_with_its_key_where_the_host_retries() -> None:
    answers = [Answer(how="cut"), Answer(503), Answer(201)]
    async with open_server(lambda _: answers.pop(0)) as server:
        told = OperationOptions(sends_key=True)
        found = toolbox_from_openapi(document(CHANGES, server=server.url), options={"it": told})
        toolbox = Toolbox(found.toolbox, middleware=[Retry(RetryPolicy(3))])
        async with open_supervisor(toolbox, default_request_context=HER) as supervisor:
            result = await supervisor.execute(ToolCall("it"), idempotency_key="k")

    assert (result.outcome, result.attempts, result.effect) == ("success", 3, "completed")
    assert [received.header("idempotency-key") for received in server.received] == ["k"] * 3
