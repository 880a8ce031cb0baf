"""Reusable grants: a person's standing answer to a tool's question, signed, and which calls it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal, cast, get_args

import msgspec
from msgspec.structs import force_setattr

from ..definitions import RequestContext
from ..definitions._canonical import canonical_bytes, canonical_text, freeze_json, thaw_json
from ..definitions._checks import shown
from ..errors import AuthorityCode, GrantError, JsonError
from ._clock import LATEST, is_time
from ._keys import KeyResolver
from ._signing import SignatureError, sign, verify

GrantScope = Literal["principal", "run", "session"]
"""How far a grant reaches: all that the principal does, one run, or one session with all its runs."""

GrantDelegation = Literal["does-not-propagate", "inherits-to-children"]
"""Whether a grant also counts for nested calls, and for those to whom the principal handed its work on."""

GRANT_VERSION: Final = 1
"""The version of `Grant`. It is raised when what a field means changes; older grants count no more."""

ANY_AGENT: Final = "*"
"""What ``agent`` says when it may be any agent, or none."""

_NAMES: Final = ("id", "principal", "tenant", "agent", "tool_name", "tool_definition_revision", "policy_revision")
_OPTIONAL_NAMES: Final = ("owner", "run", "session")


class Grant(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A standing permission: calls that match it need not be asked about by the approval policy.

    It never changes. How often it may still be used, and whether it was revoked, only a `GrantStore` knows. Nothing in
    it overrides a denial, or a question of a hook's.

    Args:
        id: What it is called. No other grant may ever be called the same.
        principal: On whose behalf a call must be made.
        tenant: In whose name.
        owner: Whom the work must belong to; None means work that belongs to nobody, not to anybody.
        agent: The agent that must ask; ``"*"`` is any, or none.
        tool_name: The tool.
        tool_definition_revision: The digest of its definition. When the tool changes, the grant is void.
        scope: How far it reaches.
        run: The run, for the scope ``run``. Other scopes don't read it.
        session: The session, for the scope ``session``. Other scopes don't read it.
        resource_pattern: What the argument ``resource`` must look like, see `fits`; None if there need be none.
        argument_constraints: Arguments that must be there and equal as JSON; 1 is 1.0, and neither is true. None if any
            will do.
        issued_at: When it was made, in seconds since 1970 on the store's clock.
        expires_at: From when on it counts no more, likewise.
        max_uses: For how many calls it counts, from 1 on.
        policy_revision: The state of the host's policy. When that changes, the grant is void.
        delegation: Whether nested calls and delegates may use it.
        signature: The signature of everything else, or None before it is signed.
        version: The version of this form.

    Raises:
        GrantError: The scope does not exist, or lacks its run or session (``invalid-scope``); or another value is not
            legal, or can't be signed (``invalid-binding``).
    """

    id: str
    principal: str
    tenant: str
    agent: str
    tool_name: str
    tool_definition_revision: str
    scope: GrantScope
    issued_at: float
    expires_at: float
    max_uses: int
    policy_revision: str
    owner: str | None = None
    run: str | None = None
    session: str | None = None
    resource_pattern: str | None = None
    argument_constraints: Mapping[str, object] | None = None
    delegation: GrantDelegation = "does-not-propagate"
    signature: str | None = None
    version: int = GRANT_VERSION

    def __post_init__(self) -> None:
        for name in _NAMES:
            _require_name(name, getattr(self, name))
        for name in _OPTIONAL_NAMES:
            if getattr(self, name) is not None:
                _require_name(name, getattr(self, name))
        _require_scope(self.scope, self.run, self.session)
        _require_text("resource_pattern", self.resource_pattern)
        _require_text("signature", self.signature)
        _require_one_of("delegation", self.delegation, get_args(GrantDelegation), "invalid-binding")
        for name in ("issued_at", "expires_at"):
            force_setattr(self, name, _seconds(name, getattr(self, name)))
        if not self.issued_at < self.expires_at:
            raise _wrong("expires_at", f"{self.expires_at} is not after issued_at, {self.issued_at}")
        for name in ("max_uses", "version"):
            _require_count(name, getattr(self, name))
        force_setattr(self, "argument_constraints", _constraints(self.argument_constraints))
        try:
            canonical_bytes(self.document(), mode="interop")
        except JsonError as error:
            raise GrantError("invalid-binding", f"can't be signed: {error}") from error

    def to_json(self) -> dict[str, object]:
        """A JSON object, the caller's to change. `from_json` gives an equal grant back."""
        return {name: thaw_json(getattr(self, name)) for name in self.__struct_fields__}

    def document(self) -> dict[str, object]:
        """What is signed: everything but the signature."""
        document = self.to_json()
        del document["signature"]
        return document

    @classmethod
    def from_json(cls, document: object) -> Grant:
        """Read what `to_json` wrote. It says nothing about the signature.

        Raises:
            GrantError: A member is missing, unknown or not legal, as for `Grant`.
        """
        try:
            plain = thaw_json(document)
            if isinstance(plain, dict) and "scope" in plain:
                _require_one_of("scope", cast("object", plain["scope"]), get_args(GrantScope), "invalid-scope")
            return msgspec.convert(plain, cls)
        except (JsonError, msgspec.ValidationError) as error:
            raise GrantError("invalid-binding", f"is no grant: {error}") from error


class GrantRequest(msgspec.Struct, frozen=True):
    """What a call brings to be matched with grants.

    Args:
        context: On whose behalf it is made.
        tool_name: The tool.
        tool_definition_revision: The digest of the definition that would run.
        policy_revision: The state of the host's policy.
        arguments: What would run: validated, edited by hooks, defaults filled in.
        nested: Whether another tool makes the call.
    """

    context: RequestContext
    tool_name: str
    tool_definition_revision: str
    policy_revision: str
    arguments: Mapping[str, object]
    nested: bool


def why_not(grant: Grant, request: GrantRequest, now: float) -> str | None:
    """Why *grant* does not count for *request*: the first reason, in words that quote no values; None if it does.

    It looks at neither the signature nor what the store knows: uses and revocation.

    Args:
        grant: The grant.
        request: The call.
        now: Seconds since 1970 on the store's clock.
    """
    return next((reason for check in _CHECKS if (reason := check(grant, request, now)) is not None), None)


def fits(pattern: str, text: str) -> bool:
    """Whether all of *text* is as *pattern* says: ``*`` is any run of characters, ``/`` and line ends too.

    Every other character stands for itself. Text is not interpreted: ``reports/*`` also fits ``reports/../plans``, so
    a tool that takes paths must resolve them before they become its ``resource``. Takes time in proportion to both.
    """
    first, *others = pattern.split("*")
    if not others:
        return text == pattern
    *middle, last = others
    start, end = len(first), len(text) - len(last)
    if end < start or not text.startswith(first) or not text.endswith(last):
        return False
    # The leftmost place of each piece leaves the most room for those behind it, so none has to be tried again.
    for piece in middle:
        found = text.find(piece, start, end)
        if found < 0:
            return False
        start = found + len(piece)
    return True


async def sign_grant(keys: KeyResolver, grant: Grant, *, domain: str) -> Grant:
    """The grant with a signature. Takes no checkpoint unless the resolver answers later.

    Args:
        keys: Where the key is found.
        grant: The grant; a signature that it has is replaced.
        domain: The security domain, such as ``tenant:acme``.

    Raises:
        GrantError: No key signs in the domain (``invalid-signature``). What the resolver raises passes through.
        DefinitionError: The domain is no name.
    """
    try:
        signature = await sign(keys, "grant", grant.document(), domain=domain)
    except SignatureError as error:
        raise GrantError("invalid-signature", f"could not be signed: {error}") from error
    return msgspec.structs.replace(grant, signature=signature.text)


async def verify_grant(keys: KeyResolver, grant: Grant, *, domain: str) -> None:
    """Return if the signature of *grant* counts. Takes no checkpoint unless the resolver answers later.

    Args:
        keys: Where its key is found.
        grant: The grant.
        domain: The security domain in which it must have been signed.

    Raises:
        GrantError: It does not (``invalid-signature``). What the resolver raises passes through.
        DefinitionError: The domain is no name.
    """
    if grant.signature is None:
        raise GrantError("invalid-signature", "is not signed")
    try:
        await verify(keys, "grant", grant.document(), grant.signature, domain=domain)
    except SignatureError as error:
        raise GrantError("invalid-signature", str(error)) from error


# ── What a grant must look like ──────────────────────────────────────────────────────────────────────────────────────


def _wrong(field: str, reason: str, code: AuthorityCode = "invalid-binding") -> GrantError:
    return GrantError(code, f"{field}: {reason}")


def _require_name(field: str, value: object) -> None:
    if not isinstance(value, str) or not value.strip():
        raise _wrong(field, f"must be a name, not {shown(value)}")


def _require_text(field: str, value: object) -> None:
    if value is not None and not (isinstance(value, str) and value):
        raise _wrong(field, f"must be text with something in it, or None; not {shown(value)}")


def _require_one_of(field: str, value: object, legal: tuple[object, ...], code: AuthorityCode) -> None:
    if not isinstance(value, str) or value not in legal:
        raise _wrong(field, f"must be one of {', '.join(map(str, legal))}, not {shown(value)}", code)


def _require_scope(scope: object, run: object, session: object) -> None:
    _require_one_of("scope", scope, get_args(GrantScope), "invalid-scope")
    if scope == "run" and run is None:
        raise _wrong("run", "a grant for one run must say which", "invalid-scope")
    if scope == "session" and session is None:
        raise _wrong("session", "a grant for one session must say which", "invalid-scope")


def _require_count(field: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < LATEST:
        raise _wrong(field, f"must be a whole number from 1 on, below 2**53, not {shown(value)}")


def _seconds(field: str, value: object) -> float:
    if not is_time(value):
        raise _wrong(field, f"must be a number of seconds since 1970, not {shown(value)}")
    return float(value)


def _constraints(value: object) -> object:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise _wrong("argument_constraints", f"must be a mapping of arguments, or None; not {shown(value)}")
    try:
        return freeze_json(cast("Mapping[object, object]", value), root="argument_constraints")
    except JsonError as error:
        raise GrantError("invalid-binding", str(error)) from error


# ── What a call must look like: each check answers what is wrong, or None ────────────────────────────────────────────


def _version(grant: Grant, _request: GrantRequest, _now: float) -> str | None:
    return None if grant.version == GRANT_VERSION else f"it is of version {grant.version}, not {GRANT_VERSION}"


def _expiry(grant: Grant, _request: GrantRequest, now: float) -> str | None:
    # Said this way round, a clock that answers no number expires it.
    return None if now < grant.expires_at else "it has expired"


def _revisions(grant: Grant, request: GrantRequest, _now: float) -> str | None:
    if grant.policy_revision != request.policy_revision:
        return "the policy has changed since it was issued"
    if grant.tool_definition_revision != request.tool_definition_revision:
        return "the definition of the tool is not the one that it was issued for"
    return None if grant.tool_name == request.tool_name else "it is for another tool"


def _people(grant: Grant, request: GrantRequest, _now: float) -> str | None:
    context = request.context
    if context.principal != grant.principal:
        return _other("principal", context.principal)
    if context.tenant != grant.tenant:
        return _other("tenant", context.tenant)
    if context.owner != grant.owner:
        return "it is for work that belongs to somebody" if context.owner is None else _other("owner", context.owner)
    return None if grant.agent in (ANY_AGENT, context.agent) else _other("agent", context.agent)


def _reach(grant: Grant, request: GrantRequest, _now: float) -> str | None:
    if grant.scope == "run":
        here, there = request.context.run, grant.run
    elif grant.scope == "session":
        here, there = request.context.session, grant.session
    else:
        return None
    return None if here is not None and here == there else _other(grant.scope, here)


def _other(role: str, here: str | None) -> str:
    return f"the call has no {role}" if here is None else f"it is for another {role}"


def _resource(grant: Grant, request: GrantRequest, _now: float) -> str | None:
    if grant.resource_pattern is None:
        return None
    resource = request.arguments.get("resource")
    if not isinstance(resource, str):
        return "the call has no argument 'resource' that is text"
    return None if fits(grant.resource_pattern, resource) else "the argument 'resource' does not fit its pattern"


def _arguments(grant: Grant, request: GrantRequest, _now: float) -> str | None:
    for name, wanted in (grant.argument_constraints or {}).items():
        if name not in request.arguments:
            return f"the argument {shown(name)} is missing"
        try:
            same = canonical_text(request.arguments[name], mode="exact") == canonical_text(wanted, mode="exact")
        except JsonError:
            same = False
        if not same:
            return f"the argument {shown(name)} is not the one that it was issued for"
    return None


def _delegation(grant: Grant, request: GrantRequest, _now: float) -> str | None:
    if grant.delegation == "inherits-to-children":
        return None
    if request.nested:
        return "it does not count for calls that a tool makes"
    return "it does not count for those to whom work was handed on" if request.context.delegation else None


_CHECKS: Final[tuple[Callable[[Grant, GrantRequest, float], str | None], ...]] = (
    _version,
    _expiry,
    _revisions,
    _people,
    _reach,
    _resource,
    _arguments,
    _delegation,
)
"""In the order in which reasons are told."""
