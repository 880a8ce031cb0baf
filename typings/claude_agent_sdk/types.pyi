from typing import Literal, TypeAlias

HookEvent: TypeAlias = Literal["PreToolUse", "PostToolUse", "Stop"]
