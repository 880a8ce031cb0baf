"""What may be set about the search kit."""

from __future__ import annotations

from typing import Final

import attrs

from ...errors import DefinitionError

_LEAST: Final = {"limit": 1, "most": 1, "max_text": 200, "max_description": 20}


@attrs.frozen(kw_only=True)
class SearchOptions:
    """What may be set about the search kit.

    Args:
        name: The name of its tool.
        namespace: The namespace of its tool.
        limit: Tools that one search answers when the model does not say how many.
        most: Tools that one search answers at most.
        max_text: Characters of JSON that one answer has at most.
        max_description: Characters of one description in an answer; what is cut ends in an ellipsis.
    """

    name: str = "search_tools"
    namespace: str = "default"
    limit: int = 5
    most: int = 20
    max_text: int = 3_000
    max_description: int = 300

    def __attrs_post_init__(self) -> None:
        for name, least in _LEAST.items():
            value: object = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise DefinitionError("SearchOptions", name, f"is {value!r}; give a whole number, {least} or more")
        if self.limit > self.most:
            raise DefinitionError("SearchOptions", "limit", f"is {self.limit}, above most, which is {self.most}")
