"""What may run: gates, the approval policy, policy hooks, and how their verdicts are joined.

Loaded by those who use it: ``armory_trio.authority`` does not load it.
"""

from ...definitions import PauseTier as PauseTier
from ...definitions._policy import AfterExecute as AfterExecute
from ...definitions._policy import BeforeExecute as BeforeExecute
from ...definitions._policy import Policy as Policy
from ...definitions._policy import PolicyAuditor as PolicyAuditor
from ...definitions._policy import PolicyContext as PolicyContext
from ...definitions._policy import PolicyHook as PolicyHook
from ...definitions._policy import PolicyRequest as PolicyRequest
from .._capability import ApprovalMode as ApprovalMode
from .._capability import ApprovalPolicy as ApprovalPolicy
from .._gates import Gates as Gates
from .._headless import HeadlessGate as HeadlessGate
from .._headless import HeadlessPolicy as HeadlessPolicy
from .._judging import Edited as Edited
from .._judging import Judgement as Judgement
from .._judging import JudgeTier as JudgeTier
from .._judging import Pause as Pause
from .._judging import Paused as Paused
from .._judging import Permitted as Permitted
from .._judging import Refused as Refused
from .._judging import Rules as Rules
from .._judging import Unfinished as Unfinished
from .._judging import begin as begin
from .._judging import judge as judge
from .._judging import standing as standing
from .._verdict import Allow as Allow
from .._verdict import Ask as Ask
from .._verdict import AskKind as AskKind
from .._verdict import Decision as Decision
from .._verdict import Deny as Deny
from .._verdict import Edit as Edit
from .._verdict import Verdict as Verdict
from .._verdict import combine as combine
from .._verdict import read_decision as read_decision
