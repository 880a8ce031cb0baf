"""A fence around a stream: opened before the first chunk, closed after the last, sound across their borders."""

from __future__ import annotations

from ...definitions._plurals import counted
from .._codec import encode_json
from .._scalars import encodable
from ._defusing import HELD, QUOTED, defuse, open_end
from ._style import Fence


class StreamFence:
    """Fences the chunks of one stream, which all become text. The end is always to be asked for, however it ended.

    A delimiter or token that is spread over several chunks is found: the end of a chunk that could be the beginning of
    one waits for the next, at most a few hundred characters. Chunks that are no text become their JSON, each in a line
    of its own. Not safe for use by several tasks at once.

    Args:
        fence: A fresh one.

    Example:
        ::

            fenced = StreamFence(style.open(tool.name))
            yield fenced.begin()
            try:
                async for chunk in chunks:
                    yield fenced.feed(chunk)
            finally:
                ...  # a reader that is still there gets fenced.end()
    """

    def __init__(self, fence: Fence) -> None:
        self._fence = fence
        self._held = ""
        self._half = ""

    def __repr__(self) -> str:
        return (
            f"<StreamFence {self._fence.style.name!r}: {counted(len(self._held) + len(self._half), 'character')} held>"
        )

    def begin(self) -> str:
        """What comes before the first chunk."""
        return f"{self._fence.opener}\n"

    def feed(self, chunk: object) -> str:
        """What goes on now that *chunk* has come; may be empty.

        Raises:
            UnencodableResult: *chunk* is no text and has no JSON.
        """
        text = chunk if isinstance(chunk, str) else f"{encode_json(chunk)}\n"
        text = self._half + text
        cut = len(text) - (text[-1:] >= "\ud800" and text[-1:] <= "\udbff")
        self._half = text[cut:]
        style, token = self._fence.style, self._fence.token
        text = defuse(self._held + encodable(text[:cut]), style.name, token)
        waiting = open_end(text, style.name, token)
        while waiting > HELD:
            border = len(text) - waiting + 1
            text = defuse(f"{text[:border]}{QUOTED}{text[border:]}", style.name, token)
            waiting = open_end(text, style.name, token)
        self._held = text[len(text) - waiting :]
        return text[: len(text) - waiting]

    def end(self) -> str:
        """What comes after the last chunk."""
        text = defuse(self._held + encodable(self._half), self._fence.style.name, self._fence.token)
        self._held = self._half = ""
        return f"{text}\n{self._fence.closer}"
