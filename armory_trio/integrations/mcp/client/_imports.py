"""Which of the tools that are listed are imported, and what became of each."""

from __future__ import annotations

from collections.abc import Callable

from ....definitions._checks import near
from ....errors import DefinitionError
from ._calls import Host
from ._catalogue import Catalogue, Listed, SetAside
from ._options import ClientOptions, Include
from ._tools import AnyTool, import_tool


class Imports:
    """Makes tools of a catalogue. A tool that did not change stays the same object.

    Args:
        options: What the host says about them.
        host: What they are called through.
    """

    def __init__(self, options: ClientOptions, host: Host) -> None:
        self._options = options
        self._host = host
        self._chosen = _chooser(options.include)
        self._kept: dict[str, tuple[str, AnyTool | SetAside]] = {}

    def tools_of(self, catalogue: Catalogue) -> list[AnyTool]:
        """The tools of *catalogue*, as far as they are wanted and can be imported.

        Raises:
            DefinitionError: What the host declares for one is wrong.
        """
        return [found for found in self._all_of(catalogue) if not isinstance(found, SetAside)]

    def set_aside_of(self, catalogue: Catalogue) -> tuple[SetAside, ...]:
        """The other ones, with the reasons; those that are not wanted are not among them.

        Raises:
            DefinitionError: What the host declares for one is wrong.
        """
        refused = [found for found in self._all_of(catalogue) if isinstance(found, SetAside)]
        return (*catalogue.set_aside, *refused)

    def _all_of(self, catalogue: Catalogue) -> list[AnyTool | SetAside]:
        kept: dict[str, tuple[str, AnyTool | SetAside]] = {}
        for name, listed in catalogue.tools.items():
            if self._chosen(listed):
                before = self._kept.get(name)
                if before is None or before[0] != listed.digest:
                    before = listed.digest, import_tool(listed, self._options, self._host)
                kept[name] = before
        self._kept = kept
        return [found for _, found in kept.values()]


def _chooser(include: Include | None) -> Callable[[Listed], bool]:
    if include is None:
        return lambda _: True
    if callable(include):
        return include
    names = frozenset(include)
    return lambda listed: listed.name in names


def unknown_name(catalogue: Catalogue, options: ClientOptions) -> DefinitionError | None:
    """What is wrong when the host says something of a tool that the server does not list: it would count for none."""
    said = {"include": options.include, "effects": options.effects}
    for field, names in said.items():
        for name in () if names is None or callable(names) else names:
            if name not in catalogue.tools:
                hint = near(name, catalogue.tools, 1)
                meant = f"; did you mean {hint[0]!r}?" if hint else ""
                return DefinitionError("open_mcp", field, f"{options.name!r} lists no tool {name!r}{meant}")
    return None
