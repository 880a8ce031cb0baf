"""Whether a call may run."""

from typing import TYPE_CHECKING

from .._on_demand import on_demand

if TYPE_CHECKING:
    from ._actions import ActionDigest as ActionDigest
    from ._actions import ActionDocument as ActionDocument
    from ._actions import KeyRef as KeyRef
    from ._actions import Mac as Mac
    from ._actions import action_digest as action_digest
    from ._actions import bind_action as bind_action
    from ._actions import verify_action_digest as verify_action_digest
    from ._capability import ApprovalPolicy as ApprovalPolicy
    from ._gates import Gates as Gates
    from ._loops import LoopDetection as LoopDetection
    from ._loops import LoopDetector as LoopDetector
    from ._loops import LoopLevel as LoopLevel
    from ._loops import LoopPattern as LoopPattern
    from ._loops import LoopStatistics as LoopStatistics
    from ._loops import LoopVerdict as LoopVerdict
    from ._revisions import Revisions as Revisions
    from ._verdict import Allow as Allow
    from ._verdict import Ask as Ask
    from ._verdict import Deny as Deny
    from ._verdict import Edit as Edit
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "ActionDigest": "_actions",
            "ActionDocument": "_actions",
            "KeyRef": "_actions",
            "Mac": "_actions",
            "action_digest": "_actions",
            "bind_action": "_actions",
            "verify_action_digest": "_actions",
            "ApprovalPolicy": "_capability",
            "Gates": "_gates",
            "LoopDetection": "_loops",
            "LoopDetector": "_loops",
            "LoopLevel": "_loops",
            "LoopPattern": "_loops",
            "LoopStatistics": "_loops",
            "LoopVerdict": "_loops",
            "Revisions": "_revisions",
            "Allow": "_verdict",
            "Ask": "_verdict",
            "Deny": "_verdict",
            "Edit": "_verdict",
        },
    )
