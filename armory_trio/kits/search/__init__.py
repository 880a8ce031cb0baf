"""A tool with which a model finds other tools, so that it need not be shown all of them."""

from __future__ import annotations

from ._found import FoundTool as FoundTool
from ._found import FoundTools as FoundTools
from ._kit import SearchKit as SearchKit
from ._local import LocalEmbedder as LocalEmbedder
from ._options import SearchOptions as SearchOptions
