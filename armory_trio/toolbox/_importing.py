"""What of a toolbox reads tools that are written in the form of a model's provider."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from .._on_demand import in_words
from ..definitions import ToolDefinition
from ._resolution import AnyTool

if TYPE_CHECKING:
    from ._toolbox import Toolbox
else:
    (Toolbox,) = in_words("armory_trio.toolbox._toolbox", "Toolbox")

__all__ = ("GetTool", "ImportsTools")

GetTool = Callable[[ToolDefinition], AnyTool | Callable[..., object] | None]
"""Answers what runs a definition: a tool that has it, a function of its arguments as a dict, or None."""


class ImportsTools:
    """The ways of a `Toolbox` in. Apart from it, so that it stays short."""

    __slots__ = ()

    @staticmethod
    def from_openai(
        tools: object, *, get_tool: GetTool | None = None, names: Mapping[str, str] | None = None
    ) -> Toolbox:
        """Read tools that are written for OpenAI: for Chat Completions or for Responses, one or a list.

        Arguments are checked by the schemas. A tool that nothing runs is kept, and each call of it says what is missing.

        Args:
            tools: Decoded JSON, or the SDK's own types.
            get_tool: Answers for a definition what runs it: a tool of that name (which then keeps its own contract,
                policies and risk), a function (or a `lazy` one) that takes the validated arguments as a dict, or
                None. `as_execute_resolver` of another toolbox is one.
            names: The ids of the tools here, by the names that the provider knows. Other names pass as they are.

        Raises:
            DefinitionError: An entry is no tool of this form, one of *names* is no tool's, or *get_tool* answers
                nothing that fits; the error names the place.
        """
        from ..providers._importing import toolbox_from  # noqa: PLC0415  # the door to the room above

        return toolbox_from("openai", tools, get_tool, names)

    @staticmethod
    def from_anthropic(
        tools: object, *, get_tool: GetTool | None = None, names: Mapping[str, str] | None = None
    ) -> Toolbox:
        """Read tools that are written for Anthropic; otherwise as `from_openai`."""
        from ..providers._importing import toolbox_from  # noqa: PLC0415  # as above

        return toolbox_from("anthropic", tools, get_tool, names)

    @staticmethod
    def from_gemini(
        tools: object, *, get_tool: GetTool | None = None, names: Mapping[str, str] | None = None
    ) -> Toolbox:
        """Read tools, or function declarations, that are written for Gemini; otherwise as `from_openai`."""
        from ..providers._importing import toolbox_from  # noqa: PLC0415  # as above

        return toolbox_from("gemini", tools, get_tool, names)
