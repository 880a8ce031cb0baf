"""Detectors that look at arguments and results, and the guard that asks them."""

from __future__ import annotations

from ._bounds import Classifier as Classifier
from ._bounds import InputLength as InputLength
from ._bounds import TopicBoundary as TopicBoundary
from ._guard import Guard as Guard
from ._guard import Inspection as Inspection
from ._guard import inspect_arguments as inspect_arguments
from ._guard import inspect_result as inspect_result
from ._guard import readable as readable
from ._injection import PromptInjection as PromptInjection
from ._verdict import AtLeast as AtLeast
from ._verdict import Detector as Detector
from ._verdict import InspectionLimit as InspectionLimit
from ._verdict import Verdict as Verdict
