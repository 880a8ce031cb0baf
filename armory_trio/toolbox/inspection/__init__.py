"""Looking at tools: values for people, pages and files, in three levels of detail."""

from ._inspect import AnyInspection as AnyInspection
from ._inspect import Counts as Counts
from ._inspect import Level as Level
from ._inspect import ToolboxInspection as ToolboxInspection
from ._inspect import ToolDetails as ToolDetails
from ._inspect import ToolLimits as ToolLimits
from ._inspect import ToolOutline as ToolOutline
from ._inspect import ToolSummary as ToolSummary
from ._inspect import inspect_tool as inspect_tool
from ._inspect import inspect_tools as inspect_tools
