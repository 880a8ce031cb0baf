"""Where a body runs: on trio's thread, or in a worker thread that can be left behind."""

from ._placed import Placed as Placed
from ._placing import deliver_inline as deliver_inline
from ._placing import place as place
