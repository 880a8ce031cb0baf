"""What a host does with what stores keep: resume, restore, revoke; issue, list, revoke; see what was left behind."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, Unpack

import trio

from .._on_demand import in_words
from ..definitions import ApprovalBinding, PendingApproval, RequestContext, Tool, ToolResult, near
from ..definitions._checks import shown
from ..errors import (
    AdmissionClosed,
    ApprovalError,
    AuthorityCode,
    DefinitionError,
    ExecutionOver,
    GrantError,
    JsonError,
)
from ._door import Door
from ._execution import Core, Record
from ._options import Options, freeze_options, under
from ._permits import RECORD_TIMEOUT

if TYPE_CHECKING:  # loaded by who approves something
    from ..authority.approvals import ApprovalStore
    from ..authority.grants import Grant, GrantScope, GrantState, GrantStore
    from ..authority.signing import KeyResolver
    from ..ledger import LeftBehind
    from ._journal import Resumption
    from ._keywords import CallOptions, GrantTerms
else:
    (ApprovalStore,) = in_words("armory_trio.authority.approvals", "ApprovalStore")
    Grant, GrantScope, GrantState, GrantStore = in_words(
        "armory_trio.authority.grants", "Grant", "GrantScope", "GrantState", "GrantStore"
    )
    (KeyResolver,) = in_words("armory_trio.authority.signing", "KeyResolver")
    (LeftBehind,) = in_words("armory_trio.ledger", "LeftBehind")
    (Resumption,) = in_words("armory_trio.engine._journal", "Resumption")
    CallOptions, GrantTerms = in_words("armory_trio.engine._keywords", "CallOptions", "GrantTerms")

_GRANT_BYTES: Final = 18
_REVISIONS: Final = ("catalog", "toolbox", "policy", "approval")


class Approvals:
    """The part of a supervisor that deals with what stores keep."""

    def __init__(self, core: Core, door: Door) -> None:
        self._core = core
        self._door = door

    def __repr__(self) -> str:
        closed = ", closed" if self._core.closed else ""
        return f"<{type(self).__name__}: {len(self._core.live)} active{closed}>"

    @property
    def recovered(self) -> LeftBehind | None:
        """What was left behind in the ledger by those who are gone, as it stood when this supervisor was opened.

        None if it was opened without a ledger, or if the ledger could not be read then, which is logged. Attempts whose
        lease is live are not listed: somebody may be at them.
        """
        return self._core.ledger.recovered

    async def recover(self, *, reconcile: bool = False, release: bool = False) -> LeftBehind:
        """See what is left behind in the ledger now, and settle what can be. No tool is run.

        Cancelled: what was settled stays so.

        Args:
            reconcile: Ask the ``reconcile`` of its tool about each attempt of which nobody knows how it ended, and do
                what it decides: after ``retry`` the next call with that key has another attempt.
            release: Forget the attempts that never started, and those that can be run again.

        Returns:
            What is left after that. Nothing, if the supervisor has no durable ledger.

        Raises:
            StoreUnavailable: The ledger did not do what it was asked to, or not in time. What else goes wrong with its
                store when it is read is raised as it comes.
            DefinitionError: One of the arguments is neither True nor False.
        """
        from .keeping._deciding import recover  # noqa: PLC0415  # only who keeps attempts pays for it

        return await recover(self._core, reconcile=reconcile, release=release)

    async def resume_approval(
        self,
        pending: PendingApproval | Mapping[str, object],
        *,
        arguments: Mapping[str, object] | None = None,
        **options: Unpack[CallOptions],
    ) -> ToolResult[object]:
        """Go on with a call that waited for a person: whoever calls this says that the person agreed.

        The descriptor alone gives no authority: the request context must be the one that the call was made with, and
        all rules are asked again. It is used up when the body begins, and not before: an approval of a call that is
        refused, or stopped while it waits, can be used again.

        Args:
            pending: What the result carried, or its JSON form.
            arguments: Other arguments to run with, all of them; None for those that were shown. They are validated and
                judged anew, and what was agreed does not count for them.
            options: As for `execute`. ``request_context`` is on whose behalf, by default the supervisor's own.

        Returns:
            The result of the call, or of the composed tool that waited for it, as `execute`. Another question is
            ``action_required`` again, with a descriptor of its own.

        Cancelled: the execution is aborted, and waited for at most 0.05 s.

        Raises:
            ApprovalError: The approval does not count (see its codes). The call was not made.
            AdmissionClosed: The supervisor takes no new work.
            ExecutionOver: It was called by a tool whose own outcome is decided.
            TypeError, ValueError: An option is wrong; see `CallOptions`. Or *arguments* are no mapping.
            trio.TooSlowError: Keys and store took longer than 5 s. What they raise passes through.
        """
        frozen = freeze_options(options)
        if not (arguments is None or isinstance(arguments, Mapping)):  # pyright: ignore[reportUnnecessaryIsInstance]  # a host need not be typed
            raise TypeError(f"arguments must be a mapping, not {shown(arguments)}")
        written = None if arguments is None else dict(arguments)
        try:
            caller = self._door.caller()
        except AdmissionClosed:
            await trio.lowlevel.checkpoint_if_cancelled()  # noqa: ASYNC120  # as for `Supervisor.execute`
            raise
        with trio.fail_after(RECORD_TIMEOUT):
            given, binding, store = await self._verified(pending)
            self._checked(given, binding, self._host(caller, frozen), store.now())
            await _require_issued(store, binding)
        await trio.lowlevel.checkpoint_if_cancelled()
        # The world went on meanwhile: what follows, up to the admission of the call, is one step.
        tool, narrow = self._checked(given, binding, self._host(caller, frozen), store.now())
        if self._door.caller() is not caller:
            raise ExecutionOver("the tool that resumed it is over; nothing new may start in it")
        from ._resumption import call_of, prepare  # noqa: PLC0415  # only who resumes pays for it

        resumption = _resumption_of(given, written)
        key = frozen.idempotency_key or resumption.idempotency_key
        record = self._door.make(call_of(resumption), under(frozen, narrow, key), caller)
        prepare(record, resumption, tool)
        record.plan = self._door.plans.of(tool)
        self._door.begin(record)
        await self._door.released(record)
        result = record.take()
        failure = resumption.failure
        if failure is not None and result.outcome == "error":
            raise failure
        return result

    def _host(self, caller: Record | None, options: Options) -> RequestContext | None:
        """On whose behalf it would be resumed, if no approval narrowed that.

        Raises:
            DefinitionError: A running tool names somebody else than it acts for, or more authority.
        """
        above = None if caller is None else caller.request_context
        if above is not None:
            return above if options.request_context is None else above.narrow_to(options.request_context)
        return options.request_context or self._core.settings.default_request_context

    def _checked(
        self, pending: PendingApproval, binding: ApprovalBinding, host: RequestContext | None, now: float
    ) -> tuple[Tool[..., object], RequestContext]:
        """The tool to run, and of *host* no more than the approval was given for.

        Raises:
            ApprovalError: It is somebody else's, has expired, or the rules or the tool are others now.
        """
        from ..authority.approvals import check_binding, scope_of  # noqa: PLC0415  # only who resumes pays for it
        from ._bound import require_same  # noqa: PLC0415  # as above
        from ._resumption import bound_to  # noqa: PLC0415  # as above

        if host is None:
            raise ApprovalError("invalid-binding", "say on whose behalf: give request_context=")
        check_binding(binding, None, now)
        bound = bound_to(pending, binding)
        try:
            narrow = host.narrow_to(bound)
        except DefinitionError as exc:
            raise ApprovalError("mismatch", f"{exc.field} is not what it was when the question was put") from None
        if host.delegation != bound.delegation:  # a longer chain is narrower, but it is another one
            raise ApprovalError("mismatch", "delegation is not what it was when the question was put")
        require_same(narrow, bound)
        tool = self._require_current(pending, binding, "mismatch")
        if not pending.within:  # else the scope is that of the step, which is compared when it is reached
            scope = scope_of(tool.definition, pending.arguments, narrow, self._core.revisions(tool.definition))
            check_binding(binding, scope, now)
        return tool, narrow

    def _tool(self, tool_id: str) -> Tool[..., object]:
        found = self._core.toolbox.get(tool_id)
        if found is None or found.id.text != tool_id:
            raise ApprovalError("not-found", f"there is no tool {tool_id!r} here")
        return found

    async def restore_approval(self, pending: PendingApproval | Mapping[str, object]) -> None:
        """Record an issued approval again that its store has lost, such as after a restart with an empty one.

        One that was used or revoked stays so. Cancelled: it may have been recorded.

        Raises:
            ApprovalError: It does not count: forged, expired, used, revoked, or the rules or the tool have changed.
            trio.TooSlowError: Keys and store took longer than 5 s. What they raise passes through.
        """
        from ..authority.approvals import check_binding  # noqa: PLC0415  # only who restores pays for it

        with trio.fail_after(RECORD_TIMEOUT):
            given, binding, store = await self._verified(pending)
            check_binding(binding, None, store.now())
            self._require_current(given, binding, "invalid-binding")
            state = await store.state(binding)
            if state is None:
                await store.issue(binding)
            elif state != "issued":
                await _require_issued(store, binding)

    def _require_current(
        self, pending: PendingApproval, binding: ApprovalBinding, code: AuthorityCode
    ) -> Tool[..., object]:
        """The tool that would be run, if it and the rules are what they were when the question was put.

        A step of a composed tool need not be in the toolbox: of that the outermost tool tells.

        Raises:
            ApprovalError: Something has changed (*code*), or the tool is not there (``not-found``).
        """
        outermost, scope = (pending.within[0] if pending.within else None), binding.scope
        tool = self._tool(pending.tool_id if outermost is None else outermost.tool_id)
        now = self._core.revisions(tool.definition)
        before = scope.tool_definition_revision if outermost is None else outermost.tool_definition_revision
        stale = [name for name in _REVISIONS if getattr(scope, f"{name}_revision") != getattr(now, name)]
        if before != now.tool_definition:
            stale.append("tool_definition")
        if stale:
            words = " and ".join(stale).replace("_", " ")
            raise ApprovalError(code, f"the {words} of {tool.name!r} changed since the question was put")
        return tool

    async def revoke_approval(self, pending: PendingApproval | Mapping[str, object]) -> None:
        """The person said no, or nobody wants it any more: it can't be used from here on.

        Cancelled: it may have been revoked.

        Raises:
            ApprovalError: It is forged, or was used already.
            trio.TooSlowError: Keys and store took longer than 5 s. What they raise passes through.
        """
        with trio.fail_after(RECORD_TIMEOUT):
            _, binding, store = await self._verified(pending)
            await store.revoke(binding)

    async def _verified(
        self, pending: PendingApproval | Mapping[str, object]
    ) -> tuple[PendingApproval, ApprovalBinding, ApprovalStore]:
        """A copy of *pending* that nobody else can change, and what it is bound by, if its signature is ours."""
        from ..authority.approvals import verify_pending  # noqa: PLC0415  # only who approves something pays for it

        document = pending.to_json() if isinstance(pending, PendingApproval) else pending
        try:
            given = PendingApproval.from_json(document)
        except JsonError as exc:
            raise ApprovalError("invalid-binding", f"it is no descriptor of a call that waits: {exc}") from exc
        authority = self._core.settings.authority
        if authority.keys is None or authority.approvals is None:
            raise ApprovalError("invalid-signature", "this supervisor has no keys: open it with keys=")
        if given.binding is None:
            raise ApprovalError("invalid-binding", "it is bound to nothing: it was made where nothing could be signed")
        domain = authority.domain_of(given.binding.scope.tenant)
        await verify_pending(authority.keys, given, domain=domain)
        return given, given.binding, authority.approvals

    async def issue_grant(
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
        """Let calls that fit run without being asked about by the approval policy.

        It answers no question of a hook's, and overrides no denial. It is void as soon as the tool's definition or the
        policy's revision is another one.

        Args:
            tool_name: The tool, by its exact name.
            principal: Whose calls.
            tenant: In whose name.
            agent: The agent that asks; ``*`` for any.
            lifetime: Seconds for which it counts.
            max_uses: How often.
            scope: ``principal``, ``run`` (needs the term ``run``) or ``session`` (needs ``session``).
            terms: What else has to be so; see `GrantTerms`.

        Cancelled: nobody has the grant; it may stand in the store.

        Raises:
            GrantError: A value is not legal, or there is no such tool.
            trio.TooSlowError: Keys and store took longer than 5 s. What they raise passes through.
        """
        from ..authority.grants import Grant, sign_grant  # noqa: PLC0415  # only who grants something pays for it

        keys, store = self._granting()
        tool = self._core.toolbox.get(tool_name)
        if tool is None or tool.name != tool_name:
            hint = near(tool_name, self._core.toolbox.names, 1)
            meant = f"; did you mean {hint[0]!r}?" if hint else ""
            raise GrantError("not-found", f"there is no tool {tool_name!r}{meant}")
        revisions, now = self._core.revisions(tool.definition), store.now()
        grant = Grant(
            id=f"grant:{secrets.token_urlsafe(_GRANT_BYTES)}",
            principal=principal,
            tenant=tenant,
            agent=agent,
            tool_name=tool_name,
            tool_definition_revision=revisions.tool_definition,
            scope=scope,
            issued_at=now,
            expires_at=now + lifetime,
            max_uses=max_uses,
            policy_revision=revisions.policy,
            **terms,
        )
        with trio.fail_after(RECORD_TIMEOUT):
            signed = await sign_grant(keys, grant, domain=self._core.settings.authority.domain_of(tenant))
            await store.issue(signed)
        return signed

    async def list_grants(
        self,
        *,
        principal: str | None = None,
        tenant: str | None = None,
        agent: str | None = None,
        tool_name: str | None = None,
    ) -> Sequence[GrantState]:
        """The grants that are kept, with the uses that are left; only those that fit all that is given.

        Raises:
            GrantError: This supervisor has no keys.
            trio.TooSlowError: The store took longer than 5 s. What it raises passes through.
        """
        _, store = self._granting()
        with trio.fail_after(RECORD_TIMEOUT):
            return await store.list(principal=principal, tenant=tenant, agent=agent, tool_name=tool_name)

    async def revoke_grant(self, grant_id: str) -> None:
        """Let a grant count no more. One that is unknown, or was revoked before, is fine.

        Raises:
            GrantError: This supervisor has no keys.
            trio.TooSlowError: The store took longer than 5 s. What it raises passes through.
        """
        _, store = self._granting()
        with trio.fail_after(RECORD_TIMEOUT):
            await store.revoke(grant_id)

    def _granting(self) -> tuple[KeyResolver, GrantStore]:
        authority = self._core.settings.authority
        if authority.keys is None or authority.grants is None:
            raise GrantError("invalid-signature", "this supervisor has no keys: open it with keys=")
        return authority.keys, authority.grants


async def _require_issued(store: ApprovalStore, binding: ApprovalBinding) -> None:
    """Refuse an approval that can't be used.

    Raises:
        ApprovalError: It can't.
    """
    match await store.state(binding):
        case None:
            raise ApprovalError("not-found", "the store does not know it; an approval that it has lost can be restored")
        case "reserved":
            raise ApprovalError("in-flight", "a call that was resumed with it waits to begin")
        case "consumed":
            raise ApprovalError("already-consumed", "it was used already")
        case "revoked":
            raise ApprovalError("revoked", "it was revoked")
        case "issued":
            return


def _resumption_of(pending: PendingApproval, arguments: dict[str, object] | None) -> Resumption:
    from ._journal import Resumption  # noqa: PLC0415  # only who resumes pays for it

    return Resumption(pending, pending.within, arguments)
