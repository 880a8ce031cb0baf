"""Where a body runs: on trio's thread, in a worker thread that can be left behind, in a process that can be killed."""

from ._placed import VALUES as VALUES
from ._placed import Placed as Placed
from ._placed import has_to_run as has_to_run
from ._placing import deliver_inline as deliver_inline
from ._placing import place as place
