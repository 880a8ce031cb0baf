"""Search a small toolbox by words and by meaning, with the vectors in LanceDB.

Needs the extra ``search`` of armory-trio, and ``pip install -r examples/vector_search/requirements.txt``. The vectors go
into the folder that is named on the command line, or else into one that is gone afterwards.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import trio

from armory_trio import Toolbox, tool
from armory_trio.kits.search import LocalEmbedder
from armory_trio.toolbox.search import CachedEmbedder

try:
    from .shelf import Shelf
except ModuleNotFoundError as missing:
    sys.exit(f"no package {missing.name}: pip install -r examples/vector_search/requirements.txt")


@tool(effect="read-only")
async def get_forecast(city: str) -> str:
    """What the sky will do tomorrow: rain, wind and temperatures."""
    return f"{city}: rain"


@tool(effect="read-only")
async def get_share_price(ticker: str) -> float:
    """What a company is traded at."""
    return float(len(ticker))


@tool(effect="read-only")
async def find_flights(origin: str, destination: str) -> list[str]:
    """Connections by plane between two airports."""
    return [f"{origin}-{destination}"]


TOOLBOX = Toolbox([get_forecast, get_share_price, find_flights])


async def main(folder: Path) -> None:
    embedder = CachedEmbedder(LocalEmbedder())
    shelf = await Shelf.open(folder, embedder)
    print("embedded:", await shelf.add(TOOLBOX))
    print("embedded again:", await shelf.add(TOOLBOX))
    for query in ("will I need an umbrella?", "how much is Apple worth", "travel by air"):
        found = await shelf.search(TOOLBOX, query, limit=1)
        print(f"{query} {[tool.name for tool in found]}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        trio.run(main, Path(sys.argv[1] if len(sys.argv) > 1 else made))
