"""Stores of one process, which end with it."""

from ..authority.approvals import MemoryApprovals
from ..authority.grants import MemoryGrants
from ..ledger import MemoryLedger

__all__ = ("MemoryApprovals", "MemoryGrants", "MemoryLedger")
