"""The comparison of conversions runs: ours does the whole of each, and the tables name everybody."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.conversions import __main__ as conversions
from benchmarks.conversions import ours
from benchmarks.conversions._serving import repeated
from benchmarks.conversions._task import ARGUMENTS, ARGUMENTS_TEXT
from benchmarks.peers import _running
from benchmarks.peers._contenders import Contender
from benchmarks.peers._environments import Unavailable, python_of


def test_ours_converts_there_and_back() -> None:
    assert json.loads(ARGUMENTS_TEXT) == ARGUMENTS
    assert ours.parse() == ours.parse_claude()
    assert "ICE 74" in str(ours.word())
    assert ours.offer(3).units == repeated(ours.word)(3).units == 3


def test_whoever_does_not_install_is_named_in_the_tables(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def refuse(contender: Contender, cache: Path) -> Path:
        if contender.own:
            return python_of(contender, cache)
        raise Unavailable(f"not installed: {contender.requirements.strip()}")

    ours_again = Contender("again", conversions.BASE.module, own=True)
    monkeypatch.setattr(_running, "python_of", refuse)
    monkeypatch.setattr(conversions, "HEADINGS", conversions.HEADINGS[-1:])
    monkeypatch.setattr(conversions, "CONTENDERS", (ours_again, conversions.CONTENDERS[0]))
    told = tmp_path / "told.json"

    status = conversions.main(["--quick", "--cache", str(tmp_path), "--json", str(told)])

    assert status == 0
    assert capsys.readouterr().out.count("| openai | not installed: openai==") == 1
    assert told.read_bytes().startswith(b"{")
