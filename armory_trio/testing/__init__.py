"""For tests of tools and hosts: schedules that can be repeated, tools that only pretend, ids that stay the same."""

from ._ids import fixed_ids as fixed_ids
from ._inline import inline as inline
from ._mocks import MockCall as MockCall
from ._mocks import MockTool as MockTool
from ._mocks import mock_tool as mock_tool
from ._sample import sample_toolbox as sample_toolbox
from ._schedules import ScheduleFailure as ScheduleFailure
from ._schedules import UnsupportedTrio as UnsupportedTrio
from ._schedules import explore as explore
from ._schedules import run_seeded as run_seeded
