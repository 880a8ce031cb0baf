"""The driver of the side by side, with workers that measure nothing. No package is installed here."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import venv
from importlib import metadata
from pathlib import Path

import msgspec
import pytest
import trio

from benchmarks._row import ROOT
from benchmarks._sample import Sample
from benchmarks.peers import __main__ as peers
from benchmarks.peers import _asyncio, _processes, _running
from benchmarks.peers._asyncio import measures
from benchmarks.peers._compare import Found, Measure
from benchmarks.peers._contenders import BASE, CONTENDERS, Contender
from benchmarks.peers._environments import Unavailable, python_of
from benchmarks.peers._processes import WorkerError
from benchmarks.peers._tables import Comparison

SEQUENTIAL = Measure(name="sequential", count=None, rounds=2)
BATCH = Measure(name="batch", count=100, rounds=2, fresh=True)
HOLD = Measure(name="hold", count=100, rounds=2)


def command(way: str) -> list[str]:
    return [sys.executable, "-m", "tests.benchmarks.fake_peer", way]


async def contest(*ways: str, measures: tuple[Measure, ...] = (SEQUENTIAL,)) -> Comparison:
    kept: list[Comparison] = []
    with trio.fail_after(60):
        comparison = await _running.compare({way: command(way) for way in ways}, measures, {}, kept.append)
    assert len(kept) == len(measures)
    assert kept[-1] == comparison
    return comparison


async def test_each_is_measured_between_two_samples_of_the_base() -> None:
    comparison = await contest("fast", "slow", measures=(SEQUENTIAL, BATCH))

    sequential, batch = comparison.found
    # No more than the fewest calls, since each of them claims to take seconds.
    assert sequential.samples == (Sample(20, 80.0, 80.0, 8_000),) * 2
    assert sequential.around == ((Sample(20, 20.0, 20.0, 2_000),) * 2,) * 2
    assert batch.samples == (Sample(100, 400.0, 400.0, 40_000),) * 2
    for found in (sequential, batch):
        for quantity in ("time", "bytes"):
            ratios = found.ratios("bytes" if quantity == "bytes" else "time")
            assert ratios is not None
            assert ratios.median == pytest.approx(4.0)
    assert (sequential.api, batch.api) == ("slow.call", "slow.batch")
    assert comparison.contenders[0].version == metadata.version("trio")


@pytest.mark.parametrize(
    ("way", "reason"), [("failing", "ValueError: no 20 of them"), ("falling", "it ended: fell over 20")]
)
async def test_one_that_fails_is_named_with_its_reason_and_the_others_go_on(way: str, reason: str) -> None:
    comparison = await contest("fast", way, "slow")

    failed, slow = comparison.found
    assert (failed.contender, failed.error, failed.samples) == (way, reason, ())
    assert failed.ratios("time") is None
    assert (slow.error, len(slow.samples)) == (None, 2)


async def test_what_a_contender_cannot_do_is_said_in_its_own_words() -> None:
    comparison = await contest("slow", "fast", measures=(SEQUENTIAL,))
    with pytest.raises(WorkerError, match="it cannot wait"):
        await contest("slow", "fast", measures=(HOLD,))

    assert [found.error for found in comparison.found] == [None]


async def test_one_that_does_not_start_is_missing_and_the_others_are_measured() -> None:
    comparison = await contest("fast", "absent", "slow")

    assert [found.contender for found in comparison.found] == ["slow"]
    assert {one.name: one.error for one in comparison.contenders} == {
        "fast": None,
        "slow": None,
        "absent": "it ended: ModuleNotFoundError: there is no such package",
    }


async def test_without_the_base_there_is_nothing_to_compare_with() -> None:
    with pytest.raises(WorkerError, match="there is no such package"):
        await contest("absent", "fast")


async def test_a_worker_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_processes, "PATIENCE", 0.5)
    with trio.fail_after(30):
        async with _processes.open_worker([sys.executable, "-c", "input()"]) as worker:
            with pytest.raises(WorkerError, match="it took more than"):
                await worker.introduction()


def test_the_measures_for_asyncio_do_the_work_that_they_say() -> None:
    async def call(tool: str, a: int) -> int:
        functions = {"add": _asyncio.add, "hold": _asyncio.hold}
        return _asyncio.add_blocking(a, 1) if tool == "add_blocking" else await functions[tool](a, 1)

    with asyncio.Runner() as runner:
        known = measures(runner, call)
        units = {name: known[name](200).units for name in known}
        some = measures(runner, call, without=["thread", "hold"])

    assert units == dict.fromkeys(["sequential", "thread", "batch", "hold"], 200)
    assert list(some) == ["sequential", "batch"]


def test_a_tool_with_a_wrong_answer_is_no_measurement() -> None:
    async def call(tool: str, a: int) -> int:
        return 7

    with asyncio.Runner() as runner, pytest.raises(RuntimeError, match="it answered 7, not 20"):
        measures(runner, call)["sequential"](20)


# -- environments


def test_each_contender_has_a_worker_and_pinned_packages() -> None:
    for contender in (BASE, *CONTENDERS):
        worker = Path(*contender.module.split(".")).with_suffix(".py")
        assert (ROOT / worker).exists()
        if not contender.own:
            assert all("==" in line for line in contender.requirements.split())


def test_our_own_need_no_environment(tmp_path: Path) -> None:
    assert python_of(BASE, tmp_path) == Path(sys.executable)
    assert list(tmp_path.iterdir()) == []


class Pip:
    """Stands in for `subprocess.run`: an installer that says what it is told to say."""

    def __init__(self, status: int, said: str = "") -> None:
        self.commands: list[list[str]] = []
        self._ended = subprocess.CompletedProcess([], status, "", said)

    def __call__(self, command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        self.commands.append(command)
        return self._ended


def installing_with(pip: Pip, monkeypatch: pytest.MonkeyPatch) -> Contender:
    def create(directory: Path, **_: object) -> None:
        directory.mkdir(exist_ok=True)

    monkeypatch.setattr(venv, "create", create)
    monkeypatch.setattr(subprocess, "run", pip)
    return next(one for one in CONTENDERS if one.name == "langgraph")


def test_an_environment_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pip = Pip(0)
    contender = installing_with(pip, monkeypatch)

    first, second = python_of(contender, tmp_path), python_of(contender, tmp_path)

    assert first == second == tmp_path / "langgraph" / "bin" / "python"
    [command] = pip.commands
    assert command[-2:] == contender.requirements.split()


def test_what_does_not_install_is_tried_again_the_next_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pip = Pip(1, "Looking\nERROR: there is no such version\n")
    contender = installing_with(pip, monkeypatch)

    for _ in range(2):
        with pytest.raises(Unavailable, match=r"^not installed: ERROR: there is no such version$"):
            python_of(contender, tmp_path)

    assert len(pip.commands) == 2


# -- the command


def test_the_command_prints_tables_and_writes_everything_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fake(contender: Contender, cache: Path) -> Path:
        assert cache == tmp_path
        if contender.name == "mcp":
            raise Unavailable("not installed: no network")
        return Path(sys.executable)

    monkeypatch.setattr(_running, "python_of", fake)
    monkeypatch.setattr(peers, "_MEASURES", (Measure(name="sequential", count=20, rounds=1),))
    path = tmp_path / "peers.json"

    status = peers.main(["--only", "by-hand", "--only", "mcp", "--cache", str(tmp_path), "--json", str(path)])

    printed = capsys.readouterr().out
    comparison = msgspec.json.decode(path.read_bytes(), type=Comparison)
    assert status == 0
    assert "| mcp | not installed: no network | - | - | - |" in printed.splitlines()
    assert [type(found) for found in comparison.found] == [Found]
    assert comparison.found[0].contender == "by-hand"


def test_a_first_look_takes_less_work() -> None:
    every, quick = peers.parse([]).measures, peers.parse(["--quick"]).measures

    assert [one.name for one in quick] == [one.name for one in every]
    assert all(one.rounds < other.rounds for one, other in zip(quick, every, strict=True))
    assert [one.name for one in peers.parse(["--measure", "hold"]).measures] == ["hold"]
    assert [one.name for one in peers.parse(["--only", "mcp"]).contenders] == ["mcp"]
