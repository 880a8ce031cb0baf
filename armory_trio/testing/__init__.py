"""For tests of tools, hosts and stores.

Mocks, scripted models and people, records of what was called, rules, what stores must do, schedules, fixed ids.
"""

from ._approval_conformance import ApprovalStoreCase as ApprovalStoreCase
from ._approval_conformance import OpenApprovalStore as OpenApprovalStore
from ._approval_conformance import approval_store_cases as approval_store_cases
from ._approver import Answer as Answer
from ._approver import ScriptedApprover as ScriptedApprover
from ._deeds import Pause as Pause
from ._grant_conformance import GrantStoreCase as GrantStoreCase
from ._grant_conformance import OpenGrantStore as OpenGrantStore
from ._grant_conformance import grant_store_cases as grant_store_cases
from ._history import CallHistory as CallHistory
from ._history import RecordedCall as RecordedCall
from ._ids import fixed_ids as fixed_ids
from ._inline import inline as inline
from ._ledger_conformance import LedgerStoreCase as LedgerStoreCase
from ._ledger_conformance import OpenLedgerStore as OpenLedgerStore
from ._ledger_conformance import ledger_store_cases as ledger_store_cases
from ._mocks import MockCall as MockCall
from ._mocks import MockTool as MockTool
from ._mocks import mock_tool as mock_tool
from ._recording import OpenRecorded as OpenRecorded
from ._recording import open_recorded as open_recorded
from ._recording import record_calls as record_calls
from ._rules import CLASSIFIED as CLASSIFIED
from ._rules import DANGEROUS_NEEDS_APPROVAL as DANGEROUS_NEEDS_APPROVAL
from ._rules import DEFAULT_RULES as DEFAULT_RULES
from ._rules import DESCRIBED as DESCRIBED
from ._rules import DESCRIBED_PARAMETERS as DESCRIBED_PARAMETERS
from ._rules import EXAMPLES_VALIDATE as EXAMPLES_VALIDATE
from ._rules import HAS_EXAMPLES as HAS_EXAMPLES
from ._rules import MUTATING_NEEDS_APPROVAL as MUTATING_NEEDS_APPROVAL
from ._rules import TIMED as TIMED
from ._rules import UNDISPUTED as UNDISPUTED
from ._rules import UNTRUSTED_IS_FENCED as UNTRUSTED_IS_FENCED
from ._rules import Rule as Rule
from ._rules import ToolboxViolations as ToolboxViolations
from ._rules import Violation as Violation
from ._rules import check_toolbox as check_toolbox
from ._rules import every as every
from ._rules import untrusted_if_tagged as untrusted_if_tagged
from ._rules import violations_of as violations_of
from ._sample import sample_toolbox as sample_toolbox
from ._schedules import ScheduleFailure as ScheduleFailure
from ._schedules import UnsupportedTrio as UnsupportedTrio
from ._schedules import explore as explore
from ._schedules import run_seeded as run_seeded
from ._store_clock import StoreClock as ApprovalClock  # noqa: F401
from ._store_clock import StoreClock as StoreClock
from .scripted import Line as Line
from .scripted import ScriptedCall as ScriptedCall
from .scripted import ScriptedModel as ScriptedModel
from .scripted import ScriptedTurn as ScriptedTurn
from .scripted import ScriptError as ScriptError
from .scripted import ToolAnswer as ToolAnswer
from .scripted import Transcript as Transcript
from .scripted import TranscriptTurn as TranscriptTurn
from .scripted import run_scripted as run_scripted
