"""Tools made of tools: each is a tool like any other, and its steps run as calls of their own."""

from __future__ import annotations

from ..definitions._retry import RetryPolicy as RetryPolicy
from ._bind import bind as bind
from ._mapping import postprocess as postprocess
from ._mapping import preprocess as preprocess
from ._once import with_idempotency as with_idempotency
from ._once import with_toolbox_idempotency as with_toolbox_idempotency
from ._parallel import parallel as parallel
from ._pipe import pipe as pipe
from ._retry import retry as retry
from ._steps import PipelineError as PipelineError
from ._tap import tap as tap
from ._united import Naming as Naming
from ._when import when as when
