"""The pytest fixtures, as a project finds them that has the library installed: in runs of pytest of their own."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Final

import pytest

from tests.requirements import requirement

pytest_plugins = ("pytester",)

ROOT: Final = Path(__file__).parents[2]

SHOP: Final = """
import pytest
from armory_trio import ToolCall
from armory_trio.testing import sample_toolbox

TOOLBOX = sample_toolbox()
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project in whose environment our entry points are installed, whether or not they are in this one."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    lines = [f"{name} = {target}" for name, target in declared["pytest11"].items()]
    installed = pytester.mkdir("site") / "made_up-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: made-up\nVersion: 1.0\n", encoding="utf-8")
    (installed / "entry_points.txt").write_text("\n".join(["[pytest11]", *lines, ""]), encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(installed.parent), str(ROOT)]))
    pytester.makeini("[pytest]\ntrio_mode = true\nfilterwarnings = error\n")
    return pytester


def run(project: pytest.Pytester, *args: str, **files: str) -> pytest.RunResult:
    project.makepyfile(**files)
    return project.runpytest_subprocess("-p", "no:cacheprovider", *args)


@requirement("testing.plugin")
def test_a_supervisor_is_opened_in_a_trio_test_and_its_calls_are_recorded(project: pytest.Pytester) -> None:
    ended = run(
        project,
        test_shop=SHOP
        + """
async def test_recorded(armory_supervisor, autojump_clock):
    async with armory_supervisor(TOOLBOX, drain_for=1) as (supervisor, calls):
        result = await supervisor.execute(ToolCall("sleep", {"seconds": 3600}))
    assert result.value == "slept"
    calls.assert_called_with("sleep", {"seconds": 3600})

@pytest.fixture
async def supervisor(armory_supervisor):
    async with armory_supervisor(TOOLBOX) as (supervisor, _):
        yield supervisor

async def test_in_a_fixture_of_ones_own(supervisor):
    assert (await supervisor.execute(ToolCall("echo", {"text": "a"}))).value == "a"
""",
    )

    ended.assert_outcomes(passed=2)


@requirement("testing.plugin")
def test_ids_are_the_same_in_each_test_that_asks_for_it(project: pytest.Pytester) -> None:
    ended = run(
        project,
        test_shop=SHOP
        + """
@pytest.mark.parametrize("time", [1, 2])
async def test_ids(armory_ids, armory_supervisor, time):
    async with armory_supervisor(TOOLBOX) as (supervisor, calls):
        result = await supervisor.execute(ToolCall("echo", {"text": "a"}))
    assert (result.call_id, result.execution_id) == ("call-test-1", "exe-test.1-1")

@pytest.mark.usefixtures("armory_ids")
def test_without_trio():
    assert ToolCall("a").id == "call-test-1"

def test_otherwise_they_are_free():
    assert ToolCall("a").id != "call-test-1"
""",
    )

    ended.assert_outcomes(passed=4)


@requirement("testing.plugin")
def test_a_test_that_fails_shows_what_was_called_and_one_that_passes_does_not(project: pytest.Pytester) -> None:
    ended = run(
        project,
        "-rA",
        test_shop=SHOP
        + """
async def test_bad(armory_supervisor):
    async with armory_supervisor(TOOLBOX) as (supervisor, calls):
        await supervisor.execute(ToolCall("echo", {"text": "first"}))
    async with armory_supervisor(TOOLBOX) as (supervisor, calls):
        await supervisor.execute(ToolCall("fail"))
        calls.assert_called("sleep")

async def test_good(armory_supervisor):
    async with armory_supervisor(TOOLBOX) as (supervisor, calls):
        await supervisor.execute(ToolCall("echo", {"text": "unseen"}))
""",
    )

    ended.assert_outcomes(failed=1, passed=1)
    ended.stdout.fnmatch_lines(
        [
            '*calls.assert_called("sleep")',
            "*AssertionError: 'sleep' was never called. 1 call recorded:*",
            "*- armory_trio: calls of supervisor 1 -*",
            "1. echo(text='first'): success, 'first', effect none",
            "*- armory_trio: calls of supervisor 2 -*",
            "1. fail(): INTERNAL_ERROR, it did not work, effect none",
        ]
    )
    ended.stdout.no_fnmatch_line("*unseen*")
    ended.stdout.no_fnmatch_line("*_history.py*")  # the failure is shown where the test makes the assertion


@requirement("testing.plugin")
def test_the_plugin_may_also_be_named(project: pytest.Pytester) -> None:
    ended = run(project, "-p", "pytest_armory_trio", "--fixtures", "-v", test_shop="def test_none():\n    pass\n")

    assert ended.ret == 0
    ended.stdout.fnmatch_lines(["armory_ids *", "armory_supervisor *"])


LIGHT: Final = """
import sys

def test_light():
    assert "pytest_armory_trio" in sys.modules
    assert [name for name in sys.modules if name.partition(".")[0] in ("armory_trio", "msgspec")] == []

def test_bad():
    assert not "it fails"
"""


@requirement("testing.plugin.light")
@pytest.mark.parametrize("args", [(), ("-p", "no:trio")])
def test_a_run_that_uses_no_fixture_does_not_load_the_library(project: pytest.Pytester, args: tuple[str, ...]) -> None:
    project.makeini("[pytest]\nfilterwarnings = error\n")
    ended = run(project, *args, test_light=LIGHT)

    ended.assert_outcomes(passed=1, failed=1)
    ended.stdout.no_fnmatch_line("*armory_trio: calls*")
