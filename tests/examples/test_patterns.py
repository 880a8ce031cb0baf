"""Each pattern is a program that prints what its page promises."""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, cast

import pytest

from examples import patterns
from examples.patterns import _clock
from tests.docs import ROOT
from tests.requirements import requirement

PRINTED: Final = {
    "audit_trail": """\
look_up {'customer': 'nobody'} took 0.25 s: LookupError: no such customer
look_up {'customer': 'bob'} took 0.1 s: cancelled
3 lines of JSON
""",
    "circuit_breaker": """\
CONNECTION_LOST
quote: circuit open
CONNECTION_LOST
CIRCUIT_OPEN
quote: circuit half-open
quote: circuit open
CONNECTION_LOST
quote: circuit half-open
quote: circuit closed
ACME stands at 12.50
ACME stands at 12.50
""",
    "conditional_execution": """\
paris: 18 degrees (kept)
rome: 21 degrees
rome: 21 degrees (kept)
4 is small
12 is even
13 is a number
""",
    "cost_tracking": """\
The tool 'paint' failed (INTERNAL_ERROR).
a picture of a tree
a picture of a bee
bob has spent 85 cents
['success', 'success', 'success']
QUOTA_EXCEEDED: paint costs 40 cents, and 15 are left
{'paint': 160, 'translate': 5} {'ada': 80, 'bob': 85}
""",
    "fallback_tools": """\
an answer to trees, after 2.5 s
an old answer to moss, after 2.5 s
nobody answered: TIMEOUT, CONNECTION_LOST
['primary', 'mirror', 'primary', 'mirror', 'archive', 'primary', 'mirror']
""",
    "logging_middleware": """\
debug: divide begins
info: divide took 0.5 s
debug: divide begins
error: divide failed: division by zero
1 error
""",
    "request_deduplication": """\
reading about trees
reading about bees
CANCELLED, after 5.0 s
reading about trees
40 papers about trees, after 14.0 s
40 papers about trees, after 14.0 s
40 papers about bees, after 10.0 s
""",
    "resource_pooling": """\
connected
connected
['rows of a', 'rows of b', 'rows of c', 'rows of d', 'rows of e']
TIMEOUT
rows of a
closed
closed
""",
    "session_management": """\
s1: ada, 1 calls
s1: ada, 2 calls
s2: bob, 1 calls
s9: the session has ended; log in again
None: log in first
""",
    "state_management": """\
[1, 11, 111]
saved {'counter': 111}
restored 0
saved {}
""",
    "streaming_responses": """\
as a whole: Once Upon A Time
after 0.5 s: There
after 1.0 s: Was
after 1.5 s: A
after 2.0 s: King
error after 2 pieces: ('In ', 'The ')
""",
    "summaries": """\
trees: word, word, word, word, word, wor... (307 characters; read_kept(0) has all)
word, word, word, wo
""",
    "tool_dependencies": """\
run_tests: call compile_sources first
fetch_sources: fetched
compile_sources: compiled
run_tests: tested
run_tests alone: tested, after ['compile_sources', 'fetch_sources']
""",
}


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


@requirement("examples.patterns")
@pytest.mark.parametrize("name", PRINTED)
def test_a_pattern_prints_what_it_promises(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    module = importlib.import_module(f"examples.patterns.{name}")

    _clock.run(cast("Callable[[], Awaitable[None]]", module.main))

    assert lines(capsys.readouterr().out) == lines(PRINTED[name])


@requirement("examples.patterns")
def test_every_pattern_is_run_and_described() -> None:
    [folder] = patterns.__path__
    names = {path.stem for path in Path(folder).glob("*.py") if not path.stem.startswith("_")}
    page = (ROOT / "docs" / "patterns.md").read_text(encoding="utf-8")

    assert names == set(PRINTED)
    assert [name for name in names if f"(../examples/patterns/{name}.py)" not in page] == []
