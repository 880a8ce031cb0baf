"""Looking for a grant that answers the question of the approval policy, and setting a use of it aside."""

from __future__ import annotations

import logging
from typing import Final

import trio

from ..authority.grants import GrantRequest, GrantState, GrantStore, verify_grant, why_not
from ..definitions._exceptions import Withheld
from ..errors import GrantError
from ._execution import Record
from ._permits import RECORD_TIMEOUT
from ._plan import Plan

_log: Final = logging.getLogger("armory_trio.engine")


async def set_aside(record: Record, plan: Plan) -> None:
    """Set aside a use of the first grant that fits the call, in the order of the store. There need not be one.

    A store that fails or takes longer than `RECORD_TIMEOUT`, and a grant that does not count, are as if there were none.

    Cancelled: a use that was set aside is given back when the call has ended.
    """
    authority, permit = record.core.settings.authority, record.permit
    assert permit is not None
    store, keys, context = authority.grants, authority.keys, permit.context
    if store is None or keys is None or context is None or permit.request is None:
        return
    revisions = record.core.revisions(plan.tool.definition)
    request = GrantRequest(
        context=context,
        tool_name=record.name,
        tool_definition_revision=revisions.tool_definition,
        policy_revision=revisions.policy,
        arguments=permit.request.arguments,
        nested=record.parent is not None,
    )
    until = trio.current_time() + RECORD_TIMEOUT
    try:
        with trio.fail_at(until):
            found = await store.list(principal=context.principal, tenant=context.tenant, tool_name=record.name)
            for state in found:
                if not _fits(state, request, store):
                    continue
                try:
                    await verify_grant(keys, state.grant, domain=authority.domain_of(state.grant.tenant))
                    with trio.fail_at(until, shield=True):
                        permit.reservation = await store.reserve(state.grant.id)
                except GrantError:
                    continue
                return
    except Exception as exc:  # a store of the host's; without an answer from it a person is asked
        _log.warning("the grants could not be looked through for %s: %s", record.name, Withheld(exc))


def _fits(state: GrantState, request: GrantRequest, store: GrantStore) -> bool:
    return not state.revoked and state.uses_remaining > 0 and why_not(state.grant, request, store.now()) is None
