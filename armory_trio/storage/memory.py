"""Stores of one process, which end with it."""

from ..authority.approvals import MemoryApprovals
from ..authority.grants import MemoryGrants
from ..ledger import MemoryLedger
from ._memory_journal import MemoryJournal

__all__ = ("MemoryApprovals", "MemoryGrants", "MemoryJournal", "MemoryLedger")
