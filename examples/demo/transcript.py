"""A transcript of what a model said, round by round, with what its host did about each message."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

import msgspec

from armory_trio.providers import Turn, anthropic

SHIPPED: Final = Path(__file__).parents[1] / "data" / "explore_checkout.json"

Message = dict[str, object]
"""One message as the provider writes it; only the provider's parser looks into it."""

Host = Literal["together", "stream", "deadline", "drain"]
"""What the host does: run the calls together, read the chunks of one, give all a deadline, or end while they run."""


class Round(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One message of the model.

    Args:
        title: What it is there to show.
        host: What the host does with it.
        message: The message.
        seconds: After how long the deadline is, for ``deadline``.
        late: A message that comes when the host takes no more work, for ``drain``.
    """

    title: str
    host: Host
    message: Message
    seconds: float = 1.0
    late: Message | None = None

    @property
    def turn(self) -> Turn:
        """The calls in the message, and the way to answer them."""
        return anthropic.parse_tool_calls(self.message)


class Transcript(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the user asked, and everything that the model said then."""

    prompt: str
    rounds: list[Round]


def load_transcript(path: Path = SHIPPED) -> Transcript:
    """Read a transcript.

    Raises:
        OSError: There is no such file.
        msgspec.DecodeError: It is no transcript; the error names the place.
    """
    return msgspec.json.decode(path.read_bytes(), type=Transcript)


def spoken(message: Message) -> str:
    """The words of *message* that are no tool calls."""
    blocks = msgspec.convert(message.get("content", []), list[dict[str, object]])
    return " ".join(str(block["text"]) for block in blocks if block.get("type") == "text")
