"""One side of one row in a process of its own: ``python -m benchmarks._child ROW SIDE COUNT`` prints its sample."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Literal, cast

import msgspec

from ._row import ROOT, Row, Side
from ._rows import row_of
from ._sample import Sample

Which = Literal["ours", "other", "ours-setup", "other-setup"]
"""Which of the functions of a row."""


def side_of(row: Row, which: Which) -> Side:
    """The function of *row* that *which* means.

    Raises:
        LookupError: The row has no such function.
    """
    if which == "ours":
        return row.ours
    if which == "other":
        return row.other
    if row.setups is None:
        raise LookupError(f"row {row.name} has no set-up of its own")
    return row.setups[0 if which == "ours-setup" else 1]


def command_of(row: Row, which: Which, count: int) -> list[str]:
    """The command that runs one side in a process of its own, from the checkout."""
    return [sys.executable, "-m", "benchmarks._child", row.name, which, str(count)]


def sample_in_child(row: Row, which: Which, count: int) -> Sample:
    """Take one sample in a process of its own.

    Raises:
        subprocess.CalledProcessError: It failed; what it said stands on stderr.
    """
    command = command_of(row, which, count)
    ended = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603  # our own
    return msgspec.json.decode(ended.stdout, type=Sample)


def main(arguments: Sequence[str]) -> None:
    """Take the sample that *arguments* name, print it as JSON, and end the process."""
    name, which, count = arguments
    sample = side_of(row_of(name), cast("Which", which))(int(count))
    sys.stdout.write(msgspec.json.encode(sample).decode())
    sys.stdout.flush()
    os._exit(0)  # what the interpreter still tidies up grows with the work, and is not what is measured


if __name__ == "__main__":
    main(sys.argv[1:])
