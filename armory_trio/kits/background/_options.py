"""What may be set about background calls."""

from __future__ import annotations

import math
from typing import Final

import attrs

from ...errors import DefinitionError

_LEAST: Final = {"per_owner": 1, "kept_per_owner": 0, "kept": 0, "max_text": 1}


@attrs.frozen(kw_only=True)
class BackgroundOptions:
    """What may be set about the background kit.

    Args:
        namespace: The namespace of its tools.
        per_owner: Background calls of one owner that are not over.
        kept_per_owner: Ended ones of one owner whose result is kept.
        kept: Ended ones whose result is kept, of all owners together.
        kept_for: Seconds after its end for which a result is kept at most.
        timeout: Seconds that a background call may work; None leaves it to its tool.
        max_wait: Seconds that ``await_background`` waits at most.
        max_text: Characters of a result that one answer holds; the model reads on from there.
    """

    namespace: str = "default"
    per_owner: int = 16
    kept_per_owner: int = 64
    kept: int = 1000
    kept_for: float = 3600.0
    timeout: float | None = None
    max_wait: float = 600.0
    max_text: int = 20_000

    def __attrs_post_init__(self) -> None:
        for name, least in _LEAST.items():
            value: object = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise DefinitionError("BackgroundOptions", name, f"is {value!r}; give a whole number, {least} or more")
        for name in ("kept_for", "max_wait", "timeout"):
            value = getattr(self, name)
            if value is None and name == "timeout":
                continue
            if not isinstance(value, int | float) or isinstance(value, bool) or math.isnan(value) or value < 0:
                raise DefinitionError("BackgroundOptions", name, f"is {value!r}; give seconds, 0 or more")
        if self.timeout == 0:
            raise DefinitionError("BackgroundOptions", "timeout", "is 0; give more seconds, or None for no limit")
