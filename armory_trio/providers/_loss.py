"""What a provider's dialect could not say of a contract, and where."""

from __future__ import annotations

from ..toolbox._offering import Loss as Loss
from ..toolbox._offering import LossAction as LossAction

__all__ = ("Loss", "LossAction", "NotSayable", "step")


class NotSayable(Exception):  # noqa: N818  # an answer between modules of this room, never seen outside
    """The dialect cannot say this contract at all. It says where and why."""

    def __init__(self, pointer: str, reason: str) -> None:
        super().__init__(f"{pointer}: {reason}")
        self.pointer = pointer
        self.reason = reason


def step(pointer: str, *steps: str | int) -> str:
    """*pointer* with *steps* behind it, escaped as RFC 6901 says."""
    return pointer + "".join(f"/{str(each).replace('~', '~0').replace('/', '~1')}" for each in steps)
