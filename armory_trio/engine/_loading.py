"""What calls need is loaded before they are admitted: while they run, there may be no file left to open for it.

A host imports neither how a failure is told nor how a body is put into a thread. But a call that has begun must have a
way to end, also when the process has used up its files, lost the right to read its own code, or is being replaced.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Final, Literal

Need = Literal["call", "journal", "key", "middleware", "process", "rules"]

_WRITING: Final = "..definitions.contracts._writing"
_NEEDED: Final[dict[Need, tuple[str, ...]]] = {
    "call": (
        "..content._unencodable",
        "..content._wording",
        "..definitions._digests",
        "..toolbox._fuzzy",
        "._passing",
        "._waits",
        ".keeping._retelling",
        ".placement._thread",
        "difflib",
        "json",
        _WRITING,
    ),
    "journal": ("..journal",),
    "key": ("..definitions._wire", "..ledger", ".keeping._claiming", ".keeping._concluding"),
    "middleware": ("._onion",),
    "process": (".placement._process_body",),
    "rules": (
        "..authority.approvals",
        "..authority.policy",
        "..definitions._wire",
        "._authorize",
        "._journal",
        "._resumption",
        "._spending",
    ),
}


@cache
def load_for(need: Need) -> None:
    """Load what a call with such a *need* may come to, to its very end.

    Raises:
        Exception: It can't be loaded; it is tried again by who comes next.
    """
    for module in _NEEDED[need]:
        import_module(module, __package__)
