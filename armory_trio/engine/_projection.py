"""What each audience may see of an execution. A field that stands in no table is seen by nobody."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal, cast

import msgspec

from ..definitions import RequestContext
from ..definitions._checks import a_kind
from ..definitions._values import Audience
from ._lifecycle import Abort, Progress, Snapshot

Visibility = Literal["public", "tenant", "operator", "never"]
"""The least audience that sees a field; ``never`` is nobody outside of the process."""

FIELDS: Final[Mapping[type[msgspec.Struct], Mapping[str, Visibility]]] = {
    Snapshot: {
        "execution_id": "public",
        "call_id": "public",
        "tool_name": "public",
        "tool_id": "tenant",
        "owner_id": "tenant",
        "parent_id": "tenant",
        "started_by": "tenant",
        "batch_id": "tenant",
        "batch_index": "tenant",
        "state": "public",
        "revision": "public",
        "waits_for": "public",
        "outcome": "public",
        "error_category": "public",
        "error_code": "tenant",
        "effect": "public",
        "queue_position": "public",
        "capacity": "public",
        "deadline": "public",
        "admitted_at": "public",
        "started_at": "public",
        "last_activity_at": "public",
        "ended_at": "public",
        "settled_at": "public",
        "progress": "public",
        "declared_wait": "tenant",
        "chunks": "public",
        "attempts": "public",
        "abort": "public",
        "cleanup": "public",
        "placement": "operator",
    },
    Progress: {"percent": "public", "message": "tenant"},
    Abort: {"source": "public", "reason": "never", "requested_at": "public", "honoured": "public"},
    RequestContext: {
        "principal": "operator",
        "tenant": "tenant",
        "owner": "tenant",
        "delegation": "operator",
        "capabilities": "operator",
        "authorization_revision": "operator",
        "audience": "operator",
        "agent": "tenant",
        "run": "tenant",
        "session": "never",
        "request": "tenant",
    },
}
"""Words that the library fixes are public; what a tool or a host words itself is its tenant's. A reason to abort may
repeat anything that somebody typed, and who knows a session may be taken for its user."""

_RANK: Final[Mapping[Visibility, int]] = {"public": 0, "tenant": 1, "operator": 2, "never": 3}


class Projection(msgspec.Struct, frozen=True, kw_only=True):
    """What one audience may see of one execution, as JSON.

    Args:
        audience: For whose eyes it is.
        data: The fields by name, the caller's own; what is unknown or hidden is left out.
        version: The version of this form.
    """

    audience: Audience
    data: dict[str, object]
    version: int = 1


def project_snapshot(
    snapshot: Snapshot,
    *,
    audience: Audience,
    tenant: str | None = None,
    request_context: RequestContext | None = None,
) -> Projection:
    """What may leave the process of *snapshot*. Arguments and results are not in it in the first place.

    Args:
        snapshot: An execution at one moment.
        audience: ``public`` sees where it stands, in fixed words; ``tenant`` also whose it is and what the tool says of
            itself; ``operator`` also the authority.
        tenant: The tenant that looks. The audience ``tenant`` has to name itself, and an operator who is bound to a
            tenant does; None is an operator of the whole host.
        request_context: On whose behalf the execution runs. A general snapshot doesn't say, so whoever wants to show
            something to a tenant has to, with at least the tenant in it.

    Raises:
        ValueError: The audience is unknown, a tenant is not named, or the execution is another tenant's. Its text says
            nothing of that other tenant.
        TypeError: *snapshot* or *request_context* is something else.
    """
    _check(snapshot, request_context)
    if audience not in ("public", "tenant", "operator"):
        raise ValueError(f"audience is {audience!r}; it is 'public', 'tenant' or 'operator'")
    if audience == "tenant" or (audience == "operator" and tenant is not None):
        _require_tenant(snapshot, tenant, request_context)
    rank = _RANK[audience]
    data = _seen(snapshot, rank)
    context = {} if request_context is None else _seen(request_context, rank)
    return Projection(audience=audience, data={**data, "request_context": context} if context else data)


def _check(snapshot: object, request_context: object) -> None:
    if not isinstance(snapshot, Snapshot):
        raise TypeError(f"project_snapshot takes a Snapshot, not {a_kind(snapshot)}")
    if not isinstance(request_context, RequestContext | None):
        raise TypeError(f"request_context is {a_kind(request_context)}; give a RequestContext or None")


def _require_tenant(snapshot: Snapshot, tenant: str | None, request_context: RequestContext | None) -> None:
    if tenant is None:
        raise ValueError("the audience 'tenant' must say which one looks: give tenant=")
    if request_context is None or request_context.tenant is None:
        raise ValueError(f"nothing says whose {snapshot.execution_id} is: give request_context= with its tenant")
    if tenant != request_context.tenant:
        raise ValueError(f"{snapshot.execution_id} is not of tenant {tenant!r}")


def _seen(value: msgspec.Struct, rank: int) -> dict[str, object]:
    visible = FIELDS.get(type(value), {})
    shown: dict[str, object] = {}
    for field in value.__struct_fields__:
        least = visible.get(field)
        if least is not None and _RANK[least] <= rank:
            plain = _plain(field, getattr(value, field), rank)
            if plain is not None:
                shown[field] = plain
    return shown


def _plain(field: str, value: object, rank: int) -> object:
    if isinstance(value, msgspec.Struct):
        return _seen(value, rank) or None
    if rank == 0 and field in _KINDS:
        return _KINDS[field](value)
    if isinstance(value, frozenset):
        return sorted(cast("frozenset[str]", value))
    return list(cast("tuple[object, ...]", value)) if isinstance(value, tuple) else value


def _kind(value: object) -> object:
    return value if value is None else str(value).partition(":")[0]


def _kinds(value: object) -> object:
    return list(dict.fromkeys(map(_kind, cast("tuple[str, ...]", value))))


_KINDS: Final[Mapping[str, Callable[[object], object]]] = {"waits_for": _kind, "capacity": _kinds}
"""Names of limits and resources hold owners and arguments, so the public sees only of which kind they are."""
