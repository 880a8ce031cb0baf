"""Which tool a name means. All of it is decided when a toolbox is made; a call then looks up one key."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, Literal

import attrs

from ..definitions import Tool
from ..definitions._identity import DEFAULT_NAMESPACE
from ..errors import DuplicateToolError

AnyTool = Tool[..., object]

_VERSION: Final = (
    r"v?(?P<release>[0-9]+(?:\.[0-9]+)*)(?:-(?P<prerelease>[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z.-]+)?"
)
"""Compiled by the first tool that has a version."""

NameTier = Literal["exact", "case-insensitive", "normalized", "suffix"]
"""What had to be overlooked in a name to find its tool."""

Rank = tuple[object, ...]


def version_rank(version: str | None) -> Rank:
    """What orders versions: the higher version has the greater rank.

    The order is that of Semantic Versioning 2.0.0, with any number of parts and an optional ``v`` in front. Build
    metadata makes no difference. Versions of another form come below all of those, in the order of their text, and a
    tool without a version comes last.
    """
    if version is None:
        return (0,)
    found = re.fullmatch(_VERSION, version)
    if found is None:
        return (1, version)
    release = [_number(part) for part in found["release"].split(".")]
    while release and release[-1] == _ZERO:
        release.pop()  # 1.0 and 1.0.0 are one version
    prerelease = found["prerelease"]
    # A release is above all of its prereleases; of two prereleases that begin alike the longer one is above.
    return (2, tuple(release), (1,) if prerelease is None else (0, *map(_identifier, prerelease.split("."))))


def _number(digits: str) -> tuple[int, str]:
    """What orders whole numbers of any length."""
    significant = digits.lstrip("0")
    return (len(significant), significant)


_ZERO: Final = _number("0")


def _identifier(text: str) -> Rank:
    """Numbers compare as numbers and are below words."""
    return (0, _number(text)) if text.isdecimal() else (1, text)


def by_id(tools: Iterable[AnyTool], *, replace: bool) -> dict[str, AnyTool]:
    """*tools* by the text of their id, in order. With *replace* a later one takes the place of an earlier one.

    Raises:
        DuplicateToolError: Two different tools have one id, and *replace* is False.
    """
    found: dict[str, AnyTool] = {}
    for tool in tools:
        first = found.setdefault(tool.id.text, tool)
        if first is tool or (first.bare is tool.bare and tool.middleware is None):
            continue
        if first.bare is tool.bare and first.middleware is None:
            found[tool.id.text] = tool
            continue
        if not replace:
            reason = (
                f"{tool.id} is claimed twice, by {first.origin} and by {tool.origin}; give one of them another name, "
                "namespace or version, or pass replace=True to extend()"
            )
            raise DuplicateToolError(f"tool {tool.name!r}", "id", reason)
        found[tool.id.text] = tool
    return found


def lookup(tools: Mapping[str, AnyTool]) -> dict[str, AnyTool]:
    """Every text that means a tool, and the tool that it means. *tools* are given by id.

    That is its full id; its name; and ``namespace:name`` without the version. Where one text could be two of these
    the full id wins, then the name. Where several tools have one name, those of the namespace ``default`` come first,
    then those that are not deprecated, then the highest version, then the one that was added last.
    """
    names: dict[str, AnyTool] = {}
    families: dict[str, AnyTool] = {}
    for tool in sorted(tools.values(), key=_rank):  # the last one wins, and sorting keeps the order of equals
        names[tool.name] = tool
        families[attrs.evolve(tool.id, version=None).text] = tool
    return {**families, **names, **tools}


def _rank(tool: AnyTool) -> Rank:
    return (
        tool.id.namespace == DEFAULT_NAMESPACE,
        not tool.definition.deprecated,
        version_rank(tool.id.version),
    )
