"""What an approval counts for, for how long, and by whose signature. Pure: the time and the keys come from outside."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, TypeGuard, cast, get_args

from ..definitions import (
    ApprovalBinding,
    ApprovalScope,
    PendingApproval,
    Question,
    RequestContext,
    RequiredAction,
    ToolDefinition,
)
from ..errors import ApprovalError, DefinitionError, JsonError
from ._actions import bind_action
from ._judging import Pause
from ._keys import KeyResolver
from ._revisions import Revisions
from ._signing import SignatureError, sign, verify
from ._verdict import Ask, AskKind

DEFAULT_LIFETIME: Final = 300.0
"""Seconds that an approval counts unless the host says otherwise: long enough to read the question and think, short
enough that the person still knows what it was about when it is used."""

VERSION: Final = 1
"""The version of descriptors and bindings that is written and read."""

_SPOKEN_FOR: Final = ("principal", "tenant", "audience", "agent", "run")
"""What a request must say of itself before anybody can agree to it."""

_OPTIONAL: Final = ("owner", "session", "authorization_revision")
_LISTS: Final = ("delegation", "capabilities")


def scope_of(
    definition: ToolDefinition,
    arguments: Mapping[str, object],
    context: RequestContext | None,
    revisions: Revisions,
) -> ApprovalScope:
    """What an approval of this action, on this behalf, under these rules counts for.

    Args:
        definition: The tool. Its digest is in the scope, so a tool that is described otherwise is another one.
        arguments: The validated arguments as JSON, defaults filled in.
        context: On whose behalf. It must name a principal, a tenant, an audience, an agent and a run.
        revisions: The states of the rules.

    Raises:
        ApprovalError: The context does not name them all (``invalid-binding``); the error says which are missing.
        JsonError: The arguments hold something that not every reader takes for the same; see `bind_action`.
    """
    said = context or RequestContext()
    missing = [field for field in _SPOKEN_FOR if getattr(said, field) is None]
    if missing:
        raise ApprovalError("invalid-binding", f"the request context does not say: {', '.join(missing)}")
    # Every name is there: what the cast says of the five was just looked at.
    principal, tenant, audience, agent, run = (cast("str", getattr(said, field)) for field in _SPOKEN_FOR)
    return ApprovalScope(
        principal=principal,
        tenant=tenant,
        audience=audience,
        agent=agent,
        run=run,
        toolbox_revision=revisions.toolbox,
        tool_definition_revision=definition.digest,
        policy_revision=revisions.policy,
        approval_revision=revisions.approval,
        catalog_revision=revisions.catalog,
        action_digest=bind_action(definition, arguments, said).sha256,
        owner=said.owner,
        session=said.session,
        delegation=said.delegation,
        capabilities=None if said.capabilities is None else tuple(sorted(said.capabilities)),
        authorization_revision=said.authorization_revision,
    )


def new_binding(scope: ApprovalScope, *, now: float, nonce: str, lifetime: float = DEFAULT_LIFETIME) -> ApprovalBinding:
    """Tie an approval of *scope* to one use, from *now* on.

    Args:
        scope: What it counts for.
        now: The time of the store that will hold it, in seconds since 1970.
        nonce: Tells it from every other one. Never use one twice.
        lifetime: How long it counts, in seconds.

    Raises:
        ApprovalError: The lifetime is not above 0, the times are not finite, the lifetime is lost beside the time, or
            a text is blank (``invalid-binding``).
    """
    if not is_finite(lifetime) or lifetime <= 0:
        raise ApprovalError("invalid-binding", f"the lifetime must be a number of seconds above 0, not {lifetime!r}")
    if not is_finite(now):
        raise _unreadable(now)
    binding = ApprovalBinding(scope, issued_at=now, expires_at=now + lifetime, nonce=nonce)
    check_binding(binding, None, now)
    return binding


def check_binding(binding: ApprovalBinding, scope: ApprovalScope | None, now: float) -> None:
    """Return if *binding* is well formed, and counts for *scope* at the time *now*.

    A time before it was issued is no time at which it counts: the clock went back, and how long the approval has been
    there can no longer be told. It counts again when the clock has come that far.

    Args:
        binding: What ties the approval.
        scope: What would be done now; None when only form and time are asked about.
        now: The time of the store that holds it, in seconds since 1970.

    Raises:
        ApprovalError: The first of these that is so. The form or the clock is wrong (``invalid-binding``), *now* is at
            or past the expiry (``expired``), before the issue (``invalid-binding``), or the scope is another one
            (``mismatch``: the error names the first field that differs, and no value).
    """
    _check_form(binding, now)
    if now >= binding.expires_at:
        raise ApprovalError("expired", "it counts no more; ask again")
    if now < binding.issued_at:
        raise ApprovalError("invalid-binding", "it was issued later than the clock says it is now")
    if scope is not None:
        for field in binding.scope.__struct_fields__:
            if getattr(scope, field) != getattr(binding.scope, field):
                raise ApprovalError("mismatch", f"{field} is not the same as when it was asked about")


def is_expired(binding: ApprovalBinding, now: float) -> bool:
    """Whether *binding* has expired, by a clock that can be read. By one that can't, nothing has."""
    return is_finite(now) and now >= binding.expires_at


def is_finite(value: object) -> TypeGuard[float]:
    """Whether *value* is a finite number. Of what is no time, nothing can be said to be before or after it."""
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


def question_of(pause: Pause) -> Question:
    """*pause* as descriptors carry it. `pause_of` gives back one that is the `same_as` *pause*.

    The capabilities that the ask leaves are no part of the question: hooks say them anew when they are asked again.
    """
    ask = pause.ask
    schema = cast("Mapping[str, object] | None", ask.action().get("schema"))
    return Question(pause.tier, ask.reason, RequiredAction(ask.kind, ask.message, schema))


def pause_of(question: Question) -> Pause:
    """The pause that *question* was made of.

    Raises:
        ApprovalError: It was made of none (``invalid-binding``).
    """
    action = question.action
    if action.type not in get_args(AskKind):
        raise ApprovalError("invalid-binding", f"no policy asks for {action.type!r}")
    try:
        pause = Pause(question.tier, Ask(question.reason, cast("AskKind", action.type), action.message, action.schema))
    except DefinitionError as error:
        raise ApprovalError("invalid-binding", f"the question can't be read: {error.field} {error.reason}") from error
    if (pause.ask.reason, pause.ask.message) != (question.reason, action.message):
        raise ApprovalError("invalid-binding", "the question says no reason, or asks nothing")
    return pause


async def sign_pending(keys: KeyResolver, pending: PendingApproval, *, domain: str) -> PendingApproval:
    """A copy of *pending* that shares nothing with it, signed with the key that signs in *domain* now.

    Takes no checkpoint unless the resolver answers later. Cancelled: nothing is signed.

    Raises:
        ApprovalError: It has no binding (``invalid-binding``), or nothing can be signed (``invalid-signature``).
        JsonError: It holds something that not every reader takes for the same.
        DefinitionError: *domain* is no name. What the resolver raises passes through.
    """
    if pending.binding is None:
        raise ApprovalError("invalid-binding", "it has no binding, so it would count for anybody, for ever")
    document = pending.document()
    try:
        signature = await sign(keys, "approval", document, domain=domain)
    except SignatureError as error:
        raise ApprovalError("invalid-signature", str(error)) from error
    return PendingApproval.from_json({**document, "signature": signature.text})


async def verify_pending(keys: KeyResolver, pending: PendingApproval, *, domain: str) -> PendingApproval:
    """A copy of *pending* that shares nothing with it, and of which every part was signed.

    Go on with the copy: what is verified is what *pending* held when this was called. It says that nothing was
    changed, and gives nobody any authority: whether it counts here and now, `check_binding` and the store say.

    Takes no checkpoint unless the resolver answers later. Cancelled: nothing is verified.

    Raises:
        ApprovalError: Its signature is missing, or is not that of all of the rest (``invalid-signature``); or it is
            of an unknown version, or was signed without a binding (``invalid-binding``).
        DefinitionError: *domain* is no name. What the resolver raises passes through.
    """
    text = pending.signature
    if text is None:
        raise ApprovalError("invalid-signature", "it is not signed, so it can only be looked at")
    try:
        document = pending.document()
        await verify(keys, "approval", document, text, domain=domain)
        verified = PendingApproval.from_json({**document, "signature": text})
    except (SignatureError, JsonError) as error:
        raise ApprovalError("invalid-signature", str(error)) from error
    if verified.version != VERSION:
        raise ApprovalError("invalid-binding", f"it is of version {verified.version}, not {VERSION}")
    if verified.binding is None:
        raise ApprovalError("invalid-binding", "it was signed without a binding")
    return verified


def _check_form(binding: ApprovalBinding, now: float) -> None:
    if type(binding.version) is not int or binding.version != VERSION:
        raise ApprovalError("invalid-binding", f"its version is not {VERSION}")
    for field in binding.scope.__struct_fields__:
        _check_named(f"scope.{field}", field, getattr(binding.scope, field))
    _check_named("nonce", "nonce", binding.nonce)
    for field in ("issued_at", "expires_at"):
        if not is_finite(getattr(binding, field)):
            raise ApprovalError("invalid-binding", f"{field} is no time")
    if not is_finite(now):
        raise _unreadable(now)
    if binding.issued_at >= binding.expires_at:
        raise ApprovalError("invalid-binding", "it expires no later than it was issued")


def _check_named(place: str, field: str, value: object) -> None:
    if value is None and field in (*_OPTIONAL, *_LISTS):
        return
    if field not in _LISTS:
        named = _is_name(value)
    else:
        named = isinstance(value, tuple) and all(map(_is_name, cast("tuple[object, ...]", value)))
    if not named:
        raise ApprovalError(
            "invalid-binding", f"{place} is blank, or no {'list of names' if field in _LISTS else 'text'}"
        )


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _unreadable(now: object) -> ApprovalError:
    return ApprovalError("invalid-binding", f"the clock says {now!r}, which is no time")
