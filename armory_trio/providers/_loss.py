"""Where something stands in a schema that a dialect can't say."""

from __future__ import annotations

__all__ = ("NotSayable", "step")


class NotSayable(Exception):
    """The dialect cannot say this contract at all. It says where and why."""

    def __init__(self, pointer: str, reason: str) -> None:
        super().__init__(f"{pointer}: {reason}")
        self.pointer = pointer
        self.reason = reason


def step(pointer: str, *steps: str | int) -> str:
    """*pointer* with *steps* behind it, escaped as RFC 6901 says."""
    return pointer + "".join(f"/{str(each).replace('~', '~0').replace('/', '~1')}" for each in steps)
