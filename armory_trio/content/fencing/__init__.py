"""What a tool gives that nobody vouches for, marked for the model as data between delimiters that cannot be forged."""

from __future__ import annotations

from ._fencing import fence_content as fence_content
from ._fencing import fence_error as fence_error
from ._fencing import fence_result as fence_result
from ._fencing import fence_text as fence_text
from ._fencing import fence_value as fence_value
from ._fencing import is_fenced as is_fenced
from ._fencing import shown_code as shown_code
from ._stream import StreamFence as StreamFence
from ._style import NAME as NAME
from ._style import PREAMBLE as PREAMBLE
from ._style import Fence as Fence
from ._style import FenceStyle as FenceStyle
