"""``python -m armory_trio`` is the command ``armory-trio``."""

from .cli import main

main()
