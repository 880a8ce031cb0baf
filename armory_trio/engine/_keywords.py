"""The keyword arguments of a call, of a supervisor and of a grant, for whoever declares or checks them.

Nothing that runs needs these types: they are read where a host builds its options as a dict.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Literal, TypedDict

from ..authority import Revisions
from ..authority.approvals import ApprovalStore
from ..authority.grants import GrantStore
from ..authority.signing import KeyResolver
from ..definitions import ApprovalRequest, ElicitAnswer, ElicitRequest, RequestContext
from ..ledger import LedgerStore, Receipt

ErrorDetail = Literal["message", "declared"]
"""What a model is shown of an exception that the tool did not declare: type and text, or a generic line."""

Elicitor = Callable[[ElicitRequest], Awaitable[ElicitAnswer]]
"""Asks a person; cancelled when the question is withdrawn."""

ApprovalHandler = Callable[[ApprovalRequest], object]
"""Asks a person about a call that waits; may be async. True lets it run, and only True does.

A mapping, or an `Edit`, are other arguments to run with, all of them. False refuses, and so does `Deny` with a reason.
"""


class CallOptions(TypedDict, total=False):
    """The options of one call, all of them optional.

    Args:
        owner_id: Who owns the call: for limits, events, snapshots and abort. By default the owner of the request
            context.
        timeout: Seconds of the tool's own work, from the start of its body.
        deadline: The point on trio's clock by which the outcome is decided, whatever it waits for.
        idle_timeout: Seconds without progress, log line or chunk after which the call is stopped.
        human_timeout: Seconds that a question to a person may stay open.
        request_context: On whose behalf the call is made.
        idempotency_key: What makes it the same call as another: with one key, for one tenant, a tool does its effect
            once. It takes the place of the tool's own.
        resolution_receipt: What was decided about an earlier attempt with this key: of which nobody knows how it ended, or
            which was recorded under another policy. A call is refused if that has no part in how things stand.
        elicit: Asks a person on behalf of the tool.
        metadata: Anything; handed to the tool by reference, never copied, logged, stored or shown.
        trace: What telemetry hangs the call below, as its room says; handed on by reference. Calls that the tool makes
            do not inherit it.
        error_detail: What this call's result shows of an exception that the tool did not declare, and those of the calls
            that it makes: ``message`` or ``declared``. By default as the supervisor was opened. It only makes stricter,
            and what the ledger tells of an earlier call is told as that was.
    """

    owner_id: str | None
    timeout: float | None
    deadline: float | None
    idle_timeout: float | None
    human_timeout: float | None
    request_context: RequestContext | None
    idempotency_key: str | None
    resolution_receipt: Receipt | None
    elicit: Elicitor | None
    metadata: object
    trace: object
    error_detail: ErrorDetail | None


class AuthorityOptions(TypedDict, total=False):
    """The options of a supervisor that say who may allow what, all of them optional.

    Args:
        keys: Where keys are found that sign approvals and grants, such as a `Keyring`. Without any a call that waits
            for a person can't be resumed.
        approvals: Where it is kept which approvals were used; by default in memory, as long as the supervisor is open.
        grants: Where grants are kept, likewise.
        ledger: Where it is kept what was done, so that nothing is done twice. By default in memory, for calls with a
            key, as long as the supervisor is open; with one, calls that change something are recorded without a key as
            well, to be found after a crash.
        ledger_lease: Seconds for which an attempt is held without a sign of life; 30 by default.
        ledger_cap: Seconds beyond which none is held, 86,400 by default: a day.
        approval_handler: Asks a person while a call waits; gets an `ApprovalRequest`. Only True lets the call run. A
            mapping, or an `Edit`, are other arguments to run with, all of them. Anything else refuses; a `Deny` says
            why. May be async.
        approval_lifetime: Seconds for which an approval counts, from the question on; 300 by default.
        security_domain: The domain of the keys in which is signed, ``default`` by default; or a function that answers
            that of a tenant.
        revisions: The host's names for the state of its catalogue and of its rules of redaction. The other revisions
            are those of the toolbox.
    """

    keys: KeyResolver | None
    approvals: ApprovalStore | None
    grants: GrantStore | None
    ledger: LedgerStore | None
    ledger_lease: float
    ledger_cap: float
    approval_handler: ApprovalHandler | None
    approval_lifetime: float
    security_domain: str | Callable[[str], str]
    revisions: Revisions


class GrantTerms(TypedDict, total=False):
    """What else has to be so for a grant to count, all of it optional.

    Args:
        owner: Whom the work belongs to.
        run: The run that it counts in.
        session: The session that it counts in.
        resource_pattern: What the argument ``resource`` must look like; ``*`` stands for anything.
        argument_constraints: Arguments that must be just so.
        delegation: ``inherits-to-children`` lets it count for nested calls and for delegates as well.
    """

    owner: str | None
    run: str | None
    session: str | None
    resource_pattern: str | None
    argument_constraints: Mapping[str, object] | None
    delegation: Literal["does-not-propagate", "inherits-to-children"]
