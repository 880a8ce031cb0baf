"""What a host says about authority: keys, stores, and whom to ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec

from ..authority import Revisions
from ..definitions._checks import instance, lacking, seconds, shown
from ..errors import DefinitionError

if TYPE_CHECKING:  # loaded by who signs something
    from ..authority.approvals import ApprovalStore
    from ..authority.grants import GrantStore
    from ..authority.signing import KeyResolver
    from ..ledger import LedgerStore
    from ._keywords import ApprovalHandler, AuthorityOptions

APPROVAL_LIFETIME: Final = 300.0
DOMAIN: Final = "default"
LEASE: Final = 30.0
LEASE_CAP: Final = 86_400.0

_SUBJECT: Final = "open_supervisor"
_REVISIONS: Final = Revisions()
_APPROVALS: Final = ("now", "issue", "reserve", "commit", "release", "consume", "revoke", "state")
_LEDGER: Final = ("now", "apply", "load", "list", "forget")
_GRANTS: Final = ("now", "issue", "get", "list", "reserve", "commit", "release", "spend", "revoke")


class Authority(msgspec.Struct, frozen=True, eq=False):
    """Who may allow what, as a host said it.

    Args:
        keys: Where keys are found that sign approvals and grants; None signs nothing.
        approvals: Where it is kept which approvals were used.
        grants: Where grants are kept.
        handler: Asks a person while a call waits.
        lifetime: Seconds for which an approval counts.
        domain: The security domain in which is signed, or a function that answers that of a tenant.
        revisions: The state of the host's catalogue and of its rules of redaction; the others are the toolbox's.
        ledger: Where it is kept what was done; None in memory, and only for calls with a key.
        lease: Seconds for which an attempt is held without a sign of life.
        lease_cap: Seconds beyond which none is held.
    """

    keys: KeyResolver | None = None
    approvals: ApprovalStore | None = None
    grants: GrantStore | None = None
    handler: ApprovalHandler | None = None
    lifetime: float = APPROVAL_LIFETIME
    domain: str | Callable[[str], str] = DOMAIN
    revisions: Revisions = Revisions()
    ledger: LedgerStore | None = None
    lease: float = LEASE
    lease_cap: float = LEASE_CAP

    def domain_of(self, tenant: str) -> str:
        """In which domain is signed what belongs to *tenant*."""
        return self.domain if isinstance(self.domain, str) else self.domain(tenant)


def freeze_authority(given: AuthorityOptions) -> Authority:
    """Check *given* and freeze it. Where there are keys, stores that are not named are kept in memory.

    Raises:
        DefinitionError: An option has the wrong type.
        TypeError: There is no such option.
    """
    if not given:
        return _NOBODY
    from ._keywords import AuthorityOptions  # noqa: PLC0415  # only who has rules pays for it

    unknown = set(given) - set(AuthorityOptions.__annotations__)
    if unknown:
        raise TypeError(f"open_supervisor() got an unexpected keyword argument {min(unknown)!r}")
    keys, handler = given.get("keys"), given.get("approval_handler")
    _require(keys, "keys", ("signing_key", "key"), "a Keyring, or another KeyResolver")
    if handler is not None and not callable(handler):
        raise _wrong("approval_handler", f"must be a function of an ApprovalRequest, not {shown(handler)}")
    lifetime, domain = given.get("approval_lifetime", APPROVAL_LIFETIME), given.get("security_domain", DOMAIN)
    seconds(_SUBJECT, "approval_lifetime", lifetime, zero=False)
    if not (isinstance(domain, str) or callable(domain)):  # pyright: ignore[reportUnnecessaryIsInstance]  # a host need not be typed
        raise _wrong("security_domain", f"must be a name, or a function of a tenant, not {shown(domain)}")
    revisions = given.get("revisions", _REVISIONS)
    instance(_SUBJECT, "revisions", revisions, Revisions)
    approvals, grants = given.get("approvals"), given.get("grants")
    if keys is not None:
        approvals, grants = _stores(approvals, grants)
    _require(approvals, "approvals", _APPROVALS, "an ApprovalStore with all of its methods")
    _require(grants, "grants", _GRANTS, "a GrantStore with all of its methods")
    ledger = given.get("ledger")
    _require(ledger, "ledger", _LEDGER, "a LedgerStore with all of its methods")
    lease, cap = given.get("ledger_lease", LEASE), given.get("ledger_cap", LEASE_CAP)
    for field, value in (("ledger_lease", lease), ("ledger_cap", cap)):
        seconds(_SUBJECT, field, value, zero=False)
    return Authority(keys, approvals, grants, handler, float(lifetime), domain, revisions, ledger, lease, cap)


def _stores(approvals: ApprovalStore | None, grants: GrantStore | None) -> tuple[ApprovalStore, GrantStore]:
    from ..authority.approvals import MemoryApprovals  # noqa: PLC0415  # only who signs pays for it
    from ..authority.grants import MemoryGrants  # noqa: PLC0415  # as above

    return MemoryApprovals() if approvals is None else approvals, MemoryGrants() if grants is None else grants


def _require(value: object, field: str, methods: tuple[str, ...], wanted: str) -> None:
    missing = [name for name in methods if value is not None and not callable(getattr(value, name, None))]
    if missing:
        # Only its type is told: somebody may have given a secret in place of what holds one.
        raise _wrong(field, f"must be {wanted}; {lacking(value, missing[0], field)}")


def _wrong(field: str, reason: str) -> DefinitionError:
    return DefinitionError(_SUBJECT, field, reason)


_NOBODY: Final = Authority()
