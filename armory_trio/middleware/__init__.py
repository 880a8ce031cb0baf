"""What may stand around tools: time limits, retries, caches, rate limits, and what makes results safe to read."""

from __future__ import annotations

from ..definitions._retry import RetryPolicy as RetryPolicy
from ._cache import Cache as Cache
from ._cache import CacheInfo as CacheInfo
from ._deprecation import WarnOfDeprecated as WarnOfDeprecated
from ._fencing import Fence as Fence
from ._guardrails import Guardrails as Guardrails
from ._rate_limit import RateLimit as RateLimit
from ._retry import Retry as Retry
from ._timeout import Timeout as Timeout
from ._truncation import Truncate as Truncate
