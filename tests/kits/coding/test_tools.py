"""The kit as a user meets it: a toolbox under a supervisor."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import trio

from armory_trio import ProgressReported, Toolbox, ToolCall, ToolExecutionError, open_supervisor
from armory_trio.errors import DefinitionError
from armory_trio.kits.coding import (
    CodingOptions,
    FileSlice,
    GlobResult,
    GrepLimits,
    GrepMatch,
    GrepResult,
    GrepSummary,
    Jail,
    ReadLimits,
    Skipped,
    coding_toolbox,
    coding_tools,
    glob_tool,
    grep_tool,
    read_tool,
)
from tests.kits.coding.trees import SECRET, Doorkeeper, plant
from tests.requirements import requirement


@pytest.fixture
def root(tmp_path: Path) -> Path:
    plant(tmp_path, {"outside/secret.txt": SECRET})
    return plant(
        tmp_path / "root", {"src/a.py": "needle\nline\n", "src/b.py": "x\n", ".cfg": "needle", "note": "needle"}
    )


# -- as declared


@requirement("kits.tools.declared")
def test_the_tools_come_in_order_and_only_read(root: Path) -> None:
    toolbox = coding_toolbox(root)

    assert [tool.name for tool in toolbox] == ["read_file", "grep", "glob"]
    for tool in toolbox:
        assert tool.definition.classification.effect_class == "read-only"
        assert tool.definition.risk is not None
        assert tool.definition.risk.untrusted_output
        assert {"coding", "filesystem", "readonly", "untrusted-output"} <= set(tool.definition.tags)
        assert tool.options.placement == "thread"
    assert [tool.name for tool in toolbox if "search" in tool.definition.tags] == ["grep", "glob"]


@requirement("kits.tools.declared")
def test_names_namespace_and_timeout_may_be_chosen(root: Path) -> None:
    options = CodingOptions(read_file="open", grep="search", glob="find", namespace="repo", timeout=7.0)
    tools = coding_tools(root, options=options)

    assert [str(tool.id) for tool in tools] == ["repo:open", "repo:search", "repo:find"]
    assert {tool.options.timeout for tool in tools} == {7.0}


@requirement("kits.tools.declared")
def test_two_roots_fit_into_one_toolbox(root: Path, tmp_path: Path) -> None:
    other = coding_tools(tmp_path / "outside", options=CodingOptions(namespace="other"))

    assert len(coding_toolbox(root).extend(*other)) == 6


@requirement("kits.tools.declared")
def test_a_wrong_option_is_told_when_the_tools_are_made(root: Path) -> None:
    with pytest.raises(DefinitionError):
        coding_tools(root, options=CodingOptions(grep=""))
    with pytest.raises(DefinitionError):
        coding_tools(root / "nowhere")
    with pytest.raises(DefinitionError, match="ReadLimits: max_bytes: must be a whole number from 4 on, not 3"):
        ReadLimits(max_bytes=3)
    with pytest.raises(DefinitionError, match=r"GrepLimits: max_line: .* not 1\.5"):
        GrepLimits(max_line=1.5)  # type: ignore[arg-type]  # the mistake under test
    with pytest.raises(DefinitionError, match=r"GrepLimits: max_file_bytes: .* not True"):
        GrepLimits(max_file_bytes=True)
    with pytest.raises(DefinitionError, match="CodingOptions: read_limits: must be ReadLimits"):
        CodingOptions(read_limits=5)  # type: ignore[arg-type]  # the mistake under test


# -- the extra


@requirement("kits.tools.extra")
@pytest.mark.parametrize("missing", [("re2", "google-re2"), ("pathspec", "pathspec")])
def test_a_missing_package_is_named_with_its_extra(
    root: Path, missing: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    module, package = missing
    monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(DefinitionError) as caught:
        grep_tool(Jail(root))

    assert str(caught.value) == f"coding kit: {package}: is not installed; pip install 'armory-trio[coding]'"


@requirement("kits.tools.extra")
def test_another_package_of_the_same_module_name_is_no_substitute(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", json)

    with pytest.raises(DefinitionError, match="hidden by another package"):
        grep_tool(Jail(root))


@requirement("kits.tools.extra")
def test_reading_needs_no_package_of_the_extra_and_listing_no_engine(root: Path) -> None:
    program = """
import sys
sys.modules["re2"] = sys.modules["pathspec"] = None
from armory_trio.kits.coding import Jail, glob_tool, read_tool
jail = Jail(sys.argv[1])
read_tool(jail)
try:
    glob_tool(jail)
except Exception as error:
    print(error)
"""
    ended = subprocess.run(
        [sys.executable, "-c", program, str(root)], check=True, capture_output=True, encoding="utf-8"
    )

    assert ended.stdout == "coding kit: pathspec: is not installed; pip install 'armory-trio[coding]'\n"


# -- under a supervisor


@requirement("kits.tools.run")
async def test_the_tools_read_search_and_list(root: Path) -> None:
    async with open_supervisor(coding_toolbox(root)) as supervisor:
        read = await supervisor.execute(ToolCall("read_file", {"path": "src/a.py", "limit": 1}))
        found = await supervisor.execute(ToolCall("grep", {"pattern": "needle"}))
        listed = await supervisor.execute(ToolCall("glob", {"pattern": "src/*", "max_results": 1}))

    assert read.value == FileSlice(
        "src/a.py", "needle", 0, 1, 2, truncated=True, truncated_reason="line-limit", next_offset=1
    )
    assert found.value == GrepResult(
        (GrepMatch("note", 1, "needle"), GrepMatch("src/a.py", 1, "needle")),
        files_scanned=3,
        truncated=False,
        skipped=Skipped(hidden=1),
        notes=("skipped: 1 hidden (hidden=true to look there, too)",),
    )
    assert isinstance(listed.value, GlobResult)
    assert (listed.value.paths, listed.value.truncated) == (("src/a.py",), True)
    assert (read.effect, found.effect, listed.effect) == ("none", "none", "none")


@requirement("kits.tools.run")
async def test_a_model_reads_short_json_that_says_what_was_skipped(root: Path) -> None:
    async with open_supervisor(coding_toolbox(root)) as supervisor:
        result = await supervisor.execute(ToolCall("grep", {"pattern": "line", "glob": "src"}))
        hidden = await supervisor.execute(ToolCall("grep", {"pattern": "nothing"}))

    assert json.loads(result.text) == {
        "matches": [{"path": "src/a.py", "line": 2, "text": "line"}],
        "files_scanned": 2,
        "truncated": False,
        "skipped": {},
        "notes": [],
    }
    assert json.loads(hidden.text)["skipped"] == {"hidden": 1}


@requirement("kits.tools.run", "kits.grep.stream")
async def test_matches_are_streamed_and_the_summary_comes_last(root: Path) -> None:
    chunks: list[object] = []
    async with (
        open_supervisor(coding_toolbox(root)) as supervisor,
        supervisor.stream(ToolCall("grep", {"pattern": "needle"})) as stream,
    ):
        chunks.extend([chunk async for chunk in stream])

    assert [type(chunk) for chunk in chunks] == [GrepMatch, GrepMatch, GrepSummary]


@requirement("kits.tools.run", "kits.jail.escape-refused")
@pytest.mark.parametrize(
    ("call", "category", "code"),
    [
        (ToolCall("read_file", {"path": "../outside/secret.txt"}), "permission", "PATH_ESCAPE"),
        (ToolCall("grep", {"pattern": "x", "glob": "../outside/*"}), "permission", "PATH_ESCAPE"),
        (ToolCall("glob", {"pattern": "/etc/*"}), "permission", "PATH_ESCAPE"),
        (ToolCall("read_file", {"path": "nope"}), "not_found", "NOT_FOUND"),
        (ToolCall("grep", {"pattern": "(x"}), "validation", "INVALID_PATTERN"),
        (ToolCall("read_file", {"path": "src/a.py", "offset": -1}), "validation", "INVALID_ARGUMENTS"),
        (ToolCall("grep", {"pattern": "x", "max_match": 3}), "validation", "INVALID_ARGUMENTS"),
    ],
)
async def test_a_call_that_cannot_be_done_is_refused_and_changes_nothing(
    root: Path, call: ToolCall, category: str, code: str
) -> None:
    async with open_supervisor(coding_toolbox(root)) as supervisor:
        result = await supervisor.execute(call)

    assert result.error is not None
    assert (result.outcome, result.error.category, result.error.code, result.effect) == (
        "error",
        category,
        code,
        "none",
    )
    assert SECRET not in result.text


@requirement("kits.tools.run", "kits.search.cancel")
async def test_a_search_is_aborted_in_the_middle_of_a_large_tree(tmp_path: Path) -> None:
    for number in range(3_000):
        (tmp_path / f"f{number:04}").write_bytes(b"text\n")
    reached = threading.Event()
    go_on = threading.Event()

    class Gate(Doorkeeper):
        def __call__(self, path: str, flags: int, *, dir_fd: int) -> int:
            fd = super().__call__(path, flags, dir_fd=dir_fd)
            if path == "f0700":
                reached.set()
                assert go_on.wait(60)
            return fd

    gate = Gate()
    with trio.fail_after(60):
        async with (
            open_supervisor(coding_toolbox(Jail(tmp_path, opener=gate))) as supervisor,
            supervisor.events(ProgressReported) as events,
        ):
            execution = supervisor.start(ToolCall("grep", {"pattern": "nothing"}))
            await trio.to_thread.run_sync(reached.wait)
            execution.abort("the user left")
            go_on.set()
            result = await execution.result()
            await execution.settled()
            told = await anext(events)

    assert result.error is not None
    assert (result.error.category, result.effect) == ("cancelled", "none")
    assert len(gate.opened) < 720
    assert gate.still_open() == []
    assert isinstance(told, ProgressReported)
    assert told.message == "500 files searched, 0 matches"


@requirement("kits.tools.run")
async def test_host_code_may_call_them_like_functions(root: Path) -> None:
    jail = Jail(root)

    assert (await read_tool(jail)(path="note")).content == "needle"
    assert (await glob_tool(jail)(pattern="*.cfg", hidden=True)).paths == (".cfg",)
    with pytest.raises(ToolExecutionError, match="PATH_ESCAPE"):
        await read_tool(jail)(path="../outside/secret.txt")


@requirement("kits.tools.run")
async def test_many_calls_at_once_share_one_root(root: Path) -> None:
    calls = [ToolCall("read_file", {"path": "note"}), ToolCall("grep", {"pattern": "needle"})] * 40
    async with open_supervisor(coding_toolbox(root)) as supervisor:
        results = await supervisor.execute_batch(calls)

    assert {result.outcome for result in results} == {"success"}


def test_the_toolbox_is_one_like_any_other(root: Path) -> None:
    assert isinstance(coding_toolbox(root), Toolbox)
