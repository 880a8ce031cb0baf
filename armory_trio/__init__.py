"""Supervised execution of the tool calls that language models make, on trio.

Importing it loads what defines tools. What runs them is loaded by the first who asks for it, as the rest is.
"""

from typing import TYPE_CHECKING

from ._on_demand import on_demand
from .definitions import ApprovalRequest as ApprovalRequest
from .definitions import ArgumentIssue as ArgumentIssue
from .definitions import AudioContent as AudioContent
from .definitions import BatchError as BatchError
from .definitions import BlobResourceContent as BlobResourceContent
from .definitions import BlockingContext as BlockingContext
from .definitions import CallDefect as CallDefect
from .definitions import Category as Category
from .definitions import Classification as Classification
from .definitions import Content as Content
from .definitions import Effect as Effect
from .definitions import EffectClass as EffectClass
from .definitions import EffectDeclaration as EffectDeclaration
from .definitions import EffectRecord as EffectRecord
from .definitions import EffectTarget as EffectTarget
from .definitions import ElicitAccepted as ElicitAccepted
from .definitions import ElicitAnswer as ElicitAnswer
from .definitions import ElicitCancelled as ElicitCancelled
from .definitions import ElicitDeclined as ElicitDeclined
from .definitions import ElicitRequest as ElicitRequest
from .definitions import ImageContent as ImageContent
from .definitions import InputContract as InputContract
from .definitions import InvalidArguments as InvalidArguments
from .definitions import JsonContent as JsonContent
from .definitions import Lifecycle as Lifecycle
from .definitions import LinkContent as LinkContent
from .definitions import Outcome as Outcome
from .definitions import OutputContract as OutputContract
from .definitions import OutputInvalid as OutputInvalid
from .definitions import PendingApproval as PendingApproval
from .definitions import Question as Question
from .definitions import RequestContext as RequestContext
from .definitions import RequiredAction as RequiredAction
from .definitions import ResourceAnnotations as ResourceAnnotations
from .definitions import Risk as Risk
from .definitions import Semantics as Semantics
from .definitions import TextContent as TextContent
from .definitions import TextResourceContent as TextResourceContent
from .definitions import Tool as Tool
from .definitions import ToolCall as ToolCall
from .definitions import ToolContext as ToolContext
from .definitions import ToolDefinition as ToolDefinition
from .definitions import ToolError as ToolError
from .definitions import ToolExecutionError as ToolExecutionError
from .definitions import ToolFailure as ToolFailure
from .definitions import ToolId as ToolId
from .definitions import ToolOptions as ToolOptions
from .definitions import ToolResult as ToolResult
from .definitions import define_tool as define_tool
from .definitions import is_tool as is_tool
from .definitions import repair_hints as repair_hints
from .definitions import tool as tool
from .errors import AdmissionClosed as AdmissionClosed
from .errors import ApprovalError as ApprovalError
from .errors import ArmoryError as ArmoryError
from .errors import BudgetExceeded as BudgetExceeded
from .errors import DefinitionError as DefinitionError
from .errors import DuplicateToolError as DuplicateToolError
from .errors import ElicitationUnavailable as ElicitationUnavailable
from .errors import EmbeddingError as EmbeddingError
from .errors import ExecutionAborted as ExecutionAborted
from .errors import ExecutionOver as ExecutionOver
from .errors import GrantError as GrantError
from .errors import InternalError as InternalError
from .errors import JsonError as JsonError
from .errors import LoadFailed as LoadFailed
from .errors import Overloaded as Overloaded
from .errors import RepeatRefused as RepeatRefused
from .errors import ShutdownFromInside as ShutdownFromInside
from .errors import StoreUnavailable as StoreUnavailable
from .errors import TransitionError as TransitionError
from .toolbox import Toolbox as Toolbox
from .toolbox import combine_toolboxes as combine_toolboxes
from .toolbox import is_toolbox as is_toolbox

if TYPE_CHECKING:
    from .authority import Allow as Allow
    from .authority import ApprovalPolicy as ApprovalPolicy
    from .authority import Ask as Ask
    from .authority import Deny as Deny
    from .authority import Edit as Edit
    from .authority import Gates as Gates
    from .authority import LoopDetection as LoopDetection
    from .authority import Revisions as Revisions
    from .authority import action_digest as action_digest
    from .authority import bind_action as bind_action
    from .authority import verify_action_digest as verify_action_digest
    from .content import UnencodableResult as UnencodableResult
    from .content import encode_content as encode_content
    from .definitions import BindsToTools as BindsToTools
    from .definitions import CallNext as CallNext
    from .definitions import Chunks as Chunks
    from .definitions import ChunkStage as ChunkStage
    from .definitions import Middleware as Middleware
    from .definitions import MiddlewareCall as MiddlewareCall
    from .definitions import PolicyAuditor as PolicyAuditor
    from .definitions import PolicyHook as PolicyHook
    from .definitions import PolicyRequest as PolicyRequest
    from .definitions import Process as Process
    from .definitions import ToolBuilder as ToolBuilder
    from .definitions import call_from_json as call_from_json
    from .definitions import call_to_json as call_to_json
    from .definitions import create_executable_tool as create_executable_tool
    from .definitions import input_digest as input_digest
    from .definitions import lazy as lazy
    from .definitions import output_digest as output_digest
    from .definitions import result_from_json as result_from_json
    from .definitions import result_to_json as result_to_json
    from .definitions import with_context as with_context
    from .engine import Abort as Abort
    from .engine import AbortAnswer as AbortAnswer
    from .engine import AbortRequested as AbortRequested
    from .engine import AbortSource as AbortSource
    from .engine import AdmissionWasClosed as AdmissionWasClosed
    from .engine import ApprovalRequested as ApprovalRequested
    from .engine import ApprovalResolved as ApprovalResolved
    from .engine import AuthorityOptions as AuthorityOptions
    from .engine import Budget as Budget
    from .engine import CallOptions as CallOptions
    from .engine import ChunkEmitted as ChunkEmitted
    from .engine import Cleanup as Cleanup
    from .engine import CleanupOverdue as CleanupOverdue
    from .engine import CleanupPending as CleanupPending
    from .engine import CustomEmitted as CustomEmitted
    from .engine import EffectClosed as EffectClosed
    from .engine import EffectOpened as EffectOpened
    from .engine import Execution as Execution
    from .engine import ExecutionAdmitted as ExecutionAdmitted
    from .engine import ExecutionRefused as ExecutionRefused
    from .engine import Executions as Executions
    from .engine import ExecutionSettled as ExecutionSettled
    from .engine import ExecutionStarted as ExecutionStarted
    from .engine import GrantTerms as GrantTerms
    from .engine import GrantUsed as GrantUsed
    from .engine import Happening as Happening
    from .engine import Journaled as Journaled
    from .engine import Lagged as Lagged
    from .engine import Limits as Limits
    from .engine import LimitUse as LimitUse
    from .engine import LogWritten as LogWritten
    from .engine import LoopWarned as LoopWarned
    from .engine import NameResolved as NameResolved
    from .engine import Observed as Observed
    from .engine import OfExecution as OfExecution
    from .engine import OutcomeDecided as OutcomeDecided
    from .engine import PrivilegedSnapshot as PrivilegedSnapshot
    from .engine import Probe as Probe
    from .engine import Progress as Progress
    from .engine import ProgressReported as ProgressReported
    from .engine import Projection as Projection
    from .engine import Replay as Replay
    from .engine import Replayed as Replayed
    from .engine import Report as Report
    from .engine import Retention as Retention
    from .engine import Snapshot as Snapshot
    from .engine import State as State
    from .engine import Statistics as Statistics
    from .engine import Stream as Stream
    from .engine import StreamClosed as StreamClosed
    from .engine import StreamOpened as StreamOpened
    from .engine import Supervisor as Supervisor
    from .engine import ToolboxChanged as ToolboxChanged
    from .engine import Updates as Updates
    from .engine import WaitBegan as WaitBegan
    from .engine import WaitEnded as WaitEnded
    from .engine import WaitKind as WaitKind
    from .engine import current_supervisor as current_supervisor
    from .engine import history_of as history_of
    from .engine import open_supervisor as open_supervisor
    from .engine import project_snapshot as project_snapshot
    from .engine import replay as replay
    from .engine import serve_until_signal as serve_until_signal
    from .toolbox import LiveToolbox as LiveToolbox
    from .toolbox import Resolution as Resolution
    from .toolbox import ToolboxChange as ToolboxChange
    from .toolbox import toolbox_from_manifest as toolbox_from_manifest
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "output_digest": "definitions",
            "input_digest": "definitions",
            "action_digest": "authority",
            "Allow": "authority",
            "ApprovalPolicy": "authority",
            "Ask": "authority",
            "bind_action": "authority",
            "Deny": "authority",
            "Edit": "authority",
            "Gates": "authority",
            "LoopDetection": "authority",
            "Revisions": "authority",
            "verify_action_digest": "authority",
            "encode_content": "content",
            "UnencodableResult": "content",
            "BindsToTools": "definitions",
            "call_from_json": "definitions",
            "call_to_json": "definitions",
            "CallNext": "definitions",
            "Chunks": "definitions",
            "ChunkStage": "definitions",
            "create_executable_tool": "definitions",
            "lazy": "definitions",
            "Middleware": "definitions",
            "MiddlewareCall": "definitions",
            "PolicyAuditor": "definitions",
            "PolicyHook": "definitions",
            "PolicyRequest": "definitions",
            "Process": "definitions",
            "result_from_json": "definitions",
            "result_to_json": "definitions",
            "ToolBuilder": "definitions",
            "with_context": "definitions",
            "Abort": "engine",
            "AbortAnswer": "engine",
            "AbortRequested": "engine",
            "AbortSource": "engine",
            "AdmissionWasClosed": "engine",
            "ApprovalRequested": "engine",
            "ApprovalResolved": "engine",
            "AuthorityOptions": "engine",
            "Budget": "engine",
            "CallOptions": "engine",
            "ChunkEmitted": "engine",
            "Cleanup": "engine",
            "CleanupOverdue": "engine",
            "CleanupPending": "engine",
            "current_supervisor": "engine",
            "CustomEmitted": "engine",
            "EffectClosed": "engine",
            "EffectOpened": "engine",
            "Execution": "engine",
            "ExecutionAdmitted": "engine",
            "ExecutionRefused": "engine",
            "Executions": "engine",
            "ExecutionSettled": "engine",
            "ExecutionStarted": "engine",
            "GrantTerms": "engine",
            "GrantUsed": "engine",
            "Happening": "engine",
            "history_of": "engine",
            "Journaled": "engine",
            "Lagged": "engine",
            "Limits": "engine",
            "LimitUse": "engine",
            "LogWritten": "engine",
            "LoopWarned": "engine",
            "NameResolved": "engine",
            "Observed": "engine",
            "OfExecution": "engine",
            "open_supervisor": "engine",
            "OutcomeDecided": "engine",
            "PrivilegedSnapshot": "engine",
            "Probe": "engine",
            "Progress": "engine",
            "ProgressReported": "engine",
            "project_snapshot": "engine",
            "Projection": "engine",
            "replay": "engine",
            "Replay": "engine",
            "Replayed": "engine",
            "Report": "engine",
            "Retention": "engine",
            "serve_until_signal": "engine",
            "Snapshot": "engine",
            "State": "engine",
            "Statistics": "engine",
            "Stream": "engine",
            "StreamClosed": "engine",
            "StreamOpened": "engine",
            "Supervisor": "engine",
            "ToolboxChanged": "engine",
            "Updates": "engine",
            "WaitBegan": "engine",
            "WaitEnded": "engine",
            "WaitKind": "engine",
            "LiveToolbox": "toolbox",
            "Resolution": "toolbox",
            "toolbox_from_manifest": "toolbox",
            "ToolboxChange": "toolbox",
        },
    )
