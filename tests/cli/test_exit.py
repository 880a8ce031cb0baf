"""The table of exit codes: what matters most comes first."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from armory_trio.cli._exit import Ending
from tests.requirements import requirement

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


@requirement("cli.exit.codes")
@pytest.mark.parametrize(
    ("ending", "code"),
    [
        pytest.param(Ending(all_read=True), 0, id="all well"),
        pytest.param(Ending(all_read=True, signal=15), 0, id="a signal after which everything finished"),
        pytest.param(Ending(all_read=True, failed=True), 1, id="a failed call"),
        pytest.param(Ending(all_read=False), 1, id="the deadline"),
        pytest.param(Ending(all_read=False, unusable=True), 2, id="unusable input"),
        pytest.param(Ending(all_read=True, failed=True, uncertain=True), 3, id="an unknown effect"),
        pytest.param(Ending(all_read=True, unfinished=True), 4, id="a thread left running"),
        pytest.param(Ending(all_read=False, signal=2), 130, id="SIGINT before the end of the input"),
        pytest.param(Ending(all_read=True, failed=True, signal=15), 143, id="SIGTERM and a call that was aborted"),
        pytest.param(Ending(all_read=False, reader_gone=True), 141, id="a closed pipe"),
    ],
)
def test_each_ending_has_its_code(ending: Ending, code: int) -> None:
    assert ending.exit_code == code


@requirement("cli.exit.codes")
def test_the_worst_of_several_is_what_the_code_says() -> None:
    flags = ("unfinished", "uncertain", "unusable", "reader_gone")
    for worst, others in ((flags[at], flags[at + 1 :]) for at in range(len(flags))):
        for more in itertools.product((False, True), repeat=len(others)):
            facts = dict(zip(others, more, strict=True)) | {worst: True}
            alone = Ending(all_read=True, **{worst: True}).exit_code
            assert Ending(all_read=False, failed=True, signal=2, **facts).exit_code == alone


@requirement("cli.exit.codes")
def test_the_page_lists_every_code() -> None:
    listed = {
        int(code)
        for row in re.findall(r"^\| ([0-9, ]+) \|", PAGE.read_text("utf-8"), re.MULTILINE)
        for code in row.split(",")
    }

    assert listed == {0, 1, 2, 3, 4, 129, 130, 141, 143}
