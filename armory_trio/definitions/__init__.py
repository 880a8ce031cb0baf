"""What a tool is: its identity, definition, contract and function; what goes into a call and what comes out."""

from typing import TYPE_CHECKING

from .._on_demand import on_demand
from ._arguments import ArgumentIssue as ArgumentIssue
from ._arguments import InputContract as InputContract
from ._arguments import InvalidArguments as InvalidArguments
from ._arguments import Invoker as Invoker
from ._arguments import OutputInvalid as OutputInvalid
from ._call import DEFAULT_CODES as DEFAULT_CODES
from ._call import BatchError as BatchError
from ._call import CallDefect as CallDefect
from ._call import Category as Category
from ._call import Effect as Effect
from ._call import EffectRecord as EffectRecord
from ._call import Idempotency as Idempotency
from ._call import LoopPattern as LoopPattern
from ._call import Outcome as Outcome
from ._call import ToolCall as ToolCall
from ._call import ToolError as ToolError
from ._call import ToolExecutionError as ToolExecutionError
from ._call import ToolFailure as ToolFailure
from ._call import ToolResult as ToolResult
from ._canonical import DEFAULT_LIMITS as DEFAULT_LIMITS
from ._canonical import JsonLimits as JsonLimits
from ._canonical import JsonMode as JsonMode
from ._canonical import canonical_bytes as canonical_bytes
from ._canonical import canonical_text as canonical_text
from ._canonical import freeze_json as freeze_json
from ._canonical import parse_json as parse_json
from ._canonical import require_json as require_json
from ._canonical import schema_digest as schema_digest
from ._canonical import sha256_hex as sha256_hex
from ._canonical import thaw_json as thaw_json
from ._checks import near as near
from ._content import AudioContent as AudioContent
from ._content import BinaryContent as BinaryContent
from ._content import BlobResourceContent as BlobResourceContent
from ._content import Content as Content
from ._content import ImageContent as ImageContent
from ._content import JsonContent as JsonContent
from ._content import LinkContent as LinkContent
from ._content import ResourceAnnotations as ResourceAnnotations
from ._content import TextContent as TextContent
from ._content import TextResourceContent as TextResourceContent
from ._context import BlockingContext as BlockingContext
from ._context import Catalogue as Catalogue
from ._context import CleanupStatus as CleanupStatus
from ._context import EffectBlock as EffectBlock
from ._context import EffectWindow as EffectWindow
from ._context import LogLevel as LogLevel
from ._context import ToolContext as ToolContext
from ._context import ToolLike as ToolLike
from ._context import WaitingBlock as WaitingBlock
from ._definition import Lifecycle as Lifecycle
from ._definition import ToolDefinition as ToolDefinition
from ._effects import Classification as Classification
from ._effects import EffectClass as EffectClass
from ._effects import EffectDeclaration as EffectDeclaration
from ._effects import EffectMapping as EffectMapping
from ._effects import EffectSpec as EffectSpec
from ._effects import EffectTarget as EffectTarget
from ._effects import Risk as Risk
from ._effects import Semantics as Semantics
from ._effects import TargetKind as TargetKind
from ._effects import TargetMapping as TargetMapping
from ._effects import Tier as Tier
from ._effects import classify as classify
from ._identity import ToolId as ToolId
from ._making import ToolDecorator as ToolDecorator
from ._making import define_tool as define_tool
from ._making import tool as tool
from ._options import Availability as Availability
from ._options import Declarations as Declarations
from ._options import Digests as Digests
from ._options import Kind as Kind
from ._options import Names as Names
from ._options import Placement as Placement
from ._options import Reducer as Reducer
from ._options import ToolOptions as ToolOptions
from ._outputs import OutputContract as OutputContract
from ._pending import ApprovalBinding as ApprovalBinding
from ._pending import ApprovalRequest as ApprovalRequest
from ._pending import ApprovalScope as ApprovalScope
from ._pending import ComposedStep as ComposedStep
from ._pending import PauseTier as PauseTier
from ._pending import PendingApproval as PendingApproval
from ._pending import Question as Question
from ._pending import RequiredAction as RequiredAction
from ._pending import StepBinding as StepBinding
from ._tool import Tool as Tool
from ._tool import is_tool as is_tool
from ._values import ElicitAccepted as ElicitAccepted
from ._values import ElicitAnswer as ElicitAnswer
from ._values import ElicitCancelled as ElicitCancelled
from ._values import ElicitDeclined as ElicitDeclined
from ._values import ElicitRequest as ElicitRequest
from ._values import RequestContext as RequestContext
from .contracts import PairValidator as PairValidator
from .contracts import admitted as admitted
from .contracts import contract_from_pair as contract_from_pair
from .contracts import contract_from_parser as contract_from_parser
from .contracts import contract_from_schema as contract_from_schema
from .contracts import contract_from_signature as contract_from_signature
from .contracts import contract_from_type as contract_from_type
from .contracts import output_contract as output_contract
from .contracts import repair_hints as repair_hints

if TYPE_CHECKING:
    from ._builder import ToolBuilder as ToolBuilder
    from ._digests import input_digest as input_digest
    from ._digests import output_digest as output_digest
    from ._executable import ExecutionDeclarations as ExecutionDeclarations
    from ._executable import create_executable_tool as create_executable_tool
    from ._importable import importable_name as importable_name
    from ._lazy import lazy as lazy
    from ._middleware import BindsToTools as BindsToTools
    from ._middleware import CallNext as CallNext
    from ._middleware import Chunks as Chunks
    from ._middleware import ChunkStage as ChunkStage
    from ._middleware import Middleware as Middleware
    from ._middleware import MiddlewareCall as MiddlewareCall
    from ._middleware import WrappedTool as WrappedTool
    from ._policy import AfterExecute as AfterExecute
    from ._policy import BeforeExecute as BeforeExecute
    from ._policy import Policy as Policy
    from ._policy import PolicyAuditor as PolicyAuditor
    from ._policy import PolicyContext as PolicyContext
    from ._policy import PolicyHook as PolicyHook
    from ._policy import PolicyRequest as PolicyRequest
    from ._process import Process as Process
    from ._wire import call_from_json as call_from_json
    from ._wire import call_to_json as call_to_json
    from ._wire import result_from_json as result_from_json
    from ._wire import result_to_json as result_to_json
    from ._with_context import with_context as with_context
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "importable_name": "_importable",
            "output_digest": "_digests",
            "input_digest": "_digests",
            "ToolBuilder": "_builder",
            "ExecutionDeclarations": "_executable",
            "create_executable_tool": "_executable",
            "lazy": "_lazy",
            "BindsToTools": "_middleware",
            "CallNext": "_middleware",
            "Chunks": "_middleware",
            "ChunkStage": "_middleware",
            "Middleware": "_middleware",
            "MiddlewareCall": "_middleware",
            "WrappedTool": "_middleware",
            "AfterExecute": "_policy",
            "BeforeExecute": "_policy",
            "Policy": "_policy",
            "PolicyAuditor": "_policy",
            "PolicyContext": "_policy",
            "PolicyHook": "_policy",
            "PolicyRequest": "_policy",
            "Process": "_process",
            "call_from_json": "_wire",
            "call_to_json": "_wire",
            "result_from_json": "_wire",
            "result_to_json": "_wire",
            "with_context": "_with_context",
        },
    )
