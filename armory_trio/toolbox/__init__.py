"""Which tools there are."""

from ._toolbox import Toolbox as Toolbox
from ._toolbox import combine_toolboxes as combine_toolboxes
from ._toolbox import is_toolbox as is_toolbox
