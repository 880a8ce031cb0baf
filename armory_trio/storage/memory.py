"""Stores of one process, which end with it."""

from ..authority.approvals import MemoryApprovals
from ..authority.grants import MemoryGrants
from ..ledger import MemoryLedger
from ._memory_buckets import MemoryBuckets
from ._memory_journal import MemoryJournal

__all__ = ("MemoryApprovals", "MemoryBuckets", "MemoryGrants", "MemoryJournal", "MemoryLedger")
