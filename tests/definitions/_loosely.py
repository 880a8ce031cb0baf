"""What makes tools, for tests that declare what no checker would let pass, or what only a parameter knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

from armory_trio import Tool, create_executable_tool, define_tool, tool, with_context

Making = Callable[..., Tool[..., object]]

loose_tool: Final = cast("Making", tool)
loose_define: Final = cast("Making", define_tool)
loose_executable: Final = cast("Making", create_executable_tool)
loose_context: Final = cast("Making", with_context)
