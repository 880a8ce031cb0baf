"""What a blocking host does with approvals and grants: what a supervisor does, for threads that wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Unpack

from .._on_demand import in_words
from ..definitions import PendingApproval, ToolResult
from ..engine import CallOptions, GrantTerms, Supervisor
from ._thread_side import ThreadSide

if TYPE_CHECKING:  # loaded by who approves something
    from ..authority.grants import Grant, GrantScope, GrantState
else:
    Grant, GrantScope, GrantState = in_words("armory_trio.authority.grants", "Grant", "GrantScope", "GrantState")


class BlockingApprovals:
    """The part of a blocking host that deals with approvals and grants."""

    def __init__(self, side: ThreadSide, supervisor: Supervisor) -> None:
        self._side = side
        self._granting = supervisor

    def resume_approval(
        self,
        pending: PendingApproval | Mapping[str, object],
        *,
        arguments: Mapping[str, object] | None = None,
        **options: Unpack[CallOptions],
    ) -> ToolResult[object]:
        """Go on with a call that waited for a person: whoever calls this says that the person agreed.

        As `Supervisor.resume_approval`.

        Args:
            pending: What the result carried, or its JSON form.
            arguments: Other arguments to run with, all of them; None for those that were shown.
            options: As for `execute`. ``request_context`` is on whose behalf, by default the supervisor's own.

        Interrupted: the execution is aborted, and waited for at most 0.05 s. If its body had not begun, the approval can be
        used again.

        Raises:
            ApprovalError: The approval does not count. Nothing was run.
            AdmissionClosed: The host takes no new work, or was closed before a store had answered.
            JsonError: *pending* is no descriptor.
            TypeError, ValueError: An option is wrong; see `CallOptions`.
        """
        return self._side.run(
            lambda: self._granting.resume_approval(pending, arguments=arguments, **options), waits=True
        )

    def restore_approval(self, pending: PendingApproval | Mapping[str, object]) -> None:
        """Record an issued approval again that its store has lost. As `Supervisor.restore_approval`.

        Interrupted: it may have been recorded.

        Raises:
            ApprovalError: It does not count.
            AdmissionClosed: The host is closed, or was closed before the store answered.
            JsonError: *pending* is no descriptor.
        """
        self._side.run(lambda: self._granting.restore_approval(pending), waits=True)

    def revoke_approval(self, pending: PendingApproval | Mapping[str, object]) -> None:
        """The person said no, or nobody wants it any more: it can't be used from here on.

        Interrupted: it may have been revoked.

        Raises:
            ApprovalError: It is forged, or was used already.
            AdmissionClosed: The host is closed, or was closed before the store answered.
            JsonError: *pending* is no descriptor.
        """
        self._side.run(lambda: self._granting.revoke_approval(pending), waits=True)

    def issue_grant(
        self,
        tool_name: str,
        *,
        principal: str,
        tenant: str,
        agent: str,
        lifetime: float,
        max_uses: int,
        scope: GrantScope,
        **terms: Unpack[GrantTerms],
    ) -> Grant:
        """Let calls that fit run without being asked about by the approval policy. As `Supervisor.issue_grant`.

        Args:
            tool_name: The tool, by its exact name.
            principal: Whose calls.
            tenant: In whose name.
            agent: The agent that asks; ``*`` for any.
            lifetime: Seconds for which it counts.
            max_uses: How often.
            scope: ``principal``, ``run`` (needs the term ``run``) or ``session`` (needs ``session``).
            terms: What else has to be so; see `GrantTerms`.

        Interrupted: nobody has the grant; it may stand in the store.

        Raises:
            GrantError: A value is not legal, or there is no such tool.
            AdmissionClosed: The host is closed, or was closed before the store answered.
        """
        return self._side.run(
            lambda: self._granting.issue_grant(
                tool_name,
                principal=principal,
                tenant=tenant,
                agent=agent,
                lifetime=lifetime,
                max_uses=max_uses,
                scope=scope,
                **terms,
            ),
            waits=True,
        )

    def list_grants(
        self,
        *,
        principal: str | None = None,
        tenant: str | None = None,
        agent: str | None = None,
        tool_name: str | None = None,
    ) -> Sequence[GrantState]:
        """The grants that are kept, with the uses that are left; only those that fit all that is given.

        Interrupted: nothing has changed.

        Raises:
            GrantError: The supervisor has no keys.
            AdmissionClosed: The host is closed, or was closed before the store answered.
        """
        return self._side.run(
            lambda: self._granting.list_grants(principal=principal, tenant=tenant, agent=agent, tool_name=tool_name),
            waits=True,
        )

    def revoke_grant(self, grant_id: str) -> None:
        """Let a grant count no more. One that is unknown, or was revoked before, is fine.

        Interrupted: it may have been revoked.

        Raises:
            GrantError: The supervisor has no keys.
            AdmissionClosed: The host is closed, or was closed before the store answered.
        """
        self._side.run(lambda: self._granting.revoke_grant(grant_id), waits=True)
