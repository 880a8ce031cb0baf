"""``python -m examples.approvals`` shows both ways."""

from __future__ import annotations

import tempfile
from pathlib import Path

import trio

from .agent import Office, ask_at_once
from .bank import Bank


async def run(waiting: Path) -> None:
    """Print what came of the model's wishes; calls that wait are kept in the file *waiting*."""
    bank = Bank(1000)
    print("Asked at once:")
    print(*await ask_at_once(bank), sep="\n")
    office, bank = Office(waiting), Bank(1000)
    print("\nKept, while nobody was there:")
    print(*await office.day(bank), sep="\n")
    print("\nIn the evening:")
    print(*await office.evening(bank), sep="\n")
    print(f"\nLeft: {bank.balance} EUR")


def main() -> None:
    """Run it with a file that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        trio.run(run, Path(folder) / "waiting.json")


if __name__ == "__main__":
    main()
