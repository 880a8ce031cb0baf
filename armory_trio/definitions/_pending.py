"""A call that waits for a person: the descriptor that a host keeps, shows, and hands back once the person agreed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, cast

import msgspec

from ..errors import JsonError
from ._canonical import thaw_json
from ._values import RequestContext

PauseTier = Literal["capability", "declared", "toolbox", "tool"]
"""Who asks: the approval policy, the tool's ``requires_approval``, the toolbox's hook, the tool's own hook."""


class RequiredAction(msgspec.Struct, frozen=True):
    """What somebody has to do before the call can go on."""

    type: Literal["approval", "input", "resolution", "authorization"]
    message: str
    schema: Mapping[str, object] | None = None


class Question(msgspec.Struct, frozen=True):
    """One question to a person, and who asks it. Two are the same only if all of it is."""

    tier: PauseTier
    reason: str
    action: RequiredAction


class ApprovalRequest(msgspec.Struct, frozen=True):
    """A question about a call, for a person who is asked while the call waits.

    Args:
        execution_id: The execution that waits.
        call_id: The call that it answers.
        tool_name: Its tool.
        arguments: What would run: validated, edited by hooks, defaults filled in. They can't be changed.
        question: What is asked, by whom and why.
        effect: The class of the tool's effect, such as ``external-write``; None when nobody said.
        targets: What it would change, as ``kind:id``.
        owner_id: Whose call it is, or None.
        parent_id: The execution of the tool that made the call, or None.
        request_context: On whose behalf it is made, or None.
    """

    execution_id: str
    call_id: str
    tool_name: str
    arguments: Mapping[str, object]
    question: Question
    effect: str | None = None
    targets: tuple[str, ...] = ()
    owner_id: str | None = None
    parent_id: str | None = None
    request_context: RequestContext | None = None


class ApprovalScope(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an approval counts for: on whose behalf, under which rules, and exactly which action.

    An approval is good where everything here is the same as when the question was put.

    Args:
        principal: Who wants it.
        tenant: In whose name.
        audience: Who sees what comes of it.
        agent: The agent that asked.
        run: Its run.
        owner: Whom the work belongs to.
        session: The conversation.
        delegation: The chain of those to whom the principal handed it on.
        capabilities: What might be done, sorted.
        authorization_revision: The state of the host's permissions.
        catalog_revision: The host's name for the state of its catalogue.
        toolbox_revision: That of the toolbox.
        tool_definition_revision: The digest of the tool's definition.
        policy_revision: That of the policy.
        approval_revision: That of the rules about approvals.
        action_digest: SHA-256 of the action document: the tool, its effect and targets, the arguments, the authority.
    """

    principal: str
    tenant: str
    audience: str
    agent: str
    run: str
    toolbox_revision: str
    tool_definition_revision: str
    policy_revision: str
    approval_revision: str
    catalog_revision: str
    action_digest: str
    owner: str | None = None
    session: str | None = None
    delegation: tuple[str, ...] | None = None
    capabilities: tuple[str, ...] | None = None
    authorization_revision: str | None = None


class ApprovalBinding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What ties an approval to one action, once, for a while.

    Args:
        scope: What it counts for.
        issued_at: When the question was put, in seconds since 1970 on the store's clock.
        expires_at: From when on it counts no more, likewise.
        nonce: Tells it from every other one.
        version: The version of this form.
    """

    scope: ApprovalScope
    issued_at: float
    expires_at: float
    nonce: str
    version: int = 1

    @property
    def key(self) -> tuple[str, str, str]:
        """What stores know it by: tenant, run and nonce."""
        return self.scope.tenant, self.scope.run, self.nonce


class StepBinding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Under which rules a composed tool began that waits, and what its steps ran as. It goes on under no others.

    Args:
        toolbox_revision: That of the toolbox.
        policy_revision: That of the policy.
        approval_revision: That of the rules about approvals.
        catalog_revision: The host's name for the state of its catalogue.
        definitions: The digests of the definitions of the steps before, by their places; empty for what was no tool.
        request_context: On whose behalf its steps were called, as ``request_context`` of the composed tool is written: no
            more than a policy left of that.
    """

    toolbox_revision: str
    policy_revision: str
    approval_revision: str
    catalog_revision: str
    definitions: Mapping[str, str] = {}
    request_context: Mapping[str, object] = {}


class ComposedStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A composed tool that waits because one of its steps does, and what it has done so far.

    Args:
        call_id: The id of its call.
        tool_id: The composed tool.
        tool_definition_revision: The digest of its definition.
        arguments: Its own effective arguments.
        place: The step that waits.
        results: How the steps before ended, by their places, as `result_to_json` writes them.
        satisfied: Questions about the composed tool itself that were answered already.
        tools: Which tools those steps were, by their places.
        waiting: Composed steps that wait as well, with their places: each as ``within`` of a descriptor, outermost first.
        request_context: On whose behalf it is, as `RequestContext.to_json` writes it, but for the name of the request.
        binding: The rules under which it began. None in what an older version wrote: that can be read, and not go on.
        idempotency_key: The key that its caller gave it; None if none was given.
        attempt_id: What it is known by in the ledger; None if that knows nothing of it.
    """

    call_id: str
    tool_id: str
    tool_definition_revision: str
    arguments: Mapping[str, object]
    place: str
    results: Mapping[str, Mapping[str, object]]
    satisfied: tuple[Question, ...] = ()
    tools: Mapping[str, str] = {}
    waiting: tuple[tuple[str, tuple[ComposedStep, ...]], ...] = ()
    request_context: Mapping[str, object] = {}
    binding: StepBinding | None = None
    idempotency_key: str | None = None
    attempt_id: str | None = None


class PendingApproval(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call that waits for a person, as JSON can say it: to be kept, shown, and handed back to go on.

    A valid signature says that nothing in it was changed. It gives nobody any authority.

    Args:
        call_id: The id of the call.
        tool_name: Its tool.
        tool_id: The full id of that.
        arguments: What would run: validated, edited by hooks, defaults filled in.
        question: What the person is asked now.
        edited: Whether a hook or a person made the arguments what they are: others were sent.
        effect: The class of the tool's effect, such as ``external-write``; None when nobody said.
        targets: What it would change, as ``kind:id``.
        metadata: What the tool's definition says of itself.
        satisfied: Questions that were answered before.
        within: The composed tools that wait for this call, outermost first.
        binding: What it counts for; None when nothing could be signed, and so nothing can be resumed.
        signature: The signature of everything else, in its domain; None likewise.
        idempotency_key: The key that its caller gave the call; None if none was given. It goes on under it.
        version: The version of this form.
    """

    call_id: str
    tool_name: str
    tool_id: str
    arguments: Mapping[str, object]
    question: Question
    edited: bool = False
    effect: str | None = None
    targets: tuple[str, ...] = ()
    metadata: Mapping[str, object] = {}
    satisfied: tuple[Question, ...] = ()
    within: tuple[ComposedStep, ...] = ()
    binding: ApprovalBinding | None = None
    signature: str | None = None
    idempotency_key: str | None = None
    version: int = 1

    @property
    def id(self) -> str:
        """What it is called: the nonce of its binding, or the id of the call when it has none."""
        return self.call_id if self.binding is None else self.binding.nonce

    def to_json(self) -> dict[str, object]:
        """A JSON object, the caller's to change. `from_json` gives an equal one back.

        Raises:
            JsonError: A part has no JSON form.
        """
        return _plain(self)

    def document(self) -> dict[str, object]:
        """What is signed: everything but the signature."""
        return _plain(msgspec.structs.replace(self, signature=None))

    @classmethod
    def from_json(cls, document: object) -> PendingApproval:
        """Read what `to_json` wrote.

        Raises:
            JsonError: A member is missing, unknown or of another type; the error names it.
        """
        plain = thaw_json(document)
        try:
            return msgspec.convert(plain, cls)
        except msgspec.ValidationError as error:
            raise JsonError("unsupported-type", (), str(error), root="approval") from error


_LATER: Final[Mapping[type[msgspec.Struct], tuple[str, ...]]] = {
    ComposedStep: ("binding", "idempotency_key", "attempt_id"),
    PendingApproval: ("idempotency_key",),
}
"""Members that came later, and are left out where they say nothing."""


def _plain(value: msgspec.Struct) -> dict[str, object]:
    # What an older version has signed has no such member; it is signed as it is.
    later = _LATER.get(type(value), ())
    members = ((name, cast("object", getattr(value, name))) for name in value.__struct_fields__)
    return {name: _json(member) for name, member in members if member is not None or name not in later}


def _json(value: object) -> object:
    if isinstance(value, msgspec.Struct):
        return _plain(value)
    if isinstance(value, tuple):
        return [_json(member) for member in cast("tuple[object, ...]", value)]
    return thaw_json(value)
