"""What is shipped, and what its versions promise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "versions.names": Requirement(
        "docs/versioning.md", "Every public name is written down, so that none comes or goes unseen."
    ),
    "versions.written": Requirement(
        "docs/versioning.md",
        "The page names the version of everything that is stored, signed or sent, as the code has it.",
    ),
    "versions.changelog": Requirement(
        "docs/versioning.md", "The changelog has a section for each version, and in it only the parts that are named."
    ),
    "versions.deprecated": Requirement(
        "docs/versioning.md", "What goes is listed and warns; as long as nothing is listed, nothing warns."
    ),
    "versions.supported": Requirement("SECURITY.md", "The table of supported versions has the one that is made now."),
    "release.same": Requirement(
        "design section 15", "The sdist holds all that the wheel is built from: it builds the same one."
    ),
    "release.plain": Requirement(
        "design section 15",
        "The wheel asks for exactly what the core needs, holds the mark of its types, and no tests.",
    ),
    "examples.listed": Requirement(
        "docs/examples.md",
        "Every example that can be run stands on the page, with its command, and every command there runs one.",
    ),
}
