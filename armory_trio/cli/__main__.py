"""``python -m armory_trio.cli`` is the command ``armory-trio``."""

from . import main

main()
