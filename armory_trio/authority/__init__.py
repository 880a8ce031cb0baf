"""Whether a call may run."""

from ._loops import LoopDetection as LoopDetection
from ._loops import LoopDetector as LoopDetector
from ._loops import LoopLevel as LoopLevel
from ._loops import LoopPattern as LoopPattern
from ._loops import LoopStatistics as LoopStatistics
from ._loops import LoopVerdict as LoopVerdict
