from __future__ import annotations

import json
from typing import Final, cast, get_args

import msgspec
import pytest

from armory_trio import (
    Abort,
    Progress,
    RequestContext,
    Snapshot,
    Toolbox,
    ToolCall,
    ToolContext,
    open_supervisor,
    project_snapshot,
    tool,
)
from armory_trio.definitions._values import Audience
from armory_trio.engine._projection import FIELDS, Visibility
from tests.requirements import requirement

SHOT: Final = Snapshot(
    execution_id="x-1",
    call_id="call-1",
    tool_name="pay",
    tool_id="default:pay@1",
    owner_id="owner-secret",
    parent_id="parent-secret",
    started_by="starter-secret",
    batch_id="batch-secret",
    batch_index=3,
    state="queued",
    revision=4,
    waits_for="resource:account-secret",
    outcome="error",
    error_category="internal",
    error_code="CODE-SECRET",
    effect="unknown",
    queue_position=2,
    capacity=("supervisor", "owner:owner-secret", "group:db", "group:files"),
    deadline=9.0,
    admitted_at=1.0,
    started_at=2.0,
    last_activity_at=3.0,
    ended_at=4.0,
    settled_at=5.0,
    progress=Progress(50.0, "message-secret"),
    declared_wait="wait-secret",
    chunks=7,
    attempts=1,
    abort=Abort("caller", "reason-hidden", 3.5, honoured=True),
    cleanup="completed",
    placement="thread",
)
CONTEXT: Final = RequestContext(
    principal="principal-operator",
    tenant="acme-secret",
    owner="owner-secret",
    delegation=("chain-operator",),
    capabilities=frozenset({"b-operator", "a-operator"}),
    authorization_revision="revision-operator",
    audience="tenant",
    agent="agent-secret",
    run="run-secret",
    session="session-hidden",
    request="request-secret",
)

PUBLIC: Final[dict[str, object]] = {
    "execution_id": "x-1",
    "call_id": "call-1",
    "tool_name": "pay",
    "state": "queued",
    "revision": 4,
    "waits_for": "resource",
    "outcome": "error",
    "error_category": "internal",
    "effect": "unknown",
    "queue_position": 2,
    "capacity": ["supervisor", "owner", "group"],
    "deadline": 9.0,
    "admitted_at": 1.0,
    "started_at": 2.0,
    "last_activity_at": 3.0,
    "ended_at": 4.0,
    "settled_at": 5.0,
    "progress": {"percent": 50.0},
    "chunks": 7,
    "attempts": 1,
    "abort": {"source": "caller", "requested_at": 3.5, "honoured": True},
    "cleanup": "completed",
}
TENANT: Final[dict[str, object]] = {
    **PUBLIC,
    "tool_id": "default:pay@1",
    "owner_id": "owner-secret",
    "parent_id": "parent-secret",
    "started_by": "starter-secret",
    "batch_id": "batch-secret",
    "batch_index": 3,
    "waits_for": "resource:account-secret",
    "error_code": "CODE-SECRET",
    "capacity": ["supervisor", "owner:owner-secret", "group:db", "group:files"],
    "progress": {"percent": 50.0, "message": "message-secret"},
    "declared_wait": "wait-secret",
    "request_context": {
        "tenant": "acme-secret",
        "owner": "owner-secret",
        "agent": "agent-secret",
        "run": "run-secret",
        "request": "request-secret",
    },
}
OPERATOR: Final[dict[str, object]] = {
    **TENANT,
    "placement": "thread",
    "request_context": {
        **cast("dict[str, object]", TENANT["request_context"]),
        "principal": "principal-operator",
        "delegation": ["chain-operator"],
        "capabilities": ["a-operator", "b-operator"],
        "authorization_revision": "revision-operator",
        "audience": "tenant",
    },
}


# ── What each audience sees ──────────────────────────────────────────────────────────────────────────────────────────


@requirement("projection.audiences")
def test_the_public_sees_where_an_execution_stands_in_fixed_words() -> None:
    assert project_snapshot(SHOT, audience="public").data == PUBLIC
    assert project_snapshot(SHOT, audience="public", tenant="other", request_context=CONTEXT).data == PUBLIC


@requirement("projection.audiences")
def test_a_tenant_also_sees_whose_it_is_and_what_the_tool_says() -> None:
    shown = project_snapshot(SHOT, audience="tenant", tenant="acme-secret", request_context=CONTEXT)

    assert shown.data == TENANT


@requirement("projection.audiences")
def test_an_operator_also_sees_the_authority() -> None:
    shown = project_snapshot(SHOT, audience="operator", request_context=CONTEXT)

    assert shown.data == OPERATOR
    assert project_snapshot(SHOT, audience="operator").data == {
        key: value for key, value in OPERATOR.items() if key != "request_context"
    }


@requirement("projection.never", "projection.audiences")
@pytest.mark.parametrize("audience", get_args(Audience))
def test_what_is_not_for_an_audience_is_nowhere_in_it(audience: Audience) -> None:
    text = json.dumps(project_snapshot(SHOT, audience=audience, tenant="acme-secret", request_context=CONTEXT).data)

    assert "hidden" not in text
    assert ("secret" in text) == (audience != "public")
    assert ("operator" in text) == (audience == "operator")


@requirement("projection.never")
def test_somebody_has_decided_who_sees_each_field() -> None:
    for kind, visible in FIELDS.items():
        assert set(visible) == set(kind.__struct_fields__)
        assert set(visible.values()) <= set(get_args(Visibility))


class _Grown(Snapshot, frozen=True):
    arguments: str = "hidden"


@requirement("projection.never")
def test_a_field_of_which_nobody_has_decided_is_shown_to_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    undecided = {key: seen for key, seen in FIELDS[Snapshot].items() if key != "state"}
    monkeypatch.setitem(cast("dict[type, object]", FIELDS), Snapshot, undecided)
    grown = _Grown(**{field: getattr(SHOT, field) for field in SHOT.__struct_fields__})

    assert "state" not in project_snapshot(SHOT, audience="operator").data
    assert project_snapshot(grown, audience="operator").data == {}


@requirement("projection.json")
def test_what_is_not_known_is_left_out() -> None:
    bare = msgspec.structs.replace(
        SHOT, waits_for=None, outcome=None, progress=Progress(None, "message"), abort=None, started_at=None, capacity=()
    )
    shown = project_snapshot(bare, audience="public").data

    assert {key for key in PUBLIC if key not in shown} == {"waits_for", "outcome", "progress", "abort", "started_at"}
    assert shown["capacity"] == []


@requirement("projection.json")
@pytest.mark.parametrize("audience", get_args(Audience))
def test_a_projection_is_json_and_says_for_whom_it_is(audience: Audience) -> None:
    shown = project_snapshot(SHOT, audience=audience, tenant="acme-secret", request_context=CONTEXT)

    assert json.loads(msgspec.json.encode(shown)) == {"audience": audience, "data": shown.data, "version": 1}


# ── Tenants ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("projection.tenant")
@pytest.mark.parametrize("audience", ["tenant", "operator"])
def test_another_tenant_is_refused_and_learns_nothing(audience: Audience) -> None:
    with pytest.raises(ValueError, match=r"^x-1 is not of tenant 'other'$"):
        project_snapshot(SHOT, audience=audience, tenant="other", request_context=CONTEXT)


@requirement("projection.tenant")
@pytest.mark.parametrize("audience", ["tenant", "operator"])
@pytest.mark.parametrize("context", [None, RequestContext(principal="ada")])
def test_where_nobody_says_whose_it_is_nothing_is_shown(audience: Audience, context: RequestContext | None) -> None:
    with pytest.raises(ValueError, match="nothing says whose x-1 is"):
        project_snapshot(SHOT, audience=audience, tenant="acme-secret", request_context=context)


@requirement("projection.tenant")
def test_a_tenant_that_does_not_say_which_sees_nothing() -> None:
    with pytest.raises(ValueError, match="must say which one looks"):
        project_snapshot(SHOT, audience="tenant", request_context=CONTEXT)
    with pytest.raises(ValueError, match="must say which one looks"):
        project_snapshot(SHOT, audience="tenant", request_context=RequestContext())


@requirement("projection.tenant")
@pytest.mark.parametrize("audience", ["", "admin", "PUBLIC", None])
def test_an_unknown_audience_sees_nothing(audience: Audience) -> None:
    with pytest.raises(ValueError, match="it is 'public', 'tenant' or 'operator'"):
        project_snapshot(SHOT, audience=audience)


@requirement("projection.tenant")
def test_something_else_than_a_snapshot_is_refused() -> None:
    with pytest.raises(TypeError, match="takes a Snapshot, not a dict"):
        project_snapshot(cast("Snapshot", {}), audience="public")
    with pytest.raises(TypeError, match="request_context is a str"):
        project_snapshot(SHOT, audience="public", request_context=cast("RequestContext", "acme"))


# ── A real one ───────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("projection.audiences", "projection.never")
async def test_a_running_execution_shows_the_public_neither_owner_nor_words() -> None:
    seen: list[str] = []

    @tool(effect="read-only", reads=["file-secret"])
    async def look(word: str, ctx: ToolContext) -> None:
        """Look."""
        ctx.progress(10, f"message-secret {word}")
        async with ctx.waiting("wait-secret"):
            [shot] = current.executions.inspect()
            seen.append(json.dumps(project_snapshot(shot, audience="public").data))

    async with open_supervisor(Toolbox([look])) as current:
        await current.execute(
            ToolCall("look", {"word": "word-secret"}), owner_id="owner-secret", request_context=CONTEXT
        )

    [text] = seen
    assert '"state": "waiting"' in text
    assert "secret" not in text
    assert "hidden" not in text
