"""Running tools: the supervisor and everything that it shows and does."""

from typing import TYPE_CHECKING

from .._on_demand import on_demand

if TYPE_CHECKING:
    from ._abort import AbortAnswer as AbortAnswer
    from ._events import AbortRequested as AbortRequested
    from ._events import AdmissionWasClosed as AdmissionWasClosed
    from ._events import ApprovalRequested as ApprovalRequested
    from ._events import ApprovalResolved as ApprovalResolved
    from ._events import ChunkEmitted as ChunkEmitted
    from ._events import CleanupOverdue as CleanupOverdue
    from ._events import CleanupPending as CleanupPending
    from ._events import CustomEmitted as CustomEmitted
    from ._events import EffectClosed as EffectClosed
    from ._events import EffectOpened as EffectOpened
    from ._events import ExecutionAdmitted as ExecutionAdmitted
    from ._events import ExecutionRefused as ExecutionRefused
    from ._events import ExecutionSettled as ExecutionSettled
    from ._events import ExecutionStarted as ExecutionStarted
    from ._events import GrantUsed as GrantUsed
    from ._events import Happening as Happening
    from ._events import Lagged as Lagged
    from ._events import LogWritten as LogWritten
    from ._events import LoopWarned as LoopWarned
    from ._events import NameResolved as NameResolved
    from ._events import OfExecution as OfExecution
    from ._events import OutcomeDecided as OutcomeDecided
    from ._events import ProgressReported as ProgressReported
    from ._events import StreamClosed as StreamClosed
    from ._events import StreamOpened as StreamOpened
    from ._events import ToolboxChanged as ToolboxChanged
    from ._events import WaitBegan as WaitBegan
    from ._events import WaitEnded as WaitEnded
    from ._handle import Execution as Execution
    from ._handle import PrivilegedSnapshot as PrivilegedSnapshot
    from ._handle import Stream as Stream
    from ._keywords import AuthorityOptions as AuthorityOptions
    from ._keywords import CallOptions as CallOptions
    from ._keywords import ErrorDetail as ErrorDetail
    from ._keywords import GrantTerms as GrantTerms
    from ._lifecycle import Abort as Abort
    from ._lifecycle import AbortSource as AbortSource
    from ._lifecycle import Cleanup as Cleanup
    from ._lifecycle import Progress as Progress
    from ._lifecycle import Snapshot as Snapshot
    from ._lifecycle import State as State
    from ._lifecycle import WaitKind as WaitKind
    from ._opening import call_directly as call_directly
    from ._opening import open_supervisor as open_supervisor
    from ._options import Budget as Budget
    from ._options import Limits as Limits
    from ._options import Retention as Retention
    from ._probes import Observed as Observed
    from ._probes import Probe as Probe
    from ._projection import Projection as Projection
    from ._projection import project_snapshot as project_snapshot
    from ._recording import Journaled as Journaled
    from ._replay import Replay as Replay
    from ._replay import Replayed as Replayed
    from ._replay import history_of as history_of
    from ._replay import replay as replay
    from ._serving import serve_until_signal as serve_until_signal
    from ._shutdown import Report as Report
    from ._subscriptions import Updates as Updates
    from ._supervisor import Supervisor as Supervisor
    from ._supervisor import current_supervisor as current_supervisor
    from ._views import Executions as Executions
    from ._views import LimitUse as LimitUse
    from ._views import Statistics as Statistics
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "AbortAnswer": "_abort",
            "AbortRequested": "_events",
            "AdmissionWasClosed": "_events",
            "ApprovalRequested": "_events",
            "ApprovalResolved": "_events",
            "ChunkEmitted": "_events",
            "CleanupOverdue": "_events",
            "CleanupPending": "_events",
            "CustomEmitted": "_events",
            "EffectClosed": "_events",
            "EffectOpened": "_events",
            "ExecutionAdmitted": "_events",
            "ExecutionRefused": "_events",
            "ExecutionSettled": "_events",
            "ExecutionStarted": "_events",
            "GrantUsed": "_events",
            "Happening": "_events",
            "Lagged": "_events",
            "LogWritten": "_events",
            "LoopWarned": "_events",
            "NameResolved": "_events",
            "OfExecution": "_events",
            "OutcomeDecided": "_events",
            "ProgressReported": "_events",
            "StreamClosed": "_events",
            "StreamOpened": "_events",
            "ToolboxChanged": "_events",
            "WaitBegan": "_events",
            "WaitEnded": "_events",
            "Execution": "_handle",
            "PrivilegedSnapshot": "_handle",
            "Stream": "_handle",
            "AuthorityOptions": "_keywords",
            "CallOptions": "_keywords",
            "ErrorDetail": "_keywords",
            "GrantTerms": "_keywords",
            "Abort": "_lifecycle",
            "AbortSource": "_lifecycle",
            "Cleanup": "_lifecycle",
            "Progress": "_lifecycle",
            "Snapshot": "_lifecycle",
            "State": "_lifecycle",
            "WaitKind": "_lifecycle",
            "call_directly": "_opening",
            "open_supervisor": "_opening",
            "Budget": "_options",
            "Limits": "_options",
            "Retention": "_options",
            "Observed": "_probes",
            "Probe": "_probes",
            "project_snapshot": "_projection",
            "Projection": "_projection",
            "Journaled": "_recording",
            "history_of": "_replay",
            "Replay": "_replay",
            "replay": "_replay",
            "Replayed": "_replay",
            "Report": "_shutdown",
            "serve_until_signal": "_serving",
            "Updates": "_subscriptions",
            "current_supervisor": "_supervisor",
            "Supervisor": "_supervisor",
            "Executions": "_views",
            "LimitUse": "_views",
            "Statistics": "_views",
        },
    )
