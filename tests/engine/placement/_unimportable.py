"""A module that only one process can import: the one that tests."""

from __future__ import annotations

import os
from typing import Final

from armory_trio import tool

HOST: Final = "ARMORY_TRIO_TEST_HOST"

if os.environ.get(HOST) != str(os.getpid()):
    raise LookupError("not in this process")


@tool(placement="process")
def unreachable() -> None:
    """Never runs."""
