"""The documentation does what it shows: every block of Python and every command of ours is run, every link leads somewhere."""

from __future__ import annotations

import ast
import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.docs import ROOT, PageError, blocks_of, broken_links, headings_of, require_same

PAGES: Final = sorted([*ROOT.glob("README.md"), *ROOT.glob("docs/**/*.md")])
NEEDS: Final = {"docs/claude-agent.md": "claude_agent_sdk"}
"""Pages whose blocks need a package that is too large to be installed for the tests; `make claude-agent` runs them."""

LINKING: Final = sorted({*PAGES, *ROOT.glob("*.md")})


def _named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _run(page: Path, directory: Path) -> subprocess.CompletedProcess[str]:
    along = (str(ROOT), os.environ.get("PYTHONPATH"))
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.docs", str(page)],
        cwd=directory,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, along)), "PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def _run_text(markdown: str, directory: Path) -> tuple[int, str]:
    page = directory / "page.md"
    page.write_text(markdown, encoding="utf-8")
    ended = _run(page, directory)
    return ended.returncode, ended.stderr


def test_the_readme_is_one_of_the_pages() -> None:
    assert ROOT / "README.md" in PAGES


@pytest.mark.parametrize("page", PAGES, ids=_named)
def test_the_page_does_what_it_shows(page: Path, tmp_path: Path) -> None:
    if (needed := NEEDS.get(_named(page))) is not None:
        pytest.importorskip(needed, reason=f"{needed} is too large to be installed here")
    ended = _run(page, tmp_path)

    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("page", PAGES, ids=_named)
def test_a_page_that_awaits_outside_of_functions_says_where_that_stands(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    blocks = [block.text for block in blocks_of(text) if block.language == "python" and block.directive != "file"]
    codes = [compile(block, "page", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True) for block in blocks]

    assert "python -m trio" in text or not any(code.co_flags & inspect.CO_COROUTINE for code in codes)


@pytest.mark.parametrize("page", LINKING, ids=_named)
def test_the_links_of_the_page_lead_somewhere(page: Path) -> None:
    assert list(broken_links(page)) == []


# ── The runner, on pages of its own ──────────────────────────────────────────────────────────────────────────────────

GOOD: Final = """\
# A page

```python
import dataclasses, typing

@dataclasses.dataclass
class Point:
    x: "Number"

Number = int
print(typing.get_type_hints(Point)["x"].__name__, "<at 0x7f>")
```
<!-- output -->
```text
int <at ...>
```

Blocks share their names, and may await.

```python
import trio
await trio.sleep(0)
print(Point(3))
```

<!-- output -->
```text
Point(x=3)
```

<!-- file: deep/data.txt -->
```text
forty-two
```

```python
import pathlib
print(pathlib.Path("deep/data.txt").read_text())
```
<!-- output -->
```text
forty-two
```

<!-- raises: ZeroDivisionError -->
```python
print("before")
1 / 0
```
<!-- output -->
```text
before
ZeroDivisionError: division by zero
```

```console
$ pip install armory-trio
```

```json
not looked at
```
"""


def test_a_good_page_passes(tmp_path: Path) -> None:
    assert _run_text(GOOD, tmp_path) == (0, "")


@pytest.mark.parametrize(
    ("markdown", "told"),
    [
        pytest.param("```python\n1 / 0\n```\n", "line 2: it raised", id="an exception"),
        pytest.param("text\n\n```python\nx =\n```\n", "line 4: this is not Python", id="a syntax error"),
        pytest.param("```python\nawait x()\n```\n", "NameError", id="an exception under trio"),
        pytest.param(
            "```python\nprint(1)\n```\n<!-- output -->\n```text\n2\n```\n",
            "but this was printed\n1",
            id="another output",
        ),
        pytest.param("<!-- output -->\n```text\n2\n```\n", "no block before", id="output of nothing"),
        pytest.param("<!-- ouptut -->\n```text\n2\n```\n", "only these comments", id="a misspelt directive"),
        pytest.param("<!-- output -->\n\nwords\n", "no fenced block follows", id="a directive before words"),
        pytest.param("<!-- output -->\n", "no fenced block follows", id="a directive at the end"),
        pytest.param("<!-- raises: KeyError -->\n```python\n1 / 0\n```\n", "ZeroDivision", id="another exception"),
        pytest.param("<!-- raises: KeyError -->\n```python\n1\n```\n", "was to raise KeyError", id="no exception"),
        pytest.param(
            "<!-- raises: KeyError -->\n```json\n1\n```\n", "has no meaning", id="a directive for another block"
        ),
        pytest.param("<!-- file: ../x -->\n```json\n1\n```\n", "below the page's directory", id="a file elsewhere"),
        pytest.param(
            "```console\n$ true | armory-trio no-such-command\n```\n", "ended with status", id="a failing command"
        ),
    ],
)
def test_a_page_that_does_otherwise_is_told_where(markdown: str, told: str, tmp_path: Path) -> None:
    status, error = _run_text(markdown, tmp_path)

    assert (status, told in error) == (1, True), error


def test_commands_are_run_and_compared(tmp_path: Path) -> None:
    good = "```console\n$ armory-trio run --help\nUsage: armory-trio run...\n```\n"
    bad = "```console\n$ armory-trio run \\\n    --help\nUsage: something else\n```\n"

    assert _run_text(good, tmp_path) == (0, "")
    assert "the page shows\nUsage: something else" in _run_text(bad, tmp_path)[1]


def test_a_commands_exit_status_can_be_promised(tmp_path: Path) -> None:
    command = "```console\n$ printf '' | armory-trio no-such-command\n```\n"

    assert _run_text(f"<!-- exit: 2 -->\n{command}", tmp_path) == (0, "")
    assert _run_text(f"<!-- exit: 7 -->\n{command}", tmp_path)[0] == 1


def test_blocks_inside_a_longer_fence_are_text() -> None:
    [block] = blocks_of("````markdown\n```python\nboom\n```\n````\n")

    assert (block.language, block.line) == ("markdown", 2)


def test_dots_stand_for_anything_but_not_for_less() -> None:
    require_same("a ... z\n", "a b\nc z  \n")
    with pytest.raises(PageError, match="but this was printed"):
        require_same("a ... z", "a b")


def test_links_are_checked_to_the_heading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.docs.ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(
        "# The `one` heading!\n[a](#the-one-heading) [b](#two) [c](gone.md) [d](../x) [e](https://example.org/)\n"
        "| t |\n|---|\n| ![f](gone.png) |\n\n[g]: page.md#three\n[g]\n\n```text\n[h](nowhere)\n```\n",
        encoding="utf-8",
    )

    assert headings_of(page.read_text(encoding="utf-8")) == {"the-one-heading"}
    assert [told.partition(":")[0] for told in broken_links(page)] == [
        "#two",
        "gone.md",
        "../x",
        "gone.png",
        "page.md#three",
    ]
