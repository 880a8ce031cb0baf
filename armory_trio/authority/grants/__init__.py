"""Reusable grants: what they are, which calls they count for, and where they are kept.

Loaded by those who use it: ``armory_trio.authority`` does not load it.
"""

from .._grant_store import GrantState as GrantState
from .._grant_store import GrantStore as GrantStore
from .._grant_store import MemoryGrants as MemoryGrants
from .._grant_store import Reservation as Reservation
from .._grants import ANY_AGENT as ANY_AGENT
from .._grants import GRANT_VERSION as GRANT_VERSION
from .._grants import Grant as Grant
from .._grants import GrantDelegation as GrantDelegation
from .._grants import GrantRequest as GrantRequest
from .._grants import GrantScope as GrantScope
from .._grants import fits as fits
from .._grants import sign_grant as sign_grant
from .._grants import verify_grant as verify_grant
from .._grants import why_not as why_not
