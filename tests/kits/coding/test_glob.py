from __future__ import annotations

from pathlib import Path

import pytest

from armory_trio.definitions._call import ToolFailure
from armory_trio.kits.coding import GlobQuery
from tests.kits.coding.trees import listing, plant
from tests.requirements import requirement


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return plant(tmp_path, {"src/a.ts": "", "src/lib/b.ts": "", "src/lib/c.tsx": "", "readme.md": "", "empty/": ""})


@requirement("kits.glob.patterns")
@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("**/*.ts", ("src/a.ts", "src/lib/b.ts")),
        ("src/*", ("src/a.ts", "src/lib")),
        ("*/", ("empty", "src")),
        ("**/", ("empty", "src", "src/lib")),
        ("src/**/*.{ts,tsx}", ("src/a.ts", "src/lib/b.ts", "src/lib/c.tsx")),
        ("readme.md", ("readme.md",)),
        ("src", ("src",)),
    ],
)
def test_files_and_directories_are_listed(root: Path, pattern: str, paths: tuple[str, ...]) -> None:
    assert listing(root, GlobQuery(pattern=pattern)).paths == paths


@requirement("kits.glob.truncated")
@pytest.mark.parametrize("most", [1, 2, 3, 4])
def test_a_listing_is_truncated_exactly_when_there_is_more(root: Path, most: int) -> None:
    found = listing(root, GlobQuery(pattern="src/**/*.ts*", max_results=most))

    assert (len(found.paths), found.truncated) == (min(most, 3), most < 3)
    told = f"stopped after {'1 path' if most == 1 else f'{most} paths'}; narrow the pattern"
    assert any(note.startswith(told) for note in found.notes) == (most < 3)


@requirement("kits.glob.refused")
def test_a_limit_below_one_is_refused(root: Path) -> None:
    with pytest.raises(ToolFailure, match="max_results must be 1 or more, not 0"):
        listing(root, GlobQuery(pattern="*", max_results=0))


@requirement("kits.search.skips-counted")
def test_a_pattern_for_the_root_alone_that_finds_nothing_says_how_to_look_everywhere(root: Path) -> None:
    assert listing(root, GlobQuery(pattern="*.ts")).notes == (
        "'*.ts' looks in the root alone; '**/*.ts' looks everywhere",
    )
