"""What the world may have seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "effects.never-entered": Requirement(
        "design 7", "A call whose body was never entered has effect none, whatever stopped it."
    ),
    "effects.read-only": Requirement(
        "design 7", "A tool declared read-only has effect none however it ends, and may be retried."
    ),
    "effects.returned": Requirement(
        "design 7", "A body that returned has effect completed, also when its value cannot be shown or comes late."
    ),
    "effects.tool-says": Requirement("design 7", "A ToolFailure that names its effect is believed."),
    "effects.raised": Requirement(
        "design 7",
        "A body that raised, timed out or was cancelled has effect unknown, and is called retryable only if the far side "
        "knows the call by its key.",
    ),
    "effects.windows": Requirement(
        "design 7", "A tool with effect windows has the effect that its windows say, and each of them is listed."
    ),
    "effects.children": Requirement("design 7", "A caller's effect is the strongest of its own and its children's."),
    "effects.cleanup-unresolved": Requirement("design 7", "An unresolved cleanup makes the state unknown-effect."),
    "effects.cleanup-failed": Requirement(
        "design 7", "An exception after the abort is a failed cleanup; the outcome stays what was decided."
    ),
}
