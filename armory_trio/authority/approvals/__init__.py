"""Approvals: what one counts for, its signature, and the stores that see to it that each is used once.

Loaded by those who use it: ``armory_trio.authority`` does not load it.
"""

from .._approval_store import REFUSALS as REFUSALS
from .._approval_store import TRANSITIONS as TRANSITIONS
from .._approval_store import ApprovalOperation as ApprovalOperation
from .._approval_store import ApprovalState as ApprovalState
from .._approval_store import ApprovalStore as ApprovalStore
from .._approval_store import MemoryApprovals as MemoryApprovals
from .._approval_store import transition as transition
from .._approvals import DEFAULT_LIFETIME as DEFAULT_LIFETIME
from .._approvals import check_binding as check_binding
from .._approvals import new_binding as new_binding
from .._approvals import pause_of as pause_of
from .._approvals import question_of as question_of
from .._approvals import scope_of as scope_of
from .._approvals import sign_pending as sign_pending
from .._approvals import verify_pending as verify_pending
